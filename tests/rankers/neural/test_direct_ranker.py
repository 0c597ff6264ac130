"""DirectRanker: an order by construction, opponents' gradients by hand, groups hidden."""

from copy import copy
from itertools import permutations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import equirank
from equirank import DataError, EquirankWarning, as_ranking_data, evaluate
from equirank.datasets import make_ranking
from equirank.preprocess import representation_leakage
from equirank.rankers import DebiasClassifier, DirectRanker

SMALL = {"layers": (5, 3), "n_epochs": 3, "batch_size": 32, "random_state": 0}


def lists(seed=0, **given):
    made = {"n_queries": 12, "n_items": 10, "n_features": 4, "feature_bias": 1.0} | given
    return make_ranking(**made, random_state=seed)


def several(n_groups=3):
    """Data with two attributes, one of several values."""
    data = lists()
    rng = np.random.default_rng(0)
    groups = {
        "sex": rng.choice(["f", "m"], data.n_rows),
        "age": rng.choice(["young", "middle", "old"][:n_groups], data.n_rows),
    }
    return as_ranking_data(data.X, data.y, qid=data.query_of_rows(), sensitive_features=groups)


# the order


@pytest.mark.parametrize("tau", ["tanh", "identity"])
def test_comparisons_are_an_order(tau):
    data = lists()
    model = DirectRanker(**SMALL, tau=tau).fit(data)
    rng = np.random.default_rng(1)
    a, b, c = rng.normal(size=(3, 200, 4)) * 3
    assert (model.compare(a, a) == 0.0).all()  # reflexive
    assert np.array_equal(model.compare(a, b), -model.compare(b, a))  # antisymmetric
    first, second = model.compare(a, b) >= 0, model.compare(b, c) >= 0
    assert (model.compare(a, c)[first & second] >= 0).all()  # transitive
    assert np.array_equal(model.compare(a, b) > 0, model.predict(a) > model.predict(b))
    weights = model.weights_
    gap = (model.transform(a) - model.transform(b)) @ weights["output.0.weight"][0].astype(float)
    expected = np.tanh(gap) if tau == "tanh" else gap
    np.testing.assert_allclose(model.compare(a, b), expected, rtol=1e-9, atol=1e-12)
    if tau == "tanh":
        assert (np.abs(model.compare(a, b)) < 1).all()


TRAINED = DirectRanker(**SMALL).fit(lists())


@pytest.mark.slow
@given(st.integers(0, 10_000))
@settings(max_examples=20)
def test_any_weights_are_an_order(seed):
    rng = np.random.default_rng(seed)
    model = copy(TRAINED)
    model.weights_ = {
        name: values + 3 * rng.normal(size=values.shape) if name.startswith(("f", "o")) else values
        for name, values in model.weights_.items()
    }
    points = rng.normal(size=(4, 1, 4))
    for a, b, c in permutations(points, 3):
        ab, bc, ac = (float(model.compare(*pair)[0]) for pair in ((a, b), (b, c), (a, c)))
        assert ab == -float(model.compare(b, a)[0])
        assert not (ab >= 0 and bc >= 0) or ac >= 0


# losses and gradients


def twin(weights, batch, fairness, gamma, tau, noise):
    """Return loss of the ranker and of its opponents in plain NumPy, the slow way."""
    w = {name: np.asarray(values) for name, values in weights.items()}
    x, target, weight = (np.asarray(batch[name]) for name in ("x", "target", "weight"))
    squash = np.tanh if tau == "tanh" else (lambda v: v)

    def f(rows):
        if noise:
            rows = rows * w["features.noise.w1"] + w["features.eta"] * w["features.noise.w2"]
        for layer in range(2):
            rows = np.tanh(rows @ w[f"features.{layer}.weight"].T + w[f"features.{layer}.bias"])
        return rows

    main, other = 0.0, 0.0
    n_pairs = len(target)
    for pair in range(n_pairs):
        first, second = f(x[0, pair]), f(x[1, pair])
        gap = squash(float(w["output.0.weight"][0] @ (first - second)))
        main += weight[pair] * (target[pair] - gap) ** 2 / n_pairs
        if fairness is None:
            continue
        codes = np.asarray(batch["sensitive"])[:, pair]
        for at in range(codes.shape[1]):
            if fairness in ("adversarial", "both"):
                for role, seen, code in zip(
                    ("first", "second"), (first, second), codes, strict=True
                ):
                    a = f"adversary.{role}.{at}"
                    hidden = np.tanh(seen @ w[f"{a}.0.weight"].T + w[f"{a}.0.bias"])
                    logit = hidden @ w[f"{a}.1.weight"].T + w[f"{a}.1.bias"]
                    chance = np.exp(logit) / np.exp(logit).sum()
                    other -= weight[pair] * np.log(chance[code[at]]) / n_pairs
            if fairness in ("flipped", "both"):
                guess = w[f"flipped.{at}.0.weight"] @ (first - second)
                if len(guess) == 1:
                    truth = np.array([codes[0, at] - codes[1, at]])
                else:
                    truth = np.eye(len(guess))[codes[0, at]] - np.eye(len(guess))[codes[1, at]]
                other += weight[pair] * ((truth - guess) ** 2).sum() / n_pairs
    return main, other


