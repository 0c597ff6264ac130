"""Bridge to LightGBM: its estimators and boosters."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...core.data import RankingData
from ...core.environment import require
from ...core.errors import DataError, FormatError
from ...core.persistence import SavedFiles
from ..lambdamart.lightgbm_params import check_trees
from .bridge import Bridge, first_line

__all__ = ["LightGBMBooster", "LightGBMBridge", "check_grades"]


def check_grades(name: str, y: np.ndarray, data: RankingData, highest: int) -> None:
    """Raise unless all grades are whole numbers up to the highest one that a ranker accepts."""
    bad = (y != np.floor(y)) | (y > highest)
    if bad.any():
        stored = int(np.flatnonzero(bad)[0])
        raise DataError(
            f"y must be whole grades from 0 to {highest} for {name}, got {float(y[stored]):g} in "
            f"row {data.place(stored)[1]}"
        )


class LightGBMBridge(Bridge):
    """Bridge to ``LGBMRanker``, ``LGBMRegressor`` and ``LGBMClassifier``."""

    file = "booster.txt"

    def errors(self) -> tuple[type[Exception], ...]:
        """Return LightGBM's own exception."""
        return (require("lightgbm", "lightgbm").basic.LightGBMError,)

    def silence(self, model: Any) -> None:
        """Turn the log off, unless the caller chose a level."""
        if not {"verbose", "verbosity"} & set(model.get_params()):
            model.set_params(verbosity=-1)

    def check_relevance(self, model: Any, data: RankingData) -> None:
        """Raise unless grades have a gain: up to 30, or as many as ``label_gain`` has."""
        given = model.get_params()
        objective = given.get("objective") or "lambdarank"
        if not isinstance(objective, str) or "rank" not in objective:
            return
        gain = given.get("label_gain")
        highest = 30 if gain is None or isinstance(gain, str) else len(gain) - 1
        check_grades(type(model).__name__, np.asarray(data.y), data, highest)

    def categories(self, model: Any, columns: Sequence[int], n_features: int) -> dict[str, Any]:
        """Return the columns that contain category codes."""
        return {"categorical_feature": list(columns)}

    def feature_names(self, model: Any) -> list[str] | None:
        """Return the names of the booster; those of an array are its own."""
        names = [str(name) for name in self.booster(model).feature_name()]
        automatic = [f"Column_{at}" for at in range(len(names))]
        return None if names == automatic else names

    def scores(self, model: Any, X: Any, data: RankingData) -> Any:
        """Return the predictions, whether or not the model was fitted to a frame."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
            return super().scores(model, X, data)

    def contributions(self, model: Any, X: Any) -> np.ndarray | None:
        """Return LightGBM's TreeSHAP values; None for linear trees, which have none."""
        booster = self.booster(model)
        if str(booster.params.get("linear_tree", False)).lower() in ("true", "1"):
            return None
        found = booster.predict(X, pred_contrib=True)
        return np.asarray(found.toarray() if hasattr(found, "toarray") else found)

    def input_tags(self, model: Any) -> tuple[bool, bool]:
        """Return that missing values and sparse features are accepted."""
        return True, True

    def booster(self, model: Any) -> Any:
        """Return the booster of a fitted model."""
        return model.booster_

    def write(self, model: Any, path: Path) -> None:
        """Write the text of the trees."""
        path.write_text(self.booster(model).model_to_string(), encoding="utf-8")

    def read(self, files: SavedFiles, name: str, unfitted: Any) -> Any:
        """Return the booster in a text, whose trees are checked first."""
        lightgbm = require("lightgbm", "lightgbm")
        raw, path = files.read(name), str(files.folder / name)
        try:
            head = raw[: raw.index(b"\n\nTree=0\n")].decode("utf-8")
            width = int(head.split("\nmax_feature_idx=", 1)[1].split("\n", 1)[0]) + 1
        except (ValueError, IndexError):
            width = -1
        check_trees(raw, repr(path), width)
        try:
            return lightgbm.Booster(model_str=raw.decode("utf-8"))
        except (lightgbm.basic.LightGBMError, ValueError) as error:
            raise FormatError(f"{path!r} is damaged: {first_line(error)}") from None


class LightGBMBooster(LightGBMBridge):
    """Bridge to ``lightgbm.Booster``."""

    prefit = True

    def booster(self, model: Any) -> Any:
        """Return the model itself."""
        return model

    def n_features(self, model: Any) -> int | None:
        """Return the number of features of the trees."""
        return int(model.num_feature())

    def scores(self, model: Any, X: Any, data: RankingData) -> Any:
        """Return the predictions; a booster of a classifier has its classes beside it."""
        found = np.asarray(model.predict(X))
        if not hasattr(model, "classes_"):
            return found
        return self.expected_class(
            model, found if found.ndim > 1 else np.stack([1.0 - found, found], axis=1)
        )
