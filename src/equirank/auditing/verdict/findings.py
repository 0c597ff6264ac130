"""The input of the verdict's rules, and the phrases that the rules share."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isnan
from typing import Any

from ...core.table import Table
from ...reports.number_words import confidence_interval, level_words, p_words, positions

__all__ = [
    "Findings",
    "Row",
    "certainty",
    "compared",
    "excludes",
    "group_words",
    "moved",
    "sentence_case",
]


Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Findings:
    """The facts, tables and notes of an audit."""

    facts: dict[str, Any]
    tables: dict[str, Table]
    notes: list[dict[str, str]]

    def rows(self, table: str, **where: Any) -> list[Row]:
        """Return the rows of a table that have these values."""
        return [
            row
            for row in self.tables[table]
            if all(row[name] == value for name, value in where.items())
        ]

    def attributes(self, crossed: bool = False) -> Iterator[Row]:
        """Return the attributes that are crossed, or those that are not."""
        return (each for each in self.facts["attributes"] if each["crossed"] is crossed)

    def reported(self, attribute: Row) -> list[str]:
        """Return the groups that sentences report: the protected ones, else the focus."""
        return list(attribute["protected"]) or [attribute["focus"]]

    def small(self, attribute: str) -> set[str]:
        """Return the groups of an attribute that are small cells at every cutoff."""
        rows = self.rows("selection", attribute=attribute)
        large = {row["group"] for row in rows if not row["small_cell"]}
        return {row["group"] for row in rows} - large

    @property
    def level(self) -> float:
        """The level of the confidence intervals."""
        return float(self.facts["level"])

    @property
    def lists(self) -> str:
        """The length of the lists, in words."""
        length = self.facts["list_length"]
        if self.facts["n_queries"] == 1:
            return f"the list of {length['max']:,}"
        if length["min"] == length["max"]:
            return f"lists of {length['max']:,}"
        return f"lists of about {length['median']:,.0f}"

    def rare(self, p: float) -> bool:
        """Return whether a p-value is below one minus the level."""
        return p < round(1.0 - self.level, 12)

    def clear(self, low: float, high: float, p: float, neutral: float = 0.0) -> bool:
        """Return whether the interval excludes the neutral value and the test rejects it.

        An interval or test that was not computed is ignored; without either nothing is clear.
        """
        known = [not isnan(low), not isnan(p)]
        certain = [excludes(low, high, neutral), self.rare(p)]
        return any(known) and all(c for k, c in zip(known, certain, strict=True) if k)


def excludes(low: float, high: float, neutral: float = 0.0) -> bool:
    """Return whether an interval excludes the neutral value.

    Examples
    --------
    >>> excludes(0.5, 2.0), excludes(-0.5, 2.0), excludes(0.7, 0.9, neutral=1.0)
    (True, False, True)
    """
    return low > neutral or high < neutral


def group_words(group: str, attribute: str) -> str:
    """Return the name of a group of people.

    Examples
    --------
    >>> group_words("female", "sex")
    'people in group "female" (sex)'
    """
    return f'people in group "{group}" ({attribute})'


def moved(value: float) -> str:
    """Return a difference in positions and its direction.

    Examples
    --------
    >>> moved(6.3), moved(-1.0), moved(0.0)
    ('6.3 positions lower', '1 position higher', 'no difference')
    """
    text = positions(abs(value))
    if text == "0 positions":
        return "no difference"
    return f"{text} {'lower' if value > 0 else 'higher'}"


def compared(value: float) -> str:
    """Return a difference in positions, compared with everyone else.

    Examples
    --------
    >>> compared(6.3), compared(0.0)
    ('6.3 positions lower than everyone else', 'at the same position as everyone else')
    """
    text = moved(value)
    if text == "no difference":
        return "at the same position as everyone else"
    return f"{text} than everyone else"


def certainty(row: Row, level: float, n_groups: int = 2) -> str:
    """Return the interval, the p-value and the detectable position difference, in brackets."""
    low, high = row["position_difference_low"], row["position_difference_high"]
    parts = []
    if not isnan(low):
        if excludes(low, high):
            nearest, farthest = sorted((abs(low), abs(high)))
            parts.append(confidence_interval(nearest, farthest, level))
        elif moved(low) == moved(high):
            parts.append(confidence_interval(0.0, 0.0, level))
        else:
            ends = f"{moved(low)} to {moved(high)}"
            parts.append(f"{level_words(level)} confidence interval {ends}")
    if not isnan(row["p_holm"]):
        corrected = f", corrected for {n_groups} groups" if n_groups > 2 else ""
        parts.append(f"permutation test {p_words(row['p_holm'])}{corrected}")
    if not isnan(row["detectable"]):
        detectable = positions(row["detectable"])
        parts.append(f"smallest difference detectable with 80% power: {detectable}")
    return f" ({'; '.join(parts)})" if parts else ""


def sentence_case(sentence: str) -> str:
    """Return a sentence with its first letter in upper case."""
    return sentence[:1].upper() + sentence[1:]
