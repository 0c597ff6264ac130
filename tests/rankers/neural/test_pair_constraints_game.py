"""Correlations of margins with groups, and the two players' game."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from equirank.rankers.neural.pair_constraints import (
    constraint_terms,
    correlation,
    game,
    pair_loss,
    stationary,
)


def differences(value, at, step=1e-6):
    slope = np.zeros(len(at))
    for place in range(len(at)):
        up, down = at.detach().clone(), at.detach().clone()
        up[place] += step
        down[place] -= step
        slope[place] = float((value(up) - value(down)) / (2 * step))
    return slope


@given(seed=st.integers(0, 10_000), n_groups=st.integers(2, 4))
@settings(max_examples=25)
def test_correlation_is_numpys(seed, n_groups):
    rng = np.random.default_rng(seed)
    gap, code = rng.normal(size=12), rng.integers(0, n_groups, 12)
    known = [g for g in range(n_groups) if 0 < (code == g).sum() < 12]
    wanted = [abs(np.corrcoef(gap, code == g)[0, 1]) for g in known]
    at = torch.tensor(gap, requires_grad=True)

    def value(margin):
        return correlation(margin, torch.tensor(code), n_groups)

    found = value(at)
    assert float(found.detach()) == pytest.approx(np.mean(wanted) if wanted else 0.0, abs=1e-9)
    (slope,) = torch.autograd.grad(found, at)
    if all(size > 1e-3 for size in wanted):
        np.testing.assert_allclose(slope, differences(value, at), atol=1e-6)


def test_correlation_of_nothing_is_nothing():
    one = torch.zeros(3, dtype=torch.int64)
    assert float(correlation(torch.tensor([1.0, 2.0, 3.0]), one, 2)) == 0.0
    level = torch.ones(4, requires_grad=True)
    found = correlation(level, torch.tensor([0, 1, 0, 1]), 2)
    assert float(found.detach()) == 0.0
    assert torch.isfinite(torch.autograd.grad(found, level)[0]).all()


@pytest.mark.parametrize(("kind", "wanted"), [("hinge", [3.0, 1.0, 0.0]), ("logistic", None)])
def test_pair_losses(kind, wanted):
    gap = torch.tensor([-2.0, 0.0, 1.5], dtype=torch.float64)
    wanted = np.log1p(np.exp([2.0, 0.0, -1.5])) if wanted is None else wanted
    np.testing.assert_allclose(pair_loss(gap, kind), wanted)


def test_the_stationary_distribution_stays():
    rng = np.random.default_rng(0)
    matrix = torch.tensor(rng.random((5, 5)))
    matrix = matrix / matrix.sum(dim=0)
    share = stationary(matrix)
    np.testing.assert_allclose(matrix @ share, share, atol=1e-12)
    assert float(share.sum()) == pytest.approx(1.0)
    assert (share >= 0).all()


def test_both_players_go_their_way():
    """The scorer sees the weighed loss; the logits step by violation times weights."""
    logits = torch.tensor([[0.3, -0.2, 0.1], [0.0, 0.4, 0.2], [-0.1, 0.0, 0.5]], dtype=float)
    logits.requires_grad_(True)
    score = torch.tensor([0.7], dtype=torch.float64, requires_grad=True)
    violation = torch.tensor([0.4, -0.1], dtype=torch.float64)
    proxy = torch.cat([3.0 * score, -score])
    found = game((score**2).sum(), proxy, violation, logits)
    share = stationary(logits.detach().softmax(dim=0))
    wanted = share[0] * 0.49 + share[1] * 2.1 - share[2] * 0.7
    assert float(found.detach()) == pytest.approx(float(wanted))
    by_score, by_logits = torch.autograd.grad(found, (score, logits))
    assert float(by_score) == pytest.approx(float(share[0] * 1.4 + share[1] * 3.0 - share[2]))
    np.testing.assert_allclose(by_logits, -torch.outer(torch.tensor([0.0, 0.4, -0.1]), share))


@pytest.mark.slow
def test_weight_moves_to_what_is_violated():
    logits = torch.zeros(3, 3, dtype=torch.float64, requires_grad=True)
    for _ in range(300):
        violation = torch.tensor([0.2, -0.2], dtype=torch.float64)
        found = game(torch.tensor(0.0), torch.zeros(2, dtype=torch.float64), violation, logits)
        (slope,) = torch.autograd.grad(found, logits)
        logits = (logits - 0.5 * slope).detach().requires_grad_(True)
    share = stationary(logits.detach().softmax(dim=0))
    assert float(share[1]) > 0.9


def test_constraint_terms_by_hand():
    """Cell 0 has a right and a tied pair, cell 1 one right of three; cell 2 does not count."""
    gap = torch.tensor([2.0, 0.0, 0.5, -1.0, -3.0, 9.0], dtype=torch.float64)
    cell = torch.tensor([0, 0, 1, 1, 1, 2])
    proxy, violation = constraint_terms(gap, cell, 2, [(0, 1)], "hinge", 0.1)
    apart = 0.75 - 1 / 3
    np.testing.assert_allclose(violation, [apart - 0.1, -apart - 0.1])
    lost = [(0.0 + 1.0) / 2, (0.5 + 2.0 + 4.0) / 3]
    kept = [(3.0 + 1.0) / 2, (1.5 + 0.0 + 0.0) / 3]
    np.testing.assert_allclose(proxy, [lost[1] + kept[0] - 1.1, lost[0] + kept[1] - 1.1])
    assert (proxy >= violation).all()
    _, none = constraint_terms(gap[:2], cell[:2], 2, [(0, 1)], "hinge", 0.1)
    np.testing.assert_allclose(none, [-0.1, -0.1])
