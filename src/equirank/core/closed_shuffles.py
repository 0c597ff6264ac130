"""Tests of group differences from sums over lists: closed moments of shuffled labels."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..kernels.column_names import CLAIM_COLUMNS
from ..kernels.segments import divide
from .list_sums import ListSums
from .shuffles import Rates, length_scope, normal_draws
from .sums_views import SumsView, margins_of
from .value_views import COLUMNS

__all__ = [
    "MOST_EXACT",
    "MOST_KURTOSIS",
    "MOST_SKEW",
    "ClosedShuffles",
    "ClosedValues",
    "n_draws_of",
]


#: Draws from the normal distribution with the exact covariance of the shuffles.
N_DRAWS = 20_000
#: Most numbers of all draws together.
MOST_NUMBERS = 20_000_000
#: Standardised cumulants beyond which the normal distribution is not used for a test.
MOST_SKEW, MOST_KURTOSIS = 0.35, 0.25
#: Most lists of an exact test from sums; beyond, the convolutions of a report take seconds.
MOST_EXACT = 4_096
#: Deviations per list below this are those of rounding.
ROUNDING = 1e-9


def n_draws_of(numbers: int) -> int:
    """Return how often the statistics of one family of tests are drawn together.

    Examples
    --------
    >>> n_draws_of(8), n_draws_of(5_000), n_draws_of(100_000)
    (20000, 4000, 1999)
    """
    return max(1_999, min(N_DRAWS, MOST_NUMBERS // max(1, numbers)))


@dataclass(frozen=True, eq=False)
class ClosedShuffles:
    """Statistics of groups, and their distribution under shuffled labels, from sums over lists.

    It answers what `Shuffled` answers, with buckets of lists as units. The compared values are
    ``position``, ``chance`` (position among the known people of the attribute, over their number),
    ``exposure`` and the decisions; given relevance or an attribute, the first two.

    Attributes
    ----------
    sums : ListSums or SumsView
        The sums.
    groups : ndarray
        The groups, as numbers among all groups of the sums.
    design : int
        Number of the way to shuffle labels, as in `SumsPlan.designs`.
    draws : ndarray of shape (n_draws, n_groups, n_values)
        Normal draws with the covariance of the statistics, or none.
    """

    sums: ListSums | SumsView
    groups: np.ndarray
    design: int
    draws: np.ndarray
    normal: bool = True

    @classmethod
    def of(
        cls,
        sums: ListSums | SumsView,
        groups: Any,
        design: int,
        *,
        n_draws: int = 0,
        rng: Any = None,
    ) -> "ClosedShuffles":
        """Return the statistics of some groups, with draws for the family of tests."""
        found = cls(sums, np.asarray(groups, dtype=np.int64), design, np.zeros((0, 0, 0)))
        draws = np.zeros((0, *found.deviation.shape))
        if n_draws:
            covariance = found.covariance.reshape(found.deviation.size, -1)
            draws = normal_draws(covariance, found.deviation.ravel(), n_draws, rng)
        return cls(sums, found.groups, design, draws.reshape(len(draws), *found.deviation.shape))

    @cached_property
    def _claims(self) -> np.ndarray:
        """The comparisons by bucket, of these groups."""
        return self.sums.sums["claims"][:, self.groups]

    @cached_property
    def _scale(self) -> np.ndarray:
        """What the sums are divided by: lists for differences of means, else 1."""
        lists = np.maximum(self._claims[:, :, 0].sum(axis=0), 1.0)
        n_values = 2 if self.design else 3 + self.sums.n_decisions
        scale = np.ones((len(self.groups), n_values))
        scale[:, :2] = lists[:, None]
        return scale

    @cached_property
    def covariance(self) -> np.ndarray:
        """The covariance of the statistics (groups x values x groups x values)."""
        name = "given_covariance" if self.design else "covariance"
        stored = self.sums.sums[name]
        stored = stored[self.design - 1] if self.design else stored
        some = stored[self.groups][:, :, self.groups]
        below = self.groups[:, None] > self.groups[None, :]
        mirrored = some.transpose(2, 3, 0, 1)
        whole = np.where((below | np.eye(len(below), dtype=bool))[:, None, :, None], some, mirrored)
        return whole / self._scale[:, :, None, None] / self._scale[None, None]

    @cached_property
    def deviation(self) -> np.ndarray:
        """The standard deviation of each statistic over all shuffles."""
        n = len(self.groups)
        variance = self.covariance[np.arange(n), :, np.arange(n)]
        found = np.sqrt(np.maximum(np.diagonal(variance, axis1=1, axis2=2), 0.0))
        lists = np.sqrt(self._scale[:, :1])
        return np.where(found * self._scale > ROUNDING * lists, found, 0.0)

    @cached_property
    def total(self) -> np.ndarray:
        """The statistics; given something, less their means."""
        if self.design:
            sums = self.sums.sums["adjusted"][:, self.design - 1, self.groups].sum(axis=0)
            return np.asarray(sums / self._scale)
        claims = self._claims.sum(axis=0)
        parts = [claims[:, 3], claims[:, 4], claims[:, 5] - claims[:, 6]]
        for e in range(self.sums.n_decisions):
            parts.append(claims[:, self._at(e) + 2] - self.sums.sums["decided"][e, self.groups, 3])
        return np.stack(parts, axis=1) / self._scale

    @cached_property
    def mean(self) -> np.ndarray:
        """The means of the statistics over all shuffles."""
        if self.design:
            return np.zeros_like(self.total)
        return np.asarray(self.sums.sums["mean"][self.groups] / self._scale)

    @cached_property
    def z(self) -> np.ndarray:
        """``(total - mean) / deviation``; NaN if no shuffle changes the statistic."""
        return divide(self.total - self.mean, self.deviation)

    def is_normal(self, g: int, j: int) -> bool:
        """Return whether the normal distribution is close: small standardised cumulants."""
        deviation = float(self.deviation[g, j] * self._scale[g, j])
        third = self.sums.sums["third"][self.design, self.groups[g], j]
        fourth = self.sums.sums["fourth"][self.design, self.groups[g], j]
        if deviation == 0:
            return True
        return bool(
            abs(third) <= MOST_SKEW * deviation**3 and abs(fourth) <= MOST_KURTOSIS * deviation**4
        )

    def lists(self, g: int) -> int:
        """Return the number of lists that contain both sides."""
        return int(self._claims[:, g, 0].sum())

    def sides(self, g: int) -> tuple[float, float]:
        """Return the number of people on both sides, in lists that contain both."""
        return float(self._claims[:, g, 1].sum()), float(self._claims[:, g, 2].sum())

    def scope(self, g: int, sizes: np.ndarray) -> dict[str, Any]:
        """Return lists and people that are compared, and the lengths of these lists."""
        counts = self.sums.sums["lengths"][:, 1 + self.groups[g]].astype(np.int64)
        used = counts > 0
        return length_scope(self.sums.lengths[used], counts[used], sum(self.sides(g)))

    def mean_terms(self, g: int, j: int, adjusted: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return the sum of differences of means and the number of lists, by bucket."""
        lists = self._claims[:, g, 0]
        values = self._claims[:, g, 3 + j]
        if adjusted:
            values = self.sums.sums["adjusted"][:, self.design - 1, self.groups[g], j]
        return values[lists > 0], lists[lists > 0]

    def observed_terms(self, g: int, j: int) -> tuple[np.ndarray, np.ndarray]:
        """Return what the group received and what was expected, by bucket."""
        used = self._claims[:, g, 0] > 0
        return self._claims[used, g, 5], self._claims[used, g, 6]

    def rates(self, g: int, j: int) -> Rates:
        """Return selected and all people of both sides, and the terms of their ratio."""
        e, used = j - 3, self._claims[:, g, 0] > 0
        at = self._at(e)
        x, y, a, b = (self._claims[used, g, at + i] for i in range(4))
        n1, n2 = self.sides(g)
        counts = None
        if self.lists(g) <= MOST_EXACT:
            counts = margins_of(self.sums.sums, e, int(self.groups[g]))
        return Rates(float(a.sum()), n1, float(b.sum()), n2, x, y, counts)

    def mean_chance(self, g: int) -> float:
        """Return the mean difference in position among the known, over their number."""
        return float(self._claims[:, g, 4].sum() / max(self.lists(g), 1))

    def _at(self, e: int) -> int:
        return len(CLAIM_COLUMNS) + 4 * e


