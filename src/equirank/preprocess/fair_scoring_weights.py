"""FairScoringWeights: the fair weights of a linear score that are nearest to the given ones."""

from collections.abc import Callable
from copy import copy
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..core.data import RankingData
from ..core.environment import progress
from ..core.errors import DataError, InfeasibleError
from ..core.given_data import as_ranking_data, refuse_beside
from ..core.params import Check, Integer, Optional, Vector
from ..core.persistence import SavedFiles, save
from ..core.random import generator
from ..core.ranking import Ranking
from .fair_transformer import FairTransformer, check_varying, sensitive_labels
from .oracles import ORACLES, CallRule, Oracle, Rule

__all__ = ["FairScoringWeights", "Found", "angle_between", "search", "top_rows"]


#: Number of nearest fair samples that are moved back towards the asked direction.
NEAREST = 8
HALVINGS = 40


class Found(NamedTuple):
    """The nearest fair direction, or None, and the share of sampled directions that are fair."""

    direction: np.ndarray | None
    share: float


def search(
    fair: Callable[[np.ndarray], bool],
    asked: np.ndarray,
    n_samples: int,
    n_refine: int,
    rng: np.random.Generator,
) -> Found:
    """Find the fair direction nearest to the asked one: sample, move back, search locally.

    Directions have length 1 and no negative parts, and are sampled uniformly.
    """
    samples = np.abs(rng.normal(size=(n_samples, len(asked))))
    samples /= np.linalg.norm(samples, axis=1, keepdims=True)
    good = np.array(
        [fair(sample) for sample in progress(samples, "FairScoringWeights: directions")]
    )
    share = float(good.mean())
    if fair(asked):
        return Found(asked, share)
    candidates = samples[good]
    if not len(candidates):
        candidates = np.array([w for w in _around(asked, n_refine, rng) if fair(w)])
        if not len(candidates):
            return Found(None, share)
    nearest = np.argsort(angle_between(candidates, asked), kind="stable")[:NEAREST]
    best, far = candidates[nearest[0]], np.inf
    for candidate in candidates[nearest]:
        back = _move_back(fair, asked, candidate)
        if angle_between(back, asked) < far:
            best, far = back, float(angle_between(back, asked))
    for step in range(n_refine):
        reach = far * 0.5 ** (5 * step / max(1, n_refine - 1))
        other = np.abs(best + reach * rng.normal(size=len(asked)) / np.sqrt(len(asked)))
        other /= np.linalg.norm(other)
        if angle_between(other, asked) < 0.999 * far and fair(other):
            best = _move_back(fair, asked, other)
            far = float(angle_between(best, asked))
    return Found(best, share)


