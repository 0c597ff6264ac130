"""Which claims hold although labels are unknown, guessed or recorded with errors."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isnan
from typing import Any

import numpy as np

from ..core.labels import MISSING
from ..core.order_values import list_shares
from ..core.outcomes import decide_top
from ..core.paired_rankings import pair_rankings
from ..core.ranking import Ranking
from ..kernels.segments import segment_index
from ..reports.claims import LABEL_NUMBERS, Claim
from ..reports.number_words import percent, plain_column
from ..statistics.corrected_labels import CorrectedEstimate, corrected_measure
from ..statistics.membership_sums import FEWEST_LISTS, Interval, change_interval
from ..statistics.parity_breakdown import LabelBreakdown, check_parity
from ..statistics.unknown_labels import CompletionBounds, bounds_of_sides
from .audit_plan import Audited, Plan
from .given_claims import given_relevance
from .label_answers import (
    FEW_UNKNOWN,
    LabelColumn,
    Labels,
    are_doubtful,
    label_sides,
    labels_of,
    plan_positions,
    residual_bands,
    with_reason,
    within_cells,
)
from .people import People, Values, find_people, known_codes, make_values

__all__ = ["judge_labels", "label_rules", "refused_words"]

#: Above this share of unknown labels, a breakdown below `LEAST_BREAKDOWN` decides nothing.
MANY_UNKNOWN, LEAST_BREAKDOWN = 0.2, 0.25
#: Above this share, only verified labels allow an estimate.
MOST_UNKNOWN = 0.5
#: How assumptions end that other properties of people are added to.
SAME_POSITIONS = "at the same positions"


def label_rules() -> dict[str, float]:
    """Return the conventions by which unknown labels are judged, for the facts of a report."""
    return {
        "few_unknown": FEW_UNKNOWN,
        "many_unknown": MANY_UNKNOWN,
        "least_breakdown": LEAST_BREAKDOWN,
        "most_unknown": MOST_UNKNOWN,
    }


def refused_words(labels: Labels) -> str:
    """Return why no estimate is corrected; empty if one may be."""
    if labels.share > MOST_UNKNOWN and labels.model.kind not in ("checked", "probabilities"):
        return _mostly_unknown(labels)
    return labels.model.refusal(labels.code)


def _mostly_unknown(labels: Labels) -> str:
    share = percent(labels.share)
    return f"over half of the labels are unknown ({share}), and none are verified"


def judge_labels(
    plan: Plan,
    claims: Sequence[Claim],
    before: Ranking | None = None,
    unpaired: Plan | None = None,
) -> list[Claim]:
    """Return claims with the answer that they rest on.

    Changes are those since ``before``, or since the other lists of ``unpaired``. Sums over lists
    are judged by the rows in memory, or else by a sample of lists, whose bounds are then intervals.

    Up to 5% unknown labels, known people decide. Above, and if labels were recorded with errors or
    checked, a finding must hold whatever the unknown labels are, or the corrected interval must be
    on its side; otherwise the data cannot tell.
    """
    rows = plan.of_rows
    by_name = {each.name: each for each in rows.audited}
    columns = _Columns(rows, before, plan.sampled)
    judged = []
    for claim in claims:
        each = by_name.get(claim.attribute)
        if each is not None and unpaired is not None and claim.scope.get("unpaired"):
            sampled = plan.sampled or unpaired.sampled
            claim = _judged_unpaired((rows, unpaired.of_rows), each, claim, sampled)
        elif each is not None:
            claim = _judged(columns, each, claim)
        judged.append(claim)
    return judged


def _judged(columns: "_Columns", each: Audited, claim: Claim) -> Claim:
    if claim.status not in ("finding", "cannot_tell") or claim.group not in each.groups:
        return claim
    plan, code = columns.plan, each.groups.index(claim.group)
    if not are_doubtful(plan, each) and MISSING not in each.attribute.categories:
        return claim
    doubted = labels_of(plan, each, code)
    if not (doubted.doubted or doubted.share):
        return claim
    column = columns.of(claim)
    if isinstance(column, str):
        unknown = {"unknown": doubted.share, "doubted": float(doubted.doubted)}
        if not doubted.doubted:
            return _with_numbers(claim, unknown)
        return _undecided(claim, column, unknown)
    labels = labels_of(plan, each, code, column.among, column.bands)
    unknown = {"unknown": labels.share, "doubted": float(labels.doubted)}
    found = _Answers.of(plan, each, labels, column, code)
    numbers = unknown | (found.sampled_numbers if columns.sampled else found.numbers)
    if claim.scope.get("given") and labels.share > MANY_UNKNOWN:
        labels = replace(labels, refused=_too_many_given(claim, labels))
        numbers = {n: float("nan") if "corrected" in n else v for n, v in numbers.items()}
    if claim.quantity == "position" and not claim.scope.get("given"):
        other = columns.of(claim, "positions" if claim.unit == "chance" else "chance")
        if isinstance(other, LabelColumn):
            answers = _Answers.of(plan, each, labels, other, code)
            more = answers.sampled_numbers if columns.sampled else answers.numbers
            numbers |= {f"{other.name}.{name}": value for name, value in more.items()}
    claim = _with_numbers(claim, numbers)
    if claim.status != "finding" or not labels.doubted:
        return claim
    judged = _verdict(claim, labels, found)
    words = judged.assumption
    if column.alike and words.endswith(SAME_POSITIONS):
        judged = replace(judged, assumption=f"{words}{column.alike}")
    return judged


def _judged_unpaired(plans: tuple[Plan, Plan], each: Audited, claim: Claim, sampled: bool) -> Claim:
    """Return a claim about a change between two files: each is corrected by itself."""
    if claim.status not in ("finding", "cannot_tell"):
        return claim
    base = replace(claim, quantity=claim.quantity.removeprefix("change of "))
    known, answers = [], []
    for plan in plans:
        mine = next((one for one in plan.audited if one.name == each.name), None)
        column = _column(plan, base)
        if mine is None or column is None or claim.group not in mine.groups:
            return claim
        code = mine.groups.index(claim.group)
        known.append(labels_of(plan, mine, code, column.among))
        answers.append(_Answers.of(plan, mine, known[-1], column, code))
    share = max(labels.share for labels in known)
    doubted = any(labels.doubted for labels in known)
    found = _Change(answers[0], answers[1], claim.unit == "ratio", sampled)
    numbers = {"unknown": share, "doubted": float(doubted)} | found.numbers
    refused = next(filter(None, (_refused_change(labels) for labels in known)), "")
    if refused:
        numbers = {n: float("nan") if "corrected" in n else v for n, v in numbers.items()}
    if claim.status != "finding" or not doubted:
        return _with_numbers(claim, numbers) if share or doubted else claim
    side = 1.0 if claim.direction == "higher" else -1.0
    if found.whatever(side):
        return replace(_with_numbers(claim, numbers), answer="bounds")
    if not (refused or found.unless(side)):
        refused = "corrected for labels, the confidence interval includes no change"
    if refused:
        return _undecided(claim, refused, numbers)
    words = " and ".join(dict.fromkeys(filter(None, (a.corrected.assumption for a in answers))))
    return replace(_with_numbers(claim, numbers), answer="corrected", assumption=words)


def _refused_change(labels: Labels) -> str:
    """Return why a change from or to these lists is not corrected; empty if it may be."""
    if labels.share > MANY_UNKNOWN and labels.model.kind != "checked":
        words = f"{percent(labels.share)} of the labels of a file are unknown"
        return f"{words}, and changes between files are corrected up to {percent(MANY_UNKNOWN)}"
    if labels.model.n_lists < FEWEST_LISTS:
        return f"changes between files are corrected from {FEWEST_LISTS} lists on"
    if labels.model.kind == "probabilities":
        return "probabilities alone allow no estimate of a change"
    return labels.refused or refused_words(labels)


def _too_many_given(claim: Claim, labels: Labels) -> str:
    """Return why a comparison given a property is not corrected: its intervals are too narrow."""
    return (
        f"{percent(labels.share)} of the labels are unknown, and given "
        f"{plain_column(str(claim.scope['given']))} "
        f"estimates are corrected up to {percent(MANY_UNKNOWN)} only"
    )


def _verdict(claim: Claim, labels: Labels, found: "_Answers") -> Claim:
    """Return a claim that passed the test among known people, as a finding or undecided."""
    side = 1.0 if claim.direction == "higher" else -1.0
    side = -side if found.downwards else side
    if found.whatever(side):
        return replace(claim, answer="bounds")
    words = f"{percent(labels.share)} of the labels are unknown"
    refused = labels.refused or refused_words(labels) or found.corrected.reason
    if labels.share > MOST_UNKNOWN and labels.model.kind != "checked":
        refused = _mostly_unknown(labels)
    if refused:
        return _undecided(claim, refused, claim.labels)
    if not found.unless(side):
        reason = "corrected for labels, the confidence interval includes no difference"
        return _undecided(claim, reason, claim.labels)
    if labels.share > MANY_UNKNOWN and found.parity.breakdown_interval < LEAST_BREAKDOWN:
        reason = f"{words}, and few of them could undo the difference"
        return _undecided(claim, reason, claim.labels)
    return replace(claim, answer="corrected", assumption=labels.model.assumption)


def _undecided(claim: Claim, reason: str, numbers: Mapping[str, float]) -> Claim:
    """Return a claim that labels leave open, if it is a finding among known people."""
    claim = _with_numbers(claim, numbers)
    if claim.status != "finding":
        return claim
    return replace(claim, status="cannot_tell", answer="bounds", reason=reason)


def _with_numbers(claim: Claim, numbers: Mapping[str, float]) -> Claim:
    """Return a claim with its numbers about labels, and the cells of those in the table."""
    cells = {f"labels.{n}": ("claims", claim.id, n) for n in LABEL_NUMBERS if n in numbers}
    return replace(claim, labels=dict(numbers), cells={**claim.cells, **cells})


class _Answers:
    """The bounds and the corrected estimate of one comparison."""

    def __init__(
        self,
        corrected: CorrectedEstimate,
        parity: LabelBreakdown,
        bounds: CompletionBounds,
        column: LabelColumn,
        recorded: bool,
    ) -> None:
        self.recorded = recorded
        self.corrected, self.parity, self.bounds = corrected, parity, bounds
        self.scales = column.scales
        self.downwards = column.name in ("positions", "chance")
        self.mirrored = column.name == "chance"
        self.neutral = 0.0 if column.measure in ("difference", "excess") else 1.0

    @classmethod
    def of(
        cls, plan: Plan, each: Audited, labels: Labels, column: LabelColumn, code: int
    ) -> "_Answers":
        """Return the answers of a column about a group."""
        values = column.values[labels.rows]
        options: dict[str, Any] = {"level": plan.level, "n_boot": plan.n_boot, "seed": plan.seed}
        average = "within" if column.within else column.average
        corrected = corrected_measure(
            labels.model, labels.code, values, measure=column.measure, average=average,
            reference=labels.reference, **options,
        )  # fmt: skip
        corrected = with_reason(corrected, column.measure)
        parity = check_parity(labels.model, labels.code, values, **options)
        side = label_sides(plan, each, code)[labels.rows]
        if labels.reference is not None:
            codes = labels.model.attribute.codes
            side[(codes >= 0) & (codes != labels.code) & (codes != labels.reference)] = 2
        bounds = bounds_of_sides(
            values, side, labels.model.offsets, measure=column.measure, average=column.average,
            third=labels.reference is not None, level=plan.level, n_boot=plan.n_boot,
            random_state=plan.seed,
        )  # fmt: skip
        recorded = labels.model.kind in ("matrix", "checked")
        return cls(corrected, parity, bounds, column, recorded)

    def whatever(self, side: float) -> bool:
        """Return whether the difference has a sign whatever the unknown labels are."""
        if self.recorded:
            return False
        if isnan(self.parity.interval_low) and isnan(self.parity.interval_high):
            low, high = self.bounds.interval_low, self.bounds.interval_high
            low, high = low - self.neutral, high - self.neutral
        else:
            low, high = self.parity.interval_low, self.parity.interval_high
        return bool(low > 0 if side > 0 else high < 0)

    def unless(self, side: float) -> bool:
        """Return whether the corrected interval is on one side of no difference."""
        low, high = self.corrected.low - self.neutral, self.corrected.high - self.neutral
        return bool(low > 0 if side > 0 else high < 0)

    @property
    def numbers(self) -> dict[str, float]:
        """The numbers of a claim, by name."""
        corrected, bounds, (k, b) = self.corrected, self.bounds, self.scales
        one_sided = k * corrected.bound_low, k * corrected.bound_high
        found = {
            "corrected": k * corrected.value,
            **_ends("corrected", k * corrected.low, k * corrected.high, self.mirrored),
            **_ends("corrected_bound", *one_sided, self.mirrored),
            **_ends("bounds", b * bounds.low, b * bounds.high, self.mirrored),
            "breakdown": self.parity.breakdown,
            "breakdown_interval": self.parity.breakdown_interval,
            "tipping_share": self.parity.tipping_share,
        }
        if self.mirrored:
            found["corrected"] = 0.5 - corrected.value
        return {name: float(value) for name, value in found.items()}

    @property
    def all_numbers(self) -> dict[str, float]:
        """The numbers of a claim, and the confidence interval of the bounds."""
        _, b = self.scales
        low, high = b * self.bounds.interval_low, b * self.bounds.interval_high
        return self.numbers | _ends("interval", low, high, self.mirrored)

    @property
    def sampled_numbers(self) -> dict[str, float]:
        """The numbers of a claim from a sample of lists: bounds that hold for all lists.

        They are the confidence interval of the bounds.
        """
        found = self.all_numbers
        ends = {f"bounds_{end}": found.pop(f"interval_{end}") for end in ("low", "high")}
        return found | ends | {"sampled": 1.0}


class _Change:
    """The answers about a change between two files, from those of each."""

    def __init__(self, new: _Answers, old: _Answers, ratio: bool, sampled: bool) -> None:
        self.ratio, self.neutral, self.sampled = ratio, float(ratio), sampled
        self.recorded = new.recorded or old.recorded
        parts = new.all_numbers, old.all_numbers
        self.corrected, self.one_sided = (
            self._joined(parts, ("corrected",) * 2, name)
            for name in ("corrected", "corrected_bound")
        )
        ends = ("bounds_low", "bounds_high"), ("bounds_high", "bounds_low")
        self.least, self.most = (self._joined(parts, each, "interval") for each in ends)

    def _joined(
        self, parts: tuple[dict[str, float], ...], values: tuple[str, ...], ends: str
    ) -> Interval:
        """Return the change of a value, whose name may differ in the two files."""
        new, old = (
            Interval(part[name], part[f"{ends}_low"], part[f"{ends}_high"])
            for part, name in zip(parts, values, strict=True)
        )
        return change_interval(new, old, ratio=self.ratio)

    def whatever(self, side: float) -> bool:
        """Return whether the change has a sign whatever the unknown labels are."""
        return not self.recorded and self._beyond(side, self.least.low, self.most.high)

    def unless(self, side: float) -> bool:
        """Return whether the corrected interval is on one side of no change."""
        return self._beyond(side, self.corrected.low, self.corrected.high)

    def _beyond(self, side: float, low: float, high: float) -> bool:
        return bool(low > self.neutral if side > 0 else high < self.neutral)

    @property
    def numbers(self) -> dict[str, float]:
        """The numbers of a claim, by name."""
        return {
            "corrected": self.corrected.value,
            "corrected_low": self.corrected.low,
            "corrected_high": self.corrected.high,
            "corrected_bound_low": self.one_sided.low,
            "corrected_bound_high": self.one_sided.high,
            "bounds_low": self.least.low if self.sampled else self.least.value,
            "bounds_high": self.most.high if self.sampled else self.most.value,
            **({"sampled": 1.0} if self.sampled else {}),
        }


def _ends(name: str, low: float, high: float, mirrored: bool) -> dict[str, float]:
    """Return both ends by name; a chance to be ranked above is 1/2 less a difference of ranks."""
    low, high = (0.5 - high, 0.5 - low) if mirrored else (low, high)
    return {f"{name}_low": low, f"{name}_high": high}


class _Columns:
    """The values that claims are about, which labels do not change."""

    def __init__(self, plan: Plan, before: Ranking | None, sampled: bool = False) -> None:
        self.plan, self.before, self.sampled = plan, before, sampled
        self.query = plan.data.query_of_rows()

    def of(self, claim: Claim, unit: str = "") -> LabelColumn | str:
        """Return the values of a claim, or why it is not corrected."""
        if claim.unit == "gain":
            return "gains given relevance are not corrected for labels"
        special = claim.scope.get("given") or claim.quantity.startswith("change")
        if special and claim.unit == "chance":
            return "chances in lists of different lengths are not corrected here"
        if claim.scope.get("given"):
            return self._given(str(claim.scope["given"]))
        if claim.quantity.startswith("change"):
            return self._change(claim)
        return _column(self.plan, claim, unit) or "this comparison is made of known labels only"

    def _given(self, given: str) -> LabelColumn:
        """Return positions less their mean among people of a list with the same property."""
        plan, position = self.plan, plan_positions(self.plan)
        columns = position[:, None]
        if given == "relevance":
            nobody = People(self.query, self.query, self.query, (), {})
            values = Values(columns, np.array([True]), ("position",))
            cells, columns = given_relevance(plan, nobody, values)
        else:
            cells = known_codes(next(each for each in plan.audited if each.name == given)) + 1
        residual = within_cells(columns[:, 0], self.query * (int(cells.max()) + 1) + cells)
        words = f" and with the same {plain_column(given)}"
        return self._adjusted("positions", residual, "difference", words)

    def _adjusted(
        self, name: str, values: np.ndarray, measure: str, words: str, **more: Any
    ) -> LabelColumn:
        bands = residual_bands(values, plan_positions(self.plan), self.plan.data.offsets)
        return LabelColumn(
            name, values, measure, "lists", within=True, bands=bands, alike=words, **more
        )

    def _change(self, claim: Claim) -> LabelColumn | str:
        """Return the change of each person's position, exposure or selection."""
        plan = self.plan
        paired = None if self.before is None else pair_rankings(plan.ranking, self.before)
        if paired is None or paired.before is None:
            return "this change is made of known labels only"
        k = claim.scope.get("k")
        new, old = (
            make_values(each, [decide_top(each, k)] if k else [], find_people(plan), paired.cut)
            for each in (plan.ranking, paired.before)
        )
        name = claim.quantity.removeprefix("change of ")
        at = new.at(name if name != "selected" else f"top {k}")
        values, words = new.columns[:, at] - old.columns[:, at], " who moved alike"
        if name == "position":
            return self._adjusted("positions", values, "difference", words)
        people, lists = float(plan.data.n_rows), float(plan.data.n_queries)
        scales = (1.0, lists / people) if claim.unit == "share" else (people, lists)
        return self._adjusted(name, values, "excess", words, scales=scales)


