"""What goes wrong, said in four errors and one warning; and the library's logger."""

import logging

__all__ = [
    "DataError",
    "EquirankWarning",
    "FormatError",
    "InfeasibleError",
    "MissingExtraError",
    "logger",
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
