"""Arguments and options that several commands share, each declared once.

An option of files or columns has the name of an argument of `equirank.io.read_file`.
"""

import csv
import inspect
import os
from collections.abc import Callable, Sequence
from dataclasses import Field, asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

from .console import CommandError, Read, Written, show_source

if TYPE_CHECKING:
    from ..core.data import RankingData
    from ..io.file_options import FileOptions
    from ..recipes.data_columns import DataColumns
    from ..recipes.new_file import NewFile

__all__ = [
    "COLUMN",
    "FORMATS",
    "SEEDS",
    "BootOption",
    "Columns",
    "ConfigArgument",
    "CostOption",
    "CutoffsOption",
    "Decision",
    "FileArgument",
    "FilesArgument",
    "FormulasOption",
    "Heading",
    "IdOption",
    "LevelOption",
    "MaxGroupsOption",
    "MemoryOption",
    "MetricsOption",
    "MissingSensitiveOption",
    "ModelArgument",
    "Order",
    "ProtectedOption",
    "QuotaOption",
    "Reading",
    "SeedOption",
    "Shared",
    "ShownOption",
    "TrainedQueryOption",
    "Treatment",
    "UnseenOption",
    "Ways",
    "cutoffs",
    "no_groups",
    "option",
    "shown_names",
    "switch",
    "with_shared",
]


COLUMN = "COLUMN"
FORMATS = "CSV, TSV, workbook, Parquet or LETOR, recognised by its extension; .gz may follow."


def _data_of(config: str) -> Sequence[str]:
    """Return the files that a configuration names; none if it is invalid, which is said later."""
    import tomllib

    from ..recipes.config import data_path

    try:
        with open(config, "rb") as file:
            table = tomllib.load(file)["data"]
        names = [table["path"], *([table["labels"]] if "labels" in table else [])]
        return [data_path(config, name) for name in names]
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return []


FileArgument = Annotated[
    str, Read(), typer.Argument(metavar="FILE", help=FORMATS, show_default=False)
]
FilesArgument = Annotated[
    list[str],
    Read(),
    typer.Argument(
        metavar="FILE...",
        help=f"{FORMATS} Several Parquet or Arrow files, or a folder of them, are one log; several "
        "folders of stored sums are added.",
        show_default=False,
    ),
]
MemoryOption = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE", help="Memory for rows of a log, such as 500MB; by default about 1 GB."
    ),
]
ConfigArgument = Annotated[
    str,
    Read(_data_of),
    typer.Argument(
        metavar="CONFIG.toml",
        help="Data, split, models and metrics; `equirank init` writes one.",
        show_default=False,
    ),
]
ModelArgument = Annotated[
    str,
    Read(),
    typer.Argument(metavar="FOLDER", help="The output of `equirank train`.", show_default=False),
]
TrainedQueryOption = Annotated[
    str | None,
    typer.Option(metavar=COLUMN, help="Column of lists, if its name differs from training."),
]
IdOption = Annotated[
    str | None, typer.Option("--id", metavar=COLUMN, help="Column of the items' ids.")
]
CostOption = Annotated[
    str | None,
    typer.Option(metavar=COLUMN, help="Column with the cost of a mistake about the item."),
]
ProtectedOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=GROUP",
        help="Protected group, such as sex=female, to compare with everyone else; may be repeated.",
    ),
]
ShownOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=GROUP:NAME",
        help="Name of a group in sentences, such as sex=female:women; may be repeated.",
    ),
]
CutoffsOption = Annotated[
    str | None,
    typer.Option(metavar="K,K", help="Cutoffs; by default 10 and 50 if lists are longer."),
]
QuotaOption = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="How many of each list are selected."),
]
MetricsOption = Annotated[
    list[str] | None,
    typer.Option(metavar="METRICS", help="Further metrics; may be repeated."),
]
#: The bounds of seeds; `as_seed` takes twice as many, since numbers are added to them.
SEEDS: dict[str, Any] = {"min": 0, "max": 2**63 - 1}
SeedOption = Annotated[
    int, typer.Option(**SEEDS, help="Random seed; the same seed produces the same report.")
]
FormulasOption = Annotated[
    bool,
    typer.Option(
        "--keep-formulas",
        help="Write cells that a spreadsheet runs as a formula as they are, without a quote.",
    ),
]
BootOption = Annotated[
    int, typer.Option(min=0, help="Bootstrap replicates of the confidence intervals; 0 for none.")
]
LevelOption = Annotated[float, typer.Option(help="Level of the confidence intervals.")]
_MOST_GROUPS = (
    "Most groups of a column; by default 100, or 20 if they are numbers or more than a tenth of "
    "the rows."
)
MaxGroupsOption = Annotated[int | None, typer.Option(min=1, help=_MOST_GROUPS)]
UnseenOption = Annotated[
    Literal["error", "missing"] | None,
    typer.Option(
        help="A category or group that training did not contain is an error, or missing; by "
        "default as in training.",
    ),
]
MissingSensitiveOption = Annotated[
    Literal["error", "unknown", "category"],
    typer.Option(help="A missing group is an error, an unknown label, or a separate group."),
]


