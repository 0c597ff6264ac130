"""The mixin: pairs that share no item, and the table of bounds of a fitted ranker."""

import numpy as np
import pytest

from equirank import DataError, Ranker, as_ranking_data
from equirank.datasets import make_ranking
from equirank.theory import GeneralizationBounds, margin_bound
from equirank.theory.bounds import EnsembleFacts, KernelFacts
from equirank.theory.generalization_bounds import disjoint_pairs, stump_dimension


class Stump(GeneralizationBounds, Ranker):
    """Two stumps with weights 3 and -1."""

    weak = "stump"

    def _fit(self, data):
        self.threshold_ = np.median(data.X, axis=0)

    def _scores(self, data):
        h = self.threshold_ < data.X
        return 3.0 * h[:, 0] - h[:, 1]

    def _bound_facts(self, data):
        return EnsembleFacts(4.0, 2, self.weak, np.array([0.5, 0.5]))


class Linear(GeneralizationBounds, Ranker):
    """A linear scorer."""

    def _fit(self, data):
        self.coef_ = np.linalg.lstsq(data.X, data.y)[0]

    def _scores(self, data):
        return data.X @ self.coef_

    def _bound_facts(self, data):
        radius = float(np.linalg.norm(data.X, axis=1).max())
        return KernelFacts(float(np.linalg.norm(self.coef_)), radius)


@pytest.mark.parametrize(("features", "dimension"), [(1, 1), (2, 2), (3, 3), (4, 3), (50, 8)])
def test_stump_dimension(features, dimension):
    assert stump_dimension(features) == dimension
    assert 2**dimension <= features * (dimension - 1) + 2
    assert 2 ** (dimension + 1) > features * dimension + 2
    assert stump_dimension(features, missing=True) >= dimension


@pytest.mark.slow
def test_an_ensemble_has_margin_vc_and_training_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 2))
    y = (X[:, 0] + rng.normal(size=40_000) > 0).astype(float)
    model = Stump().fit(X, y, qid=0)
    table = model.generalization_bounds(X, y, delta=0.1)
    assert table["bound"].tolist() == ["margin", "vc", "training"]
    assert not np.isnan(table["value"]).any()
    assert (table["vacuous"] == (table["value"] >= 1)).all()
    assert table["value"][2] == pytest.approx(0.25)
    # the margin bound is at one of its rho what the function gives with margins score / 4
    data = as_ranking_data(X, y)
    better, worse = disjoint_pairs(data, 0)
    margin = (model.predict(X)[better] - model.predict(X)[worse]) / 4.0
    rho = table["rho"][0]
    assert table["empirical"][0] == pytest.approx((margin < rho).mean())
    base = margin_bound(0.0, 0.0, len(margin), rho=rho, delta=0.1, uniform=True)
    assert table["confidence"][0] == pytest.approx(base.confidence)
    assert table["complexity"][0] > base.complexity
    # the true error is below
    fresh = rng.normal(size=(40_000, 2))
    truth = (fresh[:, 0] + rng.normal(size=40_000) > 0).astype(float)
    score = model.predict(fresh)
    wrong = 1 - (score[truth == 1][:2000, None] > score[truth == 0][:2000]).mean()
    assert wrong < table["value"][0] < 1


def test_where_a_bound_does_not_apply_it_is_infinite_and_says_why():
    data = make_ranking(n_queries=10, random_state=0)
    table = Stump().fit(data).generalization_bounds(data)
    assert table["value"][1] == np.inf
    assert table["vacuous"][1]
    assert table["note"][1] == "does not apply: needs one list of two grades"
    kind = type("Feature", (Stump,), {"weak": "feature"})
    table = kind().fit(data).generalization_bounds(data)
    assert table["note"][1] == "does not apply: weak rankers must be binary"


def test_a_linear_ranker_has_kernel_rows():
    data = make_ranking(n_queries=50, random_state=0)
    model = Linear().fit(data)
    table = model.generalization_bounds(data)
    assert table["bound"].tolist() == ["kernel", "rank_svm"]
    better, worse = disjoint_pairs(data, 0)
    score = model.predict(data)
    stored = np.empty(len(score))
    stored[:] = score if data.rows is None else score[data.rows]
    slack = np.maximum(0, 1 - (stored[better] - stored[worse])).mean()
    assert table["empirical"][1] == pytest.approx(slack)


def test_what_is_missing_is_named():
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = (X[:, 0] > 0).astype(float)
    model = Stump().fit(X, y)
    with pytest.raises(DataError, match="y must be an array"):
        model.generalization_bounds(X)
    with pytest.raises(DataError, match="delta of generalization_bounds must be"):
        model.generalization_bounds(X, y, delta=1.0)
    lost = type(
        "Lost", (GeneralizationBounds, Ranker), {k: vars(Stump)[k] for k in ("_fit", "_scores")}
    )
    with pytest.raises(TypeError, match="Lost must define _bound_facts"):
        lost().fit(X, y).generalization_bounds(X, y)
