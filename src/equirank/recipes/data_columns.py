"""The columns of a training file, and how to read another file in the same way."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .config_objects import ConfigError, Location, shown

if TYPE_CHECKING:
    import numpy as np

    from ..core.data import RankingData
    from ..core.encoding import Unseen
    from ..io.table_file import TableFile
    from .config import DataTable

__all__ = [
    "DataColumns",
    "plain_groups",
    "read_letor_prediction",
    "read_letor_training",
    "read_training_data",
]


#: Most different values of a text feature.
MOST_CATEGORIES = 200
#: Label of a missing category.
MISSING = "(missing)"


@dataclass(frozen=True)
class DataColumns:
    """The columns of the training data, stored with the model and applied to every new file.

    Attributes
    ----------
    features : tuple of str
        The columns of the file in X, in order.
    categories : dict of str to tuple of str
        The categories of each text feature in training, in order.
    encoding : {"onehot", "ordinal", "category"}
        One indicator per category, its code as a number, or its code as a category.
    groups : dict of str to list
        The groups of each sensitive column in training.
    unseen : {"error", "missing"}
        What happens to categories and groups that training did not contain.
    notes : tuple of str
        Remarks on the training file; not stored.
    """

    format: str
    query: str | None
    relevance: str | None
    cost: str | None
    id: str | None
    sensitive: tuple[str, ...]
    features: tuple[str, ...]
    categories: dict[str, tuple[str, ...]]
    encoding: str
    groups: dict[str, list[Any]]
    missing_sensitive: str = "error"
    unseen: str = "error"
    notes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def named(self) -> set[str]:
        """All columns used in training."""
        single = {self.query, self.relevance, self.cost, self.id} - {None}
        return {*single, *self.sensitive, *self.features}  # type: ignore[arg-type]

    @property
    def max_groups(self) -> int:
        """The most groups of a new file, which may be shorter than that of training."""
        from ..core.labels import MAX_GROUPS

        return max([MAX_GROUPS, *map(len, self.groups.values())])

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the columns of X."""
        names: list[str] = []
        for name in self.features:
            if name in self.categories and self.encoding == "onehot":
                names += [f"{name}={label}" for label in self.categories[name]]
            else:
                names.append(name)
        return tuple(names)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        from dataclasses import asdict

        values = asdict(self)
        del values["notes"]
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "DataColumns":
        """Return the columns from `to_dict`."""
        tuples = {name: tuple(values[name]) for name in ("sensitive", "features")}
        seen = {name: tuple(labels) for name, labels in values["categories"].items()}
        return cls(**values | tuples | {"categories": seen})

    def encode(
        self, data: "RankingData", labels: "dict[str, np.ndarray]", unseen: "Unseen"
    ) -> "RankingData":
        """Return the data with encoded text features, and with the policy of training."""
        import numpy as np

        from ..core.inputs import frozen_matrix

        policy: Any = self.unseen
        data = replace(data, unseen=policy)
        if not self.categories:
            return data
        known = {name: at for at, name in enumerate(data.feature_names or ())}
        kind = np.float64 if data.X is None else data.X.dtype
        parts: list[np.ndarray] = []
        for name in self.features:
            if name not in self.categories:
                parts.append(data.X[:, known[name], None])
                continue
            codes = self._codes(name, labels[name], unseen)
            codes = codes if data.rows is None else codes[data.rows]
            codes = codes[:, None]
            if self.encoding == "onehot":
                codes = codes == np.arange(len(self.categories[name]))
            parts.append(codes.astype(kind))
        X = frozen_matrix(np.concatenate(parts, axis=1))
        found = self.categories if self.encoding == "category" else {}
        return replace(data, X=X, feature_names=self.feature_names, categories=dict(found))

    def _codes(self, name: str, values: "np.ndarray", unseen: "Unseen") -> "np.ndarray":
        """Return the code of each row; NaN for a missing category that has none."""
        import numpy as np

        labels = self.categories[name]
        code: dict[Any, float] = {label: at for at, label in enumerate(labels)}
        missing = code.get(MISSING, np.nan)
        if self.encoding == "category" or MISSING in code:
            code[None] = missing
        cells = [value if value is None else str(value) for value in values.tolist()]
        codes = np.array([code.get(cell, -1) for cell in cells], dtype=np.float64)
        new = codes < 0
        if new.any():
            row = int(new.argmax())
            value = MISSING if cells[row] is None else cells[row]
            unseen.found(unseen.feature.format(name), new, value, row, labels)
            codes[new] = missing
        return codes


