"""Sections and parameters of numpydoc docstrings, and parameters that classes inherit."""

import re
from inspect import cleandoc
from textwrap import indent

__all__ = ["docstring_sections", "inherit_parameters", "join_sections", "parameter_entries"]


def docstring_sections(docstring: str | None) -> dict[str, list[str]]:
    """Split a docstring into lines by section; the text before the first is under ``""``."""
    found: dict[str, list[str]] = {"": []}
    title = ""
    lines = cleandoc(docstring or "").splitlines()
    for number, line in enumerate(lines):
        below = lines[number + 1] if number + 1 < len(lines) else ""
        if line and re.fullmatch("-{3,}", below) and len(below) == len(line):
            title = line
            found[title] = []
        elif not (re.fullmatch("-{3,}", line) and not found[title] and title):
            found[title].append(line)
    return found


def join_sections(sections: dict[str, list[str]]) -> str:
    """Return the docstring of these sections, indented as in a class body."""
    blocks = []
    for title, lines in sections.items():
        text = "\n".join(lines).strip()
        if text:
            blocks.append(f"{title}\n{'-' * len(title)}\n{text}" if title else text)
    return indent("\n\n".join(blocks), "    ").lstrip() + "\n    "


def parameter_entries(lines: list[str]) -> dict[str, str]:
    """Return the entry of each parameter of a section."""
    found: dict[str, str] = {}
    for entry in re.split(r"\n(?=\S)", "\n".join(lines).strip()):
        if entry:
            found |= dict.fromkeys(entry.partition(" : ")[0].split(", "), entry)
    return found


def inherit_parameters(cls: type, without: tuple[str, ...] = ()) -> None:
    """Add the parameters that base classes document, and the class does not, to its docstring."""
    if not cls.__doc__:
        return
    sections = docstring_sections(cls.__doc__)
    own = parameter_entries(sections.get("Parameters", []))
    inherited: dict[str, str] = {}
    for base in cls.__mro__[1:]:
        lines = docstring_sections(base.__doc__).get("Parameters", [])
        inherited = parameter_entries(lines) | inherited
    missing = [text for name, text in inherited.items() if name not in (*own, *without)]
    if missing:
        entries = "\n".join(dict.fromkeys([*own.values(), *missing])).splitlines()
        first = {"": sections[""], "Parameters": entries}
        cls.__doc__ = join_sections({**first, **sections, "Parameters": entries})
