"""Weak rankers of the boosters: threshold stumps, or scaled features."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from ...kernels.stumps import best_stump
from ..feature_bins import Bins, Workers
from ..training_pairs import ABSTAIN, Stump

__all__ = ["Features", "Stumps", "WeakChoice", "WeakRankers"]


#: Merits that differ by less are ties: the lowest feature, then the lowest threshold, wins.
TIE = 1e-10
NONE = np.empty((0, 0, 0), dtype=np.bool_)


class WeakChoice(NamedTuple):
    """A weak ranker, its ``r = e+ - e-``, its merit, and its current weight."""

    ranker: Stump
    r: float
    merit: float
    held: float = 0.0


class WeakRankers(Protocol):
    """Interface of a family of weak rankers."""

    def choose(self, weights: Any) -> WeakChoice | None:
        """Return the weak ranker of the largest merit; None if there is none."""

    def sides(self, weights: Any, choice: WeakChoice) -> tuple[float, float] | None:
        """Return e+ and e-; None if alpha must be computed from r."""

    def again(self, weights: Any, ranker: Stump) -> WeakChoice:
        """Return a known weak ranker with its r under the current weights."""

    def add(self, weights: Any, ranker: Stump, alpha: float) -> None:
        """Add a weak ranker to the scores."""

    def threshold(self, ranker: Stump) -> float:
        """Return the threshold of a weak ranker."""

    def output_of(self, X: np.ndarray, ranker: Stump) -> np.ndarray:
        """Return the output of a weak ranker on other rows."""

    def fresh(self) -> Self:
        """Return the same weak rankers, none of them chosen."""


@dataclass(eq=False)
class Stumps:
    """Threshold stumps on binned features."""

    bins: Bins
    missing: str
    workers: Workers

    def __post_init__(self) -> None:
        """Set the rule for missing values: none missing, learn a side, or abstain."""
        some = bool(self.bins.has_missing.any())
        self.rule = 0 if not some else 1 if self.missing == "learn" else 2

    def choose(self, weights: Any) -> WeakChoice | None:
        """Return the stump with the largest |r|."""
        sums = self.bins.histograms(weights.potential, self.workers)
        feature, cut, side, r = best_stump(sums, self.bins.n_edges, self.rule, NONE, TIE)
        if feature < 0:
            return None
        return WeakChoice(Stump(int(feature), int(cut), self._side(int(side))), float(r), abs(r))

    def _side(self, side: int) -> int:
        return ABSTAIN if self.missing == "abstain" else side

    def sides(self, weights: Any, choice: WeakChoice) -> tuple[float, float] | None:
        """Return e+ and e- of the stump; None if it abstains on some rows."""
        if choice.ranker.abstains and self.bins.has_missing[choice.ranker.feature]:
            return None
        return weights.sides(self.bins, choice.ranker)

    def again(self, weights: Any, ranker: Stump) -> WeakChoice:
        """Return the stump with its r under the current weights."""
        plus, minus = weights.sides(self.bins, ranker)
        return WeakChoice(ranker, plus - minus, abs(plus - minus))

    def add(self, weights: Any, ranker: Stump, alpha: float) -> None:
        """Add the stump to the scores."""
        weights.add(self.bins, ranker, alpha)

    def threshold(self, ranker: Stump) -> float:
        """Return the stump's threshold."""
        return float(self.bins.edges[ranker.feature, ranker.cut])

    def output_of(self, X: np.ndarray, ranker: Stump) -> np.ndarray:
        """Return the stump's output on other rows."""
        column = X[:, ranker.feature]
        return np.where(np.isnan(column), ranker.at_missing, column > self.threshold(ranker))

    def fresh(self) -> Self:
        """Return the same stumps, since choices leave no state."""
        return self


class Features:
    """Features as weak rankers, scaled to [0, 1] by their range in the training data."""

    def __init__(
        self, X: np.ndarray, rows: np.ndarray, low: np.ndarray, high: np.ndarray, missing: str
    ) -> None:
        self.missing, self.low, self.high = missing, low, high
        self.usable = high > low
        self.scaled = scale(X[rows], low, high)
        self.lost = np.isnan(self.scaled)
        self.any_lost = bool(self.lost.any())
        self.scaled[self.lost] = 0.5 if missing == "abstain" else 0.0

    def choose(self, weights: Any) -> WeakChoice | None:
        """Return the feature with the largest |r|."""
        if not self.usable.any():
            return None
        potential = weights.potential
        r = np.where(self.usable, potential @ self.scaled, 0.0)
        both = [r]
        if self.missing == "learn" and self.any_lost:
            both.append(np.where(self.usable, r + potential @ self.lost, 0.0))
        merit = np.abs(np.stack(both, axis=1))
        at = int(np.flatnonzero(merit.ravel() >= merit.max() - TIE)[0])
        feature, side = divmod(at, len(both))
        side = ABSTAIN if self.missing == "abstain" else side
        found = float(both[at % len(both)][feature])
        return WeakChoice(Stump(feature, -1, side), found, abs(found))

    def output(self, ranker: Stump) -> np.ndarray:
        """Return the output of the weak ranker per row."""
        values = self.scaled[:, ranker.feature]
        return values + self.lost[:, ranker.feature] if ranker.side == 1 else values

    def sides(self, weights: Any, choice: WeakChoice) -> None:
        """Return None: alpha must be computed from r."""
        return

    def again(self, weights: Any, ranker: Stump) -> WeakChoice:
        """Return the feature with its r under the current weights."""
        r = float(weights.potential @ self.output(ranker))
        return WeakChoice(ranker, r, abs(r))

    def add(self, weights: Any, ranker: Stump, alpha: float) -> None:
        """Add the scaled feature to the scores."""
        weights.add_output(self.output(ranker), alpha)

    def threshold(self, ranker: Stump) -> float:
        """Return NaN: a feature has no threshold."""
        return float("nan")

    def output_of(self, X: np.ndarray, ranker: Stump) -> np.ndarray:
        """Return the scaled feature of other rows."""
        at = ranker.feature
        values = scale(X[:, at], self.low[at], self.high[at])
        return np.where(np.isnan(values), ranker.at_missing, values)

    def fresh(self) -> Self:
        """Return the same features, since choices leave no state."""
        return self


def scale(X: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Scale each feature to [0, 1] by its range; values outside are clipped."""
    width = np.where(high > low, high - low, 1.0)
    return np.clip((X.astype(np.float64) - low) / width, 0.0, 1.0)
