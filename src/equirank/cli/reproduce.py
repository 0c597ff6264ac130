"""``equirank reproduce``: repeat a published study and compare its claims with the results."""

import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

import typer

from .console import CommandError, JsonOption, Written, errors_in_one_line, show_table, write_json

if TYPE_CHECKING:
    from ..core.table import Table

__all__ = ["find_reproductions", "reproduce"]


def find_reproductions(package: Path | None = None) -> Path | None:
    """Return the folder of the studies: in the installed package, else next to the sources.

    Examples
    --------
    >>> from pathlib import Path
    >>> find_reproductions(Path("/nowhere/src/equirank")) is None
    True
    """
    package = Path(__file__).resolve().parents[1] if package is None else package
    for folder in (package / "reproductions", package.parents[1] / "reproductions"):
        if (folder / "verdicts.py").is_file():
            return folder
    return None


def _studies() -> dict[str, Path]:
    """Return the script of each study by its name."""
    folder = find_reproductions()
    if folder is None:
        raise CommandError(
            "the reproductions are not part of this installation; in the source repository, run "
            "python reproductions/NAME/run.py"
        )
    return {path.parent.name: path for path in sorted(folder.glob("*/run.py"))}


def _complete_name(incomplete: str) -> list[str]:
    """Return the studies that begin with the incomplete word."""
    folder = find_reproductions()
    names = [] if folder is None else [path.parent.name for path in folder.glob("*/run.py")]
    return sorted(name for name in names if name.startswith(incomplete))


def reproduce(
    name: Annotated[
        str | None,
        typer.Argument(help="The study; --list shows all.", autocompletion=_complete_name),
    ] = None,
    listing: Annotated[
        bool, typer.Option("--list", help="List the studies and their folders.")
    ] = False,
    quick: Annotated[bool, typer.Option(help="Use synthetic data, in under a minute.")] = False,
    seeds: Annotated[int | None, typer.Option(min=1, help="Number of seeds.")] = None,
    part: Annotated[
        list[str] | None,
        typer.Option(metavar="PART", help="Only this part of the study; may be repeated."),
    ] = None,
    n_jobs: Annotated[int | None, typer.Option(help="Number of threads.")] = None,
    out: Annotated[
        Path | None,
        Written(lambda *_: (), folder=True),
        typer.Option(metavar="FOLDER", help="By default build/reproductions/NAME."),
    ] = None,
    stored: Annotated[
        bool, typer.Option("--stored", help="Show the stored full run, without running anything.")
    ] = False,
    draw: Annotated[
        Path | None,
        Written(lambda *_: (), folder=True),
        typer.Option(metavar="FOLDER", help="Only redraw the charts of this folder of results."),
    ] = None,
    json: JsonOption = None,
) -> None:
    """Repeat a published study: the published claims, our results, and a verdict on each.

    A full run needs the real data (in the folder EQUIRANK_DATA) and up to an hour on two cores;
    --quick uses synthetic data, which tests no claim about real data. The folder of results
    contains results.json, the tables as CSV and Markdown, and, if the extra 'report' is installed,
    charts and a page, report.html. --stored writes that folder from the full run that is kept with
    the study.

    Verdicts: confirmed; not confirmed; contradicted; not testable here, if the data are missing.

    --json lists objects with claim, published, ours, verdict and note; with --list: name, title and
    path.
    """
    with errors_in_one_line():
        from ..core.table import Table

        studies = _studies()
        if listing:
            table = Table(
                {
                    "name": list(studies),
                    "title": [_title(path) for path in studies.values()],
                    "path": [str(path.parent) for path in studies.values()],
                }
            )
            ending = ""
        else:
            if name is None or name not in studies:
                got = "" if name is None else f", got {name!r}"
                raise CommandError(f"NAME must be one of {', '.join(studies)}{got}")
            words = ["--quick"] if quick else []
            words += ["--stored"] if stored else []
            for option, value in (("seeds", seeds), ("n-jobs", n_jobs), ("out", out)):
                words += [] if value is None else [f"--{option}", str(value)]
            words += [] if draw is None else ["--draw", str(draw)]
            words += [word for chosen in part or () for word in ("--part", chosen)]
            table, ending = _run(studies[name], words)
        if json is not None:
            write_json(json, table.to_json())
        if json != "-":
            show_table(table)
            if ending:
                typer.echo(ending)


def _title(script: Path) -> str:
    """Return the title of a study, from its README."""
    lines = script.with_name("README.md").read_text(encoding="utf-8").splitlines()
    return lines[0].lstrip("# ").strip()


def _run(script: Path, words: list[str]) -> "tuple[Table, str]":
    """Run a study, and return a table of its verdicts and a sentence that counts them."""
    from contextlib import redirect_stdout
    from io import StringIO

    from ..core.table import Table

    module = _load(script)
    with redirect_stdout(StringIO()):
        results = module.main(words)
    rows = results["verdicts"]
    columns = {key: [row[key] for row in rows] for key in (rows[0] if rows else ())}
    found = [row["verdict"] for row in rows]
    counts = [f"{found.count(word)} {word}" for word in dict.fromkeys(found)]
    return Table(columns), f"{len(rows)} claims: {', '.join(counts)}"


def _load(script: Path) -> ModuleType:
    from importlib.util import module_from_spec, spec_from_file_location

    name = f"equirank_reproduction_{script.parent.name}"
    spec = spec_from_file_location(name, script)
    if spec is None or spec.loader is None:
        raise CommandError(f"{script}: cannot be loaded")
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
