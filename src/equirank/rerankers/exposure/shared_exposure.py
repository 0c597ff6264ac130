"""SharedExposure: a ranking with weighted draws that knows what it promises and what it costs."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core import columns as door
from ...core.ranking import Ranking
from ...core.table import Table
from ...policies.mixture import Mixture

__all__ = ["SharedExposure", "lay_side_by_side"]


@dataclass(frozen=True, eq=False, repr=False)
class SharedExposure(Ranking):
    """What `ExposureOptimal` gives back: a few rankings of each list, with their probabilities.

    Attributes
    ----------
    report : Table
        Per list: the expected utility, the best there is without constraints, the price (the share
        of it given up), the largest violation of a constraint, and the number of rankings.

    Examples
    --------
    >>> from equirank.rerankers import ExposureOptimal
    >>> shared = ExposureOptimal().rerank([0.8, 0.7, 0.3], sensitive_features=["a", "a", "b"])
    >>> shared.n_draws, shared.holds
    (2, True)
    >>> round(shared.price, 4)
    0.0662
    """

    report: Table | None = None

    @property
    def price(self) -> float:
        """The share of the best utility that is given up, in the mean over lists."""
        return float(np.mean(self._columns()["price"]))

    @property
    def holds_per_query(self) -> np.ndarray:
        """Whether every constraint holds within 1e-9, per list in the order of ``data.qids``."""
        return np.asarray(self._columns()["violation"] <= 1e-9)

    @property
    def holds(self) -> bool:
        """Whether every constraint holds in every list, within 1e-9."""
        return bool(self.holds_per_query.all())

    def policy(self) -> Mixture:
        """Give it as a policy to sample from."""
        return Mixture(self)

    def _columns(self) -> dict[str, Any]:
        return {} if self.report is None else {n: self.report[n] for n in self.report.columns}


def lay_side_by_side(
    places: list[np.ndarray], weights: list[np.ndarray], offsets: np.ndarray, k: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Give positions (row x draw) and weights (list x draw) of mixtures of different sizes.

    A list with fewer rankings than the longest mixture repeats its first one with weight 0.
    """
    widest = max(len(share) for share in weights)
    position = np.zeros((offsets[-1], widest), dtype=np.int32)
    share = np.zeros((len(weights), widest))
    for query, (place, weight) in enumerate(zip(places, weights, strict=True)):
        rows = slice(offsets[query], offsets[query + 1])
        position[rows] = place[0][:, None] + 1
        position[rows, : len(place)] = place.T + 1
        share[query, : len(weight)] = weight
    if k is not None:
        position[position > k] = 0
    return door.frozen(position), door.frozen(share)
