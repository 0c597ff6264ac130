"""Target lists against brute force over all lists."""

from itertools import combinations

import numpy as np
import pytest

from equirank import as_ranking_data
from equirank.metrics import rkl, rnd, rrd
from equirank.rankers.lambdamart.fairness_terms import fairness_part

METRICS = {"rnd": rnd, "rkl": rkl, "rrd": rrd}


def random_list(rng, n_groups=2, longest=9, grades=3):
    n = int(rng.integers(2, longest + 1))
    group = rng.integers(0, n_groups, size=n)
    group[:n_groups] = np.arange(min(n, n_groups))
    y = rng.integers(0, grades, size=n).astype(float)
    return as_ranking_data(None, y, qid=np.zeros(n), sensitive_features=group.astype(str))


def target_counts(data, strategy, **options):
    """How many of group 0 the target list has before each cut, read off its blocks."""
    part = fairness_part(data, strategy=strategy, **options)
    size = int((part.bucket == 0).sum())
    block = part.target_block[:size]
    return np.array([(block <= t).sum() for t in range(int(part.n_cuts[0]))])


def dcg(y):
    return float(((2**y - 1) / np.log2(2 + np.arange(len(y)))).sum())


def all_lists(y, codes):
    """Every sequence of groups, each group's items by relevance: (group by place, dcg)."""
    n, size = len(y), int((codes == 0).sum())
    best = {g: np.sort(y[codes == g])[::-1] for g in (0, 1)}
    for places in combinations(range(n), size):
        row = np.ones(n, dtype=int)
        row[list(places)] = 0
        filled = np.empty(n)
        for g in (0, 1):
            filled[row == g] = best[g]
        yield row, filled


def unfairness(metric, row, step, cutoff):
    score = -np.arange(len(row), dtype=float)
    options = {} if metric == "rkl" else {"protected": "0"}
    labels = np.where(row == 0, "0", "1")
    return METRICS[metric](score, labels, step=step, k=cutoff, undefined="zero", **options)


def gain_of_counts(y, codes, counts, cuts):
    """The largest DCG of a list with these counts of group 0 before the cuts."""
    best = {g: np.sort(y[codes == g])[::-1] for g in (0, 1)}
    edges = [0, *cuts, len(y)]
    had, filled = [0, 0], []
    ends = [*counts, int((codes == 0).sum())]
    for begin, end, count in zip(edges[:-1], edges[1:], ends, strict=True):
        zero = best[0][had[0] : count]
        one = best[1][had[1] : had[1] + end - begin - len(zero)]
        had = [count, had[1] + len(one)]
        filled += sorted([*zero, *one], reverse=True)
    return dcg(np.array(filled))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:protected of RRD")
@pytest.mark.filterwarnings("ignore:RRD")
@pytest.mark.parametrize("metric", ["rnd", "rkl", "rrd"])
@pytest.mark.parametrize("seed", range(25))
def test_fair_first_is_the_fairest_list_and_the_most_relevant_of_those(metric, seed):
    rng = np.random.default_rng(seed)
    data = random_list(rng)
    step, cutoff = int(rng.integers(1, 4)), [None, 5][int(rng.integers(2))]
    y, codes = np.asarray(data.y), data.attribute().codes
    options = {"fairness": metric, "step": step, "cutoff": cutoff, "protected": "0"}
    counts = target_counts(data, "fair_first", **options)
    if len(counts) == 0 or len(np.unique(codes)) < 2:
        return
    cuts = (2 if step == 1 else step) + step * np.arange(len(counts))
    lists = [
        (unfairness(metric, row, step, cutoff), dcg(filled)) for row, filled in all_lists(y, codes)
    ]
    least = min(value for value, _ in lists)
    most = max(gain for value, gain in lists if value <= least + 1e-12)
    found = next(
        value
        for (value, _), (row, _) in zip(lists, all_lists(y, codes), strict=True)
        if all((row[:cut] == 0).sum() == count for cut, count in zip(cuts, counts, strict=True))
    )
    assert found == pytest.approx(least, abs=1e-12)
    assert gain_of_counts(y, codes, counts, cuts) == pytest.approx(most, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40))
def test_relevance_first_is_the_fairest_of_the_most_relevant_lists(seed):
    rng = np.random.default_rng(100 + seed)
    data = random_list(rng, grades=int(rng.integers(1, 4)))
    step, cutoff = int(rng.integers(1, 4)), [None, 6][int(rng.integers(2))]
    y, codes = np.asarray(data.y), data.attribute().codes
    counts = target_counts(data, "relevance_first", step=step, cutoff=cutoff)
    if len(counts) == 0 or len(np.unique(codes)) < 2:
        return
    cuts = (2 if step == 1 else step) + step * np.arange(len(counts))
    most = dcg(np.sort(y)[::-1])
    allowed = [
        row for row, filled in all_lists(y, codes) if dcg(filled) == pytest.approx(most, abs=1e-12)
    ]
    least = min(unfairness("rnd", row, step, cutoff) for row in allowed)
    mine = [
        row
        for row in allowed
        if all((row[:cut] == 0).sum() == count for cut, count in zip(cuts, counts, strict=True))
    ]
    assert mine, "the target counts must belong to a list of largest NDCG"
    assert unfairness("rnd", mine[0], step, cutoff) == pytest.approx(least, abs=1e-12)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("strategy", ["fair_first", "relevance_first"])
def test_targets_of_three_groups_are_feasible_and_near_their_shares(seed, strategy):
    rng = np.random.default_rng(seed)
    data = random_list(rng, n_groups=3, longest=30)
    part = fairness_part(data, strategy=strategy, step=3)
    n, codes, y = data.n_rows, data.attribute().codes, np.asarray(data.y)
    order = np.lexsort((-y, codes))
    blocks = part.target_block
    for t in range(int(part.n_cuts[0])):
        cut = 3 * (t + 1)
        counts = np.array([(blocks[codes[order] == g] <= t).sum() for g in range(3)])
        assert counts.sum() == cut
        share = np.bincount(codes, minlength=3) / n * cut
        if strategy == "fair_first":
            assert (np.abs(counts - share) < 2.0).all()
        else:
            chosen = np.sort(y[order][blocks <= t])[::-1]
            assert np.array_equal(chosen, np.sort(y)[::-1][:cut])


def test_a_half_is_rounded_to_the_side_with_more_relevance():
    # p k = 0.5 at the cut of one pair: both counts are equally fair, the relevant one decides.
    y, group = [1.0, 0.0, 0.0, 0.0], ["a", "b", "b", "b"]
    data = as_ranking_data(None, y, qid=[0] * 4, sensitive_features=group)
    assert target_counts(data, "fair_first", step=2).tolist() == [1, 1]
    data = as_ranking_data(None, [0.0, 1.0, 1.0, 0.0], qid=[0] * 4, sensitive_features=group)
    assert target_counts(data, "fair_first", step=2).tolist() == [0, 1]
