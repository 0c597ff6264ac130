"""dask_audit: audit of a ranking in the partitions of a Dask frame."""

from itertools import combinations
from typing import Any, Unpack

from ..auditing.audit import audit
from ..auditing.audit_keywords import ComparedKeywords, ResamplingKeywords
from ..auditing.audit_result import AuditResult
from ..auditing.measured import parse_wanted
from ..auditing.sums_audit import audit_sums
from ..core.errors import DataError
from ..core.keywords import chosen_keywords, shared_keywords
from ..core.random import as_seed
from ..engines.dask_tasks import open_frame
from ..engines.given_ranking import ColumnKeywords, CutKeywords, OrderKeywords, ReferenceKeywords
from ..engines.sources import list_sums
from ..reports.provenance import HeadingKeywords
from .frame_evaluation import Blocks, crossed_by
from .partitions import Lists, parts_of, roles_of
from .survey import survey

__all__ = ["dask_audit"]


class FrameAuditKeywords(
    ColumnKeywords,
    CutKeywords,
    ReferenceKeywords,
    OrderKeywords,
    ComparedKeywords,
    ResamplingKeywords,
    HeadingKeywords,
    total=False,
):
    """What `dask_audit` shares with `audit`."""


@shared_keywords(
    ColumnKeywords, CutKeywords, ReferenceKeywords, OrderKeywords, ComparedKeywords,
    ResamplingKeywords, HeadingKeywords,
)  # fmt: skip
def dask_audit(
    data: Any,
    *,
    id: str | None = None,
    against: Any = None,
    cross: bool = True,
    against_title: str = "the other ranking",
    client: Any = None,
    **given: Unpack[FrameAuditKeywords],
) -> AuditResult:
    """Audit a ranking in the partitions of a Dask frame: `audit_sums` of its `list_sums`.

    Workers bring the rows of a list together and sum what an audit needs of it. Only sums come to
    the calling process, with the rows of at most 2,048 lists: their size does not depend on the
    number of rows. Ties, missing groups and a single list are treated as in `audit`. A comparison
    ``against`` another ranking and ``ties="stable"`` need all rows, so these collect the columns of
    an audit: about 200 bytes per row.

    Parameters
    ----------
    data : dask.dataframe.DataFrame or path
        The rows, or a folder of Parquet files.
    query, score, relevance, position, sensitive : str, optional
        Names of columns as in `audit`; recognised if omitted, False for none.
    id : str, optional
        The column of people's ids, which match the people of ``against``.
    cross, against_title
        As in `audit`.
    against : dask.dataframe.DataFrame or path, optional
        A second ranking of the same people in the same lists, with the same columns.
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
    frame = open_frame(data)
    heading = chosen_keywords(HeadingKeywords, given)
    columns = chosen_keywords(ColumnKeywords, given)
    settings = chosen_keywords(ResamplingKeywords, given)
    settings |= {"random_state": as_seed(given["random_state"]), "protected": given["protected"]}
    metrics, ties, max_groups = given["metrics"], given["ties"], given["max_groups"]
    if against is None and ties == "average":
        if id is not None:
            raise DataError("id must be None without against, whose people it matches")
        sums = list_sums(
            frame, **columns, k=given["k"], reference=given["reference"], metrics=metrics,
            cross=cross,
            random_state=settings["random_state"],
            protected=given["protected"] if metrics else None, max_groups=max_groups,
            client=client,
        )  # fmt: skip
        return audit_sums(sums, metrics=metrics, **settings, **heading)
    columns["relevance"] = False if columns["relevance"] is None else columns["relevance"]
    columns["ids"] = False if id is None else id
    frames = [frame] if against is None else [frame, open_frame(against)]
    options = parse_wanted(metrics), cross, max_groups, client
    rankings = [_blocks(each, columns, *options).gather().ranking(ties) for each in frames]
    return audit(
        rankings[0], against=rankings[1] if against is not None else None, k=given["k"],
        reference=given["reference"], metrics=metrics, cross=cross, ties=ties,
        max_groups=max_groups, against_title=against_title, **settings, **heading,
    )  # fmt: skip


def _blocks(
    frame: Any,
    columns: dict[str, Any],
    wanted: list[Any],
    cross: bool,
    max_groups: int | None,
    client: Any,
) -> Blocks:
    roles = roles_of(frame, cost=False, **columns)
    if "score" not in roles.single and "position" not in roles.single:
        raise DataError("score or position must be given to know the order, got neither")
    if not roles.sensitive:
        raise DataError("sensitive must name at least one attribute of people, got none")
    pairs = list(combinations(roles.sensitive, 2)) if cross else []
    lists = Lists(roles, missing_sensitive="unknown", max_groups=max_groups)
    parts = parts_of(frame, lists.columns)
    seen = survey(parts, lists, client, cross=[*pairs, *crossed_by(wanted)])
    return Blocks(parts, seen, client)
