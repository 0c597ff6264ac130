"""The answers of the remedy screen: choices, one setting, its trade-off, and the search."""

import re
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from ..reports.number_words import joined, number, percent
from .answers import (
    STUDIO,
    Control,
    Guarantee,
    Measure,
    MethodFacts,
    Moves,
    PathAnswer,
    PathPoint,
    RemediesAnswer,
    RemedyFacts,
    TryAnswer,
)
from .findings import plain_number, shown_word
from .persons import person

if TYPE_CHECKING:
    from ..recipes.recipe_run import RecipeRun
    from ..recipes.remedy_settings import SettingPath, Tried
    from ..search.remedies import Remedies

__all__ = ["path_answer", "remedies_answer", "remedy_facts", "setting_words", "tried_answer"]

LAW = (
    "Changing an order because of group membership is restricted by law in some places, above all "
    "for hiring and credit. Seek advice before you decide by this list."
)
HINTS = {
    "FAStarIR": "changes the least",
    "PrefixConstraints": "in every top 1, 2, 3 and so on",
    "DetGreedy": "can also lower a group",
    "DetConstSort": "can also lower a group",
    "RooneyRule": "in the top of each list",
    "ContinuousFairness": "moves scores, so that groups have alike ones",
}
NO_RELEVANCE = "There is no recorded relevance, so the loss in quality counts scores only."
#: Most people drawn in one list, and most lists named.
MOST_DRAWN, MOST_LISTS = 40, 200
#: Steps at which a control is shown in percent.
FINE = 0.05


def remedy_facts(
    run: "RecipeRun", revision: int, focus: tuple[str, str], path: PathAnswer | None
) -> RemedyFacts:
    """Return the choices of the remedy screen for a group."""
    from ..recipes.remedy_settings import choices

    attribute, group = focus
    present = run.recipe.remedy
    methods = [_unchanged(run, present is None)]
    for choice in choices(run.data, attribute, group, run.k, present):
        name = choice.kind.__name__
        current = present is not None and present["method"] == name
        methods.append(
            MethodFacts(
                key=name,
                plain_name=choice.kind.plain_name,
                hint=HINTS.get(name, ""),
                method=name,
                two_sided=choice.kind.two_sided,
                blind="sensitive" not in choice.kind.needs,
                disabled=choice.lacks,
                controls=[_control(each, path if current else None) for each in choice.controls],
                remedy=choice.setting,
                current=current,
            )
        )
    groups = [
        {"attribute": name, "group": str(each), "chosen": (name, str(each)) == focus,
         "shown": run.shown_names().get(name, {}).get(str(each), "")}
        for name, known in run.data.sensitive.items() for each in known.categories
    ]  # fmt: skip
    lists = [{"list": str(name), "moves": 0} for name in run.data.qids[:MOST_LISTS].tolist()]
    return RemedyFacts(
        studio=STUDIO, revision=revision, methods=methods, groups=groups, lists=lists,
        k=run.k, law=LAW,
    )  # fmt: skip


def _unchanged(run: "RecipeRun", current: bool) -> MethodFacts:
    return MethodFacts(
        key="none", plain_name="Only change who is selected", hint="the order stays as given",
        method=None, two_sided=False, blind=True, disabled="", controls=[], remedy=None,
        current=current,
    )  # fmt: skip


def _control(given: tuple[Any, ...], path: PathAnswer | None) -> Control:
    """Return a control; shares are shown in percent."""
    keys, control, value, high = given
    scale = 0.01 if control.step <= FINE else 1.0
    low, top, step, at = (
        round(each / scale, 6) for each in (control.low, high, control.step, value)
    )
    own = path is not None and path["key"] == ".".join(keys)
    ranges = path["ranges"] if own and path is not None else []
    same = next((one["words"] for one in ranges if one["low"] <= at <= one["high"]), "")
    return Control(
        key=keys[0], label=control.words, low=low, high=top, step=step, value=at,
        unit="%" if scale < 1 else "", steps=[one["low"] for one in ranges[1:]], same=same,
        path=".".join(keys), scale=scale,
    )  # fmt: skip


def setting_words(run: "RecipeRun", setting: Mapping[str, Any]) -> str:
    """Return a setting in a few words, such as "At least a share: at least 40% women"."""
    from ..rerankers.chooser import methods

    kind: Any = methods()[setting["method"]]
    parts = []
    for name, control in kind.controls.items():
        value = setting.get(name)
        if isinstance(value, Mapping):
            by = str(setting.get("by") or next(iter(run.data.sensitive)))
            words = [
                f"{_value(v, control.step)} {shown_word(run, by, g)}" for g, v in value.items()
            ]
            parts.append(f"{control.words.lower()} {joined(words)}")
        elif value is not None:
            parts.append(f"{control.words.lower()} {_value(value, control.step)}")
    name = kind.plain_name or setting["method"]
    return f"{name}: {', '.join(parts)}" if parts else str(name)


