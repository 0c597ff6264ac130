"""AWRF and NDKL: shares of groups compared with target shares."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from ...core.metric import DISCOUNT, Values
from ...core.params import AnyOf, Choice, Constraint, Number
from ...core.slots import Slots
from ...kernels.discounts import discounts
from ...kernels.prefixes import (
    discounted_divergence,
    expected_counts,
    jensen_shannon,
    log_shares,
)
from ...kernels.segments import divide, segment_sum
from .target_shares import ShareMetric, several

__all__ = ["AWRF", "NDKL"]


@dataclass(frozen=True, repr=False, kw_only=True)
class AWRF(ShareMetric):
    """AWRF: the difference between a group's share of the exposure and its target share.

    ``e_G = sum_{i in G} v_pos(i) / sum_i v_pos(i)`` is compared with p_G, the group's share of the
    whole list unless ``proportions`` are given: ``| e_G - p_G |`` of the protected group, or else
    the largest. ``distance="js"`` is the Jensen-Shannon divergence in bits of all groups' shares.
    The score of the TREC fair ranking track is ``1 - AWRF(discount="trec", distance="trec")``: its
    divergence is in nats, and positions 1 and 2 have the same exposure. The result includes ``e_G -
    p_G`` of each group, above 0 for groups with more than their target. The paper leaves the
    discount and the distance open; its example has geometric attention and a binomial test for two
    groups.

    Tied items receive the mean exposure of the positions they span, and over the draws of a policy
    the expected exposure counts: a metric of the expectation. A group without items in a query has
    no value there. Undefined if a query contains only one group or has no exposure.

    Parameters
    ----------
    discount : {"log2", "zipf", "geometric", "trec"} or sequence
        Exposure of position j: ``1/log2(1 + j)``, ``1/j``, ``stop (1 - stop)**(j - 1)``,
        ``1/log2(max(j, 2))``, or the weights of positions 1, 2, ... (0 beyond its end).
    k : int, optional
        Cutoff: positions beyond k have exposure 0.
    stop : float
        Share of the exposure of position 1 under the geometric discount.
    distance : {"difference", "js", "trec"}
        The difference of shares, or the Jensen-Shannon divergence in bits or (``"trec"``) in nats.

    References
    ----------
    Sapiezynski, Zeng, Robertson, Mislove and Wilson, Quantifying the impact of user attention on
    fair group representation in ranked lists, WWW 2019 companion.
    Raj and Ekstrand, Measuring fairness in ranked results, SIGIR 2022.
    Ekstrand, McDonald, Raj and Johnson, Overview of the TREC 2021 fair ranking track, TREC 2021.

    Examples
    --------
    >>> from equirank.metrics import AWRF, awrf
    >>> AWRF(discount="geometric", stop=0.2)@20
    AWRF(discount="geometric", stop=0.2)@20
    >>> round(awrf([2, 1], ["m", "f"]), 4)  # 1 / (1 + 1/log2(3)) - 1/2
    0.1131
    >>> awrf([1, 1], ["m", "f"])
    0.0
    >>> awrf([2, 1], ["m", "f"], discount="trec", distance="trec")  # both have exposure 1
    0.0
    """

    of_expectation: ClassVar[bool] = True
    why_undefined: ClassVar[str] = "it contains only one group, or has no exposure"
    params: ClassVar[Mapping[str, Constraint]] = {
        "discount": AnyOf(Choice("geometric", "trec"), DISCOUNT),
        "stop": Number(0.0, 1.0, open_low=True, open_high=True),
        "distance": Choice("difference", "js", "trec"),
    }

    discount: str | Sequence[float] = "log2"
    stop: float = 0.1
    distance: Literal["difference", "js", "trec"] = "difference"

    def _attention(self, n: int) -> np.ndarray:
        weights: str | Sequence[float] = self.discount
        if weights == "geometric":
            weights = (self.stop * (1.0 - self.stop) ** np.arange(n)).tolist()
        elif weights == "trec":
            weights = (1.0 / np.log2(np.maximum(np.arange(1, n + 1), 2))).tolist()
        return discounts(n, weights, self.k)

    def values(self, slots: Slots) -> Values:
        """Return the value of each query and each group's share of exposure minus its target."""
        codes, labels = slots.groups(self.by)
        attention = slots.expect(self._attention(int(slots.sizes.max())))
        drawn = slots.sum_by_group(attention, codes, len(labels))
        sizes = slots.sum_by_group(np.ones(len(codes)), codes, len(labels))
        target = self.targets(slots, sizes)
        whole = drawn.sum(axis=1, keepdims=True)
        share = divide(drawn, whole, (whole > 0) & several(target)[:, None])
        apart = share - target
        code = self.code(slots)
        if self.distance == "difference":
            gaps = np.abs(apart)
            value = gaps.max(axis=1) if code is None else gaps[:, code]
        elif code is None:
            value = jensen_shannon(share, target)
        else:
            pair = [np.stack([x[:, code], 1.0 - x[:, code]], axis=1) for x in (share, target)]
            value = jensen_shannon(*pair)
        if self.distance == "trec":
            value = value * np.log(2.0)
        if code is not None:
            value = np.where(target[:, code] > 0, value, np.nan)
        return Values(value, np.where(target > 0, apart, np.nan), labels)


