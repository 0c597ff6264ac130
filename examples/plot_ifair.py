"""
Equal representations of equal people: iFair
============================================

Lenders rank applicants by their data. The sex of an applicant is one of the columns, and other
columns reveal it too. iFair learns a representation in which the distance of two people is their
distance without the protected column. It is learned from one part of the people and evaluated on
the other. The data are German credit if available (set ``EQUIRANK_DATA``), otherwise similar
synthetic data.
"""

import os

import altair as alt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.feature_selection import VarianceThreshold
from sklearn.preprocessing import StandardScaler

from equirank.datasets import load_german
from equirank.plots import before_after
from equirank.preprocess import IFair


def made_up(n=500):
    """Return applicants whose income and job reveal their sex."""
    rng = np.random.default_rng(0)
    sex = rng.choice(["female", "male"], n, p=[0.35, 0.65])
    male = sex == "male"
    means = rng.normal(size=n)
    columns = [means + 0.9 * male, means - 0.6 * male, means, *rng.normal(size=(3, n))]
    X = np.column_stack(columns) + 0.5 * rng.normal(size=(n, 6))
    return X, (means + 0.3 * male + rng.normal(size=n) > 0).astype(float), sex


if "EQUIRANK_DATA" in os.environ:
    german = load_german(sensitive="sex", encoding="ordinal")
    labels = np.array(german.attribute("sex").categories)
    X, good, sex = german.X, german.y, labels[german.attribute("sex").codes]
else:
    X, good, sex = made_up()

# %%
# The sex is the last column, which is protected. Scaling is learned from the training part only.

X = np.column_stack([X, sex == "male"]).astype(float)
train = np.random.default_rng(1).random(len(X)) < 0.6
keep = VarianceThreshold().fit(X[train])
scale = StandardScaler().fit(keep.transform(X[train]))
before = scale.transform(keep.transform(X))
fair = IFair(10, protected=[-1], fairness=1.0, n_init=2, max_iter=100, random_state=0)
fair.fit(before[train])
fair

# %%
# People who differ only in their sex have exactly the same representation: the weight of the column
# is fixed at zero.

twins = before[~train].copy()
twins[:, -1] = np.where(twins[:, -1] > 0, before[:, -1].min(), before[:, -1].max())
float(np.abs(fair.transform(twins) - fair.transform(before[~train])).max())

# %%
# How well held-out data predict the sex, and how similarly similar people are scored.

changes = fair.changes(before[~train], good[~train], sensitive_features=sex[~train])
changes

# %%

before_after(changes, title="German credit, held-out applicants, before and after iFair")

# %%
# The first two principal components of the data, before and after. Before, the column separates the
# sexes; after, their distributions overlap.

rows = []
for word, points in (("before", before[~train]), ("after", fair.transform(before[~train]))):
    flat = PCA(2).fit_transform(points)
    rows += [
        {"x": float(x), "y": float(y), "sex": str(who), "when": word}
        for (x, y), who in zip(flat, sex[~train], strict=True)
    ]
alt.Chart(alt.Data(values=rows)).mark_point(filled=True, opacity=0.6).encode(
    x=alt.X("x:Q", title="first direction"),
    y=alt.Y("y:Q", title="second direction"),
    color="sex:N",
    shape="sex:N",
    column=alt.Column("when:N", sort=["before", "after"], title=None),
).properties(width=300, height=260).resolve_scale(x="independent", y="independent")
