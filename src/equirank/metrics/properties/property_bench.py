"""The property bench: which metric detects which property."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from math import inf
from typing import Any, ClassVar, Literal

import numpy as np

from ...core.errors import DataError, suggest
from ...core.inference import holm, paired_tests
from ...core.metric import Metric, Values, measure
from ...core.params import Integer, check_params
from ...core.random import as_seed, generator
from ...core.registry import metric_names, outside_brackets, parse_metrics
from ...core.slots import Slots
from ...core.table import Table
from ..fairness.prefix_divergence import RRD
from .merit_checks import (
    bin_differences,
    displacement_ratios,
    tau_differences,
    tokenisation_parts,
)
from .position_checks import (
    Arrangements,
    check_both,
    mean_differences,
    runs_z,
    sarle_coefficients,
    spread_distances,
)
from .scenarios import PROTECTED, scenario_names, scenario_pair

__all__ = ["CHECKS", "LEVEL", "LISTS", "CheckMetric", "bench", "default_metrics", "true_positions"]


Check = Callable[[Arrangements], np.ndarray]

#: One number of each check, larger is worse, for every group arranged in one list.
CHECKS: dict[str, Check] = {
    "smoothness.ks": lambda lists: spread_distances(lists.masks)[0],
    "smoothness.wasserstein": lambda lists: spread_distances(lists.masks)[1],
    "bimodality.coefficient": lambda lists: sarle_coefficients(lists.position[lists.members]),
    "clustering.z": lambda lists: -runs_z(lists.masks)[2],
    "tokenisation_index.index": lambda lists: tokenisation_parts(lists)[0],
    "noisy_ranking.ratio": lambda lists: displacement_ratios(lists),
    "arbitrary_treatment.difference": lambda lists: tau_differences(lists)[0],
    "statistical_independence.difference": lambda lists: np.abs(mean_differences(lists)[0]),
    "conditional_independence.difference": lambda lists: np.abs(bin_differences(lists, 1)[0]),
    "conditional_independence(bins=2).absolute": lambda lists: bin_differences(lists, 2)[1],
}


@dataclass(frozen=True, repr=False, kw_only=True)
class CheckMetric(Metric):
    """One number of a distributional check of the protected in the scenarios; lower is better.

    Signed numbers count by their absolute value, the z of the runs test with its sign reversed, so
    that larger is always worse. True positions are those of the order by relevance, with the mean
    position for ties.

    Parameters
    ----------
    check_name : str
        A key of `CHECKS`.
    by : str
        The attribute.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"relevance", "sensitive"})
    direction: ClassVar[Literal["higher", "lower"]] = "lower"
    bounds: ClassVar[tuple[float, float]] = (-np.inf, np.inf)
    takes_k: ClassVar[bool] = False

    check_name: str = "smoothness.ks"
    by: str = "group"

    def __repr__(self) -> str:
        """Name the check."""
        return self.check_name

    def values(self, slots: Slots) -> Values:
        """Return the number of each list."""
        codes, _ = slots.groups(self.by)
        group = codes == slots.data.attribute(self.by).code(PROTECTED)
        measured = CHECKS[self.check_name]
        found = []
        for begin, end in zip(slots.offsets[:-1], slots.offsets[1:], strict=True):
            some = slice(int(begin), int(end))
            position, truth = np.arange(1, end - begin + 1), true_positions(slots.y[some])
            check_both(group[some])
            found.append(measured(Arrangements(position, truth, group[None, some]))[0])
        return Values(np.array(found))


def true_positions(y: np.ndarray) -> np.ndarray:
    """Return the position of each item in the order by relevance, the mean for ties."""
    _, level, size = np.unique(-y, return_inverse=True, return_counts=True)
    last = np.cumsum(size)
    return (last - (size - 1) / 2.0)[level]


#: Lists in each version of each repetition.
LISTS = 4
#: A property is detected if the corrected p-value is below this level.
LEVEL = 0.01
#: What the scenarios contain.
GIVEN = frozenset({"relevance", "sensitive", "score"})
#: Cutoff for metrics that measure little or nothing without one.
K = 20
CUT = {
    *("AdverseImpactRatio", "IGFAggregated", "IGFRatio"),
    *("Precision", "Recall", "RecallGap", "Skew"),
}
CROSSED = ('ExposureGap(by=("group", "part"))', 'RankParityError(by=("group", "part"))')


