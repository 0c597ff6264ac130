"""Metric: a frozen value that is its own string; what it needs; its sign as a scorer."""

import pickle
from dataclasses import FrozenInstanceError, dataclass
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_ranker import RidgeRanker

import equirank.metrics as room
from equirank import DataError, EquirankWarning, Metric, Ranking, as_ranking_data
from equirank.core.metric import Values, score_arrays
from equirank.core.params import Integer, Number
from equirank.core.registry import metric_names, parse_metric
from equirank.metrics import AUC, DCG, NDCG, RND, AverageRank, ExposureGap


class First(Metric):
    """The relevance of the first row,
    whatever it is.

    More words.
    """

    needs: ClassVar = frozenset({"relevance"})

    def values(self, slots):
        y = slots.y[slots.offsets[:-1]]
        return Values(np.where(y > 1, np.nan, y))


class Dear(First):
    """Needs costs and features too."""

    needs: ClassVar = frozenset({"relevance", "cost", "features"})
    direction: ClassVar = "lower"


def ranked(**given):
    base = {"y": [1, 0, 2, 0], "qid": [1, 2, 3, 3], "score": [4, 3, 2, 1]}
    return as_ranking_data(None, **(base | given)).ranking()


# a value


def test_strings():
    assert repr(NDCG @ 10) == str(NDCG @ 10) == (NDCG @ 10).name == "NDCG@10"
    assert repr(NDCG()) == "NDCG"
    assert repr(RND(step=5) @ 50) == "RND(step=5)@50"
    assert repr(RND(step=5, protected="f")) == 'RND(protected="f", step=5)'
    assert repr(RND(by=["sex", "race"])) == 'RND(by=("sex", "race"))'
    assert repr(RND(by=("sex",))) == 'RND(by=("sex",))'
    assert repr(RND(protected=np.int64(3))) == "RND(protected=3)"
    assert repr(NDCG(k=np.int64(3))) == "NDCG@3"


def test_equal_metrics_are_one_key():
    assert NDCG(k=10) == NDCG @ 10
    assert len({NDCG @ 10, NDCG(k=10), NDCG @ 5, NDCG()}) == 3
    assert {NDCG @ 10: "x"}[parse_metric("NDCG@10")] == "x"
    assert NDCG() != DCG()
    assert hash(RND(by=["a", "b"])) == hash(RND(by=("a", "b")))
    assert hash(DCG(discount=np.array([1.0, 0.5]))) == hash(DCG(discount=[1.0, 0.5]))


def test_a_class_and_an_object_take_a_cutoff():
    assert NDCG @ 10 == NDCG() @ 10 == (NDCG @ 3) @ 10
    assert (RND(step=5) @ 50).step == 5
    with pytest.raises(DataError, match="k of NDCG must be"):
        NDCG @ 0
    with pytest.raises(DataError, match="k of AUC must be None"):
        AUC @ 10


def test_a_metric_is_frozen_and_pickles():
    metric = RND(step=5) @ 50
    with pytest.raises(FrozenInstanceError):
        metric.k = 3
    assert pickle.loads(pickle.dumps(metric)) == metric
    with pytest.raises(TypeError):
        NDCG(10)


@pytest.mark.parametrize("name", metric_names())
def test_every_metric_goes_through_its_string(name):
    kind = getattr(room, name)
    metrics = [kind(), kind(undefined="one")]
    if kind.takes_k:
        metrics += [kind @ 7, kind(undefined="zero") @ 1]
    if "by" in kind.options():
        metrics += [kind(by="sex", protected='say "hi"'), kind(by=("a", "b"), protected=0.5)]
    for metric in metrics:
        assert parse_metric(repr(metric)) == metric
        assert repr(parse_metric(repr(metric))) == repr(metric)
        assert hash(parse_metric(repr(metric))) == hash(metric)


@pytest.mark.slow
@settings(max_examples=40)
@given(st.one_of(st.text(), st.integers(), st.booleans(), st.floats(allow_nan=False)))
def test_any_group_name_goes_through_the_string(group):
    try:
        metric = RND(protected=group)
    except DataError:
        return
    assert parse_metric(repr(metric)) == metric


@pytest.mark.slow
@given(st.lists(st.text(), min_size=1, max_size=3))
def test_any_attribute_names_go_through_the_string(names):
    metric = RND(by=tuple(names))
    assert parse_metric(repr(metric)) == metric


@pytest.mark.slow
@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=4))
def test_any_discount_goes_through_the_string(weights):
    metric = DCG(discount=weights)
    assert parse_metric(repr(metric)) == metric


