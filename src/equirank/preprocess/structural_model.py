"""A fitted DAG: the equation of every node, and counterfactual values in another group."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from ..core import inputs
from ..core.errors import DataError, suggest
from ..core.labels import check_groups, encode
from .dag import Dag

__all__ = [
    "Equation",
    "People",
    "StructuralModel",
    "check_variation",
    "fit_equation",
    "fit_model",
    "logistic",
    "logistic_coefficients",
    "people_of",
    "reference_codes",
]


#: A ridge that is too small to change an estimate and keeps all of them finite.
RIDGE = 1e-6
FAR = 30.0


def logistic(eta: np.ndarray) -> np.ndarray:
    """Return ``1 / (1 + exp(-eta))``, with eta clipped to [-30, 30]."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(eta, -FAR, FAR))))


def logistic_coefficients(design: np.ndarray, hit: np.ndarray, max_iter: int = 100) -> np.ndarray:
    """Return the maximum likelihood coefficients; ``hit`` is 0 or 1 per row of the design.

    Examples
    --------
    >>> design = np.ones((4, 1))
    >>> share = logistic(logistic_coefficients(design, np.array([1, 1, 1, 0])))
    >>> share.round(4)
    array([0.75])
    """
    coef = np.zeros(design.shape[1])
    ridge = RIDGE * np.eye(design.shape[1])
    for _ in range(max_iter):
        p = logistic(design @ coef)
        hess = (design * (p * (1.0 - p))[:, None]).T @ design + ridge
        step = np.linalg.solve(hess, design.T @ (hit - p) - RIDGE * coef)
        length = float(np.abs(step).max())
        coef = coef + step * min(1.0, 5.0 / max(length, 1e-300))
        if length < 1e-10:
            break
    return np.asarray(coef)


@dataclass(frozen=True)
class People:
    """Columns of numbers, and for each protected attribute a code per row and its labels."""

    values: Mapping[str, np.ndarray]
    codes: Mapping[str, np.ndarray]
    labels: Mapping[str, tuple[Any, ...]]

    @property
    def n(self) -> int:
        """Number of people."""
        return len(next(iter(self.codes.values())))

    def joint(self, attributes: Sequence[str]) -> np.ndarray:
        """Return a code of the crossed attributes; 0 without attributes."""
        code = np.zeros(self.n, dtype=np.int64)
        for name in attributes:
            code = code * len(self.labels[name]) + self.codes[name]
        return code

    def words(self, attributes: Sequence[str], code: int) -> str:
        """Return the label of a joint code."""
        parts = []
        for name in reversed(attributes):
            code, at = divmod(code, len(self.labels[name]))
            parts.append(str(self.labels[name][at]))
        return " & ".join(reversed(parts))

    def size(self, attributes: Sequence[str]) -> int:
        """Return the number of joint codes, including those that do not occur."""
        return int(np.prod([len(self.labels[name]) for name in attributes], dtype=np.int64))

    def having(self, values: Mapping[str, np.ndarray]) -> "People":
        """Return people with some columns replaced."""
        return People({**self.values, **values}, self.codes, self.labels)

    def being(self, group: Mapping[str, int]) -> "People":
        """Return people who all belong to one group (a code per attribute)."""
        codes = {name: np.full(self.n, code) for name, code in group.items()}
        return People(self.values, {**self.codes, **codes}, self.labels)

    def take(self, rows: np.ndarray) -> "People":
        """Return some rows."""
        return People(
            {name: column[rows] for name, column in self.values.items()},
            {name: codes[rows] for name, codes in self.codes.items()},
            self.labels,
        )


@dataclass(frozen=True)
class Equation:
    """One node as a function of its causes.

    A node without causes has no equation.

    Attributes
    ----------
    node : str
        Name of the node, which is the effect of its causes.
    by, causes : tuple of str
        Its protected causes, and all others.
    kind : {"linear", "logistic", "plugged"}
        How it was fitted.
    coef : ndarray of shape (n_groups, 1 + n_causes)
        Intercept and slopes per group of the protected causes; NaN for groups not seen.
    ends : tuple of float, optional
        The two values of a node with two.
    model : object, optional
        A fitted scikit-learn model.
    """

    node: str
    by: tuple[str, ...]
    causes: tuple[str, ...]
    kind: str
    coef: np.ndarray
    ends: tuple[float, float] | None = None
    model: Any = None

    def expect(self, people: People) -> np.ndarray:
        """Return the expected value; of a binary node the probability of the upper value."""
        if self.kind == "plugged":
            design = _plugged_design(people, self.by, self.causes)
            if self.ends is None:
                return np.asarray(self.model.predict(design), dtype=np.float64)
            return np.asarray(self.model.predict_proba(design)[:, 1], dtype=np.float64)
        joint = people.joint(self.by)
        eta = self.coef[joint, 0]
        for at, cause in enumerate(self.causes, start=1):
            eta = eta + self.coef[joint, at] * people.values[cause]
        if np.isnan(eta).any():
            row = int(np.flatnonzero(np.isnan(eta))[0])
            raise DataError(
                f"{' and '.join(self.by)} must be a group seen in fit, got "
                f"{people.words(self.by, int(joint[row]))!r} in row {row}"
            )
        return logistic(eta) if self.kind == "logistic" else eta

    def move(self, own: People, other: People) -> np.ndarray:
        """Return the counterfactual value of the node, with each person's own residual.

        If the probability of the upper value of a binary node changes from p to q, those who have
        it keep it with probability ``min(1, q / p)``, and those who do not get it with probability
        ``max(0, (q - p) / (1 - p))``; the result is the expected value.
        """
        before, after = self.expect(own), self.expect(other)
        value = own.values[self.node]
        if self.ends is None:
            return value + (after - before)
        low, high = self.ends
        share = (value - low) / (high - low)
        kept = np.minimum(1.0, after / np.maximum(before, 1e-300))
        gain = np.maximum(0.0, (after - before) / np.maximum(1.0 - before, 1e-300))
        chance = share * kept + (1.0 - share) * np.minimum(1.0, gain)
        return np.where(after == before, value, low + (high - low) * chance)


