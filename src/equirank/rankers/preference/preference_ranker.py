"""PreferenceRanker: a classifier of pairs whose preferences are turned into a ranking."""

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import has_fit_parameter

from ...core.data import RankingData
from ...core.declared import OnlyWith
from ...core.errors import DataError, EquirankWarning
from ...core.explain_pair import as_dense
from ...core.pair_cost import warn_uneven_costs
from ...core.params import Choice, Integer, Optional
from ...core.persistence import SavedFiles
from ...core.random import as_seed, label_keys
from ...kernels.comparison_sort import draw_keys, row_marks
from ..feature_bins import Workers
from ..preferences import PairRanker
from ..sklearn_models import ScikitModel, read_models, write_models
from ..training_pairs import PairOptions, PairWeights, cost_rule
from .preference_order import Comparisons, PreferenceOrder, sort_by_degree, sort_by_quicksort

__all__ = ["PreferenceRanker", "pair_features", "pair_probability", "row_order"]


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


def pair_probability(model: Any, features: np.ndarray) -> np.ndarray:
    """Return the probability of class 1, or 0 or 1 if the model only decides.

    A decision value of 0 counts as 1/2.
    """
    if hasattr(model, "predict_proba"):
        column = int(np.flatnonzero(model.classes_ == 1)[0])
        return np.clip(model.predict_proba(features)[:, column], 0.0, 1.0)
    if hasattr(model, "decision_function"):
        return (np.sign(model.decision_function(features)) + 1.0) / 2.0
    return (model.predict(features) == 1).astype(np.float64)


def row_order(data: RankingData) -> np.ndarray:
    """Return stored rows, query by query, in an order that does not depend on the input order.

    Rows are sorted by a hash of their features. Equal rows keep their order; draws treat them
    alike.
    """
    X = np.array(as_dense(data.X), dtype=np.float64)
    X += 0.0  # negative zero becomes zero
    X[np.isnan(X)] = np.nan
    return np.lexsort((row_marks(X.view(np.uint64)), data.query_of_rows()))


def _has_draws(model: Any) -> bool:
    return bool(model.order == "quicksort")


