"""Provenance: what a report was made from, by which command, with which settings, and when."""

import datetime
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from hashlib import file_digest
from typing import Any, TypedDict, Unpack

from ..core.data import RankingData
from ..core.environment import library_version
from ..core.errors import DataError
from ..core.keywords import shared_keywords
from ..core.source import IN_MEMORY

__all__ = [
    "NOT_GIVEN",
    "HeadingKeywords",
    "Provenance",
    "file_record",
    "report_date",
    "text_record",
]


#: What a report shows where the caller gave nothing.
NOT_GIVEN = "not given"
#: The longest text of a heading.
LONGEST = 1000
#: The address of an object in its words, which differs from run to run.
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


class HeadingKeywords(TypedDict, total=False):
    """What the caller writes at the top of a report.

    Parameters
    ----------
    title, purpose, period, author : str, optional
        For the report: its title, what it is for, the time that the data cover, and who made it.
    date : str or date, optional
        The date of the report, such as ``"2026-07-31"``; by default that of the environment
        variable ``SOURCE_DATE_EPOCH``, else today.
    """

    title: str | None
    purpose: str | None
    period: str | None
    author: str | None
    date: str | datetime.date | None


@dataclass(frozen=True)
class Provenance:
    """The record of how a report was made.

    Equal inputs, options, version and date have equal records, so their reports have equal bytes.

    Attributes
    ----------
    title, purpose, period, author : str
        What the caller wrote, else ``"not given"``.
    date : str
        The date of the report, such as ``"2026-07-31"``.
    version : str
        The version of equirank that computed the numbers.
    command : str
        The command line, with file names without folders and without the options that name
        outputs; ``"not given"`` in Python.
    files : tuple of dict
        One `file_record` per input.
    settings : dict
        The settings that the numbers depend on, with seed and draws.
    profile : dict or None
        The profile's ``id``, and the date on which it was ``checked``.

    Examples
    --------
    >>> record = Provenance.given(purpose="yearly review", date="2026-07-31")
    >>> record.purpose, record.author, record.date
    ('yearly review', 'not given', '2026-07-31')
    >>> Provenance.from_dict(record.to_dict()) == record
    True
    """

    title: str = NOT_GIVEN
    purpose: str = NOT_GIVEN
    period: str = NOT_GIVEN
    author: str = NOT_GIVEN
    date: str = NOT_GIVEN
    version: str = NOT_GIVEN
    command: str = NOT_GIVEN
    files: tuple[dict[str, Any], ...] = ()
    settings: dict[str, Any] = field(default_factory=dict)
    profile: dict[str, Any] | None = None

    @classmethod
    @shared_keywords(HeadingKeywords)
    def given(cls, **heading: Unpack[HeadingKeywords]) -> "Provenance":
        """Return the record of what the caller wrote, with date and version."""
        date = heading.pop("date")
        words: dict[str, Any] = {name: _text(name, value) for name, value in heading.items()}
        return cls(**words, date=report_date(date), version=library_version())

    def with_inputs(self, *inputs: RankingData | str, **settings: Any) -> "Provenance":
        """Return the record with further files and settings; a file occurs once.

        Parameters
        ----------
        *inputs : RankingData or path
            Data, or the path of a file that is not data, such as a configuration.
        **settings
            Settings that the numbers depend on.
        """
        files = list(self.files)
        for each in inputs:
            found = text_record(each) if isinstance(each, str) else file_record(each)
            files += [] if found in files else [found]
        return replace(self, files=tuple(files), settings=self.settings | _plain(settings))

    @property
    def heading(self) -> dict[str, str]:
        """What the top of a page shows below its title."""
        names = ("purpose", "period", "author", "date")
        return {name: getattr(self, name) for name in names}

    @property
    def setting_words(self) -> dict[str, str]:
        """The settings as a page shows them."""
        return {name: _words(value) for name, value in self.settings.items()}

    def to_dict(self) -> dict[str, Any]:
        """Return the record for JSON."""
        values = asdict(self)
        values["files"] = list(values["files"])
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Provenance":
        """Return the record that `to_dict` wrote."""
        known = dict(values)
        return cls(**known | {"files": tuple(known.get("files", ()))})


