"""Arguments and options that several commands share, each declared once.

An option of files or columns has the name of an argument of `equirank.io.read_file`.
"""

import csv
import inspect
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

from .console import CommandError, Read, show_source

if TYPE_CHECKING:
    from ..core.data import RankingData
    from ..io.file_options import FileOptions

__all__ = [
    "COLUMN",
    "FORMATS",
    "AuthorOption",
    "BootOption",
    "ConfigArgument",
    "CostOption",
    "DateOption",
    "FileArgument",
    "FormulasOption",
    "IdOption",
    "LevelOption",
    "MaxGroupsOption",
    "MissingRelevanceOption",
    "MissingSensitiveOption",
    "ModelArgument",
    "PeriodOption",
    "PositionOption",
    "ProtectedOption",
    "PurposeOption",
    "QueryOption",
    "Reading",
    "RelevanceOption",
    "ScoreOption",
    "SensitiveOption",
    "ShownOption",
    "TiesOption",
    "TitleOption",
    "TrainedQueryOption",
    "UnseenOption",
    "shown_names",
    "with_reading",
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
QueryOption = Annotated[
    str | None, typer.Option(metavar=COLUMN, help="Column with the list of each row.")
]
TrainedQueryOption = Annotated[
    str | None,
    typer.Option(metavar=COLUMN, help="Column of lists, if its name differs from training."),
]
ScoreOption = Annotated[
    str | None, typer.Option(metavar=COLUMN, help="Column of scores; higher is first.")
]
PositionOption = Annotated[
    str | None,
    typer.Option(metavar=COLUMN, help="Column of given positions from 1; 0 is not shown."),
]
RelevanceOption = Annotated[
    str | None, typer.Option(metavar=COLUMN, help="Column of relevance, at least 0.")
]
SensitiveOption = Annotated[
    list[str] | None,
    typer.Option(metavar=COLUMN, help="Column of people's groups; may be repeated."),
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
TiesOption = Annotated[
    Literal["average", "stable"],
    typer.Option(help="Tied items share the mean of their positions, or keep the file's order."),
]
MaxGroupsOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Most groups of a column; by default 100, or 20 if they are numbers or more than a "
        "tenth of the rows.",
    ),
]
TitleOption = Annotated[str | None, typer.Option(metavar="TEXT", help="Title of the report.")]
PurposeOption = Annotated[
    str | None, typer.Option(metavar="TEXT", help="What the report is made for.")
]
PeriodOption = Annotated[
    str | None, typer.Option(metavar="TEXT", help="The time that the data cover.")
]
AuthorOption = Annotated[str | None, typer.Option(metavar="TEXT", help="Who made the report.")]
DateOption = Annotated[
    str | None,
    typer.Option(
        metavar="YYYY-MM-DD",
        help="Date of the report; by default that of SOURCE_DATE_EPOCH, else today.",
    ),
]
UnseenOption = Annotated[
    Literal["error", "missing"] | None,
    typer.Option(
        help="A category or group that training did not contain is an error, or missing; by "
        "default as in training.",
    ),
]
MissingRelevanceOption = Annotated[
    Literal["error", "irrelevant"],
    typer.Option(help="A missing relevance is an error, or 0."),
]
MissingSensitiveOption = Annotated[
    Literal["error", "unknown", "category"],
    typer.Option(help="A missing group is an error, an unknown label, or a separate group."),
]


@dataclass(frozen=True)
class Reading:
    """How a file is read: the options of every command that reads one."""

    format: Annotated[
        Literal["csv", "tsv", "parquet", "letor", "excel"] | None,
        typer.Option("--format", help="The format, if the extension does not show it."),
    ] = None
    encoding: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Encoding of a text, such as utf-8 or cp1252."),
    ] = None
    delimiter: Annotated[
        str | None,
        typer.Option(
            metavar="SIGN",
            help="Delimiter of a text: a sign, or comma, semicolon, tab, bar or space.",
        ),
    ] = None
    decimal: Annotated[
        str | None,
        typer.Option(metavar="comma|point", help="Decimal sign; the other separates thousands."),
    ] = None
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,NAME,...", help="Names of all columns of a file without a line of names."
        ),
    ] = None
    repeated: Annotated[
        Literal["error", "number"],
        typer.Option(help="A column name that occurs again is an error, or becomes NAME.2."),
    ] = "error"
    sheet: Annotated[
        str | None, typer.Option(metavar="NAME", help="Sheet of a workbook with several.")
    ] = None
    unknown: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WORD,WORD,...",
            help="Words for an unknown group, instead of n/a, unknown, ? and others; may be "
            "repeated.",
        ),
    ] = None
    labels: Annotated[
        str | None,
        Read(),
        typer.Option(
            metavar="MAP.toml",
            help='Names of labels, as in [sex] weiblich = "female"; "" means unknown.',
        ),
    ] = None
    keep_labels: Annotated[
        bool,
        typer.Option(
            "--keep-labels", help="Keep labels that differ in case, and unknown words, as groups."
        ),
    ] = False

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


def _listed(option: str, texts: Sequence[str]) -> list[str]:
    """Return the words of texts separated by commas; a word with a comma is in quotes."""
    try:
        return [word.strip() for row in csv.reader(texts, strict=True) for word in row]
    except csv.Error:
        raise CommandError(f"{option} must be words separated by commas, got {texts!r}") from None


def with_reading(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with the options of `Reading`, which it receives as ``reading``."""
    hints = get_type_hints(Reading, include_extras=True)
    signature = inspect.signature(command)
    keyword = inspect.Parameter.KEYWORD_ONLY
    added = [
        inspect.Parameter(each.name, keyword, default=each.default, annotation=hints[each.name])
        for each in fields(Reading)
    ]
    own = [each for each in signature.parameters.values() if each.name != "reading"]
    parameters = [each.replace(kind=keyword) for each in own] + added

    def run(**values: Any) -> None:
        reading = Reading(**{each.name: values.pop(each.name) for each in added})
        command(**values, reading=reading)

    run.__name__, run.__qualname__ = command.__name__, command.__qualname__
    run.__doc__, run.__module__ = command.__doc__, command.__module__
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return run


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
