"""Small methods for tests of comparisons, which other processes can import."""

import time

import numpy as np

from equirank import Ranker, compare
from equirank.core.random import generator
from equirank.datasets import make_ranking

METRICS = ["NDCG@5", "RND(step=3)@9"]


class Weights(Ranker):
    """Ranks by the correlation of each feature with relevance, after a pause and some noise."""

    def __init__(self, pause=0.0, noise=0.0, random_state=None):
        self.pause = pause
        self.noise = noise
        self.random_state = random_state

    def _fit(self, data):
        time.sleep(self.pause)
        rng = generator(self.random_state)
        X = data.X - data.X.mean(axis=0)
        self.coef_ = X.T @ (data.y - data.y.mean()) / len(X)
        self.coef_ = self.coef_ + self.noise * rng.normal(size=len(self.coef_))

    def _scores(self, data):
        return data.X @ self.coef_


class Failing(Ranker):
    """Raises while fitting, for some seeds only where these are named."""

    def __init__(self, error=RuntimeError, seeds=None, random_state=None):
        self.error = error
        self.seeds = seeds
        self.random_state = random_state

    def _fit(self, data):
        if self.seeds is None or self.random_state in self.seeds:
            raise self.error("it <b>broke</b>")

    def _scores(self, data):
        return np.asarray(data.X[:, 0])


def small_data():
    return make_ranking(n_queries=12, n_items=12, feature_bias=1.0, random_state=0)


def slow_run(store, n_jobs=1, pause=0.03):
    """Two methods, three folds, two seeds: twelve cells."""
    methods = {"plain": Weights(pause), "noisy": Weights(pause, noise=0.3)}
    return compare(methods, small_data(), METRICS, cv=3, seeds=[0, 1], n_jobs=n_jobs, store=store)


def values(result):
    """What must be the same from run to run: all but the seconds."""
    table = result.table
    names = [name for name in table.columns if not name.endswith("seconds")]
    return [tuple(repr(row[name]) for name in names) for row in table]
