"""Read a file to predict for, with columns matched by name, and score it."""

import difflib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..io.table_file import format_of
from .config_objects import ConfigError
from .data_columns import DataColumns

if TYPE_CHECKING:
    import numpy as np

    from ..core.data import RankingData
    from ..core.encoding import Unseen
    from ..io.table_file import TableFile

__all__ = [
    "NewFile",
    "in_words",
    "is_external",
    "load_trained",
    "read_new_file",
    "scored",
    "sees_groups",
]


#: Most column names in a message.
NAMED = 8


@dataclass(frozen=True)
class NewFile:
    """The data of a new file, the columns to copy to the output, and notes.

    ``carried`` maps names to labels in the order of the file, list and id first.
    """

    data: "RankingData"
    carried: "dict[str, np.ndarray]"
    notes: list[str]


def load_trained(folder: str) -> tuple[Any, DataColumns]:
    """Return a stored model and its training columns, both of the same reading of its folder."""
    from ..core.persistence import load_with_extra

    model, extra = load_with_extra(folder)
    values = extra.get("columns")
    if not isinstance(values, dict):
        raise ConfigError(
            f"{folder}: was not written by equirank train, so its columns are unknown; use "
            "equirank.load in Python"
        )
    try:
        return model, DataColumns.from_dict(values)
    except (KeyError, TypeError, AttributeError):
        raise ConfigError(f"{folder}: is damaged: model.json has no valid columns") from None


def read_new_file(
    path: str,
    file_format: str | None,
    columns: DataColumns,
    *,
    sensitive: bool,
    query: str | None = None,
    keep: tuple[str, ...] = (),
    unseen: str | None = None,
) -> NewFile:
    """Return the columns that the model needs, by name; a missing column is an error.

    ``sensitive`` states whether groups are needed, ``query`` names the column of lists if it
    differs from training, ``keep`` names columns to copy to the output, and ``unseen`` overrides
    the policy of training for categories and groups that it did not contain.
    """
    from ..core.encoding import Unseen

    kind = file_format or format_of(path)
    policy = Unseen(
        unseen or columns.unseen,
        feature="feature {!r}",
        group="column {!r}",
        file=path,
        first_row=1,
        option="--unseen missing",
    )
    if kind == "letor" or columns.format == "letor":
        return _read_letor(path, kind, columns, sensitive, query, keep, policy)
    from ..io.column_roles import RECOGNISED
    from ..io.table_file import TableFile

    file = TableFile(path, kind)  # type: ignore[arg-type]
    lists = query or columns.query
    if lists is not None and lists not in file:
        _missing(file, f"a column {lists!r} of lists", lists, "; --query names another")
    _need(file, columns.features, "the model was trained with")
    if sensitive:
        _need(file, columns.sensitive, "the model needs for people's groups")
    _need(file, keep, "--keep names")
    numbers = [name for name in columns.features if name not in columns.categories]
    data, texts = file.read(
        numbers,
        sensitive=columns.sensitive if sensitive else (),
        missing_sensitive=columns.missing_sensitive,
        max_groups=columns.max_groups,
        query=lists or False,
        relevance=False,
        cost=False,
        ids=False,
    )
    if texts:
        _refuse_text(file, texts[0])
    labels = file.labels(list(columns.categories))
    near = [n for n in file.columns if n.strip().lower() in RECOGNISED["ids"]]
    ids = columns.id if columns.id in file else near[0] if len(near) == 1 else None
    wanted = [name for name in dict.fromkeys((lists, ids, *keep)) if name is not None]
    for name in wanted:
        if name in ("score", "position"):
            raise ConfigError(f"{path}: --keep must not name {name!r}, which is written anew")
    used = {*columns.named, *wanted}
    rest = [name for name in file.columns if name not in used]
    data = columns.encode(_known_groups(data, columns, policy), labels, policy)
    return NewFile(data, file.labels(wanted), [*_ignored(rest), *_taken_as_missing(policy)])


