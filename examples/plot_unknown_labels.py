"""
Three answers where groups are not known
========================================

Law students and defendants are ranked in lists of 40, and labels are hidden more often at the
bottom of a list. What can still be said about the difference in position? The known people alone,
bounds over all labels that the others could have, and an estimate that takes unknown people to be
like known people at the same positions stand side by side with the true value. The data are those
of the law school study and of COMPAS if available (set ``EQUIRANK_DATA``), otherwise made up.
"""

import os

import altair as alt
import numpy as np

from equirank.datasets import load_compas, load_law
from equirank.statistics import completion_bounds, corrected_estimate, label_breakdown

LISTS, LENGTH = 60, 40


def made_up(rng):
    """Return scores and groups with a difference of half a standard deviation."""
    group = rng.random(LISTS * LENGTH) < 0.3
    return rng.normal(size=len(group)) - 0.5 * group, np.where(group, "B", "W")


def students(rng):
    """Return first-year averages, and whether students are white."""
    data = load_law()
    people = rng.choice(data.n_rows, LISTS * LENGTH, replace=False)
    race = data.attribute("race").labels()[people]
    return data.y[people], np.where(race == "White", "W", "B")


def defendants(rng):
    """Return minus the predicted risk, which ranks low risks first, and groups."""
    data = load_compas()
    race = data.attribute("race").labels()
    people = rng.permutation(np.flatnonzero(np.isin(race, ["African-American", "Caucasian"])))
    people = people[: LISTS * LENGTH]
    noise = 0.01 * rng.random(len(people))  # risks are whole numbers: ties in random order
    return noise - data.y[people], np.where(race[people] == "Caucasian", "W", "B")


def answers(name, draw, rng):
    """Return the rows of the picture for one data set, with 40% of the labels hidden."""
    score, group = draw(rng)
    lists = np.repeat(np.arange(LISTS), LENGTH)
    position = (-score.reshape(LISTS, LENGTH)).argsort(axis=1).argsort(axis=1).ravel() + 1.0
    hidden = rng.random(len(group)) < 0.8 * position / LENGTH
    known = np.where(hidden, None, group)
    truth = corrected_estimate(position, group, "B", qid=lists)
    bounds = completion_bounds(position, known, "B", qid=lists)
    found = corrected_estimate(position, known, "B", qid=lists)
    undone = label_breakdown(position, known, "B", qid=lists)
    print(f"{name}: {hidden.mean():.0%} unknown; truth {truth.value:.1f}")
    print(f"  known {bounds.known:.1f}, bounds {bounds.low:.1f} to {bounds.high:.1f}")
    print(f"  corrected {found.value:.1f} ({found.low:.1f} to {found.high:.1f})")
    print(f"  breakdown {undone.breakdown:.0%}, of the interval {undone.breakdown_interval:.0%}")
    rows = [
        {"answer": "all labels", "value": truth.value, "low": truth.low, "high": truth.high},
        {"answer": "known people", "value": bounds.known, "low": None, "high": None},
        {"answer": "bounds", "value": None, "low": bounds.low, "high": bounds.high},
        {"answer": "corrected", "value": found.value, "low": found.low, "high": found.high},
    ]
    return [row | {"data": name} for row in rows]


rng = np.random.default_rng(0)
if "EQUIRANK_DATA" in os.environ:
    rows = answers("Law", students, rng) + answers("COMPAS", defendants, rng)
else:
    rows = answers("made up", made_up, rng)

# %%
# A bar is a confidence interval, except for the bounds, where it has all values that the labels
# allow. The dashed line is no difference.
order = ["all labels", "known people", "bounds", "corrected"]
answers_of = alt.Chart(alt.Data(values=rows))
base = answers_of.encode(y=alt.Y("answer:N", sort=order, title=None))
axis = alt.X("low:Q", title="positions lower than everyone else")
truth = alt.datum.answer == "all labels"
colour = alt.condition(truth, alt.value("#1f2933"), alt.value("#7b5ea7"))
bars = base.mark_rule(strokeWidth=3).encode(x=axis, x2="high:Q", color=colour)
points = base.mark_point(size=80, filled=True, opacity=1).encode(x="value:Q", color=colour)
zero = answers_of.mark_rule(strokeDash=[4, 4], color="#5f6c7b").encode(x=alt.datum(0))
layers = alt.layer(zero, bars, points).properties(width=330, height=110)
chart = layers.facet(row=alt.Row("data:N", title=None))
chart
