"""RankSVM: linear or kernel scores with a large margin between the items of every pair."""

import warnings
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from joblib import effective_n_jobs
from scipy.linalg import eigh

from ...core.data import RankingData
from ...core.declared import OnlyWith
from ...core.errors import DataError, EquirankWarning
from ...core.explain_pair import Parts, as_dense
from ...core.pair_cost import warn_uneven_costs
from ...core.params import AnyOf, Choice, Integer, Number, Optional
from ...core.random import generator
from ...theory.bounds import KernelFacts
from ...theory.generalization_bounds import GeneralizationBounds
from ..feature_bins import Workers
from ..preferences import PairRanker
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
        """Return B with ``B B^T`` the inverse of the landmarks' kernel, so ``K B`` are features.

        Directions in which the kernel is 0 up to rounding are dropped.
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
    """Return features as float64, in C order or CSR."""
    if hasattr(X, "tocsr"):
        return X.tocsr().astype(np.float64)
    return np.ascontiguousarray(X, dtype=np.float64)


def squared_norms(X: Any) -> np.ndarray:
    """Return the squared norm of every row."""
    if hasattr(X, "multiply"):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


def variance(X: Any) -> float:
    """Return the variance of all values, including zeros that are not stored."""
    size = X.shape[0] * X.shape[1]
    mean = float(X.sum()) / size
    return float(squared_norms(X).sum()) / size - mean * mean


#: Largest number of rows for which the full kernel matrix is computed.
WHOLE_KERNEL = 10_000


class RankSVM(GeneralizationBounds, PairRanker):
    """Linear or kernel scores with a margin between the better and the worse item of each pair.

    Minimises ``1/2 ||w||^2 + C sum c(a, b) loss(w . (x_a - x_b))`` over all pairs (a, b) of a query
    with ``y_a > y_b``; the loss is ``max(0, 1 - margin)``, squared or not. Pairs are not listed:
    objective and gradient follow from sorted scores in O(n log n), and trust-region Newton steps
    stop at a proven distance from the minimum. The cost c is the product of the combined cost of
    the two items, the pair cost and the weight of the query, without scaling. Pair costs by group,
    class or other cells keep O(n log n); others list the pairs. Pairs of equal relevance are
    ignored; if all are, every score is 0 and a warning is issued.

    Features should have about the same scale, since ``||w||`` treats them alike.

    Parameters
    ----------
    C : float
        Weight of the losses relative to the norm.
    loss : {"squared_hinge", "hinge"}
        The loss of a margin.
    kernel : {"linear", "rbf", "poly", "laplacian", "cosine"}
        The kernel between items; that of pairs is ``K(a, a') + K(b, b') - K(a, b') - K(b, a')``.
    gamma : float or "scale"
        Parameter of the kernels ``"rbf"``, ``"poly"`` and ``"laplacian"``; ``"scale"`` is
        ``1 / (n_features X.var())``.
    degree : int
        Degree of the kernel ``"poly"``.
    coef0 : float
        Constant of the kernel ``"poly"``.
    n_components : int, optional
        Number of rows, drawn at random, that approximate the kernel (Nystroem features). None uses
        every row: exact, for up to 10,000 rows. The kernel ``"linear"`` ignores it.
    max_pairs : int
        Largest number of pairs that may be listed, if they must be.
    tol : float
        Training stops when the objective is proven to exceed its minimum by at most this share.
    max_iter : int
        Largest number of Newton steps; a warning is issued if they are not enough.
    random_state : int, Generator, RandomState or None
        Seed of the landmarks.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The weights w of the kernel ``"linear"``.
    landmarks_, dual_coef_ : ndarray
        For other kernels: the score of x is ``sum_j dual_coef_[j] K(x, landmarks_[j])``.
    norm_ : float
        ``||w||``.
    objective_, gap_ : float
        The objective, and an upper bound on its distance from the minimum.
    n_iter_ : int
        Number of Newton steps.

    References
    ----------
    Joachims, Optimizing search engines using clickthrough data, KDD 2002. Lee and Lin, Large-scale
    linear RankSVM, Neural Computation 2014.

    Examples
    --------
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import RankSVM
    >>> data = make_ranking(n_queries=60, n_items=30, random_state=0)
    >>> model = RankSVM(C=0.01).fit(data)
    >>> model.score(data) > 0.8, model.coef_.shape == (data.n_features,)
    (True, True)
    """

    positional: ClassVar[tuple[str, ...]] = ("C",)
    only_with: ClassVar[OnlyWith] = {
        "gamma": ("kernel", ("rbf", "poly", "laplacian")),
        "degree": ("kernel", ("poly",)),
        "coef0": ("kernel", ("poly",)),
    }

    C: Annotated[float, Number(0.0, open_low=True)] = 1.0
    loss: Annotated[Literal["squared_hinge", "hinge"], Choice("squared_hinge", "hinge")] = (
        "squared_hinge"
    )
    kernel: Annotated[str, Choice("linear", "rbf", "poly", "laplacian", "cosine")] = "linear"
    gamma: Annotated[
        float | Literal["scale"], AnyOf(Choice("scale"), Number(0.0, open_low=True))
    ] = "scale"
    degree: Annotated[int, Integer(1)] = 3
    coef0: Annotated[float, Number(0.0)] = 0.0
    n_components: Annotated[int | None, Optional(Integer(1))] = None
    max_pairs: Annotated[int, Integer(1)] = 50_000_000
    tol: Annotated[float, Number(0.0, open_low=True)] = 1e-4
    max_iter: Annotated[int, Integer(1)] = 1000
    n_jobs: Annotated[int | None, Optional(Integer())] = None
    random_state: Any = None

    def _fit(self, data: RankingData) -> None:
        warn_uneven_costs(type(self).__name__, data.cost)
        with Workers(effective_n_jobs(self.n_jobs)) as workers:
            self._solve(data.X, *self._pairs(data, workers))

    def _fit_preferences(
        self, data: RankingData, first: np.ndarray, second: np.ndarray, cost: np.ndarray
    ) -> None:
        with Workers(effective_n_jobs(self.n_jobs)) as workers:
            listed = PairWeights.of_preferences(
                data.n_rows, first, second, cost, self._pair_options(), workers
            )
            self._solve(data.X, ListedPairs(listed), 1.0)

    def _pair_options(self) -> PairOptions:
        return PairOptions(self.max_pairs, None, "float64", self.random_state)

    def _pairs(self, data: RankingData, workers: Workers) -> tuple[ActivePairs, float]:
        """Return the pairs, and the factor to multiply their costs by."""
        rule, scale = cost_rule(data, self.cost_combination, self.pair_cost), self._scale(data)
        if rule.separable:
            return SortedPairs(data, rule, workers), scale
        weights = PairWeights(data, rule, self._pair_options(), workers)
        if weights.even and weights.n_pairs > 0:  # equal costs are not stored
            first = int(np.searchsorted(weights.starts, 0, side="right")) - 1
            pair = weights.rows[[first]], weights.rows[weights.second[:1]]
            scale *= float(rule.of_pairs(data, *pair)[0])
        return ListedPairs(weights), scale

    def _scale(self, data: RankingData) -> float:
        """Return the factor by which the cost rule divided the costs."""
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
            self._choose_landmarks(features)
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
        """Warn if there was nothing to learn, or if the steps were not enough."""
        message = None
        if self.objective_ == 0.0:
            message = "no pair of unequal relevance has a cost above 0: all scores of RankSVM are 0"
        elif self.gap_ > max(self.tol, 1e-9) * self.objective_:
            message = (
                f"RankSVM stopped after {self.n_iter_} steps, up to "
                f"{self.gap_ / self.objective_:.1g} of the objective above its minimum; scaled "
                "features, a smaller C, or a larger max_iter or tol may help"
            )
        if message is not None:
            warnings.warn(message, EquirankWarning, stacklevel=5)

    def _choose_landmarks(self, X: Any) -> None:
        n = X.shape[0]
        if self.n_components is None and n > WHOLE_KERNEL:
            raise DataError(
                f"n_components of RankSVM must be given for a kernel of more than {WHOLE_KERNEL} "
                f"rows, got None for {n} rows"
            )
        rows = np.arange(n)
        if self.n_components is not None and self.n_components < n:
            rows = np.sort(generator(self.random_state, 3).permutation(n)[: self.n_components])
        self.landmarks_ = as_dense(X[rows])
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
        """Return the terms of a linear score; None for other kernels."""
        return Parts.linear(data.X, self.coef_) if self.kernel == "linear" else None

    def _bound_facts(self, data: RankingData) -> KernelFacts:
        """Return the inputs of the bounds."""
        X = as_float(data.X)
        norms = squared_norms(X) if self.kernel == "linear" else self._kernel().with_itself(X)
        return KernelFacts(self.norm_, float(np.sqrt(norms.max())))

    def __sklearn_tags__(self) -> Any:
        """Allow sparse features."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
