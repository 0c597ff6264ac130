"""LFR: prototypes to which all groups belong alike, from which data and target can be rebuilt."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

import numpy as np

from ..core import inputs as door
from ..core.data import RankingData, as_ranking_data, refuse_beside
from ..core.errors import DataError
from ..core.params import Constraint, Number, Optional
from ..kernels.soft_prototypes import representations, through_memberships
from .fair_transformer import Columns, refuse_constant, seen_groups
from .prototype_transformer import PrototypeTransformer

__all__ = ["LFRLoss", "LearnedFairRepresentation"]


class LFRLoss:
    """The loss of LFR on given rows, as a function of weights, prototypes and targets in a vector.

    ``parity * mean over groups sum_k |mean_group u_k - mean_rest u_k| + reconstruction * mean_i
    |x_i - x~_i|^2 + prediction * mean_i (y_i - sum_k u_ik w_k)^2``. Of two groups both have the
    same term, so that the mean is the one of the paper. ``codes`` is 0, 1, ... per row.
    """

    def __init__(
        self,
        X: np.ndarray,
        y: np.ndarray | None,
        codes: np.ndarray,
        n_prototypes: int,
        parity: float,
        reconstruction: float,
        prediction: float,
        root: bool,
    ) -> None:
        n, width = X.shape
        self.X, self.y, self.root = X, y, root
        self.n_prototypes = n_prototypes
        self.parity, self.reconstruction, self.prediction = parity, reconstruction, prediction
        sizes = np.bincount(codes)
        member = codes == np.arange(len(sizes))[:, None]
        # One row per group: its mean less the mean of the rest.
        self.contrast = np.where(member, 1.0 / sizes[:, None], -1.0 / (n - sizes)[:, None])
        self.share, self.distance = np.empty((n_prototypes, n)), np.empty((n_prototypes, n))
        self.made, self.pull = np.empty((n, width)), np.empty((n, width))

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the loss and its gradient."""
        n, width = self.X.shape
        last = width * (1 + self.n_prototypes)
        weights, target = theta[:width], theta[last:]
        prototypes = theta[width:last].reshape(self.n_prototypes, width)
        known = (self.X, prototypes, weights, self.root, self.share, self.distance)
        per_row = self.reconstruction / n
        loss = per_row * representations(*known, self.made, self.pull, 2.0 * per_row)
        gap = self.contrast @ self.share.T
        loss += self.parity * float(np.abs(gap).sum()) / len(gap)
        slope = (self.parity / len(gap) * np.sign(gap)).T @ self.contrast
        for_target = np.zeros(len(target))
        if self.y is not None:
            error = target @ self.share - self.y
            loss += self.prediction / n * float(error @ error)
            error *= 2.0 * self.prediction / n
            for_target = self.share @ error
            slope += target[:, None] * error
        for_prototypes, for_weights = through_memberships(*known, self.pull, slope)
        return loss, np.concatenate([for_weights, for_prototypes.ravel(), for_target])


