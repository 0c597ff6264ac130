"""
How good and how fair is a ranking?
===================================

The bundled hiring data holds invented applicants for invented vacancies, with the score that a
screening system gave them. The order by that score is a ranking; three questions are asked of it.
"""

from equirank import evaluate
from equirank.datasets import load_hiring
from equirank.metrics import NDCG, RND, ExposureGap, Precision, Recall

data = load_hiring()
data

# %%
# Is it good, and how sure are we?
# --------------------------------
# ``NDCG@10`` is 1 when the best ten applicants stand first. The interval comes from drawing
# vacancies again and again: other vacancies would have given another value.

evaluate(data, [NDCG @ 10, Precision @ 10])

# %%
# Who is seen?
# ------------
# A position far down the list is rarely looked at. ``ExposureGap`` compares how much attention the
# groups get per person, and ``RND`` how the first places are shared out; 0 is even for both.

evaluate(data, [ExposureGap(by="sex"), RND(step=5, by="sex") @ 50])

# %%
# Does it find the good ones of each group?
# -----------------------------------------
# Metrics that are sums over items can be split by group. Recall is then the share of a group's
# suitable applicants who stand among the first ten.

evaluate(data, Recall @ 10, by="sex")
