"""The example configuration of ``equirank init``, with guessed roles of columns."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..io.table_file import format_of
from .config_objects import ConfigError

if TYPE_CHECKING:
    from ..core.source import Source
    from ..io.file_options import FileOptions
    from ..io.table_file import TableFile

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
#: Words in names of sensitive columns of text.
SELLERS = {"seller", "vendor", "provider", "supplier"}
#: Words in names of columns of lists, the likeliest first, and of ids.
QUERIES = (
    *("qid", "query", "search", "list", "request", "impression", "serp", "session", "topic"),
    *("vacancy", "job", "keyword", "term", "user", "customer", "visitor"),
)
IDS = {"id", "ids", "sku", "asin", "ean", "gtin", "uuid", "key", "code", "url", "number"}
NAMED = {*QUERIES, *IDS}
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
    missing: bool = False
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
    """Return roles guessed from names and contents; unclear ones are left to the user.

    A query column has any type and 2 to n/2 values: one whose name says so, or else one whose rows
    are grouped. A group has 2 to 20 values and varies inside lists. Columns whose values are unique
    per row or per list are ids.
    """
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
    columns = _Columns(file, names)
    free = [name for name in names if name not in found.values()]
    if "query" not in found:
        query = _query(columns, [name for name in free if not _sensitive_name(name)])
        found |= {"query": query} if query is not None else {}
    lists = columns.codes(found["query"]) if "query" in found else np.zeros(columns.n_rows, int)
    free = [name for name in free if name not in found.values()]
    people = [
        name
        for name in free
        if (_sensitive_name(name) or (_tokens(name) & SELLERS and name not in columns.numeric))
        and 2 <= columns.count(name) <= MOST_GROUPS
        and _varies(columns.codes(name), lists)
    ]
    free = [name for name in free if name not in people]
    ids = {name: kind for name in free if (kind := _unique_per(columns, name, lists))}
    rows = [name for name, kind in ids.items() if kind == "row"]
    if "ids" not in found and rows:
        found["ids"] = next((name for name in rows if _tokens(name) & IDS), rows[0])
    most = min(MOST_CATEGORIES, columns.n_rows // 2)  # a text that rarely repeats is no category
    features = {
        name: None
        for name in free
        if name not in ids
        and (name in columns.numeric or 2 <= columns.count(name) <= most)
        and not (_sensitive_name(name) and name not in columns.numeric)
    }
    return Guess(
        query=found.get("query"),
        relevance=found.get("relevance"),
        cost=found.get("cost"),
        id=found.get("ids"),
        sensitive=tuple(people),
        features=tuple(features),
        left=tuple(name for name in free if name not in features and name != found.get("ids")),
        by="query" if lists.any() else "item",
        missing=any((columns.codes(name) < 0).any() for name in people),
        source=columns.source,
    )


class _Columns:
    """The values of each column as codes, read when they are needed."""

    def __init__(self, file: "TableFile", names: list[str]) -> None:
        data, texts = file.read(names, query=False, relevance=False, cost=False, id=False)
        known = data.feature_names or ()
        self.n_rows, self.source = data.n_rows, data.source
        self.numeric = {name: at for at, name in enumerate(known)}
        self._X, self._file, self._codes = data.X, file, dict[str, np.ndarray]()
        # exact labels, since doubles merge large whole numbers
        exact = [name for name in names if name not in self.numeric or _tokens(name) & NAMED]
        self._labels = file.labels(exact)
        self._texts = set(texts)

    def codes(self, name: str) -> np.ndarray:
        """Return a code per row; -1 if the cell is missing."""
        from ..io.gatherer import codes_of

        if name not in self._codes:
            if name in self._labels:
                codes = codes_of(self._labels[name].tolist())[0]
            else:
                values = np.asarray(self._X[:, self.numeric[name]], dtype=np.float64)
                codes = np.unique(values, return_inverse=True)[1]
                codes = np.where(np.isnan(values), -1, codes)
            self._codes[name] = codes
        return self._codes[name]

    def count(self, name: str) -> int:
        """Return the number of different values, without missing ones."""
        codes = self.codes(name)
        return len(np.unique(codes[codes >= 0]))

    def whole(self, name: str) -> bool:
        """Return whether a column contains text or whole numbers."""
        if name not in self.numeric:
            return True
        values = np.asarray(self._X[:, self.numeric[name]], dtype=np.float64)
        return bool(np.all(values == np.floor(values)))


def _query(columns: _Columns, names: list[str]) -> str | None:
    """Return the column of the lists: by its name, or else a grouped one of text or ids."""

    def fits(name: str) -> bool:
        whole = bool((columns.codes(name) >= 0).all())
        return whole and 2 <= columns.count(name) <= columns.n_rows // 2

    for word in QUERIES:
        near = [name for name in names if word in _tokens(name) and fits(name)]
        if near:
            return max(near, key=columns.count)
    grouped = []
    for name in names:
        if name in columns.numeric and not (_tokens(name) & IDS and columns.whole(name)):
            continue
        codes = columns.codes(name)
        if fits(name) and (np.diff(codes) != 0).sum() + 1 == columns.count(name):
            grouped.append(name)
    return max(grouped, key=columns.count, default=None)


def _unique_per(columns: _Columns, name: str, lists: np.ndarray) -> str:
    """Return "row" or "list" if the column names rows or lists, else an empty text.

    A row's name does not occur twice in a list; a list's name is that of all its rows, and of no
    other list.
    """
    named = bool(_tokens(name) & IDS)
    if not columns.whole(name) or (name in columns.numeric and not named):
        return ""
    codes, count = columns.codes(name), columns.count(name)
    if count < 2 or (codes < 0).any():
        return ""
    pairs = len(np.unique(np.stack([lists, codes]), axis=1).T)
    n_lists = len(np.unique(lists))
    if n_lists > 1 and pairs == count == n_lists:
        return "list"
    many = count == columns.n_rows or named or count > MOST_GROUPS
    return "row" if pairs == columns.n_rows and many else ""


def _varies(codes: np.ndarray, lists: np.ndarray) -> bool:
    """Return whether some list contains different values."""
    known = codes >= 0
    pairs = np.unique(np.stack([lists[known], codes[known]]), axis=1)
    return bool((np.diff(pairs[0]) == 0).any())


def _tokens(name: str) -> set[str]:
    """Return the words of a name, in lower case.

    Examples
    --------
    >>> sorted(_tokens("SearchSession_ID2"))
    ['id', 'search', 'session']
    """
    return {word.lower() for word in re.findall("[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)}


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
{_MISSING if guess.missing else ""}\
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


_MISSING = """\
# Some groups are missing: keep them as a group of their own, or remove this line and fill them in.
missing_sensitive = "category"
"""

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
