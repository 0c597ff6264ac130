"""Adverse impact ratio and selection rates of groups."""

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, ClassVar, Literal

import numpy as np

from ...core.labels import MISSING
from ...core.metric import GroupMetric
from ...core.params import Number, check_params
from ...core.ranking import Ranking
from ...core.slots import Slots
from ...core.table import Table
from ...kernels.discounts import discounts
from ...kernels.prefixes import ratio_interval, wilson_interval
from ...kernels.segments import divide

__all__ = ["FOUR_FIFTHS", "AdverseImpactRatio", "SelectionRates"]


#: Threshold of the ratio in the US guidelines on employee selection (four-fifths rule).
FOUR_FIFTHS = 0.8


@dataclass(frozen=True, eq=False)
class SelectionRates:
    """Selection rates and ratios: one row per list and one column per group.

    `AdverseImpactRatio.selection` returns them.

    Attributes
    ----------
    queries : ndarray
        The lists; one entry, None, if they were pooled.
    groups : tuple
        The groups.
    people, selected : ndarray
        Number of people and of those selected (expected over ties and draws).
    rate, rate_low, rate_high : ndarray
        Share selected with its Wilson interval, NaN for an empty group.
    ratio, ratio_low, ratio_high : ndarray
        Rate divided by the highest rate of the list, with its score interval, which treats people
        as samples and the highest group as fixed; NaN if nobody is selected.
    level : float
        Level of the intervals.
    """

    queries: np.ndarray
    groups: tuple[Any, ...]
    people: np.ndarray
    selected: np.ndarray
    rate: np.ndarray
    rate_low: np.ndarray
    rate_high: np.ndarray
    ratio: np.ndarray
    ratio_low: np.ndarray
    ratio_high: np.ndarray
    level: float

    @property
    def under_four_fifths(self) -> np.ndarray:
        """Whether the ratio is below four fifths: a fact about numbers, not a verdict."""
        return self.ratio < FOUR_FIFTHS - 1e-12

    def to_table(self) -> Table:
        """Return one row per list and group."""
        shape = self.people.shape
        names = ["people", "selected", "rate", "rate_low", "rate_high"]
        names += ["ratio", "ratio_low", "ratio_high", "under_four_fifths"]
        columns: dict[str, Any] = {
            "query": np.repeat(self.queries, shape[1]),
            "group": np.tile(np.array(self.groups, dtype=object), shape[0]),
        }
        return Table(columns | {name: getattr(self, name).ravel() for name in names})


