"""Estimates corrected for unknown, guessed and wrongly recorded labels, with intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core import inputs
from ..core.attribute import LabelError
from ..core.errors import DataError
from ..core.given_data import as_ranking_data
from ..core.params import Choice, Integer, Number, check_params
from ..core.random import as_seed
from ..kernels.label_bounds import MEASURES, measure_sums, side_sums
from ..kernels.segments import divide
from .label_model import BLOCK, LabelModel, label_model, position_bands
from .membership_sums import Interval, fieller, kept_sums, rubin, student
from .unknown_labels import N_BOOT, SetInterval, imbens_manski

__all__ = [
    "CorrectedEstimate",
    "complete_values",
    "corrected_estimate",
    "corrected_measure",
    "given_model",
    "imputed_intervals",
]

#: Imputations of several lists, and of one.
N_IMPUTED, N_IMPUTED_ONE = 20, 300
#: Bins of a probability in which the group may have any share of the values.
FRECHET_BINS = 20
AVERAGES = ("within", "people", "lists")
#: Measures of a list that are averaged with weights ``n (N - n) / N``.
WITHIN = ("difference", "ratio")


@dataclass(frozen=True, eq=False)
class CorrectedEstimate:
    """A measure, corrected for labels that are unknown, guessed or recorded with errors.

    Attributes
    ----------
    value : float
        The estimate; NaN if there is none, as from probabilities alone.
    low, high : float
        Its confidence interval; from probabilities alone that of the range of all values that they
        allow.
    range_low, range_high : float
        Smallest and largest value that probabilities alone allow; NaN for other knowledge.
    weighted : float
        The measure with probabilities as weights; NaN for other knowledge.
    method : str
        ``"fieller"``, ``"rubin"``, ``"percentiles"`` or ``"frechet"``.
    assumption : str
        What the estimate assumes, in words.
    n_known, n_unknown : int
        People whose label is known and unknown.
    bound_low, bound_high : float
        The one-sided lower and upper bound at the same level.
    reason : str
        Why there is no estimate; empty otherwise.
    """

    value: float
    low: float
    high: float
    method: str
    assumption: str
    n_known: int
    n_unknown: int
    range_low: float = float("nan")
    range_high: float = float("nan")
    weighted: float = float("nan")
    bound_low: float = float("nan")
    bound_high: float = float("nan")
    reason: str = ""


def corrected_estimate(
    values: Any,
    sensitive_features: Any,
    protected: Any,
    *,
    measure: str = "difference",
    average: str = "within",
    qid: Any = None,
    position: Any = None,
    groups: Sequence[Any] | None = None,
    label_error: LabelError | None = None,
    checked_rate: float | None = None,
    level: float = 0.95,
    n_boot: int = N_BOOT,
    random_state: Any = 0,
) -> CorrectedEstimate:
    """Return an estimate that is corrected for what is not known of the labels.

    The correction depends on what is known. Verified labels of a sample correct a guess; a
    `LabelError` corrects recorded labels; probabilities alone allow a range only; and if labels are
    missing, unknown people count like known people in the same tenth of the list.

    Parameters
    ----------
    values : array-like of shape (n,)
        One number per person that does not depend on labels: the position, the exposure, or 1 for
        selected and 0 for not.
    sensitive_features : array-like, mapping or data frame
        The group of each person, None if it is unknown; or columns such as ``race``,
        ``race[white]`` (probabilities) and ``race[true]`` (verified) of one attribute.
    protected : label
        The group.
    measure : {"share", "mean", "difference", "ratio"}
        As in `completion_bounds`.
    average : {"within", "people", "lists"}
        ``"within"``, for ``"difference"`` and ``"ratio"``: within lists, where a list with n of N
        people in the group counts with ``n (N - n) / N`` (for a ratio, that of Mantel and
        Haenszel). ``"people"``, and always for ``"share"`` and ``"mean"``: all people together.
        ``"lists"``: the mean over lists, for which labels are drawn.
    qid : array-like of shape (n,), optional
        The list of each person. By default all people are one list.
    position : array-like of shape (n,), optional
        Position of each person, whose tenths are the bands. None: the order of the values.
    groups : sequence of labels, optional
        All groups, also those without a known member.
    label_error : LabelError, optional
        How the labels were recorded.
    checked_rate : float, optional
        The probability of each person to be checked; None: the share of checked people.
    level : float
        Confidence level.
    n_boot : int
        Replicates of the bootstrap over lists; more than 2,048 are resampled in buckets.
    random_state : int, Generator, RandomState or None
        Seed of replicates and draws.

    Returns
    -------
    CorrectedEstimate
        ``value``, ``low``, ``high``, ``method``, ``assumption`` and more. It has no value, and a
        ``reason``, if recorded labels tell too little (J under 0.2), if fewer than 100 people of a
        side were checked, or if the denominator could be 0.

    Notes
    -----
    With memberships a, the difference is ``sum a (f - mean f) / sum (n_G n_H / N)`` with sums over
    all lists and ``n_G n_H = A (N - A) - sum a (1 - a)``. Its interval is Fieller's, with the
    covariance of a bootstrap over lists in which everything that was estimated is estimated anew.
    For means over lists, labels are drawn 20 times and combined by Rubin's rule. One list has
    percentiles of 300 draws, an interval for the people of this list, whose shares of groups follow
    a trend along it. It is approximate: with 40 people it covered their value in 92% to 99% of
    simulated lists.

    References
    ----------
    Rubin (1987): Multiple imputation for nonresponse in surveys. Angelopoulos et al. (2023):
    Prediction-powered inference. Science 382. Kallus, Mao and Zhou (2022): Assessing algorithmic
    fairness with unobserved protected class using data combination. Management Science 68.

    Examples
    --------
    >>> from equirank.statistics import corrected_estimate
    >>> positions = [1, 2, 3, 4, 5, 6, 7, 8] * 30
    >>> sex = ["m", "f", "m", None, "f", "m", "f", "f"] * 30
    >>> lists = [q for q in range(30) for _ in range(8)]
    >>> found = corrected_estimate(positions, sex, "f", qid=lists)
    >>> round(found.value, 2), found.method
    (1.93, 'fieller')
    >>> found.assumption
    'people whose label is unknown are like known people at the same positions'
    """
    given = {"measure": measure, "average": average, "n_boot": n_boot, "level": level}
    limits: Any = {"measure": Choice(*MEASURES), "average": Choice(*AVERAGES)}
    limits |= {"n_boot": Integer(2), "level": Number(0, 1, open_low=True, open_high=True)}
    check_params("corrected_estimate", given, limits)
    if average == "within" and measure not in WITHIN:
        average = "people"
    model, column = given_model(
        values, sensitive_features, qid, position, groups, label_error, checked_rate
    )
    if measure in ("share", "ratio"):
        inputs.refuse("values", column, column < 0, f"at least 0 for {measure!r}")
    code = model.attribute.code(protected)
    return corrected_measure(
        model, code, column, measure=measure, average=average, level=level, n_boot=n_boot,
        seed=as_seed(random_state),
    )  # fmt: skip


def given_model(
    values: Any,
    sensitive_features: Any,
    qid: Any,
    position: Any,
    groups: Sequence[Any] | None,
    label_error: LabelError | None,
    checked_rate: float | None,
) -> tuple[LabelModel, np.ndarray]:
    """Return the model of one attribute, and the values sorted by list."""
    column, order = inputs.numbers("values", values), inputs.numbers("position", position)
    if column is None or sensitive_features is None:
        missing = "values" if column is None else "sensitive_features"
        raise DataError(f"{missing} must be given, got None")
    people = sensitive_features
    if not (isinstance(people, Mapping) or inputs.is_frame(people)):
        people = {"sensitive_features": people}
    name = str(next(iter(people if isinstance(people, Mapping) else people.columns)))
    name = name.partition("[")[0]
    inputs.same_length({"values": column, "position": order})
    data = as_ranking_data(
        score=column,
        qid=qid,
        sensitive_features=people,
        missing_sensitive="unknown",
        groups=None if groups is None else {name: groups},
        label_error=None if label_error is None else {name: label_error},
        checked_rate=checked_rate,
    )
    if len(data.sensitive) > 1:
        raise DataError(
            f"sensitive_features must be one attribute, got {', '.join(data.sensitive)}"
        )
    rows = slice(None) if data.rows is None else data.rows
    column = column[rows].astype(np.float64)
    band = position_bands(column if order is None else order[rows], data.offsets)
    return label_model(data.attribute(name), data.offsets, band), column


def corrected_measure(
    model: LabelModel,
    code: int,
    values: np.ndarray,
    *,
    measure: str,
    average: str,
    level: float = 0.95,
    n_boot: int = N_BOOT,
    seed: int = 0,
    reference: int | None = None,
) -> CorrectedEstimate:
    """Return the corrected measure of values whose rows are those of a model.

    The other parameters are those of `corrected_estimate`. The measure may also be ``"excess"``:
    the sum of the group's values less the mean of their list, per person of the data.
    """
    known = int(model.attribute.known.sum())
    counts = known, len(values) - known
    reason = model.refusal(code)
    if reason:
        return CorrectedEstimate(*(Interval()), "", model.assumption, *counts, reason=reason)
    if model.kind == "probabilities" and reference is not None:
        reason = "probabilities alone do not compare two of several groups"
        return CorrectedEstimate(*(Interval()), "", model.assumption, *counts, reason=reason)
    if model.kind == "probabilities":
        return _frechet(model, code, values, measure, average, level, counts)
    levels = level, 2.0 * level - 1.0
    if model.n_lists == 1 or average == "lists" or reference is not None:
        method = "percentiles" if model.n_lists == 1 else "rubin"
        found = imputed_intervals(model, code, values, measure, average, levels, seed, reference)
        reason = "the measure is undefined for drawn labels"
    else:
        method = "fieller"
        found = _fieller_intervals(model, code, values, measure, average, levels, n_boot, seed)
        compares = measure in ("difference", "ratio")
        what = "that the measure divides by" if compares else "of people in the group"
        reason = f"the number {what} could be 0"
    both, one_sided = (_kept_inside(each, measure) for each in found)
    return CorrectedEstimate(
        *both, method, model.assumption, *counts,
        bound_low=one_sided.low, bound_high=one_sided.high,
        reason=reason if np.isnan(both.value) else "",
    )  # fmt: skip


def _fieller_intervals(
    model: LabelModel,
    code: int,
    values: np.ndarray,
    measure: str,
    average: str,
    levels: tuple[float, float],
    n_boot: int,
    seed: int,
) -> list[Interval]:
    """Return Fieller's interval at each level; without replicates only the value."""
    sums = kept_sums(model, code, values)
    point = _ratio_parts(sums.point(), measure, average)
    if n_boot < 2:
        return [Interval(_quotient(point))] * len(levels)
    drawn = _ratio_parts(sums.replicates(n_boot, seed), measure, average)
    wider = sums.n_units / (sums.n_units - 1.0)
    covariance = wider * np.cov(drawn, rowvar=False)
    return [fieller(point, covariance, student(each, sums.n_units - 1)) for each in levels]


