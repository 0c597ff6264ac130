"""FairLambdaMART as users meet it."""

import json
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone

import equirank
from equirank import DataError, EquirankWarning, InfeasibleError, as_ranking_data, evaluate
from equirank.datasets import make_ranking
from equirank.metrics import rnd
from equirank.rankers import MART, FairLambdaMART, LambdaMART, McRank
from equirank.rankers.tradeoff_path import TradeoffPath, noise_line, pareto_points

SMALL = {"n_estimators": 15, "num_leaves": 7, "n_jobs": 1}


@pytest.fixture(scope="module")
def data():
    """Lists in which features tell the groups apart and favour one."""
    return make_ranking(n_queries=40, n_items=30, feature_bias=1.0, random_state=0)


@pytest.fixture(scope="module")
def other():
    return make_ranking(n_queries=20, n_items=30, feature_bias=1.0, random_state=1)


def unfairness(ranker, lists):
    return evaluate(ranker.rank(lists), metrics="RND(step=5)")["RND(step=5)"]


# what it learns


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["swap", "fair_first", "relevance_first"])
def test_less_alpha_is_fairer_and_less_relevant(data, other, strategy):
    plain = LambdaMART(**SMALL).fit(data)
    fair = FairLambdaMART(0.3, strategy, step=5, **SMALL).fit(data)
    assert unfairness(fair, other) < unfairness(plain, other) - 0.01
    assert fair.score(other) < plain.score(other) + 0.01


def test_alpha_one_is_plain_lambdamart(data, other):
    plain = LambdaMART(**SMALL).fit(data)
    fair = FairLambdaMART(1.0, step=5, **SMALL).fit(data)
    assert np.array_equal(plain.predict(other), fair.predict(other))


@pytest.mark.gate
@pytest.mark.parametrize("strategy", ["swap", "fair_first", "relevance_first"])
def test_fairness_alone_comes_near_the_least_that_lists_allow(strategy):
    """The features reveal the group, so a list as fair as any can be learned."""
    rng = np.random.default_rng(0)
    n, length = 60, 20
    group = rng.integers(0, 2, size=(n, length))
    group[:, 0], group[:, 1] = 0, 1
    X = np.stack([group.ravel() + 0.0, rng.normal(size=n * length)], axis=1)
    y = np.ones(n * length) if strategy == "relevance_first" else (group.ravel() == 0) * 1.0
    qid = np.repeat(np.arange(n), length)
    ranker = FairLambdaMART(
        0.0, strategy, step=5, n_estimators=60, min_child_samples=5, n_jobs=1
    ).fit(X, y, qid=qid, sensitive_features=group.ravel().astype(str))
    found = rnd(ranker.predict(X), group.ravel().astype(str), qid=qid, step=5, per_query=True)
    least = [least_rnd(row, 5) for row in group]
    assert np.mean(found) <= np.mean(least) + 0.05


@pytest.mark.parametrize(
    ("given", "divisor"),
    [
        ({}, 20.0),
        ({"steady": False}, 1.0),
        ({"strategy": "fair_first"}, 1.0),
        ({"strategy": "relevance_first"}, 1.0),
    ],
)
def test_only_swap_begins_with_small_steps(given, divisor):
    data = make_ranking(n_queries=3, n_items=20, feature_bias=1.0, random_state=0)
    objective = FairLambdaMART(0.5, step=5, n_jobs=1, **given).objective(data)
    assert objective.steps.divisor.tolist() == [divisor] * 3


