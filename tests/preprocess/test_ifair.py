import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equirank import DataError
from equirank.preprocess import IFair
from equirank.preprocess.ifair import IFairLoss


def plain_loss(X, theta, n_prototypes, open_columns, pairs, reconstruction, fairness, root):
    """The formula, one person and one pair at a time."""
    width = X.shape[1]
    a, V = theta[:width], theta[width:].reshape(n_prototypes, width)
    made = []
    for x in X:
        d = np.array([(a * (x - v) ** 2).sum() for v in V])
        u = np.exp(-(np.sqrt(d) if root else d))
        made.append((u / u.sum()) @ V)
    loss = reconstruction * np.mean([((x - m) ** 2).sum() for x, m in zip(X, made, strict=True)])
    errors = [
        (np.linalg.norm(made[i] - made[j]) - np.linalg.norm(open_columns[i] - open_columns[j])) ** 2
        for i, j in pairs
    ]
    return loss + fairness * np.mean(errors)


@settings(max_examples=30)
@given(st.integers(0, 2**16), st.booleans(), st.integers(3, 8), st.integers(1, 4))
def test_loss_is_the_formula_and_its_gradient_agrees_with_differences(seed, root, n, k):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    n_pairs = int(rng.integers(1, n * (n - 1) // 2 + 1))
    base, extra = divmod(n_pairs, n)
    pairs = [(i, (i + s) % n) for i in range(n) for s in range(1, base + 1 + (i < extra))]
    loss = IFairLoss(X, X[:, :2], k, n_pairs, 0.7, 1.3, root)
    theta = np.concatenate([0.2 + rng.random(3), rng.normal(size=3 * k)])
    value, slope = loss(theta)
    assert value == pytest.approx(
        plain_loss(X, theta, k, X[:, :2], pairs, 0.7, 1.3, root), rel=1e-9
    )
    h = 1e-6
    wanted = [
        (loss(theta + h * e)[0] - loss(theta - h * e)[0]) / (2 * h) for e in np.eye(len(theta))
    ]
    np.testing.assert_allclose(slope, wanted, atol=2e-5 * (1 + np.abs(slope).max()))


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(1)
    sex = rng.integers(0, 2, 150).astype(float)
    skill = rng.normal(size=150)
    return np.column_stack([skill, skill + sex + 0.5 * rng.normal(size=150), sex])


def twins(X, column):
    other = X.copy()
    other[:, column] = X[:, column].max() + X[:, column].min() - X[:, column]
    return other


def test_people_equal_in_all_but_the_protected_columns_are_represented_equally(people):
    model = IFair(4, protected=[2], n_init=1, random_state=0).fit(people)
    assert model.protected_tolerance_ == 0.0
    np.testing.assert_array_equal(model.transform(people), model.transform(twins(people, 2)))


@pytest.mark.parametrize("distance", ["euclidean", "squared"])
@pytest.mark.parametrize("variant", ["a", "b"])
def test_learned_weights_keep_such_people_within_the_stated_tolerance(people, variant, distance):
    model = IFair(
        4,
        protected=[2],
        variant=variant,
        freeze_protected=False,
        distance=distance,
        n_init=1,
        max_iter=30,
        random_state=0,
    ).fit(people)
    apart = np.linalg.norm(model.transform(people) - model.transform(twins(people, 2)), axis=1)
    assert apart.max() <= model.protected_tolerance_ + 1e-12
    if variant == "a":
        assert apart.max() > 0  # the weights are not zero, so the bound is not idle


def test_variants_begin_where_they_say(people):
    start = {"n_init": 1, "max_iter": 1, "tol": 1e9, "random_state": 0, "protected": [2]}
    b = IFair(3, freeze_protected=False, **start).fit(people).attribute_weights_
    a = IFair(3, variant="a", **start).fit(people).attribute_weights_
    assert b[2] < 0.01 < a[2]


def test_more_starts_never_do_worse(people):
    losses = [IFair(3, n_init=n, max_iter=15, random_state=3).fit(people).loss_ for n in (1, 4)]
    assert losses[1] <= losses[0]


def test_fairness_keeps_distances_of_the_open_columns(people):
    open_columns = people[:, :2]
    apart = np.linalg.norm(open_columns[:, None] - open_columns[None], axis=2)

    def error(fairness):
        model = IFair(6, protected=[2], fairness=fairness, n_init=1, random_state=0).fit(people)
        Z = model.transform(people)
        return ((np.linalg.norm(Z[:, None] - Z[None], axis=2) - apart) ** 2).mean()

    assert error(10.0) < 0.7 * error(0.0)


def test_sampled_pairs_come_close_to_all_pairs(people):
    whole = IFair(4, protected=[2], n_init=1, random_state=0).fit(people)
    some = IFair(4, protected=[2], n_init=1, n_pairs=3000, random_state=0).fit(people)
    assert whole.n_pairs_ == 150 * 149 // 2
    assert some.n_pairs_ == 3000
    full = IFairLoss(people, people[:, :2], 4, 150 * 149 // 2, 1.0, 1.0, True)
    theta = np.concatenate([some.attribute_weights_, some.prototypes_.ravel()])
    assert full(theta)[0] < 1.15 * whole.loss_


def test_pairs_are_counted_by_size_of_the_data():
    model = IFair(2)
    assert model._count_pairs(2000) == 2000 * 1999 // 2
    assert model._count_pairs(2001) == 200_000
    assert model._count_pairs(10**6) == 2 * 10**6
    assert IFair(2, n_pairs=10**9)._count_pairs(10) == 45
    assert IFair(2, n_pairs="all")._count_pairs(5000) == 5000 * 4999 // 2


def test_memberships_sum_to_one_and_make_the_representation(people):
    model = IFair(3, n_init=1, max_iter=5, random_state=0).fit(people)
    u = model.memberships(people)
    np.testing.assert_allclose(u.sum(axis=1), 1)
    np.testing.assert_allclose(u @ model.prototypes_, model.transform(people))


@pytest.mark.slow
def test_changes_show_less_leakage_and_use_the_known_measures(people):
    from equirank.preprocess import representation_leakage

    rng = np.random.default_rng(2)
    model = IFair(6, protected=[2], n_init=1, random_state=0).fit(people[:100])
    held_out, sex = people[100:], people[100:, 2].astype(int)
    table = model.changes(
        held_out, held_out[:, 0] + rng.normal(size=50), sensitive_features=sex, n_neighbors=5
    )
    assert table["measure"].tolist() == ["leakage (linear)", "leakage (forest)", "consistency"]
    assert table["before"][0] == representation_leakage(held_out, sex)
    assert table["after"][0] == representation_leakage(model.transform(held_out), sex)
    assert table["after"][0] < table["before"][0]
    assert len(model.changes(held_out, sensitive_features=sex)) == 2


def test_bad_input(people):
    with pytest.raises(DataError, match="n_prototypes of IFair must be at most"):
        IFair(200).fit(people)
    with pytest.raises(DataError, match="names all of them"):
        IFair(2, protected=[0, 1, 2]).fit(people)
    with pytest.raises(DataError, match="which has 3, got 7"):
        IFair(2, protected=[7]).fit(people)
    with pytest.raises(DataError, match="each column once"):
        IFair(2, protected=[0, -3]).fit(people)
