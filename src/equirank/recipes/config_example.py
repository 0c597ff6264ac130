"""The example that ``equirank init`` writes: what the columns of a file may be, and the text."""

import json
from dataclasses import dataclass
from typing import Any

from ..io.table_file import format_of
from .config_objects import ConfigError

__all__ = ["Guess", "example", "guess_columns", "hiring_guess"]


#: Words in the name of a column that speak of people's groups.
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
#: A sensitive column has at most so many groups, a category at most so many values.
MOST_GROUPS, MOST_CATEGORIES = 20, 30


@dataclass(frozen=True)
class Guess:
    """What the columns of a file look like; None or nothing where no column does."""

    query: str | None
    relevance: str | None
    cost: str | None
    id: str | None
    sensitive: tuple[str, ...]
    features: tuple[str, ...]
    left: tuple[str, ...]
    by: str
    format: str | None = None


def hiring_guess() -> Guess:
    """Say what the columns of the bundled hiring data are."""
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


def guess_columns(path: str) -> Guess:
    """Guess from names and contents; whatever is unclear is left for the user to say."""
    kind = format_of(path)
    if kind == "letor":
        return _letor_guess(path)
    from ..io.column_roles import RECOGNISED
    from ..io.table_file import TableFile

    file = TableFile(path, kind)  # type: ignore[arg-type]
    names = [name for name in file.columns if name]
    if len(set(names)) < len(names):
        raise ConfigError(f"{path}: each column name must occur once")
    found: dict[str, str] = {}
    for role, words in RECOGNISED.items():
        near = [name for name in names if name.strip().lower() in words]
        if near:
            found[role] = near[0]
    data, texts = file.read(names, query=False, relevance=False, cost=False, ids=False)
    labels = file.labels([name for name in names if name in texts or _speaks(name)])
    n_rows, several = data.n_rows, {name: len(set(v.tolist())) for name, v in labels.items()}
    used = set(found.values())
    people = tuple(
        name
        for name in labels
        if name not in used and _speaks(name) and 2 <= several[name] <= MOST_GROUPS
    )
    unique = [name for name in texts if name not in used and several[name] == n_rows]
    if "ids" not in found and unique:
        found["ids"] = unique[0]
        used.add(unique[0])
    most = min(MOST_CATEGORIES, n_rows // 2)  # who is met twice is a category, else a text
    plain = {name for name in names if name not in {*used, *people}}
    features = tuple(
        name
        for name in names
        if name in plain and (name not in texts or 2 <= several[name] <= most)
    )
    query = found.get("query")
    lists = 1 if query is None else len(set(file.labels([query])[query].tolist()))
    return Guess(
        query=query,
        relevance=found.get("relevance"),
        cost=found.get("cost"),
        id=found.get("ids"),
        sensitive=people,
        features=features,
        left=tuple(name for name in names if name in plain and name not in features),
        by="query" if lists > 1 else "item",
    )


def _letor_guess(path: str) -> Guess:
    with open(path, "rb"):
        pass  # the error of a file that is not there
    return Guess(None, "(first word)", None, None, (), (), (), "query", "letor")


def _speaks(name: str) -> bool:
    return any(word in name.strip().lower() for word in PEOPLE)


def _toml(value: Any) -> str:
    """Write a text, or an array of texts, as TOML does; JSON's escapes are TOML's."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    rows = [_toml(each) for each in value]
    flat = f"[{', '.join(rows)}]"
    return flat if len(flat) <= 88 else "[\n" + "".join(f"    {row},\n" for row in rows) + "]"


def _line(key: str, value: Any, hint: str) -> str:
    """Write a key, commented out where nothing is known."""
    return f"{key} = {_toml(value)}" if value else f"# {key} = {hint}"


def example(path: str, guess: Guess) -> str:
    """Write the configuration.

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
        "# In LETOR each line begins with relevance and list; sensitive, cost and features are\n"
        '# numbers of features, such as sensitive = ["5"].\n'
        if letor
        else f"""# The list each row belongs to. Without it all rows are one list.
{_line("query", guess.query, '"query"')}
# What is to be learned: numbers from 0 up, higher is better.
{_line("relevance", guess.relevance, '"relevance"   # to do: name the column')}
# People's groups: fairness is measured by them. They are features only if named as such.
{_line("sensitive", list(guess.sensitive), '["sex"]')}
# What a mistake about the item costs, for methods and metrics that ask for it.
{_line("cost", guess.cost, '"cost"')}
# A name per row, carried into the scores.
{_line("id", guess.id, '"id"')}
# What the model sees. Columns of text become categories. Without this line: every other column
# that holds numbers.
{_line("features", list(guess.features), '["age", "degree"]')}
{rest}"""
    )
    return _TEMPLATE.format(
        path=_toml(path),
        columns=columns.rstrip("\n"),
        metrics=_toml(metrics),
        by=_toml(guess.by),
        fair=_FAIR.replace("BY", _toml(guess.sensitive[0])) if guess.sensitive else "",
    )


_FAIR = """
# A model may be followed by a re-ranker, which needs people's groups also when it predicts.
[[models]]
name = "balanced"
class = "RankBoost"
params = { n_estimators = 100 }
rerank = { class = "DetGreedy", params = { by = BY } }
"""

_TEMPLATE = """\
# equirank: what to learn from, how to measure, what to try.
#   equirank train {{this file}} --out model     trains the first model (or --model NAME)
#   equirank compare {{this file}}               compares them all

# What is measured on the data held out; `equirank metrics` lists all.
metrics = {metrics}

[data]
# The file, seen from the folder of this one: CSV, TSV, Parquet or LETOR; .gz may follow.
path = {path}
{columns}

[split]
# Hold out whole lists ("query"), or for data that is one list its rows ("item").
by = {by}
# The share that is held out. Or folds = 5: every row is held out once.
test = 0.25
# The same seed, the same split. compare also takes several: seed = [0, 1, 2]
seed = 0

# The models: classes of equirank by name, params as in Python. An object inside params is a table:
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
# Trees come with: pip install "equirank[lightgbm]"
# [[models]]
# name = "trees"
# class = "LambdaMART"
# params = {{ n_estimators = 100 }}
"""