def slopes(problem, batch, vector, kind, part):
    """Differentiate one side of the twin by finite differences."""
    found = np.zeros_like(vector)
    fixed = {name: values.numpy() for name, values in problem.constants.items()}
    for at in range(len(vector)):
        ends = []
        for step in (1e-5, -1e-5):
            moved = vector.copy()
            moved[at] += step
            ends.append(twin(problem.unpack(moved) | fixed, batch, *kind)[part])
        found[at] = (ends[0] - ends[1]) / 2e-5
    return found


@pytest.mark.slow
@pytest.mark.parametrize("tau", ["tanh", "identity"])
@pytest.mark.parametrize(("fairness", "noise"), [(None, True), ("adversarial", False),
                                                 ("flipped", True), ("both", False)])  # fmt: skip
def test_loss_and_gradient_are_those_written_by_hand(fairness, noise, tau):
    """The gradient into f is its own minus gamma times the opponents', who descend theirs."""
    gamma, kind = 0.7, (fairness, 0.7, tau, noise)
    data = several()
    model = DirectRanker(
        fairness, gamma, noise, tau=tau, layers=(3, 2), adversary_layers=(3,), batch_size=6,
        precision="float64",
    )  # fmt: skip
    problem = model.problem(data, 0, torch.device("cpu"))
    batch = next(problem.batches.epoch(0))
    batch["weight"] = torch.linspace(0.5, 2.0, 6, dtype=torch.float64)
    vector = problem.start(1) + 0.1
    weights = torch.tensor(vector, requires_grad=True)
    loss = problem.value(weights, batch, {"gamma": torch.tensor(gamma, dtype=torch.float64)})
    fixed = {name: values.numpy() for name, values in problem.constants.items()}
    main, other = twin(problem.unpack(vector) | fixed, batch, *kind)
    assert loss.item() == pytest.approx(main + other, rel=1e-12)
    own, theirs = (slopes(problem, batch, vector, kind, part) for part in (0, 1))
    n_own = problem.model.sections()[0]
    expected = own - gamma * theirs
    expected[n_own:] = theirs[n_own:]
    (gradient,) = torch.autograd.grad(loss, weights)
    np.testing.assert_allclose(gradient.numpy(), expected, rtol=1e-6, atol=1e-9)
    if fairness is not None:
        assert np.abs(theirs[:n_own]).max() > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("fairness", ["adversarial", "flipped", "both"])
@pytest.mark.parametrize("clip", [None, 0.05])
def test_an_opponent_without_a_say_changes_nothing(fairness, clip):
    data = lists()
    plain = DirectRanker(**SMALL, clip=clip).fit(data)
    with pytest.warns(EquirankWarning, match="fairness of DirectRanker has no effect"):
        other = DirectRanker(fairness, gamma=0.0, **SMALL, clip=clip).fit(data)
    loud = DirectRanker(fairness, gamma=1.0, **SMALL, clip=clip).fit(data)
    assert np.array_equal(plain.predict(data), other.predict(data))
    assert np.array_equal(plain.transform(data), other.transform(data))
    assert not np.allclose(plain.predict(data), loud.predict(data), rtol=1e-3)


def test_a_weight_needs_adversaries():
    words = "fairness of DirectRanker must be given with gamma=2.0, which is its weight, got None"
    with pytest.raises(DataError, match=words):
        DirectRanker(gamma=2.0, **SMALL).fit(lists())
    with pytest.raises(DataError, match=words):
        DirectRanker(gamma=2.0, **SMALL).fit_pairs(np.eye(3), [[0, 1], [1, 2]])
    with pytest.warns(EquirankWarning, match="adversary_rate of DirectRanker has no effect"):
        DirectRanker(adversary_rate=2.0, **SMALL).fit(lists())


