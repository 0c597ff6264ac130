"""Blocks of queries measured one by one add up to the evaluation of the whole."""

import numpy as np
import pytest

from equirank import DataError, RankingData, evaluate
from equirank.core.evaluate import evaluate_blocks
from equirank.core.inference import PermutationPlan, Whole
from equirank.core.query_blocks import Measures, join_blocks, measure_block
from equirank.core.ranking import Ranking
from equirank.core.registry import parse_metrics
from equirank.datasets import make_ranking

METRICS = 'NDCG@10, ERR@5, ExposureGap(by="sex"), RND(by=("sex", "age"), step=3)'
OPTIONS = {"n_boot": 60, "n_permutations": 50, "random_state": 3}


@pytest.fixture
def ranking(monkeypatch):
    monkeypatch.setattr(RankingData.query_blocks, "__defaults__", (70,))
    rng = np.random.default_rng(5)
    sizes = rng.integers(4, 30, 23)
    n = int(sizes.sum())
    from equirank import as_ranking_data

    data = as_ranking_data(
        None,
        rng.integers(0, 4, n),
        qid=np.repeat(np.arange(23), sizes),
        score=rng.integers(0, 12, n),
        sensitive_features={"sex": rng.choice(["f", "m"], n), "age": rng.choice(["o", "y"], n)},
    )
    return data.ranking()


def blocks_of(ranking, measures, random_state=3):
    data = ranking.data
    crossed = data.cross("sex", "age").categories
    found = []
    for run in data.query_blocks():
        part = data.select(run)
        part.keep_crossing(("sex", "age"), crossed)
        whole = Whole(data.n_rows, data.n_queries, run.start)
        found.append(measure_block(measures, part.ranking(), 50, random_state, whole=whole))
    return found


@pytest.mark.parametrize("splits", [{}, {"by": "sex", "control": "age"}])
def test_blocks_add_up_to_the_whole(ranking, splits):
    whole = evaluate(ranking, METRICS, **splits, **OPTIONS)
    chosen = parse_metrics(METRICS)
    measures = Measures.of(chosen, ranking.data, splits.get("by"), splits.get("control"))
    blocks = blocks_of(ranking, measures)
    assert len(blocks) > 3
    joined = evaluate_blocks(measures, blocks, **OPTIONS)
    assert joined.to_json() == whole.to_json()
    assert joined.qids.tolist() == whole.qids.tolist()
    for a, b in zip(joined.results, whole.results, strict=True):
        np.testing.assert_array_equal(a.values.groups, b.values.groups)
        np.testing.assert_array_equal(a.null, b.null)


def test_another_seed_permutes_otherwise(ranking):
    measures = Measures.of(parse_metrics(METRICS), ranking.data, None, None)
    one, other = (join_blocks(blocks_of(ranking, measures, seed)) for seed in (3, 4))
    np.testing.assert_array_equal(one.values[2].value, other.values[2].value)
    assert not np.array_equal(one.pools[2], other.pools[2])


def test_one_list_does_not_come_in_blocks():
    data = make_ranking(n_queries=1, n_items=10, random_state=0)
    ranking = Ranking.from_scores(data, data.X[:, 0])
    measures = Measures.of(parse_metrics("NDCG@10"), data, None, None)
    block = measure_block(measures, ranking, 0, 0)
    with pytest.raises(DataError, match="at least two queries; evaluate takes a single list"):
        evaluate_blocks(measures, [block])


def test_labels_of_mixed_kinds_are_joined(ranking):
    measures = Measures.of(parse_metrics("NDCG@10"), ranking.data, None, None)
    a, b = blocks_of(ranking, measures)[:2]
    from dataclasses import replace

    named = replace(b, qids=np.array([f"q{q}" for q in b.qids]))
    assert join_blocks([a, named]).qids.tolist() == [*a.qids.tolist(), *named.qids.tolist()]


def test_the_whole_decides_how_many_permutations_a_list_gets(ranking):
    codes = ranking.data.attribute("sex").codes
    alone = PermutationPlan(ranking.data, codes, None, 1000)
    part = PermutationPlan(ranking.data, codes, None, 1000, Whole(50_000, 900, 40))
    assert (alone.pool_size, part.pool_size) == (99, 20)
    assert not part.exact
