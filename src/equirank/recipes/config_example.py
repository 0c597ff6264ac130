"""The example configuration of ``equirank init``, with guessed roles of columns."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..io.column_roles import Guess, guess_columns
from ..io.table_file import TableFile, format_of
from .toml_text import toml_value

if TYPE_CHECKING:
    from ..io.file_options import FileOptions

__all__ = ["example", "guess_file", "hiring_guess"]


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


def guess_file(
    path: str, file_format: str | None = None, options: "FileOptions | None" = None
) -> Guess:
    """Return the roles of the columns of a file, guessed as in `guess_columns`; LETOR has none."""
    kind = file_format or format_of(path)
    file = TableFile(path, kind, options)
    if kind != "letor":
        return guess_columns(file)
    with open(path, "rb"):
        pass  # raises if the file is missing
    return Guess(None, "(first word)", None, None, (), (), (), "query", "letor")


def _line(key: str, value: Any, hint: str) -> str:
    """Return the line of a key, commented out if the value is unknown."""
    return f"{key} = {toml_value(value)}" if value else f"# {key} = {hint}"


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
    rest = f"# Not used: {', '.join(map(toml_value, guess.left))}\n" if guess.left else ""
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
        path=toml_value(path)
        + "".join(f"\n{key} = {toml_value(value)}" for key, value in (reading or {}).items()),
        columns=columns.rstrip("\n"),
        metrics=toml_value(metrics),
        by=toml_value(guess.by),
        fair=_FAIR.replace("BY", toml_value(guess.sensitive[0])) if guess.sensitive else "",
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
#   equirank alternatives {{this file}}          searches for a less unfair one, see space below

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
# Values that `equirank alternatives` draws; without any it compares the models as they are.
# space = {{ n_estimators = [50, 100, 200] }}

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
