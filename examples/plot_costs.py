"""
The effect of costs on a ranking
================================

Some mistakes cost more than others. The relevance of three kinds of items depends on three
different features, and the kind is not a feature. The ranker cannot fit all kinds at once; costs
determine which kind matters most.
"""

import importlib.util

import numpy as np

from equirank import as_ranking_data
from equirank.core.table import Table
from equirank.datasets import make_item_costs
from equirank.rankers import RankBoost


def applicants(n_lists, seed):
    """Return lists of 30 items whose relevance depends on the feature of their cost class."""
    rng = np.random.default_rng(seed)
    n = 30 * n_lists
    X, cost = rng.normal(size=(n, 3)), make_item_costs(n, random_state=seed)
    kind = np.searchsorted([0.5, 1.0, 1.5], cost)
    y = np.clip(np.round(1.5 * X[np.arange(n), kind] + 1.5), 0, 4)
    return as_ranking_data(X, y, qid=np.repeat(np.arange(n_lists), 30), cost=cost)


train, test = applicants(60, 0), applicants(40, 1)

# %%
# Two rankers
# -----------
# One weights all pairs equally, the other by cost. The cost of a pair is the product of the costs
# of its items. With costs, the weight of the feature of the cheap kind decreases.

blind = RankBoost(40).fit(train.X, train.y, qid=train.query_of_rows())
aware = RankBoost(40).fit(train)
Table(
    {
        "feature": ["of kind 1/2", "of kind 1", "of kind 3/2"],
        "without costs": blind.feature_importances_,
        "with costs": aware.feature_importances_,
    }
)

# %%
# Errors by kind
# --------------
# For each kind: the share of misordered test pairs whose better item is of that kind, by round.
# All pairs of one list with unequal relevance count, ties half.

query = test.query_of_rows()
better, other = np.nonzero((query[:, None] == query) & (test.y[:, None] > test.y))


def losses(model):
    """Return the share of misordered pairs after each round, by cost of the better item."""
    curves = []
    for scores in model.staged_predict(test.X):
        wrong = (scores[better] < scores[other]) + 0.5 * (scores[better] == scores[other])
        curves.append([wrong[test.cost[better] == c].mean() for c in (0.5, 1.0, 1.5)])
    return np.array(curves)


curves = {"without costs": losses(blind), "with costs": losses(aware)}
Table(
    {"cost of the better item": [0.5, 1.0, 1.5]}
    | {name: curve[-1] for name, curve in curves.items()}
)

# %%
# The cost-aware ranker has the lower cost-weighted error, but not the lower plain error.

pair_cost = test.cost[better] * test.cost[other]
rows = []
for name, model in (("without costs", blind), ("with costs", aware)):
    scores = model.predict(test.X)
    wrong = (scores[better] < scores[other]) + 0.5 * (scores[better] == scores[other])
    rows.append((name, wrong.mean(), np.average(wrong, weights=pair_cost)))
Table(
    {
        "ranker": [name for name, _, _ in rows],
        "pairs misordered": [plain for _, plain, _ in rows],
        "their cost": [costly for _, _, costly in rows],
    }
)

# %%
# The curves as a chart, if Altair is installed (extra ``report``).

chart = None
if importlib.util.find_spec("altair") is not None:
    import altair as alt

    lines = [
        {"round": at + 1, "loss": value, "cost": f"{cost:g}", "ranker": name}
        for name, curve in curves.items()
        for at, line in enumerate(curve)
        for cost, value in zip((0.5, 1.0, 1.5), line, strict=True)
    ]
    chart = (
        alt.Chart(alt.Data(values=lines), width=260, height=220)
        .mark_line()
        .encode(
            x=alt.X("round:Q", title="round"),
            y=alt.Y("loss:Q", title="share of pairs misordered", scale=alt.Scale(zero=False)),
            color=alt.Color("cost:N", title="cost of the better item"),
            strokeDash=alt.StrokeDash("cost:N", title="cost of the better item"),
            column=alt.Column("ranker:N", title=None, sort=list(curves)),
        )
    )
chart
