"""Costs of misordering a pair of items."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from .core.data import RankingData
from .core.errors import DataError
from .core.explain_pair import as_dense
from .core.label_probability import training_memberships
from .core.pair_cost import PairCost
from .core.params import Constraint, Label, Number, Optional, check_params

__all__ = [
    "ClassImbalanceCost",
    "ClassPairCost",
    "GroupPairCost",
    "ListedPairCost",
    "PairCost",
    "ParityPairCost",
    "ProtectedPairCost",
]

#: Largest number of different memberships that have cells of their own.
MOST_KINDS = 128


@dataclass(frozen=True, eq=False)
class ClassImbalanceCost(PairCost):
    """Costs by the inverse shares of the two items' classes (relevance grades).

    A pair costs ``1 / (share(y_a) share(y_b))``, with the shares of the training data. Each pair of
    classes then has the total weight it would have if all classes were equally frequent in every
    query.

    Examples
    --------
    >>> import numpy as np
    >>> from equirank import as_ranking_data
    >>> from equirank.costs import ClassImbalanceCost
    >>> data = as_ranking_data(None, [0, 0, 1, 2], qid=[1, 1, 1, 1])
    >>> ClassImbalanceCost().pairs(data, np.array([2, 3]), np.array([0, 2]))
    array([ 8., 16.])
    """

    def blocks(self, data: RankingData) -> tuple[np.ndarray, np.ndarray]:
        """Return the class of each row and the cost of each pair of classes."""
        labels, cells = np.unique(np.asarray(data.y), return_inverse=True)
        inverse = data.n_rows / np.bincount(cells.ravel(), minlength=len(labels))
        return cells.astype(np.int32).ravel(), np.outer(inverse, inverse)


@dataclass(frozen=True, eq=False)
class ClassPairCost(PairCost):
    """Costs by the classes (relevance grades) of the two items.

    Parameters
    ----------
    matrix : array-like of shape (n_classes, n_classes) or "centroid"
        ``matrix[i][j]`` is the cost of a pair whose better item is of class i and whose worse item
        is of class j. With ``"centroid"`` similar classes cost more:
        ``1 + strength (1 - d_ij / max d)``, where ``d`` is the distance between the mean feature
        vectors of the classes, in standard deviations and without missing values.
    classes : sequence of float, optional
        The class of each row of ``matrix``; by default 0, 1, 2, ...
    strength : float
        The additional cost of the most similar classes, with ``"centroid"``.

    Examples
    --------
    >>> import numpy as np
    >>> from equirank import as_ranking_data
    >>> from equirank.costs import ClassPairCost
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
        """Check the parameters."""
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
        """Return the class of each row and the cost of each pair of classes."""
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
                f"classes of ClassPairCost must name every relevance of the data, got "
                f"{float(y[wrong][0])!r} in row {row}, which is not in {labels.tolist()}"
            )
        return cells.astype(np.int32), table

    def _by_centroid(self, data: RankingData, cells: np.ndarray, n_classes: int) -> np.ndarray:
        if data.X is None:
            raise DataError("X must be given for costs by centroid, got None")
        X = np.asarray(as_dense(data.X), dtype=np.float64)
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


