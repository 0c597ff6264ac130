"""The rules about shares: attention, merit, the first places, and pairs of people."""

from math import isnan

from ..wording import chance, percent, ratio, span
from .reading import Findings, Row, group_words

__all__ = ["rule_attention", "rule_merit", "rule_pairs", "rule_selection"]


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
    """Give the p-value of a gap: the group's own, else that of the worst group."""
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