def _kept_inside(found: Interval, measure: str) -> Interval:
    """Return the interval without values that a share or ratio cannot have."""
    most = 1.0 if measure == "share" else np.inf
    if measure not in ("share", "ratio") or np.isnan(found.value):
        return found
    return Interval(found.value, max(found.low, 0.0), min(found.high, most))


def _ratio_parts(sums: np.ndarray, measure: str, average: str) -> np.ndarray:
    """Return numerator and denominator of a measure along the last axis."""
    a, inside, centred, pairs, _, other, people, total, *_ = np.moveaxis(sums, -1, 0)
    if measure == "excess":
        parts = centred, people
    elif average == "within":
        parts = (centred + other, other) if measure == "ratio" else (centred, pairs)
    elif measure == "share":
        parts = inside, total
    elif measure == "mean":
        parts = inside, a
    elif measure == "ratio":
        parts = inside * (people - a) / people, (total - inside) * a / people
    else:
        parts = inside - a * total / people, a * (people - a) / people
    return np.stack(parts, axis=-1)


def complete_values(
    values: np.ndarray, side: np.ndarray, model: LabelModel, measure: str, average: str
) -> tuple[float, float]:
    """Return a measure of complete labels and the variance of it over lists, by jackknife."""
    sums = side_sums(values, side, model.lists, model.n_lists)
    if average == "lists":
        each = measure_sums(sums, measure)
        each = each[np.isfinite(each)]
        n = len(each)
        return (float(each.mean()), float(each.var() / max(n - 1, 1))) if n else (np.nan, np.nan)
    if average == "within":
        s, n, t, m = sums.T
        size = n + m
        if measure == "excess":
            parts = np.stack([measure_sums(sums, measure), size], axis=1)
        elif measure == "ratio":
            parts = np.stack([divide(s * m, size), divide(t * n, size)], axis=1)
        else:
            parts = np.stack([s - n * divide(s + t, size), divide(n * m, size)], axis=1)
        parts, whole = np.nan_to_num(parts), "mean"
    else:
        parts, whole = sums, measure
    total = parts.sum(axis=0)
    pad = [[0, 0], [0, 4 - parts.shape[1]]]
    value = float(measure_sums(np.pad(total[None], pad)[0], whole))
    left = measure_sums(np.pad(total - parts, pad), whole)
    left = left[np.isfinite(left)]
    n = len(left)
    variance = (n - 1) / n * float(((left - left.mean()) ** 2).sum()) if n > 1 else np.nan
    return value, variance


