"""explain_pair: known answers, the game against brute force, whatever the input and the ranker."""

from itertools import permutations
from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_ranker import RidgeRanker
from thorough import sized

from equirank import DataError, Ranker, as_ranking_data
from equirank.core import explain_pair as pair_game
from equirank.core.explain_pair import Parts
from equirank.core.pair_explanation import PairExplanation

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 4))
QID = np.repeat([7, 8], 6)
SEX = np.array(list("fmfmfm") * 2)


class Curved(Ranker):
    """Scores that are no sum over features; blind to lists and people."""

    def _fit(self, data):
        self.fitted_ = True

    def _scores(self, data):
        values = np.nan_to_num(data.X.toarray() if sp.issparse(data.X) else data.X, nan=-3.0)
        return np.tanh(values[:, 0] * values[:, 1]) + values.max(axis=1) + values[:, -1] ** 2

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.allow_nan = True
        return tags


class Linear(Curved):
    """A sum over features that says so."""

    def _scores(self, data):
        return data.X @ np.arange(1.0, data.n_features + 1) + 100.0

    def _parts(self, data):
        return Parts.linear(data.X, np.arange(1.0, data.n_features + 1))


class InList(Curved):
    """Looks at the whole list and at people's groups, as it declares."""

    predict_needs: ClassVar = frozenset({"qid", "sensitive_features"})

    def _scores(self, data):
        total = np.add.reduceat(data.X, data.offsets[:-1], axis=0)[data.query_of_rows()]
        lift = np.array([0.5, -2.0])[data.attribute().codes]
        return np.tanh(data.X[:, 0] * total[:, 1]) + lift * data.X[:, 2]


def fitted(kind, n_features=4):
    return kind().fit(np.zeros((4, n_features)), [0, 1, 0, 1])


def value_of(explanation):
    """Contribution by feature."""
    return dict(
        zip(explanation["feature"].tolist(), explanation["contribution"].tolist(), strict=True)
    )


def test_a_linear_model_has_its_terms():
    explanation = fitted(Linear).explain_pair(X, 3, 5)
    wanted = {f"x{j}": (X[3, j] - X[5, j]) * (j + 1) for j in range(4)}
    assert value_of(explanation) == pytest.approx(wanted)
    assert explanation.method == "exact"
    assert isinstance(explanation, PairExplanation)
    size = np.abs(explanation["contribution"])
    assert (np.diff(size) <= 0).all()
    at = explanation["feature"].tolist().index("x2")
    assert (explanation["value_a"][at], explanation["value_b"][at]) == (X[3, 2], X[5, 2])


def test_sparse_features_of_a_linear_model():
    dense = fitted(Linear).explain_pair(X, 3, 5)
    sparse = fitted(Linear).explain_pair(sp.csr_array(X), 3, 5)
    assert value_of(sparse) == pytest.approx(value_of(dense))


def test_the_game_knows_a_linear_model_too():
    model = RidgeRanker().fit(X, SEX == "f")
    explanation = model.explain_pair(X, 0, 1)
    wanted = {f"x{j}": (X[0, j] - X[1, j]) * model.coef_[j] for j in range(4)}
    assert value_of(explanation) == pytest.approx(wanted, abs=1e-12)
    assert explanation.score_a == pytest.approx(model.predict(X)[0])
    assert explanation.score_b == pytest.approx(model.predict(X)[1])


def by_all_orders(score, a, b):
    """Take a's features over into b one after the other, in every order; a slow twin."""
    gains, orders = np.zeros(len(a)), list(permutations(range(len(a))))
    for order in orders:
        row = b.copy()
        for feature in order:
            before = score(row)
            row[feature] = a[feature]
            gains[feature] += score(row) - before
    return gains / len(orders)


