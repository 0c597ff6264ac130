"""Explanation of a pair: the contribution of each feature to the difference of two scores."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import Any, Literal

import numpy as np

from . import inputs
from .attribute import Attribute
from .data import RankingData
from .errors import DataError
from .pair_explanation import PairExplanation, PairFacts
from .params import Integer, check_params
from .random import as_seed, generator
from .registry import find

__all__ = [
    "PairGame",
    "Parts",
    "Scored",
    "as_dense",
    "coalitions_of_masks",
    "explain_pair",
    "first_players",
    "marginals",
    "shapley_values",
    "two_rows",
]


def coalitions_of_masks(masks: np.ndarray, n_players: int) -> np.ndarray:
    """Return the players of each coalition (masks x players): player j where bit j is set."""
    return ((masks[:, None] >> np.arange(n_players)) & 1).astype(bool)


def shapley_values(worth: np.ndarray) -> np.ndarray:
    """Return the exact Shapley values of a game from the worth of all its coalitions.

    ``worth[S]`` is the worth of the players whose bits are set in S, and
    ``phi_j = sum over S without j of |S|! (m - |S| - 1)! / m! (worth[S + j] - worth[S])``.
    """
    n_players = len(worth).bit_length() - 1
    masks = np.arange(len(worth))
    size = coalitions_of_masks(masks, n_players).sum(axis=1)
    weight = np.array([1.0 / (n_players * comb(n_players - 1, s)) for s in range(n_players)])
    values = np.empty(n_players)
    for player in range(n_players):
        without = masks[(masks >> player) & 1 == 0]
        gain = worth[without | (1 << player)] - worth[without]
        values[player] = (weight[size[without]] * gain).sum()
    return values


def first_players(place: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Return the coalitions of the first players of some orders (coalitions x players).

    ``place`` is the index of each player in the order (coalitions x players); ``size`` is the
    number of players of each coalition.
    """
    return place < size[:, None]


def marginals(order: np.ndarray, worth: np.ndarray) -> np.ndarray:
    """Return the marginal contribution of each player in some orders (orders x players).

    ``order`` lists the players of each order, ``worth`` the value of its first 0, 1, ... players.
    """
    brought = np.empty(order.shape)
    np.put_along_axis(brought, order, np.diff(worth, axis=1), axis=1)
    return brought


#: Largest number of players for which all coalitions are evaluated.
MOST_EXACT = 10
#: Numbers in the features of the mixed rows that are scored at once.
BLOCK = 1 << 22


