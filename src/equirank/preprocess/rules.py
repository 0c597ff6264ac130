"""Rules: an oracle bound to the people it judges, for one order or for all of a sweep."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..core.errors import DataError
from ..kernels.exchange_sweep import RIGHT, advance, begin, sweep_counts, sweep_exposure

__all__ = ["CallRule", "CountRule", "ExposureRule", "Rule"]

#: A gap this little above its limit is rounding.
ROUNDING = 1e-9


class Rule(Protocol):
    """What the search asks: how deep the rule looks, one order, or all orders of two values."""

    @property
    def depth(self) -> int:
        """How many places count."""

    def fair(self, order: np.ndarray) -> bool:
        """Say whether an order, best first, is fair; its first ``depth`` rows are enough."""

    def sweep(self, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, int]:
        """Give the intervals of fair angles, and the number of different orders."""


@dataclass(frozen=True)
class CountRule:
    """Each prefix holds from ``low`` to ``high`` of each group (arrays: groups x prefixes)."""

    codes: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @property
    def depth(self) -> int:
        """How many places count."""
        return int(self.low.shape[1])

    def fair(self, order: np.ndarray) -> bool:
        """Say whether an order is fair."""
        top = self.codes[order[: self.depth]]
        counts = np.cumsum(top == np.arange(len(self.low))[:, None], axis=1)
        return bool(((counts >= self.low) & (counts <= self.high)).all())

    def sweep(self, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, int]:
        """Give the intervals of fair angles, and the number of different orders."""
        state = begin(first, second)
        found: tuple[np.ndarray, int] = sweep_counts(
            first, second, *state, self.codes, self.low, self.high
        )
        return found


@dataclass(frozen=True)
class ExposureRule:
    """No watched group's mean exposure is further than ``limit`` from that of all others."""

    codes: np.ndarray
    exposure: np.ndarray
    watched: np.ndarray
    limit: float

    @property
    def depth(self) -> int:
        """How many places count."""
        return len(self.codes)

    def fair(self, order: np.ndarray) -> bool:
        """Say whether an order is fair."""
        codes = self.codes[order]
        total = np.bincount(codes, weights=self.exposure, minlength=len(self.watched))
        size = np.bincount(codes, minlength=len(self.watched))
        known = self.watched & (size > 0) & (size < len(codes))
        rest = (total.sum() - total[known]) / (len(codes) - size[known])
        gap = np.abs(total[known] / size[known] - rest).max(initial=0.0)
        return bool(gap <= self.limit + ROUNDING)

    def sweep(self, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, int]:
        """Give the intervals of fair angles, and the number of different orders."""
        state = begin(first, second)
        found: tuple[np.ndarray, int] = sweep_exposure(
            first, second, *state, self.codes, self.exposure, self.watched, self.limit + ROUNDING
        )
        return found


@dataclass(frozen=True)
class CallRule:
    """Whatever a function of the order says, asked only when the first ``depth`` places change."""

    function: Callable[[np.ndarray], Any]
    depth: int

    def fair(self, order: np.ndarray) -> bool:
        """Ask the function."""
        answer = self.function(order)
        if not isinstance(answer, (bool, np.bool_)):
            raise DataError(
                f"oracle must answer True or False, got {type(answer).__name__} {answer!r}"
            )
        return bool(answer)

    def sweep(self, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, int]:
        """Give the intervals of fair angles, and the number of different orders."""
        order, tree = begin(first, second)
        found: list[list[float]] = []
        now, n_orders = 0.0, 1
        while now < RIGHT:
            good = self.fair(order.copy())
            then, passed = advance(first, second, order, tree, self.depth)
            n_orders += passed
            if good and then > now:
                if found and found[-1][1] == now:
                    found[-1][1] = then
                else:
                    found.append([now, then])
            now = then
        return np.array(found).reshape(-1, 2), n_orders
