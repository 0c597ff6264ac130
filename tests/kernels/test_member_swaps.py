"""Swaps under fractional memberships against recomputed lists and against labels."""

import numpy as np
import pytest

from equirank import as_ranking_data
from equirank.kernels.member_swaps import member_changes
from equirank.kernels.swaps import swap_changes
from equirank.rankers import fair_objective
from equirank.rankers.lambdamart.fairness_terms import fairness_part, member_part

N = 23


def lists(seed, n_queries=2):
    rng = np.random.default_rng(seed)
    n = N * n_queries
    return as_ranking_data(
        None,
        rng.integers(0, 3, size=n).astype(float),
        qid=np.repeat(np.arange(n_queries), N),
        sensitive_features=rng.choice(list("ab"), size=n),
    ), rng


def writable(part):
    """Return a part whose arrays have one type, so that functions are compiled once."""
    return type(part)(*(np.array(x, order="C") if isinstance(x, np.ndarray) else x for x in part))


def unfairness(members, y, fairness, step, cutoff, last_cut):
    """Return the unfairness of one list in order, one number per column."""
    n = len(members)
    size = members.sum(axis=0)
    if fairness in ("exposure", "treatment"):
        v = 1 / np.log2(np.arange(2, n + 2))
        v[cutoff:] = 0
        inside, outside = members.T @ v, (1 - members).T @ v
        if fairness == "exposure":
            return np.abs(inside / size - outside / (n - size))
        ratio = inside / (members.T @ y) / (outside / ((1 - members).T @ y))
        return 1 - np.minimum(ratio, 1 / ratio)

    def total(order):
        k = np.arange(step, min(n, cutoff) + 1, step)
        if last_cut and min(n, cutoff) % step:
            k = np.append(k, min(n, cutoff))
        s, p = np.cumsum(order, axis=0)[k - 1] / k[:, None], size / n
        if fairness == "rnd":
            d = np.abs(s - p)
        else:
            d = s * np.log2(s / p) + (1 - s) * np.log2((1 - s) / (1 - p))
        return (d / np.log2(k)[:, None]).sum(axis=0)

    sums = [total(np.sort(members, axis=0)), total(np.sort(members, axis=0)[::-1])]
    return total(members) / np.maximum(*sums)


@pytest.mark.slow
@pytest.mark.parametrize("fairness", ["rnd", "rkl", "exposure", "treatment"])
@pytest.mark.parametrize("over_groups", ["mean", "worst"])
def test_every_swap_equals_the_recomputed_list(fairness, over_groups):
    for seed, step, cutoff, last_cut in ((0, 4, 23, False), (1, 5, 18, True), (2, 2, 23, False)):
        data, rng = lists(seed)
        columns = 1 if fairness == "rkl" else 3
        members = rng.dirichlet(np.ones(4), size=data.n_rows)[:, :columns]
        part = member_part(data, members, fairness, step, cutoff, over_groups, "paper", last_cut)
        part = writable(part)
        score = rng.normal(size=data.n_rows)
        for q in range(2):
            rows = slice(N * q, N * q + N)
            order, changes = member_changes(q, score, data.offsets, part)
            a, y = members[rows][order], data.y[rows][order]
            join = np.mean if over_groups == "mean" else np.max
            shape = (fairness, step, cutoff, last_cut)
            before = join(unfairness(a, y, *shape))
            for i in range(N):
                for j in range(i + 1, N):
                    at = np.arange(N)
                    at[i], at[j] = j, i
                    after = join(unfairness(a[at], y[at], *shape))
                    assert changes[i, j] == pytest.approx(after - before, abs=1e-12)


@pytest.mark.parametrize("fairness", ["rnd", "rkl", "exposure", "treatment"])
def test_memberships_of_0_and_1_equal_labels(fairness):
    data, rng = lists(5)
    codes = data.attribute().codes
    plain = writable(fairness_part(data, fairness=fairness, step=4))
    first = (codes == 0)[:, None]
    part = writable(member_part(data, first, fairness, 4, None, "mean", "paper", False))
    score = rng.normal(size=data.n_rows)
    for q in range(2):
        order, changes = swap_changes(q, score, data.offsets, plain)
        again, member = member_changes(q, score, data.offsets, part)
        np.testing.assert_array_equal(order, again)
        np.testing.assert_allclose(member, changes, atol=1e-12)


@pytest.mark.parametrize("fairness", ["rnd", "exposure"])
@pytest.mark.parametrize("steady", [False, True])
def test_nearly_certain_probabilities_give_nearly_the_gradient_of_labels(fairness, steady):
    data, rng = lists(6, n_queries=4)
    certain = np.where(data.attribute().labels() == "a", 1.0 - 1e-9, 1e-9)
    people = {"g": [None] * data.n_rows, "g[a]": certain, "g[b]": 1.0 - certain}
    guessed = as_ranking_data(
        None, data.y, qid=np.repeat(np.arange(4), N), sensitive_features=people
    )
    options = {"alpha": 0.3, "fairness": fairness, "step": 4, "steady": steady, "n_jobs": 1}
    first, second = fair_objective(data, **options), fair_objective(guessed, **options)
    for _ in range(3):
        score = rng.normal(size=data.n_rows)
        for one, other in zip(first(score), second(score), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-8)
