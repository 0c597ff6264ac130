"""ContinuousFairness: scores moved towards what all groups have in common."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..core import inputs as door
from ..core.params import AnyOf, Constraint, Label, Number
from ..core.ranking import Ranking
from ..core.slots import Slots
from ..kernels.segments import segment_sum
from .guaranteed import COMMON, Guaranteed, Pool, group_values
from .reranking import Reranking

__all__ = ["ContinuousFairness", "TransportBounds"]


class _Thetas:
    """A mapping of group to a number in [0, 1]."""

    def accepts(self, value: Any) -> bool:
        """Return whether the value is such a mapping."""
        if not isinstance(value, Mapping) or not value:
            return False
        good = all(Label().accepts(label) for label in value)
        return good and all(Number(0.0, 1.0).accepts(theta) for theta in value.values())

    def __str__(self) -> str:
        """Finish the sentence 'must be ...'."""
        return "a mapping of group to such a number"


@dataclass(frozen=True, eq=False)
class TransportBounds:
    """What moved scores promise: groups moved all the way are spread alike.

    Attributes
    ----------
    words : str
        The guarantee in one sentence.
    gap : ndarray
        Per query the largest Kolmogorov-Smirnov distance of two groups moved all the way; 0 where
        there are no two.
    step : ndarray
        Per query the distance allowed: the largest share of such a group that is tied, ``1 / n``
        where nobody is.
    codes : ndarray
        The group of each place that is shown now.
    groups : ndarray
        The group of each stored row.
    before : Ranking
        The order before; its places are taken as they are.
    theta : ndarray
        How far each group was moved.
    """

    words: str
    gap: np.ndarray
    step: np.ndarray
    codes: np.ndarray
    groups: np.ndarray
    before: Ranking
    theta: np.ndarray

    def lower(self, query: int, counts: np.ndarray) -> None:
        """Bind no prefix."""

    def upper(self, query: int, counts: np.ndarray) -> None:
        """Bind no prefix."""

    def holds(self, codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Say for each list whether the distance is within a step: now, or of the order before."""
        if np.array_equal(codes, self.codes):
            return self.gap <= self.step + 1e-9
        old, begins = _shown(self.before.slots(), self.before.position == 0)
        places = -np.arange(float(len(old)))
        gap, step = _gaps(self.groups[old], places, begins, self.theta)
        return gap <= step + 1e-9


