"""AdaRank: boosting of single features towards any metric, list by list."""

import math
import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ...core.data import RankingData
from ...core.environment import progress
from ...core.errors import DataError, EquirankWarning
from ...core.explain_pair import Parts
from ...core.metric import Metric
from ...core.params import AnyOf, Constraint, Flag, Instance, Integer, Number, Optional
from ...core.ranker import Ranker
from ...core.ranking import Ranking
from ...core.table import Table
from ..early_stopping import Watch, held_out, one_metric

__all__ = ["AdaRank"]


#: What is left between a perfect metric and 1, so that weights stay finite.
LEAST = 1e-6


class AdaRank(Ranker):
    """Listwise boosting: adds up single features, each chosen for the lists that fare badly so far.

    Every list q has a weight P(q), at first even or its ``query_weight``. Each round takes the
    feature (highest or lowest first) with the largest ``sum_q P(q) E(q)``, E being the metric
    brought to [0, 1] with 1 best, at the weight ``1/2 ln(sum P (1 + E) / sum P (1 - E))``; then
    ``P(q)`` becomes proportional to ``query_weight(q) exp(-E(q))`` of the sum so far. Features
    enter divided by their range. The rounds up to the best one are kept. Lists where the metric is
    undefined are left out; where it is undefined in all, every score is 0 and a warning says so.

    Parameters
    ----------
    n_estimators : int
        Rounds at most.
    metric : str or Metric
        What is optimised, one of any kind; those without finite bounds are brought to [0, 1] by the
        least and the largest value that single features have.
    negate : bool
        Whether a feature may also be taken lowest first.
    max_repeats : int
        So often in a row may one feature be taken: without a limit it often stays for ever, since
        its own weight does not change its order.
    early_stopping : int, optional
        Rounds without improvement on the validation data after which to stop.
    validation : float or RankingData, optional
        A share of the lists held out, or other data, to choose the number of rounds by; None
        chooses by the training data.
    random_state : int, Generator, RandomState or None
        Seed of the choice of lists held out.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        What each feature weighs in the score.
    feature_, alpha_ : ndarray
        Per round: the feature and its weight, negative where it is taken lowest first.
    curve_ : dict
        Per round: the metric on the training data, and on validation data where there is any.

    References
    ----------
    Xu and Li, AdaRank: a boosting algorithm for information retrieval, SIGIR 2007.

    Examples
    --------
    >>> from equirank import query_train_test_split
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import AdaRank
    >>> data = make_ranking(n_queries=60, n_items=30, random_state=0)
    >>> train, test = query_train_test_split(data, random_state=0)
    >>> model = AdaRank(30, metric="NDCG@5").fit(train)
    >>> model.score(test) > 0.7, len(model.alpha_) <= 30
    (True, True)
    """

    fit_takes: ClassVar[frozenset[str]] = frozenset({"query_weight"})
    params: ClassVar[Mapping[str, Constraint]] = {
        "n_estimators": Integer(1),
        "metric": AnyOf(Instance(str, "a metric's name"), Instance(Metric, "a metric")),
        "negate": Flag(),
        "max_repeats": Integer(1),
        "early_stopping": Optional(Integer(1)),
        "validation": AnyOf(
            Number(0.0, 1.0, open_low=True, open_high=True),
            Optional(Instance(RankingData, "a RankingData")),
        ),
    }
    test_params: ClassVar[dict[str, Any]] = {"n_estimators": 10}

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        metric: Any = "NDCG@10",
        negate: bool = True,
        max_repeats: int = 5,
        early_stopping: int | None = None,
        validation: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.metric = metric
        self.negate = negate
        self.max_repeats = max_repeats
        self.early_stopping = early_stopping
        self.validation = validation
        self.random_state = random_state

    def _needs(self) -> frozenset[str]:
        """Add what the metric needs."""
        known = {"sensitive": "sensitive_features", "cost": "cost"}
        wanted = one_metric(self.metric).needs
        return super()._needs() | {known[name] for name in wanted if name in known}

    def _fit(self, data: RankingData) -> None:
        metric = one_metric(self.metric)
        if "score" in metric.needs:
            raise DataError(f"metric of AdaRank must not look at the size of scores, got {metric}")
        data, watched = held_out(data, self.validation, self.random_state, type(self).__name__)
        if watched is None and self.early_stopping is not None:
            raise DataError(
                "validation must be a share of the queries or a RankingData where early_stopping "
                "is given, got None"
            )
        watch = None if watched is None else Watch(watched, metric, self.early_stopping)
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
                f"{weak.metric} is undefined in every list that weighs anything: all scores of "
                "AdaRank are 0",
                EquirankWarning,
                stacklevel=5,
            )
            return rounds
        share, score = given / given.sum(), np.zeros(data.n_rows)
        repeats, last = 0, -1
        for _ in progress(range(self.n_estimators), "AdaRank"):
            tired = last if repeats >= self.max_repeats else None
            choice = weak.choose(share, tired)
            if choice is None:
                break
            at, goodness = choice
            feature, sign = at % weak.X.shape[1], 1.0 if at < weak.X.shape[1] else -1.0
            repeats, last = (repeats + 1 if at == last else 1), at
            alpha = 0.5 * math.log((1.0 + goodness) / max(1.0 - goodness, LEAST)) * sign
            score = score + alpha * weak.X[:, feature]
            values = weak.values(score)
            rounds["feature"].append(feature)
            rounds["alpha"].append(alpha)
            rounds["metric"].append(weak.summary(values))
            if watch is not None:
                seen = np.asarray(watch.data.X[:, feature], dtype=np.float64)
                if watch.add(alpha * self.scale_[feature] * seen):
                    break
            good = weak.goodness(values)
            if (good[given > 0] >= 1.0 - LEAST).all():
                break
            share = given * np.exp(-good)
            share = share / share.sum()
        return rounds

    def _scores(self, data: RankingData) -> np.ndarray:
        return np.asarray(data.X @ self.coef_)

    def _parts(self, data: RankingData) -> Parts:
        return Parts.linear(data.X, self.coef_)

    @property
    def learning_curve_(self) -> Table:
        """One line per round: the metric on the training data, and on validation data if any."""
        rounds = list(range(1, len(self.curve_["metric"]) + 1))
        return Table({"round": rounds} | {name: np.array(v) for name, v in self.curve_.items()})


