"""Bounds of FA*IR for several groups: the counts of all protected groups are judged together."""

from dataclasses import dataclass

import numpy as np

__all__ = ["RegionBounds"]


@dataclass(frozen=True, eq=False)
class RegionBounds:
    """Regions of passing counts that lists may share.

    Attributes
    ----------
    words : str
        The guarantee in one sentence.
    needs : tuple of ndarray
        Regions (`kernels.fa_star_ir_groups`).
    which : ndarray of int
        The region of each list, -1 for none.
    protected : ndarray of int
        Codes of the protected groups, in the order of the regions' counts.
    """

    words: str
    needs: tuple[np.ndarray, ...]
    which: np.ndarray
    protected: np.ndarray

    def lower(self, query: int, counts: np.ndarray) -> np.ndarray | None:
        """Give the least count of each group, the counts of the others being what they are."""
        if self.which[query] < 0:
            return None
        need = self.needs[self.which[query]]
        length = min(len(counts), len(need))
        least = np.zeros((length, counts.shape[1]), dtype=np.int64)
        mine = counts[:length, self.protected]
        for j in range(length):
            for at, code in enumerate(self.protected.tolist()):
                others = list(mine[j])
                for count in range(j + 2):
                    others[at] = count
                    if need[(j, *np.minimum(others[1:], len(need)))] <= others[0]:
                        break
                least[j, code] = count
        return least

    def upper(self, query: int, counts: np.ndarray) -> None:
        """Bind nothing."""

    def holds(self, codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Say for each list, given the group of each place, whether all its prefixes pass."""
        holds = np.ones(len(self.which), dtype=bool)
        for query in np.flatnonzero(self.which >= 0).tolist():
            need = self.needs[self.which[query]]
            row = codes[offsets[query] : offsets[query + 1]][: len(need)]
            counts = np.cumsum(row[:, None] == self.protected, axis=0)
            needed = need[(np.arange(len(row)), *counts[:, 1:].T)]
            holds[query] = bool((counts[:, 0] >= needed).all())
        return holds
