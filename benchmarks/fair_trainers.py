"""The fair objective in LightGBM, XGBoost and CatBoost on MQ2008, beside their own objectives.

Five folds, groups from feature 39 at its median, one thread. Times are medians over the folds of
runs that alternate; the gradient's share is measured inside them. The lines at the end compare in
the same run: XGBoost's time with the objective to that of rank:ndcg, its NDCG at alpha 1 to that of
rank:ndcg, and its rND at every alpha to LightGBM's. Needs EQUIRANK_DATA.

Lines without training for fairness are those of FairLambdaMART at alpha 1: noise on its scores (in
standard deviations of the scores of a list), and a share of the lists in random order.

Run: python benchmarks/fair_trainers.py [--trees 100] [--catboost]
     python benchmarks/fair_trainers.py --reference         # plain FairLambdaMART and lines only
"""

import argparse
import time

import numpy as np
import xgboost
from fair_lambdamart import mq2008, references

from equirank import evaluate
from equirank.core.ranking import Ranking
from equirank.rankers import FairLambdaMART, FairObjective, fair_boost, fair_objective

ALPHAS = (1.0, 0.5, 0.1)
METRICS = ["NDCG@10", "RND(step=5)@50"]
FAIR = {"step": 5, "cutoff": 50, "n_jobs": 1}
XGBOOST = {
    "max_leaves": 31, "max_depth": 0, "grow_policy": "lossguide", "learning_rate": 0.1,
    "nthread": 1, "tree_method": "hist", "base_score": 0.0, "min_child_weight": 1e-3,
    "disable_default_eval_metric": True,
}  # fmt: skip


class TimedObjective(FairObjective):
    """An objective that adds up the seconds of its calls."""

    seconds = 0.0

    def __call__(self, score, dataset=None, **given):
        begin = time.perf_counter()
        found = super().__call__(score, dataset, **given)
        self.seconds += time.perf_counter() - begin
        return found


def timed(objective):
    objective.__class__ = TimedObjective
    return objective


def measured(test, score):
    result = evaluate(Ranking.from_scores(test, score), metrics=METRICS, n_boot=0)
    return [100 * result[metric] for metric in METRICS]


def by_xgboost(train, test, trees, alpha):
    """Return the measures, the seconds of training, and those of the gradient."""
    rows = xgboost.DMatrix(train.X, train.y, qid=train.query_of_rows())
    objective = None if alpha is None else timed(fair_objective(train, alpha, **FAIR))
    params = dict(XGBOOST)
    if alpha is None:
        # LightGBM and equirank pair every item with the top 30
        params |= {"objective": "rank:ndcg", "lambdarank_pair_method": "topk"}
        params |= {"lambdarank_num_pair_per_sample": 30}
    begin = time.perf_counter()
    booster = xgboost.train(params, rows, trees, obj=objective)
    seconds = time.perf_counter() - begin
    score = booster.predict(xgboost.DMatrix(test.X), output_margin=True)
    return [*measured(test, score), seconds, objective.seconds if objective else np.nan]


def by_lightgbm(train, test, trees, alpha):
    ranker = FairLambdaMART(alpha, n_estimators=trees, random_state=0, **FAIR)
    begin = time.perf_counter()
    ranker.fit(train)
    seconds = time.perf_counter() - begin
    return [*measured(test, ranker.predict(test)), seconds, np.nan], ranker.predict(test)


def lines(test, score, seed):
    """Return the measures of random order, of noise on the scores, and of random lists."""
    rng = np.random.default_rng([seed, 1])
    found = references(test, score, METRICS, rng)
    drawn = {name: 100 * values for (name, _), values in found.items()}
    chance = [measured(test, rng.random(test.n_rows)) for _ in range(20)]
    return {"random order": np.mean(chance, axis=0), **drawn}


def by_catboost(train, test, trees, alpha):
    import catboost

    common = {"depth": 5, "thread_count": 1, "logging_level": "Silent", "random_seed": 0}
    begin = time.perf_counter()
    if alpha is None:
        model = catboost.CatBoost(
            common | {"loss_function": "LambdaMart", "iterations": trees, "learning_rate": 0.1}
        )
        model.fit(catboost.Pool(train.X, train.y, group_id=train.query_of_rows()))
        gradient = np.nan
    else:
        objective = timed(fair_objective(train, alpha, **FAIR))
        model = fair_boost(catboost.CatBoostRegressor(**common), objective, train.X, trees, 0.1)
        gradient = objective.seconds
    seconds = time.perf_counter() - begin
    return [*measured(test, model.predict(test.X)), seconds, gradient]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--catboost", action="store_true")
    parser.add_argument("--reference", action="store_true", help="plain model and lines only")
    args = parser.parse_args()
    plain = {}

    def fair_lambdamart(train, test, trees, alpha):
        found, score = by_lightgbm(train, test, trees, alpha)
        if alpha == 1.0:
            plain["score"] = score
        return found

    trainers = [("FairLambdaMART", fair_lambdamart, (1.0,))]
    if not args.reference:
        trainers = [("XGBoost", by_xgboost, (None, *ALPHAS))]
        trainers.append(("FairLambdaMART", fair_lambdamart, ALPHAS))
    if args.catboost:
        trainers.append(("CatBoost", by_catboost, (None, *ALPHAS)))
    found = {}
    for fold in range(5):
        train, test = mq2008(fold)
        if fold == 0:
            for _, run, alphas in trainers:
                run(train, test, 2, alphas[0])
                run(train, test, 2, 0.5)
        for name, run, alphas in trainers:
            for alpha in alphas:
                found.setdefault((name, alpha), []).append(run(train, test, args.trees, alpha))
        for name, values in lines(test, plain["score"], fold).items():
            found.setdefault((name, "line"), []).append([*values, np.nan, np.nan])
    print("| trainer | alpha | NDCG@10 | rND@50 | seconds | of which gradient |")
    print("| --- | --- | --- | --- | --- | --- |")
    for (name, alpha), runs in found.items():
        good, unfair = np.mean(runs, axis=0)[:2]
        seconds, gradient = np.median(runs, axis=0)[2:]
        cells = ["" if np.isnan(v) else f"{v:.2f}" for v in (seconds, gradient)]
        label = "own" if alpha is None else "" if alpha == "line" else f"{alpha:g}"
        print(f"| {name} | {label} | {good:.1f} | {unfair:.1f} | {' | '.join(cells)} |")
    if args.reference:
        return
    own = np.array(found["XGBoost", None])
    print()
    for alpha in ALPHAS:
        ratio = np.median(np.array(found["XGBoost", alpha])[:, 2] / own[:, 2])
        print(f"- time of XGBoost with the objective over rank:ndcg, alpha {alpha:g}: {ratio:.2f}")
    good = [np.mean(found["XGBoost", alpha], axis=0)[0] for alpha in (1.0, None)]
    print(f"- NDCG@10 of XGBoost at alpha 1 minus rank:ndcg: {good[0] - good[1]:+.2f}")
    for alpha in ALPHAS:
        pair = [np.mean(found[name, alpha], axis=0)[1] for name in ("XGBoost", "FairLambdaMART")]
        print(f"- rND@50 of XGBoost minus LightGBM, alpha {alpha:g}: {pair[0] - pair[1]:+.2f}")


if __name__ == "__main__":
    main()
