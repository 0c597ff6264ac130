"""Whatever the list: values within the declared bounds, or NaN."""

import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings

import equirank.metrics
from equirank import EquirankWarning
from equirank.core.registry import metric_names
from equirank.testing.strategies import policies, ranked_lists, rankings

pytestmark = pytest.mark.slow

SETTINGS = settings(max_examples=40)


@cache
def drawn(kind):
    """Return lists by score or by position; drawing them costs more than to measure them."""
    found = []
    options = {"max_items": 14, "groups": ("a", "b", "c")} if kind is rankings else {}

    @SETTINGS
    @given(kind(**{"max_items": 10} | options))
    def keep(ranking):
        found.append(ranking)

    keep()
    return tuple(found)


def varied(name, at):
    """Return a metric of this kind; its cutoff and its short step differ between lists."""
    kind = getattr(equirank.metrics, name)
    options = {}
    if kind.takes_k:
        options["k"] = (None, *range(1, 10))[at % 10]
    if "step" in kind.options():
        options["step"] = 1 + at % 4
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
@pytest.mark.parametrize("kind", [rankings, policies], ids=["scores", "positions"])
def test_values(kind, name):
    for at, ranking in enumerate(drawn(kind)):
        within_bounds(varied(name, at), ranking)


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
