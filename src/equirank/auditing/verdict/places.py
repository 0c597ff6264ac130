"""The rule about places: who appears lower or higher than the others, and by how much."""

from math import isnan

from ..wording import joined, places
from .reading import Findings, Row, group_words, moved, sureness

__all__ = ["position_sentence", "rule_intersections", "rule_positions"]

#: Of an attribute with many groups so many are spoken of.
MOST = 4


def rule_positions(found: Findings) -> list[str]:
    """Say for each attribute who stands lower or higher than the others, or that it is not clear.

    Of two groups one is spoken of, since the other is its mirror; where groups were called
    protected, those are; of more than two, those that are clear, farthest first, and the others
    together.
    """
    return [sentence for each in found.attributes() for sentence in _of_attribute(found, each)]


def rule_intersections(found: Findings) -> list[str]:
    """Say of each intersection which group stands farthest from the others, but for small cells."""
    sentences = []
    for each in found.attributes(crossed=True):
        small = found.small(each["name"])
        rows = [
            row
            for row in found.rows("groups", attribute=each["name"])
            if row["group"] not in small and not isnan(row["position_difference"])
        ]
        if each["protected"]:
            rows = [row for row in rows if row["protected"]]
        if rows:
            row = max(rows, key=lambda row: abs(row["position_difference"]))
            lead = f"Of the groups of {joined(each['by'])} together, "
            sentences.append(lead + position_sentence(found, row, "stand farthest from the others"))
    return sentences


def _of_attribute(found: Findings, each: Row) -> list[str]:
    rows = [row for row in found.rows("groups", attribute=each["name"]) if row["size"] > 0]
    if len(each["groups"]) <= 2 or each["protected"]:
        spoken = found.spoken_of(each)
        rows = [row for row in rows if row["group"] in spoken]
        return [_first_letter(position_sentence(found, row)) for row in rows]
    known = [row for row in rows if not isnan(row["position_difference"])]
    known.sort(key=lambda row: -abs(row["position_difference"]))
    clear = [row for row in known if _clear(found, row)]
    unclear = [row for row in known if not _clear(found, row)]
    sentences = [_first_letter(position_sentence(found, row)) for row in clear[:MOST]]
    if len(clear) > MOST:
        sentences.append(
            f"So do {len(clear) - MOST} more groups of {each['name']}, by fewer places; the table "
            "of groups has them all."
        )
    return sentences + _together(found, unclear, each["name"])


def _clear(found: Findings, row: Row) -> bool:
    low, high = row["position_difference_low"], row["position_difference_high"]
    return found.clear(low, high, row["p_holm"])


def position_sentence(found: Findings, row: Row, verb: str = "") -> str:
    """Say where one group stands against the others."""
    who = group_words(row["group"], row["attribute"])
    value = row["position_difference"]
    if isnan(value):
        return f"where {who} stand cannot be measured: no list holds them and others."
    n_groups = len(found.rows("groups", attribute=row["attribute"]))
    sure = sureness(row, found.level, n_groups)
    sure = f" ({sure})" if sure else ""
    if _clear(found, row):
        if verb:
            return f"{who} {verb}: on average {moved(value)} in {found.lists}{sure}."
        return f"{who} appear on average {moved(value)} than the others in {found.lists}{sure}."
    why = _why_unclear(found, row)
    return (
        f"whether {who} appear higher or lower than the others, this audit cannot tell: they stand "
        f"on average {moved(value)} in {found.lists}, {why}{sure}."
    )


def _why_unclear(found: Findings, row: Row) -> str:
    low, high = row["position_difference_low"], row["position_difference_high"]
    if isnan(low) and isnan(row["p_holm"]):
        return "and neither intervals nor tests were asked for"
    if low <= 0.0 <= high:
        return "and the interval holds 0"
    return "and chance alone may give as much"


def _together(found: Findings, rows: list[Row], attribute: str) -> list[str]:
    if not rows:
        return []
    if len(rows) == 1:
        return [_first_letter(position_sentence(found, rows[0]))]
    shown = [row["group"] for row in rows]
    words = (
        joined(shown) if len(shown) <= 6 else f"{', '.join(shown[:5])} and {len(shown) - 5} more"
    )
    able = [row["detectable"] for row in rows if not isnan(row["detectable"])]
    seen = ""
    if able:
        seen = (
            f"; a difference of {places(max(able))} would have been seen with a chance of 80 % in "
            "each of them"
        )
    return [
        f"Whether people of the groups {words} ({attribute}) appear higher or lower than the "
        f"others, this audit cannot tell: intervals hold 0, or chance alone may give as much{seen}."
    ]


def _first_letter(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]
