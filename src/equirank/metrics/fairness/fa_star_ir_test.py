"""FA*IR test: whether every prefix contains enough items of the protected group."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from ...core.errors import DataError
from ...core.given_data import as_scored_data
from ...core.metric import GroupMetric
from ...core.params import Choice, Constraint, Flag, Number, Optional
from ...core.ranking import Ranking
from ...core.slots import Slots
from ...kernels.prefixes import least_counts, prefix_places
from ...kernels.segments import divide, segment_sum

if TYPE_CHECKING:
    from ...kernels.fa_star_ir_minimums import Minimum

__all__ = ["FAStarIRResult", "FAStarIRTest", "fa_star_ir_test"]


@dataclass(frozen=True, eq=False)
class FAStarIRResult:
    """Result of the FA*IR test of one list.

    Attributes
    ----------
    passed : bool
        Whether every prefix contains at least its minimum of the protected group.
    first_failing_prefix : int or None
        Length of the first prefix below its minimum; None if the list passed.
    p_value : float
        Exact probability that the smallest ``F(count_j; j, p)`` over the prefixes of a fair list is
        at most that of this list. The adjusted test passes if it is above alpha.
    p : float
        Probability of a protected item at each position of a fair list.
    alpha : float
        Level of the test.
    alpha_range : tuple of float
        The levels ``low <= level < high`` of a single prefix that yield the table used.
    counts, minimum : ndarray
        Number of protected items in each prefix 1, 2, ..., and its minimum. Prefixes count people
        with a known label only.
    """

    passed: bool
    first_failing_prefix: int | None
    p_value: float
    p: float
    alpha: float
    alpha_range: tuple[float, float]
    counts: np.ndarray
    minimum: np.ndarray


@dataclass(frozen=True, repr=False, kw_only=True)
class FAStarIRTest(GroupMetric):
    """FA*IR test: whether every prefix contains as many items of a group as expected by chance.

    1 is passed, 0 failed. A prefix of j positions needs at least m(j) items of the group, the
    smallest m with ``F(m; j, p) > alpha'``, with F the binomial distribution function. Since every
    prefix is a test, alpha' is lowered until the exact probability that a fair list fails anywhere
    is at most alpha (``adjusted``); the result is the largest table of minimum counts with this
    property. Over many lists, the value is the share of lists that pass. Without ``protected``,
    every group is tested against everyone else, and the list passes if all groups do.

    Ties are broken against the group; this is neither an expectation nor an expected count.
    Prefixes end at the cutoff or the last item shown. Over draws: the expected metric. Undefined if
    a query contains only one group (with a given ``p``: nobody of the group) or shows nothing.

    Parameters
    ----------
    p : float, optional
        Probability of the group at each position; None takes its share of the whole list. Requires
        ``protected``.
    alpha : float
        Largest probability that a fair list fails.
    adjusted : bool
        Correct for testing every prefix; otherwise each prefix alone is tested at alpha.
    law : {"binomial", "pool"}
        A fair list has probability p at every position, or draws the list's own items without
        replacement: F is then hypergeometric, and p is rounded to a number of items.

    References
    ----------
    Zehlike, Bonchi, Castillo, Hajian, Megahed and Baeza-Yates, FA*IR: a fair top-k ranking
    algorithm, CIKM 2017. Zehlike, Sühr, Baeza-Yates, Bonchi, Castillo and Hajian, Fair top-k
    ranking with multiple protected groups, Information Processing and Management 2022 (the
    correction; here it is exact).

    Examples
    --------
    >>> from equirank.metrics import FAStarIRTest
    >>> FAStarIRTest(p=0.4, protected="f")@20
    FAStarIRTest(p=0.4, protected="f")@20
    """

    direction: ClassVar[Literal["higher", "lower"]] = "higher"
    exact_ties: ClassVar[bool] = False
    why_undefined: ClassVar[str] = "it contains only one group, or shows nothing"
    params: ClassVar[Mapping[str, Constraint]] = {
        "p": Optional(Number(0, 1, open_low=True, open_high=True)),
        "alpha": Number(0, 1, open_low=True, open_high=True),
        "adjusted": Flag(),
        "law": Choice("binomial", "pool"),
    }

    p: float | None = None
    alpha: float = 0.1
    adjusted: bool = True
    law: str = "binomial"

    @property
    def ideal(self) -> float:
        """Undefined: a test passes or fails."""
        return float("nan")

    def __post_init__(self) -> None:
        """Check the options."""
        super().__post_init__()
        if self.p is not None and self.protected is None:
            raise DataError(
                f"protected of {type(self).__name__} must name the group whose share p is, got None"
            )

    def minimum(self, k: int, p: float, n: int) -> "Minimum":
        """Return the minimum counts of prefixes 1 to k, and the levels that yield them.

        ``n`` is the length of the list, for the law of a pool.
        """
        from ...kernels import fa_star_ir_minimums as kernel

        if self.law == "pool":
            make = kernel.pool_adjusted_table if self.adjusted else kernel.pool_table
            return make(k, n, round(p * n), float(self.alpha))
        return (kernel.adjusted_table if self.adjusted else kernel.table)(k, p, float(self.alpha))

    def by_group(self, slots: Slots, codes: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Return 1 if the list passes for the group, 0 if it fails (query x wanted group)."""
        limit = self._limit(slots)
        if len(codes) and codes.min() < 0:
            slots, limit = _without_unknown(slots, codes, limit)
            codes = codes[codes >= 0]
        columns = [self._passes(slots, codes == code, limit) for code in wanted.tolist()]
        return np.stack(columns, axis=1)

    def _passes(self, slots: Slots, member: np.ndarray, limit: np.ndarray) -> np.ndarray:
        size = segment_sum(member.astype(np.int64), slots.offsets)
        defined = (limit > 0) & (size > 0) & ((size < slots.sizes) | (self.p is not None))
        counts, offsets = self._counts(slots, member, np.where(defined, limit, 0))
        share = divide(size, slots.sizes) if self.p is None else np.full(len(size), float(self.p))
        length = slots.sizes if self.law == "pool" else np.zeros_like(slots.sizes)
        columns = np.stack([limit[defined], share[defined], length[defined]], axis=1)
        kinds, kind = np.unique(columns, axis=0, return_inverse=True)
        tables = [self.minimum(int(k), float(p), int(n)).counts for k, p, n in kinds]
        starts = np.concatenate([[0], np.cumsum([len(t) for t in tables])])
        flat = np.concatenate([np.zeros(0, dtype=np.int32), *tables])
        begin = np.zeros(len(limit), dtype=np.int64)
        begin[defined] = starts[kind.ravel()]
        position = np.arange(len(counts)) - np.repeat(offsets[:-1], np.diff(offsets))
        needed = flat[np.repeat(begin, np.diff(offsets)) + position]
        missed = segment_sum((counts < needed).astype(np.int64), offsets)
        return np.where(defined, (missed == 0).astype(np.float64), np.nan)

    def _limit(self, slots: Slots) -> np.ndarray:
        shown = slots.sizes if slots.shown is None else slots.shown
        return shown if self.k is None else np.minimum(shown, self.k)

    @staticmethod
    def _counts(
        slots: Slots, member: np.ndarray, limit: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        query, length, offsets = prefix_places(limit)
        first = slots.offsets[:-1][query]
        return least_counts(member, first + length - 1, first, slots.lo, slots.hi), offsets

    def result(self, ranking: Ranking, query: Any = None) -> FAStarIRResult:
        """Test one list of a ranking with one draw.

        Parameters
        ----------
        ranking : Ranking
            The ranking to test.
        query : label, optional
            The list to test; optional if there is only one.

        Examples
        --------
        >>> from equirank import as_ranking_data
        >>> from equirank.metrics import FAStarIRTest
        >>> data = as_ranking_data(score=[4, 3, 2, 1], sensitive_features=list("mmff"))
        >>> FAStarIRTest(protected="f").result(data.ranking()).p_value
        0.25
        """
        from ...kernels.fa_star_ir_minimums import p_value, pool_p_value

        if self.protected is None:
            raise DataError(f"protected of {self} must name the group to test, got None")
        self.check(ranking.data)
        if query is None and ranking.data.n_queries > 1:
            raise DataError(f"query must be named, since there are {ranking.data.n_queries} lists")
        at = 0 if query is None else ranking.data.query_index(query)
        slots = ranking.slots().block(slice(at, at + 1))
        codes, _ = slots.groups(self.by)
        limit = self._limit(slots)
        if codes.min() < 0:
            slots, limit = _without_unknown(slots, codes, limit)
            codes = codes[codes >= 0]
        member = codes == ranking.data.attribute(self.by).code(self.protected)
        share = self.p if self.p is not None else member.mean() if len(member) else 0.0
        share = float(share)
        if limit[0] == 0 or not 0 < share < 1 or not member.any():
            raise DataError(
                f"{self} needs a list that shows items of {self.protected!r} and of others "
                f"(or a given p), and {int(member.sum())} of {len(member)} are of it"
            )
        counts, _ = self._counts(slots, member, limit)
        minimum = self.minimum(int(limit[0]), share, len(member))
        probability = p_value(counts, share)
        if self.law == "pool":
            probability = pool_p_value(counts, len(member), round(share * len(member)))
        failing = np.flatnonzero(counts < minimum.counts)
        return FAStarIRResult(
            passed=len(failing) == 0,
            first_failing_prefix=int(failing[0]) + 1 if len(failing) else None,
            p_value=probability,
            p=share,
            alpha=float(self.alpha),
            alpha_range=(minimum.low, minimum.high),
            counts=counts,
            minimum=minimum.counts,
        )


def _without_unknown(
    slots: Slots, codes: np.ndarray, limit: np.ndarray
) -> tuple[Slots, np.ndarray]:
    """Return the slots with a known label, and how many of them may be in the first ``limit``."""
    known = codes >= 0
    before = np.concatenate([[0], np.cumsum(known)])
    first = slots.offsets[:-1]
    last = np.maximum(first + limit - 1, first)  # the last slot within the limit
    low, high = slots.begin()[last], slots.end()[last]
    inside = np.minimum(first + limit - low, before[high] - before[low])
    count = np.where(limit > 0, before[low] - before[first] + inside, 0)
    return slots.keep(known), count.astype(np.int64)


def fa_star_ir_test(
    y_score: Any,
    sensitive_features: Any,
    *,
    protected: Any,
    p: float | None = None,
    alpha: float = 0.1,
    k: int | None = None,
    adjusted: bool = True,
    law: str = "binomial",
) -> FAStarIRResult:
    """Test whether every prefix of one list contains enough items of a group.

    `FAStarIRTest` states the formula and the reference, and tests many lists. Ties are broken
    against the protected group.

    Parameters
    ----------
    y_score : array-like
        Scores, higher scores rank first; or a `Ranking` of one list.
    sensitive_features : array-like
        The group of each row.
    protected : label
        The group to test.
    p : float, optional
        Probability of the group at each position of a fair list; None takes its share of the list.
    alpha : float
        Largest probability that a fair list fails.
    k : int, optional
        Cutoff: prefixes longer than k are not tested.
    adjusted : bool
        Correct for testing every prefix; otherwise each prefix alone is tested at alpha.
    law : {"binomial", "pool"}
        Probability p at every position, or draws of the list's own items without replacement.

    Returns
    -------
    FAStarIRResult
        With ``passed``, ``first_failing_prefix``, ``p_value``, and the counts of each prefix.

    Examples
    --------
    >>> from equirank.metrics import fa_star_ir_test
    >>> result = fa_star_ir_test(range(20, 0, -1), ["m"] * 10 + ["f"] * 10, protected="f", p=0.25)
    >>> result.passed, result.first_failing_prefix, round(result.p_value, 4)
    (False, 10, 0.0814)
    """
    metric = FAStarIRTest(protected=protected, p=p, alpha=alpha, k=k, adjusted=adjusted, law=law)
    if isinstance(y_score, Ranking):
        return metric.result(y_score)
    data = as_scored_data(y_score, sensitive_features=sensitive_features)
    return metric.result(Ranking.from_scores(data))