def _value(value: float, step: float) -> str:
    return percent(value) if step <= FINE else f"{value:g}"


def tried_answer(
    run: "RecipeRun",
    tried: "Tried",
    setting: Mapping[str, Any] | None,
    focus: tuple[str, str],
    revision: int,
    seq: int,
    shown_list: str | None,
    warned: Sequence[str],
) -> TryAnswer:
    """Return what a setting changes."""
    joins, leaves = tried.changed(joins=True), tried.changed(joins=False)
    lists = tried.moved_lists
    people = len(tried.result.moves) if setting is not None else 0
    lists = lists if setting is not None else {}
    attribute = str(tried.result.by or focus[0])
    chosen = shown_list if shown_list is not None else max(lists, key=lists.__getitem__, default="")
    known = [str(each) for each in run.data.qids.tolist()]
    if chosen not in known:
        chosen = known[0]
    notes = [] if run.data.y is not None else [NO_RELEVANCE]
    guarantee = _guarantee(run, tried, setting, focus)
    if not guarantee["misses"]:
        notes += warned
    return TryAnswer(
        studio=STUDIO,
        revision=revision,
        seq=seq,
        head=_head(run, attribute, joins, leaves, people, len(lists)),
        guarantee=guarantee,
        moves=Moves(people=people, lists=len(lists), joins=joins, leaves=leaves),
        measures=_measures(run, tried, focus),
        list=chosen,
        charts={"slope": _slope(run, tried, chosen, attribute)},
        notes=notes,
    )


def _head(
    run: "RecipeRun",
    attribute: str,
    joins: Mapping[str, int],
    leaves: Mapping[str, int],
    people: int,
    lists: int,
) -> list[str]:
    if not joins and not leaves:
        first = "Nobody joins or leaves the selected."
    else:
        words: list[str] = []
        for verb, counts in (("join", joins), ("leave", leaves)):
            names = [f"{n:,} {_people(run, attribute, group, n)}" for group, n in counts.items()]
            total = sum(counts.values())
            if names:
                object_ = "the selected" if not words else "them"
                words.append(f"{joined(names)} {verb}{'s' if total == 1 else ''} {object_}")
        first = ", ".join(words) + "."
    of = f"{lists:,} of {run.data.n_queries:,} lists"
    moved = (
        "Nobody moves."
        if not people
        else f"{people:,} {'person moves' if people == 1 else 'people move'} in {of}."
    )
    return [first, moved]


def _people(run: "RecipeRun", attribute: str, group: str, count: int) -> str:
    word = shown_word(run, attribute, group)
    one = word.startswith("people ") and count == 1
    return word.replace("people", "person", 1) if one else word


def _measures(run: "RecipeRun", tried: "Tried", focus: tuple[str, str]) -> list[Measure]:
    found = []
    share = tried.share(focus[1])
    if share is not None:
        label = f"{shown_word(run, *focus)} among the selected"
        found.append(_measure("share", label, *share, write=percent))
    score = tried.measure("mean score")
    if score is not None:
        found.append(_measure("mean_score", "mean score of the selected", *score[1:], write=_three))
    ndcg = tried.measure("NDCG")
    if ndcg is not None:
        by = re.search(r"\((\w+)\)", ndcg[0])
        label = f"ranking quality (NDCG by {by[1] if by else 'score'})"
        found.append(_measure("ndcg", label, *ndcg[1:], write=_quality))
    return found


def _three(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}"


def _measure(key: str, label: str, before: float, after: float, *, write: Any) -> Measure:
    texts = [write(value) if isfinite(value) else "-" for value in (before, after)]
    return Measure(
        key=key, label=label, before=plain_number(before), after=plain_number(after), text=texts
    )


