"""Sums of memberships per list, their replicates, and the intervals made from them."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from math import hypot, sqrt
from typing import Any, NamedTuple

import numpy as np

from ..core.inference import query_counts, query_units, unit_sums
from ..core.random import generator
from ..kernels.segments import divide
from .label_model import LabelModel, drawn_matrices

__all__ = [
    "COLUMNS",
    "FEWEST_LISTS",
    "Interval",
    "MembershipSums",
    "change_interval",
    "fieller",
    "kept_sums",
    "membership_sums",
    "rubin",
    "student",
]

#: What is summed: memberships, values, centred values, pairs, centred values of known people,
#: values of everyone else in pairs, people, all values, and negative and positive centred values of
#: unknown people.
COLUMNS = ("a", "inside", "centred", "pairs", "sure", "other", "people", "total", "below", "above")
#: Lists from which on intervals are about lists to come.
FEWEST_LISTS = 20
#: Columns whose sums a model keeps, since several measures are made of each.
MOST_KEPT = 4


class Interval(NamedTuple):
    """An estimate and its confidence interval, NaN where there is none."""

    value: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")


def student(level: float, degrees: float) -> float:
    """Return the two-sided quantile of Student's distribution.

    Examples
    --------
    >>> round(student(0.95, 59), 3), round(student(0.95, float("inf")), 3)
    (2.001, 1.96)
    """
    from scipy.special import ndtri, stdtrit

    tail = (1.0 + level) / 2.0
    return float(ndtri(tail) if np.isinf(degrees) else stdtrit(degrees, tail))


def fieller(value: np.ndarray, covariance: np.ndarray, c: float) -> Interval:
    """Return the ratio of two estimates and all ratios that are within c standard errors.

    The interval has all theta with ``(N - theta D)^2 <= c^2 Var(N - theta D)``. If the denominator
    is within c standard errors of 0, there is no estimate.

    Examples
    --------
    >>> found = fieller(np.array([6.0, 2.0]), np.diag([0.04, 0.01]), 1.96)
    >>> [round(x, 3) for x in found]
    [3.0, 2.673, 3.385]
    >>> fieller(np.array([6.0, 0.1]), np.diag([0.04, 0.01]), 1.96)
    Interval(value=nan, low=nan, high=nan)
    """
    (n, d), square = value, c * c
    a = d * d - square * covariance[1, 1]
    if not (a > 0 and np.isfinite(covariance).all()):
        return Interval()
    b = n * d - square * covariance[0, 1]
    rest = n * n - square * covariance[0, 0]
    root = sqrt(max(b * b - a * rest, 0.0))
    return Interval(float(n / d), float((b - root) / a), float((b + root) / a))


def rubin(values: np.ndarray, within: np.ndarray, level: float, degrees: float) -> Interval:
    """Return the mean of imputed estimates and its interval, by Rubin's rule.

    The variance is the mean of those within imputations plus ``1 + 1/m`` times the variance
    between; degrees of freedom are those of Barnard and Rubin, at most ``degrees``.

    Examples
    --------
    >>> [round(x, 3) for x in rubin(np.array([1.0, 1.2, 1.1]), np.full(3, 0.01), 0.95, 59)]
    [1.1, 0.705, 1.495]
    """
    values, within = values[~np.isnan(values)], within[~np.isnan(values)]
    m = len(values)
    if m < 2:
        return Interval()
    inside, between = float(within.mean()), (1.0 + 1.0 / m) * float(values.var(ddof=1))
    total, value = inside + between, float(values.mean())
    if not total > 0:
        return Interval(value, value, value)
    share = between / total
    old = (m - 1) / share**2 if share > 0 else np.inf
    observed = (degrees + 1) / (degrees + 3) * degrees * (1.0 - share)
    freedom = degrees
    if np.isfinite(degrees):
        freedom = 1.0 / (1.0 / old + 1.0 / max(observed, 1e-9))
    half = student(level, max(min(freedom, old), 1.0)) * sqrt(total)
    return Interval(value, value - half, value + half)


def change_interval(new: Interval, old: Interval, *, ratio: bool = False) -> Interval:
    """Return the difference, or ratio, of two independent estimates, and its interval.

    The half-widths of the two intervals are the legs of a right triangle, whose third side is that
    of the change (Zou and Donner 2008: Construction of confidence limits about effect measures.
    Statistics in Medicine 27). Ratios are compared on the log scale.

    Examples
    --------
    >>> change_interval(Interval(5.0, 2.0, 9.0), Interval(1.0, -1.0, 5.0))
    Interval(value=4.0, low=-1.0, high=8.47213595499958)
    >>> [round(x, 2) for x in change_interval(Interval(2, 1, 4), Interval(1, 1, 1), ratio=True)]
    [2.0, 1.0, 4.0]
    """
    if ratio:
        with np.errstate(divide="ignore"):
            new, old = (Interval(*np.log(np.maximum(each, 0.0)).tolist()) for each in (new, old))
    value = new.value - old.value
    low = value - hypot(new.value - new.low, old.high - old.value)
    high = value + hypot(new.high - new.value, old.value - old.low)
    found = value, low, high
    return Interval(*(np.exp(found).tolist() if ratio else found))


@dataclass(frozen=True, eq=False)
class MembershipSums:
    """Sums over the rows of each list, by class of label or with the memberships in them.

    Attributes
    ----------
    model : LabelModel
        The labels of the rows, as far as they are known.
    code : int
        The group whose memberships are summed.
    by_class : ndarray of shape (3, lists, classes) or None
        Number of rows, sum of values and sum of centred values by class; None if memberships
        belong to rows.
    rows : ndarray of shape (6, lists) or None
        Sums of a, of a times the values, of a times the centred values, of ``a (1 - a)``, of a
        times the centred values of known rows, and of ``a (1 - a)`` times the values.
    whole : ndarray of shape (lists, 4)
        Number of rows, sum of values, and the sums of negative and of positive centred values of
        unknown rows.
    centred : ndarray
        Each row's value less the mean of its list.
    mixed : float or None
        Share of given labels in the memberships of unknown rows, whose classes are then two: bands
        of those that are given to everyone else, and of those that are given to the group.
    """

    model: LabelModel
    code: int
    by_class: np.ndarray | None
    rows: np.ndarray | None
    whole: np.ndarray
    centred: np.ndarray
    mixed: float | None = None

    @property
    def sizes(self) -> np.ndarray:
        """Number of rows of each list."""
        return np.asarray(self.whole[:, 0])

    @property
    def means(self) -> np.ndarray:
        """Mean value of each list."""
        return divide(self.whole[:, 1], self.sizes)

    @cached_property
    def n_units(self) -> int:
        """Number of lists that are resampled, or of buckets of more than 2,048 lists."""
        return int(query_units(self.model.n_lists).max(initial=-1)) + 1

    @property
    def list_parts(self) -> np.ndarray:
        """The sums of each list, as `COLUMNS` names them, of memberships that belong to rows."""
        a, inside, centred, doubt, sure, doubted = np.asarray(self.rows)
        pairs = divide(a * (self.sizes - a) - doubt, self.sizes)
        other = divide((self.whole[:, 1] - inside) * a - doubted, self.sizes)
        parts = np.stack([a, inside, centred, pairs, sure, other], axis=1)
        return np.concatenate([parts, self.whole], axis=1)

    def point(self) -> np.ndarray:
        """Return the sums of the data, as `COLUMNS` names them."""
        if self.by_class is None:
            return np.asarray(self.list_parts.sum(axis=0))
        once = np.ones((1, self.model.n_lists))
        values = self.model.class_values(self.code, self.model.inverse)
        return self._class_sums(once, values[None], _Classes.of(self))[0]

    def replicates(self, n_boot: int, seed: int) -> np.ndarray:
        """Return the sums of bootstrap replicates over lists, with what was estimated redrawn.

        More than 2,048 lists are resampled in buckets.
        """
        kept: dict[tuple[int, int], np.ndarray] = self.__dict__.setdefault("_replicates", {})
        if (n_boot, seed) not in kept:
            kept[n_boot, seed] = np.concatenate(list(self._blocks(n_boot, seed)))
        return kept[n_boot, seed]

    def _blocks(self, n_boot: int, seed: int) -> Iterator[np.ndarray]:
        rng, error = generator(seed), self.model.attribute.error
        several = query_counts(rng, n_boot, self.n_units)
        units = query_units(self.model.n_lists)
        if self.by_class is None:
            parts = unit_sums(self.list_parts, units)[0]
            yield from (weights @ parts for weights in several)
            return
        classes = _Classes.of(self)
        classes = classes if self.n_units == len(units) else classes.added_up(units)
        for weights in several:
            inverse = np.repeat(self.model.inverse[None], len(weights), axis=0)
            if error is not None and error.counts is not None:
                inverse = np.linalg.inv(drawn_matrices(error, rng, len(weights)))
            recorded = self.model.class_values(self.code, inverse)
            yield self._class_sums(weights, recorded, classes)

    def _class_sums(
        self, weights: np.ndarray, recorded: np.ndarray, classes: "_Classes"
    ) -> np.ndarray:
        model, v = self.model, recorded
        if model.attribute.n_unknown:
            counts = classes.bands
            flat = weights @ counts.reshape(len(counts), -1)
            bands = model.band_values(flat.reshape(-1, *counts.shape[1:]), recorded)
            if self.mixed is not None:
                rest = (1.0 - self.mixed) * bands
                bands = np.concatenate([rest, rest + self.mixed], axis=1)
            v = np.concatenate([recorded, bands], axis=1)
        n, known = v.shape[1], recorded.shape[1]
        number, inside, centred, share, mean, expected = (
            weights @ part[:, :n] for part in classes.sums
        )
        square, crossed = classes.products(weights, v)
        a, s, c = ((part * v).sum(axis=1) for part in (number, inside, centred))
        doubt, doubted = ((part * (v * (1.0 - v))).sum(axis=1) for part in (share, mean))
        other = (expected * v).sum(axis=1) - crossed - doubted
        sure = (centred[:, :known] * recorded).sum(axis=1)
        whole = weights @ classes.whole
        return np.column_stack([a, s, c, a - square - doubt, sure, other, whole])


@dataclass(frozen=True, eq=False)
class _Classes:
    """Sums of lists, or of buckets of lists, by class of label.

    Attributes
    ----------
    sums : ndarray of shape (6, units, classes)
        Number of rows, sums of values and of centred values; and by list, added up: the share of
        the class, its sum of values by the size of the list, and its number times the mean value.
    whole : ndarray of shape (units, 4)
        As in `MembershipSums`.
    bands : ndarray
        Number of rows by unit, band and class of recorded label; empty if every label is known.
    pairs : ndarray of shape (2, units, classes, classes) or None
        Sums over lists of the number, and of the values, of one class times the share of another;
        None where units are lists, whose products these are.
    """

    sums: np.ndarray
    whole: np.ndarray
    bands: np.ndarray
    pairs: np.ndarray | None = None

    @classmethod
    def of(cls, given: MembershipSums) -> "_Classes":
        """Return the sums of lists."""
        number, inside, centred = np.asarray(given.by_class)
        size = given.sizes[:, None]
        more = divide(number, size), divide(inside, size), number * given.means[:, None]
        model = given.model
        bands = model.band_counts if model.attribute.n_unknown else np.zeros((len(number), 0, 0))
        return cls(np.stack([number, inside, centred, *more]), given.whole, bands)

    def added_up(self, units: np.ndarray) -> "_Classes":
        """Return the sums of the lists of each unit."""
        sums = np.stack([unit_sums(part, units)[0] for part in self.sums])
        lists = np.split(np.argsort(units, kind="stable"), np.cumsum(np.bincount(units))[:-1])
        number, inside, _, share, *_ = self.sums
        pairs = [[part[some].T @ share[some] for some in lists] for part in (number, inside)]
        whole, bands = (unit_sums(part, units)[0] for part in (self.whole, self.bands))
        return _Classes(sums, whole, bands, np.array(pairs))

    def products(self, weights: np.ndarray, v: np.ndarray) -> Iterator[np.ndarray]:
        """Yield sums over pairs of classes: products of two sums over classes, list by list."""
        n = v.shape[1]
        number, inside, share = (self.sums[at][:, :n] for at in (0, 1, 3))
        if self.pairs is None:
            shares = v @ share.T
            for part in (number, inside):
                yield np.einsum("bl,bl,bl->b", weights, v @ part.T, shares)
            return
        for table in self.pairs:
            flat = weights @ table[:, :n, :n].reshape(len(table), -1)
            yield np.einsum("bi,bij,bj->b", v, flat.reshape(-1, n, n), v)


def kept_sums(model: LabelModel, code: int, values: np.ndarray) -> MembershipSums:
    """Return the sums of values over lists; those of the last columns are kept."""
    kept: dict[tuple[int, int], tuple[MembershipSums, Any]]
    kept = model.__dict__.setdefault("_kept_sums", {})
    key = id(values), code
    if key not in kept:
        while len(kept) >= MOST_KEPT:
            kept.pop(next(iter(kept)))
        # the values stay, so that their id is theirs
        kept[key] = membership_sums(model, code, values), values
    return kept[key][0]


def membership_sums(
    model: LabelModel,
    code: int,
    values: np.ndarray,
    given: np.ndarray | None = None,
    mixed: float | None = None,
) -> MembershipSums:
    """Return the sums of values over lists, by class of label where classes share a membership.

    ``given`` are labels of unknown rows, True for the group, that a share ``mixed`` of them has.
    """
    lists, n_lists = model.lists, model.n_lists
    sizes = np.diff(model.offsets).astype(np.float64)
    totals = np.bincount(lists, values, n_lists)
    centred = values - divide(totals, sizes)[lists]
    known = model.attribute.known
    free = [np.where(known, 0.0, part(centred, 0.0)) for part in (np.minimum, np.maximum)]
    ends = [np.bincount(lists, part, n_lists) for part in free]
    whole = np.stack([sizes, totals, *ends], axis=1)
    if model.kind in ("checked", "probabilities"):
        a = np.nan_to_num(model.memberships(code))
        doubt = a * (1.0 - a)
        parts = a, a * values, a * centred, doubt, a * centred * known, doubt * values
        rows = np.stack([np.bincount(lists, part, n_lists) for part in parts])
        return MembershipSums(model, code, None, rows, whole, centred)
    classes, n_classes = model.classes, model.n_classes
    if given is not None:
        n_bands = n_classes - model.n_recorded
        classes = classes + n_bands * (given & ~known)
        n_classes += n_bands
    cell = lists * n_classes + classes
    by_class = np.stack(
        [
            np.bincount(cell, part, n_lists * n_classes).reshape(n_lists, n_classes)
            for part in (None, values, centred)
        ]
    )
    return MembershipSums(model, code, by_class.astype(np.float64), None, whole, centred, mixed)
