"""AdaRank: listwise boosting of single features that optimises any metric."""

import math
import warnings
from typing import Annotated, Any, ClassVar

import numpy as np

from ...core.data import RankingData
from ...core.environment import progress
from ...core.errors import DataError, EquirankWarning
from ...core.explain_pair import Parts
from ...core.metric import Metric
from ...core.params import Flag, Integer
from ...core.ranker import Ranker
from ...core.ranking import Ranking
from ...core.table import Table
from ..early_stopping import METRIC, EarlyStopping, Watch, one_metric

__all__ = ["AdaRank"]


#: Least distance between a metric and 1, so that weights stay finite.
LEAST = 1e-6


class AdaRank(EarlyStopping, Ranker):
    """Listwise boosting: a sum of single features, each chosen for the lists ranked badly so far.

    Every list q has a weight P(q), initially uniform or its ``query_weight``. Each round chooses
    the feature (highest or lowest first) with the largest ``sum_q P(q) E(q)``, where E is the
    metric scaled to [0, 1] with 1 best, and weights it by
    ``1/2 ln(sum P (1 + E) / sum P (1 - E))``; then ``P(q)`` becomes proportional to
    ``query_weight(q) exp(-E(q))`` of the current sum. Features are divided by their range. The
    rounds up to the best are kept. Lists for which the metric is undefined are ignored; if it is
    undefined for all, every score is 0 and a warning is issued.

    Parameters
    ----------
    n_estimators : int
        Largest number of rounds.
    metric : str or Metric
        The metric to optimise. One without finite bounds is scaled to [0, 1] by its least and its
        largest value over single features.
    negate : bool
        Whether a feature may also rank lowest first.
    max_repeats : int
        How many times in a row one feature may be chosen. Without a limit it is often chosen
        forever, since its own weight does not change its order.
    validation : float or RankingData, optional
        The share of the lists to hold out, or other data, to choose the number of rounds by; None
        uses the training data.
    random_state : int, Generator, RandomState or None
        Seed of the lists held out.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The weight of each feature in the score.
    feature_, alpha_ : ndarray
        Per round: the feature and its weight, negative if it ranks lowest first.
    curve_ : dict
        Per round: the metric on the training data, and on the validation data if there is any.

    References
    ----------
    Xu and Li, AdaRank: a boosting algorithm for information retrieval, SIGIR 2007.

    Examples
    --------
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import AdaRank
    >>> data = make_ranking(n_queries=60, n_items=30, random_state=0)
    >>> model = AdaRank(30, metric="NDCG@5").fit(data)
    >>> model.score(data) > 0.7, len(model.alpha_) <= 30
    (True, True)
    """

    fit_takes: ClassVar[frozenset[str]] = frozenset({"query_weight"})
    positional: ClassVar[tuple[str, ...]] = ("n_estimators",)
    test_params: ClassVar[dict[str, Any]] = {"n_estimators": 10}

    n_estimators: Annotated[int, Integer(1)] = 100
    metric: Annotated[Any, METRIC] = "NDCG@10"
    negate: Annotated[bool, Flag()] = True
    max_repeats: Annotated[int, Integer(1)] = 5

    def current_needs(self) -> frozenset[str]:
        """Add what the metric needs."""
        known = {"sensitive": "sensitive_features", "cost": "cost"}
        wanted = one_metric(self.metric).needs
        return super().current_needs() | {known[name] for name in wanted if name in known}

    def _fit(self, data: RankingData) -> None:
        metric = one_metric(self.metric)
        if "score" in metric.needs:
            raise DataError(
                f"metric of AdaRank must depend on the order of scores only, got {metric}"
            )
        data, watch = self._split_validation(data, metric)
        X = np.asarray(data.X, dtype=np.float64)
        spread = np.ptp(X, axis=0)
        self.scale_ = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
        weak = _Weak(data, metric, X * self.scale_, self.negate)
        rounds = self._boost(data, weak, watch)
        best = _best(rounds["metric"], metric) if watch is None else watch.best
        kept = min(best + 1, len(rounds["alpha"]))
        self.feature_ = np.array(rounds["feature"][:kept], dtype=np.int64)
        self.alpha_ = np.array(rounds["alpha"][:kept], dtype=np.float64)
        self.curve_ = {"metric": rounds["metric"]}
        if watch is not None:
            self.curve_["validation"] = watch.values
        self.coef_ = self.scale_ * np.bincount(
            self.feature_, weights=self.alpha_, minlength=X.shape[1]
        )

    def _boost(self, data: RankingData, weak: "_Weak", watch: Watch | None) -> dict[str, list[Any]]:
        """Run the rounds."""
        rounds: dict[str, list[Any]] = {"feature": [], "alpha": [], "metric": []}
        given = np.ones(data.n_queries) if data.query_weight is None else data.query_weight
        given = np.where(weak.defined, given, 0.0)
        if given.sum() <= 0.0:
            warnings.warn(
                f"{weak.metric} is undefined in every list of weight > 0: all scores of AdaRank "
                "are 0",
                EquirankWarning,
                stacklevel=5,
            )
            return rounds
        share, score = given / given.sum(), np.zeros(data.n_rows)
        repeats, last = 0, -1
        for _ in progress(range(self.n_estimators), "AdaRank"):
            barred = last if repeats >= self.max_repeats else None
            choice = weak.choose(share, barred)
            if choice is None:
                break
            at, merit = choice
            feature, sign = at % weak.X.shape[1], 1.0 if at < weak.X.shape[1] else -1.0
            repeats, last = (repeats + 1 if at == last else 1), at
            alpha = 0.5 * math.log((1.0 + merit) / max(1.0 - merit, LEAST)) * sign
            score = score + alpha * weak.X[:, feature]
            values = weak.values(score)
            rounds["feature"].append(feature)
            rounds["alpha"].append(alpha)
            rounds["metric"].append(weak.summary(values))
            if watch is not None:
                seen = np.asarray(watch.data.X[:, feature], dtype=np.float64)
                if watch.add(alpha * self.scale_[feature] * seen):
                    break
            scaled = weak.scaled(values)
            if (scaled[given > 0] >= 1.0 - LEAST).all():
                break
            share = given * np.exp(-scaled)
            share = share / share.sum()
        return rounds

    def _scores(self, data: RankingData) -> np.ndarray:
        return np.asarray(data.X @ self.coef_)

    def _parts(self, data: RankingData) -> Parts:
        return Parts.linear(data.X, self.coef_)

    @property
    def learning_curve_(self) -> Table:
        """One row per round: the metric on the training data, and on validation data if any."""
        rounds = list(range(1, len(self.curve_["metric"]) + 1))
        return Table({"round": rounds} | {name: np.array(v) for name, v in self.curve_.items()})


