"""Claims: the statements of a report, each with its numbers, its test and its sentence."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from math import asin, isfinite, isnan, sqrt
from typing import Any, Literal, NamedTuple

from ..core.outcomes import decision_words
from ..core.table import Table, make_table
from .number_words import (
    confidence_interval,
    joined,
    level_words,
    number,
    p_words,
    percent,
    plain_column,
    positions,
    ratio,
)

__all__ = [
    "LABEL_NUMBERS",
    "Claim",
    "Statement",
    "claims_table",
    "effect_size",
    "group_words",
    "lead_statements",
    "ordered_findings",
]

Status = Literal["finding", "cannot_tell", "described", "refused"]

#: Most sentences at the top of a report.
MOST_SENTENCES = 5
#: Most comparisons that one sentence names.
MOST_NAMED = 6


#: How the ends of an interval are written, by unit of the claim.
INTERVAL_UNITS = {"chance": "%", "share": "%", "ratio": "times", "gain": "times"}


@dataclass(frozen=True)
class Claim:
    """One statement of a report.

    Attributes
    ----------
    id : str
        Name of the claim, which occurs once in a report.
    quantity : str
        ``"position"``, ``"exposure"``, ``"selected"``, ``"scored"`` (above the median score),
        ``"score"``, ``"merit"`` (position, given relevance), a metric, or ``"change of ..."``.
    attribute, group, against : str
        Who is compared, and with whom: ``"rest"`` is everyone else whose label is known.
    shown, shown_against : str
        Names of the two in sentences, such as "women"; empty for ``group "f" (sex)``.
    scope : mapping
        What decides (``k``, ``column``, ``cutoff``, ``quota`` or ``stage``) and ``given`` where
        they apply; ``lists`` and ``people`` used; the ``shortest``, ``median`` and ``longest`` of
        these lists.
    estimate, unit : float, str
        The number; its unit is ``"positions"``, ``"chance"``, ``"ratio"``, ``"share"``,
        ``"deviations"``, ``"people"`` or ``"gain"`` (NDCG).
        Positions count downwards: above 0 the group ranks lower.
    shares : tuple of float
        The pair of shares behind ``size``.
    low, high, interval_of : float, float, str
        The confidence interval, and its units: ``"lists"`` or ``"people"``.
    bounds : tuple of float
        The one-sided lower and upper bound at the same level.
    also : mapping of str to tuple
        The same comparison in other units: estimate, low, high, both bounds and own p-value.
    test, p, p_family, block : str, float, float, str
        The test of this estimate, its own p-value, the p-value corrected for the whole report, and
        the block of claims that share an error rate.
    threshold : float
        The largest ``p_family`` of a finding.
    direction : {"lower", "higher", "none"}
        Where the group is, compared with the other side.
    size : float
        ``|2 asin sqrt(u) - 2 asin sqrt(v)|`` of the shares.
    detectable : float
        The difference that the test finds with 80% power, on the scale of its statistic.
    status : {"finding", "cannot_tell", "described", "refused"}
        Only a finding says that there is a difference.
    reason : str
        Why a claim is only described, or refused.
    answer : {"known", "bounds", "corrected"}
        What it rests on: people whose label is known; all labels that unknown people could have; or
        an estimate corrected for labels.
    assumption : str
        What the correction for labels assumes, in words.
    labels : mapping of str to float
        If labels are not all known: the ``unknown`` share, the ``corrected`` estimate with its
        interval, the ``bounds_low`` and ``bounds_high`` over all labels, ``breakdown`` and
        ``breakdown_interval``, and with them the same numbers in another unit. ``sampled`` is 1 if
        a sample of the lists was judged, whose bounds are then confidence intervals.
    level : float
        Level of the interval.
    cells : mapping of str to tuple
        For each number above its table, row and column.

    Examples
    --------
    >>> import numpy as np
    >>> from equirank import audit
    >>> result = audit(score=np.arange(40), sensitive={"sex": ["f"] * 20 + ["m"] * 20}, k=10)
    >>> claim = result.findings[0]
    >>> claim.quantity, claim.group, claim.direction, claim.status
    ('position', 'f', 'lower', 'finding')
    """

    id: str
    quantity: str
    attribute: str
    group: str
    against: str = "rest"
    scope: Mapping[str, Any] = field(default_factory=dict)
    estimate: float = float("nan")
    unit: str = ""
    shares: tuple[float, float] = (float("nan"), float("nan"))
    low: float = float("nan")
    high: float = float("nan")
    interval_of: str = ""
    bounds: tuple[float, float] = (float("nan"), float("nan"))
    also: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    test: str = ""
    p: float = float("nan")
    p_family: float = float("nan")
    block: str = ""
    threshold: float = float("nan")
    direction: Literal["lower", "higher", "none"] = "none"
    size: float = float("nan")
    detectable: float = float("nan")
    status: Status = "described"
    reason: str = ""
    level: float = 0.95
    cells: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    answer: str = "known"
    assumption: str = ""
    labels: Mapping[str, float] = field(default_factory=dict)
    shown: str = ""
    shown_against: str = ""

    @property
    def sentence(self) -> str:
        """The claim in words."""
        return _sentence(self)

    @property
    def tells_estimate(self) -> bool:
        """Whether it is undecided, and not because of labels, so that its estimate is shown."""
        return self.status == "cannot_tell" and self.answer != "bounds"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields and the sentence; undefined numbers are None, infinite ones text."""
        values = {each.name: _plain(getattr(self, each.name)) for each in fields(self)}
        return values | {"sentence": self.sentence}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Claim":
        """Return the claim that `to_dict` wrote."""
        known = {each.name: each for each in fields(cls)}
        given = {name: value for name, value in values.items() if name in known}
        for name, value in given.items():
            if known[name].type in (float, "float"):
                given[name] = float("nan") if value is None else float(value)
        for name in ("shares", "bounds"):
            given[name] = _numbers(given.get(name, (None, None)))
        given["also"] = {unit: _numbers(each) for unit, each in given.get("also", {}).items()}
        names = given.get("labels", {})
        given["labels"] = dict(zip(names, _numbers(list(names.values())), strict=True))
        given["cells"] = {name: tuple(cell) for name, cell in given.get("cells", {}).items()}
        return cls(**given)


