"""Gates such as ``sex=female selected at 10 < 0.8``, which decide whether an audit fails."""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any

from ..core.errors import DataError, suggest
from ..core.metric import GroupMetric, Metric
from ..core.registry import outside_brackets, parse_metric
from ..core.rules import SIGNS
from ..reports.claims import Claim
from ..reports.number_words import joined, level_words, p_words, plain_column, ratio
from .audit_plan import TIMES, Plan
from .measured import short_name

__all__ = [
    "AnyFinding",
    "Gate",
    "GroupGate",
    "MetricGate",
    "Outcome",
    "asks_for_scores",
    "concerns",
    "count_comparisons",
    "judge",
    "read_gate",
    "with_gate_references",
]


#: The level of all gates of a command together: fair data fail at most this often.
GATE_LEVEL = 0.05
QUANTITIES = ("selected", "scored", "exposure", "above", "positions", "score")
#: What a scope may say about a decision.
DECIDED = ("k", "column", "cutoff", "quota", "stage", "overall")
#: The value of a quantity for equal groups, where it is not 1.
NEUTRAL = {"above": 0.5, "positions": 0.0, "score": 0.0}
#: What of the labels that are unknown a gate may limit.
LABEL_PARTS = (".bounds_low", ".bounds_high", ".breakdown")
PARTS = (".low", ".high", ".p_value", *LABEL_PARTS)
#: The measure of a quantity in the table of labels; its bounds are those of a claim.
LABEL_MEASURES = {"positions": "position_difference", "selected": "impact_ratio, {}"}
FORM = (
    '"sex=female selected at 10 < 0.8", "any race scored vs White < 0.8", "any finding", '
    '"RND(by=\'race\')@50 > 0.3" or "raw: RND@50 > 0.3"'
)
#: The same of a target, which states what is wanted.
WANTED_FORM = (
    '"sex=female selected at 10 >= 0.8", "race=Black exposure vs White >= 0.9", '
    '"ExposureGap(by=\'race\') <= 0.02" or "raw: RND@50 <= 0.3"'
)


@dataclass(frozen=True)
class GroupGate:
    """A limit for a comparison of groups."""

    text: str
    attribute: str
    group: str
    quantity: str
    against: str
    k: int | None
    stage: str | None
    sign: str
    limit: float
    observed: bool
    part: str = ""


@dataclass(frozen=True)
class MetricGate:
    """A limit for a metric: its corrected value, or with ``raw`` its bare value."""

    text: str
    metric: Metric
    part: str
    sign: str
    limit: float
    raw: bool


@dataclass(frozen=True)
class AnyFinding:
    """Fires if a report contains a finding."""

    text: str
    attribute: str


Gate = GroupGate | MetricGate | AnyFinding


@dataclass(frozen=True)
class Outcome:
    """What a gate found: one line per comparison that fires, and remarks."""

    gate: Gate
    fired: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Given:
    """A text as given, and whether it states what is wanted instead of what is forbidden."""

    text: str
    wanted: bool = False

    def __str__(self) -> str:
        """Return the words that errors begin with."""
        return f"{'target' if self.wanted else 'gate'} {self.text!r}"

    def check(self, of: str, equal: float, sign: str, limit: float) -> None:
        """Raise if equal groups would break a gate, or miss a target."""
        if SIGNS[sign](equal, limit) is not self.wanted:
            raise DataError(
                f"{self} must hold for equal groups, but their {of} is {equal:g}, which is "
                f"{'not ' * self.wanted}{sign} {limit:g}"
            )


def read_gate(text: str, *, wanted: bool = False) -> Gate:
    """Return the parsed gate.

    Parameters
    ----------
    text : str
        The gate.
    wanted : bool
        Whether it is a target, which states what is wanted: equal groups must reach it.

    Examples
    --------
    >>> read_gate("sex=female selected at 10 < 0.8").k
    10
    >>> read_gate("RND@50 > 0.3").metric
    RND@50
    >>> read_gate("any finding in sex").attribute
    'sex'
    """
    text = text.strip()
    given = _Given(text, wanted)
    if re.fullmatch(r"any\s+finding(\s+in\s+.+)?", text):
        words = _words(given, text)
        return AnyFinding(text, " ".join(words[3:]))
    left, sign, right = _split(given)
    words = right.split()
    observed = words[1:] == ["observed"]
    if not left or not words or (len(words) > 1 and not observed):
        raise _unreadable(given)
    try:
        limit = float(words[0])
    except ValueError:
        raise _unreadable(given) from None
    if isnan(limit):
        raise _unreadable(given)
    parts = _words(given, left)
    at = next((i for i, word in enumerate(parts) if _quantity(word)[0] and i), None)
    if at is None:
        if observed:
            raise DataError(
                f"{given}: 'observed' follows a comparison of groups; for a metric write 'raw:'"
            )
        return _metric_gate(given, left, sign, limit)
    return _group_gate(given, parts, at, sign, limit, observed)