def test_without_steady_groups_jump_over_each_other():
    """Why `steady` exists: a feature tells the groups apart, and each tree moves a whole group."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, size=(40, 20))
    group[:, 0], group[:, 1] = 0, 1
    labels, qid = group.ravel().astype(str), np.repeat(np.arange(40), 20)
    X = np.stack([group.ravel() + 0.0, rng.normal(size=800)], axis=1)

    def found(steady):
        ranker = FairLambdaMART(0.0, step=5, steady=steady, n_estimators=40, n_jobs=1)
        ranker.fit(X, np.ones(800), qid=qid, sensitive_features=labels)
        return rnd(ranker.predict(X), labels, qid=qid, step=5)

    assert found(True) < 0.25 < 0.6 < found(False)


def least_rnd(group, step):
    """The nearest whole count at every cut, which is always feasible."""
    n, size = len(group), int((group == 0).sum())
    cuts = np.arange(step, n + 1, step)
    weight = 1.0 / np.log2(cuts)

    def total(count):
        return (weight * np.abs(count / cuts - size / n)).sum()

    worst = max(total(np.minimum(cuts, size)), total(np.maximum(0, cuts - (n - size))))
    return total(np.round(cuts * size / n)) / worst


@pytest.mark.slow
def test_exposure_becomes_more_even(data, other):
    def gap(ranker):
        return evaluate(ranker.rank(other), metrics="ExposureGap")["ExposureGap"]

    longer = SMALL | {"n_estimators": 40}  # the divisor falls slowly
    plain = LambdaMART(**longer).fit(data)
    fair = FairLambdaMART(0.1, fairness="exposure", **longer).fit(data)
    assert gap(fair) < 0.7 * gap(plain)


def test_groups_are_needed_to_fit_and_not_to_predict(data):
    with pytest.raises(DataError, match="sensitive_features"):
        FairLambdaMART(**SMALL).fit(data.X, data.y, qid=data.query_of_rows())
    ranker = FairLambdaMART(step=5, **SMALL).fit(data)
    assert np.array_equal(ranker.predict(data.X), ranker.predict(data))


def test_real_valued_relevance(data):
    shifted = as_ranking_data(
        data.X, np.asarray(data.y) * 0.37 + 0.1, qid=data.query_of_rows(),
        sensitive_features=data.attribute().codes.astype(str),
    )  # fmt: skip
    assert np.isfinite(FairLambdaMART(step=5, **SMALL).fit(shifted).predict(shifted)).all()


def test_target_lists_are_for_metrics_of_prefixes(data):
    with pytest.raises(DataError, match="strategy must be 'swap'"):
        FairLambdaMART(0.5, "fair_first", "exposure", **SMALL).fit(data)


@pytest.mark.slow
@pytest.mark.parametrize("fairness", ["rnd", "rkl", "rrd", "exposure", "treatment"])
@pytest.mark.parametrize("over_groups", ["mean", "worst"])
def test_any_number_of_groups(fairness, over_groups):
    lists = make_ranking(n_queries=8, n_items=20, groups=("a", "b", "c"), random_state=0)
    ranker = FairLambdaMART(
        0.2, fairness=fairness, over_groups=over_groups, step=5, n_estimators=3, n_jobs=1
    ).fit(lists)
    assert np.isfinite(ranker.predict(lists)).all()


# LightGBM around it


def test_parameters_pass_through(data):
    ranker = FairLambdaMART(step=5, **SMALL, max_depth=2, reg_lambda=3.0)
    assert ranker.get_params()["max_depth"] == 2
    assert clone(ranker).get_params() == ranker.get_params()
    ranker.set_params(max_depth=3, alpha=0.9)
    assert (ranker.get_params()["max_depth"], ranker.alpha) == (3, 0.9)
    text = ranker.fit(data).booster_.model_to_string()
    assert "[max_depth: 3]" in text
    assert "[lambda_l2: 3]" in text


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"aplha": 0.5}, "did you mean 'alpha'"),
        ({"objective": "binary"}, "the class sets it"),
        ({"num_trees": 3}, "use n_estimators"),
        ({"n_threads": 3}, "n_threads"),
    ],
)
def test_parameters_nobody_knows_are_refused(data, wrong, says):
    with pytest.raises(DataError, match=says):
        FairLambdaMART(**SMALL, **wrong).fit(data)


@pytest.mark.slow
def test_the_number_of_threads_changes_nothing(data):
    options = {**SMALL, "n_estimators": 5}
    scores = [
        FairLambdaMART(step=5, **options | {"n_jobs": n}).fit(data).predict(data) for n in (1, 2)
    ]
    assert np.array_equal(*scores)


def test_early_stopping_on_any_metric(data, other):
    ranker = LambdaMART(
        **SMALL | {"n_estimators": 200, "learning_rate": 0.5},
        early_stopping=5, validation=other, metric="RND(step=5)",
    ).fit(data)  # fmt: skip
    scores = ranker.validation_scores_
    assert ranker.best_iteration_ == int(np.argmin(scores)) + 1 <= len(scores) - 5
    assert scores[ranker.best_iteration_ - 1] == pytest.approx(unfairness(ranker, other))


@pytest.mark.filterwarnings("ignore::equirank.FairnessOverfitWarning")
def test_early_stopping_on_the_tradeoff_itself(data):
    ranker = FairLambdaMART(
        0.4, step=5, **SMALL | {"n_estimators": 60, "learning_rate": 0.5},
        early_stopping=5, validation=0.3, metric="tradeoff", random_state=0,
    ).fit(data)  # fmt: skip
    assert ranker.best_iteration_ == int(np.argmax(ranker.validation_scores_)) + 1
    assert len(ranker.validation_scores_) < 60


def test_early_stopping_needs_lists_to_watch(data):
    with pytest.raises(DataError, match="validation of LambdaMART must be given"):
        LambdaMART(**SMALL, early_stopping=3).fit(data)


def test_the_watched_value_is_the_metric_of_the_finished_model(data, other):
    for kind in (LambdaMART, MART, McRank):
        ranker = kind(**SMALL | {"n_estimators": 4}, validation=other).fit(data)
        assert ranker.validation_scores_[-1] == pytest.approx(ranker.score(other), abs=1e-12)


def test_missing_values_and_sparse_features(data):
    from scipy.sparse import csr_array

    X = np.array(data.X)
    X[::3, 0] = np.nan
    options = {"qid": data.query_of_rows()}
    scores = LambdaMART(**SMALL).fit(X, data.y, **options).predict(X)
    assert np.isfinite(scores).all()
    thin = np.where(np.abs(data.X) > 1, data.X, 0.0)
    dense = LambdaMART(**SMALL).fit(thin, data.y, **options).predict(thin)
    sparse = LambdaMART(**SMALL).fit(csr_array(thin), data.y, **options).predict(csr_array(thin))
    np.testing.assert_allclose(dense, sparse, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_of_text_are_categories(library):
    rng = np.random.default_rng(0)
    city = rng.choice(["Bonn", "Rome", "Oslo", "Lima"], size=600)
    y = np.isin(city, ["Rome", "Lima"]) * 1.0
    columns = {"noise": rng.normal(size=600), "city": [None, *city[1:]]}
    kind = pytest.importorskip(library).DataFrame
    frame = kind(columns)
    qid = np.repeat(np.arange(20), 30)
    ranker = LambdaMART(**SMALL).fit(frame, y, qid=qid)
    assert ranker.categories_ == {"city": ["Bonn", "Lima", "Oslo", "Rome"]}
    assert ranker.score(frame, y, qid=qid) > 0.99
    assert "cat_threshold" in ranker.booster_.model_to_string()
    unseen = kind({"noise": [0.0, 0.0], "city": ["Rome", "Paris"]})
    with pytest.raises(DataError, match=r"X\['city'\].*got 'Paris' in row 1 \(unseen in 1 of 2"):
        ranker.predict(unseen)
    with pytest.warns(EquirankWarning, match="'Paris' in row 1"):
        found = ranker.predict(unseen, unseen="missing")
    missing = kind({"noise": [0.0, 0.0], "city": ["Rome", None]})
    np.testing.assert_array_equal(found, ranker.predict(missing))


def test_categories_as_numbers():
    rng = np.random.default_rng(0)
    code = rng.integers(0, 6, size=600)
    y = np.isin(code, [1, 3, 5]) * 1.0
    X, qid = np.stack([code, rng.normal(size=600)], axis=1), np.repeat(np.arange(20), 30)
    ranker = LambdaMART(**SMALL, categorical=[0]).fit(X, y, qid=qid)
    assert "cat_threshold" in ranker.booster_.model_to_string()
    with pytest.raises(DataError, match="categorical"):
        LambdaMART(**SMALL, categorical=[2]).fit(X, y, qid=qid)


def test_equal_costs_are_no_costs_and_unequal_ones_matter(data):
    def with_cost(cost):
        lists = as_ranking_data(data.X, data.y, qid=data.query_of_rows(), cost=cost)
        return LambdaMART(**SMALL).fit(lists).predict(lists)

    plain = LambdaMART(**SMALL).fit(data).predict(data)
    np.testing.assert_allclose(with_cost(np.full(data.n_rows, 7.0)), plain, atol=1e-6)
    assert np.abs(with_cost(1.0 + np.arange(data.n_rows) % 5) - plain).max() > 0.01


# starting from elsewhere


def test_starting_from_given_scores(data):
    start = data.X[:, 0] * 2.0
    ranker = LambdaMART(base=start, **SMALL).fit(data)
    plain = LambdaMART(**SMALL).fit(data)
    together = evaluate(
        equirank.Ranking.from_scores(data, ranker.predict(data) + start), metrics="NDCG@10"
    )["NDCG@10"]
    assert together > plain.score(data) - 0.05
    assert not np.allclose(ranker.predict(data), plain.predict(data))
    with pytest.raises(DataError, match="one score per row"):
        LambdaMART(base=start[:-1], **SMALL).fit(data)


def test_starting_from_a_model_continues_it(data, other, tmp_path):
    first = LambdaMART(**SMALL).fit(data)
    both = FairLambdaMART(0.5, step=5, base=first, **SMALL).fit(data)
    added = both.predict(other) - first.predict(other)
    np.testing.assert_allclose(added, both.booster_.predict(other.X), atol=1e-9)
    both.save(tmp_path / "model")
    back = equirank.load(tmp_path / "model")
    assert np.array_equal(back.predict(other), both.predict(other))
    learned = FairLambdaMART(0.5, step=5, base=LambdaMART(**SMALL), **SMALL).fit(data)
    assert np.array_equal(learned.predict(other), both.predict(other))


def test_starting_from_any_regressor(data):
    from sklearn.linear_model import Ridge

    ranker = LambdaMART(base=Ridge(), **SMALL).fit(data)
    assert ranker.score(data) > 0.5
    with pytest.raises(DataError, match="base cannot be saved"):
        ranker.save("never written")


# reading and keeping it


def test_saving_keeps_trees_and_parameters(data, other, tmp_path):
    ranker = FairLambdaMART(0.3, step=5, **SMALL, max_depth=4, validation=other).fit(data)
    ranker.save(tmp_path / "model")
    assert (tmp_path / "model" / "model.txt").read_text().startswith("tree")
    back = equirank.load(tmp_path / "model")
    assert np.array_equal(back.predict(other), ranker.predict(other))
    assert back.get_params() == ranker.get_params() | {"validation": None}


# Reads damaged texts in one process, which LightGBM would end; prints how many were refused.
DAMAGED = """
import sys
from pathlib import Path
import equirank

