"""The example configuration of ``equirank init``, with guessed roles of columns."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..io.table_file import format_of
from .config_objects import ConfigError

if TYPE_CHECKING:
    from ..core.source import Source
    from ..io.file_options import FileOptions

__all__ = ["Guess", "example", "guess_columns", "hiring_guess"]


#: Words in names of sensitive columns.
PEOPLE: tuple[str, ...] = (
    "sex",
    "gender",
    "race",
    "ethnicity",
    "age_group",
    "religion",
    "nationality",
)
PEOPLE += ("disability", "origin", "citizenship", "marital", "protected", "group")
#: Most groups of a sensitive column, and most values of a categorical feature.
MOST_GROUPS, MOST_CATEGORIES = 20, 30


@dataclass(frozen=True)
class Guess:
    """The guessed roles of columns; None or empty if no column matches."""

    query: str | None
    relevance: str | None
    cost: str | None
    id: str | None
    sensitive: tuple[str, ...]
    features: tuple[str, ...]
    left: tuple[str, ...]
    by: str
    format: str | None = None
    source: "Source | None" = None


def hiring_guess() -> Guess:
    """Return the roles of the columns of the bundled hiring data."""
    return Guess(
        query="vacancy",
        relevance="suitability",
        cost=None,
        id="applicant",
        sensitive=("sex", "age_group"),
        features=("years_experience", "test_score", "interview_score", "distance_km"),
        left=(),
        by="query",
    )


def guess_columns(
    path: str, file_format: str | None = None, options: "FileOptions | None" = None
) -> Guess:
    """Return roles guessed from names and contents; unclear ones are left to the user."""
    kind = file_format or format_of(path)
    if options is not None:
        options.check_kind(kind)
    if kind == "letor":
        return _letor_guess(path)
    from ..io.column_roles import RECOGNISED
    from ..io.table_file import TableFile

    file = TableFile(path, kind, options)
    names = [name for name in file.columns if name]
    if len(set(names)) < len(names):
        raise ConfigError(f"{path}: column names must be unique")
    found: dict[str, str] = {}
    for role, words in RECOGNISED.items():
        near = [name for name in names if name.strip().lower() in words]
        if near:
            found[role] = near[0]
    data, texts = file.read(names, query=False, relevance=False, cost=False, id=False)
    other = set(texts)
    labels = file.labels([name for name in names if name in other or _sensitive_name(name)])
    n_rows, several = data.n_rows, {name: len(set(v.tolist())) for name, v in labels.items()}
    used = set(found.values())
    people = tuple(
        name
        for name in labels
        if name not in used and _sensitive_name(name) and 2 <= several[name] <= MOST_GROUPS
    )
    unique = [name for name in texts if name not in used and several[name] == n_rows]
    if "ids" not in found and unique:
        found["ids"] = unique[0]
        used.add(unique[0])
    most = min(MOST_CATEGORIES, n_rows // 2)  # a text that rarely repeats is not a category
    plain = set(names) - used - set(people)
    features = {
        name: None
        for name in names
        if name in plain and (name not in other or 2 <= several[name] <= most)
    }
    query = found.get("query")
    lists = 1 if query is None else len(set(file.labels([query])[query].tolist()))
    return Guess(
        query=query,
        relevance=found.get("relevance"),
        cost=found.get("cost"),
        id=found.get("ids"),
        sensitive=people,
        features=tuple(features),
        left=tuple(name for name in names if name in plain and name not in features),
        by="query" if lists > 1 else "item",
        source=data.source,
    )


def _letor_guess(path: str) -> Guess:
    with open(path, "rb"):
        pass  # raises if the file is missing
    return Guess(None, "(first word)", None, None, (), (), (), "query", "letor")


def _sensitive_name(name: str) -> bool:
    return any(word in name.strip().lower() for word in PEOPLE)


def _toml(value: Any) -> str:
    """Return a truth, a text or an array of texts in TOML, whose escapes are those of JSON."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    rows = [_toml(each) for each in value]
    flat = f"[{', '.join(rows)}]"
    return flat if len(flat) <= 88 else "[\n" + "".join(f"    {row},\n" for row in rows) + "]"