def _guarantee(
    run: "RecipeRun", tried: "Tried", setting: Mapping[str, Any] | None, focus: tuple[str, str]
) -> Guarantee:
    """Return the guarantee, what it does not cover, and the lists that miss it."""
    result, n_lists = tried.result, run.data.n_queries
    if setting is None:
        return Guarantee(
            words="", not_covered="", empty=True, before=0, after=0, of=n_lists, misses=[]
        )
    kind: Any = type(result.reranker)
    empty = not result.guaranteed
    others = [name for name in run.data.sensitive if name != (result.by or focus[0])]
    not_covered = "the same on other data"
    not_covered += f"; anything about {joined(others)}." if others else "."
    kept = tried.summary.get("lists that keep the guarantee", (0.0, 0.0))
    before, after = (round(share * n_lists) for share in kept)
    misses = [] if empty or after == n_lists else _misses(run, tried, setting, focus, after)
    return Guarantee(
        words=kind.no_guarantee if empty else _promised(run, tried, setting, focus),
        not_covered=not_covered,
        empty=empty,
        before=0 if empty else before,
        after=0 if empty else after,
        of=n_lists,
        misses=misses,
    )


def _promised(
    run: "RecipeRun", tried: "Tried", setting: Mapping[str, Any], focus: tuple[str, str]
) -> str:
    """Return the guarantee of a setting in plain words."""
    word, k = shown_word(run, *focus), tried.k
    method = setting["method"]
    tops = f"the top 1, 2, 3 and so on up to {k} of each list have"
    if method == "PrefixConstraints" and set(setting.get("lower", {})) == {focus[1]}:
        share = percent(setting["lower"][focus[1]])
        return f"{tops} at least {share} {word}, rounded down."
    if method in ("DetGreedy", "DetConstSort"):
        return f"{tops} at least the target share of every group, rounded down."
    if method == "RooneyRule":
        return f"the top {k} of each list have at least {setting.get('count', 1)} {word}."
    if method == "FAStarIR":
        p, alpha = setting.get("p"), setting.get("alpha", 0.1)
        share = "their share of the list" if p is None else f"a share of {percent(p)}"
        return (
            f"no beginning of a list has fewer {word} than chance would leave there with {share}; "
            f"a list made by chance fails this with a probability of at most {percent(alpha)}."
        )
    if method == "ContinuousFairness":
        return "in each list all groups have the same distribution of scores, up to one person."
    return f"{tried.result.bounds.words}."


def _misses(
    run: "RecipeRun",
    tried: "Tried",
    setting: Mapping[str, Any],
    focus: tuple[str, str],
    kept: int,
) -> list[str]:
    """Return in how many lists the guarantee is kept, and what each other list lacks."""
    result, data = tried.result, run.data
    found = [f"Kept in {kept:,} of {data.n_queries:,} lists. The others have the closest order."]
    share = setting.get("lower", setting.get("proportions", {}))
    needed = {group: int(np.floor(tried.k * v + 1e-9)) for group, v in share.items()}
    if "count" in setting:
        needed = {focus[1]: int(setting["count"])}
    groups = result.groups
    codes = {str(label): code for code, label in enumerate(groups.categories)}
    attribute = str(result.by or focus[0])
    for at in np.flatnonzero(~result.holds_per_query).tolist():
        rows = slice(int(data.offsets[at]), int(data.offsets[at + 1]))
        size = min(tried.k, rows.stop - rows.start)
        name = str(data.qids[at])
        lacks = []
        for group, need in needed.items():
            has = int((groups.codes[rows] == codes[group]).sum()) if group in codes else 0
            if has < need:
                word = shown_word(run, attribute, group)
                lacks.append(f"would need {need} {word} in the top {size} and has {has}")
        words = joined(lacks) if lacks else "cannot keep the guarantee"
        found.append(f"{name} {words}.")
    return found


def _slope(run: "RecipeRun", tried: "Tried", name: str, attribute: str) -> list[dict[str, Any]]:
    """Return the people of a list who are selected, or move: positions before and after."""
    data, result = run.data, tried.result
    at = [str(each) for each in data.qids.tolist()].index(name)
    rows = np.arange(int(data.offsets[at]), int(data.offsets[at + 1]))
    before, after = result.places_before[rows], result.places[rows]
    near = tried.before[rows] | tried.after[rows]
    chosen = rows[near][np.argsort(before[near], kind="stable")][:MOST_DRAWN]
    del after
    labels = result.groups.labels()[chosen] if result.has_groups else [""] * len(chosen)
    found = []
    for row, label in zip(chosen.tolist(), labels, strict=True):
        group = "unknown" if label is None else str(label)
        found.append({
            "person": person(data, row),
            "group": group,
            "shown": run.shown_names().get(attribute, {}).get(group, ""),
            "before": int(result.places_before[row]),
            "after": int(result.places[row]),
            "joins": bool(tried.after[row] and not tried.before[row]),
            "leaves": bool(tried.before[row] and not tried.after[row]),
        })  # fmt: skip
    return found


