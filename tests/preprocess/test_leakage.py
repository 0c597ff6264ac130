import sys
from math import isnan

import numpy as np
import pytest
from scipy.sparse import csr_array

from equirank import DataError, EquirankWarning
from equirank.preprocess import representation_leakage

MODELS = ["linear", "forest"]


def people(n=200, share=0.5):
    return np.array(["a"] * round(n * share) + ["b"] * (n - round(n * share)))


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("share", [0.5, 0.7, 0.1])
def test_a_column_that_is_the_group_leaks_everything(model, share):
    groups = people(share=share)
    Z = (groups == "a")[:, None] + np.zeros((1, 2))
    wanted = 1 - max(share, 1 - share)
    assert representation_leakage(Z, groups, model=model) == pytest.approx(wanted)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("share", [0.6, 0.9])
def test_a_constant_leaks_nothing(model, share):
    groups = people(share=share)
    assert representation_leakage(np.ones((200, 3)), groups, model=model) == 0.0


@pytest.mark.gate
def test_more_noise_leaks_less():
    rng = np.random.default_rng(0)
    groups = people(2000)
    signal = (groups == "a").astype(float)[:, None]
    for model in MODELS:
        values = [
            representation_leakage(signal + noise * rng.normal(size=(2000, 1)), groups, model=model)
            for noise in (0.01, 0.5, 50.0)
        ]
        assert values == sorted(values, reverse=True)
        assert values[0] == pytest.approx(0.5)
        assert values[2] < 0.1


@pytest.mark.slow
def test_a_forest_sees_what_a_line_cannot():
    rng = np.random.default_rng(1)
    Z = rng.uniform(-1, 1, (2000, 2))
    groups = np.where(Z[:, 0] * Z[:, 1] > 0, "a", "b")
    assert representation_leakage(Z, groups) < 0.2
    assert representation_leakage(Z, groups, model="forest") > 0.4


def test_worse_than_guessing_counts_as_well():
    """The held-out rows contradict the others, so the accuracy is 0 and the gap the share."""
    groups = np.array(["a", "b"] * 10)
    Z = (groups == "a").astype(float)[:, None]
    from equirank.preprocess import leakage as module

    held_out = module._held_out(np.array([0, 1] * 10), ("a", "b"), 0.2, 0)
    Z[held_out] = 1 - Z[held_out]
    assert representation_leakage(Z, groups) == pytest.approx(0.5)


def test_held_out_rows_are_drawn_from_each_group_in_proportion():
    from equirank.preprocess import leakage as module

    codes = np.repeat([0, 1, 2], [50, 30, 2])
    for size, wanted in ((0.2, [10, 6, 1]), (0.5, [25, 15, 1]), (0.001, [1, 1, 1])):
        mask = module._held_out(codes, tuple("abc"), size, 0)
        assert np.bincount(codes[mask]).tolist() == wanted
    assert module._held_out(codes, tuple("abc"), 0.999, 0).sum() == 49 + 29 + 1
    other = module._held_out(codes, tuple("abc"), 0.2, 1)
    assert (other != module._held_out(codes, tuple("abc"), 0.2, 0)).any()


def test_the_share_is_that_of_the_held_out_rows():
    """7 of one group and 3 of another, one row of each held out: 1/2, not 7/10."""
    groups = np.array(["a"] * 7 + ["b"] * 3)
    Z = (groups == "a").astype(float)[:, None]
    assert representation_leakage(Z, groups) == pytest.approx(1 - 1 / 2)


@pytest.mark.slow
def test_several_groups_and_attributes():
    groups = np.array(list("abc") * 40)
    Z = np.stack([groups == "a", groups == "b"], axis=1).astype(float)
    for model in MODELS:
        assert representation_leakage(Z, groups, model=model) == pytest.approx(2 / 3)
    both = {"letter": groups, "half": np.array(["x", "y"] * 60)}
    assert representation_leakage(Z, both, by="letter") == pytest.approx(2 / 3)
    assert representation_leakage(Z, both, by=("letter", "half")) < 1 / 2
    with pytest.raises(DataError, match="by must name one of"):
        representation_leakage(Z, both)


@pytest.mark.slow
def test_the_seed_decides():
    rng = np.random.default_rng(4)
    Z, groups = rng.normal(size=(100, 2)), people(100)
    for model in MODELS:
        call = {"model": model, "random_state": 3}
        assert representation_leakage(Z, groups, **call) == representation_leakage(
            Z, groups, **call
        )
    values = {representation_leakage(Z, groups, random_state=seed) for seed in range(8)}
    assert len(values) > 1
    big = representation_leakage(Z, groups, model="forest", random_state=2**40 + 1)
    assert 0 <= big <= 1


@pytest.mark.slow
def test_sparse_and_lists():
    groups = people()
    Z = (groups == "a")[:, None].astype(float)
    assert representation_leakage(csr_array(Z), groups) == pytest.approx(0.5)
    assert representation_leakage(Z.tolist(), groups.tolist()) == pytest.approx(0.5)


def test_scales_of_columns_do_not_matter_to_the_linear_model():
    rng = np.random.default_rng(5)
    groups = people(1000)
    Z = np.stack([(groups == "a") * 1e-6 + 1e-7 * rng.normal(size=1000), rng.normal(size=1000)], 1)
    assert representation_leakage(Z, groups) == pytest.approx(0.5)


def test_one_group_only():
    with pytest.warns(EquirankWarning, match="one group"):
        assert isnan(representation_leakage([[1.0], [2.0]], ["a", "a"]))


@pytest.mark.parametrize(
    ("Z", "groups", "options", "words"),
    [
        ([[1.0], [2.0], [3.0]], "aab", {}, "at least two rows of each group.*'b'"),
        ([[1.0], [2.0]], "aab", {}, "sensitive"),
        ([[1.0], [np.nan]], "ab", {}, "Z must hold finite"),
        (None, "ab", {}, "Z must be an array"),
        ([[1.0], [2.0]], "ab", {"model": "tree"}, "model of representation_leakage"),
        ([[1.0], [2.0]], "ab", {"test_size": 1.0}, "test_size of representation_leakage"),
        ([[1.0], [2.0]], "ab", {"test_size": 0}, "test_size of representation_leakage"),
    ],
)
def test_refuses(Z, groups, options, words):
    with pytest.raises(DataError, match=words):
        representation_leakage(Z, list(groups), **options)


def test_scikit_learn_is_imported_only_when_called():
    module = sys.modules["equirank.preprocess.leakage"]
    assert "sklearn" not in vars(module)
