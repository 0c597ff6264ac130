"""The rules of the verdict, each of which writes the sentences about one question."""

from collections.abc import Callable
from math import isnan
from typing import Any

from ...core.table import Table
from ...reports.number_words import (
    confidence_interval,
    joined,
    level_words,
    number,
    p_words,
    percent,
    positions,
    quoted,
    ratio,
)
from ..tables.shape_tables import CHECK_WORDS, LEVEL
from .findings import Findings, Row, certainty, compared, group_words, moved, sentence_case

__all__ = ["RULES", "make_verdict"]


#: Clear differences that get a sentence each, per attribute.
MOST = 4

#: Checks of shapes that no mean shows.
SHAPES = (
    *("bimodality.coefficient", "clustering.z", "tokenisation_index.index"),
    *("noisy_ranking.ratio", "arbitrary_treatment.difference"),
)

#: The properties of the benchmark, in words.
PROPERTIES = {
    "smooth distribution": "positions that are spread unevenly",
    "tokenisation": "a few people of a group ranked high while the rest of the group is ranked low",
    "bimodality": "positions concentrated at both ends",
    "clustering": "positions in clusters",
    "noisy ranking": "less accurate positions for one group",
    "arbitrary treatment": "positions within a group that ignore merit",
    "class asymmetry": "a group moved down as a whole",
    "biased ground truth": "recorded relevance that is itself distorted",
    "gerrymandering": "harm to one part of a group that another part offsets",
}


def make_verdict(
    facts: dict[str, Any], tables: dict[str, Table], notes: list[dict[str, str]]
) -> list[str]:
    """Return the sentences of all rules."""
    found = Findings(facts, tables, notes)
    return [sentence for rule in RULES for sentence in rule(found)]


def rule_size(found: Findings) -> list[str]:
    """State what was audited."""
    facts = found.facts
    length = facts["list_length"]
    if facts["n_queries"] == 1:
        lists = "one list"
    elif length["min"] == length["max"]:
        lists = f"{number(facts['n_queries'])} lists of {number(length['max'])}"
    else:
        lists = (
            f"{number(facts['n_queries'])} lists ({number(length['min'])} to "
            f"{number(length['max'])} people each, median {length['median']:,.0f})"
        )
    names = [each["name"] for each in found.attributes()]
    crossed = list(found.attributes(crossed=True))
    if crossed:
        names.append("their intersection" if len(crossed) == 1 else "their intersections")
    people = "1 person" if facts["n_rows"] == 1 else f"{number(facts['n_rows'])} people"
    return [f"This audit covers {people} in {lists}, compared by {joined(names)}."]


def rule_warnings(found: Findings) -> list[str]:
    """Repeat the warnings among the notes, since they affect every other sentence."""
    return [f"Warning: {note['text']}" for note in found.notes if note["kind"] == "warning"]


def rule_positions(found: Findings) -> list[str]:
    """State for each attribute which groups rank lower or higher than everyone else.

    Of two groups one is reported, since the other mirrors it; protected groups are always reported.
    Of more than two, the clear ones are reported, largest difference first, then the unclear ones
    together.
    """
    return [sentence for each in found.attributes() for sentence in _of_attribute(found, each)]


def rule_intersections(found: Findings) -> list[str]:
    """State for each intersection which group differs most, small cells excluded."""
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
            lead = (
                f'Of the groups of {joined(each["by"])} combined, group "{row["group"]}" has the '
                "largest difference from everyone else"
            )
            if _clear(found, row):
                sentences.append(
                    f"{lead}: its people rank on average {moved(row['position_difference'])} in "
                    f"{found.lists}{_certainty(found, row)}."
                )
            else:
                unclear = "but the data do not show whether its people rank higher or lower"
                sentences.append(f"{lead}, {unclear}. {_estimate(found, row)}")
    return sentences


