"""Representation: what rankers with a feature network of their own share, ``transform``."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from .network import Net
from .neural_ranker import NeuralRanker
from .scoring import run_rows

__all__ = ["RepresentationRanker"]


class RepresentationRanker(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    NeuralRanker,
):
    """A neural ranker that is a transformer too: its representation serves other models."""

    momentum: ClassVar[float] = 0.5

    def transform(self, X: Any) -> np.ndarray:
        """Give the learned representation f(x), one row per item in the caller's row order."""
        data = self._prediction_data(X, None, None, None)
        return data.to_original(run_rows(self.model_, self.weights_, data.X, Net.features))

    @property
    def _n_features_out(self) -> int:
        return self.model_.features.widths[-1]
