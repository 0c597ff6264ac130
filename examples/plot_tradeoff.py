"""
How much relevance does fairness cost?
======================================

Features favour one group, so a ranker trained for relevance alone ranks it first. A path of alphas
shows the price of fairness, and a rule selects one ranker from it.
"""

from equirank.datasets import make_ranking
from equirank.plots import tradeoff
from equirank.rankers import FairLambdaMART

data = make_ranking(n_queries=80, n_items=30, feature_bias=0.8, label_bias=0.4, random_state=0)

# %%
# One ranker per alpha, fitted on three quarters of the lists and evaluated on the remaining ones.
# The features are binned once.

ranker = FairLambdaMART(step=5, n_estimators=40, num_leaves=15, n_jobs=1, random_state=0)
path = ranker.tradeoff_path([0.1, 0.3, 0.5, 0.7, 0.9, 1.0], data)
path.table

# %%
# The fairest ranker that loses at most a tenth of the best NDCG:

fair = path.pick(max_ndcg_loss=0.1)
fair.alpha

# %%
# Every ranker of the path, and the line of mixtures with a random order. Rankers above the line
# are better than such mixtures.

tradeoff(path)

# %%
# Why does one item rank above another? The difference of their SHAP values explains it.

fair.explain_pair(data, 0, 1)
