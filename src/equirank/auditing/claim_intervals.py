"""Intervals of claims: of lists to come if there are enough, else of these people."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from ..core.shuffles import Rates, bootstrap_t
from ..statistics.stratified import ratio_ends as score_ends
from .audit_plan import Plan

__all__ = [
    "FEWEST_LISTS",
    "ROUNDING",
    "Ends",
    "interval_levels",
    "mean_ends",
    "normal_quantiles",
    "ratio_ends",
]


#: Lists from which on the intervals describe lists to come; below, these people.
FEWEST_LISTS = 20
#: Counts up to this number of people are 0, from rounding.
ROUNDING = 1e-6


@dataclass(frozen=True)
class Ends:
    """The interval of an estimate, its one-sided bounds at the same level, and its units."""

    low: float = float("nan")
    high: float = float("nan")
    bound_low: float = float("nan")
    bound_high: float = float("nan")
    units: str = ""

    @classmethod
    def of(cls, pairs: Sequence[tuple[float, float]], units: str) -> "Ends":
        """Return the ends of the interval, and those with twice the error, which are one-sided."""
        return cls(*pairs[0], *pairs[1], units)

    def mirrored(self, centre: float) -> "Ends":
        """Return the ends of ``centre`` minus the estimate."""
        low, high = centre - self.high, centre - self.low
        return Ends(low, high, centre - self.bound_high, centre - self.bound_low, self.units)

    def times(self, factor: float) -> "Ends":
        """Return the ends of the estimate times a factor."""
        if factor < 0:
            return self.mirrored(0.0).times(-factor)
        low, high = factor * self.low, factor * self.high
        return Ends(low, high, factor * self.bound_low, factor * self.bound_high, self.units)

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of a claim."""
        return {
            "low": self.low,
            "high": self.high,
            "bounds": (self.bound_low, self.bound_high),
            "interval_of": self.units,
        }


def interval_levels(plan: Plan) -> list[float]:
    """Return the level of intervals, and the two-sided level of one-sided bounds."""
    return [plan.level, max(2.0 * plan.level - 1.0, 0.0)]


def normal_quantiles(plan: Plan) -> list[float]:
    """Return the normal quantiles of these levels."""
    return [NormalDist().inv_cdf((1.0 + level) / 2.0) for level in interval_levels(plan)]


def mean_ends(
    plan: Plan, terms: tuple[np.ndarray, np.ndarray], estimate: float, deviation: float
) -> Ends:
    """Return the interval of a mean over lists: of lists if there are enough, else of people.

    ``terms`` are the sums over the lists of each unit, and the number of its lists.
    """
    if plan.n_boot == 0:
        return Ends()
    if terms[1].sum() >= FEWEST_LISTS:
        pairs = bootstrap_t(*terms, interval_levels(plan), plan.n_boot, plan.seed)
        return Ends.of(pairs, "lists")
    widths = [z * deviation for z in normal_quantiles(plan)]
    return Ends.of([(estimate - width, estimate + width) for width in widths], "people")


def ratio_ends(plan: Plan, rates: Rates, lists: int, deviation: float) -> Ends:
    """Return the interval of the Mantel-Haenszel ratio: of lists, or the score interval of people.

    Lists do not show how a rate varies that is 0 or 1 in all of them.
    """
    if plan.n_boot == 0:
        return Ends()
    levels = interval_levels(plan)
    fewest = min(rates.a, rates.n1 - rates.a, rates.b, rates.n2 - rates.b)
    if lists >= FEWEST_LISTS and fewest > ROUNDING:
        pairs = bootstrap_t(rates.x, rates.y, levels, plan.n_boot, plan.seed, logarithm=True)
        if pairs[0][0] < pairs[0][1]:
            return Ends.of(pairs, "lists")
    counts = (rates.a, rates.n1, rates.b, rates.n2) if rates.counts is None else rates.counts
    terms = lists, float(rates.x.sum()), float(rates.y.sum()), deviation**2
    return Ends.of([score_ends(counts, *terms, level) for level in levels], "people")
