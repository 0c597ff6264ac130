"""Blend: scores standardised in each list, needs of its parts, parameters, files."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge

import equirank
from equirank import DataError, Ranker, as_ranking_data
from equirank.comparison.cell import seeded_clone
from equirank.datasets import make_ranking
from equirank.rankers import MART, Blend, FairLambdaMART, RankBoost


class Column(Ranker):
    """Ranks by one feature."""

    column: int = 0
    random_state: object = None

    def _fit(self, data):
        self.seen_ = sorted(data.sensitive)

    def _scores(self, data):
        return np.asarray(data.X[:, self.column], dtype=float)


class Fair(Column):
    fit_needs = frozenset({"qid", "sensitive_features"})


@pytest.fixture
def data():
    X = [[1.0, 5.0], [3.0, 5.0], [2.0, 5.0], [7.0, 0.0], [9.0, 4.0], [4.0, 1.0]]
    return as_ranking_data(X, [0, 1, 2, 0, 1, 1], qid=[0, 0, 0, 1, 1, 2])


def test_scores_are_standardised_per_list_and_weighted(data):
    blend = Blend([("a", Column(column=0)), ("b", Column(column=1))], [2, 1]).fit(data)
    root = np.sqrt(2 / 3)  # SD of 1, 2, 3
    first = [-1 / root, 1 / root, 0.0, -1.0, 1.0, 0.0]  # a list of one item adds nothing
    second = [0.0, 0.0, 0.0, -1.0, 1.0, 0.0]  # nor does a list of equal scores
    wanted = 2 * np.array(first) + np.array(second)
    np.testing.assert_allclose(blend.predict(data), wanted, atol=1e-12)
    equal = Blend([("a", Column(column=0)), ("b", Column(column=1))]).fit(data).predict(data)
    np.testing.assert_allclose(equal, (np.array(first) + np.array(second)) / 2, atol=1e-12)


def test_equal_scores_that_round_differently_are_constant():
    X = np.full((3, 1), 0.1) * 1e9
    data = as_ranking_data(X, [0, 1, 2], qid=[0, 0, 0])
    assert np.array_equal(Blend([("a", Column())]).fit(data).predict(data), np.zeros(3))


def test_rows_and_scales_do_not_matter():
    data = make_ranking(n_queries=6, n_items=8, random_state=0)
    order = np.random.default_rng(0).permutation(data.n_rows)
    qid = data.query_of_rows()
    blend = Blend([("a", Column(column=0)), ("b", Column(column=1))]).fit(data)
    scaled = data.X * [100.0, 0.01, *[1.0] * (data.n_features - 2)]
    found = blend.predict(scaled[order], qid=qid[order])
    np.testing.assert_allclose(found, blend.predict(data)[order], atol=1e-9)


def test_each_part_receives_what_its_class_declares():
    data = make_ranking(n_queries=4, n_items=5, random_state=0)
    blend = Blend([("plain", Column()), ("fair", Fair())])
    assert blend.fit_needs == {"qid", "sensitive_features"}
    assert blend.predict_needs == {"qid"}
    blend.fit(data)
    assert [member.seen_ for member in blend.members_] == [[], ["group"]]
    with pytest.raises(DataError, match="sensitive_features must be given: Blend"):
        blend.fit(data.X, data.y, qid=data.query_of_rows())


def test_parameters_of_parts_are_reached_by_name():
    blend = Blend([("a", Column(column=1)), ("b", Column())])
    copy = seeded_clone(blend, 7)
    assert [ranker.random_state for _, ranker in copy.rankers] == [7, 7]
    assert [ranker.random_state for _, ranker in blend.rankers] == [None, None]
    copy.set_params(a__column=0, b=Column(column=1), weights=[1, 2])
    assert [ranker.column for _, ranker in copy.rankers] == [0, 1]
    assert clone(copy).weights == [1, 2]
    with pytest.raises(ValueError, match="Invalid parameter 'c__column'"):
        copy.set_params(c__column=1)


@pytest.mark.parametrize(
    ("rankers", "weights", "words"),
    [
        ([], None, "rankers of Blend must be a list of"),
        ([("a", Ridge())], None, "rankers of Blend must be a list of"),
        ([("a", Column()), ("a", Column())], None, "different names"),
        ([("a__b", Column())], None, "different names"),
        ([("a", Column())], [1, 2], "must be 1 numbers, one per ranker"),
        ([("a", Column())], [0], "not all 0"),
        ([("a", Column())], [-1], "weights of Blend must be"),
    ],
)
def test_wrong_parts_are_refused(data, rankers, weights, words):
    with pytest.raises(DataError, match=words):
        Blend(rankers, weights).fit(data)


def test_it_is_saved_with_its_parts(tmp_path):
    data = make_ranking(n_queries=8, n_items=10, random_state=0)
    fair = FairLambdaMART(0.5, step=3, n_estimators=3, n_jobs=1)
    blend = Blend([("fair", fair), ("rules", RankBoost()), ("items", MART(n_estimators=2))])
    blend.fit(data).save(tmp_path / "model")
    loaded = equirank.load(tmp_path / "model")
    assert np.array_equal(loaded.predict(data), blend.predict(data))
    assert [name for name, _ in loaded.rankers] == ["fair", "rules", "items"]
