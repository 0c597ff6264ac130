"""
Two fair representations side by side: LFR and iFair
====================================================

LFR asks that every group belongs to every prototype in equal shares; iFair that equal people are
represented equally. Both are learned from one part of the defendants and judged on the other: how
much they tell of race, how alike likes are scored, and how well the score can still be learned.
The data are those of COMPAS where they are at hand (set ``EQUIRANK_DATA``), else made up.
"""

import os

import altair as alt
import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.preprocessing import StandardScaler

from equirank.datasets import load_compas
from equirank.metrics import consistency, exposure_gap, ndcg
from equirank.plots import before_after
from equirank.preprocess import IFair, LearnedFairRepresentation, representation_leakage


def made_up(n=600):
    """Give defendants whose number of earlier arrests depends on their race."""
    rng = np.random.default_rng(0)
    race = rng.choice(["African-American", "Caucasian"], n, p=[0.6, 0.4])
    policed = race == "African-American"
    conduct = rng.normal(size=n)
    X = np.column_stack([conduct + 0.8 * policed, conduct, rng.normal(size=(n, 3)), policed])
    X[:, :2] += 0.4 * rng.normal(size=(n, 2))
    y = np.clip(np.round(5 - 1.5 * conduct - policed + rng.normal(size=n)), 0, 9)
    return X, y, race


if "EQUIRANK_DATA" in os.environ:
    compas = load_compas(reverse=True, sensitive="race")
    race = np.array(compas.attribute("race").categories)[compas.attribute("race").codes]
    kept = np.isin(race, ["African-American", "Caucasian"])
    kept &= np.random.default_rng(0).random(len(race)) < 0.3
    race = race[kept]
    X = np.column_stack([compas.X[kept], race == "African-American"]).astype(float)
    y = compas.y[kept]
else:
    X, y, race = made_up()

# %%
# The last column is the protected one. Scaling and representations are learned from the training
# part only.

train = np.random.default_rng(1).random(len(X)) < 0.6
X = X[:, X[train].std(axis=0) > 0]
plain = StandardScaler().fit(X[train]).transform(X)
target = (y - y[train].mean()) / y[train].std()
quick = {"n_init": 2, "max_iter": 100, "random_state": 0}
ifair = IFair(10, protected=[-1], **quick).fit(plain[train])
lfr = LearnedFairRepresentation(10, parity=20.0, **quick)
lfr.fit(plain[train], target[train], sensitive_features=race[train])
parts = {"data": plain, "iFair": ifair.transform(plain), "LFR": lfr.transform(plain)}

# %%
# A ridge regression learns the score from each, and ranks the held-out people.

rows = []
for name, Z in parts.items():
    model = RidgeCV().fit(Z[train], target[train])
    score = model.predict(Z[~train])
    values = {
        "leakage (linear)": representation_leakage(Z[~train], race[~train]),
        "leakage (forest)": representation_leakage(Z[~train], race[~train], model="forest"),
        "consistency": consistency(score, plain[~train][:, :-1]),
        "exposure gap": exposure_gap(score, race[~train]),
        "NDCG@100": ndcg(y[~train], score, k=100),
    }
    rows += [{"data": name, "measure": key, "value": float(v)} for key, v in values.items()]

alt.Chart(alt.Data(values=rows)).mark_bar().encode(
    x=alt.X("value:Q", title=None),
    y=alt.Y("data:N", sort=None, title=None),
    color=alt.Color("data:N", sort=None, legend=None),
    row=alt.Row("measure:N", sort=None, title=None).header(labelAngle=0, labelAlign="left"),
    tooltip=["data:N", "measure:N", alt.Tooltip("value:Q", format=".3f")],
).properties(width=360, height=66).resolve_scale(x="independent")

# %%
# Lower leakage and a lower gap are better, higher consistency and NDCG too: what is gained is paid
# for in relevance. The same for LFR alone, before and after, on the held-out people:

changes = lfr.changes(plain[~train], target[~train], sensitive_features=race[~train])
before_after(changes, title="Held-out defendants before and after LFR")

# %%
# The price LFR was asked for: mean memberships in its prototypes, by race. The bars of a prototype
# are of nearly equal length on the people it was learned from.

bars = [
    {"prototype": str(k + 1), "race": str(who), "membership": float(value)}
    for who in np.unique(race)
    for k, value in enumerate(lfr.memberships(plain[train][race[train] == who]).mean(axis=0))
]
alt.Chart(alt.Data(values=bars)).mark_bar().encode(
    x=alt.X("prototype:N", sort=None),
    xOffset="race:N",
    y=alt.Y("membership:Q", title="mean membership"),
    color="race:N",
).properties(width=480, height=220)
