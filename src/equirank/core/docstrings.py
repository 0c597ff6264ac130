"""Sections of numpydoc docstrings, and the parameters and references that classes inherit."""

import re
from functools import cache
from inspect import cleandoc
from textwrap import indent

__all__ = ["docstring_sections", "inherit_parameters", "join_sections", "parameters"]


def docstring_sections(docstring: str | None) -> dict[str, list[str]]:
    """Split a docstring into lines by section; the text before the first is under ``""``."""
    return {title: list(lines) for title, lines in _sections(docstring).items()}


@cache
def _sections(docstring: str | None) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {"": []}
    title = ""
    lines = cleandoc(docstring or "").splitlines()
    for number, line in enumerate(lines):
        below = lines[number + 1] if number + 1 < len(lines) else ""
        if line and len(below) >= 3 and below == "-" * len(line):
            title = line
            found[title] = []
        elif not (title and not found[title] and line == "-" * len(title)):
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


def parameters(docstring: str | None) -> dict[str, str]:
    """Return the entry of each parameter that a docstring describes; joint entries are split."""
    return dict(_entries(docstring))


@cache
def _entries(docstring: str | None) -> dict[str, str]:
    found: dict[str, str] = {}
    text = "\n".join(_sections(docstring).get("Parameters", [])).strip()
    for entry in re.split(r"\n(?=\S)", text):
        head, _, body = entry.partition("\n")
        names, colon, kind = head.partition(" : ")
        for name in names.split(", ") if names else ():
            found[name] = f"{name}{colon}{kind}" + (f"\n{body.rstrip()}" if body else "")
    return found


def inherit_parameters(cls: type, without: tuple[str, ...] = ()) -> None:
    """Add what only base classes document, parameters and references, to a docstring."""
    if not cls.__doc__:
        return
    inherited: dict[str, str] = {}
    for base in reversed(cls.__mro__[1:]):
        inherited |= _entries(base.__doc__)
    own = parameters(cls.__doc__)
    entries = own | {name: text for name, text in inherited.items() if name not in (*own, *without)}
    sections = docstring_sections(cls.__doc__)
    examples = {"Examples": sections.pop("Examples", [])}
    for base in reversed(cls.__mro__[1:]) if "References" not in sections else ():
        references = _sections(base.__doc__).get("References")
        sections |= {"References": references} if references else {}
    sections = {"": sections.pop(""), "Parameters": []} | sections | examples
    cls.__doc__ = join_sections(sections | {"Parameters": list(entries.values())})