def _around(asked: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return directions around the asked one, from far to near."""
    reach = np.geomspace(0.5, 1e-3, n)[:, None]
    near = np.abs(asked + reach * rng.normal(size=(n, len(asked))))
    return np.asarray(near / np.linalg.norm(near, axis=1, keepdims=True))


def _move_back(
    fair: Callable[[np.ndarray], bool], asked: np.ndarray, good: np.ndarray
) -> np.ndarray:
    """Return the last fair direction on the way to the asked one, by bisection."""
    bad = asked
    for _ in range(HALVINGS):
        middle = good + bad
        middle = middle / np.linalg.norm(middle)
        if fair(middle):
            good = middle
        else:
            bad = middle
    return good


def angle_between(directions: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the angle in radians between directions of length 1, exact for small angles too."""
    gap = np.linalg.norm(directions - other, axis=-1)
    return 2.0 * np.arcsin(np.minimum(gap / 2.0, 1.0))


def top_rows(score: np.ndarray, depth: int) -> np.ndarray:
    """Return the first ``depth`` rows by score, ties in row order."""
    if 4 * depth >= len(score):
        return np.argsort(-score, kind="stable")[:depth]
    least = np.partition(score, len(score) - depth)[len(score) - depth]
    rows = np.flatnonzero(score >= least)
    return rows[np.argsort(-score[rows], kind="stable")][:depth]


#: Distance in radians from the end of a fair interval, at which two items tie.
INSIDE = 1e-9


class FairScoringWeights(FairTransformer):
    """Find the weights of a linear score, nearest to the given ones, whose ranking is fair.

    Scores are ``w . x`` with weights >= 0 (negate a column in which less is better). With two
    columns the search is exact: the angle of w sweeps from 0 (first column only) to 90 degrees
    (second column only), items exchange positions where their scores are equal, and each order
    between exchanges is judged once. With more columns directions are sampled, the nearest fair
    ones are moved back towards w, and their neighbourhood is searched: the result is the nearest
    found, not the nearest that exists.

    Equal rows keep input order. At the end of a fair interval two items tie, so the angle is taken
    1e-9 radians inside. A constant column is an error.

    Parameters
    ----------
    oracle : Oracle or callable
        The definition of fair: `PrefixSharesOracle`, `ExposureGapOracle`, `FAStarIROracle`,
        `MetricOracle`, or any function of the row numbers, best first, that returns True or False.
        A function with an attribute ``depth`` receives only that many rows.
    weights : sequence of float, optional
        The given weights, one per column, >= 0; None: all equal. Only their direction matters.
    n_samples : int, default=1000
        Number of sampled directions if X has more than two columns.
    n_refine : int, default=500
        Number of directions tried around the nearest one.
    random_state : int, Generator, RandomState or None
        Seed of the directions.

    Attributes
    ----------
    weights_ : ndarray of shape (n_features,)
        The fair weights, with the length of the given ones.
    angle_ : float
        Angle to the given weights in radians; 0 if these are fair.
    fair_share_ : float
        Fair share of the angles (two columns) or of the sampled directions.
    intervals_ : ndarray of shape (n_intervals, 2)
        The intervals of fair angles in radians; empty with more than two columns.
    n_orders_ : int
        Number of different orders (two columns), else of judged directions.

    References
    ----------
    Asudeh, Jagadish, Stoyanovich and Das, Designing fair ranking schemes, SIGMOD 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from equirank.preprocess import FairScoringWeights, PrefixSharesOracle
    >>> X = [[4.0, 1.0], [3.0, 2.0], [2.0, 3.5], [1.0, 3.0]]  # tests, experience
    >>> oracle = PrefixSharesOracle(k=2, low=0.5, protected="b")
    >>> model = FairScoringWeights(oracle, weights=[2, 1])
    >>> model = model.fit(X, sensitive_features=["a", "a", "b", "b"])
    >>> model.rank(X).order()[:2]
    array([0, 2])
    >>> bool(model.angle_ > 0), model.intervals_.round(3)
    (True, array([[0.588, 1.571]]))
    """

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"sensitive_features": True}
    positional = ("oracle",)
    oracle: Annotated[
        Any,
        Check(
            lambda value: isinstance(value, (Oracle, dict)) or callable(value),
            "an oracle or a function of the order",
        ),
    ]
    weights: Annotated[Any, Optional(Vector(0.0))] = None
    n_samples: Annotated[int, Integer(1)] = 1000
    n_refine: Annotated[int, Integer(1)] = 500
    random_state: Any = None

    def fit(self, X: Any, y: Any = None, *, sensitive_features: Any = None) -> Self:
        """Find the weights.

        Parameters
        ----------
        X : array-like, data frame or RankingData
            The weighted attributes, on comparable scales; one list.
        y : array-like, optional
            Relevance, for oracles that use it.
        sensitive_features : array-like, data frame or dict, optional
            The group of each row; the oracles of this package need it.

        Raises
        ------
        InfeasibleError
            If no direction is fair; the message has the number of directions tried.
        """
        self._check_params()
        if isinstance(X, RankingData):
            refuse_beside({"y": y, "sensitive_features": sensitive_features})
            if X.n_queries > 1:
                raise DataError(
                    f"X must be one list to search weights on, got {X.n_queries} queries; "
                    "select one of them"
                )
            y = None if X.y is None else X.to_original(X.y)
            sensitive_features = sensitive_labels(X) or None
        matrix = self._matrix(X, fitting=True)
        if matrix.shape[1] < 2:
            raise DataError("X must have at least two columns to weigh, got n_features = 1")
        check_varying(matrix, self._names_in(), "its weight does not change any order")
        asked = self._asked(matrix.shape[1])
        rule = self._rule(matrix, y, sensitive_features)
        length = float(np.linalg.norm(asked))
        if matrix.shape[1] == 2:
            direction = self._sweep(rule, matrix, asked / length)
        else:
            direction = self._sample(rule, matrix, asked / length)
        self.weights_ = length * direction
        self.angle_ = float(angle_between(direction, asked / length))
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Return the fair score of each row, as one column.

        Parameters
        ----------
        X : array-like, data frame or RankingData
            The columns of `fit`.
        """
        return (self._matrix(X, fitting=False) @ self.weights_)[:, None]

    def rank(self, X: Any, *, sensitive_features: Any = None) -> Ranking:
        """Rank the rows by their fair scores.

        Parameters
        ----------
        X : array-like, data frame or RankingData
            The columns of `fit`; a `RankingData` is ranked list by list.
        sensitive_features : array-like, optional
            Kept in ``ranking.data``.
        """
        score = self.transform(X)[:, 0]
        data = (
            X
            if isinstance(X, RankingData)
            else as_ranking_data(None, score=score, sensitive_features=sensitive_features)
        )
        return Ranking.from_scores(data, score)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the name of the output column."""
        check_is_fitted(self)
        return np.array(["fair_score"], dtype=object)

    def save(self, folder: str | Path) -> None:
        """Save to a folder that `equirank.load` reads; the oracle must be one of this package."""
        check_is_fitted(self)
        if not isinstance(self.oracle, Oracle):
            raise DataError(
                "oracle must be one of this package to be saved, since a function has no safe "
                f"form, got {self.oracle!r}"
            )
        plain = copy(self)
        parts = {field.name: getattr(self.oracle, field.name) for field in fields(self.oracle)}
        if "metric" in parts:
            parts["metric"] = str(parts["metric"])
        plain.oracle = {"oracle": type(self.oracle).__name__, "parts": parts}
        save(plain, folder)

    def _load_files(self, files: SavedFiles) -> None:
        name = self.oracle["oracle"]
        if name not in ORACLES:
            raise DataError(f"oracle must be one of {', '.join(ORACLES)}, got {name!r}")
        self.oracle = ORACLES[name](**self.oracle["parts"])

    def _asked(self, n_columns: int) -> np.ndarray:
        if self.weights is None:
            return np.ones(n_columns)
        asked = np.asarray(self.weights, dtype=np.float64)
        if len(asked) != n_columns:
            raise DataError(
                f"weights must be one number per column of X ({n_columns}), got {len(asked)}"
            )
        if not asked.any():
            raise DataError("weights must include a number > 0, got zeros only")
        return asked

    def _rule(self, matrix: np.ndarray, y: Any, sensitive_features: Any) -> Rule:
        """Return the rule of the oracle for these rows."""
        n = len(matrix)
        if isinstance(self.oracle, Oracle):
            if sensitive_features is None:
                raise DataError(
                    f"sensitive_features must be passed to fit, since {type(self.oracle).__name__} "
                    "needs groups"
                )
            return self.oracle.bind(
                as_ranking_data(
                    None,
                    y,
                    qid=np.zeros(n, dtype=np.int64),
                    sensitive_features=sensitive_features,
                )
            )
        depth = min(n, int(getattr(self.oracle, "depth", n)))
        oracle = self.oracle
        return CallRule(lambda order: oracle(order[:depth]), depth)

    def _sweep(self, rule: Rule, matrix: np.ndarray, asked: np.ndarray) -> np.ndarray:
        first, second = np.ascontiguousarray(matrix.T)
        self.intervals_, self.n_orders_ = rule.sweep(first, second)
        self.fair_share_ = float((self.intervals_[:, 1] - self.intervals_[:, 0]).sum() * 2 / np.pi)
        if not len(self.intervals_):
            raise InfeasibleError(
                f"oracle must accept an order, and accepts none of the {self.n_orders_} orders of "
                "weights >= 0 (0% of the angles are fair)"
            )
        angle = float(np.arctan2(asked[1], asked[0]))
        low, high = self.intervals_.T
        inside = np.minimum(INSIDE, (high - low) / 2)
        ends_low = np.where(low > 0, low + inside, 0.0)
        ends_high = np.where(high < np.pi / 2, high - inside, np.pi / 2)
        nearest = np.clip(angle, ends_low, ends_high)
        best = float(nearest[np.argmin(np.abs(nearest - angle))])
        if best == angle:
            return asked
        return np.array([np.cos(best), max(0.0, np.sin(best))])

    def _sample(self, rule: Rule, matrix: np.ndarray, asked: np.ndarray) -> np.ndarray:
        def fair(direction: np.ndarray) -> bool:
            return rule.fair(top_rows(matrix @ direction, rule.depth))

        rng = generator(self.random_state)
        found = search(fair, asked, self.n_samples, self.n_refine, rng)
        self.intervals_, self.n_orders_ = np.empty((0, 2)), self.n_samples
        self.fair_share_ = found.share
        if found.direction is None:
            raise InfeasibleError(
                f"oracle must accept a direction, and accepts none of {self.n_samples} sampled "
                f"ones (fair share 0%) nor of {self.n_refine} near the given weights"
            )
        return found.direction
