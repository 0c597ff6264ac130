"""Sections of numpydoc docstrings, and the parameters and references that classes inherit."""

import re
from collections.abc import Callable, Iterable
from functools import cache
from inspect import cleandoc, signature
from textwrap import indent
from typing import Any, TypeVar

__all__ = [
    "complete",
    "describe_as",
    "docstring_sections",
    "inherit_parameters",
    "join_sections",
    "parameters",
]

T = TypeVar("T", bound=Callable[..., Any])


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


def complete(
    docstring: str | None,
    names: Iterable[str],
    others: Iterable[Any],
    sections: Iterable[str] = (),
) -> str:
    """Return a docstring with what only those of others have, in the order of the names.

    Added are the parameters that are named, and the ``sections``. An other is an object, or a
    docstring.
    """
    own, shared, found = parameters(docstring), dict[str, str](), dict[str, list[str]]()
    for other in others:
        text = other if isinstance(other, str) else other.__doc__
        shared |= _entries(text)
        known = _sections(text)
        found |= {title: known[title] for title in sections if title in known}
    described = dict.fromkeys(name for name in (*names, *own) if name in own or name in shared)
    entries = _joined({name: own.get(name) or shared[name] for name in described})
    given = docstring_sections(docstring)
    examples = {"Examples": given.pop("Examples", [])}
    head = {"": given.pop(""), "Parameters": entries}
    return join_sections(head | found | (given | {"Parameters": entries}) | examples)


def _joined(entries: dict[str, str]) -> list[str]:
    """Return the entries; neighbours with the same text are one entry, as they were written."""
    joined: dict[str, list[str]] = {}
    previous = None
    for name, entry in entries.items():
        text = entry.removeprefix(name)
        if text != previous or not text:
            key, previous = f"{name}{text}", text
            joined[key] = []
        joined[key].append(name)
    return [", ".join(names) + key.removeprefix(names[0]) for key, names in joined.items()]


def describe_as(*others: Any, sections: tuple[str, ...] = ()) -> Callable[[T], T]:
    r"""Return a decorator that adds to a docstring the parameters that others describe.

    Examples
    --------
    >>> def first(k):
    ...     '''Return the first k.
    ...
    ...     Parameters
    ...     ----------
    ...     k : int
    ...         How many.
    ...     '''
    >>> @describe_as(first)
    ... def last(k):
    ...     '''Return the last k.'''
    >>> parameters(last.__doc__)
    {'k': 'k : int\n    How many.'}
    """

    def describe(function: T) -> T:
        if function.__doc__:
            names = signature(function).parameters
            function.__doc__ = complete(function.__doc__, names, others, sections)
        return function

    return describe
