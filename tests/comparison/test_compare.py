"""compare: folds, cells, chance, errors, and equal numbers however it is run."""

import warnings

import joblib
import numpy as np
import pytest
import sklearn
from comparison_methods import METRICS, Failing, Weights, small_data, values
from joblib.externals.loky.process_executor import TerminatedWorkerError
from reference_ranker import GroupRidgeRanker
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from equirank import (
    DataError,
    NoHeadroomWarning,
    QueryKFold,
    Ranker,
    Ranking,
    as_ranking_data,
    compare,
    evaluate,
)
from equirank.core.random import generator
from equirank.datasets import make_ranking
from equirank.metrics import NDCG
from equirank.rerankers import DetGreedy, Reranked


@pytest.fixture(scope="module")
def data():
    return small_data()


def test_it_is_split_fit_rank_evaluate(data):
    result = compare({"ridge": Ridge()}, data, METRICS, cv=3, seeds=[4])
    folds = QueryKFold(3, shuffle=True, random_state=4).split(data)
    rows = iter(result.table)
    per_query = {name: [] for name in METRICS}
    for number, (train, test) in enumerate(folds):
        X, y, q = data.X, data.y, data.query_of_rows()
        scores = Ridge(random_state=4).fit(X[train], y[train]).predict(X[test])
        part = data.select(np.unique(q[test]))
        found = evaluate(Ranking.from_scores(part, scores), METRICS, n_boot=0)
        for name in METRICS:
            row = next(rows)
            assert (row["method"], row["fold"], row["seed"]) == ("ridge", number, 4)
            assert row["metric"] == name
            assert row["error"] is None
            assert row["fit_seconds"] > 0
            assert row["value"] == pytest.approx(found[name], abs=1e-12)
            per_query[name] += found.per_query(name).tolist()
    for row in result.summary():
        assert row["value"] == pytest.approx(np.nanmean(per_query[row["metric"]]), abs=1e-12)
        assert row["low"] <= row["value"] <= row["high"]
        assert (row["n"], row["unit"], row["failed"]) == (12, "queries", 0)


@pytest.mark.slow
def test_every_kind_of_estimator(data):
    scorer = (NDCG @ 5).scorer()
    plain, groups = Weights(), GroupRidgeRanker()
    methods = {
        "ranker": plain,
        "pipeline": make_pipeline(StandardScaler(with_std=False), plain),
        "search": GridSearchCV(plain, {"noise": [0.0]}, cv=QueryKFold(2), scoring=scorer),
        "reranked": Reranked(plain, DetGreedy()),
        "reranked last": make_pipeline(StandardScaler(), Reranked(plain, DetGreedy())),
        "groups": groups,
        "groups last": make_pipeline(StandardScaler(), groups),
        "groups searched": GridSearchCV(
            make_pipeline(StandardScaler(), groups),
            {"groupridgeranker__penalty": [1.0]},
            cv=QueryKFold(2),
            scoring=scorer,
        ),
        "regressor": Ridge(),
        "classifier": LogisticRegression(),
    }
    before = {name: repr(each.get_params()) for name, each in methods.items()}
    result = compare(methods, data, METRICS, cv=2)
    assert result.first_errors() == {}
    found = {name: result.table["value"][result.table["method"] == name] for name in methods}
    for same in ("pipeline", "search"):
        assert np.array_equal(found["ranker"], found[same])
    assert np.allclose(found["groups last"], found["groups searched"])
    assert found["reranked"][1] < found["ranker"][1]
    assert {name: repr(each.get_params()) for name, each in methods.items()} == before
    assert sklearn.get_config()["enable_metadata_routing"] is False


@pytest.mark.slow
def test_a_classifier_ranks_by_its_expected_class(data):
    result = compare({"c": LogisticRegression()}, data, "NDCG@5", cv=0.5, seeds=[3])
    fold = result.folds[0]
    model = LogisticRegression(random_state=3).fit(data.X[fold.train], data.y[fold.train])
    scores = model.predict_proba(data.X[fold.test]) @ model.classes_
    part = data.select_items(fold.test)
    wanted = evaluate(Ranking.from_scores(part, part.to_original(scores)), "NDCG@5", n_boot=0)
    assert result.table["value"].tolist() == [wanted["NDCG@5"]]


