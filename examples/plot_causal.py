"""
Scores as if all people were in the same group
==============================================

Law students are ranked by their first-year average. Race and sex may affect it directly, and
through the entrance test (LSAT) and the college grade (UGPA). A causal model of these paths
computes the score that each student would have in a reference group. The equations are fitted on
one half of the students; the other half is scored and ranked. The data are those of the law school
study if available (set ``EQUIRANK_DATA``), otherwise synthetic with known effects.
"""

import os

import altair as alt
import numpy as np

from equirank.datasets import load_law
from equirank.plots import causal_dag
from equirank.preprocess import CausalFairScores


def made_up(n=3000):
    """Return students with a direct effect of race of 0.2 and a mean indirect one of 0.3."""
    rng = np.random.default_rng(0)
    white = rng.random(n) < 0.8
    male = rng.random(n) < 0.55
    lsat = 33 + 6 * white + 0.5 * male + 5 * rng.normal(size=n)
    ugpa = 2.9 + 0.3 * white - 0.1 * male + 0.4 * rng.normal(size=n)
    zfya = -2 + 0.2 * white + 0.04 * lsat + 0.2 * ugpa + 0.8 * rng.normal(size=n)
    return {
        "race": np.where(white, "White", "Black"),
        "sex": np.where(male, "male", "female"),
        "LSAT": lsat,
        "UGPA": ugpa,
        "ZFYA": zfya,
    }


if "EQUIRANK_DATA" in os.environ:
    law = load_law(races=("Black", "White"), subsample=0.3)
    students = {
        name: np.array(a.categories)[a.codes] for name, a in law.sensitive.items()
    } | {"LSAT": law.X[:, 0], "UGPA": law.X[:, 1], "ZFYA": law.y}  # fmt: skip
else:
    students = made_up()
half = np.random.default_rng(1).random(len(students["ZFYA"])) < 0.5
train = {name: column[half] for name, column in students.items()}
test = {name: column[~half] for name, column in students.items()}

# %%
# The DAG: race and sex affect both tests, and all of them affect the first-year average.

dag = {
    "race": ["LSAT", "UGPA", "ZFYA"],
    "sex": ["LSAT", "UGPA", "ZFYA"],
    "LSAT": ["ZFYA"],
    "UGPA": ["ZFYA"],
}
model = CausalFairScores(dag, resolving="UGPA", reference={"race": "White", "sex": "male"})
model.fit(train)
effects = model.effects(train, n_boot=100)
effects

# %%
# The college grade is a resolving mediator: its differences are accepted. Effects through
# vermilion edges and the yellow node are repaired, effects through the teal node remain.

causal_dag(effects, title="Effects on the first-year average")

# %%
# The held-out students, ranked by the observed and by the counterfactual average.

repaired = model.transform(test)[:, 0]
top = len(repaired) // 10
group = np.array([f"{race}, {sex}" for race, sex in zip(test["race"], test["sex"], strict=True)])
rows = []
for word, score in (("before", test["ZFYA"]), ("after", repaired)):
    first = np.argsort(-score, kind="stable")[:top]
    for who in np.unique(group):
        share = np.mean(group[first] == who) / np.mean(group == who)
        rows.append({"group": str(who), "when": word, "ratio": float(share)})
bars = (
    alt.Chart(alt.Data(values=rows))
    .mark_bar()
    .encode(
        x=alt.X("ratio:Q", title="share of the first tenth, relative to the share of all"),
        y=alt.Y("when:N", sort=["before", "after"], title=None),
        color=alt.Color("when:N", sort=["before", "after"], legend=None),
        row=alt.Row("group:N", title=None).header(labelAngle=0, labelAlign="left"),
    )
)
bars.properties(width=420, height=44)

# %%
# A test of the causal definition of a fair ranking: would people keep their positions in another
# group? The statistic is the mean change of position, as a share of the list, between the two
# groups that differ most.

for word, score in (("before", test["ZFYA"]), ("after", repaired)):
    result = model.rank_test(test, score, n_boot=50)
    print(f"{word:7} mean move {result.statistic:.3f}, p = {result.p_value:.3f}")
