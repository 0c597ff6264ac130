"""
Is one method better than another?
==================================

Four methods learn to rank applicants from the bundled hiring data. Do they differ by more than
chance? Which one should be used if both quality and fairness matter? All are fitted on the same
folds, so the comparison is paired by vacancy.
"""

from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from equirank import compare
from equirank.datasets import load_hiring
from equirank.rankers import RankBoost
from equirank.rerankers import DetConstSort, Reranked

data = load_hiring()
boost = RankBoost(n_estimators=20, random_state=0)
ridge = make_pipeline(StandardScaler(), Ridge())
equal = DetConstSort(by="sex")
methods = {
    "ridge": ridge,
    "boosting": boost,
    "ridge, re-ranked": Reranked(ridge, equal),
    "boosting, re-ranked": Reranked(boost, equal),
}
gap, quality = 'RND(by="sex", protected="female")@30', "NDCG@10"

result = compare(methods, data, [quality, gap], cv=5)
result

# %%
# Paired tests
# ------------
# The intervals of two methods may overlap although one is better in nearly every list. ``versus``
# tests the paired differences, and corrects for multiple tests.

result.versus("ridge")

# %%
# The trade-off
# -------------
# Filled points are on the Pareto front. The dashed line shows mixtures of the best ranking with a
# random order. It is nearly vertical here: a random order has about the same gap as the plain
# methods, and only re-ranking lowers it.

result.plot(x=gap, y=quality)

# %%
# A choice
# --------
# Of the methods that lose at most 2% of the quality, take the one with the smallest gap.

result.pick("NDCG@10 >= 0.98 * best", minimise=gap)

# %%
# Two existing rankings are compared by their evaluations: ``evaluate(a, ...)`` and
# ``evaluate(b, ...)`` return evaluations, and ``first.versus(second)`` the same tests.
