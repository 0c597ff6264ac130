"""What every transformer of the room must hold; walks the public list."""

import inspect
import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import equirank
from equirank import DataError, as_ranking_data, preprocess
from equirank.testing import with_groups

SMALL = {"n_prototypes": 3, "n_init": 1, "max_iter": 15, "random_state": 0}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
GROUPS = np.where(X[:, 2] + RNG.normal(size=60) > 0, "a", "b")
Y = np.abs(X[:, 0] + X[:, 1])


def accept(order):
    return True


class GroupOfFirstColumn(preprocess.CausalFairScores):
    """Derives its groups from the first column, for scikit-learn's checks only."""

    @staticmethod
    def groups(X):
        try:
            matrix = np.asarray(X.toarray() if hasattr(X, "toarray") else X)
            column = matrix[:, 0].astype(float) if matrix.dtype.kind != "c" else None
        except (TypeError, ValueError, IndexError):
            return None
        if column is None or len(column) == 0:
            return None
        return {"group": np.where(column > 0, "high", "low")}

    def fit(self, X, y=None):
        groups = self.groups(X)
        if groups is not None and len(set(groups["group"])) == 1:
            groups["group"][0] = "alone"
        return super().fit(X, sensitive_features=groups)

    def transform(self, X):
        return super().transform(X, sensitive_features=self.groups(X))

    def fit_transform(self, X, y=None):
        return self.fit(X).transform(X)


TINY = {**SMALL, "max_iter": 2, "n_prototypes": 2}
CHECKED = {
    "IFair": preprocess.IFair(**TINY),
    "LearnedFairRepresentation": with_groups(preprocess.LearnedFairRepresentation(**TINY)),
    "FairScoringWeights": preprocess.FairScoringWeights(
        accept, n_samples=10, n_refine=5, random_state=0
    ),
    "CausalFairScores": GroupOfFirstColumn([("group", "x0")]),
}
ORACLE = preprocess.PrefixSharesOracle(k=(5, 10), low=0.3, protected="b")
FITTED = {
    "IFair": preprocess.IFair(protected=[2], **SMALL),
    "LearnedFairRepresentation": preprocess.LearnedFairRepresentation(**SMALL),
    "FairScoringWeights": preprocess.FairScoringWeights(
        ORACLE, weights=[1, 1, 2], n_samples=20, n_refine=5, random_state=0
    ),
    "CausalFairScores": preprocess.CausalFairScores(
        [("sex", "x0"), ("x0", "x1"), ("sex", "x1")], resolving=["x0"], reference="a"
    ),
}
#: What transform needs beside X.
LATER = {"CausalFairScores": {"sensitive_features": {"sex": GROUPS}}}


def fitted(name):
    given = {} if name == "IFair" else {"sensitive_features": {"sex": GROUPS}}
    return clone(FITTED[name]).fit(X, Y, **given)


def test_every_transformer_is_walked():
    public = {
        name
        for name in preprocess.__all__
        if inspect.isclass(getattr(preprocess, name)) and hasattr(getattr(preprocess, name), "fit")
    }
    assert public == set(CHECKED) == set(FITTED)


@pytest.mark.slow
@pytest.mark.parametrize("name", CHECKED)
def test_scikit_learns_own_checks(name):
    check_estimator(CHECKED[name], on_skip=None)


@pytest.mark.parametrize("name", FITTED)
def test_fitting_repeats_and_leaves_parameters(name):
    model = fitted(name)
    before = repr(FITTED[name].get_params())
    result = model.transform(X, **LATER.get(name, {}))
    assert np.isfinite(result).all()
    np.testing.assert_array_equal(result, fitted(name).transform(X, **LATER.get(name, {})))
    assert repr(model.get_params()) == before
    assert len(model.get_feature_names_out()) == result.shape[1]


@pytest.mark.parametrize("name", FITTED)
def test_save_and_load_and_pickle_keep_everything(name, tmp_path):
    model = fitted(name)
    result = model.transform(X, **LATER.get(name, {}))
    model.save(tmp_path / "model")
    assert {path.suffix for path in (tmp_path / "model").iterdir()} <= {".json", ".npz"}
    back = equirank.load(tmp_path / "model")
    assert type(back) is type(model)
    np.testing.assert_array_equal(back.transform(X, **LATER.get(name, {})), result)
    assert repr(back.get_params()) == repr(model.get_params())
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(X, **LATER.get(name, {})), result)


