"""The exact distribution of a count over 2 x 2 tables with fixed margins, and its tails.

In table ``l`` there are ``n1`` people in the group, ``n2`` in the reference, and ``m`` selected
among both. Given these, the number of selected people of the group is hypergeometric, and its sum
over tables is the convolution of the hypergeometric distributions.

Tails are computed under an exponential tilt: the distribution with probabilities proportional to
``f(s) exp(theta s)`` is centred on the point of interest, convolved directly (all terms are
positive), and tilted back. No term underflows, so tails have full relative accuracy however small
they are.
"""

import heapq
from math import exp, inf, log1p
from typing import NamedTuple

import numpy as np

__all__ = ["MOST_STEPS", "Tails", "TooLarge", "conditional_tails", "expected_cell", "log_pmf"]


#: Most multiplications of one convolution.
MOST_STEPS = 10_000_000_000
#: Most entries of the distributions of single tables that are held at once.
MOST_ENTRIES = 50_000_000
#: Probabilities under this share of the largest are cut off while distributions are convolved.
CUT = 1e-32
#: Probabilities under this share of the largest are not used to locate the other tail.
TRUSTED = 1e-14
#: A table counts as equally probable if its probability exceeds the observed one by this share.
TIED = 1e-7
#: Largest tilt, the log of an odds ratio: larger ones centre no table that fits in memory.
MOST_TILT = 250.0
#: Errors of Stirling's formula for 0! to 15!; that of 0! is not used.
STIRLING = np.array([
    0.0, 0.08106146679532726, 0.0413406959554093, 0.02767792568499834, 0.020790672103765093,
    0.016644691189821193, 0.013876128823070748, 0.01189670994589177, 0.010411265261972096,
    0.009255462182712733, 0.00833056343336287, 0.007573675487951841, 0.00694284010720953,
    0.006408994188004207, 0.0059513701127588475, 0.005554733551962801,
])  # fmt: skip


class TooLarge(Exception):
    """The distribution would take too many steps; the argument is their number."""


class Tails(NamedTuple):
    """The observed probability and the two-sided p-value of a sum over tables."""

    probability: float
    p_value: float


