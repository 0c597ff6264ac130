"""Bounds on the share of unseen pairs that a ranker gets wrong."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..core.errors import DataError
from ..core.params import Constraint, Integer, Number, check_params

__all__ = [
    "Bound",
    "EnsembleFacts",
    "KernelFacts",
    "check_bound",
    "kernel_bound",
    "margin_bound",
    "rank_svm_bound",
    "training_error_bound",
]


DECLARED: Mapping[str, Constraint] = {
    "error": Number(0, 1),
    "loss": Number(0, 1),
    "slack": Number(0),
    "complexity": Number(0),
    "norm": Number(0),
    "radius": Number(0),
    "n_pairs": Integer(1),
    "n_better": Integer(1),
    "n_worse": Integer(1),
    "vc_dimension": Integer(1),
    "n_rounds": Integer(1),
    "rho": Number(0, open_low=True),
    "delta": Number(0, 1, open_low=True, open_high=True),
}


@dataclass(frozen=True)
class Bound:
    """An upper bound on the share of misranked pairs, as a sum of three parts.

    Attributes
    ----------
    empirical : float
        The value on the sample: a margin loss, a mean slack, an error.
    complexity : float
        The complexity term; infinite if the formula does not apply.
    confidence : float
        The confidence term, from the sample size and delta.

    Examples
    --------
    >>> from equirank.theory.bounds import Bound
    >>> bound = Bound(0.25, 0.5, 0.125)
    >>> bound.value, bound.vacuous
    (0.875, False)
    >>> Bound(0.25, 0.5, 0.5)
    Bound(1.25 = 0.25 + 0.5 + 0.5, vacuous)
    """

    empirical: float
    complexity: float = 0.0
    confidence: float = 0.0

    @property
    def value(self) -> float:
        """The bound: the sum of the parts, vacuous from 1 on."""
        return self.empirical + self.complexity + self.confidence

    @property
    def vacuous(self) -> bool:
        """Whether the bound is at least 1, which every error satisfies."""
        return self.value >= 1.0

    def __float__(self) -> float:
        """Return the value."""
        return self.value

    def __repr__(self) -> str:
        """Show the sum, and whether it is vacuous."""
        parts = f"{self.empirical:.4g} + {self.complexity:.4g} + {self.confidence:.4g}"
        return f"Bound({self.value:.4g} = {parts}{', vacuous' if self.vacuous else ''})"

    def __post_init__(self) -> None:
        """Raise if a part is NaN."""
        for name in ("empirical", "complexity", "confidence"):
            if math.isnan(getattr(self, name)):
                raise ValueError(f"{name} of a bound must be a number, got nan")


def check_bound(owner: str, given: Mapping[str, Any]) -> None:
    """Check the arguments of a bound."""
    check_params(owner, given, DECLARED)


def margin_bound(
    loss: float,
    complexity: float,
    n_pairs: int,
    *,
    rho: float = 1.0,
    delta: float = 0.05,
    data_dependent: bool = True,
    uniform: bool = False,
) -> Bound:
    """Bound the ranking error by the margin loss and the Rademacher complexity of the scorers.

    ``R <= loss + (2 / rho) complexity + sqrt(ln(1/delta) / 2m)``; with a complexity measured on the
    sample (``data_dependent``) the last term is ``3 sqrt(ln(2/delta) / 2m)``. With ``uniform`` the
    bound holds for all rho in (0, 1] at once, so rho may be chosen on the sample: the factor is 4,
    delta is halved, and ``sqrt(ln log2(2/rho) / m)`` is added.

    The bound assumes independent pairs, a class of scorers fixed before the data, and for
    ``uniform`` rho at most 1. The pairs of one list share items and are not independent;
    `generalization_bounds` uses disjoint ones. For ensembles the score is divided by the L1 norm of
    the weights, and the complexity is that of one weak ranker.

    Parameters
    ----------
    loss : float
        The share of pairs whose margin (better score - worse score) is below rho; or the mean of a
        loss between that and the error, such as ``min(1, max(0, 1 - margin/rho))``.
    complexity : float
        Rad1 + Rad2, the Rademacher complexities over the better and over the worse items.
    n_pairs : int
        m, the number of independent pairs.
    rho : float
        The margin, > 0.
    delta : float
        The bound holds with probability 1 - delta.
    data_dependent : bool
        Whether the complexity is the empirical one.
    uniform : bool
        Whether the bound holds for all rho in (0, 1] at once.

    Returns
    -------
    Bound
        The sum ``value`` of ``empirical``, ``complexity`` and ``confidence``, never NaN;
        ``vacuous`` if it is 1 or more.

    References
    ----------
    Mohri, Rostamizadeh and Talwalkar, Foundations of machine learning, chapter on ranking.

    Examples
    --------
    >>> from equirank.theory import margin_bound
    >>> margin_bound(0.1, 0.02, 10_000, rho=0.5, delta=0.05)
    Bound(0.2207 = 0.1 + 0.08 + 0.04074)
    """
    check_bound(
        "margin_bound",
        {"loss": loss, "complexity": complexity, "n_pairs": n_pairs, "rho": rho, "delta": delta},
    )
    factor = 4.0 if uniform else 2.0
    confidence = _confidence(n_pairs, delta, data_dependent, uniform)
    return Bound(
        float(loss),
        factor / rho * complexity + _uniformity_term("margin_bound", rho, n_pairs, uniform),
        confidence,
    )


def kernel_bound(
    loss: float,
    n_pairs: int,
    *,
    norm: float,
    radius: float,
    rho: float = 1.0,
    delta: float = 0.05,
    uniform: bool = False,
) -> Bound:
    """Bound the ranking error of a linear scorer in the space of a kernel.

    ``R <= loss + 4 sqrt(r^2 L^2 / (rho^2 m)) + sqrt(ln(1/delta) / 2m)`` where ``||w|| <= L`` and
    ``r^2 = sup K(x, x)``. (Lecture slides print r under the root.) With ``uniform`` the complexity
    term doubles, delta is halved and ``sqrt(ln log2(2/rho) / m)`` is added.

    The bound assumes independent pairs, and L and r fixed before the data; values from the fit
    make it optimistic.

    Parameters
    ----------
    loss : float
        The share of pairs with a margin below rho.
    n_pairs : int
        m, the number of independent pairs.
    norm : float
        L, at least the norm of the weights.
    radius : float
        r, at least the norm of every item in the space of the kernel.
    rho, delta, uniform
        As in `margin_bound`, which has the reference too.

    Returns
    -------
    Bound
        As in `margin_bound`.

    Examples
    --------
    >>> from equirank.theory import kernel_bound
    >>> kernel_bound(0.1, 10_000, norm=2.0, radius=1.0)
    Bound(0.1922 = 0.1 + 0.08 + 0.01224)
    """
    check_bound(
        "kernel_bound",
        {"loss": loss, "n_pairs": n_pairs, "norm": norm, "radius": radius, "rho": rho}
        | {"delta": delta},
    )
    complexity = (2.0 if uniform else 1.0) * 4.0 * radius * norm / (rho * math.sqrt(n_pairs))
    return Bound(
        float(loss),
        complexity + _uniformity_term("kernel_bound", rho, n_pairs, uniform),
        _confidence(n_pairs, delta, data_dependent=False, uniform=uniform),
    )


def rank_svm_bound(
    slack: float, n_pairs: int, *, norm: float, radius: float, delta: float = 0.05
) -> Bound:
    """Bound the ranking error of a RankSVM by its mean slack.

    ``R <= mean slack + 4 sqrt(r^2 L^2 / m) + sqrt(ln(1/delta) / 2m)``: `kernel_bound` at rho = 1
    with the mean of ``max(0, 1 - margin)`` in place of the margin loss, which it exceeds.

    The assumptions are those of `kernel_bound`.

    Parameters
    ----------
    slack : float
        The mean slack over the pairs, >= 0.
    n_pairs : int
        m, the number of independent pairs.
    norm, radius, delta
        As in `kernel_bound`.

    Returns
    -------
    Bound
        As in `margin_bound`, with the mean slack as ``empirical``.

    Examples
    --------
    >>> from equirank.theory import rank_svm_bound
    >>> rank_svm_bound(1.5, 100, norm=1.0, radius=1.0)
    Bound(2.022 = 1.5 + 0.4 + 0.1224, vacuous)
    """
    check_params("rank_svm_bound", {"slack": slack}, {"slack": Number(0)})
    rest = kernel_bound(0.0, n_pairs, norm=norm, radius=radius, delta=delta)
    return Bound(float(slack), rest.complexity, rest.confidence)


def training_error_bound(normalizers: Any) -> Bound:
    """Bound the cost-weighted training error of RankBoost by the product of its normalisers.

    ``R1 <= prod Z_t``, without assumptions, for training pairs only. The bound without rounds is 1.

    Parameters
    ----------
    normalizers : array-like
        Z_t of every round.

    Returns
    -------
    Bound
        As in `margin_bound`.

    References
    ----------
    As `vc_bound`.

    Examples
    --------
    >>> from equirank.theory import training_error_bound
    >>> training_error_bound([0.8, 0.5]).value
    0.4
    """
    values = np.asarray(normalizers, dtype=float)
    if values.ndim != 1 or not (values >= 0).all():
        raise DataError(f"normalizers must be a sequence of numbers >= 0, got {normalizers!r}")
    if (values == 0).any():
        return Bound(0.0)
    return Bound(float(np.exp(np.log(values).sum())))


def _confidence(n_pairs: int, delta: float, data_dependent: bool, uniform: bool) -> float:
    parts = (2.0 if data_dependent else 1.0) * (2.0 if uniform else 1.0)
    root = math.sqrt(math.log(parts / delta) / (2.0 * n_pairs))
    return 3.0 * root if data_dependent else root


def _uniformity_term(owner: str, rho: float, n_pairs: int, uniform: bool) -> float:
    if not uniform:
        return 0.0
    check_params(owner, {"rho": rho}, {"rho": Number(0, 1, open_low=True)})
    return math.sqrt(math.log(math.log2(2.0 / rho)) / n_pairs)


@dataclass(frozen=True)
class EnsembleFacts:
    """Facts about an ensemble of weak rankers with values in [0, 1] that its bounds use.

    Attributes
    ----------
    norm : float
        The L1 norm of the weights.
    n_rounds : int
        The number of weak rankers.
    weak_ranker : {"stump", "feature"}
        Kind of the weak rankers.
    normalizers : ndarray or None
        Z_t of each round, if the algorithm has them.

    Examples
    --------
    >>> from equirank.theory.bounds import EnsembleFacts
    >>> EnsembleFacts(norm=1.5, n_rounds=2, weak_ranker="stump")
    EnsembleFacts(norm=1.5, n_rounds=2, weak_ranker='stump', normalizers=None)
    """

    norm: float
    n_rounds: int
    weak_ranker: Literal["stump", "feature"]
    normalizers: np.ndarray | None = None


@dataclass(frozen=True)
class KernelFacts:
    """Facts about a linear scorer in the space of a kernel that its bounds use.

    Attributes
    ----------
    norm : float
        Norm of the weights in the space of the kernel.
    radius : float
        The largest norm of an item of the data.

    Examples
    --------
    >>> from equirank.theory.bounds import KernelFacts
    >>> KernelFacts(norm=2.0, radius=1.0)
    KernelFacts(norm=2.0, radius=1.0)
    """

    norm: float
    radius: float
