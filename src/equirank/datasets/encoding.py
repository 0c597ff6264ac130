"""From columns of people to features: numbers as they are, categories as indicators or integers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from ..core.columns import choose, frozen
from ..core.data import Attribute, RankingData, as_ranking_data
from ..core.errors import DataError
from ..core.names import suggest
from ..core.table import Table

__all__ = [
    "Encoding",
    "choose_attributes",
    "encode",
    "frame_of",
    "keep_share",
    "labels_of",
    "people",
]

Encoding = Literal["onehot", "ordinal"]
Column = np.ndarray | Sequence[str]


def encode(columns: Mapping[str, Column], encoding: Encoding) -> tuple[np.ndarray, tuple[str, ...]]:
    """Give a matrix and the names of its columns.

    Columns of text, arrays of objects or lists, are categories: sorted by name, they become one
    indicator each or the integers 0, 1, ...

    Examples
    --------
    >>> columns = {"age": np.array([30.0, 40.0]), "home": np.array(["rent", "own"], dtype=object)}
    >>> encode(columns, "onehot")
    (array([[30.,  0.,  1.], [40.,  1.,  0.]]), ('age', 'home=own', 'home=rent'))
    >>> encode(columns, "ordinal")
    (array([[30.,  1.], [40.,  0.]]), ('age', 'home'))
    """
    choose("encoding", encoding, ("onehot", "ordinal"))
    parts: list[np.ndarray] = []
    names: list[str] = []
    for name, values in columns.items():
        if isinstance(values, np.ndarray) and values.dtype != object:
            parts.append(values[:, None])
            names.append(name)
            continue
        codes, labels = _codes(values)
        if encoding == "ordinal":
            parts.append(codes[:, None])
            names.append(name)
        else:
            parts.append(codes[:, None] == np.arange(len(labels)))
            names += [f"{name}={label}" for label in labels]
    return np.concatenate(parts, axis=1, dtype=np.float64, casting="unsafe"), tuple(names)


def _codes(values: Column, categories: Iterable[Any] | None = None) -> tuple[np.ndarray, list[Any]]:
    cells = values.tolist() if isinstance(values, np.ndarray) else values
    labels = sorted(set(cells if categories is None else categories))
    code = {label: at for at, label in enumerate(labels)}
    return np.array([code[cell] for cell in cells]), labels


def people(
    X: Any,
    names: tuple[str, ...] | None,
    y: np.ndarray,
    sensitive: Mapping[str, Column] | None,
    *,
    categories: Mapping[str, Iterable[str]] | None = None,
    qid: Any = None,
    ids: Any = None,
) -> RankingData:
    """Put features with names, relevance and attributes together.

    Attributes named in ``categories`` have these, whether or not somebody is in them, so that the
    codes of train and test mean the same.

    Examples
    --------
    >>> sex = {"sex": np.array(["m", "m"])}
    >>> data = people(np.eye(2), None, np.ones(2), sex, categories={"sex": ("m", "f")})
    >>> data.attribute("sex")
    Attribute(codes=array([1, 1], dtype=int32), categories=('f', 'm'))
    """
    data = as_ranking_data(X, y, qid=qid, ids=ids)
    rows = slice(None) if data.rows is None else data.rows
    attributes = {}
    for name, values in (sensitive or {}).items():
        codes, labels = _codes(values, (categories or {}).get(name))
        attributes[name] = Attribute(frozen(codes[rows].astype(np.int32)), tuple(labels))
    return replace(data, sensitive=attributes, feature_names=names)


def choose_attributes(
    owner: str, asked: str | Sequence[str] | None, known: Sequence[str]
) -> tuple[str, ...]:
    """Give the attributes asked for: all for None; an unknown one is an error."""
    if asked is None:
        return tuple(known)
    names = (asked,) if isinstance(asked, str) else tuple(asked)
    for name in names:
        if name not in known:
            raise DataError(
                f"sensitive of {owner} must be among {', '.join(map(repr, known))}, "
                f"got {name!r}{suggest(str(name), list(known))}"
            )
    return names


def keep_share(cells: Sequence[np.ndarray], share: float, rng: np.random.Generator) -> np.ndarray:
    """Mark a share of the rows, drawn so that each combination of cells keeps its share.

    Examples
    --------
    >>> kept = keep_share([np.array(["f"] * 20 + ["m"] * 80)], 0.1, np.random.default_rng(0))
    >>> int(kept[:20].sum()), int(kept[20:].sum())
    (2, 8)
    """
    n_rows = len(cells[0])
    code = np.zeros(n_rows, dtype=np.int64)
    for values in cells:
        part, labels = _codes(values)
        code = code * len(labels) + part
    order = np.lexsort((rng.random(n_rows), code))
    place = np.arange(n_rows)
    kept = np.zeros(n_rows, dtype=bool)
    kept[order] = np.floor((place + 1) * share + 0.5) > np.floor(place * share + 0.5)
    return kept


def labels_of(attribute: Attribute) -> np.ndarray:
    """Give the category of each row."""
    labels = np.empty(len(attribute.categories), dtype=object)
    labels[:] = attribute.categories
    return labels[attribute.codes]


def frame_of(data: RankingData) -> Any:
    """Give the rows as a native data frame: qid, id, relevance, attributes, features."""
    columns: dict[str, Any] = {"qid": data.qids[data.query_of_rows()]}
    columns |= {} if data.ids is None else {"id": data.ids}
    columns |= {} if data.y is None else {"relevance": data.y}
    for name, attribute in data.sensitive.items():
        columns[name] = labels_of(attribute)
    names = data.feature_names or [f"feature_{j + 1}" for j in range(data.n_features)]
    if data.X is not None:
        dense = data.X.toarray() if hasattr(data.X, "toarray") else data.X
        columns |= {name: dense[:, j] for j, name in enumerate(names)}
    return Table(columns).to_frame()
