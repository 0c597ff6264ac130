"""A check that cannot fail is none: each is shown a metric that breaks its promise."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from equirank import DataError
from equirank.core.metric import GroupMetric, Metric, Values
from equirank.kernels.segments import segment_sum
from equirank.metrics import DCG, NDCG, RKL, ExposureByGroup, ExposureGap, Precision, ReciprocalRank
from equirank.testing import check_metric
from equirank.testing.metric_checks import CHECKS


@dataclass(frozen=True, repr=False, kw_only=True)
class FirstRelevant(Metric):
    """Whether the first place is relevant: a user's own metric, correct."""

    needs: ClassVar[frozenset[str]] = frozenset({"relevance"})
    takes_k: ClassVar[bool] = False

    def values(self, slots):
        first = np.zeros(int(slots.sizes.max()))
        first[0] = 1
        return Values(segment_sum((slots.y >= 1) * slots.expect(first), slots.offsets))


@dataclass(frozen=True, repr=False, kw_only=True)
class OutOfBounds(FirstRelevant):
    """Exceeds the bounds it declares."""

    def values(self, slots):
        return Values(super().values(slots).value * 1.5)


@dataclass(frozen=True, repr=False, kw_only=True)
class Infinite(FirstRelevant):
    """Divides by zero where nothing is relevant."""

    bounds: ClassVar[tuple[float, float]] = (0.0, np.inf)

    def values(self, slots):
        total = segment_sum(slots.y, slots.offsets)
        return Values(np.where(total > 0, 1.0, np.inf))


@dataclass(frozen=True, repr=False, kw_only=True)
class Sideways(FirstRelevant):
    """Has a direction nobody knows."""

    direction: ClassVar[str] = "sideways"


@dataclass(frozen=True, repr=False, kw_only=True)
class Nameless(FirstRelevant):
    """Writes a string that does not read back."""

    threshold: float = 1.0

    def __repr__(self):
        return "Nameless(threshold=7.0)"


@dataclass(frozen=True, repr=False, kw_only=True, eq=False)
class Unequal(FirstRelevant):
    """Is equal only to itself."""

    __eq__ = object.__eq__
    __hash__ = object.__hash__


@dataclass(frozen=True, repr=False, kw_only=True)
class TooMany(FirstRelevant):
    """Gives a value too many."""

    def values(self, slots):
        return Values(np.append(super().values(slots).value, 0.5))


@dataclass(frozen=True, repr=False, kw_only=True)
class Reversed(FirstRelevant):
    """Gives the queries in the wrong order."""

    def values(self, slots):
        return Values(super().values(slots).value[::-1])


@dataclass(frozen=True, repr=False, kw_only=True)
class FirstRow(FirstRelevant):
    """Looks at the row that came first."""

    def values(self, slots):
        return Values(slots.data.y[slots.offsets[:-1] % len(slots.data.y)] / 3)


@dataclass(frozen=True, repr=False, kw_only=True)
class MeanScore(FirstRelevant):
    """Looks at the scores themselves."""

    def values(self, slots):
        total = segment_sum(slots.data.score[slots.order] / 2, slots.offsets)
        return Values(total / slots.sizes)


@dataclass(frozen=True, repr=False, kw_only=True)
class FirstLabel(GroupMetric):
    """Looks at the group whose name comes first."""

    def values(self, slots):
        codes, _ = slots.groups(self.by)
        return Values(slots.sum_by_group(np.ones(len(codes)), codes, 9)[:, 0] / slots.sizes)


@dataclass(frozen=True, repr=False, kw_only=True)
class Total(FirstRelevant):
    """Sums over queries where it should average."""

    def summarize(self, values, counts=None):
        return np.nansum(values.value, axis=0), None


@dataclass(frozen=True, repr=False, kw_only=True)
class TieBreaker(ReciprocalRank):
    """Takes the most favourable order of tied items."""

    def values(self, slots):
        best = np.where(slots.y >= 1, 1 / (slots.begin() - slots.start + 1), 0)
        return Values(np.maximum.reduceat(best, slots.offsets[:-1]))


@dataclass(frozen=True, repr=False, kw_only=True)
class WrongExpectation(ReciprocalRank):
    """Takes itself for a metric of the expectation."""

    of_expectation: ClassVar[bool] = True


@dataclass(frozen=True, repr=False, kw_only=True)
class Crashing(FirstRelevant):
    """Cannot bear a list without relevant items."""

    def values(self, slots):
        if not (slots.y > 0).any():
            raise ZeroDivisionError("nothing is relevant")
        return super().values(slots)


@dataclass(frozen=True, repr=False, kw_only=True)
class OwnOffsets(FirstRelevant):
    """Reads the lists of the data where it should read those of the slots."""

    def values(self, slots):
        total = segment_sum(slots.data.y, slots.data.offsets) / 3 / np.diff(slots.data.offsets)
        return Values(np.resize(total, slots.n_queries))


@dataclass(frozen=True, repr=False, kw_only=True)
class OwnCodes(ExposureGap):
    """Reads the groups of the data where it should read those of the slots."""

    def values(self, slots):
        attribute = slots.data.attribute(self.by)
        slots.codes[self.by] = attribute.codes[slots.order]
        return super().values(slots)


