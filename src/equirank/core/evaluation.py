"""Evaluation: metric values per query and group, summaries, intervals and tests."""

import html
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from ..kernels.resampling import weighted_means
from . import inference
from .errors import DataError
from .metric import Metric, Values
from .query_values import Split, difference, nan_extreme, ratio
from .random import generator
from .registry import find_metric
from .table import Table

__all__ = ["Evaluation", "Result"]


@dataclass(frozen=True, eq=False)
class Result:
    """One metric of an evaluation: its values per query, replicates and permutation p-value.

    ``null`` contains the draws of the test statistic under permuted groups (larger is stronger).
    With more than 2,048 queries, ``twins`` contains the mean over relabellings of each query
    instead.
    """

    metric: Metric
    values: Values
    replicates: np.ndarray | None
    group_replicates: np.ndarray | None
    p_value: float
    split: Split | None
    null: np.ndarray | None = None
    twins: np.ndarray | None = None

    @cached_property
    def summary(self) -> tuple[float, np.ndarray | None]:
        """The value over all queries and the value of each group."""
        value, groups = self.metric.summarize(self.values)
        return float(value), groups

    @property
    def n_skipped(self) -> int:
        """Number of queries where the metric is undefined."""
        return int(np.isnan(self.values.value).sum())

    def interval(self, level: float, n: int) -> tuple[float, float]:
        """Return the interval of the value; NaN without replicates."""
        if self.replicates is None:
            return float("nan"), float("nan")
        if type(self.metric).summarize is Metric.summarize:
            found = inference.mean_interval(self.replicates, self.values.value, level, n)
            ends = np.clip(found[0], *self.metric.bounds), np.clip(found[1], *self.metric.bounds)
        else:
            ends = inference.interval(self.replicates, level, n)
        return float(ends[0]), float(ends[1])

    def group_rows(self, level: float, n: int) -> Iterator[tuple[Any, float, float, float, int]]:
        """Yield label, value, interval and number of defined queries of each group."""
        (_, groups), values, drawn = self.summary, self.values.groups, self.group_replicates
        if groups is None or values is None:
            return
        low = high = np.full(groups.shape, np.nan)
        if drawn is not None and type(self.metric).summarize is Metric.summarize:
            low, high = inference.mean_interval(drawn, values, level, n)
        elif drawn is not None:
            low, high = inference.interval(drawn, level, n)
        defined = (~np.isnan(values)).sum(axis=0)
        for at, label in enumerate(self.values.labels):
            yield label, float(groups[at]), float(low[at]), float(high[at]), int(defined[at])

    @property
    def chance(self) -> float:
        """The mean over permutations of groups; NaN without them."""
        if self.twins is not None:
            return self.summary[0] - inference.twin_moments(self.values.value, self.twins)[0]
        if self.null is None or not np.isfinite(self.null).any():
            return float("nan")
        sign = 1.0 if self.metric.direction == "lower" else -1.0
        return sign * float(self.null[np.isfinite(self.null)].mean())

    def edge(self, level: float) -> float:
        """Return the quantile of the test statistic under permuted groups; larger is stronger."""
        if self.twins is not None:
            sign = 1.0 if self.metric.direction == "lower" else -1.0
            error = inference.twin_moments(self.values.value, self.twins)[1]
            return sign * self.chance + NormalDist().inv_cdf(level) * error
        if self.null is None or not np.isfinite(self.null).any():
            return float("nan")
        return float(np.quantile(self.null[np.isfinite(self.null)], level))


