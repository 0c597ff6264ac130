"""The chooser: which method guarantees what, needs what and costs what, read off the classes."""

import importlib
import inspect
from typing import Any

from .guaranteed import Guaranteed

__all__ = ["chooser", "methods"]


def methods() -> dict[str, type[Guaranteed]]:
    """Return the public re-rankers that say what they guarantee, by name.

    Examples
    --------
    >>> methods()["DetGreedy"].__name__
    'DetGreedy'
    """
    room = importlib.import_module(__package__ or "")
    known = {name: getattr(room, name) for name in sorted(room.__all__)}
    return {
        name: kind
        for name, kind in known.items()
        if inspect.isclass(kind) and issubclass(kind, Guaranteed)
    }


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
