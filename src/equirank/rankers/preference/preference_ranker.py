"""PreferenceRanker: a classifier of pairs learns who is preferred; lists are ordered with it."""

import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import has_fit_parameter

from ...core.data import RankingData
from ...core.errors import DataError, EquirankWarning
from ...core.pair_cost import PairCost, warn_uneven_costs
from ...core.params import Choice, Constraint, Instance, Integer, Optional
from ...core.random import as_seed, label_keys
from ...core.ranker import Ranker
from ...kernels.comparison_sort import draw_keys, row_marks
from ..boosting.ensemble import dense
from ..feature_bins import Workers
from ..preferences import data_of_pairs
from ..sklearn_models import ScikitModel, read_models, write_models
from ..training_pairs import PairOptions, PairWeights, cost_rule
from .preference_order import Comparisons, PreferenceOrder, sort_by_degree, sort_by_quicksort

__all__ = ["PreferenceRanker", "pair_chance", "pair_features", "row_order"]


def pair_features(first: np.ndarray, second: np.ndarray, kind: str) -> np.ndarray:
    """Return the features of pairs: ``u - v``, ``(u, v)``, or ``(u, v, u - v)``.

    Examples
    --------
    >>> pair_features(np.array([[3.0, 1.0]]), np.array([[1.0, 1.0]]), "both")
    array([[3., 1., 1., 1., 2., 0.]])
    """
    if kind == "difference":
        return first - second
    parts = [first, second] if kind == "rows" else [first, second, first - second]
    return np.concatenate(parts, axis=1)


def pair_chance(model: Any, features: np.ndarray) -> np.ndarray:
    """Return the chance of class 1, or a decision for 0 or 1 where the model has no chances.

    A decision value of 0 counts one half.
    """
    if hasattr(model, "predict_proba"):
        column = int(np.flatnonzero(model.classes_ == 1)[0])
        return np.clip(model.predict_proba(features)[:, column], 0.0, 1.0)
    if hasattr(model, "decision_function"):
        return (np.sign(model.decision_function(features)) + 1.0) / 2.0
    return (model.predict(features) == 1).astype(np.float64)


def row_order(data: RankingData) -> np.ndarray:
    """Return stored rows, query by query, in an order that the order of the input cannot change.

    Rows are ordered by a number made of all their features; equal rows keep their order, and what
    is drawn for their places treats them alike.
    """
    X = np.array(dense(data.X), dtype=np.float64)
    X += 0.0  # a negative zero is a zero
    X[np.isnan(X)] = np.nan
    return np.lexsort((row_marks(X.view(np.uint64)), data.query_of_rows()))


def _has_draws(model: Any) -> bool:
    return bool(model.order == "quicksort")


