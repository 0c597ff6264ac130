"""RankSVM: against pairs that are listed, against liblinear and libsvm on them."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, LinearSVC

from equirank import DataError, EquirankWarning, as_ranking_data
from equirank.costs import ClassPairCost, GroupPairCost, ListedPairCost, ParityPairCost
from equirank.rankers import RankSVM
from equirank.rankers.feature_bins import Workers
from equirank.rankers.linear import rank_svm
from equirank.rankers.linear.hinge_objective import HingeObjective
from equirank.theory import rank_svm_bound


def made(n=60, n_lists=3, grades=5, seed=0, **given):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    y = np.clip(np.round(X[:, 0] - X[:, 1] + rng.normal(size=n) + grades / 2), 0, grades - 1)
    qid = rng.integers(0, n_lists, n)
    if given.pop("costs", False):
        given |= {"cost": rng.uniform(0.5, 3.0, n), "query_weight": 1.0 + qid}
    if given.pop("groups", False):
        given["sensitive_features"] = rng.choice(["a", "b"], n)
    return as_ranking_data(X, y, qid=qid, **given)


def enumerated(data, combination="product", pair_cost=None):
    """List the pairs (preferred, other) and their costs, by stored row."""
    query = data.query_of_rows()
    equal = pair_cost is not None and pair_cost.equal_grades
    higher = data.y[:, None] > data.y
    if equal:
        cells = pair_cost.blocks(data)[0]
        higher |= (data.y[:, None] == data.y) & (cells[:, None] != cells)
    a, b = np.nonzero(higher & (query[:, None] == query))
    cost = np.ones(len(a)) if pair_cost is None else pair_cost.pairs(data, a, b)
    if data.cost is not None:
        left, right = data.cost[a], data.cost[b]
        both = {"product": left * right, "sum": left + right, "mean": (left + right) / 2}
        cost = cost * both[combination]
    if data.query_weight is not None:
        cost = cost * data.query_weight[query[a]]
    a, b = np.where(cost < 0, b, a), np.where(cost < 0, a, b)
    return a, b, np.abs(cost)


def slow(w, X, a, b, cost, C, squared, width=1.0):
    """Objective, what is minimised, its gradient and its second derivatives, pair by pair."""
    D = X[a] - X[b]
    u = np.maximum(0.0, 1.0 - D @ w)
    half = 0.5 * w @ w
    if squared:
        value = primal = half + C * (cost * u**2).sum()
        slope, bend = 2.0 * u, 2.0 * (u > 0)
    else:
        primal = half + C * (cost * u).sum()
        rest = np.maximum(0.0, u - width)
        value = half + C * (cost * (u**2 - rest**2)).sum() / (2 * width)
        slope, bend = (u - rest) / width, ((u > 0) & (u < width)) / width
    gradient = w - C * D.T @ (cost * slope)
    return primal, value, gradient, np.eye(len(w)) + C * D.T @ (D * (cost * bend)[:, None])


LISTED = ListedPairCost([0, 3, 5], [7, 2, 1], [2.0, -3.0, 0.5], other=1.5)
PARITY = ParityPairCost([[0.0, 0.5], [-0.5, 0.0]], base=1.0)
CASES = [
    ({}, {}),
    ({"grades": 40}, {}),
    ({"n_lists": 1, "grades": 2}, {}),
    ({"costs": True}, {}),
    ({"costs": True, "grades": 30}, {"cost_combination": "sum"}),
    ({"costs": True}, {"cost_combination": "mean"}),
    ({"groups": True}, {"pair_cost": GroupPairCost([[1.0, -0.5], [3.0, 0.0]])}),
    ({"groups": True, "costs": True}, {"pair_cost": GroupPairCost([[1.0, 2.0], [3.0, 4.0]])}),
    ({"groups": True, "costs": True}, {"pair_cost": PARITY}),
    ({"costs": True}, {"pair_cost": ClassPairCost(np.arange(25.0).reshape(5, 5) - 3)}),
    ({}, {"pair_cost": LISTED}),
    ({"costs": True}, {"pair_cost": LISTED, "cost_combination": "mean"}),
    ({}, {"pair_cost": ListedPairCost([], [], [], other=3.0)}),
]


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize(("asked", "params"), CASES)
def test_objective_and_gradient_are_those_of_enumerated_pairs(loss, asked, params):
    data = made(**asked)
    model = RankSVM(0.3, loss=loss, **params)
    pairs, scale = model._pairs(data, Workers(1))
    objective = HingeObjective(data.X, pairs, model.C * scale, loss == "squared_hinge")
    objective.width = 0.25
    a, b, cost = enumerated(data, model.cost_combination, model.pair_cost)
    rng = np.random.default_rng(1)
    last = None
    for w in (np.zeros(4), rng.normal(size=4), np.round(20 * rng.normal(size=4))):
        point = objective.at(w)
        primal, value, gradient, hessian = slow(
            w, data.X, a, b, cost, model.C, objective.squared, objective.width
        )
        assert point.primal == pytest.approx(primal, rel=1e-10)
        assert point.value == pytest.approx(value, rel=1e-10)
        found = objective.gradient(point)
        np.testing.assert_allclose(found, gradient, atol=1e-9 * np.abs(gradient).max())
        direction = rng.normal(size=4)
        if last is not None:  # the order of another point is taken up again where it is needed
            objective.curved(last, direction)
        bent = objective.curved(point, direction)
        np.testing.assert_allclose(bent, hessian @ direction, atol=1e-9 * np.abs(bent).max())
        assert objective.gap(point, found) >= 0.0
        last = point


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("C", [1e-3, 0.1])
@pytest.mark.parametrize("costs", [False, True])
def test_the_solution_is_that_of_liblinear_on_difference_vectors(loss, C, costs):
    data = made(n=90, costs=costs)
    model = RankSVM(C, loss=loss, tol=1e-7).fit(data)
    a, b, cost = enumerated(data)
    sign = np.where(np.arange(len(a)) % 2, 1.0, -1.0)  # it wants two classes
    other = LinearSVC(
        C=C, loss=loss, fit_intercept=False, dual=loss == "hinge", tol=1e-7, max_iter=200_000
    )
    other.fit((data.X[a] - data.X[b]) * sign[:, None], sign, sample_weight=cost)
    theirs = slow(other.coef_[0], data.X, a, b, cost, C, loss == "squared_hinge")[0]
    assert model.objective_ == pytest.approx(theirs, rel=1e-6)
    assert model.gap_ <= 1e-7 * model.objective_
    np.testing.assert_allclose(model.coef_, other.coef_[0], atol=2e-3 * np.abs(model.coef_).max())


@pytest.mark.gate
def test_the_kernel_solution_is_that_of_libsvm_on_the_pair_kernel():
    data, C, gamma = made(n=30), 0.5, 0.3
    model = RankSVM(C, loss="hinge", kernel="rbf", gamma=gamma, tol=1e-6).fit(data)
    a, b, _ = enumerated(data)
    K = rbf_kernel(data.X, gamma=gamma)
    # each pair both ways, so that no intercept is learned; half of C each
    first, second = np.concatenate([a, b]), np.concatenate([b, a])
    sign = np.concatenate([np.ones(len(a)), -np.ones(len(a))])
    ends = (first, second)
    pair_kernel = (
        K[np.ix_(ends[0], ends[0])] + K[np.ix_(ends[1], ends[1])]
        - K[np.ix_(ends[1], ends[0])] - K[np.ix_(ends[0], ends[1])]
    )  # fmt: skip
    other = SVC(C=C / 2, kernel="precomputed", tol=1e-9).fit(pair_kernel, sign)
    gaps = other.decision_function(pair_kernel)[: len(a)]
    score = model.predict(data.X)
    np.testing.assert_allclose(score[a] - score[b], gaps, atol=1e-3)
    new = np.random.default_rng(5).normal(size=(10, 4))
    rows = rbf_kernel(new, data.X, gamma=gamma)
    weight = np.zeros(len(data.X))
    np.add.at(weight, first[other.support_], other.dual_coef_[0])
    np.add.at(weight, second[other.support_], -other.dual_coef_[0])
    np.testing.assert_allclose(np.diff(model.predict(new)), np.diff(rows @ weight), atol=1e-3)


def test_nystroem_features_come_close_and_all_rows_are_exact():
    data = made(n=150, n_lists=4)
    exact = RankSVM(0.05, kernel="rbf", tol=1e-8).fit(data)
    whole = RankSVM(0.05, kernel="rbf", tol=1e-8, n_components=1000).fit(data)
    assert np.array_equal(exact.predict(data), whole.predict(data))
    part = RankSVM(0.05, kernel="rbf", n_components=60, random_state=3, tol=1e-8).fit(data)
    assert part.landmarks_.shape == (60, 4)
    assert np.corrcoef(part.predict(data), exact.predict(data))[0, 1] > 0.99
    assert part.objective_ >= exact.objective_ * (1 - 1e-7)  # fewer functions to choose from
    again = RankSVM(0.05, kernel="rbf", n_components=60, random_state=3, tol=1e-8).fit(data)
    assert np.array_equal(part.predict(data), again.predict(data))


KERNELS = {"rbf": {"gamma": 0.2}, "laplacian": {"gamma": 0.2}, "cosine": {}}
KERNELS["poly"] = {"gamma": 0.2, "coef0": 1.0, "degree": 2}


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_know_their_radius_and_norm(kernel):
    data = made(n=40)
    model = RankSVM(0.1, kernel=kernel, **KERNELS[kernel]).fit(data)
    facts = model._bound_facts(data)
    values = model._kernel()(data.X, data.X)
    assert facts.radius == pytest.approx(np.sqrt(np.diag(values).max()))
    norm = np.sqrt(
        model.dual_coef_ @ model._kernel()(model.landmarks_, model.landmarks_) @ model.dual_coef_
    )
    assert facts.norm == pytest.approx(norm, rel=1e-6)


def test_a_polynomial_of_degree_one_is_linear():
    data = made(n=50)
    linear = RankSVM(0.1, tol=1e-10).fit(data)
    poly = RankSVM(0.1, kernel="poly", degree=1, gamma=1.0, tol=1e-10).fit(data)
    np.testing.assert_allclose(poly.predict(data), linear.predict(data), atol=1e-5)
    assert poly.norm_ == pytest.approx(linear.norm_, rel=1e-4)


# fitting pairs


def test_fit_on_grades_is_fit_on_their_pairs():
    data = made(costs=True)
    model = RankSVM(0.1, tol=1e-10).fit(data)
    a, b, cost = enumerated(data)
    rows = data.rows
    flip = np.arange(len(a)) % 3 == 0
    pairs = np.stack([np.where(flip, rows[b], rows[a]), np.where(flip, rows[a], rows[b])], axis=1)
    X = data.to_original(data.X)
    other = RankSVM(0.1, tol=1e-10).fit_pairs(X, pairs, np.where(flip, -1, 1), cost)
    np.testing.assert_allclose(other.coef_, model.coef_, rtol=1e-5)
    whole = RankSVM(0.1, tol=1e-10).fit_pairs(data, pairs, np.where(flip, -1, 1), cost)
    np.testing.assert_allclose(whole.coef_, other.coef_, rtol=1e-9)


def test_preferences_may_contradict_and_run_in_a_circle():
    X = np.eye(3)
    circle = RankSVM(1.0, tol=1e-10).fit_pairs(X, [[0, 1], [1, 2], [2, 0]])
    np.testing.assert_allclose(circle.predict(X), 0.0, atol=1e-9)
    torn = RankSVM(1.0, tol=1e-10).fit_pairs(X, [[0, 1], [0, 1], [0, 1]], [1, -1, 1])
    once = RankSVM(1.0, tol=1e-10).fit_pairs(X, [[0, 1], [1, 0], [2, 1]], [1, 1, 0], [2, 1, 5])
    np.testing.assert_allclose(torn.coef_, once.coef_, atol=1e-8)
    assert torn.coef_[0] > 0 > torn.coef_[1]
    with pytest.raises(DataError, match="pair_cost must be None"):
        RankSVM(pair_cost=LISTED).fit_pairs(X, [[0, 1]])


# the rest


def test_costs_are_taken_as_they_are():
    data = made()
    X, y, qid = data.to_original(data.X), data.to_original(data.y), data.query_of_rows()
    qid = data.to_original(qid)
    for combination, factor in (("product", 4.0), ("sum", 4.0), ("mean", 2.0)):
        costly = RankSVM(0.1, cost_combination=combination, tol=1e-10)
        costly.fit(X, y, qid=qid, cost=np.full(len(y), 2.0))
        plain = RankSVM(0.1 * factor, tol=1e-10).fit(X, y, qid=qid)
        np.testing.assert_allclose(costly.coef_, plain.coef_, rtol=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_sparse_features_give_what_dense_ones_give(kernel):
    data = made()
    X, y = np.where(np.abs(data.X) < 0.5, 0.0, data.X), data.y
    dense = RankSVM(0.1, kernel=kernel).fit(X, y)
    sparse = RankSVM(0.1, kernel=kernel).fit(csr_array(X), y)
    np.testing.assert_allclose(sparse.predict(csr_array(X)), dense.predict(X), atol=1e-8)
    facts = sparse._bound_facts(as_ranking_data(csr_array(X), y))
    assert facts.radius == pytest.approx(dense._bound_facts(as_ranking_data(X, y)).radius)


def test_threads_change_nothing():
    data = made(n=40_000, n_lists=50)
    one = RankSVM(0.01, n_jobs=1).fit(data)
    assert np.array_equal(RankSVM(0.01, n_jobs=3).fit(data).coef_, one.coef_)


def test_nothing_to_learn_and_too_few_steps_are_said():
    data = made()
    with pytest.warns(EquirankWarning, match="no pair of unequal relevance"):
        model = RankSVM().fit(data.X, np.ones(60))
    assert np.array_equal(model.predict(data.X), np.zeros(60))
    with pytest.warns(EquirankWarning, match="RankSVM stopped after 1 steps, up to"):
        RankSVM(tol=1e-9, max_iter=1).fit(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RankSVM(loss="hinge").fit(data)


def test_pairs_that_can_be_separated_are_solved_as_well():
    """Nearly no pair is active at the end, and which ones are changes with every step."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 160)), rng.integers(0, 2, 120)
    model = RankSVM(1.0).fit(X, y)  # a warning would be an error
    assert model.gap_ <= 1e-4 * model.objective_
    score = model.predict(X)
    gaps = score[y == 1][:, None] - score[y == 0]
    assert gaps.min() > 0.99
    again = RankSVM(1.0, tol=1e-8).fit(X, y)
    assert again.objective_ == pytest.approx(model.objective_, rel=1e-4)
    assert again.objective_ <= model.objective_


def test_a_whole_kernel_of_many_rows_is_refused(monkeypatch):
    monkeypatch.setattr(rank_svm, "WHOLE_KERNEL", 50)
    with pytest.raises(DataError, match="n_components of RankSVM must be given"):
        RankSVM(kernel="rbf").fit(made(n=51))
    RankSVM(kernel="rbf", n_components=20).fit(made(n=51))


def test_bounds_speak_of_its_slack():
    data = made(n=2000, n_lists=1000, grades=2)
    model = RankSVM(0.01, loss="hinge").fit(data)
    table = model.generalization_bounds(data)
    assert table["bound"].tolist() == ["kernel", "rank_svm"]
    radius = np.sqrt((data.X**2).sum(axis=1).max())
    wanted = rank_svm_bound(
        table["empirical"][1], int(table["pairs"][1]), norm=model.norm_, radius=radius
    )
    assert table["value"][1] == pytest.approx(wanted.value)
