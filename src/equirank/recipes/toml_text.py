"""TOML written from plain values, the line of a key in a TOML text, and lines for a shell."""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from ..core.errors import DataError

__all__ = ["line_of", "shell_line", "toml_key", "toml_value"]

#: Longer arrays have one value per line.
WIDTH = 88
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_HEADER = re.compile(r"\s*\[(\[?)\s*([^\]]+?)\s*\]")
_KEY = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)\s*[.=]""")


def toml_value(value: Any) -> str:
    r"""Return a truth, number, text, array or inline table in TOML, with the escapes of JSON.

    Examples
    --------
    >>> toml_value({"female": 0.4, "k": [10, 20]}), toml_value('a "b"')
    ('{ female = 0.4, k = [10, 20] }', '"a \\"b\\""')

    Raises
    ------
    DataError
        For a text with a lone surrogate, such as the name of a file that is not in UTF-8.
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        if any("\ud800" <= sign <= "\udfff" for sign in value):
            raise DataError(f"TOML must have text that UTF-8 can encode, got {value!a:.60}")
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return float.__repr__(value)
    if isinstance(value, Mapping):
        rows = [f"{toml_key(key)} = {toml_value(each)}" for key, each in value.items()]
        return f"{{ {', '.join(rows)} }}" if rows else "{}"
    rows = [toml_value(each) for each in value]
    flat = f"[{', '.join(rows)}]"
    return flat if len(flat) <= WIDTH else "[\n" + "".join(f"    {row},\n" for row in rows) + "]"


def toml_key(key: str) -> str:
    """Return a key, in quotes if it is not bare."""
    return key if _BARE.fullmatch(key) else toml_value(key)


def shell_line(*words: str) -> str:
    r"""Return words as one line of printable signs that a shell reads as the same words.

    A word with a sign that is not printable, such as a line break, is in ``$'...'``, which bash,
    zsh and ksh read, with the octal numbers of its bytes.

    Examples
    --------
    >>> print(shell_line("equirank", "run", "a b.csv", "a\n'b'.csv"))
    equirank run 'a b.csv' $'a\012\'b\'.csv'
    """
    return " ".join(map(_shell_word, words))


def _shell_word(word: str) -> str:
    if word.isprintable():
        return shlex.quote(word)
    signs = [
        "\\" + sign
        if sign in "\\'"
        else sign
        if sign.isprintable()
        else "".join(f"\\{byte:03o}" for byte in sign.encode("utf-8", "surrogateescape"))
        for sign in word
    ]
    return f"$'{''.join(signs)}'"


def line_of(text: str, table: Sequence[str], key: str = "", nth: int = 0) -> int:
    r"""Return the line of a key of a table, else of the table's header, else 1.

    Parameters
    ----------
    text : str
        The TOML text.
    table : sequence of str
        The names of the table; empty for keys before the first header.
    key : str
        The first part of the key, or of a subtable.
    nth : int
        Which of the tables of an array, from 0.

    Examples
    --------
    >>> line_of("a = 1\n[data]\nquery = 'q'\n", ["data"], "query")
    3
    """
    wanted, found, own, count = list(table), 1, not table, -1
    for number, line in enumerate(text.split("\n"), start=1):
        header = _HEADER.match(line)
        if header:
            parts = [part.strip().strip("\"'") for part in header[2].split(".")]
            count += parts == wanted and bool(header[1])
            inside = count in (nth, -1)
            own = parts == wanted and inside
            if own:
                found = number
            if wanted and parts[:-1] == wanted and parts[-1] == key and inside:
                return number
            if not wanted and parts[0] == key:
                return number
        elif own and key:
            name = _KEY.match(line)
            if name and name[1].strip("\"'") == key:
                return number
    return found
