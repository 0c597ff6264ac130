"""Pair losses: padded lists against compiled rows, twins, finite differences and LambdaMART."""

from math import log2

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from equirank import as_ranking_data
from equirank.rankers.lambdamart.fairness_terms import no_fairness
from equirank.rankers.lambdamart.objective import FairObjective, performance_part
from equirank.rankers.neural import losses as module
from equirank.rankers.neural.losses import (
    lambda_grads,
    lambda_grads_of_rows,
    logistic_grads,
    logistic_grads_of_rows,
    normalised_gains,
    ragged,
    with_grads,
    with_grads_of_rows,
)

from .padded_lists import differences, items, padded, slopes


def rows_of(real, *columns):
    sizes = real.sum(dim=1).numpy()
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    return offsets, [part.detach()[real].numpy() for part in columns]


def inverse_ideals(score, real, gain, truncation):
    found = []
    for _, gains in items(score, real, gain):
        best = np.sort(gains)[::-1][:truncation]
        ideal = sum(g / log2(2 + place) for place, g in enumerate(best))
        found.append(1.0 / ideal if ideal > 0 else 0.0)
    return torch.tensor(found, dtype=torch.float64)


def lambda_twin(score, gain, inverse_ideal, truncation, sigma):
    """A double loop over pairs: RankNet's pull times the change of NDCG by a swap."""
    n = len(score)
    order = np.argsort(-score, kind="stable")
    place = np.empty(n, dtype=int)
    place[order] = np.arange(n)
    slope = np.zeros(n)
    for i in range(n):
        for j in range(n):
            if gain[i] > gain[j] and min(place[i], place[j]) < truncation:
                change = abs(1 / log2(2 + place[i]) - 1 / log2(2 + place[j]))
                change *= (gain[i] - gain[j]) * inverse_ideal
                pull = sigma * change / (1.0 + np.exp(sigma * (score[i] - score[j])))
                slope[i] -= pull
                slope[j] += pull
    dcg = sum(gain[order[p]] / log2(2 + p) for p in range(min(n, truncation)))
    return (1.0 - dcg * inverse_ideal if inverse_ideal > 0 else 0.0), slope


@pytest.mark.slow
@given(seed=st.integers(0, 10_000), memory=st.sampled_from([1, 30, 1 << 24]))
@settings(max_examples=20)
def test_logistic_loss_of_padded_lists(seed, memory):
    module.MAX_PAIRS, before = memory, module.MAX_PAIRS
    try:
        score, real, label, _ = padded(seed)
        loss, slope = logistic_grads(score.detach(), real, label, 1.3)
    finally:
        module.MAX_PAIRS = before
    offsets, (scores, labels) = rows_of(real, score, label)
    value, wanted = logistic_grads_of_rows(scores, labels, offsets, 1.3)
    np.testing.assert_allclose(loss.numpy(), value, rtol=1e-10)
    np.testing.assert_allclose(slope[real].numpy(), wanted, rtol=1e-9, atol=1e-14)
    near = differences(lambda s: logistic_grads(s, real, label, 1.3)[0], score)
    np.testing.assert_allclose(slope.numpy(), near, atol=1e-8)


@given(seed=st.integers(0, 10_000), truncation=st.sampled_from([1, 3, 100]))
@settings(max_examples=25)
def test_lambdas_are_their_twin_in_both_ways(seed, truncation):
    score, real, label, _ = padded(seed)
    gain = torch.where(real, 2.0**label - 1.0, 0.0)
    inverse = inverse_ideals(score, real, gain, truncation)
    lost, slope = lambda_grads(score.detach(), real, gain, inverse, truncation, 0.7)
    offsets, (scores, gains) = rows_of(real, score, gain)
    found = lambda_grads_of_rows(scores, gains, inverse.numpy(), offsets, truncation, 0.7)
    for q, (s, g) in enumerate(items(score, real, gain)):
        value, wanted = lambda_twin(s, g, float(inverse[q]), truncation, 0.7)
        assert float(lost[q]) == pytest.approx(value, abs=1e-12)
        assert found[0][q] == pytest.approx(value, abs=1e-12)
        np.testing.assert_allclose(slope[q, : len(s)].numpy(), wanted, atol=1e-12)
        np.testing.assert_allclose(found[1][offsets[q] : offsets[q + 1]], wanted, atol=1e-12)
    assert (slope[~real] == 0).all()


