"""evaluate: several metrics of one ranking, with confidence intervals and tests."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..kernels.segments import divide
from . import inference
from .data import RankingData
from .evaluation import Evaluation, Result
from .given_data import refuse_beside
from .list_keys import list_keys
from .list_sums import ListSums
from .metric import GroupMetric, Metric, Values, resampled
from .pair_cost import warn_uneven_costs
from .params import Constraint, Integer, Number, check_params
from .query_values import (
    ByGroup,
    Measures,
    QueryValues,
    Split,
    measure_queries,
    permutation_test,
)
from .random import generator
from .ranking import Ranking, as_given_ranking
from .registry import parse_metrics
from .summed_results import evaluate_sums

__all__ = ["RESAMPLING", "evaluate"]

#: Constraints of the parameters of confidence intervals and tests.
RESAMPLING: dict[str, Constraint] = {
    "n_boot": Integer(0),
    "n_permutations": Integer(0),
    "level": Number(0, 1, open_low=True, open_high=True),
}


Replicate = tuple[np.ndarray, np.ndarray | None]
Replicates = tuple[np.ndarray | None, np.ndarray | None]


def evaluate(
    data: Any,
    metrics: Any,
    *,
    by: str | tuple[str, ...] | list[str] | None = None,
    control: str | tuple[str, ...] | list[str] | None = None,
    n_boot: int = 1000,
    n_permutations: int = 1000,
    level: float = 0.95,
    random_state: Any = 0,
    **columns: Any,
) -> Evaluation:
    """Evaluate a ranking with several metrics in one pass.

    Parameters
    ----------
    data : RankingData, Ranking, data frame or ListSums
        Data with a score or position column, or a ranking. Sums of more than 2,048 lists or
        1,000,000 rows have the values, intervals and p-values of the metrics that they contain, but
        no values of single lists, and are split as they were made (``by`` of `list_sums`).
    metrics : metric, string, or a list of them
        ``[NDCG@10, "RND(step=5)@50"]`` or ``"NDCG@10, RND"``.
    by : str or sequence of str, optional
        Split the metrics that are sums over items by this attribute (several are crossed).
    control : str or sequence of str, optional
        Repeat the split within the strata of this attribute.
    n_boot : int
        Bootstrap replicates for the intervals: over queries, or over the items of a single list
        (stratified by group). More than 2,048 queries are resampled as 1,024 buckets. 0 switches
        them off.
    n_permutations : int
        Draws of the permutation tests beside group gaps. With more than 2,048 queries every query
        is compared with relabellings of itself instead, and the number only says that there are
        tests. 0 switches them off.
    level : float
        Level of the intervals.
    random_state : int, Generator, RandomState or None
        The same seed gives the same intervals.
    **columns
        Columns of a data frame, as in `as_ranking_data`: ``y="grade", qid="query",
        score="score"``. By default no column is a feature.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> from equirank import as_ranking_data, evaluate
    >>> data = as_ranking_data(
    ...     None, [1, 0, 2, 0, 1], qid=[1, 1, 2, 2, 2], score=[0.2, 0.9, 0.8, 0.1, 0.4]
    ... )
    >>> evaluate(data, "NDCG@10, Precision@1", n_boot=0)
    metric        value  queries  skipped
    NDCG@10      0.8155        2        0
    Precision@1  0.5000        2        0
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"click": [1, 0, 0, 1], "score": [3, 2, 1, 4], "day": list("aabb")})
    >>> evaluate(frame, "NDCG@10", y="click", qid="day", score="score", n_boot=0)["NDCG@10"]
    1.0
    """
    given: dict[str, Any] = {
        "n_boot": n_boot, "n_permutations": n_permutations, "level": level,
    }  # fmt: skip
    check_params("evaluate", given, RESAMPLING)
    if isinstance(data, ListSums):
        refuse_beside(columns, "ListSums")
        if not data.complete:
            given |= {"by": by, "control": control, "random_state": random_state}
            return evaluate_sums(data, parse_metrics(metrics), **given)
        data = data.kept.to_data(data.plan).ranking(data.plan.ties)
    ranking = as_given_ranking(data, "evaluate", columns)
    measures = Measures.of(parse_metrics(metrics), ranking.data, by, control)
    if any("cost" in metric.needs for metric in measures.chosen):
        warn_uneven_costs("the data", ranking.data.cost)
    found = measure_queries(measures, ranking, n_permutations, random_state)
    drawn = _bootstrap(ranking, measures.everything, found.values, n_boot, random_state)
    result = _summed_up(
        measures,
        found,
        drawn,
        n_permutations=n_permutations,
        level=level,
        random_state=random_state,
        sample_size=ranking.data.n_queries if ranking.data.n_queries > 1 else ranking.data.n_rows,
        backend=ranking.data.backend,
    )
    result.notes += _unknown_labels(ranking.data, measures.everything)
    result.notes += [note for metric in measures.chosen for note in metric.remarks(ranking)]
    return result


def _unknown_labels(data: RankingData, metrics: Sequence[Metric]) -> list[str]:
    """Return how many labels of the attributes that metrics compare are unknown."""
    used = set().union(*(_attributes_of(data, metric) for metric in metrics))
    return [
        f"{name} unknown: {attribute.n_unknown:,} of {data.n_rows:,} rows, which are in no group"
        for name, attribute in data.sensitive.items()
        if attribute.n_unknown and name in used
    ]


def _attributes_of(data: RankingData, metric: Metric) -> set[str]:
    names: set[str] = set(data.sensitive if "sensitive" in metric.needs else ())
    given = [getattr(metric, field, None) for field in ("by", "control")]
    named = [[part] if isinstance(part, str) else part for part in given if part is not None]
    return {name for part in named for name in part} or names


def _summed_up(
    measures: Measures,
    found: QueryValues,
    drawn: list[Replicates],
    *,
    n_permutations: int,
    level: float,
    random_state: Any,
    sample_size: int,
    backend: str | None,
) -> Evaluation:
    tested = [
        permutation_test(measures, found, at, n_permutations, random_state)
        for at in range(len(measures.everything))
    ]
    results = []
    for at, metric in enumerate(measures.chosen):
        part = None
        if metric in measures.split:
            part = _split_result(measures, metric, found, drawn, tested)
        boot, group_boot = drawn[at]
        p, null = tested[at]
        values, pool = found.values[at], found.pools[at]
        twins = pool if pool is not None and pool.ndim == 1 else None
        results.append(Result(metric, values, boot, group_boot, float(p), part, null, twins))
    return Evaluation(
        tuple(results),
        found.qids,
        level=level,
        sample_size=sample_size,
        by=measures.groups,
        strata=measures.strata,
        backend=backend,
        seed_state=random_state,
    )


def _split_result(
    measures: Measures,
    metric: Metric,
    found: QueryValues,
    drawn: list[Replicates],
    tested: list[Any],
) -> Split:
    by_group, n_strata = measures.split[metric], measures.n_strata
    at = measures.everything.index(by_group)
    value = np.asarray(by_group.summarize(found.values[at])[1]).reshape(n_strata, -1)
    replicates = drawn[at][1]
    if replicates is not None:
        replicates = replicates.reshape(len(replicates), n_strata, -1)
    return Split(value, replicates, np.broadcast_to(tested[at][0], (n_strata,)))


def _bootstrap(
    ranking: Ranking,
    metrics: list[Metric],
    values: list[Values],
    n_boot: int,
    random_state: Any,
) -> list[Replicates]:
    """Return the bootstrap replicates of each metric and of its values by group."""
    if ranking.data.n_queries > 1 or n_boot == 0:
        return _query_bootstrap(metrics, values, n_boot, random_state, ranking.data.qids)
    parts: list[list[Replicate]] = [[] for _ in metrics]
    strata = _strata(ranking.data, metrics)
    for counts in inference.item_counts(generator(random_state, 0), n_boot, strata):
        for at, drawn in enumerate(resampled(metrics, ranking, counts)):
            metric, groups = metrics[at], drawn.groups
            if isinstance(metric, ByGroup):
                groups = metric.quotients(np.asarray(groups))
            parts[at].append((drawn.value, groups))
    return [_stacked(part) for part in parts]


def _query_bootstrap(
    metrics: list[Metric], values: list[Values], n_boot: int, random_state: Any, qids: np.ndarray
) -> list[Replicates]:
    """Return replicates over queries; many are resampled as buckets, by the keys of their labels.

    A metric with a summary of its own needs every query.
    """
    if n_boot == 0:
        return [(None, None)] * len(metrics)
    parts: list[list[Replicate]] = [[] for _ in metrics]
    n_queries = len(values[0].value)
    means = [type(metric).summarize in (Metric.summarize, ByGroup.summarize) for metric in metrics]
    if n_queries <= inference.MANY_QUERIES:
        means = [False] * len(metrics)
    if any(means):
        bucket = (list_keys(qids) % np.uint64(inference.BUCKETS)).astype(np.int64)
        for at, drawn in _bucket_replicates(metrics, values, means, bucket, n_boot, random_state):
            parts[at].append(drawn)
    if all(means):
        return [_stacked(part) for part in parts]
    for counts in inference.query_counts(generator(random_state, 0), n_boot, n_queries):
        for at, metric in enumerate(metrics):
            if not means[at]:
                parts[at].append(metric.summarize(values[at], counts))
    return [_stacked(part) for part in parts]


def _bucket_replicates(
    metrics: list[Metric],
    values: list[Values],
    means: list[bool],
    bucket: np.ndarray,
    n_boot: int,
    random_state: Any,
) -> Iterator[tuple[int, Replicate]]:
    """Yield the metrics that are means, and these over resampled buckets of queries."""
    from ..kernels.resampled_sums import resampled_sums

    chosen = np.flatnonzero(means).tolist()
    tables = [
        values[at].value[:, None] if values[at].groups is None
        else np.concatenate([values[at].value[:, None], values[at].groups], axis=1)
        for at in chosen
    ]  # fmt: skip
    total, defined = inference.unit_sums(np.concatenate(tables, axis=1), bucket)
    rng = generator(random_state, 0)
    counts = np.concatenate(list(inference.query_counts(rng, n_boot, len(total))))
    replicates = divide(resampled_sums(counts, total), resampled_sums(counts, defined))
    ends = np.cumsum([table.shape[1] for table in tables])[:-1]
    for at, own in zip(chosen, np.split(replicates, ends, axis=1), strict=True):
        metric, groups = metrics[at], None if values[at].groups is None else own[:, 1:]
        if isinstance(metric, ByGroup):
            groups = metric.quotients(np.asarray(groups))
        yield at, (own[:, 0], groups)


def _stacked(part: list[Replicate]) -> Replicates:
    groups = [g for _, g in part if g is not None]
    value = np.concatenate([v for v, _ in part])
    return value, np.concatenate(groups) if groups else None


def _strata(data: RankingData, metrics: list[Metric]) -> np.ndarray:
    """Return the intersection of all groups compared; resampling keeps its sizes."""
    code = np.zeros(data.n_rows, dtype=np.int64)
    keys = [getattr(metric, name, None) for metric in metrics for name in ("by", "control")]
    if any(isinstance(metric, GroupMetric) and metric.by is None for metric in metrics):
        keys.append(next(iter(data.sensitive)))
    for by in dict.fromkeys(key for key in keys if key is not None):
        attribute = data.attribute(by)
        code = code * (len(attribute.categories) + 1) + attribute.codes
        code = np.unique(code, return_inverse=True)[1].astype(np.int64)
    return code
