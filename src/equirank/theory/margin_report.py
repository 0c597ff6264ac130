"""margin_report: loss and bound of a fitted ranker, margin by margin."""

from typing import Any

import numpy as np

from ..core.errors import DataError
from ..core.params import Integer, Number, check_params
from ..core.random import as_seed
from ..core.table import Table
from .generalization_bounds import MARGINS, GeneralizationBounds
from .margin_loss import margin_loss

__all__ = ["margin_report"]


def margin_report(
    ranker: GeneralizationBounds,
    X: Any,
    y: Any = None,
    qid: Any = None,
    *,
    rho: Any = None,
    delta: float = 0.05,
    n_draws: int = 50,
    random_state: Any = 0,
) -> Table:
    """Report how many pairs a ranker separates by a margin, and what that promises, over margins.

    A wide margin is kept by fewer pairs, and promises more of unseen ones: the bound is lowest
    somewhere between. It is uniform in rho, so all rows hold at once with probability 1 - delta,
    and the best may be picked. Pairs are matched so that no item stands in two, as in
    ``ranker.generalization_bounds``; a tied pair counts as wrong. Ensembles (the RankBoost family)
    have the margins of a score divided by the L1 norm of its weights, at most 1; linear and kernel
    rankers (`RankSVM`) have the scores' own, and a bound by norm and radius.

    Parameters
    ----------
    ranker : Ranker
        Fitted, with ``generalization_bounds``: a booster or `RankSVM`.
    X : array-like, sparse array, data frame or RankingData
        Features; a `RankingData` brings everything else with it.
    y : array-like
        Relevance, >= 0.
    qid : array-like, optional
        The list each row belongs to; None makes all rows one list.
    rho : array-like, optional
        The margins, in (0, 1]; powers of sqrt(2) from 1/256 to 1 by default.
    delta : float
        The probability that the bounds do not hold.
    n_draws : int
        Draws for the Rademacher complexity.
    random_state : int, Generator, RandomState or None
        Seed of the matching and of the draws.

    Returns
    -------
    Table
        A row per margin: ``rho``, ``error`` (the share of pairs ranked wrongly, the same in every
        row), ``margin_loss``, ``complexity``, ``confidence``, their sum ``bound``, whether it is
        ``vacuous`` (1 or more), and the number of ``pairs``. `equirank.plots.margin_bounds` draws
        it.

    References
    ----------
    Mohri, Rostamizadeh and Talwalkar, Foundations of machine learning, chapter on ranking.

    Examples
    --------
    >>> from equirank import make_ranking
    >>> from equirank.rankers import RankBoost
    >>> from equirank.theory import margin_report
    >>> data = make_ranking(n_queries=400, random_state=0)
    >>> report = margin_report(RankBoost(20).fit(data), data, rho=[0.1, 0.3, 1.0])
    >>> report["margin_loss"].round(2).tolist()
    [0.26, 0.72, 1.0]
    """
    margins = np.asarray(MARGINS[::-1] if rho is None else rho, dtype=np.float64).ravel()
    check_params(
        "margin_report",
        {"delta": delta, "n_draws": n_draws},
        {"delta": Number(0, 1, open_low=True, open_high=True), "n_draws": Integer(2)},
    )
    if len(margins) == 0 or not ((margins > 0) & (margins <= 1)).all():
        raise DataError(f"rho of margin_report must hold margins in (0, 1], got {rho!r}")
    if not isinstance(ranker, GeneralizationBounds):
        raise DataError(
            "ranker of margin_report must have bounds (a booster or RankSVM), got "
            f"{type(ranker).__name__}"
        )
    seed = as_seed(random_state)
    seen = ranker._seen_pairs(X, y, qid, seed)
    complexity = seen.complexity(n_draws, seed)
    bounds = [seen.bound(float(each), complexity, delta) for each in margins]
    return Table(
        {
            "rho": margins,
            "error": np.full(len(margins), margin_loss(seen.margins, rho=0.0)),
            "margin_loss": np.array([bound.empirical for bound in bounds]),
            "complexity": np.array([bound.complexity for bound in bounds]),
            "confidence": np.array([bound.confidence for bound in bounds]),
            "bound": np.array([bound.value for bound in bounds]),
            "vacuous": np.array([bound.vacuous for bound in bounds]),
            "pairs": np.full(len(margins), len(seen.better)),
        }
    )
