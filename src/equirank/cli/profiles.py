"""``equirank profiles``: list the profiles of laws and guidelines, or show one."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .console import JsonOption, Read, errors_in_one_line, printable, show_table, write_json

if TYPE_CHECKING:
    from ..auditing.profiles.profile import Profile

__all__ = ["profiles"]


def _complete_profile(incomplete: str) -> list[str]:
    from ..auditing.profiles.profile import profile_names

    return [name for name in profile_names() if name.startswith(incomplete)]


def profiles(
    profile: Annotated[
        str | None,
        Read(),
        typer.Argument(
            metavar="PROFILE",
            help="The id of a profile, or a file that ends in .toml.",
            autocompletion=_complete_profile,
        ),
    ] = None,
    json: JsonOption = None,
) -> None:
    """List the profiles: what laws and guidelines ask to be shown, and when that was checked.

    With PROFILE, one profile is shown whole: citation, status, attributes, tables, thresholds,
    text, what it does not cover, and the sources, each with whether it was read. A file of your
    own is checked and shown in the same way.

    A year after the date of the check a warning is printed. A profile describes; it is no legal
    advice.

    --json lists objects with the keys of the file and warning (empty, or that the check is old).
    """
    with errors_in_one_line():
        from datetime import date

        from ..auditing.profiles.profile import load_profile, profile_names

        names = profile_names() if profile is None else [profile]
        found = [load_profile(name) for name in names]
        warnings = [each.outdated(date.today()) for each in found]
        if json is not None:
            from json import dumps

            rows = [
                asdict(each) | {"warning": warning}
                for each, warning in zip(found, warnings, strict=True)
            ]
            write_json(json, dumps(rows, ensure_ascii=False, default=str))
        if json != "-":
            _show_one(found[0]) if profile is not None else _show_list(found)
            for warning in filter(None, warnings):
                typer.echo(f"warning: {printable(warning)}", err=True)


def _show_list(found: list["Profile"]) -> None:
    from ..core.table import Table

    rows = {
        "id": [each.id for each in found],
        "checked": [str(each.checked) for each in found],
        "title": [each.title for each in found],
        "status": [each.status for each in found],
    }
    show_table(Table(rows))


def _show_one(profile: "Profile") -> None:
    """Print all parts of a profile."""
    facts: dict[str, Any] = {
        "id": profile.id,
        "citation": profile.citation,
        "status": profile.status,
        "applies from": profile.applies_from,
        "checked": profile.checked,
        "reference": profile.reference
        if isinstance(profile.reference, str)
        else ", ".join(f"{name}={group}" for name, group in profile.reference.items()),
        "small share": f"{100 * profile.small_share:g}%" if profile.small_share else "none",
        "unknown": profile.unknown,
    }
    lines = [profile.title, ""]
    lines += [f"{name}: {value}" for name, value in facts.items()]
    lines += ["", profile.text]
    parts = {
        "attributes": [
            f"{each.name} (columns: {', '.join(each.columns)})" for each in profile.attributes
        ],
        "tables": [
            f"{' x '.join(each.by)}: {' or '.join(each.rates)} rate"
            + (f"; {', '.join(each.statistics)}" if each.statistics else "")
            for each in profile.tables
        ],
        "thresholds": [
            f"{each.number:g}: {each.words} ({each.whose})" for each in profile.thresholds
        ]
        or ["none"],
        "not covered": list(profile.not_covered),
        "sources": [f"{each.where}: {each.states} [{each.verified}]" for each in profile.sources],
    }
    for name, entries in parts.items():
        lines += ["", f"{name}:", *(f"- {entry}" for entry in entries)]
    typer.echo("\n".join(printable(line) if line else "" for line in "\n".join(lines).split("\n")))
