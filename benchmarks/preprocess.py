"""iFair compared with its matrix products, and the exact sweep compared with plain Python.

Everything runs in one thread, and CPU time is measured, so other load has little effect.
"""

import math
import time
import tracemalloc

import numpy as np
from threadpoolctl import threadpool_limits

from equirank.preprocess import (
    ExposureGapOracle,
    FairScoringWeights,
    FAStarIROracle,
    IFair,
    PrefixSharesOracle,
)
from equirank.preprocess.ifair import IFairLoss


def best(function, repeat):
    times = []
    for _ in range(repeat):
        begin = time.process_time()
        function()
        times.append(time.process_time() - begin)
    return min(times)


def ifair_evaluation():
    """Print the time of one loss and gradient, relative to its matrix products."""
    rng = np.random.default_rng(0)
    n, width, k = 100_000, 20, 10
    X = rng.normal(size=(n, width))
    pairs = IFair(k)._count_pairs(n)
    loss = IFairLoss(X, X[:, 1:], k, pairs, 1.0, 1.0, True)
    theta = np.concatenate([rng.random(width), rng.normal(size=k * width)])
    loss(theta)  # compiles
    prototypes, share = rng.normal(size=(k, width)), loss.share.copy()
    weights, made, row = rng.random(width), np.empty((n, width)), rng.random(n)
    squares, column = X * X, np.empty((k, n))

    def products():
        np.matmul(prototypes, X.T, out=column)  # distances
        squares @ weights
        np.matmul(share.T, prototypes, out=made)  # representation
        np.matmul(prototypes, made.T, out=column)  # gradient in the shares
        share @ made  # gradient in the prototypes
        share @ X
        row @ squares  # gradient in the weights

    products()
    print(f"iFair, {n:,} rows x {width} columns, {k} prototypes, {pairs:,} pairs:")
    with threadpool_limits(1, user_api="blas"):  # as fit does
        rounds = [(best(lambda: loss(theta), 3), best(products, 3)) for _ in range(8)]
    whole, parts = (min(times) for times in zip(*rounds, strict=True))
    print(f"  one evaluation {1000 * whole:.0f} ms, {whole / parts:.2f}x its matrix products")


def ifair_memory():
    rng = np.random.default_rng(0)
    per_row = []
    for n in (20_000, 80_000):
        X = rng.normal(size=(n, 20))
        tracemalloc.start()
        IFair(10, protected=[0], n_init=1, max_iter=2, n_pairs=2 * n, random_state=0).fit(X)
        per_row.append(tracemalloc.get_traced_memory()[1] / n)
        tracemalloc.stop()
    print(
        f"  memory beyond X per row: {per_row[1] / per_row[0]:.2f}x at four times the rows "
        f"({per_row[1] / 160:.1f} times X)"
    )


def plain_sweep(points, protected, k, low):
    """Run the sweep of the paper in plain Python: sorted exchanges, swapped neighbours, counts."""
    n = len(points)
    events = []
    for i in range(n):
        a, b = points[i]
        for j in range(i + 1, n):
            c, d = points[j]
            if (a - c) * (d - b) > 0:
                events.append((math.atan((a - c) / (d - b)), i, j))
    events.sort()
    order = sorted(range(n), key=lambda i: points[i], reverse=True)
    place = [0] * n
    for at, i in enumerate(order):
        place[i] = at
    count = sum(protected[i] for i in order[:k])
    found, begin = [], 0.0 if count >= low else None
    for angle, i, j in events:
        p, q = place[i], place[j]
        order[p], order[q] = j, i
        place[i], place[j] = q, p
        if min(p, q) == k - 1:
            inside, outside = (i, j) if q < p else (j, i)
            count += protected[inside] - protected[outside]
            if count >= low and begin is None:
                begin = angle
            elif count < low and begin is not None:
                found.append((begin, angle))
                begin = None
    if begin is not None:
        found.append((begin, math.pi / 2))
    return found


def sweep():
    rng = np.random.default_rng(0)
    n, k = 2000, 100
    X = rng.normal(size=(n, 2))
    groups = np.where(X[:, 1] - X[:, 0] + rng.normal(size=n) > 0.5, "b", "a")
    oracle = PrefixSharesOracle(k=k, low=0.4, protected="b")

    def ours():
        return FairScoringWeights(oracle, weights=[3, 1]).fit(X, sensitive_features=groups)

    found = ours()
    fast = best(ours, 5)
    points = [tuple(row) for row in X.tolist()]
    member = [int(group == "b") for group in groups]
    begin = time.process_time()
    plain = plain_sweep(points, member, k, 40)
    slow = time.process_time() - begin
    np.testing.assert_allclose(found.intervals_, plain, atol=1e-9)
    print(f"exact sweep, {n:,} items, {found.n_orders_:,} orders, {1000 * fast:.0f} ms:")
    print(f"  a plain Python sweep with the same oracle, counting as it goes, {slow / fast:.0f}x")

    def counted(order):
        return (groups[order] == "b").sum() >= 40

    begin = time.process_time()
    orders = 0
    for angle in np.linspace(0, np.pi / 2, 2000):
        order = sorted(range(n), key=(X @ [np.cos(angle), np.sin(angle)]).tolist().__getitem__)
        counted(np.array(order[::-1][:k]))
        orders += 1
    each = (time.process_time() - begin) / orders
    anew = each * found.n_orders_
    print(f"  sorting for each order and calling a function, {anew / fast:,.0f}x")
    others = [ExposureGapOracle(limit=0.02), FAStarIROracle(k=k, protected="b", p=0.5)]
    for other in others:
        model = FairScoringWeights(other)
        model.fit(X, sensitive_features=groups)
        seconds = best(lambda m=model: m.fit(X, sensitive_features=groups), 3)
        print(f"  {type(other).__name__} takes {seconds / fast:.2f}x the time of prefix shares")
    counted.depth = k
    FairScoringWeights(counted).fit(X)
    seconds = best(lambda: FairScoringWeights(counted).fit(X), 3)
    print(f"  a Python function of the first {k} takes {seconds / fast:.2f}x the time of it")


if __name__ == "__main__":
    ifair_evaluation()
    ifair_memory()
    sweep()
