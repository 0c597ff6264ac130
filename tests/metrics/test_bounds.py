"""Whatever the list: values within the declared bounds, or NaN."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import equirank.metrics
from equirank import EquirankWarning
from equirank.core.registry import metric_names
from equirank.testing.strategies import policies, ranked_lists, rankings

pytestmark = pytest.mark.slow

SETTINGS = settings(max_examples=40, deadline=None, derandomize=True, database=None)


@st.composite
def metrics(draw, name):
    """Draw a metric of this kind with a cutoff and a short step."""
    kind = getattr(equirank.metrics, name)
    options = {}
    if kind.takes_k:
        options["k"] = draw(st.none() | st.integers(1, 9))
    if "step" in kind.options():
        options["step"] = draw(st.integers(1, 4))
    return kind(**options)


def within_bounds(metric, ranking):
    rng = np.random.default_rng(ranking.data.n_rows)
    n = ranking.data.n_rows
    score = rng.integers(0, 3, n) if ranking.data.score is None else ranking.data.score
    extra = {"X": rng.integers(0, 3, (n, 2)).astype(float), "cost": rng.integers(1, 4, n) * 1.0}
    if metric.refuses_ties:
        extra["X"] = np.ones((n, 2))
    ranking = replace(ranking, data=replace(ranking.data, score=score * 1.0, **extra))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquirankWarning)
        values = metric.per_query(ranking)
    low, high = metric.bounds
    value = values.value[~np.isnan(values.value)]
    assert values.value.shape == (ranking.data.n_queries,)
    assert (value >= low - 1e-9).all(), (metric, value.min())
    assert (value <= high + 1e-9).all(), (metric, value.max())
    assert np.isfinite(value).all()


@pytest.mark.parametrize("name", metric_names())
def test_scores(name):
    @SETTINGS
    @given(metrics(name), rankings(max_items=14, groups=("a", "b", "c")))
    def hold(metric, ranking):
        within_bounds(metric, ranking)

    hold()


@pytest.mark.parametrize("name", metric_names())
def test_positions(name):
    @SETTINGS
    @given(metrics(name), policies(max_items=10))
    def hold(metric, ranking):
        within_bounds(metric, ranking)

    hold()


@SETTINGS
@given(ranked_lists(max_items=10))
def test_best_order_is_best(data):
    """Ranking by relevance is at least as good as any order, for every metric of relevance."""
    from equirank import Ranking

    best = Ranking.from_scores(data, data.to_original(data.y))
    given_order = data.ranking()
    for name in metric_names():
        metric = getattr(equirank.metrics, name)()
        if metric.needs == {"relevance"} and ".relevance." in type(metric).__module__:
            top, value = metric.per_query(best).value, metric.per_query(given_order).value
            sign = 1 if metric.direction == "higher" else -1
            defined = ~np.isnan(value)
            assert (np.isnan(top) == np.isnan(value)).all()
            assert (sign * top[defined] >= sign * value[defined] - 1e-9).all(), name