folder, refused, read = Path(sys.argv[1]), 0, 0
path = folder / "model.txt"
whole = path.read_bytes()
trees = whole[: whole.index(b"end of trees")]
texts = [whole[:length] for length in range(0, len(whole) - 30, 97)]
for line in (b"left_child=", b"right_child=", b"split_feature=", b"num_leaves=", b"leaf_value=",
             b"threshold=", b"decision_type=", b"num_cat=", b"tree_sizes=", b"max_feature_idx=",
             b"num_class=", b"cat_boundaries=", b"cat_threshold="):
    at = whole.index(line) + len(line)
    for word in (b"9999", b"-999", b"x", b"=", b"1e400"):
        texts.append(whole[:at] + word + whole[at + len(word) :])
    texts += [whole[: at - 2] + b"-" + whole[at - 1 :]]
texts += [whole.replace(b"[num_leaves: ", b"[num_leaves  ")]
for text in texts:
    path.write_bytes(text)
    try:
        model = equirank.load(folder)
    except equirank.FormatError as error:
        assert str(path) in str(error), error
        refused += 1
    else:
        read += 1
print(refused, read)
"""


@pytest.mark.gate
def test_damaged_trees_never_end_the_process(tmp_path):
    """Also in a folder of format 1, which has no digests."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=200), rng.integers(0, 12, 200)])
    y = np.isin(X[:, 1], [1, 4, 7]) * 2 + rng.integers(0, 2, 200)
    options = {"min_data_per_group": 1, "cat_smooth": 0.1, "max_cat_to_onehot": 1}
    model = LambdaMART(n_estimators=2, num_leaves=5, n_jobs=1, categorical=[1], **options)
    model.fit(X, y, qid=np.repeat(np.arange(10), 20)).save(tmp_path / "model")
    path = tmp_path / "model" / "model.json"
    document = json.loads(path.read_text()) | {"format_version": 1}
    del document["digest"], document["files"]
    path.write_text(json.dumps(document))
    assert np.array_equal(equirank.load(tmp_path / "model").predict(X), model.predict(X))
    done = subprocess.run(
        [sys.executable, "-c", DAMAGED, str(tmp_path / "model")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    refused, read = map(int, done.stdout.split())
    assert refused > 100
    assert read < 10  # a leaf value of other digits is a valid one


def test_shap_values_add_up_to_the_scores(data):
    for kind in (LambdaMART, MART):
        ranker = kind(**SMALL).fit(data)
        values = ranker.shap_values(data)
        assert values.shape == (data.n_rows, data.n_features + 1)
        np.testing.assert_allclose(values.sum(axis=1), ranker.predict(data), atol=1e-9)


def test_explaining_a_pair(data):
    first = LambdaMART(**SMALL).fit(data)
    order = np.random.default_rng(0).permutation(data.n_rows)
    X = data.X[order]
    for ranker in (first, LambdaMART(base=first, **SMALL).fit(data)):
        table = ranker.explain_pair(X, 7, 3)
        scores = ranker.predict(X)
        assert table["difference"].sum() == pytest.approx(scores[7] - scores[3], abs=1e-9)
        size = np.abs(table["difference"])
        assert (np.diff(size) <= 0).all()
        top = table["feature"][0]
        if top != "(base)":
            assert table["value_a"][0] == X[7, int(top[1:])]
    with pytest.raises(DataError, match="b must be a row number"):
        first.explain_pair(X, 0, data.n_rows)


def test_importances_name_the_feature_that_matters(data):
    for kind in (LambdaMART, MART, McRank):
        share = kind(**SMALL).fit(data).feature_importances_
        assert share.sum() == pytest.approx(1.0)
        assert share.argmax() == 0  # make_ranking weighs the first feature most


# the path of alphas


@pytest.mark.slow
def test_the_path_holds_what_single_fits_give(data, other):
    ranker = FairLambdaMART(step=5, **SMALL, validation=other)
    path = ranker.tradeoff_path([0.1, 0.5, 1.0], data)
    for alpha, model in zip([0.1, 0.5, 1.0], path.rankers, strict=True):
        alone = clone(ranker).set_params(alpha=alpha, validation=None).fit(data)
        assert np.array_equal(model.predict(other), alone.predict(other))
        assert model.alpha == alpha
    row = [unfairness(model, other) for model in path.rankers]
    np.testing.assert_allclose(path.table["unfairness"], row)
    np.testing.assert_allclose(path.table["NDCG"], [m.score(other) for m in path.rankers])
    assert path.table["unfairness"][0] < path.table["unfairness"][2]
    assert path.table["pareto"].dtype == bool
    assert ranker.alpha == 0.5
    noisy = path.lines["NDCG"][path.lines["line"] == "noise"]
    assert noisy[0] == path.table["NDCG"].max()
    assert noisy[-2] < noisy[0] - 0.05  # noise of four standard deviations
    assert abs(path.against_lines()["noise"][np.argmax(path.table["NDCG"])]) < 1e-12


def fixed_path():
    return TradeoffPath(
        ["a", "b", "c", "d"], [0.0, 0.3, 0.6, 1.0], [0.60, 0.79, 0.78, 0.80],
        [0.05, 0.10, 0.12, 0.30], ("NDCG@10", "RND"), (0.4, 0.1),
    )  # fmt: skip


def test_picking_from_the_path():
    path = fixed_path()
    assert path.table["pareto"].tolist() == [True, True, False, True]
    assert path.pick(max_ndcg_loss=0.0) == "d"
    assert path.pick(max_ndcg_loss=0.0126) == "b"
    assert path.pick(max_ndcg_loss=0.5) == "a"
    assert path.pick(weight=1.0) == "d"
    assert path.pick(weight=0.0) == "a"
    assert path.pick(weight=0.5) == "b"
    assert path.pick(max_unfairness=0.2) == "b"
    with pytest.raises(InfeasibleError, match=r"at least 0\.05"):
        path.pick(max_unfairness=0.01)
    with pytest.raises(DataError, match="exactly one"):
        path.pick()
    assert "NDCG@10 against RND" in repr(path)


def test_both_lines_of_the_path_and_how_far_it_is_from_them():
    noise = [(0.5, 0.7, 0.25), (1.0, 0.6, 0.15)]
    path = TradeoffPath(["a", "b"], [0.0, 1.0], [0.65, 0.8], [0.10, 0.30], ("NDCG@10", "RND"),
                        (0.4, 0.1), noise=noise)  # fmt: skip
    assert path.lines["line"].tolist() == ["noise"] * 4 + ["mixture"] * 2
    assert path.lines["amount"].tolist() == [0.0, 0.5, 1.0, np.inf, 0.0, 1.0]
    away = path.against_lines()
    # at NDCG .65 the noise line is half way from .7 to .6, the mixture .25 / .4 of the way
    np.testing.assert_allclose(away["noise"], [0.10 - 0.20, 0.0], atol=1e-12)
    np.testing.assert_allclose(away["mixture"], [0.10 - (0.1 + 0.2 * 0.625), 0.0], atol=1e-12)
    assert path.tradeoff_points()["noise"] == [(0.3, 0.8), (0.25, 0.7), (0.15, 0.6), (0.1, 0.4)]
    assert np.isnan(fixed_path().against_lines()["noise"]).all()
    assert fixed_path().tradeoff_points()["noise"] == []


def test_noise_is_by_the_spread_of_each_list():
    seen = []
    score, offsets = np.array([0.0, 1.0, 0.0, 100.0, 5.0, 5.0]), np.array([0, 2, 4, 6])
    line = noise_line(score, offsets, lambda drawn: (seen.append(drawn), (0.5, 0.1))[1], 0)
    assert [row[0] for row in line] == sorted(row[0] for row in line)
    noise = np.array(seen[-1]) - score
    assert (noise[:, 4:] == 0.0).all()  # equal scores have no spread
    assert 10 < np.abs(noise[:, 2:4]).mean() / np.abs(noise[:, :2]).mean() < 1000


def test_equal_points_are_both_on_the_front():
    good, bad = np.array([0.5, 0.5, 0.4]), np.array([0.1, 0.1, 0.1])
    assert pareto_points(good, bad).tolist() == [True, True, False]


@pytest.mark.parametrize("alphas", [[], [1.2], [-0.1], ["x"]])
def test_alphas_that_are_none(data, alphas):
    with pytest.raises((DataError, ValueError)):
        FairLambdaMART(**SMALL).tradeoff_path(alphas, data)


# its neighbours


@pytest.mark.slow
@pytest.mark.parametrize("method", ["multiclass", "ordinal"])
def test_mcrank_gives_expected_relevance(data, method, tmp_path):
    ranker = McRank(method=method, **SMALL).fit(data)
    scores = ranker.predict(data)
    assert 0.0 <= scores.min() <= scores.max() <= data.y.max()
    assert scores.mean() == pytest.approx(data.y.mean(), abs=0.15)
    assert ranker.score(data) > 0.75
    ranker.save(tmp_path / "model")
    assert np.array_equal(equirank.load(tmp_path / "model").predict(data), scores)


@pytest.mark.parametrize("method", ["multiclass", "ordinal"])
def test_mcrank_of_two_grades_and_of_one(data, method):
    qid = data.query_of_rows()
    half = np.where(np.asarray(data.y) > 1, 2.5, 0.5)
    scores = McRank(method=method, **SMALL).fit(data.X, half, qid=qid).predict(data.X)
    assert 0.5 <= scores.min() < scores.max() <= 2.5
    one = McRank(method=method, **SMALL).fit(data.X, np.full(data.n_rows, 2.0), qid=qid)
    assert np.array_equal(one.predict(data.X), np.full(data.n_rows, 2.0))


def test_mcrank_refuses_relevance_of_too_many_values(data):
    with pytest.raises(DataError, match="at most 100 different values"):
        McRank(**SMALL).fit(data.X, np.arange(data.n_rows), qid=data.query_of_rows())


def test_mart_weighs_rows_by_query_and_cost():
    X = np.repeat([[0.0], [0.0]], 30, axis=0)
    y = np.repeat([0.0, 1.0], 30)
    qid = np.repeat([0, 1], 30)
    for given in ({"query_weight": np.repeat([1.0, 3.0], 30)}, {"cost": np.repeat([1.0, 3.0], 30)}):
        assert MART(**SMALL).fit(X, y, qid=qid, **given).predict(X)[0] == pytest.approx(0.75)
