"""Effects of groups on the score with intervals, and a test of causal fairness of a ranking."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from ..core.environment import progress
from ..core.random import generator
from ..core.table import Table
from .structural_model import Equation, People, StructuralModel, fit_equation, fit_model

__all__ = ["CausalEffects", "CausalRankTest", "bootstrap_rows", "measure_effects", "rank_test"]


_PARTS = ("direct", "indirect", "resolved", "total")


@dataclass(frozen=True, repr=False)
class CausalEffects:
    """Effects of groups on the score, and of every edge; result of `CausalFairScores.effects`.

    Attributes
    ----------
    groups : Table
        One row per group and part: ``group``, ``reference``, ``part`` (direct, indirect, resolved,
        total), ``effect``, ``low``, ``high``.
    edges : Table
        One row per edge (and group, where the cause is protected): ``cause``, ``effect``,
        ``change`` (the comparison), ``value``, ``low``, ``high``.
    nodes : Table
        ``node``, ``role``, and its position in a chart: ``layer``, ``place``.

    Examples
    --------
    >>> import numpy as np
    >>> from equirank.preprocess import CausalFairScores
    >>> rng = np.random.default_rng(0)
    >>> sex = np.repeat(["f", "m"], 500)
    >>> X = {"sex": sex, "score": (sex == "m") + rng.normal(size=1000)}
    >>> model = CausalFairScores([("sex", "score")], reference="m").fit(X)
    >>> effects = model.effects(X, n_boot=20, random_state=0)
    >>> effects.groups["part"][0], effects.groups["effect"][0].round(1)
    ('direct', np.float64(-1.0))
    """

    groups: Table
    edges: Table
    nodes: Table

    def __repr__(self) -> str:
        """Show the effects of groups."""
        return repr(self.groups)

    def _repr_html_(self) -> str:
        return self.groups._repr_html_()


def measure_effects(
    model: StructuralModel,
    people: People,
    reference: Mapping[str, int],
    refit: Callable[[People], StructuralModel],
    n_boot: int,
    level: float,
    seed: int,
) -> CausalEffects:
    """Estimate all effects for these people, with percentile intervals over resampled people."""
    keys = _keys(model, people, reference)
    value = _values(model, people, reference)
    draws = np.empty((n_boot, len(value)))
    for draw in progress(range(n_boot), "CausalFairScores: intervals"):
        some = people.take(bootstrap_rows(people, model.dag.protected, generator(seed, draw)))
        draws[draw] = _values(refit(some), some, reference, model.groups)
    low = high = np.full(len(value), np.nan)
    if n_boot:
        low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    numbers = {"low": low, "high": high}
    n_groups = 4 * (len(model.groups) - 1)
    groups = {
        "group": [key[0] for key in keys[:n_groups]],
        "reference": [model.words(people, reference)] * n_groups,
        "part": [key[1] for key in keys[:n_groups]],
        "effect": value[:n_groups],
        **{name: ends[:n_groups] for name, ends in numbers.items()},
    }
    edges = {
        "cause": [key[0] for key in keys[n_groups:]],
        "effect": [key[1] for key in keys[n_groups:]],
        "change": [key[2] for key in keys[n_groups:]],
        "value": value[n_groups:],
        **{name: ends[n_groups:] for name, ends in numbers.items()},
    }
    return CausalEffects(Table(groups), Table(edges), _nodes(model))


def bootstrap_rows(
    people: People, attributes: tuple[str, ...], rng: np.random.Generator
) -> np.ndarray:
    """Draw rows with replacement, as many of each group as it has."""
    joint = people.joint(attributes)
    rows = []
    for code in np.unique(joint):
        mine = np.flatnonzero(joint == code)
        rows.append(mine[rng.integers(0, len(mine), len(mine))])
    return np.concatenate(rows)


def _keys(
    model: StructuralModel, people: People, reference: Mapping[str, int]
) -> list[tuple[str, ...]]:
    """Return the names of the values of `_values`, in its order."""
    keys: list[tuple[str, ...]] = [
        (model.words(people, group), part)
        for group in model.groups
        if group != reference
        for part in _PARTS
    ]
    for node, equation in model.equations.items():
        for name in equation.by:
            words = people.labels[name]
            base = words[reference[name]]
            keys += [(name, node, f"{word} against {base}") for word in words if word != base]
        keys += [(cause, node, "one more") for cause in equation.causes]
    return keys


def _values(
    model: StructuralModel,
    people: People,
    reference: Mapping[str, int],
    groups: tuple[dict[str, int], ...] | None = None,
) -> np.ndarray:
    """Return the parts of each group's effect, then the effect of each edge."""
    score, dag = model.dag.score, model.dag
    base = model.world(people, reference, resolve=False)
    found = []
    for group in groups or model.groups:
        if group == reference:
            continue
        direct = model.world(people, reference, direct=group, resolve=False)[score]
        kept = {name: base[name] for name in dag.resolving}
        open_paths = model.world(people, group, held=kept, resolve=False)[score]
        whole = model.world(people, group, resolve=False)[score]
        parts = [direct - base[score], open_paths - direct, whole - open_paths, whole - base[score]]
        found += [float(part.mean()) for part in parts]
    for equation in model.equations.values():
        found += _of_edges(equation, people, reference)
    return np.array(found)