@dataclass(frozen=True, eq=False)
class ClosedValues(ClosedShuffles):
    """The same statistics of given values: scores, gains, or changes since another ranking.

    Attributes
    ----------
    n_averaged : int
        The first values are differences of means, the others sums less their expectation.
    studentized : bool
        Whether z is ``total / sqrt(sum of squared parts)``; the draws then have the mean of these
        squares over shuffles in its place.
    """

    n_averaged: int = 0
    studentized: bool = False

    @classmethod
    def of_values(
        cls,
        sums: SumsView,
        groups: Any,
        n_draws: int,
        rng: Any,
        *,
        n_averaged: int = 0,
        studentized: bool = False,
    ) -> "ClosedValues":
        """Return the statistics of some groups, with draws for the family of tests."""
        options: dict[str, Any] = {"n_averaged": n_averaged, "studentized": studentized}
        index = np.asarray(groups, dtype=np.int64)
        found = cls(sums, index, 0, np.zeros((0, 0, 0)), **options)
        draws = np.zeros((0, *found.deviation.shape))
        if n_draws:
            covariance = found.covariance.reshape(found.deviation.size, -1)
            draws = normal_draws(covariance, found.deviation.ravel(), n_draws, rng)
            draws = draws.reshape(n_draws, *found.deviation.shape)
        if studentized:
            squares = found.deviation**2 + found._squares[:, :, 1]
            draws = np.nan_to_num(divide(found.mean + draws * found.deviation, np.sqrt(squares)))
        return cls(sums, index, 0, draws, **options)

    @cached_property
    def _squares(self) -> np.ndarray:
        """Sums of the squared parts, and of their squared means over shuffles."""
        return np.asarray(self.sums.sums["squares"][self.groups] / self._scale[:, :, None] ** 2)

    @cached_property
    def _scale(self) -> np.ndarray:
        lists = np.maximum(self._claims[:, :, 0].sum(axis=0), 1.0)
        scale = np.ones((len(self.groups), self.sums.sums["third"].shape[2]))
        scale[:, : self.n_averaged] = lists[:, None]
        return scale

    @cached_property
    def total(self) -> np.ndarray:
        """The statistics."""
        return np.asarray(self._column(slice(None), 0).sum(axis=0) / self._scale)

    @cached_property
    def mean(self) -> np.ndarray:
        """The means of the statistics over all shuffles."""
        adjusted = self.sums.sums["adjusted"][:, 0, self.groups].sum(axis=0)
        return self.total - adjusted / self._scale

    @cached_property
    def z(self) -> np.ndarray:
        """The statistics, standardised; 0 if labels change no list and it is studentized."""
        if not self.studentized:
            return divide(self.total - self.mean, self.deviation)
        return np.nan_to_num(divide(self.total, np.sqrt(self._squares[:, :, 0])))

    def _column(self, g: Any, at: int) -> np.ndarray:
        """Return one of the four columns of every value, by bucket."""
        return np.asarray(self._claims[:, g, len(COLUMNS) + at : -1 : 4])

    def mean_terms(self, g: int, j: int, adjusted: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return terms whose ratio of sums is the statistic (less its mean), by bucket."""
        lists = self._claims[:, g, 0]
        values = self.adjusted_terms(g, j) if adjusted else self._column(g, 0)[lists > 0, j]
        factor = 1.0 if j < self.n_averaged else lists.sum()
        return values * factor, lists[lists > 0]

    def adjusted_terms(self, g: int, j: int) -> np.ndarray:
        """Return the parts of the statistic less their means over shuffles, by bucket."""
        used = self._claims[:, g, 0] > 0
        return np.asarray(self.sums.sums["adjusted"][used, 0, self.groups[g], j])

    def observed_terms(self, g: int, j: int) -> tuple[np.ndarray, np.ndarray]:
        """Return what the group received and what was expected, by bucket."""
        used = self._claims[:, g, 0] > 0
        part, received = (self._column(g, at)[used, j] for at in (0, 2))
        return received, received - part

    def weighted_terms(self, g: int, j: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the parts of the statistic and ``n1 n2 / N``, by bucket."""
        used = self._claims[:, g, 0] > 0
        return self._column(g, 0)[used, j], self._claims[used, g, -1]

    def received(self, g: int, j: int) -> tuple[float, float]:
        """Return the sums of a value over both sides."""
        return float(self._column(g, 2)[:, j].sum()), float(self._column(g, 3)[:, j].sum())

    def rates(self, g: int, j: int) -> Rates:
        """Return selected and all people of both sides, and the terms of their ratio."""
        used = self._claims[:, g, 0] > 0
        part, x = (self._column(g, at)[used, j] for at in (0, 1))
        a, b = self.received(g, j)
        n1, n2 = self.sides(g)
        return Rates(a, n1, b, n2, x, x - part)
