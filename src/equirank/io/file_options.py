"""Options that state how a file is read, checked once for every reader."""

import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from ..core.errors import DataError
from ..core.inputs import choose
from .label_words import LabelMap, LabelRules, label_rules
from .number_cells import DECIMALS, Decimal

__all__ = ["DELIMITERS", "FileOptions", "delimiter_word"]


#: The words that name a delimiter; white space of any length is one space.
DELIMITERS = {"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|", "space": " "}

#: The options that each kind of file has, beside those of labels.
_OF_KIND = {
    "csv": ("encoding", "delimiter", "decimal", "columns", "repeated"),
    "tsv": ("encoding", "delimiter", "decimal", "columns", "repeated"),
    "excel": ("sheet", "decimal", "columns", "repeated"),
    "parquet": (),
    "letor": (),
}
_OF_LABELS = ("unknown", "labels", "keep_labels", "bands")
_KIND_WORDS = {"csv": "CSV", "tsv": "TSV", "excel": "workbooks", "parquet": "Parquet"}
_KIND_WORDS |= {"letor": "LETOR"}


def delimiter_word(delimiter: str) -> str:
    """Return the word for a delimiter, or the delimiter in quotes."""
    return next((word for word, sign in DELIMITERS.items() if sign == delimiter), repr(delimiter))


@dataclass(frozen=True)
class FileOptions:
    """How a file is read; None is a guess, whose reason `Source` states.

    Attributes
    ----------
    encoding : str, optional
        The encoding of a text. None: by its byte-order mark, else UTF-8, else Windows-1252.
    delimiter : str, optional
        One character, or one of the words comma, semicolon, tab, bar and space (white space of any
        length).
    decimal : str, optional
        ``"comma"`` or ``"point"``, the decimal sign; the other sign may separate thousands.
    columns : sequence of str, optional
        The names of the columns, if the file has no line of names.
    repeated : {"error", "number"}
        A column name that occurs again is an error, or gets a number (``score.2``).
    sheet : str, optional
        The sheet of a workbook.
    unknown : sequence of str, optional
        Words for an unknown label.
    labels : mapping or path, optional
        For each attribute the name of each label, or a TOML file with such tables.
    keep_labels : bool
        Whether to keep labels that differ in case, and unknown words, as groups.
    bands : mapping, optional
        For each attribute of numbers where each band but the first begins.
    """

    encoding: str | None = None
    delimiter: str | None = None
    decimal: str | None = None
    columns: Sequence[str] | None = None
    repeated: str = "error"
    sheet: str | None = None
    unknown: Sequence[str] | str | None = None
    labels: LabelMap | str | os.PathLike[str] | None = None
    keep_labels: bool = False
    bands: Mapping[str, Sequence[float]] | None = None

    def __post_init__(self) -> None:
        """Check the options that no file is needed for."""
        if self.delimiter is not None:
            self._check_delimiter()
        if self.encoding is not None:
            self._check_encoding()
        if self.decimal is not None and self.decimal not in DECIMALS:
            raise DataError(f'decimal must be "comma" or "point", got {self.decimal!r}')
        choose("repeated", self.repeated, ("error", "number"))
        if self.columns is not None:
            self._check_columns()
        if self.sheet is not None and not isinstance(self.sheet, str):
            raise DataError(f"sheet must be the name of a sheet, got {self.sheet!r}")

    def _check_delimiter(self) -> None:
        sign = self.delimiter
        sign = DELIMITERS.get(sign, sign) if isinstance(sign, str) else sign
        if not isinstance(sign, str) or len(sign) != 1 or sign in '"\r\n\0':
            raise DataError(
                "delimiter must be one character, or comma, semicolon, tab, bar or space, got "
                f"{self.delimiter!r}"
            )
        object.__setattr__(self, "delimiter", sign)

    def _check_encoding(self) -> None:
        try:
            io.TextIOWrapper(io.BytesIO(), encoding=self.encoding).detach()
        except (LookupError, TypeError, ValueError):
            raise DataError(
                "encoding must be the name of a text encoding, such as utf-8 or cp1252, got "
                f"{self.encoding!r}"
            ) from None

    def _check_columns(self) -> None:
        given: Any = self.columns
        names = (given,) if isinstance(given, str) else tuple(given)
        for name in names:
            if not isinstance(name, str) or not name.strip():
                raise DataError(f"columns must name every column of the file, got {name!r}")
        names = tuple(name.strip() for name in names)
        twice = [name for at, name in enumerate(names) if name in names[:at]]
        if twice or not names:
            got = f"{twice[0]!r} twice" if twice else "none"
            raise DataError(f"columns must name each column of the file once, got {got}")
        object.__setattr__(self, "columns", names)

    @property
    def decimal_word(self) -> Decimal | None:
        """``"comma"``, ``"point"`` or None."""
        return None if self.decimal is None else DECIMALS[self.decimal]

    @cached_property
    def label_rules(self) -> LabelRules:
        """The rules for labels."""
        return label_rules(self.unknown, self.labels, self.keep_labels, self.bands)

    def check_kind(self, kind: str) -> None:
        """Raise if an option is given that has no effect on this kind of file."""
        for each in fields(self):
            given = getattr(self, each.name) not in (None, each.default)
            labels = each.name in _OF_LABELS and kind != "letor"
            if given and not labels and each.name not in _OF_KIND[kind]:
                raise DataError(
                    f"{each.name} must be omitted for {_KIND_WORDS[kind]}, which it has no effect "
                    "on"
                )