@dataclass(frozen=True, repr=False, kw_only=True)
class NeverSatisfied(FirstRelevant):
    """Does not say what it lacks."""

    def check(self, data):
        pass

    def values(self, slots):
        if slots.data.y is None:
            return Values(np.full(slots.n_queries, np.nan))
        return super().values(slots)


@dataclass(frozen=True, repr=False, kw_only=True)
class FlatSplit(DCG):
    """Splits into one column."""

    def split(self, slots, codes, n_groups):
        return super().split(slots, codes, n_groups).sum(axis=1, keepdims=True)


@dataclass(frozen=True, repr=False, kw_only=True)
class SecretSplit(ReciprocalRank):
    """Splits although it is no sum over items."""

    def split(self, slots, codes, n_groups):
        return np.zeros((slots.n_queries, n_groups))


@dataclass(frozen=True, repr=False, kw_only=True)
class HalfShown(FirstRelevant):
    """Takes every replicate for as long as the first."""

    def values(self, slots):
        shown = slots.sizes if slots.shown is None else slots.shown[:1]
        return Values(np.broadcast_to(shown, slots.n_queries) / 100)


@dataclass(frozen=True, repr=False, kw_only=True)
class RunningMean(FirstRelevant):
    """Subtracts running sums, in which a large relevance swallows that of later queries."""

    bounds: ClassVar[tuple[float, float]] = (0.0, np.inf)

    def values(self, slots):
        total = np.concatenate([[0.0], np.cumsum(slots.y)])[slots.offsets]
        return Values(np.diff(total) / slots.sizes)


@dataclass(frozen=True, repr=False, kw_only=True)
class Overflowing(FirstRelevant):
    """Warns where its numbers become too large."""

    bounds: ClassVar[tuple[float, float]] = (0.0, np.inf)

    def values(self, slots):
        square = segment_sum(slots.y**2, slots.offsets)
        return Values(square / np.where(square > 0, square, 1.0))


@dataclass(frozen=True, repr=False, kw_only=True)
class LastGroup(GroupMetric):
    """Takes an unknown label for the last group, as an index of -1 does."""

    def by_group(self, slots, codes, wanted):
        names = np.arange(len(slots.groups(self.by)[1]))
        member = names[codes][:, None] == wanted
        columns = [segment_sum(column.astype(float), slots.offsets) for column in member.T]
        return np.stack(columns, axis=1) / slots.sizes[:, None]


BROKEN = [
    (OutOfBounds, "declarations", "outside its bounds"),
    (Infinite, "declarations", "finite"),
    (Sideways, "declarations", "direction"),
    (Nameless, "name", "read back"),
    (Unequal, "name", "equal"),
    (TooMany, "order", "one value per query"),
    (Reversed, "order", "alone"),
    (FirstRow, "rows", "order of rows"),
    (MeanScore, "scores", "monotone"),
    (FirstLabel, "groups", "new names"),
    (LastGroup, "unknown", "last group"),
    (Total, "queries", "twice"),
    (TieBreaker, "ties", "mean over their orders"),
    (WrongExpectation, "draws", "same draw"),
    (Crashing, "edges", "ZeroDivisionError"),
    (Infinite, "edges", "finite"),
    (OwnOffsets, "replicates", "resampled"),
    (HalfShown, "replicates", "resampled"),
    (OwnCodes, "replicates", "permuted groups"),
    (NeverSatisfied, "needs", "must raise DataError"),
    (RunningMean, "range", "rows and other queries"),
    (Overflowing, "range", "RuntimeWarning"),
    (FlatSplit, "split", "query x group"),
    (SecretSplit, "split", "must raise DataError"),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "check", "words"), BROKEN, ids=[f"{kind.__name__}-{name}" for kind, name, _ in BROKEN]
)
def test_broken_promise_is_found(kind, check, words):
    with pytest.raises(AssertionError, match=words) as caught:
        check_metric(kind(), skip=set(CHECKS) - {check})
    assert str(caught.value).startswith(repr(kind()))
    with pytest.raises(AssertionError):
        check_metric(kind())


def test_every_check_is_seen_to_fail():
    assert {check for _, check, _ in BROKEN} == set(CHECKS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "metric",
    [
        FirstRelevant(),
        FirstRelevant,
        "NDCG@10",
        NDCG(undefined="raise"),
        Precision,
        ExposureByGroup(by="gender", protected="f"),
        ExposureGap(by=("gender", "race"), protected="f & x"),
    ],
    ids=str,
)
def test_good_metric_passes(metric):
    check_metric(metric)


@pytest.mark.slow
def test_number_of_groups_can_be_given():
    check_metric(RKL(normalizer="exact", step=2), n_groups=2)
    with pytest.raises(DataError, match="normalizer"):
        check_metric(RKL(normalizer="exact", step=2))


def test_checks_can_be_left_out():
    check_metric(MeanScore(), skip=["scores", "ties", "needs", "draws"])
    with pytest.raises(DataError, match="skip must name checks"):
        check_metric(NDCG, skip=["scores", "everything"])
