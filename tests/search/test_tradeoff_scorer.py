"""Relevance and fairness in one number, for scikit-learn's searches."""

import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.model_selection import HalvingGridSearchCV

from equirank import DataError, QueryKFold, evaluate
from equirank.datasets import make_ranking
from equirank.metrics import NDCG, RND
from equirank.rankers import DirectRanker
from equirank.search import TradeoffScorer

DATA = make_ranking(n_queries=16, n_items=12, feature_bias=1.0, random_state=0)
OTHER = make_ranking(n_queries=8, n_items=12, feature_bias=1.0, random_state=1)
RANKER = DirectRanker("flipped", layers=(4,), n_epochs=3, learning_rate=0.02, random_state=0)


def worth(ranker, data):
    found = evaluate(ranker.rank(data), metrics=["NDCG", "RND(step=4)"])
    return float(found["NDCG"]), float(found["RND(step=4)"])


def test_the_scorer_works_in_a_halving_search():
    given = {"qid": DATA.query_of_rows(), "sensitive_features": DATA.attribute("group").codes}
    with config_context(enable_metadata_routing=True):
        search = HalvingGridSearchCV(
            RANKER,
            {"gamma": [0.1, 0.5, 1.0]},
            scoring=TradeoffScorer("NDCG", "RND(step=4)"),
            cv=QueryKFold(2),
            resource="n_epochs",
            min_resources=1,
            max_resources=3,
            random_state=0,
        ).fit(DATA.X, DATA.y, **given)
    assert 0.0 < search.best_score_ < 1.0


def test_the_scorer_weighs_and_says_what_it_is():
    ranker = clone(RANKER).fit(DATA)
    good, bad = worth(ranker, OTHER)
    for weight in (0.0, 0.3, 1.0):
        scorer = TradeoffScorer(NDCG(), RND(step=4), weight)
        assert scorer(ranker, OTHER) == pytest.approx(weight * good + (1 - weight) * (1 - bad))
    arrays = (OTHER.X, OTHER.y)
    given = {"qid": OTHER.query_of_rows(), "sensitive_features": OTHER.attribute("group").codes}
    scorer = TradeoffScorer("NDCG", "RND(step=4)")
    assert scorer.values(ranker, *arrays, **given) == pytest.approx((good, bad))
    assert repr(scorer) == "TradeoffScorer('NDCG', 'RND(step=4)', 0.5)"
    with pytest.raises(DataError, match="relevance must be a metric of which higher is better"):
        TradeoffScorer("RND")
    with pytest.raises(DataError, match="weight of TradeoffScorer must be"):
        TradeoffScorer(weight=2.0)
