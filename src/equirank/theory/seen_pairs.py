"""Pairs a fitted ranker was looked at on, as the bounds see them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.data import RankingData
from ..core.random import generator
from .bound import Bound
from .bounds import kernel_bound, margin_bound
from .facts import EnsembleFacts, KernelFacts
from .margin_loss import margin_loss
from .rademacher import rademacher_complexity

__all__ = ["SeenPairs"]


@dataclass(frozen=True, eq=False)
class SeenPairs:
    """Disjoint pairs of a data set with their scores, and what is known of the scorer.

    Attributes
    ----------
    better, worse : ndarray
        Stored rows.
    """

    data: RankingData
    score: np.ndarray
    better: np.ndarray
    worse: np.ndarray
    facts: EnsembleFacts | KernelFacts

    @property
    def margins(self) -> np.ndarray:
        """The score gaps; those of an ensemble are divided by the L1 norm of its weights."""
        gap = self.score[self.better] - self.score[self.worse]
        return gap / (self.facts.norm or 1.0) if isinstance(self.facts, EnsembleFacts) else gap

    def complexity(self, n_draws: int, random_state: Any) -> float:
        """Estimate the Rademacher complexity of an ensemble's weak rankers; 0 for kernels."""
        if isinstance(self.facts, KernelFacts):
            return 0.0
        X = self.data.X
        table = X.toarray() if hasattr(X, "toarray") else X
        return sum(
            rademacher_complexity(
                table[rows],
                weak_ranker=self.facts.weak_ranker,
                n_draws=n_draws,
                random_state=generator(random_state, side),
            )[0]
            for side, rows in enumerate((self.better, self.worse))
        )

    def bound(self, rho: float, complexity: float, delta: float) -> Bound:
        """Bound the error by the loss at a margin, uniformly over margins in (0, 1]."""
        margins = self.margins
        loss = margin_loss(margins, rho=rho)
        if isinstance(self.facts, EnsembleFacts):
            return margin_bound(loss, complexity, len(margins), rho=rho, delta=delta, uniform=True)
        norm, radius = self.facts.norm, self.facts.radius
        return kernel_bound(
            loss, len(margins), norm=norm, radius=radius, rho=rho, delta=delta, uniform=True
        )
