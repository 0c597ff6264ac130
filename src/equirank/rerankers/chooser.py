"""The table of public re-rankers: what each guarantees, needs and costs, read from the classes."""

import inspect
from typing import Any

from ..core.registry import public_classes
from .guaranteed import ListedReranker

__all__ = ["chooser", "methods"]


def methods() -> dict[str, type[ListedReranker]]:
    """Return the public re-rankers that state a guarantee, by name.

    Examples
    --------
    >>> methods()["DetGreedy"].__name__
    'DetGreedy'
    """
    known = public_classes(ListedReranker, ["equirank.rerankers"])
    return {name: kind for name, kind in known.items() if kind.guarantee}


def chooser() -> list[dict[str, Any]]:
    """List the public re-rankers with their guarantee, needs, cost, options and first sentence.

    The command ``equirank rerank --list`` and the documentation show this list.

    Examples
    --------
    >>> [row["name"] for row in chooser() if row["name"].startswith("Det")]
    ['DetCons', 'DetConstSort', 'DetGreedy', 'DetRelaxed']
    """
    return [
        {
            "name": name,
            "guarantee": kind.guarantee,
            "needs": kind.needs_text,
            "cost": kind.cost,
            "options": ", ".join(inspect.signature(kind).parameters),
            "summary": (inspect.getdoc(kind) or "").split("\n\n")[0].replace("\n", " "),
        }
        for name, kind in methods().items()
    ]
