"""Representation leakage: how well a model predicts a sensitive attribute from features."""

import warnings
from typing import Any, Literal

import numpy as np

from ..core.errors import DataError, EquirankWarning
from ..core.given_data import as_ranking_data
from ..core.params import Choice, Number, check_params
from ..core.random import as_seed, generator

__all__ = ["representation_leakage"]


def representation_leakage(
    Z: Any,
    sensitive_features: Any,
    *,
    model: Literal["linear", "forest"] = "linear",
    by: str | tuple[str, ...] | None = None,
    test_size: float = 0.2,
    random_state: Any = 0,
) -> float:
    """Compute how much better than guessing a model predicts the groups: ADRG.

    ``| accuracy of predicting the group from Z - share of the largest group |``, the absolute
    difference to a random guess, both on held-out rows, stratified by group. In [0, 1]; 0 is best:
    a prediction is no better than guessing the largest group. Any number of groups is allowed. With
    one group the result is NaN, with a warning.

    Parameters
    ----------
    Z : array-like, scipy sparse array or data frame
        The representation, one row per item.
    sensitive_features : array-like, data frame or dict
        The group of each row.
    model : {"linear", "forest"}
        The classifier: logistic regression on standardised columns, or a random forest.
    by : str or tuple of str, optional
        The attribute, or several to cross, if ``sensitive_features`` has several.
    test_size : float
        Held-out share of each group (at least one row).
    random_state : int, Generator, RandomState or None
        Seed of the held-out rows and the forest.

    Returns
    -------
    float

    References
    ----------
    Cerrato, Köppel, Segner, Esposito and Kramer, Fair pairwise learning to rank, DSAA 2020.

    Examples
    --------
    >>> from equirank.preprocess import representation_leakage
    >>> groups = ["f", "m"] * 20
    >>> representation_leakage([[0.0], [1.0]] * 20, groups)  # the column is the group: 1 - 1/2
    0.5
    >>> representation_leakage([[0.0], [0.0]] * 20, groups)
    0.0
    """
    check_params(
        "representation_leakage",
        {"model": model, "test_size": test_size},
        {
            "model": Choice("linear", "forest"),
            "test_size": Number(0.0, 1.0, open_low=True, open_high=True),
        },
    )
    data = as_ranking_data(Z, sensitive_features=sensitive_features, categorical=None)
    if data.X is None:
        raise DataError("Z must be an array with one row per item, got None")
    stored = data.X.data if hasattr(data.X, "tocsr") else data.X
    if not np.isfinite(stored).all():
        raise DataError("Z must hold finite numbers, got NaN or infinity")
    groups = data.known_attribute(by, "representation_leakage")
    if len(np.unique(groups.codes)) < 2:
        warnings.warn(
            "representation_leakage is undefined with one group: the result is NaN",
            EquirankWarning,
            stacklevel=2,
        )
        return float("nan")
    seed = as_seed(random_state)
    held_out = _held_out(groups.codes, groups.categories, test_size, seed)
    classifier = _classifier(model, seed, sparse=hasattr(data.X, "tocsr"))
    classifier.fit(data.X[~held_out], groups.codes[~held_out])
    truth = groups.codes[held_out]
    accuracy = float((classifier.predict(data.X[held_out]) == truth).mean())
    return abs(accuracy - float(np.bincount(truth).max()) / len(truth))


def _held_out(
    codes: np.ndarray, labels: tuple[Any, ...], test_size: float, seed: int
) -> np.ndarray:
    """Return a mask of the held-out rows: the same share of every group, at least one row."""
    mask = np.zeros(len(codes), dtype=bool)
    for code in np.unique(codes):
        rows = np.flatnonzero(codes == code)
        if len(rows) < 2:
            raise DataError(
                "sensitive_features must have at least two rows of each group, for training and "
                f"testing, and {labels[code]!r} has one"
            )
        n = min(max(1, round(test_size * len(rows))), len(rows) - 1)
        mask[generator(seed, int(code)).permutation(rows)[:n]] = True
    return mask


def _classifier(model: str, seed: int, sparse: bool) -> Any:
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if model == "forest":
        return RandomForestClassifier(random_state=seed % 2**32)
    return make_pipeline(StandardScaler(with_mean=not sparse), LogisticRegression(max_iter=1000))
