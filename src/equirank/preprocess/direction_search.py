"""Search of fair directions among many, where an exact sweep is out of reach."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..core.extras import progress

__all__ = ["Found", "angle_between", "search", "top_rows"]

#: How many of the nearest fair samples are walked back towards the asked direction.
NEAREST = 8
HALVINGS = 40


class Found(NamedTuple):
    """The nearest fair direction, or None, and the share of sampled directions that are fair."""

    direction: np.ndarray | None
    share: float


def search(
    fair: Callable[[np.ndarray], bool],
    asked: np.ndarray,
    n_samples: int,
    n_refine: int,
    rng: np.random.Generator,
) -> Found:
    """Find the fair direction nearest to the asked one: sample, walk back, try the surroundings.

    Directions are of length 1 without negative parts, sampled evenly.
    """
    samples = np.abs(rng.normal(size=(n_samples, len(asked))))
    samples /= np.linalg.norm(samples, axis=1, keepdims=True)
    good = np.array(
        [fair(sample) for sample in progress(samples, "FairScoringWeights: directions")]
    )
    share = float(good.mean())
    if fair(asked):
        return Found(asked, share)
    candidates = samples[good]
    if not len(candidates):
        candidates = np.array([w for w in _around(asked, n_refine, rng) if fair(w)])
        if not len(candidates):
            return Found(None, share)
    nearest = np.argsort(angle_between(candidates, asked), kind="stable")[:NEAREST]
    best, far = candidates[nearest[0]], np.inf
    for candidate in candidates[nearest]:
        back = _walk_back(fair, asked, candidate)
        if angle_between(back, asked) < far:
            best, far = back, float(angle_between(back, asked))
    for step in range(n_refine):
        reach = far * 0.5 ** (5 * step / max(1, n_refine - 1))
        other = np.abs(best + reach * rng.normal(size=len(asked)) / np.sqrt(len(asked)))
        other /= np.linalg.norm(other)
        if angle_between(other, asked) < 0.999 * far and fair(other):
            best = _walk_back(fair, asked, other)
            far = float(angle_between(best, asked))
    return Found(best, share)


def _around(asked: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Give directions near the asked one, at reaches from wide to narrow."""
    reach = np.geomspace(0.5, 1e-3, n)[:, None]
    near = np.abs(asked + reach * rng.normal(size=(n, len(asked))))
    return np.asarray(near / np.linalg.norm(near, axis=1, keepdims=True))


def _walk_back(
    fair: Callable[[np.ndarray], bool], asked: np.ndarray, good: np.ndarray
) -> np.ndarray:
    """Halve the way from a fair direction to the asked one, and stay on the fair side."""
    bad = asked
    for _ in range(HALVINGS):
        middle = good + bad
        middle = middle / np.linalg.norm(middle)
        if fair(middle):
            good = middle
        else:
            bad = middle
    return good


def angle_between(directions: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Give the angle in radians between directions of length 1, exact also where it is small."""
    gap = np.linalg.norm(directions - other, axis=-1)
    return 2.0 * np.arcsin(np.minimum(gap / 2.0, 1.0))


def top_rows(score: np.ndarray, depth: int) -> np.ndarray:
    """Give the first ``depth`` rows by score, the earlier row first where scores are equal."""
    if 4 * depth >= len(score):
        return np.argsort(-score, kind="stable")[:depth]
    least = np.partition(score, len(score) - depth)[len(score) - depth]
    rows = np.flatnonzero(score >= least)
    return rows[np.argsort(-score[rows], kind="stable")][:depth]
