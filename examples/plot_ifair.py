"""
Equal people, equal representations: iFair
==========================================

Lenders rank applicants by what their data say. The sex of an applicant is one of the columns, and
other columns tell of it too. iFair learns a representation in which two people are as far apart as
they are without the protected column. It is learned from one part of the people and judged on the
other. The data are those of the German credit scoring study where they are at hand (set
``EQUIRANK_DATA``), else made up to look like them.
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
    """Give applicants whose income and job tell of their sex."""
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
# The sex becomes the last column, the protected one. Scaling is learned from the training part
# only, like everything else.

X = np.column_stack([X, sex == "male"]).astype(float)
train = np.random.default_rng(1).random(len(X)) < 0.6
keep = VarianceThreshold().fit(X[train])
scale = StandardScaler().fit(keep.transform(X[train]))
before = scale.transform(keep.transform(X))
fair = IFair(10, protected=[-1], fairness=1.0, n_init=2, max_iter=100, random_state=0)
fair.fit(before[train])
fair

# %%
# People who differ in their sex only are represented equally, exactly: the weight of the column
# is kept at zero.

twins = before[~train].copy()
twins[:, -1] = np.where(twins[:, -1] > 0, before[:, -1].min(), before[:, -1].max())
float(np.abs(fair.transform(twins) - fair.transform(before[~train])).max())

# %%
# What held-out people's data tell of their sex, and how alike likes are scored.

changes = fair.changes(before[~train], good[~train], sensitive_features=sex[~train])
changes

# %%

before_after(changes, title="German credit, held-out applicants, before and after iFair")

# %%
# The two main directions of the data, before and after. Before, the column itself tells the sexes
# apart; after, they lie over each other.

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
    column=alt.Column("when:N", sort=["before", "after"], title=None),
).properties(width=300, height=260).resolve_scale(x="independent", y="independent")
