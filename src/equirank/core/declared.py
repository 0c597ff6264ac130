"""Parameters of estimators as annotated fields: signature, default, constraint and description."""

import inspect
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, ClassVar, get_args, get_origin

from .docstrings import docstring_sections, join_sections, parameters
from .errors import DataError, EquirankWarning
from .params import Constraint, check_params

__all__ = [
    "GIVEN",
    "SHARED_PARAMETERS",
    "Declared",
    "OnlyWith",
    "check_fairness_weight",
    "complete_docstring",
    "zero_weights_are_meant",
]

#: In ``only_with``: any value but None and an empty sequence.
GIVEN: tuple[Any, ...] = ()
#: Per parameter: the other parameter, and its values with which this one has an effect.
OnlyWith = Mapping[str, tuple[str, tuple[Any, ...]]]

#: Descriptions of parameters that many classes share: what follows the colon, and the text.
SHARED_PARAMETERS: dict[str, tuple[str, str]] = {
    "by": (
        "str or sequence of str, optional",
        "The sensitive attribute, or several to cross; may be omitted if there is only one.",
    ),
    "cost_combination": (
        '{"product", "sum", "mean"}',
        "How the item costs given to `fit` are combined into the cost of a pair.",
    ),
    "early_stopping": (
        "int, optional",
        "Stop after this many rounds without improvement on the validation data.",
    ),
    "max_bins": (
        "int or None",
        "Features with more distinct values are cut at their quantiles; None: every threshold.",
    ),
    "n_jobs": ("int", "Number of threads, -1 for all cores. It does not change the result."),
    "pair_cost": (
        "PairCost, optional",
        "Costs of pairs, multiplied by the item costs if both are given.",
    ),
    "random_state": ("int, Generator, RandomState or None", "Seed."),
}


class Declared:
    """Mixin that makes ``__init__`` and ``params`` of a class from its annotated fields.

    A field is an annotation without ``ClassVar`` whose name neither begins nor ends with an
    underscore. ``Annotated[int, Integer(1)]`` states the constraint, and the value in the class
    body is the default; a field without one is required. A subclass inherits fields and changes a
    default by assigning to the name. Parameters are keyword-only except those in ``positional``.
    A constructor written by hand stays in use, in its class and in the subclasses.

    Descriptions are inherited as well: a parameter that the docstring of the class does not
    describe takes the text of the nearest base class that does, or of `SHARED_PARAMETERS`. A class
    that lists no fitted attributes takes the list of the nearest base class.

    Attributes
    ----------
    positional : tuple of str
        Names of the parameters that may be passed by position, in this order.
    params : mapping of str to Constraint
        The constraints, made from the fields.
    only_with : mapping of str to (str, tuple)
        Parameters that have an effect only if another one has one of these values (`GIVEN`: any but
        None and an empty sequence). Setting them otherwise is a warning. Subclasses inherit the
        entries.

    Examples
    --------
    >>> from equirank.core.params import Integer
    >>> class Rounds(Declared):
    ...     n_rounds: Annotated[int, Integer(1)] = 10
    >>> inspect.signature(Rounds)
    <Signature (*, n_rounds: int = 10)>
    >>> Rounds(n_rounds=3).n_rounds, str(Rounds.params["n_rounds"])
    (3, 'an integer >= 1')
    """

    positional: ClassVar[tuple[str, ...]] = ()
    params: ClassVar[Mapping[str, Constraint]] = {}
    only_with: ClassVar[OnlyWith] = {}
    __fields__: ClassVar[Mapping[str, inspect.Parameter]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Collect the fields, and make the constructor unless one is written or inherited."""
        super().__init_subclass__(**kwargs)
        own = _own_fields(cls)
        fields = {name: parameter for name, (parameter, _) in own.items()}
        for name, parameter in _merged(cls, "__fields__").items():
            default = cls.__dict__.get(name, parameter.default)
            fields.setdefault(name, parameter.replace(default=default))
        cls.__fields__ = fields
        cls.params = {
            **_merged(cls, "params"),
            **cls.__dict__.get("params", {}),
            **{name: constraint for name, (_, constraint) in own.items() if constraint is not None},
        }
        cls.only_with = {**_merged(cls, "only_with"), **cls.__dict__.get("only_with", {})}
        if fields and not _writes_constructor(cls):
            cls.__init__ = _constructor(cls, fields)  # type: ignore[method-assign]
        cls.__doc__ = complete_docstring(cls)

    def check_declared(self: Any, stacklevel: int = 3) -> None:
        """Raise if a parameter violates its constraint; warn if one is set but has no effect.

        ``stacklevel`` is that of `warnings.warn` as seen from here.
        """
        name = type(self).__name__
        check_params(name, self.get_params(deep=False), self.params)
        for parameter, (other, values) in self.only_with.items():
            found = getattr(self, other)
            empty = found is None or (isinstance(found, (tuple, list)) and not found)
            used = any(found == value for value in values) if values else not empty
            if not used and _is_set(self, parameter):
                wanted = ", ".join(map(repr, values)) if values else "given"
                warnings.warn(
                    f"{parameter} of {name} has no effect: {other} must be {wanted}, got {found!r}",
                    EquirankWarning,
                    stacklevel=stacklevel,
                )


def _is_set(model: Any, parameter: str) -> bool:
    """Return whether a parameter differs from its default."""
    value, default = getattr(model, parameter), model.__fields__[parameter].default
    return not (value is default or (type(value) is type(default) and bool(value == default)))


def check_fairness_weight(
    model: Any, term: str, weight: str, *, searched: bool = False, stacklevel: int = 3
) -> None:
    """Raise if a fairness weight is set without its term; warn of a term whose weight is 0.

    Parameters
    ----------
    model : Declared
        The ranker.
    term, weight : str
        Names of the two parameters; a term that is None is not added.
    searched : bool
        Whether `fit` increases the weight by itself.
    stacklevel : int
        That of `warnings.warn` as seen from here.
    """
    name, value = type(model).__name__, getattr(model, weight)
    if getattr(model, term) is None:
        if value != 0 and _is_set(model, weight):
            raise DataError(
                f"{term} of {name} must be given with {weight}={value!r}, which is its weight, "
                "got None"
            )
    elif value == 0 and not searched:
        warnings.warn(
            f"{term} of {name} has no effect: its weight {weight} is 0",
            EquirankWarning,
            stacklevel=stacklevel,
        )


@contextmanager
def zero_weights_are_meant() -> Iterator[None]:
    """Ignore fairness terms of weight 0, which are one end of a trade-off."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* has no effect: its weight .* is 0", EquirankWarning)
        yield