def test_errors_are_rows_and_the_others_go_on(data):
    methods = {"a": Failing(), "b": Weights(), "c": Failing(seeds=[1]), "d": Failing(MemoryError)}
    result = compare(methods, data, METRICS, cv=2, seeds=[0, 1])
    table = result.table
    said = dict(zip(table["method"], table["error"], strict=True))
    assert said["a"] == "RuntimeError: it <b>broke</b>"
    assert said["b"] is None
    assert said["d"] == "MemoryError: it <b>broke</b>"
    failed = np.array([error is not None for error in table["error"]])
    assert np.isnan(table["value"][failed]).all()
    assert not np.isnan(table["value"][~failed]).any()
    assert set(table["seed"][failed & (table["method"] == "c")].tolist()) == {1}
    assert len(table) == 4 * 2 * 2 * 2
    assert {row["method"]: row["failed"] for row in result.summary()} == {
        "a": 4,
        "b": 0,
        "c": 2,
        "d": 4,
    }
    assert "it <b>broke</b>" in result.errors["trace"][0]
    assert "_fit" in result.errors["trace"][0]
    assert "failed: a: RuntimeError" in repr(result)
    assert result.pick(maximise="NDCG@5") == "b"
    assert result.pareto("NDCG@5", "RND(step=3)@9")["method"].tolist() == ["b"]
    rows = {row["method"]: row["n"] for row in result.versus("b")}
    assert rows == {"a": 0, "c": 12, "d": 0}


def test_an_interrupt_stops_all_and_finished_cells_stay(data, tmp_path):
    methods = {"a": Weights(), "b": Failing(KeyboardInterrupt)}
    with pytest.raises(KeyboardInterrupt):
        compare(methods, data, METRICS, cv=2, store=tmp_path, n_jobs=1)
    assert len(list(tmp_path.glob("*.json"))) == 1


@pytest.mark.slow
def test_the_number_of_workers_changes_nothing(data):
    methods = {"a": Weights(noise=0.5), "b": Ridge(), "c": Failing()}
    options = {"cv": 3, "seeds": [0, 5]}
    alone = values(compare(methods, data, METRICS, n_jobs=1, **options))
    assert values(compare(methods, data, METRICS, n_jobs=2, **options)) == alone
    with joblib.parallel_config(backend="threading", n_jobs=3):
        assert values(compare(methods, data, METRICS, **options)) == alone


@pytest.mark.slow
def test_a_worker_that_dies_is_the_error_of_its_cell(data, monkeypatch):
    """As joblib does where a worker is killed: all that is under way is lost."""

    class Mortal(joblib.Parallel):
        def __call__(self, tasks):
            for function, words, named in tasks:
                if isinstance(words[2], Failing):
                    raise TerminatedWorkerError("killed")
                yield function(*words, **named)

    methods = {"a": Weights(), "dying": Failing(), "c": Ridge()}
    alone = compare({"a": Weights(), "c": Ridge()}, data, METRICS, cv=2)
    monkeypatch.setattr("equirank.comparison.parallel_jobs.Parallel", Mortal)
    result = compare(methods, data, METRICS, cv=2)
    assert result.first_errors() == {"dying": "TerminatedWorkerError: the worker died"}
    found = {row["method"]: row["value"] for row in result.summary() if row["failed"] == 0}
    assert found == {row["method"]: row["value"] for row in alone.summary()}


def test_a_backend_that_gives_all_at_once(data, monkeypatch):
    monkeypatch.setattr("equirank.comparison.parallel_jobs.get_active_backend", lambda: (None, 1))
    assert len(compare({"a": Weights()}, data, METRICS, cv=3).table) == 6


