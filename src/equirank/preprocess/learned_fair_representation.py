"""LFR: representations by prototypes with equal memberships in all groups."""

import warnings
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np

from ..core import inputs
from ..core.data import RankingData
from ..core.errors import DataError, EquirankWarning
from ..core.given_data import as_ranking_data, refuse_beside
from ..core.params import Choice, Number, Optional
from ..kernels.soft_prototypes import SoftAssignment, representations, through_memberships
from .fair_transformer import COLUMNS, check_groups, check_varying, sensitive_labels
from .prototype_transformer import PrototypeTransformer

__all__ = ["LFRLoss", "LearnedFairRepresentation"]


class LFRLoss:
    """The loss of LFR on given rows, as a function of weights, prototypes and targets in a vector.

    ``parity * mean over groups sum_k |mean_group u_k - mean_rest u_k| + reconstruction * mean_i
    |x_i - x~_i|^2 + prediction * mean_i (y_i - sum_k u_ik w_k)^2``. With two groups both terms are
    equal, so the mean is that of the paper. ``codes`` is 0, 1, ... per row.
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
        # one row per group: its mean minus the mean of everyone else
        self.contrast = np.where(member, 1.0 / sizes[:, None], -1.0 / (n - sizes)[:, None])
        self.share, self.distance = np.empty((n_prototypes, n)), np.empty((n_prototypes, n))
        self.made, self.grad_made = np.empty((n, width)), np.empty((n, width))

    def __call__(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the loss and its gradient."""
        n, width = self.X.shape
        last = width * (1 + self.n_prototypes)
        weights, target = theta[:width], theta[last:]
        prototypes = theta[width:last].reshape(self.n_prototypes, width)
        soft = SoftAssignment(self.X, prototypes, weights, self.root, self.share, self.distance)
        per_row = self.reconstruction / n
        loss = per_row * representations(soft, self.made, self.grad_made, 2.0 * per_row)
        gap = self.contrast @ self.share.T
        loss += self.parity * float(np.abs(gap).sum()) / len(gap)
        grad_share = (self.parity / len(gap) * np.sign(gap)).T @ self.contrast
        for_target = np.zeros(len(target))
        if self.y is not None:
            error = target @ self.share - self.y
            loss += self.prediction / n * float(error @ error)
            error *= 2.0 * self.prediction / n
            for_target = self.share @ error
            grad_share += target[:, None] * error
        for_prototypes, for_weights = through_memberships(soft, self.grad_made, grad_share)
        return loss, np.concatenate([for_weights, for_prototypes.ravel(), for_target])


class LearnedFairRepresentation(PrototypeTransformer):
    """Represent people by prototypes in which every group has equal mean membership: LFR.

    Memberships and representation are those of `IFair`. The loss is ``A_z sum_k |mean_{protected}
    u_ik - mean_{others} u_ik| + A_x mean_i |x_i - x~_i|^2 + A_y mean_i (y_i - sum_k u_ik w_k)^2``;
    with more than two groups the first term is the mean over groups, each compared with everyone
    else. The squared errors are means, so the weights do not depend on the number of rows.

    Groups are needed in `fit` but not in `transform`. Standardise the columns first. A constant
    column is an error; equal rows get equal representations.

    Parameters
    ----------
    protected : column names or positions, optional
        The protected columns of X, if it has them. Their values are the groups (several are
        crossed) unless ``sensitive_features`` are passed to `fit`, which is a warning.
    parity : float, default=10.0
        A_z, the weight of equal memberships.
    reconstruction : float, default=0.1
        A_x, the weight of the reconstruction error.
    prediction : float, default=1.0
        A_y, the weight of the prediction error.
    distance : {"euclidean", "squared"}, default="squared"
        Distance of the memberships: the weighted Euclidean distance or, as published, its square.

    Attributes
    ----------
    prototypes_, attribute_weights_ : ndarray
        As in `IFair`.
    target_weights_ : ndarray of shape (n_prototypes,)
        The prediction of y by each prototype; zeros without y.
    groups_ : list
        The groups in `fit`.
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
    >>> X = rng.normal(size=(80, 3)) + (sex == "m")[:, None]  # men have higher values
    >>> y = X.sum(axis=1)
    >>> lfr = LearnedFairRepresentation(n_prototypes=4, random_state=0)
    >>> lfr = lfr.fit(X, y, sensitive_features=sex)
    >>> Z = lfr.transform(X)
    >>> gap = lambda A: np.abs(A[sex == "m"].mean(axis=0) - A[sex == "f"].mean(axis=0)).max()
    >>> bool(gap(Z) < 0.1 * gap(X))
    True
    """

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"sensitive_features": True}
    protected: Annotated[Any, Optional(COLUMNS)] = None
    parity: Annotated[float, Number(0)] = 10.0
    reconstruction: Annotated[float, Number(0)] = 0.1
    prediction: Annotated[float, Number(0)] = 1.0
    distance: Annotated[Literal["euclidean", "squared"], Choice("euclidean", "squared")] = "squared"

    @property
    def fit_needs(self) -> frozenset[str]:
        """Inputs that `fit` requires: groups, unless ``protected`` names columns."""
        return frozenset() if self.protected is not None else frozenset({"sensitive_features"})

    def fit(self, X: Any, y: Any = None, *, sensitive_features: Any = None) -> Self:
        """Learn prototypes, weights and predictions of the prototypes.

        Parameters
        ----------
        X : array-like, data frame or RankingData
            Numbers; a `RankingData` includes y and the groups.
        y : array-like, optional
            The target; None omits the third term.
        sensitive_features : array-like, data frame or dict, optional
            The group of each row; several attributes are crossed. None: the columns ``protected``.
        """
        self._check_params()
        if isinstance(X, RankingData):
            refuse_beside({"y": y, "sensitive_features": sensitive_features})
            y = None if X.y is None else X.to_original(X.y)
            sensitive_features = sensitive_labels(X) or None
        matrix = self._matrix(X, fitting=True)
        self._check_size(matrix)
        check_varying(matrix, self._names_in(), "it does not distinguish people")
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
        """Return the group of each row as a code, with all attributes crossed."""
        if sensitive_features is None:
            if self.protected is None:
                raise DataError(
                    "sensitive_features must be passed to fit, or protected must name columns: "
                    "LearnedFairRepresentation needs groups"
                )
            names = self._names_in()
            sensitive_features = {names[at]: matrix[:, at] for at in self._protected()}
        elif self.protected is not None:
            warnings.warn(
                f"protected of {type(self).__name__} has no effect: sensitive_features are given",
                EquirankWarning,
                stacklevel=3,
            )
        data = as_ranking_data(
            None, qid=np.zeros(len(matrix), dtype=int), sensitive_features=sensitive_features
        )
        groups = data.cross(*data.sensitive)
        check_groups(groups.codes, groups.categories, type(self).__name__)
        present, codes = np.unique(groups.codes, return_inverse=True)
        self.groups_ = [groups.categories[code] for code in present]
        return codes

    @staticmethod
    def _target(y: Any, n: int) -> np.ndarray | None:
        target = inputs.numbers("y", y)
        if target is None:
            return None
        inputs.same_length({"X": np.empty(n), "y": target})
        return target.astype(np.float64)
