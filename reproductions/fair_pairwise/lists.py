"""The lists of the fair pairwise study, who is protected, and what a classifier predicts."""

import numpy as np

from equirank import as_ranking_data
from equirank.datasets import load_adult, load_compas, load_law, load_wiki_talk, make_ranking


def made_up(seed, n_grades):
    """One list with biased features, in place of the real sets."""
    data = make_ranking(n_queries=1, n_items=300, n_grades=n_grades, feature_bias=1.0, noise=0.3,
                        random_state=seed)  # fmt: skip
    return data, "a", "value" if n_grades > 2 else "class"


def one_list(data, protected, target, others=None):
    """Return features as plain numbers, and the protected against the others where asked."""
    attribute = data.attribute()
    group = np.array(attribute.categories, dtype=object)[attribute.codes]
    if others is not None:
        group = np.where(group == protected, protected, others)
    X = data.X.toarray() if hasattr(data.X, "toarray") else np.asarray(data.X)
    return as_ranking_data(X, data.y, sensitive_features={"group": group}), protected, target


def compas_people(seed, quick):
    """Low risk first; African-American against all others."""
    if quick:
        return made_up(seed, 5)
    data = load_compas(relevance="decile_score", reverse=True, sensitive="race")
    return one_list(data, "African-American", "class", others="other")


def students_by_sex(seed, quick):
    """A tenth of the students, as published, drawn by seed."""
    if quick:
        return made_up(seed, 5)
    return one_list(load_law(subsample=0.1, sensitive="sex", random_state=seed), "female", "value")


def students_by_race(seed, quick):
    """A tenth of the black and white students."""
    if quick:
        return made_up(seed, 5)
    races = ("Black", "White")
    data = load_law(races=races, subsample=0.1, sensitive="race", random_state=seed)
    return one_list(data, "Black", "value")


def adult_people(seed, quick):
    """Everybody of both files, income above 50K first."""
    if quick:
        return made_up(seed, 2)
    return one_list(load_adult(sensitive="sex"), "Female", "class")


def wiki_comments(seed, quick):
    """Toxic comments first; words and pairs of words, hashed into 512 columns."""
    if quick:
        return made_up(seed, 2)
    return one_list(load_wiki_talk(n_features=512), "term", "class")