def _quantity(word: str) -> tuple[str, str]:
    """Return the quantity of a word and its part, such as ``bounds_low``; empty for others."""
    part = next((each for each in LABEL_PARTS if word.endswith(each)), "")
    name = word.removesuffix(part)
    return (name, part.removeprefix(".")) if name in QUANTITIES else ("", "")


def _unreadable(given: _Given) -> DataError:
    form = FORM if not given.wanted else WANTED_FORM
    return DataError(f"{given} cannot be read; it looks like {form}")


def _words(given: _Given, text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        raise _unreadable(given) from None


def _split(given: _Given) -> tuple[str, str, str]:
    """Split at the operator outside quotes and brackets."""
    text = given.text
    at = next(outside_brackets(text, "<>"), None)
    if at is None:
        raise _unreadable(given)
    sign = text[at] + ("=" if text[at + 1 : at + 2] == "=" else "")
    return text[:at].strip(), sign, text[at + len(sign) :].strip()


def _group_gate(
    given: _Given, words: list[str], at: int, sign: str, limit: float, observed: bool
) -> GroupGate:
    who, rest = words[:at], words[at + 1 :]
    quantity, part = _quantity(words[at])
    attribute, group = _who(given, who)
    against, k, stage = "rest", None, None
    while rest:
        if rest[0] == "vs" and len(rest) > 1:
            against, rest = rest[1], rest[2:]
        elif rest[0] == "at" and len(rest) > 1 and rest[1].isdecimal() and int(rest[1]) > 0:
            k, rest = int(rest[1]), rest[2:]
        elif rest[0] == "stage" and len(rest) > 1:
            stage, rest = rest[1], rest[2:]
        else:
            raise _unreadable(given)
    if (k is not None or stage is not None) and quantity != "selected":
        word = "at" if k is not None else "stage"
        raise DataError(f"{given}: {word!r} applies to 'selected' only")
    if not part:
        given.check(quantity, NEUTRAL.get(quantity, 1.0), sign, limit)
    named = attribute, group, quantity, against
    return GroupGate(given.text, *named, k, stage, sign, limit, observed, part)


def _who(given: _Given, words: list[str]) -> tuple[str, str]:
    """Return attribute and group; an empty group means every group."""
    if not words:
        raise _unreadable(given)
    if words[0] == "any" and len(words) > 1:
        return " ".join(words[1:]), ""
    joined = " ".join(words)
    attribute, equals, group = joined.partition("=")
    return (attribute.strip(), group.strip()) if equals else ("", joined)


def _metric_gate(given: _Given, left: str, sign: str, limit: float) -> MetricGate:
    raw = left.startswith("raw:")
    name = left.removeprefix("raw:").strip()
    part = next((each for each in PARTS if name.endswith(each)), "")
    metric = parse_metric(name.removesuffix(part).strip())
    if part not in (".p_value", *LABEL_PARTS) and isinstance(metric, GroupMetric):
        given.check(type(metric).__name__, metric.ideal, sign, limit)
    return MetricGate(given.text, metric, part.removeprefix("."), sign, limit, raw)


@dataclass(frozen=True)
class Compared:
    """One comparison of a gate: its name, its numbers, and why it was not tested, if so."""

    name: str
    estimate: float
    bounds: tuple[float, float]
    p: float
    level: float = 0.95
    reason: str = ""
    refused: str = ""

    @property
    def tested(self) -> bool:
        """Whether bounds and p-value are known."""
        return not any(map(isnan, (*self.bounds, self.p)))


def judge(
    gates: Sequence[Gate],
    claims: Sequence[Claim],
    rows: Callable[[Metric], list[dict[str, Any]]],
    facts: dict[str, Any],
    labels: Sequence[Mapping[str, Any]] = (),
) -> list[Outcome]:
    """Return the outcome of all gates of a command, whose comparisons share 5%.

    Parameters
    ----------
    gates : sequence of Gate
        All gates.
    claims : sequence of Claim
        Of the audit.
    rows : callable
        Maps a metric to its rows in the tables of gaps and metrics.
    facts : dict
        Of the audit.
    labels : sequence of mapping
        The rows of the table of labels.
    """
    groups = {
        gate: _comparisons(gate, claims, facts, labels)
        for gate in gates
        if isinstance(gate, GroupGate)
    }
    metrics = {gate: rows(gate.metric) for gate in gates if isinstance(gate, MetricGate)}
    m = sum(not isnan(one.estimate) for found in groups.values() for one in found)
    m += sum(map(len, metrics.values()))
    m += sum(isinstance(gate, AnyFinding) for gate in gates)
    draws = facts["n_permutations"]
    tested = next((gate for gate in gates if _needs_test(gate)), None)
    if facts.get("untested"):
        _refuse_tests(gates, facts["untested"])
    if tested is not None and not (draws and facts["n_boot"]):
        raise DataError(
            f"gate {tested.text!r} cannot be evaluated: it needs n_boot and n_permutations above "
            "0; 'observed' after a comparison and 'raw:' before a metric need neither"
        )
    if tested is not None and (draws + 1) * GATE_LEVEL < m:
        raise DataError(
            f"{m} comparisons in gates need at least {40 * m - 1} permutations, got {draws}: "
            "increase n_permutations, or pass the gates to audit"
        )
    limit = GATE_LEVEL / max(m, 1)
    outcomes = []
    for gate in gates:
        if isinstance(gate, AnyFinding):
            outcomes.append(_any_finding(gate, claims, facts))
        elif isinstance(gate, GroupGate):
            outcomes.append(_judge_groups(gate, groups[gate], limit))
        else:
            outcomes.append(_judge_metric(gate, metrics[gate], limit))
    return outcomes


def asks_for_scores(gates: Sequence[Gate]) -> bool:
    """Return whether a gate limits scores or scoring rates."""
    return any(
        isinstance(gate, GroupGate) and gate.quantity in ("scored", "score") for gate in gates
    )


def with_gate_references(reference: Any, gates: Sequence[Gate]) -> Any:
    """Return the references of an audit, with those that gates name after ``vs``."""
    named = [
        f"{gate.attribute}={gate.against}" if gate.attribute else gate.against
        for gate in gates
        if isinstance(gate, GroupGate) and gate.against != "rest"
    ]
    if not named:
        return reference
    if isinstance(reference, Mapping):
        reference = [f"{name}={group}" for name, group in reference.items()]
    if reference is None:
        return named
    single = isinstance(reference, str) or not isinstance(reference, Sequence)
    return [*([reference] if single else reference), *named]


def _needs_test(gate: Gate) -> bool:
    if isinstance(gate, GroupGate | MetricGate) and f".{gate.part}" in LABEL_PARTS:
        return False
    if isinstance(gate, MetricGate):
        bare = gate.raw or gate.part == "p_value"
        return isinstance(gate.metric, GroupMetric) and not bare
    return not (isinstance(gate, GroupGate) and gate.observed)


def _refuse_tests(gates: Sequence[Gate], reason: str) -> None:
    """Raise if a gate asks for a test or an interval in a report that tests nothing."""
    ends = ("low", "high", "p_value")
    for gate in gates:
        if _needs_test(gate) or (isinstance(gate, MetricGate) and gate.part in ends):
            raise DataError(
                f"gate {gate.text!r} cannot be evaluated: {reason}; 'observed' after a comparison "
                "and 'raw:' before a metric ask for no test"
            )


def count_comparisons(gates: Sequence[Gate], plan: Plan) -> int:
    """Return at least the number of comparisons in all gates, before anything is measured."""
    single = [each for each in plan.audited if not each.crossed]
    total = 0
    for gate in gates:
        if isinstance(gate, GroupGate):
            sizes = [each.n_groups for each in plan.audited if each.name == gate.attribute]
            groups = 1 if gate.group else max(sizes, default=1)
            own = gate.quantity == "selected" and gate.k is None and gate.stage is None
            cuts = len(plan.decisions) if own else 1
            total += groups * cuts
        elif isinstance(gate, MetricGate):
            total += sum(max(1, len(each.protected)) for each in single)
        else:
            total += 1
    return total


def _any_finding(gate: AnyFinding, claims: Sequence[Claim], facts: dict[str, Any]) -> Outcome:
    names = [each["name"] for each in facts["attributes"]]
    if gate.attribute and gate.attribute not in names:
        hint = suggest(gate.attribute, names)
        raise DataError(
            f"gate {gate.text!r} must name one of the attributes {', '.join(names)}{hint}"
        )
    found = [
        claim
        for claim in claims
        if claim.status == "finding" and gate.attribute in ("", claim.attribute)
    ]
    return Outcome(gate, [f"{gate.text}: {claim.sentence}" for claim in found])


def _attribute_of(gate: GroupGate, facts: dict[str, Any]) -> tuple[str, list[str]]:
    """Return the attribute of a gate and its groups, or raise an error that names both."""
    known = {
        each["name"]: [group["name"] for group in each["groups"]] for each in facts["attributes"]
    }
    if gate.attribute:
        if gate.attribute not in known:
            hint = suggest(gate.attribute, list(known))
            raise DataError(
                f"gate {gate.text!r} must name one of the attributes {', '.join(known)}, got "
                f"{gate.attribute!r}{hint}"
            )
        groups = known[gate.attribute]
        if gate.group and gate.group not in groups:
            hint = suggest(gate.group, groups)
            raise DataError(
                f"gate {gate.text!r} must name a group of {gate.attribute} ({', '.join(groups)}), "
                f"got {gate.group!r}{hint}"
            )
        return gate.attribute, [gate.group] if gate.group else groups
    holders = [name for name, groups in known.items() if gate.group in groups]
    if len(holders) != 1:
        if holders:
            where = " and ".join(f"{name}={gate.group}" for name in holders)
            raise DataError(f"gate {gate.text!r} is ambiguous: {where}")
        every = [group for groups in known.values() for group in groups]
        raise DataError(
            f"gate {gate.text!r} must name a group of this audit, got {gate.group!r}"
            f"{suggest(gate.group, every)}"
        )
    return holders[0], [gate.group]


def _comparisons(
    gate: GroupGate,
    claims: Sequence[Claim],
    facts: dict[str, Any],
    labels: Sequence[Mapping[str, Any]],
) -> list[Compared]:
    """Return the comparisons of a gate; those of two groups are mirror images of one claim."""
    attribute, groups = _attribute_of(gate, facts)
    entry = next(each for each in facts["attributes"] if each["name"] == attribute)
    if gate.against not in ("rest", entry.get("reference")):
        known = (
            "everyone else"
            if entry.get("reference") is None
            else f"group {entry.get('reference')!r}"
        )
        raise DataError(
            f"gate {gate.text!r}: this audit compares {attribute} with {known}; name the reference "
            f'as in reference="{attribute}={gate.against}"'
        )
    quantity = "position" if gate.quantity in ("above", "positions") else gate.quantity
    scopes = _scopes_of(gate, facts) if quantity == "selected" else [{}]
    doubt = facts.get("labels", {}).get("attributes", {}).get(attribute, {})
    found = []
    for group in groups:
        for scope in scopes:
            claim, mirrored = _claim_of(claims, entry, group, quantity, scope)
            name = f"{attribute}={group}" + _scope_words(scope)
            if (
                gate.part
                and any(map(doubt.get, ("unknown", "doubted")))
                and not (claim and claim.labels)
            ):
                told = [
                    row for row in labels if (row["attribute"], row["group"]) == (attribute, group)
                ]
                found.append(_table_numbers(gate, told, _measure_of(gate, scope, facts), name))
            elif claim is None:
                continue
            elif gate.part or (claim.labels.get("doubted") and not gate.observed):
                found.append(_label_numbers(gate, claim, mirrored, name))
            else:
                found.append(_numbers(gate, claim, mirrored, name))
    if not found:
        hint = "; scores are compared with scored=True" if asks_for_scores([gate]) else ""
        if doubt.get("unknown") == 1.0:
            nobody = f", since nobody's {plain_column(attribute)} is known"
            hint = f"{nobody}; add .bounds_low or .bounds_high"
        raise DataError(
            f"gate {gate.text!r} cannot be evaluated: no such comparison was made{hint}"
        )
    refused = [each for each in found if each.refused]
    if refused and (gate.group or len(refused) == len(found)):
        one = refused[0]
        raise DataError(f"gate {gate.text!r} cannot be evaluated for {one.name}: {one.refused}")
    if gate.group and isnan(found[0].estimate):
        why = found[0].reason or f"{gate.quantity} is undefined"
        raise DataError(f"gate {gate.text!r} cannot be evaluated for {found[0].name}: {why}")
    return found


def _scopes_of(gate: GroupGate, facts: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the decisions that a gate is about."""
    known = [each["scope"] for each in facts["decisions"]]
    if gate.k is not None:
        if {"k": gate.k} not in known:
            ks = [str(scope["k"]) for scope in known if "k" in scope]
            words = f"which has k = {joined(ks)}" if ks else "which has none"
            raise DataError(
                f"gate {gate.text!r}: k = {gate.k} is not a cutoff of this audit, {words}"
            )
        return [{"k": gate.k}]
    if gate.stage is not None:
        if {"stage": gate.stage} not in known:
            names = [scope["stage"] for scope in known if "stage" in scope]
            hint = suggest(gate.stage, names)
            words = ", ".join(dict.fromkeys(names)) or "none"
            raise DataError(
                f"gate {gate.text!r} must name a stage of this audit ({words}), got "
                f"{gate.stage!r}{hint}"
            )
        return [{"stage": gate.stage}]
    return known


def _scope_words(scope: Mapping[str, Any]) -> str:
    if "k" in scope:
        return f" at {scope['k']}"
    if "stage" in scope:
        return f" stage {scope['stage']}" + (", of everyone" if scope.get("overall") else "")
    return ""


def _claim_of(
    claims: Sequence[Claim],
    entry: dict[str, Any],
    group: str,
    quantity: str,
    scope: Mapping[str, Any],
) -> tuple[Claim | None, bool]:
    """Return the claim of a group, or that of the other of two groups, mirrored."""
    others = [each["name"] for each in entry["groups"] if each["name"] != group]
    wanted = {group: False} | ({others[0]: True} if len(others) == 1 else {})
    for name, mirrored in wanted.items():
        for claim in claims:
            same = (claim.attribute, claim.group, claim.quantity) == (entry["name"], name, quantity)
            if same and not claim.scope.get("given") and _same_scope(claim.scope, scope):
                return claim, mirrored
    return None, False


def _same_scope(scope: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    decided = {name: scope[name] for name in DECIDED if name in scope}
    return decided == dict(wanted)


def _numbers(gate: GroupGate, claim: Claim, mirrored: bool, name: str) -> Compared:
    unit = {"above": "chance", "positions": "positions"}.get(gate.quantity)
    estimate, bounds, p = claim.estimate, claim.bounds, claim.p
    if unit is not None:
        if unit not in claim.also:
            return Compared(name, float("nan"), (float("nan"),) * 2, float("nan"), claim.level)
        estimate, _, _, low, high, p = claim.also[unit]
        bounds = (low, high)
    if mirrored:
        turn = _turned(gate.quantity, claim.shares[1])
        estimate, bounds = turn(estimate), (turn(bounds[1]), turn(bounds[0]))
    return Compared(name, estimate, bounds, p, claim.level, claim.reason)


def _turned(quantity: str, share: float) -> Callable[[float], float]:
    """Return the function from the number of one of two groups to that of the other."""
    known: dict[str, Callable[[float], float]] = {
        "above": lambda value: 1.0 - value,
        "positions": lambda value: -value,
        "score": lambda value: -value,
        # Of two groups with a share of people s and 1 - s, both shares of exposure add up to 1.
        "exposure": lambda value: (1.0 - share * value) / (1.0 - share),
    }
    return known.get(quantity, lambda value: 1.0 / value if value else float("inf"))


def _label_numbers(gate: GroupGate, claim: Claim, mirrored: bool, name: str) -> Compared:
    """Return the numbers corrected for labels, or the bounds over all labels, of a comparison."""
    unit = {"above": "chance", "positions": "positions"}.get(gate.quantity, claim.unit)
    prefix = "" if unit == claim.unit else f"{unit}."

    def number(key: str) -> float:
        return claim.labels.get(prefix + key, float("nan"))

    low, high = ("bounds_low", "bounds_high") if not mirrored else ("bounds_high", "bounds_low")
    turn = _turned(gate.quantity, claim.shares[1]) if mirrored else float
    if gate.part:
        value = number("breakdown")
        if gate.part != "breakdown":
            value = number(low if gate.part == "bounds_low" else high)
            value = turn(value if claim.labels else _numbers(gate, claim, False, name).estimate)
        refused = "there is no such number for these labels" if isnan(value) else ""
        return Compared(name, value, (value, value), 0.0, claim.level, "", refused)
    value = number("corrected")
    ends = number("corrected_bound_low"), number("corrected_bound_high")
    refused = ""
    if isnan(value) or (claim.answer == "bounds" and claim.status == "cannot_tell"):
        words = claim.reason or "the value cannot be corrected for labels"
        refused = f"its number is refused: {words}"
    if mirrored:
        value, ends = turn(value), (turn(ends[1]), turn(ends[0]))
    return Compared(name, value, ends, claim.p, claim.level, claim.reason, refused)


def _measure_of(gate: GroupGate, scope: Mapping[str, Any], facts: dict[str, Any]) -> str:
    """Return the measure of a comparison in the table of labels; empty if it has none."""
    decided = next((each["name"] for each in facts["decisions"] if each["scope"] == scope), "")
    return LABEL_MEASURES.get(gate.quantity, "").format(decided)


def _table_numbers(
    gate: GroupGate, rows: Sequence[Mapping[str, Any]], measure: str, name: str
) -> Compared:
    """Return the number of a comparison that is no claim, since too few people are known."""
    value, key = float("nan"), gate.part.removeprefix("bounds_")
    for row in rows:
        bounds = row["method"] == "completions"
        if row["measure"] == measure and bounds != (key == "breakdown") and isnan(value):
            value = float(row[key])
    refused = ""
    if isnan(value):
        refused = (
            "there is no such number for these labels"
            if measure
            else f"too few people are known for bounds of {gate.quantity}; "
            f"{' and '.join(LABEL_MEASURES)} have bounds"
        )
    return Compared(name, value, (value, value), 0.0, refused=refused)


def _written(value: float, gate: GroupGate | MetricGate) -> str:
    """Return a number whose text is on its side of the gate's limit."""
    return ratio(value, thresholds=[gate.limit])


def _breaks(sign: str, limit: float, one: Compared, level: float) -> bool:
    """Return whether estimate and bound are beyond the limit and chance is unlikely."""
    bound = one.bounds[1] if sign in ("<", "<=") else one.bounds[0]
    return bool(SIGNS[sign](one.estimate, limit) and SIGNS[sign](bound, limit) and one.p <= level)


def _judge_groups(gate: GroupGate, found: list[Compared], level: float) -> Outcome:
    fired: list[str] = []
    remarks: list[str] = []
    for one in found:
        if isnan(one.estimate):
            why = one.reason or f"{gate.quantity} is undefined"
            remarks.append(f"gate {gate.text!r} cannot be evaluated for {one.name}: {why}")
        elif gate.part:
            if SIGNS[gate.sign](one.estimate, gate.limit):
                fired.append(
                    f"{gate.text}: {gate.part} of {gate.quantity} of {one.name} is "
                    f"{_written(one.estimate, gate)}"
                )
        elif gate.observed:
            if SIGNS[gate.sign](one.estimate, gate.limit):
                fired.append(
                    f"{gate.text}: {gate.quantity} of {one.name} is "
                    f"{_written(one.estimate, gate)}; chance may do this"
                )
        elif SIGNS[gate.sign](one.estimate, gate.limit) and not one.tested:
            text = f"gate {gate.text!r} cannot be evaluated for {one.name}: {one.reason}"
            if gate.group:
                raise DataError(text)
            remarks.append(text)
        elif _breaks(gate.sign, gate.limit, one, level):
            low, high = one.bounds
            below = gate.sign in ("<", "<=")
            bound = (
                f"at most {_written(high, gate)}" if below else f"at least {_written(low, gate)}"
            )
            fired.append(
                f"{gate.text}: {gate.quantity} of {one.name} is {_written(one.estimate, gate)} "
                f"({bound} with {level_words(one.level)} confidence, {p_words(one.p, one.level)})"
            )
    return Outcome(gate, fired, remarks)


def concerns(metric: Metric, row: dict[str, Any]) -> bool:
    """Return whether a metric of a gate applies to a row of the gaps or metrics."""
    if not isinstance(metric, GroupMetric):
        return bool(row["name"] == str(metric))
    if row["metric"] != short_name(metric):
        return False
    by, protected = metric.by, metric.protected
    wanted = None if by is None else TIMES.join([by] if isinstance(by, str) else by)
    if wanted is None and TIMES in row["attribute"]:
        return False
    if wanted is not None and row["attribute"] != wanted:
        return False
    return protected is None or row["group"] == str(protected)


def _judge_metric(gate: MetricGate, rows: list[dict[str, Any]], level: float) -> Outcome:
    fired: list[str] = []
    remarks: list[str] = []
    for row in rows:
        names = [name for name in (row.get("attribute"), row.get("group")) if name]
        where = f" of {', '.join(names)}" if names else ""
        if f".{gate.part}" in LABEL_PARTS:
            value = _metric_bound(gate, row, where)
            if SIGNS[gate.sign](value, gate.limit):
                fired.append(f"{gate.text}: {gate.part}{where} is {_written(value, gate)}")
            continue
        bare = gate.raw or gate.part == "p_value" or "corrected" not in row
        shift = 0.0 if bare else row["corrected"] - row["value"]
        if row.get("doubted") and not bare:
            row = row | _corrected_numbers(gate, row, where)
            shift = gate.metric.ideal - row["chance"]
        value = float(row[gate.part or "value"])
        value += 0.0 if gate.part == "p_value" else shift
        if isnan(value):
            raise DataError(
                f"gate {gate.text!r} cannot be evaluated: {gate.part or 'value'} of "
                f"{row['metric']}{where} is undefined"
            )
        if bare and "corrected" in row:
            if SIGNS[gate.sign](value, gate.limit):
                what = gate.part or "value"
                fired.append(
                    f"{gate.text}: {what}{where} is {_written(value, gate)}; chance may do this"
                )
            continue
        bounds = float(row["bound_low"]) + shift, float(row["bound_high"]) + shift
        if gate.part or ("corrected" not in row and isnan(bounds[0])):
            bounds = value, value
        one = Compared("", value, bounds, row.get("p_value", 0.0))
        if _breaks(gate.sign, gate.limit, one, level):
            word = "corrected value" if "corrected" in row else "value"
            fired.append(f"{gate.text}: the {word}{where} is {_written(value, gate)}")
        elif "corrected" in row and _out_of_reach(gate, row):
            least = gate.metric.ideal - row["chance"]
            remarks.append(
                f"{gate.text}: the corrected value{where} cannot be below "
                f"{_written(least, gate)} on these data, so this gate cannot fire; a comparison "
                "such as "
                f'"any {row["attribute"]} selected < {gate.limit:g}" can'
            )
    return Outcome(gate, fired, remarks)


def _metric_bound(gate: MetricGate, row: dict[str, Any], where: str) -> float:
    """Return a bound of a metric over all labels."""
    found = row.get("labels", {}).get("completions")
    if gate.part == "breakdown" or (found is None and row.get("labels") is not None):
        told = row.get("labels", {}).get("no bounds", {}).get("assumption", "")
        why = f": {told}" if told and gate.part != "breakdown" else ""
        raise DataError(
            f"gate {gate.text!r} cannot be evaluated: {row['metric']}{where} has no "
            f"{gate.part}{why}"
        )
    if found is None:
        return float(row["value"])
    return float(found[gate.part.removeprefix("bounds_")])


def _corrected_numbers(gate: MetricGate, row: dict[str, Any], where: str) -> dict[str, Any]:
    """Return the value and the ends of a metric, corrected for labels."""
    method = "rubin" if "rubin" in row["labels"] else "percentiles"
    found = row["labels"].get(method)
    if found is None:
        refused = row["labels"].get("refused", {}).get("assumption", "it is not corrected")
        raise DataError(
            f"gate {gate.text!r} cannot be evaluated: the value of {row['metric']}{where} is "
            f"refused, since labels are unknown: {refused}"
        )
    one_sided = row["labels"][f"{method}, one-sided"]
    ends = {"bound_low": one_sided["low"], "bound_high": one_sided["high"]}
    ends["chance"] = row["labels"][f"{method}, chance"]["value"]
    return {"value": found["value"], "low": found["low"], "high": found["high"]} | ends


def _out_of_reach(gate: MetricGate, row: dict[str, Any]) -> bool:
    """Return whether the smallest corrected value of a ratio is not below the limit."""
    low = gate.metric.bounds[0]
    least = gate.metric.ideal + low - row["chance"]
    return gate.sign in ("<", "<=") and not SIGNS[gate.sign](least, gate.limit)