def _numbers(values: Sequence[Any]) -> Any:
    return tuple(float("nan") if value is None else float(value) for value in values)


class Statement(NamedTuple):
    """A sentence of a report and the ids of the claims that it states."""

    text: str
    claims: tuple[str, ...]


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not isfinite(value):
        return None if isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return value


def effect_size(u: float, v: float) -> float:
    """Return ``|2 asin sqrt(u) - 2 asin sqrt(v)|`` of two shares.

    Examples
    --------
    >>> round(effect_size(0.5, 0.5), 3), round(effect_size(0.1, 0.2), 3)
    (0.0, 0.284)
    """
    if isnan(u) or isnan(v):
        return float("nan")
    first, second = (2.0 * asin(sqrt(min(max(share, 0.0), 1.0))) for share in (u, v))
    return abs(first - second)


COLUMNS = (
    "o:id o:quantity o:attribute o:group o:against o:k o:column o:cutoff o:quota o:stage "
    "b:overall o:given o:unit f:estimate f:low f:high "
    "f:share f:other_share f:p f:p_family f:threshold f:size f:detectable o:direction o:status "
    "o:interval_of o:test o:block i:lists i:people i:shortest f:median i:longest f:added o:reason "
    "o:answer o:assumption f:unknown f:corrected f:corrected_low f:corrected_high f:bounds_low "
    "f:bounds_high f:breakdown f:breakdown_interval"
)
#: Numbers of a claim that concern unknown labels.
LABEL_NUMBERS: tuple[str, ...] = (
    *("unknown", "corrected", "corrected_low", "corrected_high"),
    *("bounds_low", "bounds_high", "breakdown", "breakdown_interval"),
)


def claims_table(claims: Iterable[Claim]) -> Table:
    """Return one row per claim with all of its numbers."""
    rows = []
    for claim in claims:
        row = vars(claim).copy()
        scope = {
            **dict.fromkeys(("k", "column", "cutoff", "quota", "stage", "given"), ""),
            "overall": False,
            "median": float("nan"),
            "lists": 0,
            "people": 0,
            "added": 0.0,
        }
        row |= scope | {"shortest": 0, "longest": 0} | dict(claim.scope)
        row |= {name: claim.labels.get(name, float("nan")) for name in LABEL_NUMBERS}
        rows.append(row | dict(zip(("share", "other_share"), claim.shares, strict=True)))
    return make_table(COLUMNS, rows)


