"""dask_evaluate: metrics of a ranking in the partitions of a Dask frame."""

from collections.abc import Sequence
from typing import Any, Literal

from ..core.evaluate import RESAMPLING, evaluate
from ..core.evaluation import Evaluation
from ..core.params import check_params
from ..core.random import as_seed
from ..core.registry import parse_metrics
from ..engines.dask_tasks import open_frame
from ..engines.sources import list_sums
from .partitions import roles_of

__all__ = ["dask_evaluate"]


def dask_evaluate(
    data: Any,
    metrics: Any,
    *,
    query: str | Literal[False] | None = None,
    score: str | Literal[False] | None = None,
    relevance: str | Literal[False] | None = None,
    position: str | Literal[False] | None = None,
    sensitive: str | Sequence[str] | None = None,
    cost: str | Literal[False] | None = None,
    features: str | Sequence[str] = (),
    by: str | tuple[str, ...] | list[str] | None = None,
    control: str | tuple[str, ...] | list[str] | None = None,
    n_boot: int = 1000,
    n_permutations: int = 1000,
    level: float = 0.95,
    random_state: Any = 0,
    max_groups: int | None = None,
    client: Any = None,
) -> Evaluation:
    """Evaluate a ranking in the partitions of a Dask frame: `evaluate` of its `list_sums`.

    Workers bring the rows of a query together and sum what its metrics are. Only sums come to the
    calling process, with the rows of at most 2,048 queries. Up to so many (and 1,000,000 rows) the
    result has the values of each query; beyond, it has values, intervals and p-values of metrics
    and groups, and a metric that is no mean over queries is an error. Ties and queries for which a
    metric is undefined are treated as in `evaluate`, and a missing label of a group is unknown.

    Parameters
    ----------
    data : dask.dataframe.DataFrame or path
        The rows, or a folder of Parquet files.
    metrics : metric, string, or a list of them
        As in `evaluate`.
    query, score, relevance, position, cost : str, optional
        Names of columns, recognised as in `read_csv` if omitted; False for none.
    sensitive, features : str or list of str, optional
        The sensitive attributes, and features for metrics that need them.
    by, control, n_boot, n_permutations, level, random_state
        As in `evaluate`.
    max_groups : int, optional
        Most groups of an attribute, as in `as_ranking_data`.
    client : distributed.Client, optional
        Where to compute; by default Dask's current scheduler, such as the current client.

    Returns
    -------
    Evaluation

    Examples
    --------
    >>> import dask, dask.dataframe, pandas
    >>> from equirank.distributed import dask_evaluate
    >>> frame = pandas.DataFrame(
    ...     {"qid": [1, 1, 2, 2, 2], "y": [1, 0, 2, 0, 1], "score": [0.2, 0.9, 0.8, 0.1, 0.4]}
    ... )
    >>> parts = dask.dataframe.from_pandas(frame, npartitions=2)
    >>> with dask.config.set(scheduler="synchronous"):
    ...     dask_evaluate(parts, "NDCG@10, Precision@1", n_boot=0)
    metric        value  queries  skipped
    NDCG@10      0.8155        2        0
    Precision@1  0.5000        2        0
    """
    given: dict[str, Any] = {"n_boot": n_boot, "n_permutations": n_permutations, "level": level}
    check_params("dask_evaluate", given, RESAMPLING)
    chosen, seed = parse_metrics(metrics), as_seed(random_state)
    frame = open_frame(data)
    named = {
        "query": query, "score": score, "relevance": relevance, "position": position, "cost": cost,
    }  # fmt: skip
    roles = roles_of(frame, sensitive=sensitive, features=features, **named)
    columns: dict[str, Any] = {name: roles.single.get(name, False) for name in named}
    needs = frozenset().union(*(metric.needs for metric in chosen))
    if columns["cost"] is False or (cost is None and "cost" not in needs):
        columns["cost"] = None
    sums = list_sums(
        frame, **columns, sensitive=list(roles.sensitive) or None,
        features=list(roles.features) or None, metrics=chosen, by=by, control=control,
        random_state=seed, max_groups=max_groups, cross=False, client=client,
    )  # fmt: skip
    return evaluate(sums, chosen, by=by, control=control, **given, random_state=seed)
