"""dask_evaluate: metrics of a ranking in the partitions of a Dask frame."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from ..core.attribute import Attribute
from ..core.data import RankingData
from ..core.environment import require
from ..core.errors import DataError
from ..core.evaluate import RESAMPLING, evaluate, evaluate_blocks
from ..core.evaluation import Evaluation
from ..core.inference import Whole
from ..core.metric import Metric
from ..core.params import check_params
from ..core.query_blocks import Measures, QueryBlock, measure_block
from ..core.random import as_seed
from ..core.registry import parse_metrics
from ..engines.dask_tasks import compute, open_frame
from .partitions import Lists, parts_of, roles_of
from .survey import Survey, gathered, run_homes, survey

__all__ = ["Blocks", "Ties", "crossed_by", "dask_evaluate"]


Ties = Literal["average", "stable"]


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
    features: Any = (),
    by: str | tuple[str, ...] | list[str] | None = None,
    control: str | tuple[str, ...] | list[str] | None = None,
    n_boot: int = 1000,
    n_permutations: int = 1000,
    level: float = 0.95,
    random_state: Any = 0,
    max_groups: int | None = None,
    client: Any = None,
) -> Evaluation:
    """Evaluate a ranking in the partitions of a Dask frame, with the same result as `evaluate`.

    The rows of a query in several partitions are brought together. Workers compute the metrics in
    blocks of about 260,000 rows and return one value per query, so values, intervals and p-values
    are those of the whole data. A single list needs all its rows on one worker. Ties and queries
    for which a metric is undefined are treated as in `evaluate`.

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
    given = {"n_boot": n_boot, "n_permutations": n_permutations, "level": level}
    check_params("dask_evaluate", given, RESAMPLING)
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
    lists = Lists(roles, max_groups=max_groups)
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


def crossed_by(metrics: Iterable[Metric], *more: Any) -> list[tuple[str, ...]]:
    """Return the crossed attributes of the metrics and of further keys."""
    keys = [getattr(metric, name, None) for metric in metrics for name in ("by", "control")]
    return [tuple(key) for key in [*keys, *more] if isinstance(key, (list, tuple))]


class Blocks:
    """Queries of a frame in the blocks that `evaluate` processes.

    A block has about 260,000 rows, or one longer list, since lists are not divided. One worker
    holds it at a time.

    Parameters
    ----------
    parts : list
        The delayed partitions.
    seen : Survey
        Their summary.
    client : Client or None
        Where to compute; None for Dask's current scheduler.
    ties : {"average", "stable"}
        How ties are treated.
    """

    def __init__(self, parts: list[Any], seen: Survey, client: Any, ties: Ties = "average") -> None:
        self.seen, self.client, self.ties = seen, client, ties
        self.pieces = list(gathered(parts, seen, run_homes(seen)).values())

    def evaluate(
        self,
        metrics: Sequence[Metric],
        *,
        by: Any = None,
        control: Any = None,
        n_boot: int,
        n_permutations: int,
        level: float,
        random_state: Any,
    ) -> Evaluation:
        """Evaluate the ranking, with the same result as `evaluate` on the whole data."""
        delayed = require("dask", "dask").delayed
        seen, seed = self.seen, as_seed(random_state)
        options: dict[str, Any] = {
            "n_boot": n_boot,
            "n_permutations": n_permutations,
            "level": level,
        }
        measures = Measures.of(metrics, seen.probe, by, control)
        if len(self.pieces) == 1:
            task = delayed(_evaluated, pure=False)
            splits = {"by": by, "control": control, **options, "random_state": seed}
            whole = task(seen.lists, self.pieces[0], self.ties, list(metrics), splits)
            found: Evaluation = compute([whole], self.client)[0]
            return found
        task = delayed(_measured, pure=False)
        blocks = compute(
            [
                task(
                    seen.lists,
                    frames,
                    self.ties,
                    measures,
                    n_permutations,
                    seed,
                    Whole(seen.n_rows, seen.n_queries, run.start),
                )
                for frames, run in zip(self.pieces, seen.runs(), strict=True)
            ],
            self.client,
        )
        return evaluate_blocks(measures, blocks, **options, random_state=seed, backend="pandas")

    def gather(self) -> RankingData:
        """Collect the rows, without features."""
        delayed = require("dask", "dask").delayed
        task = delayed(Lists.data, pure=False)
        found = compute([task(self.seen.lists, frames) for frames in self.pieces], self.client)
        return _joined(found, self.seen)


def _evaluated(
    lists: Lists, frames: list[Any], ties: Ties, metrics: list[Metric], options: dict[str, Any]
) -> Evaluation:
    return evaluate(lists.data(frames).ranking(ties), metrics, **options)


def _measured(
    lists: Lists,
    frames: list[Any],
    ties: Ties,
    measures: Measures,
    n_permutations: int,
    seed: int,
    whole: Whole,
) -> QueryBlock:
    ranking = lists.data(frames).ranking(ties)
    return measure_block(measures, ranking, n_permutations, seed, whole=whole)


def _joined(blocks: list[RankingData], seen: Survey) -> RankingData:
    """Concatenate the rows of blocks."""

    def column(name: str) -> Any:
        parts = [getattr(block, name) for block in blocks]
        return None if parts[0] is None else _frozen(np.concatenate(parts))

    first = blocks[0]
    whole = replace(
        first,
        offsets=_frozen(np.concatenate([[0], np.cumsum(seen.sizes)]).astype(np.int64)),
        qids=_frozen(seen.qids.copy()),
        y=column("y"),
        score=column("score"),
        position=column("position"),
        ids=column("ids"),
        sensitive={
            name: Attribute(
                _frozen(np.concatenate([block.sensitive[name].codes for block in blocks])),
                attribute.categories,
            )
            for name, attribute in first.sensitive.items()
        },
    )
    for names, categories in seen.lists.crossings.items():
        whole.keep_crossing(names, categories)
    return whole


def _frozen(values: np.ndarray) -> np.ndarray:
    values.setflags(write=False)
    return values