@dataclass(frozen=True, eq=False)
class GroupPairCost(PairCost):
    """Costs by the groups of the better and of the worse item.

    ``matrix[g][h]`` is the cost of a pair whose better item is in group g and whose worse item is
    in group h; groups have the order of the data's categories. A negative cost applies to the
    reversed pair, and pairs of cost 0 are ignored.

    Parameters
    ----------
    matrix : array-like of shape (n_groups, n_groups)
        The costs.
    by : str or tuple of str, optional
        The sensitive attribute, or several to cross; may be omitted if there is only one.
    by_probability : bool
        Whether groups may be uncertain. The cost of a pair is then the expected one, the sum of
        ``a_i(g) a_j(h) matrix[g][h]`` over the memberships of both items: probabilities, or the
        inverse of the errors of recording. Unknown labels have the shares of known people of like
        relevance.

    Examples
    --------
    Only pairs whose better item is in the first group, ``"a"``, count:

    >>> import numpy as np
    >>> from equirank import as_ranking_data
    >>> from equirank.costs import GroupPairCost
    >>> data = as_ranking_data(None, [1, 0, 0], sensitive_features=["a", "b", "a"])
    >>> cost = GroupPairCost([[1.0, 1.0], [0.0, 0.0]])
    >>> cost.pairs(data, np.array([0, 0]), np.array([1, 2]))
    array([1., 1.])
    """

    needs: ClassVar[frozenset[str]] = frozenset({"sensitive_features"})

    matrix: Any
    by: Any = None
    by_probability: bool = field(default=False, kw_only=True)

    def blocks(self, data: RankingData) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the group (or kind of memberships) of each row and the cost of each pair of them.

        None if memberships differ too much for a few cells.
        """
        attribute = data.attribute(self.by)
        uncertain = self.by_probability and attribute.doubtful
        if not uncertain:
            data.known_attribute(self.by, type(self).__name__)
        matrix = self._matrix(len(attribute.categories))
        if not uncertain:
            return attribute.codes.astype(np.int32), matrix
        kinds, cells = np.unique(self._memberships(data), axis=0, return_inverse=True)
        if len(kinds) > MOST_KINDS:
            return None
        return cells.ravel().astype(np.int32), kinds @ matrix @ kinds.T

    def pairs(self, data: RankingData, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return the costs of pairs of stored rows; ``first`` are the better items."""
        if self.blocks(data) is not None:
            return super().pairs(data, first, second)
        members = self._memberships(data)
        matrix = self._matrix(members.shape[1])
        return np.asarray(((members[first] @ matrix) * members[second]).sum(axis=1))

    def _memberships(self, data: RankingData) -> np.ndarray:
        return training_memberships(data, self.by, type(self).__name__).table

    def _matrix(self, size: int) -> np.ndarray:
        matrix = np.asarray(self.matrix, dtype=np.float64)
        if matrix.shape != (size, size):
            raise DataError(
                f"matrix of {type(self).__name__} must have a row and a column for each of the "
                f"{size} groups, got shape {matrix.shape}"
            )
        return matrix


