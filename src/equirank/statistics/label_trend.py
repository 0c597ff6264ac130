"""Shares of groups along one list, drawn from their posterior, where bands alone have few people.

In a band of one list with four people, the share of a group is hardly known. So the shares follow
a trend, ``softmax(a + b x)`` at the depth x of a band, from which a band deviates as much as its
people say: the trend counts like `TREND_PEOPLE` people of the band.
"""

from collections.abc import Callable

import numpy as np

from ..core.attribute import LabelError

__all__ = ["trend_shares"]

#: People of a band that the trend counts for.
TREND_PEOPLE = 15.0
#: Standard deviation of the normal prior of levels and slopes.
PRIOR_SPREAD = 2.5
#: Proposals from which trends are drawn, degrees of freedom of their distribution, and its width.
PROPOSALS, FREEDOM, WIDER = 3000, 5.0, 1.2
#: Times that labels and shares are drawn in turn where labels were recorded with errors.
SWEEPS = 5
#: Most steps of Newton's method, the step that ends them, and that of differences.
NEWTON_STEPS, NEWTON_END, STEP = 30, 1e-4, 1e-2


def trend_shares(
    counts: np.ndarray,
    error: LabelError | None,
    matrices: np.ndarray | None,
    number: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Draw the shares of groups in each band of a list several times.

    Parameters
    ----------
    counts : ndarray of shape (bands, classes)
        People by band and recorded label, or stratum times recorded label.
    error : LabelError or None
        How labels were recorded.
    matrices : ndarray of shape (number, strata, groups, groups) or None
        The matrix, for each draw.
    number : int
        Number of draws.
    rng : Generator
        Source of random numbers.

    Returns
    -------
    ndarray of shape (number, bands, groups)
        The trend is drawn by importance sampling around its mode; with errors, labels and shares
        are then drawn in turn.
    """
    groups = counts.shape[1] if error is None else error.matrix.shape[-1]
    chances = np.eye(groups) if error is None else np.concatenate(list(error.matrix), axis=1)
    trend = _drawn_trends(counts, chances, number, rng)
    if error is None or matrices is None:
        return _normalized(rng.gamma(counts + TREND_PEOPLE * trend))
    # (number, classes, groups): the chance of the recorded label of a class, by true group
    recorded = np.moveaxis(matrices, 2, 3).reshape(number, -1, groups)
    share = trend
    for _ in range(SWEEPS):
        chance = _normalized(share[:, :, None, :] * recorded[:, None])
        people = rng.multinomial(counts.astype(np.int64), chance).sum(axis=2)
        share = _normalized(rng.gamma(people + TREND_PEOPLE * trend))
    return share


def _drawn_trends(
    counts: np.ndarray, chances: np.ndarray, number: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw trends from their posterior; ``chances`` has the axes (group, class)."""
    bands, size = len(counts), 2 * (len(chances) - 1)
    if size == 0:
        return np.ones((number, bands, 1))

    def loss(theta: np.ndarray) -> np.ndarray:
        likely = np.log(np.maximum(_trend(theta, bands) @ chances, 1e-300))
        fit = (counts * likely).sum(axis=(-2, -1))
        return np.asarray((theta**2).sum(axis=-1) / (2.0 * PRIOR_SPREAD**2) - fit)

    mode, root = _mode(loss, size)
    draws = rng.normal(size=(PROPOSALS, size))
    draws *= np.sqrt(FREEDOM / rng.chisquare(FREEDOM, size=(PROPOSALS, 1)))
    theta = mode + WIDER * draws @ root.T
    proposed = -(FREEDOM + size) / 2.0 * np.log1p((draws**2).sum(axis=1) / FREEDOM)
    weight = -loss(theta) - proposed
    weight = np.exp(weight - weight.max())
    chosen = rng.choice(PROPOSALS, number, p=weight / weight.sum())
    return _trend(theta[chosen], bands)


def _mode(loss: Callable[[np.ndarray], np.ndarray], size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return where a loss is least, and the root of its inverse curvature, by Newton's method.

    Examples
    --------
    >>> mode, root = _mode(lambda theta: 2.0 * ((theta - 3.0) ** 2).sum(axis=-1), 1)
    >>> mode.round(6).tolist(), abs(root).round(6).tolist()
    ([3.0], [[0.5]])
    """
    theta, root = np.zeros(size), np.eye(size)
    one, two = STEP * np.eye(size)[:, None], STEP * np.eye(size)[None]
    for _ in range(NEWTON_STEPS):
        steps = np.stack([one + two, -one - two, one - two, two - one])
        up, down, *mixed = loss(theta + steps)
        curvature = (up + down - mixed[0] - mixed[1]) / (4.0 * STEP**2)
        slope = (loss(theta + one[:, 0]) - loss(theta - one[:, 0])) / (2.0 * STEP)
        values, vectors = np.linalg.eigh((curvature + curvature.T) / 2.0)
        root = vectors / np.sqrt(np.maximum(values, 1.0 / PRIOR_SPREAD**2))
        move = root @ (root.T @ slope)
        tried = theta - np.array([[1.0], [0.5], [0.2], [0.05], [0.0]]) * move
        theta = tried[int(loss(tried).argmin())]
        if np.abs(move).max() < NEWTON_END:
            break
    return theta, root


def _trend(theta: np.ndarray, bands: int) -> np.ndarray:
    """Return the shares of groups by band; the last group has the logit 0.

    Examples
    --------
    >>> _trend(np.array([0.0, np.log(9.0)]), 3).round(2).tolist()
    [[0.19, 0.81], [0.5, 0.5], [0.81, 0.19]]
    """
    level, slope = np.moveaxis(theta.reshape(*theta.shape[:-1], -1, 2), -1, 0)
    depth = (2.0 * np.arange(bands) + 1.0) / bands - 1.0
    logit = level[..., None, :] + slope[..., None, :] * depth[:, None]
    logit = np.concatenate([logit, np.zeros((*logit.shape[:-1], 1))], axis=-1)
    return _normalized(np.exp(logit - logit.max(axis=-1, keepdims=True)))


def _normalized(parts: np.ndarray) -> np.ndarray:
    """Return the parts divided by their sum over the last axis."""
    return np.asarray(parts / np.maximum(parts.sum(axis=-1, keepdims=True), 1e-300))
