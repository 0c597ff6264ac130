"""Bridge to CatBoost: its estimators and fitted models."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...core.data import RankingData
from ...core.environment import require
from ...core.errors import DataError, FormatError
from ...core.explain_pair import as_dense
from ...core.persistence import SavedFiles
from ..lambdamart.lightgbm_params import as_matrix
from .bridge import Bridge, first_line

__all__ = ["CatBoostBridge", "CatBoostModel"]


class CatBoostBridge(Bridge):
    """Bridge to ``CatBoostRanker``, ``CatBoostRegressor`` and ``CatBoostClassifier``."""

    file = "booster.cbm"

    def errors(self) -> tuple[type[Exception], ...]:
        """Return CatBoost's own exception."""
        return (require("catboost", "catboost").CatBoostError,)

    def silence(self, model: Any) -> None:
        """Turn the log and the folder ``catboost_info`` off, unless the caller chose them."""
        given = set(model.get_params())
        if not {"verbose", "logging_level", "verbose_eval", "silent"} & given:
            model.set_params(logging_level="Silent")
        if not {"allow_writing_files", "train_dir"} & given:
            model.set_params(allow_writing_files=False)

    def categories(self, model: Any, columns: Sequence[int], n_features: int) -> dict[str, Any]:
        """Return the columns that contain category codes."""
        return {"cat_features": list(columns)}

    def matrix(self, model: Any, X: Any, columns: Sequence[int]) -> Any:
        """Return X; with categories a frame with integers in them, since floats are refused."""
        names = getattr(model, "feature_names_", None) or []
        columns = sorted({*columns, *self.category_columns(model, names)})
        if not columns:
            return as_matrix(X)
        X = as_dense(X)
        names = names or [str(at) for at in range(X.shape[1])]
        frame = {}
        for at, name in enumerate(names):
            values = X[:, at]
            if at in columns:
                missing = np.isnan(values)
                values = np.where(missing, -1, values)
                if (values != np.floor(values)).any():
                    raise DataError(
                        f"column {name!r} must be whole numbers, since CatBoost takes it as "
                        "categories"
                    )
                values = values.astype(np.int64)
            frame[name] = values
        return require("pandas", "catboost").DataFrame(frame)

    def category_columns(self, model: Any, names: Sequence[str]) -> list[int]:
        """Return the columns that a model takes as categories, by its parameters or its fit."""
        if names:
            return list(model.get_cat_feature_indices())
        given = model.get_params().get("cat_features") or []
        return [int(at) for at in given if not isinstance(at, str)]

    def n_features(self, model: Any) -> int | None:
        """Return the number of features of the trees."""
        return len(model.feature_names_ or [])

    def feature_names(self, model: Any) -> list[str] | None:
        """Return the names of the features; those of an array are their numbers."""
        names = [str(name) for name in model.feature_names_ or []]
        return None if names == [str(at) for at in range(len(names))] else names

    def contributions(self, model: Any, X: Any) -> np.ndarray | None:
        """Return CatBoost's SHAP values."""
        names = model.feature_names_
        pool = require("catboost", "catboost").Pool(
            X, cat_features=self.category_columns(model, names) or None
        )
        return np.asarray(model.get_feature_importance(pool, type="ShapValues"))

    def input_tags(self, model: Any) -> tuple[bool, bool]:
        """Return that missing values and sparse features are accepted."""
        return True, True

    def write(self, model: Any, path: Path) -> None:
        """Write the model in CatBoost's binary format."""
        model.save_model(str(path))

    def read(self, files: SavedFiles, name: str, unfitted: Any) -> Any:
        """Return the model of a binary file."""
        catboost = require("catboost", "catboost")
        model = catboost.CatBoost() if unfitted is None else unfitted
        try:
            return model.load_model(blob=files.read(name), format="cbm")
        except (catboost.CatBoostError, ValueError, TypeError) as error:
            path = str(files.folder / name)
            raise FormatError(f"{path!r} is damaged: {first_line(error)}") from None


class CatBoostModel(CatBoostBridge):
    """Bridge to a fitted ``catboost.CatBoost``."""

    prefit = True

    def scores(self, model: Any, X: Any, data: RankingData) -> Any:
        """Return the raw predictions."""
        return model.predict(X)
