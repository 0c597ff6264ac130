"""
A policy between usefulness and fair exposure
=============================================

`FairPGRank` learns scores for a random ranking. The weight of the disparity, ``lam``, moves it from
the most useful ranking to one whose exposure follows merit. Here two groups differ slightly in
merit, and one feature reveals the group: without the weight the ranker ranks one group first.
"""

import altair as alt
import numpy as np

from equirank import as_ranking_data
from equirank.core.registry import parse_metric
from equirank.rankers import FairPGRank

rng = np.random.default_rng(0)
group = np.tile(["a", "b"], 500)
merit = 3.0 + (group == "a") * 0.3 + rng.normal(scale=0.1, size=1000)
features = np.column_stack([group == "a", merit + rng.normal(scale=0.3, size=1000)]).astype(float)
data = as_ranking_data(features, merit, qid=np.repeat(np.arange(100), 10), sensitive_features=group)


def value(model, name):
    """Return a metric over a hundred draws of every list."""
    metric = parse_metric(name)
    drawn = model.rank(data, n_draws=100, random_state=0)
    return float(metric.summarize(metric.per_query(drawn))[0])


# %%
# With a larger weight NDCG decreases slightly and the disparity strongly.

rows = []
for lam in (0.0, 0.5, 1.0, 2.0, 5.0, 20.0):
    term = {"disparity": "group", "lam": lam} if lam else {}
    model = FairPGRank(**term, learning_rate=0.03, random_state=0).fit(data)
    rows.append((lam, value(model, "NDCG"), value(model, "GroupDisparity")))
    print(f"lam {lam:5.1f}   NDCG {rows[-1][1]:.4f}   group disparity {rows[-1][2]:.4f}")

# %%
# A bound can be set instead of a weight.

bound = 0.5 * rows[0][2]
model = FairPGRank(disparity="group", max_disparity=bound, learning_rate=0.03, random_state=0).fit(
    data
)
reached = value(model, "GroupDisparity")
print(f"asked for at most {bound:.4f}; lam {model.lam_:.3g} gives {reached:.4f}")
model.path_table_

# %%
# The learning curve of the last model.

model.learning_curve_

# %%
# The trade-off of the weights: a larger ``lam`` is fairer and less useful.

points = [{"lam": f"{lam:g}", "quality": ndcg, "gap": gap} for lam, ndcg, gap in rows]
base = alt.Chart(alt.Data(values=points), width=420, height=260).encode(
    x=alt.X("gap:Q", title="group disparity (lower is better)").scale(zero=False, padding=30),
    y=alt.Y("quality:Q", title="NDCG (higher is better)").scale(zero=False, padding=20),
)
dots = base.mark_point(filled=True, size=70, color="#7b5ea7")
dots + base.mark_text(align="left", dx=8).encode(text="lam:N")