@pytest.mark.parametrize("by", [3, 0.5, True, (), ("a", 1), None])
def test_by_is_a_name_or_names(by):
    if by is None:
        assert RND(by=by).by is None
        return
    with pytest.raises(DataError, match="by of RND"):
        RND(by=by)


@pytest.mark.parametrize("name", metric_names())
def test_every_metric_states_what_it_is(name):
    kind = getattr(room, name)
    assert kind.direction in ("higher", "lower")
    assert kind.needs
    assert kind.needs <= {"relevance", "sensitive", "cost", "features", "score"}
    low, high = kind().bounds
    assert low < high
    assert kind.summary().endswith(".")
    assert "\n" not in kind.summary()
    assert "undefined" in kind.options()
    assert ("k" in kind.options()) == kind.takes_k


def test_the_summary_is_the_first_sentence():
    assert First.summary() == "The relevance of the first row, whatever it is."


# values


def test_per_query_and_summary():
    values = First().per_query(ranked(y=[1, 0, 2, 0]))
    np.testing.assert_array_equal(values.value, [1, 0, np.nan])
    value, groups = First().summarize(values)
    assert float(value) == 0.5
    assert groups is None
    counts = np.array([[3, 1, 5], [0, 2, 0]])
    assert First().summarize(values, counts)[0].tolist() == [0.75, 0.0]


@pytest.mark.parametrize(("word", "filled"), [("zero", 0.0), ("one", 1.0)])
def test_undefined_queries_may_count(word, filled):
    values = First(undefined=word).per_query(ranked())
    assert values.value.tolist() == [1, 0, filled]


def test_undefined_queries_may_be_an_error_that_names_query_and_row():
    with pytest.raises(DataError, match=r"query 3 \(row 2\)"):
        First(undefined="raise").per_query(ranked())
    with pytest.raises(DataError, match=r"query 'b' \(row 1\)"):
        NDCG(undefined="raise").per_query(ranked(y=[1, 0, 2, 0], qid=list("abab")))


def test_draws_are_averaged_with_their_weights():
    data = as_ranking_data(None, [1, 0, 0, 1], qid=[1, 1, 2, 2])
    draws = [[1, 2], [2, 1], [1, 2], [2, 1]]
    ranking = Ranking.from_positions(data, draws, weights=[[1, 3], [1, 1]])
    assert First().per_query(ranking).value.tolist() == [0.25, 0.5]


def test_expectation_of_the_metric_or_metric_of_the_expectation():
    data = as_ranking_data(None, [1, 1], sensitive_features=["f", "m"])
    coin = Ranking.from_positions(data, [[1, 2], [2, 1]])
    once = Ranking.from_positions(data, [1, 2])
    tied = Ranking.from_scores(data, [1, 1])
    assert ExposureGap().per_query(coin).value[0] == pytest.approx(0.0, abs=1e-12)
    assert ExposureGap().per_query(tied).value[0] == pytest.approx(0.0, abs=1e-12)
    assert ExposureGap().per_query(once).value[0] > 0.3


# needs


@pytest.mark.parametrize(
    ("metric", "given", "word"),
    [
        (NDCG @ 10, {"y": None}, r"NDCG@10 needs relevance \(y\)"),
        (RND(), {}, r"RND needs groups \(sensitive_features\)"),
        (Dear(), {}, r"Dear needs costs \(cost\)"),
        (Dear(), {"cost": [1] * 4}, r"Dear needs features \(X\)"),
    ],
)
def test_a_metric_that_lacks_what_it_needs_says_so(metric, given, word):
    with pytest.raises(DataError, match=word):
        metric.per_query(ranked(**given))


def test_a_group_metric_names_attributes_and_groups():
    people = {"sex": list("fmfm"), "race": list("xxyy")}
    ranking = ranked(sensitive_features=people)
    with pytest.raises(DataError, match="'sex', 'race'"):
        RND().per_query(ranking)
    with pytest.raises(DataError, match=r"'sexx'; did you mean 'sex'"):
        RND(by="sexx").per_query(ranking)
    with pytest.raises(DataError, match=r"'f', 'm', got 'w'"):
        RND(by="sex", protected="w").per_query(ranking)


def test_a_group_that_filtering_left_empty_is_an_error():
    data = ranked(qid=[1, 1, 2, 2], sensitive_features=["m", "m", "f", "m"]).data
    assert len(RND(protected="f", step=2).per_query(data.ranking()).value) == 2
    with pytest.raises(DataError, match=r"'f' has none"):
        RND(protected="f", step=2).per_query(data.select([0]).ranking())


def test_an_additive_split_is_refused_where_there_is_none():
    ranking = ranked(sensitive_features=list("fmfm"))
    with pytest.raises(DataError, match="not a sum over items"):
        First().split(ranking.slots(), np.zeros(4, dtype=int), 1)


