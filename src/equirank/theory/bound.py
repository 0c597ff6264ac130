"""Bound: a promise about unseen pairs, with the parts it is made of."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..core.params import Constraint, Integer, Number, check_params

__all__ = ["Bound", "check_bound"]

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
    """An upper bound on the share of pairs ranked wrongly, as a sum of three parts.

    Attributes
    ----------
    empirical : float
        What was seen on the sample: a margin loss, a mean slack, an error.
    complexity : float
        The price of having chosen among many rankers; infinite where the formula does not apply.
    confidence : float
        The price of certainty, from the sample size and delta.

    Examples
    --------
    >>> from equirank.theory import Bound
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
        """The bound itself: the sum of the parts; may exceed 1, and is then vacuous."""
        return self.empirical + self.complexity + self.confidence

    @property
    def vacuous(self) -> bool:
        """Whether the bound says nothing: an error is never above 1 anyway."""
        return self.value >= 1.0

    def __float__(self) -> float:
        """Give the value."""
        return self.value

    def __repr__(self) -> str:
        """Show the sum, and whether it says anything."""
        parts = f"{self.empirical:.4g} + {self.complexity:.4g} + {self.confidence:.4g}"
        return f"Bound({self.value:.4g} = {parts}{', vacuous' if self.vacuous else ''})"

    def __post_init__(self) -> None:
        """Refuse parts that are not numbers: a bound is never NaN."""
        for name in ("empirical", "complexity", "confidence"):
            if math.isnan(getattr(self, name)):
                raise ValueError(f"{name} of a bound must be a number, got nan")


def check_bound(owner: str, given: Mapping[str, Any]) -> None:
    """Check the arguments of a bound by their names."""
    check_params(owner, given, DECLARED)