def fit_equation(
    people: People,
    node: str,
    by: tuple[str, ...],
    causes: tuple[str, ...],
    *,
    binary: bool,
    regressor: Any = None,
    classifier: Any = None,
) -> Equation:
    """Fit a node on its causes: least squares or logistic regression per group, or a model."""
    target = people.values[node]
    ends = (float(target.min()), float(target.max())) if binary else None
    plugged = classifier if binary else regressor
    none = np.empty((0, 0))
    if plugged is not None:
        model = clone(plugged)
        design = _plugged_design(people, by, causes)
        model.fit(design, target == target.max() if binary else target)
        return Equation(node, by, causes, "plugged", none, ends, model)
    hit = (target == target.max()).astype(np.float64)
    coef = np.full((people.size(by), 1 + len(causes)), np.nan)
    joint = people.joint(by)
    for code in np.unique(joint):
        rows = np.flatnonzero(joint == code)
        if len(rows) < coef.shape[1]:
            raise DataError(
                f"group {people.words(by, int(code))!r} has {len(rows)} rows, and the equation of "
                f"{node!r} needs {coef.shape[1]} at least; merge groups or leave them out"
            )
        parts = [people.values[cause][rows] for cause in causes]
        coef[code] = _logistic(parts, hit[rows]) if binary else _linear(parts, target[rows])
    return Equation(node, by, causes, "logistic" if binary else "linear", coef, ends)


def _linear(parts: list[np.ndarray], target: np.ndarray) -> np.ndarray:
    """Return intercept and slopes of least squares; a constant cause has slope 0."""
    middle = target.mean()
    if not parts:
        return np.array([middle])
    design = np.column_stack(parts)
    means = design.mean(axis=0)
    slopes = np.linalg.lstsq(design - means, target - middle, rcond=None)[0]
    return np.concatenate([[middle - slopes @ means], slopes])


def _logistic(parts: list[np.ndarray], hit: np.ndarray) -> np.ndarray:
    """Return intercept and slopes, fitted on standardised causes."""
    design = np.column_stack([np.ones(len(hit)), *parts])
    means, scale = design[:, 1:].mean(axis=0), design[:, 1:].std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    design[:, 1:] = (design[:, 1:] - means) / scale
    coef = logistic_coefficients(design, hit)
    slopes = coef[1:] / scale
    return np.concatenate([[coef[0] - slopes @ means], slopes])


def _plugged_design(people: People, by: tuple[str, ...], causes: tuple[str, ...]) -> np.ndarray:
    """Return indicators of the groups of each protected cause, and the other causes."""
    parts = [
        (people.codes[name] == code).astype(np.float64)
        for name in by
        for code in range(len(people.labels[name]))
    ]
    parts += [people.values[cause] for cause in causes]
    return np.column_stack(parts)


@dataclass(frozen=True)
class StructuralModel:
    """The equations of a DAG.

    Attributes
    ----------
    dag : Dag
        The nodes, and the causes of each.
    equations : dict of str to Equation
        The equation of every node that has causes.
    groups : tuple of dict of str to int
        The groups that occur: a code per protected attribute.
    """

    dag: Dag
    equations: Mapping[str, Equation]
    groups: tuple[dict[str, int], ...]

    def world(
        self,
        people: People,
        group: Mapping[str, int],
        *,
        direct: Mapping[str, int] | None = None,
        held: Mapping[str, np.ndarray] | None = None,
        resolve: bool = True,
    ) -> dict[str, np.ndarray]:
        """Return all nodes as they would be if everyone belonged to one group.

        Parameters
        ----------
        people : People
            As observed.
        group : mapping of str to int
            The group, a code per attribute.
        direct : mapping, optional
            Another group for the equation of the score; only mediators then use ``group``.
        held : mapping of str to ndarray, optional
            Nodes that are fixed at these values.
        resolve : bool
            Keep resolving mediators as observed.
        """
        other = people.being(group)
        moved: dict[str, np.ndarray] = dict(held or {})
        shifted = set(self.dag.protected) | set(moved)
        for node, equation in self.equations.items():
            if node in moved or (resolve and node in self.dag.resolving):
                continue
            if not shifted.intersection(equation.by + equation.causes):
                continue
            there = other.having(moved)
            if node == self.dag.score and direct is not None:
                there = there.being(direct)
            moved[node] = equation.move(people, there)
            shifted.add(node)
        return {**people.values, **moved}

    def scores(self, people: People, reference: Mapping[str, int] | None) -> np.ndarray:
        """Return the counterfactual scores in one group, or their mean over all groups."""
        groups = self.groups if reference is None else (reference,)
        total = np.zeros(people.n)
        for group in groups:
            total += self.world(people, group)[self.dag.score]
        return total / len(groups)

    def words(self, people: People, group: Mapping[str, int]) -> str:
        """Return the label of a group."""
        return " & ".join(str(people.labels[name][code]) for name, code in group.items())


