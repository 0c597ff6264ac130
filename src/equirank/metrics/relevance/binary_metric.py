"""Base of relevance metrics that distinguish relevant from irrelevant items."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from ...core.metric import Metric
from ...core.params import Constraint, Number

__all__ = ["BinaryMetric"]


@dataclass(frozen=True, repr=False, kw_only=True)
class BinaryMetric(Metric):
    """Base of relevance metrics with a threshold.

    Parameters
    ----------
    threshold : float
        An item is relevant if ``y >= threshold``.

    References
    ----------
    Manning, Raghavan and Schütze, Introduction to Information Retrieval, 2008, chapter 8.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"relevance"})
    params: ClassVar[Mapping[str, Constraint]] = {"threshold": Number(low=0.0, open_low=True)}

    threshold: float = 1.0
