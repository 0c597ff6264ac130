"""RankSVM: the widest margin between the better and the worse item of every pair."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
from joblib import effective_n_jobs
from scipy.linalg import eigh

from ...core.data import RankingData
from ...core.errors import DataError, EquirankWarning
from ...core.explain_pair import Parts
from ...core.pair_cost import PairCost, warn_uneven_costs
from ...core.params import AnyOf, Choice, Constraint, Instance, Integer, Number, Optional
from ...core.random import generator
from ...core.ranker import Ranker
from ...theory.bounds import KernelFacts
from ...theory.generalization_bounds import GeneralizationBounds
from ..feature_bins import Workers
from ..preferences import data_of_pairs
from ..training_pairs import PairOptions, PairWeights, cost_rule
from .hinge_objective import ActivePairs, HingeObjective, ListedPairs, SortedPairs, minimise

__all__ = ["Kernel", "RankSVM", "as_float", "squared_norms", "variance"]


@dataclass(frozen=True)
class Kernel:
    """A kernel between items, with its parameters."""

    name: str
    gamma: float
    degree: int
    coef0: float

    def __call__(self, X: Any, landmarks: np.ndarray) -> np.ndarray:
        """Return the kernel of every row with every landmark."""
        from sklearn.metrics.pairwise import pairwise_kernels

        options = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        return np.asarray(
            pairwise_kernels(X, landmarks, metric=self.name, filter_params=True, **options)
        )

    def basis(self, landmarks: np.ndarray) -> np.ndarray:
        """Return B with ``B B^T`` the inverse of the landmarks' kernel: ``K B`` are plain features.

        Directions in which the kernel is 0 but for rounding are left out.
        """
        size, vectors = eigh(self(landmarks, landmarks))
        kept = size > max(size[-1], 0.0) * len(size) * np.finfo(np.float64).eps
        return np.ascontiguousarray(vectors[:, kept] / np.sqrt(size[kept]))

    def with_itself(self, X: Any) -> np.ndarray:
        """Return ``K(x, x)`` of every row."""
        norms = squared_norms(X)
        if self.name == "poly":
            return (self.gamma * norms + self.coef0) ** self.degree
        return (norms > 0.0).astype(float) if self.name == "cosine" else np.ones(len(norms))


def as_float(X: Any) -> Any:
    """Return features as float64, dense rows one after the other or CSR."""
    if hasattr(X, "tocsr"):
        return X.tocsr().astype(np.float64)
    return np.ascontiguousarray(X, dtype=np.float64)


def squared_norms(X: Any) -> np.ndarray:
    """Return the squared length of every row."""
    if hasattr(X, "multiply"):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


def variance(X: Any) -> float:
    """Return the variance of all values, zeros that are not stored included."""
    size = X.shape[0] * X.shape[1]
    mean = float(X.sum()) / size
    return float(squared_norms(X).sum()) / size - mean * mean


#: Rows up to which a kernel's whole matrix is made.
WHOLE_KERNEL = 10_000


class RankSVM(GeneralizationBounds, Ranker):
    """Linear or kernel scores with a margin between the better and the worse item of each pair.

    Minimises ``1/2 ||w||^2 + C sum c(a, b) loss(w . (x_a - x_b))`` over all pairs (a, b) of a query
    with ``y_a > y_b``, the loss being ``max(0, 1 - margin)`` squared or plain. Pairs are not
    listed: sorted scores give objective and gradient in O(n log n), and trust-region Newton steps
    go down to a proven distance from the best. Costs multiply: c is the cost of the two items (the
    product), times the pair cost, times the weight of the query, all taken as they are. Pair costs
    by group, class or other cells keep O(n log n); others list the pairs. Pairs of equal
    relevance say nothing; where all are, every score is 0 and a warning says so.

    Features should be of about one scale, since ``||w||`` counts them alike.

    Parameters
    ----------
    C : float
        What the losses weigh against the norm.
    loss : {"squared_hinge", "hinge"}
        The loss of a margin.
    kernel : {"linear", "rbf", "poly", "laplacian", "cosine"}
        The kernel between items; that of pairs is ``K(a, a') + K(b, b') - K(a, b') - K(b, a')``.
    gamma : float or "scale"
        Of the kernels that have it; ``"scale"`` is ``1 / (n_features X.var())``.
    degree, coef0 : int, float
        Of the kernel ``"poly"``.
    n_components : int, optional
        So many rows, drawn at random, stand for all in the kernel (Nystroem features). None takes
        every row: exact, for up to 10,000 rows. The kernel ``"linear"`` needs none.
    cost_combination : {"product", "sum", "mean"}
        How the costs of two items make that of their pair.
    pair_cost : PairCost, optional
        A further cost of pairs.
    max_pairs : int
        The most pairs that are listed, where pairs must be.
    tol : float
        Stops where the objective is proven to lie within this share of its least value.
    max_iter : int
        The most Newton steps; a warning says where they were not enough.
    n_jobs : int, optional
        Threads, as in scikit-learn; they do not change the result.
    random_state : int, Generator, RandomState or None
        Seed of the landmarks.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The weights w of the kernel ``"linear"``.
    landmarks_, dual_coef_ : ndarray
        Of the other kernels: the score of x is ``sum_j dual_coef_[j] K(x, landmarks_[j])``.
    norm_ : float
        ``||w||``.
    objective_, gap_ : float
        The objective, and what it is above its least value at most.
    n_iter_ : int
        Newton steps taken.

    References
    ----------
    Joachims, Optimizing search engines using clickthrough data, KDD 2002. Lee and Lin, Large-scale
    linear RankSVM, Neural Computation 2014.

    Examples
    --------
    >>> from equirank import query_train_test_split
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import RankSVM
    >>> data = make_ranking(n_queries=60, n_items=30, random_state=0)
    >>> train, test = query_train_test_split(data, random_state=0)
    >>> model = RankSVM(C=0.01).fit(train)
    >>> model.score(test) > 0.8, model.coef_.shape == (data.n_features,)
    (True, True)
    """

    fit_takes: ClassVar[frozenset[str]] = frozenset({"cost", "query_weight"})
    params: ClassVar[Mapping[str, Constraint]] = {
        "C": Number(0.0, open_low=True),
        "loss": Choice("squared_hinge", "hinge"),
        "kernel": Choice("linear", "rbf", "poly", "laplacian", "cosine"),
        "gamma": AnyOf(Choice("scale"), Number(0.0, open_low=True)),
        "degree": Integer(1),
        "coef0": Number(0.0),
        "n_components": Optional(Integer(1)),
        "cost_combination": Choice("product", "sum", "mean"),
        "pair_cost": Optional(Instance(PairCost, "a pair cost (equirank.costs.PairCost)")),
        "max_pairs": Integer(1),
        "tol": Number(0.0, open_low=True),
        "max_iter": Integer(1),
        "n_jobs": Optional(Integer()),
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: Literal["squared_hinge", "hinge"] = "squared_hinge",
        kernel: str = "linear",
        gamma: float | Literal["scale"] = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        n_components: int | None = None,
        cost_combination: Literal["product", "sum", "mean"] = "product",
        pair_cost: PairCost | None = None,
        max_pairs: int = 50_000_000,
        tol: float = 1e-4,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.cost_combination = cost_combination
        self.pair_cost = pair_cost
        self.max_pairs = max_pairs
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _fit(self, data: RankingData) -> None:
        warn_uneven_costs(type(self).__name__, data.cost)
        workers = Workers(effective_n_jobs(self.n_jobs))
        try:
            self._solve(data.X, *self._pairs(data, workers))
        finally:
            workers.close()

    def fit_pairs(self, X: Any, pairs: Any, preference: Any = None, weight: Any = None) -> Self:
        """Learn from explicit preferences between rows, which need not be transitive.

        Parameters
        ----------
        X : array-like, sparse array, data frame or RankingData
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
        workers = Workers(effective_n_jobs(self.n_jobs))
        try:
            listed = PairWeights.of_preferences(
                data.n_rows, first, second, cost, self._pair_options(), workers
            )
            self._solve(data.X, ListedPairs(listed), 1.0)
        finally:
            workers.close()
        self.is_fitted_ = True
        return self

    def _pair_options(self) -> PairOptions:
        return PairOptions(self.max_pairs, None, "float64", self.random_state)

    def _pairs(self, data: RankingData, workers: Workers) -> tuple[ActivePairs, float]:
        """Choose how pairs are kept, and give what their costs are to be multiplied by."""
        rule, scale = cost_rule(data, self.cost_combination, self.pair_cost), self._scale(data)
        if rule.separable:
            return SortedPairs(data, rule, workers), scale
        weights = PairWeights(data, rule, self._pair_options(), workers)
        if weights.even and weights.n_pairs > 0:  # where all costs are equal, it leaves them out
            first = int(np.searchsorted(weights.starts, 0, side="right")) - 1
            pair = weights.rows[[first]], weights.rows[weights.second[:1]]
            scale *= float(rule.of_pairs(data, *pair)[0])
        return ListedPairs(weights), scale

    def _scale(self, data: RankingData) -> float:
        """Return what the cost rule divided the costs by."""
        scale = 1.0
        if data.cost is not None:
            even, most = bool((data.cost == data.cost[0]).all()), float(data.cost.max())
            scale = most * most if self.cost_combination == "product" else most
            scale *= 2.0 if even and self.cost_combination == "sum" else 1.0
        found = None if self.pair_cost is None else self.pair_cost.blocks(data)
        if found is not None:
            scale *= float(np.abs(np.asarray(found[1])).max()) or 1.0
        return scale

    def _solve(self, X: Any, pairs: ActivePairs, scale: float) -> None:
        features = as_float(X)
        if self.kernel != "linear":
            self._place_landmarks(features)
            basis = self._kernel().basis(self.landmarks_)
            features = np.ascontiguousarray(self._kernel()(features, self.landmarks_) @ basis)
        objective = HingeObjective(features, pairs, self.C * scale, self.loss == "squared_hinge")
        start = np.zeros(features.shape[1])
        point, self.n_iter_, gap = minimise(objective, start, float(self.tol), self.max_iter)
        self.objective_, self.gap_ = float(point.primal), float(gap)
        self.norm_ = float(np.linalg.norm(point.w))
        if self.kernel == "linear":
            self.coef_ = point.w
        else:
            self.dual_coef_ = basis @ point.w
        self._warn()

    def _warn(self) -> None:
        """Say where there was nothing to learn, or where steps were too few."""
        said = None
        if self.objective_ == 0.0:
            said = "no pair of unequal relevance costs anything: all scores of RankSVM are 0"
        elif self.gap_ > max(self.tol, 1e-9) * self.objective_:
            said = (
                f"RankSVM stopped after {self.n_iter_} steps, up to "
                f"{self.gap_ / self.objective_:.1g} of the objective above its least value; scaled "
                "features, a smaller C, or a larger max_iter or tol would help"
            )
        if said is not None:
            warnings.warn(said, EquirankWarning, stacklevel=5)

    def _place_landmarks(self, X: Any) -> None:
        n = X.shape[0]
        if self.n_components is None and n > WHOLE_KERNEL:
            raise DataError(
                f"n_components of RankSVM must be given for the kernel of {n} rows (above "
                f"{WHOLE_KERNEL} the whole matrix is not made), got None"
            )
        rows = np.arange(n)
        if self.n_components is not None and self.n_components < n:
            rows = np.sort(generator(self.random_state, 3).permutation(n)[: self.n_components])
        chosen = X[rows]
        self.landmarks_ = chosen.toarray() if hasattr(chosen, "toarray") else chosen
        spread = variance(X)
        even = 1.0 / (X.shape[1] * spread) if spread > 0.0 else 1.0
        self.gamma_ = even if self.gamma == "scale" else float(self.gamma)

    def _kernel(self) -> Kernel:
        return Kernel(self.kernel, self.gamma_, self.degree, self.coef0)

    def _scores(self, data: RankingData) -> np.ndarray:
        if self.kernel == "linear":
            return np.asarray(data.X @ self.coef_)
        return self._kernel()(as_float(data.X), self.landmarks_) @ self.dual_coef_

    def _parts(self, data: RankingData) -> Parts | None:
        """Return the terms of a linear score; a kernel has none."""
        return Parts.linear(data.X, self.coef_) if self.kernel == "linear" else None

    def _bound_facts(self, data: RankingData) -> KernelFacts:
        """Say what the bounds need to know."""
        X = as_float(data.X)
        norms = squared_norms(X) if self.kernel == "linear" else self._kernel().with_itself(X)
        return KernelFacts(self.norm_, float(np.sqrt(norms.max())))

    def __sklearn_tags__(self) -> Any:
        """Say that sparse features are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
