"""Sentences about one setting of a remedy, for people who do not program."""

import re
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from ..reports.number_words import joined, percent, plain_column

if TYPE_CHECKING:
    from .recipe_run import RecipeRun
    from .remedy_settings import Tried

__all__ = [
    "NO_RELEVANCE",
    "change_sentences",
    "guarantee_words",
    "measure_label",
    "missed_guarantees",
    "not_covered",
    "people_of",
    "same_people",
    "setting_words",
    "value_words",
]

NO_RELEVANCE = "There is no recorded relevance, so the loss in quality counts scores only."
#: Most counts by position that a sentence names.
MOST_COUNTS = 5
#: Methods whose bounds of 1 and more are counts.
COUNTING = ("BalancedSelection", "OnlineSelection")
#: Steps of a control up to which its value is a share, written in percent.
FINE = 0.05


def people_of(run: "RecipeRun", attribute: str, group: str, count: int = 2) -> str:
    """Return a group's name in running text, or ``people in group "f" (sex)`` without one."""
    word = run.shown_names().get(attribute, {}).get(group, "")
    if word:
        return word
    people = "person" if count == 1 else "people"
    known = run.data.sensitive.get(attribute)
    if known is not None and group not in map(str, known.categories):
        return f"{people} with {plain_column(attribute)} unknown"
    return f'{people} in group "{group}" ({attribute})'


def value_words(value: float, step: float) -> str:
    """Return the value of a control: a share in percent, or a plain number."""
    return percent(value) if step <= FINE else f"{value:g}"


def setting_words(run: "RecipeRun", setting: Mapping[str, Any]) -> str:
    """Return a setting in a few words, such as "At least a share: at least 40% women"."""
    from ..rerankers.chooser import methods

    kind: Any = methods()[setting["method"]]
    parts = []
    for name, control in kind.controls.items():
        value = setting.get(name)
        if isinstance(value, Mapping):
            by = str(setting.get("by") or next(iter(run.data.sensitive)))
            words = [_bound_words(run, by, g, v, control.step) for g, v in value.items()]
            parts.append(f"{control.words.lower()} {joined(words)}")
        elif value is not None:
            parts.append(f"{control.words.lower()} {value_words(value, control.step)}")
    name = kind.plain_name or setting["method"]
    return f"{name}: {', '.join(parts)}" if parts else str(name)


def _bound_words(run: "RecipeRun", by: str, group: str, value: Any, step: float) -> str:
    """Return the share of a group, or its counts in the top 1, 2 and so on."""
    people = people_of(run, by, group)
    if not isinstance(value, Sequence):
        return f"{value_words(value, step)} {people}"
    more = ", ..." if len(value) > MOST_COUNTS else ""
    counts = ", ".join(f"{each:g}" for each in value[:MOST_COUNTS])
    return f"{counts}{more} {people} in the top 1, 2, ..."


def change_sentences(run: "RecipeRun", tried: "Tried", attribute: str, moved: bool) -> list[str]:
    """Return who joins and who leaves the selected, and how many people move.

    ``moved`` is False if the order stays as given.
    """
    words: list[str] = []
    for verb, joins in (("join", True), ("leave", False)):
        counts = tried.changed(joins=joins)
        names = [f"{n:,} {people_of(run, attribute, group, n)}" for group, n in counts.items()]
        if names:
            ending = "s" if sum(counts.values()) == 1 else ""
            selected = "the selected" if not words else "them"
            words.append(f"{joined(names)} {verb}{ending} {selected}")
    first = f"{', '.join(words)}." if words else "Nobody joins or leaves the selected."
    people, lists = (len(tried.result.moves), len(tried.moved_lists)) if moved else (0, 0)
    if not people:
        return [first, "Nobody moves."]
    who = "person moves" if people == 1 else "people move"
    return [first, f"{people:,} {who} in {lists:,} of {run.data.n_queries:,} lists."]


def measure_label(run: "RecipeRun", key: str, focus: tuple[str, str], name: str = "") -> str:
    """Return the label of a measure: ``share``, ``mean_score``, or ``ndcg`` by its full name."""
    if key == "share":
        return f"{people_of(run, *focus)} among the selected"
    if key == "mean_score":
        return "mean score of the selected"
    by = re.search(r"\((\w+)\)", name)
    return f"ranking quality (NDCG by {by[1] if by else 'score'})"


