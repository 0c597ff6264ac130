"""A small search for alternatives, which other processes can import."""

from comparison_methods import Failing, Weights

from equirank.datasets import make_ranking
from equirank.search import Family, search_alternatives

METRICS = ["NDCG@5", "ExposureGap"]
RULE = "NDCG@5 >= baseline - 0.05"


def data(n_queries=30):
    return make_ranking(n_queries=n_queries, n_items=8, feature_bias=1.0, random_state=0)


def families():
    return {
        "weights": Family(Weights(), {"noise": {"low": 0.0, "high": 0.5}}),
        "path": Family(Weights(), path={"noise": [0.0, 0.1, 0.2]}),
        "broken": Family(Failing(), weight=0.2),
    }


def search(store=None, **options):
    options = {"n_trials": 12, "steered": 2, "store": store} | options
    return search_alternatives(families(), data(), METRICS, RULE, **options)


def document(result):
    return result.to_dict() | {"provenance": None}
