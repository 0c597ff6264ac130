"""The rule about places: who appears lower or higher than the others, and by how much."""

from math import isnan

from ...reports.number_words import chance, joined, percent, places, ratio, span
from .findings import Findings, Row, group_words, moved, sureness

__all__ = [
    "position_sentence",
    "rule_attention",
    "rule_intersections",
    "rule_merit",
    "rule_pairs",
    "rule_positions",
    "rule_selection",
]


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


def rule_attention(found: Findings) -> list[str]:
    """Say what share of the attention a group draws, beside its share of all.

    It is clear where the interval leaves out the share of all and the permutation test speaks, too.
    """
    sentences = []
    for each in found.attributes():
        for row in found.rows("groups", attribute=each["name"]):
            if row["group"] not in found.spoken_of(each) or row["share"] == 1.0:
                continue
            low, high = row["exposure_low"], row["exposure_high"]
            p = row["exposure_p_holm"]
            text = (
                f"{group_words(row['group'], row['attribute'])} are {percent(row['share'])} of all "
                f"entries and get {percent(row['exposure'])} of the attention that places draw"
                f"{_sure(found, low, high, p, '%')}"
            )
            if not found.clear(low, high, p, row["share"]):
                text += ": whether that is more or less than their share, this audit cannot tell"
            sentences.append(f"{text[0].upper()}{text[1:]}.")
    return sentences


def rule_merit(found: Findings) -> list[str]:
    """Say how the attention of a group compares with its recorded merit.

    Of one list the test of disparate treatment must speak, too, since its interval is rough.
    """
    sentences = []
    for each in found.attributes():
        for row in found.rows("exposure_merit", attribute=each["name"]):
            if row["group"] not in found.spoken_of(each) or isnan(row["ratio"]):
                continue
            p = float("nan")
            if found.facts["n_queries"] == 1:
                p = _p_value(found, each["name"], "DisparateTreatment", row["group"])
            text = (
                f"Against the recorded relevance, {group_words(row['group'], each['name'])} have "
                f"{percent(row['merit_share'])} of the merit and "
                f"{percent(row['exposure_share'])} of the attention, {ratio(row['ratio'])} times "
                f"their share{_sure(found, row['low'], row['high'], p, 'times')}"
            )
            if not found.clear(row["low"], row["high"], p, 1.0):
                text += "; whether that is more or less than 1, this audit cannot tell"
            sentences.append(f"{text}.")
    return sentences


def _p_value(found: Findings, attribute: str, metric: str, group: str) -> float:
    """Return the p-value of a gap: the group's own, else that of the worst group."""
    rows = found.rows("gaps", attribute=attribute, metric=metric)
    own = [row for row in rows if row["group"] == group] or rows
    return float(own[0]["p_value"]) if own else float("nan")


def _sure(found: Findings, low: float, high: float, p: float, unit: str) -> str:
    parts = [] if isnan(low) else [span(low, high, found.level, unit)]
    parts += [] if isnan(p) else [f"permutation test {chance(p)}"]
    return f" ({'; '.join(parts)})" if parts else ""


def rule_selection(found: Findings) -> list[str]:
    """Say how often a group is among the first places, against the group that is most often.

    At the smallest cutoff at which neither is a small cell. Where the group spoken of is itself the
    one that is most often, the one least often there is named.
    """
    useful = [k for k in found.facts["ks"] if k < found.facts["list_length"]["max"]]
    sentences = []
    for each in found.attributes():
        for k in useful:
            said = _selection_at(found, each, k)
            if said:
                sentences += said
                break
    return sentences


def _selection_at(found: Findings, each: Row, k: int) -> list[str]:
    rows = [
        row
        for row in found.rows("selection", attribute=each["name"], k=k)
        if not isnan(row["impact_ratio"]) and not row["small_cell"]
    ]
    best = [row for row in rows if row["reference"]]
    others = [row for row in rows if not row["reference"]]
    if not best or not others:
        return []
    named = [row for row in others if row["group"] in found.spoken_of(each)]
    named = named or [min(others, key=lambda row: row["impact_ratio"])]
    return [_selected(found, row, best[0]) for row in named]


def _selected(found: Findings, row: Row, best: Row) -> str:
    low, high = row["ratio_low"], row["ratio_high"]
    head = (
        f"Among the first {row['k']} places are {percent(row['rate'])} of the "
        f"{group_words(row['group'], row['attribute'])} and {percent(best['rate'])} of those of "
        f"group {best['group']}"
    )
    sure = _sure(found, low, high, float("nan"), "times")
    if found.clear(low, high, float("nan"), 1.0):
        return f"{head}: {ratio(row['impact_ratio'])} times as often{sure}."
    return (
        f"{head}, {ratio(row['impact_ratio'])} times as often{sure}: whether that is less often, "
        "this audit cannot tell."
    )


def rule_pairs(found: Findings) -> list[str]:
    """Say how often more relevant people of a group stand above less relevant people of others."""
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
        text = (
            f"More relevant {group_words(low['group'], each['name'])} stand above less relevant "
            f"people of other groups in {percent(low['accuracy'])} of the pairs, those of group "
            f"{high['group']} in {percent(high['accuracy'])}"
        )
        if not isnan(p):
            text += f" (permutation test {chance(p)})"
        if not found.rare(p):
            text += "; whether that is more than chance, this audit cannot tell"
        sentences.append(f"{text}.")
    return sentences
