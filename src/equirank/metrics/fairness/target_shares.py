"""Infeasible index and skew: counts of groups compared with target shares."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ...core.attribute import Attribute
from ...core.data import RankingData
from ...core.errors import DataError
from ...core.metric import GroupMetric, Values
from ...core.params import Choice, Constraint, Flag, Label, Number, check_params
from ...core.slots import Slots
from ...kernels.discounts import discounts
from ...kernels.prefixes import expected_counts, prefix_places
from ...kernels.segments import divide, segment_sum

__all__ = ["InfeasibleIndex", "Proportions", "ShareMetric", "Skew"]


#: Target shares: a mapping of group to share, or the same as pairs.
Proportions = Mapping[Any, float] | tuple[tuple[Any, float], ...]


class Shares:
    """Constraint: a mapping of group to share that sums to 1, or None."""

    def accepts(self, value: Any) -> bool:
        """Return whether the value is such a mapping, given as pairs."""
        if value is None:
            return True
        try:
            shares = [share for _, share in value]
            labels = [label for label, _ in value]
        except (TypeError, ValueError):
            return False
        numbers = all(Number(0.0, 1.0).accepts(share) for share in shares)
        named = all(Label().accepts(label) for label in labels) and len(set(labels)) == len(labels)
        return numbers and named and abs(sum(shares) - 1.0) < 1e-9

    def __str__(self) -> str:
        """Finish the sentence 'must be ...'."""
        return "a mapping of every group to its share, summing to 1, or None"


@dataclass(frozen=True, repr=False, kw_only=True)
class ShareMetric(GroupMetric):
    """Base of the metrics that compare shares of groups with target shares.

    Parameters
    ----------
    proportions : mapping of group to share, optional
        Target share of each group; None takes the shares of the whole list. Shares are shares of
        the people with a known label.

    References
    ----------
    Geyik, Ambler and Kenthapadi, Fairness-aware ranking in search and recommendation systems with
    application to LinkedIn talent search, KDD 2019.
    """

    why_undefined: ClassVar[str] = "it contains only one group, or shows nothing"

    proportions: Proportions | None = None

    def __post_init__(self) -> None:
        """Check the options and turn a mapping into pairs, sorted by name."""
        given = self.proportions
        if isinstance(given, Mapping):
            pairs = sorted(given.items(), key=lambda pair: str(pair[0]))
            object.__setattr__(self, "proportions", tuple(pairs))
        elif isinstance(given, list):
            object.__setattr__(self, "proportions", tuple(tuple(pair) for pair in given))
        check_params(type(self).__name__, vars(self), {"proportions": Shares()})
        super().__post_init__()

    def check(self, data: RankingData) -> None:
        """Raise if the target shares do not name the groups of the data."""
        super().check(data)
        attribute = data.attribute(self.by)
        named = self._named(attribute)
        missing = [
            label for label, known in zip(attribute.categories, named, strict=True) if not known
        ]
        if self.proportions is not None and missing:
            raise DataError(
                f"proportions of {self} must name every group, and {missing[0]!r} is missing"
            )

    def _named(self, attribute: Attribute) -> list[bool]:
        codes = {attribute.code(label, "proportions") for label, _ in self.proportions or ()}
        return [code in codes for code in range(len(attribute.categories))]

    def targets(self, slots: Slots, sizes: np.ndarray) -> np.ndarray:
        """Return the target share of each group (query x group), given the groups' sizes."""
        if self.proportions is None:
            return sizes / np.maximum(sizes.sum(axis=1, keepdims=True), 1.0)
        attribute = slots.data.attribute(self.by)
        shares = np.zeros(len(attribute.categories))
        for label, share in self.proportions:
            shares[attribute.code(label)] = share
        return np.broadcast_to(shares, sizes.shape)

    def known_lengths(
        self, slots: Slots, codes: np.ndarray, slot: np.ndarray, first: np.ndarray
    ) -> np.ndarray:
        """Return the number of people with a known label in each prefix ``first..slot``."""
        if not len(codes) or codes.min() >= 0:
            return slot - first + 1
        return expected_counts(codes >= 0, slot, first, slots.lo, slots.hi)

    def code(self, slots: Slots) -> int | None:
        """Return the code of the protected group, if there is one."""
        if self.protected is None:
            return None
        return slots.data.attribute(self.by).code(self.protected)

    def prefixes(self, slots: Slots, codes: np.ndarray, n_groups: int) -> "Prefixes":
        """Return all prefixes up to the limit."""
        sizes = slots.sum_by_group(np.ones(len(codes)), codes, n_groups)
        limit = self.limit(slots)
        query, length, offsets = prefix_places(limit)
        first = slots.offsets[:-1][query]
        slot = first + length - 1
        people = self.known_lengths(slots, codes, slot, first)
        target = self.targets(slots, sizes)
        return Prefixes(target, limit, query, length, offsets, first, slot, people)

    def limit(self, slots: Slots) -> np.ndarray:
        """Return the length of each query's longest prefix: all items shown, or the cutoff."""
        shown = slots.sizes if slots.shown is None else slots.shown
        return shown if self.k is None else np.minimum(shown, self.k)


