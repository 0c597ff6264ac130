"""The lists on which pair metrics are compared with their twins, with scores and costs per row."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from thorough import sized

from equirank import Ranking, as_ranking_data

from .cases import Batch, make_batch, make_drawn

SHARES = {"ab": (0.4, 0.6), "abc": (0.3, 0.3, 0.4), "abcd": (0.4, 0.3, 0.2, 0.1)}


@dataclass(frozen=True)
class Lists:
    """A ranking, and for every query its case, its rows, and the weighted ways it is written."""

    batch: Batch
    ranking: Ranking
    rows: list  # per query: the caller's row of each item
    ways: list  # per query: (weight, blocks, hidden) of each draw
    ties: str | None  # how the function is to be called, None where it cannot

    def twin(self, value):
        """Average ``value(case, rows, blocks, hidden)`` over the draws of every query."""
        queries = zip(self.batch.cases, self.rows, self.ways, strict=True)
        return [
            sum(weight * value(case, rows, blocks, hidden) for weight, blocks, hidden in ways)
            for case, rows, ways in queries
        ]


def item_costs(n, seed=0):
    return np.random.default_rng([seed, n]).choice([0.5, 1.0, 1.5, 3.0, 0.25], size=n)


def data_of(batch):
    return as_ranking_data(
        y=batch.y,
        qid=batch.qid,
        sensitive_features=batch.groups,
        score=batch.score,
        cost=item_costs(len(batch.y)),
    )


def rows_of(batch):
    rows = [[0] * len(case.y) for case in batch.cases]
    for row, (case, item) in enumerate(zip(batch.case, batch.item, strict=True)):
        rows[case][item] = row
    return rows


def scored(batch, ties):
    written = [c.blocks() if ties == "average" else c.in_order() for c in batch.cases]
    ways = [[(1.0, blocks, [])] for blocks in written]
    return Lists(batch, Ranking.from_scores(data_of(batch), ties=ties), rows_of(batch), ways, ties)


def placed(drawn):
    given = drawn.ranking
    ranking = Ranking(data_of(drawn.batch), given.position, given.last, given.weights)
    ways = [
        [(drawn.share(d, q), *drawn.draws[d][q]) for d in range(len(drawn.draws))]
        for q in range(len(drawn.batch.cases))
    ]
    return Lists(drawn.batch, ranking, rows_of(drawn.batch), ways, None)


#: How many lists of each kind.
MOST = sized(200, 700)


@cache
def all_lists(labels="abc", n=MOST, most=6):
    """Return lists by score with ties both ways, and by position: hidden rows, ties, draws."""
    options = {"labels": labels, "shares": SHARES[labels]}
    few = make_batch(n, seed=1, most=most, **options)
    graded = make_batch(n // 3, seed=9, most=most, grades=9, **options)
    return (
        scored(few, "average"),
        scored(few, "stable"),
        scored(graded, "average"),
        placed(make_drawn(n // 3, 1, seed=2, most=most, **options)),
        placed(make_drawn(n // 3, 3, seed=3, most=most, weights="query", **options)),
    )
