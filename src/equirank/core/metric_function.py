"""Metric functions on arrays (``ndcg``), made from metric classes (``NDCG``)."""

import inspect
import re
from collections.abc import Callable
from dataclasses import fields
from textwrap import wrap
from typing import Any, Literal

from . import docstrings
from .metric import Metric, score_arrays

__all__ = ["SHARED", "function_name", "metric_function", "parameter_texts"]


#: The array that each need of a metric adds to the positional arguments.
ARRAYS = {"relevance": "y_true", "sensitive": "sensitive_features", "features": "X", "cost": "cost"}
#: Arguments that no class documents; classes document the options, inherited ones included.
SHARED = """
Parameters
----------
y_true : array-like
    Relevance (or merit), >= 0.
y_score : array-like
    Scores, higher scores rank first; or a `Ranking`.
sensitive_features : array-like
    The group of each row.
X : array-like, scipy sparse array or data frame
    The features that are not sensitive, on comparable scales.
cost : array-like
    The cost of each row, > 0.
qid : array-like, optional
    The query of each row; None makes all rows one list.
ties : {"average", "stable"}
    Treat equal scores as ties, or keep their input order.
per_query : bool
    Return one value per query, in order of first appearance, NaN where undefined.
return_groups : bool
    Also return a dict of group to value.
"""


def metric_function(cls: type[Metric], module: str) -> Callable[..., Any]:
    """Make the function of a metric class: arrays in, a value out.

    Parameters
    ----------
    cls : type
        A metric class. Its ``needs`` state the arrays and its fields the options; what its
        `Metric.from_arrays` declares is added.
    module : str
        Name of the module that exports the function.

    Returns
    -------
    callable
        With a signature and a docstring derived from the class.

    Examples
    --------
    >>> from equirank.metrics import Recall
    >>> recall = metric_function(Recall, __name__)
    >>> recall([1, 0, 1], [0.9, 0.5, 0.1], k=2)
    0.5
    """
    signature = _signature(cls)
    parameters = signature.parameters
    positional = [p.name for p in parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    defaults = {p.name: p.default for p in parameters.values() if p.default is not p.empty}
    name = function_name(cls.__name__)

    def function(*args: Any, **kwargs: Any) -> Any:
        first = dict(zip(positional, args, strict=False))
        given = {**defaults, **first, **kwargs}
        # Signature.bind does this too, but takes a quarter of the time of a short list.
        if len(args) > len(first) or first.keys() & kwargs or given.keys() != parameters.keys():
            try:
                signature.bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{name}() {error}") from None
        metric, arguments = cls.from_arrays(**given)
        return score_arrays(metric, **arguments)

    function.__name__ = function.__qualname__ = name
    function.__module__ = module
    function.__doc__ = _docstring(cls, signature)
    function.__annotations__ = {p.name: p.annotation for p in signature.parameters.values()}
    function.__annotations__["return"] = signature.return_annotation
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function


def function_name(class_name: str) -> str:
    """Return the name of the function of a metric class.

    Examples
    --------
    >>> function_name("CrossGroupAUC"), function_name("FAStarIRTest"), function_name("NDCG")
    ('cross_group_auc', 'fa_star_ir_test', 'ndcg')
    """
    return re.sub("(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", class_name).lower()


def _signature(cls: type[Metric]) -> inspect.Signature:
    """Return arrays, then keywords: ``qid``, options, how ties and results are treated."""
    declared = {
        name: parameter
        for name, parameter in inspect.signature(cls.from_arrays).parameters.items()
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    }
    positional = [p for p in declared.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
    if not positional:
        names = {ARRAYS[need] for need in cls.needs if need in ARRAYS} | {"y_score"}
        order = ("y_true", "y_score", "sensitive_features", "X", "cost")
        positional = [_argument(name) for name in order if name in names]
    keywords = _keywords(cls)
    before = "qid"
    for name, parameter in declared.items():
        if parameter.kind is parameter.KEYWORD_ONLY:
            if name not in keywords:
                at = list(keywords).index(before) + 1
                entries = list(keywords.items())
                keywords = dict([*entries[:at], (name, parameter), *entries[at:]])
            before = name
    return inspect.Signature([*positional, *keywords.values()], return_annotation=Any)


def _keywords(cls: type[Metric]) -> dict[str, inspect.Parameter]:
    """Return the keyword arguments by name, in the order of the signature."""
    known = {field.name: field for field in fields(cls)}
    own = [name for base in cls.__mro__ for name in vars(base).get("__annotations__", {})]
    options = [name for name in dict.fromkeys(own) if name in known]
    groups = "sensitive" in cls.needs
    order = [
        *cls.leading_arguments,
        "qid",
        *(name for name in ("protected", "k") if name in cls.options()),
        *(name for name in options if name not in ("by", "protected", "k", "undefined")),
        *("ties", "per_query"),
        *(["return_groups"] if groups else []),
        "undefined",
    ]
    shared = {
        "qid": _argument("qid", None),
        "ties": _argument("ties", "average", Literal["average", "stable"]),
        "per_query": _argument("per_query", False, bool),
        "return_groups": _argument("return_groups", False, bool),
    }
    return {
        name: shared.get(name) or _argument(name, known[name].default, known[name].type)
        for name in dict.fromkeys(order)
    }


def _argument(name: str, default: Any = inspect.Parameter.empty, kind: Any = Any) -> Any:
    positional = default is inspect.Parameter.empty
    return inspect.Parameter(
        name,
        inspect.Parameter.POSITIONAL_OR_KEYWORD if positional else inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=kind,
    )


def _docstring(cls: type[Metric], signature: inspect.Signature) -> str:
    """Return the class docstring with an imperative summary and the function's parameters."""
    parts = docstrings.docstring_sections(cls.__doc__)
    summary, _, body = "\n".join(parts[""]).strip().partition("\n\n")
    first, rest = summary[:1], summary[1:]
    first = first if rest[:1].isupper() else first.lower()
    texts = parameter_texts(cls)
    returns = "float or ndarray"
    if "return_groups" in signature.parameters:
        returns += ", with ``return_groups`` also a dict"
    return docstrings.join_sections(
        {
            "": [*wrap(f"Compute the {first}{rest}", 92), "", body],
            "Parameters": [texts[name] for name in signature.parameters],
            "Returns": [returns],
            "References": parts.get("References", []),
            "Examples": parts.get("Examples", []),
        }
    )


def parameter_texts(cls: type[Metric]) -> dict[str, str]:
    """Return the documentation of each argument: shared, of the class, of ``from_arrays``."""
    texts = docstrings.parameters(SHARED)
    for source in (cls, cls.from_arrays):
        texts |= docstrings.parameters(source.__doc__)
    return texts
