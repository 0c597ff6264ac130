"""What an audit compares: label vectors of people, groups with their other side, and values."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.labels import MISSING
from ..core.order_values import order_values
from ..core.outcomes import Decision
from ..core.ranking import Ranking
from ..kernels.segments import divide
from .audit_plan import Audited, Plan

__all__ = [
    "Partition",
    "People",
    "Values",
    "find_people",
    "group_chance",
    "known_codes",
    "make_values",
]


@dataclass(frozen=True, eq=False)
class Partition:
    """A group and its other side: 1 and 0 by label vector, -1 for neither."""

    audited: Audited
    code: int
    sides: np.ndarray

    @property
    def group(self) -> str:
        """Name of the group."""
        return self.audited.groups[self.code]

    @property
    def against(self) -> str:
        """Name of the reference group, or ``"rest"``."""
        reference = self.audited.reference
        return "rest" if reference is None else self.audited.groups[reference]


@dataclass(frozen=True, eq=False)
class People:
    """The label vectors of all people and the groups to compare.

    Attributes
    ----------
    query, vectors, pattern : ndarray
        Of each row, as integers: its list, the combination of its labels, and which attributes are
        known.
    partitions : tuple of Partition
        Each comparison once.
    owner : dict
        For each attribute and code the index of its partition, and whether that is the other side.
    """

    query: np.ndarray
    vectors: np.ndarray
    pattern: np.ndarray
    partitions: tuple[Partition, ...]
    owner: dict[tuple[str, int], tuple[int, bool]]

    @property
    def sides(self) -> np.ndarray:
        """The sides of all partitions, of shape (n_groups, n_vectors)."""
        return np.stack([each.sides for each in self.partitions])

    @property
    def masks(self) -> list[np.ndarray]:
        """The distinct masks of label vectors that partitions cover."""
        known = [each.sides >= 0 for each in self.partitions]
        return list({mask.tobytes(): mask for mask in known}.values())

    def mask_index(self, partition: Partition) -> int:
        """Return which of the masks a partition has."""
        wanted = (partition.sides >= 0).tobytes()
        return [mask.tobytes() for mask in self.masks].index(wanted)

    def shuffled_sets(
        self, groups: Sequence[int] | None = None, among: np.ndarray | None = None
    ) -> Iterator[tuple[list[int], Any]]:
        """Yield partitions whose labels are shuffled together, with the rows to shuffle.

        Those compared with everyone else share their shuffles. A group and its reference have
        shuffles of their own, in which nobody else takes part.
        """
        every = range(len(self.partitions)) if groups is None else groups
        common = [g for g in every if self.partitions[g].against == "rest"]
        if common:
            yield common, slice(None) if among is None else np.flatnonzero(among)
        for g in every:
            if self.partitions[g].against != "rest":
                both = self.partitions[g].sides[self.vectors] >= 0
                yield [g], np.flatnonzero(both if among is None else both & among)


def find_people(plan: Plan, wanted: Sequence[tuple[str, str]] | None = None) -> People:
    """Return the label vectors and the comparisons, equal and complementary ones once.

    With ``wanted`` (attribute and group), exactly these comparisons are returned; those of an
    unknown group have nobody on either side.
    """
    single = [each for each in plan.audited if not each.crossed]
    query = plan.data.query_of_rows()
    if plan.sums is not None:  # the rows are a sample, whose labels no test uses
        vectors = np.array(list(plan.sums.people), dtype=np.int64)
        counts = np.array(list(plan.sums.people.values()), dtype=np.int64)
        query = inverse = pattern = np.zeros(0, dtype=np.int64)
    else:
        codes = np.stack([known_codes(each) for each in single], axis=1)
        vectors, inverse = np.unique(codes, axis=0, return_inverse=True)
        inverse = inverse.reshape(-1)
        counts = np.bincount(inverse, minlength=len(vectors))
        pattern = np.unique(codes < 0, axis=0, return_inverse=True)[1].reshape(-1)
    known = {each.name: vectors[:, at] for at, each in enumerate(single)}
    if wanted is not None:
        parts = _wanted(plan, known, single, wanted)
        return People(query, inverse, pattern, parts, {})
    found: dict[bytes, Partition] = {}
    keys: dict[tuple[str, int], tuple[bytes, np.ndarray]] = {}
    for each in plan.audited:
        for part in _partitions(each, known, single):
            if not (part.sides == 1).any() or not (part.sides == 0).any():
                continue
            mirrored = np.where(part.sides < 0, -1, 1 - part.sides).astype(np.int8)
            key = min(part.sides.tobytes(), mirrored.tobytes())
            keys[each.name, part.code] = key, part.sides
            if key not in found or _rank(part, counts) < _rank(found[key], counts):
                found[key] = part
    index = {key: at for at, key in enumerate(found)}
    owner = {
        group: (index[key], not np.array_equal(sides, found[key].sides))
        for group, (key, sides) in keys.items()
    }
    return People(query, inverse, pattern, tuple(found.values()), owner)


def _wanted(
    plan: Plan,
    known: dict[str, np.ndarray],
    single: Sequence[Audited],
    wanted: Sequence[tuple[str, str]],
) -> tuple[Partition, ...]:
    """Return the comparisons of these attributes and groups, in their order."""
    by = {
        (each.name, part.group): part
        for each in plan.audited
        for part in _partitions(each, known, single)
    }
    nobody = np.full(len(next(iter(known.values()))), -1, dtype=np.int8)
    first = plan.audited[0]
    return tuple(by.get(key, Partition(first, 0, nobody)) for key in wanted)


def known_codes(each: Audited) -> np.ndarray:
    """Return the codes, with -1 for unknown labels."""
    codes = each.attribute.codes.astype(np.int64)
    if MISSING in each.attribute.categories:
        codes = np.where(codes == each.attribute.categories.index(MISSING), -1, codes)
    return codes


def _partitions(
    each: Audited, known: dict[str, np.ndarray], single: Sequence[Audited]
) -> Iterable[Partition]:
    """Yield the groups of an attribute as sides by label vector."""
    by = {one.name: one for one in single}
    parts = [by[name] for name in each.by]
    unknown = np.any([known[part.name] < 0 for part in parts], axis=0)
    labels = [
        " & ".join(str(part.attribute.categories[known[part.name][v]]) for part in parts)
        for v in range(len(unknown))
    ]
    for code, group in enumerate(each.groups):
        if group == MISSING or (each.crossed and MISSING in group):
            continue
        if code == each.reference:
            continue
        inside = np.array([label == group for label in labels])
        sides = np.where(unknown, -1, inside).astype(np.int8)
        if each.reference is not None:
            compared = np.array([label == each.groups[each.reference] for label in labels])
            sides = np.where(inside | compared, sides, -1).astype(np.int8)
        yield Partition(each, code, sides)


def _rank(part: Partition, counts: np.ndarray) -> tuple[Any, ...]:
    """Order complementary groups: single attributes first, protected, smaller, by name."""
    size = int(counts[part.sides == 1].sum())
    protected = part.code in part.audited.protected
    return part.audited.crossed, not protected, size, part.group


@dataclass(frozen=True, eq=False)
class Values:
    """The compared columns of a ranking: positions, chances, exposure, and decisions.

    The column ``chance 0`` is the position among the people of the first mask, divided by their
    number; and so on.
    """

    columns: np.ndarray
    averaged: np.ndarray
    names: tuple[str, ...]

    def at(self, name: str) -> int:
        """Return the index of a column."""
        return self.names.index(name)


def make_values(
    ranking: Ranking,
    decisions: Sequence[Decision],
    people: People,
    cut: int | None = None,
    *,
    ordered: bool = True,
    scored: bool = False,
) -> Values:
    """Return the columns to compare.

    Parameters
    ----------
    ranking : Ranking
        The order.
    decisions : sequence of Decision
        Who is selected.
    people : People
        Whom to compare.
    cut : int, optional
        Only the first ``cut`` of each list count as shown; everyone below shares the mean of the
        remaining positions.
    ordered : bool
        Whether to compare positions and exposure.
    scored : bool
        Whether to compare scores.
    """
    columns: dict[str, np.ndarray] = {}
    if ordered:
        masks = [mask[people.vectors] for mask in people.masks]
        position, chances, exposure = order_values(ranking, masks, cut)
        named = {f"chance {index}": each for index, each in enumerate(chances)}
        columns = {"position": position, **named, "exposure": exposure}
    if scored:
        score = np.asarray(ranking.data.score, dtype=np.float64)
        columns |= {"score": score, "scored": (score > np.median(score)).astype(np.float64)}
    columns |= {decision.name: decision.selected for decision in decisions}
    names = tuple(columns)
    averaged = np.array([name == "position" or name.startswith("chance ") for name in names])
    stacked = (
        np.stack(list(columns.values()), axis=1) if columns else np.empty((len(people.query), 0))
    )
    return Values(np.nan_to_num(stacked), averaged, names)


def group_chance(people: People, values: Values, g: int) -> float:
    """Return the chance that a person of the group is ranked above one of the other side."""
    partition = people.partitions[g]
    column = values.columns[:, values.at(f"chance {people.mask_index(partition)}")]
    side = partition.sides[people.vectors]
    n_queries = int(people.query[-1]) + 1
    means = [
        divide(
            np.bincount(people.query, column * (side == wanted), n_queries),
            np.bincount(people.query, (side == wanted).astype(float), n_queries),
        )
        for wanted in (1, 0)
    ]
    apart = means[0] - means[1]
    return 0.5 - float(apart[~np.isnan(apart)].mean()) if not np.isnan(apart).all() else np.nan