class LearnedFairRepresentation(PrototypeTransformer):
    """Represent people by prototypes that every group belongs to in equal shares: LFR.

    Memberships and representation are those of `IFair`. The loss is ``A_z sum_k |mean_{protected}
    u_ik - mean_{others} u_ik| + A_x mean_i |x_i - x~_i|^2 + A_y mean_i (y_i - sum_k u_ik w_k)^2``;
    with more than two groups the first term is the mean over groups, each against all others. The
    squared errors are means, so that the weights mean the same for any number of rows.

    Groups are needed to fit and not to transform: one map for everybody. Standardise the columns
    first. Columns with one value only are refused; equal rows get equal representations.

    Parameters
    ----------
    n_prototypes : int, default=10
        How many prototypes.
    protected : column names or positions, optional
        The protected columns of X, where it has them. Their values are the groups (crossed, where
        several are named) unless ``sensitive_features`` are given to `fit`.
    parity : float, default=10.0
        A_z, the weight of equal memberships.
    reconstruction : float, default=0.1
        A_x, the weight of staying close to the data.
    prediction : float, default=1.0
        A_y, the weight of predicting y.
    distance : {"euclidean", "squared"}, default="squared"
        What memberships are made of: the weighted Euclidean distance or, as published, its square.
    n_init, max_iter, tol, random_state
        As in `IFair`.

    Attributes
    ----------
    prototypes_ : ndarray of shape (n_prototypes, n_features)
        The prototypes.
    attribute_weights_ : ndarray of shape (n_features,)
        The weights of the columns in the distance to prototypes.
    target_weights_ : ndarray of shape (n_prototypes,)
        What y each prototype predicts; zeros where no y was given.
    groups_ : list
        The groups seen.
    loss_, n_iter_, converged_ : float, int, bool
        As in `IFair`.

    References
    ----------
    Zemel, Wu, Swersky, Pitassi and Dwork, Learning fair representations, ICML 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from equirank.preprocess import LearnedFairRepresentation
    >>> rng = np.random.default_rng(0)
    >>> sex = np.repeat(["f", "m"], 40)
    >>> X = rng.normal(size=(80, 3)) + (sex == "m")[:, None]  # men are ahead in every column
    >>> y = X.sum(axis=1)
    >>> lfr = LearnedFairRepresentation(n_prototypes=4, random_state=0)
    >>> lfr = lfr.fit(X, y, sensitive_features=sex)
    >>> Z = lfr.transform(X)
    >>> gap = lambda A: np.abs(A[sex == "m"].mean(axis=0) - A[sex == "f"].mean(axis=0)).max()
    >>> bool(gap(Z) < 0.1 * gap(X))
    True
    """

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"sensitive_features": True}
    params: ClassVar[Mapping[str, Constraint]] = {
        **PrototypeTransformer.params,
        "protected": Optional(Columns()),
        "parity": Number(0),
        "reconstruction": Number(0),
        "prediction": Number(0),
    }

    def __init__(
        self,
        n_prototypes: int = 10,
        *,
        protected: Any = None,
        parity: float = 10.0,
        reconstruction: float = 0.1,
        prediction: float = 1.0,
        distance: Literal["euclidean", "squared"] = "squared",
        n_init: int = 3,
        max_iter: int = 200,
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_prototypes = n_prototypes
        self.protected = protected
        self.parity = parity
        self.reconstruction = reconstruction
        self.prediction = prediction
        self.distance = distance
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, sensitive_features: Any = None) -> Self:
        """Learn prototypes, weights and what the prototypes predict.

        Parameters
        ----------
        X : array-like, data frame or RankingData
            Numbers; a `RankingData` brings y and the groups with it.
        y : array-like, optional
            What is to be predicted; None leaves the third term out.
        sensitive_features : array-like, data frame or dict, optional
            The group of each row, several attributes crossed. None: the columns ``protected``.
        """
        self._check_params()
        if isinstance(X, RankingData):
            refuse_beside({"y": y, "sensitive_features": sensitive_features})
            y = None if X.y is None else X.to_original(X.y)
            sensitive_features = {
                name: np.asarray(a.categories, dtype=object)[X.to_original(a.codes)]
                for name, a in X.sensitive.items()
            } or None
        matrix = self._matrix(X, fitting=True)
        self._check_size(matrix)
        refuse_constant(matrix, self._names_in(), "it tells nothing of how alike people are")
        codes = self._group_codes(matrix, sensitive_features)
        target = self._target(y, len(matrix))
        loss = LFRLoss(
            matrix,
            target,
            codes,
            self.n_prototypes,
            self.parity,
            self.reconstruction,
            self.prediction,
            self.distance == "euclidean",
        )
        width = matrix.shape[1]
        bounds: list[tuple[float | None, float | None]] = [(0.0, None)] * width
        box = list(zip(matrix.min(axis=0), matrix.max(axis=0), strict=True))
        aim = (0.0, 0.0) if target is None else (target.min(), target.max())
        bounds += box * self.n_prototypes + [aim] * self.n_prototypes

        def start(rng: np.random.Generator) -> np.ndarray:
            chosen = rng.choice(len(matrix), self.n_prototypes, replace=False)
            noise = 0.1 * matrix.std(axis=0) * rng.normal(size=(self.n_prototypes, width))
            aims = np.zeros(self.n_prototypes) if target is None else target[chosen]
            return np.concatenate([rng.random(width), (matrix[chosen] + noise).ravel(), aims])

        theta = self._minimise(loss, start, bounds)
        last = width * (1 + self.n_prototypes)
        self.attribute_weights_ = theta[:width]
        self.prototypes_ = theta[width:last].reshape(self.n_prototypes, width)
        self.target_weights_ = theta[last:]
        return self

    def _group_codes(self, matrix: np.ndarray, sensitive_features: Any) -> np.ndarray:
        """Return the group of each row as a code, all attributes crossed."""
        if sensitive_features is None:
            if self.protected is None:
                raise DataError(
                    "sensitive_features must be given to fit: LearnedFairRepresentation needs "
                    "groups, from there or from the columns that protected names"
                )
            names = self._names_in()
            sensitive_features = {names[at]: matrix[:, at] for at in self._protected()}
        data = as_ranking_data(
            None, qid=np.zeros(len(matrix), dtype=int), sensitive_features=sensitive_features
        )
        groups = data.cross(*data.sensitive)
        seen_groups(groups.codes, groups.categories, type(self).__name__)
        present, codes = np.unique(groups.codes, return_inverse=True)
        self.groups_ = [groups.categories[code] for code in present]
        return codes

    @staticmethod
    def _target(y: Any, n: int) -> np.ndarray | None:
        target = door.numbers("y", y)
        if target is None:
            return None
        door.same_length({"X": np.empty(n), "y": target})
        return target.astype(np.float64)
