"""The gain in true utility from re-ranking scores that are held down by bias, by simulation."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..core.data import Attribute
from ..core.params import Choice, Constraint, Integer, Number, Optional, check_params
from ..core.random import RandomState, as_seed, generator
from ..core.ranking import Ranking
from ..core.reranker import Reranker
from .bounded_lists import arrange_lists
from .group_bounds import ROUNDING, Bounds, TableBounds
from .guaranteed import COMMON, Guaranteed, Labels, Pool, protected_shares
from .reranking import Reranking
from .reranking_kinds import OverlappingBounds

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
    """What a re-ranking of biased scores brings, in means over simulated lists.

    Attributes
    ----------
    biased, reranked, best : float
        True utility of the first k by biased score, after re-ranking, and by true utility.
    gain : float
        ``reranked / biased``: above 1 the re-ranking repays.
    recovered : float
        Share of the loss to bias that is won back, ``(reranked - biased) / (best - biased)``; NaN
        where bias costs nothing.
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
        """The share of the loss that is won back."""
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
    """Simulate what a re-ranker wins back where scores of the protected are held down.

    True utility u follows a power law, ``P(u > t) = t**-(1 + delta)`` for t >= 1, the same for all.
    Of ``n_items``, ``round(share * n_items)`` (at least 1) are of the group "protected"; their
    score is ``beta * u``, that of the "others" is u. The re-ranker sees scores and groups; the true
    utility of its first k places is held against that of the biased order and of the true one.

    Parameters
    ----------
    reranker : Reranker
        Such as ``ImplicitBiasFloor(0.3, "protected", k=10)``; what it does not show counts 0.
    n_items : int
        Length of each list.
    share : float
        Share of the protected.
    beta : float
        The bias, in (0, 1]; 1 is none.
    delta : float
        Above 0; the smaller, the more the best stand out.
    k : int
        How many places count, at most ``n_items``.
    n_lists : int
        How many lists are simulated.
    utility : {"sum", "discounted"}
        Whether places count alike, or as ``1 / log2(1 + j)``.
    random_state : int, Generator, RandomState or None
        Seed; the same seed draws the same lists for every re-ranker.

    Returns
    -------
    ImplicitBiasGain

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
    worth = generator(as_seed(random_state)).pareto(1.0 + delta, size=(n_lists, n_items)) + 1.0
    groups = np.where(np.arange(n_items) < max(1, round(share * n_items)), "protected", "others")
    score = np.where(groups == "protected", beta, 1.0) * worth
    result = reranker.rerank(
        score.ravel(),
        sensitive_features=np.tile(groups, n_lists),
        qid=np.repeat(np.arange(n_lists), n_items),
    )
    weight = 1.0 / np.log2(np.arange(2.0, k + 2.0)) if utility == "discounted" else np.ones(k)
    counted = np.concatenate([weight, np.zeros(n_items - k)])
    exposure = result.expect(lambda place: counted[np.asarray(place) - 1])
    after = (exposure.reshape(n_lists, n_items) * worth).sum(axis=1)
    before = _top(worth, score, counted)
    best = _top(worth, worth, counted)
    error = float((after - before).std(ddof=1) / np.sqrt(n_lists))
    return ImplicitBiasGain(float(before.mean()), float(after.mean()), float(best.mean()), error)


def _top(worth: np.ndarray, key: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """Return the utility of each list ordered by a key."""
    order = np.argsort(-key, axis=1, kind="stable")
    return np.take_along_axis(worth, order, axis=1) @ counted


class FloorReranker(Guaranteed):
    """Base of the re-rankers that ask for so many of the protected, taken together.

    A subclass writes ``_floors(pool, shares)``: floors one below the other, and the row at which
    each list begins.
    """

    params: ClassVar[Mapping[str, Constraint]] = {"protected": Optional(Labels()), **COMMON}
    #: Chances are none of its parameters; whoever finds the protected asks.
    p: ClassVar[None] = None
    protected: Any = None

    def _rerank(self, ranking: Ranking) -> Reranking:
        pool = self._pool(ranking)
        codes, shares = protected_shares(self, pool)
        inside = np.isin(np.arange(pool.n_groups), codes).astype(np.int32)
        label = " or ".join(str(pool.groups.categories[code]) for code in codes)
        groups = Attribute(inside[pool.groups.codes], ("others", label))
        two = replace(pool, groups=groups, codes=inside[pool.codes])
        floors, start = self._floors(pool, shares.sum(axis=1))
        least = np.stack([np.zeros_like(floors), floors], axis=1)
        most = np.full_like(least, int(pool.limit.max()) + 1)
        slots, _ = arrange_lists(self, two, least, most, start)
        bounds = self._bounds(pool, codes, inside, least, start)
        return Reranking.from_order(
            ranking, pool.order[slots], pool.out_offsets, bounds=bounds, reranker=self
        )

    def _floors(self, pool: Pool, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        raise TypeError(f"{type(self).__name__} must define _floors; FloorReranker is abstract")

    def _bounds(
        self,
        pool: Pool,
        codes: list[int],
        inside: np.ndarray,
        least: np.ndarray,
        start: np.ndarray,
    ) -> Bounds:
        """Return the bounds by the groups of the data, so that reasons can name them."""
        words = type(self).guarantee
        if len(codes) == 1:
            wide = np.zeros((len(least), pool.n_groups), dtype=np.int64)
            wide[:, codes[0]] = least[:, 1]
            return TableBounds(words, wide, None, start, pool.limit)
        part = TableBounds(words, least, None, start, pool.limit)
        return OverlappingBounds(words, {"protected": part}, {"protected": inside})


class ImplicitBiasFloor(FloorReranker):
    """Give the protected at least ``ceil(phi j)`` of the first j places, for every j.

    Where the scores of the protected are held down by a factor, this floor, blind to the factor,
    brings back true utility that the biased order loses; `implicit_bias_gain` says how much. Of the
    lists that keep the floor, the one with the highest scores in every prefix is given.

    The order inside the protected and inside the others stays; ties stand in the caller's order,
    and only the order of scores counts. Rows behind the cutoff are not shown; rows not shown before
    stay so. A list with too few protected is reported as infeasible; one without any keeps its
    order where ``phi`` is None.

    Parameters
    ----------
    phi : float, optional
        Share of every prefix, in [0, 1]; None takes the share of each list.
    protected : label or sequence of labels, optional
        The protected group; several count as one. None takes all but the largest group.
    k : int, optional
        Cutoff; None ranks whole lists.
    by : str or sequence of str, optional
        The attribute, where there are several; several are crossed.
    on_infeasible : {"error", "best"}
        What happens where a list has too few of the protected: an error that names the list and
        the prefix, or the closest ranking with a warning.

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

    params: ClassVar[Mapping[str, Constraint]] = {
        "phi": Optional(Number(0.0, 1.0)),
        **FloorReranker.params,
    }
    test_params: ClassVar[Mapping[str, Any]] = {"phi": 0.2, "protected": "a"}
    guarantee: ClassVar[str] = "every prefix j holds at least ceil(phi j) of the protected"
    needs_text: ClassVar[str] = "groups, and who is protected; the share phi, or the pool's"
    cost: ClassVar[str] = "score, from the first place on; repays where scores are biased"

    def __init__(
        self,
        phi: float | None = None,
        protected: Any = None,
        k: int | None = None,
        by: Any = None,
        on_infeasible: str = "error",
    ) -> None:
        self.phi = phi
        self.protected = protected
        self.k = k
        self.by = by
        self.on_infeasible = on_infeasible

    def _floors(self, pool: Pool, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return ``ceil(phi j)``: one table for all lists, or one for each length and share."""
        if self.phi is not None:
            return _ceilings(int(pool.limit.max()), float(self.phi)), np.zeros(
                len(pool.limit), dtype=np.int64
            )
        kinds, kind = np.unique(np.column_stack([pool.limit, shares]), axis=0, return_inverse=True)
        tables = [_ceilings(int(size), float(share)) for size, share in kinds.tolist()]
        starts = np.concatenate([[0], np.cumsum(kinds[:, 0].astype(np.int64))])
        return np.concatenate(tables), starts[:-1][kind.ravel()]


def _ceilings(size: int, share: float) -> np.ndarray:
    return np.ceil(np.arange(1, size + 1) * share - ROUNDING).astype(np.int64)


class RooneyRule(FloorReranker):
    """Put at least one of the protected (or ``count``) on the short list of the first k.

    Where the first k hold too few, the best of the protected behind them take the last places. The
    order stays otherwise, and ties stand in the caller's order. Only the order of scores counts.
    Rows behind the cutoff are not shown; rows not shown before stay so. A list with too few
    protected is reported as infeasible. Without a cutoff the short list is the whole list.

    Parameters
    ----------
    protected : label or sequence of labels, optional
        The protected group; several count as one. None takes all but the largest group.
    k : int, optional
        Length of the short list.
    count : int
        How many of the protected it holds at least.
    by : str or sequence of str, optional
        The attribute, where there are several; several are crossed.
    on_infeasible : {"error", "best"}
        What happens where a list has too few of the protected: an error that names the list, or
        the closest short list with a warning.

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

    params: ClassVar[Mapping[str, Constraint]] = {**FloorReranker.params, "count": Integer(1)}
    test_params: ClassVar[Mapping[str, Any]] = {"protected": "a", "k": 5}
    guarantee: ClassVar[str] = "the short list holds at least one (or so many) of the protected"
    needs_text: ClassVar[str] = "groups, and who is protected; the length of the short list"
    cost: ClassVar[str] = "at most the last places of the short list"

    def __init__(
        self,
        protected: Any = None,
        k: int | None = None,
        count: int = 1,
        by: Any = None,
        on_infeasible: str = "error",
    ) -> None:
        self.protected = protected
        self.k = k
        self.count = count
        self.by = by
        self.on_infeasible = on_infeasible

    def _floors(self, pool: Pool, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the floors of the longest list; a shorter list reads its end."""
        longest = int(pool.limit.max())
        floors = np.zeros(longest, dtype=np.int64)
        floors[-1:] = self.count
        return floors, longest - pool.limit
