"""Encoding of query labels and groups as integer codes."""

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from .errors import DataError
from .inputs import frozen, is_missing, numbers, refuse, same_length, shown

__all__ = [
    "MAX_GROUPS",
    "MISSING",
    "check_groups",
    "encode",
    "group_rows",
    "query_weights",
]


MISSING = "(missing)"
MAX_NUMERIC_GROUPS = 20
#: Most groups of an attribute, and most of them that may be more than a tenth of the rows.
MAX_GROUPS, MAX_GROUPS_OF_FEW_ROWS = 100, 20


def group_rows(
    queries: np.ndarray | None, n_rows: int
) -> tuple[np.ndarray | None, np.ndarray, np.ndarray]:
    """Return the order of rows by query (None if already grouped), queries by first appearance."""
    if queries is None:
        return None, np.array([0, n_rows]), np.array([0])
    refuse("qid", queries, _missing_mask(queries), "the label of a query")
    starts = np.concatenate([[0], np.flatnonzero(queries[1:] != queries[:-1]) + 1])
    heads = queries[starts]
    codes, labels = _factorize(heads)
    if len(labels) == len(heads):
        return None, np.concatenate([starts, [n_rows]]).astype(np.int64), heads
    if len(labels) <= 1 << 16:
        codes = codes.astype(np.uint16)  # which NumPy sorts by radix
    code_of_row = np.repeat(codes, np.diff(np.concatenate([starts, [n_rows]])))
    order = np.argsort(code_of_row, kind="stable")
    offsets = np.concatenate([[0], np.cumsum(np.bincount(code_of_row, minlength=len(labels)))])
    return order, offsets, labels


