"""Scikit-learn models inside rankers: constraint, calibration of scores, safe files."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from ..core.environment import require
from ..core.errors import FormatError
from ..core.persistence import SavedFiles, check_zip

__all__ = ["ScikitModel", "calibrated", "fit_calibration", "read_models", "write_models"]


Map = tuple[np.ndarray, np.ndarray]


def fit_calibration(
    score: np.ndarray, positive: np.ndarray, method: Literal["sigmoid", "isotonic"]
) -> Map:
    """Fit Platt's sigmoid or an isotonic curve to scores and labels (True: positive).

    Returns
    -------
    tuple of two ndarrays
        Slope (one value) and intercept of the sigmoid, or the corners of the curve.
    """
    if method == "isotonic":
        curve = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
        curve.fit(score, positive.astype(float))
        return curve.X_thresholds_.astype(float), curve.y_thresholds_.astype(float)
    plus, minus = int(positive.sum()), int((~positive).sum())
    # Platt's targets differ from 0 and 1, so that separable scores have a finite slope
    target = np.where(positive, (plus + 1.0) / (plus + 2.0), 1.0 / (minus + 2.0))
    spread = float(score.std()) or 1.0
    model = LogisticRegression(C=1e6, max_iter=1000)
    twice = np.concatenate([score, score])[:, None] / spread
    label = np.repeat([1, 0], len(score))
    model.fit(twice, label, sample_weight=np.concatenate([target, 1.0 - target]))
    return model.coef_[0] / spread, model.intercept_.astype(float)


def calibrated(score: np.ndarray, curve: Map, method: str) -> np.ndarray:
    """Return the calibrated probability of each score."""
    if method == "isotonic":
        return np.interp(score, *curve)
    slope, intercept = curve
    # half of 1 + tanh(z/2) is the sigmoid, without overflow
    return 0.5 * (1.0 + np.tanh(0.5 * (slope[0] * score + intercept[0])))


NAME = "estimators.skops"

#: Trees, which skops does not trust by default: their nodes are checked after reading.
TREES = frozenset(
    {
        "sklearn.tree._tree.Tree",
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    }
)


@dataclass(frozen=True)
class ScikitModel:
    """Constraint of a parameter that is a classifier or a regressor with scikit-learn's interface.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> ScikitModel("regressor").accepts(Ridge()), ScikitModel("classifier").accepts(Ridge())
    (True, False)
    """

    kind: Literal["classifier", "regressor"]

    def accepts(self, value: Any) -> bool:
        """Return whether the value is such a model, and not its class."""
        if not isinstance(value, BaseEstimator) or not hasattr(value, "fit"):
            return False
        return bool(is_classifier(value) if self.kind == "classifier" else is_regressor(value))

    def __str__(self) -> str:
        """Finish the sentence 'must be ...'."""
        return f"a scikit-learn {self.kind}"


def write_models(folder: Path, models: dict[str, Any]) -> None:
    """Write models, fitted or not, into a folder."""
    require("skops.io", "save").dump(models, folder / NAME)


def read_models(files: SavedFiles, classes: Iterable[type]) -> dict[str, Any]:
    """Read what `write_models` wrote: parts of scikit-learn and NumPy, and ``classes``.

    Besides the types that skops trusts, classes of scikit-learn written in Python are accepted, and
    trees, whose nodes are checked. Functions are refused, since a model could be made to call them,
    and so are other compiled classes, since a damaged file could make them read outside their
    memory.
    """
    skops = require("skops.io", "save")
    raw, path = files.read(NAME), str(files.folder / NAME)
    check_zip(raw, repr(path))
    try:
        unknown = set(skops.get_untrusted_types(data=raw))
    except Exception as error:  # whatever skops makes of a damaged file
        raise FormatError(f"{path!r} is damaged: {error!r}") from error
    named = {f"{kind.__module__}.{kind.__qualname__}" for kind in classes} | TREES
    strange = sorted(name for name in unknown - named if not _in_python(name))
    if strange:
        raise FormatError(
            f"{path!r} contains objects of {', '.join(strange)}, which are not trusted; "
            "name them in classes= if you trust them"
        )
    try:
        models = dict(skops.loads(raw, trusted=sorted(unknown)))
        sound = all(_sound(tree, width) for tree, width in _trees(models))
    except Exception as error:
        raise FormatError(f"{path!r} is damaged: {error!r}") from error
    if not sound:
        raise FormatError(f"{path!r} is damaged: a tree has an invalid node")
    return models


def _in_python(name: str) -> bool:
    """Return whether a name is a class of scikit-learn written in Python."""
    module, _, word = name.rpartition(".")
    if module.split(".")[0] != "sklearn":
        return False
    try:
        source = require(module, "save")
    except ImportError:
        return False
    kind = getattr(source, word, None)
    defined = isinstance(kind, type) and kind.__module__ == module
    return defined and str(getattr(source, "__file__", "")).endswith(".py")


def _trees(models: Any) -> Iterator[tuple[Any, int]]:
    """Yield all trees, each with the number of features of its owner."""
    waiting, seen = [(models, 0)], set()
    while waiting:
        owner, width = waiting.pop()
        if id(owner) in seen:
            continue
        seen.add(id(owner))
        kind = type(owner)
        if f"{kind.__module__}.{kind.__qualname__}" in TREES:
            yield owner, width
            continue
        width = int(getattr(owner, "n_features_in_", width))
        if isinstance(owner, dict):
            parts: Iterable[Any] = owner.values()
        elif isinstance(owner, list | tuple | set):
            parts = owner
        elif isinstance(owner, np.ndarray):
            parts = owner.ravel().tolist() if owner.dtype == object else ()
        else:
            parts = getattr(owner, "__dict__", {}).values()
        waiting += [(part, width) for part in parts]


def _sound(tree: Any, width: int) -> bool:
    """Return whether every inner node uses an existing feature and has later nodes as children."""
    if hasattr(tree, "children_left"):
        left, right, feature = tree.children_left, tree.children_right, tree.feature
        inner = left != -1
    else:
        nodes = tree.nodes
        left, right, feature = (
            nodes[name].astype(np.int64) for name in ("left", "right", "feature_idx")
        )
        inner = nodes["is_leaf"] == 0
        sets = nodes["bitset_idx"][inner & (nodes["is_categorical"] != 0)]
        if (sets >= min(len(tree.raw_left_cat_bitsets), len(tree.binned_left_cat_bitsets))).any():
            return False
    at = np.flatnonzero(inner)
    later = (left[at] > at) & (right[at] > at) & (left[at] < len(left)) & (right[at] < len(left))
    return bool((later & (feature[at] >= 0) & (feature[at] < width)).all()) and len(left) > 0