class Shared:
    """Options that several commands share; `with_shared` puts them in place of a parameter."""


def option(
    metavar: str | None,
    words: str,
    *,
    default: Any = None,
    flag: str | None = None,
    mark: Read | Written | None = None,
    **more: Any,
) -> Any:
    """Return an option of a class of options or of a command: its value in the help, and its help.

    ``flag`` is the name of the option if it is not that of the field, or has no negation; ``mark``
    says that its value is a file, and ``more`` are further arguments of `typer.Option`.
    """
    made = typer.Option(*(() if flag is None else (flag,)), metavar=metavar, help=words, **more)
    return field(default=default, metadata={"option": (*(() if mark is None else (mark,)), made)})


def switch(flag: str, words: str) -> Any:
    """Return an option without a value: its name and its help."""
    return option(None, words, default=False, flag=flag)


@dataclass(frozen=True)
class Order(Shared):
    """The columns that order the lists of a file."""

    query: str | None = option(COLUMN, "Column with the list of each row.")
    score: str | None = option(COLUMN, "Column of scores; higher is first.")
    position: str | None = option(COLUMN, "Column of given positions from 1; 0 is not shown.")


@dataclass(frozen=True)
class Columns(Order):
    """The columns of a file of ranked items."""

    relevance: str | None = option(COLUMN, "Column of relevance, at least 0.")
    sensitive: list[str] | None = option(COLUMN, "Column of people's groups; may be repeated.")


@dataclass(frozen=True)
class Decision(Shared):
    """Who was selected."""

    selected: str | None = option(
        COLUMN,
        "Who was selected: a column of yes and no, true and false, or 1 and 0; blank is undecided.",
    )
    yes: str | None = option("WORD,WORD", "Words for selected in such a column; others mean no.")
    cutoff: str | None = option("COMPARISON", 'Who is selected, such as "score>=70".')


@dataclass(frozen=True)
class Treatment(Shared):
    """What ties, missing relevance and many groups mean."""

    ties: Literal["average", "stable"] = option(
        None,
        "Tied items share the mean of their positions, or keep the file's order.",
        default="average",
    )
    missing_relevance: Literal["error", "irrelevant"] = option(
        None, "A missing relevance is an error, or 0.", default="error"
    )
    max_groups: int | None = option(None, _MOST_GROUPS, min=1)


@dataclass(frozen=True)
class Ways(Shared):
    """How people are compared, beside the top of lists."""

    stages: str | None = option(
        "COLUMN,COLUMN",
        "Decisions one after the other, each about those who passed the one before.",
    )
    reference: list[str] | None = option(
        "COLUMN=GROUP",
        "Compare the groups of an attribute with this one instead of with everyone else; "
        "may be repeated.",
    )
    scored: bool = option(
        None,
        "Compare scores, too: rates above the median score, and gaps between means.",
        default=False,
    )
    against_score: str | None = option(
        COLUMN,
        "Column with the score (or the position, if positions define the order) of another ranking "
        "of the same rows, to compare with.",
    )


@dataclass(frozen=True)
class Heading(Shared):
    """What the top of a report shows: the options of every command that writes one."""

    title: str | None = option("TEXT", "Title of the report.")
    purpose: str | None = option("TEXT", "What the report is made for.")
    period: str | None = option("TEXT", "The time that the data cover.")
    author: str | None = option("TEXT", "Who made the report.")
    date: str | None = option(
        "YYYY-MM-DD", "Date of the report; by default that of SOURCE_DATE_EPOCH, else today."
    )


