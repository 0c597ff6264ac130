import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equirank import DataError
from equirank.preprocess import LearnedFairRepresentation
from equirank.preprocess.learned_fair_representation import LFRLoss


def plain_loss(X, y, groups, theta, k, weights, root):
    """The formula for two groups, as published, with means of the squared errors."""
    width = X.shape[1]
    a, V, w = theta[:width], theta[width : width * (1 + k)].reshape(k, width), theta[-k:]
    U = []
    for x in X:
        d = np.array([(a * (x - v) ** 2).sum() for v in V])
        u = np.exp(-(np.sqrt(d) if root else d))
        U.append(u / u.sum())
    U = np.array(U)
    parity = sum(abs(U[groups == 1, j].mean() - U[groups == 0, j].mean()) for j in range(k))
    rebuilt = np.mean([((x - u @ V) ** 2).sum() for x, u in zip(X, U, strict=True)])
    predicted = np.mean([(t - u @ w) ** 2 for t, u in zip(y, U, strict=True)])
    return weights[0] * parity + weights[1] * rebuilt + weights[2] * predicted


@pytest.mark.slow
@settings(max_examples=30)
@given(st.integers(0, 2**16), st.booleans(), st.integers(2, 4))
def test_loss_is_the_formula_and_its_gradient_agrees_with_differences(seed, root, k):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(8, 3)), rng.normal(size=8)
    codes = np.array([0, 1, 0, 1, 1, 0, 1, 1])
    loss = LFRLoss(X, y, codes, k, 0.8, 0.3, 1.2, root)
    theta = np.concatenate([0.2 + rng.random(3), rng.normal(size=4 * k)])
    value, slope = loss(theta)
    assert value == pytest.approx(plain_loss(X, y, codes, theta, k, (0.8, 0.3, 1.2), root))
    h = 1e-6
    wanted = [
        (loss(theta + h * e)[0] - loss(theta - h * e)[0]) / (2 * h) for e in np.eye(len(theta))
    ]
    np.testing.assert_allclose(slope, wanted, atol=2e-5 * (1 + np.abs(slope).max()))


def test_with_three_groups_the_parity_is_the_mean_over_groups_against_the_rest():
    rng = np.random.default_rng(0)
    X, codes = rng.normal(size=(9, 2)), np.arange(9) % 3
    theta = np.concatenate([[1.0, 1.0], rng.normal(size=4), np.zeros(2)])
    loss = LFRLoss(X, None, codes, 2, 1.0, 0.0, 0.0, False)
    value, slope = loss(theta)
    U = loss.share.T
    gaps = [np.abs(U[codes == g].mean(axis=0) - U[codes != g].mean(axis=0)).sum() for g in range(3)]
    assert value == pytest.approx(np.mean(gaps))
    assert (slope[-2:] == 0).all()
    h = 1e-6
    wanted = [(loss(theta + h * e)[0] - loss(theta - h * e)[0]) / (2 * h) for e in np.eye(8)]
    np.testing.assert_allclose(slope, wanted, atol=1e-6)


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    sex = np.repeat(["f", "m"], 100)
    X = rng.normal(size=(200, 3))
    X[:, 0] += 1.5 * (sex == "m")
    return X, X.sum(axis=1), sex


def gap(model, X, sex):
    U = model.memberships(X)
    return np.abs(U[sex == "m"].mean(axis=0) - U[sex == "f"].mean(axis=0)).sum()


def test_parity_closes_the_gap_of_memberships(people):
    X, y, sex = people
    small = {"n_prototypes": 4, "n_init": 1, "random_state": 0}
    loose = LearnedFairRepresentation(parity=0.0, **small).fit(X, y, sensitive_features=sex)
    tight = LearnedFairRepresentation(parity=20.0, **small).fit(X, y, sensitive_features=sex)
    assert gap(tight, X, sex) < 0.25 * gap(loose, X, sex)
    assert loose.groups_ == ["f", "m"]


def test_prototypes_stay_among_the_people_and_targets_in_their_range(people):
    X, y, sex = people
    model = LearnedFairRepresentation(4, n_init=1, random_state=0).fit(X, y, sensitive_features=sex)
    assert (model.prototypes_ >= X.min(axis=0)).all()
    assert (model.prototypes_ <= X.max(axis=0)).all()
    assert (model.target_weights_ >= y.min()).all()
    assert (model.target_weights_ <= y.max()).all()


def test_protected_columns_are_groups_too(people):
    X, y, sex = people
    full = np.column_stack([X, sex == "m"]).astype(float)
    small = {"n_prototypes": 3, "n_init": 1, "max_iter": 10, "random_state": 0}
    by_column = LearnedFairRepresentation(protected=[3], **small).fit(full, y)
    by_argument = LearnedFairRepresentation(**small).fit(full, y, sensitive_features=sex)
    np.testing.assert_allclose(by_column.transform(full), by_argument.transform(full))
    assert by_column.groups_ == [0.0, 1.0]


def test_without_a_target_nothing_is_predicted(people):
    X, _, sex = people
    model = LearnedFairRepresentation(3, n_init=1, max_iter=5, random_state=0)
    assert (model.fit(X, sensitive_features=sex).target_weights_ == 0).all()


def test_bad_input(people):
    X, y, sex = people
    model = LearnedFairRepresentation(3, n_init=1, max_iter=5)
    with pytest.raises(DataError, match="sensitive_features must be passed to fit"):
        model.fit(X, y)
    with pytest.raises(DataError, match=r"at least two groups.*'f' only"):
        model.fit(X, y, sensitive_features=["f"] * 200)
    with pytest.raises(DataError, match="y must have one value per row of X"):
        model.fit(X, y[:-1], sensitive_features=sex)
    with pytest.raises(DataError, match=r"y must be a finite number.*row 3"):
        model.fit(X, np.where(np.arange(200) == 3, np.nan, y), sensitive_features=sex)
