"""Checks of several groups of a list at once, against each group alone."""

import numpy as np
import pytest

from equirank import DataError, as_ranking_data
from equirank.metrics.properties import (
    arbitrary_treatment,
    bimodality,
    clustering,
    conditional_independence,
    noisy_ranking,
    smoothness,
    statistical_independence,
    tokenisation_index,
)
from equirank.metrics.properties.position_checks import Arrangements
from equirank.metrics.properties.property_bench import CHECKS, CheckMetric, true_positions

SCALAR = {
    "smoothness.ks": lambda p, t, g: smoothness(p[g], len(p)).ks,
    "smoothness.wasserstein": lambda p, t, g: smoothness(p[g], len(p)).wasserstein,
    "bimodality.coefficient": lambda p, t, g: bimodality(p[g], len(p)).coefficient,
    "clustering.z": lambda p, t, g: -clustering(g).z,
    "tokenisation_index.index": lambda p, t, g: tokenisation_index(p, t, g).index,
    "noisy_ranking.ratio": lambda p, t, g: noisy_ranking(p, t, g, n_boot=0).ratio,
    "arbitrary_treatment.difference": lambda p, t, g: arbitrary_treatment(p, t, g).difference,
    "statistical_independence.difference": lambda p, t, g: abs(
        statistical_independence(p, g).difference
    ),
    "conditional_independence.difference": lambda p, t, g: abs(
        conditional_independence(p, t, g).difference
    ),
    "conditional_independence(bins=2).absolute": lambda p, t, g: (
        conditional_independence(p, t, g, bins=2).absolute
    ),
}


@pytest.mark.parametrize("name", CHECKS)
def test_checks_of_many_groups_are_those_of_each_alone(name):
    rng = np.random.default_rng(3)
    for n, size in [(2, 1), (5, 4), (9, 3), (30, 11), (300, 100)]:
        position, truth = np.arange(1, n + 1), true_positions(rng.integers(0, 4, n) * 1.0)
        masks = np.stack([rng.permutation(np.arange(n) < size) for _ in range(6)])
        found = CHECKS[name](Arrangements(position, truth, masks))
        alone = [SCALAR[name](position, truth, mask) for mask in masks]
        assert found == pytest.approx(alone, rel=1e-12, nan_ok=True)


def test_a_check_refuses_a_list_of_one_group():
    groups = {"group": ["protected", "protected", "other", "protected"]}
    data = as_ranking_data(
        None, [1, 0, 1, 0], qid=[1, 1, 2, 2], score=[4, 3, 2, 1], sensitive_features=groups
    )
    with pytest.raises(DataError, match="one group only"):
        CheckMetric(check_name="smoothness.ks").per_query(data.ranking())
