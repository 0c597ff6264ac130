"""Sets of comparisons whose labels are shuffled together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from ..core.closed_shuffles import ClosedShuffles, ClosedValues
from ..core.shuffles import Shuffled, shuffle_labels
from .audit_plan import Plan
from .people import People, Values

__all__ = ["AnyShuffled", "AnyValues", "ShuffledSet", "set_seed", "shuffle_set"]


#: Statistics by shuffles of rows, or in closed form from sums over lists; those of given values.
AnyShuffled = Shuffled | ClosedShuffles
AnyValues = Shuffled | ClosedValues
Found = TypeVar("Found", bound=AnyShuffled)


@dataclass(frozen=True, eq=False)
class ShuffledSet(Generic[Found]):
    """Partitions whose labels were shuffled together.

    Attributes
    ----------
    found : Shuffled or ClosedShuffles
        The statistics; its groups are those of ``groups`` in this order.
    groups : list of int
        The partitions.
    sizes : ndarray
        Number of people in each list.
    """

    found: Found
    groups: list[int]
    sizes: np.ndarray


def shuffle_set(
    people: People,
    groups: list[int],
    rows: Any,
    values: Values,
    sizes: np.ndarray,
    n_draws: int,
    seed: int,
    **options: Any,
) -> ShuffledSet[Shuffled]:
    """Shuffle the labels of some rows, and compare some partitions."""
    found = shuffle_labels(
        people.query[rows],
        people.pattern[rows],
        people.vectors[rows],
        people.sides[groups],
        values.columns[rows],
        values.averaged,
        n_draws,
        seed,
        n_queries=len(sizes),
        **options,
    )
    return ShuffledSet(found, groups, sizes)


def set_seed(plan: Plan, groups: Sequence[int], key: int = 0) -> int:
    """Return the seed of a set of shuffles, which differs between sets."""
    return plan.seed + 1009 * key + (0 if len(groups) != 1 else 101 * groups[0])
