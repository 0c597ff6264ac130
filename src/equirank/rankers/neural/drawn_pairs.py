"""Pairs of a better and a worse row of one list, drawn evenly from sets of them without a list.

Rows of a set stand by list and grade; the rows that are worse than a given one are then a run,
whose ends two searches give. To draw a pair is to draw the better row by the number of its worse
ones and then one of these: memory is a few numbers per row, whatever the number of pairs.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ...core.random import generator
from .rows import Rows

__all__ = ["DrawnPairs", "PairSet", "PairUnion", "group_pairs"]


class PairSet:
    """Pairs with the better row out of some rows and the worse one out of others.

    Parameters
    ----------
    query, grade : ndarray of int
        List and level of relevance of each row.
    weight : ndarray
        Of each list: pairs are drawn in proportion to it.
    better, worse : ndarray of int
        Row numbers.

    Attributes
    ----------
    n_pairs : int
        How many there are.
    mass : float
        Their weights, added up.

    Examples
    --------
    >>> rows = np.arange(4)
    >>> pairs = PairSet(np.array([0, 0, 1, 1]), np.array([1, 0, 0, 2]), np.ones(2), rows, rows)
    >>> pairs.listed()
    array([[0, 3],
           [1, 2]])
    """

    def __init__(
        self,
        query: np.ndarray,
        grade: np.ndarray,
        weight: np.ndarray,
        better: np.ndarray,
        worse: np.ndarray,
    ) -> None:
        levels = int(grade.max(initial=0)) + 1
        key = query.astype(np.int64) * levels + grade
        self.worse = worse[np.argsort(key[worse], kind="stable")]
        keys = key[self.worse]
        low = np.searchsorted(keys, query[better].astype(np.int64) * levels)
        count = np.searchsorted(keys, key[better]) - low
        some = count > 0
        self.better, self.low, self.count = better[some], low[some], count[some]
        self.weight = weight[query[self.better]].astype(np.float64)
        self.edges = np.cumsum(self.count * self.weight)
        self.n_pairs = int(self.count.sum())
        self.mass = float(self.edges[-1]) if len(self.edges) else 0.0

    def draw(self, n_pairs: int, rng: np.random.Generator) -> np.ndarray:
        """Draw pairs with replacement: row numbers, the better ones first (2 x pair)."""
        at = np.searchsorted(self.edges, rng.random(n_pairs) * self.mass, side="right")
        at = np.minimum(at, len(self.better) - 1)
        step = (rng.random(n_pairs) * self.count[at]).astype(np.int64)
        return np.stack([self.better[at], self.worse[self.low[at] + step]])

    def listed(self) -> np.ndarray:
        """Give every pair once (2 x pair)."""
        begin = np.cumsum(self.count) - self.count
        place = np.arange(self.n_pairs) + np.repeat(self.low - begin, self.count)
        return np.stack([np.repeat(self.better, self.count), self.worse[place]])

    def listed_weights(self) -> np.ndarray:
        """Give the weight of each pair of `listed`."""
        return np.repeat(self.weight, self.count)


class PairUnion:
    """Several sets of pairs as one."""

    def __init__(self, sets: Sequence[PairSet]) -> None:
        self.sets = list(sets)
        self.edges = np.cumsum([part.mass for part in self.sets])
        self.mass = float(self.edges[-1]) if self.sets else 0.0

    def draw(self, n_pairs: int, rng: np.random.Generator) -> np.ndarray:
        """Draw pairs with replacement: row numbers, the better ones first (2 x pair)."""
        which = np.searchsorted(self.edges, rng.random(n_pairs) * self.mass, side="right")
        which = np.minimum(which, len(self.sets) - 1)
        found = np.empty((2, n_pairs), dtype=np.int64)
        for at, part in enumerate(self.sets):
            mine = which == at
            if mine.any():
                found[:, mine] = part.draw(int(mine.sum()), rng)
        return found


def group_pairs(
    query: np.ndarray, y: np.ndarray, weight: np.ndarray, code: np.ndarray
) -> dict[tuple[int, int], PairSet]:
    """Give the sets by group of the better and of the worse row, those that hold any pair.

    Pairs of lists of weight 0 are none.
    """
    grade = np.unique(y, return_inverse=True)[1]
    members = [np.flatnonzero(code == group) for group in range(int(code.max(initial=0)) + 1)]
    sets = {
        (g, h): PairSet(query, grade, weight, mine, theirs)
        for g, mine in enumerate(members)
        for h, theirs in enumerate(members)
    }
    return {groups: pairs for groups, pairs in sets.items() if pairs.mass > 0.0}


class DrawnPairs:
    """Batches of drawn pairs: some of all pairs, then as many of each further set.

    A batch has every column of the rows as (2 x pair x ...), the better row of each pair first:
    ``batch_size`` pairs of the first set, then ``n_further`` of each further one. An epoch has as
    many pairs of the first set as there are rows.
    """

    def __init__(
        self,
        rows: Rows,
        first: PairSet | PairUnion,
        further: Sequence[PairSet | PairUnion],
        n_further: int,
        batch_size: int,
        seed: int,
    ) -> None:
        self.rows, self.first, self.further = rows, first, list(further)
        self.n_further, self.batch_size, self.seed = n_further, batch_size, seed

    @property
    def n_steps(self) -> int:
        """Steps of an epoch; none without pairs."""
        n_rows = len(self.rows.columns["x"])
        return -(-n_rows // self.batch_size) if self.first.mass > 0.0 else 0

    def epoch(self, number: int) -> Iterator[dict[str, Any]]:
        """Draw an epoch's pairs and go through them."""
        if self.n_steps == 0:
            return
        rng, n_steps = generator(self.seed, 1, number), self.n_steps
        drawn = [self.first.draw(n_steps * self.batch_size, rng)]
        drawn += [part.draw(n_steps * self.n_further, rng) for part in self.further]
        for step in range(n_steps):
            sizes = [self.batch_size] + [self.n_further] * len(self.further)
            cuts = [slice(step * size, (step + 1) * size) for size in sizes]
            numbers = [pairs[:, cut] for pairs, cut in zip(drawn, cuts, strict=True)]
            yield self.rows.take(self.rows.tensor(np.concatenate(numbers, axis=1)))
