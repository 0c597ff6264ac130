"""Bridge to XGBoost: its estimators and boosters."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...core.data import RankingData
from ...core.environment import require
from ...core.errors import FormatError
from ...core.persistence import SavedFiles
from .bridge import Bridge, first_line
from .lightgbm_bridge import check_grades

__all__ = ["XGBoostBooster", "XGBoostBridge"]


class XGBoostBridge(Bridge):
    """Bridge to ``XGBRanker``, ``XGBRegressor`` and ``XGBClassifier``."""

    file = "booster.json"

    def errors(self) -> tuple[type[Exception], ...]:
        """Return XGBoost's own exception."""
        return (require("xgboost", "xgboost").core.XGBoostError,)

    def check_relevance(self, model: Any, data: RankingData) -> None:
        """Raise unless the objective accepts the grades: NDCG up to 31, MAP 0 and 1, pairs all."""
        given = model.get_params()
        objective = given.get("objective")
        y = np.asarray(data.y)
        if objective == "rank:ndcg" and given.get("ndcg_exp_gain") in (None, True, 1):
            check_grades(type(model).__name__, y, data, 31)
        elif objective == "rank:map":
            check_grades(f"{type(model).__name__} with objective rank:map", y, data, 1)

    def weights(
        self, model: Any, weight: np.ndarray, query: np.ndarray, lists: str | None
    ) -> dict[str, np.ndarray]:
        """Return the weights: one number per list for rankers, which refuse one per row."""
        return {"sample_weight": weight[query] if lists is None else weight}

    def categories(self, model: Any, columns: Sequence[int], n_features: int) -> dict[str, Any]:
        """Set the feature type ``c`` of columns that contain category codes."""
        kinds = ["c" if at in set(columns) else "q" for at in range(n_features)]
        model.set_params(feature_types=kinds, enable_categorical=True)
        return {}

    def scores(self, model: Any, X: Any, data: RankingData) -> Any:
        """Return the predictions, whether or not the model was fitted to a frame."""
        if hasattr(model, "predict_proba"):
            return self.expected_class(model, model.predict_proba(X, validate_features=False))
        return model.predict(X, validate_features=False)

    def contributions(self, model: Any, X: Any) -> np.ndarray | None:
        """Return XGBoost's TreeSHAP values, or the terms of a linear booster."""
        booster, kinds = self.booster(model), None
        if any(kind == "c" for kind in booster.feature_types or ()):
            kinds = booster.feature_types
        matrix = require("xgboost", "xgboost").DMatrix(
            X, feature_types=kinds, enable_categorical=kinds is not None
        )
        found = booster.predict(matrix, pred_contribs=True, validate_features=False)
        return np.asarray(found, dtype=np.float64)

    def input_tags(self, model: Any) -> tuple[bool, bool]:
        """Return that missing values and sparse features are accepted."""
        return True, True

    def booster(self, model: Any) -> Any:
        """Return the booster of a fitted model."""
        return model.get_booster()

    def n_features(self, model: Any) -> int | None:
        """Return the number of features of the trees."""
        return int(self.booster(model).num_features())

    def feature_names(self, model: Any) -> list[str] | None:
        """Return the names of the booster."""
        names = self.booster(model).feature_names
        return None if names is None else [str(name) for name in names]

    def write(self, model: Any, path: Path) -> None:
        """Write the model as JSON."""
        model.save_model(path)

    def read(self, files: SavedFiles, name: str, unfitted: Any) -> Any:
        """Return the model in a JSON file, whose trees are checked first."""
        xgboost = require("xgboost", "xgboost")
        path = str(files.folder / name)
        try:
            sound = _is_sound(files.read_json(name)["learner"])
        except (KeyError, TypeError, ValueError, AttributeError):
            sound = False
        if not sound:
            raise FormatError(f"{path!r} is damaged: it is not a complete model of XGBoost")
        model = xgboost.Booster() if unfitted is None else unfitted
        try:
            model.load_model(bytearray(files.read(name)))
        except (xgboost.core.XGBoostError, ValueError, TypeError) as error:
            raise FormatError(f"{path!r} is damaged: {first_line(error)}") from None
        return model


class XGBoostBooster(XGBoostBridge):
    """Bridge to ``xgboost.Booster``."""

    prefit = True

    def booster(self, model: Any) -> Any:
        """Return the model itself."""
        return model

    def scores(self, model: Any, X: Any, data: RankingData) -> Any:
        """Return the predictions, without a copy of the features."""
        return model.inplace_predict(X, validate_features=False)


#: Lists of a stored tree with one value per node.
PER_NODE = (
    *("left_children", "right_children", "parents", "split_indices", "split_conditions"),
    *("split_type", "default_left", "base_weights"),
)


def _is_sound(learner: dict[str, Any]) -> bool:
    """Return whether all trees have existing features, and children that follow their node."""
    width = int(learner["learner_model_param"]["num_feature"])
    booster = learner["gradient_booster"]
    model = booster.get("gbtree", booster)["model"]
    if "trees" not in model:  # a linear booster: one weight per feature and the intercepts
        return booster["name"] == "gblinear" and len(model["weights"]) % (width + 1) == 0
    n_trees = int(model["gbtree_model_param"]["num_trees"])
    if len(model["trees"]) != n_trees or len(model["tree_info"]) != n_trees:
        return False
    return all(_is_tree(tree, width) for tree in model["trees"])


def _is_tree(tree: dict[str, Any], width: int) -> bool:
    n_nodes = int(tree["tree_param"]["num_nodes"])
    if n_nodes < 1 or any(len(tree[name]) != n_nodes for name in PER_NODE):
        return False
    left, right = (
        np.asarray(tree[f"{side}_children"], dtype=np.int64) for side in ("left", "right")
    )
    feature = np.asarray(tree["split_indices"], dtype=np.int64)
    inner = left != -1
    at = np.flatnonzero(inner)
    if not np.array_equal(inner, right != -1) or (feature[at] < 0).any():
        return False
    later = (left[at] > at) & (right[at] > at) & (left[at] < n_nodes) & (right[at] < n_nodes)
    nodes, begin, size = (
        np.asarray(tree[f"categories{part}"], dtype=np.int64)
        for part in ("_nodes", "_segments", "_sizes")
    )
    n_categories = len(tree["categories"])
    split = np.flatnonzero(inner & (np.asarray(tree["split_type"]) == 1))
    whole = len(nodes) == len(begin) == len(size) and set(split.tolist()) <= set(nodes.tolist())
    inside = whole and bool(((begin >= 0) & (size >= 0) & (begin + size <= n_categories)).all())
    return inside and bool(later.all() and (feature[at] < width).all())