def group_words(claim: Claim) -> str:
    """Return the people that a claim is about.

    Examples
    --------
    >>> group_words(Claim("c1", "position", "sex", "female"))
    'people in group "female" (sex)'
    >>> group_words(Claim("c1", "position", "sex", "female", shown="women"))
    'women'
    """
    return claim.shown or f'people in group "{claim.group}" ({claim.attribute})'


def _others(claim: Claim) -> str:
    if claim.against == "rest":
        return "everyone else"
    return claim.shown_against or f'group "{claim.against}"'


def _where(claim: Claim) -> str:
    """Return the lists that a claim rests on."""
    scope = claim.scope
    if scope.get("lists") == 1:
        return f"in one list of {number(scope['longest'])}"
    lists = f"in {number(scope['lists'])} lists"
    if scope["shortest"] == scope["longest"]:
        return f"{lists} of {number(scope['longest'])}"
    return f"{lists} with a median of {scope['median']:,.0f} people"


def _certainty(claim: Claim) -> str:
    """Return interval and p-value in brackets."""
    parts = []
    if not isnan(claim.low):
        low, high, unit = claim.low, claim.high, INTERVAL_UNITS.get(claim.unit)
        if claim.unit == "positions" and claim.estimate < 0:
            low, high = -high, -low
        interval = confidence_interval(low, high, claim.level, unit or claim.unit)
        if claim.quantity.startswith("change") and claim.unit in ("chance", "share"):
            interval = interval.replace("interval", "interval of the change")
        parts.append(interval)
        if claim.interval_of == "people":
            one = claim.scope.get("lists") == 1 and not claim.scope.get("unpaired")
            lists = "this list" if one else "these lists"
            parts[-1] += f" for {lists}"
        if claim.scope.get("added"):
            parts[-1] += f", with {claim.scope['added']:g} added to each count"
    if not isnan(claim.p_family):
        parts.append(f"{p_words(claim.p_family, claim.level)}, corrected for the whole report")
    return f" ({'; '.join(parts)})" if parts else ""


def _difference(claim: Claim) -> str:
    """Return the estimate as a predicate of the group."""
    side = {"lower": "lower", "higher": "higher", "none": "lower"}[claim.direction]
    given = claim.scope.get("given")
    if claim.quantity in ("position", "merit") and claim.unit == "positions":
        return f"rank on average {positions(abs(claim.estimate))} {side} than {_others(claim)}"
    if claim.quantity in ("position", "merit"):
        return (
            f"are ranked above {'someone else' if claim.against == 'rest' else _others(claim)} in "
            f"{percent(claim.shares[0])} of the pairs, compared with {percent(claim.shares[1])} "
            f"{'expected from ' + plain_column(given) if given else 'in a random order'}"
        )
    if claim.quantity == "exposure":
        return (
            f"receive {ratio(claim.estimate)} times the exposure of their share"
            f"{'' if claim.against == 'rest' else f' of what they and {_others(claim)} have'}: "
            f"{percent(claim.shares[0])} of the exposure and {percent(claim.shares[1])} of the "
            "people"
        )
    if claim.unit == "gain":
        value, other = (ratio(share) for share in claim.shares)
        return f"have an {claim.quantity} of {value}, compared with {other} expected from {given}"
    if claim.quantity == "score":
        return (
            f"have scores {ratio(abs(claim.estimate))} standard deviations {side} than "
            f"{_others(claim)}"
        )
    return (
        f"{_selection(claim)} at {ratio(claim.estimate)} times the rate of "
        f"{_others(claim)}: {percent(claim.shares[0])} and {percent(claim.shares[1])}"
    )


def _selection(claim: Claim) -> str:
    """Return what it means to be selected, as a predicate."""
    scope = claim.scope
    if claim.quantity == "scored":
        return "have scores above the median of everybody"
    if "k" in scope:
        return f"are in the top {scope['k']:,}"
    if "stage" in scope and not scope.get("overall"):
        return "are selected"
    words = decision_words(scope)
    return "are selected" if words == '"selected"' else f"are selected ({words})"


