"""A fitted DAG: every node's equation, and worlds in which people are of another group."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from .dag import Dag
from .equations import Equation, People, fit_equation

__all__ = ["StructuralModel", "fit_model"]


@dataclass(frozen=True)
class StructuralModel:
    """The equations of a DAG.

    Attributes
    ----------
    dag : Dag
        What causes what.
    equations : dict of str to Equation
        The equation of every node that has causes.
    groups : tuple of dict of str to int
        The groups seen: a code per protected attribute.
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
        """Give all nodes as they would be if everybody were of one group.

        Parameters
        ----------
        people : People
            As observed.
        group : mapping of str to int
            The group, a code per attribute.
        direct : mapping, optional
            Another group for the score's own equation: only the mediators then follow ``group``.
        held : mapping of str to ndarray, optional
            Nodes that are held at these values.
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
        """Give the counterfactual scores: of one group, or the mean over all groups seen."""
        groups = self.groups if reference is None else (reference,)
        total = np.zeros(people.n)
        for group in groups:
            total += self.world(people, group)[self.dag.score]
        return total / len(groups)

    def words(self, people: People, group: Mapping[str, int]) -> str:
        """Give the label of a group."""
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
    return StructuralModel(dag, equations, seen_groups_of(people, dag))


def seen_groups_of(people: People, dag: Dag) -> tuple[dict[str, int], ...]:
    """Give the groups that occur, as a code per protected attribute."""
    table = np.column_stack([people.codes[name] for name in dag.protected])
    return tuple(
        dict(zip(dag.protected, map(int, row), strict=True)) for row in np.unique(table, axis=0)
    )
