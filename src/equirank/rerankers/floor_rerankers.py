"""Re-rankers with a minimum of protected items, and their gain in utility under implicit bias."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from ..core.attribute import Attribute
from ..core.params import Choice, Constraint, Integer, Number, Optional, check_params
from ..core.random import RandomState, as_seed, generator
from ..core.ranking import Ranking
from ..core.reranker import ORDER_TARGETS, Control, Reranker
from .bounded_lists import arrange_lists
from .group_bounds import ROUNDING, Bounds, OverlappingBounds, TableBounds
from .guaranteed import LABELS, Guaranteed, Pool, candidates, protected_shares
from .reranking import Reranking

__all__ = [
    "FloorReranker",
    "ImplicitBiasFloor",
    "ImplicitBiasGain",
    "RooneyRule",
    "implicit_bias_gain",
]


PARAMS: dict[str, Constraint] = {
    "n_items": Integer(2),
    "share": Number(0.0, 1.0, open_low=True, open_high=True),
    "beta": Number(0.0, 1.0, open_low=True),
    "delta": Number(0.0, open_low=True),
    "k": Integer(1),
    "n_lists": Integer(2),
    "utility": Choice("sum", "discounted"),
}


@dataclass(frozen=True)
class ImplicitBiasGain:
    """Gain of a re-ranking of biased scores, as means over simulated lists.

    Attributes
    ----------
    biased, reranked, best : float
        True utility of the first k by biased score, after re-ranking, and by true utility.
    gain : float
        ``reranked / biased``; above 1 the re-ranking increases utility.
    recovered : float
        Share of the loss that is recovered, ``(reranked - biased) / (best - biased)``; NaN if bias
        causes no loss.
    error : float
        Standard error of ``reranked - biased``, over lists.

    Examples
    --------
    >>> ImplicitBiasGain(biased=10.0, reranked=11.0, best=12.0, error=0.1).recovered
    0.5
    """

    biased: float
    reranked: float
    best: float
    error: float

    @property
    def gain(self) -> float:
        """The ratio of true utility after to before."""
        return self.reranked / self.biased

    @property
    def recovered(self) -> float:
        """The share of the loss that is recovered."""
        lost = self.best - self.biased
        return (self.reranked - self.biased) / lost if lost > 0 else float("nan")


def implicit_bias_gain(
    reranker: Reranker,
    *,
    n_items: int = 100,
    share: float = 0.3,
    beta: float = 0.5,
    delta: float = 1.0,
    k: int = 10,
    n_lists: int = 1000,
    utility: str = "sum",
    random_state: RandomState = None,
) -> ImplicitBiasGain:
    """Simulate how much utility a re-ranker recovers if protected items have biased scores.

    True utility u follows a power law, ``P(u > t) = t**-(1 + delta)`` for t >= 1, in both groups.
    Of ``n_items``, ``round(share * n_items)`` (at least 1) belong to the group "protected" with
    score ``beta * u``; all "others" have score u. The re-ranker receives scores and groups. The
    true utility of its first k positions is compared with that of the biased and the true order.

    Parameters
    ----------
    reranker : Reranker
        Such as ``ImplicitBiasFloor(0.3, "protected", k=10)``; items not shown count 0.
    n_items : int
        Length of each list.
    share : float
        Share of protected items.
    beta : float
        The bias, in (0, 1]; 1 is none.
    delta : float
        Exponent of the power law, above 0; a smaller one gives a heavier tail.
    k : int
        Number of positions that count, at most ``n_items``.
    n_lists : int
        Number of simulated lists.
    utility : {"sum", "discounted"}
        Weigh positions equally, or by ``1 / log2(1 + j)``.
    random_state : int, Generator, RandomState or None
        Seed; the same seed draws the same lists for every re-ranker.

    Returns
    -------
    ImplicitBiasGain
        ``biased``, ``reranked`` and ``best`` are the mean true utilities of the biased order, the
        re-ranking and the true order; ``gain`` is ``reranked / biased``, ``recovered`` the share of
        the loss to bias that is recovered, ``error`` the standard error of the difference.

    References
    ----------
    Kleinberg and Raghavan, Selection problems in the presence of implicit bias, ITCS 2018. Celis,
    Mehrotra and Vishnoi, Interventions for ranking in the presence of implicit bias, FAT* 2020.

    Examples
    --------
    >>> from equirank.rerankers import RooneyRule, implicit_bias_gain
    >>> found = implicit_bias_gain(
    ...     RooneyRule("protected", k=5), n_items=20, beta=0.2, k=5, n_lists=200, random_state=0
    ... )
    >>> found.gain > 1
    True
    """
    given: dict[str, Any] = {
        "n_items": n_items,
        "share": share,
        "beta": beta,
        "delta": delta,
        "k": k,
    }
    given |= {"n_lists": n_lists, "utility": utility}
    check_params("implicit_bias_gain", given, PARAMS | {"k": Integer(1, n_items)})
    true = generator(as_seed(random_state)).pareto(1.0 + delta, size=(n_lists, n_items)) + 1.0
    groups = np.where(np.arange(n_items) < max(1, round(share * n_items)), "protected", "others")
    score = np.where(groups == "protected", beta, 1.0) * true
    result = reranker.rerank(
        score.ravel(),
        sensitive_features=np.tile(groups, n_lists),
        qid=np.repeat(np.arange(n_lists), n_items),
    )
    weight = 1.0 / np.log2(np.arange(2.0, k + 2.0)) if utility == "discounted" else np.ones(k)
    counted = np.concatenate([weight, np.zeros(n_items - k)])
    exposure = result.expect(lambda position: counted[np.asarray(position) - 1])
    after = (exposure.reshape(n_lists, n_items) * true).sum(axis=1)
    before = _utility_by(score, true, counted)
    best = _utility_by(true, true, counted)
    error = float((after - before).std(ddof=1) / np.sqrt(n_lists))
    return ImplicitBiasGain(float(before.mean()), float(after.mean()), float(best.mean()), error)


def _utility_by(key: np.ndarray, true: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """Return the true utility of each list ordered by a key."""
    order = np.argsort(-key, axis=1, kind="stable")
    return np.take_along_axis(true, order, axis=1) @ counted


class FloorReranker(Guaranteed):
    """Base of the re-rankers with a minimum number of protected items.

    A subclass writes ``_floors(pool, shares, there)``, which returns the minimums of all lists,
    concatenated, and the row at which each list begins. ``there`` is the number of protected
    candidates of each list; without any, its minimums are 0.

    Parameters
    ----------
    protected : label or sequence of labels, optional
        The protected group; several count as one. None takes all groups except the largest. People
        with an unknown label are not protected, and count in no share.
    """

    protected: Annotated[Any, Optional(LABELS)] = None
    unknown: ClassVar[Literal["refused", "fixed", "free"]] = "free"
    #: `protected_shares` reads it; these re-rankers have no parameter p.
    p: ClassVar[None] = None

    def _rerank(self, ranking: Ranking) -> Reranking:
        pool = self._pool(ranking)
        codes, shares = protected_shares(self, pool)
        inside = np.isin(np.arange(pool.n_groups), codes).astype(np.int32)
        label = " or ".join(str(pool.groups.categories[code]) for code in codes)
        groups = Attribute(inside[pool.groups.codes], ("others", label))
        two = replace(pool, groups=groups, codes=inside[pool.codes], free=False)
        there = candidates(pool)[:, codes].sum(axis=1)
        floors, start = self._floors(pool, shares.sum(axis=1), there)
        least = np.stack([np.zeros_like(floors), floors], axis=1)
        most = np.full_like(least, int(pool.limit.max()) + 1)
        slots, _ = arrange_lists(self, two, least, most, start)
        bounds = self._bounds(pool, codes, inside, least, start)
        return Reranking.from_order(
            ranking, pool.order[slots], pool.out_offsets, bounds=bounds, reranker=self
        )

    def _floors(
        self, pool: Pool, shares: np.ndarray, there: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        raise TypeError(f"{type(self).__name__} must define _floors; FloorReranker is abstract")

    def _bounds(
        self,
        pool: Pool,
        codes: list[int],
        inside: np.ndarray,
        least: np.ndarray,
        start: np.ndarray,
    ) -> Bounds:
        """Return the bounds by the groups of the data, so that explanations can name them."""
        words = type(self).guarantee
        if len(codes) == 1:
            wide = np.zeros((len(least), len(pool.groups.categories)), dtype=np.int64)
            wide[:, codes[0]] = least[:, 1]
            return TableBounds(words, wide, None, start, pool.limit)
        part = TableBounds(words, least, None, start, pool.limit)
        return OverlappingBounds(words, {"protected": part}, {"protected": inside})


class ImplicitBiasFloor(FloorReranker):
    """Require at least ``ceil(phi j)`` protected items in the first j positions, for every j.

    If bias lowers the scores of protected items by a factor, this minimum recovers true utility
    that the biased order loses, without knowing the factor; `implicit_bias_gain` measures how much.
    Of the lists that keep the minimum, the result has the highest scores in every prefix.

    The order among protected items and among all others is kept, ties are taken in input order, and
    only the order of scores is used. Rows that were not shown stay so. A list with too few
    protected items is infeasible; one without any keeps its order.

    Parameters
    ----------
    phi : float, optional
        Share of every prefix, in [0, 1]; None takes the share of each list.

    References
    ----------
    Celis, Mehrotra and Vishnoi, Interventions for ranking in the presence of implicit bias, FAT*
    2020.

    Examples
    --------
    >>> from equirank.rerankers import ImplicitBiasFloor
    >>> rule = ImplicitBiasFloor(0.3, protected="f", k=4)
    >>> result = rule.rerank([9, 8, 7, 6, 5, 4], sensitive_features=list("mmmmff"))
    >>> result.order()  # ceil(0.3), ceil(0.6), ceil(0.9), ceil(1.2)
    array([4, 0, 1, 5])
    """

    positional = ("phi", "protected", "k", "by", "on_infeasible")
    phi: Annotated[float | None, Optional(Number(0.0, 1.0))] = None

    test_params: ClassVar[Mapping[str, Any]] = {"phi": 0.2, "protected": "a"}
    acts_on: ClassVar[frozenset[str]] = ORDER_TARGETS
    strength: ClassVar[str] = "phi"
    plain_name: ClassVar[str] = "At least a share, rounded up"
    guarantee: ClassVar[str] = "every prefix j holds at least ceil(phi j) protected items"
    needs_text: ClassVar[str] = "groups and the protected one; the share phi, or that of the list"
    cost: ClassVar[str] = "score, from the first position on; gains utility if scores are biased"

    def _floors(
        self, pool: Pool, shares: np.ndarray, there: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return ``ceil(phi j)`` and zeros, or a table for each length and share."""
        if self.phi is not None:
            floors = _ceilings(int(pool.limit.max()), float(self.phi))
            return np.append(floors, np.zeros_like(floors)), np.where(there > 0, 0, len(floors))
        rows = np.column_stack([pool.limit, shares, there])
        kinds, kind = np.unique(rows, axis=0, return_inverse=True)
        # Shares are those of people with a known label, and prefixes count everybody.
        tables = [np.minimum(_ceilings(int(n), share), int(most)) for n, share, most in kinds]
        starts = np.concatenate([[0], np.cumsum(kinds[:, 0].astype(np.int64))])
        return np.concatenate(tables), starts[:-1][kind.ravel()]


