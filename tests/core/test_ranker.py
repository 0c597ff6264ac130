"""Ranker: the scikit-learn face, what it hides from its class, and the caller's row order."""

import warnings
from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from reference_ranker import GroupRidgeRanker, NoisyRanker, RidgeRanker
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from equirank import DataError, OneListWarning, Ranker, Ranking, as_ranking_data
from equirank.metrics import NDCG, ExposureGap, ndcg
from equirank.rerankers import DetGreedy, Reranked
from equirank.search import TradeoffSearch
from equirank.testing.ranker_checks import with_groups

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
Y = np.clip(np.round(X[:, 0] + 1), 0, 3)
QID = RNG.permutation(np.arange(30) % 5)
PEOPLE = np.where(X[:, 1] > 0, "f", "m")


class Spy(RidgeRanker):
    """Remembers what it was shown."""

    fit_needs: ClassVar = frozenset({"qid"})

    def _fit(self, data):
        super()._fit(data)
        self.seen = data

    def _scores(self, data):
        self.asked = data
        return data.X[:, 0]


class BlindToLists(Spy):
    """Does not declare qid."""

    fit_needs: ClassVar = frozenset()


class SeesAll(Spy):
    """Declares everything."""

    fit_needs: ClassVar = frozenset({"qid", "sensitive_features", "cost", "query_weight"})
    predict_needs: ClassVar = frozenset({"qid", "sensitive_features"})


class SparseRidge(RidgeRanker):
    """Takes CSR and missing values."""

    def _fit(self, data):
        self.format_ = getattr(data.X, "format", "dense")
        self.kind_ = str(data.X.dtype)

    def _scores(self, data):
        return np.asarray(data.X.sum(axis=1)).ravel()

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


@parametrize_with_checks([RidgeRanker(), with_groups(GroupRidgeRanker())])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


# fit and predict


def test_fit_gives_itself_and_keeps_its_parameters():
    model = RidgeRanker(penalty=2)
    assert model.fit(X, Y, qid=QID) is model
    assert model.get_params() == {"penalty": 2}
    assert model.n_features_in_ == 3
    assert clone(model).get_params() == {"penalty": 2}
    assert not hasattr(clone(model), "coef_")


