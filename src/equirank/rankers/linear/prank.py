"""PRank: an online perceptron that learns weights and the thresholds between grades."""

from typing import Annotated, Any, ClassVar

import numpy as np

from ...core.data import RankingData
from ...core.explain_pair import Parts
from ...core.params import Flag, Integer
from ...core.random import generator
from ...core.ranker import Ranker
from ...kernels.compiled import compiled

__all__ = ["PRank", "prank_pass"]


@compiled
def prank_pass(
    X: np.ndarray,
    grade: np.ndarray,
    order: np.ndarray,
    seen: int,
    w: np.ndarray,
    threshold: np.ndarray,
    w_late: np.ndarray,
    threshold_late: np.ndarray,
) -> tuple[int, int]:
    """Update weights and thresholds after each mistake, in place, in one pass over the rows.

    ``w_late`` and ``threshold_late`` sum each update times the number of rows seen before it
    (``seen`` of them in earlier passes), from which the mean over all rows follows. Returns the
    number of mistakes, and the total number of grades by which predictions were off.
    """
    mistakes = off = 0
    for at in range(len(order)):
        row = order[at]
        score = 0.0
        for f in range(X.shape[1]):
            score += w[f] * X[row, f]
        found = len(threshold)
        for r in range(len(threshold)):
            if score < threshold[r]:
                found = r
                break
        if found == grade[row]:
            continue
        mistakes += 1
        off += abs(found - grade[row])
        step, before = 0, float(seen + at)
        for r in range(len(threshold)):
            side = 1 if grade[row] > r else -1
            if (score - threshold[r]) * side <= 0.0:
                step += side
                threshold[r] -= side
                threshold_late[r] -= side * before
        for f in range(X.shape[1]):
            w[f] += step * X[row, f]
            w_late[f] += step * X[row, f] * before
    return mistakes, off


class PRank(Ranker):
    """Online ordinal perceptron: a score ``w . x`` and ordered thresholds between the grades.

    The predicted grade of a row is the number of thresholds at or below its score. After a mistake
    every threshold on the wrong side of the score moves towards it by 1, and w moves by that many
    times x. The thresholds stay ordered. If a unit vector (w*, thresholds*) separates every score
    from every threshold by at least gamma, on the right side, one pass is off by at most
    ``(k - 1) (R^2 + 1) / gamma^2`` grades in total, where k is the number of grades and R the norm
    of the longest row. Lists are ignored in training. With a single grade all scores are 0.

    Parameters
    ----------
    max_iter : int
        Number of passes over the rows; training stops after a pass without mistakes.
    average : bool
        Whether to predict with the mean of w and of the thresholds over all rows seen, which is
        more stable under noise, instead of the last ones, as published.
    shuffle : bool
        Whether each pass visits the rows in a new random order instead of input order.
    random_state : int, Generator, RandomState or None
        Seed of the orders.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The weights.
    grades_ : ndarray
        The grades, ascending.
    thresholds_ : ndarray of shape (n_grades - 1,)
        Ascending; a score below the first has the lowest grade.
    mistakes_, losses_ : ndarray
        Per pass: the number of rows with a wrong grade, and the total number of grades off.

    References
    ----------
    Crammer and Singer, Pranking with ranking, NIPS 2001.

    Examples
    --------
    >>> import numpy as np
    >>> from equirank.rankers import PRank
    >>> X, y = np.arange(-6.0, 6.0)[:, None], np.repeat([0, 1, 3], 4)
    >>> model = PRank(100, average=False, random_state=0).fit(X, y)
    >>> model.predict_grade([[-5.0], [-1.0], [4.0]])
    array([0., 1., 3.])
    """

    fit_needs: ClassVar[frozenset[str]] = frozenset()
    positional: ClassVar[tuple[str, ...]] = ("max_iter",)
    test_params: ClassVar[dict[str, Any]] = {"random_state": 0}

    max_iter: Annotated[int, Integer(1)] = 50
    average: Annotated[bool, Flag()] = True
    shuffle: Annotated[bool, Flag()] = True
    random_state: Any = None

    def _fit(self, data: RankingData) -> None:
        X = np.ascontiguousarray(data.X, dtype=np.float64)
        self.grades_, grade = np.unique(np.asarray(data.y, dtype=np.float64), return_inverse=True)
        w, threshold = np.zeros(X.shape[1]), np.zeros(len(self.grades_) - 1)
        late = np.zeros_like(w), np.zeros_like(threshold)
        rng = generator(self.random_state)
        given = np.argsort(data.caller_rank)
        losses, seen = [], 0
        for _ in range(self.max_iter):
            order = rng.permutation(given) if self.shuffle else given
            losses.append(prank_pass(X, grade.ravel(), order, seen, w, threshold, *late))
            seen += len(order)
            if losses[-1][0] == 0:
                break
        if self.average:
            w, threshold = w - late[0] / seen, threshold - late[1] / seen
        self.coef_, self.thresholds_ = w, threshold
        self.mistakes_, self.losses_ = np.array(losses, dtype=np.int64).T.copy()
        self.n_iter_ = len(losses)

    def _scores(self, data: RankingData) -> np.ndarray:
        return np.asarray(data.X @ self.coef_)

    def _parts(self, data: RankingData) -> Parts:
        return Parts.linear(data.X, self.coef_)

    def predict_grade(self, X: Any) -> np.ndarray:
        """Return the predicted grade of each row, in input order.

        Parameters
        ----------
        X : array-like, data frame or RankingData
            Features.
        """
        return self.grades_[np.searchsorted(self.thresholds_, self.predict(X), side="right")]