# what it is for


@pytest.fixture(scope="module", params=range(2))
def planted(request):
    """Train and test data whose features put one group down, and a plain ranker of each kind."""
    seed = request.param
    made = {"n_queries": 40, "n_items": 40, "feature_bias": 1.0}
    train, test = (make_ranking(**made, random_state=s) for s in (seed, 100 + seed))
    given = {
        "layers": (16, 4), "n_epochs": 30, "learning_rate": 0.006, "random_state": seed,
    }  # fmt: skip

    def judge(model):
        model.set_params(**given).fit(train)
        worth = evaluate(model.rank(test), metrics=["NDCG", "RND"])
        leak = representation_leakage(model.transform(test), test.attribute("group").codes)
        return float(worth["NDCG"]), float(worth["RND"]), leak

    return judge, judge(DirectRanker()), judge(DebiasClassifier(0.0))


FAIR = [
    DirectRanker("adversarial"),
    DirectRanker("flipped"),
    DirectRanker("both", noise=True),
    DebiasClassifier(),
]


@pytest.mark.slow
@pytest.mark.parametrize("model", FAIR, ids=lambda m: str(getattr(m, "fairness", "debias")))
def test_fair_members_hide_a_planted_bias(planted, model):
    judge, direct, pointwise = planted
    plain = pointwise if isinstance(model, DebiasClassifier) else direct
    relevance, unfairness, leak = judge(model)
    assert relevance >= 0.8 * plain[0]
    assert unfairness < 0.9 * plain[1]
    assert leak < 0.8 * plain[2]


def test_it_learns():
    train, test = (lists(s, n_queries=40, n_items=20, feature_bias=0.0) for s in (0, 1))
    short = DirectRanker(n_epochs=0, random_state=0).fit(train)
    model = DirectRanker(n_epochs=15, random_state=0).fit(train)
    assert model.score(test) > short.score(test) + 0.15
    assert model.curve_["loss"][-1] < 0.8 * model.curve_["loss"][0]


@pytest.mark.slow
@pytest.mark.parametrize("fairness", ["adversarial", "flipped", "both"])
def test_any_groups_and_attributes(fairness):
    data = several()
    model = DirectRanker(fairness, **SMALL).fit(data)
    names = {name for name in model.weights_ if name.startswith(("adversary", "flipped"))}
    if fairness != "adversarial":
        assert model.weights_["flipped.0.0.weight"].shape[0] == 1  # sex: two groups
        assert model.weights_["flipped.1.0.weight"].shape[0] == 3  # age
    if fairness != "flipped":
        assert model.weights_["adversary.second.1.1.weight"].shape[0] == 3
    one = DirectRanker(fairness, by="age", **SMALL).fit(data)
    assert sum(name.startswith(("adversary", "flipped")) for name in one.weights_) * 2 == len(names)
    crossed = DirectRanker(fairness, by=("sex", "age"), **SMALL).fit(data)
    key = "flipped.0.0.weight" if fairness == "flipped" else "adversary.first.0.1.weight"
    assert crossed.weights_[key].shape[0] == 6


def test_groups_are_needed_to_fit_and_never_to_predict():
    data = lists()
    given = (data.X, data.y)
    with pytest.raises(DataError, match="sensitive_features must be given"):
        DirectRanker("flipped", **SMALL).fit(*given, qid=data.query_of_rows())
    DirectRanker(**SMALL).fit(*given, qid=data.query_of_rows())
    fair = DirectRanker("flipped", **SMALL).fit(data)
    assert np.isfinite(fair.predict(data.X)).all()
    assert fair.get_metadata_routing().fit.requests["sensitive_features"] is True
    assert DirectRanker().get_metadata_routing().fit.requests["sensitive_features"] is False


# noise


def test_noise_is_drawn_once_and_kept(tmp_path):
    data = lists()
    model = DirectRanker(noise=True, **SMALL).fit(data)
    longer = DirectRanker(noise=True, **SMALL | {"n_epochs": 6}).fit(data)
    eta = model.weights_["features.eta"]
    assert eta.shape == (4,)
    assert np.array_equal(eta, longer.weights_["features.eta"])
    assert np.array_equal(model.predict(data), model.predict(data))
    model.save(tmp_path / "model")
    back = equirank.load(tmp_path / "model")
    assert np.array_equal(back.weights_["features.eta"], eta)
    assert np.array_equal(back.predict(data), model.predict(data))
    other = DirectRanker(noise=True, **SMALL | {"random_state": 1}).fit(data)
    assert not np.array_equal(other.weights_["features.eta"], eta)
    assert not np.array_equal(model.weights_["features.noise.w2"], np.ones(4))
    assert "features.eta" not in DirectRanker(**SMALL).fit(data).weights_


