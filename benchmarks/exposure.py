"""Exposure: compared with the classical linear program, a sort, and a convex solver.

python benchmarks/exposure.py            # ExposureOptimal and NashAllocation
python benchmarks/exposure.py --large    # NashAllocation for 10,000 users and items (minutes)
"""

import argparse
import resource
import time

import numpy as np

from equirank.allocation import NashAllocation
from equirank.rerankers import ExposureOptimal


def best(call, repeat):
    """Return the shortest of several times."""
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return min(times)


def one_list():
    rng = np.random.default_rng(0)
    for n, repeat in ((200, 3), (100_000, 5)):
        score, group = rng.random(n), rng.choice(["a", "b"], n)
        score[group == "b"] *= 0.9
        from equirank import as_ranking_data

        ranking = as_ranking_data(score=score, sensitive_features=group).ranking()
        ours = best(lambda r=ranking: ExposureOptimal()(r), repeat)
        result = ExposureOptimal()(ranking)
        print(f"ExposureOptimal, parity, {n} items: {ours * 1e3:.1f} ms, {result.n_draws} rankings")
        if n == 200:
            programme = ExposureOptimal(method="lp")
            begin = time.perf_counter()
            theirs = programme(ranking)
            taken = time.perf_counter() - begin
            gap = abs(theirs.report["utility"][0] - result.report["utility"][0])
            print(f"  {taken / ours:.0f}x faster than the linear program in n^2 variables with "
                  f"HiGHS and Birkhoff ({taken:.2f} s), utilities {gap:.1e} apart")  # fmt: skip
        else:
            sort = best(lambda s=score: np.sort(s), 20)
            argsort = best(lambda s=score: np.argsort(s), 20)
            print(f"  {ours / sort:.0f}x one np.sort of as many numbers, "
                  f"{ours / argsort:.0f}x one np.argsort")  # fmt: skip


def cvxpy_welfare(relevance, attention):
    """Solve the same problem with cvxpy; return value and seconds."""
    import cvxpy

    users, items = relevance.shape
    x = [cvxpy.Variable((items, len(attention)), nonneg=True) for _ in range(users)]
    impact = sum(cvxpy.multiply(relevance[u], x[u] @ attention) for u in range(users))
    rules = [cvxpy.sum(p, axis=0) == 1 for p in x] + [cvxpy.sum(p, axis=1) <= 1 for p in x]
    problem = cvxpy.Problem(cvxpy.Maximize(cvxpy.sum(cvxpy.log(impact))), rules)
    begin = time.perf_counter()
    problem.solve(solver=cvxpy.SCS)
    return problem.value, time.perf_counter() - begin


def many_users():
    relevance = np.random.default_rng(0).random((100, 100))
    for tol in (1e-2, 1e-3):
        model = NashAllocation(k=5, tol=tol)
        ours = best(lambda m=model: m.fit_policy(relevance), 5)
        policy = model.fit_policy(relevance)
        value = np.log(policy.impact(relevance)).sum()
        print(f"NashAllocation, 100 users x 100 items, 5 positions, gap {model.gap_:.1e}: "
              f"{ours * 1e3:.1f} ms, sum of logs {value:.3f}")  # fmt: skip
    try:
        theirs, taken = cvxpy_welfare(relevance, policy.attention)
    except ImportError:
        print("  cvxpy is not installed: no comparison")
        return
    print(f"  {taken / ours:.0f}x faster than cvxpy with SCS ({taken:.1f} s), whose sum of logs is "
          f"{theirs:.3f}")  # fmt: skip


def large():
    relevance = np.random.default_rng(0).random((10_000, 10_000), dtype=np.float32)
    model = NashAllocation(k=10, tol=1e-2)
    begin = time.perf_counter()
    policy = model.fit_policy(relevance)
    taken = time.perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"NashAllocation, 10,000 x 10,000, 10 positions: gap {model.gap_:.1e} in {taken:.0f} s, "
          f"{model.n_iter_} rounds, peak {peak:.1f} GiB, {len(policy.weights)} lists")  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--large", action="store_true")
    if parser.parse_args().large:
        large()
    else:
        one_list()
        many_users()