def test_scores_come_back_in_the_callers_rows():
    model = RidgeRanker().fit(X, Y, qid=QID)
    direct = (X - model.mean_) @ model.coef_
    np.testing.assert_allclose(model.predict(X), direct, rtol=1e-12)
    np.testing.assert_allclose(model.predict(X, qid=QID), direct, rtol=1e-12)
    data = as_ranking_data(X, qid=QID)
    assert data.rows is not None
    np.testing.assert_allclose(model.predict(data), direct, rtol=1e-12)
    assert model.predict(X.astype(np.float32)).dtype == np.float64


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_are_taken_and_their_names_checked(library):
    frame = pytest.importorskip(library).DataFrame
    table = frame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2]})
    model = RidgeRanker().fit(table, Y, qid=QID)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(model.predict(table), RidgeRanker().fit(X, Y, qid=QID).predict(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame({"a": X[:, 0], "z": X[:, 1], "c": X[:, 2]}))


def test_ranking_data_in_place_of_arrays():
    import pandas as pd

    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    data = as_ranking_data(frame, Y, qid=QID, sensitive_features=PEOPLE)
    model = RidgeRanker().fit(data)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert model.data_fingerprint_
    np.testing.assert_allclose(model.predict(data), RidgeRanker().fit(X, Y).predict(X))
    with pytest.raises(DataError, match="needs X and y to fit"):
        RidgeRanker().fit(as_ranking_data(X))
    with pytest.raises(DataError, match="needs X and y to fit"):
        RidgeRanker().fit(as_ranking_data(None, Y))
    with pytest.raises(ValueError, match=r"X has 2 features, but RidgeRanker is expecting 3"):
        model.predict(as_ranking_data(X[:, :2]))
    with pytest.raises(ValueError, match=r"X has 2 features, but RidgeRanker is expecting 3"):
        RidgeRanker().fit(X, Y).predict(X[:, :2])


def test_feature_names_of_ranking_data_are_checked_too():
    import pandas as pd

    model = RidgeRanker().fit(as_ranking_data(pd.DataFrame(X, columns=["a", "b", "c"]), Y))
    renamed = as_ranking_data(pd.DataFrame(X, columns=["a", "z", "c"]))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(renamed)


def test_arguments_beside_ranking_data_are_not_dropped_in_silence():
    data = as_ranking_data(X, Y, qid=QID)
    for given in ({"qid": QID}, {"sensitive_features": PEOPLE}, {"y": Y}):
        with pytest.raises(DataError, match=next(iter(given))):
            RidgeRanker().fit(data, **given)
        with pytest.raises(DataError, match=next(iter(given))):
            as_ranking_data(data, **given)


def test_sparse_features_reach_a_ranker_that_takes_them():
    model = SparseRidge().fit(sp.csc_array(X.astype(np.float32)), Y, qid=QID)
    assert (model.format_, model.kind_) == ("csr", "float32")
    np.testing.assert_allclose(model.predict(sp.csr_array(X)), X.sum(axis=1))
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        RidgeRanker().fit(sp.csr_array(X), Y)
    missing = np.where(X > 1.5, np.nan, X)
    assert SparseRidge().fit(missing, Y).kind_ == "float64"
    with pytest.raises(ValueError, match="NaN"):
        RidgeRanker().fit(missing, Y)


def test_predicting_before_fitting_is_an_error():
    for call in ("predict", "rank", "score"):
        with pytest.raises(NotFittedError):
            getattr(RidgeRanker(), call)(X)


@pytest.mark.parametrize("penalty", [0, -1, "much", None, float("nan")])
def test_parameters_are_checked_in_fit(penalty):
    model = RidgeRanker(penalty=penalty)
    with pytest.raises(DataError, match="penalty of RidgeRanker must be a number > 0"):
        model.fit(X, Y)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"y": [-1.0] + [0] * 29}, "y must be .* row 0"),
        ({"y": [0] * 29 + [np.nan]}, "y must be .* row 29"),
        ({"y": [0] * 28 + ["good", 0]}, "y must be .* row 28"),
        ({"qid": QID[:5]}, "qid must have"),
        ({"y": Y[:5]}, "inconsistent"),
        ({"y": None}, "y"),
    ],
)
def test_bad_input_to_fit_is_named(changes, words):
    given = {"X": X, "y": Y, "qid": QID} | changes
    with pytest.raises(ValueError, match=words):
        RidgeRanker().fit(**given)


def test_bad_metadata_that_is_not_needed_is_not_read():
    RidgeRanker().fit(X, Y, qid=QID, sensitive_features=["f"], cost=[-1])


def test_what_a_ranker_needs_and_lacks_is_named():
    with pytest.raises(DataError, match="sensitive_features must be given: GroupRidgeRanker"):
        GroupRidgeRanker().fit(X, Y, qid=QID)
    with pytest.raises(DataError, match="cost must be given: SeesAll needs it to fit"):
        SeesAll().fit(X, Y, qid=QID, sensitive_features=PEOPLE)
    model = SeesAll().fit(X, Y, qid=QID, sensitive_features=PEOPLE, cost=np.ones(30))
    with pytest.raises(DataError, match="sensitive_features must be given: SeesAll"):
        model.predict(X)


# what is hidden

ALL = {"qid": QID, "sensitive_features": PEOPLE, "cost": np.ones(30), "query_weight": np.ones(30)}


def everything():
    score, position = np.arange(30.0), np.ones(30)
    return as_ranking_data(X, Y, **ALL, score=score, position=position)


