"""dask_audit: audit of a ranking in the partitions of a Dask frame."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any, Literal

from ..auditing.audit_result import AuditResult
from ..auditing.measured import parse_wanted
from ..auditing.ranking_audit import audit_ranking
from ..core.errors import DataError
from ..core.evaluation import Evaluation
from ..core.outcomes import DecisionRule
from ..core.ranking import Ranking
from ..reports.provenance import Provenance
from .frame_evaluation import Blocks, Ties, crossed_by
from .partitions import Lists, open_frame, parts_of, roles_of
from .survey import survey

__all__ = ["dask_audit"]


def dask_audit(
    data: Any,
    *,
    query: str | Literal[False] | None = None,
    score: str | Literal[False] | None = None,
    relevance: str | Literal[False] | None = None,
    position: str | Literal[False] | None = None,
    sensitive: str | Sequence[str] | None = None,
    id: str | None = None,
    protected: Any = None,
    k: Any = None,
    metrics: Any = None,
    against: Any = None,
    cross: bool = True,
    ties: Literal["average", "stable"] = "average",
    n_boot: int = 1000,
    n_permutations: int = 1999,
    level: float = 0.95,
    random_state: Any = 0,
    title: str | None = None,
    against_title: str = "the other ranking",
    purpose: str | None = None,
    period: str | None = None,
    author: str | None = None,
    date: Any = None,
    max_groups: int | None = None,
    client: Any = None,
) -> AuditResult:
    """Audit a ranking in the partitions of a Dask frame, with the same result as `audit`.

    Metrics, permutations and the inputs of confidence intervals are computed on the workers, block
    by block. The tables of prefixes, scores, ties and single lists need rows, so the columns of an
    audit (order, relevance, groups; no features) are collected: about 200 bytes per row while the
    tables are made. Ties, missing groups and a single list are treated as in `audit`.

    Parameters
    ----------
    data : dask.dataframe.DataFrame or path
        The rows, or a folder of Parquet files.
    query, score, relevance, position, sensitive : str, optional
        Names of columns as in `audit`; recognised if omitted, False for none.
    id : str, optional
        The column of people's ids, which match the people of ``against``.
    protected, k, metrics, cross, ties, n_boot, n_permutations, level, random_state
        As in `audit`.
    against : dask.dataframe.DataFrame or path, optional
        A second ranking of the same people in the same lists, with the same columns.
    title, against_title, purpose, period, author, date : optional
        As in `audit`.
    max_groups : int, optional
        As in `audit`.
    client : distributed.Client, optional
        Where to compute; by default Dask's current scheduler, such as the current client.

    Returns
    -------
    AuditResult

    Examples
    --------
    >>> import dask, dask.dataframe, pandas
    >>> from equirank.distributed import dask_audit
    >>> frame = pandas.DataFrame({"score": [4, 3, 2, 1], "sex": list("mmff")})
    >>> parts = dask.dataframe.from_pandas(frame, npartitions=2)
    >>> with dask.config.set(scheduler="synchronous"):
    ...     result = dask_audit(parts, sensitive="sex", protected="sex=f", n_boot=0)
    >>> result.notes[0]["text"]
    'This audit covers 4 people in one list, compared by sex.'
    """
    provenance = Provenance.given(
        title=title, purpose=purpose, period=period, author=author, date=date
    ).with_inputs(ties=ties, max_groups=max_groups)
    wanted = parse_wanted(metrics)
    merit = False if relevance is None else relevance
    columns: dict[str, Any] = {"query": query, "score": score, "relevance": merit}
    columns |= {"position": position, "sensitive": sensitive}
    columns["ids"] = False if id is None else id
    blocks = _blocks(data, columns, wanted, cross, ties, max_groups, client)
    ranking = blocks.gather().ranking(ties)
    other = None
    if against is not None:
        second = _blocks(against, columns, wanted, cross, ties, max_groups, client)
        other = second.gather().ranking(ties)

    def measure(_: Ranking, chosen: Any, **options: Any) -> Evaluation:
        return blocks.evaluate(chosen, **options)

    return audit_ranking(
        ranking,
        against=other,
        protected=protected,
        rule=DecisionRule(k=k),
        metrics=wanted,
        cross=cross,
        n_boot=n_boot,
        n_permutations=n_permutations,
        level=level,
        random_state=random_state,
        title=title,
        against_title=against_title,
        provenance=provenance,
        measure=measure,
    )


def _blocks(
    data: Any,
    columns: dict[str, Any],
    wanted: list[Any],
    cross: bool,
    ties: Ties,
    max_groups: int | None,
    client: Any,
) -> Blocks:
    frame = open_frame(data)
    roles = roles_of(frame, cost=False, **columns)
    if "score" not in roles.single and "position" not in roles.single:
        raise DataError("score or position must be given to know the order, got neither")
    if not roles.sensitive:
        raise DataError("sensitive must name at least one attribute of people, got none")
    pairs = list(combinations(roles.sensitive, 2)) if cross else []
    lists = Lists(roles, missing_sensitive="unknown", max_groups=max_groups)
    parts = parts_of(frame, lists.columns)
    seen = survey(parts, lists, client, cross=[*pairs, *crossed_by(wanted)])
    return Blocks(parts, seen, client, ties)
