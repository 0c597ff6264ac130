"""Rank distributions against simulation, brute force over outcomes, and finite differences."""

from itertools import product
from math import sqrt

import numpy as np
import pytest
import torch
from scipy.stats import norm

from equirank.rankers.neural import losses as module
from equirank.rankers.neural.losses import (
    expected_gain,
    rank_distributions,
    score_grads,
    win_probabilities,
)

from .padded_lists import differences, padded


def wins_twin(score, sigma):
    n = len(score)
    wins = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            if i != j:
                wins[i, j] = norm.cdf((score[i] - score[j]) / (sqrt(2.0) * sigma))
    return wins


def ranks_twin(wins):
    """Go through every outcome of the other items' coins."""
    n = len(wins)
    chance = np.zeros((n, n))
    for j in range(n):
        others = [i for i in range(n) if i != j]
        for outcome in product((0, 1), repeat=n - 1):
            part = 1.0
            for i, won in zip(others, outcome, strict=True):
                part *= wins[i, j] if won else 1.0 - wins[i, j]
            chance[j, sum(outcome)] += part
    return chance


@pytest.mark.parametrize("seed", range(4))
def test_wins_and_ranks_are_their_twins(seed):
    score, real, _, _ = padded(seed)
    win = win_probabilities(score.detach(), real, 0.7)
    chance = rank_distributions(win)
    for q in range(len(real)):
        n = int(real[q].sum())
        wins = wins_twin(score[q, :n].detach().numpy(), 0.7)
        np.testing.assert_allclose(win[q, :n, :n].numpy(), wins, atol=1e-12)
        np.testing.assert_allclose(chance[q, :n, :n].numpy(), ranks_twin(wins), atol=1e-12)
        assert (win[q, n:] == 0).all()
        assert (win[q, :, n:] == 0).all()


def test_ranks_agree_with_drawn_scores():
    """Coins of one item are independent here, so each duel has draws of its own."""
    rng = np.random.default_rng(0)
    score, sigma, n_draws = np.array([0.3, -0.4, 1.1, 0.0]), 0.8, 200_000
    real = torch.ones(1, 4, dtype=torch.bool)
    chance = rank_distributions(win_probabilities(torch.tensor(score)[None], real, sigma))[0]
    for j in range(4):
        beaten = np.zeros(n_draws, dtype=int)
        for i in range(4):
            if i != j:
                one = rng.normal(score[i], sigma, n_draws)
                beaten += one > rng.normal(score[j], sigma, n_draws)
        drawn = np.bincount(beaten, minlength=4) / n_draws
        np.testing.assert_allclose(chance[j].numpy(), drawn, atol=4 * 0.5 / np.sqrt(n_draws))


def test_mean_ranks_agree_with_sorted_draws():
    """The mean of a rank is a sum over duels, so it needs no independence."""
    rng = np.random.default_rng(1)
    score, sigma = rng.normal(size=6), 0.5
    real = torch.ones(1, 6, dtype=torch.bool)
    chance = rank_distributions(win_probabilities(torch.tensor(score)[None], real, sigma))[0]
    drawn = rng.normal(score, sigma, size=(100_000, 6))
    ranks = (-drawn).argsort(axis=1).argsort(axis=1).mean(axis=0)
    np.testing.assert_allclose(chance.numpy() @ np.arange(6), ranks, atol=0.03)


@pytest.mark.parametrize("n_ranks", [1, 3])
def test_the_first_ranks_do_not_need_the_others(n_ranks):
    score, real, _, _ = padded(5)
    win = win_probabilities(score.detach(), real, 1.0)
    assert torch.allclose(
        rank_distributions(win, n_ranks), rank_distributions(win)[:, :, :n_ranks], atol=1e-15
    )


@pytest.mark.slow
@pytest.mark.parametrize("kept", [2, 7])
@pytest.mark.parametrize("memory", [1 << 25, 7 * 7 * 3])
def test_expected_gain_and_its_slopes(kept, memory, monkeypatch):
    monkeypatch.setattr(module, "MAX_STORED", memory)
    score, real, label, _ = padded(2)
    gain = torch.where(real, 2.0**label - 1.0, 0.0)
    discount = 1.0 / torch.log2(torch.arange(2.0, kept + 2.0, dtype=torch.float64))

    def value(s):
        return expected_gain(win_probabilities(s, real, 0.9), gain, discount)[0]

    chance = rank_distributions(win_probabilities(score.detach(), real, 0.9), kept)
    wanted = (gain * (chance @ discount)).sum(dim=1)
    found, slope = expected_gain(win_probabilities(score.detach(), real, 0.9), gain, discount)
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-12)
    slope = score_grads(score.detach(), real, slope, 0.9)
    np.testing.assert_allclose(slope.numpy(), differences(value, score), atol=1e-7)