def _own_fields(cls: type) -> dict[str, tuple[inspect.Parameter, Constraint | None]]:
    found: dict[str, tuple[inspect.Parameter, Constraint | None]] = {}
    for name, annotation in _annotations(cls).items():
        text = annotation if isinstance(annotation, str) else ""
        is_class_variable = ClassVar in (annotation, get_origin(annotation)) or "ClassVar" in text
        if is_class_variable or name.startswith("_") or name.endswith("_"):
            continue
        constraint = None
        if get_origin(annotation) is Annotated:
            annotation, constraint, *_ = get_args(annotation)
        default = cls.__dict__.get(name, inspect.Parameter.empty)
        kind = inspect.Parameter.KEYWORD_ONLY
        parameter = inspect.Parameter(name, kind, default=default, annotation=annotation)
        found[name] = (parameter, constraint)
    return found


def _annotations(cls: type) -> dict[str, Any]:
    """Return the annotations of a class, evaluated if the names in them are known."""
    try:
        return inspect.get_annotations(cls, eval_str=True)
    except NameError:  # a name that is imported for type checkers only
        return inspect.get_annotations(cls)


def _merged(cls: type, attribute: str) -> dict[str, Any]:
    """Merge a mapping that the base classes hold; the nearest class decides."""
    found: dict[str, Any] = {}
    for base in cls.__mro__[1:]:
        for name, value in base.__dict__.get(attribute, {}).items():
            found.setdefault(name, value)
    return found


def _writes_constructor(cls: type) -> bool:
    """Return whether the constructor that the class would use is written by hand."""
    init = cls.__init__  # type: ignore[misc]
    return init is not object.__init__ and not hasattr(init, "_from_fields")


def _constructor(cls: type, fields: Mapping[str, inspect.Parameter]) -> Any:
    positional: tuple[str, ...] = getattr(cls, "positional", ())
    first = [
        fields[name].replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in positional
    ]
    keyword = [parameter for name, parameter in fields.items() if name not in positional]
    # Python allows keyword-only parameters in any order; required ones are listed first.
    keyword.sort(key=lambda parameter: parameter.default is not inspect.Parameter.empty)
    this = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.Signature([this, *first, *keyword])

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        try:
            bound = signature.bind(self, *args, **kwargs)
        except TypeError as error:
            raise TypeError(f"{cls.__name__}() {error}") from None
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            if name != "self":
                setattr(self, name, value)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    __init__._from_fields = True  # type: ignore[attr-defined]
    __init__.__qualname__ = f"{cls.__qualname__}.__init__"
    __init__.__module__ = cls.__module__
    return __init__


def complete_docstring(cls: type) -> str | None:
    """Return the docstring of a class with a description of each of its fields.

    Descriptions that the class does not write come from its bases, nearest first, then from
    `SHARED_PARAMETERS`. The order is that of the signature.
    """
    doc = cls.__dict__.get("__doc__")
    if doc is None or not getattr(cls, "__fields__", {}):
        return doc
    known = {
        name: f"{name} : {kind}\n    {text}" for name, (kind, text) in SHARED_PARAMETERS.items()
    }
    for each in reversed(cls.__mro__):
        known |= parameters(each.__dict__.get("__doc__"))
    names = [
        f"**{each.name}" if each.kind is inspect.Parameter.VAR_KEYWORD else each.name
        for each in inspect.signature(cls).parameters.values()
    ]
    entries = [known[name] for name in dict.fromkeys([*names, *parameters(doc)]) if name in known]
    sections = docstring_sections(doc)
    fitted: list[str] = []
    for each in reversed(cls.__mro__[1:]):
        found = docstring_sections(each.__dict__.get("__doc__")).get("Attributes", [])
        fitted = found if found and found[0].partition(" : ")[0].endswith("_") else fitted
    sections = {"": sections.pop(""), "Parameters": [], "Attributes": fitted} | sections
    return join_sections(sections | {"Parameters": entries})
