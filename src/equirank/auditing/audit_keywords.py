"""Keyword arguments that `audit`, `audit_sums` and `dask_audit` share."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypedDict

from ..core.keywords import Default
from ..engines.given_ranking import (
    ColumnKeywords,
    DecisionKeywords,
    OrderKeywords,
    ReferenceKeywords,
)
from ..reports.provenance import HeadingKeywords

__all__ = ["AuditKeywords", "ComparedKeywords", "ResamplingKeywords", "SumsAuditKeywords"]


class ComparedKeywords(TypedDict, total=False):
    """Which groups are compared, and by which metrics.

    Parameters
    ----------
    protected : str, sequence of str or mapping, optional
        The groups to compare with everyone else: ``"sex=female"`` or ``{"sex": "female"}``. By
        default all groups are compared.
    metrics : metric, string, or a list of them, optional
        Further metrics, such as ``"RND@50"``; group metrics are computed for every attribute. An
        `NDCG` is also compared by group, given relevance, if that has at most 10 grades.
    """

    protected: Any
    metrics: Any


class ResamplingKeywords(TypedDict, total=False):
    """How intervals and tests are computed.

    Parameters
    ----------
    n_boot, n_permutations : int
        Bootstrap replicates of the intervals and draws of the permutation tests; 0 for none.
    level : float
        Level of the confidence intervals.
    random_state : int, Generator, RandomState or None
        Seed of the bootstrap and the permutations.
    """

    n_boot: Annotated[int, Default(1000)]
    n_permutations: Annotated[int, Default(1999)]
    level: Annotated[float, Default(0.95)]
    random_state: Annotated[Any, Default(0)]


class SumsAuditKeywords(ComparedKeywords, ResamplingKeywords, HeadingKeywords, total=False):
    """What every audit takes beside its data.

    Parameters
    ----------
    shown : mapping, optional
        Names of groups in sentences, such as ``{"sex": {"female": "women"}}``; without it they say
        ``group "female" (sex)``.
    profile : str, optional
        The id of a profile (``equirank profiles`` lists them) or the path of one: the tables and
        the text that a law or guideline asks for are added.
    leave_out_small : bool
        Whether groups under the profile's small share are left out of its ratios.
    gates : sequence of str
        Gates that `AuditResult.judge` will be asked; more than 50 comparisons increase
        ``n_permutations`` as far as their p-values need.
    """

    shown: Mapping[str, Mapping[Any, str]] | None
    profile: str | None
    leave_out_small: Annotated[bool, Default(False)]
    gates: Annotated[Sequence[str], Default(())]


class AuditKeywords(
    ColumnKeywords,
    DecisionKeywords,
    ReferenceKeywords,
    OrderKeywords,
    SumsAuditKeywords,
    total=False,
):
    """What `audit` shares with other functions."""
