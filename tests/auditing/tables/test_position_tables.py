"""Tables of prefix shares, scores and strips of positions."""

import numpy as np
import pytest
from scipy import stats
from thorough import sized

from equirank import as_ranking_data, audit
from equirank.auditing.tables.position_tables import binomial_minimum, prefixes
from equirank.datasets import load_hiring
from equirank.metrics import fa_star_ir_test


@pytest.mark.parametrize("longest", [1, 2, 59, 60, 61, 100, 997, 1_000_000])
def test_prefixes(longest):
    found = prefixes(longest)
    assert found[0] == 1
    assert found[-1] == longest
    assert found == sorted(set(found))
    assert len(found) <= 60
    if longest > 60:
        assert len(found) > 40


def test_binomial_minimum_against_scipy():
    n, p = np.array([1, 5, 40, 1000, 500_000]), np.array([0.5, 0.1, 0.7, 0.02, 0.44])
    for alpha in (0.1, 0.002):
        expected = stats.binom.ppf(alpha, n, p)  # the smallest m with F(m) >= alpha
        np.testing.assert_array_equal(binomial_minimum(n, p, alpha), expected)


def test_shares_against_a_loop():
    rng = np.random.default_rng(0)
    qid = np.repeat(range(5), [4, 7, 7, 9, 12])
    score, group = rng.integers(0, 6, 39), rng.choice(list("ab"), 39)
    table = audit(score=score, query=qid, sensitive=group, n_boot=0, n_permutations=0).tables[
        "prefix_shares"
    ]
    data = as_ranking_data(qid=qid, score=score, sensitive_features=group)
    ranking = data.ranking()
    for row in table:
        shares, pools = [], []
        for begin, end in zip(data.offsets[:-1], data.offsets[1:], strict=True):
            if end - begin < row["k"]:
                continue
            first, last = ranking.position[begin:end], ranking.last[begin:end]
            chance = np.clip((row["k"] - first + 1) / (last - first + 1), 0, 1)
            mine = np.array(list("ab"))[data.attribute().codes[begin:end]] == row["group"]
            shares.append(chance[mine].sum() / row["k"])
            pools.append(mine.mean())
        assert row["n_queries"] == len(shares)
        assert row["share"] == pytest.approx(np.mean(shares))
        assert row["pool_share"] == pytest.approx(np.mean(pools))
    assert table["k"].max() == 7  # the middle list


def test_band_of_one_list_is_that_of_the_test():
    rng = np.random.default_rng(2)
    score, group = rng.random(80), rng.choice(list("ab"), 80, p=[0.3, 0.7])
    table = audit(score=score, sensitive=group, n_boot=0, n_permutations=0).tables["prefix_shares"]
    result = fa_star_ir_test(score, group, protected="a", alpha=0.1)
    mine = [row for row in table if row["group"] == "a"]
    assert {row["band"] for row in mine} == {"FA*IR"}
    for row in mine:
        assert row["band_low"] == pytest.approx(result.minimum[row["k"] - 1] / row["k"])
        assert row["share"] == pytest.approx(result.counts[row["k"] - 1] / row["k"])
    other = fa_star_ir_test(score, group, protected="b", alpha=0.1)
    assert mine[-1]["band_high"] == pytest.approx(1 - other.minimum[-1] / 80)


@pytest.mark.slow
def test_chance_leaves_the_band_of_several_lists_seldom():
    outside = 0
    seeds = sized(15, 40)
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        table = audit(
            score=rng.random(400),
            query=np.repeat(range(20), 20),
            sensitive=rng.choice(list("ab"), 400),
            n_boot=0,
            n_permutations=0,
        ).tables["prefix_shares"]
        assert (table["band"] == "binomial").all()
        beyond = (table["share"] < table["band_low"]) | (table["share"] > table["band_high"])
        outside += beyond.any()
    assert outside <= 0.2 * seeds  # expected at most, both sides together


def test_one_group_has_no_band():
    table = audit(score=[2, 1], sensitive=["a", "a"], n_boot=0, n_permutations=0).tables[
        "prefix_shares"
    ]
    assert np.isnan(table["band_low"]).all()
    assert (table["share"] == 1).all()


def test_histograms_sum_to_one_over_shared_bins(hiring):
    table = hiring.tables["scores"]
    for attribute in ("sex", "age_group", "sex x age_group"):
        groups = {row["group"] for row in table if row["attribute"] == attribute}
        for group in groups:
            mine = [r for r in table if (r["attribute"], r["group"]) == (attribute, group)]
            assert len(mine) == 40
            assert abs(sum(row["share"] for row in mine) - 1) < 1e-9
            assert [row["left"] for row in mine] == sorted(set(table["left"]))


@pytest.mark.slow
def test_outliers_fall_into_the_last_bins_and_equal_scores_into_one():
    score = np.concatenate([np.linspace(0, 1, 5000), [1e9]])
    quick = {"n_boot": 0, "n_permutations": 0}
    table = audit(score=score, sensitive=np.tile(["a", "b", "c"], 1667), **quick).tables["scores"]
    assert table["right"].max() < 2
    same = audit(score=[1, 1, 1], sensitive=list("aab"), **quick).tables["scores"]
    assert same["share"].tolist() == [1, 1]


def test_no_scores_no_histogram():
    quick = {"n_boot": 0, "n_permutations": 0}
    assert len(audit(position=[1, 2], sensitive=list("ab"), **quick).tables["scores"]) == 0


def test_the_strip_shows_places_of_the_focus(hiring):
    data = load_hiring()
    ranking = data.ranking()
    strip = [row for row in hiring.tables["strip"] if row["attribute"] == "sex"]
    queries = list(dict.fromkeys(row["query"] for row in strip))
    assert len(queries) == 12
    assert {row["group"] for row in strip} == {"female"}
    for query in queries:
        at = data.query_index(query)
        rows = slice(*data.offsets[at : at + 2])
        mine = data.sensitive["sex"].codes[rows] == 0
        places = (ranking.position[rows] + ranking.last[rows])[mine] / 2
        shown = [row["position"] for row in strip if row["query"] == query]
        assert sorted(places.tolist()) == sorted(shown)
        assert {row["length"] for row in strip if row["query"] == query} == {mine.size}


def test_long_strips_are_thinned():
    groups = np.tile(["a", "b"], 4000)
    table = audit(score=np.arange(8000.0), sensitive=groups, n_boot=0, n_permutations=0).tables[
        "strip"
    ]
    assert len(table) == 1500
    assert table["position"].min() <= 2
    assert table["position"].max() >= 7999
