"""From columns of any origin to the people of a DAG, and a reference group to codes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..core import columns as door
from ..core.errors import DataError
from ..core.labels import encode
from ..core.names import suggest
from .dag import Dag
from .equations import People

__all__ = ["people_of", "reference_codes", "refuse_unvarying"]


def people_of(
    dag: Dag,
    columns: Mapping[str, np.ndarray],
    categories: Mapping[str, Sequence[Any]] | None = None,
) -> People:
    """Take the columns of the DAG: codes of the protected ones, numbers of all others.

    ``categories`` are the groups seen in fit; None when fitting.
    """
    for node in dag.causes:
        if node not in columns:
            hint = suggest(node, list(columns))
            raise DataError(f"dag must name columns of X, and {node!r} is not there{hint}")
    codes, labels, values = {}, {}, {}
    for node in dag.causes:
        if node not in dag.protected:
            values[node] = np.asarray(door.numbers(node, columns[node]), dtype=np.float64)
            continue
        code, found = encode(node, np.asarray(columns[node]), False)
        if categories is None:
            codes[node], labels[node] = code.astype(np.int64), found
            continue
        known = list(categories[node])
        unseen = [label for label in found if label not in known]
        if unseen:
            row = int(np.argmax(code == found.index(unseen[0])))
            raise DataError(
                f"{node} must be one of the groups {known} seen in fit, got {unseen[0]!r} "
                f"in row {row}"
            )
        place = np.array([known.index(label) for label in found], dtype=np.int64)
        codes[node], labels[node] = place[code], tuple(known)
    return People(values, codes, labels)


def refuse_unvarying(dag: Dag, people: People) -> None:
    """Refuse a mediator or a score with one value only, and an attribute with one group."""
    for node in (*dag.mediators, dag.score):
        if people.values[node].min() == people.values[node].max():
            raise DataError(
                f"X must have no constant column in the dag, and {node!r} has the value "
                f"{people.values[node][0]:g} only"
            )
    for name in dag.protected:
        if len(people.labels[name]) < 2:
            raise DataError(
                f"{name} must hold at least two groups, or there is nothing to compare; got "
                f"{people.labels[name][0]!r} only"
            )


def reference_codes(
    wanted: Any,
    names: Sequence[str],
    labels: Mapping[str, Sequence[Any]],
    groups: Sequence[Mapping[str, int]],
) -> dict[str, int]:
    """Give a reference group as a code per attribute, or say what is wrong with it."""
    if not isinstance(wanted, Mapping):
        if len(names) > 1:
            raise DataError(
                f"reference must name a group of each of {', '.join(names)}, as in "
                f"{{{names[0]!r}: ...}}, got {wanted!r}"
            )
        wanted = {names[0]: wanted}
    if set(wanted) != set(names):
        raise DataError(
            f"reference must name a group of each of {', '.join(names)}, got {dict(wanted)!r}"
        )
    group = {}
    for name in names:
        known = list(labels[name])
        if wanted[name] not in known:
            hint = suggest(str(wanted[name]), [str(label) for label in known])
            raise DataError(
                f"reference must be one of the groups {known} of {name}, got {wanted[name]!r}{hint}"
            )
        group[name] = known.index(wanted[name])
    if group not in groups:
        raise DataError(f"reference must be a group that occurs, got {dict(wanted)!r}")
    return group
