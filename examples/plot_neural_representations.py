"""
What does each mechanism remove from a representation?
======================================================

`DirectRanker` learns a representation of people and ranks by it. Adversaries can predict the group
from it during training: networks that predict the group of each item (ADV), an output that predicts
the difference of two groups (FF), or both. Here the representation has two dimensions, so that it
can be plotted. The data are COMPAS if available (set ``EQUIRANK_DATA``), otherwise synthetic with a
bias of one standard deviation against one group.
"""

import os

import altair as alt
import numpy as np

from equirank import query_train_test_split
from equirank.datasets import load_compas, make_ranking
from equirank.rankers import DirectRanker
from equirank.search import evaluate_representation

if "EQUIRANK_DATA" in os.environ:
    people = load_compas(reverse=True, sensitive="race")
    race = np.array(people.attribute("race").categories)[people.attribute("race").codes]
    kept = np.isin(race, ["African-American", "Caucasian"])
    kept &= np.random.default_rng(0).random(len(race)) < 0.5
    people = people.select_items(np.flatnonzero(kept))
    by = "item"
else:
    people = make_ranking(n_queries=60, n_items=30, feature_bias=1.0, random_state=0)
    by = "query"
train, test = query_train_test_split(people, test_size=0.5, by=by, random_state=0)

# %%
# Four rankers with the same network and the same seed.

MECHANISMS = {"none": None, "FF": "flipped", "ADV": "adversarial", "ADV + FF": "both"}
NETWORK = {"layers": (32, 2), "n_epochs": 20, "random_state": 0}
models = {
    name: DirectRanker(fairness, **NETWORK, **({"gamma": 1.0} if fairness else {})).fit(train)
    for name, fairness in MECHANISMS.items()
}

# %%
# The representations of 400 held-out people. Without an adversary the groups are separated; with
# one, their distributions overlap.

attribute = next(iter(test.sensitive.values()))
shown = np.random.default_rng(0).permutation(test.n_rows)[:400]
group = test.to_original(np.array([str(attribute.categories[code]) for code in attribute.codes]))
points = [
    {"mechanism": name, "first": float(a), "second": float(b), "group": str(group[row])}
    for name, model in models.items()
    for row, (a, b) in zip(shown, model.transform(test)[shown], strict=True)
]
alt.Chart(alt.Data(values=points)).mark_point(size=18, filled=True, opacity=0.5).encode(
    x=alt.X("first:Q", title="first number"),
    y=alt.Y("second:Q", title="second number"),
    color="group:N",
    shape="group:N",
    column=alt.Column("mechanism:N", sort=list(MECHANISMS), title=None),
).properties(width=170, height=170).resolve_scale(x="independent", y="independent")

# %%
# Models trained on each representation: ADRG is how much better than guessing they predict the
# group (0 is best), NDCG is that of the ranking by their predictions.

rows = []
for name, transformer in {"features": None, **models}.items():
    for row in evaluate_representation(transformer, test, models=["linear"], random_state=0):
        rows.append({"representation": name, **row})
{(row["representation"], row["metric"]): round(row["value"], 3) for row in rows}

# %%
# The same as a chart, with 95% confidence intervals over five splits.

base = alt.Chart(alt.Data(values=rows)).encode(
    y=alt.Y("representation:N", sort=["features", *MECHANISMS], title=None)
)
value = alt.X("value:Q", title=None).scale(zero=False)
panels = [
    (
        base.mark_point(filled=True, size=70, color="#7b5ea7").encode(x=value)
        + base.mark_rule(strokeWidth=2, color="#7b5ea7").encode(x="low:Q", x2="high:Q")
    )
    .transform_filter(alt.datum.metric == metric)
    .properties(width=170, height=130, title=title)
    for metric, title in {
        "ADRG": "group can be told (ADRG)",
        "NDCG": "relevance (NDCG)",
        "1 - RND": "fairness (1 - rND)",
    }.items()
]
alt.hconcat(*panels)
