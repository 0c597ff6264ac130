"""ContinuousFairness: scores moved towards the barycentre of the score distributions of groups."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np

from ..core import inputs
from ..core.params import AnyOf, Check, Label, Number
from ..core.ranking import Ranking
from ..core.reranker import ORDER_TARGETS, Control
from ..core.slots import Slots
from ..kernels.segments import segment_sum
from .group_bounds import StatedBounds
from .guaranteed import Guaranteed, Pool, group_values
from .reranking import Reranking

__all__ = ["ContinuousFairness", "MovedScores", "TransportBounds", "rank_anew"]


def _are_thetas(value: Any) -> bool:
    if not isinstance(value, Mapping) or not value:
        return False
    good = all(Label().accepts(label) for label in value)
    return good and all(Number(0.0, 1.0).accepts(theta) for theta in value.values())


THETA = AnyOf(Number(0.0, 1.0), Check(_are_thetas, "a mapping of group to such a number"))


@dataclass(frozen=True, eq=False)
class TransportBounds(StatedBounds):
    """Guarantee of moved scores: groups with theta = 1 have the same score distribution.

    Attributes
    ----------
    gap : ndarray
        Per query the largest Kolmogorov-Smirnov distance between two groups with theta = 1; 0 if
        there are fewer than two.
    step : ndarray
        Per query the distance allowed: the largest tied share of such a group, ``1 / n`` without
        ties.
    codes : ndarray
        The group at each position that is shown now.
    groups : ndarray
        The group of each stored row.
    before : Ranking
        The order before.
    theta : ndarray
        Theta of each group.
    """

    gap: np.ndarray
    step: np.ndarray
    codes: np.ndarray
    groups: np.ndarray
    before: Ranking
    theta: np.ndarray

    def holds(self, codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return for each list whether the distance is allowed, of the new or of the old order."""
        if np.array_equal(codes, self.codes):
            return self.gap <= self.step + 1e-9
        old, begins = _shown(self.before.slots(), self.before.position == 0)
        score = -np.arange(float(len(old)))
        gap, step = _gaps(self.groups[old], score, begins, self.theta)
        return gap <= step + 1e-9

    def binding(self, codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return for each list whether it has two groups with theta = 1."""
        full = np.flatnonzero(self.theta == 1.0)
        counts = [
            np.diff(np.concatenate([[0], np.cumsum(codes == code)])[offsets]) for code in full
        ]
        there = [count > 0 for count in counts]
        return np.asarray(np.sum(there, axis=0) > 1) if there else np.zeros(len(offsets) - 1, bool)


class ContinuousFairness(Guaranteed):
    """Move each group's scores by theta towards the barycentre of all groups' distributions.

    An item at quantile u of its group in its list gets the score ``(1 - theta) s + theta Q(u)``,
    where ``Q(u) = sum over groups of n_g / n Q_g(u)`` is the quantile function of the groups'
    Wasserstein barycentre and ``u = (r - 1/2) / n_g`` for the r-th of its group. With theta = 0
    scores are unchanged. With theta = 1 any two groups have the same distribution, up to a
    Kolmogorov-Smirnov distance of 1/n of the smaller group and to ties. The distance of a group's
    scores from the barycentre shrinks to ``1 - theta`` of its former value.

    The order within a group is kept, and tied items of a group stay tied (u is the middle of their
    quantiles); items tied after the move share their positions. The ranking is made from the new
    scores, whatever the order given; they are ``result.score``, in input order. Rows that were not
    shown stay so and count in no quantile. Of tied rows at the cutoff the first in input order are
    shown. A list with one group is unchanged.

    Parameters
    ----------
    theta : float or mapping of group to float
        How far scores are moved, in [0, 1]; groups that a mapping omits are not moved.
    k : int, optional
        Cutoff; None ranks whole lists. Scores are always moved over the whole list.
    on_infeasible : {"error", "best"}
        As in the other re-rankers; here every list is feasible.

    References
    ----------
    Zehlike, Hacker and Wiedemann, Matching code and law: achieving algorithmic fairness with
    optimal transport, Data Mining and Knowledge Discovery 2020.

    Examples
    --------
    >>> from equirank.rerankers import ContinuousFairness
    >>> result = ContinuousFairness().rerank([8, 6, 4, 2], sensitive_features=list("mmff"))
    >>> result.score  # the best of both groups get (8 + 4) / 2
    array([6., 4., 6., 4.])
    >>> ContinuousFairness({"f": 0.5}).rerank([8, 6, 4, 2], sensitive_features=list("mmff")).score
    array([8., 6., 5., 3.])
    """

    needs: ClassVar[frozenset[str]] = frozenset({"sensitive", "score"})
    positional = ("theta", "k", "by", "on_infeasible")
    theta: Annotated[float | Mapping[Any, float], THETA] = 1.0

    acts_on: ClassVar[frozenset[str]] = ORDER_TARGETS | {"score"}
    strength: ClassVar[str] = "theta"
    plain_name: ClassVar[str] = "Comparable scores"
    controls: ClassVar[Mapping[str, Control]] = {"theta": Control("Strength", 0.0, 1.0, 0.01)}
    two_sided: ClassVar[bool] = True
    no_guarantee: ClassVar[str] = "below 100%"
    guarantee: ClassVar[str] = (
        "with theta = 1 all groups have the same score distribution, up to one person"
    )
    needs_text: ClassVar[str] = "groups; scores on one scale"
    cost: ClassVar[str] = "score, evenly over the list; less for a smaller theta"
    reads_order: ClassVar[bool] = False

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
        after, position, last = rank_anew(ranking, moved, np.minimum(pool.limit, np.diff(offsets)))
        order, offsets = _shown(after.slots(), hidden)
        codes = pool.groups.codes[order]
        gap, step = _gaps(codes, moved[order], offsets, theta)
        bounds = TransportBounds(
            "groups with theta = 1 have the same score distribution, up to one person",
            gap,
            step,
            codes[position[order] > 0],
            pool.groups.codes,
            ranking,
            theta,
        )
        return MovedScores(
            data,
            position,
            last,
            before=ranking,
            bounds=bounds,
            reranker=self,
            stored=moved,
        )

    def _thetas(self, pool: Pool) -> np.ndarray:
        """Return theta of each group."""
        if not isinstance(self.theta, Mapping):
            return np.full(pool.n_groups, float(self.theta))
        theta = np.zeros(pool.n_groups)
        for code, part in group_values(type(self).__name__, "theta", self.theta, pool).items():
            theta[code] = float(part)
        return theta


def _gaps(
    codes: np.ndarray, values: np.ndarray, offsets: np.ndarray, theta: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the distances of groups with theta = 1, and the distances allowed."""
    from ..kernels.transport import largest_gaps

    full = np.where(theta[codes] == 1.0, codes, len(theta))
    return largest_gaps(full, values, offsets, len(theta))


def _shown(slots: Slots, hidden: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the stored rows that are shown, best first, and where each list begins."""
    if not hidden.any():
        return slots.order, slots.offsets
    shown = ~hidden[slots.order]
    sizes = segment_sum(shown.astype(np.int64), slots.offsets)
    return slots.order[shown], np.concatenate([[0], np.cumsum(sizes)])


def rank_anew(
    ranking: Ranking, moved: np.ndarray, limit: np.ndarray
) -> tuple[Ranking, np.ndarray, np.ndarray | None]:
    """Return the ranking by new scores, and first and last positions up to a limit per list."""
    hidden = ranking.position == 0
    key = np.where(hidden, -np.inf, moved) if hidden.any() else moved
    after = Ranking.from_scores(replace(ranking.data, score=inputs.frozen(key)))
    slots = after.slots()
    until = np.repeat(limit, slots.sizes)
    out = np.empty(len(hidden), dtype=bool)
    out[slots.order] = slots.position > until
    if not out.any() and not hidden.any():
        return after, after.position, after.last
    position = inputs.frozen(np.where(out | hidden, 0, after.position).astype(np.int32))
    if after.last is None:
        return after, position, None
    last = np.where(out | hidden, 0, np.minimum(after.last, until))
    return after, position, inputs.frozen(last.astype(np.int32))


@dataclass(frozen=True, eq=False, repr=False)
class MovedScores(Reranking):
    """Result of `ContinuousFairness` or `ScoreBonus`, with the new scores.

    Attributes
    ----------
    stored : ndarray or None
        The new scores per stored row.
    """

    stored: np.ndarray | None = None

    @property
    def score(self) -> np.ndarray:
        """The new scores, in input order."""
        return self.data.to_original(np.asarray(self.stored))
