"""The answers of the remedy screen: choices, one setting, its trade-off, and the search."""

import re
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from ..recipes.setting_words import (
    FINE,
    NO_RELEVANCE,
    change_sentences,
    guarantee_words,
    measure_label,
    missed_guarantees,
    not_covered,
    same_people,
    value_words,
)
from ..reports.number_words import number, percent
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
from .findings import plain_number
from .persons import person

if TYPE_CHECKING:
    from ..recipes.recipe_run import RecipeRun
    from ..recipes.remedy_settings import SettingPath, Tried
    from ..search.remedies import Remedies

__all__ = ["path_answer", "remedies_answer", "remedy_facts", "tried_answer"]

LAW = (
    "Changing an order because of group membership is restricted by law in some places, above all "
    "for hiring and credit. Seek advice before you decide by this list."
)
#: Most people drawn in one list, and most lists named.
MOST_DRAWN, MOST_LISTS = 40, 200


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
        current = choice.present
        methods.append(
            MethodFacts(
                key=name,
                plain_name=choice.kind.plain_name,
                hint=choice.hint,
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
        k=run.k, crossed=_crossed(run), law=LAW,
    )  # fmt: skip


def _crossed(run: "RecipeRun") -> str:
    """Return how groups of two columns together are treated; empty if there is one column."""
    if len(run.data.sensitive) < 2:
        return ""
    from ..search.targets import crossed_target

    return (
        "The studio changes the order for groups of one column. For a group of two columns "
        f'together, use equirank remedy FILE --target "{crossed_target(run.data, run.k)}".'
    )


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
    people = len(tried.result.moves) if setting is not None else 0
    lists = tried.moved_lists if setting is not None else {}
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
        head=change_sentences(run, tried, attribute, setting is not None),
        group=focus[1],
        guarantee=guarantee,
        moves=Moves(people=people, lists=len(lists), joins=joins, leaves=leaves),
        measures=_measures(run, tried, focus),
        list=chosen,
        charts={"slope": _slope(run, tried, chosen, attribute)},
        notes=notes,
    )


def _measures(run: "RecipeRun", tried: "Tried", focus: tuple[str, str]) -> list[Measure]:
    found = []
    share = tried.share(focus[1])
    if share is not None:
        label = measure_label(run, "share", focus)
        found.append(_measure("share", label, *share, write=percent))
    score = tried.measure("mean score")
    if score is not None:
        label = measure_label(run, "mean_score", focus)
        found.append(_measure("mean_score", label, *score[1:], write=_three))
    ndcg = tried.measure("NDCG")
    if ndcg is not None:
        label = measure_label(run, "ndcg", focus, ndcg[0])
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
    empty = not result.guaranteed
    kept = tried.summary.get("lists that keep the guarantee", (0.0, 0.0))
    before, after = (round(share * n_lists) for share in kept)
    held = empty or after == n_lists
    return Guarantee(
        words=guarantee_words(run, tried, setting, focus),
        not_covered=not_covered(run, tried, focus),
        empty=empty,
        before=0 if empty else before,
        after=0 if empty else after,
        of=n_lists,
        misses=[] if held else missed_guarantees(run, tried, setting, focus, after),
    )


def _slope(run: "RecipeRun", tried: "Tried", name: str, attribute: str) -> list[dict[str, Any]]:
    """Return the people of a list who are selected, or move: positions before and after."""
    data, result = run.data, tried.result
    at = [str(each) for each in data.qids.tolist()].index(name)
    rows = np.arange(int(data.offsets[at]), int(data.offsets[at + 1]))
    before = result.places_before[rows]
    near = tried.before[rows] | tried.after[rows]
    chosen = rows[near][np.argsort(before[near], kind="stable")][:MOST_DRAWN]
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
    scale = 100.0 if path.step <= FINE else 1.0
    last: Any = None
    points = []
    for value, tried in path.points:
        same = last is not None and bool(np.array_equal(tried.after, last))
        last = tried.after
        text = value_words(value, path.step)
        points.append(_point(tried, round(value * scale, 6), text, focus[1], same))
    ranges = [
        {"low": round(low * scale, 6), "high": round(high * scale, 6),
         "words": same_people(low, high, path.step)}
        for low, high in path.ranges
    ]  # fmt: skip
    return PathAnswer(
        studio=STUDIO,
        revision=revision,
        key=".".join(path.keys),
        given=_point(given, 0.0, "as given", focus[1], False, before=True),
        points=points,
        ranges=ranges,
        axes=[measure_label(run, key, focus) for key in ("share", "mean_score")],
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