# explicit pairs


@pytest.mark.slow
def test_explicit_pairs_are_learnt():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    pairs = np.array([rng.choice(60, 2, replace=False) for _ in range(400)])
    truth = np.sign(X[pairs[:, 0], 1] - X[pairs[:, 1], 1]).astype(int)
    given = SMALL | {"n_epochs": 20, "learning_rate": 0.03}
    model = DirectRanker(**given).fit_pairs(X, pairs, truth)
    assert (np.sign(model.compare(X[pairs[:, 0]], X[pairs[:, 1]])) == truth).mean() > 0.95
    turned = np.where(truth[:, None] > 0, pairs, pairs[:, ::-1])
    assert DirectRanker(**given).fit_pairs(X, turned).score(X, (X[:, 1] > 0).astype(int)) > 0.9
    data = as_ranking_data(X, np.zeros(60), qid=np.arange(60) % 7)
    sorted_rows = DirectRanker(**given).fit_pairs(data, pairs, truth)
    assert np.corrcoef(sorted_rows.predict(data), X[:, 1])[0, 1] > 0.9


@pytest.mark.slow
def test_contradictions_pull_to_the_middle():
    X = np.eye(3)
    given = SMALL | {"n_epochs": 300, "learning_rate": 0.02}
    pairs, preference = [[0, 1], [0, 1], [0, 1], [1, 2]], [1, 1, -1, 0]
    model = DirectRanker(**given).fit_pairs(X, pairs, preference)
    # (1 - o)^2 twice and (-1 - o)^2 once are least at o = 1/3
    np.testing.assert_allclose(model.compare(X[:1], X[1:2]), [1 / 3], atol=0.05)
    heavy = DirectRanker(**given).fit_pairs(X, pairs, preference, [1, 1, 6, 1])
    np.testing.assert_allclose(heavy.compare(X[:1], X[1:2]), [-0.5], atol=0.05)


def test_bad_pairs_are_refused():
    X = np.eye(4)
    fit = DirectRanker(**SMALL).fit_pairs
    with pytest.raises(DataError, match=r"preference must be -1, 0 or 1, got 2\.0 in pair 1"):
        fit(X, [[0, 1], [1, 2]], [1, 2])
    with pytest.raises(DataError, match="pairs must name two different rows"):
        fit(X, [[0, 4]])
    with pytest.raises(DataError, match="weight must leave at least one pair of positive weight"):
        fit(X, [[0, 1]], [1], [0])
    with pytest.raises(DataError, match="validation must be None"):
        DirectRanker(validation=0.2).fit_pairs(X, [[0, 1]])
    with pytest.raises(DataError, match="sensitive_features must be given"):
        DirectRanker("both", **SMALL).fit_pairs(X, [[0, 1]])
    groups = ["a", "b", "a", "b"]
    model = DirectRanker("both", **SMALL).fit_pairs(X, [[0, 1], [2, 3]], sensitive_features=groups)
    assert list(model.groups_.values()) == [["a", "b"]]


def test_lists_that_teach_nothing():
    with pytest.warns(EquirankWarning, match="no list has items of unequal relevance"):
        model = DirectRanker(**SMALL).fit(np.eye(4), np.ones(4))
    assert np.isfinite(model.predict(np.eye(4))).all()


# a representation for others


def test_it_is_a_transformer():
    data = lists()
    model = DirectRanker(**SMALL).fit(data)
    assert model.transform(data).shape == (data.n_rows, 3)
    assert model.get_feature_names_out().tolist() == [f"directranker{at}" for at in range(3)]
    pipe = make_pipeline(DirectRanker(**SMALL), LogisticRegression())
    pipe.fit(data.X, data.y > 1)
    assert pipe.predict(data.X).shape == (data.n_rows,)
    shuffled = np.random.default_rng(0).permutation(data.n_rows)
    moved = as_ranking_data(data.X[shuffled], qid=data.query_of_rows()[shuffled])
    np.testing.assert_allclose(model.transform(moved), model.transform(data.X[shuffled]))
