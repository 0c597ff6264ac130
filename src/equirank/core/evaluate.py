"""evaluate: several metrics of one ranking in one pass, with intervals and tests."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from . import inference
from .by_group import ByGroup, Split, nan_extreme, spread
from .data import RankingData
from .errors import DataError
from .evaluation import Evaluation, Result
from .measuring import measure, permuted, resampled
from .metric import GroupMetric, Metric, Values
from .names import parse_metrics
from .pair_cost import warn_uneven_costs
from .params import Integer, Number, check_params
from .random import generator
from .ranking import Ranking

__all__ = ["evaluate"]

Replicates = tuple[np.ndarray | None, np.ndarray | None]


def evaluate(
    data: RankingData | Ranking,
    metrics: Any,
    *,
    by: str | tuple[str, ...] | list[str] | None = None,
    control: str | tuple[str, ...] | list[str] | None = None,
    n_boot: int = 1000,
    n_permutations: int = 1000,
    level: float = 0.95,
    random_state: Any = 0,
) -> Evaluation:
    """Evaluate a ranking with several metrics in one pass.

    Parameters
    ----------
    data : RankingData or Ranking
        Data with a score or position column, or a ranking.
    metrics : metric, string, or a list of them
        ``[NDCG@10, "RND(step=5)@50"]`` or ``"NDCG@10, RND"``.
    by : str or sequence of str, optional
        Split the metrics that are sums over items by this attribute (several are crossed).
    control : str or sequence of str, optional
        Repeat the split within the strata of this attribute.
    n_boot : int
        Bootstrap replicates for the intervals: over queries, or over the items of a single list
        (stratified by group). 0 switches them off.
    n_permutations : int
        Draws of the permutation tests beside group gaps. 0 switches them off.
    level : float
        Level of the intervals.
    random_state : int, Generator, RandomState or None
        The same seed gives the same intervals.

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
    """
    check_params(
        "evaluate",
        {"n_boot": n_boot, "n_permutations": n_permutations, "level": level},
        {
            "n_boot": Integer(0),
            "n_permutations": Integer(0),
            "level": Number(0, 1, open_low=True, open_high=True),
        },
    )
    ranking = data.ranking() if isinstance(data, RankingData) else data
    if not isinstance(ranking, Ranking):
        raise DataError(
            f"data must be a RankingData or a Ranking, got {type(data).__name__}; "
            "as_ranking_data makes one from arrays or a frame"
        )
    chosen = parse_metrics(metrics)
    for metric in chosen:
        metric.check(ranking.data)
    if any("cost" in metric.needs for metric in chosen):
        warn_uneven_costs("the data", ranking.data.cost)
    split = _split_metrics(chosen, ranking.data, by, control)
    everything = [*chosen, *split.values()]
    values = measure(everything, ranking)
    for metric, value in zip(chosen, values, strict=False):
        metric.refuse_undefined(ranking.data, value)
    drawn = _bootstrap(ranking, everything, values, n_boot, random_state)
    tested = _permutation_tests(ranking, everything, values, n_permutations, random_state)
    results = []
    for at, metric in enumerate(chosen):
        part = None
        if metric in split:
            part = _split_result(split[metric], everything, values, drawn, tested, ranking.data)
        boot, group_boot = drawn[at]
        p, null = tested[at]
        one, rest = (p[0], p[1:]) if metric.signed and null is not None else (p, None)
        results.append(Result(metric, values[at], boot, group_boot, float(one), part, rest, null))
    data = ranking.data
    return Evaluation(
        tuple(results),
        data.qids,
        level=level,
        sample_size=data.n_queries if data.n_queries > 1 else data.n_rows,
        by=None if by is None else data.attribute(_key(by)).categories,
        strata=() if control is None else data.attribute(_key(control)).categories,
        backend=data.backend,
        seed_state=random_state,
    )


def _key(names: Any) -> Any:
    return names if isinstance(names, str) or names is None else tuple(names)


def _split_metrics(
    chosen: list[Metric], data: RankingData, by: Any, control: Any
) -> dict[Metric, ByGroup]:
    """Pair each metric that can be split with its split."""
    if by is None:
        if control is not None:
            raise DataError(
                "by must be given where control is: control repeats the split within strata"
            )
        return {}
    data.attribute(_key(by))
    if control is not None:
        data.attribute(_key(control))
    split = {
        metric: ByGroup(metric=metric, by=_key(by), control=_key(control))
        for metric in chosen
        if metric.additive
    }
    if not split:
        raise DataError(
            "by needs a metric that is a sum over items, such as DCG, NDCG, Precision, Recall or "
            f"AverageRank; none of {', '.join(map(str, chosen))} is"
        )
    return split


def _split_result(
    part: ByGroup,
    everything: list[Metric],
    values: list[Values],
    drawn: list[Replicates],
    tested: list[Any],
    data: RankingData,
) -> Split:
    at = everything.index(part)
    n_strata = 1 if part.control is None else len(data.attribute(part.control).categories)
    per_query = np.asarray(values[at].groups).reshape(data.n_queries, n_strata, -1)
    replicates = drawn[at][1]
    if replicates is not None:
        replicates = replicates.reshape(len(replicates), n_strata, -1)
    return Split(per_query, replicates, np.broadcast_to(tested[at][0], (n_strata,)))


def _bootstrap(
    ranking: Ranking,
    metrics: list[Metric],
    values: list[Values],
    n_boot: int,
    random_state: Any,
) -> list[Replicates]:
    """Give per metric the replicates of its value and of its groups' values."""
    if n_boot == 0:
        return [(None, None)] * len(metrics)
    rng, data = generator(random_state, 0), ranking.data
    parts: list[list[tuple[np.ndarray, np.ndarray | None]]] = [[] for _ in metrics]
    if data.n_queries > 1:
        for counts in inference.query_counts(rng, n_boot, data.n_queries):
            for at, metric in enumerate(metrics):
                parts[at].append(metric.summarize(values[at], counts))
    else:
        for counts in inference.item_counts(rng, n_boot, _strata(data, metrics)):
            for at, drawn in enumerate(resampled(metrics, ranking, counts)):
                parts[at].append((drawn.value, drawn.groups))
    result: list[Replicates] = []
    for part in parts:
        groups = [g for _, g in part if g is not None]
        value = np.concatenate([v for v, _ in part])
        result.append((value, np.concatenate(groups) if groups else None))
    return result


