"""The checks as metrics, so that the bench can hold them beside all others."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ...core.metric import Metric, Values
from ...core.slots import Slots
from .checks.arbitrary_treatment import arbitrary_treatment
from .checks.bimodality import bimodality
from .checks.clustering import clustering
from .checks.conditional_independence import conditional_independence
from .checks.noisy_ranking import noisy_ranking
from .checks.smoothness import smoothness
from .checks.statistical_independence import statistical_independence
from .checks.tokenisation_index import tokenisation_index
from .scenarios import PROTECTED

__all__ = ["CHECKS", "CheckMetric", "true_places"]

Check = Callable[[np.ndarray, np.ndarray, np.ndarray], float]

#: One number of each check, larger is worse, from places (1..n in order), true places and group.
CHECKS: dict[str, Check] = {
    "smoothness.ks": lambda p, t, g: smoothness(p[g], len(p)).ks,
    "smoothness.wasserstein": lambda p, t, g: smoothness(p[g], len(p)).wasserstein,
    "bimodality.coefficient": lambda p, t, g: bimodality(p[g], len(p)).coefficient,
    "clustering.z": lambda p, t, g: -clustering(g, exact=False).z,
    "tokenisation_index.index": lambda p, t, g: tokenisation_index(p, t, g).index,
    "noisy_ranking.ratio": lambda p, t, g: noisy_ranking(p, t, g, n_boot=0).ratio,
    "arbitrary_treatment.difference": lambda p, t, g: arbitrary_treatment(p, t, g).difference,
    "statistical_independence.difference": lambda p, t, g: abs(
        statistical_independence(p, g).difference
    ),
    "conditional_independence.difference": lambda p, t, g: abs(
        conditional_independence(p, t, g).difference
    ),
    "conditional_independence(bins=2).absolute": lambda p, t, g: (
        conditional_independence(p, t, g, bins=2).absolute
    ),
}


@dataclass(frozen=True, repr=False, kw_only=True)
class CheckMetric(Metric):
    """One number of a distributional check of the protected in the scenarios: lower is better.

    Signed numbers count by their size, the z of the runs test with its sign turned, so that larger
    is always worse. True places are those of the order by relevance, ties at their mean.

    Parameters
    ----------
    check_name : str
        A key of `CHECKS`.
    by : str
        The attribute.
    """

    needs: ClassVar[frozenset[str]] = frozenset({"relevance", "sensitive"})
    direction: ClassVar[Literal["higher", "lower"]] = "lower"
    bounds: ClassVar[tuple[float, float]] = (-np.inf, np.inf)
    takes_k: ClassVar[bool] = False

    check_name: str = "smoothness.ks"
    by: str = "group"

    def __repr__(self) -> str:
        """Name the check."""
        return self.check_name

    def values(self, slots: Slots) -> Values:
        """Give the number of each list."""
        codes, _ = slots.groups(self.by)
        group = codes == slots.data.attribute(self.by).code(PROTECTED)
        measured = CHECKS[self.check_name]
        found = []
        for begin, end in zip(slots.offsets[:-1], slots.offsets[1:], strict=True):
            some = slice(int(begin), int(end))
            places, truth = np.arange(1, end - begin + 1), true_places(slots.y[some])
            found.append(measured(places, truth, group[some]))
        return Values(np.array(found))


def true_places(y: np.ndarray) -> np.ndarray:
    """Give the place of each item in the order by relevance; tied items share their mean."""
    _, level, size = np.unique(-y, return_inverse=True, return_counts=True)
    last = np.cumsum(size)
    return (last - (size - 1) / 2.0)[level]
