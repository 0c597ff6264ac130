"""Drawn pairs against lists of all pairs."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from equirank.rankers.neural.batches import Rows
from equirank.rankers.neural.pair_constraints import DrawnPairs, PairSet, PairUnion, group_pairs


def sample(seed, n_rows=14, n_lists=3, n_groups=3):
    rng = np.random.default_rng(seed)
    query = np.sort(rng.integers(0, n_lists, n_rows))
    return query, rng.integers(0, 3, n_rows) / 2.0, rng.integers(0, n_groups, n_rows)


def every_pair(query, y, code, groups):
    return {
        (i, j)
        for i in range(len(y))
        for j in range(len(y))
        if query[i] == query[j] and y[i] > y[j] and (code[i], code[j]) == groups
    }


@given(seed=st.integers(0, 10_000))
@settings(max_examples=30)
def test_sets_hold_every_pair_once(seed):
    query, y, code = sample(seed)
    weight = np.array([1.0, 2.0, 0.5])
    found = group_pairs(query, y, weight, code)
    for g in range(3):
        for h in range(3):
            wanted = every_pair(query, y, code, (g, h))
            if (g, h) not in found:
                assert not wanted
                continue
            part = found[g, h]
            pairs = part.listed()
            assert part.n_pairs == pairs.shape[1] == len(wanted)
            assert set(map(tuple, pairs.T.tolist())) == wanted
            np.testing.assert_array_equal(part.listed_weights(), weight[query[pairs[0]]])
            assert part.mass == pytest.approx(sum(weight[query[i]] for i, _ in wanted))


def test_pairs_are_drawn_by_the_weight_of_their_list():
    query, y, code = sample(5, n_groups=1)
    weight, n_draws = np.array([1.0, 3.0, 0.0]), 60_000
    (part,) = group_pairs(query, y, weight, code).values()
    listed, share = part.listed(), part.listed_weights() / part.mass
    for drawn in (part.draw(n_draws, np.random.default_rng(0)),
                  PairUnion([part]).draw(n_draws, np.random.default_rng(1))):  # fmt: skip
        number = drawn[0] * 100 + drawn[1]
        counts = [(number == i * 100 + j).mean() for i, j in listed.T]
        assert sum(counts) == pytest.approx(1.0)
        np.testing.assert_allclose(counts, share, atol=5 * np.sqrt(share.max() / n_draws))


def test_a_union_draws_from_each_set_by_its_mass():
    query, y, code = sample(2)
    sets = group_pairs(query, y, np.ones(3), code)
    union = PairUnion(list(sets.values()))
    drawn = union.draw(40_000, np.random.default_rng(0))
    for (g, h), part in sets.items():
        share = ((code[drawn[0]] == g) & (code[drawn[1]] == h)).mean()
        assert share == pytest.approx(part.mass / union.mass, abs=0.015)
    assert (query[drawn[0]] == query[drawn[1]]).all()
    assert (y[drawn[0]] > y[drawn[1]]).all()


def test_lists_of_weight_nothing_hold_no_pairs():
    assert group_pairs(np.zeros(2, int), np.array([1.0, 0.0]), np.zeros(1), np.zeros(2, int)) == {}


def test_batches_hold_first_and_further_pairs():
    query, y, code = sample(2, n_rows=30)
    sets = group_pairs(query, y, np.ones(3), code)
    rows = Rows({"x": np.stack([query, y], axis=1), "code": code}, torch.device("cpu"))
    whole, two = PairUnion(list(sets.values())), [sets[0, 1], sets[1, 0]]
    batches = DrawnPairs(rows, whole, two, 3, 8, seed=0)
    found = list(batches.epoch(0))
    assert len(found) == batches.n_steps == 4
    for batch in found:
        x, codes = batch["x"].numpy(), batch["code"].numpy()
        assert x.shape == (2, 8 + 3 + 3, 2)
        assert (x[0, :, 0] == x[1, :, 0]).all()
        assert (x[0, :, 1] > x[1, :, 1]).all()
        np.testing.assert_array_equal(codes[:, 8:], [[0, 0, 0, 1, 1, 1], [1, 1, 1, 0, 0, 0]])
    again = next(iter(batches.epoch(0)))
    assert torch.equal(again["x"], found[0]["x"])
    assert not torch.equal(next(iter(batches.epoch(1)))["x"], found[0]["x"])


def test_without_pairs_there_are_no_steps():
    rows = Rows({"x": np.zeros((2, 1))}, torch.device("cpu"))
    none = PairSet(np.zeros(2, int), np.zeros(2, int), np.ones(1), np.arange(2), np.arange(2))
    for first in (none, PairUnion([])):
        batches = DrawnPairs(rows, first, [], 1, 1, 0)
        assert batches.n_steps == 0
        assert list(batches.epoch(0)) == []