def _of_attribute(found: Findings, each: Row) -> list[str]:
    rows = [row for row in found.rows("groups", attribute=each["name"]) if row["size"] > 0]
    if len(each["groups"]) <= 2 or each["protected"]:
        reported = found.reported(each)
        return [_position_sentence(found, row) for row in rows if row["group"] in reported]
    known = [row for row in rows if not isnan(row["position_difference"])]
    known.sort(key=lambda row: -abs(row["position_difference"]))
    clear = [row for row in known if _clear(found, row)]
    unclear = [row for row in known if not _clear(found, row)]
    sentences = [_position_sentence(found, row) for row in clear[:MOST]]
    if len(clear) > MOST:
        sentences.append(
            f"{len(clear) - MOST} more groups of {each['name']} also differ, by fewer positions; "
            "the table of groups lists them all."
        )
    return sentences + _together(found, unclear, each["name"])


def _clear(found: Findings, row: Row) -> bool:
    low, high = row["position_difference_low"], row["position_difference_high"]
    return found.clear(low, high, row["p_holm"])


def _certainty(found: Findings, row: Row) -> str:
    return certainty(row, found.level, len(found.rows("groups", attribute=row["attribute"])))


def _position_sentence(found: Findings, row: Row) -> str:
    """Return the sentence about the position difference of one group."""
    who = group_words(row["group"], row["attribute"])
    value = row["position_difference"]
    if isnan(value):
        return (
            f"The position difference of {who} cannot be measured: no list contains both them and "
            "others."
        )
    if _clear(found, row):
        text = f"{who} rank on average {compared(value)} in {found.lists}{_certainty(found, row)}."
        return sentence_case(text)
    question = f"The data do not show whether {who} rank higher or lower than everyone else."
    return f"{question} {_estimate(found, row)}"


def _estimate(found: Findings, row: Row) -> str:
    """Return the sentence about an estimate that is not clear, and the reason."""
    low, high = row["position_difference_low"], row["position_difference_high"]
    if isnan(low) and isnan(row["p_holm"]):
        why = "and neither confidence intervals nor tests were requested"
    elif low <= 0.0 <= high:
        why = "and the confidence interval includes 0"
    else:
        why = "and chance alone could produce it"
    estimate = f"The estimate is {moved(row['position_difference'])} in {found.lists}"
    return f"{estimate}, {why}{_certainty(found, row)}."


def _together(found: Findings, rows: list[Row], attribute: str) -> list[str]:
    if len(rows) < 2:
        return [_position_sentence(found, row) for row in rows]
    names = quoted([row["group"] for row in rows])
    detectable = [row["detectable"] for row in rows if not isnan(row["detectable"])]
    power = ""
    if detectable:
        largest = positions(max(detectable))
        power = f" A difference of {largest} is detectable with 80% power in each of them."
    return [
        f"The data do not show whether people in groups {names} ({attribute}) rank higher or lower "
        "than everyone else: the confidence interval includes 0, or chance alone could produce the "
        f"difference.{power}"
    ]


def rule_selection(found: Findings) -> list[str]:
    """Compare how often a group is in the top k with the group selected most often.

    The smallest cutoff at which neither is a small cell is used. If the reported group is itself
    selected most often, the group selected least often is named.
    """
    useful = [k for k in found.facts["ks"] if k < found.facts["list_length"]["max"]]
    sentences = []
    for each in found.attributes():
        for k in useful:
            at_k = _selection_at(found, each, k)
            if at_k:
                sentences += at_k
                break
    return sentences


def _selection_at(found: Findings, each: Row, k: int) -> list[str]:
    rows = [
        row
        for row in found.rows("selection", attribute=each["name"], k=k)
        if not isnan(row["impact_ratio"]) and not row["small_cell"]
    ]
    best = [row for row in rows if row["reference"]]
    rest = [row for row in rows if not row["reference"]]
    if not best or not rest:
        return []
    named = [row for row in rest if row["group"] in found.reported(each)]
    named = named or [min(rest, key=lambda row: row["impact_ratio"])]
    return [_selected(found, row, best[0]) for row in named]


def _selected(found: Findings, row: Row, best: Row) -> str:
    low, high = row["ratio_low"], row["ratio_high"]
    who = group_words(row["group"], row["attribute"])
    text = (
        f"{percent(row['rate'])} of the {who} and {percent(best['rate'])} of those in group "
        f'"{best["group"]}" are in the top {row["k"]}: '
        f"{ratio(row['impact_ratio'])} times as often"
        f"{_brackets(found, low, high, float('nan'), 'times')}."
    )
    if not found.clear(low, high, float("nan"), 1.0):
        text += " The data do not show whether that is less often."
    return text


