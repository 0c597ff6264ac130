"""``equirank run``: repeat a recipe of the studio, byte for byte as it downloads."""

import os
from typing import Annotated

import typer

from .console import (
    CommandError,
    Read,
    Written,
    counted,
    errors_in_one_line,
    printable,
    require_report_extra,
    writing,
)

__all__ = ["run"]


def run(
    recipe: Annotated[
        str, Read(), typer.Argument(metavar="RECIPE", help="A recipe that the studio wrote.")
    ],
    data: Annotated[
        str, Read(), typer.Option(metavar="FILE", help="The file that the recipe is about.")
    ],
    out: Annotated[str, Written(), typer.Option(metavar="FOLDER", help="The folder to write to.")],
    against: Annotated[
        str | None,
        Read(),
        typer.Option(metavar="FILE", help="The file compared with, if the recipe names one."),
    ] = None,
) -> None:
    """Repeat a recipe: write the report, the numbers and the re-ranked lists.

    The folder gets report.html and numbers.json of the given order; with a remedy also
    remedy-report.html, remedy-numbers.json and list.csv, and kept-1-list.csv of each kept setting.
    With the same version and file they are byte for byte those that the studio downloads. A file
    with another hash than that of the recipe is a warning.
    """
    with errors_in_one_line():
        from ..io.files import replacing
        from ..recipes.recipe import read_recipe
        from ..recipes.recipe_run import RecipeRun

        require_report_extra()
        with open(recipe, "rb") as file:
            made = RecipeRun(read_recipe(file.read(), recipe), data, against)
        if os.path.exists(out) and not os.path.isdir(out):
            raise CommandError(f"{out}: must be a folder, got a file")
        typer.echo(f"{printable(data)}: {counted(made.data)}")
        files = dict(made.files())  # all of them, before the first is written
        with writing(out):
            os.makedirs(out, exist_ok=True)
        for name, content in files.items():
            path = os.path.join(out, name)
            with writing(path), replacing(path) as stream:
                stream.write(content)
            typer.echo(f"written: {printable(path)}")