def _line(key: str, value: Any, hint: str) -> str:
    """Return the line of a key, commented out if the value is unknown."""
    return f"{key} = {_toml(value)}" if value else f"# {key} = {hint}"


def example(path: str, guess: Guess, reading: Mapping[str, Any] | None = None) -> str:
    """Return the text of the configuration; ``reading`` contains keys that state how to read.

    Examples
    --------
    >>> import tomllib
    >>> tomllib.loads(example("people.csv", hiring_guess()))["data"]["query"]
    'vacancy'
    """
    letor = guess.format == "letor"
    metrics = ["NDCG@10", "AveragePrecision"]
    for name in guess.sensitive:
        by = f'(by="{name}")' if len(guess.sensitive) > 1 and '"' not in name else ""
        metrics += [f"ExposureGap{by}", f"RND{by}@50"] if by or len(guess.sensitive) == 1 else []
    rest = f"# Not used: {', '.join(map(_toml, guess.left))}\n" if guess.left else ""
    columns = (
        "# In LETOR, each line begins with relevance and list; sensitive, cost and features are\n"
        '# numbers of features, such as sensitive = ["5"].\n'
        if letor
        else f"""# The list of each row. Without it, all rows are one list.
{_line("query", guess.query, '"query"')}
# The target: numbers of at least 0; higher is better.
{_line("relevance", guess.relevance, '"relevance"   # to do: name the column')}
# Sensitive attributes, for fairness metrics. They are features only if listed there.
{_line("sensitive", list(guess.sensitive), '["sex"]')}
# The cost of a mistake about the item, for methods and metrics that use it.
{_line("cost", guess.cost, '"cost"')}
# An id per row, copied to the output of predict.
{_line("id", guess.id, '"id"')}
# The features of the model. Columns of text become categories. By default: every other column
# with numbers.
{_line("features", list(guess.features), '["age", "degree"]')}
{rest}"""
    )
    return _TEMPLATE.format(
        path=_toml(path)
        + "".join(f"\n{key} = {_toml(value)}" for key, value in (reading or {}).items()),
        columns=columns.rstrip("\n"),
        metrics=_toml(metrics),
        by=_toml(guess.by),
        fair=_FAIR.replace("BY", _toml(guess.sensitive[0])) if guess.sensitive else "",
    )


_FAIR = """
# A re-ranker may follow a model; it needs the sensitive attributes for prediction, too.
[[models]]
name = "balanced"
class = "RankBoost"
params = { n_estimators = 100 }
rerank = { class = "DetGreedy", params = { by = BY } }
"""

_TEMPLATE = """\
# equirank configuration: data, metrics, split and models.
#   equirank train {{this file}} --out model     trains the first model (or --model NAME)
#   equirank compare {{this file}}               compares them all

# Metrics of the held-out data; `equirank metrics` lists all.
metrics = {metrics}

[data]
# The file, relative to the folder of this one: CSV, TSV, workbook, Parquet or LETOR; .gz may
# follow a text.
path = {path}
{columns}

[split]
# Hold out whole lists ("query"), or rows of a single list ("item").
by = {by}
# The held-out share. Alternatively folds = 5: every row is held out once.
test = 0.25
# The random seed of the split and of every model. compare also takes several: seed = [0, 1, 2]
seed = 0

# The models: classes of equirank, with params as in Python. An object in params is a table:
# {{ class = "...", params = {{ ... }} }}.
[[models]]
name = "boosting"
class = "RankBoost"
params = {{ n_estimators = 100 }}

[[models]]
name = "boosting plus"
class = "RankBoostPlus"
params = {{ n_estimators = 100 }}
{fair}
# Trees need: pip install "equirank[lightgbm]"
# [[models]]
# name = "trees"
# class = "LambdaMART"
# params = {{ n_estimators = 100 }}
"""