def _factorize(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return codes in order of first appearance."""
    if values.dtype.kind == "O":
        seen: dict[Any, int] = {}
        codes = np.array(
            [seen.setdefault(value, len(seen)) for value in values.tolist()], dtype=np.int64
        )
        labels = np.empty(len(seen), dtype=object)
        labels[:] = list(seen)
        return codes, labels
    if values.dtype.kind in "iu" and len(values):
        low, high = int(values.min()), int(values.max())
        if low > -(2**62) and high < 2**62 and high - low < max(len(values), 1 << 16):
            return _factorize_near(values, low, high - low + 1)
    _, first, inverse = np.unique(values, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse], values[np.sort(first)]


def _factorize_near(values: np.ndarray, low: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return codes in order of first appearance of whole numbers in a small range, by a table."""
    table = np.full(size, -1, dtype=np.int64)
    at = values.astype(np.int64) - low
    table[at[::-1]] = np.arange(len(values) - 1, -1, -1)  # the last one written is the first row
    present = np.flatnonzero(table >= 0)
    first = np.sort(table[present])
    table[at[first]] = np.arange(len(first))
    return table[at], values[first]


def encode(
    name: str,
    values: np.ndarray,
    missing: str = "error",
    groups: Sequence[Any] | None = None,
) -> tuple[np.ndarray, tuple[Any, ...]]:
    """Return codes in order of the sorted categories, and the categories.

    None, NaN, NaT, NA, masked and empty text name no group: an error, or the code -1 with
    ``missing="unknown"``, or a last category with ``missing="category"``. ``groups`` names all
    categories, also those without a row.
    """
    bad = _missing_mask(values) | _empty_mask(values)
    if bad.any() and missing == "error":
        row = int(np.flatnonzero(bad)[0])
        raise DataError(
            f"sensitive_features[{name!r}] must name a group, got {shown(values[row])} in row "
            f'{row}; missing_sensitive="unknown" keeps such rows in no group, and "category" in a '
            "group of their own"
        )
    codes, seen = _categories(values[~bad] if bad.any() else values)
    if groups is not None:
        codes, seen = _named(name, values[~bad], codes, seen, groups)
    if not bad.any():
        return codes, seen
    full = np.full(len(values), -1 if missing == "unknown" else len(seen), dtype=np.int32)
    full[~bad] = codes
    return full, seen if missing == "unknown" else (*seen, MISSING)


def _named(
    name: str,
    values: np.ndarray,
    codes: np.ndarray,
    seen: tuple[Any, ...],
    groups: Sequence[Any],
) -> tuple[np.ndarray, tuple[Any, ...]]:
    """Return codes and categories where ``groups`` names every category."""
    label = f"groups[{name!r}]"
    if isinstance(groups, str) or not isinstance(groups, Sequence) or len(groups) == 0:
        raise DataError(f"{label} must be a sequence of groups, got {groups!r}")
    listed = np.empty(len(groups), dtype=object)
    listed[:] = list(groups)
    if (_missing_mask(listed) | _empty_mask(listed)).any():
        raise DataError(f"{label} must hold names of groups, and one of them is missing")
    _, known = _categories(listed)
    lookup = np.array([known.index(g) if g in known else -1 for g in seen], dtype=np.int32)
    if (lookup < 0).any():
        row = int(np.flatnonzero(lookup[codes] < 0)[0])
        words = ", ".join(repr(group) for group in known[:10])
        raise DataError(
            f"sensitive_features[{name!r}] must be one of the groups that {label} names "
            f"({words}), got {shown(values[row])}"
        )
    return lookup[codes], known


def check_groups(
    name: str, groups: Sequence[Any], n_rows: int, max_groups: int | None = None
) -> None:
    """Raise if an attribute has no group at all, or too many to be compared.

    ``max_groups`` replaces the limits: 20 numbers, or 100 other values, or 20 of them if they are
    more than a tenth of the rows.
    """
    if max_groups is not None and (not isinstance(max_groups, int) or max_groups < 1):
        raise DataError(f"max_groups must be None or a whole number >= 1, got {max_groups!r}")
    known = [group for group in groups if group != MISSING]
    count, attribute = len(known), f"sensitive_features[{name!r}]"
    if count == 0:
        raise DataError(
            f"{attribute} must name a group in at least one row, and all are unknown; leave "
            f"{name!r} out, also if probabilities tell of it"
        )
    numeric = all(
        isinstance(group, (int, float)) and not isinstance(group, bool) for group in known
    )
    hint = (
        f"max_groups={count} of as_ranking_data, audit or the reader allows them "
        f"(--max-groups {count} on the command line)"
    )
    if numeric and count > (max_groups or MAX_NUMERIC_GROUPS):
        raise DataError(
            f"{attribute} must be a category, got a number with {count} "
            f"values (more than {max_groups or MAX_NUMERIC_GROUPS}); cut it into bins first, or "
            f"{hint}"
        )
    few = count * 10 > n_rows
    limit = max_groups or (MAX_GROUPS_OF_FEW_ROWS if few else MAX_GROUPS)
    if count > limit:
        rule = (
            " for groups that are more than a tenth of the rows" if few and not max_groups else ""
        )
        raise DataError(
            f"{attribute} must be a category, got {count} different values in {n_rows} rows (the "
            f"limit is {limit}{rule}); name a column of groups, or {hint}"
        )


def _categories(values: np.ndarray) -> tuple[np.ndarray, tuple[Any, ...]]:
    """Return codes by sorted category, in a few passes if there are few categories."""
    codes = np.full(len(values), -1, dtype=np.int32)
    seen: list[Any] = []
    row = 0
    signs = values
    if values.dtype.kind == "U" and values.dtype.itemsize in (4, 8) and values.flags.c_contiguous:
        signs = values.view(f"u{values.dtype.itemsize}")  # short words compare faster as numbers
    few = len(values) > 0 and values.dtype.kind != "O"  # == of objects may compare their parts
    while few and len(seen) < 64:
        codes[signs == signs[row]] = len(seen)
        seen.append(values[row].item() if isinstance(values[row], np.generic) else values[row])
        rest = codes[row:] < 0
        step = int(rest.argmax()) if rest.any() else -1
        if step < 0:
            break
        row += step
    else:
        codes, labels = _factorize(values)
        seen = labels.tolist()
    try:
        order = sorted(range(len(seen)), key=lambda j: seen[j])
    except TypeError:
        order = sorted(range(len(seen)), key=lambda j: str(seen[j]))
    rank = np.empty(len(seen), dtype=np.int32)
    rank[order] = np.arange(len(seen))
    return rank[codes], tuple(seen[j] for j in order)


def _missing_mask(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind in "mM":
        return np.isnat(values)
    if values.dtype.kind in "OT":
        cells = values.tolist()
        if {*map(type, cells)} != {str}:
            return np.array([is_missing(value) for value in cells], dtype=bool)
    return np.zeros(len(values), dtype=bool)


def _empty_mask(values: np.ndarray) -> np.ndarray:
    """Return whether each value is an empty text, which names no group."""
    if values.dtype.kind in "UT":
        return np.asarray(values == "")
    if values.dtype.kind == "S":
        return np.asarray(values == b"")
    if values.dtype.kind == "O":
        empty = [isinstance(value, str | bytes) and not value for value in values.tolist()]
        return np.array(empty, dtype=bool)
    return np.zeros(len(values), dtype=bool)


def query_weights(
    values: Any, qids: np.ndarray, offsets: np.ndarray, order: np.ndarray | None, n_rows: int
) -> np.ndarray | None:
    """Return one weight per query, from a dict or from equal weights on its rows."""
    if values is None:
        return None
    if isinstance(values, Mapping):
        found = [_weight_of(values, query) for query in qids]
        for query, weight in zip(qids, found, strict=True):
            if not isinstance(weight, Real) or not 0 <= float(weight) < np.inf:
                raise DataError(
                    f"query_weight must be a number >= 0, got {shown(weight)} "
                    f"for query {shown(query)}"
                )
        return frozen(np.array(found, dtype=np.float64))
    rows = numbers("query_weight", values)
    same_length({"qid": np.empty(n_rows), "query_weight": rows})
    refuse("query_weight", rows, rows is not None and ~(rows >= 0), "a number >= 0")
    per_row = np.asarray(rows)[slice(None) if order is None else order]
    weights = per_row[offsets[:-1]]
    uneven = np.asarray(per_row != np.repeat(weights, np.diff(offsets)))
    if uneven.any():
        stored = int(np.flatnonzero(uneven)[0])
        row = stored if order is None else int(order[stored])
        raise DataError(f"query_weight must be equal within a query, and changes in row {row}")
    return frozen(weights)


def _weight_of(values: Mapping[Any, Any], query: Any) -> Any:
    """Return the weight of a query by its label, with dates in any form."""
    keys = [query, query.item() if isinstance(query, np.generic) else query]
    if isinstance(query, np.datetime64):
        keys += [query.astype(f"datetime64[{unit}]") for unit in ("D", "s", "us", "ns")]
        keys += [key.item() for key in keys[2:5]]
    for key in keys:
        if key in values:
            return values[key]
    raise DataError(f"query_weight must name every query, and lacks {shown(query)}")
