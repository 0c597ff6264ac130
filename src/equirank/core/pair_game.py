"""PairGame: the game between two rows, whose Shapley values say what each feature is worth."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..kernels.shapley import coalitions_of_masks, first_players, marginals, shapley_values
from . import columns as door
from .data import Attribute, RankingData
from .random import as_seed, generator

__all__ = ["PairGame", "as_dense"]

#: Up to so many players all coalitions are looked at, and nothing is drawn.
MOST_EXACT = 10
#: Numbers in the features of the mixed rows that are scored at once.
BLOCK = 1 << 22


class PairGame:
    """The game whose players are what differs between two rows of a list.

    A coalition stays where it is while all other players change sides: one row has the coalition's
    features from a and the rest from b, the other row the reverse. The coalition is worth half the
    difference of their scores. Leaving it out instead turns the sign, so half the coalitions tell
    of all. Where a score depends on its own row only, the Shapley values are those of the simpler
    game that mixes one row and scores it.

    Parameters
    ----------
    score : function of RankingData
        Scores of the stored rows.
    data : RankingData
        One list that holds both rows; its other rows stay as they are.
    at : tuple of int
        Where a and b stand in it.
    difference : float
        The score of a less that of b.
    groups : bool
        Whether the sensitive attributes are players, too.
    """

    def __init__(
        self,
        score: Callable[[RankingData], np.ndarray],
        data: RankingData,
        at: tuple[int, int],
        difference: float,
        groups: bool,
    ) -> None:
        self.score, self.data, self.at, self.difference = score, data, at, difference
        self.X = as_dense(data.X)
        a, b = self.X[at[0]], self.X[at[1]]
        self.features = np.flatnonzero((a != b) & ~((a != a) & (b != b)))
        self.attributes = tuple(data.sensitive) if groups else ()
        codes = [data.sensitive[name].codes[list(at)] for name in self.attributes]
        self.differing = np.array([own[0] != own[1] for own in codes], dtype=bool)
        self.n_players = len(self.features) + int(self.differing.sum())

    def solve(self, n_draws: int, random_state: Any) -> tuple[np.ndarray, np.ndarray, int]:
        """Give the value of each feature and attribute, its standard error, and the draws."""
        count, drawn = self.n_players, 0
        error = np.zeros(count)
        if count == 0:
            value = np.zeros(0)
        elif count <= MOST_EXACT:
            value = self._exact()
        else:
            value, error, drawn = *self._sampled(n_draws, random_state), n_draws
        players = np.concatenate(
            [self.features, self.X.shape[1] + np.flatnonzero(self.differing)]
        ).astype(np.int64)
        whole = np.zeros((2, self.X.shape[1] + len(self.attributes)))
        whole[:, players] = value, error
        return whole[0], whole[1], drawn

    def _exact(self) -> np.ndarray:
        """Look at all coalitions; the worth of the players left out is the negative."""
        half = 1 << (self.n_players - 1)
        worth = np.empty(2 * half)
        worth[0] = -0.5 * self.difference
        worth[1:half] = self._worth(
            half - 1, lambda at: coalitions_of_masks(at + 1, self.n_players)
        )
        worth[half:] = -worth[:half][::-1]
        return shapley_values(worth)

    def _sampled(self, n_draws: int, random_state: Any) -> tuple[np.ndarray, np.ndarray]:
        """Let the players join in random orders; every order's gains add up to the difference."""
        seed, count = as_seed(random_state), self.n_players
        order = np.stack([generator(seed, draw).permutation(count) for draw in range(n_draws)])
        place = np.argsort(order, axis=1)

        def coalitions(at: np.ndarray) -> np.ndarray:
            return first_players(place[at // (count - 1)], at % (count - 1) + 1)

        inside = self._worth(n_draws * (count - 1), coalitions).reshape(n_draws, count - 1)
        ends = np.full((n_draws, 1), 0.5 * self.difference)
        brought = marginals(order, np.concatenate([-ends, inside, ends], axis=1))
        return brought.mean(axis=0), brought.std(axis=0, ddof=1) / np.sqrt(n_draws)

    def _worth(self, count: int, coalitions: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Give the worth of coalitions 0 to count, some lists at a time."""
        step = max(1, BLOCK // max(1, self.X.size))
        worth = np.empty(count)
        for begin in range(0, count, step):
            at = np.arange(begin, min(begin + step, count))
            mixed = self._mixed(coalitions(at))
            score = np.asarray(self.score(mixed), dtype=np.float64)
            score = score.reshape(len(at), len(self.X))
            worth[at] = 0.5 * (score[:, self.at[0]] - score[:, self.at[1]])
        return worth

    def _mixed(self, inside: np.ndarray) -> RankingData:
        """Give a list for each coalition, in which the others have changed sides."""
        (a, b), (count, n) = self.at, (len(inside), len(self.X))
        X = np.repeat(self.X[None], count, axis=0)
        own = inside[:, : len(self.features)]
        for row, other in ((a, b), (b, a)):
            both = self.X[row, self.features], self.X[other, self.features]
            X[:, row, self.features] = np.where(own, *both)
        X = X.reshape(count * n, -1)
        if hasattr(self.data.X, "tocsr"):
            X = type(self.data.X)(X)
        sensitive, player = {}, len(self.features)
        for name, differs in zip(self.attributes, self.differing.tolist(), strict=True):
            attribute = self.data.sensitive[name]
            codes = np.repeat(attribute.codes[None], count, axis=0)
            if differs:
                stays = inside[:, player]
                codes[:, a] = np.where(stays, attribute.codes[a], attribute.codes[b])
                codes[:, b] = np.where(stays, attribute.codes[b], attribute.codes[a])
                player += 1
            sensitive[name] = Attribute(door.frozen(codes.reshape(-1)), attribute.categories)
        return RankingData(
            X=door.frozen_matrix(X),
            y=None,
            offsets=door.frozen(np.arange(count + 1, dtype=np.int64) * n),
            qids=door.frozen(np.arange(count)),
            sensitive=sensitive,
            feature_names=self.data.feature_names,
            max_grade=self.data.max_grade,
        )


def as_dense(X: Any) -> np.ndarray:
    """Give features as a dense matrix."""
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X)
