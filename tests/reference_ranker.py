"""Small rankers and a re-ranker that exercise the contract; not part of the library."""

from typing import ClassVar

import numpy as np

from equirank import Ranker, Ranking, Reranker
from equirank.core.params import Number
from equirank.core.random import generator


class RidgeRanker(Ranker):
    """Least squares on relevance; blind to groups."""

    params: ClassVar = {"penalty": Number(0.0, open_low=True)}

    def __init__(self, penalty=1.0):
        self.penalty = penalty

    def _fit(self, data):
        self.saw_groups_ = bool(data.sensitive)
        self.mean_ = data.X.mean(axis=0)
        X = data.X - self.mean_
        gram = X.T @ X + self.penalty * np.eye(data.n_features)
        self.coef_ = np.linalg.solve(gram, X.T @ (data.y - data.y.mean()))

    def _scores(self, data):
        if data.sensitive or data.y is not None:
            raise AssertionError("a blind ranker was shown groups or relevance")
        return (data.X - self.mean_) @ self.coef_


class GroupRidgeRanker(RidgeRanker):
    """Least squares that lifts every group's mean to the same height while fitting."""

    fit_needs: ClassVar = frozenset({"qid", "sensitive_features"})

    def _fit(self, data):
        super()._fit(data)
        attribute = next(iter(data.sensitive.values()))
        self.group_means_ = np.array(
            [
                data.X[attribute.codes == code].mean() if (attribute.codes == code).any() else 0.0
                for code in range(len(attribute.categories))
            ]
        )


class NoisyRanker(RidgeRanker):
    """A stochastic ranker: scores with Gumbel noise, one draw each."""

    def _draw(self, data, n_draws, random_state):
        scores = self._scores(data)
        position = np.empty((data.n_rows, n_draws), dtype=np.int32)
        for draw in range(n_draws):
            for query in range(data.n_queries):
                rng = generator(random_state, draw, query)
                begin, end = data.offsets[query : query + 2]
                order = np.argsort(-(scores[begin:end] + rng.gumbel(size=end - begin)))
                position[begin + order, draw] = np.arange(1, end - begin + 1)
        return position


class ReverseReranker(Reranker):
    """Turn every list upside down."""

    def _rerank(self, ranking):
        data = ranking.data
        sizes = np.repeat(np.diff(data.offsets), np.diff(data.offsets))
        last = ranking.position if ranking.last is None else ranking.last
        return Ranking.from_positions(data, data.to_original(sizes + 1 - last))


class SwapTopReranker(Reranker):
    """Swap the first two rows of every list that has two."""

    def __init__(self, places=2):
        self.places = places

    params: ClassVar = {"places": Number(2, 2)}

    def _rerank(self, ranking):
        swap = {1: 2, 2: 1}
        place = np.empty(ranking.data.n_rows, dtype=np.int64)
        sizes = np.diff(ranking.data.offsets)
        slots = ranking.slots()
        place[slots.order] = slots.position
        long = np.repeat(sizes > 1, sizes)
        moved = [swap.get(p, p) if ok else p for p, ok in zip(place.tolist(), long, strict=True)]
        return Ranking.from_positions(ranking.data, ranking.data.to_original(np.array(moved)))
