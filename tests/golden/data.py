"""Made-up people in lists: columns from seeds, the same with every version of NumPy."""

from dataclasses import replace

import numpy as np

from equirank import as_ranking_data
from equirank.policies import PlackettLuce

#: Names of the columns, which no rename of an argument changes.
LIST, POINTS, GRADE = "list", "points", "grade"


def people(
    seed=1, sizes=(20,) * 30, *, bias=0.8, digits=6, unknown=0.0, recurring=0, start=0, few=0.05
):
    """Return lists of people: list, points, grade, sex, age, race, person, decisions and costs."""
    rng = np.random.default_rng(seed)
    sizes = np.asarray(sizes)
    n = int(sizes.sum())
    sex = np.where(rng.random(n) < 0.42, "f", "m")
    age = np.array(["young", "middle", "old"])[np.searchsorted([0.3, 0.75], rng.random(n))]
    bounds = [0.55, 0.8, 1 - few]
    race = np.array(["a", "b", "c", "d"])[np.searchsorted(bounds, rng.random(n))]
    skill = _logistic(rng, n)
    latent = skill - bias * (sex == "f") - 0.4 * bias * (age == "old") + 0.3 * bias * (race == "b")
    rates = 1 / (1 + np.exp(-np.round(skill, 9)))
    lists = np.repeat([f"v{start + at:05}" for at in range(len(sizes))], sizes)
    person = np.arange(n) if not recurring else (rng.random(n) * recurring).astype(int)
    invited = latent + 0.5 * _logistic(rng, n) > 0
    hired = invited & (latent + _logistic(rng, n) > 0.5)
    return {
        LIST: lists,
        POINTS: np.round(50 + 8 * latent, digits),
        "before": np.round(50 + 8 * (skill + 0.5 * _logistic(rng, n)), digits),
        GRADE: ((rng.random(n) < rates).astype(int) + (rng.random(n) < rates / 2)).astype(float),
        "sex": _hidden(rng, sex, unknown),
        "age": _hidden(rng, age, unknown / 2),
        "race": _hidden(rng, race, unknown),
        "person": np.array([f"p{each}" for each in person]),
        "invited": np.where(invited, "yes", "no"),
        "hired": np.where(hired, "yes", "no"),
        "outcome": np.where(hired, "hired", np.where(invited, "declined", "rejected")),
        "openings": np.repeat(np.maximum(sizes // 4, 1), sizes),
        "cost": np.round(1 + 4 * rng.random(n), 6),
        "years": np.floor(20 * rng.random(n)),
        "test": np.round(10 * rng.random(n) + skill, 6),
    }


def _logistic(rng, n):
    share = rng.random(n)
    return np.log(share / (1 - share))


def _hidden(rng, labels, share):
    """Return labels as words; a share of them, more of the first group, is unknown."""
    odds = rng.random(len(labels)) * np.where(labels == np.unique(labels)[-1], 1.2, 0.8)
    return np.where(odds < share, None, labels.astype(object))


def credit(seed=11, sizes=(1000,)):
    """Return applicants for credit in one or few long lists, of the shape of German credit."""
    made = people(seed, sizes, bias=0.5)
    made[GRADE] = (made[GRADE] > 0).astype(float)
    return {name: made[name] for name in (LIST, POINTS, GRADE, "sex", "age", "years", "hired")}


def probable(seed=21, sizes=(25,) * 24, verified=False):
    """Return people whose race is known by probabilities or, of some, verified."""
    made = people(seed, sizes)
    rng = np.random.default_rng(seed + 1)
    race, n = np.where(made["race"] == "a", "a", "b"), len(made["race"])
    frame = {name: made[name] for name in (LIST, POINTS)}
    if verified:
        wrong = np.where(race == "a", "b", "a")
        told = np.where(rng.random(n) < 0.1, wrong, race).astype(object)
        frame["race"] = np.where(rng.random(n) < 0.2, None, told)
        frame["race[true]"] = np.where(rng.random(n) < 0.35, race.astype(object), None)
        return frame
    share = np.round(np.where(race == "a", 0.75, 0.25) + 0.2 * (rng.random(n) - 0.5), 6)
    return frame | {"race[a]": share, "race[b]": np.round(1 - share, 6)}


def some(columns, rows):
    """Return some rows of columns."""
    return {name: values[rows] for name, values in columns.items()}


def scattered(columns, seed=5):
    """Return the rows in another order, so that no list is contiguous."""
    order = np.argsort(np.random.default_rng(seed).random(len(columns[LIST])))
    return some(columns, order)


def as_data(columns, sensitive=("sex",), **more):
    """Return columns as RankingData, with what metrics need."""
    return as_ranking_data(
        np.stack([columns["years"], columns["test"]], axis=1) if "test" in columns else None,
        columns[GRADE],
        qid=columns[LIST],
        score=columns[POINTS],
        cost=columns.get("cost"),
        sensitive_features={name: columns[name] for name in sensitive},
        missing_sensitive="unknown",
        **more,
    )


def drawn(columns, n_draws=4, *, weights=None, sensitive=("sex",)):
    """Return several orders of each list: a random ranking."""
    data = as_data(columns, sensitive)
    sample = PlackettLuce(data, temperature=4.0).sample(n_draws, random_state=3)
    return sample if weights is None else replace(sample, weights=weights)


def positions(columns, cut=None):
    """Return the columns with positions in place of points; 0 beyond the cut."""
    order = np.lexsort((-columns[POINTS], columns[LIST]))
    _, start, sizes = np.unique(columns[LIST][order], return_index=True, return_counts=True)
    position = np.empty(len(order), dtype=int)
    position[order] = np.arange(len(order)) - np.repeat(start, sizes) + 1
    if cut is not None:
        position[position > cut] = 0
    return {name: each for name, each in columns.items() if name != POINTS} | {"place": position}