@pytest.mark.parametrize("as_data", [True, False])
def test_a_ranker_sees_only_what_it_declares_when_fitting(as_data):
    def fit(kind):
        return (kind().fit(everything()) if as_data else kind().fit(X, Y, **ALL)).seen

    seen = fit(Spy)
    assert seen.sensitive == {}
    assert seen.cost is None
    assert seen.query_weight is None
    assert seen.score is None
    assert seen.position is None
    assert seen.n_queries == 5
    full = fit(SeesAll)
    assert list(full.sensitive) == ["sensitive"]
    assert full.cost is not None
    assert full.query_weight is not None
    assert full.score is None
    assert full.position is None


@pytest.mark.parametrize("as_data", [True, False])
def test_a_ranker_sees_only_what_it_declares_when_predicting(as_data):
    given = (everything(),) if as_data else (X, Y)
    later = {} if as_data else {"qid": QID, "sensitive_features": PEOPLE}
    spy = Spy().fit(X, Y, qid=QID)
    full = SeesAll().fit(X, Y, **ALL)
    for model, sees in ((spy, False), (full, True)):
        model.predict(*given[:1], **later)
        ranking = model.rank(*given, **later)
        assert model.asked.y is None
        assert model.asked.cost is None
        assert model.asked.score is None
        assert model.asked.position is None
        assert bool(model.asked.sensitive) == sees
        assert ranking.data.y is not None
        assert ranking.data.sensitive


def test_lists_are_hidden_from_a_ranker_that_does_not_declare_them():
    assert BlindToLists().fit(X, Y, qid=QID).seen.n_queries == 1
    spy = Spy().fit(X, Y, qid=QID)
    spy.predict(X, qid=QID)
    assert spy.asked.n_queries == 1
    assert np.array_equal(spy.predict(X, qid=QID), X[:, 0])
    full = SeesAll().fit(X, Y, **ALL)
    full.predict(X, qid=QID, sensitive_features=PEOPLE)
    assert full.asked.n_queries == 5


# rank and score


def test_rank_orders_each_list_by_the_scores():
    model = RidgeRanker().fit(X, Y, qid=QID)
    ranking = model.rank(X, Y, qid=QID, sensitive_features=PEOPLE)
    assert isinstance(ranking, Ranking)
    scores = model.predict(X)
    for query in range(5):
        rows = np.flatnonzero(query == QID)
        assert ranking.order(query).tolist() == rows[np.argsort(-scores[rows])].tolist()
    assert model.rank(X).data.n_queries == 1


def test_score_is_the_mean_ndcg_at_10():
    model = RidgeRanker().fit(X, Y, qid=QID)
    expected = ndcg(Y, model.predict(X), qid=QID, k=10)
    assert model.score(X, Y, qid=QID) == pytest.approx(expected, rel=1e-12)
    assert model.score(X, Y, sample_weight=np.ones(30), qid=QID) == model.score(X, Y, qid=QID)
    one_list = ndcg(Y, model.predict(X), k=10)
    assert model.score(X, Y, qid=0) == pytest.approx(one_list, rel=1e-12)
    with pytest.raises(DataError, match="relevance"):
        model.score(X, qid=QID)


# a forgotten qid

MANY = RNG.normal(size=(1001, 3))
GRADES = np.clip(np.round(MANY[:, 0] + 1), 0, 3)


