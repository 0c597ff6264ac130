"""Putting the verdict together: the rules in the order of their sentences."""

from collections.abc import Callable
from math import isnan
from typing import Any

from ...core.table import Table
from ...reports.number_words import chance, joined, number, places, ratio
from ..tables.shape_tables import CHECK_WORDS, LEVEL
from .findings import Findings, group_words, moved
from .group_rules import (
    rule_attention,
    rule_intersections,
    rule_merit,
    rule_pairs,
    rule_positions,
    rule_selection,
)

__all__ = [
    "RULES",
    "make_verdict",
    "rule_change",
    "rule_not_measured",
    "rule_shapes",
    "rule_size",
    "rule_small",
    "rule_warnings",
]


#: Checks of shapes that no mean shows.
SHAPES = (
    *("bimodality.coefficient", "clustering.z", "tokenisation_index.index"),
    *("noisy_ranking.ratio", "arbitrary_treatment.difference"),
)

#: What the properties of the bench are, in words.
PROPERTIES = {
    "smooth distribution": "places that are spread unevenly",
    "tokenisation": "a few people of a group lifted while the others are dropped",
    "bimodality": "places gathered at both ends",
    "clustering": "places in clumps",
    "noisy ranking": "less exact places for one group",
    "arbitrary treatment": "places within a group dealt out without regard to merit",
    "class asymmetry": "a group moved down as a whole",
    "biased ground truth": "recorded merit that is itself distorted",
    "gerrymandering": "harm to a part of a group that the other part makes up for",
}


def rule_size(found: Findings) -> list[str]:
    """Say what was audited."""
    facts = found.facts
    length = facts["list_length"]
    if facts["n_queries"] == 1:
        lists = "one list"
    elif length["min"] == length["max"]:
        lists = f"{number(facts['n_queries'])} lists of {number(length['max'])}"
    else:
        lists = (
            f"{number(facts['n_queries'])} lists of {number(length['min'])} to "
            f"{number(length['max'])} (the middle one has {length['median']:,.0f})"
        )
    names = [each["name"] for each in found.attributes()]
    crossed = list(found.attributes(crossed=True))
    if crossed:
        names.append("their intersection" if len(crossed) == 1 else "their intersections")
    entries = "1 entry" if facts["n_rows"] == 1 else f"{number(facts['n_rows'])} entries"
    were = "was" if facts["n_rows"] == 1 else "were"
    return [f"{entries} in {lists} {were} audited by {joined(names)}."]


def rule_warnings(found: Findings) -> list[str]:
    """Repeat the warnings among the notes, since they bear on every other sentence."""
    return [f"Beware: {note['text']}" for note in found.notes if note["kind"] == "warning"]


def rule_small(found: Findings) -> list[str]:
    """Name the groups of single attributes that are too small for selection rates."""
    sentences = []
    for each in found.attributes():
        small = [g["name"] for g in each["groups"] if g["name"] in found.small(each["name"])]
        if small:
            one = len(small) == 1
            words = joined(small) if len(small) <= 6 else f"{', '.join(small[:5])} and others"
            sentences.append(
                f"The {'group' if one else 'groups'} {words} ({each['name']}) "
                f"{'is' if one else 'are'} too small for selection rates to be compared; the "
                "tables show the numbers."
            )
    return sentences


def rule_shapes(found: Findings) -> list[str]:
    """Say which shapes beyond the mean place are more than chance."""
    sentences = []
    for each in found.attributes():
        rows = [
            row
            for row in found.rows("checks", attribute=each["name"])
            if row["check"] in SHAPES and row["p_holm"] < LEVEL
        ]
        if rows:
            said = joined([CHECK_WORDS[row["check"]][1].rstrip(",") for row in rows])
            p = max(row["p_holm"] for row in rows)
            who = group_words(rows[0]["group"], each["name"])
            n_lists = rows[0]["n_queries"]
            lists = f" of {n_lists} lists" if n_lists > 1 else ""
            sentences.append(
                f"By the shape of their places, {who} are {said} than chance would have it "
                f"(permutation tests{lists}, {chance(p)} or less)."
            )
    return sentences


