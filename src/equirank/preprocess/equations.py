"""Structural equations: each node from its causes, one set of coefficients per group."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from ..core.errors import DataError
from ..kernels.logistic import logistic, logistic_coefficients

__all__ = ["Equation", "People", "fit_equation"]


@dataclass(frozen=True)
class People:
    """Columns of numbers, and for each protected attribute a code per row and its labels."""

    values: Mapping[str, np.ndarray]
    codes: Mapping[str, np.ndarray]
    labels: Mapping[str, tuple[Any, ...]]

    @property
    def n(self) -> int:
        """How many."""
        return len(next(iter(self.codes.values())))

    def joint(self, attributes: Sequence[str]) -> np.ndarray:
        """Code the crossing of attributes; 0 everywhere without any."""
        code = np.zeros(self.n, dtype=np.int64)
        for name in attributes:
            code = code * len(self.labels[name]) + self.codes[name]
        return code

    def words(self, attributes: Sequence[str], code: int) -> str:
        """Give the label of a joint code."""
        parts = []
        for name in reversed(attributes):
            code, at = divmod(code, len(self.labels[name]))
            parts.append(str(self.labels[name][at]))
        return " & ".join(reversed(parts))

    def size(self, attributes: Sequence[str]) -> int:
        """Count the joint codes, those that do not occur among them."""
        return int(np.prod([len(self.labels[name]) for name in attributes], dtype=np.int64))

    def having(self, values: Mapping[str, np.ndarray]) -> "People":
        """Replace some columns."""
        return People({**self.values, **values}, self.codes, self.labels)

    def being(self, group: Mapping[str, int]) -> "People":
        """Put everybody into one group (a code per attribute)."""
        codes = {name: np.full(self.n, code) for name, code in group.items()}
        return People(self.values, {**self.codes, **codes}, self.labels)

    def take(self, rows: np.ndarray) -> "People":
        """Keep some rows."""
        return People(
            {name: column[rows] for name, column in self.values.items()},
            {name: codes[rows] for name, codes in self.codes.items()},
            self.labels,
        )


@dataclass(frozen=True)
class Equation:
    """One node as a function of its causes.

    Attributes
    ----------
    node : str
        The effect.
    by, causes : tuple of str
        Its protected causes, and all others.
    kind : {"linear", "logistic", "plugged"}
        How it was fitted.
    coef : ndarray of shape (n_groups, 1 + n_causes)
        Intercept and slopes per group of the protected causes; NaN for groups not seen.
    ends : tuple of float, optional
        The two values of a node with two.
    model : object, optional
        A fitted scikit-learn model.
    """

    node: str
    by: tuple[str, ...]
    causes: tuple[str, ...]
    kind: str
    coef: np.ndarray
    ends: tuple[float, float] | None = None
    model: Any = None

    def expect(self, people: People) -> np.ndarray:
        """Give what the equation expects; of a node with two values the chance of the upper."""
        if self.kind == "plugged":
            design = _plugged_design(people, self.by, self.causes)
            if self.ends is None:
                return np.asarray(self.model.predict(design), dtype=np.float64)
            return np.asarray(self.model.predict_proba(design)[:, 1], dtype=np.float64)
        joint = people.joint(self.by)
        eta = self.coef[joint, 0]
        for at, cause in enumerate(self.causes, start=1):
            eta = eta + self.coef[joint, at] * people.values[cause]
        if np.isnan(eta).any():
            row = int(np.flatnonzero(np.isnan(eta))[0])
            raise DataError(
                f"{' and '.join(self.by)} must be a group seen in fit, got "
                f"{people.words(self.by, int(joint[row]))!r} in row {row}"
            )
        return logistic(eta) if self.kind == "logistic" else eta

    def move(self, own: People, other: People) -> np.ndarray:
        """Give the node as it would be in the other world, each person keeping their residual.

        A node with two values keeps the person's luck: where the chance of the upper value moves
        from p to q, those who have it keep it with chance ``min(1, q / p)``, those who have not
        get it with chance ``max(0, (q - p) / (1 - p))``; what is given is the expected value.
        """
        before, after = self.expect(own), self.expect(other)
        value = own.values[self.node]
        if self.ends is None:
            return value + (after - before)
        low, high = self.ends
        share = (value - low) / (high - low)
        keep = np.minimum(1.0, after / np.maximum(before, 1e-300))
        gain = np.maximum(0.0, (after - before) / np.maximum(1.0 - before, 1e-300))
        chance = share * keep + (1.0 - share) * np.minimum(1.0, gain)
        return np.where(after == before, value, low + (high - low) * chance)


def fit_equation(
    people: People,
    node: str,
    by: tuple[str, ...],
    causes: tuple[str, ...],
    *,
    binary: bool,
    regressor: Any = None,
    classifier: Any = None,
) -> Equation:
    """Fit a node on its causes: least squares or logistic per group, or a plugged-in model."""
    target = people.values[node]
    ends = (float(target.min()), float(target.max())) if binary else None
    plugged = classifier if binary else regressor
    none = np.empty((0, 0))
    if plugged is not None:
        model = clone(plugged)
        design = _plugged_design(people, by, causes)
        model.fit(design, target == target.max() if binary else target)
        return Equation(node, by, causes, "plugged", none, ends, model)
    hit = (target == target.max()).astype(np.float64)
    coef = np.full((people.size(by), 1 + len(causes)), np.nan)
    joint = people.joint(by)
    for code in np.unique(joint):
        rows = np.flatnonzero(joint == code)
        if len(rows) < coef.shape[1]:
            raise DataError(
                f"group {people.words(by, int(code))!r} has {len(rows)} rows, and the equation of "
                f"{node!r} needs {coef.shape[1]} at least; merge groups or leave them out"
            )
        parts = [people.values[cause][rows] for cause in causes]
        coef[code] = _logistic(parts, hit[rows]) if binary else _linear(parts, target[rows])
    return Equation(node, by, causes, "logistic" if binary else "linear", coef, ends)


def _linear(parts: list[np.ndarray], target: np.ndarray) -> np.ndarray:
    """Give intercept and slopes of least squares; a cause that is constant has slope 0."""
    middle = target.mean()
    if not parts:
        return np.array([middle])
    design = np.column_stack(parts)
    means = design.mean(axis=0)
    slopes = np.linalg.lstsq(design - means, target - middle, rcond=None)[0]
    return np.concatenate([[middle - slopes @ means], slopes])


def _logistic(parts: list[np.ndarray], hit: np.ndarray) -> np.ndarray:
    """Give intercept and slopes, found on standardised causes."""
    design = np.column_stack([np.ones(len(hit)), *parts])
    means, scale = design[:, 1:].mean(axis=0), design[:, 1:].std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    design[:, 1:] = (design[:, 1:] - means) / scale
    coef = logistic_coefficients(design, hit)
    slopes = coef[1:] / scale
    return np.concatenate([[coef[0] - slopes @ means], slopes])


def _plugged_design(people: People, by: tuple[str, ...], causes: tuple[str, ...]) -> np.ndarray:
    """Give indicators of the groups of each protected cause, and the other causes."""
    parts = [
        (people.codes[name] == code).astype(np.float64)
        for name in by
        for code in range(len(people.labels[name]))
    ]
    parts += [people.values[cause] for cause in causes]
    return np.column_stack(parts)
