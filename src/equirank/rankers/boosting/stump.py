"""Stump: one weak ranker, 1 above a threshold of one feature and 0 up to it."""

from dataclasses import dataclass

__all__ = ["ABSTAIN", "Stump"]

#: The side of a stump that gives 1/2 where the feature is missing.
ABSTAIN = 2


@dataclass(frozen=True)
class Stump:
    """A threshold stump on binned features.

    Attributes
    ----------
    feature, cut : int
        It gives 1 where the feature's bin code lies above ``cut``.
    side : int
        What it gives where the feature is missing: 0, 1, or 2 for one half.
    """

    feature: int
    cut: int
    side: int = 0

    @property
    def abstains(self) -> bool:
        """Whether it gives one half where the feature is missing."""
        return self.side == ABSTAIN

    @property
    def missing_output(self) -> int:
        """The code of its output at a missing value."""
        return self.side

    @property
    def at_missing(self) -> float:
        """Its output at a missing value."""
        return 0.5 if self.abstains else float(self.side)
