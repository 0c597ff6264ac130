"""Options that tell more of groups: probabilities, errors of recording, verified labels."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .console import CommandError, Read
from .options import Shared, option

if TYPE_CHECKING:
    import numpy as np

    from ..core.attribute import LabelError
    from ..core.data import RankingData

__all__ = ["LabelKnowledge", "LabelOptions"]


def _matrix_file(value: str) -> Sequence[str]:
    return [value.partition("=")[2]]


@dataclass(frozen=True)
class LabelKnowledge(Shared):
    """The options that tell more of groups than a column of labels."""

    probabilities: list[str] | None = option(
        "COLUMN=GROUP:COLUMN,...",
        "Columns with the probability of each group, such as race=white:p_white,black:p_black; may "
        "be repeated.",
    )
    label_error: list[str] | None = option(
        "COLUMN=MATRIX.csv",
        "How groups were recorded: a file with the columns true, recorded, and probability or "
        "count; a further column is the stratum and has the name of a column of people.",
        mark=Read(_matrix_file),
    )
    true_label: list[str] | None = option(
        "COLUMN=COLUMN",
        "A column with verified groups, empty where nobody checked; may be repeated.",
    )
    checked_rate: float | None = option(
        None, "Probability of each person to be checked; by default the share checked."
    )

    def parsed(self) -> "LabelOptions":
        """Return what the options tell."""
        if self.checked_rate is not None and not self.true_label:
            raise CommandError("--checked-rate needs --true-label")
        return LabelOptions(
            {name: _groups(name, t) for name, t in _pairs("--probabilities", self.probabilities)},
            {name: read_matrix(file) for name, file in _pairs("--label-error", self.label_error)},
            dict(_pairs("--true-label", self.true_label)),
            self.checked_rate,
        )


@dataclass(frozen=True)
class LabelOptions:
    """What the options of a command tell, each by the name of the attribute.

    Attributes
    ----------
    probabilities : dict
        The column with the probability of each group.
    errors : dict
        The errors of recording, and the column of the strata, empty if there is one.
    verified : dict
        Column of verified labels.
    rate : float or None
        Probability to be checked.
    """

    probabilities: dict[str, dict[str, str]] = field(default_factory=dict)
    errors: dict[str, tuple["LabelError", str]] = field(default_factory=dict)
    verified: dict[str, str] = field(default_factory=dict)
    rate: float | None = None

    @property
    def names(self) -> list[str]:
        """The attributes that the options tell of."""
        return list({**self.probabilities, **self.errors, **self.verified})

    def columns(self, sensitive: Sequence[str], outcomes: Sequence[str]) -> dict[str, list[str]]:
        """Return the columns to read as groups and as other values."""
        for name in {**self.errors, **self.verified}:
            if name not in sensitive and name not in self.probabilities:
                raise CommandError(f"--sensitive must name {name!r}, of which other options tell")
        other = [c for each in self.probabilities.values() for c in each.values()]
        other += [stratum for _, stratum in self.errors.values() if stratum]
        return {
            "sensitive": [*sensitive, *self.verified.values()],
            "outcomes": list(dict.fromkeys([*outcomes, *other])),
        }

    def applied(self, data: "RankingData", outcomes: Sequence[str], file: str) -> "RankingData":
        """Return the data of a file with what the options tell, and without their columns."""
        from ..core.errors import DataError

        try:
            return self._applied(data, outcomes)
        except DataError as error:
            raise CommandError(f"{file}: {error}") from None

    def _applied(self, data: "RankingData", outcomes: Sequence[str]) -> "RankingData":
        from ..core.label_knowledge import STRATUM, TRUE, Knowledge, with_knowledge
        from ..core.unknown_words import folded

        for name in self.names:
            spelling = _spelling(data, name)
            told = {
                spelling.get(folded(group), group): _with_points(data, column)
                for group, column in self.probabilities.get(name, {}).items()
            }
            error, stratum = self.errors.get(name, (None, ""))
            if stratum:
                told[STRATUM] = data.to_original(data.outcomes[stratum])
            if name in self.verified:
                told[TRUE] = _spelt_alike(data, name, self.verified[name])
            rate = self.rate if name in self.verified else None
            data = with_knowledge(data, name, Knowledge(told, error, rate))
        kept = {n: a for n, a in data.sensitive.items() if n not in self.verified.values()}
        decided = {name: data.outcomes[name] for name in outcomes}
        return replace(data, sensitive=kept, outcomes=decided)


def _spelling(data: "RankingData", name: str) -> dict[str, Any]:
    """Return the groups of an attribute that were recorded, by their folded names."""
    from ..core.unknown_words import folded

    known = data.sensitive[name].categories if name in data.sensitive else ()
    return {folded(str(group)): group for group in known}


def _with_points(data: "RankingData", column: str) -> "np.ndarray":
    """Return probabilities, text with decimal points: a comma in a probability is a decimal one."""
    import numpy as np

    values = data.to_original(data.outcomes[column])
    if values.dtype.kind not in "OUT":
        return values
    changed = [each.replace(",", ".") if isinstance(each, str) else each for each in values]
    return np.array(changed, dtype=object)


def _spelt_alike(data: "RankingData", name: str, column: str) -> "np.ndarray":
    """Return verified labels with the spelling of the labels that were recorded."""
    import numpy as np

    from ..core.unknown_words import folded

    truth, spelling = data.sensitive[column], _spelling(data, name)
    names = np.empty(len(truth.categories) + 1, dtype=object)
    names[:-1] = [spelling.get(folded(str(group)), group) for group in truth.categories]
    return data.to_original(names[truth.codes])


def _pairs(option: str, texts: Sequence[str] | None) -> list[tuple[str, str]]:
    """Return attribute and value of each ``race=...``."""
    found = []
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not (name.strip() and equals and value.strip()):
            raise CommandError(f"{option} must be COLUMN=..., got {text!r}")
        found.append((name.strip(), value.strip()))
    names = [name for name, _ in found]
    twice = next((name for at, name in enumerate(names) if name in names[:at]), None)
    if twice is not None:
        raise CommandError(f"{option} must name each attribute once, got {twice!r} twice")
    return found


def _groups(name: str, text: str) -> dict[str, str]:
    """Return the column of each group of ``white:p_white,black:p_black``."""
    found: dict[str, str] = {}
    for part in next(csv.reader([text])):
        group, colon, column = part.partition(":")
        if not (group.strip() and colon and column.strip()):
            raise CommandError(
                f"--probabilities of {name!r} must be GROUP:COLUMN,GROUP:COLUMN, got {part!r}"
            )
        if group.strip() in found:
            raise CommandError(f"--probabilities of {name!r} must name {group.strip()!r} once")
        found[group.strip()] = column.strip()
    return found


def read_matrix(path: str) -> tuple["LabelError", str]:
    """Return the errors of recording in a file, and the name of its column of strata."""
    import numpy as np

    from ..core.attribute import LabelError

    header, rows = _table(path)
    kind = next((word for word in ("probability", "count") if word in header), None)
    other = [word for word in header if word not in ("true", "recorded", kind)]
    if kind is None or not {"true", "recorded"} <= set(header) or len(other) > 1:
        raise CommandError(
            f"{path}: the columns must be true, recorded, probability or count, and at most one of "
            f"strata, got {', '.join(header)}"
        )
    stratum = other[0] if other else ""
    groups = sorted({row[word] for _, row in rows for word in ("true", "recorded")})
    strata = sorted({row[stratum] for _, row in rows}) if stratum else [""]
    table = np.full((len(strata), len(groups), len(groups)), np.nan)
    for line, row in rows:
        at = strata.index(row[stratum]) if stratum else 0
        cell = at, groups.index(row["true"]), groups.index(row["recorded"])
        if not np.isnan(table[cell]):
            raise CommandError(f"{path}: line {line} repeats a pair of groups")
        table[cell] = _number(path, line, row[kind])
        if not 0 <= table[cell] <= (1 if kind == "probability" else np.inf):
            words = "a probability in [0, 1]" if kind == "probability" else "a count of at least 0"
            raise CommandError(f"{path}: line {line} must have {words}, got {row[kind]}")
    table = np.nan_to_num(table)  # a pair that is not listed was never recorded
    for at, each in np.ndindex(table.shape[:2]) if kind == "probability" else ():
        if abs(table[at, each].sum() - 1.0) > 1e-6:
            where = f" in {stratum} {strata[at]!r}" if stratum else ""
            raise CommandError(
                f"{path}: the probabilities of people who are {groups[each]!r}{where} must sum to "
                f"1, got {table[at, each].sum():g}"
            )
    options: dict[str, Any] = {"groups": groups, "strata": strata if stratum else None}
    if kind == "count":
        return LabelError(counts=table, **options), stratum
    return LabelError(table, **options), stratum


def _table(path: str) -> tuple[list[str], list[tuple[int, dict[str, str]]]]:
    """Return the column names and the rows of a small file, each with its line."""
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file, strict=True)
            found = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        words = error.strerror if isinstance(error, OSError) else error
        raise CommandError(f"{path}: cannot be read as CSV: {words}") from None
    if len(found) < 2:
        raise CommandError(f"{path}: must have a line of column names and a row")
    header = found[0][1]
    for line, row in found[1:]:
        if len(row) != len(header):
            raise CommandError(f"{path}: line {line} must have {len(header)} cells, got {len(row)}")
    return header, [(line, dict(zip(header, row, strict=True))) for line, row in found[1:]]


def _number(path: str, line: int, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise CommandError(f"{path}: line {line} must have a number, got {text!r}") from None