def _given(claim: Claim) -> str:
    given = claim.scope.get("given")
    if "stage" in claim.scope and not claim.scope.get("overall"):
        return f'Of those who reached stage "{claim.scope["stage"]}", '
    if not given:
        return ""
    words = (
        "the same recorded relevance" if given == "relevance" else f"the same {plain_column(given)}"
    )
    return f"Among people with {words}, "


def _question(claim: Claim) -> str:
    if claim.quantity in ("selected", "scored"):
        return f"{_selection(claim)} more or less often than {_others(claim)}"
    if claim.quantity == "score":
        return f"have higher or lower scores than {_others(claim)}"
    if claim.unit == "gain":
        return f"have a higher or lower {claim.quantity} than expected"
    if claim.quantity == "exposure":
        return "receive more or less exposure than their share"
    return f"rank higher or lower than {_others(claim)}"


def _sentence(claim: Claim) -> str:
    if claim.quantity == "change":
        return (
            "Nobody moved."
            if claim.status == "described"
            else f"No change is stated: {claim.reason}."
        )
    if claim.quantity.startswith("change"):
        return _change_sentence(claim)
    who, given = group_words(claim), _given(claim)
    if claim.status == "cannot_tell" and claim.answer == "bounds":
        return _open_sentence(claim)
    if isnan(claim.estimate):
        return f"{_upper(who)} are not compared: {claim.reason}."
    comma = (
        ","
        if claim.quantity in ("selected", "scored", "exposure") or claim.unit in ("chance", "gain")
        else ""
    )
    text = f"{given}{who} {_difference(claim)}{comma} {_where(claim)}{_certainty(claim)}."
    if claim.status == "finding":
        return _upper(text) + _label_words(claim)
    if claim.status == "cannot_tell":
        lead = f"{given}the data do not show whether {who} {_question(claim)}."
        power = ""
        if claim.unit == "positions" and not isnan(claim.detectable):
            power = f" A difference of {positions(claim.detectable)} is detectable with 80% power."
        return f"{_upper(lead)} The estimate: they {_difference(claim)}{_certainty(claim)}.{power}"
    return f"{_upper(text)} This was not tested: {claim.reason}."


def _number_of(claim: Claim, value: float) -> str:
    """Return an estimate of a claim with its unit."""
    if claim.unit == "positions":
        side = "lower" if value >= 0 else "higher"
        return f"{positions(abs(value))} {side}"
    if claim.unit == "chance":
        return f"{percent(value)} of the pairs"
    if claim.unit == "deviations":
        return f"{ratio(value)} standard deviations"
    if claim.unit == "share":
        return f"{percent(value)} of the exposure"
    if claim.unit == "people":
        return f"{number(value)} people"
    return f"{ratio(value)} times"


def _either(claim: Claim) -> str:
    """Return the attribute of a claim, one of whose labels is unknown if it is crossed."""
    return " or ".join(plain_column(name) for name in claim.attribute.split(" x "))


def _label_words(claim: Claim) -> str:
    """Return what unknown labels mean for a finding, as sentences that follow it."""
    if claim.answer == "bounds":
        who = f"the people whose {_either(claim)} is unknown"
        share = percent(claim.labels["unknown"])
        judged = ", judged by a sample of the lists" if claim.labels.get("sampled") else ""
        return f" This holds whatever the labels of {who} ({share}) are{judged}."
    if claim.answer != "corrected":
        return ""
    labels = claim.labels
    if isnan(labels["corrected"]):
        text = f" It holds for all labels that the probabilities allow, if {claim.assumption}."
        return text.replace(
            ", and people with equal probabilities are ranked alike in all groups", ""
        )
    unit = INTERVAL_UNITS.get(claim.unit) or claim.unit
    low, high = labels["corrected_low"], labels["corrected_high"]
    if claim.unit == "positions" and labels["corrected"] < 0:
        low, high = -high, -low
    value = _number_of(claim, labels["corrected"])
    interval = confidence_interval(low, high, claim.level, unit)
    if claim.scope.get("lists") == 1:
        interval += " for this list, approximate"
    where = " in a sample of the lists" if labels.get("sampled") else ""
    text = f" Corrected for labels{where}, the estimate is {value} ({interval}), if "
    text += f"{claim.assumption}."
    undone = labels.get("breakdown_interval", float("nan"))
    if isfinite(undone):
        text += (
            f" This would be uncertain if {percent(undone)} of the people whose {_either(claim)} "
            "is unknown had the least favourable label and the others were like known people at "
            "the same positions."
        )
    return text


