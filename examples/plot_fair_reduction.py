"""
The price of fairness, compared with random mixtures
====================================================

A ranker relies on a proxy of the group. ``FairReduction`` penalises the difference between the
groups and fits the ranker again, until better members of each group are ranked above worse members
of the other equally often. Mixing any ranking with a random one also closes every gap; a method
must be better than that.
"""

import numpy as np

from equirank import as_ranking_data, plots, query_train_test_split
from equirank.core.table import Table
from equirank.metrics import auc, group_pairwise_accuracy
from equirank.rankers import FairReduction, RankBoost

rng = np.random.default_rng(0)
n = 3000
group = rng.choice(["a", "b"], size=n)
skill = rng.normal(size=n)
X = np.stack([skill + 2.0 * rng.normal(size=n), 3.0 * (group == "b") + rng.normal(size=n)], axis=1)
y = (skill + 2.0 * (group == "b") > 1.0).astype(float)
data = as_ranking_data(X, y, sensitive_features=group)
train, test = query_train_test_split(data, by="item", test_size=0.5, random_state=0)
people = np.array(test.attribute().categories)[test.attribute().codes]


def measure(model):
    """Return the gap between the groups and the share of correctly ordered pairs."""
    score = model.predict(test)
    truth, who = test.to_original(test.y), test.to_original(people)
    return group_pairwise_accuracy(truth, score, who), auc(truth, score)


# %%
# The plain ranker, and the reduction for several values of eps.

rows = [("plain", *measure(RankBoost(50).fit(train)))]
for eps in (0.1, 0.05, 0.02, 0.0):
    fair = FairReduction(RankBoost(50, record_errors=False), eps=eps, max_iter=12, random_state=0)
    rows.append((f"eps {eps:g}", *measure(fair.fit(train))))

# %%
# The line: the accuracy of a mixture of the plain ranking with a random one at the same gap.

gap, accuracy = rows[0][1:]
table = Table(
    {
        "name": [name for name, _, _ in rows],
        "gap": np.array([row[1] for row in rows]),
        "accuracy": np.array([row[2] for row in rows]),
        "chance": np.array([0.5 + (accuracy - 0.5) * row[1] / gap for row in rows]),
    }
)
table

# %%
# The same as a chart.

plots.tradeoff(table, "gap", "accuracy", x_better="lower", mixture=(gap, accuracy, 0.0, 0.5))
