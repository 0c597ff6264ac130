import numpy as np

from equirank.allocation import welfare as fair_division
from equirank.allocation.welfare import expected_exposure, item_envy, item_impacts, uniform_impacts


def test_envy_in_blocks(monkeypatch):
    rng = np.random.default_rng(0)
    relevance, attention = rng.random((5, 23)), rng.random((5, 23))
    wanted = [
        max(
            sum(relevance[u, i] * (attention[u, j] - attention[u, i]) for u in range(5))
            for j in range(23)
        )
        for i in range(23)
    ]
    np.testing.assert_allclose(item_envy(relevance, attention), wanted, atol=1e-12)
    for cells in (1, 50, 23 * 23):
        monkeypatch.setattr(fair_division, "CELLS", cells)
        np.testing.assert_allclose(item_envy(relevance, attention), wanted, atol=1e-12)


def test_nobody_envies_itself():
    relevance = np.random.default_rng(1).random((3, 1))
    assert item_envy(relevance, relevance).tolist() == [0.0]


def test_uniform_impacts_are_those_of_the_uniform_policy():
    rng = np.random.default_rng(2)
    relevance, attention = rng.random((4, 6)), rng.random(3)
    policy = np.full((4, 6, 3), 1 / 6)
    np.testing.assert_allclose(
        uniform_impacts(relevance, attention),
        item_impacts(relevance, expected_exposure(policy, attention)),
    )
