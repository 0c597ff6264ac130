"""What the columns of a training file are, so that another file can be read in the same way."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .config_table import Place, shown
from .failing import CommandError

if TYPE_CHECKING:
    import numpy as np

    from ..core.data import RankingData
    from ..datasets.table_file import TableFile
    from .config import DataTable

__all__ = ["DataColumns", "plain_groups", "read_training_data"]

#: A column of text with more different values is no category but a name or a text.
MOST_CATEGORIES = 200
#: What a missing value of a category is called.
MISSING = "(missing)"


@dataclass(frozen=True)
class DataColumns:
    """The columns a model was trained with: kept beside the model, applied to every new file.

    Attributes
    ----------
    features : tuple of str
        The columns of the file that X is made of, in the order of X.
    categories : dict of str to tuple of str
        Of each feature that holds text, the values seen in training, in order.
    encoding : {"onehot", "ordinal"}
        One indicator per category, or the category's number.
    groups : dict of str to list
        Of each sensitive column, the groups seen.
    notes : tuple of str
        What a reader of the training file should know; not kept.
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
    notes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def named(self) -> set[str]:
        """All columns that were known in training."""
        single = {self.query, self.relevance, self.cost, self.id} - {None}
        return {*single, *self.sensitive, *self.features}  # type: ignore[arg-type]

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
        """Give plain values for JSON."""
        from dataclasses import asdict

        values = asdict(self)
        del values["notes"]
        return values

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "DataColumns":
        """Read what `to_dict` gave."""
        tuples = {name: tuple(values[name]) for name in ("sensitive", "features")}
        seen = {name: tuple(labels) for name, labels in values["categories"].items()}
        return cls(**values | tuples | {"categories": seen})

    def encode(
        self, data: "RankingData", labels: "dict[str, np.ndarray]", path: str
    ) -> "RankingData":
        """Put the columns of text between those of numbers; a new category is an error."""
        import numpy as np

        from ..core.columns import frozen_matrix

        if not self.categories:
            return data
        known = list(data.feature_names or ())
        kind = np.float64 if data.X is None else data.X.dtype
        parts: list[np.ndarray] = []
        for name in self.features:
            if name not in self.categories:
                parts.append(data.X[:, known.index(name), None])
                continue
            codes = self._codes(name, labels[name], path)
            codes = codes if data.rows is None else codes[data.rows]
            codes = codes[:, None]
            if self.encoding == "onehot":
                codes = codes == np.arange(len(self.categories[name]))
            parts.append(codes.astype(kind))
        X = frozen_matrix(np.concatenate(parts, axis=1))
        return replace(data, X=X, feature_names=self.feature_names)

    def _codes(self, name: str, values: "np.ndarray", path: str) -> "np.ndarray":
        import numpy as np

        code = {label: at for at, label in enumerate(self.categories[name])}
        cells = [MISSING if value is None else str(value) for value in values.tolist()]
        for row, cell in enumerate(cells):
            if cell not in code:
                from ..core.names import suggest

                words = ", ".join(map(repr, self.categories[name][:10]))
                more = ", ..." if len(self.categories[name]) > 10 else ""
                raise CommandError(
                    f"{path}: feature {name!r} must be one of the categories the model was "
                    f"trained with ({words}{more}), got {cell!r} in row {row + 1}"
                    f"{suggest(cell, self.categories[name])}"
                )
        return np.array([code[cell] for cell in cells])


def read_training_data(table: "DataTable") -> "tuple[RankingData, DataColumns]":
    """Read the file of ``[data]``: the features encoded, and what its columns are."""
    from ..core.errors import DataError
    from .reading import format_of

    try:
        kind = table.format or format_of(table.path)
    except CommandError:
        table.place.key("format").fail(
            f"is missing, and the ending of {table.path} tells no format"
        )
    try:
        if kind == "letor":
            from .letor_columns import read_letor_training

            return read_letor_training(table)
        return _read_table(table, kind)
    except DataError as error:
        raise CommandError(f"{table.place}: {error}") from None


