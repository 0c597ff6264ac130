"""RankingClassifier: a classifier made of rankers, by calibration or by cuts of the scores."""

from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ..core import inputs
from ..core.declared import Declared, OnlyWith
from ..core.errors import DataError
from ..core.params import Choice, Instance, Integer, Optional
from ..core.persistence import SavedFiles, save
from ..core.random import as_seed
from ..core.ranker import Ranker
from .boosting.rank_boost import RankBoost
from .sklearn_models import calibrated, fit_calibration

__all__ = ["RankingClassifier", "ordered_cuts"]


def ordered_cuts(score: np.ndarray, truth: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """Return the cuts between ordered classes that have the least total cost on given scores.

    ``cost[i, j]`` is the cost of assigning an item of class ``truth == i`` to class j; the class of
    an item is the number of cuts below its score. A cut is half-way between two scores, or
    infinite. Among cuts of equal cost the lowest are chosen, from the last to the first. Equal
    scores are never separated.
    """
    order = np.argsort(score, kind="stable")
    line, n_classes = score[order], len(cost)
    ends = np.append(np.flatnonzero(line[1:] != line[:-1]) + 1, len(line))
    below = np.append(0, ends)  # number of items below each possible cut
    spent = np.zeros((n_classes, len(line) + 1))
    np.cumsum(cost[truth[order]].T, axis=1, out=spent[:, 1:])
    spent = spent[:, below]
    best = spent[0]
    chosen = []
    for j in range(1, n_classes):
        saved = best - spent[j]
        least = np.minimum.accumulate(saved)
        new = np.append(True, saved[1:] < least[:-1])
        chosen.append(np.maximum.accumulate(np.where(new, np.arange(len(saved)), 0)))
        best = least + spent[j]
    at = len(below) - 1
    cuts = np.empty(n_classes - 1)
    with np.errstate(invalid="ignore"):
        edges = np.concatenate([[-np.inf], 0.5 * line[ends[:-1] - 1] + 0.5 * line[ends[:-1]]])
    edges = np.append(edges, np.inf)
    for j in range(n_classes - 2, -1, -1):
        at = int(chosen[j][at])
        cuts[j] = edges[at]
    return cuts


def _has_probabilities(model: Any) -> bool:
    return bool(model.scheme != "thresholds")


class RankingClassifier(Declared, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of two or more classes made of rankers.

    ``"one_vs_rest"`` fits one ranker per class that ranks its rows above all others; the class with
    the largest calibrated score is predicted. ``"one_vs_one"`` fits one ranker per pair of classes;
    its calibrated probabilities are votes for the two classes. ``"thresholds"`` fits one ranker
    that orders the classes (sorted), and cuts its scores on the training rows at least cost. The
    first of equal classes is predicted. Rows with equal scores are in the same class. No row, or a
    single class, is an error.

    Parameters
    ----------
    ranker : Ranker, optional
        The ranker; by default ``RankBoost()``.
    scheme : {"one_vs_rest", "one_vs_one", "thresholds"}
        See above.
    class_cost : array-like of shape (n_classes, n_classes), optional
        ``class_cost[i][j]`` is the cost of predicting class j for a row of class i; 0 on the
        diagonal. By default every mistake costs 1. With costs, one_vs_rest predicts the class of
        least expected cost, one_vs_one weights the votes of a pair by its cost, and thresholds cuts
        accordingly.
    calibration : {"sigmoid", "isotonic"}
        Platt's sigmoid or an isotonic curve.
    calibration_folds : int or None
        Scores are calibrated out of fold, and each fold costs one further fit; None uses the
        training scores.
    random_state : int, Generator, RandomState or None
        Seed of the folds.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted.
    rankers_ : list of Ranker
        The fitted rankers: per class (one for two classes), per pair of classes, or one.
    cuts_ : ndarray
        The cuts of ``"thresholds"``, between classes 0 and 1, 1 and 2, ...

    Examples
    --------
    >>> import numpy as np
    >>> from equirank.rankers import RankBoost, RankingClassifier
    >>> X = np.arange(30.0)[:, None]
    >>> y = np.repeat(["cold", "mild", "warm"], 10)
    >>> model = RankingClassifier(RankBoost(10), scheme="thresholds").fit(X, y)
    >>> model.predict([[3.0], [14.0], [27.0]]).tolist()
    ['cold', 'mild', 'warm']
    """

    file_attributes: ClassVar[tuple[str, ...]] = ("rankers_",)
    positional: ClassVar[tuple[str, ...]] = ("ranker", "scheme")
    only_with: ClassVar[OnlyWith] = {
        "calibration": ("scheme", ("one_vs_rest", "one_vs_one")),
        "calibration_folds": ("scheme", ("one_vs_rest", "one_vs_one")),
    }
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"cost": True, "sensitive_features": True}

    ranker: Annotated[Ranker | None, Optional(Instance(Ranker, "a Ranker"))] = None
    scheme: Annotated[
        Literal["one_vs_rest", "one_vs_one", "thresholds"],
        Choice("one_vs_rest", "one_vs_one", "thresholds"),
    ] = "one_vs_rest"
    class_cost: Any = None
    calibration: Annotated[Literal["sigmoid", "isotonic"], Choice("sigmoid", "isotonic")] = (
        "sigmoid"
    )
    calibration_folds: Annotated[int | None, Optional(Integer(2))] = 3
    random_state: Any = None

    def fit(self, X: Any, y: Any, *, cost: Any = None, sensitive_features: Any = None) -> Self:
        """Fit the rankers and their calibration.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Features.
        y : array-like
            The class of each row.
        cost, sensitive_features : array-like, optional
            Passed to the ranker.
        """
        self.check_declared()
        missing = "allow-nan" if self._base().__sklearn_tags__().input_tags.allow_nan else True
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], ensure_all_finite=missing)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise DataError(
                f"y must contain at least two classes, got one class: {self.classes_[0]!r}"
            )
        given = {"cost": cost, "sensitive_features": sensitive_features}
        rows = {name: np.asarray(v) for name, v in given.items() if v is not None}
        inputs.same_length({"X": X, **rows})
        self.cost_matrix_ = self._cost_matrix()
        self.rankers_: list[Any] = []
        self.cuts_ = np.zeros(0)
        curves = []
        if self.scheme == "thresholds":
            model = clone(self._base()).fit(X, codes.astype(np.float64), qid=0, **rows)
            self.rankers_.append(model)
            self.cuts_ = ordered_cuts(model.predict(X, qid=0), codes, self.cost_matrix_)
        for inside, positive in self._problems(codes):
            part = {name: values[inside] for name, values in rows.items()}
            model, curve = self._binary(X[inside], positive, part)
            self.rankers_.append(model)
            curves.append(curve)
        self.curve_x_, self.curve_y_, self.curve_size_ = _packed(curves)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each row."""
        X = self._checked(X)
        if self.scheme == "thresholds":
            at = np.searchsorted(self.cuts_, self.rankers_[0].predict(X, qid=0), side="left")
            return self.classes_[at]
        probabilities = self._probabilities(X)
        if self.scheme == "one_vs_one":
            return self.classes_[self._votes(probabilities, self.cost_matrix_).argmax(axis=1)]
        shares = self._shares(probabilities)
        if self.class_cost is None:
            return self.classes_[shares.argmax(axis=1)]
        return self.classes_[(shares @ self.cost_matrix_).argmin(axis=1)]

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class; not available for ``"thresholds"``."""
        probabilities = self._probabilities(self._checked(X))
        if self.scheme == "one_vs_rest":
            return self._shares(probabilities)
        votes = self._votes(probabilities, np.ones_like(self.cost_matrix_))
        return votes / votes.sum(axis=1, keepdims=True)

    def save(self, folder: str | Path) -> None:
        """Save the fitted model into a folder that `equirank.load` reads; no pickle is involved."""
        check_is_fitted(self)
        save(self, folder)

    def __sklearn_tags__(self) -> Any:
        """Allow missing features if the ranker does."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._base().__sklearn_tags__().input_tags.allow_nan
        return tags

    def _base(self) -> Ranker:
        return RankBoost() if self.ranker is None else self.ranker

    def _cost_matrix(self) -> np.ndarray:
        size = len(self.classes_)
        if self.class_cost is None:
            return 1.0 - np.eye(size)
        matrix = np.asarray(self.class_cost, dtype=np.float64)
        good = matrix.shape == (size, size) and np.isfinite(matrix).all() and (matrix >= 0).all()
        if not good or np.diag(matrix).any():
            raise DataError(
                f"class_cost must be a {size} x {size} matrix of costs >= 0 with 0 on the "
                f"diagonal, one row per class, got {self.class_cost!r}"
            )
        return matrix

    def _problems(self, codes: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the binary problems: the rows of each, and which of them are positive."""
        size = len(self.classes_)
        if self.scheme == "thresholds":
            return []
        if self.scheme == "one_vs_one":
            pairs = [(codes == a) | (codes == b) for a, b in combinations(range(size), 2)]
            tops = [b for _, b in combinations(range(size), 2)]
            return [(rows, codes[rows] == b) for rows, b in zip(pairs, tops, strict=True)]
        everyone = np.ones(len(codes), dtype=bool)
        above = range(1, size) if size == 2 else range(size)
        return [(everyone, codes == k) for k in above]

    def _binary(
        self, X: np.ndarray, positive: np.ndarray, given: dict[str, np.ndarray]
    ) -> tuple[Any, tuple[np.ndarray, np.ndarray]]:
        """Fit the ranker of two classes and the calibration of its scores.

        Rankers define an order only, so the scores of each fold are standardised over all rows.
        """
        y = positive.astype(np.float64)
        model = clone(self._base()).fit(X, y, qid=0, **given)
        whole = model.predict(X, qid=0)
        folds = min(self.calibration_folds or 0, int(positive.sum()), int((~positive).sum()))
        if folds < 2:
            return model, fit_calibration(whole, positive, self.calibration)
        score = np.empty(len(X))
        seed = as_seed(self.random_state) % 2**32
        for train, test in StratifiedKFold(folds, shuffle=True, random_state=seed).split(X, y):
            part = {name: values[train] for name, values in given.items()}
            other = clone(self._base()).fit(X[train], y[train], qid=0, **part).predict(X, qid=0)
            score[test] = (other[test] - other.mean()) / (other.std() or 1.0)
        score = score * (whole.std() or 1.0) + whole.mean()
        return model, fit_calibration(score, positive, self.calibration)

    def _probabilities(self, X: np.ndarray) -> np.ndarray:
        """Return the calibrated probability of each ranker (rows x rankers)."""
        ends = np.cumsum(self.curve_size_)
        columns = []
        for model, begin, end in zip(self.rankers_, ends - self.curve_size_, ends, strict=True):
            curve = self.curve_x_[begin:end], self.curve_y_[begin:end]
            columns.append(calibrated(model.predict(X, qid=0), curve, self.calibration))
        return np.stack(columns, axis=1)

    def _shares(self, probabilities: np.ndarray) -> np.ndarray:
        if len(self.classes_) == 2:
            return np.concatenate([1.0 - probabilities, probabilities], axis=1)
        total = probabilities.sum(axis=1, keepdims=True)
        even = 1.0 / len(self.classes_)
        return np.where(total > 0, probabilities / np.where(total > 0, total, 1.0), even)

    def _votes(self, probabilities: np.ndarray, cost: np.ndarray) -> np.ndarray:
        """Sum the votes of each class over its pairs, weighted by the cost of missing it."""
        size = len(self.classes_)
        votes = np.zeros((len(probabilities), size))
        for (a, b), share in zip(combinations(range(size), 2), probabilities.T, strict=True):
            votes[:, a] += (1.0 - share) * cost[a, b]
            votes[:, b] += share * cost[b, a]
        return votes

    def _checked(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        missing = "allow-nan" if self._base().__sklearn_tags__().input_tags.allow_nan else True
        return validate_data(
            self, X, reset=False, dtype=[np.float64, np.float32], ensure_all_finite=missing
        )

    def _save_files(self, folder: Path) -> None:
        for at, model in enumerate(self.rankers_):
            model.save(folder / f"ranker_{at}")

    def _load_files(self, files: SavedFiles) -> None:
        own = () if self.ranker is None else (type(self.ranker),)
        count = max(1, len(self.curve_size_))
        self.rankers_ = [files.load(f"ranker_{at}", own) for at in range(count)]


def _packed(
    curves: list[tuple[np.ndarray, np.ndarray]],
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Concatenate calibration curves, so that they are saved as plain arrays."""
    if not curves:
        return np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int64)
    x, y = (np.concatenate(parts) for parts in zip(*curves, strict=True))
    return x, y, np.array([len(part) for part, _ in curves], dtype=np.int64)