@pytest.mark.parametrize("name", FITTED)
def test_bad_parameters_are_named(name):
    for parameter in type(FITTED[name]).params:
        bad = clone(FITTED[name]).set_params(**{parameter: object()})
        with pytest.raises(DataError, match=parameter):
            bad.fit(X, Y)


@pytest.mark.parametrize("name", ["IFair", "LearnedFairRepresentation", "FairScoringWeights"])
def test_constant_columns_are_named(name):
    flat = X.copy()
    flat[:, 1] = 3.0
    given = {} if name == "IFair" else {"sensitive_features": GROUPS}
    with pytest.raises(DataError, match=r"constant column.*'x1'"):
        clone(FITTED[name]).fit(flat, Y, **given)


@pytest.mark.parametrize("name", ["IFair", "LearnedFairRepresentation", "FairScoringWeights"])
def test_ranking_data_is_taken_as_it_is_and_rows_come_back_in_order(name):
    qid = np.arange(60) % 3  # the data is sorted by query, the result is not
    if name == "FairScoringWeights":
        qid = np.zeros(60)  # weights are searched on one list
    data = as_ranking_data(X, Y, qid=qid, sensitive_features={"sex": GROUPS})
    from_data = clone(FITTED[name]).fit(data)
    np.testing.assert_allclose(from_data.transform(data), fitted(name).transform(X), atol=1e-12)
    short = as_ranking_data(X[:, :2], Y)
    with pytest.raises(DataError, match="2 features"):
        from_data.transform(short)


def test_weights_are_searched_on_one_list():
    data = as_ranking_data(X, Y, qid=np.arange(60) % 3, sensitive_features={"sex": GROUPS})
    with pytest.raises(DataError, match="one list to search weights on, got 3 queries"):
        clone(FITTED["FairScoringWeights"]).fit(data)
    fitted_on_one = fitted("FairScoringWeights")
    assert fitted_on_one.rank(data).data.n_queries == 3


def test_ranking_data_brings_scores_and_groups_to_the_causal_model():
    qid = np.arange(60) % 3
    data = as_ranking_data(X[:, :1], Y, qid=qid, sensitive_features={"sex": GROUPS})
    dag = [("sex", "x0"), ("x0", "points"), ("sex", "points")]
    model = preprocess.CausalFairScores(dag, reference="a").fit(data)
    plain = preprocess.CausalFairScores(dag, reference="a").fit(
        {"sex": GROUPS, "x0": X[:, 0], "points": Y}
    )
    wanted = plain.transform({"sex": GROUPS, "x0": X[:, 0], "points": Y})
    np.testing.assert_allclose(model.transform(data), wanted)
    assert model.rank(data).data.n_queries == 3


def test_sensitive_features_are_routed_through_a_pipeline():
    with sklearn.config_context(enable_metadata_routing=True):
        line = make_pipeline(StandardScaler(), clone(FITTED["LearnedFairRepresentation"]))
        result = line.fit(X, Y, sensitive_features=GROUPS).transform(X)
        assert result.shape == (60, 3)
        causal = clone(FITTED["CausalFairScores"])
        groups = {"sex": GROUPS}
        both = causal.fit_transform(X, sensitive_features=groups)
    np.testing.assert_array_equal(both, causal.transform(X, sensitive_features=groups))


def test_names_of_columns_and_frames_are_kept():
    import pandas as pd

    frame = pd.DataFrame(X, columns=["age", "test", "sex"])
    model = preprocess.IFair(protected="sex", **SMALL).set_output(transform="pandas").fit(frame)
    assert list(model.transform(frame).columns) == ["age", "test", "sex"]
    np.testing.assert_allclose(
        model.transform(frame), preprocess.IFair(protected=2, **SMALL).fit_transform(X)
    )
    with pytest.raises(DataError, match="did you mean 'sex'"):
        preprocess.IFair(protected="sx", **SMALL).fit(frame)
    with pytest.raises(DataError, match="'town'"):
        preprocess.IFair(**SMALL).fit(frame.assign(town="here"))
