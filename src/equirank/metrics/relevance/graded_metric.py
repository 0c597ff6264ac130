"""Base of relevance metrics whose grades are shares of a largest grade."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ...core.data import RankingData
from ...core.errors import DataError, logger
from ...core.metric import Metric
from ...core.params import Constraint, Number, Optional
from ...core.slots import Slots

__all__ = ["GradedMetric"]


@dataclass(frozen=True, repr=False, kw_only=True)
class GradedMetric(Metric):
    """Base of relevance metrics with a largest grade.

    Parameters
    ----------
    max_grade : float, optional
        The largest possible grade; None takes the largest of the data and logs it.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"relevance"})
    params: ClassVar[Mapping[str, Constraint]] = {
        "max_grade": Optional(Number(low=0.0, open_low=True))
    }

    max_grade: float | None = None

    def top(self, slots: Slots) -> float:
        """Return the largest grade."""
        return slots.data.max_grade if self.max_grade is None else self.max_grade

    def check(self, data: RankingData) -> None:
        """Raise if a grade exceeds ``max_grade``; log a grade taken from the data."""
        super().check(data)
        if self.max_grade is None:
            logger.info("%s takes its largest grade from the data: %g", self, data.max_grade)
        elif data.y is not None and (data.y > self.max_grade).any():
            at = int(np.flatnonzero(data.y > self.max_grade)[0])
            _, row = data.place(at)
            raise DataError(
                f"max_grade of {self} must be at least the largest relevance, "
                f"got {self.max_grade:g} and a relevance of {data.y[at]:g} in row {row}"
            )
