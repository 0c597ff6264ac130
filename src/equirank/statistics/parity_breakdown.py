"""How far from "missing at random" unknown labels would have to be for a difference to vanish."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan, sqrt
from typing import Any

import numpy as np

from ..core import inputs
from ..core.attribute import LabelError
from ..core.params import Integer, Number, check_params
from ..core.random import as_seed
from ..kernels.segments import divide
from .corrected_labels import given_model
from .label_model import LabelModel
from .membership_sums import (
    COLUMNS,
    FEWEST_LISTS,
    MembershipSums,
    fieller,
    kept_sums,
    membership_sums,
    student,
)
from .unknown_labels import N_BOOT, imbens_manski, skewness_factor

__all__ = ["LabelBreakdown", "check_parity", "check_threshold", "label_breakdown"]

#: Largest shift of a logit that is tried.
MOST_SHIFT = 12.0
NONE = float("inf")


@dataclass(frozen=True, eq=False)
class LabelBreakdown:
    """Whether a difference holds whatever the unknown labels are, and how many would undo it.

    All differences are within-list differences, as in `corrected_estimate`.

    Attributes
    ----------
    value : float
        The difference with imputed memberships.
    low, high : float
        Its confidence interval.
    bounds_low, bounds_high : float
        Smallest and largest difference over all completions, on the same scale.
    interval_low, interval_high : float
        Confidence interval of a value between these bounds.
    breakdown : float
        Share of the unknown people who must have the least favourable label, the others being like
        known people at the same positions, for the difference to be 0. Infinite if even all of
        them do not undo it.
    breakdown_interval : float
        The share at which the confidence interval contains 0.
    tipping_share, expected_share : float
        The share of unknown people in the group at which the difference is 0, if all of their odds
        change by one factor, and the share that is expected; infinite if no share does it.
    reason : str
        Why there are no numbers; empty otherwise.
    """

    value: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    bounds_low: float = float("nan")
    bounds_high: float = float("nan")
    interval_low: float = float("nan")
    interval_high: float = float("nan")
    breakdown: float = float("nan")
    breakdown_interval: float = float("nan")
    tipping_share: float = float("nan")
    expected_share: float = float("nan")
    reason: str = ""

    @property
    def holds_whatever(self) -> bool:
        """Whether the interval over all completions is on one side of 0."""
        return self.interval_low > 0 or self.interval_high < 0

    @property
    def holds_unless(self) -> bool:
        """Whether the interval of the corrected difference is on one side of 0."""
        return self.low > 0 or self.high < 0


def label_breakdown(
    values: Any,
    sensitive_features: Any,
    protected: Any,
    *,
    qid: Any = None,
    position: Any = None,
    groups: Sequence[Any] | None = None,
    label_error: LabelError | None = None,
    threshold: float | None = None,
    level: float = 0.95,
    n_boot: int = N_BOOT,
    random_state: Any = 0,
) -> LabelBreakdown:
    """Return how many unknown people would need the least favourable label to undo a difference.

    A group and everyone else have equal means of the values exactly where
    ``N = sum a (f - mean f) = 0``, which is linear in the memberships a. With N_0 for imputed
    memberships and N_1 for the labels least favourable to the difference, the breakdown is
    ``N_0 / (N_0 - N_1)``. It is at most 1 exactly if the sharp bounds contain 0.

    Parameters
    ----------
    values : array-like of shape (n,)
        One number per person: the position, the exposure, or 1 for selected and 0 for not.
    sensitive_features : array-like, mapping or data frame
        As in `corrected_estimate`.
    protected : label
        The group.
    qid, position, groups, label_error : optional
        As in `corrected_estimate`.
    threshold : float, optional
        Instead of a difference of 0, a ratio of means within lists, such as 0.8 of selection rates.
        ``value``, ``low`` and ``high`` are then those of the ratio; the bounds and the tipping
        share are left out.
    level : float
        Confidence level.
    n_boot : int
        Replicates of the bootstrap over lists, of which more than 2,048 are resampled in buckets;
        with fewer than 20 lists intervals are about the people of these lists.
    random_state : int, Generator, RandomState or None
        Seed of the replicates.

    Returns
    -------
    LabelBreakdown
        ``breakdown``, ``breakdown_interval``, ``tipping_share`` and more.

    Examples
    --------
    >>> from equirank.statistics import label_breakdown
    >>> positions = [1, 2, 3, 4, 5, 6, 7, 8] * 30
    >>> sex = ["m", "f", None, "m", "f", "m", "f", None] * 30
    >>> lists = [q for q in range(30) for _ in range(8)]
    >>> found = label_breakdown(positions, sex, "f", qid=lists)
    >>> round(found.value, 2), round(found.breakdown, 2)
    (0.77, 0.6)
    >>> selected = [1, 0, 1, 1, 0, 0, 1, 0] * 30
    >>> found = label_breakdown(selected, sex, "f", qid=lists, threshold=0.8)
    >>> round(found.value, 2), round(found.breakdown, 2)
    (0.49, 0.67)
    """
    limits: Any = {"level": Number(0, 1, open_low=True, open_high=True), "n_boot": Integer(2)}
    check_params("label_breakdown", {"level": level, "n_boot": n_boot}, limits)
    model, column = given_model(
        values, sensitive_features, qid, position, groups, label_error, None
    )
    code, seed = model.attribute.code(protected), as_seed(random_state)
    if threshold is not None:
        check_params("label_breakdown", {"threshold": threshold}, {"threshold": Number(0)})
        inputs.refuse("values", column, column < 0, "at least 0 with a threshold")
        return check_threshold(
            model, code, column, threshold=threshold, level=level, n_boot=n_boot, seed=seed
        )
    return check_parity(model, code, column, level=level, n_boot=n_boot, seed=seed)


def check_parity(
    model: LabelModel, code: int, values: np.ndarray, *, level: float, n_boot: int, seed: int
) -> LabelBreakdown:
    """Return whether a difference holds, for values whose rows are those of a model."""
    reason = model.refusal(code)
    if np.ptp(values) == 0:
        reason = reason or "all values are equal"
    sums = kept_sums(model, code, values)
    point = dict(zip(COLUMNS, sums.point().tolist(), strict=True))
    bounds = point["sure"] + point["below"], point["sure"] + point["above"]
    scale = point["pairs"]
    if reason or not scale > 0:
        reason = reason or "the group, or everyone else, is empty in all lists"
        return LabelBreakdown(reason=reason)
    path = _variances(sums, n_boot, seed)
    many = model.n_lists >= FEWEST_LISTS
    c = student(level, sums.n_units - 1 if many else np.inf)
    n0, worst = point["centred"], bounds[0] if point["centred"] > 0 else bounds[1]
    half = c * sqrt(path.start)
    outer = (np.nan, np.nan)
    if model.kind in ("known", "missing", "probabilities"):
        errors = [sqrt(path.ends[at]) * path.longer(at, level) for at in (0, 1)]
        outer = imbens_manski(*bounds, *errors, level=level)[:2]
    found: dict[str, Any] = {}
    if model.attribute.n_unknown and model.kind != "checked":
        found["breakdown"] = n0 / (n0 - worst) if n0 * worst <= 0 and n0 else NONE
        found["breakdown_interval"] = _breakdown_interval(n0, worst, path, c)
        found |= _tipping(model, code, sums.centred, point["sure"])
    return LabelBreakdown(
        *(number / scale for number in (n0, n0 - half, n0 + half, *bounds, *outer)), **found
    )


def check_threshold(
    model: LabelModel,
    code: int,
    values: np.ndarray,
    *,
    threshold: float,
    level: float,
    n_boot: int,
    seed: int,
) -> LabelBreakdown:
    """Return how many labels would move a ratio of means within lists to a threshold.

    The ratio is that of Mantel and Haenszel, ``sum s m / N`` divided by ``sum t n / N`` with sums s
    and t and numbers n and m of both sides of a list. On the path from imputed memberships to the
    least favourable labels both sums are quadratic in the share of such labels, so that three
    points of the path, each with its replicates, are the whole path.
    """
    reason = model.refusal(code)
    if model.n_lists < FEWEST_LISTS:
        reason = reason or f"fewer than {FEWEST_LISTS} lists"
    if model.kind not in ("missing", "matrix") or not model.attribute.n_unknown:
        reason = reason or "the labels of unknown people are not imputed"
    if reason:
        return LabelBreakdown(reason=reason)
    sums = kept_sums(model, code, values)
    centred, other = (COLUMNS.index(name) for name in ("centred", "other"))

    def parts(found: np.ndarray) -> np.ndarray:
        return np.stack([found[..., centred] + found[..., other], found[..., other]], axis=-1)

    start, drawn = parts(sums.point()), parts(sums.replicates(n_boot, seed))
    c = student(level, sums.n_units - 1)
    wider = sums.n_units / (sums.n_units - 1.0)
    ratio = fieller(start, wider * np.cov(drawn, rowvar=False), c)
    if isnan(ratio.value):
        return LabelBreakdown(reason="the mean of everyone else could be 0")
    upwards = ratio.value < threshold
    favoured = (sums.centred > 0) == upwards
    path, replicates = [start], [drawn]
    for share in (0.5, 1.0):
        sums = membership_sums(model, code, values, favoured, share)
        path.append(parts(sums.point()))
        replicates.append(parts(sums.replicates(n_boot, seed)))
    grid = np.linspace(0.0, 1.0, 1001)
    weights, apart = _through_points(grid), np.array([1.0, -threshold])
    value = (-1.0 if upwards else 1.0) * (weights @ np.stack(path) @ apart)
    spread = (weights @ (np.stack(replicates) @ apart)).std(axis=1, ddof=1)
    found = []
    for width in (0.0, c * sqrt(wider)):
        reached = np.flatnonzero(value <= width * spread)
        found.append(float(grid[reached[0]]) if len(reached) else NONE)
    return LabelBreakdown(*ratio, breakdown=found[0], breakdown_interval=found[1])


def _through_points(share: np.ndarray) -> np.ndarray:
    """Return the weights of the values at 0, 1/2 and 1 in the parabola through them.

    Examples
    --------
    >>> _through_points(np.array([0.25])).tolist()
    [[0.375, 0.75, -0.125]]
    """
    first = (1.0 - share) * (1.0 - 2.0 * share)
    return np.stack([first, 4.0 * share * (1.0 - share), share * (2.0 * share - 1.0)], axis=1)


@dataclass(frozen=True, eq=False)
class _Variances:
    """Variances of the centred sum: imputed, at both bounds, and between imputed and worst."""

    start: float
    ends: tuple[float, float]
    shared: tuple[float, float]
    lists: np.ndarray | None = None

    def longer(self, at: int, level: float) -> float:
        """Return the factor for lists that are skewed."""
        if self.lists is None:
            return 1.0
        parts = np.zeros((len(self.lists), 4))
        parts[:, 0], parts[:, 1] = self.lists[:, at], 1.0
        return skewness_factor(parts, "mean", level, at == 1)

    def mixed(self, share: float, at: int) -> float:
        """Return the variance if a share of the unknown has the worst label."""
        rest = 1.0 - share
        mixed = 2 * share * rest * self.shared[at]
        return rest**2 * self.start + mixed + share**2 * self.ends[at]


def _variances(sums: MembershipSums, n_boot: int, seed: int) -> _Variances:
    """Return variances over lists, or over people if there are few lists."""
    if sums.model.n_lists < FEWEST_LISTS:
        return _people_variances(sums)
    drawn = sums.replicates(n_boot, seed)
    sure, below, above = (drawn[:, COLUMNS.index(name)] for name in ("sure", "below", "above"))
    columns = np.stack([drawn[:, COLUMNS.index("centred")], sure + below, sure + above])
    cov = np.cov(columns) * sums.n_units / (sums.n_units - 1.0)
    if sums.by_class is None:
        each = sums.list_parts
        lists = each[:, 4:5] + each[:, 8:10]
    else:
        values = sums.model.class_values(sums.code, sums.model.inverse)
        sure_lists = sums.by_class[2][:, : len(values)] @ values
        lists = sure_lists[:, None] + sums.whole[:, 2:4]
    return _Variances(cov[0, 0], (cov[1, 1], cov[2, 2]), (cov[0, 1], cov[0, 2]), lists)


def _people_variances(sums: MembershipSums) -> _Variances:
    """Return variances over people of these lists.

    The imputed sum is ``sum a (c + C / n)`` over known people, with n known people of the band and
    C the centred values of its unknown people.
    """
    model = sums.model
    known, band = model.attribute.known, model.band
    a = np.nan_to_num(model.memberships(sums.code))
    rows = known if known.any() else np.ones(len(a), dtype=bool)
    spread = float(a[rows].var()) * len(a[rows]) / max(rows.sum() - 1, 1)
    c = sums.centred
    unknown = np.bincount(band, np.where(known, 0.0, c), int(band.max()) + 1)
    number = np.bincount(band, known, int(band.max()) + 1)
    weight = c + unknown[band] / (number[band] + 1.0)
    if model.kind in ("checked", "probabilities"):
        rows, weight = np.ones(len(a), dtype=bool), c
        spread = float(a.var())
    start, end = (spread * float((w[rows] ** 2).sum()) for w in (weight, c))
    both = spread * float((weight[rows] * c[rows]).sum())
    return _Variances(start, (end, end), (both, both))


def _breakdown_interval(n0: float, worst: float, path: _Variances, c: float) -> float:
    """Return the smallest share of worst labels at which the interval contains 0, by bisection."""
    at = 0 if n0 > 0 else 1

    def contains(share: float) -> bool:
        value = (1.0 - share) * n0 + share * worst
        return value * n0 <= 0 or abs(value) <= c * sqrt(max(path.mixed(share, at), 0.0))

    grid = np.linspace(0.0, 1.0, 101)
    first = next((share for share in grid if contains(share)), None)
    if first is None:
        return NONE
    low, high = max(first - 0.01, 0.0), float(first)
    for _ in range(30):
        middle = (low + high) / 2.0
        low, high = (low, middle) if contains(middle) else (middle, high)
    return float(high) if first > 0 else 0.0


def _tipping(model: LabelModel, code: int, centred: np.ndarray, sure: float) -> dict[str, float]:
    """Return the share of unknown people in the group at which the difference is 0."""
    rows = np.flatnonzero(~model.attribute.known)
    chance = np.clip(np.nan_to_num(model.memberships(code)[rows], nan=0.5), 1e-6, 1 - 1e-6)
    logits, at = np.unique(np.round(np.log(chance / (1 - chance)), 3), return_inverse=True)
    number = np.bincount(at, minlength=len(logits))
    sums = np.bincount(at, centred[rows], len(logits))

    def shares(shift: Any) -> np.ndarray:
        return np.asarray(1.0 / (1.0 + np.exp(-(logits + np.asarray(shift)[..., None]))))

    def value(shift: Any) -> np.ndarray:
        return np.asarray(sure + shares(shift) @ sums)

    grid = np.linspace(-MOST_SHIFT, MOST_SHIFT, 193)
    found = value(grid)
    turns = np.flatnonzero(found[1:] * found[:-1] <= 0)
    expected = float(shares(0.0) @ number / number.sum())
    if len(turns) == 0:
        return {"tipping_share": NONE, "expected_share": expected}
    begin = turns[np.abs(grid[turns] + grid[turns + 1]).argmin()]
    low, high = float(grid[begin]), float(grid[begin + 1])
    at_low = value(low)
    for _ in range(50):
        middle = (low + high) / 2.0
        at_middle = value(middle)
        if at_low * at_middle <= 0:
            high = middle
        else:
            low, at_low = middle, at_middle
    share = float(divide(shares(high) @ number, number.sum()))
    return {"tipping_share": share, "expected_share": expected}
