"""ClassPairCost: what it costs to misorder two classes, by a table or by how alike they are."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.data import RankingData
from ...core.errors import DataError
from ...core.pair_cost import PairCost
from ...core.params import Number, check_params

__all__ = ["ClassPairCost"]


@dataclass(frozen=True, eq=False)
class ClassPairCost(PairCost):
    """Costs by the classes (relevance grades) of the two items.

    Parameters
    ----------
    matrix : array-like of shape (n_classes, n_classes) or "centroid"
        ``matrix[i][j]`` is the cost of a pair whose better item is of class i and whose other item
        is of class j. ``"centroid"`` makes alike classes cost more:
        ``1 + strength (1 - d_ij / max d)``, where ``d`` is the distance between the classes' mean
        feature vectors, each feature divided by its standard deviation (missing values left out).
    classes : sequence of float, optional
        The classes that the rows of ``matrix`` stand for; by default 0, 1, 2, ...
    strength : float
        How much more the most alike classes cost, with ``"centroid"``.

    Examples
    --------
    >>> import numpy as np
    >>> from equirank import as_ranking_data
    >>> from equirank.rankers import ClassPairCost
    >>> data = as_ranking_data([[0.0], [1.0], [5.0]], [0, 1, 2])
    >>> ClassPairCost([[1, 1, 1], [4, 1, 1], [9, 2, 1]]).pairs(data, np.array([2]), np.array([0]))
    array([9.])
    >>> cells, matrix = ClassPairCost("centroid").blocks(data)
    >>> matrix.round(2).tolist()
    [[2.0, 1.8, 1.0], [1.8, 2.0, 1.2], [1.0, 1.2, 2.0]]
    """

    matrix: Any
    classes: Any = None
    strength: float = 1.0

    def __post_init__(self) -> None:
        """Check the table."""
        check_params("ClassPairCost", {"strength": self.strength}, {"strength": Number(0.0)})
        if isinstance(self.matrix, str):
            if self.matrix != "centroid":
                raise DataError(
                    "matrix of ClassPairCost must be a square table or 'centroid', "
                    f"got {self.matrix!r}"
                )
            return
        table = np.asarray(self.matrix, dtype=np.float64)
        if table.ndim != 2 or table.shape[0] != table.shape[1] or not np.isfinite(table).all():
            raise DataError(
                "matrix of ClassPairCost must be a square table of finite numbers, got shape "
                f"{table.shape}"
            )
        object.__setattr__(self, "matrix", tuple(map(tuple, table.tolist())))
        if self.classes is not None:
            labels = tuple(np.asarray(self.classes, dtype=np.float64).tolist())
            if len(labels) != len(table) or len(set(labels)) < len(labels):
                raise DataError(
                    f"classes of ClassPairCost must name the {len(table)} rows of its matrix, "
                    f"got {labels}"
                )
            object.__setattr__(self, "classes", labels)

    def blocks(self, data: RankingData) -> tuple[np.ndarray, np.ndarray]:
        """Give each row's class and the cost of each pair of classes."""
        y = np.asarray(data.y)
        if isinstance(self.matrix, str):
            labels, cells = np.unique(y, return_inverse=True)
            return cells.astype(np.int32).ravel(), self._by_centroid(data, cells, len(labels))
        table = np.array(self.matrix)
        labels = np.arange(len(table)) if self.classes is None else np.array(self.classes)
        order = np.argsort(labels)
        at = np.clip(np.searchsorted(labels[order], y), 0, len(labels) - 1)
        cells = order[at]
        wrong = labels[cells] != y
        if wrong.any():
            row = data.place(int(np.flatnonzero(wrong)[0]))[1]
            raise DataError(
                f"classes of ClassPairCost must name every relevance of the data, and "
                f"{float(y[wrong][0])!r} in row {row} is not among {labels.tolist()}"
            )
        return cells.astype(np.int32), table

    def _by_centroid(self, data: RankingData, cells: np.ndarray, n_classes: int) -> np.ndarray:
        if data.X is None:
            raise DataError("X must be given for costs by centroid, and the data has none")
        X = np.asarray(data.X.toarray() if hasattr(data.X, "toarray") else data.X, dtype=np.float64)
        known = ~np.isnan(X)
        filled = np.where(known, X, 0.0)
        count = known.sum(axis=0).clip(1)
        mean = filled.sum(axis=0) / count
        spread = np.sqrt((np.where(known, X - mean, 0.0) ** 2).sum(axis=0) / count)
        scaled = np.where(known, X - mean, 0.0) / np.where(spread > 0, spread, 1.0)
        centre = np.zeros((n_classes, X.shape[1]))
        members = np.zeros((n_classes, X.shape[1]))
        np.add.at(centre, cells, scaled)
        np.add.at(members, cells, known)
        centre /= members.clip(1)
        distance = np.sqrt(((centre[:, None] - centre[None]) ** 2).sum(axis=2))
        farthest = distance.max()
        return 1.0 + self.strength * (1.0 - distance / (farthest if farthest > 0 else 1.0))
