"""Synthetic rankings with a known bias, and synthetic item costs."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from ..core.data import RankingData
from ..core.errors import DataError
from ..core.given_data import as_ranking_data
from ..core.params import Choice, Constraint, Integer, Number, check_params
from ..core.random import as_seed, generator

__all__ = ["make_item_costs", "make_ranking"]


#: Each quantity has its own stream of random numbers, so that changing one keeps all others.
_SIZES, _GROUPS, _FEATURES, _LABELS, _SCORES, _COSTS = range(6)

_DECLARED: dict[str, Constraint] = {
    "n_queries": Integer(1),
    "n_items": Integer(1),
    "n_features": Integer(1),
    "n_grades": Integer(2, 64),
    "noise": Number(0),
    "cost": Choice("none", "uniform", "ternary"),
}


# Long by its parameters: the body draws each quantity once, in order.
def make_ranking(
    *,
    n_queries: int = 100,
    n_items: int | tuple[int, int] = 50,
    n_features: int = 10,
    n_informative: int | None = None,
    n_grades: int = 5,
    groups: Sequence[str] | Mapping[str, float] = ("a", "b"),
    feature_bias: float | Mapping[str, float] = 0.0,
    label_bias: float | Mapping[str, float] = 0.0,
    score_bias: float | Mapping[str, float] = 0.0,
    noise: float = 0.5,
    cost: Literal["none", "uniform", "ternary"] = "none",
    dtype: Any = np.float64,
    random_state: Any = None,
) -> RankingData:
    r"""Generate lists of items with features, grades, groups and scores with a given bias.

    Every item has a hidden merit with the same distribution in all groups. Features and grades
    depend on it, and a linear scorer estimates it from the features; each of the three can be
    biased against a group.
    With ``m = n_informative``, for item i of group g, and with all :math:`z, \varepsilon, \eta`
    independent standard normal:

    .. math::

        w_j &= (m - j + 1) / \sqrt{1^2 + \dots + m^2}, \quad j = 1, \dots, m
            && \text{weights, of length 1} \\
        \mu_i &= \textstyle\sum_{j \le m} w_j z_{ij}
            && \text{merit} \\
        x_{ij} &= z_{ij} - [j \le m] \, b^{\text{feature}}_g
            && \text{features} \\
        t_i &= (\mu_i + \sigma \varepsilon_i) / \sqrt{1 + \sigma^2} - b^{\text{label}}_g,
            \quad y_i = \#\{r \ge 1 : t_i > \tau_r\}
            && \text{grade} \\
        s_i &= (\textstyle\sum_{j \le m} w_j x_{ij} + \sigma \eta_i) / \sqrt{1 + \sigma^2}
            - b^{\text{score}}_g
            && \text{score}

    where :math:`\sigma` is ``noise`` and the thresholds :math:`\tau_r` make grade r of unbiased
    labels half as frequent as grade r - 1. Features, the latent label and the score all have
    standard deviation 1 within a group, so a bias is in standard deviations:

    - an informative feature has mean :math:`-b^{\text{feature}}_g`;
    - at each threshold, :math:`\Phi^{-1}(P(y \ge r))` is lower by :math:`b^{\text{label}}_g`;
    - the score has mean :math:`-b^{\text{score}}_g - b^{\text{feature}}_g \sum_j w_j /
      \sqrt{1 + \sigma^2}`: biased features bias the scorer, also without a
      bias of its own.

    Parameters
    ----------
    n_queries : int, default=100
        Number of queries; their labels are 0, 1, ...
    n_items : int or (int, int), default=50
        Items of each list, or the smallest and the largest number (drawn uniformly).
    n_features : int, default=10
        Columns of X.
    n_informative : int, optional
        Number of features, the first ones, that depend on merit; the remaining ones are noise.
        None: half, rounded up.
    n_grades : int, default=5
        Grades 0, ..., ``n_grades - 1`` of relevance.
    groups : sequence of str or mapping of str to float, default=("a", "b")
        Values of the sensitive attribute ``group``, equally frequent, or with the share of each;
        the group of every item is drawn independently.
    feature_bias, label_bias, score_bias : float or mapping of str to float, default=0.0
        Bias against the first group, or against each group of the mapping, in standard deviations
        as above. A negative bias favours the group.
    noise : float, default=0.5
        Standard deviation of the noise in labels and scores; that of merit is 1.
    cost : {"none", "uniform", "ternary"}
        Cost per item: none, uniform on (0, 2], or 1/2, 1 or 3/2 with equal probability.
    dtype : {numpy.float64, numpy.float32}
        The type of X, score and cost. The two types draw different numbers.
    random_state : int, Generator, RandomState or None
        Seed. Each quantity has its own stream: with the same seed, a bias changes nothing else.

    Returns
    -------
    RankingData
        With X, y, score, the attribute ``group`` and optionally cost.

    Raises
    ------
    DataError
        If a parameter is out of range, shares do not sum to 1 or a bias names an unknown group.

    Examples
    --------
    >>> groups = {"f": 0.3, "m": 0.7}
    >>> data = make_ranking(n_queries=200, groups=groups, score_bias=1, random_state=0)
    >>> data
    RankingData(10000 rows, 200 queries, 10 features, y, score, group (2 groups))
    >>> women = data.attribute("group").codes == 0
    >>> round(float(women.mean()), 2)
    0.3
    >>> round(float(data.score[~women].mean() - data.score[women].mean()), 1)
    1.0
    """
    low, high = n_items if isinstance(n_items, tuple) and len(n_items) == 2 else (n_items, n_items)
    informative = (n_features + 1) // 2 if n_informative is None else n_informative
    kind = np.dtype(dtype)
    values: dict[str, Any] = {"n_queries": n_queries, "n_items": low, "n_features": n_features}
    values |= {"n_grades": n_grades, "noise": noise, "cost": cost}
    check_params("make_ranking", values, _DECLARED)
    check_params("make_ranking", {"n_items": high}, {"n_items": Integer(low)})
    given = {"n_informative": informative}
    check_params("make_ranking", given, {"n_informative": Integer(1, n_features)})
    if kind not in (np.float32, np.float64):
        raise DataError(f"dtype of make_ranking must be float64 or float32, got {kind}")
    shares = _shares(groups)
    bias = {
        name: _sizes_of_bias(name, value, list(shares))
        for name, value in {
            "feature_bias": feature_bias,
            "label_bias": label_bias,
            "score_bias": score_bias,
        }.items()
    }
    seed = as_seed(random_state)

    sizes = generator(seed, _SIZES).integers(low, high, size=n_queries, endpoint=True)
    n_rows = int(sizes.sum())
    edges = np.cumsum(list(shares.values()))[:-1]
    group = np.searchsorted(edges, generator(seed, _GROUPS).random(n_rows), side="right")

    X = generator(seed, _FEATURES).standard_normal((n_rows, n_features), dtype=kind)
    weights = np.arange(informative, 0, -1, dtype=kind)
    weights /= np.sqrt(np.sum(weights**2))
    merit = X[:, :informative] @ weights
    scale = np.sqrt(1 + noise**2)
    epsilon = generator(seed, _LABELS).standard_normal(n_rows)
    latent = (merit + noise * epsilon) / scale - bias["label_bias"][group]
    y = np.searchsorted(_thresholds(n_grades), latent).astype(np.float64)
    eta = generator(seed, _SCORES).standard_normal(n_rows)
    estimate = merit - weights.sum() * bias["feature_bias"][group]
    score = (estimate + noise * eta) / scale - bias["score_bias"][group]
    if bias["feature_bias"].any():
        X[:, :informative] -= bias["feature_bias"].astype(kind)[group, None]

    return as_ranking_data(
        X,
        y,
        qid=np.repeat(np.arange(n_queries), sizes),
        sensitive_features={"group": np.array(list(shares))[group]},
        cost=_costs(cost, n_rows, generator(seed, _COSTS), kind),
        score=score.astype(kind, copy=False),
    )


def _shares(groups: Any) -> dict[str, float]:
    """Return the validated share of each group."""
    if isinstance(groups, Mapping):
        shares = dict(groups)
    elif isinstance(groups, Sequence) and not isinstance(groups, str):
        shares = {name: 1 / len(groups) for name in groups}
        if len(shares) < len(groups):
            raise DataError(f"groups of make_ranking must differ, got {groups!r}")
    else:
        shares = {}
    if not shares or not all(isinstance(name, str) for name in shares):
        raise DataError(
            f"groups of make_ranking must be names or a mapping from name to share, got {groups!r}"
        )
    for name, share in shares.items():
        word = f"groups[{name!r}]"
        check_params("make_ranking", {word: share}, {word: Number(0, 1)})
    if abs(sum(shares.values()) - 1) > 1e-9:
        total = sum(shares.values())
        raise DataError(f"groups of make_ranking must have shares that sum to 1, got {total:g}")
    return shares


def _sizes_of_bias(name: str, bias: Any, groups: list[str]) -> np.ndarray:
    """Return the bias against each group; a number is against the first."""
    sizes = dict(bias) if isinstance(bias, Mapping) else {groups[0]: bias}
    for group, size in sizes.items():
        if group not in groups:
            words = ", ".join(repr(known) for known in groups)
            raise DataError(f"{name} of make_ranking must name groups among {words}, got {group!r}")
        check_params("make_ranking", {name: size}, {name: Number()})
    return np.array([float(sizes.get(group, 0.0)) for group in groups])


def _thresholds(n_grades: int) -> np.ndarray:
    """Return thresholds of a standard normal that make each grade half as frequent as the last."""
    from scipy.special import ndtri

    above = np.cumsum(0.5 ** np.arange(n_grades)[::-1])[:-1][::-1]
    cuts: np.ndarray = -ndtri(above / (2 - 0.5 ** (n_grades - 1)))
    return cuts


def _costs(
    cost: str, n_rows: int, rng: np.random.Generator, dtype: np.dtype[Any]
) -> np.ndarray | None:
    if cost == "uniform":
        return (2 * (1 - rng.random(n_rows, dtype=dtype.type))).astype(dtype, copy=False)
    if cost == "ternary":
        return np.array([0.5, 1.0, 1.5], dtype=dtype)[rng.integers(3, size=n_rows)]
    return None


def make_item_costs(
    n_items: int, *, kind: Literal["ternary", "continuous"] = "ternary", random_state: Any = None
) -> np.ndarray:
    """Draw random item costs.

    Continuous costs differ by more than a factor of ten, and rankers warn about it.

    Parameters
    ----------
    n_items : int
        Number of items.
    kind : {"ternary", "continuous"}
        ``"ternary"``: 1/2, 1 and 3/2, each equally likely. ``"continuous"``: uniform on the open
        interval (0, 2).
    random_state : int, Generator, RandomState or None
        Seed.

    Returns
    -------
    ndarray of shape (n_items,)
        One cost per item.

    Examples
    --------
    >>> from equirank.datasets import make_item_costs
    >>> sorted(set(make_item_costs(100, random_state=0).tolist()))
    [0.5, 1.0, 1.5]
    >>> costs = make_item_costs(1000, kind="continuous", random_state=0)
    >>> bool(0 < costs.min() and costs.max() < 2), round(float(costs.mean()), 1)
    (True, 1.0)
    """
    declared: dict[str, Constraint] = {
        "n_items": Integer(1),
        "kind": Choice("ternary", "continuous"),
    }
    check_params("make_item_costs", {"n_items": n_items, "kind": kind}, declared)
    rng = generator(random_state)
    if kind == "ternary":
        return rng.integers(1, 4, size=n_items) / 2.0
    return 2.0 * (1.0 - rng.random(n_items)).clip(1e-12, 1.0 - 1e-12)
