"""Sums over some people of each list: two groups that are compared, or those decided about."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..kernels.column_names import CLAIM_COLUMNS
from .block_columns import Block, Layout, fold_lists, measure_columns
from .sums_plan import SumsPlan, View

__all__ = [
    "SumsView",
    "add_lengths",
    "add_margins",
    "add_views",
    "count_lengths",
    "count_margins",
    "margins_of",
    "measure_view",
    "only_compared",
    "spread",
    "spread_groups",
]


#: Which axes of the arrays of sums run over the groups of all keys; the others have none.
GROUP_AXES: dict[str, tuple[int, ...]] = {
    "totals": (1,),
    "claims": (1,),
    "adjusted": (2,),
    "gaps": (),
    "metrics": (),
    "mean": (0,),
    "covariance": (0, 2),
    "given_covariance": (1, 3),
    "third": (1,),
    "fourth": (1,),
    "decided": (1,),
    "unknown": (),
    "undecided": (),
    "prefix_groups": (0,),
    "prefix_keys": (),
    "pairs": (0, 1),
    "pairs_with_others": (0,),
    "ties": (),
    "lengths": (1,),
    "spread": (0,),
    "squares": (0,),
    "within": (0,),
    "changes": (),
    "moved": (),
    "against": (),
    "lists": (),
    "group_values": (),
    "twin_totals": (),
    "twin_products": (),
}
#: Those whose first axis has no fixed length.
RAGGED = ("lengths", "margins")
#: The arrays of a view with one row per bucket, and the others.
BUCKETED = ("totals", "claims", "adjusted")
NAMES = ("mean", "covariance", "given_covariance", "third", "fourth", "decided", "unknown")
#: Most different counts of lists that are stored for a comparison of a recorded decision; more, and
#: those that are not whole or as large as a field, are dropped for good.
MOST_MARGINS = 10_000
FIELD = 1 << 16


@dataclass(frozen=True, eq=False)
class SumsView:
    """Sums of a `View`, with the names and axes of those of a `ListSums`.

    Attributes
    ----------
    sums : dict of str to ndarray
        The sums; ``lengths`` counts lists by the number of their people, who were decided about if
        a decision is compared. Two groups have no totals.
    lengths : ndarray
        These numbers of people, ascending.
    """

    sums: dict[str, np.ndarray]
    lengths: np.ndarray

    @property
    def n_decisions(self) -> int:
        """Number of decisions."""
        return len(self.sums["decided"])

    @cached_property
    def n_people(self) -> int:
        """Number of people, if they are not those of two groups."""
        return int(self.sums["lengths"][:, 0] @ self.lengths)

    def __add__(self, other: "SumsView") -> "SumsView":
        """Return the sums over the lists of both."""
        sums = {name: v + other.sums[name] for name, v in self.sums.items() if name not in RAGGED}
        lengths, sums["lengths"] = add_lengths([self, other])
        sums |= add_margins(self.sums, other.sums)
        return SumsView(sums, lengths)

    def regrouped(self, lookup: np.ndarray, n_groups: int) -> "SumsView":
        """Return the sums with other groups, those of now at ``lookup``."""
        return replace(
            self, sums={n: spread_groups(n, v, lookup, n_groups) for n, v in self.sums.items()}
        )


def spread_groups(name: str, values: np.ndarray, lookup: np.ndarray, n_groups: int) -> np.ndarray:
    """Return an array of sums with its axes of groups extended, groups of now at ``lookup``."""
    if name == "margins":
        groups = lookup[values[:, 1].astype(np.int64)]
        return np.column_stack([values[:, 0], groups, values[:, 2:]])
    for axis in GROUP_AXES[name]:
        old = lookup if name != "lengths" else np.append(0, lookup + 1)
        values = spread(values, axis, old, n_groups + (name == "lengths"))
    return values


def spread(values: np.ndarray, axis: int, index: np.ndarray, size: int) -> np.ndarray:
    """Return an array with an axis extended to ``size``, old entries at ``index``, others 0."""
    shape = list(values.shape)
    shape[axis] = size
    found = np.zeros(shape)
    found[(slice(None),) * axis + (index,)] = values
    return found


def count_lengths(sizes: np.ndarray, claims: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the lengths of lists, and how many lists have them: of all, and of each group."""
    used = claims[:, :, 0] > 0
    lengths, at = np.unique(sizes, return_inverse=True)
    counts = [np.bincount(at, weights, len(lengths)) for weights in [np.ones(len(at)), *used.T]]
    return lengths, np.stack(counts, axis=1)


