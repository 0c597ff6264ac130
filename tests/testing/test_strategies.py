import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings

from equirank.testing.strategies import policies, ranked_lists, rankings

pytestmark = pytest.mark.slow

SETTINGS = settings(max_examples=200, suppress_health_check=list(HealthCheck))


@pytest.mark.gate
@SETTINGS
@given(ranked_lists(max_queries=3, max_items=6, groups=("f", "m"), grades=(0, 2)))
def test_lists_keep_to_what_was_asked(data):
    assert 1 <= data.n_rows <= 6
    assert 1 <= data.n_queries <= 3
    assert set(data.y.tolist()) <= {0.0, 2.0}
    assert set(data.attribute("sex").categories) <= {"f", "m"}
    assert np.isfinite(data.score).all()


def found(strategy, wanted):
    """Draw until one is found; the smallest such one is not looked for."""
    return find(strategy, wanted, settings=settings(SETTINGS, phases=[Phase.generate]))


def test_special_shapes_are_drawn():
    found(ranked_lists(), lambda data: data.n_rows == 1)
    found(ranked_lists(), lambda data: data.rows is not None)  # interleaved queries
    found(ranked_lists(), lambda data: data.n_rows > 2 and not data.y.any())
    found(rankings(), lambda ranking: ranking.last is not None)  # ties
    found(policies(), lambda ranking: ranking.n_draws == 3)
    found(policies(), lambda ranking: (ranking.position == 0).any())  # not shown
    found(policies(), lambda ranking: ranking.last is not None)  # shared places
    found(policies(), lambda ranking: ranking.weights is not None)


@pytest.mark.gate
@SETTINGS
@given(policies(max_items=6))
def test_policies_hold_weights_and_positions(ranking):
    assert ranking.position.max() <= 6
    for weight, draw in ranking.draws():
        assert (weight > 0).all()
        assert draw.n_draws == 1
