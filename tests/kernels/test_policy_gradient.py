"""Policy gradients: the compiled pass against a plain twin, and both against exact enumeration."""

from itertools import permutations

import numpy as np
import pytest

from equirank.core.inputs import frozen
from equirank.kernels.policy_gradient import (
    GROUP,
    INDIVIDUAL,
    NONE,
    batch_gradient,
    list_gradient,
    train_in_turn,
)
from equirank.metrics import group_disparity, individual_disparity
from equirank.policies import PlackettLuce

pytestmark = pytest.mark.slow


def attention(n):
    return 1 / np.log2(np.arange(2, n + 2))


def run(score, gain, merit, group, *, weight=0.0, disparity=NONE, entropy=0.0, n_samples=7,
        plrank=True, leave_one_out=True, state=1, theta=None, stop=()):  # fmt: skip
    n = len(score)
    work = np.empty((8, max(n, n_samples, 4)))
    orders = np.empty((n_samples, n), dtype=np.int32)
    gradient, facts = np.empty(n), np.zeros(3)
    theta = attention(n) if theta is None else theta
    list_gradient(
        np.asarray(score, float), np.asarray(gain, float), np.asarray(stop, float),
        frozen(np.asarray(merit, float)), np.asarray(group, np.int32), int(max(group)) + 1, theta,
        attention(n), float(weight), disparity, float(entropy), n_samples, plrank, leave_one_out,
        np.uint64(state), work, orders, gradient, facts,
    )  # fmt: skip
    return gradient, facts, orders


def log_gradient(score, order):
    """The gradient of an order's log-probability, place by place."""
    result, left = np.zeros(len(score)), list(order)
    for item in order:
        strength = np.exp(score[left] - max(score[left]))
        result[left] -= strength / strength.sum()
        result[item] += 1.0
        left.remove(item)
    return result


def coefficients(disparity, exposure, merit, group):
    """Each item's coefficient in the disparity, by finite differences of the metric's formula."""

    def value(e):
        if disparity == INDIVIDUAL:
            pairs = [
                (i, j)
                for i in range(len(e))
                for j in range(len(e))
                if i != j and merit[i] >= merit[j] > 0
            ]
            total = sum(max(0, e[i] / merit[i] - e[j] / merit[j]) for i, j in pairs)
            return total / len(pairs) if pairs else 0.0
        best = 0.0
        for g in np.unique(group):
            a, b = group == g, group != g
            if merit[a].sum() > 0 and b.any() and merit[b].sum() > 0:
                excess = e[a].sum() / merit[a].sum() - e[b].sum() / merit[b].sum()
                sign = 1 if merit[a].mean() > merit[b].mean() else -1
                best = max(best, sign * excess)
        return best

    steps = np.eye(len(exposure)) * 1e-7
    slope = [(value(exposure + s) - value(exposure - s)) / 2e-7 for s in steps]
    return value(exposure), np.array(slope)


def twin(score, gain, merit, group, orders, weight, disparity, entropy, leave_one_out):
    """REINFORCE written out."""
    n, v = len(score), attention(len(score))
    places = np.argsort(orders, axis=1)
    exposure = v[places].mean(axis=0)
    rewards = (v[places] * gain).sum(axis=1)
    utility, value = rewards.mean(), 0.0
    if disparity != NONE:
        value, signs = coefficients(disparity, exposure, merit, group)
        rewards = rewards - weight * (v[places] * signs).sum(axis=1)
    count = len(orders)
    gradient = np.zeros(n)
    for s, order in enumerate(orders):
        others = np.delete(rewards, s).mean() if leave_one_out else rewards.mean()
        gradient += (rewards[s] - others) * log_gradient(score, order) / count
    share = np.exp(score) / np.exp(score).sum()
    h = -(share * np.log(share)).sum()
    return gradient - entropy * share * (np.log(share) + h), np.array([utility, value, h])


def case(seed, n=6, n_groups=2):
    rng = np.random.default_rng(seed)
    merit = rng.integers(0, 4, n).astype(float) + rng.random(n) * (rng.random(n) < 0.5)
    group = np.concatenate([np.arange(n_groups), rng.integers(n_groups, size=n - n_groups)])
    return rng.normal(size=n), rng.random(n), merit, group


