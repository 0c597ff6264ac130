"""Rankers of LightGBM, XGBoost and CatBoost in `compare`, against fitting them by hand.

``python benchmarks/bring_your_own.py [n_queries] [n_trees]``. Each of five folds is fitted and
scored by hand, then `compare` fits, ranks and evaluates the same folds; one thread each. The order
of the two alternates, and the median ratio of the rounds counts. The difference of the scores of
`as_ranker` to those of the hand-written call is printed, too; it must be 0.
"""

import sys
import time
from statistics import median

import numpy as np
from catboost import CatBoostRanker
from lightgbm import LGBMRanker
from xgboost import XGBRanker

from equirank import QueryKFold, as_ranking_data, compare
from equirank.datasets import make_ranking
from equirank.rankers import as_ranker

ROUNDS = 3


def methods(n_trees):
    """Return each ranker and the arguments that state the lists to it."""
    return {
        "lgb": (
            LGBMRanker(n_estimators=n_trees, n_jobs=1, random_state=0, verbosity=-1),
            lambda data: {"group": np.diff(data.offsets)},
        ),
        "xgb": (
            XGBRanker(n_estimators=n_trees, n_jobs=1, random_state=0),
            lambda data: {"qid": data.query_of_rows()},
        ),
        "cat": (
            CatBoostRanker(
                iterations=n_trees,
                thread_count=1,
                random_seed=0,
                verbose=False,
                allow_writing_files=False,
            ),
            lambda data: {"group_id": data.query_of_rows()},
        ),
    }


def by_hand(model, lists, data, folds):
    """Fit and score every fold; return the seconds and the scores of the last."""
    started = time.perf_counter()
    for train, test in folds:
        fold = data.select_items(train)
        fitted = type(model)(**model.get_params()).fit(fold.X, fold.y, **lists(fold))
        scores = fitted.predict(data.X[test])
    return time.perf_counter() - started, scores


def main(n_queries, n_trees):
    base = make_ranking(n_queries=n_queries, n_items=60, n_features=30, random_state=0)
    words = np.array([f"query {number}" for number in range(n_queries)])
    data = as_ranking_data(base.X, base.y, qid=words[base.query_of_rows()])
    folds = list(QueryKFold(5).split(data))
    print(f"{data!r}, {n_trees} trees, 5 folds, one thread")
    for name, (model, lists) in methods(n_trees).items():
        ratios = []
        for at in range(ROUNDS):
            seconds = {}
            for what in ("hand", "compare")[:: 1 if at % 2 else -1]:
                if what == "hand":
                    seconds[what], scores = by_hand(model, lists, data, folds)
                    continue
                started = time.perf_counter()
                result = compare({name: model}, data, "NDCG@10", cv=folds, n_jobs=1)
                seconds[what] = time.perf_counter() - started
                assert not result.first_errors(), result.first_errors()
            ratios.append(seconds["compare"] / seconds["hand"])
        train, test = folds[-1]
        ours = as_ranker(model).fit(data.select_items(train)).predict(data.X[test])
        apart = float(np.abs(ours - scores).max())
        print(
            f"{name}: compare takes {median(ratios):.2f}x the time of fitting and scoring by hand "
            f"({seconds['hand']:.2f} s), scores differ by {apart}"
        )


if __name__ == "__main__":
    given = [int(word) for word in sys.argv[1:]]
    main(given[0] if given else 200, given[1] if given[1:] else 100)
