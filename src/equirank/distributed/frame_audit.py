"""dask_audit: audit of a ranking in the partitions of a Dask frame."""

from typing import Any, Unpack

from ..auditing.audit_keywords import ComparedKeywords, ResamplingKeywords
from ..auditing.audit_result import AuditResult
from ..auditing.sums_audit import audit_sums
from ..core.keywords import chosen_keywords, shared_keywords
from ..core.random import as_seed
from ..engines.dask_tasks import open_frame
from ..engines.given_ranking import ColumnKeywords, CutKeywords, OrderKeywords, ReferenceKeywords
from ..engines.sources import list_sums
from ..reports.provenance import HeadingKeywords

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
    number of rows. Ties, missing groups and a single list are treated as in `audit`;
    ``ties="stable"`` is an error, since the rows of a shuffled list have no order.

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
    settings = chosen_keywords(ResamplingKeywords, given) | chosen_keywords(HeadingKeywords, given)
    settings |= {"random_state": as_seed(given["random_state"]), "protected": given["protected"]}
    metrics = given["metrics"]
    sums = list_sums(
        open_frame(data), **chosen_keywords(ColumnKeywords, given), k=given["k"],
        reference=given["reference"], metrics=metrics, cross=cross, ties=given["ties"],
        against=None if against is None else open_frame(against), id=id,
        random_state=settings["random_state"], max_groups=given["max_groups"], client=client,
        protected=given["protected"] if metrics else None,
    )  # fmt: skip
    return audit_sums(sums, metrics=metrics, against_title=against_title, **settings)
