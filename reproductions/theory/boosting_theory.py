"""Proved properties of RankBoost and RankBoost+, checked on synthetic data."""

import numpy as np
import verdicts as v

from equirank import as_ranking_data
from equirank.costs import ListedPairCost
from equirank.datasets import make_ranking
from equirank.rankers import BipartiteRankBoost, RankBoost, RankBoostPlus

ROUNDS = 20


def pairs(data):
    """List the pairs of a list, the better item first, with their costs, which sum to 1."""
    query = data.query_of_rows()
    a, b = np.nonzero((query[:, None] == query) & (data.y[:, None] > data.y))
    cost = np.ones(len(a)) if data.cost is None else data.cost[a] * data.cost[b]
    return a, b, cost / cost.sum()


def placement(given):
    """Check that initial, per-round and final costs have one loss and three ensembles."""
    rows = []
    for seed in v.progress(range(given.seeds), "cost placement"):
        data = make_ranking(n_queries=5, n_items=30, cost="ternary", random_state=seed)
        a, b, cost = pairs(data)
        models = {
            s: RankBoost(ROUNDS, cost_stage=s).fit(data) for s in ("initial", "rounds", "post")
        }
        chosen = {s: set(zip(*_stumps(m), strict=True)) for s, m in models.items()}
        constants = []
        for stage, model in models.items():
            margins = [f[a] - f[b] for f in model.staged_predict(data.X)]
            first, rounds = cost.copy(), np.full(len(a), 1 / len(a))
            for step in np.diff([np.zeros(len(a)), *margins], axis=0):
                first *= np.exp(-step)
                rounds *= cost ** (1 / len(margins)) * np.exp(-step)
            after = cost @ np.exp(-margins[-1])
            wrong = (margins[-1] < 0) + 0.5 * (margins[-1] == 0)
            constants.append((rounds.sum() / first.sum(), after / first.sum()))
            shared = len(chosen[stage] & chosen["initial"]) / len(chosen[stage])
            rows.append({"seed": seed, "stage": stage, "loss": after, "cost_r2": cost @ wrong,
                         "shared_with_initial": shared})  # fmt: skip
        spread = np.ptp(constants, axis=0) / np.mean(constants, axis=0)
        for row in rows[-3:]:
            row["spread_of_constant"] = float(spread.max())
    return {"placement": rows}


def _stumps(model):
    return model.rankers_["feature"].tolist(), model.rankers_["threshold"].round(9).tolist()


def consistency(given):
    """Check that in the first round E2, each stump at its own alpha, and R2 give the same order."""
    rows = []
    for seed in v.progress(range(given.seeds), "E2 and R2"):
        costly = "ternary" if seed % 2 else "none"
        data = make_ranking(n_queries=5, n_items=25, n_features=5, cost=costly, random_state=seed)
        X = np.round(data.X, 1)
        data = as_ranking_data(X, data.y, qid=data.query_of_rows(), cost=data.cost)
        a, b, cost = pairs(data)
        r2, e2 = [], []
        for column in X.T:
            for cut in np.unique(column)[:-1]:
                h = (column > cut).astype(int)
                plus, minus = cost @ (h[a] > h[b]), cost @ (h[a] < h[b])
                tied = 1 - plus - minus
                alpha = 0.5 * np.log((plus + tied / 2) / (minus + tied / 2))
                e2.append(plus * np.exp(-alpha) + minus * np.exp(alpha) + tied * np.cosh(alpha))
                r2.append(minus + tied / 2)
        r2, e2 = np.array(r2), np.array(e2)
        model = RankBoostPlus(1, max_bins=None, dtype="float64").fit(data)
        margin = np.subtract(*(model.predict(X)[rows_] for rows_ in (a, b)))
        picked = cost @ ((margin < 0) + 0.5 * (margin == 0))
        oriented = np.minimum(r2, 1 - r2)
        rows.append({"seed": seed, "stumps": len(r2),
                     "discordant_oriented": _discordant(oriented, e2),
                     "discordant_as_is": _discordant(r2, e2),
                     "picked_less_best": float(picked - oriented.min())})  # fmt: skip
    return {"consistency": rows}


def _discordant(x, y):
    signs = [np.sign(np.round(z[:, None] - z, 12)) for z in (x, y)]
    return float((signs[0] * signs[1] < 0).mean())


def training_bound(given):
    """Check in every round that the weighted R1 of RankBoost is at most the product of all Z."""
    rows = []
    for seed in v.progress(range(given.seeds), "training bound"):
        for cost in ("none", "ternary"):
            data = make_ranking(n_queries=5, n_items=30, cost=cost, random_state=seed)
            a, b, weight = pairs(data)
            model = RankBoost(2 * ROUNDS, smoothing=0.0, dtype="float64").fit(data)
            curve = model.learning_curve_
            r1 = np.array([weight @ (f[a] <= f[b]) for f in model.staged_predict(data.X)])
            step = np.exp(-2 * ((curve["e_plus"] - curve["e_minus"]) / 2) ** 2)
            rows.append({"seed": seed, "cost": cost, "rounds": len(r1),
                         "broken": int((r1 > curve["E"] + 1e-9).sum()),
                         "steps_broken": int((curve["Z"] > step + 1e-9).sum()),
                         "r1": float(r1[-1]), "bound": float(curve["E"][-1])})  # fmt: skip
    return {"training_bound": rows}


def bipartite(given):
    """Check that bipartite RankBoost, RankBoost, and RankBoost on listed pairs are one model."""
    rows = []
    for seed in v.progress(range(given.seeds), "bipartite"):
        cost = "ternary" if seed % 2 else "none"
        data = make_ranking(n_queries=1, n_items=80, n_grades=2, cost=cost, random_state=seed)
        a, b, weight = pairs(data)
        listed = RankBoost(ROUNDS, pair_cost=ListedPairCost(a, b, weight), dtype="float64")
        scores = [
            m.fit(data).predict(data.X) for m in (BipartiteRankBoost(ROUNDS), RankBoost(ROUNDS))
        ]
        scores.append(listed.fit(data.X, data.y).predict(data.X))
        rows.append({"seed": seed, "difference": float(np.ptp(scores, axis=0).max())})
    return {"bipartite": rows}
