"""R2 on the training data: the share of pairs in the wrong order, ties counted half."""

import numpy as np

from ...core.data import RankingData
from ...kernels.pair_loops import separable_sums
from ...kernels.segments import sort_within, tie_blocks
from .pair_terms import CostRule

__all__ = ["PairErrors"]


class PairErrors:
    """Counts misordered pairs of a training set, with and without costs, for any scores.

    Costs that are no sum of products over items are not counted: ``cost_R2`` is then NaN.
    """

    def __init__(self, data: RankingData, rule: CostRule) -> None:
        self.offsets = data.offsets
        self.grade = np.unique(np.asarray(data.y), return_inverse=True)[1].ravel()
        one = np.ones((1, data.n_rows))
        weight = one[0] if data.query_weight is None else data.query_weight[data.query_of_rows()]
        self.plain = [(weight, one[0])]
        self.uniform, self.known = rule.uniform, rule.separable and not rule.equal_grades
        self.costly: list[tuple[np.ndarray, np.ndarray]] = []
        self.turned: list[tuple[np.ndarray, np.ndarray]] = []
        for u, v in zip(*(rule.terms() or (one, one)), strict=True):
            for k, row in enumerate(rule.matrix):
                mine = u * weight * (rule.cells == k)
                self.costly.append((mine, v * np.maximum(row, 0.0)[rule.cells]))
                if (row < 0.0).any():
                    self.turned.append((mine, v * np.maximum(-row, 0.0)[rule.cells]))

    def __call__(self, score: np.ndarray) -> tuple[float, float]:
        """Give R2 without costs and with costs, of scores per stored row."""
        order = sort_within(score, self.offsets)
        _, end = tie_blocks(score[order], self.offsets)
        end = np.arange(1, len(order) + 1) if end is None else end
        wrong, total = self._sum(self.plain, order, end)
        plain = wrong / total if total > 0 else 0.0
        if self.uniform or not self.known:
            return plain, plain if self.uniform else float("nan")
        wrong, total = self._sum(self.costly, order, end)
        against, other = self._sum(self.turned, order, end)
        whole = total + other
        return plain, (wrong + other - against) / whole if whole > 0 else 0.0

    def _sum(
        self, terms: list[tuple[np.ndarray, np.ndarray]], order: np.ndarray, end: np.ndarray
    ) -> tuple[float, float]:
        wrong = total = 0.0
        for u, v in terms:
            above, tied, every = separable_sums(
                u[order], v[order], self.grade[order], end, self.offsets
            )
            wrong += float(above.sum() + 0.5 * tied.sum())
            total += float(every.sum())
        return wrong, total
