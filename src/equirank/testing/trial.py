"""A metric on trial: the lists drawn for it, its values, and the sentences of what it breaks."""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from ..core.errors import DataError, EquirankWarning
from ..core.measuring import measure
from ..core.metric import Metric, Values
from ..core.ranking import Ranking
from .lists import Rows, random_rows

__all__ = ["Trial"]


class Trial:
    """One metric under test, and the lists that are drawn for it."""

    def __init__(self, metric: Metric, rng: np.random.Generator, n_groups: int) -> None:
        self.metric = replace(metric, undefined="skip")
        self.given = metric
        self.rng = rng
        self.n_groups = n_groups

    def rows(self, **options: int) -> Rows:
        """Draw lists."""
        return random_rows(self.metric, self.rng, n_groups=self.n_groups, **options)

    def values(self, ranking: Ranking, metric: Metric | None = None) -> Values:
        """Measure a ranking, leaving the metric's advice aside."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EquirankWarning)
            return (metric or self.metric).per_query(ranking)

    def alone(self, ranking: Ranking) -> np.ndarray | None:
        """Measure part of the lists; None where crossed attributes lose the protected group."""
        try:
            return measure([self.metric], ranking)[0].value
        except DataError:
            if len(ranking.data.sensitive) > 1:
                return None
            raise

    def require(self, condition: Any, sentence: str) -> None:
        """Fail with a sentence that names the metric."""
        if not bool(condition):
            raise AssertionError(f"{self.given}: {sentence}")

    def same(self, got: Any, wanted: Any, sentence: str) -> None:
        """Compare arrays, NaN equal to NaN."""
        got, wanted = np.asarray(got, dtype=float), np.asarray(wanted, dtype=float)
        self.require(got.shape == wanted.shape, f"{sentence}: shape {got.shape}")
        bad = ~np.isclose(got, wanted, rtol=1e-9, atol=1e-9, equal_nan=True)
        if bad.any():
            self.require(False, f"{sentence}: {got[bad][0]!r} instead of {wanted[bad][0]!r}")