class PairGame:
    """Cooperative game whose players are the features in which two rows of a list differ.

    One row takes the features of the coalition from a and the rest from b, the other row the
    reverse. The value of the coalition is half the difference of their scores. The complement of a
    coalition has the negative value, so half the coalitions suffice. If a score depends on its own
    row only, the Shapley values are those of the simpler game that mixes one row.

    Parameters
    ----------
    score : function of RankingData
        Scores of the stored rows.
    data : RankingData
        One list that holds both rows; its other rows stay as they are.
    at : tuple of int
        Indices of a and b in it.
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
        """Return the value of each feature and attribute, its standard error, and the draws."""
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
        """Compute Shapley values from all coalitions; a complement has the negative value."""
        half = 1 << (self.n_players - 1)
        worth = np.empty(2 * half)
        worth[0] = -0.5 * self.difference
        worth[1:half] = self._worth(
            half - 1, lambda at: coalitions_of_masks(at + 1, self.n_players)
        )
        worth[half:] = -worth[:half][::-1]
        return shapley_values(worth)

    def _sampled(self, n_draws: int, random_state: Any) -> tuple[np.ndarray, np.ndarray]:
        """Estimate Shapley values from random orders; each order sums to the difference."""
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
        """Return the values of coalitions 0 to count, some lists at a time."""
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
        """Return one list per coalition, with the features of its complement exchanged."""
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
            sensitive[name] = Attribute(inputs.frozen(codes.reshape(-1)), attribute.categories)
        return RankingData(
            X=inputs.frozen_matrix(X),
            y=None,
            offsets=inputs.frozen(np.arange(count + 1, dtype=np.int64) * n),
            qids=inputs.frozen(np.arange(count)),
            sensitive=sensitive,
            feature_names=self.data.feature_names,
            max_grade=self.data.max_grade,
        )


def as_dense(X: Any) -> np.ndarray:
    """Return features as a dense matrix."""
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X)


@dataclass(frozen=True, eq=False)
class Parts:
    """Contribution of each feature to the score of each row, for scores that are sums.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_features + n_others)
        Each row sums to its score, up to a constant that is the same for all rows.
    method : {"exact", "shap"}
        Whether these are terms of the score itself, or SHAP values of it.
    others : tuple of str
        Names of further terms of the score.
    """

    values: np.ndarray
    method: Literal["exact", "shap"] = "exact"
    others: tuple[str, ...] = ()

    @classmethod
    def linear(cls, X: Any, coef: np.ndarray) -> "Parts":
        """Return the terms of a linear score ``X @ coef``, of dense or sparse features.

        Examples
        --------
        >>> Parts.linear(np.array([[1.0, 2.0]]), np.array([3.0, -1.0])).values
        array([[ 3., -2.]])
        """
        return cls(as_dense(X) * np.asarray(coef, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class Scored:
    """The parts of a fitted model that an explanation needs.

    Attributes
    ----------
    model : str
        Name of the class of the model, for sentences.
    names : sequence of str
        The features, in the order of the columns of X.
    score : function of RankingData
        Scores of the stored rows.
    parts : function of RankingData
        Their `Parts`, or None if the score is not such a sum.
    needs : frozenset of str
        Other inputs of the score: ``"qid"`` (the other rows of the list),
        ``"sensitive_features"`` (groups).
    shown : function of a list of values
        The original values of the features.
    """

    model: str
    names: Sequence[str]
    score: Callable[[RankingData], np.ndarray]
    parts: Callable[[RankingData], Parts | None] = lambda data: None
    needs: frozenset[str] = frozenset()
    shown: Callable[[np.ndarray], Sequence[Any]] = lambda values: values.tolist()


def explain_pair(
    model: Any, data: RankingData, a: Any, b: Any, *, n_draws: int, random_state: Any
) -> PairExplanation:
    """Explain the difference of two rows' scores.

    If the score is a sum over features, its terms are compared. Otherwise the features are players
    of a game: for a coalition S, one row takes S from a and the rest from b, the other row the
    reverse, and the value of S is half the difference of their scores. The Shapley values sum to
    the difference of the scores. A feature that is equal in both rows gets 0, and exchanging a and
    b changes all signs.

    Parameters
    ----------
    model : Scored or fitted model
        What is explained; a model of another library is taken as `as_ranker` does.
    data : RankingData
        The rows.
    a, b : int
        Row numbers in the caller's order.
    n_draws : int
        Orders of the features that are drawn where more than ten differ.
    random_state : int, Generator, RandomState or None
        Seed of the draws.
    """
    check_params("explain_pair", {"n_draws": n_draws}, {"n_draws": Integer(2)})
    if not isinstance(model, Scored):
        ranker = find("as_ranker")(model, prefit=True)
        return ranker.explain_pair(data, a, b, n_draws=n_draws, random_state=random_state)
    stored = two_rows(data, a, b)
    pair, at = _chosen(data, stored, "qid" in model.needs)
    score = np.asarray(model.score(pair), dtype=np.float64)[list(at)]
    values = as_dense(pair.X[list(at)]).astype(np.float64)
    facts = PairFacts(
        a=_name(data, stored[0], a),
        b=_name(data, stored[1], b),
        score_a=float(score[0]),
        score_b=float(score[1]),
        model=model.model,
        method="exact",
        ids=data.ids is not None,
    )
    shown = [list(model.shown(row)) for row in values]
    parts = model.parts(pair)
    if parts is not None:
        return _of_parts(parts, at, model, shown, facts, data.backend)
    groups = "sensitive_features" in model.needs
    game = PairGame(model.score, pair, at, float(score[0] - score[1]), groups)
    found, error, drawn = game.solve(n_draws, random_state)
    names = list(model.names)
    for name in game.attributes:
        names.append(name)
        attribute = pair.sensitive[name]
        for row, local in zip(shown, at, strict=True):
            code = int(attribute.codes[local])
            row.append(None if code < 0 else attribute.categories[code])
    facts = replace(facts, method="sampled" if drawn else "exact", n_draws=drawn)
    return PairExplanation.of(names, shown, found, error, facts, backend=data.backend)


def two_rows(data: RankingData, a: Any, b: Any) -> tuple[int, int]:
    """Return the stored rows of two row numbers, which must be different rows of one list."""
    for name, row in (("a", a), ("b", b)):
        whole = isinstance(row, (int, np.integer)) and not isinstance(row, bool)
        if not whole or not 0 <= row < data.n_rows:
            raise DataError(f"{name} must be a row number from 0 to {data.n_rows - 1}, got {row!r}")
    if a == b:
        raise DataError(f"a and b must be two different rows, got {a} twice")
    stored = [int(np.flatnonzero(data.caller_rank == row)[0]) for row in (a, b)]
    first, second = (data.place(row)[0] for row in stored)
    if first != second:
        raise DataError(
            f"a and b must be rows of one list, got row {a} of {first!r} and row {b} of {second!r}"
        )
    return stored[0], stored[1]


def _chosen(
    data: RankingData, stored: tuple[int, int], whole: bool
) -> tuple[RankingData, tuple[int, int]]:
    """Return the rows to score (the two, or their whole list) and the indices of the two."""
    begin = 0
    if whole:
        query = int(np.searchsorted(data.offsets, stored[0], side="right")) - 1
        begin = int(data.offsets[query])
        return data.select([query]), (stored[0] - begin, stored[1] - begin)
    first = int(stored[0] > stored[1])
    return data.select_items(np.array(stored)), (first, 1 - first)


def _name(data: RankingData, row: int, number: Any) -> Any:
    return int(number) if data.ids is None else np.asarray(data.ids[row]).tolist()


def _of_parts(
    parts: Parts,
    at: tuple[int, int],
    model: Scored,
    shown: list[list[Any]],
    facts: PairFacts,
    backend: str | None,
) -> PairExplanation:
    first, second = (np.asarray(parts.values[row], dtype=np.float64) for row in at)
    n_features = len(model.names)
    more = {}
    if parts.method == "shap":
        more = {"shap_a": first, "shap_b": second, "difference": first - second}
    return PairExplanation.of(
        [*model.names, *parts.others],
        [[*row, *own[n_features:]] for row, own in zip(shown, (first, second), strict=True)],
        first - second,
        np.zeros(len(first)),
        replace(facts, method=parts.method),
        more=more,
        backend=backend,
    )