class PreferenceRanker(PairRanker):
    """Two-stage ranking: a classifier of pairs, and an order of each list by its preferences.

    The classifier learns ``h(u, v)``, the probability that u is preferred to v, from pairs of rows:
    all pairs of a query with unequal relevance (`fit`), or given comparisons, which may be
    intransitive and contradictory (`fit_pairs`). Each pair is used in both directions, and h is
    made consistent: ``(h(u, v) + 1 - h(v, u)) / 2``. A list is then ordered by the number of wins
    or by quicksort; see `order_by_preference`.

    The score of a row is the number of rows of its query ranked below it (by degree: the sum of its
    wins). `predict` and `rank` therefore need ``qid``, and scores of different queries are not
    comparable. Equal sums are ties. Pivots and coin flips depend on the seed, the label of the
    query and the features of its rows, so neither other queries nor the order of the rows change a
    draw. Rows with equal features are ordered at random.

    Without a pair of unequal relevance a warning is issued and all scores are 0.

    Parameters
    ----------
    classifier : scikit-learn classifier, optional
        The preference model. One without ``predict_proba`` decides for 0 or 1. By default
        ``LogisticRegression()``.
    order : {"quicksort", "degree"}
        Quicksort compares at most ``2 n ln n`` expected pairs of a list of n, in one call of the
        classifier per level for all lists together; degree compares ``n (n - 1) / 2``.
    pair_features : {"difference", "rows", "both"}
        The features of a pair: ``u - v``, ``(u, v)``, or ``(u, v, u - v)``.
    pivoting : {"probabilistic", "deterministic"}
        Quicksort ranks a row before the pivot with probability h, or if h > 1/2.
    k : int, optional
        Quicksort computes only the top k positions; the rows below are tied in parts. Draws
        (``rank(n_draws=...)``) show k rows.
    max_pairs : int
        Largest number of pairs in `fit`; from more a uniform sample is drawn.
    batch_size : int
        Largest number of pairs in one call of the classifier.
    random_state : int, Generator, RandomState or None
        Seed of the sample, the pivots and the coin flips. The predictions of a fitted model do not
        change between calls.

    Attributes
    ----------
    classifier_ : estimator
        The fitted classifier; None if there was nothing to learn.
    seed_ : int
        The seed in use.

    References
    ----------
    As in `order_by_preference`.

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

    predict_needs: ClassVar[frozenset[str]] = frozenset({"qid"})
    file_params: ClassVar[tuple[str, ...]] = ("classifier",)
    file_attributes: ClassVar[tuple[str, ...]] = ("classifier_",)
    files_hold_classes: ClassVar[bool] = True
    positional: ClassVar[tuple[str, ...]] = ("classifier", "order")
    test_params: ClassVar[dict[str, Any]] = {"random_state": 0}
    only_with: ClassVar[OnlyWith] = {
        "pivoting": ("order", ("quicksort",)),
        "k": ("order", ("quicksort",)),
    }

    classifier: Annotated[BaseEstimator | None, Optional(ScikitModel("classifier"))] = None
    order: Annotated[Literal["quicksort", "degree"], Choice("quicksort", "degree")] = "quicksort"
    pair_features: Annotated[
        Literal["difference", "rows", "both"], Choice("difference", "rows", "both")
    ] = "difference"
    pivoting: Annotated[
        Literal["probabilistic", "deterministic"], Choice("probabilistic", "deterministic")
    ] = "probabilistic"
    k: Annotated[int | None, Optional(Integer(1))] = None
    max_pairs: Annotated[int, Integer(1)] = 200_000
    batch_size: Annotated[int, Integer(1)] = 1 << 16
    random_state: Any = None

    def _fit_preferences(
        self, data: RankingData, first: np.ndarray, second: np.ndarray, cost: np.ndarray
    ) -> None:
        self.seed_ = as_seed(self.random_state)
        self._learn(as_dense(data.X), first, second, cost)

    def preference(self, first: Any, second: Any) -> np.ndarray:
        """Return h(u, v), the probability that each row of ``first`` is preferred to ``second``.

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
        X = np.concatenate([as_dense(u.X), as_dense(v.X)])
        compare = self._comparisons(X)
        return compare(np.arange(u.n_rows), np.arange(u.n_rows, len(X)))

    def order_lists(self, X: Any, *, qid: Any = None) -> PreferenceOrder:
        """Return the order of the rows of each query, with the number of pairs and calls.

        Parameters
        ----------
        X : array-like, data frame or RankingData
            Features.
        qid : array-like, optional
            The query of each row.

        Returns
        -------
        PreferenceOrder
            Row numbers and scores, in input order.
        """
        data = self._prediction_data(X, None, qid, None)
        self._warn_of_one_list(X, qid, data, "order_lists")
        found = self._ordered(self.visible(data), np.zeros(1, dtype=np.uint64))
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
        self._learn(as_dense(data.X), pairs.rows[first], pairs.rows[pairs.second], pairs.weight)

    def _learn(
        self, X: np.ndarray, first: np.ndarray, second: np.ndarray, weight: np.ndarray
    ) -> None:
        """Fit the classifier to both directions of each pair; class 1 if the first is preferred."""
        self.classifier_: Any = None
        kept = weight > 0.0
        first, second, weight = first[kept], second[kept], weight[kept]
        if len(first) == 0:
            warnings.warn(
                f"no pair of unequal relevance has a cost above 0, so {type(self).__name__} learns "
                "nothing and all scores are 0",
                EquirankWarning,
                stacklevel=4,
            )
            return
        model = LogisticRegression() if self.classifier is None else clone(self.classifier)
        given = {}
        if (weight != weight[0]).any():
            if not has_fit_parameter(model, "sample_weight"):
                raise DataError(
                    "classifier must accept sample_weight in fit if pairs differ in weight, got "
                    f"{type(model).__name__}"
                )
            given["sample_weight"] = np.tile(weight / weight.mean(), 2)
        both = np.concatenate([first, second]), np.concatenate([second, first])
        features = pair_features(X[both[0]], X[both[1]], self.pair_features)
        self.classifier_ = model.fit(features, np.repeat([1, 0], len(first)), **given)

    def _comparisons(self, X: np.ndarray) -> Comparisons:
        def prefer(first: np.ndarray, second: np.ndarray) -> np.ndarray:
            if self.classifier_ is None:
                return np.full(len(first), 0.5)
            u, v = X[first % len(X)], X[second % len(X)]  # later draws repeat the rows
            features = pair_features(u, v, self.pair_features)
            return pair_probability(self.classifier_, features)

        return Comparisons(prefer, self.batch_size, consistent=False)

    def _ordered(self, data: RankingData, draws: np.ndarray) -> PreferenceOrder:
        """Order the lists once per draw; the rows of draw d follow those of draw d - 1."""
        rows = row_order(data)
        X, n_rows = as_dense(data.X)[rows], data.n_rows
        if self.order == "degree":
            found = sort_by_degree(self._comparisons(X), data.offsets)
        else:
            compare = self._comparisons(X)
            starts = np.arange(len(draws))[:, None] * n_rows + data.offsets[:-1]
            offsets = np.append(starts.ravel(), len(draws) * n_rows)
            keys = draw_keys(label_keys(self.seed_, data.qids.tolist()), draws)
            found = sort_by_quicksort(
                compare, offsets, keys, self.k, self.pivoting == "deterministic"
            )
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
        """Draw orders by quicksort: positions (row x draw), 0 below position k."""
        seed = self.seed_ if random_state is None else as_seed(random_state)
        order = self._ordered(data, label_keys(seed, range(n_draws))).order
        offsets, positions = data.offsets, np.empty((n_draws, data.n_rows), dtype=np.int32)
        position = np.arange(data.n_rows) - np.repeat(offsets[:-1], np.diff(offsets)) + 1
        if self.k is not None:
            position = np.where(position <= self.k, position, 0)
        positions.ravel()[order] = np.tile(position, n_draws)
        return np.ascontiguousarray(positions.T)

    def _save_files(self, folder: Path) -> None:
        write_models(folder, {"given": self.classifier, "fitted": self.classifier_})

    def _load_files(self, files: SavedFiles, classes: Iterable[type] = ()) -> None:
        found = read_models(files, classes)
        self.classifier, self.classifier_ = found["given"], found["fitted"]

    def __sklearn_tags__(self) -> Any:
        """Allow missing features if the classifier does."""
        tags = super().__sklearn_tags__()
        if self.classifier is not None:
            tags.input_tags.allow_nan = get_tags(self.classifier).input_tags.allow_nan
        # scikit-learn's tag for predictions that depend on other rows
        tags.non_deterministic = True
        return tags