def _open_sentence(claim: Claim) -> str:
    """Return a comparison that unknown labels leave open: bounds, and no estimate."""
    lead = f"{_given(claim)}the data do not show whether {group_words(claim)} {_question(claim)}"
    if claim.quantity.startswith("change"):
        lead = f"the data do not show a {claim.quantity} for {group_words(claim)}"
    text = f"{_upper(lead)}: {claim.reason}."
    low, high = (claim.labels.get(f"bounds_{end}", float("nan")) for end in ("low", "high"))
    if not (isfinite(low) and isfinite(high)):
        return text
    ends = f"{_number_of(claim, low)} and {_number_of(claim, high)}"
    judged = ", judged by a sample of the lists" if claim.labels.get("sampled") else ""
    return f"{text} Depending on the unknown labels, the value is between {ends}{judged}."


def _change_sentence(claim: Claim) -> str:
    who = group_words(claim)
    if claim.status == "refused":
        return f"{_upper(claim.quantity)} is not stated for {who}: {claim.reason}."
    if claim.status == "cannot_tell" and claim.answer == "bounds":
        return _open_sentence(claim)
    subject, they = f"{who}, compared with {_others(claim)},", "they"
    if claim.scope.get("unpaired"):
        return _unpaired_sentence(claim)
    if claim.unit == "positions":
        # Both sides move, so the difference may change by more positions than a list has.
        subject, they = f"the mean position of {who}", "their mean position"
        side = "up" if claim.direction == "higher" else "down"
        moved = positions(abs(claim.estimate))
        change = f"moved {side} by {moved} relative to that of {_others(claim)}"
    elif claim.unit == "people":
        many = number(abs(claim.estimate))
        more = "more" if claim.estimate > 0 else "fewer"
        change = f"have {many} {more} in the top {claim.scope['k']:,} than before"
    elif claim.unit == "chance":
        change = (
            f"are ranked above someone else in {percent(claim.shares[0])} of the pairs, before in "
            f"{percent(claim.shares[1])}"
        )
    else:
        change = (
            f"receive {percent(claim.shares[0])} of the exposure, before {percent(claim.shares[1])}"
        )
    if claim.status == "cannot_tell":
        lead = f"The data do not show a change for {who}."
        return f"{lead} The estimate: {they} {change}{_certainty(claim)}."
    text = _upper(f"{subject} {change} {_where(claim)}{_certainty(claim)}.")
    if claim.status == "finding":
        return text + _label_words(claim)
    return f"{text} This was not tested: {claim.reason}."


def _unpaired_sentence(claim: Claim) -> str:
    """Return a claim about a change between two files of different lists."""
    who = group_words(claim)
    if isnan(claim.estimate):
        return f"A change is not stated for {who}: {claim.reason}."
    now, before = claim.also["now"][0], claim.also["before"][0]
    if claim.quantity == "change of position":
        other = "someone else" if claim.against == "rest" else _others(claim)
        what = f"are ranked above {other} in {percent(now)} of the pairs"
        then = f"{percent(before)} in the other file"
    elif claim.quantity == "change of exposure":
        what = f"receive {ratio(now)} times the exposure of their share"
        then = f"{ratio(before)} times in the other file"
    else:
        what = f"{_selection(claim)} at {ratio(now)} times the rate of {_others(claim)}"
        then = f"{ratio(before)} times in the other file"
    here = "1 list" if claim.scope["lists"] == 1 else f"{number(claim.scope['lists'])} lists"
    lists = f"in {here} here and {number(claim.scope['other_lists'])}"
    times = ""
    if claim.unit == "ratio":
        times = f"; the ratio of the two is {ratio(claim.estimate)}"
    text = f"{who} {what}, and {then}{times}, {lists} there{_certainty(claim)}."
    if claim.status == "finding":
        return _upper(text) + _label_words(claim)
    if claim.status == "cannot_tell":
        why = f" This was not tested: {claim.reason}." if claim.reason else ""
        return f"The data do not show a change for {who}. The estimate: {text}{why}"
    return f"{_upper(text)} This was not tested: {claim.reason}."