@dataclass(frozen=True, repr=False, kw_only=True)
class AdverseImpactRatio(GroupMetric):
    """Adverse impact ratio: a group's selection rate divided by the highest rate of any group.

    Positions 1 to k are selected (without a cutoff, all that are shown); ``rate_G = |selected in G|
    / |G|`` and ``ratio_G = rate_G / max over groups of the rate``; 1 is equal. The value is the
    ratio of the protected group, or else the lowest; the result includes the ratio of each group.
    `selection` returns the rates with their intervals and states whether a ratio is below four
    fifths, which is a fact and not a verdict.

    Tied items count with their probability of being selected, and over the draws of a policy the
    expected rates count: a metric of the expectation. Undefined if nobody is selected or a query
    contains only one group. A group ``"(missing)"`` is never the one with the highest rate, so its
    own ratio may exceed 1.

    Parameters
    ----------
    k : int, optional
        Cutoff: positions 1 to k are selected.

    References
    ----------
    Uniform guidelines on employee selection procedures, 29 CFR 1607.4 D, 1978.
    Wilson, Probable inference, the law of succession, and statistical inference, JASA 1927.
    Koopman, Confidence intervals for the ratio of two binomial proportions, Biometrics 1984.

    Examples
    --------
    >>> from equirank.metrics import AdverseImpactRatio, adverse_impact_ratio
    >>> AdverseImpactRatio(protected="f")@10
    AdverseImpactRatio(protected="f")@10
    >>> round(adverse_impact_ratio([6, 5, 4, 3, 2, 1], list("mmmffm"), k=4), 4)  # (1/2) / (3/4)
    0.6667
    """

    direction: ClassVar[Literal["higher", "lower"]] = "higher"
    of_expectation: ClassVar[bool] = True
    why_undefined: ClassVar[str] = "it contains only one group, or nobody is selected"

    def by_group(self, slots: Slots, codes: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Return each wanted group's rate divided by the highest rate."""
        n_groups = len(slots.groups(self.by)[1])
        people, selected = self._counts(slots, codes, n_groups)
        return _ratios(people, selected, slots.groups(self.by)[1])[:, wanted]

    def _counts(
        self, slots: Slots, codes: np.ndarray, n_groups: int
    ) -> tuple[np.ndarray, np.ndarray]:
        inside = slots.expect(discounts(int(slots.sizes.max()), "flat", self.k))
        people = slots.sum_by_group(np.ones(len(codes)), codes, n_groups)
        return people, slots.sum_by_group(inside, codes, n_groups)

    def selection(
        self, ranking: Ranking, *, level: float = 0.95, pooled: bool = False
    ) -> SelectionRates:
        """Return selection rates and ratios of all groups with intervals.

        Parameters
        ----------
        ranking : Ranking
            The ranking.
        level : float
            Level of the intervals.
        pooled : bool
            Sum people and selected over all lists first. The intervals treat people as independent
            draws; for the mean over lists, `evaluate` resamples lists.

        Returns
        -------
        SelectionRates

        Examples
        --------
        >>> from equirank import as_ranking_data
        >>> from equirank.metrics import AdverseImpactRatio
        >>> data = as_ranking_data(score=[6, 5, 4, 3, 2, 1], sensitive_features=list("mmmffm"))
        >>> rates = (AdverseImpactRatio@4).selection(data.ranking())
        >>> rates.groups, rates.rate, rates.under_four_fifths
        (('f', 'm'), array([[0.5 , 0.75]]), array([[ True, False]]))
        """
        owner = f"selection of {self}"
        check_params(
            owner, {"level": level}, {"level": Number(0, 1, open_low=True, open_high=True)}
        )
        self.check(ranking.data)
        slots = ranking.slots(expected=True)
        codes, labels = slots.groups(self.by)
        people, selected = self._counts(slots, codes, len(labels))
        queries = ranking.data.qids
        if pooled:
            people, selected = people.sum(axis=0)[None], selected.sum(axis=0)[None]
            queries = np.array([None], dtype=object)
        rate = divide(selected, people)
        z = NormalDist().inv_cdf((1 + level) / 2)
        rate_low, rate_high = wilson_interval(selected, people, z)
        best = np.where(np.isnan(rate) | _never_best(labels), -1.0, rate).argmax(axis=1)[:, None]
        b, n2 = (np.take_along_axis(part, best, axis=1)[..., None] for part in (selected, people))
        low, high = ratio_interval((selected[..., None], people[..., None], b, n2), z)
        ratio = _ratios(people, selected, labels)
        itself = np.arange(len(labels)) == best
        return SelectionRates(
            queries,
            labels,
            people,
            selected,
            rate,
            rate_low,
            rate_high,
            ratio,
            np.where(itself | np.isnan(ratio), ratio, low),
            np.where(itself | np.isnan(ratio), ratio, high),
            level,
        )


def _never_best(labels: tuple[Any, ...]) -> np.ndarray:
    """Return which groups are no reference: those of missing labels."""
    return np.array([label == MISSING for label in labels])


def _ratios(people: np.ndarray, selected: np.ndarray, labels: tuple[Any, ...]) -> np.ndarray:
    """Return each rate divided by the highest; NaN for one group or if nobody is selected."""
    rate = divide(selected, people)
    compared = np.where(np.isnan(rate) | _never_best(labels), 0.0, rate)
    highest = compared.max(axis=1, keepdims=True)
    several = (people > 0).sum(axis=1, keepdims=True) > 1
    return divide(rate, highest, (highest > 0) & several)