class PreferenceRanker(Ranker):
    """Ranks in two stages: a classifier of pairs says who is preferred, lists are ordered with it.

    The classifier learns ``h(u, v)``, the chance that u is preferred to v, from pairs of rows: all
    pairs of a query with unequal relevance (`fit`), or given comparisons, also intransitive and
    contradictory ones (`fit_pairs`). Each pair is shown to it in both directions, and h is made
    consistent: ``(h(u, v) + 1 - h(v, u)) / 2``. A list is then ordered by counted wins or by
    quicksort; see `order_by_preference`.

    Scores are those of a whole list, not of a row: how many rows of its query a row stands above
    (by degree: the sum of its wins), so that `predict` and `rank` need ``qid``, and scores of
    different queries do not compare. Equal sums are ties. The random order of pivots and the coins
    depend on the seed, the query's label and the features of its rows: other queries and the order
    of the rows cannot change a draw. Of rows with equal features one drawn at random comes first.

    Without a pair of unequal relevance there is a warning and all scores are 0.

    Parameters
    ----------
    classifier : scikit-learn classifier, optional
        The preference model. One without ``predict_proba`` decides for 0 or 1. None is
        ``LogisticRegression()``.
    order : {"quicksort", "degree"}
        Quicksort compares at most ``2 n ln n`` pairs of a list of n expected, in one call of the
        classifier per level for all lists together; degree compares ``n (n - 1) / 2``.
    pair_features : {"difference", "rows", "both"}
        What the classifier sees of a pair: ``u - v``, ``(u, v)``, or all three parts.
    pivoting : {"probabilistic", "deterministic"}
        Of quicksort: a row goes before the pivot with probability h, or where h > 1/2.
    k : int, optional
        Of quicksort: only the first k places are worked out, rows behind are tied in parts. Draws
        (``rank(n_draws=...)``) show k rows.
    cost_combination : {"product", "sum", "mean"}
        How two item costs make the weight of a pair in `fit`.
    pair_cost : PairCost, optional
        Further weight of a pair in `fit`.
    max_pairs : int
        Of more pairs than this `fit` takes a uniform sample of this size.
    batch_size : int
        Pairs of one call of the classifier at most.
    random_state : int, Generator, RandomState or None
        Seed of the sample, the pivots and the coins. A fitted model always predicts alike.

    Attributes
    ----------
    classifier_ : estimator
        The fitted classifier; None where there was nothing to learn.
    seed_ : int
        The seed in use.

    References
    ----------
    Ailon and Mohri, Preference-based learning to rank, Machine Learning, 2010. Balcan et al.,
    Robust reductions from ranking to classification, Machine Learning, 2008 (degree).

    Examples
    --------
    >>> import numpy as np
    >>> from equirank.rankers import PreferenceRanker
    >>> X = np.array([[1.0, 0.0], [2.0, 1.0], [3.0, 0.0], [4.0, 1.0]])
    >>> model = PreferenceRanker(random_state=0, pivoting="deterministic")
    >>> model.fit(X, [0, 1, 2, 3]).predict(X)
    array([0., 1., 2., 3.])
    >>> model.fit_pairs(X, [[0, 1], [1, 2], [2, 3], [0, 1]], [1, 1, 1, -1]).predict(X)
    array([3., 2., 1., 0.])
    >>> model.order_lists(X)
    PreferenceOrder(4 rows, 6 pairs compared in 1 call)
    """

    fit_takes: ClassVar[frozenset[str]] = frozenset({"cost", "query_weight"})
    predict_needs: ClassVar[frozenset[str]] = frozenset({"qid"})
    params: ClassVar[Mapping[str, Constraint]] = {
        "classifier": Optional(ScikitModel("classifier")),
        "order": Choice("quicksort", "degree"),
        "pair_features": Choice("difference", "rows", "both"),
        "pivoting": Choice("probabilistic", "deterministic"),
        "k": Optional(Integer(1)),
        "cost_combination": Choice("product", "sum", "mean"),
        "pair_cost": Optional(Instance(PairCost, "a pair cost (equirank.costs.PairCost)")),
        "max_pairs": Integer(1),
        "batch_size": Integer(1),
    }
    file_params: ClassVar[tuple[str, ...]] = ("classifier",)
    file_attributes: ClassVar[tuple[str, ...]] = ("classifier_",)
    files_hold_classes: ClassVar[bool] = True
    test_params: ClassVar[dict[str, Any]] = {"random_state": 0}

    def __init__(
        self,
        classifier: BaseEstimator | None = None,
        order: Literal["quicksort", "degree"] = "quicksort",
        *,
        pair_features: Literal["difference", "rows", "both"] = "difference",
        pivoting: Literal["probabilistic", "deterministic"] = "probabilistic",
        k: int | None = None,
        cost_combination: Literal["product", "sum", "mean"] = "product",
        pair_cost: PairCost | None = None,
        max_pairs: int = 200_000,
        batch_size: int = 1 << 16,
        random_state: Any = None,
    ) -> None:
        self.classifier = classifier
        self.order = order
        self.pair_features = pair_features
        self.pivoting = pivoting
        self.k = k
        self.cost_combination = cost_combination
        self.pair_cost = pair_cost
        self.max_pairs = max_pairs
        self.batch_size = batch_size
        self.random_state = random_state

    def fit_pairs(self, X: Any, pairs: Any, preference: Any = None, weight: Any = None) -> Self:
        """Learn from explicit preferences between rows; they may contradict each other.

        Parameters
        ----------
        X : array-like, data frame or RankingData
            Features; of a `RankingData` only they are used.
        pairs : array-like of int of shape (n_pairs, 2)
            Row numbers; the first of each pair is preferred, unless ``preference`` says otherwise.
        preference : array-like, optional
            Per pair: > 0 where the first row is preferred, < 0 where the second is; 0 leaves the
            pair out. Its size weighs the pair.
        weight : array-like, optional
            Further weight per pair, >= 0: what it costs to get it wrong.
        """
        unused = ("pair_cost",)
        data, first, second, cost = data_of_pairs(self, X, pairs, preference, weight, unused)
        self.seed_ = as_seed(self.random_state)
        self._learn(dense(data.X), first, second, cost)
        self.is_fitted_ = True
        return self

    def preference(self, first: Any, second: Any) -> np.ndarray:
        """Return h(u, v), the chance that each row of ``first`` is preferred to that of ``second``.

        Parameters
        ----------
        first, second : array-like of shape (n_pairs, n_features)
            Features of the two rows of each pair.
        """
        u, v = (self._prediction_data(X, None, None, None) for X in (first, second))
        if u.n_rows != v.n_rows:
            raise DataError(
                f"first and second must have one row per pair, got {u.n_rows} and {v.n_rows}"
            )
        X = np.concatenate([dense(u.X), dense(v.X)])
        ask = self._comparisons(X)
        return ask(np.arange(u.n_rows), np.arange(u.n_rows, len(X)))

    def order_lists(self, X: Any, *, qid: Any = None) -> PreferenceOrder:
        """Order the rows of each query, and count compared pairs and calls of the classifier.

        Parameters
        ----------
        X : array-like, data frame or RankingData
            Features.
        qid : array-like, optional
            The query of each row.

        Returns
        -------
        PreferenceOrder
            Row numbers and scores are the caller's.
        """
        data = self._prediction_data(X, None, qid, None)
        found = self._ordered(self._blind(data), np.zeros(1, dtype=np.uint64))
        order = found.order if data.rows is None else data.rows[found.order]
        return PreferenceOrder(
            order, data.to_original(found.scores), found.n_compared, found.n_calls
        )

    def _fit(self, data: RankingData) -> None:
        warn_uneven_costs(type(self).__name__, data.cost)
        self.seed_ = as_seed(self.random_state)
        rule = cost_rule(data, self.cost_combination, self.pair_cost)
        options = PairOptions(self.max_pairs, self.max_pairs, "float64", self.seed_)
        pairs = PairWeights(data, rule, options, Workers(1))
        first = np.repeat(np.arange(data.n_rows), np.diff(pairs.starts))
        self._learn(dense(data.X), pairs.rows[first], pairs.rows[pairs.second], pairs.weight)

    def _learn(
        self, X: np.ndarray, first: np.ndarray, second: np.ndarray, weight: np.ndarray
    ) -> None:
        """Fit the classifier on both directions of each pair: 1 where the first is preferred."""
        self.classifier_: Any = None
        kept = weight > 0.0
        first, second, weight = first[kept], second[kept], weight[kept]
        if len(first) == 0:
            warnings.warn(
                f"no pair of unequal relevance costs anything, so {type(self).__name__} learns "
                "nothing: all scores are 0",
                EquirankWarning,
                stacklevel=4,
            )
            return
        model = LogisticRegression() if self.classifier is None else clone(self.classifier)
        given = {}
        if (weight != weight[0]).any():
            if not has_fit_parameter(model, "sample_weight"):
                raise DataError(
                    "pairs must weigh the same, or classifier must take sample_weight in fit, "
                    f"which {type(model).__name__} does not"
                )
            given["sample_weight"] = np.tile(weight / weight.mean(), 2)
        both = np.concatenate([first, second]), np.concatenate([second, first])
        features = pair_features(X[both[0]], X[both[1]], self.pair_features)
        self.classifier_ = model.fit(features, np.repeat([1, 0], len(first)), **given)

    def _comparisons(self, X: np.ndarray) -> Comparisons:
        def prefer(first: np.ndarray, second: np.ndarray) -> np.ndarray:
            if self.classifier_ is None:
                return np.full(len(first), 0.5)
            u, v = X[first % len(X)], X[second % len(X)]  # further draws repeat the rows
            features = pair_features(u, v, self.pair_features)
            return pair_chance(self.classifier_, features)

        return Comparisons(prefer, self.batch_size, consistent=False)

    def _ordered(self, data: RankingData, draws: np.ndarray) -> PreferenceOrder:
        """Order the lists once per draw, all draws side by side; rows of draw d follow d - 1's."""
        rows = row_order(data)
        X, n_rows = dense(data.X)[rows], data.n_rows
        if self.order == "degree":
            found = sort_by_degree(self._comparisons(X), data.offsets)
        else:
            ask = self._comparisons(X)
            starts = np.arange(len(draws))[:, None] * n_rows + data.offsets[:-1]
            offsets = np.append(starts.ravel(), len(draws) * n_rows)
            keys = draw_keys(label_keys(self.seed_, data.qids.tolist()), draws)
            found = sort_by_quicksort(ask, offsets, keys, self.k, self.pivoting == "deterministic")
        stored = (np.arange(len(draws))[:, None] * n_rows + rows).ravel()
        scores = np.empty(len(stored))
        scores[stored] = found.scores
        return PreferenceOrder(stored[found.order], scores, found.n_compared, found.n_calls)

    def _scores(self, data: RankingData) -> np.ndarray:
        if self.classifier_ is None:
            return np.zeros(data.n_rows)
        return self._ordered(data, np.zeros(1, dtype=np.uint64)).scores

    @available_if(_has_draws)  # type: ignore[untyped-decorator]
    def _draw(self, data: RankingData, n_draws: int, random_state: Any) -> np.ndarray:
        """Draw orders by quicksort: positions (row x draw), 0 behind place k."""
        seed = self.seed_ if random_state is None else as_seed(random_state)
        order = self._ordered(data, label_keys(seed, range(n_draws))).order
        offsets, place = data.offsets, np.empty((n_draws, data.n_rows), dtype=np.int32)
        position = np.arange(data.n_rows) - np.repeat(offsets[:-1], np.diff(offsets)) + 1
        if self.k is not None:
            position = np.where(position <= self.k, position, 0)
        place.ravel()[order] = np.tile(position, n_draws)
        return np.ascontiguousarray(place.T)

    def _save_files(self, folder: Path) -> None:
        write_models(folder, {"given": self.classifier, "fitted": self.classifier_})

    def _load_files(self, folder: Path, classes: Iterable[type] = ()) -> None:
        found = read_models(folder, classes)
        self.classifier, self.classifier_ = found["given"], found["fitted"]

    def __sklearn_tags__(self) -> Any:
        """Allow missing features where the classifier does; a row's score is that of its list."""
        tags = super().__sklearn_tags__()
        if self.classifier is not None:
            tags.input_tags.allow_nan = get_tags(self.classifier).input_tags.allow_nan
        # scikit-learn's word for: a row's prediction depends on more than that row
        tags.non_deterministic = True
        return tags
