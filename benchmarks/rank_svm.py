"""RankSVM: one evaluation relative to its two matrix-vector products, scaling, and LinearSVC.

Prints ratios of CPU times measured in the same run, on which other load has little effect; set
OMP_NUM_THREADS=1 so that NumPy's products use one thread as well. Parts can be selected:
python benchmarks/rank_svm.py evaluation growth costs mq2008
``mq2008`` needs EQUIRANK_DATA. BENCH_THREADS sets the threads (1 by default).
"""

import gc
import os
import sys
import time
import warnings

import numpy as np

from equirank import as_ranking_data
from equirank.costs import GroupPairCost
from equirank.metrics import ndcg
from equirank.rankers import RankSVM
from equirank.rankers.feature_bins import Workers
from equirank.rankers.linear.hinge_objective import HingeObjective, minimise

THREADS = int(os.environ.get("BENCH_THREADS", "1"))


def best(function, repeats=7):
    times = []
    for _ in range(repeats):
        gc.collect()
        begin = time.process_time()
        function()
        times.append(time.process_time() - begin)
    return min(times)


def made(n_rows, n_lists, n_features=50, grades=5, seed=0, **given):
    """Return Gaussian features, and grades that depend in part on two of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    signal = X[:, 0] + X[:, 1] + rng.normal(size=n_rows)
    y = np.empty(n_rows)
    y[np.argsort(signal)] = np.arange(n_rows) * grades // n_rows
    qid = np.sort(rng.integers(0, n_lists, size=n_rows))
    return as_ranking_data(X, y, qid=qid, **given)


class Evaluation:
    """One evaluation of objective and gradient, as in the solver."""

    def __init__(self, data, **params):
        model = RankSVM(1e-6, **params)
        self.workers = Workers(THREADS)
        self.pairs, scale = model._pairs(data, self.workers)
        squared = model.loss == "squared_hinge"
        self.objective = HingeObjective(data.X, self.pairs, model.C * scale, squared)

    def __call__(self, w):
        return self.objective.gradient(self.objective.at(w))

    def path(self):
        """Fit, and return the evaluated points."""
        points, at = [], self.objective.at

        def noted(w):
            points.append(w)
            return at(w)

        self.objective.at = noted
        minimise(self.objective, np.zeros(self.objective.X.shape[1]), 1e-4, 1000)
        self.objective.at = at
        return points

    def cold(self, w):
        """Evaluate with unsorted rows, as in the first step."""
        self.pairs.order[:] = np.arange(len(self.pairs.order))
        return self(w)


def evaluation(n_rows=1_000_000, n_lists=1000):
    data = made(n_rows, n_lists)
    rng = np.random.default_rng(1)
    w = 0.5 * rng.normal(size=data.n_features)
    grad = rng.normal(size=n_rows)
    print(f"{n_rows:,} rows x {data.n_features}, {n_lists:,} lists, {THREADS} thread(s)")
    for loss in ("squared_hinge", "hinge"):
        run = Evaluation(data, loss=loss)
        path = run.path()

        def fit(run=run, path=path):
            for point in path:
                run(point)

        cold = best(lambda run=run: run.cold(w))
        whole = best(fit, 3) / len(path)
        products = best(lambda: (data.X @ w, data.X.T @ grad))
        print(
            f"  {loss}: {whole / products:.2f}x the two matrix-vector products during a fit "
            f"({len(path)} evaluations), {cold / products:.2f}x at a random point, rows unsorted"
        )


def growth():
    """Print the time per row for tenfold rows, in one list, with few and with many grades."""
    for grades in (5, 10_000_000):
        times = {}
        for n_rows in (10_000, 100_000, 1_000_000):
            data = made(n_rows, 1, n_features=2, grades=min(grades, n_rows))
            run = Evaluation(data)
            w = np.array([0.5, 0.3])
            run(w)
            times[n_rows] = best(lambda run=run, w=w: run.cold(w), 3)
        first, *rest = (times[n] / (n * np.log2(n)) for n in times)
        named = "5 grades" if grades == 5 else "as many grades as rows"
        shown = ", ".join(f"{part / first:.2f}x" for part in rest)
        pairs = 1e6**2 / 2
        print(f"one list, {named}: time over n log n at 1e5 and 1e6 rows is {shown} that at 1e4")
        print(f"  at 1e6 rows: {times[1_000_000]:.2f} s for up to {pairs:.1g} pairs")


def costs():
    rng = np.random.default_rng(0)
    n_rows, w = 1_000_000, 0.2 * np.random.default_rng(1).normal(size=50)
    plain = made(n_rows, 1000)
    groups = rng.choice(["a", "b"], n_rows)
    paid = made(n_rows, 1000, cost=rng.uniform(0.5, 1.5, n_rows), sensitive_features=groups)
    base = Evaluation(plain)
    base(w)
    even = best(lambda: base(w))
    for name, params in (
        ("item costs (product)", {}),
        ("item costs (sum)", {"cost_combination": "sum"}),
        ("item costs and two groups", {"pair_cost": GroupPairCost([[1.0, 2.0], [3.0, 4.0]])}),
    ):
        run = Evaluation(paid, **params)
        run(w)
        print(f"{name}: {best(lambda run=run: run(w)) / even:.2f}x an evaluation without costs")


def mq2008():
    from sklearn.svm import LinearSVC

    from equirank.datasets import load_mq2008

    ratios, qualities = [], []
    for fold, (train, _, test) in enumerate(load_mq2008(folds=True), start=1):
        X, y, query = np.asarray(train.X, dtype=float), train.y, train.query_of_rows()
        pairs = [np.nonzero(y[rows][:, None] > y[rows]) for rows in lists(train)]
        starts = train.offsets[:-1]
        a = np.concatenate([p[0] + s for p, s in zip(pairs, starts, strict=True)])
        b = np.concatenate([p[1] + s for p, s in zip(pairs, starts, strict=True)])
        sign = np.where(np.arange(len(a)) % 2, 1.0, -1.0)
        for C in (0.01, 1.0):
            RankSVM(C).fit(train)

            def ours(C=C, train=train):
                return RankSVM(C, n_jobs=THREADS).fit(train)

            def theirs(C=C, X=X, a=a, b=b, sign=sign):
                D = (X[a] - X[b]) * sign[:, None]
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    return LinearSVC(C=C, fit_intercept=False).fit(D, sign)

            found = [ndcg(test.y, s, qid=test.query_of_rows(), k=10) for s in (
                np.asarray(test.X) @ ours().coef_, np.asarray(test.X) @ theirs().coef_[0],
            )]  # fmt: skip
            ratios.append(best(theirs, 1) / best(ours, 3))
            qualities.append(found)
            print(
                f"fold {fold}, C {C:g}: {len(a):,} pairs of {len(query):,} rows; "
                f"{ratios[-1]:.0f}x faster; NDCG@10 {found[0]:.4f} and {found[1]:.4f}"
            )
    ours, theirs = np.mean(qualities, axis=0)
    print(
        f"LinearSVC on enumerated pairs of MQ2008 takes {np.exp(np.mean(np.log(ratios))):.0f}x as "
        f"long (minimum {min(ratios):.0f}x); mean NDCG@10 {ours:.4f} and {theirs:.4f}"
    )


def lists(data):
    return [slice(*data.offsets[at : at + 2]) for at in range(data.n_queries)]


PARTS = {"evaluation": evaluation, "growth": growth, "costs": costs, "mq2008": mq2008}

if __name__ == "__main__":
    for name in sys.argv[1:] or PARTS:
        PARTS[name]()