@dataclass(frozen=True, eq=False)
class Prefixes:
    """All prefixes of every list: the query and length of each, and the slots of its ends.

    ``people`` is the number of people with a known label in each, ``target`` the target share of
    each group (query x group), ``limit`` the length of the longest prefix of each query.
    """

    target: np.ndarray
    limit: np.ndarray
    query: np.ndarray
    length: np.ndarray
    offsets: np.ndarray
    first: np.ndarray
    slot: np.ndarray
    people: np.ndarray


def several(targets: np.ndarray) -> np.ndarray:
    """Return for each query whether at least two groups have a target share."""
    return (targets > 0).sum(axis=1) > 1


@dataclass(frozen=True, repr=False, kw_only=True)
class InfeasibleIndex(ShareMetric):
    """Infeasible index: the number of prefixes in which a group has less than its target share.

    The number of prefixes i = 1, 2, ... up to the cutoff or the last item shown in which a group G
    has ``|G in first i| < floor(i p_G)``, with p_G its share of the whole list unless
    ``proportions`` are given. ``per_group=True`` counts every group that falls short in a prefix
    (InfeasibleCount) instead of the prefix once. The result includes the number of prefixes in
    which each group falls short; with ``protected``, the value is that of this group. The maximum
    is the number of prefixes, with ``per_group`` times the number of groups.

    Tied items count with the expected number in each prefix, which is not the mean over their
    orders. Over draws: the expected metric. Undefined if a query contains only one group or shows
    nothing.

    Parameters
    ----------
    per_group : bool
        Count pairs of a prefix and a group.
    protected : label, optional
        The group that is counted; without it, a prefix counts if any group falls short.
    k : int, optional
        Cutoff: prefixes longer than k do not count.

    Examples
    --------
    >>> from equirank.metrics import InfeasibleIndex, infeasible_index
    >>> InfeasibleIndex@25
    InfeasibleIndex@25
    >>> infeasible_index([4, 3, 2, 1], list("mmff"))  # positions 1 and 2 have no f
    1.0
    >>> infeasible_index([4, 3, 2, 1], list("mfmf"))
    0.0
    """

    bounds: ClassVar[tuple[float, float]] = (0.0, math.inf)
    exact_ties: ClassVar[bool] = False
    params: ClassVar[Mapping[str, Constraint]] = {"per_group": Flag()}

    per_group: bool = False

    def values(self, slots: Slots) -> Values:
        """Return the value of each query and each group's own number."""
        codes, labels = slots.groups(self.by)
        found = self.prefixes(slots, codes, len(labels))
        target, offsets = found.target, found.offsets
        mixed = several(target) & (found.limit > 0)
        some = np.zeros(len(found.query), dtype=bool)
        columns = []
        for group in range(len(labels)):
            count = expected_counts(codes == group, found.slot, found.first, slots.lo, slots.hi)
            short = count < np.floor(target[found.query, group] * found.people + 1e-9)
            some |= short
            columns.append(segment_sum(short.astype(np.float64), offsets))
        groups = np.where(mixed[:, None], np.stack(columns, axis=1), np.nan)
        code = self.code(slots)
        if code is not None:
            value = np.where(target[:, code] > 0, groups[:, code], np.nan)
        elif self.per_group:
            value = groups.sum(axis=1)
        else:
            value = np.where(mixed, segment_sum(some.astype(np.float64), offsets), np.nan)
        return Values(value, np.where(target > 0, groups, np.nan), labels)