def one_list_warnings(work):
    """The messages of the warnings, each of which must point to this file."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        work()
    assert all(each.category is OneListWarning for each in caught)
    assert {each.filename for each in caught} <= {__file__}
    return [str(each.message) for each in caught]


def test_many_rows_without_qid_warn_once_per_call():
    model = Spy()
    advice = "; pass the list of each row as qid, or qid=0 if they are one list"
    few, grades = MANY[:201], GRADES[:201]
    for work, name, n_rows in [
        (lambda: model.fit(few, grades), "Spy.fit", "201"),
        (lambda: model.score(few, grades), "Spy.score", "201"),
        (lambda: model.rank(few, grades), "Spy.rank", "201"),
        (lambda: model.rank(MANY), "Spy.rank", "1,001"),
        (lambda: NDCG().scorer()(model, few[:2], grades[:2]), "NDCG.scorer()", "2"),
    ]:
        assert one_list_warnings(work) == [
            f"qid was not given: {name} takes all {n_rows} rows as one list{advice}"
        ]
    assert one_list_warnings(lambda: model.predict(MANY)) == []  # each row has its own score


def test_one_list_is_stated_or_short():
    few, grades, model = MANY[:200], GRADES[:200], Spy()
    data = as_ranking_data(MANY, GRADES)
    for work in [
        lambda: model.fit(few, grades).score(few, grades),
        lambda: model.fit(data).score(data),
        lambda: model.fit(MANY, GRADES, qid=0).score(MANY, GRADES, qid=0),
        lambda: model.rank(MANY, qid=np.int64(7)),
        lambda: model.rank(MANY[:1000]),
        lambda: model.rank(few, grades),
        lambda: BlindToLists().fit(MANY, GRADES),
    ]:
        assert one_list_warnings(work) == []
    np.testing.assert_array_equal(
        model.rank(MANY, qid=0).position, model.rank(MANY, qid=np.zeros(1001)).position
    )
    assert model.rank(MANY, qid=7).data.qids.tolist() == [7]
    with pytest.raises(DataError, match="qid must be an array, got the name 'vacancy'"):
        model.rank(MANY, qid="vacancy")
    with pytest.raises(DataError, match="qid must be one-dimensional"):
        model.rank(MANY, qid=True)


@pytest.mark.parametrize("needs", [{"qid"}, set()])
def test_after_several_lists_any_score_without_qid_warns(needs):
    class Mine(Spy):
        fit_needs = frozenset(needs)

    few, grades, lists = MANY[:200], GRADES[:200], np.arange(200) % 10
    model = Mine()
    for given in (
        (few, grades, {"qid": lists}),
        (as_ranking_data(few, grades, qid=lists), None, {}),
    ):
        model.fit(*given[:2], **given[2])
        assert model.n_lists_ == 10
        assert one_list_warnings(lambda: model.score(few[:2], grades[:2])) == [
            "qid was not given: Mine.score takes all 2 rows as one list; pass the list of each row "
            "as qid, or qid=0 if they are one list"
        ]
        assert one_list_warnings(lambda: model.score(few[:2], grades[:2], qid=0)) == []
    model.fit(few, grades, qid=0)
    assert one_list_warnings(lambda: model.score(few, grades)) == []


def test_predictions_that_depend_on_lists_warn_of_one():
    model = Reranked(Spy(), DetGreedy()).fit(MANY, GRADES, qid=0)
    people = np.where(MANY[:, 1] > 0, "f", "m")
    for name, work in {
        "predict": lambda: model.predict(MANY, sensitive_features=people),
        "rank": lambda: model.rank(MANY, sensitive_features=people),
        "score": lambda: model.score(MANY, GRADES, sensitive_features=people),
        "explain_pair": lambda: model.explain_pair(MANY, 0, 1, sensitive_features=people),
    }.items():
        (said,) = one_list_warnings(work)
        assert said.startswith(f"qid was not given: Reranked.{name} takes all 1,001 rows")
    (said,) = one_list_warnings(lambda: Reranked(Spy(), DetGreedy()).fit(MANY, GRADES))
    assert "Reranked.fit" in said


def test_scorers_and_searches_warn_of_one_list():
    model, people = Spy().fit(MANY, GRADES, qid=0), np.where(MANY[:, 1] > 0, "f", "m")
    (said,) = one_list_warnings(lambda: NDCG(k=5).scorer()(model, MANY, GRADES))
    assert said.startswith("qid was not given: NDCG@5.scorer() takes")
    assert one_list_warnings(lambda: NDCG(k=5).scorer()(model, MANY, GRADES, qid=0)) == []
    search = TradeoffSearch(RidgeRanker(), {"penalty": [1.0]}, random_state=0)
    (said,) = one_list_warnings(lambda: search.fit(MANY, GRADES, sensitive_features=people))
    assert "TradeoffSearch.fit" in said


def test_draws_of_a_stochastic_ranker():
    model = NoisyRanker().fit(X, Y, qid=QID)
    ranking = model.rank(X, Y, qid=QID, n_draws=4, random_state=3)
    assert ranking.n_draws == 4
    again = model.rank(X, Y, qid=QID, n_draws=4, random_state=3)
    assert np.array_equal(ranking.position, again.position)
    other = model.rank(X, Y, qid=QID, n_draws=4, random_state=4)
    assert not np.array_equal(ranking.position, other.position)
    for draw in range(4):
        assert sorted(ranking.order(2, draw=draw)) == np.flatnonzero(QID == 2).tolist()
    assert model.rank(X, qid=QID).n_draws == 1


@pytest.mark.parametrize("n_draws", [0, -1, 1.5, "many"])
def test_a_bad_number_of_draws_is_refused(n_draws):
    with pytest.raises(DataError, match="n_draws"):
        NoisyRanker().fit(X, Y).rank(X, n_draws=n_draws, random_state=0)


def test_a_deterministic_ranker_has_no_draws():
    with pytest.raises(DataError, match=r"n_draws of RidgeRanker\.rank must be None, got"):
        RidgeRanker().fit(X, Y).rank(X, n_draws=2)


# declarations


def test_requests_follow_from_the_declared_needs():
    blind = RidgeRanker().get_metadata_routing()
    assert blind.fit.requests == {
        "qid": True,
        "sensitive_features": False,
        "cost": False,
        "query_weight": False,
    }
    assert blind.predict.requests == {"qid": False, "sensitive_features": False}
    assert blind.score.requests["qid"] is True
    assert blind.score.requests["sensitive_features"] is False
    assert GroupRidgeRanker().get_metadata_routing().fit.requests["sensitive_features"] is True
    full = SeesAll().get_metadata_routing()
    assert all(full.fit.requests.values())
    assert full.predict.requests == {"qid": True, "sensitive_features": True}
    assert full.score.requests["sensitive_features"] is True


def test_relevance_is_positive_and_needed():
    tags = RidgeRanker().__sklearn_tags__()
    assert tags.target_tags.positive_only
    assert tags.target_tags.required


def test_the_base_is_abstract():
    with pytest.raises(TypeError, match="_fit"):
        Ranker().fit(X, Y)

    class Half(Ranker):
        """Fits but does not score."""

        def _fit(self, data):
            pass

    with pytest.raises(TypeError, match="_scores"):
        Half().fit(X, Y).predict(X)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_ranking_data_with_features_that_are_no_numbers_is_refused(bad):
    values = np.array(X, dtype=float)
    values[4, 1] = bad
    order = np.argsort(QID, kind="stable")[::-1]
    data = as_ranking_data(values[order], np.asarray(Y)[order], qid=np.asarray(QID)[order])
    row = int(np.flatnonzero(order == 4)[0])
    with pytest.raises(DataError, match=rf"X must hold finite numbers.*row {row}$"):
        RidgeRanker().fit(data)
    fitted = RidgeRanker().fit(X, Y)
    with pytest.raises(DataError, match=rf"row {row}$"):
        fitted.predict(as_ranking_data(values[order]))


def test_a_short_list_to_predict_may_have_the_groups_of_fit():
    draw = np.random.default_rng(0)
    groups = [f"g{at % 25}" for at in range(300)]
    given = {"cost": np.ones(300), "query_weight": np.ones(300)}
    rows, lists = draw.normal(size=(300, 2)), np.arange(300) // 30
    model = SeesAll().fit(rows, np.arange(300) % 3, qid=lists, sensitive_features=groups, **given)
    few = {"qid": lists[:30], "sensitive_features": groups[:30]}
    assert len(model.predict(rows[:30], **few)) == 30
    scorer = ExposureGap().scorer()
    assert np.isfinite(scorer(model, rows[:30], np.arange(30) % 3, **few))