@dataclass(frozen=True, eq=False)
class ListedPairCost(PairCost):
    """Costs of listed pairs of rows; every other pair costs ``other``.

    Rows are numbered as in the input of `fit`, so such a cost belongs to one data set and cannot be
    used in cross-validation. A pair that is listed twice has the sum of the costs.

    Parameters
    ----------
    first, second : array-like of int
        The pairs: the row of the better item, and of the worse item.
    cost : array-like of float
        The cost of ranking ``second`` above ``first``; negative: the reverse.
    other : float
        The cost of pairs that are not listed.

    Examples
    --------
    >>> import numpy as np
    >>> from equirank import as_ranking_data
    >>> from equirank.costs import ListedPairCost
    >>> data = as_ranking_data(None, [2, 0, 1], qid=[1, 1, 1])
    >>> cost = ListedPairCost([0, 0], [1, 2], [5.0, 2.0], other=1.0)
    >>> cost.pairs(data, np.array([0, 0, 2]), np.array([1, 2, 1]))
    array([5., 2., 1.])
    """

    first: Any
    second: Any
    cost: Any
    other: float = 0.0

    def __post_init__(self) -> None:
        """Check the pairs and store them as arrays."""
        check_params("ListedPairCost", {"other": self.other}, {"other": Number()})
        first, second = np.asarray(self.first), np.asarray(self.second)
        cost = np.asarray(self.cost, dtype=np.float64)
        if not (first.ndim == 1 and first.shape == second.shape == cost.shape):
            raise DataError(
                "first, second and cost of ListedPairCost must have the same length, got shapes "
                f"{first.shape}, {second.shape} and {cost.shape}"
            )
        for name, rows in (("first", first), ("second", second)):
            if rows.size and (rows.dtype.kind not in "iu" or rows.min() < 0):
                raise DataError(f"{name} of ListedPairCost must contain row numbers >= 0")
        if not np.isfinite(cost).all():
            raise DataError("cost of ListedPairCost must contain finite numbers")
        for name, values in (("first", first), ("second", second)):
            object.__setattr__(self, name, values.astype(np.int64))
        object.__setattr__(self, "cost", cost)

    def pairs(self, data: RankingData, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Return the costs of pairs of stored rows."""
        rows = np.arange(data.n_rows) if data.rows is None else data.rows
        size = int(max(rows.max(), self.first.max(initial=0), self.second.max(initial=0))) + 1
        keys, at = np.unique(self.first * size + self.second, return_inverse=True)
        if len(keys) == 0:
            return np.full(len(first), float(self.other))
        total = np.bincount(at.ravel(), weights=self.cost)
        wanted = rows[first].astype(np.int64) * size + rows[second]
        entry = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        return np.where(keys[entry] == wanted, total[entry], float(self.other))


@dataclass(frozen=True, eq=False)
class ParityPairCost(GroupPairCost):
    """Costs by group that apply to pairs of any relevance, in addition to a base cost.

    A pair of unequal relevance costs ``base`` plus ``matrix[g][h]``, where g is the group of the
    better item. For a pair of equal relevance, ranking the item of h above that of g costs
    ``matrix[g][h]``. The matrix is antisymmetric: the reverse order gains the same amount.

    Parameters
    ----------
    matrix : array-like of shape (n_groups, n_groups)
        The costs, antisymmetric.
    by : str or tuple of str, optional
        The sensitive attribute, or several to cross; may be omitted if there is only one.
    by_probability : bool
        As in `GroupPairCost`.
    base : float
        The cost of every pair of unequal relevance.

    Examples
    --------
    >>> import numpy as np
    >>> from equirank import as_ranking_data
    >>> from equirank.costs import ParityPairCost
    >>> data = as_ranking_data(None, [1, 0, 1], sensitive_features=["a", "b", "b"])
    >>> cost = ParityPairCost([[0.0, 0.5], [-0.5, 0.0]], base=1.0)
    >>> cost.pairs(data, np.array([0, 2, 0]), np.array([1, 1, 2]))  # half for the last
    array([1.5 , 1.  , 0.25])
    """

    equal_grades: ClassVar[bool] = True

    base: float = 0.0

    def blocks(self, data: RankingData) -> tuple[np.ndarray, np.ndarray]:
        """Return the cell (group and grade) of each row, and the cost of each pair of cells."""
        found = super().blocks(data)
        if found is None:
            raise DataError(
                f"{type(self).__name__} needs memberships of few kinds: there are more than "
                f"{MOST_KINDS} in the data"
            )
        group, matrix = found
        grades, grade = np.unique(np.asarray(data.y), return_inverse=True)
        cells = group * np.int32(len(grades)) + grade.astype(np.int32)
        unequal = np.arange(len(grades))[:, None] != np.arange(len(grades))
        # both orders of an equal pair have an entry, so each is half
        table = np.kron(matrix, np.where(unequal, 1.0, 0.5))
        table += self.base * np.kron(np.ones_like(matrix), unequal)
        return cells, table


@dataclass(frozen=True, eq=False)
class ProtectedPairCost(PairCost):
    """Costs of ``weight`` for pairs with at least one protected item, and 1 for other pairs.

    An item with an unknown label is not protected.

    Parameters
    ----------
    weight : float
        The cost of a pair with a protected item.
    protected : label
        The protected group.
    by : str or tuple of str, optional
        The sensitive attribute, or several to cross; may be omitted if there is only one.

    Examples
    --------
    >>> import numpy as np
    >>> from equirank import as_ranking_data
    >>> from equirank.costs import ProtectedPairCost
    >>> data = as_ranking_data(None, [1, 0, 0], qid=[1] * 3, sensitive_features=["f", "m", "m"])
    >>> cost = ProtectedPairCost(3.0, protected="f")
    >>> cost.pairs(data, np.array([0, 1]), np.array([1, 2])), sorted(cost.needs)
    (array([3., 1.]), ['sensitive_features'])
    """

    weight: float
    protected: Any
    by: Any = None

    needs: ClassVar[frozenset[str]] = frozenset({"sensitive_features"})

    def __post_init__(self) -> None:
        """Check the parameters."""
        rules: dict[str, Constraint] = {
            "weight": Number(0.0, open_low=True),
            "protected": Label(),
            "by": Optional(Label(many=True)),
        }
        check_params("ProtectedPairCost", vars(self), rules)

    def blocks(self, data: RankingData) -> tuple[np.ndarray, np.ndarray]:
        """Return whether each row is protected, and the cost of each combination."""
        attribute = data.attribute(self.by)
        inside = attribute.codes == attribute.code(self.protected)
        w = float(self.weight)
        return inside.astype(np.int32), np.array([[1.0, w], [w, w]])
