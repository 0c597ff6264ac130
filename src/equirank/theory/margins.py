"""Margin loss of scored pairs, and Rademacher complexity of weak rankers."""

from typing import Any, Literal

import numpy as np

from ..core.errors import DataError
from ..core.inputs import choose, numbers
from ..core.params import Integer, Number, check_params
from ..core.random import generator

__all__ = ["margin_loss", "rademacher_complexity"]


def margin_loss(
    gap: Any, preference: Any = None, *, rho: float = 1.0, form: Literal["step", "ramp"] = "step"
) -> float:
    """Compute the share of pairs whose score gap does not reach the margin.

    ``1/m sum 1[y_i != 0] phi(y_i gap_i)`` over all m pairs, with ``phi(t) = 1[t < rho]`` (step) or
    ``min(1, max(0, 1 - t / rho))`` (ramp). A pair without preference (y = 0) counts in m and has
    loss 0. With rho = 0 both are the ranking error, ``1[t <= 0]``, with ties as errors. Empty input
    raises an error.

    Parameters
    ----------
    gap : array-like
        Score of the first item minus score of the second item of each pair.
    preference : array-like, optional
        Per pair 1 (the first is preferred), -1 (the second) or 0 (neither); all 1 by default.
    rho : float
        The margin, >= 0.
    form : {"step", "ramp"}
        Loss of a gap between 0 and rho: 1, or decreasing with the gap.

    Returns
    -------
    float
        In [0, 1], and at least the error for any rho.

    References
    ----------
    Mohri et al., as in `margin_bound`.

    Examples
    --------
    >>> from equirank.theory import margin_loss
    >>> margin_loss([2.0, -0.5, 0.2, 9.0], [1, -1, 1, 0], rho=1.0)
    0.5
    >>> margin_loss([2.0, -0.5, 0.2, 9.0], [1, -1, 1, 0], rho=1.0, form="ramp")
    0.325
    """
    check_params("margin_loss", {"rho": rho}, {"rho": Number(0)})
    choose("form", form, ("step", "ramp"))
    gaps = numbers("gap", gap)
    if gaps is None or len(gaps) == 0:
        raise DataError("gap must hold at least one pair, got none")
    side = np.ones(len(gaps)) if preference is None else numbers("preference", preference)
    if side is None or len(side) != len(gaps):
        raise DataError(f"preference must have one value per pair ({len(gaps)})")
    bad = ~np.isin(side, (-1.0, 0.0, 1.0))
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise DataError(f"preference must be -1, 0 or 1, got {float(side[at])} in pair {at}")
    margin = side * gaps
    if rho == 0:
        loss = (margin <= 0).astype(float)
    elif form == "step":
        loss = (margin < rho).astype(float)
    else:
        loss = np.clip(1.0 - margin / rho, 0.0, 1.0)
    return float(np.where(side == 0, 0.0, loss).mean())


#: Number of signs in memory at once: draws x rows.
MOST_SIGNS = 1 << 22


def rademacher_complexity(
    X: Any,
    *,
    weak_ranker: Literal["stump", "feature"] = "stump",
    n_draws: int = 100,
    random_state: Any = None,
) -> tuple[float, float]:
    """Estimate the empirical Rademacher complexity of signed threshold stumps by Monte Carlo.

    ``E sup_h |1/m sum_i s_i h(x_i)|`` over random signs s_i = +-1 and all stumps
    ``h = 1[x_f > theta]`` with real thresholds. The absolute value accounts for the sign of a
    weight, so this is also the complexity of weighted ensembles whose weights have L1 norm 1. Rows
    with equal values are not separated; a missing value may be on either side, as in `RankBoost`.
    Zero rows are an error.

    Parameters
    ----------
    X : array-like of shape (n_rows, n_features)
        The items.
    weak_ranker : {"stump", "feature"}
        Stumps, or the features themselves scaled to [0, 1] (missing ones count 1/2).
    n_draws : int
        Number of draws of the signs.
    random_state : int, Generator, RandomState or None
        Seed of the signs.

    Returns
    -------
    complexity, standard_error : float
        The mean over the draws, and the standard error of that mean.

    References
    ----------
    Mohri, Rostamizadeh and Talwalkar, Foundations of machine learning.

    Examples
    --------
    Two rows: ``|s_1 + s_2| / 2`` or ``|s_2| / 2`` is the largest, 1 or 1/2 with even odds.

    >>> from equirank.theory import rademacher_complexity
    >>> value, error = rademacher_complexity([[0.0], [1.0]], n_draws=4000, random_state=0)
    >>> abs(value - 0.75) < 3 * error < 0.02
    True
    """
    choose("weak_ranker", weak_ranker, ("stump", "feature"))
    check_params("rademacher_complexity", {"n_draws": n_draws}, {"n_draws": Integer(2)})
    table = np.asarray(X, dtype=np.float64)
    if table.ndim != 2 or 0 in table.shape or np.isinf(table).any():
        raise DataError(
            f"X must be a table of finite or missing numbers with rows and columns, "
            f"got shape {table.shape}"
        )
    rows = len(table)
    rng = generator(random_state)
    batch = max(1, min(n_draws, MOST_SIGNS // rows))
    best = []
    for begin in range(0, n_draws, batch):
        size = min(batch, n_draws - begin)
        sign = rng.integers(0, 2, size=(size, rows), dtype=np.int8) * np.int8(2) - np.int8(1)
        if weak_ranker == "feature":
            best.append(np.abs(sign @ _scaled(table)).max(axis=1))
            continue
        largest = np.zeros(size)
        for column in table.T:
            np.maximum(largest, _largest_sum(column, sign), out=largest)
        best.append(largest)
    values = np.concatenate(best) / rows
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(n_draws))


def _largest_sum(column: np.ndarray, sign: np.ndarray) -> np.ndarray:
    """Return per draw the largest absolute sum of signs above a threshold of one feature."""
    order = np.argsort(-column, kind="stable")  # largest first, missing last
    known = int((~np.isnan(column)).sum())
    sums = np.cumsum(sign[:, order], axis=1, dtype=np.int32)
    values = column[order[:known]]
    ends = np.flatnonzero(np.append(values[1:] != values[:-1], known > 0)[:known])
    above = sums[:, ends]
    # missing rows on the other side, on this side, or alone
    missing = sums[:, -1:] - (sums[:, known - 1 : known] if known else 0)
    both = np.concatenate([above, above + missing, missing], axis=1)
    return np.abs(both).max(axis=1).astype(np.float64)


def _scaled(table: np.ndarray) -> np.ndarray:
    missing = np.isnan(table)
    low = np.where(missing, np.inf, table).min(axis=0)
    spread = np.where(missing, -np.inf, table).max(axis=0) - low
    low, spread = np.where(np.isfinite(low), low, 0.0), np.where(spread > 0, spread, 1.0)
    return np.where(missing, 0.5, (table - low) / spread)