def _strata(data: RankingData, metrics: list[Metric]) -> np.ndarray:
    """Cross the groups that any of the metrics looks at, so that resampling keeps their sizes."""
    code = np.zeros(data.n_rows, dtype=np.int64)
    keys = [getattr(metric, name, None) for metric in metrics for name in ("by", "control")]
    if any(isinstance(metric, GroupMetric) and metric.by is None for metric in metrics):
        keys.append(next(iter(data.sensitive)))
    for by in dict.fromkeys(key for key in keys if key is not None):
        attribute = data.attribute(by)
        code = code * len(attribute.categories) + attribute.codes
        code = np.unique(code, return_inverse=True)[1].astype(np.int64)
    return code


def _permutation_tests(
    ranking: Ranking,
    metrics: list[Metric],
    values: list[Values],
    n_permutations: int,
    random_state: Any,
) -> list[Any]:
    """Give p-value and draws of the permutation test of each metric that compares groups.

    NaN and None for other metrics. Metrics that look at the same groups share the permuted labels.
    """
    result: list[Any] = [(float("nan"), None)] * len(metrics)
    tested = [
        (at, metric)
        for at, metric in enumerate(metrics)
        if isinstance(metric, (GroupMetric, ByGroup)) and n_permutations > 0
    ]
    data = ranking.data
    for by, control in dict.fromkeys((m.by, getattr(m, "control", None)) for _, m in tested):
        some = [(at, m) for at, m in tested if (m.by, getattr(m, "control", None)) == (by, control)]
        strata = None if control is None else data.attribute(control).codes
        plan = inference.PermutationPlan(data, data.attribute(by).codes, strata, n_permutations)
        pools: dict[int, list[tuple[slice, np.ndarray]]] = {at: [] for at, _ in some}
        for queries, labels in plan.draws(random_state):
            for at, metric in some:
                drawn = permuted(metric, ranking, queries, by, labels)
                pools[at].append((queries, _tested_columns(metric, drawn)))
        for at, metric in some:
            statistic: Any = _both_sides if metric.signed else _only_column
            if isinstance(metric, ByGroup):
                statistic = _Spread(
                    1 if strata is None else len(data.attribute(control).categories)
                )
            observed = _tested_columns(metric, values[at])
            result[at] = plan.p_value(observed, pools[at], statistic, random_state)
    return result


def _tested_columns(metric: Metric, values: Values) -> np.ndarray:
    """Give the columns a permutation test looks at, larger being stronger (last axis)."""
    if isinstance(metric, ByGroup) or metric.signed:
        return np.asarray(values.groups)
    return (1.0 if metric.direction == "lower" else -1.0) * values.value[..., None]


def _only_column(means: np.ndarray) -> np.ndarray:
    return means[..., 0]


def _both_sides(means: np.ndarray) -> np.ndarray:
    """Give the size of each group's difference, the largest first."""
    size = np.abs(means)
    return np.concatenate([nan_extreme(size, 1.0)[..., None], size], axis=-1)


@dataclass(frozen=True)
class _Spread:
    """The largest difference of groups in each stratum."""

    n_strata: int

    def __call__(self, means: np.ndarray) -> np.ndarray:
        table = means.reshape(*means.shape[:-1], self.n_strata, -1)
        return spread(table[..., :-1])