@pytest.mark.slow
@settings(max_examples=sized(10, 25))
@given(st.integers(2, 5), st.integers(0, 10**6), st.booleans())
def test_the_game_is_the_mean_over_all_orders(n_features, seed, missing):
    rows = np.random.default_rng(seed).normal(size=(3, n_features)).round(1)
    if missing:
        rows[0, 0] = np.nan
    model = fitted(Curved, n_features)
    explanation = model.explain_pair(rows, 2, 0)
    wanted = by_all_orders(lambda row: model.predict(row[None])[0], rows[2], rows[0])
    found = value_of(explanation)
    np.testing.assert_allclose([found[f"x{j}"] for j in range(n_features)], wanted, atol=1e-12)
    assert explanation["contribution"].sum() == pytest.approx(explanation.difference, abs=1e-12)
    assert explanation.method == "exact"
    assert not explanation["standard_error"].any()


def test_draws_come_near_the_exact_values_within_their_errors(monkeypatch):
    rows = np.random.default_rng(1).normal(size=(2, 9))
    model = fitted(Curved, 9)
    exact = value_of(model.explain_pair(rows, 0, 1))
    monkeypatch.setattr(pair_game, "MOST_EXACT", 3)
    drawn = model.explain_pair(rows, 0, 1, n_draws=2000)
    assert (drawn.method, drawn.n_draws) == ("sampled", 2000)
    apart = np.array([exact[f] for f in drawn["feature"]]) - drawn["contribution"]
    error = drawn["standard_error"]
    assert error.max() > 0
    assert (np.abs(apart) <= 4.5 * error + 1e-12).all()
    assert (np.abs(apart[error > 0]) > 0.02 * error[error > 0]).any()


@pytest.mark.slow
def test_standard_errors_say_how_far_estimates_spread():
    rows = np.random.default_rng(1).normal(size=(2, 12))
    model = fitted(Curved, 12)
    runs = [model.explain_pair(rows, 0, 1, n_draws=30, random_state=s) for s in range(60)]
    for feature in ("x0", "x11"):
        spread = np.std([value_of(run)[feature] for run in runs], ddof=1)
        stated = np.mean([run["standard_error"][run["feature"] == feature] for run in runs])
        assert 0.7 < spread / stated < 1.4


def test_values_missing_from_both_rows_are_equal():
    rows = np.random.default_rng(4).normal(size=(2, 14))
    rows[:, 3:] = np.nan
    explanation = fitted(Curved, 14).explain_pair(rows, 0, 1)
    assert explanation.method == "exact"  # three of fourteen features differ
    assert np.count_nonzero(explanation["contribution"]) <= 3


def test_every_draw_adds_up_turns_round_and_repeats():
    rows = np.random.default_rng(2).normal(size=(2, 30))
    rows[1, 4] = rows[0, 4]
    model = fitted(Curved, 30)
    scores = model.predict(rows)
    for n_draws in (2, 7):
        found = model.explain_pair(rows, 0, 1, n_draws=n_draws)
        assert found["contribution"].sum() == pytest.approx(scores[0] - scores[1], rel=1e-12)
        back = value_of(model.explain_pair(rows, 1, 0, n_draws=n_draws))
        assert {f: -v for f, v in back.items()} == pytest.approx(value_of(found), abs=1e-12)
        assert value_of(found)["x4"] == 0.0
        again = model.explain_pair(rows, 0, 1, n_draws=n_draws)
        assert again.to_dict() == found.to_dict()
    other = model.explain_pair(rows, 0, 1, n_draws=7, random_state=1)
    assert value_of(other) != value_of(found)


def test_small_blocks_change_nothing(monkeypatch):
    rows = np.random.default_rng(3).normal(size=(2, 15))
    model = fitted(Curved, 15)
    found = model.explain_pair(rows, 0, 1, n_draws=3)
    monkeypatch.setattr(pair_game, "BLOCK", 64)
    assert model.explain_pair(rows, 0, 1, n_draws=3).to_dict() == found.to_dict()


