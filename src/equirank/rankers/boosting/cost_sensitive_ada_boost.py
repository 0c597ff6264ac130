"""CostSensitiveAdaBoost: AdaBoost and its published cost-sensitive variants."""

import warnings
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from ...core import inputs
from ...core.declared import GIVEN, Declared, OnlyWith
from ...core.errors import DataError, EquirankWarning
from ...core.explain_pair import Parts, Scored, explain_pair
from ...core.given_data import LONG_REQUEST, MANY_ROWS, as_ranking_data, warn_of_one_list
from ...core.labels import MAX_GROUPS
from ...core.pair_explanation import PairExplanation
from ...core.params import AnyOf, Choice, Integer, Optional, Vector
from ...core.persistence import save
from ...core.random import as_seed
from ...core.ranking import Ranking
from ...core.table import Table
from ..feature_bins import Workers, bin_features
from ..sklearn_models import calibrated, fit_calibration
from .ada_boost_rules import RULES, best_edge, stump_output, vote_parts, vote_sum

__all__ = ["CostSensitiveAdaBoost"]


#: Relative edge up to which a stump does not separate the classes.
NO_EDGE = 1e-12


class CostSensitiveAdaBoost(Declared, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """AdaBoost over stumps for two classes, in one of its cost-sensitive variants.

    ``F(x) = sum_t a_t h_t(x)`` with ``h_t = +-1`` on the two sides of a threshold; the variants
    differ in the first weights, in the update of the weights and in ``a_t``. `predict` returns
    classes; `rank` orders rows by `decision_function`, so the classifier is a baseline for rankings
    with binary relevance. Rows with equal scores are tied. Among equally good stumps, the one with
    the lowest feature, then the lowest threshold, is chosen. Boosting stops early if no stump has
    an edge, or if a stump makes no mistake.

    Parameters
    ----------
    variant : str
        ``"AdaBoost"`` (ignores costs), ``"AdaMEC"`` (trained like it, with the decision threshold
        of least expected cost), ``"CGAda"`` (first weights are the costs), ``"AsymAda"`` (the cost
        is spread over the rounds), ``"CSAda"``, ``"AdaC1"``, ``"AdaC2"``, ``"AdaC3"``, ``"CSB0"``,
        ``"CSB1"``, ``"CSB2"``, ``"AdaCost"``. The user guide compares their properties.
    n_estimators : int
        Largest number of rounds.
    class_cost : None, "balanced" or sequence of two numbers
        The cost of misclassifying a row of the first and of the second class (sorted, as in
        ``classes_``); ``"balanced"`` is the inverse share of the class. Costs given to `fit`
        multiply it.
    calibration : {"sigmoid", "isotonic"} or None
        How `predict_proba` maps scores to probabilities: Platt's sigmoid or an isotonic curve,
        fitted to out-of-fold scores; None uses ``1 / (1 + exp(-2F))``, which is not calibrated.
        The decision of AdaMEC uses the calibrated probabilities.
    calibration_folds : int
        Number of folds, each of which costs one further fit.
    random_state : int, Generator, RandomState or None
        Seed of the folds, and of the sample used for bins beyond 200,000 rows.

    Attributes
    ----------
    classes_ : ndarray
        The two classes; the second is the positive one.
    feature_, threshold_, weight_ : ndarray
        The stumps: feature, threshold (minus infinity: always +1) and signed weight.
    shift_ : float
        Subtracted from F before the decision; 0 except for AdaMEC.

    References
    ----------
    Nikolaou, Edakunni, Kull, Flach and Brown, Cost-sensitive boosting algorithms: do we really need
    them?, Machine Learning 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from equirank.rankers import CostSensitiveAdaBoost
    >>> X = np.arange(8.0)[:, None]
    >>> y = [0, 0, 1, 0, 1, 0, 1, 1]
    >>> CostSensitiveAdaBoost(n_estimators=1).fit(X, y).predict(X)
    array([0, 0, 1, 1, 1, 1, 1, 1])
    >>> careful = CostSensitiveAdaBoost("CGAda", n_estimators=1, class_cost=(3.0, 1.0))
    >>> careful.fit(X, y).predict(X)  # a false positive costs three times as much
    array([0, 0, 0, 0, 0, 0, 1, 1])
    """

    positional: ClassVar[tuple[str, ...]] = ("variant",)
    only_with: ClassVar[OnlyWith] = {"calibration_folds": ("calibration", GIVEN)}
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"cost": True}

    variant: Annotated[str, Choice(*RULES)] = "AdaMEC"
    n_estimators: Annotated[int, Integer(1)] = 100
    class_cost: Annotated[Any, Optional(AnyOf(Choice("balanced"), Vector(0)))] = None
    calibration: Annotated[
        Literal["sigmoid", "isotonic"] | None, Optional(Choice("sigmoid", "isotonic"))
    ] = "sigmoid"
    calibration_folds: Annotated[int, Integer(2)] = 3
    max_bins: Annotated[int | None, Optional(Integer(2))] = 255
    random_state: Any = None

    def fit(self, X: Any, y: Any, *, cost: Any = None) -> Self:
        """Fit the classifier to two classes.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Features.
        y : array-like
            The class of each row; two classes.
        cost : array-like, optional
            The cost of misclassifying each row, > 0.
        """
        self.check_declared()
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        positive = self._two_classes(y)
        costs = self._costs(positive, inputs.numbers("cost", cost))
        seed = as_seed(self.random_state)
        self.feature_, self.threshold_, self.weight_ = self._boost(X, positive, costs, seed)
        self.calibration_x_ = self.calibration_y_ = np.zeros(0)
        if self.calibration is not None:
            score = self._left_out_scores(X, positive, costs, seed)
            curve = fit_calibration(score, positive, self.calibration)
            self.calibration_x_, self.calibration_y_ = curve
        self.shift_ = self._shift(costs[~positive].mean(), costs[positive].mean())
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return F minus ``shift_``; values above 0 are the second class."""
        score = self._margin(self._checked(X))
        return score - self.shift_

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of each row; a decision value of 0 is the first class."""
        positive = self.decision_function(X) > 0
        return self.classes_[positive.astype(np.intp)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, calibrated unless ``calibration`` is None."""
        score = self._margin(self._checked(X))
        if self.calibration is None:
            positive = 0.5 * (1.0 + np.tanh(score))
        else:
            curve = (self.calibration_x_, self.calibration_y_)
            positive = calibrated(score, curve, self.calibration)
        return np.stack([1.0 - positive, positive], axis=1)

    def rank(
        self, X: Any, y: Any = None, *, qid: Any = None, sensitive_features: Any = None
    ) -> Ranking:
        """Rank the rows of each query by `decision_function`, as a `Ranker` does.

        Parameters
        ----------
        X : array-like
            Features.
        y, qid, sensitive_features : array-like, optional
            As in `as_ranking_data`; they are stored in ``ranking.data``.
        """
        score = self.decision_function(X)
        data = as_ranking_data(None, y, qid=qid, sensitive_features=sensitive_features, score=score)
        warn_of_one_list(
            X,
            qid,
            data.n_rows,
            f"{type(self).__name__}.rank",
            above=LONG_REQUEST if y is None else MANY_ROWS,
        )
        return Ranking.from_scores(data)

    def explain_pair(
        self, X: Any, a: int, b: int, *, qid: Any = None, sensitive_features: Any = None
    ) -> PairExplanation:
        """Explain why row a is ranked above (or below) row b, exactly; see `Ranker.explain_pair`.

        Parameters
        ----------
        X : array-like
            Features.
        a, b : int
            Row numbers in X, of two rows of one list.
        qid, sensitive_features : array-like, optional
            As in `rank`.
        """
        data = as_ranking_data(
            self._checked(X),
            qid=qid,
            sensitive_features=sensitive_features,
            max_groups=MAX_GROUPS,
        )
        names = getattr(self, "feature_names_in_", None)
        if names is None:
            names = [f"x{at}" for at in range(data.n_features)]
        stumps = (self.feature_, self.threshold_, self.weight_)
        model = Scored(
            type(self).__name__,
            [str(name) for name in names],
            lambda rows: self._margin(np.asarray(rows.X)) - self.shift_,
            lambda rows: Parts(vote_parts(np.asarray(rows.X), *stumps)),
        )
        return explain_pair(model, data, a, b, n_draws=2, random_state=0)

    @property
    def rankers_(self) -> Table:
        """The stumps: feature, threshold, and the weight of the side above the threshold."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        feature = self.feature_ if names is None else names[self.feature_]
        return Table({"feature": feature, "threshold": self.threshold_, "weight": self.weight_})

    def save(self, folder: str | Path) -> None:
        """Save the fitted model into a folder that `equirank.load` reads; no pickle is involved."""
        check_is_fitted(self)
        save(self, folder)

    def __sklearn_tags__(self) -> Any:
        """Declare that only two classes are supported."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _two_classes(self, y: np.ndarray) -> np.ndarray:
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(y)}."
            )
        if len(self.classes_) < 2:
            raise DataError(f"y must contain two classes, got one class: {self.classes_[0]!r}")
        return codes == 1

    def _costs(self, positive: np.ndarray, cost: np.ndarray | None) -> np.ndarray:
        inputs.same_length({"y": positive, "cost": cost})
        inputs.refuse("cost", cost, cost is not None and ~(cost > 0), "a number > 0")
        share = float(positive.mean())
        given = np.asarray(
            (1.0, 1.0)
            if self.class_cost is None
            else (1.0 / (1.0 - share), 1.0 / share)
            if isinstance(self.class_cost, str)
            else self.class_cost,
            dtype=float,
        )
        if given.shape != (2,) or not (given > 0).all():
            raise DataError(
                f"class_cost must be two numbers > 0, one per class, got {self.class_cost!r}"
            )
        return given[positive.astype(np.intp)] * (1.0 if cost is None else cost)

    def _boost(
        self, X: np.ndarray, positive: np.ndarray, costs: np.ndarray, seed: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return feature, threshold and signed weight of the stump of each round."""
        rule = RULES[self.variant]
        sign = np.where(positive, 1.0, -1.0)
        workers = Workers(1)
        bins = bin_features(X, np.arange(len(X)), self.max_bins, seed, workers)
        cost = costs / costs.max() if rule.unit else costs
        weight = rule.start(cost, self.n_estimators)
        weight = weight / weight.sum()
        rounds: list[tuple[int, float, float]] = []
        for _ in range(self.n_estimators):
            seen = weight * cost**rule.looks if rule.looks else weight
            feature, threshold, side, edge = best_edge(bins, seen * sign, workers)
            if edge <= NO_EDGE * seen.sum():
                break
            above = stump_output(bins, feature, threshold)
            margin = sign * side * above
            vote = rule.vote(weight, cost, margin)
            stopped = vote <= 0
            if stopped:
                self._warn_stopped(len(rounds), float((weight * margin).sum()))
                if rounds:
                    break
                vote = RULES["AdaBoost"].vote(weight, cost, margin)
            cut = -np.inf if threshold < 0 else bins.edges[feature, threshold]
            rounds.append((feature, float(cut), vote * side))
            if stopped or (margin > 0).all():
                break
            weight = weight * rule.step(cost, margin, vote, self.n_estimators)
            weight = weight / weight.sum()
        kinds = (np.int64, np.float64, np.float64)
        feature_, threshold_, weight_ = (
            np.array([part[at] for part in rounds], dtype=kind) for at, kind in enumerate(kinds)
        )
        return feature_, threshold_, weight_

    def _warn_stopped(self, rounds: int, edge: float) -> None:
        """Warn that the vote of a stump with an edge is not positive, as happens with AdaCost."""
        fallback = "" if rounds else "; that stump is used with the vote of AdaBoost"
        warnings.warn(
            f"{self.variant} stopped after {rounds} rounds: the vote of a stump with an edge of "
            f"{edge:.3g} is not positive{fallback}",
            EquirankWarning,
            stacklevel=4,
        )

    def _left_out_scores(
        self, X: np.ndarray, positive: np.ndarray, costs: np.ndarray, seed: int
    ) -> np.ndarray:
        """Return out-of-fold scores, or training scores if a class is too small for folds."""
        fewest = int(min(positive.sum(), (~positive).sum()))
        folds = min(self.calibration_folds, fewest)
        if folds < 2:
            return vote_sum(X, self.feature_, self.threshold_, self.weight_)
        score = np.empty(len(X))
        split = StratifiedKFold(folds, shuffle=True, random_state=seed % 2**32)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EquirankWarning)  # the fit to all rows has warned
            for train, test in split.split(X, positive):
                parts = self._boost(X[train], positive[train], costs[train], seed)
                score[test] = vote_sum(X[test], *parts)
        return score

    def _shift(self, negative: float, positive: float) -> float:
        """Return the F above which the second class has the lower expected cost (AdaMEC)."""
        if self.variant != "AdaMEC":
            return 0.0
        odds = float(np.log(negative / positive))
        if self.calibration is None:
            return 0.5 * odds
        if self.calibration == "isotonic":
            return self._crossing(negative / (negative + positive))
        slope = float(self.calibration_x_[0])
        return 0.5 * odds if slope <= 0 else (odds - float(self.calibration_y_[0])) / slope

    def _crossing(self, share: float) -> float:
        """Return the F at which the isotonic curve crosses a share, or an F beyond all."""
        x, y = self.calibration_x_, self.calibration_y_
        above = np.flatnonzero(y > share)
        if len(above) == 0 or above[0] == 0:
            beyond = float(np.abs(self.weight_).sum()) + 1.0
            return beyond if len(above) == 0 else -beyond
        at = int(above[0])
        part = (share - y[at - 1]) / (y[at] - y[at - 1])
        return float(x[at - 1] + part * (x[at] - x[at - 1]))

    def _checked(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return validate_data(self, X, reset=False, dtype=[np.float64, np.float32])

    def _margin(self, X: np.ndarray) -> np.ndarray:
        return vote_sum(X, self.feature_, self.threshold_, self.weight_)
