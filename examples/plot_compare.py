"""
Is one ranking better than another?
===================================

Two models scored the same items. The second sees the truth through less noise. Both are evaluated
on the same queries, so the comparison is paired: query by query.
"""

import numpy as np

from equirank import as_ranking_data, evaluate

rng = np.random.default_rng(0)
n_queries, n_items = 100, 20
qid = np.repeat(np.arange(n_queries), n_items)
relevance = rng.integers(0, 4, size=qid.size)
noise = rng.normal(size=(2, qid.size))

# %%
# The same data with two scores gives two rankings.

rough = as_ranking_data(y=relevance, qid=qid, score=relevance + 3.0 * noise[0])
fine = as_ranking_data(y=relevance, qid=qid, score=relevance + 2.0 * noise[1])

metrics = ["NDCG@10", "AveragePrecision"]
before = evaluate(rough, metrics, random_state=0)
after = evaluate(fine, metrics, random_state=0)
after

# %%
# The intervals of two evaluations may overlap although one is better on nearly every query.
# ``versus`` looks at the differences, and corrects for asking about two metrics at once.

after.versus(before)