def add_lengths(parts: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return the lengths of the lists of all parts, and their counts."""
    lengths = np.unique(np.concatenate([part.lengths for part in parts]))
    counts = np.zeros((len(lengths), parts[0].sums["lengths"].shape[1]))
    for part in parts:
        counts[np.searchsorted(lengths, part.lengths)] += part.sums["lengths"]
    return lengths, counts


def count_margins(claims: np.ndarray, n_decisions: int) -> np.ndarray:
    """Return how many lists have the same counts, for each decision and group.

    A row has the decision, the group, then selected and all people of the group and of the other
    side in a list, and the number of lists. A row without lists says that the counts of this
    decision and group were dropped.
    """
    found = []
    for e in range(n_decisions):
        at = len(CLAIM_COLUMNS) + 4 * e
        for g in range(claims.shape[1]):
            rows = claims[claims[:, g, 0] > 0, g][:, [at + 2, 1, at + 3, 2]]
            found.append(_distinct(e, g, rows, np.ones(len(rows))))
    return np.concatenate(found) if found else np.zeros((0, 7))


def _distinct(e: int, g: int, rows: np.ndarray, lists: np.ndarray) -> np.ndarray:
    """Return the different counts of one comparison and their numbers of lists, as rows."""
    whole = np.rint(rows)
    fits = len(rows) == 0 or (np.abs(rows - whole).max() < 1e-6 and whole.max() < FIELD)
    if not fits or (lists == 0).any():
        return np.array([[e, g, 0, 0, 0, 0, 0]], dtype=np.float64)
    fields = whole.astype(np.uint64)
    key = np.zeros(len(rows), dtype=np.uint64)
    for at in range(4):
        key = key * np.uint64(FIELD) + fields[:, at]
    _, first, inverse = np.unique(key, return_index=True, return_inverse=True)
    if len(first) > MOST_MARGINS:
        return np.array([[e, g, 0, 0, 0, 0, 0]], dtype=np.float64)
    head = np.full((len(first), 2), [e, g], dtype=np.float64)
    return np.column_stack([head, whole[first], np.bincount(inverse, lists, len(first))])


def add_margins(a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the counts of the lists of both, if both sums have them."""
    if "margins" not in a or "margins" not in b:
        return {}
    both = np.concatenate([a["margins"], b["margins"]])
    found = []
    for e, g in sorted({(int(e), int(g)) for e, g in both[:, :2].tolist()}):
        rows = both[(both[:, 0] == e) & (both[:, 1] == g)]
        found.append(_distinct(e, g, rows[:, 2:6], rows[:, 6]))
    return {"margins": np.concatenate(found) if found else both}


def margins_of(sums: Mapping[str, np.ndarray], e: int, g: int) -> np.ndarray | None:
    """Return the counts of one comparison in each list (4 x lists); None if they are not known."""
    if "margins" not in sums:
        return None
    rows = sums["margins"][(sums["margins"][:, 0] == e) & (sums["margins"][:, 1] == g)]
    if len(rows) == 0 or (rows[:, 6] == 0).any():
        return None
    return np.repeat(rows[:, 2:6], rows[:, 6].astype(np.int64), axis=0).T


def measure_view(block: Block, plan: SumsPlan, view: View) -> SumsView:
    """Return the sums of a block of lists over the people of a view."""
    layout, inside = Layout.of(plan), np.ones(len(block.codes), dtype=bool)
    if view.decision >= 0:
        layout = layout.of_decision()
        extra = np.ascontiguousarray(block.extra[:, view.decision : view.decision + 1])
        inside = np.ascontiguousarray(block.among[:, view.decision])
        block = replace(block, extra=extra)
    people = np.add.reduceat(inside.astype(np.int64), block.offsets[:-1])
    if view.key:
        key = plan.keys.index(view.key)
        labels = plan.labels(view.key)
        codes = plan.codes_of(block.codes, key)
        pair = np.full(len(codes), -1, dtype=np.int64)
        pair[codes == labels.index(view.group)] = 0
        pair[codes == labels.index(view.against)] = 1
        layout, inside = layout.of_two(), inside & (pair >= 0)
        block = replace(block, codes=np.column_stack([block.codes, pair]))
    columns, found = measure_columns(block, layout, inside)
    sums = {name: fold_lists(columns[name], block.keys) for name in BUCKETED}
    sums |= {name: found[name] for name in NAMES}
    lengths, sums["lengths"] = count_lengths(people, columns["claims"])
    if not plan.ks:
        sums["margins"] = count_margins(columns["claims"], layout.n_decisions)
    return SumsView(sums, lengths) if not view.key else only_compared(sums, lengths)


def only_compared(sums: dict[str, np.ndarray], lengths: np.ndarray) -> SumsView:
    """Return the sums over the lists that contain both groups, so that others add nothing."""
    counts = sums["lengths"] * (np.arange(sums["lengths"].shape[1]) > 0)
    used = counts.any(axis=1)
    kept = {name: v for name, v in sums.items() if name not in ("totals", "unknown")}
    return SumsView(kept | {"lengths": counts[used]}, lengths[used])


def add_views(a: Mapping[View, SumsView], b: Mapping[View, SumsView]) -> dict[View, SumsView]:
    """Return the views of both; one that a side lacks has nobody there."""
    found = dict(a)
    for view, sums in b.items():
        found[view] = found[view] + sums if view in found else sums
    return found