@dataclass(frozen=True, repr=False, kw_only=True)
class NDKL(ShareMetric):
    """NDKL: the discounted divergence of group shares in all prefixes from the target shares.

    ``NDKL = 1/Z sum_i KL(shares in first i || target) / log2(i + 1)`` over all prefixes i = 1, 2,
    ... up to the cutoff or the last item shown, in natural logarithms, with ``Z = sum_i 1/log2(i +
    1)``. The target is the shares of the whole list unless ``proportions`` are given. Without
    ``protected``, all groups are compared at once, and the result includes the value of each group
    against everyone else; with it, the group and everyone else. The maximum is ``ln(1 / smallest
    target share)``.

    Tied items count with the expected number in each prefix, which is not the mean over their
    orders: a fully tied list has the value 0. Over draws: the expected metric. Undefined if a query
    contains only one group or shows nothing, or if a group with a target of 0 appears.

    Parameters
    ----------
    protected : label, optional
        The group to compare with everyone else; without it, all groups are compared at once.
    k : int, optional
        Cutoff: prefixes longer than k do not count.

    Examples
    --------
    >>> from equirank.metrics import NDKL, ndkl
    >>> NDKL@100
    NDKL@100
    >>> round(ndkl([2, 1], ["m", "f"]), 4)  # ln(2) / (1 + 1/log2(3))
    0.425
    >>> ndkl([1, 1], ["m", "f"])
    0.0
    """

    bounds: ClassVar[tuple[float, float]] = (0.0, math.inf)
    exact_ties: ClassVar[bool] = False

    def values(self, slots: Slots) -> Values:
        """Return the metric value of each query."""
        codes, labels = slots.groups(self.by)
        found = self.prefixes(slots, codes, len(labels))
        target, limit, offsets, people = found.target, found.limit, found.offsets, found.people
        weight = discounts(int(limit.max()), "log2")[found.length - 1]
        norm = np.concatenate([[0.0], np.cumsum(discounts(int(limit.max()), "log2"))])[limit]
        if (empty := people == 0).any():  # prefixes without a known label have no shares
            norm = norm - segment_sum(weight * empty, offsets)
            weight, people = np.where(empty, 0.0, weight), np.where(empty, 1, people)
        mixed = several(target) & (norm > 0)

        def mean(count: np.ndarray, base: np.ndarray) -> np.ndarray:
            logs = log_shares(count, people, slots.lo is None)
            return discounted_divergence(count / people, logs, weight, base, offsets)

        code = self.code(slots)
        wanted = list(range(len(labels))) if code is None else [code]
        single = code is not None or len(labels) == 2
        together = np.zeros(len(limit))
        apart: list[np.ndarray] = []
        for group in wanted:
            count = expected_counts(codes == group, found.slot, found.first, slots.lo, slots.hi)
            own = mean(count, target[:, group])
            if not apart or not single:
                apart.append(own + mean(people - count, 1.0 - target[:, group]))
            else:
                apart.append(apart[0])
            together += own

        def finish(total: np.ndarray) -> np.ndarray:
            return divide(np.maximum(total, 0.0), norm, mixed & np.isfinite(total))

        groups = np.stack([finish(total) for total in apart], axis=1)
        groups[(target[:, wanted] == 0) | (target[:, wanted] == 1)] = np.nan
        value = groups[:, 0] if single else finish(together)
        return Values(value, groups, tuple(labels[group] for group in wanted))