@pytest.mark.parametrize("memory", [1, 1 << 24])
def test_lambdas_are_those_of_lambdamart(memory, monkeypatch):
    monkeypatch.setattr(module, "MAX_PAIRS", memory)
    score, real, label, _ = padded(1, sizes=(30, 12, 1, 25))
    gain = torch.where(real, 2.0**label - 1.0, 0.0)
    inverse = inverse_ideals(score, real, gain, 30)
    _, slope = lambda_grads(score.detach(), real, gain, inverse, 30, 1.0)
    offsets, (scores, labels) = rows_of(real, score, label)
    qid = np.repeat(np.arange(4), np.diff(offsets))
    data = as_ranking_data(np.zeros((len(qid), 1)), labels, qid=qid)
    boosted = FairObjective(
        data, performance_part(data), no_fairness(len(qid), 4), alpha=1.0, normalize=False
    )
    gradient, _ = boosted(scores, dtype=np.float64)
    np.testing.assert_allclose(slope[real].numpy(), gradient, atol=1e-12)


def test_equal_scores_have_the_same_lambdas_in_both_ways():
    real, label = torch.ones(1, 6, dtype=torch.bool), torch.tensor([[0.0, 2, 1, 0, 2, 1]])
    score, inverse = torch.zeros(1, 6, dtype=torch.float64), torch.ones(1, dtype=torch.float64)
    _, slope = lambda_grads(score, real, label.double(), inverse, 4, 1.0)
    offsets = np.array([0, 6])
    _, rows = lambda_grads_of_rows(
        score[0].numpy(), label[0].double().numpy(), inverse.numpy(), offsets, 4, 1.0
    )
    np.testing.assert_allclose(slope[0].numpy(), rows, atol=1e-14)


def test_a_value_carries_its_slopes():
    score, real, label, _ = padded(0)
    value, slope = logistic_grads(score.detach(), real, label, 1.0)
    carried = with_grads(value, slope, score)
    assert torch.equal(carried.detach(), value)
    np.testing.assert_array_equal(slopes(lambda s: with_grads(value, slope, s), score), slope)


def test_rows_carry_the_weighted_mean():
    score, real, label, _ = padded(0)
    offsets, (scores, labels) = rows_of(real, score, label)
    weight = torch.tensor([0.5, 1.0, 2.0, 0.5], dtype=torch.float64)
    size = real.sum(dim=1).double()
    table = torch.zeros(4, 7, dtype=torch.float64)
    place = torch.arange(28).reshape(4, 7)[real]
    batch = {"weight": weight, "size": size, "slot": place, "real": real}
    rows = torch.tensor(scores, requires_grad=True)
    found = ragged(batch, rows, table.masked_scatter(real, torch.tensor(labels)))
    for part, wanted in zip(found, (scores, labels, offsets), strict=True):
        np.testing.assert_array_equal(part, wanted)
    value, slope = logistic_grads_of_rows(*found, 1.0)
    carried = with_grads_of_rows(value, slope, rows, batch)
    assert float(carried.detach()) == pytest.approx(float((weight.numpy() * value).mean()))
    (grad,) = torch.autograd.grad(carried, rows)
    np.testing.assert_allclose(grad, slope * np.repeat(weight.numpy(), np.diff(offsets)) / 4)


@pytest.mark.parametrize("cutoff", [None, 2])
def test_gains_over_the_largest_dcg(cutoff):
    y, offsets = np.array([1.0, 0, 2, 0, 0, 1]), np.array([0, 3, 5, 6])
    best = 3.0 + (1.0 / log2(3) if cutoff is None or cutoff > 1 else 0.0)
    wanted = [1.0 / best, 0.0, 3.0 / best, 0.0, 0.0, 1.0]
    np.testing.assert_allclose(normalised_gains(y, offsets, "exp2", cutoff), wanted)
    first = normalised_gains(y, offsets, "linear", 1)
    np.testing.assert_allclose(first, [0.5, 0.0, 1.0, 0.0, 0.0, 1.0])