def _column(plan: Plan, claim: Claim, unit: str = "") -> LabelColumn | None:
    """Return the values that a claim is about; None if they depend on labels."""
    if claim.scope.get("given") or claim.quantity not in _QUANTITIES:
        return None
    if claim.quantity == "position":
        unit, position = unit or claim.unit, plan_positions(plan)
        if unit == "chance":
            sizes = np.diff(plan.data.offsets)
            position = position / sizes[segment_index(plan.data.offsets)]
        return LabelColumn(unit, position, "difference", "lists", within=True)
    if claim.quantity == "exposure":
        sizes = np.diff(plan.data.offsets)
        exposure = list_shares(plan.ranking) * np.repeat(sizes, sizes)
        return LabelColumn("exposure", exposure, "mean", "people")
    if claim.quantity == "score":
        return _score_column(plan)
    if claim.quantity == "scored":
        score = np.asarray(plan.data.score, dtype=np.float64)
        scored = (score > np.median(score)).astype(np.float64)
        return LabelColumn("scored", scored, "ratio", "people", within=True)
    for decision in plan.decisions:
        if all(claim.scope.get(name) == value for name, value in decision.scope.items()) and (
            bool(claim.scope.get("overall")) == bool(decision.scope.get("overall"))
        ):
            selected = np.nan_to_num(np.asarray(decision.selected, dtype=np.float64))
            return LabelColumn("selected", selected, "ratio", "people", decision.among, within=True)
    return None


def _score_column(plan: Plan) -> LabelColumn:
    """Return scores in standard deviations within lists."""
    score = np.asarray(plan.data.score, dtype=np.float64)
    lists = segment_index(plan.data.offsets)
    centred = score - (np.bincount(lists, score) / np.bincount(lists))[lists]
    scaled = score / max(float(centred.std()), 1e-300)
    return LabelColumn("score", scaled, "difference", "lists", within=True)


_QUANTITIES = ("position", "exposure", "scored", "score", "selected")
