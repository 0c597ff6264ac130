"""A metric as a scorer: what the estimator and the metric receive, and the sign of the value."""

import numpy as np
import pytest

from equirank import OneListWarning, as_ranking_data
from equirank.core.scorer import predicted_ranking
from equirank.metrics import NDCG, ExposureGap, ndcg
from equirank.rankers import RankBoost

X = np.arange(8.0).reshape(8, 1)
Y = np.array([1, 0, 2, 0, 0, 1, 0, 2])
QID = np.repeat([1, 2], 4)
SEX = np.array(list("abababab"))


class Column:
    """An estimator that predicts its column and keeps what it receives."""

    predict_needs = frozenset({"sensitive_features"})

    def predict(self, X, **given):
        self.given = given
        return -np.asarray(X)[:, 0]


class Last:
    """A pipeline with that estimator at its end."""

    def __init__(self):
        self.steps = [("last", Column())]

    def predict(self, X, **given):
        return self.steps[-1][1].predict(X, **given)


def test_a_value_is_that_of_the_predictions_and_higher_is_better():
    expected = ndcg(Y, -X[:, 0], qid=QID)
    assert NDCG().scorer()(Column(), X, Y, qid=QID) == pytest.approx(expected)
    gap = ExposureGap().scorer()(Column(), X, Y, qid=QID, sensitive_features=SEX)
    ranking = as_ranking_data(y=Y, qid=QID, sensitive_features=SEX, score=-X[:, 0]).ranking()
    assert gap == pytest.approx(-float(np.mean(ExposureGap().per_query(ranking).value)))
    assert gap < 0


@pytest.mark.parametrize("kind", [Column, Last])
def test_an_estimator_receives_what_it_declares_and_nothing_else(kind):
    estimator = kind()
    NDCG().scorer()(estimator, X, Y, qid=QID, sensitive_features=SEX)
    received = estimator.steps[-1][1] if kind is Last else estimator
    assert received.given.keys() == {"sensitive_features"}


def test_groups_are_left_out_of_the_ranking_where_the_metric_needs_none():
    given = {"qid": QID, "sensitive_features": SEX}
    assert predicted_ranking("s", Column(), X, Y, given).data.sensitive.keys()
    assert not predicted_ranking("s", Column(), X, Y, given, groups=False).data.sensitive


def test_rows_without_queries_are_one_list_and_warn():
    rows = X.tolist()  # without a shape
    with pytest.warns(OneListWarning, match="NDCG.*scorer"):
        value = NDCG().scorer()(Column(), rows, Y)
    assert value == pytest.approx(ndcg(Y, -X[:, 0], qid=np.zeros(8)))


def test_data_are_ranked_by_the_ranker_itself():
    data = as_ranking_data(X, Y, qid=QID)
    ranker = RankBoost(3).fit(data)
    assert NDCG().scorer()(ranker, data) == pytest.approx(ndcg(Y, ranker.predict(data), qid=QID))


def test_the_scorer_requests_queries_and_groups_and_costs_only_for_a_metric_of_costs():
    request = ExposureGap().scorer().get_metadata_routing().score.requests
    assert request == {"qid": True, "sensitive_features": True, "cost": False}
