"""Who is selected from the top of each list: the top k, a quota, or a score cutoff."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..core.data import RankingData
from ..core.errors import DataError
from ..core.outcomes import DecisionRule, cutoff_parts
from ..core.ranking import Ranking

__all__ = ["Selection", "refuse_recorded"]

#: What states how people will be selected.
RULES = "k, quota (a column with the number selected from each list) or cutoff"


@dataclass(frozen=True, eq=False)
class Selection:
    """How many people are selected from the top of each list.

    Those selected are the first people of the list.

    Attributes
    ----------
    limits : ndarray of int
        The number of people to select from each list.
    words : str
        Who they are, in a few words.
    k : int or None
        That number if it is the same for all lists.
    cutoff : float or None
        The score from which on people are selected.
    """

    limits: np.ndarray
    words: str
    k: int | None = None
    cutoff: float | None = None

    @classmethod
    def top(cls, n_lists: int, k: int) -> "Selection":
        """Return the selection of the top k of each list."""
        return cls(np.full(n_lists, k, dtype=np.int64), f"the top {k:,}", k)

    @classmethod
    def by_rule(cls, rule: DecisionRule, ranking: Ranking) -> "Selection | None":
        """Return the selection by a quota or a cutoff; None if the rule has neither."""
        if not (rule.quota or rule.cutoff):
            return None
        data = ranking.data
        decision = rule.decisions(ranking, ())[0]
        counts = np.bincount(data.query_of_rows(), decision.selected, data.n_queries)
        limits = np.rint(counts).astype(np.int64)
        if rule.quota:
            return cls(limits, f'the quota "{rule.quota}"')
        found = cls(limits, str(decision.scope["cutoff"]), None, cutoff_parts(rule.cutoff)[2])
        same = np.abs(found.chance(ranking) - decision.selected) < 1e-9
        if decision.among is not None or not same.all():
            raise DataError(
                f"cutoff must select the top of every list for a remedy, and {found.words} does "
                "not: rank everyone by the column that it compares, higher values first"
            )
        return found

    def on(self, queries: np.ndarray) -> "Selection":
        """Return the selection of some of the lists."""
        return Selection(self.limits[queries], self.words, self.k, self.cutoff)

    @cached_property
    def most(self) -> int:
        """The largest number of people of a list."""
        return int(self.limits.max(initial=0))

    def weighted(self, ranking: Ranking, weights: np.ndarray) -> np.ndarray:
        """Return the expected weight of the position of each row, 0 if it is not selected."""
        if ranking.n_draws == 1 and ranking.last is None:
            position = ranking.position
            limit = self.k if self.k is not None else self.limits[ranking.data.query_of_rows()]
            inside = (position > 0) & (position <= limit)
            return np.where(inside, weights[np.maximum(position, 1) - 1], 0.0)
        if self.k is not None:
            return ranking.expect(lambda p: weights[: len(p)] * (p <= self.k))
        data, query = ranking.data, ranking.data.query_of_rows()
        sums = np.concatenate([[0.0], np.cumsum(weights)])
        limit = np.minimum(self.limits, len(weights))[query]
        total = np.zeros(data.n_rows)
        for share, draw in ranking.draws():
            first = draw.position
            last = first if draw.last is None else draw.last
            before = np.minimum(np.maximum(first, 1) - 1, limit)
            inside = sums[np.minimum(last, limit)] - sums[before]
            total += share[query] * np.where(first > 0, inside / np.maximum(last - first + 1, 1), 0)
        return total

    def chance(self, ranking: Ranking) -> np.ndarray:
        """Return the chance of each row to be selected; ties share it."""
        return self.weighted(ranking, np.ones(int(np.diff(ranking.data.offsets).max())))

    def from_score(self, data: RankingData, cutoff: float) -> "Selection":
        """Return the selection of everyone with at least a score."""
        above = np.asarray(data.score) >= cutoff
        limits = np.bincount(data.query_of_rows(), above, data.n_queries).astype(np.int64)
        name = self.words.rsplit(" ", 2)[0]
        return Selection(limits, f"{name} >= {cutoff:g}", None, cutoff)


def refuse_recorded(selected: Any, stages: Any) -> None:
    """Raise if decisions are recorded, which no order changes."""
    if selected is not None:
        raise DataError(
            "selected records who was selected, which no order changes: state how people will be "
            f"selected instead, with {RULES}"
        )
    if stages:
        raise DataError(
            "stages record who was selected, which no order changes: keep the people who reached "
            f"one stage, and state how they will be selected, with {RULES}"
        )
