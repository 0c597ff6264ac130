"""Metrics of an audit where labels are unknown: bounds over all labels, and drawn labels."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from ..core.attribute import Attribute
from ..core.labels import MISSING
from ..core.metric import GroupMetric, Metric
from ..core.random import generator
from ..core.ranking import Ranking
from ..core.slots import Slots
from ..kernels.discounts import discounts
from ..kernels.label_bounds import (
    can_be_undefined,
    extreme_completion,
    measure_sums,
    side_sums,
)
from ..kernels.prefix_bounds import prefix_range
from ..kernels.segments import segment_index
from ..metrics.fairness.exposure import ExposureGap
from ..metrics.fairness.pairwise import AccuracyGap
from ..metrics.fairness.prefix_divergence import RKL, RND
from ..statistics.corrected_labels import N_IMPUTED, N_IMPUTED_ONE
from ..statistics.membership_sums import Interval, rubin
from ..statistics.metric_bounds import ListRange, mean_range, pair_list_ranges
from .audit_plan import Audited, Plan
from .label_answers import Labels, are_doubtful, label_sides, labels_of
from .label_claims import refused_words

__all__ = ["label_facts", "metric_label_rows"]

#: Most rows of all completions of all lists that are tried for a metric without a formula.
MOST_TRIED = 1_000_000


def label_facts(plan: Plan) -> dict[str, dict[str, Any]]:
    """Return for each attribute the share of unknown labels, and whether known ones decide."""
    found = {}
    for each, mine in zip(plan.audited, plan.of_rows.audited, strict=True):
        share = plan.n_unknown(each) / plan.n_rows
        if not are_doubtful(plan.of_rows, mine) and MISSING not in mine.attribute.categories:
            known = {"knowledge": "known", "assumption": ""}
            found[each.name] = {"unknown": share, "doubted": False, **known}
            continue
        labels = labels_of(plan.of_rows, mine, 0)
        found[each.name] = {
            "unknown": share,
            "doubted": bool(labels.doubted or share > 0.05),
            "knowledge": labels.model.kind,
            "assumption": labels.model.assumption,
        }
    return found


def metric_label_rows(plan: Plan, each: Audited, metric: GroupMetric) -> Iterator[dict[str, Any]]:
    """Yield the bounds of a metric and its value corrected for labels, or why there are none."""
    code = _code(each, metric)
    labels = labels_of(plan, each, 0 if code is None else code)
    ranges = _ranges(plan, each, code, metric, labels)
    known = _metric_of(plan, replace(metric, by=each.by[0]), labels, labels.model.attribute.codes)
    value = float(known.mean()) if len(known) else np.nan
    if type(metric).summarize is Metric.summarize:
        yield {"answer": "known", "method": "known_labels", "value": value}
    if isinstance(ranges, str):
        yield {"answer": "bounds", "method": "no bounds", "assumption": ranges}
    else:
        side = np.where(labels.model.attribute.known, 0, -1)
        found = mean_range(ranges, side, plan.level)
        ends = {"low": found.low, "high": found.high, "sharp": found.sharp}
        yield {"answer": "bounds", "method": "completions"} | ends
        if not np.isnan(found.interval_low):
            interval = {"low": found.interval_low, "high": found.interval_high}
            yield {"answer": "bounds", "method": "imbens_manski"} | interval
    refused = labels.refused or refused_words(labels)
    if labels.model.kind == "probabilities":
        refused = refused or "probabilities alone allow no estimate"
    values = None if refused else _imputed(plan, each, metric, labels)
    if values is None:
        refused = refused or "only means over lists are corrected"
        yield {"answer": "corrected", "method": "refused", "assumption": refused}
        return
    method = "percentiles" if plan.one_list else "rubin"
    shared = {"answer": "corrected", "assumption": labels.model.assumption}
    (both, one_sided), chance = values
    yield shared | {"method": method, "value": both.value, "low": both.low, "high": both.high}
    bounds = {"value": both.value, "low": one_sided.low, "high": one_sided.high}
    yield shared | {"method": f"{method}, one-sided"} | bounds
    yield shared | {"method": f"{method}, chance", "value": chance}


def _code(each: Audited, metric: GroupMetric) -> int | None:
    """Return the group that a metric compares with everyone else; None for the worst of several."""
    if metric.protected is not None:
        return each.attribute.code(metric.protected)
    return 0 if each.n_groups == 2 else None


def _ranges(
    plan: Plan, each: Audited, code: int | None, metric: GroupMetric, labels: Labels
) -> list[ListRange] | str:
    """Return the range of each list over all labels, or why there is none."""
    if plan.ranking.n_draws > 1:
        return "a ranking of several draws has no bounds"
    if type(metric).summarize is not Metric.summarize:
        return "only means over lists have bounds"
    slots = plan.ranking.slots()
    if code is not None:
        side = label_sides(plan, each, code)[slots.order]
        if isinstance(metric, (RND, RKL)):
            return _prefix_ranges(slots, side, metric)
        if isinstance(metric, ExposureGap):
            return _exposure_ranges(slots, side, metric)
    if isinstance(metric, AccuracyGap):
        return _pair_ranges(slots, labels.model.attribute, code, metric)
    return _tried_ranges(plan, each, metric, labels)


def _prefix_ranges(slots: Slots, side: np.ndarray, metric: Any) -> list[ListRange]:
    limits = slots.sizes if slots.shown is None else slots.shown
    ranges = []
    for q, (begin, end) in enumerate(
        zip(slots.offsets[:-1].tolist(), slots.offsets[1:].tolist(), strict=True)
    ):
        blocks = [None if part is None else part[begin:end] - begin for part in _blocks(slots)]
        limit = int(limits[q]) if metric.k is None else min(int(limits[q]), metric.k)
        ranges.append(
            prefix_range(
                side[begin:end], *blocks, distance=metric.distance(), limit=limit,
                step=metric.step, discount=metric.discount, normalizer=metric.normalizer,
            )
        )  # fmt: skip
    return ranges


def _exposure_ranges(slots: Slots, side: np.ndarray, metric: ExposureGap) -> list[ListRange]:
    """Return the ranges of the absolute difference; 0 is its lower end where the signs differ."""
    values = slots.expect(discounts(int(slots.sizes.max()), metric.discount, metric.k))
    lists, n_lists = segment_index(slots.offsets), slots.n_queries
    ends = []
    for highest in (False, True):
        done = extreme_completion(values, side, slots.offsets, "difference", highest=highest)
        ends.append(measure_sums(side_sums(values, done, lists, n_lists), "difference"))
    low, high = ends
    known = side_sums(values, side, lists, n_lists)
    optional = can_be_undefined(known, np.zeros(n_lists), "difference", False)
    least = np.maximum(np.maximum(low, -high), 0.0)
    found = zip(least, np.maximum(high, -low), (low >= 0) | (high <= 0), optional, strict=True)
    return [(float(a), float(b), bool(c), bool(d)) for a, b, c, d in found]


def _pair_ranges(
    slots: Slots, attribute: Attribute, code: int | None, metric: AccuracyGap
) -> list[ListRange]:
    """Return the ranges of the gap of a group, or of the largest gap between two of several."""
    codes, y = attribute.codes[slots.order], metric.relevance(slots)
    if code is not None:
        side = np.where(codes < 0, -1, codes == code).astype(np.int8)
        return pair_list_ranges(side, y, slots.end(), slots.offsets, gap=True)
    tables = []
    for a, b in combinations(range(len(attribute.categories)), 2):
        side = np.select([codes < 0, codes == a, codes == b], [-1, 1, 0], 2).astype(np.int8)
        pairs = pair_list_ranges(side, y, slots.end(), slots.offsets, gap=True, exact=False)
        tables.append(np.array(pairs, dtype=np.float64))
    table = np.stack(tables)
    low, high = table[:, :, 0], table[:, :, 1]
    sure = table[:, :, 3] == 0
    # The largest of all gaps is at least that of two groups that surely have pairs.
    least = np.where(sure.any(axis=0), np.fmax.reduce(np.where(sure, low, np.nan)), np.nan)
    least = np.where(np.isnan(least), np.fmin.reduce(low), least)
    sharp = np.asarray(table[:, :, 2].all(axis=0))
    found = zip(least, np.fmax.reduce(high), sharp, ~sure.any(axis=0), strict=True)
    return [(float(a), float(b), bool(c), bool(d)) for a, b, c, d in found]


def _tried_ranges(
    plan: Plan, each: Audited, metric: GroupMetric, labels: Labels
) -> list[ListRange] | str:
    """Return the ranges of lists all of whose completions are tried."""
    attribute, data = labels.model.attribute, plan.data
    groups, sizes = len(attribute.categories), np.diff(data.offsets)
    unknown = np.bincount(labels.model.lists, ~attribute.known, data.n_queries).astype(np.int64)
    if (sizes * float(groups) ** unknown).sum() > MOST_TRIED:
        return "its bounds need all completions of each list, which are too many to try"
    number = groups**unknown
    copies = np.repeat(np.arange(data.n_queries), number)
    twice = _copied(plan, each, attribute, np.repeat(np.arange(data.n_queries), 2))
    bound = replace(metric, by=each.by[0])
    once = bound.per_query(_copied(plan, each, attribute, np.arange(data.n_queries))).value
    if not np.array_equal(bound.per_query(twice).value, np.repeat(once, 2), equal_nan=True):
        return "the value of a list depends on the other lists"
    values = bound.per_query(_copied(plan, each, attribute, copies, groups)).value
    found: list[ListRange] = []
    for part in np.split(values, np.cumsum(number)[:-1]):
        defined = part[~np.isnan(part)]
        ends = (float(defined.min()), float(defined.max())) if len(defined) else (np.nan, np.nan)
        found.append((*ends, True, len(defined) < len(part)))
    return found


def _copied(
    plan: Plan, each: Audited, attribute: Attribute, lists: np.ndarray, groups: int = 0
) -> Ranking:
    """Return copies of lists; with ``groups``, those of a list have all of its completions."""
    data = plan.data.select(lists)
    rows = np.concatenate([np.arange(*plan.data.offsets[q : q + 2]) for q in lists.tolist()])
    codes = attribute.codes[rows]
    if groups:
        copy = np.arange(len(lists)) - np.searchsorted(lists, lists)
        free = codes < 0
        before = np.concatenate([[0], np.cumsum(free)])
        at = before[:-1] - np.repeat(before[data.offsets[:-1]], np.diff(data.offsets))
        digit = np.repeat(copy, np.diff(data.offsets)) // groups ** np.where(free, at, 0) % groups
        codes = np.where(free, digit, codes)
    people = {each.by[0]: Attribute(codes.astype(np.int32), attribute.categories)}
    ranking = plan.ranking
    last = None if ranking.last is None else ranking.last[rows]
    data = replace(data, sensitive={**data.sensitive, **people})
    return Ranking(data, ranking.position[rows], last, None)


def _blocks(slots: Any) -> tuple[Any, Any]:
    return (None, None) if slots.lo is None else (slots.begin(), slots.end())


def _imputed(
    plan: Plan, each: Audited, metric: GroupMetric, labels: Labels
) -> tuple[list[Interval], float] | None:
    """Return the metric of drawn labels at both levels, and of these labels shuffled within lists.

    None if the metric is no mean over lists. One list has percentiles of 300 draws.
    """
    if type(metric).summarize is not Metric.summarize:
        return None
    bound, rng = replace(metric, by=each.by[0]), generator(plan.seed, 8)
    drawn = labels.model.imputed(N_IMPUTED_ONE if plan.one_list else N_IMPUTED, plan.seed)
    values, variances = np.full((2, len(drawn)), np.nan)
    chance: list[float] = []
    for at, codes in enumerate(drawn):
        lists = _metric_of(plan, bound, labels, codes)
        if len(lists) == 0 or (len(lists) < 2 and not plan.one_list):
            return None
        values[at] = lists.mean()
        variances[at] = lists.var(ddof=1) / len(lists) if len(lists) > 1 else np.nan
        if at < N_IMPUTED:
            order = np.lexsort((rng.random(len(codes)), labels.model.lists))
            chance += _metric_of(plan, bound, labels, codes[order]).tolist()
    levels = plan.level, 2.0 * plan.level - 1.0
    if plan.one_list:
        ends = [np.quantile(values, [(1.0 - level) / 2.0, (1.0 + level) / 2.0]) for level in levels]
        found = [Interval(float(values.mean()), *map(float, each)) for each in ends]
    else:
        found = [rubin(values, variances, level, plan.data.n_queries - 1) for level in levels]
    return found, float(np.mean(chance)) if chance else float("nan")


def _metric_of(plan: Plan, metric: GroupMetric, labels: Labels, codes: np.ndarray) -> np.ndarray:
    """Return the defined values of the lists with complete labels."""
    attribute = Attribute(codes.astype(np.int32), labels.model.attribute.categories)
    people = {str(metric.by): attribute}
    data = replace(plan.data, sensitive={**plan.data.sensitive, **people})
    values = metric.per_query(replace(plan.ranking, data=data)).value
    return np.asarray(values[np.isfinite(values)])
