"""What a comparison states: each method's value, each paired difference, and their sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from math import isfinite, isnan, nan
from typing import Any, Literal

from ..core.metric import Metric
from ..plots.theme import shorten
from ..reports.claims import Statement
from ..reports.number_words import confidence_interval, joined, number, p_words, ratio
from .paired import Sample, family_tests, means_and_intervals

__all__ = ["ComparisonClaim", "lead", "make_claims", "top_methods"]


#: Separated methods of which a sentence gives the difference, interval and p-value.
DETAILED = 3


@dataclass(frozen=True)
class ComparisonClaim:
    """A method's value of one metric, or its difference from another method.

    `Comparison.claims` lists them.

    Attributes
    ----------
    id : str
        The number of the claim in its comparison.
    quantity : str
        The metric.
    group : str
        The method; of a pair, the one with the better estimate.
    against : str or None
        The other method; None for the value of one method.
    estimate, low, high : float
        The value, or ``group`` minus ``against``, and its confidence interval.
    p, p_family : float
        The p-value of the paired test of the difference, alone and corrected for all pairs of
        methods and all metrics.
    direction : {"higher", "lower", "none"}
        Sign of the difference.
    status : {"finding", "cannot_tell", "described"}
        A finding has a corrected p-value of at most ``1 - level`` and an interval that excludes 0.
        Values of one method, and pairs that cannot be tested, are described.
    interval_of : {"queries", "folds"}
        The independent units of interval and test.
    n : int
        Number of these units.
    level : float
        Level of the interval.
    why : str
        Why a pair was not tested.
    """

    id: str
    quantity: str
    group: str
    against: str | None
    estimate: float
    low: float
    high: float
    p: float
    p_family: float
    direction: Literal["higher", "lower", "none"]
    status: Literal["finding", "cannot_tell", "described"]
    interval_of: str
    n: int
    level: float
    why: str = ""

    @property
    def sentence(self) -> str:
        """The claim in words."""
        if self.against is None:
            if isnan(self.estimate):
                return f"{self.quantity} of {self.group} is undefined."
            return f"{self.group} has {self.quantity} {self.value_words()}."
        if self.status == "described":
            return (
                f"{self.group} and {self.against} were not tested for a difference in "
                f"{self.quantity}: {self.why}."
            )
        certain = f"{self._interval(self.low, self.high)}paired test {self.p_words()}, corrected"
        if self.status == "finding":
            size = number(abs(self.estimate))
            return (
                f"{self.group} has {size} {'more' if self.estimate > 0 else 'less'} "
                f"{self.quantity} than {self.against} ({certain})."
            )
        return (
            f"The paired test does not separate {self.group} from {self.against} in "
            f"{self.quantity}: the difference is {number(self.estimate)} ({certain})."
        )

    def value_words(self) -> str:
        """Return the estimate with its interval."""
        interval = self._interval(self.low, self.high).removesuffix("; ")
        return ratio(self.estimate) + (f" ({interval})" if interval else "")

    def size_words(self) -> str:
        """Return the size of a difference, with interval and p-value."""
        ends = sorted([abs(self.low), abs(self.high)])
        interval = self._interval(*ends).replace("; ", ", ")
        return f"by {number(abs(self.estimate))}, {interval}{self.p_words()}"

    def p_words(self) -> str:
        """Return the corrected p-value as an equation."""
        return p_words(self.p_family, self.level)

    def _interval(self, low: float, high: float) -> str:
        if isnan(low) or isnan(high):
            return ""
        return f"{confidence_interval(low, high, self.level, '')}; "

    def to_dict(self) -> dict[str, Any]:
        """Return the fields and the sentence; undefined numbers are None."""
        fields = asdict(self) | {"sentence": self.sentence}
        return {
            name: None if isinstance(value, float) and not isfinite(value) else value
            for name, value in fields.items()
        }


def make_claims(
    found: Mapping[tuple[str, str], Sample],
    methods: Sequence[str],
    metrics: Sequence[Metric],
    failed: Sequence[str],
    level: float,
) -> list[ComparisonClaim]:
    """Return the claims of a comparison: each method's values, then all pairs of methods.

    Parameters
    ----------
    found : mapping of (method, metric) to Sample
        The values per query or fold.
    methods : sequence of str
        All methods.
    metrics : sequence of Metric
        The metrics.
    failed : sequence of str
        The methods with a failed cell. Their differences are described, not tested.
    level : float
        Level of intervals and tests.
    """
    keys = [(method, metric.name) for metric in metrics for method in methods]
    own = means_and_intervals([found[key] for key in keys], level)
    claims: list[dict[str, Any]] = []
    for (method, metric), row in zip(keys, own, strict=True):
        claim: dict[str, Any] = {"quantity": metric, "group": method, "against": None}
        claim |= {"estimate": row["value"], "low": row["low"], "high": row["high"], "p": nan}
        claim |= {"p_family": nan, "direction": "none", "status": "described", "n": row["n"]}
        claims.append(claim | {"interval_of": found[method, metric].unit})
    pairs = [(*pair, metric) for metric in metrics for pair in combinations(methods, 2)]
    samples = [(found[one, metric.name], found[other, metric.name]) for one, other, metric in pairs]
    tested = [not {one, other}.intersection(failed) for one, other, _ in pairs]
    rows = family_tests(samples, tested, level)
    for (one, other, kind), row, whole in zip(pairs, rows, tested, strict=True):
        if row["estimate"] < 0 if kind.direction == "higher" else row["estimate"] > 0:
            one, other = other, one
            row |= {"estimate": -row["estimate"], "low": -row["high"], "high": -row["low"]}
        claim = {"quantity": kind.name, "group": one, "against": other} | row
        if isnan(row["p_family"]):
            claim["status"] = "described"
            few = f"{row['n']} {row['interval_of']} with both values are too few"
            claim["why"] = few if whole else "one of them failed in some folds"
        else:
            apart = row["low"] > 0 if row["estimate"] > 0 else row["high"] < 0
            sure = row["p_family"] <= round(1 - level, 12) and apart
            claim["status"] = "finding" if sure else "cannot_tell"
        estimate = row["estimate"]
        claim["direction"] = "higher" if estimate > 0 else "lower" if estimate < 0 else "none"
        claims.append(claim)
    return [
        ComparisonClaim(id=f"c{at}", level=level, **claim) for at, claim in enumerate(claims, 1)
    ]


def _ahead(claim: ComparisonClaim, method: str) -> bool:
    return claim.status == "finding" and claim.group == method


@dataclass(frozen=True)
class _Standing:
    """The claims of one metric: values in order, the leading method first, and pairs."""

    metric: Metric
    values: Sequence[ComparisonClaim]
    pairs: Sequence[ComparisonClaim]

    def pair(self, one: str, other: str) -> ComparisonClaim:
        return next(claim for claim in self.pairs if {claim.group, claim.against} == {one, other})

    def split(self) -> tuple[list[ComparisonClaim], list[ComparisonClaim]]:
        """Return the pairs of the leading method: not separated, and separated in its favour."""
        top, *others = [claim.group for claim in self.values]
        against_top = [self.pair(top, other) for other in others]
        near = [claim for claim in against_top if claim.status != "finding"]
        return near, [claim for claim in against_top if _ahead(claim, top)]


def _standing(
    claims: Sequence[ComparisonClaim], metric: Metric, methods: Sequence[str]
) -> _Standing:
    mine = [claim for claim in claims if claim.quantity == metric.name and claim.group in methods]
    values = [claim for claim in mine if claim.against is None and not isnan(claim.estimate)]
    sign = -1.0 if metric.direction == "higher" else 1.0
    values.sort(key=lambda claim: sign * claim.estimate)
    known = {claim.group for claim in values}
    pairs = [claim for claim in mine if claim.group in known and claim.against in known]
    return _Standing(metric, values, pairs)


def top_methods(
    claims: Sequence[ComparisonClaim], metric: Metric, methods: Sequence[str]
) -> list[str]:
    """Return the leading method of a metric and those that the test does not separate from it."""
    standing = _standing(claims, metric, methods)
    if not standing.values:
        return []
    near, _ = standing.split()
    top = standing.values[0].group
    others = {name for claim in near for name in (claim.group, claim.against)}
    return [top, *(claim.group for claim in standing.values[1:] if claim.group in others)]


def lead(
    claims: Sequence[ComparisonClaim], metrics: Sequence[Metric], methods: Sequence[str]
) -> list[Statement]:
    """Return the sentences on the methods that finished every fold.

    The first metric leads with the methods that the test does not separate from the one with the
    best estimate, which is called best only if it is separated from all others. The pairs that the
    test separates follow, of every metric; a metric without any shares one sentence with others.
    """
    found = [_standing(claims, metric, methods) for metric in metrics]
    finished = {claim.group for claim in claims} == set(methods)
    best = "is best with" if finished else "is best of the methods that finished every fold, with"
    statements = [_leading(found[0], best)]
    level: list[_Standing] = []
    for standing in found[1:]:
        if any(claim.status == "finding" for claim in standing.pairs):
            statements.append(_leading(standing, best))
        elif len(standing.values) > 1:
            level.append(standing)
    if level:
        names = joined([standing.metric.name for standing in level])
        ids = tuple(claim.id for standing in level for claim in standing.pairs)
        text = f"By {names}, the paired test separates no two methods."
        statements.append(Statement(text, ids))
    tested = [claim for standing in found for claim in standing.pairs if not isnan(claim.p)]
    if len(tested) > 1:
        text = f"P-values are corrected for {len(tested)} comparisons of two methods in one metric."
        statements.append(Statement(text, tuple(claim.id for claim in tested)))
    return statements


def _leading(standing: _Standing, best: str) -> Statement:
    metric, values = standing.metric, standing.values
    by = f"By {metric.name}" + (" (lower is better)" if metric.direction == "lower" else "")
    if not values:
        return Statement(f"{metric.name} is undefined for every method.", ())
    top = values[0]
    if len(values) == 1:
        return Statement(f"{by}, {shorten(top.group)} has {top.value_words()}.", (top.id,))
    near, far = standing.split()
    separated = "The paired test separates it from "
    if near:
        alike = {name for claim in near for name in (claim.group, claim.against)} - {top.group}
        shown = [claim for claim in values if claim.group in alike]
        names = [f"{shorten(claim.group, 40)} ({ratio(claim.estimate)})" for claim in shown]
        sentences = [
            f"{by}, {shorten(top.group, 40)} ({ratio(top.estimate)}) cannot be told apart from "
            f"{joined(names)}."
        ]
        reasons = dict.fromkeys(claim.why for claim in near if claim.why)
        sentences += [f"Not tested: {reason}." for reason in reasons]
        separated = f"The paired test separates {shorten(top.group, 40)} from "
        used = [top, *shown]
    else:
        # Where a metric is undefined for some queries, a method behind may be ahead in its pair.
        verb = best if len(far) == len(values) - 1 else "has"
        sentences, used = [f"{by}, {shorten(top.group)} {verb} {top.value_words()}."], [top]
    if far:
        sentences.append(f"{separated}{_separated(far, top.group)}.")
    others = [claim for claim in standing.pairs if claim.status == "finding" and claim not in far]
    if others:
        winners: dict[str, list[ComparisonClaim]] = {}
        for claim in others:
            winners.setdefault(claim.group, []).append(claim)
        parts = [f"{shorten(name, 40)} from {_names(some, name)}" for name, some in winners.items()]
        largest = max(others, key=lambda claim: claim.p_family).p_words()
        most = "" if len(others) == 1 else "largest "
        sentences.append(f"It also separates {'; '.join(parts)} ({most}{largest}).")
    ids = tuple(claim.id for claim in (*used, *near, *far, *others))
    return Statement(" ".join(sentences), ids)


def _separated(far: Sequence[ComparisonClaim], top: str) -> str:
    """Return the methods behind the leading one, with the differences where there are few."""
    if len(far) > DETAILED:
        largest = max(far, key=lambda claim: claim.p_family).p_words()
        return f"{_names(far, top)} (largest {largest})"
    return joined([f"{_names([claim], top)} ({claim.size_words()})" for claim in far])


def _names(claims: Sequence[ComparisonClaim], but: str) -> str:
    names = [claim.against if claim.group == but else claim.group for claim in claims]
    return joined([shorten(name, 40) for name in names])