def bench(metrics: Any = None, n_repetitions: int = 50, random_state: Any = 0) -> Table:
    """Test which properties metrics detect, on pairs of a fair and a bad version of lists.

    In each repetition, a metric is computed for the fair and the bad version of four lists of every
    scenario (`scenario_pair`). The difference, above 0 if the bad version is worse, is tested
    against 0 over the repetitions by random sign flips, two-sided; p-values are corrected by Holm
    over the properties of the metric. A metric detects a property if the corrected p-value is below
    0.01 and the bad version is worse. Fewer than eleven repetitions cannot detect anything. A
    repetition in which either version is undefined or infinite is excluded.

    A metric that compares groups and names no attribute uses ``group``, whose groups are
    ``protected`` and ``other``; ``by=("group", "part")`` is its intersection with the second
    attribute.

    Parameters
    ----------
    metrics : metric, name, or several, optional
        `Metric` objects, classes or strings, or names of checks such as ``"smoothness.ks"``. None
        selects all metrics that need only relevance, scores and groups (with ``@20`` if they need a
        cutoff), two of them also on the intersection, and all checks.
    n_repetitions : int
        Number of seeded repetitions.
    random_state : int, generator or None
        Source of randomness.

    Returns
    -------
    Table
        One row per metric and property: ``effect`` (mean difference divided by its standard
        deviation; infinite if all differences are equal and not 0), ``p`` (corrected),
        ``detected``, and ``repetitions`` used.

    Examples
    --------
    >>> from equirank.metrics.properties import bench
    >>> table = bench(["RankParityError", "clustering.z"], n_repetitions=20)
    >>> [row["property"] for row in table if row["metric"] == "RankParityError" and row["detected"]]
    ['noisy ranking', 'class asymmetry', 'biased ground truth']
    >>> [row["detected"] for row in table if row["property"] == "clustering"]
    [False, True]
    """
    check_params("bench", {"n_repetitions": n_repetitions}, {"n_repetitions": Integer(2)})
    seed = as_seed(random_state)
    chosen = default_metrics() if metrics is None else _chosen(metrics)
    rows: list[list[dict[str, Any]]] = [[] for _ in chosen]
    for key, name in enumerate(scenario_names()):
        n_lists = LISTS * n_repetitions
        versions = scenario_pair(name, n_lists=n_lists, random_state=seed)
        scores = [_scores(chosen, data.ranking(), n_repetitions) for data in versions]
        for at, metric in enumerate(chosen):
            worse = scores[1][at] - scores[0][at]
            worse = worse if metric.direction == "lower" else -worse
            row = _tested(worse[np.isfinite(worse)], generator(seed, len(scenario_names()), key))
            rows[at].append({"metric": metric.name, "property": name, **row})
    for some in rows:
        for row, p in zip(some, holm([row["p"] for row in some]).tolist(), strict=True):
            row.update(p=p, detected=bool(p < LEVEL and row["effect"] > 0))
    heads = ("metric", "property", "effect", "p", "detected", "repetitions")
    return Table({head: [row[head] for some in rows for row in some] for head in heads})


def default_metrics() -> list[Metric]:
    """Return the metrics that the bench runs by default."""
    found = parse_metrics([f"{name}@{K}" if name in CUT else name for name in metric_names()])
    ours = [metric for metric in found if metric.needs <= GIVEN]
    # rRD is meaningful only for the smaller group
    ours = [replace(m, protected=PROTECTED) if isinstance(m, RRD) else m for m in ours]
    return [*ours, *parse_metrics(CROSSED), *(CheckMetric(check_name=name) for name in CHECKS)]


def _chosen(metrics: Any) -> list[Metric]:
    """Return metrics by name or object; names of checks are accepted too."""
    one = isinstance(metrics, (str, Metric)) or not isinstance(metrics, Iterable)
    several = [metrics] if one else list(metrics)
    chosen = parse_metrics([_check_or_metric(metric) for metric in several])
    for metric in chosen:
        if not metric.needs <= GIVEN:
            lacking = ", ".join(sorted(metric.needs - GIVEN))
            raise DataError(f"{metric} needs {lacking}, which the scenarios lack")
    return chosen


def _check_or_metric(metric: Any) -> Any:
    """Return the metric of a check, recognised by its name; others as given."""
    if not isinstance(metric, str):
        return metric
    if metric in CHECKS:
        return CheckMetric(check_name=metric)
    if any(outside_brackets(metric, ".")):
        raise DataError(f"metric {metric!r} is not known{suggest(metric, list(CHECKS))}")
    return metric


def _scores(metrics: list[Metric], ranking: Any, n_repetitions: int) -> list[np.ndarray]:
    """Return the value of each metric in every repetition (metrics x repetitions)."""
    prepared = [_on_group(metric) for metric in metrics]
    for metric in prepared:
        metric.check(ranking.data)
    found = []
    for metric, values in zip(prepared, measure(prepared, ranking), strict=True):
        metric.refuse_undefined(ranking.data, values)
        parts = [_part(values, at) for at in range(n_repetitions)]
        found.append(np.array([float(metric.summarize(part)[0]) for part in parts]))
    return found


def _on_group(metric: Metric) -> Metric:
    """Return the metric with ``by="group"`` if it names no attribute."""
    if any(field.name == "by" for field in fields(metric)) and getattr(metric, "by", "") is None:
        options: dict[str, Any] = {"by": "group"}
        return replace(metric, **options)
    return metric


def _part(values: Values, repetition: int) -> Values:
    some = slice(repetition * LISTS, (repetition + 1) * LISTS)
    groups = None if values.groups is None else values.groups[some]
    return values._replace(value=values.value[some], groups=groups)


def _tested(worse: np.ndarray, rng: np.random.Generator) -> dict[str, Any]:
    """Return effect size, p-value and number of differences."""
    worse = np.where(np.abs(worse) < 1e-12, 0.0, worse)
    p, _ = paired_tests(worse, rng)
    if len(worse) < 2:
        return {"effect": np.nan, "p": p, "repetitions": len(worse)}
    mean, spread = float(worse.mean()), float(worse.std(ddof=1))
    if spread < 1e-12:
        effect = 0.0 if mean == 0 else float(np.copysign(inf, mean))
    else:
        effect = mean / spread
    return {"effect": effect, "p": p, "repetitions": len(worse)}