@dataclass(frozen=True, repr=False, kw_only=True)
class Skew(ShareMetric):
    """Skew: the logarithm of a group's share of the top k divided by its target share.

    ``skew_G@k = ln( (|G in the top k| / k) / p_G )``: 0 is proportional, below 0 too few, above 0
    too many. k is the number of positions filled if the list is shorter; p_G is the group's share
    of the whole list unless ``proportions`` are given. The value is the skew of the protected
    group, or else MinSkew, the lowest over the groups (higher is better, at most 0), or MaxSkew,
    the highest (lower is better, at least 0). The result includes the skew of each group.

    Tied items count with their probability of being in the top k, and over the draws of a policy
    the expected shares count: a metric of the expectation. A group with nobody in the top k has no
    skew, and such a list has no MinSkew, unless ``smoothing`` is given. Also undefined if a query
    contains only one group or shows nothing.

    Parameters
    ----------
    extreme : {"min", "max"}
        The group that counts without ``protected``: MinSkew or MaxSkew.
    smoothing : float
        Number of positions, filled in proportion, that are added before shares are taken.
    protected : label, optional
        The group to compare with its target; without it, the extreme of all groups counts.

    Examples
    --------
    >>> from equirank.metrics import Skew, skew
    >>> Skew(extreme="max")@10
    Skew(extreme="max")@10
    >>> Skew(proportions={"f": 0.5, "m": 0.5})@10
    Skew(proportions=(("f", 0.5), ("m", 0.5)))@10
    >>> scores, sex = [6, 5, 4, 3, 2, 1], list("mmfmff")
    >>> round(skew(scores, sex, k=3, protected="f"), 4)  # ln( (1/3) / (3/6) )
    -0.4055
    >>> round(skew(scores, sex, k=3, extreme="max"), 4)  # ln( (2/3) / (3/6) )
    0.2877
    """

    direction: ClassVar[Literal["higher", "lower"]] = "higher"
    bounds: ClassVar[tuple[float, float]] = (-math.inf, math.inf)
    of_expectation: ClassVar[bool] = True
    why_undefined: ClassVar[str] = (
        "it contains only one group, or a group has nobody among the first k (see smoothing)"
    )
    params: ClassVar[Mapping[str, Constraint]] = {
        "extreme": Choice("min", "max"),
        "smoothing": Number(low=0.0),
    }

    extreme: Literal["min", "max"] = "min"
    smoothing: float = 0.0

    def __post_init__(self) -> None:
        """Check the options; for MaxSkew, lower is better."""
        super().__post_init__()
        if self.extreme == "max" and self.protected is None:
            object.__setattr__(self, "direction", "lower")

    @property
    def ideal(self) -> float:
        """The log ratio of equal shares."""
        return 0.0

    def values(self, slots: Slots) -> Values:
        """Return the value of each query and the skew of each group."""
        codes, labels = slots.groups(self.by)
        inside = slots.expect(discounts(int(slots.sizes.max()), "flat", self.k))
        count = slots.sum_by_group(inside, codes, len(labels))
        sizes = slots.sum_by_group(np.ones(len(codes)), codes, len(labels))
        target = self.targets(slots, sizes)
        filled = count.sum(axis=1, keepdims=True)
        share = divide(count + self.smoothing * target, filled + self.smoothing, filled > 0)
        mixed = several(target) & (filled[:, 0] > 0)
        ratio = divide(share, target)
        skews = np.log(ratio, out=np.full(ratio.shape, -np.inf), where=ratio > 0)
        skews[np.isnan(ratio) | ~mixed[:, None]] = np.nan
        code = self.code(slots)
        if code is not None:
            value = skews[:, code]
        elif self.extreme == "min":
            value = np.where(np.isnan(skews), np.inf, skews).min(axis=1)
        else:
            value = np.where(np.isnan(skews), -np.inf, skews).max(axis=1)
        return Values(_finite(value), _finite(skews), labels)


def _finite(values: np.ndarray) -> np.ndarray:
    return np.where(np.isinf(values), np.nan, values)
