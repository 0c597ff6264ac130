"""The objective against slow twins written from the definition."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equirank import as_ranking_data
from equirank.core.data import RankingData
from equirank.core.pair_cost import PairCost
from equirank.kernels.swaps import swap_changes
from equirank.metrics import disparate_treatment, exposure_gap, rkl, rnd, rrd
from equirank.rankers.lambdamart.fairness_terms import fairness_part, no_fairness
from equirank.rankers.lambdamart.objective import FairObjective, performance_part


def lists(seed, n_groups=2, n_queries=3, longest=12, **more):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, longest + 1, size=n_queries)
    n = int(sizes.sum())
    group = rng.integers(0, n_groups, size=n)
    start = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    group[start], group[start + 1] = 0, 1
    y = rng.integers(0, 4, size=n) * 0.75
    data = as_ranking_data(
        None,
        y,
        qid=np.repeat(np.arange(n_queries), sizes),
        sensitive_features=group.astype(str),
        **{k: v(rng, n) for k, v in more.items()},
    )
    return data, rng.normal(size=n)


def measured(fairness, y, labels, score, step, cutoff, protected=None):
    """The unfairness of one list by the public metrics."""
    if fairness == "exposure":
        return exposure_gap(score, labels, k=cutoff, protected=protected)
    if fairness == "treatment":
        value = disparate_treatment(y, score, labels, k=cutoff, protected=protected)
        return 1.0 - min(value, 1.0 / value)
    metric = {"rnd": rnd, "rkl": rkl, "rrd": rrd}[fairness]
    return metric(score, labels, step=step, k=cutoff, protected=protected, undefined="zero")


CASES = [
    ("rnd", None, 2),
    ("rnd", 6, 2),
    ("rkl", None, 2),
    ("rkl", None, 3),
    ("rrd", None, 2),
    ("exposure", None, 2),
    ("exposure", 5, 2),
    ("treatment", None, 2),
]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:RRD")
@pytest.mark.parametrize(("fairness", "cutoff", "n_groups"), CASES)
@pytest.mark.parametrize("seed", range(4))
def test_the_change_of_a_swap_is_that_of_the_recomputed_metric(fairness, cutoff, n_groups, seed):
    data, score = lists(seed, n_groups)
    protected = "0" if fairness == "rrd" else None
    step = 3
    part = fairness_part(data, fairness=fairness, step=step, cutoff=cutoff, protected=protected)
    labels = np.array(data.attribute().categories)[data.attribute().codes]
    if protected is not None:
        labels = np.where(labels == protected, labels, "rest")
    checked = 0
    for q in range(data.n_queries):
        begin, end = data.offsets[q : q + 2]
        y, mine, group = np.asarray(data.y)[begin:end], score[begin:end], labels[begin:end]
        if len(np.unique(group)) < 2 or end - begin < step:
            continue
        if fairness == "treatment" and min(y[group == g].sum() for g in np.unique(group)) == 0:
            continue
        order, changes = swap_changes(q, score, data.offsets, part)
        before = measured(fairness, y, group, mine, step, cutoff, protected)
        for i in range(len(order)):
            for j in range(i + 1, len(order)):
                if group[order[i]] == group[order[j]]:
                    assert changes[i, j] == 0.0
                    continue
                swapped = mine.copy()
                swapped[order[[i, j]]] = mine[order[[j, i]]]
                after = measured(fairness, y, group, swapped, step, cutoff, protected)
                assert changes[i, j] == pytest.approx(after - before, abs=1e-10)
                checked += 1
    assert checked or fairness == "treatment"


@pytest.mark.slow
@pytest.mark.parametrize("fairness", ["rnd", "exposure"])
@pytest.mark.parametrize("over_groups", ["mean", "worst"])
@pytest.mark.parametrize("seed", range(3))
def test_the_change_of_a_swap_with_three_groups(fairness, over_groups, seed):
    data, score = lists(seed, 3, n_queries=2)
    part = fairness_part(data, fairness=fairness, step=2, over_groups=over_groups)
    codes = data.attribute().codes
    for q in range(2):
        begin, end = data.offsets[q : q + 2]
        group, mine = codes[begin:end], score[begin:end]

        def unfairness(scores, group=group):
            values = []
            for g in np.unique(group):
                labels = np.where(group == g, "in", "out")
                values.append(measured(fairness, None, labels, scores, 2, None, "in"))
            return np.mean(values) if over_groups == "mean" else max(values)

        order, changes = swap_changes(q, score, data.offsets, part)
        before = unfairness(mine)
        for i in range(len(order)):
            for j in range(i + 1, len(order)):
                if group[order[i]] != group[order[j]]:
                    swapped = mine.copy()
                    swapped[order[[i, j]]] = mine[order[[j, i]]]
                    assert changes[i, j] == pytest.approx(unfairness(swapped) - before, abs=1e-10)


# the whole gradient


def slow_pairs(data, score, alpha, part, truncation, q, pair_cost, targets):
    """Every pair of a query with its weight: (higher wanted, lower wanted, Delta), written out."""
    begin, end = data.offsets[q : q + 2]
    y = np.asarray(data.y)[begin:end]
    order, changes = swap_changes(q, score, data.offsets, part)
    gain = 2.0**y - 1.0
    discount = 1.0 / np.log2(2.0 + np.arange(len(y)))
    ideal = (np.sort(gain)[::-1] * discount)[:truncation].sum()
    for i in range(len(y)):
        for j in range(i + 1, len(y)):
            a, b = int(order[i]), int(order[j])
            if y[a] != y[b] and i < truncation and ideal > 0:
                delta = abs(gain[a] - gain[b]) * abs(discount[i] - discount[j]) / ideal
                high, low = (a, b) if y[a] > y[b] else (b, a)
                yield high, low, alpha * delta * pair_cost(begin + high, begin + low)
            change = changes[i, j]
            if targets is None:
                if alpha > 0 and score[begin + a] == score[begin + b]:
                    continue  # the order of the two is arbitrary
                above = change > 0
            elif targets[begin + a] == targets[begin + b]:
                continue
            else:
                above = targets[begin + a] < targets[begin + b]
            if change != 0.0:
                high, low = (a, b) if above else (b, a)
                yield high, low, (1.0 - alpha) * abs(change)


def slow_gradient(
    data, score, alpha, part, *, truncation, sigma, normalize, pair_cost=None, targets=None
):
    gradient, hessian = np.zeros(data.n_rows), np.zeros(data.n_rows)
    cost = pair_cost or (lambda a, b: 1.0)
    for q in range(data.n_queries):
        begin, end = data.offsets[q : q + 2]
        s = score[begin:end]
        g, h, size = np.zeros(end - begin), np.zeros(end - begin), 0.0
        for high, low, delta in slow_pairs(data, score, alpha, part, truncation, q, cost, targets):
            if normalize and s.max() > s.min():
                delta = delta / (0.01 + abs(s[high] - s[low]))
            rho = 1.0 / (1.0 + math.exp(min(700.0, sigma * (s[high] - s[low]))))
            g[high] -= sigma * rho * delta
            g[low] += sigma * rho * delta
            h[[high, low]] += sigma**2 * rho * (1 - rho) * delta
            size += 2 * sigma * rho * delta
        factor = math.log2(1 + size) / size if normalize and size > 0 else 1.0
        weight = 1.0 if data.query_weight is None else data.query_weight[q]
        gradient[begin:end], hessian[begin:end] = factor * weight * g, factor * weight * h
    return gradient, hessian


def slow_targets(data, score, part):
    """The block of each row in the target list: its rank by relevance, then score, in its group."""
    block = np.empty(data.n_rows, dtype=int)
    for q in range(data.n_queries):
        begin, end = data.offsets[q : q + 2]
        rows, at = np.arange(begin, end), begin
        for bucket in range(len(part.column)):
            mine = rows[part.bucket[begin:end] == bucket]
            ranked = mine[np.lexsort((mine, -score[mine], -np.asarray(data.y)[mine]))]
            block[ranked] = part.target_block[at : at + len(mine)]
            at += len(mine)
    return block


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["swap", "fair_first", "relevance_first"])
@pytest.mark.parametrize("n_groups", [2, 3])
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("cutoff", [None, 6])
def test_the_gradient_is_that_of_the_definition(strategy, n_groups, normalize, cutoff):
    for seed in range(4):
        data, score = lists(seed, n_groups)
        part = fairness_part(data, strategy=strategy, step=2, cutoff=cutoff)
        for alpha in (0.0, 0.4, 1.0):
            objective = FairObjective(
                data, performance_part(data, truncation=4), part,
                alpha=alpha, sigma=1.3, normalize=normalize,
            )  # fmt: skip
            targets = None if strategy == "swap" else slow_targets(data, score, part)
            wanted = slow_gradient(
                data, score, alpha, part, truncation=4, sigma=1.3, normalize=normalize,
                targets=targets,
            )  # fmt: skip
            for got, right in zip(objective(score, dtype=np.float64), wanted, strict=True):
                np.testing.assert_allclose(got, right, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("fairness", ["rkl", "rrd", "exposure", "treatment"])
def test_the_gradient_of_the_other_metrics(fairness):
    for seed in range(3):
        data, score = lists(seed)
        part = fairness_part(data, fairness=fairness, step=2, protected="0")
        objective = FairObjective(data, performance_part(data), part, alpha=0.5)
        wanted = slow_gradient(data, score, 0.5, part, truncation=30, sigma=1.0, normalize=True)
        for got, right in zip(objective(score, dtype=np.float64), wanted, strict=True):
            np.testing.assert_allclose(got, right, rtol=1e-9, atol=1e-13)


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3, 1.0]))
def test_gradient_and_hessian_are_the_derivatives_of_the_pair_cost(seed, alpha):
    """With the weights of the pairs held fixed: sum of Delta log(1 + exp(-sigma (s_hi - s_lo)))."""
    data, score = lists(seed, n_queries=1)
    part = fairness_part(data, step=2)
    objective = FairObjective(
        data, performance_part(data, truncation=5), part, alpha=alpha, sigma=1.7, normalize=False
    )
    pairs = list(slow_pairs(data, score, alpha, part, 5, 0, lambda a, b: 1.0, None))

    def total(s):
        return sum(d * math.log1p(math.exp(-1.7 * (s[high] - s[low]))) for high, low, d in pairs)

    gradient, hessian = objective(score, dtype=np.float64)
    for row in range(data.n_rows):
        step = np.zeros(data.n_rows)
        step[row] = 1e-4
        up, here, down = total(score + step), total(score), total(score - step)
        assert gradient[row] == pytest.approx((up - down) / 2e-4, abs=1e-6)
        assert hessian[row] == pytest.approx((up - 2 * here + down) / 1e-8, abs=1e-5)


def test_distant_scores_neither_overflow_nor_lose_close_pairs():
    data, score = lists(3)
    for scale in (1.0, 300.0, 1e5, 1e9):
        far = np.round(score, 1) * scale
        part = fairness_part(data, step=2)
        objective = FairObjective(data, performance_part(data), part, alpha=0.5, normalize=False)
        wanted = slow_gradient(data, far, 0.5, part, truncation=30, sigma=1.0, normalize=False)
        for got, right in zip(objective(far, dtype=np.float64), wanted, strict=True):
            np.testing.assert_allclose(got, right, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("strategy", ["swap", "fair_first", "relevance_first"])
@pytest.mark.parametrize("alpha", [0.0, 0.5])
@pytest.mark.parametrize("n_groups", [2, 3])
def test_equal_scores_keep_the_order_of_the_rows(strategy, alpha, n_groups):
    """Under target lists tied items have gradients: the list decides which should be above."""
    data, score = lists(5, n_groups)
    part = fairness_part(data, strategy=strategy, step=2)
    objective = FairObjective(data, performance_part(data), part, alpha=alpha, steady=False)
    objective(score)  # leaves another order behind
    for tied in (np.zeros(data.n_rows), np.round(score)):
        targets = None if strategy == "swap" else slow_targets(data, tied, part)
        wanted = slow_gradient(
            data, tied, alpha, part, truncation=30, sigma=1.0, normalize=True, targets=targets
        )
        for got, right in zip(objective(tied, dtype=np.float64), wanted, strict=True):
            np.testing.assert_allclose(got, right, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("fairness", ["rnd", "exposure"])
def test_tied_scores_have_no_fairness_gradient_beside_relevance(fairness):
    """Before the first tree the order of the rows is arbitrary: only relevance may decide."""
    data, _ = lists(7, n_queries=20)
    part = fairness_part(data, fairness=fairness, step=2)
    tied = np.zeros(data.n_rows)
    both = FairObjective(data, performance_part(data), part, alpha=0.2, normalize=False)(tied)
    plain = FairObjective(data, performance_part(data), part, alpha=1.0, normalize=False)(tied)
    for got, right in zip(both, plain, strict=True):
        np.testing.assert_allclose(got, 0.2 * right, rtol=1e-5, atol=1e-9)
    alone = FairObjective(data, performance_part(data), part, alpha=0.0)(tied)[0]
    assert np.abs(alone).max() > 0.0  # without relevance something must begin


def test_the_number_of_threads_changes_no_bit():
    data, score = lists(6, n_queries=200, longest=40)
    part = fairness_part(data, step=3)
    results = [
        FairObjective(data, performance_part(data), part, alpha=0.5, n_threads=n)(score)
        for n in (1, 2, 3)
    ]
    for other in results[1:]:
        assert np.array_equal(results[0][0], other[0])
        assert np.array_equal(results[0][1], other[1])


def test_a_list_whose_group_gradient_changes_sign_takes_smaller_steps():
    """All of one group first, then all of the other: the second gradient is half as large."""
    group = np.repeat(["a", "b"], 6)
    data = as_ranking_data(None, np.zeros(12), qid=np.zeros(12), sensitive_features=group)
    part = fairness_part(data, step=3)
    first, second = np.linspace(1, 0, 12), np.linspace(0, 1, 12)

    def call(*lists, part=part, **options):
        objective = FairObjective(
            data, performance_part(data), part, alpha=0.0, normalize=False, **options
        )
        return [objective(score, dtype=np.float64) for score in lists][-1]

    plain = call(second)
    shrunk = call(first, second)
    np.testing.assert_allclose(shrunk[0], plain[0] / 2.0, rtol=1e-12)
    np.testing.assert_allclose(shrunk[1], plain[1], rtol=1e-12)
    np.testing.assert_allclose(call(first, second, first)[0], call(first)[0] / 4.0, rtol=1e-12)
    relaxed = call(second, first, first)[0]
    np.testing.assert_allclose(relaxed, call(first)[0] * 1.05 / 2.0, rtol=1e-12)
    np.testing.assert_allclose(call(first, second, steady=False)[0], plain[0], rtol=1e-12)
    np.testing.assert_allclose(call(second, initial_divisor=20.0)[0], plain[0] / 20.0, rtol=1e-12)
    aimed = fairness_part(data, step=3, strategy="fair_first")
    with_target = call(second, part=aimed, initial_divisor=20.0)[0]
    np.testing.assert_allclose(with_target, call(second, part=aimed)[0], rtol=1e-12)


@pytest.mark.parametrize("fairness", ["rkl", "exposure", "treatment"])
def test_the_group_gradient_has_the_sign_of_the_group_that_should_rise(fairness):
    group = np.repeat(["a", "b"], 6)
    data = as_ranking_data(None, np.ones(12), qid=np.zeros(12), sensitive_features=group)
    part = fairness_part(data, fairness=fairness, step=3, protected="a")
    objective = FairObjective(data, performance_part(data), part, alpha=0.0)
    objective(np.linspace(1, 0, 12))
    assert objective.steps.last_grad[0, 0] < 0
    objective(np.linspace(0, 1, 12))
    assert objective.steps.last_grad[0, 0] > 0
    assert objective.steps.divisor[0] == 2.0


def test_a_long_list_is_sorted_right():
    rng = np.random.default_rng(0)
    data = as_ranking_data(None, rng.integers(0, 2, 500), qid=np.zeros(500))
    objective = FairObjective(
        data, performance_part(data), no_fairness(500, 1), alpha=1.0, normalize=False
    )
    for _ in range(3):
        score = np.round(rng.normal(size=500), 1)
        objective(score)
        assert np.array_equal(objective.lists.order, np.lexsort((np.arange(500), -score)))


# weights and costs


def test_query_weights_multiply_the_gradient():
    data, score = lists(1)
    part = fairness_part(data, step=2)
    plain = FairObjective(data, performance_part(data), part, alpha=0.5)(score, dtype=np.float64)[0]
    weight = np.array([1.0, 2.0, 0.5])
    heavy = weighted(data, weight)
    found = FairObjective(heavy, performance_part(heavy), part, alpha=0.5)(score, dtype=np.float64)[
        0
    ]
    np.testing.assert_allclose(found, plain * weight[data.query_of_rows()], rtol=1e-12)


def weighted(data, weight):
    from dataclasses import replace

    return replace(data, query_weight=weight)


def uniform(rng, n):
    return rng.uniform(0.5, 2.0, size=n)


@pytest.mark.parametrize("combination", ["product", "sum", "mean"])
def test_item_costs_weigh_the_pairs_by_their_share_of_the_mean(combination):
    data, score = lists(2, cost=uniform)
    cost, y, query = np.asarray(data.cost), np.asarray(data.y), data.query_of_rows()
    combine = {
        "product": lambda a, b: cost[a] * cost[b],
        "sum": lambda a, b: cost[a] + cost[b],
        "mean": lambda a, b: (cost[a] + cost[b]) / 2,
    }[combination]
    pairs = [
        combine(a, b)
        for a in range(data.n_rows)
        for b in range(data.n_rows)
        if query[a] == query[b] and y[a] > y[b]
    ]
    part = no_fairness(data.n_rows, data.n_queries)
    objective = FairObjective(
        data, performance_part(data, cost_combination=combination), part, alpha=1.0
    )
    wanted = slow_gradient(
        data, score, 1.0, fairness_part(data), truncation=30, sigma=1.0, normalize=True,
        pair_cost=lambda a, b: combine(a, b) / np.mean(pairs),
    )  # fmt: skip
    for got, right in zip(objective(score, dtype=np.float64), wanted, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-9, atol=1e-13)


class GradeCost(PairCost):
    def blocks(self, data: RankingData):
        return (np.asarray(data.y) > 1).astype(np.int32), np.array([[1.0, 9.0], [2.0, 5.0]])


class ListedCost(PairCost):
    def blocks(self, data: RankingData):
        return None

    def pairs(self, data: RankingData, first, second):
        return 1.0 + (first * 7 + second * 3) % 5


@pytest.mark.parametrize("kind", [GradeCost, ListedCost])
def test_pair_costs_weigh_the_pairs(kind):
    data, score = lists(4)
    rule = kind()
    y, query = np.asarray(data.y), data.query_of_rows()
    first, second = np.nonzero((query[:, None] == query) & (y[:, None] > y))
    mean = rule.pairs(data, first, second).mean()
    objective = FairObjective(
        data, performance_part(data, pair_cost=rule),
        no_fairness(data.n_rows, data.n_queries), alpha=1.0,
    )  # fmt: skip
    wanted = slow_gradient(
        data, score, 1.0, fairness_part(data), truncation=30, sigma=1.0, normalize=True,
        pair_cost=lambda a, b: rule.pairs(data, np.array([a]), np.array([b]))[0] / mean,
    )  # fmt: skip
    for got, right in zip(objective(score, dtype=np.float64), wanted, strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-9, atol=1e-13)


def test_a_distance_of_ones_own_is_the_same_as_the_built_in_one():
    from numba import njit

    data, score = lists(7)
    built_in = fairness_part(data, fairness="rnd", step=2, protected="0")
    of_arrays = fairness_part(
        data, fairness=lambda c, k, n, s: np.abs(c / k - s / n), step=2, protected="0"
    )
    compiled = fairness_part(
        data, fairness=njit(lambda c, k, n, s: abs(c / k - s / n)), step=2, protected="0"
    )
    wanted = FairObjective(data, performance_part(data), built_in, alpha=0.3)(score, dtype=float)
    for part in (of_arrays, compiled):
        found = FairObjective(data, performance_part(data), part, alpha=0.3)(score, dtype=float)
        np.testing.assert_allclose(found[0], wanted[0], rtol=1e-9, atol=1e-13)
