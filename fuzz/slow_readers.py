"""Slow readers that share no code with the library, to find lost, repeated and changed rows."""

import codecs
import gzip
import math
import re
from typing import Any

__all__ = [
    "csv_rows",
    "letor_rows",
    "number",
    "numbers",
    "same_numbers",
    "trec_rows",
    "unpacked",
]

MISSING = {"", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "<NA>"}


def unpacked(data: bytes) -> bytes:
    """Decompress gzip, recognised by its first two bytes."""
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def decoded(data: bytes) -> str:
    """Decode by the byte-order mark, else as UTF-8, else as Windows-1252."""
    if data.startswith((codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)):
        return data.decode("utf-32")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16")
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError:
        return data.decode("cp1252")


def csv_rows(data: bytes, delimiter: str) -> list[list[str]]:
    """Return the records of CSV, character by character; raise ValueError if it is not CSV.

    Names of columns are trimmed, and rows without any value are left out.
    """
    text = decoded(unpacked(data)) + "\n"
    rows, row, cell = [], [], []
    state = "start"  # of a cell; or within: plain, quoted, closed
    began = False  # whether the record has any character
    for sign in text:
        if state == "quoted":
            state = "closed" if sign == '"' else "quoted"
            cell += [] if sign == '"' else [sign]
        elif state == "closed" and sign == '"':
            state = "quoted"
            cell.append(sign)
        elif sign == delimiter:
            row.append("".join(cell))
            cell, state, began = [], "start", True
        elif sign in "\r\n":
            if began:
                rows.append([*row, "".join(cell)])
            row, cell, state, began = [], [], "start", False
        elif state == "closed":
            raise ValueError("a quote closes within a cell")
        elif state == "start" and sign == '"':
            state, began = "quoted", True
        else:
            cell.append(sign)
            state, began = "plain", True
    if state == "quoted":
        raise ValueError("the text ends within quotes")
    names = [[cell.strip() for cell in row] for row in rows[:1]]
    return names + [row for row in rows[1:] if len(row) == 1 or any(row)]


def numbers(cells: list[str]) -> list[float]:
    """Return a column as numbers; all cells may have decimal commas."""
    words = [cell.strip() for cell in cells]
    present = [word for word in words if word not in MISSING]
    if all(re.fullmatch(r"[+-]?[0-9]+(,[0-9]+)?", word, re.ASCII) for word in present):
        words = [word.replace(",", ".") for word in words]
    return [number(word) for word in words]


def number(cell: str) -> float:
    """Return a cell as a number: NaN if missing."""
    word = cell.strip()
    if word in MISSING:
        return math.nan
    if word.lower() in ("true", "false"):
        return float(word.lower() == "true")
    if "_" in word:
        raise ValueError(f"{word!r} is not a number")
    return float(word)


def same_numbers(a: Any, b: Any) -> bool:
    """Return whether two sequences of numbers are equal, NaN to NaN."""
    a, b = list(a), list(b)
    return len(a) == len(b) and all(
        x == y or (x != x and y != y) for x, y in zip(a, b, strict=True)
    )


def trec_rows(data: bytes) -> list[tuple[str, str, float]]:
    """Return query, document and score of each line of a TREC run."""
    lines = unpacked(data).removeprefix(b"\xef\xbb\xbf").split(b"\n")
    words = [line.split() for line in lines if line.split()]
    words = [each for each in words if each[0][:1] != b"#"]
    return [(each[0].decode(), each[2].decode(), float(each[4])) for each in words]


def letor_rows(data: bytes) -> list[tuple[float, int | None, dict[int, float]]]:
    """Return label, qid and features of each line of SVMlight text."""
    rows = []
    for raw in unpacked(data).removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        words = raw.split(b"#")[0].split()
        if not words:
            continue
        label, qid, features = float(words[0]), None, {}
        for at, word in enumerate(words[1:]):
            name, _, value = word.partition(b":")
            if name == b"qid" and at == 0:
                qid = int(value)
            else:
                features[int(name)] = float(value)
        rows.append((label, qid, features))
    return rows
