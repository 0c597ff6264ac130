"""VC bounds of bipartite ensembles by their number of rounds, with and without costs."""

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from ..core.errors import DataError
from ..core.inputs import choose
from ..core.params import Integer, Vector, check_params
from .bounds import Bound, check_bound

__all__ = ["cost_sensitive_vc_bound", "vc_bound"]


def vc_bound(
    error: float,
    n_better: int,
    n_worse: int,
    *,
    vc_dimension: int,
    n_rounds: int,
    delta: float = 0.05,
) -> Bound:
    """Bound the ranking error of a bipartite RankBoost ensemble by its number of rounds.

    ``|err - emp| <= 2 sqrt((d'(ln(2m/d') + 1) + ln(18/delta)) / m)`` + the same in n, with
    ``d' = 2 (d + 1)(T + 1) log2(e (T + 1))``.

    The bound assumes one list of two grades, m better and n worse items drawn independently from
    their two distributions, and binary weak rankers of VC dimension d fixed beforehand. It is
    infinite if 2m or 2n is below d', since the root may then be of a negative number.

    Parameters
    ----------
    error : float
        The share of misranked pairs on the sample.
    n_better, n_worse : int
        m and n, the numbers of items of the two grades.
    vc_dimension : int
        d of the class of weak rankers.
    n_rounds : int
        T, the number of weak rankers in the ensemble.
    delta : float
        The bound holds with probability 1 - delta.

    Returns
    -------
    Bound
        As in `margin_bound`, without a term of confidence.

    References
    ----------
    Freund et al., JMLR 2003, as in `equirank.rankers.RankBoost`.

    Examples
    --------
    >>> from equirank.theory import vc_bound
    >>> vc_bound(0.1, 10**7, 10**7, vc_dimension=2, n_rounds=3)
    Bound(0.1422 = 0.1 + 0.0422 + 0)
    >>> vc_bound(0.1, 50, 50, vc_dimension=2, n_rounds=100)
    Bound(inf = 0.1 + inf + 0, vacuous)
    """
    check_bound(
        "vc_bound",
        {"error": error, "n_better": n_better, "n_worse": n_worse, "delta": delta}
        | {"vc_dimension": vc_dimension, "n_rounds": n_rounds},
    )
    dimension = _ensemble_dimension(vc_dimension, n_rounds)
    return Bound(
        float(error),
        _deviation(n_better, dimension, delta) + _deviation(n_worse, dimension, delta),
    )


def cost_sensitive_vc_bound(
    error: float,
    n_better: Sequence[int],
    n_worse: Sequence[int],
    *,
    cost: Sequence[float],
    vc_dimension: int,
    n_rounds: int,
    delta: float | Sequence[float] = 0.05,
    share: Sequence[float] | None = None,
    form: Literal["weighted", "printed"] = "weighted",
) -> Bound:
    """Bound the cost-weighted ranking error of a bipartite ensemble, cost class by cost class.

    The sum over cost classes q of ``w_q`` times the deviation of `vc_bound` with m_q, n_q and
    delta_q, where w_q is the share of the class in the normalised cost and the delta_q sum to
    delta. A cost multiplies a deviation, not a VC dimension; ``form="printed"`` is the form of the
    thesis, which scales d' by the cost instead and is too small for costs above 1.

    The assumptions are those of `vc_bound` within every cost class, with given class shares.

    Parameters
    ----------
    error : float
        The cost-weighted share of misranked pairs on the sample.
    n_better, n_worse : sequence of int
        m_q and n_q of each cost class.
    cost : sequence of float
        The cost of each class, > 0.
    vc_dimension, n_rounds : int
        d and T, as in `vc_bound`.
    delta : float or sequence of float
        The bound holds with probability 1 - delta; a sequence has one part per class, a number is
        split evenly.
    share : sequence of float, optional
        w_q, scaled to sum 1; defaults to cost x n_better x n_worse.
    form : {"weighted", "printed"}
        The correct form, or that of the thesis.

    Returns
    -------
    Bound
        As in `vc_bound`, summed over the cost classes.

    Examples
    --------
    One class of cost 1 is `vc_bound`:

    >>> from equirank.theory import cost_sensitive_vc_bound
    >>> cost_sensitive_vc_bound(0.1, [10**7], [10**7], cost=[1.0], vc_dimension=2, n_rounds=3)
    Bound(0.1422 = 0.1 + 0.0422 + 0)
    """
    choose("form", form, ("weighted", "printed"))
    check_bound(
        "cost_sensitive_vc_bound",
        {"error": error, "vc_dimension": vc_dimension, "n_rounds": n_rounds},
    )
    better, worse, costs, deltas = _classes(n_better, n_worse, cost, delta)
    weights = costs * better * worse if share is None else np.asarray(share, dtype=float)
    if len(weights) != len(costs) or not (weights >= 0).all() or weights.sum() <= 0:
        raise DataError(f"share must hold a number >= 0 per cost class, got {share!r}")
    weights = weights / weights.sum()
    dimension = _ensemble_dimension(vc_dimension, n_rounds)
    scaled = costs * dimension if form == "printed" else np.full(len(costs), dimension)
    factor = np.ones(len(costs)) if form == "printed" else weights
    total = sum(
        f * (_deviation(m, d, part) + _deviation(n, d, part))
        for f, m, n, d, part in zip(factor, better, worse, scaled, deltas, strict=True)
        if f > 0  # a class without cost adds nothing, even if its deviation is infinite
    )
    return Bound(float(error), float(total))


def _ensemble_dimension(vc_dimension: int, n_rounds: int) -> float:
    rounds = n_rounds + 1.0
    return 2.0 * (vc_dimension + 1.0) * rounds * math.log2(math.e * rounds)


def _deviation(size: float, dimension: float, delta: float) -> float:
    if 2.0 * size < dimension:
        return math.inf
    inside = dimension * (math.log(2.0 * size / dimension) + 1.0) + math.log(18.0 / delta)
    return 2.0 * math.sqrt(inside / size)


def _classes(
    n_better: Any, n_worse: Any, cost: Any, delta: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Check the arguments per cost class, and split a single delta."""
    owner = "cost_sensitive_vc_bound"
    given = {"n_better": n_better, "n_worse": n_worse, "cost": cost}
    check_params(owner, given, {"n_better": Vector(1), "n_worse": Vector(1), "cost": Vector(0)})
    arrays = [np.asarray(values, dtype=float) for values in given.values()]
    lengths = {name: len(values) for name, values in zip(given, arrays, strict=True)}
    if len(set(lengths.values())) > 1 or not (arrays[2] > 0).all():
        raise DataError(
            f"n_better, n_worse and cost (> 0) must have one value per class, got {lengths}"
        )
    for number in np.concatenate(arrays[:2]):
        check_params(owner, {"n_better": int(number)}, {"n_better": Integer(1)})
    parts = np.asarray(delta, dtype=float)
    parts = np.full(lengths["cost"], float(delta) / lengths["cost"]) if parts.ndim == 0 else parts
    check_bound(owner, {"delta": float(parts.sum())})
    if len(parts) != lengths["cost"] or not (parts > 0).all():
        raise DataError(f"delta must be a number or one part > 0 per class, got {delta!r}")
    return arrays[0], arrays[1], arrays[2], parts
