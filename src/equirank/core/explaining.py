"""Explaining a pair: each feature's part in the difference of two scores, whatever the ranker."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from .data import RankingData
from .errors import DataError
from .pair_explanation import PairExplanation, PairFacts
from .pair_game import PairGame, as_dense
from .params import Integer, check_params

__all__ = ["Parts", "Scored", "explain_pair", "two_rows"]


@dataclass(frozen=True, eq=False)
class Parts:
    """What each feature adds to the score of each row, where the score is such a sum.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_features + n_others)
        A row adds up to its score, up to a number that is the same for all rows.
    method : {"exact", "shap"}
        Whether these are terms of the score itself, or SHAP values of it.
    others : tuple of str
        Names of what adds to the score beside the features.
    """

    values: np.ndarray
    method: Literal["exact", "shap"] = "exact"
    others: tuple[str, ...] = ()

    @classmethod
    def linear(cls, X: Any, coef: np.ndarray) -> "Parts":
        """Give the terms of a linear score ``X @ coef``, of dense or sparse features.

        Examples
        --------
        >>> Parts.linear(np.array([[1.0, 2.0]]), np.array([3.0, -1.0])).values
        array([[ 3., -2.]])
        """
        return cls(as_dense(X) * np.asarray(coef, dtype=np.float64))


@dataclass(frozen=True, eq=False)
class Scored:
    """What an explanation asks of a fitted model.

    Attributes
    ----------
    model : str
        Its name.
    names : sequence of str
        The features.
    score : function of RankingData
        Scores of the stored rows.
    parts : function of RankingData
        Their `Parts`, or None where the score is no such sum.
    needs : frozenset of str
        What the score depends on beside the features: ``"qid"``, the other rows of the list;
        ``"sensitive_features"``, people's groups.
    shown : function of a list of values
        The values of the features as people know them.
    """

    model: str
    names: Sequence[str]
    score: Callable[[RankingData], np.ndarray]
    parts: Callable[[RankingData], Parts | None] = lambda data: None
    needs: frozenset[str] = frozenset()
    shown: Callable[[np.ndarray], Sequence[Any]] = lambda values: values.tolist()


def explain_pair(
    model: Scored, data: RankingData, a: Any, b: Any, *, n_draws: int, random_state: Any
) -> PairExplanation:
    """Explain the difference of two rows' scores.

    A score that is a sum over features is taken apart along it. For any other the features are
    players of a game: a coalition S trades places, so that one row has S from a and the rest from
    b, the other row the reverse, and S is worth half the difference of their scores. All features
    are worth ``(score_a - score_b) / 2``, none the negative of it, so Shapley values add up to the
    difference. A feature that is equal in both rows gets 0, and exchanging a and b turns all signs.

    Parameters
    ----------
    model : Scored
        What is explained.
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
            row.append(attribute.categories[int(attribute.codes[local])])
    facts = replace(facts, method="sampled" if drawn else "exact", n_draws=drawn)
    return PairExplanation.of(names, shown, found, error, facts, backend=data.backend)


def two_rows(data: RankingData, a: Any, b: Any) -> tuple[int, int]:
    """Find the stored rows of two row numbers, which must be different rows of one list."""
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
    """Give the rows to score, the two or their whole list, and where the two stand in them."""
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