def expected_cell(n1: np.ndarray, n2: np.ndarray, m: np.ndarray, odds: float) -> np.ndarray:
    """Return the cell A of each table with the given odds ratio and margins.

    ``A (n2 - m + A) = odds (n1 - A) (m - A)``, the root between the ends of A. It is the mode of
    the tilted distribution up to rounding, with ``odds = exp(theta)``.
    """
    if odds == inf:
        return np.minimum(n1, m)
    linear = n2 - m + odds * (n1 + m)
    product = odds * n1 * m
    root = np.sqrt(np.maximum(linear**2 + 4.0 * (1.0 - odds) * product, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        forward = 2.0 * product / (linear + root)
        backward = (root - linear) / (2.0 * (1.0 - odds))
    cell = np.where(linear > 0, forward, backward if odds < 1.0 else 0.0)
    return np.clip(cell, np.maximum(m - n2, 0.0), np.minimum(n1, m))


def _stirling_series(n: np.ndarray) -> np.ndarray:
    inverse = 1.0 / np.maximum(n, 1.0)
    square = inverse * inverse
    series = 1 / 1260 - square * (1 / 1680 - square * (1 / 1188 - square * (691 / 360360)))
    return np.asarray(inverse * (1 / 12 - square * (1 / 360 - square * series)))


#: Errors of Stirling's formula for the numbers of most tables.
STIRLING_TABLE = np.concatenate([STIRLING, _stirling_series(np.arange(len(STIRLING), 4096.0))])


def _stirling_error(n: np.ndarray) -> np.ndarray:
    """Return ``log n! - log(sqrt(2 pi n) (n/e)^n)`` of whole numbers."""
    small = n < len(STIRLING_TABLE)
    if small.all():
        return STIRLING_TABLE[n.astype(np.int64)]
    return np.where(
        small, STIRLING_TABLE[np.where(small, n, 0).astype(np.int64)], _stirling_series(n)
    )


def _deviance(x: np.ndarray, mean: np.ndarray) -> np.ndarray:
    """Return ``x log(x / mean) + mean - x`` without cancellation; x and mean are positive."""
    relative = (x - mean) / (x + mean)
    square = relative * relative
    total = np.zeros_like(relative)
    for j in range(10, 0, -1):
        total += 1.0 / (2 * j + 1)
        total *= square
    near = (x - mean) * relative + 2.0 * x * relative * total
    return np.where(np.abs(relative) < 0.1, near, x * np.log(x / mean) + mean - x)


def _log_binomial(x: np.ndarray, n: np.ndarray, m: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Return the log-probability of x among n with the chance ``m / whole``, in (0, 1)."""
    chance, other = m / whole, (whole - m) / whole
    inside = (x > 0) & (x < n)
    y, left, size = np.where(inside, x, 1.0), np.where(inside, n - x, 1.0), np.where(inside, n, 2.0)
    value = _stirling_error(size) - _stirling_error(y) - _stirling_error(left)
    value -= _deviance(y, size * m / whole) + _deviance(left, size * (whole - m) / whole)
    value += 0.5 * np.log(size / (2.0 * np.pi * y * left))
    ends = np.where(
        x > 0,
        n * np.where(chance < 0.5, np.log(chance), np.log1p(-other)),
        n * np.where(chance < 0.5, np.log1p(-chance), np.log(other)),
    )
    return np.where(inside, value, np.where(n > 0, ends, 0.0))


def log_pmf(k: np.ndarray, n1: np.ndarray, n2: np.ndarray, m: np.ndarray) -> np.ndarray:
    """Return the log of the hypergeometric probability of k; 0 < m < n1 + n2.

    Written as a quotient of binomial probabilities (Loader, 2000), it is accurate to some units in
    the last place for tables of any size.

    Examples
    --------
    >>> n1, n2, m = np.array([2.0]), np.array([2.0]), np.array([2.0])
    >>> np.exp(log_pmf(np.array([1.0]), n1, n2, m)).round(12)
    array([0.66666667])
    """
    whole = n1 + n2
    value = _log_binomial(k, n1, m, whole) + _log_binomial(m - k, n2, m, whole)
    return value - _log_binomial(m, whole, m, whole)


def _spread(cell: np.ndarray, n1: np.ndarray, n2: np.ndarray, m: np.ndarray) -> np.ndarray:
    """Return the approximate variance of a tilted cell, which is also its slope in the tilt."""
    with np.errstate(divide="ignore"):
        return 1.0 / (1.0 / cell + 1.0 / (n1 - cell) + 1.0 / (m - cell) + 1.0 / (n2 - m + cell))


def _tilt(total: float, n1: np.ndarray, n2: np.ndarray, m: np.ndarray) -> float:
    """Return a tilt that centres the distribution on a total, near enough, by Newton's method."""
    low, high, theta = -MOST_TILT, MOST_TILT, 0.0
    while True:
        cell = expected_cell(n1, n2, m, exp(theta))
        lacking = total - float(cell.sum())
        low, high = (theta, high) if lacking > 0 else (low, theta)
        if abs(lacking) <= 0.05 or high - low < 1e-9:
            return theta
        slope = float(_spread(cell, n1, n2, m).sum())
        theta = theta + lacking / slope if slope > 0 else inf
        if not low < theta < high:
            theta = 0.5 * (low + high)


class _Tilted(NamedTuple):
    """Log-probabilities of the totals from ``first`` on, and which of them are accurate."""

    first: int
    log_f: np.ndarray
    trusted: slice


def _tilted(total: int, n1: np.ndarray, n2: np.ndarray, m: np.ndarray) -> _Tilted:
    """Return the distribution of the total in a window around one of its values."""
    ends = np.maximum(m - n2, 0.0).sum(), np.minimum(n1, m).sum()
    # Half a person from the ends the neighbours of the end keep a share of the distribution.
    theta = _tilt(float(np.clip(total, ends[0] + 0.5, ends[1] - 0.5)), n1, n2, m)
    centre = expected_cell(n1, n2, m, exp(theta))
    variance = _spread(centre, n1, n2, m)
    # By Bernstein's inequality less than 1e-25 of the distribution is outside.
    half = np.ceil(12.0 * np.sqrt(variance) + 40.0)
    low = np.maximum(np.floor(centre) - half, np.maximum(m - n2, 0.0))
    high = np.minimum(np.ceil(centre) + half, np.minimum(n1, m))
    width = (high - low).astype(np.int64) + 1
    if width.sum() > MOST_ENTRIES:
        raise TooLarge(float(width.sum()) ** 2)
    log_moment, parts = 0.0, []
    octave = np.ceil(np.log2(width)).astype(np.int64)
    for size in np.unique(octave):
        rows = np.flatnonzero(octave == size)
        k = low[rows, None] + np.arange(width[rows].max())
        inside = k <= high[rows, None]
        k = np.minimum(k, high[rows, None])
        logs = log_pmf(k, n1[rows, None], n2[rows, None], m[rows, None])
        logs += theta * (k - low[rows, None])
        logs[~inside] = -inf
        top = logs.max(axis=1, keepdims=True)
        weights = np.exp(logs - top)
        sums = weights.sum(axis=1, keepdims=True)
        log_moment += float((top + np.log(sums)).sum())
        parts += list(zip(low[rows].astype(np.int64).tolist(), weights / sums, strict=True))
    first, mass = _convolved(parts)
    with np.errstate(divide="ignore"):
        steps = first - int(low.sum()) + np.arange(len(mass))
        log_f = np.log(mass) - theta * steps + log_moment
    good = np.flatnonzero(mass >= TRUSTED * mass.max())
    return _Tilted(first, log_f, slice(int(good[0]), int(good[-1]) + 1))


def _trimmed(first: int, mass: np.ndarray) -> tuple[int, np.ndarray]:
    kept = np.flatnonzero(mass > CUT * mass.max())
    return first + int(kept[0]), mass[kept[0] : kept[-1] + 1]


def _convolved(parts: list[tuple[int, np.ndarray]]) -> tuple[int, np.ndarray]:
    """Return the distribution of a sum, from those of its terms; the shortest are joined first."""
    queue = []
    for at, (first, mass) in enumerate(parts):
        first, mass = _trimmed(first, mass)
        queue.append((len(mass), at, first, mass))
    heapq.heapify(queue)
    steps, at = 0.0, len(queue)
    while len(queue) > 1:
        n, _, first, mass = heapq.heappop(queue)
        n_other, _, other_first, other = heapq.heappop(queue)
        steps += float(n) * n_other
        if steps > MOST_STEPS:
            raise TooLarge(steps)
        first, mass = _trimmed(first + other_first, np.convolve(mass, other))
        heapq.heappush(queue, (len(mass), at, first, mass))
        at += 1
    _, _, first, mass = queue[0]
    return first, mass


def conditional_tails(total: int, n1: np.ndarray, n2: np.ndarray, m: np.ndarray) -> Tails:
    """Return the probability of a total over tables, and of all totals that are no more probable.

    The p-value sums the probabilities at most ``1 + 1e-7`` times the observed one. A sum of
    independent Bernoulli variables has that distribution: it is log-concave, with the mode less
    than 1 from the mean, so the sum consists of two tails.

    Parameters
    ----------
    total : int
        Selected people of the group over all tables.
    n1, n2, m : ndarray of float
        Whole numbers of people and selected people per table.

    Raises
    ------
    TooLarge
        If a convolution needs more than `MOST_STEPS` multiplications.

    Examples
    --------
    >>> tails = conditional_tails(1, np.array([4.0]), np.array([4.0]), np.array([4.0]))
    >>> round(tails.probability * 70, 9), round(tails.p_value * 70, 9)
    (16.0, 34.0)
    """
    free = np.minimum(n1, m) > np.maximum(m - n2, 0.0)
    total -= int(np.maximum(m - n2, 0.0)[~free].sum())
    n1, n2, m = n1[free], n2[free], m[free]
    if len(n1) == 0:
        return Tails(1.0, 1.0)
    ends = int(np.maximum(m - n2, 0.0).sum()), int(np.minimum(n1, m).sum())
    mean = float((n1 * m / (n1 + n2)).sum())
    below = total <= mean
    near = _tilted(total, n1, n2, m)
    at = total - near.first
    observed = float(near.log_f[at])
    outward = near.log_f[: at + 1] if below else near.log_f[at:]
    first_tail = float(np.exp(outward - observed).sum())
    second_tail = _other_tail(total, observed, below, mean, ends, (n1, n2, m))
    probability = exp(observed)
    return Tails(probability, min(probability * (first_tail + second_tail), 1.0))


def _other_tail(
    total: int,
    observed: float,
    below: bool,
    mean: float,
    ends: tuple[int, int],
    tables: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> float:
    """Return the tail on the other side of the mode, divided by the observed probability."""
    step = 1 if below else -1
    nearest, farthest = total + step, ends[1] if below else ends[0]
    if (farthest - nearest) * step < 0:
        return 0.0
    guess = round(2.0 * mean - total)
    limit = observed + log1p(TIED)
    while True:
        guess = min(max(guess, min(nearest, farthest)), max(nearest, farthest))
        found = _tilted(guess, *tables)
        last = found.first + len(found.log_f) - 1
        # From here on distances are counted from the observed total, outward.
        log_f = found.log_f if below else found.log_f[::-1]
        start = (found.first - nearest) if below else (nearest - last)
        good = found.trusted
        good_first, good_last = good.start, good.stop - 1
        if not below:
            good_first, good_last = len(log_f) - good.stop, len(log_f) - 1 - good.start
        good_first = max(good_first, -start)
        rare = log_f[good_first : good_last + 1] <= limit
        if rare.all() and start + good_first > 0:
            guess = nearest + step * (start + good_first - 1)
        elif not rare.any():
            if start + good_last >= (farthest - nearest) * step:
                return 0.0
            guess = nearest + step * (start + good_last + 1)
        else:
            return float(np.exp(log_f[good_first + int(rare.argmax()) :] - observed).sum())