@dataclass(frozen=True)
class Reading(Shared):
    """How a file is read: the options of every command that reads one."""

    format: Literal["csv", "tsv", "parquet", "letor", "excel"] | None = option(
        None, "The format, if the extension does not show it."
    )
    encoding: str | None = option("NAME", "Encoding of a text, such as utf-8 or cp1252.")
    delimiter: str | None = option(
        "SIGN", "Delimiter of a text: a sign, or comma, semicolon, tab, bar or space."
    )
    decimal: str | None = option("comma|point", "Decimal sign; the other separates thousands.")
    columns: str | None = option(
        "NAME,NAME,...", "Names of all columns of a file without a line of names."
    )
    repeated: Literal["error", "number"] = option(
        None, "A column name that occurs again is an error, or becomes NAME.2.", default="error"
    )
    sheet: str | None = option("NAME", "Sheet of a workbook with several.")
    unknown: list[str] | None = option(
        "WORD,WORD,...",
        "Words for an unknown group, instead of n/a, unknown, ? and others; may be repeated.",
    )
    labels: str | None = option(
        "MAP.toml",
        'Names of labels, as in [sex] weiblich = "female"; "" means unknown.',
        mark=Read(),
    )
    keep_labels: bool = switch(
        "--keep-labels", "Keep labels that differ in case, and unknown words, as groups."
    )

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `read_file`."""
        values = asdict(self)
        if self.columns is not None:
            values["columns"] = _listed("--columns", [self.columns])
        if self.unknown:
            values["unknown"] = _listed("--unknown", self.unknown)
        return values | ({} if self.unknown else {"unknown": None})

    def options(self) -> "FileOptions":
        """Return the options without the format."""
        from ..io.file_options import FileOptions

        values = self.arguments()
        del values["format"]
        return FileOptions(**values)

    def read(self, file: str, **columns: Any) -> "RankingData":
        """Read a file and print how, with the reason of every guess."""
        from ..io.table_file import read_file

        data = read_file(file, **self.arguments(), **columns)
        show_source(data.source)
        return data

    def read_new(self, file: str, model: str, **how: Any) -> "tuple[Any, DataColumns, NewFile]":
        """Return a trained model, its columns, and what `read_new_file` reads for it."""
        from ..recipes.fit_recipe import check_features
        from ..recipes.new_file import load_trained, read_new_file, sees_groups

        ranker, columns = load_trained(model)
        how |= {"sensitive": sees_groups(ranker), "options": self.options()}
        read = read_new_file(file, self.format, columns, **how)
        show_source(read.data.source)
        check_features(read.data, ranker, file)
        return ranker, columns, read


def _listed(option: str, texts: Sequence[str]) -> list[str]:
    """Return the words of texts separated by commas; a word with a comma is in quotes."""
    try:
        return [word.strip() for row in csv.reader(texts, strict=True) for word in row]
    except csv.Error:
        raise CommandError(f"{option} must be words separated by commas, got {texts!r}") from None


def with_shared(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with the options of each parameter that is a class of shared options.

    The command receives an object of that class. The default of another parameter may be an
    `option`.
    """
    signature, hints = inspect.signature(command), get_type_hints(command, include_extras=True)
    keyword = inspect.Parameter.KEYWORD_ONLY
    shared: dict[str, type[Any]] = {}
    parameters = []
    for name, own in signature.parameters.items():
        kind = hints.get(name)
        if isinstance(kind, type) and issubclass(kind, Shared):
            shared[name] = kind
            types = get_type_hints(kind)
            parameters += [_parameter(each, types[each.name]) for each in fields(shared[name])]
        elif isinstance(own.default, Field):
            own.default.name = name
            parameters.append(_parameter(own.default, kind))
        else:
            parameters.append(own.replace(kind=keyword))

    def run(**values: Any) -> None:
        made = {
            name: kind(**{each.name: values.pop(each.name) for each in fields(kind)})
            for name, kind in shared.items()
        }
        command(**values, **made)

    run.__name__, run.__qualname__ = command.__name__, command.__qualname__
    run.__doc__, run.__module__ = command.__doc__, command.__module__
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return run


def _parameter(made: "Field[Any]", kind: Any) -> inspect.Parameter:
    """Return an option as a parameter."""
    return inspect.Parameter(
        made.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=made.default,
        annotation=Annotated[kind, *made.metadata["option"]],
    )


def cutoffs(text: str | None) -> list[int] | None:
    """Return the numbers of ``10,50``."""
    from ..core.inputs import natural

    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if not all(natural(part) > 0 for part in parts):
        raise CommandError(f"--k must be positive whole numbers, as in 10,50, got {text!r}")
    return [int(part) for part in parts]


def shown_names(texts: Sequence[str] | None) -> dict[str, dict[str, str]]:
    """Return the name of each group in sentences, by attribute.

    Examples
    --------
    >>> shown_names(["sex=female:women", "sex=male:men"])
    {'sex': {'female': 'women', 'male': 'men'}}
    """
    found: dict[str, dict[str, str]] = {}
    for text in texts or ():
        attribute, equals, rest = text.partition("=")
        group, colon, name = rest.rpartition(":")
        parts = [part.strip() for part in (attribute, group, name)]
        if not equals or not colon or not all(parts):
            raise CommandError(f"--shown must look like sex=female:women, got {text!r}")
        names = found.setdefault(parts[0], {})
        if names.setdefault(parts[1], parts[2]) != parts[2]:
            raise CommandError(f"--shown must name {parts[0]}={parts[1]} once, got {text!r} again")
    return found


def no_groups(file: str, reading: Reading) -> CommandError:
    """Return the error of a command without people's groups, which names the columns of a file."""
    from ..core.errors import listed
    from ..io.table_file import TableFile, format_of

    words = "--sensitive must name a column of people's groups"
    if os.path.isfile(file):
        kind = reading.format or format_of(file)
        if kind != "letor":
            words += f"; the file has {listed(TableFile(file, kind, reading.options()).columns)}"
    return CommandError(words)
