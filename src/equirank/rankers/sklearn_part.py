"""Scikit-learn models inside rankers: what may be one, and how they are saved without pickle."""

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from sklearn.base import BaseEstimator, is_classifier, is_regressor

from ..core.errors import DataError
from ..core.extras import require

__all__ = ["ScikitModel", "load_estimators", "save_estimators"]

FILE = "estimators.skops"

#: Packages whose classes a file may name beside what skops trusts by itself. Functions are never
#: taken, since a model could be made to call them.
TRUSTED = ("sklearn", "scipy", "lightgbm", "xgboost", "collections")


@dataclass(frozen=True)
class ScikitModel:
    """A parameter that is a classifier or a regressor with scikit-learn's interface.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> ScikitModel("regressor").accepts(Ridge()), ScikitModel("classifier").accepts(Ridge())
    (True, False)
    """

    kind: Literal["classifier", "regressor"]

    def accepts(self, value: Any) -> bool:
        """Say whether the value is such a model; a class is not, an object is."""
        if not isinstance(value, BaseEstimator) or not hasattr(value, "fit"):
            return False
        return bool(is_classifier(value) if self.kind == "classifier" else is_regressor(value))

    def __str__(self) -> str:
        """Finish the sentence 'must be ...'."""
        return f"a scikit-learn {self.kind}"


def save_estimators(folder: Path, **parts: Any) -> None:
    """Write scikit-learn models into ``estimators.skops``; what could not be read is refused.

    Parameters
    ----------
    folder : path
        The folder of the ranker, as given to ``_save_files``.
    **parts : estimator or None
        The models by the names of the attributes that hold them.

    Raises
    ------
    MissingExtraError
        Without skops, which comes with ``equirank[save]``.
    DataError
        Where a model is of a class that `load_estimators` would not trust.
    """
    skops = require("skops.io", "save")
    try:
        text = skops.dumps(parts)
    except (TypeError, AttributeError, ValueError) as error:
        raise DataError(f"{', '.join(parts)} cannot be saved: {error}") from None
    _trusted(", ".join(parts), skops.get_untrusted_types(data=text))
    (folder / FILE).write_bytes(text)


def load_estimators(folder: Path) -> dict[str, Any]:
    """Read what `save_estimators` wrote, by name; classes of other packages are refused."""
    skops = require("skops.io", "save")
    path = folder / FILE
    trusted = _trusted(str(path), skops.get_untrusted_types(file=path))
    return dict(skops.load(path, trusted=trusted))


def _trusted(owner: str, names: list[str]) -> list[str]:
    """Give the names back, if each is a class of a package we trust."""
    for name in names:
        if not _is_class(name):
            raise DataError(
                f"{owner} must hold classes of {', '.join(TRUSTED[:-1])} only, so that they can be "
                f"saved and loaded safely, got {name}"
            )
    return names


def _is_class(name: str) -> bool:
    module, _, word = name.rpartition(".")
    if module.split(".")[0] not in TRUSTED:
        return False
    try:
        return isinstance(getattr(importlib.import_module(module), word, None), type)
    except ImportError:
        return False
