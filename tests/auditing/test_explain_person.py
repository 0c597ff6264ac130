"""A person's page: position, decision, weights, and changes that the model confirms."""

import json
import re
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from equirank import DataError, as_ranking_data, explain_person
from equirank.core.ranker import Ranker
from equirank.datasets import load_hiring
from equirank.rankers import RankBoost
from equirank.rerankers import DetGreedy, Reranked


class Weighted(Ranker):
    """A linear score with given weights."""

    def _fit(self, data):
        self.coef_ = np.array([2.0, 1.0, -1.0])[: data.n_features]

    def _scores(self, data):
        return data.X @ self.coef_


class Centred(Weighted):
    """A score that depends on the whole list: the difference from its mean."""

    predict_needs = frozenset({"qid"})

    def _scores(self, data):
        own = data.X @ self.coef_
        sums = np.add.reduceat(own, data.offsets[:-1])
        return own - np.repeat(sums / np.diff(data.offsets), np.diff(data.offsets))


X = np.array([[3.0, 4, 0], [2, 2, 0], [1, 5, 1], [0, 1, 0], [5, 0, 2], [1, 1, 3]])
IDS = list("abcdef")


def people(n_lists=1, **given):
    lists = np.repeat(np.arange(n_lists), len(X) // n_lists)
    return as_ranking_data(X, np.arange(6), qid=lists, ids=IDS, **given)


def fitted(kind=Weighted, data=None):
    return kind().fit(people() if data is None else data)


# ---- position and decision ----


def test_the_position_of_a_score():
    data = as_ranking_data(score=[70, 50, 60], ids=["a", "b", "c"])
    found = explain_person(data, "b")
    assert (found.first, found.last, found.n_people, found.score) == (3, 3, 3, 50.0)
    assert found.status == "no decision"
    assert found.sentences == (
        "Your application was ranked at position 3 of 3.",
        "Your score is 50.",
        "Which features weighed is not known, since no model was given.",
    )


def test_a_list_is_named_if_there_are_several():
    data = as_ranking_data(qid=["x", "x", "y"], score=[1, 2, 3], ids=["a", "b", "c"])
    assert explain_person(data, "a").sentences[0] == (
        'Your application was ranked at position 2 of 2 in list "x".'
    )


def test_positions_without_scores_and_people_not_shown():
    data = as_ranking_data(position=[2, 1, 0], ids=["a", "b", "c"])
    assert explain_person(data, "a", k=1).sentences[:2] == (
        "Your application was ranked at position 2 of 2.".replace("of 2", "of 3"),
        "The top 1 of each list are selected.",
    )
    hidden = explain_person(data, "c", k=2)
    assert hidden.status == "not selected"
    assert hidden.sentences[0].startswith("Your application is not shown")


@pytest.mark.parametrize(
    ("id", "k", "status", "chance"),
    [("a", 1, "selected", None), ("b", 2, "tied", 0.5), ("b", 3, "selected", None),
     ("b", 1, "not selected", None), ("d", 9, "selected", None)],
)  # fmt: skip
def test_ties_at_the_top(id, k, status, chance):
    data = as_ranking_data(score=[9, 5, 5, 1], ids=list("abcd"))
    found = explain_person(data, id, k=k)
    assert (found.status, found.chance) == (status, chance)
    if status == "tied":
        assert "tied with one other person for positions 2 to 3 of 4" in found.sentences[0]
        assert "50% of the tied people are selected" in " ".join(found.sentences)


@pytest.mark.parametrize(
    ("cutoff", "status", "words"),
    [("score>=5", "selected", "equal to the cutoff"), ("score > 5", "not selected", "equal to"),
     ("score>=5.5", "not selected", "0.5 below"), ("score>=-1e0", "selected", "6 above")],
)  # fmt: skip
def test_a_cutoff(cutoff, status, words):
    found = explain_person(as_ranking_data(score=[9, 5, 1], ids=list("abc")), "b", cutoff=cutoff)
    assert found.status == status
    assert f"Your score is {words}" in " ".join(found.sentences)


def test_recorded_decisions():
    data = as_ranking_data(
        score=[9, 5, 4, 1], ids=list("abcd"), outcomes={"hired": ["Yes", "no", "TRUE", ""]}
    )
    found = explain_person(data, "b", selected="hired")
    assert (found.status, found.below_selected, found.n_selected) == ("not selected", 1, 2)
    assert "1 person ranked below you was selected" in " ".join(found.sentences)
    assert "In your list 2 of 4 people are selected." in found.sentences
    first = explain_person(data, "b", k=1)
    assert "In your list 1 of 4 people is selected." in first.sentences
    assert found.boundary is None
    assert explain_person(data, "c", selected="hired").status == "selected"
    assert explain_person(data, "d", selected="hired").status == "undecided"
    assert explain_person(data, "b", selected="hired", yes=["NO"]).status == "selected"


def test_numbers_are_decisions():
    data = as_ranking_data(score=[9, 5], ids=list("ab"), outcomes={"hired": [1.0, 0.0]})
    assert explain_person(data, "a", selected="hired").status == "selected"
    assert explain_person(data, "b", selected="hired").boundary == 9


# ---- weights ----


def test_the_weights_of_a_linear_model():
    data, model = people(), fitted()
    scores = X @ [2.0, 1.0, -1.0]  # 10, 6, 6, 1, 8, 0
    assert scores.tolist() == [10, 6, 6, 1, 8, 0]
    found = explain_person(data, "d", model=model, k=2)
    assert found.compared_with == "the last person selected"  # e: 5, 0, 2
    weights = {row["feature"]: row["contribution"] for row in found.features}
    assert weights == pytest.approx({"x0": -10, "x1": 1, "x2": 2})
    assert [row["value"] for row in found.features] == ["0", "0", "1"]
    top = explain_person(data, "e", model=model, k=2)
    assert top.compared_with == "the first person not selected"  # b, tied with c, in input order
    assert sum(row["contribution"] for row in top.features) == pytest.approx(2)
    assert explain_person(data, "a", model=model).compared_with == "the person ranked second"
    assert explain_person(data, "b", model=model).compared_with == "the person ranked first"


def test_nothing_of_other_people_is_told():
    found = explain_person(people(), "d", model=fitted(), k=2)
    document = json.loads(found.to_json())
    text = json.dumps({key: value for key, value in document.items() if key != "provenance"})
    assert not re.search(r'"[abcef]"', text)


def test_indicators_are_one_feature():
    data = as_ranking_data(
        np.array([[3.0, 1, 0], [1, 1, 0], [2, 0, 1]]), [2, 0, 1], ids=list("abc")
    )
    data = replace(data, feature_names=("test", "home=own", "home=rent"))
    model = fitted(data=data)
    labels = {"home": ["own", "rent"]}
    found = explain_person(data, "c", model=model, cutoff="score>=5", categories=labels)
    weights = {row["feature"]: (row["value"], row["contribution"]) for row in found.features}
    assert weights == {"test": ("2", -2.0), "home": ("rent", -2.0)}
    assert [(c.features, c.before, c.after, c.score) for c in found.changes] == [
        (("test",), ("2",), ("3",), 5.0), (("home",), ("rent",), ("own",), 5.0)
    ]  # fmt: skip


def test_codes_are_named():
    data = as_ranking_data(np.array([[3.0, 1], [2, 0]]), [1, 0], ids=list("ab"))
    data = replace(data, feature_names=("test", "home"))
    labels = {"home": ["rent", "own"]}
    found = explain_person(data, "b", model=fitted(data=data), cutoff="score>=5", categories=labels)
    assert {row["feature"]: row["value"] for row in found.features} == {"test": "2", "home": "rent"}
    assert {c.features: c.after for c in found.changes} == {
        ("test",): ("3",),
        ("home",): ("own",),
    }


# ---- changes, against brute force ----


def brute(data, model, at, rule, free):
    """The smallest change of each feature, trying every value of the data one by one."""
    best = {}
    for column in free:
        values = data.X[:, column]
        span = values.max() - values.min()
        for value in np.unique(values):
            changed = np.array(data.X)
            changed[at, column] = value
            new = model.predict(changed)
            above = int((np.delete(new, at) >= new[at]).sum())
            if value != data.X[at, column] and rule(new[at], above):
                away = abs(value - data.X[at, column]) / span
                if column not in best or away < best[column]:
                    best[column] = away
    return best


@pytest.mark.parametrize("kind", [Weighted, Centred])
@pytest.mark.parametrize("at", [1, 2, 3, 5])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_single_changes_are_the_nearest(kind, at, k):
    data, model = people(), fitted(kind)
    found = explain_person(data, IDS[at], model=model, k=k)
    if found.status == "selected":
        assert found.changes is None
        return
    expected = brute(data, model, at, lambda score, above: above < k, range(3))
    told = {int(c.features[0][1]): c.distance for c in found.changes if len(c.features) == 1}
    assert told == pytest.approx(expected)
    assert [c.distance for c in found.changes] == sorted(c.distance for c in found.changes)
    for change in found.changes:
        assert change.position <= k


def test_a_change_across_a_cutoff():
    data, model = people(), fitted()
    found = explain_person(data, "b", model=model, cutoff="score>=8")  # 6: two more of x1
    assert [(c.features, c.after, c.score) for c in found.changes] == [
        (("x0",), ("3",), 8.0), (("x1",), ("4",), 8.0)
    ]  # fmt: skip
    assert "x0 3 instead of 2 or x1 4 instead of 2" in " ".join(found.sentences)
    assert "confirmed" in " ".join(found.sentences)


def test_pairs_are_tried_if_no_single_change_suffices():
    data, model = people(), fitted()
    found = explain_person(data, "d", model=model, cutoff="score>=13")  # 0, 1, 0: at most 11 alone
    (pair,) = found.changes
    assert pair.score >= 13
    best = min(
        abs(a - 0) / 5 + abs(b - 1) / 5 + abs(c) / 3
        for a, b, c in product([0, 1, 2, 3, 5], [0, 1, 2, 4, 5], [0, 1, 2, 3])
        if 2 * a + b - c >= 13 and (a != 0) + (b != 1) + (c != 0) <= 2
    )
    assert pair.distance == pytest.approx(best)
    assert "These two together would" in " ".join(found.sentences)


def test_a_pair_on_a_coarse_grid_is_moved_back():
    values = np.linspace(0, 1, 60)
    data = as_ranking_data(
        np.stack([values, values[::-1]], axis=1), values, ids=[f"p{at}" for at in range(60)]
    )
    data = data.select_items(np.arange(60))
    found = explain_person(data, "p30", model=fitted(data=data), cutoff="score>=2.7")
    (pair,) = found.changes
    first, second = (float(value) for value in pair.after)
    assert 2 * first + second >= 2.7
    step = 1 / 59
    assert 2 * (first - step) + second < 2.7
    assert 2 * first + second - step < 2.7


def test_no_change_within_the_range_of_the_data():
    found = explain_person(people(), "d", model=fitted(), cutoff="score>=100")
    assert found.changes == []
    assert "No change of one or two features was found" in " ".join(found.sentences)


def test_fixed_and_sensitive_features_never_change():
    data = people(sensitive_features={"x0": list("uvwxyz")}, max_groups=9)
    found = explain_person(data, "b", model=fitted(), cutoff="score>=8")
    assert [c.features for c in found.changes] == [("x1",)]
    assert found.fixed == ["x0"]
    found = explain_person(data, "b", model=fitted(), cutoff="score>=8", fixed=["x1"])
    assert not any({"x0", "x1"} & set(c.features) for c in found.changes)
    assert "Not changed: x1 and x0." in found.sentences


def test_recorded_decisions_that_follow_the_ranking_have_a_cutoff():
    decided = {"hired": ["yes", "no", "no", "no", "yes", "no"]}
    found = explain_person(people(outcomes=decided), "b", model=fitted(), selected="hired")
    assert {c.features for c in found.changes} >= {("x0",)}
    decided = {"hired": ["yes", "no", "no", "yes", "no", "no"]}
    found = explain_person(people(outcomes=decided), "b", model=fitted(), selected="hired")
    assert found.changes is None
    assert found.below_selected == 1


def test_a_batch_that_lies_is_not_believed():
    """What is told is confirmed on the list itself, so a score of copies alone is refused."""

    class Liar(Centred):
        def _scores(self, data):
            own = super()._scores(data)
            return own if data.n_queries == 1 else own + 100 * (data.X[:, 1] == 5)

    found = explain_person(people(), "d", model=fitted(Liar), k=1)
    for change in found.changes:
        assert change.position == 1


@pytest.mark.slow
def test_a_re_ranked_model():
    data = load_hiring()
    model = Reranked(RankBoost(n_estimators=5), DetGreedy(by="sex")).fit(data)
    moved = model.rank(data).moves
    id = moved["id"][0]
    found = explain_person(data, id, model=model, k=10)
    assert found.moved_from == moved["from"][0]
    assert f"Before the re-ranking, your application was at position {found.moved_from}." in (
        found.sentences
    )
    assert any(row["feature"] == "(re-ranker)" for row in found.features)


# ---- errors ----


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"id": "A4"},
            "id must be one of the data's ids, got 'A4'; the nearest ids are 'A1', 'A2'",
        ),
        ({"id": "zz"}, "got 'zz'$"),
        ({"id": "A2"}, r"got 'A2', which occurs 2 times \(rows 2, 4\); of names the list"),
        ({"id": "A3"}, r"got 'A3', which occurs 2 times \(rows 5, 6\)$"),
        ({"id": "A1", "of": "y"}, "id must be in the list 'y', got 'A1', which is in 'x'"),
        ({"id": "A1", "of": "z"}, "of must be one of the lists, got 'z'"),
        ({"id": "A1", "k": 0}, "k must be a whole number of at least 1, got 0"),
        ({"id": "A1", "cutoff": "age>=3"}, 'cutoff must be written as "score>=70"'),
        ({"id": "A1", "cutoff": "score<3"}, "cutoff must be written as"),
        ({"id": "A1", "k": 1, "cutoff": "score>1"}, "got cutoff and k"),
        ({"id": "A1", "selected": "hired"}, r"a column of decisions \('x'\), got 'hired'"),
        ({"id": "A1", "selected": "x"}, "must be yes or no .* got 'maybe' in row 1"),
        ({"id": "A1", "yes": ["y"]}, "yes must be given with selected"),
    ],
)
def test_errors(given, said):
    data = as_ranking_data(
        qid=list("xxxyyy"), score=[1, 2, 3, 1, 2, 3], ids=["A1", "A2", "A5", "A2", "A3", "A3"],
        outcomes={"x": ["yes", "maybe", "no"] * 2},
    )  # fmt: skip
    with pytest.raises(DataError, match=said):
        explain_person(data, given.pop("id"), **given)