def path_answer(
    run: "RecipeRun", path: "SettingPath", given: "Tried", focus: tuple[str, str], revision: int
) -> PathAnswer:
    """Return the trade-off of the main control."""
    fine = len(path.keys) > 1 or path.keys[0] in ("p", "theta")
    scale = 100.0 if fine else 1.0
    last: Any = None
    points = []
    for value, tried in path.points:
        same = last is not None and bool(np.array_equal(tried.after, last))
        last = tried.after
        text = percent(value) if fine else f"{value:g}"
        points.append(_point(tried, round(value * scale, 6), text, focus[1], same))
    ranges = []
    for low, high in path.ranges:
        words = ""
        if high > low:
            ends = [percent(end) if fine else f"{end:g}" for end in (low, high)]
            words = f"From {ends[0]} to {ends[1]} the same people are selected."
        ranges.append(
            {"low": round(low * scale, 6), "high": round(high * scale, 6), "words": words}
        )
    word = shown_word(run, *focus)
    return PathAnswer(
        studio=STUDIO,
        revision=revision,
        key=".".join(path.keys),
        given=_point(given, 0.0, "as given", focus[1], False, before=True),
        points=points,
        ranges=ranges,
        axes=[f"{word} among the selected", "mean score of the selected"],
    )


def _point(
    tried: "Tried", value: float, text: str, group: str, same: bool, before: bool = False
) -> PathPoint:
    at = 0 if before else 1
    share, score, ndcg = tried.share(group), tried.measure("mean score"), tried.measure("NDCG")
    return PathPoint(
        value=value,
        text=text,
        share=None if share is None else plain_number(share[at]),
        mean_score=None if score is None else plain_number(score[1 + at]),
        ndcg=None if ndcg is None else plain_number(ndcg[1 + at]),
        people=0 if before else len(tried.result.moves),
        same=same,
        holds=bool(tried.result.holds) if not before else True,
    )


def remedies_answer(found: "Remedies", revision: int) -> RemediesAnswer:
    """Return the remedies of the library, blind ones told apart, and the points of the picture."""
    from ..rerankers.chooser import methods
    from ..search.remedies import plain_remedy_name

    offered = methods()
    rows: list[Any] = []
    points = []
    for each in found.remedies:
        blind = each.uses_group == "blind"
        rows.append({
            "name": each.plain_name,
            "kind": each.uses_group,
            "blind": blind,
            "reaches": bool(each.reached),
            "sentence": each.sentence,
            "target": plain_number(float(each.target.value)),
            "quality": plain_number(float(each.quality.value)),
            "text": [_written(each.target.value), _quality(each.quality.value)],
            "remedy": None if each.random else _as_setting(each, found, offered),
        })  # fmt: skip
        points.append({
            "name": each.plain_name, "blind": blind, "x": rows[-1]["target"],
            "y": rows[-1]["quality"], "label": each.plain_name,
        })  # fmt: skip
    given = {"x": plain_number(float(found.before.value)),
             "y": plain_number(float(found.quality_before.value))}  # fmt: skip
    points.insert(0, {"name": "as given", "blind": True, "label": "as given", **given})
    return RemediesAnswer(
        studio=STUDIO,
        revision=revision,
        target=f"{found.target_words}: {found.target.wanted}",
        rows=rows,
        points=points,
        axes=[found.target_words, found.quality_name],
        given=[_written(found.before.value), _quality(found.quality_before.value)],
        notes=[
            *found.notes,
            *(f"Not tried: {plain_remedy_name(name)}; {why}." for name, why in found.not_tried),
        ],
    )


def _as_setting(each: Any, found: "Remedies", offered: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a remedy as a setting of a recipe, or None if it is none about single groups."""
    if each.name not in offered:
        return None
    setting = {"method": each.name, **_plain(each.parameters)}
    by = setting.get("by") or next(iter(found.ranking.data.sensitive))
    if len(found.ranking.data.sensitive) > 1 and "by" not in setting:
        named = re.match(r"""['"]?([^=]+)=""", found.target.text)
        by = named[1] if named and named[1] in found.ranking.data.sensitive else by
    known = {str(group) for group in found.ranking.data.attribute(by).categories}
    groups = {g for value in setting.values() if isinstance(value, dict) for g in value}
    return setting | {"by": by} if groups <= known else None


def _quality(value: float) -> str:
    return f"{value:.3f}" if isfinite(value) else "-"


def _written(value: float) -> str:
    return number(value) if isfinite(value) else "-"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items() if each is not None}
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    return plain_number(value)