def test_the_bases_are_abstract():
    with pytest.raises(TypeError, match="must define values"):
        Metric().per_query(ranked())


def test_params_of_a_metric_of_ones_own_are_checked():
    class Stepped(First):
        """Has no option of its own."""

        params: ClassVar = {"k": Integer(3)}

    with pytest.raises(DataError, match="k of Stepped must be an integer >= 3, got 2"):
        Stepped @ 2


# plain arrays


def test_arrays_are_scored_in_one_call():
    given = {"y_true": [1, 0, 0, 1], "y_score": [2, 1, 1, 2], "qid": ["b", "a", "b", "a"]}
    assert score_arrays(NDCG(), **given) == 1.0
    assert type(score_arrays(NDCG(), **given)) is float
    tied = given | {"y_score": [1, 1, 1, 1]}
    assert score_arrays(First(), **tied, ties="stable") == 0.5
    per_query = score_arrays(First(), **tied, ties="stable", per_query=True)
    assert per_query.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"y_true": [1, -1]}, "y_true must be .* row 1"),
        ({"y_true": [1, np.nan]}, "y_true must be .* row 1"),
        ({"y_score": [np.inf, 1]}, "y_score must be .* row 0"),
        ({"y_true": [1, 0, 1]}, "y_true must have one value per row of y_score .2., got 3"),
        ({"qid": [1]}, "qid must have one value per row of y_score"),
        ({"ties": "random"}, "ties must be one of"),
        ({"y_score": []}, "y_score"),
    ],
)
def test_errors_speak_of_the_callers_arguments(changes, words):
    given = {"y_true": [1, 0], "y_score": [2, 1]} | changes
    with pytest.raises(DataError, match=words):
        score_arrays(NDCG(), **given)


def test_a_value_undefined_everywhere_warns():
    with pytest.warns(EquirankWarning, match="NDCG is undefined in every query"):
        assert np.isnan(score_arrays(NDCG(), y_true=[0, 0], y_score=[1, 2]))


def test_groups_come_back_as_a_dict():
    given = {"y_score": [4, 3, 2, 1], "sensitive_features": list("fmfm")}
    value, groups = score_arrays(RND(step=2), **given, return_groups=True)
    assert sorted(groups) == ["f", "m"]
    assert value == max(groups.values())
    _, none = score_arrays(First(), y_true=[1, 0], y_score=[2, 1], return_groups=True)
    assert none == {}


# the scorer

X = np.array([[4.0], [3.0], [2.0], [1.0], [0.5], [0.1]])
Y = np.array([2, 1, 0, 1, 0, 0])
QID = np.array(["a", "b", "a", "b", "a", "b"])


def test_a_scorer_is_positive_for_higher_and_negative_for_lower():
    model = RidgeRanker().fit(X, Y, qid=QID)
    assert NDCG().scorer()(model, X, Y, qid=QID) == model.score(X, Y, qid=QID) > 0
    ranking = model.rank(X, Y, qid=QID)
    for metric in (AverageRank(), NDCG(), DCG() @ 2, AUC()):
        plain = float(metric.summarize(metric.per_query(ranking))[0])
        sign = 1 if metric.direction == "higher" else -1
        assert metric.scorer()(model, X, Y, qid=QID) == sign * plain
    assert AverageRank.direction == "lower"


def test_a_scorer_of_one_list_says_who_it_is():
    model = RidgeRanker().fit(X, Y)
    assert NDCG().scorer()(model, X, Y, qid=0) == model.score(X, Y, qid=0)
    assert repr((NDCG @ 10).scorer()) == "NDCG@10.scorer()"
    assert repr(pickle.loads(pickle.dumps(RND(step=5).scorer()))) == "RND(step=5).scorer()"


def test_a_scorer_asks_for_what_its_metric_needs():
    def asked(metric):
        return metric.scorer().get_metadata_routing().score.requests

    # groups always: a ranker may need them to predict
    assert asked(NDCG()) == {"qid": True, "sensitive_features": True, "cost": False}
    assert asked(RND()) == {"qid": True, "sensitive_features": True, "cost": False}
    assert asked(Dear()) == {"qid": True, "sensitive_features": True, "cost": True}


def test_constraints_of_base_classes_are_inherited():
    @dataclass(frozen=True, repr=False, kw_only=True)
    class Stepped(RND):
        params: ClassVar = {"share": Number(0, 1)}
        share: float = 0.5

    assert {"share", *RND.params} == set(Stepped.params)
    with pytest.raises(DataError, match="step of Stepped must be an integer >= 1, got 0"):
        Stepped(step=0)