def test_errors_of_a_model():
    with pytest.raises(DataError, match="ids must be given"):
        explain_person(as_ranking_data(score=[1, 2]), "a")
    with pytest.raises(DataError, match="fixed must be omitted without a model"):
        explain_person(people(score=np.arange(6)), "a", fixed=["x0"])
    with pytest.raises(DataError, match=r"fixed must name features .*got 'x9'"):
        explain_person(people(), "a", model=fitted(), fixed=["x9"])
    with pytest.raises(DataError, match="categories must name features of the model, got 'home'"):
        explain_person(people(), "a", model=fitted(), categories={"home": ["own"]})


def test_an_id_of_a_named_list():
    data = as_ranking_data(qid=[1, 2], score=[1, 2], ids=["a", "a"])
    assert explain_person(data, "a", of=2).score == 2


def test_a_list_of_one():
    data = as_ranking_data(X[:1], [1], ids=["a"])
    found = explain_person(data, "a", model=fitted(data=people()), k=1)
    assert (found.status, found.features, found.compared_with) == ("selected", [], None)


# ---- page ----


@pytest.mark.slow
def test_the_page(tmp_path):
    pytest.importorskip("jinja2")
    hostile = "<img src=x>"
    data = people(sensitive_features={"sex": list("fmfmfm")})
    data = replace(data, ids=np.array([hostile, *"bcdef"], dtype=object), qids=np.array([hostile]))
    data = replace(data, feature_names=(hostile, "b", "c"))
    found = explain_person(data, "d", model=fitted(data=data), k=2, date="2026-07-31")
    text = found.to_html(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == text
    shown = re.sub(r"<script.*?</script>", "", text, flags=re.S)
    assert "<img" not in shown
    assert "&lt;img src=x&gt;" in shown
    assert "position 4" not in shown or found.first == 4
    assert '<h2 id="provenance">' in shown
    for sentence in found.sentences[:3]:
        assert sentence in shown
    assert found.to_json(tmp_path / "p.json") + "\n" == (tmp_path / "p.json").read_text()
    assert repr(found) == f"PersonExplanation('d', position {found.first} of 6, not selected)"
