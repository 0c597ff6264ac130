"""Kinds of models: what is a model, whether it is fitted, and the bridge to it."""

from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.utils.validation import check_is_fitted

from ...core.ranker import Ranker
from .bridge import Bridge, last_step, made_by
from .given_scores import are_scores

__all__ = ["bridge_of", "is_fitted", "is_model", "reader_of", "unfrozen"]


def bridge_of(model: Any) -> Bridge:
    """Return the bridge to a model that is neither a pipeline nor given scores."""
    if made_by(model, "lightgbm", "Booster", "LGBMModel"):
        from .lightgbm_bridge import LightGBMBooster, LightGBMBridge

        return LightGBMBooster() if made_by(model, "lightgbm", "Booster") else LightGBMBridge()
    if made_by(model, "xgboost", "Booster", "XGBModel"):
        from .xgboost_bridge import XGBoostBooster, XGBoostBridge

        return XGBoostBooster() if made_by(model, "xgboost", "Booster") else XGBoostBridge()
    if made_by(model, "catboost", "CatBoost"):
        from .catboost_bridge import CatBoostBridge, CatBoostModel

        return CatBoostModel() if type(model).__name__ == "CatBoost" else CatBoostBridge()
    if made_by(model, "torch.nn", "Module"):
        from .function_bridge import TorchBridge

        return TorchBridge()
    if isinstance(model, Ranker):
        from .ranker_bridge import RankerBridge

        return RankerBridge()
    if hasattr(model, "fit") and hasattr(model, "predict"):
        return Bridge()
    from .function_bridge import FunctionBridge

    return FunctionBridge()


def is_model(value: Any) -> bool:
    """Return whether a value is a model of any kind that `as_ranker` takes."""
    if isinstance(value, type):
        return False
    if are_scores(value) or callable(value) or isinstance(value, FrozenEstimator):
        return True
    last = last_step(value)[1]
    if bridge_of(last).prefit:
        return bool(bridge_of(last).file)  # a booster
    return hasattr(last, "fit") and hasattr(last, "predict") and hasattr(value, "get_params")


def unfrozen(model: Any) -> Any:
    """Return the estimator in a `FrozenEstimator`, or the model itself."""
    return model.estimator if isinstance(model, FrozenEstimator) else model


def reader_of(package: str) -> Bridge | None:
    """Return the bridge that reads the file of a package's models, None if it is not known."""
    if package == "lightgbm":
        from .lightgbm_bridge import LightGBMBridge

        return LightGBMBridge()
    if package == "xgboost":
        from .xgboost_bridge import XGBoostBridge

        return XGBoostBridge()
    if package == "catboost":
        from .catboost_bridge import CatBoostBridge

        return CatBoostBridge()
    return None


def is_fitted(model: Any) -> bool:
    """Return whether a model can predict, as far as it states it."""
    if hasattr(model, "is_fitted"):  # CatBoost
        return bool(model.is_fitted())
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    except TypeError:  # no estimator
        return True
    return True
