"""Lists under several conditions on uncertain groups, against all permutations."""

import itertools

import numpy as np
import pytest

from equirank import DataError
from equirank.kernels.label_chances import EXPECTED, JOINT, PREFIX, Minimums, reached, worth
from equirank.rerankers import likely_lists
from equirank.rerankers.likely_lists import Conditions, arrange_list

N, K = 6, 3


def case(rng, kind, mode):
    """Return values and conditions on two of three groups, or a group from both sides."""
    value = np.sort(rng.normal(size=N))[::-1].copy()
    if kind == "two groups":
        table = rng.dirichlet(np.full(3, 0.5), size=N)
        sides = ((0, False), (1, False))
        floors = np.sort(rng.integers(0, 2, size=(K, 2)), axis=0)
    else:
        p = rng.beta(0.5, 0.5, size=N)
        table, sides = np.stack([p, 1 - p], axis=1), ((0, False), (0, True))
        floors = np.array([[0, 0], [0, 1], [1, 1]])
    level = 1.0 if mode == EXPECTED else 0.75
    start, lengths = np.zeros(1, dtype=int), np.array([K])
    return value, Conditions(table, sides, floors, start, lengths, mode, level, ("a", "b", "c"))


@pytest.mark.slow
@pytest.mark.parametrize("mode", [EXPECTED, PREFIX, JOINT])
@pytest.mark.parametrize("kind", ["two groups", "both sides"])
def test_a_list_is_found_wherever_there_is_one(kind, mode):
    rng = np.random.default_rng(0)
    found, losses = 0, []
    for _ in range(25):
        value, conditions = case(rng, kind, mode)
        share, floors = conditions.of_list(0, np.arange(N))
        need = Minimums(share, floors, conditions.levels(K), mode)
        good = [
            worth(np.array(order), value)
            for order in itertools.permutations(range(N), K)
            if reached(np.array(order), need)
        ]
        one = arrange_list(value, share, floors, conditions, closest=False, time_limit=5.0)
        assert (one.missed is None) == bool(good)
        if good:
            found += 1
            assert reached(one.order, need)
            assert one.score >= one.greedy_score - 1e-12
            span = max(good) - worth(np.arange(N)[::-1][:K], value)
            losses.append((max(good) - one.score) / span if span > 0 else 0.0)
            if mode == EXPECTED:
                assert losses[-1] < 1e-6
        else:
            assert one.proven or mode != EXPECTED  # the integer program tries all lists
            assert (one.chance, one.least, one.score, one.greedy_score) == (0.0, 0.0, 0.0, 0.0)
            closest = arrange_list(value, share, floors, conditions, closest=True, time_limit=5.0)
            assert len(set(closest.order.tolist())) == K
            assert closest.missed is not None
            assert "group" in conditions.reason(closest)
    assert found > 5
    assert np.mean(losses) < 0.05


def test_a_table_of_probabilities_may_have_the_largest_size_and_no_more(monkeypatch):
    value, conditions = case(np.random.default_rng(1), "both sides", JOINT)
    share, floors = conditions.of_list(0, np.arange(N))
    size = K * 2 * 2  # prefixes, counts 0 and 1, sides
    monkeypatch.setattr(likely_lists, "MOST_COUNTS", size)
    found = arrange_list(value, share, floors, conditions, closest=True, time_limit=5.0)
    assert len(found.order) == K
    monkeypatch.setattr(likely_lists, "MOST_COUNTS", size - 1)
    with pytest.raises(DataError, match="the table of probabilities would be too large"):
        arrange_list(value, share, floors, conditions, closest=True, time_limit=5.0)
