"""Rewards of a policy: utility and disparity, as numbers per row and position."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...core.data import RankingData
from ...core.errors import DataError
from ...kernels.discounts import discounts, gains
from ...kernels.policy_gradient import GROUP, INDIVIDUAL, NONE
from ...kernels.segments import segment_sum, sort_within

__all__ = ["DISPARITIES", "Rewards", "rewards"]


DISPARITIES = {None: NONE, "individual": INDIVIDUAL, "group": GROUP}


@dataclass(frozen=True, eq=False)
class Rewards:
    """Arrays per stored row, and weights per position.

    Attributes
    ----------
    gain, theta : ndarray
        The utility of a ranking is ``sum_i gain_i theta_pos(i)``.
    stop : ndarray
        Probability that a reader stops at each row if the utility is ERR; empty otherwise.
    merit, group : ndarray
        Merit and group of each row.
    attention : ndarray
        Exposure of each position.
    n_groups, disparity : int
        Number of groups, and the code of the disparity.
    """

    gain: np.ndarray
    theta: np.ndarray
    stop: np.ndarray
    merit: np.ndarray
    group: np.ndarray
    attention: np.ndarray
    n_groups: int
    disparity: int


def rewards(
    data: RankingData,
    utility: str,
    disparity: str | None,
    merit: str | Callable[[np.ndarray], Any],
    k: int | None,
    by: Any,
) -> Rewards:
    """Compute the rewards of a data set."""
    if data.y is None:
        raise DataError("y must be given to learn a policy")
    y = np.asarray(data.y, dtype=np.float64)
    sizes = np.diff(data.offsets)
    longest = int(sizes.max())
    attention = discounts(longest, "log2").astype(np.float64)
    stop = np.zeros(0)
    if utility == "average_rank":
        theta = -np.arange(1.0, longest + 1.0)
        gain = _shares(y, data.offsets)
    elif utility == "err":
        theta = discounts(longest, "zipf", k).astype(np.float64)
        gain = np.zeros(len(y))
        stop = gains(y, "exp2") / 2.0**data.max_grade
    else:
        theta = discounts(longest, "log2", k).astype(np.float64)
        gain = gains(y, "exp2").astype(np.float64)
        if utility == "ndcg":
            order = sort_within(gain, data.offsets)
            rank = np.arange(len(y)) - np.repeat(data.offsets[:-1], sizes)
            ideal = segment_sum(gain[order] * theta[rank], data.offsets)
            gain = gain / np.repeat(np.where(ideal > 0.0, ideal, 1.0), sizes)
    group, n_groups = np.zeros(len(y), dtype=np.int32), 1
    if disparity == "group":
        attribute = data.known_attribute(by, "a policy with a disparity of groups")
        group, n_groups = attribute.codes.astype(np.int32), len(attribute.categories)
    return Rewards(
        gain, theta, stop, _merit(y, merit, data), group, attention, n_groups,
        DISPARITIES[disparity],
    )  # fmt: skip


def _shares(y: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    total = segment_sum(y, offsets)
    return y / np.repeat(np.where(total > 0.0, total, 1.0), np.diff(offsets))


def _merit(
    y: np.ndarray, merit: str | Callable[[np.ndarray], Any], data: RankingData
) -> np.ndarray:
    if not callable(merit):
        return y
    values = np.asarray(merit(y), dtype=np.float64)
    if values.shape != y.shape:
        raise DataError(f"merit must return one number per row ({len(y)}), got {values.shape}")
    bad = ~(np.isfinite(values) & (values >= 0.0))
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        query, row = data.place(at)
        raise DataError(
            f"merit must return numbers >= 0, got {values[at]} in row {row} of query {query!r}"
        )
    return values
