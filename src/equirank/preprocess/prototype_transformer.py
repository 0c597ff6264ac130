"""PrototypeTransformer: the base class of representations by prototypes."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

import numpy as np
from sklearn.base import OneToOneFeatureMixin

from ..core.environment import progress
from ..core.errors import DataError
from ..core.params import Choice, Integer, Number
from ..core.random import as_seed, generator
from ..core.table import Table
from ..kernels.soft_prototypes import SoftAssignment, memberships
from ..metrics.functions import consistency
from .fair_transformer import FairTransformer, column_indices
from .leakage import representation_leakage

__all__ = ["Loss", "PrototypeTransformer"]


#: A loss: maps the parameters to its value and gradient.
Loss = Callable[[np.ndarray], tuple[float, np.ndarray]]


class PrototypeTransformer(OneToOneFeatureMixin, FairTransformer):  # type: ignore[misc]
    """Base of iFair and LFR: prototypes, weights of attributes, L-BFGS with restarts.

    Parameters
    ----------
    n_prototypes : int, default=10
        Number of prototypes.
    distance : {"euclidean", "squared"}
        Distance of the memberships: the weighted Euclidean distance, or its square.
    n_init : int, default=3
        Number of starts; the best result is kept.
    max_iter : int, default=200
        Maximum number of L-BFGS iterations per start.
    tol : float, default=1e-6
        L-BFGS stops when the loss decreases by less than this share of itself.
    """

    positional = ("n_prototypes",)
    n_prototypes: Annotated[int, Integer(1)] = 10
    distance: Annotated[Literal["euclidean", "squared"], Choice("euclidean", "squared")] = (
        "euclidean"
    )
    n_init: Annotated[int, Integer(1)] = 3
    max_iter: Annotated[int, Integer(1)] = 200
    tol: Annotated[float, Number(0, open_low=True)] = 1e-6
    random_state: Any = None

    def transform(self, X: Any) -> np.ndarray:
        """Return the representation of each row: its memberships times the prototypes.

        Parameters
        ----------
        X : array-like, data frame or RankingData
            The columns of `fit`.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
        """
        return self.memberships(X) @ self.prototypes_

    def memberships(self, X: Any) -> np.ndarray:
        """Return the membership of each row in each prototype; rows sum to 1.

        Parameters
        ----------
        X
            As in `transform`.

        Returns
        -------
        ndarray of shape (n_rows, n_prototypes)
        """
        matrix = self._matrix(X, fitting=False)
        share = np.empty((len(self.prototypes_), len(matrix)))
        soft = SoftAssignment(
            matrix,
            self.prototypes_,
            self.attribute_weights_,
            self.distance == "euclidean",
            share,
            np.empty_like(share),
        )
        memberships(soft)
        return np.ascontiguousarray(share.T)

    def changes(
        self, X: Any, y: Any = None, *, sensitive_features: Any, n_neighbors: int = 10
    ) -> Table:
        """Compare the data before and after: leakage of groups, and consistency.

        Pass data that was not used in `fit`. The rows are `representation_leakage` to a linear
        model and to a random forest (0 is best), trained on one part of the rows and tested on
        another; and, with ``y``, the `consistency` of scores of a linear regression on the columns
        (cross-validated in five folds), with neighbours by the unprotected columns (1 is best).

        Parameters
        ----------
        X : array-like or data frame
            The columns of `fit`.
        y : array-like, optional
            The target of the regression.
        sensitive_features : array-like
            The group of each row.
        n_neighbors : int, default=10
            Number of neighbours of consistency.

        Returns
        -------
        Table
            Columns ``measure``, ``before``, ``after``, ``better``.
        """
        before = self._matrix(X, fitting=False)
        after = self.memberships(X) @ self.prototypes_
        seed = as_seed(self.random_state) if self.random_state is not None else 0
        rows: list[tuple[str, float, float, str]] = []
        for model in ("linear", "forest"):
            values = [
                representation_leakage(Z, sensitive_features, model=model, random_state=seed)
                for Z in (before, after)
            ]
            rows.append((f"leakage ({model})", values[0], values[1], "lower"))
        if y is not None:
            open_columns = np.delete(before, self._protected(), axis=1)
            values = [
                consistency(_learned_scores(Z, y), open_columns, n_neighbors=n_neighbors)
                for Z in (before, after)
            ]
            rows.append(("consistency", values[0], values[1], "higher"))
        names = ("measure", "before", "after", "better")
        return Table(dict(zip(names, zip(*rows, strict=True), strict=True)))

    def _protected(self) -> np.ndarray:
        """Return the indices of the protected columns."""
        protected = getattr(self, "protected", None)
        if protected is None:
            return np.empty(0, dtype=np.int64)
        return column_indices(protected, self._names_in(), "protected")

    def _check_size(self, X: np.ndarray) -> None:
        if self.n_prototypes > len(X):
            raise DataError(
                f"n_prototypes of {type(self).__name__} must be at most the number of rows, "
                f"got {self.n_prototypes} for n_samples = {len(X)}"
            )

    def _minimise(
        self,
        loss: Loss,
        start: Callable[[np.random.Generator], np.ndarray],
        bounds: list[tuple[float | None, float | None]],
    ) -> np.ndarray:
        """Minimise from several starts and return the best; sets loss_, n_iter_, converged_.

        BLAS runs in one thread: the blocks are too small to gain from more, and the result does not
        depend on the number of threads.
        """
        from scipy.optimize import minimize
        from threadpoolctl import threadpool_limits

        seed = as_seed(self.random_state)
        best: Any = None
        name = f"{type(self).__name__}: restarts"
        options = {"maxiter": self.max_iter, "ftol": self.tol, "gtol": self.tol}
        for restart in progress(range(self.n_init), name):
            with threadpool_limits(limits=1, user_api="blas"):
                found = minimize(
                    loss,
                    start(generator(seed, restart)),
                    jac=True,
                    method="L-BFGS-B",
                    bounds=bounds,
                    options=options,
                )
            if best is None or found.fun < best.fun:
                best = found
        self.loss_, self.n_iter_ = float(best.fun), int(best.nit)
        self.converged_ = bool(best.status == 0)
        return np.asarray(best.x)


def _learned_scores(Z: np.ndarray, y: Any) -> np.ndarray:
    """Return the cross-validated scores of a linear regression."""
    from sklearn.linear_model import RidgeCV
    from sklearn.model_selection import KFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    target = np.asarray(y, dtype=np.float64)
    folds = KFold(min(5, len(Z)), shuffle=True, random_state=0)
    model = make_pipeline(StandardScaler(), RidgeCV(alphas=(0.1, 1.0, 10.0)))
    return np.asarray(cross_val_predict(model, Z, target, cv=folds))
