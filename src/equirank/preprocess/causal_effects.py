"""Direct and indirect effects of groups on the score, and of every edge, with intervals."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ..core.extras import progress
from ..core.random import generator
from ..core.table import Table
from .equations import Equation, People
from .structural_model import StructuralModel

__all__ = ["CausalEffects", "bootstrap_rows", "measure_effects"]

_PARTS = ("direct", "indirect", "resolved", "total")


@dataclass(frozen=True, repr=False)
class CausalEffects:
    """Effects of groups on the score, and of every edge; made by `CausalFairScores.effects`.

    Attributes
    ----------
    groups : Table
        One row per group and part: ``group``, ``reference``, ``part`` (direct, indirect, resolved,
        total), ``effect``, ``low``, ``high``.
    edges : Table
        One row per edge (and group, where the cause is protected): ``cause``, ``effect``,
        ``change`` (what is compared), ``value``, ``low``, ``high``.
    nodes : Table
        ``node``, ``role``, and where a picture puts it: ``layer``, ``place``.

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
    """Measure all effects on these people, with percentile intervals over resampled people."""
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
    """Draw as many rows of each group as it has, with replacement."""
    joint = people.joint(attributes)
    rows = []
    for code in np.unique(joint):
        mine = np.flatnonzero(joint == code)
        rows.append(mine[rng.integers(0, len(mine), len(mine))])
    return np.concatenate(rows)


def _keys(
    model: StructuralModel, people: People, reference: Mapping[str, int]
) -> list[tuple[str, ...]]:
    """Name the values that `_values` gives, in its order."""
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
    """Give the parts of each group's effect, then the effect of each edge."""
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
    """Give the mean change of a node by one cause, all others as observed.

    For a protected cause from the reference to each other group; for a number per unit, over half
    a standard deviation to either side.
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
    """Say for which rows the equation has seen the group."""
    if equation.kind == "plugged":
        return np.ones(people.n, dtype=bool)
    return ~np.isnan(equation.coef[people.joint(equation.by), 0])


def _nodes(model: StructuralModel) -> Table:
    layers = model.dag.layers()
    layers[model.dag.score] = max(layers.values())
    places: dict[str, float] = {}
    for layer in sorted(set(layers.values())):
        members = [node for node in layers if layers[node] == layer]
        for at, node in enumerate(members):
            places[node] = at - (len(members) - 1) / 2
    return Table(
        {
            "node": list(layers),
            "role": [model.dag.role(node) for node in layers],
            "layer": np.array(list(layers.values())),
            "place": np.array([places[node] for node in layers]),
        }
    )