def _of_edges(equation: Equation, people: People, reference: Mapping[str, int]) -> list[float]:
    """Return the mean change of a node by one cause, with all other causes as observed.

    For a protected cause it is the change from the reference to each other group; for a number the
    change per unit, over half a standard deviation to either side.
    """
    scale = 1.0 if equation.ends is None else equation.ends[1] - equation.ends[0]
    found = []
    for name in equation.by:
        base = people.being({name: reference[name]})
        for code in range(len(people.labels[name])):
            if code != reference[name]:
                other = people.being({name: code})
                known = _known(equation, base) & _known(equation, other)
                rows = np.flatnonzero(known)
                change = equation.expect(other.take(rows)) - equation.expect(base.take(rows))
                found.append(scale * float(change.mean()) if len(rows) else np.nan)
    for cause in equation.causes:
        column = people.values[cause]
        step = float(column.std()) / 2 or 0.5
        up = equation.expect(people.having({cause: column + step}))
        down = equation.expect(people.having({cause: column - step}))
        found.append(scale * float((up - down).mean()) / (2 * step))
    return found


def _known(equation: Equation, people: People) -> np.ndarray:
    """Return for which rows the group occurred in fitting the equation."""
    if equation.kind == "plugged":
        return np.ones(people.n, dtype=bool)
    return ~np.isnan(equation.coef[people.joint(equation.by), 0])


def _nodes(model: StructuralModel) -> Table:
    layers = model.dag.layers()
    layers[model.dag.score] = max(layers.values())
    offsets: dict[str, float] = {}
    for layer in sorted(set(layers.values())):
        members = [node for node in layers if layers[node] == layer]
        for at, node in enumerate(members):
            offsets[node] = at - (len(members) - 1) / 2
    return Table(
        {
            "node": list(layers),
            "role": [model.dag.role(node) for node in layers],
            "layer": np.array(list(layers.values())),
            "place": np.array([offsets[node] for node in layers]),
        }
    )


#: Scores that differ by less than this share of their range are equal.
SAME = 1e-9


@dataclass(frozen=True)
class CausalRankTest:
    """Test of whether positions depend on the group; result of `CausalFairScores.rank_test`.

    Attributes
    ----------
    statistic : float
        The largest mean move between two groups, as a share of the list: how far a person would
        move on average in another group. 0: the ranking is causally fair.
    p_value : float
        Probability of such a statistic if groups have no effect except through resolving mediators.
    groups : Table
        Per group the distribution of positions if everyone belonged to it: ``mean``, ``quarter``,
        ``median``, ``three_quarters``.
    pairs : Table
        Per pair of groups ``move``, the mean move as a share of the list, and ``distance``, the
        largest gap between the two distributions of positions (Kolmogorov-Smirnov).

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
    """Test whether scores, higher first, are causally fair.

    The scores get an equation with all protected attributes and all mediators as causes, since they
    may depend on any of these. The position of a person in a group is that of their counterfactual
    score among the observed scores of everyone else; tied scores share positions. For the p-value
    the scores are replaced by their means over the counterfactual groups, which have no effect of
    the group; people are resampled and everything is refitted.
    """
    tested, own = _with_score(model, people, score)
    positions = _positions(tested, own)
    statistic = _statistic(positions)
    null = own.having({tested.dag.score: tested.scores(own, None)})
    above = 0
    for draw in progress(range(n_boot), "CausalFairScores: rank test"):
        rows = bootstrap_rows(null, model.dag.protected, generator(seed, draw))
        again = _fit(model, null.take(rows))
        again = replace(again, groups=tested.groups)
        above += _statistic(_positions(again, null)) >= statistic - SAME
    words = [model.words(people, group) for group in model.groups]
    return CausalRankTest(
        statistic,
        (1 + above) / (1 + n_boot),
        _group_table(positions, words),
        _pair_table(positions, words),
    )


def _with_score(
    model: StructuralModel, people: People, score: np.ndarray
) -> tuple[StructuralModel, People]:
    own = people.having({model.dag.score: score})
    return _fit(model, own), own


def _fit(model: StructuralModel, people: People) -> StructuralModel:
    """Fit the mediators as in the DAG, and the score on all other nodes."""
    dag = model.dag
    inner = {node: causes for node, causes in dag.causes.items() if node != dag.score}
    fitted = fit_model(people, replace(dag, causes=inner), *_plugs(model))
    last = fit_equation(people, dag.score, dag.protected, dag.mediators, binary=False)
    return StructuralModel(dag, {**fitted.equations, dag.score: last}, fitted.groups)


def _plugs(model: StructuralModel) -> tuple[object, object]:
    """Return the plugged-in models, for numbers and for binary nodes."""
    found: dict[bool, object] = {}
    for equation in model.equations.values():
        if equation.kind == "plugged":
            found[equation.ends is not None] = equation.model
    return found.get(False), found.get(True)


def _positions(model: StructuralModel, people: People) -> np.ndarray:
    """Return the position of each person in each group (people x groups)."""
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


def _statistic(positions: np.ndarray) -> float:
    return max(
        (
            float(np.abs(positions[:, a] - positions[:, b]).mean()) / max(1, len(positions) - 1)
            for a in range(positions.shape[1])
            for b in range(a)
        ),
        default=0.0,
    )


def _group_table(positions: np.ndarray, words: list[str]) -> Table:
    quarter, median, three = np.quantile(positions, [0.25, 0.5, 0.75], axis=0)
    return Table(
        {
            "group": words,
            "mean": positions.mean(axis=0),
            "quarter": quarter,
            "median": median,
            "three_quarters": three,
        }
    )


def _pair_table(positions: np.ndarray, words: list[str]) -> Table:
    pairs = [(a, b) for a in range(len(words)) for b in range(a + 1, len(words))]
    line = np.sort(positions, axis=0)
    gaps = []
    for a, b in pairs:
        at = np.concatenate([line[:, a], line[:, b]])
        upto = [np.searchsorted(line[:, column], at, side="right") for column in (a, b)]
        gaps.append(float(np.abs(upto[0] - upto[1]).max()) / len(positions))
    moves = [
        float(np.abs(positions[:, a] - positions[:, b]).mean()) / max(1, len(positions) - 1)
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