def read_training_data(table: "DataTable") -> "tuple[RankingData, DataColumns]":
    """Return the data of ``[data]`` with encoded features, and its columns."""
    from ..core.errors import DataError
    from ..io.table_file import format_of

    try:
        kind = table.format or format_of(table.path)
    except DataError:
        table.location.key("format").fail(
            f"is missing, and the extension of {table.path} is not known"
        )
    try:
        table.file.check_kind(kind)
        if kind == "letor":
            return read_letor_training(table)
        return _read_table(table, kind)
    except ConfigError:
        raise
    except DataError as error:
        raise ConfigError(f"{table.location}: {error}") from None


def _read_table(table: "DataTable", kind: str) -> "tuple[RankingData, DataColumns]":
    from ..core.encoding import Unseen
    from ..io.column_roles import RECOGNISED
    from ..io.table_file import TableFile

    file = TableFile(table.path, kind, table.file)
    found, left_over = _roles(table, file)
    given = [name for role in ("score", "position") for name in RECOGNISED[role]]
    wanted = [n for n in left_over if table.features or n.strip().lower() not in given]
    data, texts = file.read(
        wanted,
        sensitive=table.sensitive,
        missing_sensitive=table.missing_sensitive,
        missing_relevance=table.missing_relevance,
        max_groups=table.max_groups,
        **{role: found.get(role, False) for role in ("query", "relevance", "cost")},
        id=found.get("ids", False),
    )
    labels = file.labels(texts) if table.features else {}
    other = set(texts)
    features = tuple(name for name in wanted if name in labels or name not in other)
    if not features:
        table.location.key("features").fail(
            f"is missing, and no other column of {table.path} contains numbers"
        )
    categories = {name: _categories(values, table, name) for name, values in labels.items()}
    columns = DataColumns(
        format=kind,
        query=found.get("query"),
        relevance=found["relevance"],
        cost=found.get("cost"),
        id=found.get("ids"),
        sensitive=table.sensitive,
        features=features,
        categories=categories,
        encoding=table.encoding,
        groups=plain_groups(data),
        missing_sensitive=table.missing_sensitive,
        unseen=table.unseen,
        notes=(*_alike(file.path, categories), *_notes(table, file, left_over, features)),
    )
    return columns.encode(data, labels, Unseen()), columns


def _roles(table: "DataTable", file: "TableFile") -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the column of each role, and the candidates for features."""
    from ..io.column_roles import RECOGNISED, assign

    named = {"query": table.query, "relevance": table.relevance, "cost": table.cost}
    for key, name in (named | {"id": table.id}).items():
        _check_column(table.location.key(key), file, name)
    for key, names in {"sensitive": table.sensitive, "features": table.features or ()}.items():
        for name in names:
            _check_column(table.location.key(key), file, name)
    single: dict[str, Any] = dict(named)
    roles = assign(
        table.path,
        file.columns,
        sensitive=list(table.sensitive),
        features=None if table.features is None else list(table.features),
        id=table.id,
        **single,
    )
    found = dict(roles.single)
    if "relevance" not in found:
        table.location.key("relevance").fail(
            f"is missing: no column of {table.path} is called {', '.join(RECOGNISED['relevance'])}"
        )
    if table.features and found["relevance"] in table.features:
        table.location.key("features").fail(
            f"must not contain the relevance {shown(found['relevance'])}"
        )
    return found, roles.features


def plain_groups(data: "RankingData") -> dict[str, list[Any]]:
    """Return the groups of each attribute for JSON: numbers and texts."""

    def plain(group: Any) -> Any:
        value = group.item() if hasattr(group, "item") else group
        return value if isinstance(value, (bool, int, float, str)) else str(value)

    return {name: [plain(group) for group in a.categories] for name, a in data.sensitive.items()}


def _check_column(location: Location, file: "TableFile", name: str | None) -> None:
    if name is None or name in file:
        return
    from ..core.errors import suggest

    known = ", ".join(file.columns[:10]) + (", ..." if len(file.columns) > 10 else "")
    location.fail(
        f"{file.path} has no column {shown(name)}{suggest(name, file.columns)} (it has {known})"
    )


def _categories(values: "np.ndarray", table: "DataTable", name: str) -> tuple[str, ...]:
    """Return the sorted categories of a text; a missing one only where it needs a code."""
    coded = table.encoding != "category"
    cells = (MISSING if value is None else str(value) for value in values.tolist())
    seen = sorted({cell for cell in cells if coded or cell != MISSING})
    if len(seen) > MOST_CATEGORIES and coded:
        table.location.key("features").fail(
            f"{shown(name)} must contain numbers or at most {MOST_CATEGORIES} categories, got "
            f'{len(seen)} different texts; encoding = "category" takes more'
        )
    return tuple(seen)


def _alike(path: str, categories: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield a note for each feature whose categories differ only in case or spaces."""
    from ..core.errors import listed
    from ..core.unknown_words import folded

    for name, seen in categories.items():
        spelt: dict[str, list[str]] = {}
        for category in seen:
            spelt.setdefault(folded(category), []).append(category)
        words = [word for each in spelt.values() if len(each) > 1 for word in each]
        if words:
            yield (
                f"{path}: categories of feature {name!r} differ only in case or spaces, and count "
                f"as different ones: {listed(words)}"
            )


