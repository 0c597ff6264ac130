"""Arguments and options that several commands share."""

from collections.abc import Sequence
from typing import Annotated, Literal

import typer

from .console import Read

__all__ = [
    "COLUMN",
    "FORMATS",
    "AuthorOption",
    "BootOption",
    "ConfigArgument",
    "DateOption",
    "FileArgument",
    "FormatOption",
    "FormulasOption",
    "IdOption",
    "LevelOption",
    "MaxGroupsOption",
    "MissingRelevanceOption",
    "MissingSensitiveOption",
    "ModelArgument",
    "PeriodOption",
    "PositionOption",
    "PurposeOption",
    "QueryOption",
    "RelevanceOption",
    "ScoreOption",
    "SensitiveOption",
    "TiesOption",
    "TitleOption",
    "TrainedQueryOption",
    "UnseenOption",
]


COLUMN = "COLUMN"
FORMATS = "CSV, TSV, Parquet or LETOR, recognised by its extension; .gz may follow."


def _data_of(config: str) -> Sequence[str]:
    """Return the data that a configuration names; none if it is invalid, which is said later."""
    import tomllib

    from ..recipes.config import data_path

    try:
        with open(config, "rb") as file:
            return [data_path(config, tomllib.load(file)["data"]["path"])]
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
FormatOption = Annotated[
    Literal["csv", "tsv", "parquet", "letor"] | None,
    typer.Option("--format", help="The format, if the extension does not show it."),
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