@pytest.mark.slow
def test_dask_by_joblibs_own_backend(data):
    pytest.importorskip("dask")  # without it "distributed" is a folder of tests
    distributed = pytest.importorskip("distributed")
    methods = {"a": Weights(noise=0.5), "b": Failing()}
    alone = values(compare(methods, data, METRICS, cv=2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a dashboard's port that is in use
        cluster = distributed.LocalCluster(
            n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0"
        )
    with (
        cluster,
        distributed.Client(cluster),
        joblib.parallel_config(backend="dask"),
    ):
        assert values(compare(methods, data, METRICS, cv=2)) == alone


@pytest.mark.slow
def test_seeds_set_folds_and_every_random_state(data):
    methods = {"noisy": Weights(noise=1.0, random_state=9)}
    both = compare(methods, data, "NDCG@5", cv=2, seeds=[1, 2]).table["value"]
    assert np.array_equal(
        both[:2], compare(methods, data, "NDCG@5", cv=2, seeds=[1]).table["value"]
    )
    assert not np.allclose(both[:2], both[2:])
    assert methods["noisy"].random_state == 9
    fixed = list(QueryKFold(2).split(data))
    same = compare({"plain": Weights()}, data, "NDCG@5", cv=fixed, seeds=[1, 2]).table["value"]
    assert np.array_equal(same[:2], same[2:])


def test_one_list_is_split_by_item():
    rng = np.random.default_rng(0)
    X, people = rng.normal(size=(90, 3)), np.repeat(["f", "m"], 45)
    data = as_ranking_data(X, np.maximum(0, X[:, 0] + 1), sensitive_features=people)
    methods = {"a": Weights(), "b": Weights(noise=2.0)}
    with pytest.raises(DataError, match='by="item" splits the rows of a single list'):
        compare(methods, data, "NDCG@5", cv=3)
    result = compare(methods, data, ["NDCG@5", "ExposureGap"], cv=3, by="item", seeds=[0, 1])
    assert result.unit == "folds"
    for fold in result.folds:
        codes = next(iter(data.sensitive.values())).codes
        assert np.bincount(codes[fold.test]).tolist() == [15, 15]
    row = next(iter(result.versus("b")))
    assert row["unit"] == "folds"
    assert row["n"] == 6
    assert np.isnan(row["p_random"])
    assert 0 < row["p_t"] < 1


def test_splitters(data):
    rows = list(GroupKFold(3).split(data.X, None, data.query_of_rows()))
    for cv in (GroupKFold(3), QueryKFold(3), rows):
        assert len(compare({"a": Weights()}, data, "NDCG@5", cv=cv).folds) == 3
    with pytest.raises(DataError, match="cv must keep lists whole"):
        compare({"a": Weights()}, data, "NDCG@5", cv=KFold(5))
    share = compare({"a": Weights()}, data, "NDCG@5", cv=0.25, seeds=[0, 1])
    assert [len(fold.test) for fold in share.folds] == [36, 36]
    assert share.folds[0].test.tolist() != share.folds[1].test.tolist()


def test_rows_in_any_order_give_the_same(data):
    order = np.random.default_rng(1).permutation(data.n_rows)
    qid, people = data.query_of_rows(), next(iter(data.sensitive.values())).codes.astype(str)
    straight = as_ranking_data(data.X, data.y, qid=qid, sensitive_features=people)
    mixed = as_ranking_data(
        data.X[order], data.y[order], qid=qid[order], sensitive_features=people[order]
    )
    folds = [(np.flatnonzero(qid >= 6), np.flatnonzero(qid < 6))]
    there = [(np.flatnonzero(qid[order] >= 6), np.flatnonzero(qid[order] < 6))]
    found = [
        compare({"a": Ridge(), "b": Weights()}, each, METRICS, cv=cv).table["value"]
        for each, cv in ((straight, folds), (mixed, there))
    ]
    assert np.allclose(*found)


class Constant(RegressorMixin, BaseEstimator):
    """Takes no metadata and gives one number."""

    def fit(self, X, y):
        self.value_ = float(np.mean(y))
        return self

    def predict(self, X):
        return np.full(len(X), self.value_)


class Drawing(Weights):
    """Gives draws when asked for: the order of its scores, and a random one."""

    def _draw(self, data, n_draws, rng):
        places = [Ranking.from_scores(data, self._scores(data)).position]
        order = generator(rng).random(data.n_rows)
        places += [Ranking.from_scores(data, order).position] * (n_draws - 1)
        return np.stack(places, axis=1)


def test_draws_where_a_ranker_has_them(data):
    metrics = ["NDCG@5", "ExposureGap"]
    scored, drawn, again = (
        compare({"a": Drawing(), "b": Weights()}, data, metrics, cv=0.5, n_draws=n).table["value"]
        for n in (None, 2, 2)
    )
    assert np.array_equal(scored[:2], scored[2:])
    assert np.array_equal(drawn[2:], scored[2:])
    assert (drawn[:2] < scored[:2]).all()  # half by chance: worse, and with a smaller gap
    assert np.array_equal(drawn, again)


def test_no_metadata_and_nothing_but_ties(data):
    assert compare({"a": Constant()}, data, "NDCG@5", cv=2).first_errors() == {}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"estimators": {}}, "estimators must be a dict"),
        ({"estimators": [Ridge()]}, "estimators must be a dict"),
        ({"estimators": {"": Ridge()}}, "names that are texts"),
        ({"estimators": {3: Ridge()}}, "names that are texts"),
        ({"estimators": {"a": Ridge}}, "Ridge is a class: call it first"),
        ({"estimators": {"a": "Ridge"}}, "estimators\\['a'\\] must be an estimator"),
        ({"data": np.zeros((3, 2))}, "data must be a RankingData"),
        ({"metrics": "NDGC@5"}, "did you mean 'NDCG'"),
        ({"metrics": "CSDCG"}, "needs costs"),
        ({"metrics": []}, "at least one metric"),
        ({"cv": 1}, "n_splits"),
        ({"cv": 1.5}, "cv must be a number of folds or a share"),
        ({"cv": True}, "cv must be a number of folds or a share"),
        ({"cv": 13}, "n_splits must be at most the number of queries"),
        ({"cv": []}, "at least one fold"),
        ({"cv": "five"}, "cv must be a number of folds"),
        ({"cv": [([0], [1, 400])]}, "rows from 0 to 143 for test"),
        ({"cv": [([0, 1], [1])]}, "must separate train and test"),
        ({"cv": [([], [1])]}, "row numbers for train"),
        ({"seeds": []}, "at least one seed, all different"),
        ({"seeds": [1, 1]}, "at least one seed, all different"),
        ({"seeds": 0}, "seeds must be at least 1"),
        ({"seeds": [-1]}, "a list of integers"),
        ({"seeds": [True]}, "a list of integers"),
        ({"seeds": True}, "a list of integers"),
        ({"seeds": "01"}, "a list of integers"),
        ({"by": "row"}, "by of compare must be"),
        ({"n_draws": 0}, "n_draws"),
        ({"level": 1}, "level"),
    ],
)
def test_bad_input_is_named_before_any_work(data, change, said):
    words = {"estimators": {"a": Failing(KeyboardInterrupt)}, "data": data, "metrics": METRICS}
    words |= change
    given = [words.pop(name) for name in ("estimators", "data", "metrics")]
    with pytest.raises(DataError, match=said):
        compare(*given, **words)


