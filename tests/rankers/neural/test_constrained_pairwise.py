"""ConstrainedPairwise: keeps to its constraint where it can, says what it did, repeats itself."""

import numpy as np
import pytest
import torch

import equirank
from equirank import DataError, EquirankWarning, as_ranking_data
from equirank.metrics.fairness.pairwise import count_pairs
from equirank.rankers import ConstrainedPairwise

QUICK = {"layers": (), "batch_size": 32, "n_epochs": 45, "random_state": 0}


def biased(seed, n_lists=12, size=20, groups=("a", "b")):
    """Labels by skill plus a bonus for later groups; one feature shows skill, one the group."""
    rng = np.random.default_rng(seed)
    n = n_lists * size
    code, skill = rng.integers(0, len(groups), n), rng.normal(size=n)
    X = np.stack([skill + rng.normal(size=n), code + 0.3 * rng.normal(size=n)], axis=1)
    y = np.clip(np.round(skill + 1.5 * code + 1.0), 0, 4)
    qid = np.repeat(np.arange(n_lists), size)
    return as_ranking_data(X, y, qid=qid, sensitive_features=np.array(groups)[code])


def accuracies(ranking):
    """Pooled over lists: of pairs by group of the better and the worse item."""
    slots = ranking.slots()
    codes = slots.data.attribute().codes[slots.order]
    counts = count_pairs(slots, codes, len(slots.data.attribute().categories), slots.y)
    return 1.0 - counts.wrong.sum(axis=0) / counts.total.sum(axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_it_keeps_to_eps_where_a_plain_ranker_does_not(seed):
    data = biased(seed)
    plain = ConstrainedPairwise(1.0, **QUICK | {"n_epochs": 15}).fit(data)
    assert plain.steps_["violation"][plain.best_] > 0.15
    fair = ConstrainedPairwise(0.05, loss=("hinge", "logistic")[seed % 2], **QUICK).fit(data)
    steps = fair.steps_
    assert steps["violation"][fair.best_] <= 0.05
    assert fair.mixture_violation_ <= 0.05 + 1e-6
    assert fair.mixture_error_ <= steps["error"][fair.best_] + 1e-9
    assert steps["error"][fair.best_] < 0.45
    table = accuracies(fair.rank(data))
    assert table[0, 1] - table[1, 0] == pytest.approx(fair.differences_[fair.best_, 0], abs=1e-9)
    assert abs(table[0, 1] - table[1, 0]) <= 0.05


@pytest.mark.slow
def test_three_groups_and_the_marginal_version():
    data = biased(0, groups=("a", "b", "c"))
    for constraint in ("equal_opportunity", "marginal"):
        plain, fair = (
            ConstrainedPairwise(eps, constraint, **QUICK | {"n_epochs": n}).fit(data)
            for eps, n in ((1.0, 15), (0.1, 45))
        )
        assert fair.labels_ == [("a", "b"), ("a", "c"), ("b", "c")]
        assert fair.differences_.shape == (45, 3)
        before, after = (m.steps_["violation"][m.best_] for m in (plain, fair))
        assert before > 0.2
        assert after < 0.6 * before
        assert fair.mixture_violation_ <= 0.1 + 1e-6


@pytest.mark.slow
def test_an_attribute_that_is_a_number():
    data = biased(1)
    given = QUICK | {"constraint": "continuous", "column": 1}
    plain, fair = (
        ConstrainedPairwise(eps, **given).fit(data.X, data.y, qid=data.query_of_rows())
        for eps in (1.0, 0.05)
    )
    assert plain.steps_["violation"][plain.best_] > 0.2
    assert fair.steps_["violation"][fair.best_] <= 0.05
    z, query, score = data.X[:, 1], data.query_of_rows(), fair.predict(data.X)
    right = {True: [], False: []}
    for i in range(data.n_rows):
        for j in np.flatnonzero((query == query[i]) & (data.y < data.y[i])):
            right[bool(z[i] > z[j])].append(score[i] > score[j])
    apart = np.mean(right[False]) - np.mean(right[True])
    assert apart == pytest.approx(fair.differences_[fair.best_, 0], abs=1e-9)


def test_a_column_goes_by_its_name():
    pandas = pytest.importorskip("pandas", reason="pandas is not there")
    data = biased(1)
    frame = pandas.DataFrame(data.X, columns=["skill", "age"])
    given = QUICK | {"constraint": "continuous", "n_epochs": 2}
    by_name = ConstrainedPairwise(column="age", **given).fit(frame, data.y, qid=0)
    by_place = ConstrainedPairwise(column=1, **given).fit(data.X, data.y, qid=0)
    np.testing.assert_array_equal(by_name.differences_, by_place.differences_)
    with pytest.raises(DataError, match="column must be one of the features, got 'size'"):
        ConstrainedPairwise(column="size", **given).fit(frame, data.y, qid=0)


@pytest.mark.slow
def test_draws_come_from_the_mixture(tmp_path):
    data = biased(2, n_lists=60, size=8)
    model = ConstrainedPairwise(0.03, **QUICK).fit(data)
    assert model.shares_.sum() == pytest.approx(1.0)
    assert 1 <= len(model.members_) == (model.shares_ > 0).sum() <= 3
    whole = model.mixture(data)
    np.testing.assert_allclose(whole.weights[0], model.shares_[model.shares_ > 0])
    drawn = model.rank(data, n_draws=40, random_state=1)
    assert drawn.n_draws == 40
    seen = [(drawn.position[:, :, None] == whole.position[:, None, :])[rows].all(axis=0).any(axis=1)
            for rows in (slice(8 * q, 8 * q + 8) for q in range(60))]  # fmt: skip
    assert np.all(seen)  # each drawn list is one of the mixture's
    model.save(tmp_path / "model")
    again = equirank.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(data), model.predict(data))
    same = again.rank(data, n_draws=40, random_state=1)
    np.testing.assert_array_equal(same.position, drawn.position)
    assert again.steps_["violation"].tolist() == model.steps_["violation"].tolist()


