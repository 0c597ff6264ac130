"""Keyword arguments that several functions share: typed, documented and given defaults once."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import (
    Annotated,
    Any,
    Literal,
    ParamSpec,
    TypedDict,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

from .docstrings import complete

__all__ = [
    "CostKeywords",
    "Default",
    "FitKeywords",
    "ListKeywords",
    "PairKeywords",
    "PredictKeywords",
    "chosen_keywords",
    "shared_keywords",
]

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Default:
    """The default of a keyword, beside its type in ``Annotated``; without one it is None."""

    value: Any


def shared_keywords(*kinds: type) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator that gives a function the keywords of some typed dictionaries.

    The function declares ``**name: Unpack[Keys]`` and receives every keyword, by default with its
    default. Its signature and its docstring show each keyword as if it were written there; what
    the docstring of the function describes itself is kept.

    Parameters
    ----------
    *kinds : subclass of TypedDict
        The dictionaries. Their docstrings describe their keywords, and may describe other
        parameters and the result.

    Examples
    --------
    >>> from typing import TypedDict, Unpack
    >>> class Cut(TypedDict, total=False):
    ...     '''Parameters of every cut.
    ...
    ...     Parameters
    ...     ----------
    ...     k : int
    ...         The cutoff.
    ...     '''
    ...
    ...     k: Annotated[int, Default(10)]
    >>> @shared_keywords(Cut)
    ... def top(values: list[int], **cut: Unpack[Cut]) -> list[int]:
    ...     '''Return the first values.'''
    ...     return values[: cut["k"]]
    >>> inspect.signature(top)
    <Signature (values: list[int], *, k: int = 10) -> list[int]>
    >>> top([3, 2, 1], k=2)
    [3, 2]
    """
    added = [each for kind in kinds for each in _parameters_of(kind)]
    added = list({each.name: each for each in added}.values())
    defaults = {each.name: each.default for each in added}

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        signature = inspect.signature(function)
        own = [
            each
            for each in signature.parameters.values()
            if each.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        known = {*defaults, *(each.name for each in own)}

        @wraps(function)
        def call(*args: P.args, **given: P.kwargs) -> T:
            for name in given:
                if name not in known:
                    raise TypeError(
                        f"{function.__qualname__}() got an unexpected keyword argument {name!r}"
                    )
            return function(*args, **(defaults | given))

        shown = signature.replace(parameters=[*own, *added])
        call.__signature__ = shown  # type: ignore[attr-defined]
        call.__doc__ = complete(function.__doc__, shown.parameters, kinds, ("Returns",))
        return call

    return decorate


def _parameters_of(kind: type) -> list[inspect.Parameter]:
    """Return the keys of a typed dictionary as parameters."""
    found = []
    for name, hint in get_type_hints(kind, include_extras=True).items():
        default = None
        if get_origin(hint) is Annotated:
            hint, *more = get_args(hint)
            default = next((each.value for each in more if isinstance(each, Default)), None)
        parameter = inspect.Parameter.KEYWORD_ONLY
        found.append(inspect.Parameter(name, parameter, default=default, annotation=hint))
    return found


def chosen_keywords(kind: type, given: Mapping[str, object]) -> dict[str, Any]:
    """Return the keywords of a typed dictionary among those given.

    Examples
    --------
    >>> chosen_keywords(ListKeywords, {"qid": [1, 2], "k": 10})
    {'qid': [1, 2]}
    """
    return {name: given[name] for name in get_type_hints(kind) if name in given}


class ListKeywords(TypedDict, total=False):
    """The lists and groups of rows.

    Parameters
    ----------
    X : array-like, sparse array, data frame or RankingData
        Features of all rows; a ranker that scores whole lists needs all rows of the list.
    qid : array-like, optional
        The query of each row. Without it all rows are one list, with a `OneListWarning` if there
        are more than 1,000, or 200 with relevance; ``qid=0`` states one list.
    sensitive_features : array-like, optional
        The groups of people, as in `as_ranking_data`.
    """

    qid: Any
    sensitive_features: Any


class PredictKeywords(ListKeywords, total=False):
    """The lists to predict for.

    Parameters
    ----------
    unseen : {"error", "missing"}, optional
        Treatment of categories and groups that training did not contain, as in `as_ranking_data`;
        None: that of the training data. With ``"missing"``, missing groups are unknown labels, too.
    """

    unseen: Literal["error", "missing"] | None


class PairKeywords(ListKeywords, total=False):
    """The lists of a pair to explain, and the draws.

    Parameters
    ----------
    a, b : int
        Row numbers in X, of two rows of one list.
    n_draws : int
        Number of orders to draw if more than ten features differ.
    random_state : int, Generator, RandomState or None
        Seed of the draws.

    Returns
    -------
    PairExplanation
        A table of contributions, with sentences; `equirank.plots.pair_explanation` draws it.
    """

    n_draws: Annotated[int, Default(100)]
    random_state: Annotated[Any, Default(0)]


class CostKeywords(ListKeywords, total=False):
    """The lists and groups of rows, and the costs of items.

    Parameters
    ----------
    cost : array-like, optional
        Cost of a mistake about the item, > 0.
    """

    cost: Any


class FitKeywords(CostKeywords, total=False):
    """What a ranker is fitted to, beside features and relevance.

    Parameters
    ----------
    X : array-like, sparse array, data frame or RankingData
        Features; a `RankingData` contains all other inputs. The columns of a data frame that no
        other argument names are features; text becomes categories.
    y : array-like or str
        Relevance, >= 0.
    qid : array-like or str, optional
        The query of each row. Without it all rows are one list, with a `OneListWarning` if there
        are more than 200; ``qid=0`` states one list.
    sensitive_features, cost, query_weight : array-like or str, optional
        As in `as_ranking_data`.
    """

    query_weight: Any