class _Weak:
    """Single features as rankers, and how good each is in each list."""

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
        self.table = self.goodness(values)
        moving = X.min(axis=0) < X.max(axis=0)
        self.usable = np.tile(moving, len(signs))

    def values(self, score: np.ndarray) -> np.ndarray:
        """Return the metric of each list."""
        ranking = Ranking.from_scores(self.data, self.data.to_original(score))
        return self.metric.per_query(ranking).value

    def summary(self, values: np.ndarray) -> float:
        """Return the mean over the lists where the metric is defined."""
        return float(values[self.defined].mean())

    def goodness(self, values: np.ndarray) -> np.ndarray:
        """Bring values to [0, 1], 1 being best; 0 where they are undefined."""
        share = (values - self.low) / ((self.high - self.low) or 1.0)
        share = share if self.metric.direction == "higher" else 1.0 - share
        return np.where(np.isnan(share), 0.0, np.clip(share, 0.0, 1.0))

    def choose(self, share: np.ndarray, tired: int | None) -> tuple[int, float] | None:
        """Return the best feature under these weights (later ones lowest first) and how good it is.

        A feature that was taken too often in a row is left out, both ways.
        """
        merit = np.where(self.usable, self.table @ share, -1.0)
        if tired is not None:
            merit[tired % self.X.shape[1] :: self.X.shape[1]] = -1.0
        at = int(merit.argmax())
        return None if merit[at] < 0.0 else (at, float(merit[at]))


def _best(values: list[float], metric: Metric) -> int:
    if not values:
        return -1
    return int(np.argmax(values) if metric.direction == "higher" else np.argmin(values))
