"""NashAllocation: the published example, other solvers, and a gap that tells the truth."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array

from equirank import DataError, EquirankWarning
from equirank.allocation import NashAllocation, nash_welfare

PAIR = np.array([[0.8, 0.3], [0.5, 0.4]])


def solved(relevance, attention, weight):
    """The best policy by a general solver over all probabilities."""
    users, items = relevance.shape
    places = len(attention)

    def impact(x):
        return np.einsum("ui,k,uik->i", relevance, attention, x.reshape(users, items, places))

    def loss(x):
        return -(weight * np.log(np.maximum(impact(x), 1e-12))).sum()

    rules = [
        {"type": "eq", "fun": lambda x: x.reshape(users, items, places).sum(axis=1).ravel() - 1},
        {"type": "ineq", "fun": lambda x: 1 - x.reshape(users, items, places).sum(axis=2).ravel()},
    ]
    start = np.full(users * items * places, 1 / items)
    found = minimize(
        loss, start, bounds=[(0, 1)] * len(start), constraints=rules, method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )  # fmt: skip
    return -found.fun


def test_two_users_and_two_items():
    policy = NashAllocation(k=1, tol=1e-8).fit_policy(PAIR)
    assert policy.impact(PAIR) == pytest.approx([0.8, 0.4], abs=1e-6)
    assert policy.user_utility(PAIR).sum() == pytest.approx(1.2, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(3))
def test_as_good_as_a_general_solver(seed, alpha):
    relevance = np.random.default_rng(seed).random((3, 4)) + 0.05
    attention = np.array([1.0, 0.6])
    model = NashAllocation(alpha, k=2, discount=attention, tol=1e-5)
    policy = model.fit_policy(relevance)
    weight = relevance.sum(axis=0) ** alpha
    ours = (weight * np.log(policy.impact(relevance))).sum()
    best = solved(relevance, attention, weight)
    assert ours == pytest.approx(best, abs=1e-3)
    assert best <= ours + 1.01 * model.gap_ * weight.sum() + 1e-6


@pytest.mark.slow
def test_a_convex_solver_agrees():
    cvxpy = pytest.importorskip("cvxpy")
    relevance = np.random.default_rng(5).random((8, 10))
    attention = 1 / np.log2(np.arange(2, 5))
    x = [cvxpy.Variable((10, 3), nonneg=True) for _ in range(8)]
    impact = sum(cvxpy.multiply(relevance[u], x[u] @ attention) for u in range(8))
    rules = [cvxpy.sum(p, axis=0) == 1 for p in x] + [cvxpy.sum(p, axis=1) <= 1 for p in x]
    problem = cvxpy.Problem(cvxpy.Maximize(cvxpy.sum(cvxpy.log(impact))), rules)
    problem.solve()
    policy = NashAllocation(k=3, tol=1e-4).fit_policy(relevance)
    assert np.log(policy.impact(relevance)).sum() == pytest.approx(problem.value, abs=2e-3)


def test_the_gap_bounds_what_is_left():
    relevance = np.random.default_rng(3).random((30, 20))
    coarse, fine = NashAllocation(k=4, tol=0.05), NashAllocation(k=4, tol=1e-5)
    rough = np.log(coarse.fit_policy(relevance).impact(relevance)).mean()
    best = np.log(fine.fit_policy(relevance).impact(relevance)).mean()
    assert fine.gap_ <= 1e-5
    assert rough <= best + 1e-12
    assert best - rough <= coarse.gap_


def test_any_impact():
    rng = np.random.default_rng(8)
    relevance, attention = rng.random((4, 3)) + 0.1, np.array([1.0, 0.5])
    model = NashAllocation(k=2, discount=attention, tol=1e-6)
    plain = model.fit_policy(relevance)
    same = model.fit_policy(relevance, impact=relevance[:, :, None] * attention)
    assert same.impact(relevance) == pytest.approx(plain.impact(relevance), rel=1e-2)
    # item 0 gains only at place 2, the others only at place 1
    impact = np.zeros((4, 3, 2))
    impact[:, 0, 1] = 1.0
    impact[:, 1:, 0] = 1.0
    policy = model.fit_policy(relevance, impact=impact)
    table = policy.to_array()
    gained = (table * impact).sum(axis=(0, 2))
    assert gained == pytest.approx([4.0, 2.0, 2.0], abs=0.02)
    with pytest.raises(DataError, match="impact of NashAllocation must have shape"):
        model.fit_policy(relevance, impact=np.ones((4, 3)))


def test_the_family():
    relevance = np.random.default_rng(4).random((10, 6))
    greedy = NashAllocation(k=2, aversion=0.0).fit_policy(relevance)
    top = np.sort(relevance, axis=1)[:, ::-1][:, :2] @ greedy.attention
    assert greedy.user_utility(relevance) == pytest.approx(top)
    worst = [
        NashAllocation(k=2, aversion=f, tol=1e-4).fit_policy(relevance).impact(relevance).min()
        for f in (0.0, 1.0, 3.0)
    ]
    assert worst[0] < worst[1] < worst[2]


def test_sparse_is_dense_and_metrics_agree():
    relevance = np.round(np.random.default_rng(6).random((7, 5)), 1)
    dense = NashAllocation(k=2).fit_policy(relevance)
    sparse = NashAllocation(k=2).fit_policy(csr_array(relevance))
    assert (dense.to_array() == sparse.to_array()).all()
    single = NashAllocation(k=2).fit_policy(relevance.astype(np.float32))
    assert single.impact(relevance) == pytest.approx(dense.impact(relevance), rel=0.02)
    value = nash_welfare(relevance, dense.to_array(), attention=dense.attention)
    assert np.log(value) == pytest.approx(np.log(dense.impact(relevance)).mean())


def test_items_relevant_to_nobody_are_named():
    relevance = np.array([[0.5, 0.0, 0.2], [0.1, 0.0, 0.9]])
    with pytest.warns(EquirankWarning, match=r"leaves out 1 of 3.*item 1"):
        policy = NashAllocation(k=1, tol=1e-6).fit_policy(relevance)
    assert policy.impact(relevance)[[0, 2]] == pytest.approx([0.5, 0.9], abs=1e-3)


@pytest.mark.parametrize(
    ("model", "relevance", "words"),
    [
        (NashAllocation(), [[0.1, -1.0]], r"must be finite numbers >= 0, got -1.0 at \(0, 1\)"),
        (NashAllocation(), [0.1], "users x items"),
        (NashAllocation(), [[0.0, 0.0]], "must include a number > 0"),
        (NashAllocation(k=3), [[0.1, 0.2]], "at most the number of items"),
        (NashAllocation(alpha=-1), [[0.1, 0.2]], "alpha of NashAllocation must be"),
        (NashAllocation(discount=[0.1, 0.5]), [[0.1, 0.2]], "must not increase"),
    ],
)
def test_bad_input(model, relevance, words):
    with pytest.raises(DataError, match=words):
        model.fit_policy(relevance)


def test_too_few_rounds_are_said():
    with pytest.warns(EquirankWarning, match="stopped after 2 iterations"):
        NashAllocation(k=2, tol=1e-9, max_iter=2).fit_policy(
            np.random.default_rng(0).random((9, 8))
        )
