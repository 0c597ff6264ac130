"""What the metrics of group shares have in common: the shares a fair list would have."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...core.data import Attribute, RankingData
from ...core.errors import DataError
from ...core.metric import GroupMetric
from ...core.params import Label, Number, check_params
from ...core.slots import Slots

__all__ = ["Proportions", "ShareMetric"]

#: Target shares: a mapping of group to share, or the same as pairs.
Proportions = Mapping[Any, float] | tuple[tuple[Any, float], ...]


class Shares:
    """A mapping of group to share that sums to 1, or None."""

    def accepts(self, value: Any) -> bool:
        """Say whether the value is such a mapping, given as pairs."""
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
        The shares a fair list would have; None takes those of the whole list.
    """

    why_undefined: ClassVar[str] = "it holds one group only, or shows nothing"

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
        """Raise where the target shares do not name the groups of the data."""
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
        """Give the target share of each group (query x group), given the groups' sizes."""
        if self.proportions is None:
            return sizes / slots.sizes[:, None]
        attribute = slots.data.attribute(self.by)
        shares = np.zeros(len(attribute.categories))
        for label, share in self.proportions:
            shares[attribute.code(label)] = share
        return np.broadcast_to(shares, sizes.shape)

    def code(self, slots: Slots) -> int | None:
        """Give the code of the protected group, if there is one."""
        if self.protected is None:
            return None
        return slots.data.attribute(self.by).code(self.protected)

    def limit(self, slots: Slots) -> np.ndarray:
        """Give the length of each query's longest prefix: what is shown, or the cutoff."""
        shown = slots.sizes if slots.shown is None else slots.shown
        return shown if self.k is None else np.minimum(shown, self.k)


def several(targets: np.ndarray) -> np.ndarray:
    """Say for each query whether at least two groups have a target share."""
    return (targets > 0).sum(axis=1) > 1