def test_a_store_that_is_a_file_is_refused(data, tmp_path):
    path = tmp_path / "file"
    path.write_text("x")
    with pytest.raises(DataError, match="store must be a folder"):
        compare({"a": Ridge()}, data, METRICS, store=path)


def test_data_without_features_is_refused():
    data = as_ranking_data(None, [1, 0], qid=[0, 0])
    with pytest.raises(DataError, match="features"):
        compare({"a": Ridge()}, data, "NDCG@5")


def test_progress_is_told_how_many(data, monkeypatch):
    seen = []
    monkeypatch.setattr(
        "equirank.comparison.compare.progress",
        lambda steps, words, total: seen.append((words, total)) or steps,
    )
    compare({"a": Weights(), "b": Ridge()}, data, METRICS, cv=3)
    assert seen == [("comparing", 6)]


def test_lists_of_several_lengths_and_undefined_queries():
    data = make_ranking(n_queries=9, n_items=5, random_state=1)
    y = data.y.copy()
    y[:5] = 0  # NDCG is undefined there
    data = as_ranking_data(data.X, y, qid=data.query_of_rows())
    result = compare({"a": Weights(), "b": Ridge()}, data, "NDCG@5", cv=3)
    assert set(result.summary()["n"].tolist()) == {8}
    assert result.versus("a")["n"].tolist() == [8]


