"""Lists under minimums of uncertain groups against enumerated labels and permutations."""

import itertools

import numpy as np
import pytest

from equirank.kernels.label_chances import (
    EXPECTED,
    JOINT,
    PREFIX,
    Minimums,
    blend,
    chances,
    exchange,
    greedy_list,
    reached,
    worth,
)


def enumerated(share, floors, mode):
    """Return what each prefix reaches, by adding up all labels."""
    k = len(floors)
    if mode == EXPECTED:
        return (np.cumsum(share[:k]) >= floors - 1e-9).astype(float)
    found = np.zeros(k)
    for labels in itertools.product((0, 1), repeat=k):
        z = np.array(labels)
        p = np.where(z == 1, share[:k], 1 - share[:k]).prod()
        good = np.cumsum(z) >= floors
        found += p * (np.logical_and.accumulate(good) if mode == JOINT else good)
    return found


def random_case(seed, n=7, k=4):
    rng = np.random.default_rng(seed)
    value = np.sort(rng.normal(size=n))[::-1].copy()
    share = rng.random(n).round(2)
    share[rng.random(n) < 0.2] = rng.integers(0, 2)
    floors = np.sort(rng.integers(0, 3, size=k))
    return value, share, np.minimum(floors, np.arange(1, k + 1))


@pytest.mark.parametrize("mode", [EXPECTED, PREFIX, JOINT])
def test_chances_equal_enumerated_labels(mode):
    for seed in range(40):
        _, share, floors = random_case(seed, k=6)
        np.testing.assert_allclose(
            chances(share, floors, mode), enumerated(share, floors, mode), atol=1e-12
        )


def holding(share, floors, level, mode):
    """Return all lists that reach the level."""
    good = {}
    for order in itertools.permutations(range(len(share)), len(floors)):
        found = enumerated(share[list(order)], floors, mode)
        if (found >= level - 1e-12).all():
            good[order] = found
    return good


def greedy_twin(share, floors, good):
    """Return the list whose items are, one by one, the best that begin a list that holds."""
    done = ()
    for at in range(len(floors)):
        done += (min(order[at] for order in good if order[:at] == done),)
    return list(done)


@pytest.mark.slow
@pytest.mark.parametrize("mode", [EXPECTED, PREFIX, JOINT])
def test_feasibility_greedy_and_improvement_against_all_permutations(mode):
    found, refused, ratios = 0, 0, []
    for seed in range(25):
        value, share, floors = random_case(seed, n=6, k=3)
        level = 1.0 if mode == EXPECTED else 0.7
        good = holding(share, floors, level, mode)
        columns, minimums = share[:, None], floors[:, None]
        need = Minimums(columns, minimums, np.full((3, 1), level), mode)
        finish = np.argsort(-share, kind="stable")
        assert reached(finish[:3], need) == bool(good)
        order, weight = blend(value, share, need)
        assert np.isnan(weight) == (not good)
        if not good:
            refused += 1
            continue
        found += 1
        greedy = greedy_list(finish, share, need)
        assert greedy.tolist() == greedy_twin(share, floors, good)
        assert tuple(order.tolist()) in good
        before = worth(order, value)
        exchange(order, value, need)
        assert tuple(order.tolist()) in good
        assert worth(order, value) >= before
        best = max(worth(np.array(one), value) for one in good)
        top = worth(np.arange(3), value) - worth(np.arange(5, 2, -1), value)
        ratios.append((best - worth(order, value)) / top)
    assert found > 8
    assert refused > 0
    assert np.mean(ratios) < 0.02


def test_a_certain_label_counts_fully():
    share = np.array([0.0, 1.0, 1.0, 0.0])
    np.testing.assert_array_equal(chances(share, np.array([0, 1, 2, 2]), JOINT), np.ones(4))
    np.testing.assert_array_equal(chances(share, np.array([1, 1, 1, 1]), JOINT), np.zeros(4))
    np.testing.assert_array_equal(chances(share, np.array([1, 1, 2, 2]), PREFIX), [0, 1, 1, 1])


def test_several_conditions_each_reach_their_level():
    rng = np.random.default_rng(3)
    value = np.sort(rng.normal(size=8))[::-1].copy()
    table = rng.dirichlet(np.ones(3), size=8)
    floors = np.array([[0, 0], [0, 1], [1, 1], [1, 1]])
    level = np.full((4, 2), 0.6)
    share = np.ascontiguousarray(table[:, :2])
    order, weight = blend(value, share.sum(axis=1), Minimums(share, floors, level, JOINT))
    assert not np.isnan(weight)
    for g in range(2):
        joint = enumerated(table[order, g], floors[:, g], JOINT)[-1]
        assert joint >= 0.6 - 1e-12
