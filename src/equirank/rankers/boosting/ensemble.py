"""Ensemble: scores, tables and feature importances of a weighted sum of weak rankers."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...core.data import RankingData
from ...core.explain_pair import Parts, as_dense
from ...core.ranker import Ranker
from ...core.table import Table
from ...theory.bounds import EnsembleFacts
from ...theory.generalization_bounds import GeneralizationBounds
from ..training_pairs import ABSTAIN
from .weak_rankers import scale

__all__ = ["Ensemble"]


class Ensemble(GeneralizationBounds, Ranker):
    """Base of fitted sums ``f = sum_t alpha_t h_t`` of weak rankers.

    Learned attributes: ``feature_``, ``threshold_`` (NaN if the weak ranker is the feature),
    ``side_`` (output at a missing value: 0, 1, or 2 for 1/2) and ``alpha_``, one entry per round;
    ``low_`` and ``high_``, the ranges of the features; ``curve_``, the learning curve.
    """

    feature_: np.ndarray
    threshold_: np.ndarray
    side_: np.ndarray
    alpha_: np.ndarray
    low_: np.ndarray
    high_: np.ndarray
    curve_: dict[str, list[float]]

    def _scores(self, data: Any) -> np.ndarray:
        rounds = slice(0, len(self.alpha_))
        return self._sum(as_dense(data.X), rounds)

    def _sum(self, X: np.ndarray, rounds: slice) -> np.ndarray:
        """Sum the weak rankers of some rounds, feature by feature."""
        total = np.zeros(len(X))
        for _, values in self._by_feature(X, rounds):
            total += values
        return total

    def _parts(self, data: RankingData) -> Parts:
        """Return the contribution of each feature to the score of each row."""
        X = as_dense(data.X)
        parts = np.zeros(X.shape)
        for feature, values in self._by_feature(X, slice(0, len(self.alpha_))):
            parts[:, feature] = values
        return Parts(parts)

    def _by_feature(self, X: np.ndarray, rounds: slice) -> Iterator[tuple[int, np.ndarray]]:
        """Yield each feature used in some rounds, and its contribution to the score of each row."""
        features, alphas = self.feature_[rounds], self.alpha_[rounds]
        for feature in np.unique(features).tolist():
            chosen = features == feature
            threshold, side = self.threshold_[rounds][chosen], self.side_[rounds][chosen]
            alpha, column = alphas[chosen], X[:, feature].astype(np.float64)
            at_missing = np.where(side == ABSTAIN, 0.5, side).astype(np.float64)
            if np.isnan(threshold[0]):
                low, high = self.low_[feature], self.high_[feature]
                values = alpha.sum() * scale(column, low, high)
            else:
                order = np.argsort(threshold, kind="stable")
                steps = np.concatenate([[0.0], np.cumsum(alpha[order])])
                values = steps[np.searchsorted(threshold[order], column, side="left")]
            yield feature, np.where(np.isnan(column), (alpha * at_missing).sum(), values)

    def staged_predict(
        self, X: Any, *, qid: Any = None, sensitive_features: Any = None
    ) -> Iterator[np.ndarray]:
        """Yield the scores after each round, in input order.

        Parameters
        ----------
        X : array-like, data frame or RankingData
            Features.
        qid, sensitive_features : array-like, optional
            As in `predict`.
        """
        data = self._prediction_data(X, None, qid, sensitive_features)
        X, scores = as_dense(data.X), np.zeros(data.n_rows)
        for at in range(len(self.alpha_)):
            scores = scores + self._sum(X, slice(at, at + 1))
            yield data.to_original(scores)

    @property
    def n_estimators_(self) -> int:
        """Number of rounds of the fitted model."""
        check_is_fitted(self)
        return len(self.alpha_)

    @property
    def feature_importances_(self) -> np.ndarray:
        """Share of each feature in the absolute weights; all 0 without a weak ranker."""
        check_is_fitted(self)
        rankers = self._distinct()
        total = np.bincount(
            rankers["feature"], weights=np.abs(rankers["alpha"]), minlength=self.n_features_in_
        )
        return total / total.sum() if total.sum() > 0 else total

    def _distinct(self) -> dict[str, np.ndarray]:
        """Merge the rounds that chose the same weak ranker, in the order of first choice."""
        key = np.stack(
            [self.feature_, self.side_, np.nan_to_num(self.threshold_, nan=np.inf)], axis=1
        )
        _, first, inverse = np.unique(key, axis=0, return_index=True, return_inverse=True)
        alpha = np.bincount(inverse.ravel(), weights=self.alpha_, minlength=len(first))
        order = np.argsort(first)
        rows = first[order]
        return {
            "feature": self.feature_[rows].astype(np.int64),
            "threshold": self.threshold_[rows],
            "side": self.side_[rows],
            "alpha": alpha[order],
        }

    @property
    def rankers_(self) -> Table:
        """The ensemble as a table: one row per distinct weak ranker, largest weight first.

        The score of an item increases by ``weight`` if its ``feature`` is above (``>``) or not
        above (``<=``) the ``threshold``. With ``weak_ranker="feature"`` there is no threshold, and
        the score increases by up to ``weight`` as the feature rises (or falls). ``missing`` is the
        share of the weight that is added if the feature is missing.
        """
        check_is_fitted(self)
        found = self._distinct()
        order = np.argsort(-np.abs(found["alpha"]), kind="stable")
        alpha, side = found["alpha"][order], found["side"][order]
        share = np.where(side == ABSTAIN, 0.5, side)
        threshold = found["threshold"][order]
        words = (
            np.where(np.isnan(threshold), "rises", ">"),
            np.where(np.isnan(threshold), "falls", "<="),
        )
        return Table(
            {
                "feature": self._feature_words(found["feature"][order]),
                "direction": np.where(alpha >= 0, *words).tolist(),
                "threshold": threshold,
                "weight": np.abs(alpha),
                "missing": np.where(alpha >= 0, share, 1.0 - share),
            }
        )

    def _feature_words(self, features: np.ndarray) -> list[Any]:
        names = getattr(self, "feature_names_in_", None)
        return [int(f) if names is None else str(names[f]) for f in features]

    @property
    def learning_curve_(self) -> Table:
        """One row per round: alpha, e+, e-, e0, Z, and losses.

        ``E`` is the cost-weighted exponential loss, an upper bound on the cost-weighted share of
        misordered pairs. ``R2`` is that share without costs and ``cost_R2`` with costs, ties
        counted half (see ``record_errors``). ``validation`` is the metric on the validation data,
        if there is any.
        """
        check_is_fitted(self)
        rounds = list(range(1, len(next(iter(self.curve_.values()))) + 1))
        return Table({"round": rounds} | {name: np.array(v) for name, v in self.curve_.items()})

    def _bound_facts(self, data: RankingData) -> EnsembleFacts:
        """Return the inputs of the bounds; Z bounds no error if costs grow by round."""
        growing = getattr(self, "cost_stage", "initial") == "rounds"
        features = bool(np.isnan(self.threshold_).any())
        return EnsembleFacts(
            norm=float(np.abs(self._distinct()["alpha"]).sum()),
            n_rounds=len(self.alpha_),
            weak_ranker="feature" if features else "stump",
            normalizers=None if growing else np.array(self.curve_["Z"][: len(self.alpha_)]),
        )

    def __sklearn_tags__(self) -> Any:
        """Allow missing values."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
