"""What unknown labels could change: sharp bounds over all completions, with intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Annotated, Any, NamedTuple, TypedDict, Unpack

import numpy as np

from ..core import inputs
from ..core.attribute import Attribute
from ..core.errors import DataError
from ..core.inference import query_counts, query_units, unit_sums
from ..core.keywords import Default, shared_keywords
from ..core.labels import encode, group_rows
from ..core.params import Check, Choice, Constraint, Integer, Number, check_params
from ..core.random import generator
from ..kernels.label_bounds import (
    MEASURES,
    can_be_undefined,
    extreme_completion,
    extreme_lists,
    measure_sums,
    side_sums,
)
from ..kernels.segments import segment_index
from .counts import quantile

__all__ = [
    "CompletionBounds",
    "SetInterval",
    "bounds_of_sides",
    "completion_bounds",
    "imbens_manski",
    "skewness_factor",
]


#: Replicates of the bootstrap over lists.
N_BOOT = 1000
ENDS = ("low", "high")


def _is_number(value: Any) -> bool:
    return np.ndim(value) == 0 and isinstance(value, (int, float, np.number))


def _is_error(value: Any) -> bool:
    return _is_number(value) and not value < 0


#: Constraints of the parameters of both functions.
LIMITS: dict[str, Constraint] = {
    "level": Number(0, 1, open_low=True, open_high=True),
    "cover": Choice("value", "set"),
    "measure": Choice(*MEASURES),
    "average": Choice("lists", "people"),
    "n_boot": Integer(0),
    "low": Check(_is_number, "a number"),
    "high": Check(_is_number, "a number"),
    "low_error": Check(_is_error, "a number >= 0"),
    "high_error": Check(_is_error, "a number >= 0"),
}


class SetInterval(NamedTuple):
    """A confidence interval of a value that is only known to be between two bounds.

    Attributes
    ----------
    low, high : float
        The interval.
    quantile : float
        Number of standard errors by which it is wider than the bounds on each side.
    """

    low: float
    high: float
    quantile: float


def imbens_manski(
    low: float,
    high: float,
    low_error: float,
    high_error: float,
    *,
    level: float = 0.95,
    cover: str = "value",
) -> SetInterval:
    """Return a confidence interval of a value that is between two estimated bounds.

    The interval is ``[low - c low_error, high + c high_error]``. To cover the value, c solves
    ``Phi(c + (high - low) / max(low_error, high_error)) - Phi(-c) = level``: 1.96 at the level 0.95
    if the bounds are equal, and 1.645 if they are far apart, since the value is then close to at
    most one of them. To cover both bounds, c is 1.96.

    Parameters
    ----------
    low, high : float
        The estimated bounds, ``low <= high``.
    low_error, high_error : float
        Their standard errors.
    level : float
        Confidence level.
    cover : {"value", "set"}
        What the interval covers with this probability: the value, or all values that the bounds
        allow.

    Returns
    -------
    SetInterval
        ``low``, ``high`` and ``quantile``, which is c. NaN if a bound or its standard error is. A
        bound that is infinite, or has an infinite standard error, has an infinite end.

    References
    ----------
    Imbens and Manski (2004): Confidence intervals for partially identified parameters. Econometrica
    72. Stoye (2009): More on confidence intervals for partially identified parameters. Econometrica
    77.

    Examples
    --------
    >>> from equirank.statistics import imbens_manski
    >>> found = imbens_manski(0.2, 0.5, 0.05, 0.04)
    >>> round(found.low, 4), round(found.high, 4), round(found.quantile, 4)
    (0.1178, 0.5658, 1.6449)
    >>> round(imbens_manski(0.2, 0.2, 0.05, 0.05).quantile, 2)
    1.96
    """
    given = {"low": low, "high": high, "low_error": low_error, "high_error": high_error}
    check_params("imbens_manski", given | {"level": level, "cover": cover}, LIMITS)
    if low > high:
        raise DataError(f"low must be at most high ({high:g}), got {low:g}")
    low_error = 0.0 if np.isinf(low) else low_error
    high_error = 0.0 if np.isinf(high) else high_error
    if np.isnan([low, high, low_error, high_error]).any():
        return SetInterval(np.nan, np.nan, np.nan)
    error = max(low_error, high_error)
    width = 0.0 if cover == "set" or low == high or np.isinf(error) else np.inf
    if width > 0.0 and error > 0.0:
        width = (high - low) / error
    c = _quantile(float(width), float(level))
    return SetInterval(float(low - c * low_error), float(high + c * high_error), c)


def _quantile(width: float, level: float) -> float:
    """Return c with ``Phi(c + width) - Phi(-c) = level``, by bisection."""
    normal = NormalDist()
    begin, end = normal.inv_cdf(level), normal.inv_cdf((1.0 + level) / 2.0)
    begin = max(begin, 0.0)
    if width == 0.0:
        return end
    for _ in range(60):
        middle = (begin + end) / 2.0
        covered = normal.cdf(middle + width) - normal.cdf(-middle)
        begin, end = (begin, middle) if covered >= level else (middle, end)
    return end


@dataclass(frozen=True, eq=False)
class CompletionBounds:
    """The range of a measure over all completions of the unknown labels.

    Attributes
    ----------
    low, high : float
        The smallest and largest value of the measure; NaN if it is undefined for all completions.
    sharp : bool
        Whether some completion attains each bound.
    known : float
        The measure of the people whose label is known. It is between the bounds for ``"share"`` and
        ``"mean"``; a difference or ratio need not be.
    interval_low, interval_high : float
        Confidence interval of the value, see `imbens_manski`.
    low_error, high_error : float
        Standard errors of the bounds, by bootstrap over lists.
    n_known, n_unknown : int
        People whose label is known and unknown.
    lists, undefined : int
        Number of lists, and how many of them some completion leaves undefined.
    reason : str
        Why the bounds or the interval are undefined; empty otherwise.
    """

    low: float
    high: float
    sharp: bool
    known: float
    interval_low: float
    interval_high: float
    low_error: float
    high_error: float
    n_known: int
    n_unknown: int
    lists: int
    undefined: int
    reason: str = ""


class BoundKeywords(TypedDict, total=False):
    """How bounds of lists are joined, and how uncertain they are.

    Parameters
    ----------
    average : {"lists", "people"}
        The mean over the lists where the measure is defined, or the measure of all people together.
        Lists that some completion leaves undefined are part of the mean if that moves it to its
        extreme.
    level, cover : float, {"value", "set"}
        Those of `imbens_manski`.
    n_boot : int
        Replicates of the bootstrap over lists, of which more than 2,048 are resampled in buckets; 0
        for bounds without an interval.
    random_state : int, Generator, RandomState or None
        Seed of the bootstrap.
    """

    average: Annotated[str, Default("lists")]
    level: Annotated[float, Default(0.95)]
    cover: Annotated[str, Default("value")]
    n_boot: Annotated[int, Default(N_BOOT)]
    random_state: Annotated[Any, Default(0)]


@shared_keywords(BoundKeywords)
def completion_bounds(
    values: Any,
    sensitive_features: Any,
    protected: Any,
    *,
    measure: str = "difference",
    reference: Any = None,
    groups: Sequence[Any] | None = None,
    qid: Any = None,
    **how: Unpack[BoundKeywords],
) -> CompletionBounds:
    """Return the smallest and largest value of a measure over all completions of unknown labels.

    Every person whose label is unknown may be in the group or not. Nothing else is assumed, so no
    smaller range holds the value for certain. Of U unknown people, given how many are in the group,
    the extreme has those with the smallest or the largest values; all numbers are tried in
    O(U log U).

    Parameters
    ----------
    values : array-like of shape (n,)
        One number per person that does not depend on labels: the position, the exposure, or 1 for
        selected and 0 for not (the chance of it if ties decide).
    sensitive_features : array-like of shape (n,)
        The group of each person; None or NaN if it is unknown.
    protected : label
        The group.
    measure : {"share", "mean", "difference", "ratio"}
        The group's share of the sum of all values, such as exposure; its mean, such as the mean
        position or the selection rate; the difference between its mean and that of everyone else,
        such as the exposure gap; or their ratio, such as the impact ratio.
    reference : label, optional
        The group to compare with instead of everyone else, for ``"difference"`` and ``"ratio"``.
        Unknown people may also be in another group than these two, if there is one.
    groups : sequence of labels, optional
        All groups, also those without a known member. By default the groups in the data.
    qid : array-like of shape (n,), optional
        The list of each person. By default all people are one list.

    Returns
    -------
    CompletionBounds
        ``low``, ``high``, ``sharp``, ``known``, ``interval_low``, ``interval_high`` and more.
        Completions that leave the measure undefined are left out. A ratio is infinite if only the
        other side has the mean 0. With one list there is no interval, and ``reason`` states so.

    Notes
    -----
    The replicates keep the extreme completion, and the lists that count, of the data: that another
    one may be extreme in a replicate changes the standard error in second order only. An end of the
    interval is farther out, by Hall's correction, if the lists are skewed in its direction.

    References
    ----------
    Horowitz and Manski (1995): Identification and robustness with contaminated and corrupted data.
    Econometrica 63. Hall (1992): On the removal of skewness by transformation. Journal of the Royal
    Statistical Society B 54.

    Examples
    --------
    >>> from equirank.statistics import completion_bounds
    >>> positions, sex = [1, 2, 3, 4, 5, 6], ["m", "f", None, "m", "f", None]
    >>> found = completion_bounds(positions, sex, "f")
    >>> round(found.low, 3), round(found.known, 3), round(found.high, 3)
    (-0.333, 1.0, 1.667)
    >>> selected = [1, 1, 1, 0, 0, 0]
    >>> rate = completion_bounds(selected, sex, "f", measure="mean")
    >>> round(rate.low, 3), round(rate.high, 3)
    (0.333, 0.667)
    """
    labels = inputs.label_column("sensitive_features", sensitive_features)
    column, queries = inputs.numbers("values", values), inputs.label_column("qid", qid)
    if column is None or labels is None:
        name = "values" if column is None else "sensitive_features"
        raise DataError(f"{name} must be given, got None")
    given: dict[str, Any] = {"measure": measure, "average": how["average"]}
    given |= {"n_boot": how["n_boot"], "level": how["level"], "cover": how["cover"]}
    check_params("completion_bounds", given, LIMITS)
    n_rows = inputs.same_length({"values": column, "sensitive_features": labels, "qid": queries})
    if measure in ("share", "ratio"):
        inputs.refuse("values", column, column < 0, f"at least 0 for {measure!r}")
    attribute = Attribute(*encode("sensitive_features", labels, "unknown", groups))
    side, third = _sides(attribute, protected, reference, measure)
    order, offsets, _ = group_rows(queries, n_rows)
    if order is not None:
        column, side = column[order], side[order]
    return bounds_of_sides(
        column.astype(np.float64), side, offsets, measure=measure, third=third, **how
    )


def _sides(
    attribute: Attribute, protected: Any, reference: Any, measure: str
) -> tuple[np.ndarray, bool]:
    """Return 1 for the group, 0 for the other side, 2 for neither, -1 for unknown."""
    group = attribute.code(protected)
    side = np.where(attribute.known, (attribute.codes == group).astype(np.int8), np.int8(-1))
    if reference is None:
        return side, False
    if measure in ("share", "mean"):
        raise DataError(f"reference must be None for measure={measure!r}, which has no other side")
    other = attribute.code(reference, "reference")
    if other == group:
        raise DataError(f"reference must be another group than protected, got {reference!r}")
    side[attribute.known & (attribute.codes != group) & (attribute.codes != other)] = 2
    return side, len(attribute.categories) > 2


@shared_keywords(BoundKeywords)
def bounds_of_sides(
    values: np.ndarray,
    side: np.ndarray,
    offsets: np.ndarray,
    *,
    measure: str,
    third: bool = False,
    **how: Unpack[BoundKeywords],
) -> CompletionBounds:
    """Return the bounds of rows sorted by list, with sides 1, 0, 2 (neither) and -1 (unknown).

    The other parameters are those of `completion_bounds`; ``third`` states whether unknown people
    may be on neither side.
    """
    average, level, cover = how["average"], how["level"], how["cover"]
    n_boot, random_state = how["n_boot"], how["random_state"]
    lists, n_lists = segment_index(offsets), len(offsets) - 1
    rows = np.array([0, len(values)]) if average == "people" else offsets
    known = side_sums(values, side, lists, n_lists)
    pooled = known.sum(axis=0, keepdims=True) if average == "people" else known
    at = np.zeros(len(values), dtype=np.int64) if average == "people" else lists
    totals = np.bincount(at, values, len(pooled))
    optional = can_be_undefined(pooled, totals, measure, third)
    unknown = np.flatnonzero(side < 0)
    parts = {}
    for end in ENDS:
        highest = end == "high"
        done = extreme_completion(values, side, rows, measure, highest=highest, third=third)
        sums = known + side_sums(values[unknown], done[unknown], lists[unknown], n_lists)
        if average == "lists":
            sums = _list_sums(measure_sums(sums, measure), optional, highest)
        parts[end] = sums
    whole = "mean" if average == "lists" else measure
    ends = {end: float(measure_sums(sums.sum(axis=0), whole)) for end, sums in parts.items()}
    errors, reason = _errors(parts, whole, n_boot, random_state)
    if np.isnan(ends["low"]):
        reason = "the measure is undefined for all completions"
    longer = {
        end: skewness_factor(sums, whole, level, end == "high") for end, sums in parts.items()
    }
    found = imbens_manski(
        *ends.values(), *(longer[end] * errors[end] for end in ENDS), level=level, cover=cover
    )
    return CompletionBounds(
        low=ends["low"],
        high=ends["high"],
        sharp=True,
        known=_known_value(known, measure, average),
        interval_low=max(found.low, 0.0) if measure in ("share", "ratio") else found.low,
        interval_high=min(found.high, 1.0) if measure == "share" else found.high,
        low_error=errors["low"],
        high_error=errors["high"],
        n_known=len(side) - len(unknown),
        n_unknown=len(unknown),
        lists=n_lists,
        undefined=int(optional.sum()),
        reason=reason,
    )


def _list_sums(values: np.ndarray, optional: np.ndarray, highest: bool) -> np.ndarray:
    """Return sums whose mean is that over the lists that count at the extreme."""
    counted = extreme_lists(values, optional, highest=highest)
    sums = np.zeros((len(values), 4))
    sums[counted, 0], sums[counted, 1] = values[counted], 1.0
    return sums


def _known_value(known: np.ndarray, measure: str, average: str) -> float:
    """Return the measure of the known people; a share is that of their own sum."""
    if average == "people":
        return float(measure_sums(known.sum(axis=0), measure))
    values = measure_sums(known, measure)
    defined = ~np.isnan(values)
    return float(values[defined].mean()) if defined.any() else np.nan


def _errors(
    parts: dict[str, np.ndarray], measure: str, n_boot: int, random_state: Any
) -> tuple[dict[str, float], str]:
    """Return the standard errors of the bounds by bootstrap over lists, and why there are none.

    Undefined replicates are left out; one that is infinite makes the standard error infinite.
    """
    n_lists = len(parts["low"])
    absent = dict.fromkeys(ENDS, np.nan)
    if n_lists < 2:
        return absent, "one list: no interval"
    if n_boot < 2:
        return absent, "no bootstrap: no interval"
    drawn: dict[str, list[np.ndarray]] = {end: [] for end in ENDS}
    units = query_units(n_lists)
    finite = {
        end: unit_sums(np.where(np.isfinite(sums), sums, 0.0), units)[0]
        for end, sums in parts.items()
    }
    n_units = len(finite["low"])
    for counts in query_counts(generator(random_state), n_boot, n_units):
        for end in ENDS:
            drawn[end].append(measure_sums(counts @ finite[end], measure))
    errors = {}
    for end in ENDS:
        replicates = np.concatenate(drawn[end])
        replicates = replicates[~np.isnan(replicates)]
        wider = np.sqrt(n_units / (n_units - 1.0))
        if np.isinf(replicates).any() or np.isinf(parts[end]).any():
            errors[end] = np.inf
        else:
            errors[end] = float(wider * replicates.std(ddof=1)) if len(replicates) > 1 else np.nan
    return errors, ""


def skewness_factor(sums: np.ndarray, measure: str, level: float, upwards: bool) -> float:
    """Return the factor of an error that corrects for the skewness of the lists; at least 1.

    Where few lists raise a bound much, samples without them have a bound and a standard error that
    are both too small. The quantile z of a studentised mean of n values with skewness k is
    ``z + k (2 z^2 + 1) / (6 sqrt(n))`` (Hall 1992). The values are the changes of the bound if one
    list is left out.
    """
    if not np.isfinite(sums).all():
        return 1.0
    left = measure_sums(sums.sum(axis=0) - sums, measure)
    left = left[np.isfinite(left)]
    changes = left.mean() - left if len(left) else left
    variance = float((changes**2).mean()) if len(left) else 0.0
    if not variance > 0.0:
        return 1.0
    skewness = float((changes**3).mean()) / variance**1.5
    z = quantile(level, "completion_bounds")
    longer = (skewness if upwards else -skewness) * (2.0 * z * z + 1.0) / (6.0 * z)
    return 1.0 + max(0.0, longer / float(np.sqrt(len(left))))
