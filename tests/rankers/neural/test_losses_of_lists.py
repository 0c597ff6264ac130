"""Losses of whole lists against plain NumPy twins, brute force and finite differences."""

from itertools import permutations
from math import log

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from equirank.rankers.neural.losses import (
    cross_entropy,
    exposure_contrasts,
    exposure_excess,
    label_order_loss,
    log_probabilities,
)

from .padded_lists import differences, items, padded, slopes

PHIS = ("exp", "linear", "sigmoid")


def top_one_loss(score, real, label, phi="exp"):
    return cross_entropy(log_probabilities(score, real, phi), real, label, phi)


def unfairness(score, real, code, groups, attention=1.0):
    sizes = real.sum(dim=1).numpy()
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    side = torch.zeros(*real.shape, len(groups), dtype=score.dtype)
    side[real] = torch.tensor(exposure_contrasts(code[real].numpy(), offsets, groups))
    return exposure_excess(log_probabilities(score, real), side, attention)


def powers(values, phi):
    if phi == "exp":
        return np.exp(values)
    if phi == "sigmoid":
        return 1.0 / (1.0 + np.exp(-values))
    return 1.0 + values - values.min()


def top_one_twin(score, label, phi):
    wanted, given_ = powers(label, phi), powers(score, phi)
    total = 0.0
    for w, g in zip(wanted, given_, strict=True):
        total -= w / wanted.sum() * log(g / given_.sum())
    return total


def likelihood_twin(score, label, phi, top):
    """Choose place by place; a tied item is chosen among all that are not better."""
    power, total = powers(score, phi), 0.0
    for grade in np.unique(label):
        block = label == grade
        before = int((label > grade).sum())
        share = min(max((top - before) / block.sum(), 0.0), 1.0)
        rest = power[label <= grade].sum()
        total += share * sum(log(rest) - log(p) for p in power[block])
    return total


def excess_twin(score, code, groups, attention):
    chance = np.exp(score) / np.exp(score).sum()
    total = 0.0
    for group in groups:
        mine, others = chance[code == group], chance[code != group]
        if len(mine) and len(others):
            total += max(0.0, attention * (others.mean() - mine.mean())) ** 2
    return total


@pytest.mark.slow
@pytest.mark.parametrize("phi", PHIS)
@given(seed=st.integers(0, 10_000))
@settings(max_examples=15)
def test_top_one_is_its_twin(phi, seed):
    score, real, label, _ = padded(seed)
    found = top_one_loss(score, real, label, phi).detach().numpy()
    wanted = [top_one_twin(s, y, phi) for s, y in items(score, real, label)]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    slope = slopes(lambda s: top_one_loss(s, real, label, phi), score)
    near = differences(lambda s: top_one_loss(s, real, label, phi), score)
    np.testing.assert_allclose(slope, near, atol=1e-7)
    assert (slope[~real.numpy()] == 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("phi", PHIS)
@pytest.mark.parametrize("top", [1, 3, None])
@given(seed=st.integers(0, 10_000))
@settings(max_examples=10)
def test_label_order_is_its_twin(phi, top, seed):
    score, real, label, _ = padded(seed)
    found = label_order_loss(score, real, label, phi, top).detach().numpy()
    most = 99 if top is None else top
    wanted = [likelihood_twin(s, y, phi, most) for s, y in items(score, real, label)]
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-12)
    slope = slopes(lambda s: label_order_loss(s, real, label, phi, top), score)
    near = differences(lambda s: label_order_loss(s, real, label, phi, top), score)
    np.testing.assert_allclose(slope, near, atol=1e-7)
    assert (slope[~real.numpy()] == 0).all()


@pytest.mark.parametrize("top", [1, 2, 4, 5])
def test_label_order_is_the_plackett_luce_probability_of_the_first_places(top):
    rng = np.random.default_rng(top)
    score, label = rng.normal(size=5), rng.permutation(5).astype(float)
    best = tuple(np.argsort(-label))[:top]
    chance = 0.0
    for order in permutations(range(5)):
        if order[:top] != best:
            continue
        part, left = 1.0, list(order)
        for item in order:
            part *= np.exp(score[item]) / np.exp(score[left]).sum()
            left.remove(item)
        chance += part
    one = torch.tensor(score)[None], torch.ones(1, 5, dtype=torch.bool), torch.tensor(label)[None]
    assert float(label_order_loss(*one, "exp", top)) == pytest.approx(-log(chance), rel=1e-12)


def test_a_longer_top_than_the_list_is_the_whole_list():
    score, real, label, _ = padded(3)
    whole = label_order_loss(score, real, label)
    assert torch.allclose(label_order_loss(score, real, label, "exp", 50), whole, atol=1e-12)


def test_wide_scores_stay_finite():
    score = torch.tensor([[500.0, -500.0, 0.0]], requires_grad=True)
    real, label = torch.ones(1, 3, dtype=torch.bool), torch.tensor([[0.0, 2.0, 1.0]])
    for loss in (top_one_loss, label_order_loss):
        assert np.isfinite(slopes(lambda s, loss=loss: loss(s, real, label), score)).all()
    assert float(label_order_loss(score, real, label).detach()) == pytest.approx(1500.0)


@pytest.mark.slow
@given(seed=st.integers(0, 10_000), attention=st.sampled_from([1.0, 1.0 / log(2.0)]))
@settings(max_examples=25)
def test_exposure_excess_is_its_twin(seed, attention):
    score, real, _, code = padded(seed)

    def loss(s):
        return unfairness(s, real, code, (0, 2), attention)

    found = loss(score).detach().numpy()
    wanted = [excess_twin(s, c, (0, 2), attention) for s, c in items(score, real, code)]
    np.testing.assert_allclose(found, wanted, rtol=1e-11, atol=1e-15)
    np.testing.assert_allclose(slopes(loss, score), differences(loss, score), atol=1e-8)


def test_exposure_of_two_groups_by_hand():
    score = torch.log(torch.tensor([[1.0, 2.0, 5.0]], dtype=torch.float64))
    real, code = torch.ones(1, 3, dtype=torch.bool), torch.tensor([[0, 0, 1]])
    assert float(unfairness(score, real, code, (0,))) == pytest.approx((5 / 8 - 1.5 / 8) ** 2)
    assert float(unfairness(score, real, code, (1,))) == 0.0


def test_lists_without_the_group_or_of_it_alone_count_nothing():
    code, offsets = np.array([0, 0, 1, 1, 0, 2]), np.array([0, 2, 4, 6])
    sides = exposure_contrasts(code, offsets, (0, 1))
    np.testing.assert_array_equal(sides[:4], 0.0)
    np.testing.assert_array_equal(sides[4:], [[-1.0, 0.0], [1.0, 0.0]])
