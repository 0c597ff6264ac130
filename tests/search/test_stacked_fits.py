"""Rankers of one shape train as one stack, and each comes out as its own fit would leave it."""

import sys

import numpy as np
import pytest
from sklearn.base import clone

from equirank import DataError, Ranker
from equirank.core.declared import zero_weights_are_meant
from equirank.datasets import make_ranking
from equirank.rankers import (
    DELTR,
    ConstrainedPairwise,
    DebiasClassifier,
    DirectRanker,
    LambdaRank,
    ListNet,
    PairwiseRegularised,
    RankNet,
    SoftRank,
)
from equirank.search import fit_together
from equirank.search.stacked_fits import fit_all, stacks

MODULE = sys.modules["equirank.search.stacked_fits"]

DATA = make_ranking(n_queries=12, n_items=(5, 9), feature_bias=1.0, random_state=0)
SMALL = {"layers": (4, 3), "n_epochs": 3, "batch_size": 16, "precision": "float64"}

OTHER = {"layers": (4,), "random_state": 0}


class ByColumn(Ranker):
    """A ranker that is no network."""

    def _fit(self, data):
        self.column_ = 0

    def _scores(self, data):
        return data.X[:, self.column_]


def same(one, other, tol=1e-9):
    """Both hold the same weights, curve and counts, and everything else a fit leaves."""
    assert set(vars(one)) == set(vars(other))
    assert set(one.weights_) == set(other.weights_)
    for name, values in one.weights_.items():
        np.testing.assert_allclose(other.weights_[name], values, rtol=tol, atol=tol, err_msg=name)
    np.testing.assert_allclose(other.curve_["loss"], one.curve_["loss"], rtol=tol, atol=tol)
    assert (one.n_steps_, one.n_epochs_) == (other.n_steps_, other.n_epochs_)
    assert one.data_fingerprint_ == other.data_fingerprint_
    np.testing.assert_allclose(other.predict(DATA), one.predict(DATA), rtol=tol, atol=tol)


def check(rankers, n_stacks, tol=1e-9):
    """Compare each of the rankers, fitted together, with its own fit."""
    assert len(stacks(rankers)) == n_stacks
    with zero_weights_are_meant():
        apart = [clone(ranker).fit(DATA) for ranker in rankers]
    for one, other in zip(apart, fit_together(rankers, DATA), strict=True):
        same(one, other, tol)


@pytest.mark.slow
@pytest.mark.parametrize("fairness", [None, "adversarial", "flipped", "both"])
@pytest.mark.parametrize("noise", [False, True])
def test_each_of_a_stack_equals_its_own_fit(fairness, noise):
    def make(**given):
        return DirectRanker(fairness, **SMALL | {"noise": noise, "random_state": 0} | given)

    rankers = [make(), make(learning_rate=0.01), make(weight_decay=0.1), make(random_state=1)]
    rankers += [make(momentum=0.8)]
    if fairness is not None:
        rankers += [make(gamma=2.0), make(adversary_rate=3.0)]
        rankers += [make(random_state=1, gamma=0.0, learning_rate=0.02)]
    check(rankers, 1)