def rule_attention(found: Findings) -> list[str]:
    """Compare a group's share of exposure with its share of people.

    A difference is clear if the interval excludes the share of people and the permutation test
    rejects equality.
    """
    sentences: list[str] = []
    for each in found.attributes():
        for row in found.rows("groups", attribute=each["name"]):
            if row["group"] not in found.reported(each) or row["share"] == 1.0:
                continue
            low, high = row["exposure_low"], row["exposure_high"]
            p = row["exposure_p_holm"]
            meaning = "" if sentences else ", that is, of the expected attention"
            text = (
                f"{group_words(row['group'], row['attribute'])} are {percent(row['share'])} of all "
                f"people and receive {percent(row['exposure'])} of the exposure{meaning}"
                f"{_brackets(found, low, high, p, '%')}."
            )
            if not found.clear(low, high, p, row["share"]):
                text += " The data do not show whether that is more or less than their share."
            sentences.append(sentence_case(text))
    return sentences


def rule_merit(found: Findings) -> list[str]:
    """Compare a group's share of exposure with its share of recorded merit.

    For one list the test of disparate treatment must reject equality as well, since the interval
    is approximate.
    """
    sentences = []
    for each in found.attributes():
        for row in found.rows("exposure_merit", attribute=each["name"]):
            if row["group"] not in found.reported(each) or isnan(row["ratio"]):
                continue
            p = float("nan")
            if found.facts["n_queries"] == 1:
                p = _p_value(found, each["name"], "DisparateTreatment", row["group"])
            text = (
                f"By recorded relevance, {group_words(row['group'], each['name'])} have "
                f"{percent(row['merit_share'])} of the merit and "
                f"{percent(row['exposure_share'])} of the exposure, {ratio(row['ratio'])} times "
                f"their share{_brackets(found, row['low'], row['high'], p, 'times')}."
            )
            if not found.clear(row["low"], row["high"], p, 1.0):
                text += " The data do not show whether that is more or less than 1."
            sentences.append(text)
    return sentences


def _p_value(found: Findings, attribute: str, metric: str, group: str) -> float:
    """Return the p-value of a gap: the group's own, else that of the worst group."""
    rows = found.rows("gaps", attribute=attribute, metric=metric)
    own = [row for row in rows if row["group"] == group] or rows
    return float(own[0]["p_value"]) if own else float("nan")


def _brackets(found: Findings, low: float, high: float, p: float, unit: str) -> str:
    parts = [] if isnan(low) else [confidence_interval(low, high, found.level, unit)]
    parts += [] if isnan(p) else [f"permutation test {p_words(p)}"]
    return f" ({'; '.join(parts)})" if parts else ""


def rule_pairs(found: Findings) -> list[str]:
    """State how often more relevant people of a group rank above less relevant ones of others."""
    sentences = []
    for each in found.attributes():
        rows = [
            row
            for row in found.rows("pairwise", attribute=each["name"], kind="inter")
            if not isnan(row["accuracy"])
        ]
        tested = found.rows("gaps", attribute=each["name"], metric="GroupPairwiseAccuracy")
        if len(rows) < 2 or not tested:
            continue
        low = min(rows, key=lambda row: row["accuracy"])
        high = max(rows, key=lambda row: row["accuracy"])
        p = tested[0]["p_value"]
        test = "" if isnan(p) else f" (permutation test {p_words(p)})"
        text = (
            f"More relevant {group_words(low['group'], each['name'])} rank above less relevant "
            f"people in other groups in {percent(low['accuracy'])} of the pairs, those in group "
            f'"{high["group"]}" in {percent(high["accuracy"])}{test}.'
        )
        if not found.rare(p):
            text += " The data do not show whether that difference is more than chance."
        sentences.append(text)
    return sentences