def test_lists_and_groups_have_their_part():
    model = fitted(InList)
    explanation = model.explain_pair(X, 8, 7, qid=QID, sensitive_features={"sex": SEX})
    scores = model.predict(X, qid=QID, sensitive_features={"sex": SEX})
    assert explanation.difference == pytest.approx(scores[8] - scores[7])
    assert explanation["contribution"].sum() == pytest.approx(scores[8] - scores[7])
    found = value_of(explanation)
    assert set(found) == {"x0", "x1", "x2", "x3", "sex"}
    # x1 counts through the sum of the list only, which exchanging two rows leaves alone
    assert found["x1"] == pytest.approx(0.0, abs=1e-12)
    assert found["x3"] == pytest.approx(0.0, abs=1e-12)
    lift = {"f": 0.5, "m": -2.0}
    a, b = (X[8, 2], lift["f"]), (X[7, 2], lift["m"])
    assert found["sex"] == pytest.approx((a[1] - b[1]) * (a[0] + b[0]) / 2)
    assert found["x2"] == pytest.approx((a[0] - b[0]) * (a[1] + b[1]) / 2)
    row = explanation["feature"].tolist().index("sex")
    assert (explanation["value_a"][row], explanation["value_b"][row]) == ("f", "m")
    for backend in ("pandas", "polars", "pyarrow"):
        assert len(explanation.to_frame(backend)) == 5


def test_people_are_not_looked_at_unless_declared():
    given = {"qid": QID, "sensitive_features": SEX}
    blind = fitted(Curved).explain_pair(X, 0, 1, **given)
    assert set(blind["feature"]) == {"x0", "x1", "x2", "x3"}
    with pytest.raises(DataError, match="sensitive_features must be given"):
        fitted(InList).explain_pair(X, 0, 1, qid=QID)


def test_rows_are_the_callers_whatever_holds_them():
    model = fitted(Curved)
    mixed = np.array([7, 8] * 6)
    wanted = value_of(model.explain_pair(X, 2, 6))
    names = list("abcd")
    named = {name: wanted[f"x{j}"] for j, name in enumerate(names)}
    data = as_ranking_data(X, qid=mixed)
    assert value_of(model.explain_pair(data, 2, 6)) == pytest.approx(wanted)
    assert value_of(model.explain_pair(X, 2, 6, qid=mixed)) == pytest.approx(wanted)
    assert value_of(model.explain_pair(sp.csr_array(X), 2, 6)) == pytest.approx(wanted)
    assert value_of(model.explain_pair(sp.csr_matrix(X), 2, 6)) == pytest.approx(wanted)
    part = data.select([0])  # rows 0, 2, 4, ... of the whole
    assert value_of(model.explain_pair(part, 1, 3)) == pytest.approx(wanted)
    for library in ("pandas", "polars"):
        kind = pytest.importorskip(library).DataFrame
        frame = kind(dict(zip(names, X.T, strict=True)))
        by_name = Curved().fit(frame, np.arange(12))
        explanation = by_name.explain_pair(frame, 2, 6)
        assert value_of(explanation) == pytest.approx(named)
    single = value_of(model.explain_pair(X.astype(np.float32), 2, 6))
    assert single == pytest.approx(wanted, abs=1e-5)


def test_ids_name_the_items():
    data = as_ranking_data(X, qid=QID, ids=[f"p{at}" for at in range(12)])
    explanation = fitted(Linear).explain_pair(data, 1, 0)
    assert (explanation.a, explanation.b) == ("p1", "p0")
    assert str(explanation).startswith("p1 ranks ")


@pytest.mark.parametrize(
    ("a", "b", "said"),
    [
        (12, 0, "a must be a row number from 0 to 11, got 12"),
        (0, -1, "b must be a row number from 0 to 11, got -1"),
        (True, 0, "a must be a row number"),
        ("p1", 0, "a must be a row number"),
        (0, 1.0, "b must be a row number"),
        (3, 3, "a and b must be two different rows, got 3 twice"),
        (0, 6, "rows of one list, got row 0 of 7 and row 6 of 8"),
    ],
)
def test_bad_rows_are_named(a, b, said):
    with pytest.raises(DataError, match=said):
        fitted(Linear).explain_pair(X, a, b, qid=QID)


def test_too_few_draws_are_refused():
    with pytest.raises(DataError, match="n_draws"):
        fitted(Curved).explain_pair(X, 0, 1, n_draws=1)


def test_equal_rows_have_nothing_to_explain():
    rows = np.ones((2, 4))
    explanation = fitted(Curved).explain_pair(rows, 0, 1)
    assert not explanation["contribution"].any()
    assert explanation.sentences[0] == "Row 0 and row 1 have the same score, 2.762."
