"""Pairs: within lists, of unequal relevance, even among partners, never listed."""

import tracemalloc
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from equirank.rankers.neural.batches import ListedPairs, Rows, SampledPairs


def sampled(y, sizes, weight=None, batch_size=4):
    y = np.asarray(y, dtype=float)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    number = np.arange(len(y))
    rows = Rows({"x": number[:, None].astype(np.float32)}, torch.device("cpu"))
    weight = np.ones(len(sizes)) if weight is None else np.asarray(weight)
    return SampledPairs(rows, y, offsets, weight, batch_size, 0)


def drawn(made, number=0):
    """Return the pairs of an epoch as arrays: row numbers, targets, weights."""
    parts = made.pairs(*(made.rows.tensor(values) for values in made.draw(number)))
    return tuple(part.numpy() for part in parts)


def test_pairs_lie_within_lists_and_differ_in_relevance():
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 9, size=30)
    y = rng.integers(0, 4, size=sizes.sum())
    query = np.repeat(np.arange(30), sizes)
    made = sampled(y, sizes, np.arange(1.0, 31.0))
    pairs, target, weight = drawn(made)
    assert (query[pairs[0]] == query[pairs[1]]).all()
    assert (y[pairs[0]] != y[pairs[1]]).all()
    np.testing.assert_allclose(target, (y[pairs[0]] - y[pairs[1]]) / (y.max() - y.min()), rtol=1e-6)
    assert (weight == query[pairs[0]] + 1).all()
    can = [any(y[other] != y[row] for other in np.flatnonzero(query == query[row]))
           for row in range(len(y))]  # fmt: skip
    assert made.n_pairs == sum(can) == pairs.shape[1]


def test_large_relevances_are_told_apart():
    made = sampled([1e9, 1e9 + 1, 1e9 + 2], [3], [2.0])
    _, target, weight = drawn(made)
    assert set(np.abs(target)) <= {0.5, 1.0}
    assert weight.tolist() == [2.0, 2.0, 2.0]


@pytest.mark.slow
def test_every_row_meets_every_partner_about_equally_often():
    y = [2, 0, 1, 1, 0]
    made = sampled(y, [5])
    met = Counter()
    for epoch in range(3000):
        pairs, _, _ = drawn(made, epoch)
        met.update(map(tuple, pairs.T.tolist()))
    # row i chooses j with 1 / (rows unlike i), either may choose, and half of the pairs are turned
    unlike = [sum(a != b for b in y) for a in y]
    for i in range(5):
        for j in range(5):
            expected = 0.5 * (1 / unlike[i] + 1 / unlike[j]) if y[i] != y[j] else 0.0
            assert met[i, j] / 3000 == pytest.approx(expected, abs=0.04)


def test_batches_hold_both_sides():
    made = sampled([0, 1, 2, 0, 1, 5], [3, 3], batch_size=4)
    batches = list(made.epoch(0))
    assert len(batches) == made.n_steps == 2
    assert batches[0]["x"].shape == (2, 4, 1)
    assert sum(len(batch["target"]) for batch in batches) == 6
    assert all((batch["target"].abs() <= 1).all() for batch in batches)


def test_lists_without_a_difference_give_no_pairs():
    made = sampled([1, 1, 1], [2, 1])
    assert made.n_pairs == made.n_steps == 0
    assert list(made.epoch(0)) == []


def test_memory_does_not_grow_with_the_number_of_pairs():
    y = np.random.default_rng(0).integers(0, 5, size=20_000)
    made = sampled(y, [20_000])  # 200 million pairs
    tracemalloc.start()
    drawn(made)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 200 * len(y)


def test_listed_pairs_come_back_turned_but_true():
    rows = Rows({"x": np.arange(4.0)[:, None]}, torch.device("cpu"))
    pairs = np.array([[0, 1, 2, 0], [1, 2, 3, 3]])
    target, weight = np.array([1.0, -1.0, 0.0, 1.0]), np.array([1.0, 2.0, 3.0, 4.0])
    made = ListedPairs(rows, pairs, target, weight, 3, 0)
    known = {(a, b): (t, w) for a, b, t, w in zip(*pairs, target, weight, strict=True)}
    for epoch in range(5):
        seen = 0
        for batch in made.epoch(epoch):
            for a, b, t, w in zip(
                *batch["x"][..., 0].tolist(), batch["target"].tolist(), batch["weight"].tolist(),
                strict=True,
            ):  # fmt: skip
                expected = known.get((a, b))
                if expected is None:
                    expected = (-known[b, a][0], known[b, a][1])
                assert (t, w) == expected
                seen += 1
        assert seen == 4
    assert np.array_equal(pairs, [[0, 1, 2, 0], [1, 2, 3, 3]])


@pytest.mark.parametrize("listed", [False, True])
def test_a_thread_that_draws_ahead_changes_nothing(listed):
    """As on a GPU; epochs may come in any order, as after a resumed run."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, size=40).astype(float)
    rows = Rows({"x": np.arange(40.0)[:, None]}, torch.device("cpu"))
    pairs = rng.permutation(40).reshape(2, 20)

    def made():
        if listed:
            return ListedPairs(rows, pairs, np.ones(20), np.arange(20.0), 6, 7)
        return SampledPairs(rows, y, np.array([0, 15, 40]), np.array([1.0, 3.0]), 6, 7)

    plain, threaded = made(), made()
    threaded.ahead = ThreadPoolExecutor(1)
    for number in (0, 1, 2, 5, 6, 1):
        for one, other in zip(plain.epoch(number), threaded.epoch(number), strict=True):
            assert one.keys() == other.keys()
            assert all(torch.equal(one[name], other[name]) for name in one)
