"""iFair: representations that keep the distances between people without protected columns."""

from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np

from ..core.declared import GIVEN, OnlyWith
from ..core.errors import DataError
from ..core.params import AnyOf, Choice, Flag, Integer, Number, Optional
from ..core.random import generator
from ..kernels.soft_prototypes import (
    SoftAssignment,
    add_pair_errors,
    pair_distances,
    representations,
    through_memberships,
)
from .fair_transformer import COLUMNS, check_varying
from .prototype_transformer import PrototypeTransformer

__all__ = ["IFair", "IFairLoss"]


class IFairLoss:
    """The loss of iFair on given rows, as a function of weights and prototypes in one vector.

    ``reconstruction * mean_i |x_i - x~_i|^2 + fairness * mean over pairs (d(x~_i, x~_j) -
    d(x*_i, x*_j))^2``; ``x*`` is ``open_columns``. The pairs form a ring, see `pair_distances`.
    Arrays are allocated once and overwritten in each evaluation.
    """

    def __init__(
        self,
        X: np.ndarray,
        open_columns: np.ndarray,
        n_prototypes: int,
        n_pairs: int,
        reconstruction: float,
        fairness: float,
        root: bool,
    ) -> None:
        n, width = X.shape
        self.X, self.root = X, root
        self.n_prototypes, self.n_pairs = n_prototypes, n_pairs
        self.reconstruction, self.fairness = reconstruction, fairness
        self.base, self.extra = divmod(n_pairs, n)
        self.target = pair_distances(np.ascontiguousarray(open_columns), self.base, self.extra)
        self.share, self.distance = np.empty((n_prototypes, n)), np.empty((n_prototypes, n))
        self.made, self.grad_made = np.empty((n, width)), np.empty((n, width))

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the loss and its gradient."""
        n, width = self.X.shape
        weights, prototypes = theta[:width], theta[width:].reshape(self.n_prototypes, width)
        soft = SoftAssignment(self.X, prototypes, weights, self.root, self.share, self.distance)
        per_row = self.reconstruction / n
        loss = per_row * representations(soft, self.made, self.grad_made, 2.0 * per_row)
        if self.fairness > 0 and self.n_pairs > 0:
            scale = self.fairness / self.n_pairs
            loss += scale * add_pair_errors(
                self.made, self.target, self.base, self.extra, scale, self.grad_made
            )
        for_prototypes, for_weights = through_memberships(soft, self.grad_made)
        return loss, np.concatenate([for_weights, for_prototypes.ravel()])


#: Up to ALL_ROWS rows all pairs are used; beyond, FEW pairs, or FEW_PER_ROW if that is more.
ALL_ROWS = 2000
FEW, FEW_PER_ROW = 200_000, 2
#: The initial weight of protected columns in variant b.
NEAR_ZERO = 1e-4


class IFair(PrototypeTransformer):
    """Represent people by prototypes so that similar people are close, whatever their group.

    Prototypes ``v_k`` and attribute weights ``a >= 0`` are learned. A row belongs to prototype k
    with ``u_ik = softmax_k(-d_a(x_i, v_k))`` and is represented by ``x~_i = sum_k u_ik v_k``. The
    loss is ``lambda mean_i |x_i - x~_i|^2 + mu mean over pairs (d(x~_i, x~_j) - d(x*_i, x*_j))^2``,
    with ``x*`` being x without its protected columns and d the Euclidean distance. Both terms are
    means, so lambda and mu do not depend on the number of rows and pairs.

    It is minimised by L-BFGS from several starts. Up to 2,000 rows all pairs count; beyond, a fixed
    random sample with each row equally often. Standardise the columns first. A constant column is
    an error; equal rows get equal representations.

    Parameters
    ----------
    protected : column names or positions, optional
        The protected columns of X. None: X has none, and the representation keeps the distances of
        all columns.
    variant : {"b", "a"}, default="b"
        The weights of protected columns start near zero (b) or at random, like all others (a).
    freeze_protected : bool, default=True
        In variant b, keep the weights of protected columns at zero: people who differ in protected
        columns only then get exactly the same representation. False learns them from near zero, as
        published; ``protected_tolerance_`` bounds the resulting distance.
    reconstruction : float, default=1.0
        Lambda, the weight of the reconstruction error.
    fairness : float, default=1.0
        Mu, the weight of the distance error.
    distance : {"euclidean", "squared"}, default="euclidean"
        Distance of the memberships: the weighted Euclidean distance, or its square, as in the
        authors' program.
    n_pairs : "auto", "all" or int, default="auto"
        Number of pairs that are compared, at most all.
    random_state : int, Generator, RandomState or None
        Seed of the starts and the pairs.

    Attributes
    ----------
    prototypes_ : ndarray of shape (n_prototypes, n_features)
        The prototypes.
    attribute_weights_ : ndarray of shape (n_features,)
        The weights of the columns in the distance to prototypes.
    protected_tolerance_ : float
        Largest Euclidean distance of people who differ in protected columns only, within the range
        seen in `fit`; 0 if the weights are frozen.
    n_pairs_ : int
        Number of pairs that were compared.
    loss_, n_iter_, converged_ : float, int, bool
        Loss of the best start, its iterations, and whether it converged before ``max_iter``.

    References
    ----------
    Lahoti, Gummadi and Weikum, iFair: learning individually fair data representations for
    algorithmic decision making, ICDE 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from equirank.preprocess import IFair
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([rng.normal(size=(60, 2)), rng.integers(0, 2, 60)])
    >>> fair = IFair(n_prototypes=4, protected=[2], random_state=0).fit(X)
    >>> twins = X[:1].repeat(2, axis=0)
    >>> twins[:, 2] = [0, 1]  # they differ in the protected column only
    >>> first, second = fair.transform(twins)
    >>> bool((first == second).all())
    True
    """

    only_with: ClassVar[OnlyWith] = {
        "variant": ("protected", GIVEN),
        "freeze_protected": ("protected", GIVEN),
    }
    protected: Annotated[Any, Optional(COLUMNS)] = None
    variant: Annotated[Literal["b", "a"], Choice("a", "b")] = "b"
    freeze_protected: Annotated[bool, Flag()] = True
    reconstruction: Annotated[float, Number(0)] = 1.0
    fairness: Annotated[float, Number(0)] = 1.0
    n_pairs: Annotated[int | Literal["auto", "all"], AnyOf(Choice("auto", "all"), Integer(1))] = (
        "auto"
    )

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn prototypes and weights.

        Parameters
        ----------
        X : array-like, data frame or RankingData
            Numbers, including the protected columns.
        y : ignored
            Present for pipelines.
        """
        self._check_params()
        matrix = self._matrix(X, fitting=True)
        self._check_size(matrix)
        check_varying(matrix, self._names_in(), "it does not distinguish people")
        protected = self._protected()
        if len(protected) == matrix.shape[1]:
            raise DataError("protected must leave at least one column of X, and names all of them")
        self.n_pairs_ = self._count_pairs(len(matrix))
        if self.n_pairs_ < len(matrix) * (len(matrix) - 1) // 2:
            matrix = matrix[generator(self.random_state, self.n_init).permutation(len(matrix))]
        loss = IFairLoss(
            matrix,
            np.delete(matrix, protected, axis=1),
            self.n_prototypes,
            self.n_pairs_,
            self.reconstruction,
            self.fairness,
            self.distance == "euclidean",
        )
        frozen = self.variant == "b" and self.freeze_protected
        bounds: list[tuple[float | None, float | None]] = [(0.0, None)] * matrix.shape[1]
        for column in protected.tolist() if frozen else ():
            bounds[column] = (0.0, 0.0)
        bounds += [(None, None)] * (self.n_prototypes * matrix.shape[1])

        def start(rng: np.random.Generator) -> np.ndarray:
            weights: np.ndarray = rng.random((matrix.shape[1],))
            if self.variant == "b":
                weights[protected] = 0.0 if frozen else NEAR_ZERO
            rows = matrix[rng.choice(len(matrix), self.n_prototypes, replace=False)]
            noise = 0.1 * matrix.std(axis=0) * rng.normal(size=rows.shape)
            return np.concatenate([weights, (rows + noise).ravel()])

        theta = self._minimise(loss, start, bounds)
        self.attribute_weights_ = theta[: matrix.shape[1]]
        self.prototypes_ = theta[matrix.shape[1] :].reshape(self.n_prototypes, -1)
        self.protected_tolerance_ = self._tolerance(matrix, protected)
        return self

    def _count_pairs(self, n: int) -> int:
        most = n * (n - 1) // 2
        if self.n_pairs == "all" or (self.n_pairs == "auto" and n <= ALL_ROWS):
            return most
        wanted = max(FEW, FEW_PER_ROW * n) if self.n_pairs == "auto" else int(self.n_pairs)
        return min(wanted, most)

    def _tolerance(self, X: np.ndarray, protected: np.ndarray) -> float:
        """Return a bound on the distance of people who differ in protected columns only.

        Distances to prototypes differ by at most ``e``, so the memberships of the two differ in
        total variation by at most tanh(e / 2), times the widest gap between prototypes.
        """
        weights = self.attribute_weights_[protected]
        low, high = X[:, protected].min(axis=0), X[:, protected].max(axis=0)
        if self.distance == "euclidean":
            most = np.sqrt((weights * (high - low) ** 2).sum())
        else:
            middle = np.abs((low + high) / 2 - self.prototypes_[:, protected])
            ends = (middle + (high - low) / 2) ** 2
            inside = np.maximum(middle - (high - low) / 2, 0.0) ** 2
            most = ((ends - inside) @ weights).max()
        gaps = self.prototypes_[:, None, :] - self.prototypes_[None, :, :]
        return float(np.tanh(most / 2) * np.sqrt((gaps**2).sum(axis=2)).max())
