"""
Two fair representations: LFR and iFair
=======================================

LFR requires equal mean memberships of the groups in every prototype; iFair requires equal
representations of equal people. Both are learned from one part of the defendants and evaluated on
the other: how well they predict race, how similarly similar people are scored, and how well the
score can be learned. The data are COMPAS if available (set ``EQUIRANK_DATA``), otherwise synthetic.
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
    """Return defendants whose number of earlier arrests depends on their race."""
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
# The last column is protected. Scaling and representations are learned from the training part only.

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
# A ridge regression learns the score from each representation, and ranks the held-out people.

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
# Lower leakage and gap, and higher consistency and NDCG are better: fairness costs relevance. The
# same for LFR alone, before and after, on the held-out people:

changes = lfr.changes(plain[~train], target[~train], sensitive_features=race[~train])
before_after(changes, title="Held-out defendants before and after LFR")

# %%
# The constraint of LFR: mean memberships in its prototypes, by race. On the training part, the bars
# of a prototype have nearly equal length.

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
