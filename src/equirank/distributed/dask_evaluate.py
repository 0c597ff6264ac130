"""dask_evaluate: metrics of data that lie in many parts, with the numbers of the whole."""

from typing import Any

from ..core.errors import DataError
from ..core.evaluation import Evaluation
from ..core.names import parse_metrics
from ..core.params import Integer, Number, check_params
from .lists import Lists
from .measuring import Blocks, crossed_by
from .opening import open_frame, parts_of, roles_of
from .survey import survey

__all__ = ["dask_evaluate"]


def dask_evaluate(
    data: Any,
    metrics: Any,
    *,
    query: Any = None,
    score: Any = None,
    relevance: Any = None,
    position: Any = None,
    sensitive: Any = None,
    cost: Any = None,
    features: Any = (),
    by: str | tuple[str, ...] | list[str] | None = None,
    control: str | tuple[str, ...] | list[str] | None = None,
    n_boot: int = 1000,
    n_permutations: int = 1000,
    level: float = 0.95,
    random_state: Any = 0,
    client: Any = None,
) -> Evaluation:
    """Evaluate a ranking that lies in many parts, as `evaluate` does one that is at hand.

    Values, intervals and p-values are those of the whole: queries are brought together where they
    lie in several partitions, measured block by block of about 260,000 rows on the workers, and
    what comes back is one value per query. A single list needs all its rows on one worker. Ties
    and queries where a metric is undefined are treated as in `evaluate`.

    Parameters
    ----------
    data : dask.dataframe.DataFrame or path
        The rows, or a folder of Parquet files with them.
    metrics : metric, string, or a list of them
        As in `evaluate`.
    query, score, relevance, position, cost : str, optional
        Names of columns, recognised as in `read_csv` where left out; False for none.
    sensitive, features : str or list of str, optional
        The attributes of people, and features for metrics that need them.
    by, control, n_boot, n_permutations, level, random_state
        As in `evaluate`.
    client : distributed.Client, optional
        Where to compute; by default whatever Dask is set to use, such as the current client.

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
    check_params(
        "dask_evaluate",
        {"n_boot": n_boot, "n_permutations": n_permutations, "level": level},
        {
            "n_boot": Integer(0),
            "n_permutations": Integer(0),
            "level": Number(0, 1, open_low=True, open_high=True),
        },
    )
    chosen = parse_metrics(metrics)
    frame = open_frame(data)
    roles = roles_of(
        frame,
        query=query,
        score=score,
        relevance=relevance,
        position=position,
        cost=cost,
        sensitive=sensitive,
        features=features,
    )
    if "score" not in roles.single and "position" not in roles.single:
        raise DataError("score or position must be given to know the order, got neither")
    lists = Lists(roles)
    parts = parts_of(frame, lists.columns)
    seen = survey(parts, lists, client, cross=crossed_by(chosen, by, control))
    return Blocks(parts, seen, client).evaluate(
        chosen,
        by=by,
        control=control,
        n_boot=n_boot,
        n_permutations=n_permutations,
        level=level,
        random_state=random_state,
    )