def _read_table(table: "DataTable", kind: str) -> "tuple[RankingData, DataColumns]":
    from ..datasets.columns import RECOGNISED
    from ..datasets.table_file import TableFile

    file = TableFile(table.path, kind)  # type: ignore[arg-type]
    found, left_over = _roles(table, file)
    given = [name for role in ("score", "position") for name in RECOGNISED[role]]
    wanted = [n for n in left_over if table.features or n.strip().lower() not in given]
    data, texts = file.read(
        wanted,
        sensitive=table.sensitive,
        missing_sensitive=table.missing_sensitive,
        missing_relevance=table.missing_relevance,
        **{role: found.get(role, False) for role in ("query", "relevance", "cost", "ids")},
    )
    labels = file.labels(texts) if table.features else {}
    features = tuple(name for name in wanted if name in labels or name not in texts)
    if not features:
        table.place.key("features").fail(
            f"is missing, and no column left over in {table.path} holds numbers"
        )
    columns = DataColumns(
        format=kind,
        query=found.get("query"),
        relevance=found["relevance"],
        cost=found.get("cost"),
        id=found.get("ids"),
        sensitive=table.sensitive,
        features=features,
        categories={
            name: _categories(values, table.place.key("features"), name)
            for name, values in labels.items()
        },
        encoding=table.encoding,
        groups=plain_groups(data),
        missing_sensitive=table.missing_sensitive,
        notes=tuple(_notes(table, file, left_over, features)),
    )
    return columns.encode(data, labels, table.path), columns


def _roles(table: "DataTable", file: "TableFile") -> tuple[dict[str, str], tuple[str, ...]]:
    """Find the column of each role, and the columns that may be features."""
    from ..datasets.columns import RECOGNISED, assign

    named = {"query": table.query, "relevance": table.relevance, "cost": table.cost}
    for key, name in (named | {"id": table.id}).items():
        _check_column(table.place.key(key), file, name)
    for key, names in {"sensitive": table.sensitive, "features": table.features or ()}.items():
        for name in names:
            _check_column(table.place.key(key), file, name)
    single: dict[str, Any] = dict(named)
    roles = assign(
        table.path,
        file.columns,
        sensitive=list(table.sensitive),
        features=None if table.features is None else list(table.features),
        ids=table.id,
        **single,
    )
    found = dict(roles.single)
    if "relevance" not in found:
        table.place.key("relevance").fail(
            f"is missing: no column of {table.path} is called {', '.join(RECOGNISED['relevance'])}"
        )
    if table.features and found["relevance"] in table.features:
        table.place.key("features").fail(
            f"must not hold the relevance {shown(found['relevance'])}, which is to be predicted"
        )
    return found, roles.features


def plain_groups(data: "RankingData") -> dict[str, list[Any]]:
    """Give the groups of each attribute as JSON can hold them: numbers and texts."""

    def plain(group: Any) -> Any:
        value = group.item() if hasattr(group, "item") else group
        return value if isinstance(value, (bool, int, float, str)) else str(value)

    return {name: [plain(group) for group in a.categories] for name, a in data.sensitive.items()}


def _check_column(place: Place, file: "TableFile", name: str | None) -> None:
    if name is None or name in file.columns:
        return
    from ..core.names import suggest

    known = ", ".join(file.columns[:10]) + (", ..." if len(file.columns) > 10 else "")
    place.fail(
        f"{file.path} has no column {shown(name)}{suggest(name, file.columns)} (it has {known})"
    )


def _categories(values: "np.ndarray", place: Place, name: str) -> tuple[str, ...]:
    seen = sorted({MISSING if value is None else str(value) for value in values.tolist()})
    if len(seen) > MOST_CATEGORIES:
        place.fail(
            f"{shown(name)} must hold numbers or at most {MOST_CATEGORIES} categories, "
            f"got {len(seen)} different texts"
        )
    return tuple(seen)


def _notes(
    table: "DataTable", file: "TableFile", left_over: tuple[str, ...], used: tuple[str, ...]
) -> list[str]:
    if table.features is not None:
        return []
    rest = [name for name in left_over if name not in used]
    return (
        [f"{file.path}: not used as features: {', '.join(rest)}; [data] features can name them"]
        if rest
        else []
    )
