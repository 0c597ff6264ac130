"""Group benefit: score differences between groups, and preferences between rankers."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...core.errors import DataError
from ...core.metric import GroupMetric, score_arrays
from ...core.slots import Slots
from ...core.table import Table
from ...kernels.segments import segment_sum, sum_of_others, summable

__all__ = ["GroupBenefit", "GroupPreferences", "group_preferences"]


@dataclass(frozen=True, repr=False, kw_only=True)
class GroupBenefit(GroupMetric):
    """Group benefit: the sum of score differences between a group and everyone else; 0 is equal.

    ``B_z = sum over a in z, b not in z of s_a - s_b``. It depends on the scores, not on positions,
    and has their unit: ties, rows that are not shown and draws do not change it, but the scale
    does. The value is the benefit of the protected group, or else the smallest of all groups, which
    is never above 0, since two groups have opposite benefits. Any finite value is possible; higher
    is better for the group. Undefined if a query contains only one group.

    References
    ----------
    Zafar, Valera, Gomez Rodriguez, Gummadi and Weller, From parity to preference-based notions of
    fairness in classification, NeurIPS 2017 (for classifiers).

    Examples
    --------
    >>> from equirank.metrics import GroupBenefit, group_benefit
    >>> GroupBenefit(protected="f")
    GroupBenefit(protected="f")
    >>> group_benefit([3, 1, 0], ["a", "b", "b"], protected="a")  # (3 - 1) + (3 - 0)
    5.0
    """

    needs: ClassVar[frozenset[str]] = frozenset({"sensitive", "score"})
    direction: ClassVar[Literal["higher", "lower"]] = "higher"
    bounds: ClassVar[tuple[float, float]] = (-np.inf, np.inf)
    takes_k: ClassVar[bool] = False

    @property
    def ideal(self) -> float:
        """Undefined: a benefit has no best value."""
        return float("nan")

    def by_group(self, slots: Slots, codes: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Return the benefit of each wanted group."""
        n_groups = len(slots.groups(self.by)[1])
        score, power = summable(slots.score, slots.offsets)
        # a common shift cancels, and without it so do the digits
        score = score - np.repeat(segment_sum(score, slots.offsets) / slots.sizes, slots.sizes)
        total = slots.sum_by_group(score, codes, n_groups)
        size = slots.sum_by_group(np.ones(len(codes)), codes, n_groups)
        rest, others = sum_of_others(total, 1), sum_of_others(size, 1)
        benefit = np.ldexp(others * total - size * rest, power[:, None])
        return np.where((size > 0) & (others > 0), benefit, np.nan)[:, wanted]


@dataclass(frozen=True)
class GroupPreferences:
    """Result of `group_preferences`.

    Attributes
    ----------
    envy_free : bool
        No group has a larger benefit under another group's ranker than under its own.
    preferred : bool or None
        No group has less benefit under its own ranker than under the parity ranker; None without
        one.
    benefit : Table
        Group, ranker and the group's mean benefit under it.
    """

    envy_free: bool
    preferred: bool | None
    benefit: Table


def group_preferences(
    rankers: Mapping[Any, Any],
    sensitive_features: Any,
    *,
    qid: Any = None,
    parity: Any = None,
    tol: float = 1e-9,
) -> GroupPreferences:
    """Test a set of rankers, one per group, for envy and against a parity ranker.

    Parameters
    ----------
    rankers : mapping
        The scores that each group's ranker predicts for every row, by group, on one scale.
    sensitive_features : array-like
        The group of each row.
    qid : array-like, optional
        The query of each row; None makes all rows one list.
    parity : array-like, optional
        The scores of a ranker that all groups share.
    tol : float
        Tolerance for differences between two benefits, relative to the larger.

    Returns
    -------
    GroupPreferences

    References
    ----------
    Zafar et al., NeurIPS 2017, as in `GroupBenefit`.

    Examples
    --------
    >>> from equirank.metrics import group_preferences
    >>> found = group_preferences({"a": [2, 1], "b": [1, 2]}, ["a", "b"], parity=[1, 1])
    >>> found.envy_free, found.preferred
    (True, True)
    """
    shared = [] if parity is None else [("parity", parity)]
    benefits = []
    for name, score in [*rankers.items(), *shared]:
        _, benefit = score_arrays(
            GroupBenefit(),
            y_score=score,
            sensitive_features=sensitive_features,
            qid=qid,
            return_groups=True,
        )
        benefits.append((name, benefit))
    groups = list(benefits[0][1]) if benefits else []
    index = {str(name): at for at, name in enumerate(rankers)}
    if not groups or set(index) != {str(group) for group in groups}:
        raise DataError(
            f"rankers must name each group ({', '.join(map(repr, groups))}) once, "
            f"got {', '.join(map(repr, rankers)) or 'none'}"
        )

    def content(group: Any, others: list[tuple[Any, dict[Any, float]]]) -> bool:
        """Return whether a group's benefit is at least as large under its own ranker."""
        own = benefits[index[str(group)]][1][group]
        return all(o[group] - own <= tol * max(abs(own), abs(o[group])) for _, o in others)

    cells = [(group, name, some[group]) for group in groups for name, some in benefits]
    names = [np.array([cell[at] for cell in cells], dtype=object) for at in (0, 1)]
    return GroupPreferences(
        envy_free=all(content(group, benefits[: len(rankers)]) for group in groups),
        preferred=all(content(group, benefits[-1:]) for group in groups) if shared else None,
        benefit=Table(
            {"group": names[0], "ranker": names[1], "benefit": [cell[2] for cell in cells]}
        ),
    )
