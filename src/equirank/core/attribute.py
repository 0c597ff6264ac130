"""Attribute: the group of each row, as far as it is known."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from .errors import DataError, listed
from .inputs import frozen

__all__ = ["Attribute", "CheckedLabels", "LabelError"]


@dataclass(frozen=True, eq=False)
class LabelError:
    """How labels were recorded: the probability of each recorded label, given the true one.

    Parameters
    ----------
    matrix : array of shape (groups, groups) or (strata, groups, groups), optional
        ``matrix[s, a, b]`` is the probability of recording group b for a person of group a in
        stratum s. Rows sum to 1. None: estimated from ``counts``.
    stratum : array-like, optional
        The stratum of each row, such as the office that recorded it; None if there is one stratum.
        In a data frame, a column such as ``race[stratum]`` has the same effect and is cut with the
        rows.
    counts : array of the same shape, optional
        Number of people of group a recorded as b, if the matrix was estimated from them. Intervals
        then include the error of the estimate.
    groups : sequence, optional
        The groups in the order of the matrix. None: the sorted groups of the attribute.
    strata : sequence, optional
        The names of the strata in the order of the matrix. None: 0, 1, ...

    Notes
    -----
    With two groups, ``informedness`` is J = sensitivity + specificity - 1: 1 for perfect labels, 0
    for labels that tell nothing.

    Examples
    --------
    >>> from equirank import LabelError
    >>> error = LabelError([[0.9, 0.1], [0.2, 0.8]])
    >>> error.matrix.shape, round(error.informedness, 6)
    ((1, 2, 2), 0.7)
    >>> LabelError(counts=[[90, 10], [20, 80]]).matrix[0, 1]
    array([0.2, 0.8])
    """

    matrix: Any = None
    stratum: Any = None
    counts: Any = None
    groups: Sequence[Any] | None = None
    strata: Sequence[Any] | None = None

    def __post_init__(self) -> None:
        """Keep arrays of three axes; a matrix that is not given is estimated from the counts."""
        for name in ("matrix", "counts"):
            given = getattr(self, name)
            if given is None:
                continue
            try:
                table = np.array(given, dtype=np.float64)
            except (TypeError, ValueError):
                raise DataError(f"{name} of LabelError must hold numbers") from None
            table = table[None] if table.ndim == 2 else table
            if table.ndim != 3 or table.shape[1] != table.shape[2]:
                raise DataError(
                    f"{name} of LabelError must have shape (groups, groups) or "
                    f"(strata, groups, groups), got {np.shape(given)}"
                )
            object.__setattr__(self, name, frozen(table))
        if self.matrix is None:
            if self.counts is None:
                raise DataError("LabelError must have a matrix or counts, got neither")
            total = self.counts.sum(axis=2, keepdims=True)
            share = np.divide(self.counts, total, np.zeros_like(self.counts), where=total > 0)
            object.__setattr__(self, "matrix", frozen(share))

    @property
    def informedness(self) -> float:
        """Smallest J of a group against all others, over groups and strata.

        J of a group is the probability of recording it for its people, less the largest
        probability of recording it for people of another group.
        """
        own = np.diagonal(self.matrix, axis1=1, axis2=2)
        wrong = np.where(np.eye(self.matrix.shape[1], dtype=bool), -np.inf, self.matrix)
        return float((own - wrong.max(axis=1)).min())

    def check(self, owner: str) -> None:
        """Raise if the matrix has no probabilities in rows that sum to 1, or counts differ."""
        bad = ~((self.matrix >= 0) & (self.matrix <= 1))
        if bad.any():
            s, a, b = (int(at) for at in np.argwhere(bad)[0])
            raise DataError(
                f"{owner} must hold probabilities in [0, 1], got {float(self.matrix[s, a, b])!r} "
                f"in stratum {s}, row {a}, column {b}"
            )
        off = np.abs(self.matrix.sum(axis=2) - 1) > 1e-6
        if off.any():
            s, a = (int(at) for at in np.argwhere(off)[0])
            raise DataError(
                f"{owner} must have rows that sum to 1, got {self.matrix[s, a].sum():g} in stratum "
                f"{s}, row {a}"
            )
        if self.counts is not None:
            if self.counts.shape != self.matrix.shape:
                raise DataError(
                    f"{owner}.counts must have the shape of the matrix {self.matrix.shape}, got "
                    f"{self.counts.shape}"
                )
            if not (np.isfinite(self.counts).all() and (self.counts >= 0).all()):
                raise DataError(f"{owner}.counts must hold numbers >= 0")
        if self.strata is not None and len(self.strata) != len(self.matrix):
            raise DataError(
                f"{owner}.strata must name {len(self.matrix)} strata, got {len(self.strata)}"
            )

    def with_groups(self, groups: Sequence[Any], owner: str) -> "LabelError":
        """Return the errors with the groups of an attribute, in their order."""
        size = self.matrix.shape[1]
        own = list(groups if self.groups is None else self.groups)
        texts = [str(group) for group in own]
        if len(own) != size or sorted(texts) != sorted(str(group) for group in groups):
            words = f"{listed(own)} ({size} rows)" if self.groups is not None else f"{size} rows"
            raise DataError(
                f"{owner} must have a row and a column for each of the groups {listed(groups)}, "
                f"got {words}"
            )
        order = np.array([texts.index(str(group)) for group in groups])
        cut = np.ix_(np.arange(len(self.matrix)), order, order)
        counts = None if self.counts is None else self.counts[cut]
        return replace(self, matrix=self.matrix[cut], counts=counts, groups=tuple(groups))

    def take(self, rows: Any) -> "LabelError":
        """Return the errors with the strata of some rows."""
        return replace(self, stratum=frozen(np.asarray(self.stratum)[rows]))


@dataclass(frozen=True, eq=False)
class CheckedLabels:
    """Verified labels of a sample of the rows.

    Attributes
    ----------
    codes : ndarray of int32
        The verified group of each row, -1 where it was not checked.
    rate : ndarray of float
        The probability of each row to be checked.
    """

    codes: np.ndarray
    rate: np.ndarray

    def take(self, rows: Any) -> "CheckedLabels":
        """Return the verified labels of some rows."""
        return CheckedLabels(frozen(self.codes[rows]), frozen(self.rate[rows]))


@dataclass(frozen=True, eq=False)
class Attribute:
    """One sensitive attribute: a code per row and the category of each code.

    The code -1 is an unknown label: the row is in no group, and no category stands for it. It keeps
    its position, but is not part of a group, of everyone else or of a reference. Selections keep
    the categories, so a code means the same group in a fold as in the whole data, even if the fold
    contains nobody of that group.

    Attributes
    ----------
    codes : ndarray of int32
        The group of each row, -1 where it is unknown.
    categories : tuple
        The groups.
    probability : ndarray of shape (rows, groups) or None
        The probability of each group; a known label has 1 and 0. Rows about which nothing is known
        are NaN.
    error : LabelError or None
        How the labels were recorded, with the stratum of each row.
    checked : CheckedLabels or None
        Verified labels of a sample of the rows.

    Examples
    --------
    >>> from equirank import as_ranking_data
    >>> sex = {"sex": ["f", None, "m"]}
    >>> data = as_ranking_data(score=[3, 2, 1], sensitive_features=sex, missing_sensitive="unknown")
    >>> data.attribute("sex")
    Attribute(codes=array([ 0, -1,  1], dtype=int32), categories=('f', 'm'))
    >>> data.attribute("sex").n_unknown, data.attribute("sex").sizes
    (1, array([1, 1]))
    >>> guessed = sex | {"sex[f]": [None, 0.3, None], "sex[m]": [None, 0.7, None]}
    >>> as_ranking_data(score=[3, 2, 1], sensitive_features=guessed).attribute("sex").probability
    array([[1. , 0. ],
           [0.3, 0.7],
           [0. , 1. ]])
    """

    codes: np.ndarray
    categories: tuple[Any, ...]
    probability: np.ndarray | None = field(default=None, repr=False)
    error: LabelError | None = field(default=None, repr=False)
    checked: CheckedLabels | None = field(default=None, repr=False)

    @cached_property
    def n_unknown(self) -> int:
        """Number of rows whose label is unknown."""
        return int((self.codes < 0).sum())

    @cached_property
    def known(self) -> np.ndarray:
        """Whether the label of each row is known."""
        return np.asarray(self.codes >= 0)

    @cached_property
    def sizes(self) -> np.ndarray:
        """Number of rows of each group."""
        codes = self.codes[self.known] if self.n_unknown else self.codes
        return np.bincount(codes, minlength=len(self.categories))

    @property
    def doubtful(self) -> bool:
        """Whether a label is unknown, or was recorded with errors or checked by a sample."""
        return bool(self.n_unknown) or self.error is not None or self.checked is not None

    @cached_property
    def guessed(self) -> bool:
        """Whether a group is known as a probability that is neither 0 nor 1."""
        if self.probability is None:
            return False
        return bool(((self.probability > 0) & (self.probability < 1)).any())

    def take(self, rows: Any) -> "Attribute":
        """Return the attribute of some rows, given by index or as a slice."""
        return Attribute(
            frozen(self.codes[rows]),
            self.categories,
            None if self.probability is None else frozen(self.probability[rows]),
            None if self.error is None else self.error.take(rows),
            None if self.checked is None else self.checked.take(rows),
        )

    def arrays(self) -> list[np.ndarray | None]:
        """Return all arrays of the attribute in a fixed order, for a fingerprint."""
        error, checked = self.error, self.checked
        parts: list[Any] = [self.codes]
        if self.probability is not None or error is not None or checked is not None:
            parts.append(self.probability)
            parts += [None] * 3 if error is None else [error.matrix, error.stratum, error.counts]
            parts += [None] * 2 if checked is None else [checked.codes, checked.rate]
        return parts

    def with_categories(self, groups: Sequence[Any], lookup: Sequence[int]) -> "Attribute":
        """Return the attribute with other groups; ``lookup`` has the new code of each old one.

        A group without a new code becomes unknown; so do rows with a probability of it.
        """
        at = np.array([*lookup, -1], dtype=np.int32)
        kept = np.flatnonzero(at[:-1] >= 0)
        probability, checked, error = self.probability, self.checked, self.error
        if probability is not None:
            table = np.zeros((len(probability), len(groups)))
            table[:, at[kept]] = probability[:, kept]
            table[np.delete(probability, kept, axis=1).sum(axis=1) > 0] = np.nan
            probability = frozen(table)
        if checked is not None:
            checked = CheckedLabels(frozen(at[checked.codes]), checked.rate)
        if error is not None:
            error = error.with_groups(groups, "label_error")
        return Attribute(frozen(at[self.codes]), tuple(groups), probability, error, checked)

    def labels(self) -> np.ndarray:
        """Return the group of each row, None where it is unknown."""
        names = np.empty(len(self.categories) + 1, dtype=object)
        names[:-1] = self.categories  # the last one, None, has the code -1
        return names[self.codes]

    def code(self, category: Any, argument: str = "protected") -> int:
        """Return the code of a category, or raise an error that lists the categories."""
        alike = [type(known) is type(category) and known == category for known in self.categories]
        alike = alike if any(alike) else [str(known) == str(category) for known in self.categories]
        if any(alike):
            return alike.index(True)
        raise DataError(
            f"{argument} must be one of the groups {listed(self.categories)}, got {category!r}"
        )
