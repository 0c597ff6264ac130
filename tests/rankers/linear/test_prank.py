"""PRank: its steps written out, its thresholds, its mistake bound."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equirank import as_ranking_data
from equirank.rankers import PRank
from equirank.rankers.linear.prank import prank_pass


def slow(X, grade, passes, n_grades):
    """The algorithm as published, with every state it was in."""
    w, b = np.zeros(X.shape[1]), np.zeros(n_grades - 1)
    states, losses = [], []
    for _ in range(passes):
        loss = mistakes = 0
        for x, y in zip(X, grade, strict=True):
            above = [r for r in range(n_grades - 1) if w @ x < b[r]]
            guess = above[0] if above else n_grades - 1
            if guess != y:
                mistakes, loss = mistakes + 1, loss + abs(guess - y)
                sign = np.where(y > np.arange(n_grades - 1), 1, -1)
                tau = np.where((w @ x - b) * sign <= 0, sign, 0)
                w, b = w + tau.sum() * x, b - tau
            states.append((w, b))
        losses.append((mistakes, loss))
        if mistakes == 0:
            break
    return w, b, states, losses


@pytest.mark.parametrize("average", [False, True])
def test_it_does_what_was_published(average):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = np.clip(np.round(X @ [2.0, -1.0, 0.0] + rng.normal(size=80)), -2, 2) + 2
    model = PRank(3, average=average, shuffle=False).fit(X, 10 * y)
    w, b, states, losses = slow(X, y.astype(int), 3, 5)
    if average:
        w, b = (np.mean([state[part] for state in states], axis=0) for part in (0, 1))
    np.testing.assert_allclose(model.coef_, w)
    np.testing.assert_allclose(model.thresholds_, b)
    assert list(zip(model.mistakes_, model.losses_, strict=True)) == losses
    assert np.array_equal(model.grades_, [0, 10, 20, 30, 40])
    guess = 10 * (X @ w >= b[:, None]).sum(axis=0)
    assert np.array_equal(model.predict_grade(X), guess)
    # rows given by list are taken in the caller's order all the same
    data = as_ranking_data(X, 10 * y, qid=rng.integers(0, 4, 80))
    assert np.array_equal(PRank(3, average=average, shuffle=False).fit(data).coef_, model.coef_)


@pytest.mark.slow
@settings(max_examples=60)
@given(seed=st.integers(0, 2**31), n_grades=st.integers(2, 7), d=st.integers(1, 4))
def test_thresholds_stay_ordered(seed, n_grades, d):
    rng = np.random.default_rng(seed)
    X = np.round(3 * rng.normal(size=(60, d)), 1)
    grade = rng.integers(0, n_grades, 60)
    w, b = np.zeros(d), np.zeros(n_grades - 1)
    late = np.zeros(d), np.zeros(n_grades - 1)
    for at in range(60):  # after each single row
        prank_pass(X, grade, np.array([at]), at, w, b, *late)
        assert (np.diff(b) >= 0).all()
        assert (np.diff(b - late[1] / (at + 1)) >= -1e-12).all()


@pytest.mark.parametrize("seed", range(10))
def test_the_mistake_bound_holds(seed):
    rng = np.random.default_rng(seed)
    n_grades, d = 4, 3
    best = np.concatenate([rng.normal(size=d), np.sort(rng.normal(size=n_grades - 1))])
    best /= np.linalg.norm(best)
    w, b = best[:d], best[d:]
    X = rng.normal(size=(3000, d))
    X = X[np.abs((X @ w)[:, None] - b).min(axis=1) > 0.05]
    grade = ((X @ w)[:, None] >= b).sum(axis=1)
    gamma = np.abs((X @ w)[:, None] - b).min()
    radius = np.linalg.norm(X, axis=1).max()
    found = np.unique(grade)
    bound = (len(found) - 1) * (radius**2 + 1) / gamma**2
    model = PRank(500, average=False, shuffle=False).fit(X, grade)
    # separable: it learns them all, and is off by less than the bound over all passes together
    assert model.mistakes_[-1] == 0
    assert 0 < model.losses_.sum() <= bound
    assert np.array_equal(model.predict_grade(X), grade)


def test_one_grade_and_seeds():
    X = np.random.default_rng(0).normal(size=(30, 2))
    flat = PRank().fit(X, np.full(30, 2.0))
    assert np.array_equal(flat.predict_grade(X), np.full(30, 2.0))
    assert not flat.predict(X).any()
    y = (X[:, 0] > 0) + (X[:, 1] > 0)
    one, two = (PRank(2, random_state=seed).fit(X, y).coef_ for seed in (0, 1))
    assert np.array_equal(one, PRank(2, random_state=0).fit(X, y).coef_)
    assert not np.array_equal(one, two)


def test_a_score_on_a_threshold_is_of_the_upper_grade():
    model = PRank().fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    model.coef_, model.thresholds_ = np.array([1.0]), np.array([0.5, 1.5])
    assert model.predict_grade([[0.4], [0.5], [1.4], [1.5]]).tolist() == [0, 1, 1, 2]