def _taken_as_missing(policy: "Unseen") -> list[str]:
    return [policy.words] if policy.words else []


def _read_letor(
    path: str,
    kind: str,
    columns: DataColumns,
    sensitive: bool,
    query: str | None,
    keep: tuple[str, ...],
    policy: "Unseen",
) -> NewFile:
    from .data_columns import read_letor_prediction

    if kind != columns.format:
        raise ConfigError(
            f"{path}: must be {columns.format}, as in training, got {kind}: LETOR has only feature "
            "numbers"
        )
    if query or keep:
        raise ConfigError("--query and --keep must be omitted for LETOR, which has no columns")
    data = read_letor_prediction(path, columns, sensitive)
    lists = data.to_original(data.qids[data.query_of_rows()])
    data = _known_groups(data, columns, policy)
    return NewFile(data, {"qid": lists}, _taken_as_missing(policy))


def _need(file: "TableFile", names: tuple[str, ...], why: str) -> None:
    lacking = [name for name in names if name not in file]
    if lacking:
        words = ", ".join(map(repr, lacking[:NAMED])) + (", ..." if len(lacking) > NAMED else "")
        _missing(file, f"{'a column' if len(lacking) == 1 else 'columns'} {words}, which {why}",
               lacking[0])  # fmt: skip


def _missing(file: "TableFile", what: str, name: str, hint: str = "") -> None:
    near = difflib.get_close_matches(name, file.columns, n=1)
    guess = f"; did you mean {near[0]!r}?" if near else ""
    raise ConfigError(f"{file.path}: must have {what}{hint}{guess}")


def _refuse_text(file: "TableFile", name: str) -> None:
    """Raise the error of a feature with text instead of the numbers in training."""
    from ..core.errors import DataError
    from ..io.column_roles import CellError, numbers_of

    values = [str(value) for value in file.labels([name])[name].tolist() if value is not None]
    for value in values:
        try:
            numbers_of([value])
        except CellError:
            raise DataError(
                f"{file.path}: feature {name!r} must contain numbers, as in training, got {value!r}"
            ) from None
    raise DataError(f"{file.path}: feature {name!r} must contain numbers, as in training")


def _known_groups(data: "RankingData", columns: DataColumns, policy: "Unseen") -> "RankingData":
    """Return the data with the group codes of training."""
    from ..core.encoding import Encoding, known_groups

    groups = Encoding(groups={name: tuple(seen) for name, seen in columns.groups.items()})
    people = {name: known_groups(data, name, groups, policy) for name in data.sensitive}
    return replace(data, sensitive=people)


def _ignored(rest: list[str]) -> list[str]:
    if not rest:
        return []
    words = ", ".join(rest[:NAMED]) + (f" and {len(rest) - NAMED} more" * (len(rest) > NAMED))
    return [f"ignored columns, unknown to the model: {words}"]


def sees_groups(model: Any) -> bool:
    """Return whether a fitted model needs groups to predict."""
    return "sensitive_features" in model.predict_needs


def is_external(model: Any) -> bool:
    """Return whether a ranker is a model of another library."""
    from ..rankers import ExternalRanker

    return isinstance(model, ExternalRanker)


def in_words(model: Any) -> str:
    """Return the names of a model's class and its re-rankers."""
    steps: list[str] = []
    while hasattr(model, "reranker"):
        steps.insert(0, type(model.reranker).__name__)
        model = model.estimator_
    model = model.model if is_external(model) else model
    return type(model).__name__ + "".join(f", re-ranked with {step}" for step in steps)


def scored(model: Any, data: "RankingData", name: str) -> "tuple[np.ndarray, np.ndarray]":
    """Return the score and position of each row, in the order of the file."""
    import numpy as np

    ranking = model.rank(data)
    if ranking.n_draws > 1:
        raise ConfigError(f"{name}: must return one draw, got {ranking.n_draws}")
    score = ranking.data.score
    score = np.full(data.n_rows, np.nan) if score is None else score
    return data.to_original(np.asarray(score)), data.to_original(np.asarray(ranking.position))
