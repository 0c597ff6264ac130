"""Two rankings of the same lists, whose people are matched by list and id."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .data import RankingData
from .errors import DataError
from .inputs import frozen
from .ranking import Ranking

__all__ = [
    "OTHER_LISTS",
    "Paired",
    "check_ids",
    "first_reason",
    "matched_lists",
    "pair_rankings",
    "shown_cut",
]


#: Why no change of people is claimed, in the order in which it is looked for.
OTHER_LISTS = "the two rankings have different lists"
OTHER_PEOPLE = "the two rankings have different people"
OTHER_LABELS = "the two rankings have different labels of {}"
OTHER_NUMBERS = "the two rankings show different numbers of people"
#: How messages name the ids of the first and of the second ranking.
FIRST, SECOND = "ids", "ids of against"


@dataclass(frozen=True, eq=False)
class Paired:
    """A second ranking of the same people, or why there is none.

    Attributes
    ----------
    before : Ranking or None
        The second ranking over the rows of the first.
    cut : int or None
        Number of positions that both show; None for all.
    refused : str
        Why no change of people is claimed; empty otherwise.
    """

    before: Ranking | None
    cut: int | None = None
    refused: str = ""


def pair_rankings(
    ranking: Ranking, before: Ranking, cut: tuple[int | None] | None = None
) -> Paired:
    """Match the people of two rankings by list and id.

    Rows need no ids if one ranking's data was made from the other's. A ranking cut at k is compared
    with the first k of the other.

    Parameters
    ----------
    ranking, before : Ranking
        The first and the second ranking.
    cut : tuple of one int or None, optional
        `shown_cut` of all lists, if these are some of them; by default that of the ranking.

    Raises
    ------
    DataError
        If ids are missing or repeated within a list.
    """
    data, other = ranking.data, before.data
    rows: np.ndarray | slice = slice(None)
    if not (data.offsets is other.offsets and data.qids is other.qids):
        found = _matched_rows(data, other)
        if isinstance(found, str):
            return Paired(None, refused=found)
        rows = found
    most = shown_cut(ranking) if cut is None else cut[0]
    last = None if before.last is None else frozen(before.last[rows])
    aligned = Ranking(data, frozen(before.position[rows]), last, before.weights)
    shown, theirs = _shown(ranking), _shown(aligned)
    wanted = np.diff(data.offsets)
    if most is not None:
        wanted = np.minimum(most, wanted)
    if (shown != wanted).any() or (theirs < shown).any():
        return Paired(None, refused=OTHER_NUMBERS)
    return Paired(aligned, most)


def shown_cut(ranking: Ranking) -> int | None:
    """Return the largest number of people that a list shows; None if all show everyone."""
    shown = _shown(ranking)
    return None if (shown == np.diff(ranking.data.offsets)).all() else int(shown.max())


def _shown(ranking: Ranking) -> np.ndarray:
    position = ranking.position if ranking.position.ndim == 1 else ranking.position.max(axis=1)
    return np.add.reduceat((position > 0).astype(np.int64), ranking.data.offsets[:-1])


def first_reason(reasons: Iterable[str], attributes: Iterable[str]) -> str:
    """Return the reason that is looked for first; empty if none is given.

    Examples
    --------
    >>> first_reason([OTHER_NUMBERS, "", OTHER_PEOPLE], ["sex"])
    'the two rankings have different people'
    """
    order = [OTHER_LISTS, OTHER_PEOPLE, *map(OTHER_LABELS.format, attributes), OTHER_NUMBERS]
    some = [reason for reason in reasons if reason]
    return min(some, key=lambda r: order.index(r) if r in order else len(order), default="")


def matched_lists(data: RankingData, other: RankingData) -> np.ndarray:
    """Return the index of each list among those of other data; -1 if these lack it."""
    if data.qids is other.qids:
        return np.arange(data.n_queries)
    if other.n_queries == 0:
        return np.full(data.n_queries, -1)
    mine, theirs = _codes(data.qids, other.qids)
    order = np.argsort(theirs, kind="stable")
    found = order[np.minimum(np.searchsorted(theirs[order], mine), len(order) - 1)]
    return np.where(theirs[found] == mine, found, -1)


def _matched_rows(data: RankingData, other: RankingData) -> np.ndarray | str:
    """Return the row of other data with the list and id of each row, or what differs."""
    codes = _codes(_ids_of(data), _ids_of(other, SECOND))
    orders = _in_order(data, codes[0]), _in_order(other, codes[1], SECOND)
    lists = matched_lists(data, other)
    if data.n_queries != other.n_queries or (lists < 0).any():
        return OTHER_LISTS
    # lists of the other in the order of the first
    sizes = np.diff(other.offsets)[lists]
    if (sizes != np.diff(data.offsets)).any():
        return OTHER_PEOPLE
    begin = np.repeat(other.offsets[lists] - data.offsets[:-1], sizes)
    theirs = orders[1][begin + np.arange(data.n_rows)]
    if (codes[0][orders[0]] != codes[1][theirs]).any():
        return OTHER_PEOPLE
    rows = np.empty(data.n_rows, dtype=np.int64)
    rows[orders[0]] = theirs
    for name, attribute in data.sensitive.items():
        code: dict[str, int] = {}
        mine, second = (
            np.array([*(code.setdefault(str(c), len(code)) for c in each.categories), -1])
            for each in (attribute, other.sensitive[name])
        )
        if (mine[attribute.codes] != second[other.sensitive[name].codes[rows]]).any():
            return OTHER_LABELS.format(name)
    return rows


def check_ids(data: RankingData, *, second: bool = False) -> None:
    """Raise if the ids of the first or second ranking are missing or repeated within a list."""
    name = SECOND if second else FIRST
    ids = _ids_of(data, name)
    _in_order(data, _codes(ids, ids[:0])[0], name)


def _ids_of(data: RankingData, name: str = FIRST) -> np.ndarray:
    if data.ids is None:
        raise DataError(
            "against must have ids, so that its people can be matched: name their column with id "
            "(--id on the command line)"
        )
    kind = data.ids.dtype.kind
    if kind in "iubUS":
        return data.ids
    missing = data.ids != data.ids if kind != "M" else np.isnat(data.ids)
    if kind in "OT":
        missing |= np.fromiter((each is None for each in data.ids.tolist()), bool, data.n_rows)
    if missing.any():
        label, _ = data.place(int(missing.argmax()))
        raise DataError(f"{name} must not be missing, got a blank in list {label!r}")
    return data.ids


def _in_order(data: RankingData, codes: np.ndarray, name: str = FIRST) -> np.ndarray:
    """Return the rows sorted by list and code; a code that a list has twice is an error."""
    lists = data.query_of_rows()
    least, most = (int(codes.min()), int(codes.max())) if len(codes) else (0, 0)
    if (most - least + 1) * data.n_queries < 1 << 62:
        keys = lists * np.int64(most - least + 1) + (codes - least)
        order = np.argsort(keys, kind="stable")
    else:
        order = np.lexsort((codes, lists))
    again = (np.diff(lists[order]) == 0) & (np.diff(codes[order]) == 0)
    if again.any():
        row = int(order[1:][again].min())
        got, label = data.ids[row : row + 1].tolist()[0], data.place(row)[0]  # type: ignore[index]
        raise DataError(f"{name} must differ within a list, got {got!r} twice in list {label!r}")
    return order


def _codes(one: np.ndarray, other: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return whole numbers that are equal where labels of two arrays are."""
    if all(each.dtype.kind in "iub" and each.dtype != np.uint64 for each in (one, other)):
        return one.astype(np.int64, copy=False), other.astype(np.int64, copy=False)
    known: dict[Any, int] = {}
    found = [
        np.fromiter((known.setdefault(x, len(known)) for x in each.tolist()), np.int64, len(each))
        for each in (one, other)
    ]
    return found[0], found[1]