def rule_change(found: Findings) -> list[str]:
    """Say what changed against the other ranking: places of the groups spoken of, and quality."""
    against = found.facts["against"]
    if against is None:
        return []
    lead, sentences = f"Against {against['title']}, ", []
    for each in found.attributes():
        for group in found.spoken_of(each):
            where = {"attribute": each["name"], "metric": "PositionDifference", "group": group}
            for row in found.rows("comparison", **where):
                text = (
                    f"{lead}{group_words(group, each['name'])} stand {moved(row['value'])} than "
                    f"the others, and stood {moved(row['other'])} there"
                )
                sentences.append(text + _changed(found, row, "places"))
    for row in found.rows("comparison", attribute="")[:1]:
        text = (
            f"{lead}{row['metric']} is {ratio(row['value'])}, and was {ratio(row['other'])} there"
        )
        sentences.append(text + _changed(found, row, "points"))
    return sentences


def _changed(found: Findings, row: dict[str, float], unit: str) -> str:
    if isnan(row["low"]) or isnan(row["p_value"]):
        return ": with one shared list this audit cannot tell whether that is more than chance."
    low, high = row["low"], row["high"]
    word = "down" if row["difference"] > 0 else "up"
    if unit == "points":
        word = "more" if row["difference"] > 0 else "less"
        change = f"{abs(row['difference']):.2f} {word}"
        sure = f"{100 * found.level:g} % interval {low:+.2f} to {high:+.2f}"
    else:
        change = f"{places(abs(row['difference']))} {word}"
        sure = f"{100 * found.level:g} % interval {low:+.1f} to {high:+.1f} places"
    sure = f"{sure}; paired test {chance(row['p_holm'])}, corrected for all measures"
    if found.clear(low, high, row["p_holm"]):
        return f": {change} ({sure})."
    return f": whether that is a change, this audit cannot tell ({sure})."


def rule_not_measured(found: Findings) -> list[str]:
    """Name what was not measured."""
    facts, missing = found.facts, []
    if facts["has_relevance"]:
        missing.append("whether the recorded relevance is right")
    else:
        missing.append("whether more relevant people stand higher, since no relevance was given")
    names = [each["name"] for each in found.attributes()]
    if len(names) == 1:
        missing.append(f"any attribute but {names[0]}, and how it crosses with others")
    elif not any(found.attributes(crossed=True)):
        missing.append("how the attributes cross")
    if facts["n_queries"] == 1:
        missing.append("other lists than this one")
    missing.append("whether similar people are treated alike")
    unseen = _unseen(found)
    if unseen:
        missing.append(f"what no measure of this audit sees: {joined(unseen, 'or')}")
    return [f"Not measured: {'; '.join(missing)}."]


def _unseen(found: Findings) -> list[str]:
    """Return the properties that none of the measures of this audit detects."""
    rows = list(found.tables["blind_spots"])
    seen = {row["property"] for row in rows if row["detects"]}
    known = dict.fromkeys(row["property"] for row in rows)
    return [PROPERTIES.get(name, name) for name in known if name not in seen]


Rule = Callable[[Findings], list[str]]

#: Every sentence comes from one of these; none says more than its table does.
RULES: tuple[Rule, ...] = (
    rule_size,
    rule_warnings,
    rule_positions,
    rule_intersections,
    rule_selection,
    rule_attention,
    rule_merit,
    rule_pairs,
    rule_shapes,
    rule_change,
    rule_small,
    rule_not_measured,
)


def make_verdict(
    facts: dict[str, Any], tables: dict[str, Table], notes: list[dict[str, str]]
) -> list[str]:
    """Write the sentences, rule by rule."""
    found = Findings(facts, tables, notes)
    return [sentence for rule in RULES for sentence in rule(found)]
