"""The causal definition of a fair ranking as a test: nobody's place depends on the group."""

from dataclasses import dataclass, replace

import numpy as np

from ..core.extras import progress
from ..core.random import generator
from ..core.table import Table
from .causal_effects import bootstrap_rows
from .equations import People, fit_equation
from .structural_model import StructuralModel, fit_model

__all__ = ["CausalRankTest", "rank_test"]

#: Scores that differ by less than this share of their range are equal.
SAME = 1e-9


@dataclass(frozen=True)
class CausalRankTest:
    """Whether people would keep their places in another group; by `CausalFairScores.rank_test`.

    Attributes
    ----------
    statistic : float
        The largest mean move between two groups, as a share of the list: how far a person would
        move, on average, by being of another group. 0: the ranking is causally fair.
    p_value : float
        The chance of such a statistic where groups have no effect but through resolving mediators.
    groups : Table
        Per group the distribution of places if everybody were of it: ``mean``, ``quarter``,
        ``median``, ``three_quarters``.
    pairs : Table
        Per pair of groups ``move``, the mean move as a share of the list, and ``distance``, the
        largest gap between the two distributions of places (Kolmogorov-Smirnov).

    Examples
    --------
    >>> import numpy as np
    >>> from equirank.preprocess import CausalFairScores
    >>> rng = np.random.default_rng(0)
    >>> sex = np.repeat(["f", "m"], 100)
    >>> X = {"sex": sex, "score": (sex == "m") + rng.normal(size=200)}
    >>> model = CausalFairScores([("sex", "score")], reference="m").fit(X)
    >>> model.rank_test(X, n_boot=39, random_state=0).p_value  # ranked as observed
    0.025
    >>> model.rank_test(X, model.transform(X), n_boot=39, random_state=0).p_value
    1.0
    """

    statistic: float
    p_value: float
    groups: Table
    pairs: Table


def rank_test(
    model: StructuralModel, people: People, score: np.ndarray, n_boot: int, seed: int
) -> CausalRankTest:
    """Test scores, higher first, against the causal definition.

    The scores are given an equation with all protected attributes and all mediators as causes, for
    whatever made them may have used any of these. Each person's place in a group is that of their
    counterfactual score among the scores of all others as they are; equal scores share places. For
    the p-value the scores are replaced by their means over the counterfactual groups, which have
    no effect of the group left; people are resampled and everything is fitted anew.
    """
    tested, own = _with_score(model, people, score)
    places = _places(tested, own)
    statistic = _statistic(places)
    null = own.having({tested.dag.score: tested.scores(own, None)})
    above = 0
    for draw in progress(range(n_boot), "CausalFairScores: rank test"):
        rows = bootstrap_rows(null, model.dag.protected, generator(seed, draw))
        again = _fit(model, null.take(rows))
        again = replace(again, groups=tested.groups)
        above += _statistic(_places(again, null)) >= statistic - SAME
    words = [model.words(people, group) for group in model.groups]
    return CausalRankTest(
        statistic,
        (1 + above) / (1 + n_boot),
        _group_table(places, words),
        _pair_table(places, words),
    )


def _with_score(
    model: StructuralModel, people: People, score: np.ndarray
) -> tuple[StructuralModel, People]:
    own = people.having({model.dag.score: score})
    return _fit(model, own), own


def _fit(model: StructuralModel, people: People) -> StructuralModel:
    """Fit the mediators as they are, and the score on everything before it."""
    dag = model.dag
    inner = {node: causes for node, causes in dag.causes.items() if node != dag.score}
    fitted = fit_model(people, replace(dag, causes=inner), *_plugs(model))
    last = fit_equation(people, dag.score, dag.protected, dag.mediators, binary=False)
    return StructuralModel(dag, {**fitted.equations, dag.score: last}, fitted.groups)


def _plugs(model: StructuralModel) -> tuple[object, object]:
    """Give the models that were plugged in, for numbers and for nodes with two values."""
    found: dict[bool, object] = {}
    for equation in model.equations.values():
        if equation.kind == "plugged":
            found[equation.ends is not None] = equation.model
    return found.get(False), found.get(True)


def _places(model: StructuralModel, people: People) -> np.ndarray:
    """Give each person's place in each group (people x groups), among all others as they are."""
    score = people.values[model.dag.score]
    line = np.sort(score)
    slack = SAME * max(float(line[-1] - line[0]), 1e-300)
    result = np.empty((len(score), len(model.groups)))
    for at, group in enumerate(model.groups):
        mine = model.world(people, group)[model.dag.score]
        ahead = len(line) - np.searchsorted(line, mine + slack, side="right")
        level = len(line) - np.searchsorted(line, mine - slack, side="left") - ahead
        self_ahead = score > mine + slack
        self_level = np.abs(score - mine) <= slack
        result[:, at] = 1.0 + (ahead - self_ahead) + 0.5 * np.maximum(level - self_level, 0)
    return result


def _statistic(places: np.ndarray) -> float:
    return max(
        (
            float(np.abs(places[:, a] - places[:, b]).mean()) / max(1, len(places) - 1)
            for a in range(places.shape[1])
            for b in range(a)
        ),
        default=0.0,
    )


def _group_table(places: np.ndarray, words: list[str]) -> Table:
    quarter, median, three = np.quantile(places, [0.25, 0.5, 0.75], axis=0)
    return Table(
        {
            "group": words,
            "mean": places.mean(axis=0),
            "quarter": quarter,
            "median": median,
            "three_quarters": three,
        }
    )


def _pair_table(places: np.ndarray, words: list[str]) -> Table:
    pairs = [(a, b) for a in range(len(words)) for b in range(a + 1, len(words))]
    line = np.sort(places, axis=0)
    gaps = []
    for a, b in pairs:
        at = np.concatenate([line[:, a], line[:, b]])
        upto = [np.searchsorted(line[:, column], at, side="right") for column in (a, b)]
        gaps.append(float(np.abs(upto[0] - upto[1]).max()) / len(places))
    moves = [
        float(np.abs(places[:, a] - places[:, b]).mean()) / max(1, len(places) - 1)
        for a, b in pairs
    ]
    return Table(
        {
            "group": [words[a] for a, _ in pairs],
            "other": [words[b] for _, b in pairs],
            "move": np.array(moves),
            "distance": np.array(gaps),
        }
    )
