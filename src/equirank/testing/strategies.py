"""Hypothesis strategies: ranked lists with queries, ties, groups and relevance."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from ..core.data import RankingData
from ..core.given_data import as_ranking_data
from ..core.ranking import Ranking

__all__ = ["policies", "ranked_lists", "rankings"]


@st.composite
def ranked_lists(
    draw: st.DrawFn,
    *,
    max_queries: int = 4,
    max_items: int = 8,
    grades: Sequence[float] = (0, 1, 2, 3),
    groups: Sequence[Any] = ("a", "b"),
) -> RankingData:
    """Draw data with scores, relevance and one attribute ``"sex"``, queries interleaved.

    Parameters
    ----------
    max_queries, max_items : int
        The most queries, and the most rows of all queries together.
    grades : sequence
        The relevance values.
    groups : sequence
        The groups; None among them is an unknown label, which at least one row does not have.

    Examples
    --------
    >>> from hypothesis import given, settings
    >>> from equirank.metrics import Precision
    >>> from equirank.testing.strategies import ranked_lists
    >>> @settings(deadline=None, database=None)
    ... @given(ranked_lists())
    ... def test_precision(data):
    ...     assert (Precision().per_query(data.ranking()).value <= 1).all()
    >>> test_precision()
    """
    n = draw(st.integers(1, max_items))
    # few different scores make ties, any finite ones try the arithmetic
    few = st.sampled_from([0.0, 0.5, 1.0])
    score = few | st.floats(-1e6, 1e6, allow_nan=False)

    def column(values: Any) -> Any:
        return draw(st.lists(values, min_size=n, max_size=n))

    label = column(st.sampled_from(list(groups)))
    if all(each is None for each in label):
        label[0] = next(each for each in groups if each is not None)
    return as_ranking_data(
        y=column(st.sampled_from(list(grades))),
        qid=column(st.integers(0, max_queries - 1)),
        sensitive_features={"sex": np.array(label, dtype=object)},
        score=column(score),
        missing_sensitive="unknown" if None in groups else "error",
    )


@st.composite
def rankings(draw: st.DrawFn, /, **options: Any) -> Ranking:
    """Draw a ranking by score of `ranked_lists`, which takes the options.

    Examples
    --------
    >>> from equirank.testing.strategies import rankings
    >>> rankings(max_items=3).example()  # doctest: +SKIP
    Ranking(2 rows, 1 query)
    """
    data: RankingData = draw(ranked_lists(**options))
    return data.ranking(ties=draw(st.sampled_from(["average", "stable"])))


@st.composite
def policies(draw: st.DrawFn, /, *, max_draws: int = 3, **options: Any) -> Ranking:
    """Draw a ranking by position: several weighted draws, shared places, rows that are not shown.

    Examples
    --------
    >>> from equirank.testing.strategies import policies
    >>> policies(max_draws=2).example()  # doctest: +SKIP
    Ranking(4 rows, 2 queries, 2 draws)
    """
    data: RankingData = draw(ranked_lists(**options))
    n_draws = draw(st.integers(1, max_draws))
    table = np.zeros((data.n_rows, n_draws), dtype=np.int64)
    for number in range(n_draws):
        # a level per row: rows of one level share a place, level 0 is not shown
        levels = draw(st.lists(st.integers(0, 4), min_size=data.n_rows, max_size=data.n_rows))
        for begin, end in zip(data.offsets[:-1], data.offsets[1:], strict=True):
            mine = np.array(levels[begin:end])
            above = (mine[None, :] > mine[:, None]).sum(axis=1)
            table[begin:end, number] = np.where(mine > 0, above + 1, 0)
    weights = draw(st.lists(st.floats(0.1, 1.0), min_size=n_draws, max_size=n_draws))
    return Ranking.from_positions(data, data.to_original(table), weights=weights)
