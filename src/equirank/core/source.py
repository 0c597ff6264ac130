"""Source: the file that data were read from, how it was read, and what was changed."""

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["IN_MEMORY", "Source"]


#: Name of the source of data that no file contains.
IN_MEMORY = "in memory"


@dataclass(frozen=True)
class Source:
    """The record of a file that was read.

    Attributes
    ----------
    name : str
        Name of the file, without its folder.
    sha256 : str
        Digest of its bytes, in hexadecimal.
    rows : int
        Number of rows read.
    how : mapping of str to str
        How the bytes were read, such as ``{"format": "csv", "encoding": "UTF-8"}``; a guess
        includes its reason.
    columns : mapping of str to tuple of str
        For each role its column, and ``"named"`` or the reason why it was chosen.
    labels : mapping of str to tuple
        For each attribute the labels of the file: label, number of rows, and what it became (None:
        unknown).
    remarks : tuple of str
        Everything else that was changed or assumed, one sentence each.
    """

    name: str
    sha256: str
    rows: int
    how: Mapping[str, str] = field(default_factory=dict)
    columns: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    labels: Mapping[str, tuple[tuple[str, int, str | None], ...]] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
