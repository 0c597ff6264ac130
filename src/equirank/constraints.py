"""Constraints for the parameters of your own metrics, rankers and re-rankers.

A metric lists them in ``params``, an estimator annotates its fields with them::

    max_iter: Annotated[int, Integer(1)] = 50

The constraint is checked before use, and its text completes the error message.

Examples
--------
>>> from equirank.constraints import Check, Integer, Optional
>>> str(Optional(Integer(1)))
'an integer >= 1, or None'
>>> even = Check(lambda value: value % 2 == 0, "an even number")
>>> even.accepts(3), str(even)
(False, 'an even number')
"""

from .core.params import (
    AnyOf,
    Check,
    Choice,
    Constraint,
    Flag,
    Instance,
    Integer,
    Label,
    Number,
    Optional,
    Vector,
)

__all__ = [
    "AnyOf",
    "Check",
    "Choice",
    "Constraint",
    "Flag",
    "Instance",
    "Integer",
    "Label",
    "Number",
    "Optional",
    "Vector",
]