class Evaluation:
    """Metric values per query, with summaries and intervals.

    `evaluate` returns it.

    Attributes
    ----------
    results : tuple of Result
        One per metric.
    qids : ndarray
        The queries; none if they are only known as sums over so many of them.
    n_queries : int
        Number of queries.
    level : float
        Level of the intervals.
    notes : list of str
        Remarks for the reader: skipped queries, undefined results.

    Examples
    --------
    >>> from equirank import as_ranking_data, evaluate
    >>> data = as_ranking_data(
    ...     None, [1, 0, 2, 0, 1], qid=[1, 1, 2, 2, 2], score=[0.2, 0.9, 0.8, 0.1, 0.4],
    ...     sensitive_features={"sex": ["f", "m", "m", "f", "f"]},
    ... )
    >>> result = evaluate(data, ["NDCG@10", "ExposureGap"], n_boot=0)
    >>> round(result["NDCG@10"], 4)
    0.8155
    >>> result.per_query("NDCG@10").round(4)
    array([0.6309, 1.    ])
    """

    def __init__(
        self,
        results: tuple[Result, ...],
        qids: np.ndarray,
        *,
        level: float,
        sample_size: int,
        by: tuple[Any, ...] | None = None,
        strata: tuple[Any, ...] = (),
        backend: str | None = None,
        seed_state: Any = 0,
        n_queries: int | None = None,
    ) -> None:
        self.results = results
        self.qids = qids
        self.n_queries = len(qids) if n_queries is None else n_queries
        self.level = level
        self.sample_size = sample_size
        self.groups = by
        self.strata = strata
        self.backend = backend
        self._seed_state = seed_state
        self.notes = list(_notes(results, self.n_queries))

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics."""
        return [result.metric.name for result in self.results]

    def result(self, metric: str | Metric) -> Result:
        """Return the result of one metric; its name may have any spelling that parses to it."""
        found = find_metric(metric, [result.metric for result in self.results])
        return next(result for result in self.results if result.metric is found)

    def __getitem__(self, metric: str | Metric) -> float:
        """Return the value of one metric over all queries."""
        return self.result(metric).summary[0]

    def per_query(self, metric: str | Metric) -> np.ndarray:
        """Return the values of one metric per query in `qids`; NaN if undefined."""
        return self.result(metric).values.value

    def to_table(self) -> Table:
        """Return the tidy table: metric, query, group (None for the whole) and value."""
        columns: dict[str, list[Any]] = {"metric": [], "query": [], "group": [], "value": []}
        queries = self.qids.tolist()
        for result in self.results:
            parts: list[tuple[Any, np.ndarray]] = [(None, result.values.value)]
            if result.values.groups is not None:
                parts += list(zip(result.values.labels, result.values.groups.T, strict=True))
            for label, value in parts:
                columns["metric"] += [result.metric.name] * len(queries)
                columns["query"] += queries
                columns["group"] += [label] * len(queries)
                columns["value"] += value.tolist()
        return Table(columns, self.backend)

    def summary(self) -> Table:
        """Return one row per metric and group: value, interval, permutation p-value, queries."""
        rows: list[dict[str, Any]] = []
        for result in self.results:
            value, _ = result.summary
            low, high = result.interval(self.level, self.sample_size)
            used = self.n_queries - result.n_skipped
            row = {"metric": result.metric.name, "group": None, "value": value}
            row |= {"low": float(low), "high": float(high), "p_value": result.p_value}
            rows.append(row | {"queries": used, "skipped": result.n_skipped})
            for each in result.group_rows(self.level, self.sample_size):
                label, value, low, high, used = each
                row = {"metric": result.metric.name, "group": label, "value": value}
                row |= {"low": low, "high": high, "p_value": np.nan}
                rows.append(row | {"queries": used, "skipped": self.n_queries - used})
        columns = {name: [row[name] for row in rows] for name in rows[0]}
        return Table(columns, self.backend)

    def _interval(
        self, replicates: np.ndarray | None, shape: tuple[int, ...] = ()
    ) -> tuple[np.ndarray, np.ndarray]:
        if replicates is None:
            return np.full(shape, np.nan), np.full(shape, np.nan)
        return inference.interval(replicates, self.level, self.sample_size)

    @property
    def by_group(self) -> Table:
        """Each split metric's value in each group, with its interval."""
        return self._groups_table(slice(None, -1), self.groups)

    @property
    def overall(self) -> Table:
        """Each split metric's value over all groups, with its interval."""
        return self._groups_table(slice(-1, None), (None,))

    def difference(
        self, method: Literal["between_groups", "to_overall"] = "between_groups"
    ) -> Table:
        """Return the largest difference of group values, its interval and permutation p-value.

        Parameters
        ----------
        method : {"between_groups", "to_overall"}
            Largest minus smallest group, or the largest distance of a group from the whole.
        """
        return self._compare(method, difference, with_p=True)

    def ratio(self, method: Literal["between_groups", "to_overall"] = "between_groups") -> Table:
        """Return the smallest ratio of group values and its interval.

        Parameters
        ----------
        method : {"between_groups", "to_overall"}
            Smallest over largest group, or the smallest quotient of a group and the whole.
        """
        return self._compare(method, ratio)

    def group_min(self) -> Table:
        """Return the smallest group value, the group and the interval."""
        return self._compare("min", lambda table, _: nan_extreme(table[..., :-1], -1.0))

    def group_max(self) -> Table:
        """Return the largest group value, the group and the interval."""
        return self._compare("max", lambda table, _: nan_extreme(table[..., :-1], 1.0))

    def _splits(self) -> list[tuple[Result, Split]]:
        found = [(result, result.split) for result in self.results if result.split is not None]
        if not found:
            raise DataError("by must be given to evaluate for values by group, and was not")
        return found

    def _groups_table(self, part: slice, labels: tuple[Any, ...] | None) -> Table:
        rows: list[dict[str, Any]] = []
        for result, split in self._splits():
            lows, highs = self._interval(split.replicates, split.value.shape)
            for s, stratum in enumerate(self.strata or (None,)):
                values = split.value[s, part]
                for at, label in enumerate(labels or ()):
                    row = {"metric": result.metric.name, "control": stratum, "group": label}
                    row |= {"value": float(values[at]), "low": float(lows[s, part][at])}
                    rows.append(row | {"high": float(highs[s, part][at])})
        return self._table(rows, drop_group=labels == (None,))

    def _compare(self, method: str, compare: Any, with_p: bool = False) -> Table:
        rows: list[dict[str, Any]] = []
        for result, split in self._splits():
            value = compare(split.value, method)
            drawn = None if split.replicates is None else compare(split.replicates, method)
            lows, highs = self._interval(drawn, value.shape)
            for s, stratum in enumerate(self.strata or (None,)):
                row: dict[str, Any] = {"metric": result.metric.name, "control": stratum}
                if method in ("min", "max"):
                    row["group"] = self._which(split.value[s, :-1], float(value[s]))
                row |= {"value": float(value[s]), "low": float(lows[s]), "high": float(highs[s])}
                if with_p and method == "between_groups":
                    row["p_value"] = float(split.p_value[s])
                rows.append(row)
        return self._table(rows)

    def _which(self, values: np.ndarray, value: float) -> Any:
        found = np.flatnonzero(values == value)
        return self.groups[found[0]] if len(found) and self.groups else None

    def _table(self, rows: list[dict[str, Any]], drop_group: bool = False) -> Table:
        dropped = ({"control"} if not self.strata else set()) | ({"group"} if drop_group else set())
        names = [name for name in rows[0] if name not in dropped]
        return Table({name: [row[name] for row in rows] for name in names}, self.backend)

    def versus(
        self, other: "Evaluation", *, n_boot: int = 1000, n_permutations: int = 10_000
    ) -> Table:
        """Test the difference of two evaluations over the queries they share.

        Parameters
        ----------
        other : Evaluation
            Of another ranking of the same queries, with the same metrics.
        n_boot : int
            Bootstrap replicates of the interval; 0 for none.
        n_permutations : int
            Sign flips of the paired randomisation test (all of them where there are fewer); 0 for
            no tests.

        Returns
        -------
        Table
            Per metric the two values over the shared defined queries, their difference with its
            bootstrap interval, the p-values of the paired randomisation test and of the paired
            t-test, each also Holm-corrected across the metrics. One shared query leaves them
            undefined.
        """
        for each in (self, other):
            each.per_query(each.results[0].metric)  # an error if they are not known
        mine, theirs = _shared(self.qids, other.qids)
        shared = [result for result in self.results if result.metric.name in other.metrics]
        if not shared:
            raise DataError(
                f"other must hold one of the metrics {', '.join(self.metrics)}, "
                f"got {', '.join(other.metrics)}"
            )
        rows = []
        for at, result in enumerate(shared):
            a = result.values.value[mine]
            b = other.result(result.metric.name).values.value[theirs]
            both = ~(np.isnan(a) | np.isnan(b))
            draws = n_boot, n_permutations
            rows.append(self._versus_row(result.metric, a[both], b[both], draws, at))
        for test in ("p_random", "p_t"):
            corrected = inference.holm([row[test] for row in rows])
            for row, p in zip(rows, corrected, strict=True):
                row[f"{test}_holm"] = float(p)
        return Table({name: [row[name] for row in rows] for name in rows[0]}, self.backend)

    def _versus_row(
        self, metric: Metric, a: np.ndarray, b: np.ndarray, draws: tuple[int, int], at: int
    ) -> dict[str, Any]:
        rng = generator(self._seed_state, 3, at)
        low = high = p_random = p_t = float("nan")
        n_boot, n_permutations = draws
        if len(a) > 1 and n_boot:
            counts = np.concatenate(list(inference.query_counts(rng, n_boot, len(a))))
            drawn = weighted_means((a - b)[:, None], counts)[:, 0]
            low, high = map(float, inference.interval(drawn, self.level, len(a)))
        if len(a) > 1 and n_permutations:
            p_random, p_t = inference.paired_tests(a - b, rng, n_permutations)
        value, other = (float(v.mean()) if len(v) else float("nan") for v in (a, b))
        row = {"metric": metric.name, "value": value, "other": other, "difference": value - other}
        row |= {"low": low, "high": high, "p_random": p_random, "p_t": p_t}
        return row | {"queries": len(a)}

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the tidy table (metric, query, group, value) as a native data frame."""
        return self.to_table().to_frame(backend)

    def to_dict(self) -> dict[str, Any]:
        """Return summaries (and values by group) as plain rows."""
        document: dict[str, Any] = {
            "schema_version": 1,
            "level": self.level,
            "queries": self.n_queries,
            "summary": list(self.summary()),
        }
        if any(result.split is not None for result in self.results):
            names = ("by_group", "overall", "difference", "ratio", "group_min", "group_max")
            for name in names:
                part = getattr(self, name)
                document[name] = list(part if isinstance(part, Table) else part())
        return document | {"notes": list(self.notes)}

    def to_json(self) -> str:
        """Return `to_dict` as JSON; undefined numbers become null."""
        return json.dumps(_without_nan(self.to_dict()), ensure_ascii=False, allow_nan=False)

    def __repr__(self) -> str:
        """Show the summary as text, and the values by group where there are any."""
        parts = [self._shown_summary().to_text()]
        if any(result.split is not None for result in self.results):
            parts += [
                "by group",
                self.by_group.to_text(),
                "difference",
                self.difference().to_text(),
            ]
        return "\n".join(parts + [f"note: {note}" for note in self.notes])

    def _repr_html_(self) -> str:
        parts = [self._shown_summary()._repr_html_()]
        if any(result.split is not None for result in self.results):
            parts += [self.by_group._repr_html_(), self.difference()._repr_html_()]
        return "".join(parts + [f"<p>{html.escape(note)}</p>" for note in self.notes])

    def _shown_summary(self) -> Table:
        """Return the summary without empty columns."""
        table = self.summary()
        hidden = {"group", "low", "high", "p_value"}
        kept = {n: v for n, v in table.columns.items() if n not in hidden or not _empty(v)}
        if "group" in kept:
            kept["group"] = np.array(["" if g is None else str(g) for g in kept["group"]], object)
        return Table(kept, self.backend)


def _notes(results: Iterable[Result], n_queries: int) -> Iterable[str]:
    for result in results:
        if result.n_skipped:
            yield (
                f"{result.metric}: {result.n_skipped} of {n_queries} queries are skipped, "
                f"where {result.metric.why_undefined}"
            )


def _shared(mine: np.ndarray, theirs: np.ndarray) -> tuple[list[int], list[int]]:
    places = {query: at for at, query in enumerate(theirs.tolist())}
    pairs = [(at, places[query]) for at, query in enumerate(mine.tolist()) if query in places]
    if not pairs:
        raise DataError("other must be an evaluation of the same queries, and shares none of them")
    return [at for at, _ in pairs], [at for _, at in pairs]


def _empty(values: np.ndarray) -> bool:
    return all(v is None or (isinstance(v, float) and np.isnan(v)) for v in values.tolist())


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_without_nan(part) for part in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