def report_date(date: str | datetime.date | None = None) -> str:
    """Return the date of a report: the one given, that of SOURCE_DATE_EPOCH, or today.

    Parameters
    ----------
    date : str or date, optional
        Such as ``"2026-07-31"``.

    Examples
    --------
    >>> report_date("2026-07-31")
    '2026-07-31'
    >>> report_date("July")
    Traceback (most recent call last):
    ...
    equirank.core.errors.DataError: date must be written as 2026-07-31, got 'July'
    """
    if date is None:
        return _today()
    if isinstance(date, datetime.date):
        return f"{date:%Y-%m-%d}"
    try:
        if len(date) != len("2026-07-31"):
            raise ValueError
        return datetime.date.fromisoformat(date).isoformat()
    except (ValueError, TypeError):
        raise DataError(f"date must be written as 2026-07-31, got {date!r}") from None


def _today() -> str:
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    if not seconds:
        return datetime.date.today().isoformat()
    try:
        moment = datetime.datetime.fromtimestamp(int(seconds), datetime.UTC)
    except (ValueError, OverflowError, OSError):
        raise DataError(
            f"the environment variable SOURCE_DATE_EPOCH must be seconds since 1970, got "
            f"{seconds!r}"
        ) from None
    return moment.date().isoformat()


def file_record(data: RankingData, rows_used: int | None = None) -> dict[str, Any]:
    """Return what is known of the file that data were read from.

    Parameters
    ----------
    data : RankingData
        The data; without a `Source` they are ``"in memory"`` and identified by a fingerprint.
    rows_used : int, optional
        The rows that the numbers are computed from; by default all rows of the data.

    Returns
    -------
    dict
        ``name``, ``sha256``, ``fingerprint`` (of data in memory), ``rows_read``, ``rows_used``,
        ``how`` (the file was read), ``columns`` (role, column and reason of each), ``labels``
        (attribute, label, rows and what the label became; null for unknown) and ``remarks``.
    """
    source = data.source
    used = data.n_rows if rows_used is None else rows_used
    known: dict[str, Any]
    if source is None or not source.sha256:
        known = {"name": IN_MEMORY, "sha256": None, "fingerprint": data.fingerprint()}
        read = data.n_rows
    else:
        known = {"name": os.path.basename(source.name), "sha256": source.sha256}
        known["fingerprint"] = None
        read = source.rows
    known |= {"rows_read": read, "rows_used": used}
    return known | {
        "how": {} if source is None else {str(key): str(v) for key, v in source.how.items()},
        "columns": []
        if source is None
        else [
            {"role": role, "column": str(column), "reason": str(reason)}
            for role, (column, reason) in source.columns.items()
        ],
        "labels": []
        if source is None
        else [
            {"attribute": name, "label": str(label), "rows": int(rows), "became": became}
            for name, found in source.labels.items()
            for label, rows, became in found
        ],
        "remarks": [] if source is None else list(source.remarks),
    }


def text_record(path: str) -> dict[str, Any]:
    """Return the record of a file without rows, such as a configuration."""
    with open(path, "rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
    known: dict[str, Any] = {"name": os.path.basename(path), "sha256": digest, "fingerprint": None}
    known |= {"rows_read": None, "rows_used": None, "how": {}, "columns": [], "labels": []}
    return known | {"remarks": []}


def _text(name: str, value: Any) -> str:
    if value is None:
        return NOT_GIVEN
    if not isinstance(value, str) or len(value) > LONGEST:
        what = f"{len(value):,} characters" if isinstance(value, str) else repr(value)
        raise DataError(f"{name} must be a text of at most {LONGEST:,} characters, got {what}")
    return value if value.strip() else NOT_GIVEN


def _words(value: Any) -> str:
    """Return a setting in words: ``"yes"``, ``"10, 50"``, ``"p = 0.5; k = 10"``."""
    if value is None or value in ([], {}):
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return "; ".join(f"{key} = {_words(each)}" for key, each in value.items())
    return ", ".join(map(_words, value)) if isinstance(value, list) else str(value)


def _plain(value: Any) -> Any:
    """Return a setting for JSON: numbers, texts, lists and mappings; all else in words."""
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted((_plain(each) for each in value), key=str)
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    value = value.item() if hasattr(value, "item") and getattr(value, "ndim", 1) == 0 else value
    if isinstance(value, float) and value not in (float("inf"), -float("inf")) and value == value:
        return value
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return ADDRESS.sub("", str(value))
