"""
Is one method better than another?
==================================

Four methods learn to rank applicants from the bundled hiring data. Are they different, or was one
lucky? And which of them should be taken, where both quality and fairness count? All are fitted on
the same folds, so the comparison is paired: vacancy by vacancy.
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
# looks at the differences, and corrects for asking several questions at once.

result.versus("ridge")

# %%
# The trade-off
# -------------
# Filled points are on the Pareto front. The dashed line is what one gets by showing a random order
# now and then instead of the best ranking. It stands nearly upright here: a random order has about
# the gap of the plain methods, so theirs is what chance gives, and only re-ranking lowers it.

result.plot(x=gap, y=quality)

# %%
# A choice
# --------
# At most two per cent of the quality may be lost; among what is left, the smallest gap.

result.pick("NDCG@10 >= 0.98 * best", minimise=gap)

# %%
# Two rankings that somebody else made are compared by evaluating both: ``evaluate(a, ...)`` and
# ``evaluate(b, ...)`` give evaluations, and ``first.versus(second)`` the same tests.
