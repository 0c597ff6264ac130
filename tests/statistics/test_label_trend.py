"""Shares of groups along one list: the trend and its draws, against sums over a grid."""

import numpy as np
import pytest

from equirank.core.attribute import Attribute, LabelError
from equirank.statistics import corrected_estimate
from equirank.statistics.label_model import label_model, position_bands
from equirank.statistics.label_trend import PRIOR_SPREAD, TREND_PEOPLE, trend_shares

COUNTS = np.array([[1, 6], [2, 3], [0, 4], [3, 3], [5, 2]])
FLIPS = [[0.8, 0.2], [0.1, 0.9]]


def slow_trends(counts, matrix):
    """Return the shares of the first group on a grid of levels and slopes, and their weights."""
    grid = np.linspace(-8, 8, 81)
    depth = np.array([-0.8, -0.4, 0.0, 0.4, 0.8])
    shares, weights = [], []
    for level in grid:
        for slope in grid:
            share = 1 / (1 + np.exp(-(level + slope * depth)))
            chance = np.stack([share, 1 - share], axis=1) @ matrix
            fit = (counts * np.log(chance)).sum() - (level**2 + slope**2) / (2 * PRIOR_SPREAD**2)
            shares.append(share)
            weights.append(fit)
    weights = np.exp(np.array(weights) - max(weights))
    return np.array(shares), weights / weights.sum()


def slow_means(counts, matrix):
    """Return the mean share of the first group by band: each band has a beta prior at the trend."""
    shares, weights = slow_trends(counts, matrix)
    keep = weights > 1e-4
    grid = np.linspace(0.001, 0.999, 500)
    found = np.zeros(len(counts))
    chance = np.log(np.stack([grid, 1 - grid], axis=1) @ matrix)
    for trend, weight in zip(shares[keep], weights[keep] / weights[keep].sum(), strict=True):
        for band, (a, b) in enumerate(TREND_PEOPLE * np.stack([trend, 1 - trend], axis=1)):
            fit = chance @ counts[band] + (a - 1) * np.log(grid) + (b - 1) * np.log(1 - grid)
            fit = np.exp(fit - fit.max())
            found[band] += weight * (grid * fit).sum() / fit.sum()
    return found


@pytest.mark.slow
@pytest.mark.parametrize("matrix", [np.eye(2), np.array(FLIPS)])
def test_drawn_shares_have_the_means_of_a_grid(matrix):
    error = None if matrix[0, 0] == 1 else LabelError(matrix)
    number = 20_000
    matrices = None if error is None else np.repeat(error.matrix[None], number, axis=0)
    drawn = trend_shares(COUNTS, error, matrices, number, np.random.default_rng(0))
    assert drawn.shape == (number, 5, 2)
    np.testing.assert_allclose(drawn.sum(axis=2), 1.0)
    np.testing.assert_allclose(drawn[..., 0].mean(axis=0), slow_means(COUNTS, matrix), atol=0.012)


def test_three_groups_and_bands_without_people():
    counts = np.array([[0, 0, 9], [0, 0, 0], [0, 5, 5], [0, 0, 0]])
    drawn = trend_shares(counts, None, None, 500, np.random.default_rng(1))
    np.testing.assert_allclose(drawn.sum(axis=2), 1.0)
    mean = drawn.mean(axis=0)
    assert mean[3, 1] > mean[0, 1] + 0.1  # the trend goes on where nobody is known
    assert (mean[:, 0] < 0.15).all()
    one = trend_shares(np.array([[4], [2]]), None, None, 3, np.random.default_rng(1))
    np.testing.assert_array_equal(one, np.ones((3, 2, 1)))


def test_certain_labels_stay_in_every_draw():
    codes = np.array([0, 1, -1, 1, -1, 0, 1, 1], dtype=np.int32)
    positions, offsets = np.arange(1.0, 9.0), np.array([0, 8])
    model = label_model(Attribute(codes, ("a", "b")), offsets, position_bands(positions, offsets))
    drawn = np.array(model.imputed(300, 5))
    np.testing.assert_array_equal(drawn[:, codes >= 0], np.repeat(codes[codes >= 0][None], 300, 0))
    assert set(np.unique(drawn[:, codes < 0])) == {0, 1}
    np.testing.assert_array_equal(drawn, model.imputed(300, 5))
    model.imputed(3, 6)
    assert list(model._imputed) == [(3, 6)]  # draws are large, so only the last ones are kept


@pytest.mark.gate
@pytest.mark.parametrize("how", ["missing", pytest.param("flips", marks=pytest.mark.gate)])
def test_intervals_of_one_list_cover_its_value(how):
    """The small twin of point 4a of benchmarks/labels.py: a group of 16% in a list of 40."""
    rng, positions, runs = np.random.default_rng(4), np.arange(1, 41), 150
    covered = given = 0
    for run in range(runs):
        group = rng.random(40) < 0.16
        group = group[np.argsort(-(rng.normal(size=40) - 0.8 * group))]
        labels = np.where(group, "a", "b").astype(object)
        truth = (1 / np.log2(positions + 1))[group].sum() / (1 / np.log2(positions + 1)).sum()
        options = {"groups": ["a", "b"]}
        if how == "missing":
            labels[rng.random(40) < 0.8 * positions / 40] = None
        else:
            labels = np.where(rng.random(40) < 0.2, np.where(group, "b", "a"), labels)
            options["label_error"] = LabelError([[0.8, 0.2], [0.2, 0.8]])
        found = corrected_estimate(
            1 / np.log2(positions + 1), labels, "a", measure="share", position=positions,
            random_state=run, **options,
        )  # fmt: skip
        given += not found.reason
        covered += found.low <= truth <= found.high
    assert given > runs * 0.6
    assert covered / given > 0.89
