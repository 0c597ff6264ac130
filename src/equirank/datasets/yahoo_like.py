"""Synthetic documents in the shape of set 1 of the Yahoo Learning to Rank Challenge."""

from typing import Any

import numpy as np

from ..core.errors import DataError
from ..core.given_data import as_ranking_data
from ..core.params import Integer, check_params
from ..core.random import as_seed, generator
from .assembly import frame_of

__all__ = ["make_yahoo_like"]


_SIZES, _FEATURES, _NOISE = range(3)  # streams of random numbers
_BLOCK = 1 << 15  # rows generated at a time
_SHARES = (0.25, 0.35, 0.25, 0.1, 0.05)  # of the grades 0 to 4


def make_yahoo_like(
    *,
    n_queries: int = 19944,
    n_rows: int = 473134,
    n_features: int = 700,
    noise: float = 0.5,
    random_state: Any = 0,
    as_frame: bool = False,
) -> Any:
    r"""Generate documents in the shape of Yahoo LTRC set 1, which may not be redistributed.

    Features are uniform on [0, 1), in float32. With :math:`m = \lceil d / 10 \rceil` informative
    features, merit is

    .. math::

        \mu = \sum_{j \le m} w_j \left(x_j - \tfrac12\right)
            + 2 \left(x_1 - \tfrac12\right) \left(x_2 - \tfrac12\right),
        \quad w_j = 1 / \sqrt j,

    standardised, plus normal noise. Its quantiles give grades 0 to 4 with shares of 25, 35, 25, 10
    and 5%. Each list has at least one document. The weights of the features do not depend on the
    seed, so another seed gives a test set for the same task:
    ``make_yahoo_like(n_queries=6983, n_rows=165660, random_state=1)``.

    Parameters
    ----------
    n_queries, n_rows, n_features : int
        The shape; by default that of the training part of the real data.
    noise : float, default=0.5
        Standard deviation of the noise; that of merit is 1.
    random_state : int, Generator, RandomState or None
        Seed.
    as_frame : bool, default=False
        Return a native data frame.

    Returns
    -------
    RankingData or data frame

    Notes
    -----
    Only the shape is that of the real data, not the features, their dependence and the shares of
    the grades. `equirank.io.read_letor` reads the real files.

    Examples
    --------
    >>> data = make_yahoo_like(n_queries=20, n_rows=500, n_features=30)
    >>> data
    RankingData(500 rows, 20 queries, 30 features, y)
    >>> data.X.dtype, np.bincount(data.y.astype(int)).tolist()
    (dtype('float32'), [125, 175, 125, 50, 25])
    """
    values = {"n_queries": n_queries, "n_rows": n_rows, "n_features": n_features}
    declared = {"n_queries": Integer(1), "n_rows": Integer(1), "n_features": Integer(1)}
    check_params("make_yahoo_like", values, declared)
    if n_rows < n_queries:
        raise DataError(
            f"n_rows of make_yahoo_like must be at least n_queries ({n_queries}), got {n_rows}"
        )
    if not noise >= 0:
        raise DataError(f"noise of make_yahoo_like must be a number >= 0, got {noise!r}")
    seed = as_seed(random_state)
    # Every query has one document; the remaining ones follow gamma weights.
    rng = generator(seed, _SIZES)
    weight = rng.standard_gamma(2.0, n_queries)
    sizes = 1 + rng.multinomial(n_rows - n_queries, weight / weight.sum())
    X, merit = _documents(n_rows, n_features, generator(seed, _FEATURES))
    merit += noise * generator(seed, _NOISE).standard_normal(n_rows)
    cuts = np.round(np.cumsum(_SHARES)[:-1] * n_rows).astype(np.int64)
    grade = np.empty(n_rows)
    grade[np.argsort(merit, kind="stable")] = np.searchsorted(cuts, np.arange(n_rows), "right")
    data = as_ranking_data(X, grade, qid=np.repeat(np.arange(1, n_queries + 1), sizes))
    return frame_of(data) if as_frame else data


def _documents(
    n_rows: int, n_features: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Return features and merit, computed by blocks to save memory."""
    informative = -(-n_features // 10)
    weights = 1 / np.sqrt(np.arange(1, informative + 1))
    pair = 2.0 if n_features > 1 else 0.0
    # variance of a uniform is 1/12, of the product of two independent centred ones 1/144
    scale = np.sqrt((weights**2).sum() / 12 + pair**2 / 144)
    X, merit = np.empty((n_rows, n_features), dtype=np.float32), np.empty(n_rows)
    for begin in range(0, n_rows, _BLOCK):
        block = X[begin : begin + _BLOCK]
        rng.random(dtype=np.float32, out=block)
        shown = block[:, : max(informative, 2)] - 0.5
        value = shown[:, :informative] @ weights
        value += pair * shown[:, 0] * shown[:, -1 if shown.shape[1] == 1 else 1]
        merit[begin : begin + _BLOCK] = value / scale
    return X, merit
