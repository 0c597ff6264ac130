"""
How good and how fair is a ranking?
===================================

The bundled hiring data contain synthetic applicants for vacancies, with the score of a screening
system. The order by that score is a ranking; this example answers three questions about it.
"""

from equirank import audit, evaluate
from equirank.datasets import load_hiring
from equirank.metrics import NDCG, RND, ExposureGap, Precision, Recall
from equirank.plots import prefix_shares

data = load_hiring()
data

# %%
# How good is it, and how certain is that?
# ----------------------------------------
# ``NDCG@10`` is 1 if the ten best applicants are ranked first, in order. The interval is a
# bootstrap over vacancies.

evaluate(data, [NDCG @ 10, Precision @ 10])

# %%
# How is exposure distributed?
# ----------------------------
# Low positions receive little attention. ``ExposureGap`` compares the mean exposure of the groups,
# and ``RND`` their shares of the prefixes; 0 means equal for both.

evaluate(data, [ExposureGap(by="sex"), RND(step=5, by="sex") @ 50])

# %%
# Does it find the suitable applicants of each group?
# ---------------------------------------------------
# Metrics that are sums over items can be split by group. Recall is then the share of a group's
# suitable applicants in the top 10.

evaluate(data, Recall @ 10, by="sex")

# %%
# The same question as a chart: the share of each sex in the top k, with the band of chance.

prefix_shares(audit(data, n_boot=100, n_permutations=99), "sex")
