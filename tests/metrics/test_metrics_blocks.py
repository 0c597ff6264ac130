"""Long data are measured in runs of queries; where the runs are cut must not matter."""

import warnings
from functools import cache

import numpy as np
import pytest

import equirank.metrics
from equirank import EquirankWarning, Ranking, RankingData
from equirank.core.registry import metric_names

from .cases import make_batch, make_drawn, same


def values_of(metric, ranking):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquirankWarning)
        return metric.per_query(ranking)


@cache
def rankings():
    """Return rankings by score, by position with rows not shown, and by several draws."""
    options = {"labels": "abc", "shares": (0.3, 0.3, 0.4), "most": 12}
    batch = make_batch(30, seed=1, **options)
    return (
        *(Ranking.from_scores(batch.data(), batch.score, ties=t) for t in ("average", "stable")),
        make_drawn(30, 1, seed=2, **options).ranking,
        make_drawn(30, 3, seed=3, weights="query", **options).ranking,
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", metric_names())
def test_blocks_of_queries(name, monkeypatch):
    kind = getattr(equirank.metrics, name)
    metric = kind(step=2) if "step" in kind.options() else kind()
    whole = RankingData.query_blocks
    for ranking in rankings():
        if metric.refuses_ties and ranking.last is not None:
            continue
        wanted = values_of(metric, ranking)
        for rows in (1, 7, 40):
            with monkeypatch.context() as patch:
                patch.setattr(RankingData, "query_blocks", lambda data, n=rows: whole(data, n))
                assert len(list(ranking.data.query_blocks())) > 3
                got = values_of(metric, ranking)
            same(got.value, wanted.value)
            assert got.labels == wanted.labels
            if wanted.groups is not None:
                same(got.groups, wanted.groups)


@pytest.mark.parametrize("rows", [1, 5, 13, 10**6])
def test_blocks_cover_every_query_once(rows):
    data = make_batch(50, seed=4, most=9).data()
    blocks = list(data.query_blocks(rows))
    assert [q for block in blocks for q in range(block.start, block.stop)] == list(
        range(data.n_queries)
    )
    sizes = np.diff(data.offsets)
    assert all(block.stop - block.start == 1 or sizes[block].sum() <= rows for block in blocks)
