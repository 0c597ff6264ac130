"""Costs of misordered pairs: from item costs, a table of grades, listed pairs or a callable."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ...core.data import RankingData
from ...core.errors import DataError
from ...core.inputs import choose
from ...core.metric import Metric
from ...core.slots import Slots
from ...kernels.pair_counts import match_pairs, ordered_pairs

__all__ = [
    "ITEM_COSTS",
    "MisorderCost",
    "PairList",
    "as_pair_cost",
    "blocks",
    "check_pair_values",
    "item_costs",
    "terms",
]


#: Largest cost of a pair that is given as such, so that sums over pairs stay finite.
LARGEST = 1e290
#: How the costs of two items are combined into the cost of their pair.
ITEM_COSTS = ("product", "mean", "sum", "max")


@dataclass(frozen=True, eq=False, repr=False)
class PairList:
    """Pairs of rows a and b, in input order, with the cost of ranking b above a."""

    a: np.ndarray
    b: np.ndarray
    cost: np.ndarray

    def __eq__(self, other: object) -> bool:
        """Compare value by value."""
        return isinstance(other, PairList) and self._key() == other._key()

    def __hash__(self) -> int:
        """Hash the values."""
        return hash(self._key())

    def __repr__(self) -> str:
        """Return the number of pairs."""
        return f"PairList({len(self.a)} pairs)"

    def _key(self) -> tuple[bytes, ...]:
        return self.a.tobytes(), self.b.tobytes(), self.cost.tobytes()


def as_pair_cost(owner: str, cost: Any) -> Any:
    """Check a cost of pairs and make it hashable.

    Takes None, one of `ITEM_COSTS`, a square table by relevance grade, a SciPy sparse matrix or a
    mapping ``{(a, b): cost}`` over rows, or a callable on two arrays of rows.
    """
    if cost is None or callable(cost) or isinstance(cost, PairList):
        return cost
    if isinstance(cost, str):
        if cost in ITEM_COSTS:
            return cost
    elif isinstance(cost, Mapping):
        pairs = np.array(list(cost), dtype=np.int64).reshape(-1, 2)
        return _pair_list(owner, pairs[:, 0], pairs[:, 1], np.array(list(cost.values()), float))
    elif hasattr(cost, "tocoo"):
        table = cost.tocoo()
        return _pair_list(owner, table.row, table.col, table.data.astype(np.float64))
    else:
        array = np.asarray(cost)
        if array.ndim == 2 and array.shape[0] == array.shape[1] and array.dtype.kind in "iufb":
            _check_costs(owner, array.astype(np.float64).ravel())
            return tuple(tuple(row) for row in array.astype(np.float64).tolist())
    words = ", ".join(repr(word) for word in ITEM_COSTS)
    shown = repr(cost) if isinstance(cost, str) else type(cost).__name__
    raise DataError(
        f"cost of {owner} must be None, one of {words}, a square table by relevance grade, "
        f"a sparse matrix or mapping of pairs of rows, or a callable, got {shown}"
    )


def item_costs(cost: Any, combine: str) -> tuple[Any, dict[str, Any]]:
    """Return the cost of the metric and, for costs per item, the column of the data."""
    choose("combine", combine, ITEM_COSTS)
    direct = cost is None or isinstance(cost, (str, Mapping)) or callable(cost)
    if direct or hasattr(cost, "tocoo") or isinstance(cost, PairList):
        return cost, {}
    shape = np.shape(cost)
    if len(shape) == 2 and shape[0] == shape[1]:
        return cost, {}
    return combine, {"cost": cost}


def _pair_list(owner: str, a: np.ndarray, b: np.ndarray, cost: np.ndarray) -> PairList:
    _check_costs(owner, cost)
    order = np.argsort(a, kind="stable")
    return PairList(a[order].astype(np.int64), b[order].astype(np.int64), cost[order])


def _check_costs(owner: str, costs: np.ndarray) -> None:
    bad = ~((costs >= 0) & (costs <= LARGEST))
    if bad.any():
        raise DataError(
            f"cost of {owner} must be numbers from 0 to 1e290, got {costs[bad][0].item()}"
        )


@dataclass(frozen=True)
class MisorderCost:
    """Constraint on a cost of pairs that `as_pair_cost` has checked."""

    def accepts(self, value: Any) -> bool:
        """Return whether the value has passed `as_pair_cost`."""
        return (
            value is None
            or value in ITEM_COSTS
            or isinstance(value, (tuple, PairList))
            or (callable(value))
        )

    def __str__(self) -> str:
        """Finish the sentence 'must be ...'."""
        return "a cost of pairs"


@dataclass(frozen=True, repr=False, kw_only=True)
class PairCostMetric(Metric):
    """Base of metrics with costs of pairs, which its function also takes per item."""

    cost: Any = None

    @classmethod
    def from_arrays(
        cls,
        y_true: Any,
        y_score: Any,
        *,
        cost: Any,
        combine: Literal["product", "mean", "sum", "max"] = "product",
        **arguments: Any,
    ) -> tuple[Metric, dict[str, Any]]:
        """Separate costs of items, which belong to the data, from costs of pairs.

        Parameters
        ----------
        cost : array-like, square table, sparse matrix, mapping, callable, str or None
            One cost > 0 per item, which ``combine`` turns into costs of pairs; or costs of pairs
            as the class takes them (a word combines the costs of a `Ranking`).
        combine : {"product", "mean", "sum", "max"}
            How the costs of two items are combined into the cost of their pair.
        """
        cost, items = item_costs(cost, combine)
        metric, arrays = super().from_arrays(cost=cost, **arguments)
        return metric, {"y_true": y_true, "y_score": y_score, **arrays, **items}

    def __post_init__(self) -> None:
        """Check the options."""
        object.__setattr__(self, "cost", as_pair_cost(type(self).__name__, self.cost))
        super().__post_init__()

    def check(self, data: RankingData) -> None:
        """Raise if the data lack what the metric needs, or a table by grade lacks a grade."""
        super().check(data)
        if isinstance(self.cost, tuple):
            y = np.asarray(data.y)
            bad = (y != np.floor(y)) | (y >= len(self.cost))
            if bad.any():
                raise DataError(
                    f"cost of {self} must name every relevance grade: its table has grades 0 to "
                    f"{len(self.cost) - 1}, and the data has {y[bad][0].item()!r}"
                )


def terms(
    cost: Any, slots: Slots, item_cost: np.ndarray | None
) -> list[tuple[np.ndarray, np.ndarray]] | None:
    """Return the pair cost as a sum of products ``u_a v_b``; None if it is not such a sum."""
    one = np.ones(len(slots.order))
    if cost is None:
        return [(one, one)]
    if isinstance(cost, tuple):
        table, grade = np.array(cost), slots.y.astype(np.int64)
        return [((grade == g).astype(float), table[g, grade]) for g in np.unique(grade).tolist()]
    if item_cost is None or cost == "max":
        return None
    if cost == "product":
        return [(item_cost, item_cost)]
    part = item_cost if cost == "sum" else item_cost / 2.0
    return [(part, one), (one, part)]


def blocks(
    cost: Any, slots: Slots, item_cost: np.ndarray | None
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield the pairs (a, b) of slots of one query with their costs, in blocks."""
    row = slots.order if slots.data.rows is None else slots.data.rows[slots.order]
    if isinstance(cost, PairList):
        yield match_pairs(row, slots.query, cost.a, cost.b, cost.cost)
        return
    for a, b in ordered_pairs(slots.offsets):
        if item_cost is not None:
            yield a, b, np.maximum(item_cost[a], item_cost[b])
        else:
            yield a, b, _computed(cost, row[a], row[b])


def _computed(cost: Callable[..., Any], a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the costs that a callable computes, after a check."""
    costs = np.broadcast_to(np.asarray(cost(a, b), dtype=np.float64), a.shape)
    check_pair_values("cost", costs, a, b, "rows")
    return costs


def check_pair_values(
    name: str, values: np.ndarray, a: np.ndarray, b: np.ndarray, what: str
) -> None:
    """Raise if a callable returned a value for a pair that is not a number in the range."""
    bad = ~((values >= 0) & (values <= LARGEST))
    if bad.any():
        at = tuple(np.argwhere(bad)[0])
        raise DataError(
            f"{name} must return numbers from 0 to 1e290, got {values[at].item()!r} for the "
            f"{what} {int(a[at])} and {int(b[at])}"
        )