def test_linear_metrics_are_near_their_exact_expectation():
    data = small_data()
    found = compare({"a": Weights()}, data, ["NDCG@5", "AverageRank", "RND(step=3)@9"], cv=3).chance
    tied = evaluate(Ranking.from_scores(data, np.zeros(data.n_rows)), "NDCG@5", n_boot=0)
    assert found["NDCG@5"] == pytest.approx(tied["NDCG@5"], abs=0.03)
    assert found["RND(step=3)@9"] > 0.05  # a list tied throughout would have 0


def test_exposure_is_that_of_the_random_policy():
    data = small_data()
    found = compare({"a": Weights()}, data, "ExposureGap", cv=3)
    rng = np.random.default_rng(0)
    alone = evaluate(Ranking.from_scores(data, rng.random(data.n_rows)), "ExposureGap", n_boot=0)
    assert found.chance["ExposureGap"] < alone["ExposureGap"] / 2


def test_it_depends_on_the_lists_only():
    data = small_data()
    one = compare({"a": Weights()}, data, "NDCG@5", cv=3, seeds=[3]).chance
    other = compare({"b": Weights(noise=2.0)}, data, "NDCG@5", cv=3, seeds=[3, 4]).chance
    assert one == other


def test_metrics_of_scores_have_none():
    data = small_data()
    found = compare({"a": Weights()}, data, ["NDCG@5", "CalibrationGap"], cv=2)
    assert set(found.chance) == {"NDCG@5"}
    assert not np.isnan(found.table["value"]).all()


def test_one_list():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    data = as_ranking_data(X, np.maximum(0, X[:, 0]))
    found = compare({"a": Weights()}, data, "NDCG@5", cv=3, by="item")
    assert 0.1 < found.chance["NDCG@5"] < 0.6


class TrainedWithGroups(Ranker):
    """A ranker that needs groups to fit, and not to predict."""

    fit_needs = frozenset({"qid", "sensitive_features"})

    def _fit(self, data):
        pass

    def _scores(self, data):
        return data.X[:, 0]


@pytest.mark.slow
def test_fair_training_without_headroom_is_a_warning():
    """Only rankers that are trained with groups are concerned, and only metrics of unfairness."""
    rng = np.random.default_rng(0)
    n = 400
    blind = as_ranking_data(
        rng.normal(size=(n, 3)), rng.integers(0, 3, size=n), qid=np.repeat(np.arange(40), 10),
        sensitive_features=rng.choice(["a", "b"], size=n),
    )  # fmt: skip
    clear = make_ranking(n_queries=30, n_items=20, feature_bias=2.0, random_state=0)
    fair = TrainedWithGroups()
    methods = {"fair": fair, "plain": Ridge()}
    with pytest.warns(NoHeadroomWarning, match="of 'plain', which is trained without") as caught:
        compare(methods, blind, ["NDCG@10", "RND(step=2)"], cv=2)
    assert [each.filename for each in caught] == [__file__]
    compare(methods, clear, ["RND(step=2)"], cv=2)
    compare(methods, blind, ["NDCG@10"], cv=2)
    compare({"plain": Ridge(), "re-ranked": Reranked(Ridge(), DetGreedy())}, blind, "RND", cv=2)