@pytest.mark.parametrize("disparity", [NONE, INDIVIDUAL, GROUP])
@pytest.mark.parametrize("leave_one_out", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_reinforce_is_its_twin(seed, leave_one_out, disparity):
    score, gain, merit, group = case(seed, n_groups=3)
    got, facts, orders = run(
        score, gain, merit, group, weight=0.7, disparity=disparity, entropy=0.3, plrank=False,
        leave_one_out=leave_one_out, state=seed,
    )  # fmt: skip
    want, numbers = twin(score, gain, merit, group, orders, 0.7, disparity, 0.3, leave_one_out)
    assert got == pytest.approx(want, abs=1e-7)
    assert facts == pytest.approx(numbers, abs=1e-9)


def exact_gradient(score, reward):
    """The gradient of the expected reward, over all orders."""
    total = np.zeros(len(score))
    policy = PlackettLuce(score)
    for order in permutations(range(len(score))):
        chance = np.exp(policy.log_prob(list(order)))
        total += chance * reward(order) * log_gradient(score, list(order))
    return total


def z_scores(estimates, exact):
    error = estimates.std(axis=0, ddof=1) / np.sqrt(len(estimates))
    return (estimates.mean(axis=0) - exact) / np.maximum(error, 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("plrank", [True, False])
def test_both_estimators_are_unbiased(plrank):
    score, gain, merit, group = case(1, n=4)
    v = attention(4)
    exact = exact_gradient(score, lambda order: sum(v[j] * gain[i] for j, i in enumerate(order)))
    estimates = np.array(
        [
            run(score, gain, merit, group, plrank=plrank, state=seed, n_samples=5)[0]
            for seed in range(3000)
        ]
    )
    assert np.abs(z_scores(estimates, exact)).max() < 4.5
    biased = np.array(
        [
            run(score, gain, merit, group, plrank=False, leave_one_out=False, state=seed,
                n_samples=5)[0]
            for seed in range(3000)
        ]
    )  # fmt: skip
    assert biased.mean(axis=0) == pytest.approx(0.8 * exact, abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("plrank", [True, False])
def test_the_disparity_with_its_signs_given_is_unbiased(plrank):
    """With the signs known the disparity is a reward like any other: attention times signs."""
    score, _, merit, group = case(5, n=4)
    merit = merit + 0.5
    v = attention(4)
    exposure = PlackettLuce(score).exposure()
    for kind in (INDIVIDUAL, GROUP):
        _, signs = coefficients(kind, exposure, merit, group)
        exact = exact_gradient(
            score, lambda order, c=signs: -sum(v[j] * c[i] for j, i in enumerate(order))
        )
        estimates = np.array(
            [
                run(score, -signs, merit, group, plrank=plrank, state=seed, n_samples=4)[0]
                for seed in range(2000)
            ]
        )
        assert np.abs(z_scores(estimates, exact)).max() < 4.5


def test_plrank_has_less_variance():
    score, gain, merit, group = case(2)
    spread = [
        np.array([run(score, gain, merit, group, plrank=p, state=s)[0] for s in range(400)])
        .var(axis=0)
        .sum()
        for p in (True, False)
    ]
    assert spread[0] < 0.5 * spread[1]


def test_err_counts_the_reader_who_stops():
    score, _, merit, group = case(3, n=5)
    stop = np.array([0.1, 0.9, 0.0, 0.5, 0.3])
    theta = 1 / np.arange(1, 6)
    _, facts, orders = run(
        score, np.zeros(5), merit, group, plrank=False, stop=stop, theta=theta, n_samples=6
    )
    want = []
    for order in orders:
        reading, value = 1.0, 0.0
        for place, item in enumerate(order):
            value += theta[place] * reading * stop[item]
            reading *= 1 - stop[item]
        want.append(value)
    assert facts[0] == pytest.approx(np.mean(want))


def test_the_facts_are_the_metrics():
    score, gain, merit, group = case(4)
    merit = merit + 0.25
    for kind, metric in ((INDIVIDUAL, individual_disparity), (GROUP, group_disparity)):
        _, facts, orders = run(score, gain, merit, group, disparity=kind, n_samples=1)
        ranked = -np.argsort(orders[0]).astype(float)
        given = (merit, ranked, group.astype(str)) if kind == GROUP else (merit, ranked)
        assert facts[1] == pytest.approx(metric(*given))


def test_huge_scores_stay_numbers():
    gradient, facts, _ = run([1e4, -1e4, 0.0], [1.0, 0.5, 0.2], [1, 1, 1], [0, 1, 0])
    assert np.isfinite(gradient).all()
    assert np.isfinite(facts).all()


def lists(seed, dtype):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 9, 30)
    offsets = frozen(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))
    n = int(offsets[-1])
    X = frozen(rng.normal(size=(n, 5)).astype(dtype))
    gain, merit, group = rng.random(n), frozen(rng.random(n)), rng.integers(2, size=n)
    rows = (gain, np.zeros(0), merit, group.astype(np.int32), 2)
    return X, offsets, rows, attention(8)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_batches_add_up_their_lists(dtype):
    X, offsets, rows, v = lists(0, dtype)
    coef = np.linspace(-1, 1, 5).astype(dtype)
    weight, facts = frozen(np.linspace(0.5, 2, 30)), np.zeros((30, 3))
    fixed = (*rows, v, v, weight, 0.5, GROUP, 0.1, 6, True, True, 3, 2)
    whole, parts = np.zeros(5, dtype), np.zeros(5, dtype)
    batch_gradient(X, offsets, np.arange(30), coef, *fixed, whole, facts)
    for query in range(30):
        batch_gradient(X, offsets, np.array([query]), coef, *fixed, parts, facts)
    assert whole == pytest.approx(parts, rel=1e-4, abs=1e-6)


def test_training_in_turn_takes_a_step_of_adam_per_list():
    X, offsets, rows, v = lists(1, np.float64)
    coef, first, second = np.zeros(5), np.zeros(5), np.zeros(5)
    facts, weight = np.zeros((30, 3)), frozen(np.ones(30))
    rest = (0.0, NONE, 0.0, 4, True, True, 7, 0)
    queries = np.arange(30)[::-1].copy()
    steps = train_in_turn(
        X, offsets, queries, coef, first, second, 0, 0.01, *rows, v, v, weight, *rest, facts
    )
    assert steps == 30
    want, m, s = np.zeros(5), np.zeros(5), np.zeros(5)
    for t, query in enumerate(queries, 1):
        pull = np.zeros(5)
        batch_gradient(X, offsets, np.array([query]), want, *rows, v, v, weight, *rest, pull, facts)
        m, s = 0.9 * m + 0.1 * pull, 0.999 * s + 0.001 * pull**2
        want = want + 0.01 * (m / (1 - 0.9**t)) / (np.sqrt(s / (1 - 0.999**t)) + 1e-8)
    assert coef == pytest.approx(want, rel=1e-6)