def _notes(
    table: "DataTable", file: "TableFile", left_over: tuple[str, ...], used: tuple[str, ...]
) -> list[str]:
    if table.features is not None:
        return []
    named = set(used)
    rest = [name for name in left_over if name not in named]
    return (
        [f"{file.path}: not used as features: {', '.join(rest)}; [data] features can name them"]
        if rest
        else []
    )


def read_letor_training(table: "DataTable") -> "tuple[RankingData, DataColumns]":
    """Return LETOR data and its columns; sensitive, cost and features are feature numbers."""
    from ..core.encoding import Unseen
    from ..io.letor import read_letor

    for key in ("query", "relevance", "id"):
        if getattr(table, key) is not None:
            table.location.key(key).fail("must be omitted for LETOR, whose lines begin with it")
    data = read_letor(table.path)
    every = [str(number + 1) for number in range(data.n_features)]
    cost = None if table.cost is None else _column(data, table.cost, table.location.key("cost"))
    people = {
        name: _column(data, name, table.location.key("sensitive")) for name in table.sensitive
    }
    if table.features is None:
        other = {*table.sensitive, table.cost}
        features = tuple(name for name in every if name not in other)
    else:
        features = table.features
        for name in features:
            _column(data, name, table.location.key("features"))
    data = _with_columns(data, features, people, cost, table.missing_sensitive, table.max_groups)
    columns = DataColumns(
        format="letor",
        query=None,
        relevance=None,
        cost=table.cost,
        id=None,
        sensitive=table.sensitive,
        features=features,
        categories={},
        encoding=table.encoding,
        groups=plain_groups(data),
        missing_sensitive=table.missing_sensitive,
        unseen=table.unseen,
    )
    return columns.encode(data, {}, Unseen()), columns


def read_letor_prediction(path: str, columns: DataColumns, sensitive: bool) -> "RankingData":
    """Return LETOR data to predict for; a feature that no line contains is 0."""
    from ..io.letor import read_letor

    needed = [*columns.features, *(columns.sensitive if sensitive else ())]
    data = read_letor(path)
    least = max(int(name) for name in needed)
    if data.n_features < least:
        data = read_letor(path, n_features=least)
    location = Location(path)
    people = {name: _column(data, name, location) for name in columns.sensitive if sensitive}
    return _with_columns(
        data, columns.features, people, None, columns.missing_sensitive, columns.max_groups
    )


def _column(data: "RankingData", number: str, location: Location) -> Any:
    from ..core.inputs import natural

    if not 1 <= natural(number) <= data.n_features:
        location.fail(
            f"must be the number of a feature from 1 to {data.n_features} for LETOR, "
            f"got {shown(number)}"
        )
    return data.to_original(data.X[:, int(number) - 1])


def _with_columns(
    data: "RankingData",
    features: tuple[str, ...],
    people: Any,
    cost: Any,
    missing: Any,
    most: int | None,
) -> "RankingData":
    """Return the data with the chosen features, groups and costs."""
    from ..core.given_data import as_ranking_data
    from ..core.inputs import frozen_matrix

    if people or cost is not None:
        more = as_ranking_data(
            qid=data.to_original(data.qids[data.query_of_rows()]),
            sensitive_features=people or None,
            cost=cost,
            missing_sensitive=missing,
            max_groups=most,
        )
        data = replace(data, sensitive=more.sensitive, cost=more.cost)
    if features != tuple(str(number + 1) for number in range(data.n_features)):
        data = replace(data, X=frozen_matrix(data.X[:, [int(name) - 1 for name in features]]))
    return replace(data, feature_names=features)
