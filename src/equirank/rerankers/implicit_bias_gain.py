"""The gain in true utility from re-ranking scores that are held down by bias, by simulation."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.params import Choice, Constraint, Integer, Number, check_params
from ..core.random import RandomState, as_seed, generator
from ..core.reranker import Reranker

__all__ = ["ImplicitBiasGain", "implicit_bias_gain"]

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
    """Give the utility of each list ordered by a key."""
    order = np.argsort(-key, axis=1, kind="stable")
    return np.take_along_axis(worth, order, axis=1) @ counted
