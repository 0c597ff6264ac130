"""
Trade-off curves of the fair pairwise family and its rivals
===========================================================

How much relevance does fairness cost with each method? The parameter ``gamma`` of every method is
the weight of fairness; its values give a curve. The methods are the fair members of the
`DirectRanker` family (ADV, FF and both) and their rivals: the plain ranker, `DELTR` and
`DebiasClassifier`. The data are COMPAS, law students and Adult if available (set
``EQUIRANK_DATA``), otherwise synthetic.
"""

import os

import numpy as np

from equirank import Ranking, query_train_test_split
from equirank.datasets import load_adult, load_compas, load_law, make_ranking
from equirank.plots import tradeoff
from equirank.rankers import DELTR, DebiasClassifier, DirectRanker
from equirank.search import TradeoffScorer, TradeoffSearch, fit_together

GAMMAS = [0.1, 0.3, 1.0, 3.0]
NETWORK = {"layers": (16, 8), "n_epochs": 20, "learning_rate": 0.01, "random_state": 0}


def two_groups(data, groups, n_rows=2000):
    """Return a sample of people of these groups."""
    attribute = next(iter(data.sensitive.values()))
    mine = np.isin(np.array(attribute.categories)[attribute.codes], groups)
    some = np.random.default_rng(0).permutation(np.flatnonzero(mine))[:n_rows]
    return data.select_items(some)


if "EQUIRANK_DATA" in os.environ:
    compas = load_compas(reverse=True, sensitive="race")
    law = load_law(subsample=0.1, sensitive="sex")
    sets = {
        "COMPAS": two_groups(compas, ["African-American", "Caucasian"]),
        "Law students": two_groups(law, ["female", "male"]),
        "Adult": two_groups(load_adult(sensitive="sex"), ["Female", "Male"]),
    }
else:
    sets = {"made up": make_ranking(n_queries=40, n_items=30, feature_bias=1.0, random_state=0)}

# %%
# All rankers of a data set. Rankers of one shape, such as the four gammas of ADV, train as a stack.

METHODS = {
    "plain": lambda gamma: DirectRanker(**NETWORK),
    "ADV": lambda gamma: DirectRanker("adversarial", gamma, **NETWORK),
    "FF": lambda gamma: DirectRanker("flipped", gamma, **NETWORK),
    "ADV + FF": lambda gamma: DirectRanker("both", gamma, **NETWORK),
    "DELTR": lambda gamma: DELTR(1e4 * gamma, n_epochs=100, random_state=0),
    "debias": lambda gamma: DebiasClassifier(gamma, "value", **NETWORK),
}
RIVALS = ("plain", "DELTR", "debias")


def curves(data, title):
    """Train every method on half of the data and draw its results on the other half."""
    by = "query" if data.n_queries > 1 else "item"
    train, test = query_train_test_split(data, test_size=0.5, by=by, random_state=0)
    listed = [
        (name, gamma) for name in METHODS for gamma in (GAMMAS if name != "plain" else GAMMAS[:1])
    ]
    rankers = fit_together([METHODS[name](gamma) for name, gamma in listed], train)
    scorer = TradeoffScorer("NDCG", "RND")
    worth = np.array([scorer.values(ranker, test) for ranker in rankers])
    orders = np.random.default_rng(0).random((10, test.n_rows))
    chance = np.mean([scorer.of_ranking(Ranking.from_scores(test, o)) for o in orders], axis=0)
    points = {
        "name": [f"{name}, gamma {gamma:g}" for name, gamma in listed],
        "1 - rND": 1.0 - worth[:, 1],
        "NDCG": worth[:, 0],
        "path": [name for name, _ in listed],
        "rival": [name in RIVALS for name, _ in listed],
    }
    mixture = (1.0 - chance[1], chance[0], 1.0 - worth[0, 1], worth[0, 0])
    return tradeoff(points, "1 - rND", "NDCG", mixture=mixture, title=title, width=460, height=330)


# %%
# Up and to the right is better. The points of a slanted line have equal trade-off distance: dashed
# for the best rival, dotted for the best method. The grey line shows mixtures of the plain ranker
# with a random order.

charts = [curves(data, title) for title, data in sets.items()]
charts[0]

# %%
# Law students and Adult, if available:

charts[1] if len(charts) > 1 else None

# %%

charts[2] if len(charts) > 2 else None

# %%
# Which one to use? `TradeoffSearch` holds out a part of the training data, trains all points of a
# grid, here with three step counts each, and selects the best by relevance and fairness with equal
# weights. Step counts cost nothing: they are checkpoints of one run.

title, data = next(iter(sets.items()))
grid = {"gamma": GAMMAS, "learning_rate": [0.003, 0.01], "max_steps": [50, 100, 200]}
ranker = DirectRanker("adversarial", **NETWORK)
search = TradeoffSearch(ranker, grid, random_state=0).fit(data)
search.best_params_, round(search.best_score_, 3)

# %%
# All 24 points.

tradeoff(search, title=f"{title}: 24 points of ADV")
