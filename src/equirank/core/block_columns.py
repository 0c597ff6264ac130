"""The columns of a block of lists, as the kernel of sums measures them."""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from ..kernels.column_names import CLAIM_COLUMNS, TOTAL_COLUMNS
from ..kernels.discounts import discounts
from .inputs import frozen
from .sums_plan import SumsPlan

__all__ = ["BUCKETS", "Block", "Layout", "fold_lists", "measure_columns", "prefix_grid"]


#: Number of buckets; a list belongs to the bucket ``key % BUCKETS``.
BUCKETS = 1024
#: Longest prefix of the grid.
LONGEST_PREFIX = 20_000


@cache
def prefix_grid(longest: int = LONGEST_PREFIX) -> np.ndarray:
    """Return the lengths of prefixes: 1 to 60, then steps of 2%.

    Examples
    --------
    >>> prefix_grid(70)
    array([ 1,  2,  3, ..., 61, 62, 63, 64, 65, 66, 67, 68, 69, 70])
    """
    found = list(range(1, 61))
    while found[-1] < longest:
        found.append(max(found[-1] + 1, round(found[-1] * 1.02)))
    return frozen(np.array([length for length in found if length <= longest], dtype=np.int64))


@dataclass(frozen=True, eq=False)
class Block:
    """The slots of a run of lists, as arrays for the kernels.

    Attributes
    ----------
    offsets, begin, end, shown, y, codes, extra
        As in `measure_lists`.
    among : ndarray of bool
        Of each slot and decision: whether it was decided.
    keys : ndarray
        Key of each list.
    """

    offsets: np.ndarray
    begin: np.ndarray
    end: np.ndarray
    shown: np.ndarray
    y: np.ndarray
    codes: np.ndarray
    extra: np.ndarray
    among: np.ndarray
    keys: np.ndarray

    @property
    def slots(self) -> tuple[np.ndarray, ...]:
        """What describes the slots beside decisions."""
        return self.offsets, self.begin, self.end, self.shown, self.y, self.codes


@dataclass(frozen=True, eq=False)
class Layout:
    """Keys, groups, decisions and designs of the columns.

    Attributes
    ----------
    parts, width, first, ks, limits, trend, given, used, left_out, grid
        As in `measure_lists`.
    n_decisions : int
        Number of decisions, with those of ``ks``.
    """

    parts: np.ndarray
    width: np.ndarray
    first: np.ndarray
    ks: tuple[int, ...]
    limits: tuple[float, ...]
    trend: bool
    given: tuple[int, ...]
    used: tuple[int, ...]
    left_out: tuple[int, ...]
    grid: np.ndarray
    n_decisions: int

    @classmethod
    def of(cls, plan: SumsPlan) -> "Layout":
        """Return the layout of a plan, for everyone."""
        names, designs = list(plan.groups), plan.designs[1:]
        parts = [[names.index(p) for p in key] + [-1] * (2 - len(key)) for key in plan.keys]
        given = tuple(-1 if name == "relevance" and not at else names.index(name)
                      for at, name in enumerate(designs))  # fmt: skip
        return cls(
            np.array(parts, dtype=np.int64).reshape(-1, 2),
            np.array([len(labels) for labels in plan.groups.values()], dtype=np.int64),
            plan.first,
            plan.ks,
            plan.limits,
            plan.trend,
            given,
            tuple(len(plan.keys) if each < 0 else len(names) for each in given),
            given,
            prefix_grid(),
            plan.n_decisions,
        )

    def of_decision(self) -> "Layout":
        """Return the layout of one recorded decision alone, without designs and prefixes."""
        nothing = replace(self, given=(), used=(), left_out=(), limits=(), trend=False)
        return replace(nothing, ks=(), grid=np.zeros(0, dtype=np.int64), n_decisions=1)

    def of_two(self) -> "Layout":
        """Return the layout of two groups, whose code is a further attribute."""
        return replace(
            self,
            parts=np.array([[len(self.width), -1]]),
            width=np.append(self.width, 2),
            first=np.array([0, 2], dtype=np.int64),
            used=(1,) * len(self.given),
            left_out=(-1,) * len(self.given),
            grid=np.zeros(0, dtype=np.int64),
        )


def measure_columns(
    block: Block, layout: Layout, inside: np.ndarray | None = None
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return the columns of each list, and the sums that have no columns.

    With ``inside`` only these slots are compared, at their positions in the whole list.
    """
    from ..kernels.length_moments import fits_tables
    from ..kernels.list_columns import measure_lists

    n, groups, extra = len(block.keys), int(layout.first[-1]), layout.n_decisions
    longest = int(np.diff(block.offsets).max(initial=0))
    sums = np.concatenate([[0.0], np.cumsum(discounts(longest, "log2"))])
    designs, keys, grid = len(layout.given), len(layout.parts), layout.grid
    columns = {
        "totals": np.zeros((n, groups, len(TOTAL_COLUMNS) + extra)),
        "claims": np.zeros((n, groups, len(CLAIM_COLUMNS) + 4 * extra)),
        "adjusted": np.zeros((n, designs, groups, 2)),
    }
    shapes: dict[str, tuple[int, ...]] = {
        "mean": (groups, 3 + extra),
        "covariance": (groups, 3 + extra, groups * (3 + extra)),
        "given_covariance": (designs, groups, 2, groups * 2),
        "third": (1 + designs, groups, 3 + extra),
        "fourth": (1 + designs, groups, 3 + extra),
        "decided": (extra, groups, 6),
        "unknown": (keys, 4 + extra),
        "prefix_groups": (groups, len(grid), 2),
        "prefix_keys": (keys, len(grid), 2),
        "ties": (1 + len(layout.ks), 2),
    }
    found = {name: np.zeros(shape) for name, shape in shapes.items()}
    designs_of = (np.array(each, dtype=np.int64)
                  for each in (layout.given, layout.used, layout.left_out))  # fmt: skip
    everyone = np.zeros(0, dtype=bool) if inside is None else inside
    given = (
        *block.slots, everyone, block.extra, layout.parts, layout.width, layout.first, sums,
        np.array(layout.ks, dtype=np.int64), np.array(layout.limits), layout.trend, *designs_of,
        grid.copy(), *columns.values(), *found.values(),
    )  # fmt: skip
    others = np.ones(n, dtype=bool)
    if not layout.trend and fits_tables(groups, longest, designs):
        measure_lists(None, others, *given)
    if others.any():
        measure_lists(others, others, *given)
    found["covariance"] = found["covariance"].reshape(groups, 3 + extra, groups, 3 + extra)
    found["given_covariance"] = found["given_covariance"].reshape(designs, groups, 2, groups, 2)
    return columns, found


def fold_lists(columns: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Add the columns of lists to their buckets."""
    from ..kernels.list_columns import add_to_buckets

    found = np.zeros((BUCKETS, *columns.shape[1:]))
    bucket = (keys % np.uint64(BUCKETS)).astype(np.int64)
    if columns.size:
        add_to_buckets(columns.reshape(len(keys), -1), bucket, found.reshape(BUCKETS, -1))
    return found