@pytest.mark.slow
def test_single_precision_differs_in_the_last_digits_only():
    given = SMALL | {"precision": "float32", "random_state": 0}
    check([DirectRanker("both", gamma, **given) for gamma in (0.0, 0.5, 1.0)], 1, 1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("schedule", ["constant", "cosine"])
def test_step_counts_are_checkpoints_of_one_run(schedule, monkeypatch):
    runs, train = [], MODULE.train
    monkeypatch.setattr(
        MODULE, "train", lambda *a, **k: runs.append(len(a[0].weights)) or train(*a, **k)
    )
    counts = [{"max_steps": steps} for steps in (0, 1, 4, 7, 100)]
    if schedule == "constant":
        counts += [{"n_epochs": epochs} for epochs in (0, 1, 2)]
    given = SMALL | {"schedule": schedule, "clip": 0.1, "random_state": 0}
    rates = [{"learning_rate": rate} for rate in (0.003, 0.01)]
    check([DirectRanker("flipped", **given | n | r) for n in counts for r in rates], 1)
    assert runs == [2]  # one run, of two rows


def test_another_schedule_is_another_run():
    falling = [DirectRanker(schedule="linear", n_epochs=n, **OTHER) for n in (1, 2)]
    assert stacks(falling) == [[0], [1]]
    constant = [DirectRanker(n_epochs=n, **OTHER) for n in (1, 2)]
    assert stacks(constant) == [[0, 1]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ranker", "sizes"),
    [
        (DirectRanker("both", layers=(4,), noise=True), [2, 4]),
        (DebiasClassifier(target="class", layers=(4,)), [2, 4]),
        (DELTR(protected="a", batch_size=100, layers=(3,)), [2, 4]),
        (PairwiseRegularised(layers=(4,)), [2, 2, 2]),  # by data set
        (ListNet(layers=(3,), batch_size=5), [1] * 6),  # batches of other shapes
    ],
    ids=lambda given: type(given).__name__,
)
def test_each_may_have_data_of_its_own(ranker, sizes, monkeypatch):
    runs, train = [], MODULE.train
    monkeypatch.setattr(
        MODULE, "train", lambda *a, **k: runs.append(len(a[0].weights)) or train(*a, **k)
    )
    lists = [
        make_ranking(n_queries=n, n_items=6, n_grades=3, feature_bias=1.0, random_state=seed)
        for n, seed in ((10, 0), (10, 1), (12, 2))
    ]
    ranker.set_params(n_epochs=2, precision="float64")
    cases = [(seed, own) for seed in (0, 1) for own in lists]
    rankers = [clone(ranker).set_params(random_state=seed) for seed, _ in cases]
    assert fit_all(rankers, [own for _, own in cases]) == [None] * len(cases)
    assert sorted(runs) == sizes
    for fitted, (seed, own) in zip(rankers, cases, strict=True):
        same(clone(ranker).set_params(random_state=seed).fit(own), fitted)


@pytest.mark.slow
def test_very_many_are_cut_into_several_runs(monkeypatch):
    monkeypatch.setitem(MODULE.MAX_TRACKS, "cpu", 2)
    given = SMALL | {"random_state": 0}
    check([DirectRanker("flipped", gamma, **given) for gamma in (0.0, 0.1, 0.2, 0.3, 0.4)], 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "ranker",
    [
        ListNet(layers=(4,), batch_size=5),
        DELTR(protected="a", batch_size=100),
        SoftRank(layers=(3,), batch_size=5),
        PairwiseRegularised(layers=(4,)),
        DebiasClassifier(gamma=0.5, layers=(4,)),
    ],
    ids=lambda ranker: type(ranker).__name__,
)
def test_the_rivals_are_stacked_too(ranker):
    ranker.set_params(n_epochs=2, precision="float64", random_state=0)
    others = [
        clone(ranker).set_params(learning_rate=0.01),
        clone(ranker).set_params(random_state=1),
    ]
    if ranker.hyper:
        others.append(clone(ranker).set_params(gamma=3.0))
    check([ranker, *others], 1)


@pytest.mark.slow
def test_what_cannot_be_stacked_is_fitted_by_itself():
    given = SMALL | {"random_state": 0}
    rankers = [
        DirectRanker(**given),
        DirectRanker("flipped", **given),
        DirectRanker(**given | {"learning_rate": 0.1}),
        DirectRanker(**given | {"layers": (5, 3)}),
        DirectRanker(**given, validation=0.25, early_stopping=2),
        ByColumn(),
    ]
    assert stacks(rankers) == [[0, 2], [1], [3], [4], [5]]
    for ranker, own in zip(fit_together(rankers, DATA), map(clone, rankers), strict=True):
        np.testing.assert_allclose(ranker.predict(DATA), own.fit(DATA).predict(DATA))
    other = [LambdaRank(), LambdaRank(learning_rate=0.1), RankNet(), RankNet(learning_rate=0.1)]
    other += [ConstrainedPairwise(), ConstrainedPairwise(learning_rate=0.1)]
    assert stacks(other) == [[at] for at in range(6)]


@pytest.mark.slow
def test_whoever_loses_its_way_stops_nobody_else():
    given = SMALL | {"random_state": 0, "tau": "identity"}
    rates = [0.001, 1e200, 0.002]
    rankers = [DirectRanker(**given | {"learning_rate": rate}) for rate in rates]
    errors = fit_all(rankers, DATA)
    assert [error is None for error in errors] == [True, False, True]
    for at in (0, 2):
        same(clone(rankers[at]).fit(DATA), rankers[at])
    with pytest.raises(DataError, match="no longer finite") as alone:
        clone(rankers[1]).fit(DATA)
    assert str(errors[1]) == str(alone.value)
    with pytest.raises(DataError, match="no longer finite"):
        fit_together([clone(ranker) for ranker in rankers], DATA)


def test_arrays_and_bad_input():
    rankers = [DirectRanker(**SMALL, random_state=seed) for seed in (0, 1)]
    qid = DATA.query_of_rows()
    found = fit_together(rankers, DATA.X, DATA.y, qid=qid)
    own = clone(rankers[0]).fit(DATA.X, DATA.y, qid=qid)
    np.testing.assert_allclose(found[0].predict(DATA), own.predict(DATA))
    with pytest.raises(DataError, match="got one of them twice"):
        fit_together([rankers[0], rankers[0]], DATA)
    with pytest.raises(DataError, match="gamma of DirectRanker must be"):
        fit_together([DirectRanker(), DirectRanker(gamma=-1.0)], DATA)
    with pytest.raises(DataError, match="sensitive_features must be given"):
        fit_together([DirectRanker("both", g) for g in (0.0, 1.0)], DATA.X, DATA.y, qid=qid)


def test_nothing_to_learn_is_said_by_each():
    data = make_ranking(n_queries=3, n_items=4, random_state=0)
    flat = type(data)(**{**vars(data), "y": np.zeros(data.n_rows)})
    rankers = [DirectRanker("flipped", g, **SMALL, random_state=0) for g in (0.0, 1.0)]
    with pytest.warns(match="learns nothing"):
        fit_together(rankers, flat)
    assert rankers[1].is_fitted_