class ContinuousFairness(Guaranteed):
    """Move each group's scores by theta towards the barycentre of all groups' distributions.

    An item at quantile u of its group in its list gets the score ``(1 - theta) s + theta Q(u)``,
    where ``Q(u) = sum over groups of n_g / n Q_g(u)`` is the quantile function of the groups'
    Wasserstein barycentre and ``u = (r - 1/2) / n_g`` for the r-th of its group. With theta = 0
    scores stay; with theta = 1 any two groups are spread alike, up to a Kolmogorov-Smirnov distance
    of 1/n of the smaller group and to ties. The distance of a group's scores from the barycentre
    shrinks to ``1 - theta`` of what it was.

    Scores stay in order inside a group, and items of a group that are tied stay tied (u is the
    middle of their quantiles); items that are tied after the move share their places. The ranking
    is made anew from scores, whatever the order given. The new scores are ``result.score``, in the
    caller's row order. Rows not shown before stay so, and count in no quantile. Rows behind the
    cutoff are not shown; of tied rows that reach over it the first in the caller's order are. A
    list with one group stays as it is.

    Parameters
    ----------
    theta : float or mapping of group to float
        How far, in [0, 1]; groups that a mapping leaves out stay where they are.
    k : int, optional
        Cutoff; None ranks whole lists. Scores are moved over the whole list all the same.
    by : str or sequence of str, optional
        The attribute, where there are several; several are crossed.
    on_infeasible : {"error", "best"}
        What happens where a list is shorter than the cutoff: an error, or it is ranked whole.

    References
    ----------
    Zehlike, Hacker and Wiedemann, Matching code and law: achieving algorithmic fairness with
    optimal transport, Data Mining and Knowledge Discovery 2020.

    Examples
    --------
    >>> from equirank.rerankers import ContinuousFairness
    >>> result = ContinuousFairness().rerank([8, 6, 4, 2], sensitive_features=list("mmff"))
    >>> result.score  # the better of both groups meet at (8 + 4) / 2
    array([6., 4., 6., 4.])
    >>> ContinuousFairness({"f": 0.5}).rerank([8, 6, 4, 2], sensitive_features=list("mmff")).score
    array([8., 6., 5., 3.])
    """

    needs: ClassVar[frozenset[str]] = frozenset({"sensitive", "score"})
    params: ClassVar[Mapping[str, Constraint]] = {
        "theta": AnyOf(Number(0.0, 1.0), _Thetas()),
        **COMMON,
    }
    guarantee: ClassVar[str] = (
        "with theta = 1 all groups' scores are spread alike, up to one person of the smaller group"
    )
    needs_text: ClassVar[str] = "groups; scores on one scale"
    cost: ClassVar[str] = "score, evenly over the list and as little as theta asks"
    reads_order: ClassVar[bool] = False

    def __init__(
        self,
        theta: float | Mapping[Any, float] = 1.0,
        k: int | None = None,
        by: Any = None,
        on_infeasible: str = "error",
    ) -> None:
        self.theta = theta
        self.k = k
        self.by = by
        self.on_infeasible = on_infeasible

    def _rerank(self, ranking: Ranking) -> "MovedScores":
        from ..kernels.transport import transported

        data, hidden = ranking.data, ranking.position == 0
        pool = self._pool(ranking)
        theta = self._thetas(pool)
        score = np.asarray(data.score, dtype=np.float64)
        order, offsets = _shown(ranking.slots(), hidden)
        rising = score[order[1:]] > score[order[:-1]]
        rising[offsets[1:-1][(offsets[1:-1] > 0) & (offsets[1:-1] < len(order))] - 1] = False
        if rising.any():
            order, offsets = _shown(Ranking.from_scores(data).slots(), hidden)
        moved = score.copy()
        moved[order] = transported(pool.groups.codes[order], score[order], offsets, theta)
        key = np.where(hidden, moved.min() - 1.0, moved) if hidden.any() else moved
        after = Ranking.from_scores(replace(data, score=door.frozen(key)))
        limit = np.minimum(pool.limit, np.diff(offsets))
        place, last = _cut(after, hidden, limit)
        order, offsets = _shown(after.slots(), hidden)
        codes = pool.groups.codes[order]
        gap, step = _gaps(codes, moved[order], offsets, theta)
        bounds = TransportBounds(
            "groups moved all the way are spread alike, up to one person of the smaller",
            gap,
            step,
            codes[place[order] > 0],
            pool.groups.codes,
            ranking,
            theta,
        )
        return MovedScores(
            data,
            place,
            last,
            before=ranking,
            bounds=bounds,
            reranker=self,
            stored=moved,
        )

    def _thetas(self, pool: Pool) -> np.ndarray:
        """Return the number of each group."""
        if not isinstance(self.theta, Mapping):
            return np.full(pool.n_groups, float(self.theta))
        theta = np.zeros(pool.n_groups)
        for code, part in group_values(type(self).__name__, "theta", self.theta, pool).items():
            theta[code] = float(part)
        return theta


def _gaps(
    codes: np.ndarray, values: np.ndarray, offsets: np.ndarray, theta: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the distances of groups moved all the way, and the steps in them."""
    from ..kernels.transport import largest_gaps

    full = np.where(theta[codes] == 1.0, codes, len(theta))
    return largest_gaps(full, values, offsets, len(theta))


def _shown(slots: Slots, hidden: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the stored rows best first without those not shown, and where each list begins."""
    if not hidden.any():
        return slots.order, slots.offsets
    keep = ~hidden[slots.order]
    kept = segment_sum(keep.astype(np.int64), slots.offsets)
    return slots.order[keep], np.concatenate([[0], np.cumsum(kept)])


def _cut(
    after: Ranking, hidden: np.ndarray, limit: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the places of those shown, up to the limit of each list, and where their ties end."""
    slots = after.slots()
    until = np.repeat(limit, slots.sizes)
    out = np.empty(len(hidden), dtype=bool)
    out[slots.order] = slots.position > until
    if not out.any() and not hidden.any():
        return after.position, after.last
    place = door.frozen(np.where(out | hidden, 0, after.position).astype(np.int32))
    if after.last is None:
        return place, None
    last = np.where(out | hidden, 0, np.minimum(after.last, until))
    return place, door.frozen(last.astype(np.int32))


@dataclass(frozen=True, eq=False, repr=False)
class MovedScores(Reranking):
    """A Reranking by new scores: ``score`` gives them, in the caller's row order.

    Attributes
    ----------
    stored : ndarray or None
        The new scores per stored row.
    """

    stored: np.ndarray | None = None

    @property
    def score(self) -> np.ndarray:
        """The new scores in the caller's row order."""
        return self.data.to_original(np.asarray(self.stored))
