"""A method's description: the same from process to process, different where anything differs."""

import os
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from comparison_methods import Weights, small_data
from scipy.sparse import csr_array
from sklearn.linear_model import Ridge
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from equirank import DataError, QueryKFold, as_ranking_data
from equirank.comparison.cell import seeded_clone
from equirank.comparison.store import cell_key, data_digest, describe, versions
from equirank.costs import ClassImbalanceCost, GroupPairCost
from equirank.metrics import NDCG
from equirank.rankers import RankBoost
from equirank.rerankers import DetGreedy, Reranked

PROGRAM = """
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from equirank import QueryKFold
from equirank.comparison.store import describe
from equirank.comparison.store import cell_key
from equirank.rerankers import DetGreedy, Reranked
from sklearn.model_selection import GridSearchCV
from equirank.metrics import NDCG
model = GridSearchCV(make_pipeline(Reranked(Ridge(), DetGreedy())), {"a": {3, 1}},
                     cv=QueryKFold(2), scoring=(NDCG @ 10).scorer())
print(cell_key({"method": describe(model)}))
"""


@pytest.mark.gate
def test_it_stays_the_same_in_another_process(capsys):
    exec(PROGRAM, {})
    there = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True,
        env=os.environ | {"PYTHONHASHSEED": "5"},
    )  # fmt: skip
    assert there.stdout == capsys.readouterr().out


def adding(number):
    return lambda X: X + number


def test_whatever_differs_is_seen():
    data, X = small_data(), np.arange(6.0)
    different = [
        Ridge(), Ridge(alpha=2), Ridge(alpha="2"), Ridge(alpha=True), Ridge(alpha=1), Weights(),
        make_pipeline(Ridge()), make_pipeline(StandardScaler(), Ridge()), Reranked(Ridge(), None),
        Reranked(Ridge(), DetGreedy()), Reranked(Ridge(), DetGreedy(k=3)),
        GridSearchCV(Ridge(), {"alpha": [1]}), GridSearchCV(Ridge(), {"alpha": [2]}),
        GridSearchCV(Ridge(), {}, cv=QueryKFold(2)), GridSearchCV(Ridge(), {}, cv=QueryKFold(3)),
        GridSearchCV(Ridge(), {}, scoring=(NDCG @ 10).scorer()),
        GridSearchCV(Ridge(), {}, scoring=(NDCG @ 5).scorer()),
        GridSearchCV(Ridge(), {}, scoring=make_scorer(np.mean)),
        GridSearchCV(Ridge(), {}, scoring=make_scorer(np.mean, greater_is_better=False)),
        FunctionTransformer(np.log), FunctionTransformer(np.exp),
        FunctionTransformer(adding(1)), FunctionTransformer(adding(2)),
        FunctionTransformer(lambda X: X * 2), FunctionTransformer(lambda X: X * 3),
        FunctionTransformer(lambda X, a=1: X), FunctionTransformer(lambda X, a=2: X),
        FunctionTransformer(partial(np.add, 1)), FunctionTransformer(partial(np.add, 2)),
        FunctionTransformer(data.to_original), FunctionTransformer(data.select),
        RankBoost(pair_cost=ClassImbalanceCost()),
        RankBoost(pair_cost=GroupPairCost({("f", "m"): 2.0})),
        Weights(noise=X), Weights(noise=X[:5]), Weights(noise=X.astype(np.float32)),
        Weights(noise=csr_array(X[None])), Weights(noise=data), Weights(noise=data.select([0])),
        Weights(noise=np.array(["a"])), Weights(noise=np.array(["a"], dtype=object)),
        Weights(noise={"a": 1}), Weights(noise={"a": 2}), Weights(noise=(1,)), Weights(noise=[1]),
        Weights(noise={1}), Weights(noise=Ridge), Weights(noise=None), Weights(noise=float("nan")),
        Weights(noise=np.float64(1)), Weights(noise=NDCG @ 10), Weights(noise=NDCG @ 5),
    ]  # fmt: skip
    keys = [cell_key({"method": describe(each)}) for each in different]
    again = [cell_key({"method": describe(each)}) for each in different]
    assert len(set(keys)) == len(keys)
    assert keys == again


def test_frames_are_told_apart():
    pandas = pytest.importorskip("pandas")
    frames = [pandas.DataFrame({"a": [1, 2]}), pandas.DataFrame({"b": [1, 2]}),
              pandas.DataFrame({"a": [1, 3]})]  # fmt: skip
    assert len({repr(describe(Weights(noise=frame))) for frame in frames}) == 3


def test_what_has_no_stable_form_is_named():
    with pytest.raises(DataError, match=r"estimator\.noise must have a stable form"):
        describe(Weights(noise=object()))
    with pytest.raises(DataError, match=r"estimator\.noise\[1\] must have a stable form"):
        describe(Weights(noise=[1, (i for i in range(3))]))


def test_versions_are_those_of_the_packages_named():
    import sklearn

    import equirank

    found = versions(describe(make_pipeline(Ridge(), Weights())))
    assert found["equirank"] == equirank.__version__
    assert found["sklearn"] == sklearn.__version__


def test_all_of_the_data_counts():
    data = small_data()
    assert data_digest(data) == data_digest(small_data())
    assert data_digest(data) != data_digest(data.select(slice(0, 11)))
    X = np.zeros((1100, 2000), dtype=np.float32)
    large = [as_ranking_data(X, np.ones(1100))]
    X = X.copy()
    X[0, 1] = 1.0  # between the values that a fingerprint looks at
    large.append(as_ranking_data(X, np.ones(1100)))
    assert large[0].fingerprint() == large[1].fingerprint()
    assert data_digest(large[0]) != data_digest(large[1])


def test_every_seed_is_set_on_a_clone():
    noisy = Weights(random_state=5)
    cases = [
        (noisy, lambda m: [m.random_state]),
        (make_pipeline(StandardScaler(), noisy), lambda m: [m["weights"].random_state]),
        (Reranked(noisy, DetGreedy()), lambda m: [m.estimator.random_state]),
        (
            GridSearchCV(noisy, {}, cv=QueryKFold(2, shuffle=True)),
            lambda m: [m.estimator.random_state, m.cv.random_state],
        ),
    ]
    for model, seeds in cases:
        before = repr(model.get_params())
        assert set(seeds(seeded_clone(model, 7))) == {7}
        assert repr(model.get_params()) == before
    still = GridSearchCV(noisy, {}, cv=QueryKFold(2))
    assert seeded_clone(still, 7).cv.random_state is None