def fit_model(
    people: People, dag: Dag, regressor: Any = None, classifier: Any = None
) -> StructuralModel:
    """Fit the equation of every node that has causes."""
    equations = {}
    for node, causes in dag.causes.items():
        if not causes:
            continue
        values = people.values[node]
        low, high = values.min(), values.max()
        binary = node != dag.score and low < high and bool(np.isin(values, (low, high)).all())
        equations[node] = fit_equation(
            people,
            node,
            tuple(cause for cause in causes if cause in dag.protected),
            tuple(cause for cause in causes if cause not in dag.protected),
            binary=binary,
            regressor=regressor,
            classifier=classifier,
        )
    return StructuralModel(dag, equations, occurring_groups(people, dag))


def occurring_groups(people: People, dag: Dag) -> tuple[dict[str, int], ...]:
    """Return the groups that occur, as a code per protected attribute."""
    table = np.column_stack([people.codes[name] for name in dag.protected])
    return tuple(
        dict(zip(dag.protected, map(int, row), strict=True)) for row in np.unique(table, axis=0)
    )


def people_of(
    dag: Dag,
    columns: Mapping[str, np.ndarray],
    categories: Mapping[str, Sequence[Any]] | None = None,
) -> People:
    """Return the columns of the DAG: codes of the protected ones, numbers of all others.

    ``categories`` are the groups in fit; None when fitting.
    """
    for node in dag.causes:
        if node not in columns:
            hint = suggest(node, list(columns))
            raise DataError(f"dag must name columns of X, got {node!r}{hint}")
    codes, labels, values = {}, {}, {}
    for node in dag.causes:
        if node not in dag.protected:
            values[node] = np.asarray(inputs.numbers(node, columns[node]), dtype=np.float64)
            continue
        code, found = encode(node, np.asarray(columns[node]))
        if categories is None:
            check_groups(node, found, len(code))
            codes[node], labels[node] = code.astype(np.int64), found
            continue
        known = list(categories[node])
        unseen = [label for label in found if label not in known]
        if unseen:
            row = int(np.argmax(code == found.index(unseen[0])))
            raise DataError(
                f"{node} must be one of the groups {known} seen in fit, got {unseen[0]!r} "
                f"in row {row}"
            )
        index = np.array([known.index(label) for label in found], dtype=np.int64)
        codes[node], labels[node] = index[code], tuple(known)
    return People(values, codes, labels)


def check_variation(dag: Dag, people: People) -> None:
    """Raise for a constant mediator or score, and for an attribute with one group."""
    for node in (*dag.mediators, dag.score):
        if people.values[node].min() == people.values[node].max():
            raise DataError(
                f"X must have no constant column in the dag, and {node!r} has the value "
                f"{people.values[node][0]:g} only"
            )
    for name in dag.protected:
        if len(people.labels[name]) < 2:
            raise DataError(
                f"{name} must hold at least two groups, got {people.labels[name][0]!r} only"
            )


def reference_codes(
    wanted: Any,
    names: Sequence[str],
    labels: Mapping[str, Sequence[Any]],
    groups: Sequence[Mapping[str, int]],
) -> dict[str, int]:
    """Return a reference group as a code per attribute; raise if it is wrong."""
    if not isinstance(wanted, Mapping):
        if len(names) > 1:
            raise DataError(
                f"reference must name a group of each of {', '.join(names)}, as in "
                f"{{{names[0]!r}: ...}}, got {wanted!r}"
            )
        wanted = {names[0]: wanted}
    if set(wanted) != set(names):
        raise DataError(
            f"reference must name a group of each of {', '.join(names)}, got {dict(wanted)!r}"
        )
    group = {}
    for name in names:
        known = list(labels[name])
        if wanted[name] not in known:
            hint = suggest(str(wanted[name]), [str(label) for label in known])
            raise DataError(
                f"reference must be one of the groups {known} of {name}, got {wanted[name]!r}{hint}"
            )
        group[name] = known.index(wanted[name])
    if group not in groups:
        raise DataError(f"reference must be a group that occurs, got {dict(wanted)!r}")
    return group
