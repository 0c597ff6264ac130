"""A clone of an estimator with every seed in it set."""

from copy import copy
from typing import Any

from sklearn.base import clone

__all__ = ["seeded_clone"]


def seeded_clone(estimator: Any, seed: int) -> Any:
    """Clone an estimator and set each ``random_state`` in it, also those of its parts.

    Parts are the steps of a pipeline, the ranker of a search, the re-ranker of a `Reranked`, and
    splitters (such as `QueryKFold`) that shuffle.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> seeded_clone(make_pipeline(StandardScaler(), Ridge()), 3)["ridge"].random_state
    3
    """
    model = clone(estimator)
    if not hasattr(model, "get_params"):
        return model
    for name, value in sorted(model.get_params(deep=True).items()):
        if name.rsplit("__", 1)[-1] == "random_state":
            model.set_params(**{name: seed})
        elif _shuffles(value):
            splitter = copy(value)
            splitter.random_state = seed
            model.set_params(**{name: splitter})
    return model


def _shuffles(value: Any) -> bool:
    """Tell a splitter with a seed, which is no estimator, so that cloning leaves it as it is."""
    if not hasattr(value, "split") or hasattr(value, "get_params"):
        return False
    return hasattr(value, "random_state") and getattr(value, "shuffle", True) is not False