def guarantee_words(
    run: "RecipeRun", tried: "Tried", setting: Mapping[str, Any], focus: tuple[str, str]
) -> str:
    """Return the guarantee of a setting in plain words, or where it is empty."""
    kind: Any = type(tried.result.reranker)
    if not tried.result.guaranteed:
        return str(kind.no_guarantee)
    word, k = people_of(run, *focus), tried.k
    method = setting["method"]
    tops = f"the top 1, 2, 3 and so on up to {k} of each list have"
    lower = setting.get("lower", {})
    share_of_focus = lower.get(focus[1]) if len(lower) == 1 else None
    if method == "PrefixConstraints" and isinstance(share_of_focus, Real):
        return f"{tops} at least {percent(float(share_of_focus))} {word}, rounded down."
    if method in ("DetGreedy", "DetConstSort"):
        return f"{tops} at least the target share of every group, rounded down."
    if method == "RooneyRule":
        return f"the top {k} of each list have at least {setting.get('count', 1)} {word}."
    if method == "FAStarIR":
        p, alpha = setting.get("p"), setting.get("alpha", 0.1)
        share = "their share of the list"
        if isinstance(p, Mapping):
            by = str(tried.result.by or focus[0])
            share = (
                f"a share of {joined([_bound_words(run, by, g, v, FINE) for g, v in p.items()])}"
            )
            word = "people of these groups"
        elif p is not None:
            share = f"a share of {percent(p)}"
        return (
            f"no beginning of a list has fewer {word} than chance would leave there with {share}; "
            f"a list made by chance fails this with a probability of at most {percent(alpha)}."
        )
    if method == "ContinuousFairness":
        return "in each list all groups have the same distribution of scores, up to one person."
    return f"{tried.result.bounds.words}."


def not_covered(run: "RecipeRun", tried: "Tried", focus: tuple[str, str]) -> str:
    """Return what the guarantee of a setting does not cover."""
    others = [name for name in run.data.sensitive if name != (tried.result.by or focus[0])]
    about = f"; anything about {joined(others)}" if others else ""
    return f"the same on other data{about}."


def missed_guarantees(
    run: "RecipeRun", tried: "Tried", setting: Mapping[str, Any], focus: tuple[str, str], kept: int
) -> list[str]:
    """Return in how many lists the guarantee is kept, and what each other list lacks."""
    result, data = tried.result, run.data
    found = [f"Kept in {kept:,} of {data.n_queries:,} lists. The others have the closest order."]
    share = setting.get("lower", setting.get("proportions", {}))
    needed = {g: _needed(setting["method"], v, tried.k) for g, v in share.items()}
    if "count" in setting:
        needed = {focus[1]: int(setting["count"])}
    groups = result.groups
    codes = {str(label): code for code, label in enumerate(groups.categories)}
    attribute = str(result.by or focus[0])
    for at in np.flatnonzero(~result.holds_per_query).tolist():
        rows = slice(int(data.offsets[at]), int(data.offsets[at + 1]))
        size = min(tried.k, rows.stop - rows.start)
        lacks = []
        for group, need in needed.items():
            has = int((groups.codes[rows] == codes[group]).sum()) if group in codes else 0
            if has < need:
                word = people_of(run, attribute, group)
                lacks.append(f"would need {need} {word} in the top {size} and has {has}")
        words = joined(lacks) if lacks else "cannot keep the guarantee"
        found.append(f"{data.qids[at]} {words}.")
    return found


def _needed(method: str, value: Any, k: int) -> int:
    """Return how many people of a group the top k need by a bound."""
    if isinstance(value, Sequence):
        return int(value[min(k, len(value)) - 1]) if value else 0
    if method in COUNTING and value >= 1:
        return int(value)
    return int(np.floor(k * value + 1e-9))


def same_people(low: float, high: float, step: float) -> str:
    """Return between which values of a control the same people are selected; "" for one value."""
    if high <= low:
        return ""
    ends = [value_words(end, step) for end in (low, high)]
    return f"From {ends[0]} to {ends[1]} the same people are selected."
