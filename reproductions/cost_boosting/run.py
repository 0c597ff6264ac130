"""Cost-sensitive RankBoost and RankBoost+: MovieLens, LIBRAS and COMPAS, five folds, stumps.

    python reproductions/cost_boosting/run.py --quick
    EQUIRANK_DATA=... python reproductions/cost_boosting/run.py

Four models on every fold: RankBoost and RankBoost+, without and with costs. Each seed draws its own
folds and random costs. The tag genome is not available: the features of MovieLens are the ratings
of its most active users, so these are substitute data.
"""

import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import verdicts as v
from cost_verdicts import MODELS, pictures, verdicts

from equirank import EquirankWarning, as_ranking_data, evaluate
from equirank.costs import ClassPairCost, GroupPairCost, ProtectedPairCost
from equirank.datasets import (
    load_compas,
    load_libras,
    load_movielens,
    make_item_costs,
    make_ranking,
)
from equirank.rankers import RankBoost, RankBoostPlus, RankingClassifier

#: Costs of pairs are products of item costs 1/2, 1 and 3/2: thirds of all pairs.
COST_CLASSES = {"low": (0.0, 0.6), "medium": (0.6, 1.2), "high": (1.2, 3.0)}
#: Relative cost of a pair with a protected person; the source does not state it.
PROTECTED_WEIGHT = 3.0


def booster(name, given, **options):
    """Return one of the four models; costs come with the data or the options."""
    kind = RankBoostPlus if name.endswith("+") else RankBoost
    rounds = 15 if given.quick else 100
    return kind(rounds, n_jobs=given.n_jobs, record_errors=False, random_state=0, **options)


def folds(data, seed, given):
    """Return the rows of each part of a cross-validation: train and test."""
    n = 3 if given.quick else 5
    part = np.random.default_rng([7, seed]).permutation(data.n_rows) % n
    for number in range(n):
        sides = part != number, part == number
        yield tuple(data.select_items(np.flatnonzero(side)) for side in sides)


class Pairs:
    """The pairs of one list, the better item first, with their costs."""

    def __init__(self, data, pair_cost=None):
        y = np.asarray(data.y)
        self.a, self.b = np.nonzero(y[:, None] > y)
        self.cost = np.ones(len(self.a))
        if pair_cost is not None:
            self.cost = pair_cost.pairs(data, self.a, self.b)
        elif data.cost is not None:
            self.cost = data.cost[self.a] * data.cost[self.b]
        position = (-y).argsort().argsort()
        self.top = np.minimum(position[self.a], position[self.b]) < len(y) / 10

    def wrong(self, score):
        """Return the error of each pair: 1, 0, or one half if tied."""
        gap = score[self.a] - score[self.b]
        return (gap < 0) + 0.5 * (gap == 0)

    def losses(self, score):
        wrong = self.wrong(score)
        return {"r2": wrong.mean(), "cost_r2": np.average(wrong, weights=self.cost)}


def study(given, split, costs, judge, fit=None):
    """Fit the four models on all folds of all seeds and evaluate them.

    ``split(seed)`` returns train and test parts, ``costs`` is the pair cost (None: item costs),
    ``judge`` returns further values on the test part, ``fit`` replaces the default fit.
    """
    figures, curves, classes = [], [], []
    steps = [(seed, *parts) for seed in range(given.seeds) for parts in enumerate(split(seed))]
    for seed, fold, (train, test) in v.progress(steps, "folds"):
        sides = {"train": (train, Pairs(train, costs)), "test": (test, Pairs(test, costs))}
        for name in MODELS:
            aware = name.startswith("CS")
            model = booster(name, given, pair_cost=costs if aware else None)
            part = train if aware else replace(train, cost=None)
            fitted = model.fit(part) if fit is None else fit(model, part)
            model = fitted if fit is None else fitted.rankers_[0]
            key = {"seed": seed, "fold": fold, "model": name}
            row = {**key, "rounds": model.n_estimators_}
            for side, (data, pairs) in sides.items():
                score = model.predict(data.X)
                row |= {f"{side}_{k}": value for k, value in pairs.losses(score).items()}
                if data.cost is not None:
                    classes += [{**key, "side": side, **c} for c in by_cost(pairs, score)]
                for at, score in enumerate(model.staged_predict(data.X), 1):
                    if at % 5 == 0 or at == 1:
                        curves.append({**key, "side": side, "round": at, **pairs.losses(score)})
            figures.append(row | judge(name, fitted, train, test, given))
    return {"figures": figures, "curves": _means(curves), "classes": classes}


def _means(curves):
    """Return the curves averaged over folds and seeds."""
    cells = {}
    for row in curves:
        cells.setdefault((row["model"], row["side"], row["round"]), []).append(row)
    return [
        {"model": model, "side": side, "round": at, "r2": np.mean([r["r2"] for r in rows]),
         "cost_r2": np.mean([r["cost_r2"] for r in rows])}
        for (model, side, at), rows in cells.items()
    ]  # fmt: skip


