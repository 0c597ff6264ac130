"""fair_boost: Newton boosting of any weighted regressor on the gradient of FairLambdaMART."""

import inspect
import os
import tempfile
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from ...core.environment import progress, require
from ...core.errors import DataError
from ...core.params import Check, Integer, Number, check_params
from .objective import FairObjective

__all__ = ["AdditiveModel", "fair_boost"]


#: Smallest Hessian of a row: a row without pairs has none, and would be divided by 0.
_LEAST_HESSIAN = 1e-12

#: Parameters of CatBoost with which one iteration is one Newton step, unless they are given.
_CATBOOST = {
    "iterations": 1,
    "learning_rate": 1.0,
    "boost_from_average": False,
    "bootstrap_type": "No",
    "random_strength": 0.0,
    "allow_writing_files": False,
    "logging_level": "Silent",
}

#: Other names under which CatBoost takes these parameters.
_ALIASES = {
    "iterations": {"n_estimators", "num_boost_round", "num_trees"},
    "learning_rate": {"eta"},
    "logging_level": {"silent", "verbose", "verbose_eval"},
}


class AdditiveModel:
    """Sum of regressors times the learning rate, the result of `fair_boost`.

    Parameters
    ----------
    models : sequence of regressors
        Fitted, one per round.
    learning_rate : float
        Factor on the output of each.
    """

    def __init__(self, models: Sequence[Any], learning_rate: float) -> None:
        self.models, self.learning_rate = list(models), float(learning_rate)

    def predict(self, X: Any) -> np.ndarray:
        """Return one score per row; higher scores rank first."""
        total = np.zeros(X.shape[0])
        for model in self.models:
            total += self.learning_rate * np.asarray(model.predict(X), dtype=np.float64)
        return total


def fair_boost(
    regressor: Any,
    objective: FairObjective,
    X: Any,
    n_estimators: int = 100,
    learning_rate: float = 0.1,
) -> Any:
    """Boost any regressor that takes weights on the gradient of a `fair_objective`.

    Each round clones the regressor, fits it to ``-grad / h`` with the weights
    ``h = max(hess, 1e-12)``, and adds ``learning_rate`` times its prediction: Newton boosting. It
    serves CatBoost, which cannot take the objective as a loss, because it cuts the rows into blocks
    across lists. A CatBoost regressor grows one tree per round, with borders of the features that
    are computed once; the trees are joined into one model.

    Parameters
    ----------
    regressor : estimator
        Its ``fit`` takes ``sample_weight``. It is cloned, not changed. For CatBoost, parameters
        that are not given are set so that a round is one Newton step: ``iterations=1``,
        ``learning_rate=1``, ``boost_from_average=False``, ``bootstrap_type="No"``,
        ``random_strength=0``.
    objective : FairObjective
        The objective of the rows of X; its state is reset first.
    X : array-like or data frame
        Features, rows in the order of the data of the objective.
    n_estimators : int
        Number of rounds.
    learning_rate : float
        Factor on the output of each round.

    Returns
    -------
    model
        A ``catboost.CatBoost`` for a CatBoost regressor, otherwise an object with ``predict(X)``,
        ``models`` and ``learning_rate``.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import fair_boost, fair_objective
    >>> data = make_ranking(n_queries=20, feature_bias=1.0, random_state=0)
    >>> objective = fair_objective(data, alpha=0.5, step=5, n_jobs=1)
    >>> tree = DecisionTreeRegressor(max_depth=3, random_state=0)
    >>> model = fair_boost(tree, objective, data.X, n_estimators=5)
    >>> model.predict(data.X).shape
    (1000,)
    """
    check_params(
        "fair_boost",
        {
            "regressor": regressor, "objective": objective, "X": X, "n_estimators": n_estimators,
            "learning_rate": learning_rate,
        },
        {
            "regressor": Check(_takes_weights, "an estimator whose fit takes sample_weight"),
            "objective": Check(
                lambda value: isinstance(value, FairObjective), "a result of fair_objective"
            ),
            "X": Check(lambda value: hasattr(value, "shape"), "an array or a data frame"),
            "n_estimators": Integer(1),
            "learning_rate": Number(0, open_low=True),
        },
    )  # fmt: skip
    if X.shape[0] != objective.n_rows:
        raise DataError(
            f"X of fair_boost must have the rows of the objective ({objective.n_rows}), got "
            f"{X.shape[0]}"
        )
    objective.reset()
    if _is_catboost(regressor):
        return _boosted_catboost(regressor, objective, X, n_estimators, learning_rate)
    score, models = np.zeros(objective.n_rows), []
    for _ in progress(range(n_estimators), "rounds"):
        step, hess = _newton_step(objective, score)
        model = clone(regressor).fit(X, step, sample_weight=hess)
        score += learning_rate * np.asarray(model.predict(X), dtype=np.float64)
        models.append(model)
    return AdditiveModel(models, learning_rate)


def _takes_weights(regressor: Any) -> bool:
    return (
        hasattr(regressor, "fit")
        and hasattr(regressor, "predict")
        and has_fit_parameter(regressor, "sample_weight")
    )


def _is_catboost(regressor: Any) -> bool:
    return any(kind.__module__.split(".")[0] == "catboost" for kind in type(regressor).__mro__)


def _newton_step(objective: FairObjective, score: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the step of each row and the Hessian that weighs it."""
    grad, hess = objective(score)
    hess = np.maximum(hess, _LEAST_HESSIAN)
    return -grad / hess, hess


def _boosted_catboost(
    regressor: Any, objective: FairObjective, X: Any, n_estimators: int, learning_rate: float
) -> Any:
    """Return the joined trees of CatBoost."""
    catboost = require("catboost", "catboost")
    given = regressor.get_params()
    settings = {
        name: value
        for name, value in _CATBOOST.items()
        if not ({name} | _ALIASES.get(name, set())) & given.keys()
    }
    learner = regressor.copy().set_params(**settings)  # clone refuses lists of columns
    columns = {} if given.get("cat_features") is None else {"cat_features": given["cat_features"]}
    score, models = np.zeros(objective.n_rows), []
    with tempfile.TemporaryDirectory() as folder:
        if "input_borders" not in given:
            path = os.path.join(folder, "borders.tsv")
            _write_borders(catboost.Pool(X, **columns), given, path)
            learner.set_params(input_borders=path)
        for _ in progress(range(n_estimators), "rounds"):
            step, hess = _newton_step(objective, score)
            pool = catboost.Pool(X, step, weight=hess, **columns)
            model = learner.copy().fit(pool)
            score += learning_rate * model.predict(pool)
            models.append(model)
        joined = catboost.sum_models(models, weights=[learning_rate] * n_estimators)
        if not np.allclose(joined.predict(pool), score, rtol=1e-6, atol=1e-9):
            raise DataError(
                "cat_features of the regressor must be encoded one-hot: set one_hot_max_size to "
                "the number of categories, because CatBoost averages its target statistics when "
                "trees are joined, which changes the scores"
            )
    return joined


def _write_borders(pool: Any, given: dict[str, Any], path: str) -> None:
    """Compute the borders of the features once, with the regressor's own settings."""
    names = inspect.signature(pool.quantize).parameters
    pool.quantize(**{name: value for name, value in given.items() if name in names})
    pool.save_quantization_borders(path)
