"""FairTransformer: the base class of transformers, and checks of their columns."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ..core.data import RankingData
from ..core.declared import Declared
from ..core.errors import DataError, suggest
from ..core.given_data import as_ranking_data
from ..core.params import Check
from ..core.persistence import save

__all__ = [
    "COLUMNS",
    "FairTransformer",
    "check_groups",
    "check_varying",
    "column_indices",
    "sensitive_labels",
]


def _are_columns(value: Any) -> bool:
    names = value if isinstance(value, (tuple, list, np.ndarray)) else [value]
    return all(
        isinstance(name, (str, int, np.integer)) and not isinstance(name, bool) for name in names
    )


#: One or several columns of X.
COLUMNS = Check(_are_columns, "names or positions of columns")


class FairTransformer(Declared, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of the transformers of this package."""

    def save(self, folder: str | Path) -> None:
        """Save the fitted transformer to a folder that `equirank.load` reads, without pickle."""
        check_is_fitted(self)
        save(self, folder)

    def _check_params(self) -> None:
        self.check_declared(stacklevel=4)

    def _matrix(self, X: Any, *, fitting: bool) -> np.ndarray:
        """Return X as finite float64 numbers in input order, with the columns of fit."""
        if not fitting:
            check_is_fitted(self)
        if isinstance(X, RankingData):
            return self._features_of(X, fitting)
        if hasattr(X, "columns"):
            as_ranking_data(X, categorical=None)  # the error names a column without numbers
        least = 2 if fitting else 1
        return np.asarray(
            validate_data(
                self, X, reset=fitting, dtype=np.float64, order="C", ensure_min_samples=least
            )
        )

    def _features_of(self, data: RankingData, fitting: bool) -> np.ndarray:
        if data.X is None:
            raise DataError(f"{type(self).__name__} needs X, and the data lacks it")
        data.refuse_categories(type(self).__name__)
        if fitting:
            self.n_features_in_ = data.n_features
            if data.feature_names is not None:
                self.feature_names_in_ = np.asarray(data.feature_names, dtype=object)
        known = getattr(self, "feature_names_in_", None)
        if known is not None and data.feature_names is not None:
            _same_names(list(known), list(data.feature_names))
        if data.n_features != self.n_features_in_:
            raise DataError(
                f"X has {data.n_features} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        dense = data.X.toarray() if hasattr(data.X, "toarray") else data.X
        values = data.to_original(np.asarray(dense, dtype=np.float64))
        bad = ~np.isfinite(values).all(axis=1)
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise DataError(f"X must hold finite numbers, got NaN or infinity in row {row}")
        return np.ascontiguousarray(values)

    def _names_in(self) -> list[str]:
        """Return the names of the columns of X, x0, x1, ... if they have none."""
        if hasattr(self, "feature_names_in_"):
            return [str(name) for name in self.feature_names_in_]
        return [f"x{at}" for at in range(self.n_features_in_)]

    def __sklearn_tags__(self) -> Any:
        """State that the output is float64 for any input."""
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


def _same_names(known: list[str], names: list[str]) -> None:
    if known != names:
        other = [name for name in names if name not in known]
        found = repr(other[0]) if other else "the same names in another order"
        raise DataError(f"X must have the feature names of fit, in their order, got {found}")


def column_indices(columns: Any, names: Sequence[str], argument: str) -> np.ndarray:
    """Return the indices of columns, ascending; raise for one that does not exist.

    Examples
    --------
    >>> column_indices(["sex", 0], ["age", "sex"], "protected")
    array([0, 1])
    >>> column_indices("sec", ["age", "sex"], "protected")
    Traceback (most recent call last):
    ...
    equirank.core.errors.DataError: protected must name columns of X, got 'sec'; did you mean 'sex'?
    """
    wanted = columns if isinstance(columns, (list, tuple, np.ndarray)) else [columns]
    found = []
    for column in wanted:
        if isinstance(column, str):
            if column not in names:
                hint = suggest(column, list(names))
                raise DataError(f"{argument} must name columns of X, got {column!r}{hint}")
            found.append(list(names).index(column))
        elif not -len(names) <= int(column) < len(names):
            raise DataError(
                f"{argument} must be columns of X, which has {len(names)}, got {int(column)}"
            )
        else:
            found.append(int(column) % len(names))
    if len(set(found)) < len(found):
        raise DataError(f"{argument} must name each column once, got {list(wanted)!r}")
    return np.array(sorted(found), dtype=np.int64)


def sensitive_labels(data: RankingData) -> dict[str, np.ndarray]:
    """Return the groups of each row by attribute, in input order."""
    return {name: data.to_original(a.labels()) for name, a in data.sensitive.items()}


def check_varying(X: np.ndarray, names: Sequence[str], why: str) -> None:
    """Raise if a column is constant, with its name."""
    flat = np.flatnonzero(X.max(axis=0) == X.min(axis=0))
    if len(flat):
        shown = ", ".join(repr(names[at]) for at in flat[:5])
        more = f" and {len(flat) - 5} more" if len(flat) > 5 else ""
        raise DataError(
            f"X must have no constant column: {why}, and {shown}{more} "
            f"{'is' if len(flat) == 1 else 'are'}; leave such columns out "
            "(sklearn.feature_selection.VarianceThreshold does)"
        )


def check_groups(codes: np.ndarray, categories: Sequence[Any], owner: str) -> None:
    """Raise if there is only one group."""
    if len(np.unique(codes)) < 2:
        raise DataError(
            f"sensitive_features of {owner} must hold at least two groups, got "
            f"{categories[int(codes[0])]!r} only"
        )
