"""Small methods for tests of comparisons, which other processes can import."""

import os
import time
from pathlib import Path

import numpy as np

from equirank import Ranker, compare
from equirank.core.random import generator
from equirank.datasets import make_ranking

METRICS = ["NDCG@5", "RND(step=3)@9"]


def lines(folder):
    """Count the lines of the files in a folder: an entry each of what is stored there."""
    return sum(path.read_bytes().count(b"\n") for path in Path(folder).glob("*.json*"))


def hold():
    """Wait to be killed once the folder that HELD names has so many lines, as in ``folder:4``."""
    folder, _, most = os.environ.get("HELD", "").rpartition(":")
    parent = os.getppid()
    while folder and lines(folder) >= int(most):
        if os.getppid() != parent:  # that one was killed
            os._exit(1)
        time.sleep(0.01)


class Weights(Ranker):
    """Ranks by the correlation of each feature with relevance, after a pause and some noise."""

    def __init__(self, pause=0.0, noise=0.0, random_state=None):
        self.pause = pause
        self.noise = noise
        self.random_state = random_state

    def _fit(self, data):
        hold()
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


def slow_run(store, n_jobs=1):
    """Two methods, three folds, two seeds: twelve cells."""
    methods = {"plain": Weights(), "noisy": Weights(noise=0.3)}
    return compare(methods, small_data(), METRICS, cv=3, seeds=[0, 1], n_jobs=n_jobs, store=store)


def values(result):
    """What must be the same from run to run: all but the seconds."""
    table = result.table
    names = [name for name in table.columns if not name.endswith("seconds")]
    return [tuple(repr(row[name]) for name in names) for row in table]
