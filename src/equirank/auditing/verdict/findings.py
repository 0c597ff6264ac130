"""What the rules of the verdict share: rows of tables, the name of a group, what is clear."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isnan
from typing import Any

from ...core.table import Table
from ...reports.number_words import chance, places, span

__all__ = ["Findings", "Row", "excludes", "group_words", "moved", "sureness"]


Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Findings:
    """What a verdict is made of."""

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
        """Go through the attributes that are crossed, or those that are not."""
        return (each for each in self.facts["attributes"] if each["crossed"] is crossed)

    def spoken_of(self, attribute: Row) -> list[str]:
        """Return the groups that are spoken of: the protected, else the focus."""
        return list(attribute["protected"]) or [attribute["focus"]]

    def small(self, attribute: str) -> set[str]:
        """Return the small cells of an attribute: groups that are one at every cutoff."""
        rows = self.rows("selection", attribute=attribute)
        large = {row["group"] for row in rows if not row["small_cell"]}
        return {row["group"] for row in rows} - large

    @property
    def level(self) -> float:
        """The level of the intervals."""
        return float(self.facts["level"])

    @property
    def lists(self) -> str:
        """Say how long lists are."""
        length = self.facts["list_length"]
        if self.facts["n_queries"] == 1:
            return f"the list of {length['max']:,}"
        if length["min"] == length["max"]:
            return f"lists of {length['max']:,}"
        return f"lists of about {length['median']:,.0f}"

    def rare(self, p: float) -> bool:
        """Return whether a p-value lies below what the level of the intervals leaves to chance."""
        return p < round(1.0 - self.level, 12)

    def clear(self, low: float, high: float, p: float, neutral: float = 0.0) -> bool:
        """Return whether interval and test both speak, as far as they were asked for.

        Where there is neither, nothing is clear.
        """
        known = [not isnan(low), not isnan(p)]
        sure = [excludes(low, high, neutral), self.rare(p)]
        return any(known) and all(s for k, s in zip(known, sure, strict=True) if k)


def excludes(low: float, high: float, neutral: float = 0.0) -> bool:
    """Return whether an interval lies on one side of the neutral value.

    Examples
    --------
    >>> excludes(0.5, 2.0), excludes(-0.5, 2.0), excludes(0.7, 0.9, neutral=1.0)
    (True, False, True)
    """
    return low > neutral or high < neutral


def group_words(group: str, attribute: str) -> str:
    """Name a group of people.

    Examples
    --------
    >>> group_words("female", "sex")
    'people of group female (sex)'
    """
    return f"people of group {group} ({attribute})"


def moved(value: float) -> str:
    """Say how far up or down.

    Examples
    --------
    >>> moved(6.3), moved(-1.0), moved(0.0)
    ('6.3 places lower', '1 place higher', 'at the same place')
    """
    text = places(abs(value))
    if text == "0 places":
        return "at the same place"
    return f"{text} {'lower' if value > 0 else 'higher'}"


def sureness(row: Row, level: float, n_groups: int = 2) -> str:
    """Return interval, p-value and detectable difference of a position difference."""
    low, high = row["position_difference_low"], row["position_difference_high"]
    parts = []
    if not isnan(low):
        if excludes(low, high):
            nearest, farthest = sorted((abs(low), abs(high)))
            parts.append(span(nearest, farthest, level))
        elif moved(low) == moved(high):
            parts.append(span(0.0, 0.0, level))
        else:
            parts.append(f"{100 * level:g} % interval {moved(low)} to {moved(high)}")
    if not isnan(row["p_holm"]):
        corrected = f", corrected for {n_groups} groups" if n_groups > 2 else ""
        parts.append(f"permutation test {chance(row['p_holm'])}{corrected}")
    if not isnan(row["detectable"]):
        seen = places(row["detectable"])
        parts.append(f"a difference of {seen} would have been seen with a chance of 80 %")
    return "; ".join(parts)
