"""Every re-ranker, on any lists: nobody twice, nobody lost, and a result that can be read."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equirank import EquirankWarning, Ranking, Reranker, as_ranking_data
from equirank.core.registry import public_classes
from equirank.rerankers import (
    BalancedSelection,
    ContinuousFairness,
    DetCons,
    DetConstSort,
    DetGreedy,
    DetRelaxed,
    EpsilonGreedy,
    ExposureOptimal,
    FAStarIR,
    ImplicitBiasFloor,
    OnlineSelection,
    PrefixConstraints,
    RooneyRule,
)

#: Lists of (score, group, list, shown): ties, empty and single-member groups, rows not shown.
ROWS = st.lists(
    st.tuples(st.integers(0, 5), st.sampled_from("abcd"), st.integers(0, 2), st.booleans()),
    min_size=1,
    max_size=24,
)


def rules(groups, k):
    """Every re-ranker with bounds that often cannot be met."""
    best = {"k": k, "on_infeasible": "best"}
    one = groups[0]
    halves = dict.fromkeys(groups[:2], 0.4)
    return [
        FAStarIR(p=0.5, protected=one, **best),
        *(kind(**best) for kind in (DetGreedy, DetCons, DetRelaxed, DetConstSort)),
        PrefixConstraints(halves, **best),
        PrefixConstraints(None, halves, **best),
        PrefixConstraints({one: [0, 1, 2]}, {groups[-1]: 0.5}, **best),
        ImplicitBiasFloor(0.6, one, **best),
        ImplicitBiasFloor(protected=one, **best),
        RooneyRule(one, count=2, **best),
        ContinuousFairness(0.7, **best),
        EpsilonGreedy(0.5, random_state=0, **best),
        OnlineSelection(lower={one: 0.5}, upper={groups[-1]: 1}, random_state=0, **best),
        OnlineSelection(lower={one: 1}, deferred=False, random_state=0, **best),
        BalancedSelection({one: 2}, **best),
    ]


#: Several weighted rankings, tested below; a base class; needs draws of merit.
APART = {"ExposureOptimal", "Guaranteed", "UncertainMerit"}


def further_rules(groups, k):
    """Re-rankers without a line in `rules`, with the parameters of the contract test."""
    listed = {type(rule).__name__ for rule in rules(groups, k)} | APART
    kinds = public_classes(Reranker, ["equirank.rerankers"])
    return [
        kind(**kind.test_params | {"on_infeasible": "best", "k": k})
        for name, kind in kinds.items()
        if name not in listed and {"a", "b"} <= set(groups)
    ]


def hold_against(before, result, rule):
    """Whether each list is a permutation of its rows, or the first of one."""
    data, k = before.data, getattr(rule, "k", None)
    for query in range(data.n_queries):
        label = data.qids[query]
        old, new = before.order(label).tolist(), result.order(label).tolist()
        assert len(set(new)) == len(new)
        assert set(new) <= set(old)
        assert len(new) == (len(old) if k is None else min(k, len(old)))
        if getattr(rule, "keeps_order", False) and not isinstance(rule, ContinuousFairness):
            codes = data.to_original(data.attribute().codes)
            for code in set(codes.tolist()):
                mine = [row for row in new if codes[row] == code]
                assert mine == [row for row in old if codes[row] == code][: len(mine)]


@pytest.mark.slow
@settings(max_examples=25)
@given(ROWS, st.sampled_from([None, 1, 3]))
def test_nobody_twice_and_nobody_lost(rows, k):
    score, groups, qid, shown = (np.array(part) for part in zip(*rows, strict=True))
    data = as_ranking_data(None, score=score + 1, qid=qid, sensitive_features=groups)
    order = Ranking.from_scores(data, ties="stable").position
    before = Ranking.from_scores(data, ties="stable")
    if not shown.all():
        kept = np.where(shown[data.rows if data.rows is not None else slice(None)], order, 0)
        counted = np.zeros_like(kept)
        for begin, end in zip(data.offsets[:-1], data.offsets[1:], strict=True):
            places = kept[begin:end]
            counted[begin:end][places > 0] = np.argsort(np.argsort(places[places > 0])) + 1
        before = Ranking.from_positions(data, data.to_original(counted))
    labels = sorted(set(groups.tolist()))
    for rule in rules(labels, k) + further_rules(labels, k):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EquirankWarning)
            result = rule(before)
        hold_against(before, result, rule)
        assert result.holds_per_query.shape == (data.n_queries,)


@pytest.mark.gate
@settings(max_examples=25)
@given(ROWS, st.sampled_from([None, 1, 3]), st.sampled_from(["parity", "treatment", "item"]))
def test_shared_exposure_shows_everybody_once_in_each_ranking(rows, k, constraint):
    score, groups, qid, shown = (np.array(part) for part in zip(*rows, strict=True))
    position = np.zeros(len(score), dtype=int)
    for query in set(qid.tolist()):
        mine = np.flatnonzero((qid == query) & shown)
        position[mine] = np.arange(1, len(mine) + 1)
    data = as_ranking_data(None, score=score + 1.0, qid=qid, sensitive_features=groups)
    before = Ranking.from_positions(data, position)
    rule = ExposureOptimal(constraint, k=k, on_infeasible="best")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquirankWarning)
        result = rule(before)
    assert result.holds_per_query.shape == (data.n_queries,)
    for _, draw in result.draws():
        hold_against(before, draw, rule)


@pytest.mark.slow
@pytest.mark.parametrize("n_groups", [1, 2, 4])
def test_every_result_can_be_read(n_groups):
    rng = np.random.default_rng(n_groups)
    groups = rng.choice(list("abcd")[:n_groups], 40)
    given_rows = {"sensitive_features": groups, "qid": rng.integers(0, 3, 40)}
    for rule in rules(sorted(set(groups.tolist())), 5):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EquirankWarning)
            result = rule.rerank(rng.random(40), **given_rows)
        for row in (0, 17, 39):
            said = result.explain(row)
            assert said.facts["row"] == row
            assert str(said)
        moves = result.moves.to_dict()
        assert len(moves["row"]) == len(set(moves["row"]))
        places = result.data.to_original(result.places)
        assert [places[row] for row in moves["row"]] == moves["to"]
        assert 0 < result.price.ndcg <= 1 + 1e-12
        assert result.price.score_loss >= -1e-12
        assert len(result.summary()) >= 3
        assert rule.guarantee
        assert rule.needs_text
        assert rule.cost


def test_several_attributes_and_lists_that_show_nobody():
    people = {"sex": list("ffmmfmfm"), "age": list("yooyyoyo")}
    data = as_ranking_data(
        None, score=range(8, 0, -1), qid=list("xxxxyyzz"), sensitive_features=people
    )
    before = Ranking.from_positions(data, [1, 2, 3, 0, 1, 2, 0, 0])
    bounds = {"sex": {"m": [0, 1]}, "age": {"y": [0, 0, 1]}}
    for rule in (
        PrefixConstraints(bounds),
        BalancedSelection({"sex": {"m": 1}, "age": {"y": 1}}),
    ):
        result = rule(before)
        assert sorted(result.order("x").tolist()) == [0, 1, 2]
        assert sorted(result.order("y").tolist()) == [4, 5]
        assert result.order("z").tolist() == []
        assert result.gap.tolist() == [0.0, 0.0, 0.0]
        assert result.holds