def rule_shapes(found: Findings) -> list[str]:
    """State which patterns beyond the mean position are more than chance."""
    sentences = []
    for each in found.attributes():
        rows = [
            row
            for row in found.rows("checks", attribute=each["name"])
            if row["check"] in SHAPES and row["p_holm"] < LEVEL
        ]
        if rows:
            patterns = joined([CHECK_WORDS[row["check"]] for row in rows])
            p = max(row["p_holm"] for row in rows)
            who = group_words(rows[0]["group"], each["name"])
            n_lists = rows[0]["n_queries"]
            lists = f" on {n_lists} lists" if n_lists > 1 else ""
            sentences.append(
                f"By the distribution of their positions, {who} are {patterns} than expected by "
                f"chance (permutation tests{lists}, {p_words(p)} or less)."
            )
    return sentences


def rule_change(found: Findings) -> list[str]:
    """Compare positions and quality with those of the other ranking."""
    against = found.facts["against"]
    if against is None:
        return []
    there, sentences = f"in {against['title']}", []
    for each in found.attributes():
        for group in found.reported(each):
            where = {"attribute": each["name"], "metric": "PositionDifference", "group": group}
            for row in found.rows("comparison", **where):
                text = (
                    f"{group_words(group, each['name'])} rank {compared(row['value'])}, compared "
                    f"with {moved(row['other'])} {there}"
                )
                sentences.append(sentence_case(text) + _changed(found, row, "positions"))
    for row in found.rows("comparison", attribute="")[:1]:
        values = f"{ratio(row['value'])}, compared with {ratio(row['other'])}"
        sentences.append(f"{row['metric']} is {values} {there}{_changed(found, row, 'points')}")
    return sentences


def _changed(found: Findings, row: dict[str, float], unit: str) -> str:
    if isnan(row["low"]) or isnan(row["p_value"]):
        return ". With one shared list, the data do not show whether that is more than chance."
    low, high = row["low"], row["high"]
    rises = row["difference"] > 0
    if unit == "points":
        change = f"{abs(row['difference']):.2f} {'more' if rises else 'less'}"
        ends = f"{low:+.2f} to {high:+.2f}"
    else:
        change = f"{positions(abs(row['difference']))} {'down' if rises else 'up'}"
        ends = f"{low:+.1f} to {high:+.1f} positions"
    brackets = (
        f" ({level_words(found.level)} confidence interval {ends}; paired test "
        f"{p_words(row['p_holm'])}, corrected for all measures)."
    )
    if found.clear(low, high, row["p_holm"]):
        return f": {change}{brackets}"
    return f". The data do not show whether that is a change{brackets}"


def rule_small(found: Findings) -> list[str]:
    """Name the groups of single attributes that are too small for selection rates."""
    sentences = []
    for each in found.attributes():
        small = [g["name"] for g in each["groups"] if g["name"] in found.small(each["name"])]
        if small:
            sentences.append(
                f"{'Group' if len(small) == 1 else 'Groups'} {quoted(small)} ({each['name']}) "
                f"{'is' if len(small) == 1 else 'are'} too small for a reliable selection rate; "
                "the tables show the counts but do not compare them."
            )
    return sentences


def rule_not_measured(found: Findings) -> list[str]:
    """Name what was not measured."""
    facts, missing = found.facts, []
    if facts["has_relevance"]:
        missing.append("whether the recorded relevance is right")
    else:
        missing.append("whether more relevant people rank higher, since no relevance was given")
    names = [each["name"] for each in found.attributes()]
    if len(names) == 1:
        missing.append(f"attributes other than {names[0]}, and its intersections with them")
    elif not any(found.attributes(crossed=True)):
        missing.append("intersections of the attributes")
    if facts["n_queries"] == 1:
        missing.append("lists other than this one")
    missing.append("whether similar people are treated alike")
    undetected = _undetected(found)
    if undetected:
        missing.append(f"what no metric of this audit detects: {joined(undetected, 'or')}")
    return [f"Not measured: {'; '.join(missing)}."]


def _undetected(found: Findings) -> list[str]:
    """Return the properties that no metric of this audit detects."""
    rows = list(found.tables["blind_spots"])
    detected = {row["property"] for row in rows if row["detects"]}
    known = dict.fromkeys(row["property"] for row in rows)
    return [PROPERTIES.get(name, name) for name in known if name not in detected]


Rule = Callable[[Findings], list[str]]

#: Every sentence of the verdict comes from one of these rules, in this order.
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