def test_the_second_player_steps_in_proportion_to_the_violations():
    """From even weights: its rate times a third of the violation, and no step for the loss."""
    given = QUICK | {"n_epochs": 1, "max_steps": 1, "multiplier_rate": 0.3}
    model = ConstrainedPairwise(0.05, **given).fit(biased(0))
    step = model.weights_["multipliers.0.bias"].reshape(3, 3)
    np.testing.assert_array_equal(step[0], 0.0)
    np.testing.assert_allclose(step[1] + step[2], -2 * 0.3 * 0.05 / 3, rtol=1e-5)
    assert (step[2] > 0.03).all()  # b's accuracy is the larger one: that side is violated


@pytest.mark.slow
def test_an_interrupted_run_ends_the_same(tmp_path):
    data = biased(3)
    given = QUICK | {"eps": 0.05, "n_epochs": 8}
    whole = ConstrainedPairwise(**given).fit(data)
    part = ConstrainedPairwise(**given | {"n_epochs": 3, "checkpoint": str(tmp_path)}).fit(data)
    assert len(part.errors_) == 3
    rest = ConstrainedPairwise(**given | {"checkpoint": str(tmp_path)}).fit(data)
    np.testing.assert_array_equal(rest.differences_, whole.differences_)
    np.testing.assert_array_equal(rest.predict(data), whole.predict(data))


def test_what_cannot_be_is_refused():
    data = biased(0)
    with pytest.raises(DataError, match="must be numbers for constraint 'continuous'"):
        ConstrainedPairwise(constraint="continuous").fit(data)
    with pytest.raises(DataError, match="eps of ConstrainedPairwise must be a number in"):
        ConstrainedPairwise(-0.1).fit(data)
    with pytest.raises(DataError, match="sensitive_features must be given"):
        ConstrainedPairwise().fit(data.X, data.y, qid=0)


def test_without_pairs_nothing_is_learned():
    data = as_ranking_data(np.eye(4), np.ones(4), sensitive_features=list("abab"))
    with pytest.warns(EquirankWarning, match="ConstrainedPairwise learns nothing"):
        model = ConstrainedPairwise(n_epochs=2, random_state=0).fit(data)
    assert model.steps_["error"].tolist() == [0.0]
    assert np.isfinite(model.predict(data)).all()


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA GPU")
def test_a_gpu_learns_the_same():
    data = biased(0)
    given = QUICK | {"n_epochs": 5, "precision": "float64"}
    here, there = (ConstrainedPairwise(device=d, **given).fit(data) for d in ("cpu", "cuda"))
    np.testing.assert_allclose(here.predict(data), there.predict(data), atol=1e-5)