def _ceilings(size: int, share: float) -> np.ndarray:
    return np.ceil(np.arange(1, size + 1) * share - ROUNDING).astype(np.int64)


class RooneyRule(FloorReranker):
    """Require at least one protected item (or ``count``) on the short list of the first k.

    If the first k hold too few, the best protected items behind them take the last positions.
    Otherwise the order is kept, with ties in input order; only the order of scores is used. Rows
    that were not shown stay so. A list with too few protected items is infeasible; one without any
    keeps its order. Without a cutoff the short list is the whole list.

    Parameters
    ----------
    k : int, optional
        Length of the short list.
    count : int
        Minimum number of protected items on it.

    References
    ----------
    Kleinberg and Raghavan, Selection problems in the presence of implicit bias, ITCS 2018.

    Examples
    --------
    >>> from equirank.rerankers import RooneyRule
    >>> rule = RooneyRule(protected="f", k=3)
    >>> rule.rerank([9, 8, 7, 6, 5], sensitive_features=list("mmmmf")).order()
    array([0, 1, 4])
    """

    positional = ("protected", "k", "count", "by", "on_infeasible")
    count: Annotated[int, Integer(1)] = 1

    test_params: ClassVar[Mapping[str, Any]] = {"protected": "a", "k": 5}
    acts_on: ClassVar[frozenset[str]] = frozenset({"selected"})
    strength: ClassVar[str] = "count"
    plain_name: ClassVar[str] = "At least so many on the short list"
    controls: ClassVar[Mapping[str, Control]] = {"count": Control("How many", 1, None, 1)}
    guarantee: ClassVar[str] = "the short list holds at least one (or count) protected items"
    needs_text: ClassVar[str] = "groups and the protected one; the length of the short list"
    cost: ClassVar[str] = "at most the last positions of the short list"

    def _floors(
        self, pool: Pool, shares: np.ndarray, there: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return zeros and the minimums of the longest list; a shorter one uses their last rows."""
        longest = int(pool.limit.max())
        floors = np.zeros(2 * longest, dtype=np.int64)
        floors[-1:] = self.count
        return floors, longest * (1 + (there > 0)) - pool.limit
