"""The lists of the fair pairwise study, their protected groups and targets."""

import numpy as np

from equirank import as_ranking_data
from equirank.datasets import load_adult, load_compas, load_law, load_wiki_talk, make_ranking


def made_up(seed, n_grades):
    """Return one list with biased features instead of real data."""
    data = make_ranking(n_queries=1, n_items=300, n_grades=n_grades, feature_bias=1.0, noise=0.3,
                        random_state=seed)  # fmt: skip
    return data, "a", "value" if n_grades > 2 else "class"


def one_list(data, protected, target, others=None):
    """Return plain features, optionally with the protected against everyone else."""
    attribute = data.attribute()
    group = np.array(attribute.categories, dtype=object)[attribute.codes]
    if others is not None:
        group = np.where(group == protected, protected, others)
    X = data.X.toarray() if hasattr(data.X, "toarray") else np.asarray(data.X)
    return as_ranking_data(X, data.y, sensitive_features={"group": group}), protected, target


def compas_people(seed, quick):
    """Load COMPAS: low risk first; African-American against everyone else."""
    if quick:
        return made_up(seed, 5)
    data = load_compas(relevance="decile_score", reverse=True, sensitive="race")
    return one_list(data, "African-American", "class", others="other")


def compas_high_risk_first(seed, quick):
    """Load COMPAS as the source's ground truth has it: high risk first."""
    if quick:
        return made_up(seed, 5)
    data = load_compas(relevance="decile_score", sensitive="race")
    return one_list(data, "African-American", "class", others="other")


def students_by_sex(seed, quick):
    """Load a tenth of the law students, as published, drawn by seed."""
    if quick:
        return made_up(seed, 5)
    return one_list(load_law(subsample=0.1, sensitive="sex", random_state=seed), "female", "value")


def students_by_race(seed, quick):
    """Load a tenth of the black and white law students."""
    if quick:
        return made_up(seed, 5)
    races = ("Black", "White")
    data = load_law(races=races, subsample=0.1, sensitive="race", random_state=seed)
    return one_list(data, "Black", "value")


def adult_people(seed, quick):
    """Load both files of Adult, income above 50K first."""
    if quick:
        return made_up(seed, 2)
    return one_list(load_adult(sensitive="sex"), "Female", "class")


def wiki_comments(seed, quick):
    """Load Wiki talk, toxic comments first; words and pairs of words, hashed into 512 columns."""
    if quick:
        return made_up(seed, 2)
    return one_list(load_wiki_talk(n_features=512), "term", "class")
