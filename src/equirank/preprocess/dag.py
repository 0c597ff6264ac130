"""A causal DAG: its nodes in causal order, with their causes and roles."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..core.errors import DataError, suggest
from ..core.params import Check

__all__ = ["DAG_EDGES", "Dag", "read_dag"]


@dataclass(frozen=True)
class Dag:
    """Nodes in causal order, with their causes and roles.

    Attributes
    ----------
    causes : dict of str to tuple of str
        The causes of every node, in causal order.
    protected : tuple of str
        The protected attributes.
    resolving : frozenset of str
        The mediators whose effect is accepted.
    score : str
        The score that people are ranked by.
    """

    causes: dict[str, tuple[str, ...]]
    protected: tuple[str, ...]
    resolving: frozenset[str]
    score: str

    @property
    def mediators(self) -> tuple[str, ...]:
        """All nodes but the protected ones and the score."""
        return tuple(n for n in self.causes if n not in self.protected and n != self.score)

    def role(self, node: str) -> str:
        """Return the role of a node."""
        if node in self.protected:
            return "protected"
        if node == self.score:
            return "score"
        if node in self.resolving:
            return "resolving"
        return "mediator" if self.causes[node] else "given"

    def layers(self) -> dict[str, int]:
        """Return the number of steps from the first causes to each node."""
        layer: dict[str, int] = {}
        for node, causes in self.causes.items():
            layer[node] = 1 + max((layer[cause] for cause in causes), default=-1)
        return layer


def read_dag(
    dag: Any, protected: Sequence[str] | str | None, resolving: Any, outcome: str | None
) -> Dag:
    """Read and check a DAG.

    Examples
    --------
    >>> read_dag([("sex", "grade"), ("sex", "score"), ("grade", "score")], None, (), None).causes
    {'sex': (), 'grade': ('sex',), 'score': ('sex', 'grade')}
    >>> read_dag([("a", "b"), ("b", "a")], None, (), None)
    Traceback (most recent call last):
    ...
    equirank.core.errors.DataError: dag must have no cycle, got a -> b -> a
    """
    edges = list(dict.fromkeys(_edges(dag)))
    nodes = list(dict.fromkeys(node for edge in edges for node in edge))
    causes = {node: tuple(a for a, b in edges if b == node) for node in nodes}
    causes = {node: causes[node] for node in _sorted(causes)}
    roots = [node for node in causes if not causes[node]]
    chosen = roots if protected is None else _names(protected)
    accepted = _names(() if resolving is None else resolving)
    for argument, given in (("protected", chosen), ("resolving", accepted)):
        for name in given:
            if name not in causes:
                hint = suggest(name, nodes)
                raise DataError(f"{argument} must name nodes of the dag, got {name!r}{hint}")
    for name in chosen:
        if causes[name]:
            raise DataError(
                f"protected must have no causes: {name!r} is protected and a mediator too, "
                f"caused by {causes[name][0]!r}"
            )
    target = _score(causes, outcome)
    for name in accepted:
        if name in chosen or name == target:
            what = "protected" if name in chosen else "the score"
            raise DataError(f"resolving must name mediators, and {name!r} is {what}")
    if target in chosen:
        raise DataError(f"outcome must not be protected, and {target!r} is")
    return Dag(causes, tuple(n for n in causes if n in chosen), frozenset(accepted), target)


def _edges(dag: Any) -> list[tuple[str, str]]:
    if isinstance(dag, Mapping):
        pairs: Iterable[Any] = [
            (cause, effect)
            for cause, effects in dag.items()
            for effect in ([effects] if isinstance(effects, str) else effects)
        ]
    elif isinstance(dag, (str, bytes)):
        raise TypeError("a string is no list of edges")
    else:
        pairs = getattr(dag, "edges", dag)
    found = []
    for pair in pairs:
        cause, effect = pair
        if not (isinstance(cause, str) and isinstance(effect, str)):
            raise TypeError("nodes must be names")
        found.append((cause, effect))
    return found


def _has_edges(dag: Any) -> bool:
    try:
        return len(_edges(dag)) > 0
    except (TypeError, ValueError):
        return False


DAG_EDGES = Check(
    _has_edges, "pairs (cause, effect), a mapping of causes to effects, or a graph with edges"
)


def _names(given: Any) -> list[str]:
    return [given] if isinstance(given, str) else sorted(given)


def _sorted(causes: dict[str, tuple[str, ...]]) -> list[str]:
    """Return the nodes in causal order; raise for a cycle."""
    done: list[str] = []
    path: list[str] = []

    def visit(node: str) -> None:
        if node in done:
            return
        if node in path:
            cycle = reversed(path[path.index(node) :])
            raise DataError(f"dag must have no cycle, got {' -> '.join([node, *cycle])}")
        path.append(node)
        for cause in causes[node]:
            visit(cause)
        path.pop()
        done.append(node)

    for node in causes:
        visit(node)
    return done


def _score(causes: dict[str, tuple[str, ...]], outcome: str | None) -> str:
    inner = {cause for found in causes.values() for cause in found}
    ends = [node for node in causes if node not in inner]
    if outcome is None:
        if len(ends) > 1:
            raise DataError(f"outcome must name one of the ends of the dag, got None for {ends}")
        return ends[0]
    if outcome not in causes:
        hint = suggest(outcome, list(causes))
        raise DataError(f"outcome must be a node of the dag, got {outcome!r}{hint}")
    if outcome in inner:
        raise DataError(f"outcome must be an end of the dag, and {outcome!r} has effects")
    return outcome