class _Weak:
    """Single features as rankers, and the metric of each in each list."""

    def __init__(self, data: RankingData, metric: Metric, X: np.ndarray, negate: bool) -> None:
        self.data, self.metric, self.X = data, metric, X
        signs = (1.0, -1.0) if negate else (1.0,)
        table = [self.values(sign * column) for sign in signs for column in X.T]
        values = np.stack(table)
        self.defined = ~np.isnan(values).any(axis=0)
        low, high = metric.bounds
        known = values[:, self.defined]
        self.low = low if math.isfinite(low) else float(known.min(initial=0.0))
        self.high = high if math.isfinite(high) else float(known.max(initial=self.low))
        self.table = self.scaled(values)
        moving = X.min(axis=0) < X.max(axis=0)
        self.usable = np.tile(moving, len(signs))

    def values(self, score: np.ndarray) -> np.ndarray:
        """Return the metric of each list."""
        ranking = Ranking.from_scores(self.data, self.data.to_original(score))
        return self.metric.per_query(ranking).value

    def summary(self, values: np.ndarray) -> float:
        """Return the mean over the lists for which the metric is defined."""
        return float(values[self.defined].mean())

    def scaled(self, values: np.ndarray) -> np.ndarray:
        """Scale values to [0, 1], 1 being best; undefined values become 0."""
        share = (values - self.low) / ((self.high - self.low) or 1.0)
        share = share if self.metric.direction == "higher" else 1.0 - share
        return np.where(np.isnan(share), 0.0, np.clip(share, 0.0, 1.0))

    def choose(self, share: np.ndarray, barred: int | None) -> tuple[int, float] | None:
        """Return the best feature under these weights and its weighted metric.

        Indices from n_features on are features that rank lowest first. ``barred`` excludes
        a feature, both ways.
        """
        merit = np.where(self.usable, self.table @ share, -1.0)
        if barred is not None:
            merit[barred % self.X.shape[1] :: self.X.shape[1]] = -1.0
        at = int(merit.argmax())
        return None if merit[at] < 0.0 else (at, float(merit[at]))


def _best(values: list[float], metric: Metric) -> int:
    if not values:
        return -1
    return int(np.argmax(values) if metric.direction == "higher" else np.argmin(values))