def imputed_intervals(
    model: LabelModel,
    code: int,
    values: np.ndarray,
    measure: str,
    average: str,
    levels: Sequence[float],
    seed: int,
    reference: int | None = None,
) -> list[Interval]:
    """Return the estimate from drawn labels at each level: Rubin's rule, or percentiles of a list.

    With a ``reference``, only it is compared with the group.
    """
    if model.n_lists > 1:
        found = []
        for codes in model.imputed(N_IMPUTED, seed):
            side = (codes == code).astype(np.int8)
            if reference is not None:
                side[(codes != code) & (codes != reference)] = 2
            found.append(complete_values(values, side, model, measure, average))
        value, variance = np.array(found).T
        return [rubin(value, variance, level, model.n_lists - 1) for level in levels]
    value = _one_list_values(model.imputed(N_IMPUTED_ONE, seed), code, reference, values, measure)
    value = value[np.isfinite(value)]
    if len(value) < 2:
        return [Interval()] * len(levels)
    ends = [np.quantile(value, [(1.0 - level) / 2.0, (1.0 + level) / 2.0]) for level in levels]
    return [Interval(float(value.mean()), float(low), float(high)) for low, high in ends]


def _one_list_values(
    drawn: list[np.ndarray], code: int, reference: int | None, values: np.ndarray, measure: str
) -> np.ndarray:
    """Return the measure of one list with each of several complete labels."""
    found, block = [], max(1, BLOCK // len(values))
    for at in range(0, len(drawn), block):
        codes = np.stack(drawn[at : at + block])
        inside = codes == code
        other = ~inside if reference is None else codes == reference
        sums = [each for side in (inside, other) for each in (side @ values, side.sum(axis=1))]
        found.append(measure_sums(np.stack(sums, axis=1), measure))
    every = np.concatenate(found)
    return every / len(values) if measure == "excess" else every


def _frechet(
    model: LabelModel,
    code: int,
    values: np.ndarray,
    measure: str,
    average: str,
    level: float,
    counts: tuple[int, int],
) -> CorrectedEstimate:
    """Return the range that probabilities alone allow, and its interval."""
    average = "people" if average == "lists" and measure != "difference" else average
    average = "within" if average == "lists" else average
    p = model.memberships(code)
    sums = kept_sums(model, code, values)
    parts = sums.list_parts
    weighted = _quotient(_ratio_parts(parts.sum(axis=0), measure, average))
    within = average == "within"
    f = values - sums.means[model.lists] if within else values
    ends = {}
    for end, key in (("low", f), ("high", -f)):
        a = extreme_memberships(p, key)
        mine = parts.copy()
        mine[:, 1] = np.bincount(model.lists, a * values, model.n_lists)
        mine[:, 2] = np.bincount(model.lists, a * f, model.n_lists) if within else mine[:, 2]
        ends[end] = mine
    bounds = {e: _quotient(_ratio_parts(m.sum(axis=0), measure, average)) for e, m in ends.items()}
    errors = {e: _jackknife(m, measure, average) for e, m in ends.items()}
    found = [SetInterval(np.nan, np.nan, np.nan)] * 2
    if model.n_lists > 1 and bounds["low"] <= bounds["high"]:
        given = bounds["low"], bounds["high"], *errors.values()
        found = [imbens_manski(*given, level=each) for each in (level, 2.0 * level - 1.0)]
    both, one_sided = (_kept_inside(Interval(0.0, *each[:2]), measure) for each in found)
    return CorrectedEstimate(
        np.nan, both.low, both.high, "frechet", model.assumption, *counts,
        range_low=bounds["low"], range_high=bounds["high"], weighted=weighted,
        bound_low=one_sided.low, bound_high=one_sided.high,
    )  # fmt: skip


def _quotient(parts: np.ndarray) -> float:
    return float(divide(parts[..., 0], parts[..., 1]))


def _jackknife(sums: np.ndarray, measure: str, average: str) -> float:
    left = _ratio_parts(sums.sum(axis=0) - sums, measure, average)
    values = divide(left[:, 0], left[:, 1])
    values, n = values[np.isfinite(values)], len(sums)
    return float(np.sqrt((n - 1) / n * ((values - values.mean()) ** 2).sum())) if n > 1 else np.nan


def extreme_memberships(p: np.ndarray, key: np.ndarray) -> np.ndarray:
    """Return memberships that agree with probabilities and favour rows with a small key.

    In each of 20 bins of equal count of the probability, the group has its share of the smallest
    keys. Certain rows keep their probability; rows without one may be in the group or not, and are
    in it if their key is below 0.

    Examples
    --------
    >>> extreme_memberships(np.array([0.5, 0.5, 0.5, 0.5]), np.array([4.0, 1.0, 3.0, 2.0]))
    array([0., 1., 0., 1.])
    """
    result = np.where(np.isnan(p), key < 0, p).astype(np.float64)
    rows = np.flatnonzero((p > 0) & (p < 1))
    if len(rows) == 0:
        return result
    rank = np.argsort(np.argsort(p[rows], kind="stable"), kind="stable")
    bins = rank * FRECHET_BINS // len(rows)
    distinct = np.unique(p[rows])
    if len(distinct) <= FRECHET_BINS:
        bins = np.searchsorted(distinct, p[rows])
    order = np.lexsort((key[rows], bins))
    sorted_bins = bins[order]
    begin = np.searchsorted(sorted_bins, sorted_bins)
    total = np.bincount(bins, p[rows])[sorted_bins]
    result[rows[order]] = np.clip(total - (np.arange(len(rows)) - begin), 0.0, 1.0)
    return result
