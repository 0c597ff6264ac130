"""Assembly of RankingData from columns of people and from parts of a data set."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, NamedTuple, TypedDict

import numpy as np

from ..core.attribute import Attribute
from ..core.data import RankingData
from ..core.errors import DataError, suggest
from ..core.given_data import as_ranking_data
from ..core.inputs import choose, frozen
from ..core.keywords import Default
from ..core.table import Table

__all__ = [
    "Encoding",
    "Fold",
    "FrameKeywords",
    "PeopleKeywords",
    "choose_attributes",
    "encode",
    "frame_of",
    "keep_share",
    "labels_of",
    "people",
    "stack",
    "widen",
]


Encoding = Literal["onehot", "ordinal"]
Column = np.ndarray | Sequence[str]


class FrameKeywords(TypedDict, total=False):
    """In which form the loaders return rows.

    Parameters
    ----------
    as_frame : bool, default=False
        Return the rows as a native data frame.
    """

    as_frame: Annotated[bool, Default(False)]


class PeopleKeywords(FrameKeywords, total=False):
    """What the loaders of people return.

    Parameters
    ----------
    keep_sensitive : bool, default=False
        Whether X includes the columns of the sensitive attributes.
    encoding : {"onehot", "ordinal"}
        Categories in X as indicators or as integers.
    as_frame : bool, default=False
        Return the columns of the files as a native data frame.
    """

    keep_sensitive: Annotated[bool, Default(False)]
    encoding: Annotated[Encoding, Default("onehot")]


def encode(columns: Mapping[str, Column], encoding: Encoding) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return a matrix and the names of its columns.

    Columns of text (arrays of objects or lists) are categories: in sorted order, they become one
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
    """Return data with features, their names, relevance and attributes.

    ``categories`` sets the categories of an attribute, including empty ones, so that train and test
    have the same codes.

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
    """Return the requested attributes, all if None; an unknown one is an error."""
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
    """Return a mask of a random share of the rows, stratified by the combination of cells.

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
    rank = np.arange(n_rows)
    kept = np.zeros(n_rows, dtype=bool)
    kept[order] = np.floor((rank + 1) * share + 0.5) > np.floor(rank * share + 0.5)
    return kept


def labels_of(attribute: Attribute) -> np.ndarray:
    """Return the category of each row."""
    return attribute.labels()


def frame_of(data: RankingData) -> Any:
    """Return the rows as a native data frame: qid, id, relevance, attributes, features."""
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


class Fold(NamedTuple):
    """A fold: train, validation (None if there is none) and test.

    Examples
    --------
    >>> from equirank import query_train_test_split
    >>> from equirank.datasets import make_ranking
    >>> train, test = query_train_test_split(make_ranking(n_queries=4, random_state=0))
    >>> fold = Fold(train, None, test)
    >>> fold.train.n_queries, fold.test.n_queries
    (3, 1)
    """

    train: RankingData
    validation: RankingData | None
    test: RankingData


def stack(parts: list[RankingData]) -> RankingData:
    """Concatenate the rows of several parts; their queries must differ.

    Examples
    --------
    >>> from equirank import as_ranking_data
    >>> a = as_ranking_data([[1.0]], [0], qid=[7])
    >>> b = as_ranking_data([[2.0]], [1], qid=[8])
    >>> stack([a, b])
    RankingData(2 rows, 2 queries, 1 features, y)
    """
    if len(parts) == 1:
        return parts[0]
    first, parts = parts[0], widen(parts)

    def joined(name: str) -> Any:
        values = [getattr(part, name) for part in parts]
        return None if any(value is None for value in values) else np.concatenate(values)

    sensitive = {
        name: np.concatenate([labels_of(part.sensitive[name]) for part in parts])
        for name in first.sensitive
    }
    categories = {
        name: {label for part in parts for label in part.sensitive[name].categories}
        for name in sensitive
    }
    return people(
        _stacked([part.X for part in parts]),
        first.feature_names,
        joined("y"),
        sensitive,
        categories=categories,
        qid=np.concatenate([part.qids[part.query_of_rows()] for part in parts]),
        ids=joined("ids"),
    )


def widen(parts: list[RankingData]) -> list[RankingData]:
    """Return the parts with the number of features of the widest; added features are 0."""
    width = max(part.n_features for part in parts)
    return [part if part.n_features == width else replace(part, X=_padded(part, width))
            for part in parts]  # fmt: skip


def _stacked(matrices: list[Any]) -> Any:
    if hasattr(matrices[0], "tocsr"):
        from scipy.sparse import vstack

        return vstack(matrices, format="csr")
    return np.concatenate(matrices)


def _padded(part: RankingData, width: int) -> Any:
    if part.X is None:
        return np.zeros((len(part), width))
    if hasattr(part.X, "tocsr"):
        wide = part.X.copy()
        wide.resize((len(part), width))
        return wide
    return np.pad(part.X, ((0, 0), (0, width - part.n_features)))