def _upper(text: str) -> str:
    return text[:1].upper() + text[1:]


def ordered_findings(claims: Iterable[Claim]) -> list[Claim]:
    """Return the findings, largest first; ties by p-value, then by name."""
    found = [claim for claim in claims if claim.status == "finding"]
    return sorted(
        found,
        key=lambda c: (-round(c.size, 9), c.p_family, c.attribute, c.group, c.quantity, c.id),
    )


def lead_statements(claims: Sequence[Claim]) -> tuple[list[Statement], list[Statement]]:
    """Return the first sentences of a report, at most five, and the remaining ones.

    Findings come first, largest first; the last sentence states which comparisons the data cannot
    decide. Without a finding the first sentence says so, with the smallest detectable difference.
    """
    findings = ordered_findings(claims)
    fixed = [Statement(c.sentence, (c.id,)) for c in claims if c.quantity == "change"]
    undecided = [claim for claim in claims if claim.status == "cannot_tell"]
    statements = [Statement(claim.sentence, (claim.id,)) for claim in findings]
    last = [*_overlap(findings), *_undecided(undecided, bool(findings))]
    last = [*fixed, *last]
    if not findings:
        statements = _no_finding(undecided, claims)
    left = MOST_SENTENCES - len(last)
    rest = statements[left:] + [Statement(claim.sentence, (claim.id,)) for claim in undecided]
    return statements[:left] + last, rest


def _no_finding(undecided: Sequence[Claim], claims: Sequence[Claim]) -> list[Statement]:
    if not undecided:
        ids = tuple(claim.id for claim in claims)
        reasons = {claim.reason for claim in claims if claim.reason}
        why = f": {reasons.pop()}" if len(reasons) == 1 else ""
        return [Statement(f"This report tests no difference between groups{why}.", ids)]
    ids = tuple(claim.id for claim in undecided)
    share = level_words(1.0 - undecided[0].level)
    text = f"No difference between groups is a finding at the {share} level of the whole report."
    known = [c for c in undecided if c.unit == "positions" and not isnan(c.detectable)]
    if known:
        least = min(known, key=lambda claim: claim.detectable)
        text += (
            f" The smallest difference detectable with 80% power is "
            f"{positions(least.detectable)}, for {group_words(least)}."
        )
    return [Statement(text, ids)]


def _overlap(findings: Sequence[Claim]) -> list[Statement]:
    """State that findings of two attributes are about overlapping groups of people."""
    first: dict[str, str] = {}
    for claim in findings:
        if not claim.scope.get("given") and " x " not in claim.attribute:
            first.setdefault(claim.attribute, claim.id)
    if len(first) < 2:
        return []
    names = joined([plain_column(name) for name in first])
    text = f"The groups of {names} overlap, so these differences are not separate effects."
    return [Statement(text, tuple(first.values()))]


def _undecided(undecided: Sequence[Claim], findings: bool) -> list[Statement]:
    if not undecided or not findings:
        return []
    counts: dict[str, list[str]] = {}
    for claim in undecided:
        who = claim.shown or f'"{claim.group}" ({claim.attribute})'
        counts.setdefault(who, []).append(_short(claim))
    named = [f"{who}: {joined(what)}" for who, what in counts.items()]
    more = len(named) - MOST_NAMED
    words = "; ".join(named[:MOST_NAMED]) + (f"; and {more} more groups" if more > 0 else "")
    n = len(undecided)
    lead = "one further comparison" if n == 1 else f"{number(n)} further comparisons"
    text = f"The data do not show a difference in {lead}: {words}."
    return [Statement(text, tuple(claim.id for claim in undecided))]


def _short(claim: Claim) -> str:
    given = claim.scope.get("given")
    if claim.quantity.endswith("selected"):
        return claim.quantity.replace("selected", decision_words(claim.scope))
    if claim.quantity == "merit":
        return "position given relevance"
    return f"{claim.quantity} given {plain_column(given)}" if given else claim.quantity
