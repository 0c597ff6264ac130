"""Single rows as batches, for losses that look at one item at a time."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...core.random import generator
from .rows import Rows

__all__ = ["RowBatches"]


class RowBatches:
    """Batches of rows, shuffled anew every epoch: every column as (row x ...), and ``weight``."""

    def __init__(self, rows: Rows, weight: np.ndarray, batch_size: int, seed: int) -> None:
        self.rows, self.batch_size, self.seed = rows, batch_size, seed
        self.weight = rows.tensor(weight).to(rows.columns["x"].dtype)

    @property
    def n_steps(self) -> int:
        """Steps of an epoch."""
        return -(-len(self.weight) // self.batch_size)

    def epoch(self, number: int) -> Iterator[dict[str, Any]]:
        """Go through all rows once."""
        order = self.rows.tensor(generator(self.seed, 1, number).permutation(len(self.weight)))
        for rows in order.split(self.batch_size):
            yield self.rows.take(rows) | {"weight": self.weight[rows]}