def by_cost(pairs, score):
    """Return the share of correctly ordered pairs by cost class: all, and those at the top."""
    right = 1 - pairs.wrong(score)
    for word, (low, high) in COST_CLASSES.items():
        mine = (pairs.cost > low) & (pairs.cost <= high)
        if mine.any() and (mine & pairs.top).any() and (mine & ~pairs.top).any():
            yield {"class": word, "right": right[mine].mean(),
                   "right_top": right[mine & pairs.top].mean(),
                   "right_below": right[mine & ~pairs.top].mean()}  # fmt: skip


def movielens(given, kind):
    """Run one list of movies with random item costs."""
    if given.quick:
        data = make_ranking(n_queries=1, n_items=150, n_grades=10, random_state=0)
    else:
        data = replace(load_movielens(task="movies"), feature_names=None)

    def split(seed):
        cost = make_item_costs(data.n_rows, kind=kind, random_state=seed)
        costly = replace(data, cost=cost, score=None)
        return folds(costly, seed, given)

    def judge(name, fitted, train, test, given):
        metrics = ["NDCG", "CSDCG(normalized=True)"]
        found = evaluate(fitted.rank(test), metrics, n_boot=0)
        return dict(zip(("ndcg", "csdcg"), (found[m] for m in metrics), strict=True))

    return study(given, split, None, judge)


def ternary(given):
    """Run MovieLens with item costs 1/2, 1 and 3/2."""
    return movielens(given, "ternary")


def continuous(given):
    """Run MovieLens with item costs from (0, 2), about whose range the library warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquirankWarning)
        return movielens(given, "continuous")


def libras(given):
    """Run LIBRAS: 15 classes as grades; pairs of similar classes cost more."""
    cost = ClassPairCost("centroid")

    def split(seed):
        if not given.quick:
            found = load_libras(folds=5, random_state=seed)
            return [[replace(p, feature_names=None) for p in (f.train, f.test)] for f in found]
        rng = np.random.default_rng(0)
        y = np.repeat(np.arange(1.0, 6.0), 24)
        X = rng.normal(size=(6, 8))[y.astype(int)] + rng.normal(size=(120, 8))
        return folds(as_ranking_data(X, y), seed, given)

    def judge(name, fitted, train, test, given):
        matrix, options, more = None, {}, {}
        if name.startswith("CS"):
            matrix = cost.blocks(train)[1] * (1 - np.eye(len(np.unique(train.y))))
            options = {"pair_cost": GroupPairCost(matrix)}
            more = {"sensitive_features": np.array([f"{grade:02.0f}" for grade in train.y])}
        decide = RankingClassifier(booster(name, given), scheme="one_vs_one", class_cost=matrix)
        decided = decide.set_params(random_state=0).fit(train.X, train.y).predict(test.X)
        losses, hits = [], []
        for grade in np.unique(test.y):
            one = RankingClassifier(booster(name, given, **options), scheme="thresholds")
            one.fit(train.X, (train.y == grade).astype(float), **more)
            truth = as_ranking_data(test.X, (test.y == grade).astype(float))
            losses.append(Pairs(truth).losses(one.rankers_[0].predict(test.X))["r2"])
            hits.append(np.mean(one.predict(test.X) == truth.y))
        return {"accuracy": np.mean(decided == test.y), "one_vs_rest_r2": np.mean(losses),
                "one_vs_rest_accuracy": np.mean(hits)}  # fmt: skip

    return study(given, split, cost, judge)


def compas(given):
    """Run COMPAS: two-year recidivism; pairs with a person who is not white cost more."""
    if given.quick:
        data = make_ranking(n_queries=1, n_items=240, n_grades=2, noise=1.0, random_state=0)
        X, protected = data.X, data.attribute().codes == 0
    else:
        data = load_compas(relevance="two_year_recid", keep_sensitive=True, encoding="ordinal",
                           sensitive="race")  # fmt: skip
        columns = dict(zip(data.feature_names, np.asarray(data.X).T, strict=True))
        columns["juv_count"] = columns.pop("juv_misd_count") + columns.pop("juv_other_count")
        del columns["juv_fel_count"], columns["c_charge_degree"]
        X = np.stack(list(columns.values()), axis=1)
        protected = data.attribute("race").codes != data.attribute("race").code("Caucasian")
    group = np.where(protected, "protected", "other")
    data = as_ranking_data(X, data.y, sensitive_features={"group": group})

    def fit(model, part):
        words = np.array(part.attribute().categories)[part.attribute().codes]
        classifier = RankingClassifier(model, scheme="thresholds")
        return classifier.fit(part.X, part.y, sensitive_features=words)

    def judge(name, fitted, train, test, given):
        return {"accuracy": np.mean(fitted.predict(test.X) == test.y)}

    cost = ProtectedPairCost(PROTECTED_WEIGHT, protected="protected")
    return study(given, lambda seed: folds(data, seed, given), cost, judge, fit)


PARTS = {"ternary": ternary, "continuous": continuous, "libras": libras, "compas": compas}
STUDY = v.Study(__file__, __doc__, PARTS, verdicts, pictures, seeds=10, needs_data=True)


def main(argv=None):
    return v.main(STUDY, argv)


if __name__ == "__main__":
    main()
