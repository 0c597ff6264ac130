"""Errors, the warning class, the logger, and the suggestion for a misspelt word."""

import difflib
import logging
import os
import sys
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

__all__ = [
    "DataError",
    "EquirankWarning",
    "FairnessOverfitWarning",
    "FormatError",
    "InfeasibleError",
    "MissingExtraError",
    "NoHeadroomWarning",
    "OneListWarning",
    "listed",
    "logger",
    "outer_stacklevel",
    "routing_line",
    "suggest",
]

logger = logging.getLogger("equirank")


class DataError(ValueError):
    """Data or a parameter is not what was expected; the message says which, where and what is.

    Examples
    --------
    >>> import equirank
    >>> equirank.as_ranking_data(None, [1, -2])
    Traceback (most recent call last):
    ...
    equirank.core.errors.DataError: y must be a relevance >= 0, got -2.0 in row 1
    """


class InfeasibleError(ValueError):
    """The constraints asked for cannot all be met; the message says which ones bind."""


class FormatError(ValueError):
    """A saved folder cannot be read by this version; the message says why."""


class MissingExtraError(ImportError):
    """An optional package is missing; the message names the extra that brings it."""


class EquirankWarning(UserWarning):
    """Something is legal but likely not what was meant."""


class OneListWarning(EquirankWarning):
    """All rows count as one list since ``qid`` was not given; ``qid=0`` states one list."""


class FairnessOverfitWarning(EquirankWarning):
    """A ranker is fairer than random order in training, and less fair on held-out lists."""


class NoHeadroomWarning(EquirankWarning):
    """A ranker without fairness is as fair as random order: fair training cannot show an effect."""


def outer_stacklevel() -> int:
    """Return the ``stacklevel`` of a warning for the first caller outside of the library."""
    own = os.path.dirname(os.path.dirname(__file__)) + os.sep
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(own):
        level, frame = level + 1, frame.f_back
    return level


def routing_line() -> tuple[str | None, object]:
    """Return the line that passes ``qid`` through the scikit-learn tool that calls the library.

    None if no cross-validation, search or pipeline of scikit-learn is calling. The second object
    exists as long as that call of a cross-validation or search, or is None.
    """
    line, call, frame = None, None, sys._getframe(1).f_back
    while frame is not None:
        module, name = frame.f_globals.get("__name__", ""), frame.f_code.co_name
        if module.startswith(("sklearn.model_selection._", "sklearn.pipeline")):
            holder = type(frame.f_locals.get("self")).__name__
            call = frame.f_locals.get("parallel", call)
            folds = "(..., cv=QueryKFold(5))" if name == "fit" else ""
            if module == "sklearn.pipeline" and not name.startswith("_"):
                line = f"{holder}.{name}(X, y, qid=qid)"
            elif "._search" in module and name in ("fit", "score"):
                line = f"{holder}{folds}.{name}(X, y, qid=qid)"
            elif module == "sklearn.model_selection._validation":
                tool = "cross_validate" if name.startswith("_") else name
                line = f'{tool}(..., cv=QueryKFold(5), params={{"qid": qid}})'
        frame = frame.f_back
    return line, call


def suggest(word: str, choices: Sequence[str]) -> str:
    """Return the end of an error message that suggests the nearest known word, or nothing.

    Examples
    --------
    >>> suggest("NDGC", ["NDCG", "RND"])
    "; did you mean 'NDCG'?"
    >>> suggest("zzz", ["NDCG", "RND"])
    ''
    """
    lowered = {choice.lower(): choice for choice in reversed(choices)}
    near = difflib.get_close_matches(word.lower(), list(lowered), n=1, cutoff=0.5)
    return f"; did you mean {lowered[near[0]]!r}?" if near else ""


def listed(names: Iterable[Any]) -> str:
    """Return the first ten names, quoted, and "..." for the rest."""
    first = [repr(name) for name in islice(names, 11)]
    return ", ".join(first[:10]) + (", ..." if len(first) > 10 else "")
