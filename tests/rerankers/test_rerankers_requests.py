"""Requests to a service: what was declared or fitted once serves lists that lack some of it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from equirank import DataError, InfeasibleError, Reranker, as_ranking_data
from equirank.core.registry import public_classes
from equirank.rerankers import (
    ContinuousFairness,
    DetGreedy,
    ExposureOptimal,
    FAStarIR,
    ImpactRatioFloor,
    ImplicitBiasFloor,
    OnlineSelection,
    PrefixConstraints,
    Reranked,
    RooneyRule,
    ScoreBonus,
)

CLASSES = public_classes(Reranker, ["equirank.rerankers"])
#: Parameters that name the group "b", which most requests lack.
NAMING = {
    "BalancedSelection": {"lower": {"b": 2}, "k": 5},
    "ContinuousFairness": {"theta": {"a": 1.0, "b": 0.5}},
    "DetCons": {"proportions": {"a": 0.7, "b": 0.3}},
    "DetConstSort": {"proportions": {"a": 0.7, "b": 0.3}},
    "DetGreedy": {"proportions": {"a": 0.7, "b": 0.3}},
    "DetRelaxed": {"proportions": {"a": 0.7, "b": 0.3}},
    "EpsilonGreedy": {"eps": 0.3, "random_state": 0},
    "ExposureOptimal": {"lower": {"b": 0.1}, "upper": {"a": 0.9}},
    "FAStarIR": {"p": 0.3, "protected": "b"},
    "ImpactRatioFloor": {"protected": "b", "k": 5},
    "ImplicitBiasFloor": {"phi": 0.25, "protected": "b"},
    "MarginLottery": {"width": 0.5, "random_state": 0},
    "OnlineSelection": {"k": 5, "lower": {"b": 2}, "upper": {"a": 4}, "random_state": 0},
    "PrefixConstraints": {"lower": {"b": 0.3}, "upper": {"a": 0.8}},
    "RooneyRule": {"protected": "b", "k": 5},
    "ScoreBonus": {"bonus": 1.0, "protected": "b"},
    "UncertainMerit": {},
}
#: With a cutoff, too, where none is named and the class has one.
CUTOFFS = [(name, {}) for name in NAMING] + [
    (name, {"k": 10})
    for name, named in NAMING.items()
    if "k" in CLASSES[name].params and "k" not in named
]
#: Rankings that select, draw or move scores; the others keep the order if nothing is bounded.
CHANGED = {"EpsilonGreedy", "MarginLottery", "OnlineSelection"}
#: Labels of a request, and further arguments.
REQUESTS = {
    "one group": (["a"] * 20, {}),
    "the named group alone": (["b"] * 20, {}),
    "one item": (["a"], {}),
    "shorter than the cutoff": (["a"] * 3, {}),
    "nobody": ([], {}),
    "all groups are stated": (["a"] * 20, {"groups": ["a", "b"]}),
    "by attribute": (["a"] * 20, {"groups": {"sensitive": ["a", "b"]}}),
    "nobody of stated groups": ([], {"groups": ["a", "b"]}),
}
UNKNOWN = {
    "one unknown label": [*"aabaabaab", None, *"aaab"],
    "unknown labels only": [None] * 4,
    "an unknown person": [None],
    "one group beside unknown labels": ["a", None] * 6,
}


def test_every_reranker_has_a_request():
    lacking = sorted(set(CLASSES) - {*NAMING, "Guaranteed"})
    assert not lacking, f"add parameters of {lacking} that name the group b to NAMING in this file"
    assert set(NAMING) == set(CLASSES) - {"Guaranteed"}


def check(result, labels, k):
    """Check that a result can be read, and return its order."""
    order = result.order()
    assert len(set(order.tolist())) == len(order) == min(len(labels), k or len(labels))
    assert result.holds
    assert len(result.to_frame("pandas")) == len(labels)
    assert str(result.price)
    assert str(result.moves)
    if result.n_draws == 1:
        assert len(result.with_everyone().order()) == len(labels)
        assert result.summary()["measure"].size
        for row in order.tolist():
            assert str(result.explain(row))
    return order.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("request_", REQUESTS)
@pytest.mark.parametrize(("name", "cutoff"), CUTOFFS)
def test_requests_that_lack_something_are_served(name, request_, cutoff):
    labels, more = REQUESTS[request_]
    rule = CLASSES[name](**NAMING[name], **cutoff)
    scores = np.arange(len(labels), 0, -1.0)
    order = check(
        rule.rerank(scores, sensitive_features=labels, **more), labels, getattr(rule, "k", None)
    )
    if name not in CHANGED:
        assert order == list(range(len(order)))


@pytest.mark.slow
@pytest.mark.parametrize("labels", UNKNOWN)
@pytest.mark.parametrize("name", NAMING)
def test_unknown_labels_are_ranked_or_refused_with_a_way_out(name, labels):
    rule, people = CLASSES[name](**NAMING[name]), UNKNOWN[labels]
    given = {"sensitive_features": people, "missing_sensitive": "unknown"}
    if name == "ContinuousFairness":
        with pytest.raises(DataError, match="leave these rows out, or keep them as a group with"):
            rule.rerank(range(len(people), 0, -1), **given)
        return
    check(rule.rerank(range(len(people), 0, -1), **given), people, getattr(rule, "k", None))


@pytest.mark.slow
@pytest.mark.parametrize(
    "rule", [DetGreedy(), FAStarIR(), RooneyRule(k=3), ImpactRatioFloor(k=3), ExposureOptimal()]
)
def test_without_a_named_group_any_request_is_served(rule):
    for labels in (["a"] * 20, ["a"], [], [None] * 3):
        given = {"sensitive_features": labels, "missing_sensitive": "unknown"}
        result = rule.rerank(range(len(labels), 0, -1), **given)
        order = check(result, labels, getattr(rule, "k", None))
        assert order == list(range(len(order)))


def test_the_request_of_the_trials():
    rule = FAStarIR(p=0.3, protected="b")
    result = rule.rerank(range(20, 0, -1), sensitive_features=["a"] * 20)
    assert result.order().tolist() == list(range(20))
    assert result.data.attribute().categories == ("a", "b")
    assert result.absent_groups == ("b",)
    assert rule.rerank([2, 1], sensitive_features=["a", "b"]).absent_groups == ()


def test_several_groups_of_which_one_is_absent():
    labels = list("aacaacaacaacaac")
    wanted = FAStarIR(p={"c": 0.3}).rerank(range(15, 0, -1), sensitive_features=labels)
    found = FAStarIR(p={"b": 0.2, "c": 0.3}).rerank(range(15, 0, -1), sensitive_features=labels)
    assert found.holds
    assert (np.isin(found.order()[:10], np.flatnonzero(np.array(labels) == "c"))).sum() >= 1
    assert wanted.holds
    shares = {"a": 0.4, "b": 0.3, "c": 0.3}
    greedy = DetGreedy(shares).rerank(range(15, 0, -1), sensitive_features=labels)
    counts = np.cumsum(np.array(labels)[greedy.order()] == "c")
    assert (counts >= np.floor(0.3 * np.arange(1, 16) + 1e-9)).all()


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (
            FAStarIR(p=0.3, protected="z"),
            "protected of FAStarIR must be one of the groups 'a', 'b'",
        ),
        (FAStarIR(p={"z": 0.3}), "p of FAStarIR must be one of the groups 'a', 'b', got 'z'"),
        (DetGreedy({"a": 0.5, "z": 0.5}), "proportions of DetGreedy must be one of the groups"),
        (PrefixConstraints({"z": 0.5}), "lower of PrefixConstraints must be one of the groups"),
        (ExposureOptimal(upper={"z": 0.5}), "upper must be one of the groups 'a', 'b', got 'z'"),
        (ScoreBonus(1.0, "z"), "protected of ScoreBonus must be one of the groups 'a', 'b'"),
    ],
)
def test_a_misspelt_group_is_seen_beside_stated_groups(rule, words):
    for labels in (list("aab"), ["a"], []):
        with pytest.raises(DataError, match=words):
            rule.rerank(range(len(labels), 0, -1), sensitive_features=labels, groups=["a", "b"])
    data = as_ranking_data(score=[2, 1], sensitive_features=["a", "b"])
    with pytest.raises(DataError, match=words):
        rule(data.ranking())


@pytest.mark.parametrize(
    ("name", "group"), [("Female", "female"), ("female ", "female"), ("female", "FEMALE")]
)
def test_a_name_that_differs_in_case_is_misspelt(name, group):
    with pytest.raises(DataError, match=f"must be one of the groups '{group}', 'male', got"):
        FAStarIR(p=0.3, protected=name).rerank([2, 1], sensitive_features=[group, "male"])


def test_no_hint_names_the_opposite_group():
    data = as_ranking_data(score=[2, 1], sensitive_features=["male", "male"])
    with pytest.raises(DataError, match="must be one of the groups 'male', got 'female'") as error:
        FAStarIR(p=0.3, protected="female")(data.ranking())
    assert "did you mean" not in str(error.value)


def test_stated_groups_refuse_other_labels():
    with pytest.raises(DataError, match="must be one of the groups that groups"):
        DetGreedy().rerank([2, 1], sensitive_features=["a", "c"], groups=["a", "b"])
    data = as_ranking_data(score=[2, 1], sensitive_features=["a", "b"])
    with pytest.raises(DataError, match="groups must be None beside a RankingData"):
        DetGreedy().rerank(data, groups=["a", "b"])
    with pytest.raises(DataError, match="ids must be None beside a list of scores"):
        DetGreedy().rerank([2, 1], sensitive_features=["a", "b"], ids=[1, 2])
    many = [f"g{at}" for at in range(30)]
    assert DetGreedy().rerank([1], sensitive_features=["g3"], groups=many).holds


def test_too_few_of_a_group_are_still_said():
    labels = ["a"] * 19 + ["b"]
    with pytest.raises(InfeasibleError, match="of group 'b', and the list has 1"):
        FAStarIR(p=0.5, protected="b").rerank(range(20, 0, -1), sensitive_features=labels)


def test_each_list_of_a_request_is_served_as_if_alone():
    labels, qid = list("aaaa") + list("abab") + list("bbbb"), np.repeat([1, 2, 3], 4)
    rule = PrefixConstraints(lower={"b": 0.5}, upper={"a": 0.6})
    both = rule.rerank(range(12, 0, -1), sensitive_features=labels, qid=qid)
    assert both.holds_per_query.all()
    for query in (1, 2, 3):
        rows = np.flatnonzero(qid == query)
        alone = rule.rerank(12 - rows, sensitive_features=np.array(labels)[rows])
        assert both.order(query).tolist() == rows[alone.order()].tolist()


def test_upper_bounds_on_the_only_group_bind_beside_unknown_labels():
    given = {"sensitive_features": ["a", "a", None, None], "missing_sensitive": "unknown"}
    rule = PrefixConstraints(upper={"a": [1, 1, 2]})
    assert rule.rerank([4, 3, 2, 1], **given).order().tolist() == [0, 2, 1, 3]
    chosen = OnlineSelection(k=2, upper={"a": 1}, random_state=0).rerank([4, 3, 2, 1], **given)
    assert len({0, 1} & set(chosen.order().tolist())) == 1


def test_the_share_of_a_list_with_unknown_labels_never_asks_for_more_than_it_has():
    labels = ["a", "b", None] + ["a", "b", "a"] * 3  # 4 of 11 known are b, and 4 / 11 * 12 > 4
    given = {"sensitive_features": labels, "missing_sensitive": "unknown"}
    result = ImplicitBiasFloor(protected="b").rerank(range(12, 0, -1), **given)
    assert result.order()[:4].tolist() == [1, 0, 4, 2]
    assert result.holds


def test_frames_without_rows_and_groups():
    frame = pd.DataFrame({"s": [3.0, 2.0], "sex": ["a", "a"], "q": [1, 1]})
    columns = {"score": "s", "sensitive_features": "sex", "qid": "q"}
    for rows in (frame, frame.iloc[:0]):
        result = FAStarIR(p=0.3, protected="b").rerank(rows, **columns)
        assert result.order().tolist() == list(range(len(rows)))
        assert result.data.attribute("sex").categories[-1] == "b"
    with pytest.raises(DataError, match="protected of FAStarIR must be one of the groups 'a', 'c'"):
        FAStarIR(protected="b").rerank(frame, **columns, groups={"sex": ["a", "c"]})


def test_lengths_that_differ_are_refused_without_scores():
    with pytest.raises(DataError, match=r"must have one value per row of score \(0\), got 1"):
        DetGreedy().rerank([], sensitive_features=["a"])


def test_crossed_attributes_of_a_request():
    rule = FAStarIR(p=0.3, protected="f & b", by=["sex", "race"])
    people = {"sex": ["m"] * 6, "race": list("bwbwbw")}
    result = rule.rerank(range(6, 0, -1), sensitive_features=people)
    assert result.order().tolist() == list(range(6))
    assert "f & b" in result.absent_groups
    nested = PrefixConstraints({"sex": {"f": 0.3}, "race": {"b": 0.3}})
    assert nested.rerank(range(6, 0, -1), sensitive_features=people).holds
    flat = PrefixConstraints({"f": 0.3})
    with pytest.raises(DataError, match="name its attribute"):
        flat.rerank(range(6, 0, -1), sensitive_features=people)


X = np.random.default_rng(0).normal(size=(40, 2))
Y = np.abs(X[:, 0])
FRAME = pd.DataFrame(X, columns=["x", "z"])
FITTED = {"qid": np.repeat(range(4), 10), "sensitive_features": np.tile(["a", "b"], 20)}
RULES = [
    FAStarIR(p=0.3, protected="b"),
    DetGreedy(),
    DetGreedy({"a": 0.5, "b": 0.5}),
    PrefixConstraints(lower={"b": 0.1}, upper={"a": 0.9}),
]


@pytest.mark.slow
@pytest.mark.parametrize("features", [X, FRAME], ids=["array", "frame"])
@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("told", [True, False], ids=["with groups", "without groups"])
def test_a_fitted_model_serves_lists_of_one_group(features, rule, told):
    given = FITTED if told else {"qid": FITTED["qid"]}
    model = Reranked(Ridge(), rule).fit(features, Y, **given)
    alone = features[:10]
    plain = model.estimator_.predict(alone)
    result = model.rank(alone, sensitive_features=["a"] * 10)
    assert result.order().tolist() == np.argsort(-plain).tolist()
    np.testing.assert_allclose(model.predict(alone, sensitive_features=["a"] * 10), plain)
    unknown = model.rank(alone, sensitive_features=["a"] * 9 + [None], unseen="missing")
    assert sorted(unknown.order().tolist()) == list(range(10))
    nobody = {"qid": [], "sensitive_features": []}
    assert model.predict(features[:0], **nobody).tolist() == []
    assert model.rank(features[:0], **nobody).order().tolist() == []
    data = as_ranking_data(alone, sensitive_features=["a"] * 10)
    assert model.rank(data).order().tolist() == result.order().tolist()


def test_a_model_that_is_not_fitted_says_so():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        Reranked(Ridge(), DetGreedy()).predict(X, sensitive_features=["a"] * 40)


def test_a_group_that_training_lacked_is_a_group_of_the_request():
    model = Reranked(Ridge(), DetGreedy()).fit(X, Y, **FITTED)
    found = model.rank(X[:4], sensitive_features=list("abca"))
    assert found.data.attribute().categories == ("a", "b", "c")


def test_continuous_fairness_of_one_group_changes_no_score():
    result = ContinuousFairness().rerank([3, 2, 1], sensitive_features=["a"] * 3)
    assert result.score.tolist() == [3, 2, 1]


def test_a_name_that_no_row_has_is_logged_once(caplog):
    from equirank.core import named_groups

    named_groups._warn_once.cache_clear()
    rule, two = FAStarIR(p=0.3, protected="women"), list("fmfmfm")
    for _ in range(3):
        rule.rerank(range(6), sensitive_features=two)
    crossed = PrefixConstraints({"f & x": 0.1}, by=["a", "b"])
    crossed.rerank(range(6), sensitive_features={"a": two, "b": list("yzyzyz")})
    model = Reranked(Ridge(), FAStarIR(p=0.3, protected="bb")).fit(X, Y, **FITTED)
    model.predict(X[:5], sensitive_features=["a"] * 5)
    assert [each.levelname for each in caplog.records] == ["WARNING"] * 3
    for each, name in zip(caplog.messages, ("'women'", "'f & x'", "'bb'"), strict=True):
        assert f"no row is in group {name}" in each
    caplog.clear()
    FAStarIR(p=0.3, protected="f").rerank(range(6), sensitive_features=two)
    rule.rerank([], sensitive_features=[])
    rule.rerank(range(6), sensitive_features=two, groups=["f", "m", "women"])
    model = Reranked(Ridge(), FAStarIR(p=0.3, protected="b")).fit(X, Y, **FITTED)
    model.predict(X[:5], sensitive_features=["a"] * 5)
    assert not caplog.records
