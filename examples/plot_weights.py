"""
Fair scoring weights
====================

A school admits by a weighted sum of the entrance test (LSAT) and the college grade (UGPA). Women
have slightly lower test scores and higher grades. Which weights give women their share of the top
100, and which of them are nearest to the weights of the school? With two columns every possible
order can be evaluated. The data are those of the law school study if available (set
``EQUIRANK_DATA``), otherwise synthetic.
"""

import os

import altair as alt
import numpy as np
from sklearn.preprocessing import StandardScaler

from equirank.datasets import load_law
from equirank.plots import fair_angles
from equirank.preprocess import FairScoringWeights, FAStarIROracle, PrefixSharesOracle


def made_up(n=800):
    """Return students; women have lower test scores and higher grades."""
    rng = np.random.default_rng(0)
    woman = rng.random(n) < 0.44
    talent = rng.normal(size=n)
    test = talent - 0.5 * woman + 0.8 * rng.normal(size=n)
    grade = talent + 0.3 * woman + 0.8 * rng.normal(size=n)
    return np.column_stack([test, grade]), np.where(woman, "female", "male")


if "EQUIRANK_DATA" in os.environ:
    law = load_law(subsample=0.1, sensitive="sex")
    X = np.array(law.X)
    sex = np.array(law.attribute("sex").categories)[law.attribute("sex").codes]
else:
    X, sex = made_up()
half = np.random.default_rng(1).random(len(X)) < 0.5
scale = StandardScaler().fit(X[half])
train, test = scale.transform(X[half]), scale.transform(X[~half])

# %%
# The school weights the test four times as much as the grade. The criterion: in the top 100, women
# have at least nine tenths of their share among the applicants.

share = float(np.mean(sex[half] == "female"))
oracle = PrefixSharesOracle(k=100, low=0.9 * share, protected="female")
model = FairScoringWeights(oracle, weights=[4, 1]).fit(train, sensitive_features=sex[half])
print(f"{model.n_orders_} orders, {100 * model.fair_share_:.0f} % of the angles are fair")
print("nearest fair weights:", model.weights_.round(3))

# %%
# All directions: to the right only the test, upwards only the grade.

fair_angles(model, title="Which weights of LSAT (right) and UGPA (up) are fair?")

# %%
# The share of women in the top 100 at every angle, on the half used in the search and on the other
# half. The grey line is the share among all applicants.

rows = []
for word, people, who in (("searched", train, sex[half]), ("held out", test, sex[~half])):
    for angle in np.linspace(0, np.pi / 2, 91):
        first = np.argsort(-(people @ [np.cos(angle), np.sin(angle)]), kind="stable")[:100]
        women = float(np.mean(who[first] == "female"))
        rows.append({"angle": float(np.degrees(angle)), "share": women, "half": word})
marks = [
    {"angle": float(np.degrees(np.arctan2(1, 4))), "weights": "asked for"},
    {"angle": float(np.degrees(np.arctan2(*model.weights_[::-1]))), "weights": "nearest fair"},
]
lines = (
    alt.Chart(alt.Data(values=rows))
    .mark_line()
    .encode(
        x=alt.X("angle:Q", title="angle of the weights (0: test alone, 90: grade alone)"),
        y=alt.Y("share:Q", title="women among the first hundred"),
        strokeDash=alt.StrokeDash("half:N", title=None),
    )
)
level = (
    alt.Chart(alt.Data(values=[{"share": share}])).mark_rule(color="#5f6c7b").encode(y="share:Q")
)
rules = (
    alt.Chart(alt.Data(values=marks))
    .mark_rule(strokeWidth=2)
    .encode(
        x="angle:Q", color=alt.Color("weights:N", title=None).scale(range=["#1f2933", "#7b5ea7"])
    )
)
(lines + level + rules).properties(width=460, height=260)

# %%
# Any criterion can be the oracle. FA*IR requires every prefix of the top 100 to pass a test that a
# random order passes in nine of ten draws.

strict = FAStarIROracle(k=100, protected="female", p=share, alpha=0.1)
found = FairScoringWeights(strict, weights=[4, 1]).fit(train, sensitive_features=sex[half])
print(
    f"{100 * found.fair_share_:.0f} % of the angles pass FA*IR; nearest:", found.weights_.round(3)
)
