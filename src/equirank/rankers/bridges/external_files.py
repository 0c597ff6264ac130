"""Files of an ExternalRanker: the library's own format, and skops for scikit-learn's parts."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from ...core.errors import DataError, FormatError
from ...core.persistence import SavedFiles, lively, plain, save
from ...core.ranker import Ranker
from ...core.registry import external_name
from ..sklearn_models import read_models, write_models
from .bridge import Bridge, last_step

__all__ = ["read_external", "write_external"]

ABOUT = "external.json"
RANKER = "ranker"
#: Boosters, by the package that reads their file.
BOOSTERS = {"lightgbm": "Booster", "xgboost": "Booster", "catboost": "CatBoost"}


def write_external(folder: Path, model: Any, fitted: Any, bridge: Bridge) -> None:
    """Write a fitted model and the unfitted one that it was made of.

    Parameters
    ----------
    folder : path
        The folder of the ranker.
    model : object
        The parameter of the ranker.
    fitted : object
        Its fitted copy, or the same model if it was taken as it is.
    bridge : Bridge
        The bridge to its last step.
    """
    frozen = isinstance(model, FrozenEstimator)
    plain_model = model.estimator if frozen else model
    step, last = last_step(fitted)
    about: dict[str, Any] = {"step": step, "frozen": frozen, "file": bridge.file}
    if not (bridge.file or isinstance(last, Ranker)):
        _refuse_unsafe(last)
        write_models(folder, {"model": plain_model, "fitted": fitted})
    else:
        about |= _write_last(folder, last_step(plain_model)[1], last, bridge)
        if step:
            steps = {"model": plain_model.steps[:-1], "fitted": fitted.steps[:-1]}
            write_models(folder, steps)
    text = json.dumps(about, indent=1, sort_keys=True, allow_nan=True)
    (folder / ABOUT).write_text(text, encoding="utf-8")


def _write_last(folder: Path, unfitted: Any, fitted: Any, bridge: Bridge) -> dict[str, Any]:
    """Write the fitted last step, and return how the unfitted one is made anew."""
    if isinstance(fitted, Ranker):
        save(fitted, folder / RANKER)
        return {"last": plain("model", unfitted)}
    package = type(fitted).__module__.split(".")[0]
    booster = type(fitted).__name__ == BOOSTERS.get(package)
    if not booster and external_name(fitted) is None:
        _refuse(fitted, "it is none of the classes of LightGBM, XGBoost and CatBoost")
    bridge.write(fitted, folder / bridge.file)
    about: dict[str, Any] = {"package": package}
    about["last"] = None if booster else plain("model", unfitted)
    if hasattr(fitted, "classes_") and hasattr(fitted, "booster_"):
        about["classes"] = np.asarray(fitted.classes_, dtype=np.float64).tolist()
    elif booster and hasattr(fitted, "classes_"):
        about["classes"] = fitted.classes_.tolist()
    return about


def _refuse_unsafe(model: Any) -> None:
    if not hasattr(model, "get_params"):
        _refuse(model, "it has no safe form; save it by itself and wrap it again")


def _refuse(model: Any, reason: str) -> None:
    raise DataError(f"model cannot be saved: {type(model).__name__} is unknown, {reason}")


def read_external(files: SavedFiles, classes: Iterable[type], model: Any) -> tuple[Any, Any]:
    """Return the parameter ``model`` of a saved ranker, and its fitted copy.

    ``model`` is the parameter that was stored as JSON, or None.
    """
    about = files.read_json(ABOUT)
    try:
        step, frozen, last = str(about["step"]), bool(about["frozen"]), about.get("last")
        own = {kind.__name__: kind for kind in classes}
        unfitted = None if last is None else lively(last, own)
        if about["file"]:
            fitted = _read_last(files, about, unfitted)
            unfitted = unfitted if last is None else lively(last, own)  # reading fills it
        elif files.has(RANKER):
            fitted = files.load(RANKER, classes)
        else:
            found = read_models(files, classes)
            return _finished(found["model"], found["fitted"], frozen)
    except (KeyError, AttributeError) as error:
        raise FormatError(f"{str(files.folder / ABOUT)!r} is damaged: {error!r}") from None
    if step:
        found = read_models(files, classes)
        before = Pipeline([*found["model"], (step, unfitted)])
        return _finished(before, Pipeline([*found["fitted"], (step, fitted)]), frozen)
    given = fitted if model is None else model
    return _finished(given, fitted, frozen)


def _finished(model: Any, fitted: Any, frozen: bool) -> tuple[Any, Any]:
    return (FrozenEstimator(fitted) if frozen else model), fitted


def _read_last(files: SavedFiles, about: dict[str, Any], unfitted: Any) -> Any:
    """Return the fitted model of a library's own file."""
    package, name = str(about["package"]), str(about["file"])
    if package not in BOOSTERS or (unfitted is not None and external_name(unfitted) is None):
        raise FormatError(f"{str(files.folder / ABOUT)!r} is damaged: it names no known class")
    from . import catboost_bridge, lightgbm_bridge, xgboost_bridge

    readers: dict[str, Bridge] = {
        "lightgbm": lightgbm_bridge.LightGBMBridge(),
        "xgboost": xgboost_bridge.XGBoostBridge(),
        "catboost": catboost_bridge.CatBoostBridge(),
    }
    if name != readers[package].file:
        raise FormatError(f"{str(files.folder / ABOUT)!r} is damaged: {name!r} is not its file")
    fitted = readers[package].read(files, name, unfitted)
    if "classes" in about:
        fitted.classes_ = np.array(about["classes"], dtype=np.float64)
    return fitted
