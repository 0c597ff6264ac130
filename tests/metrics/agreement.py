"""One comparison for all metrics: function and object against a twin, on every kind of list."""

from functools import cache

from thorough import sized

from equirank import Ranking
from equirank.core.metric import GroupMetric

from .cases import make_batch, make_drawn, same

GROUP_SHARES = {"ab": (0.4, 0.6), "abc": (0.3, 0.3, 0.4)}


@cache
def batches(labels):
    """Return the lists every metric is compared on: short ones by the thousand, some of 7 items.

    The special shapes of `make_batch` meet in all combinations within 1144 lists.
    """
    shares = GROUP_SHARES[labels]
    return (
        make_batch(sized(240, 1200), seed=1, most=5, labels=labels, shares=shares),
        make_batch(sized(60, 120), seed=2, most=6, labels=labels, shares=shares),
        make_batch(sized(30, 40), seed=3, most=7, labels=labels, shares=shares),
    )


@cache
def positions(labels):
    """Return rankings by position: rows not shown, ties, draws with and without weights."""
    shares = GROUP_SHARES[labels]
    return (
        make_drawn(sized(80, 200), seed=4, most=5, labels=labels, shares=shares),
        make_drawn(sized(40, 80), 3, seed=5, most=5, labels=labels, shares=shares),
        make_drawn(sized(40, 80), 2, seed=6, most=5, labels=labels, shares=shares, weights="draw"),
        make_drawn(sized(40, 80), 3, seed=7, most=5, labels=labels, shares=shares, weights="query"),
        make_drawn(sized(40, 80), 2, seed=8, most=5, labels=labels, shares=shares, hide=False),
    )


@cache
def longer_batches(labels):
    """Return longer lists, for metrics whose twin lists no orders."""
    shares = GROUP_SHARES[labels]
    return (
        make_batch(sized(100, 300), seed=11, most=9, labels=labels, shares=shares),
        make_batch(sized(40, 60), seed=12, most=9, levels=2, labels=labels, shares=shares),
    )


def agree(function, metric, twin, twin_args, twin_options, *, labels="ab", lists=batches):
    """Compare on all lists; ``twin_args`` are fields of the case, or passed as they are."""
    options = {
        name: getattr(metric, name)
        for name in metric.options()
        if name != "by" and not (name == "k" and not metric.takes_k)
    }
    for batch in lists(labels):
        rows = (
            (batch.score, batch.groups)
            if isinstance(metric, GroupMetric)
            else (batch.y, batch.score)
        )
        averaged = batch.twin(twin, *twin_args, **twin_options)
        call = {"qid": batch.qid, "per_query": True, **options}
        same(function(*rows, **call), averaged)
        ranking = Ranking.from_scores(batch.data(), batch.score)
        same(metric.per_query(ranking).value, averaged)
        stable = batch.stable(twin, *twin_args, **twin_options)
        same(function(*rows, ties="stable", **call), stable)
    for drawn in positions(labels):
        same(metric.per_query(drawn.ranking).value, drawn.twin(twin, *twin_args, **twin_options))
