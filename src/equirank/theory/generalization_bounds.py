"""GeneralizationBounds: bounds on the error of a fitted ranker on unseen pairs."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.data import RankingData
from ..core.errors import DataError
from ..core.params import Integer, Number, check_params
from ..core.random import as_seed, generator
from ..core.table import Table
from .bounds import (
    Bound,
    EnsembleFacts,
    KernelFacts,
    kernel_bound,
    margin_bound,
    rank_svm_bound,
    training_error_bound,
)
from .margins import margin_loss, rademacher_complexity
from .vc_bounds import vc_bound

__all__ = ["MARGINS", "GeneralizationBounds", "SeenPairs", "disjoint_pairs", "margin_report"]

if TYPE_CHECKING:
    from ..core.ranker import Ranker as Base
else:
    Base = object


def disjoint_pairs(data: RankingData, random_state: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Match the items of each list at random into disjoint pairs of unequal relevance.

    A list of two grades yields as many pairs as the rarer grade has items. A list of more grades is
    paired at random and pairs of equal relevance are dropped, so that every pair of unequal
    relevance is equally likely.

    Returns
    -------
    better, worse : ndarray of int
        Stored rows.
    """
    if data.y is None:
        raise DataError("y must be an array to form pairs, got None")
    query = data.query_of_rows()
    if not ((data.y[1:] != data.y[:-1]) & (query[1:] == query[:-1])).any():
        raise DataError("y must have two different grades in a list, and has them in none")
    attempt = 0
    while True:  # random pairing of a few items may yield no pair
        pairs = [_match(data, data.y, at, random_state, attempt) for at in range(data.n_queries)]
        better, worse = np.concatenate(pairs, axis=1)
        if len(better):
            return better, worse
        attempt += 1


def _match(
    data: RankingData, y: np.ndarray, query: int, random_state: Any, attempt: int
) -> np.ndarray:
    """Return the pairs of one list: stored rows (2 x pairs), the better ones first."""
    begin, end = int(data.offsets[query]), int(data.offsets[query + 1])
    order = generator(random_state, query, attempt).permutation(end - begin) + begin
    high = y[order] == y[order].max()
    if (y[order[~high]] == y[order].min()).all():
        size = min(int(high.sum()), int((~high).sum()))
        return np.stack([order[high][:size], order[~high][:size]])
    half = len(order) // 2
    two = np.stack([order[:half], order[half : 2 * half]])
    two = np.where(y[two[0]] > y[two[1]], two, two[::-1])
    return two[:, y[two[0]] > y[two[1]]]


@dataclass(frozen=True, eq=False)
class SeenPairs:
    """Disjoint pairs of a data set with their scores, and facts about the scorer.

    Attributes
    ----------
    better, worse : ndarray
        Stored rows.
    """

    data: RankingData
    score: np.ndarray
    better: np.ndarray
    worse: np.ndarray
    facts: EnsembleFacts | KernelFacts

    @property
    def margins(self) -> np.ndarray:
        """The score gaps; those of an ensemble are divided by the L1 norm of its weights."""
        gap = self.score[self.better] - self.score[self.worse]
        return gap / (self.facts.norm or 1.0) if isinstance(self.facts, EnsembleFacts) else gap

    def complexity(self, n_draws: int, random_state: Any) -> float:
        """Estimate the Rademacher complexity of an ensemble's weak rankers; 0 for kernels."""
        if isinstance(self.facts, KernelFacts):
            return 0.0
        X = self.data.X
        table = X.toarray() if hasattr(X, "toarray") else X
        return sum(
            rademacher_complexity(
                table[rows],
                weak_ranker=self.facts.weak_ranker,
                n_draws=n_draws,
                random_state=generator(random_state, side),
            )[0]
            for side, rows in enumerate((self.better, self.worse))
        )

    def bound(self, rho: float, complexity: float, delta: float) -> Bound:
        """Bound the error by the loss at a margin, uniformly over margins in (0, 1]."""
        margins = self.margins
        loss = margin_loss(margins, rho=rho)
        if isinstance(self.facts, EnsembleFacts):
            return margin_bound(loss, complexity, len(margins), rho=rho, delta=delta, uniform=True)
        norm, radius = self.facts.norm, self.facts.radius
        return kernel_bound(
            loss, len(margins), norm=norm, radius=radius, rho=rho, delta=delta, uniform=True
        )


#: The margins tried; the bound is uniform over them, so the best may be chosen.
MARGINS = tuple(float(2.0**-power) for power in np.arange(0, 8.5, 0.5))


class GeneralizationBounds(Base):
    """Mixin with the method ``generalization_bounds``; it precedes `Ranker` in the bases.

    A ranker writes ``_bound_facts(data)``, which returns `EnsembleFacts` (``norm``, ``n_rounds``,
    ``weak_ranker``, ``normalizers``) for boosters or `KernelFacts` (``norm``, ``radius``) for
    kernels; both are in `equirank.theory.bounds`.

    Examples
    --------
    A ranker with one stump:

    >>> import numpy as np
    >>> from equirank import Ranker
    >>> from equirank.datasets import make_ranking
    >>> from equirank.theory import GeneralizationBounds
    >>> from equirank.theory.bounds import EnsembleFacts
    >>> class OneStump(GeneralizationBounds, Ranker):
    ...     def _fit(self, data):
    ...         self.threshold_ = float(np.median(data.X[:, 0]))
    ...
    ...     def _scores(self, data):
    ...         return (data.X[:, 0] > self.threshold_).astype(float)
    ...
    ...     def _bound_facts(self, data):
    ...         return EnsembleFacts(norm=1.0, n_rounds=1, weak_ranker="stump")
    >>> data = make_ranking(n_queries=400, random_state=0)
    >>> bounds = OneStump().fit(data).generalization_bounds(data, delta=0.05)
    >>> bounds["bound"].tolist(), bounds["vacuous"].tolist()
    (['margin', 'vc'], [False, True])
    """

    def generalization_bounds(
        self,
        X: Any,
        y: Any = None,
        qid: Any = None,
        *,
        delta: float = 0.05,
        n_draws: int = 50,
        random_state: Any = 0,
    ) -> Table:
        """Bound the share of unseen pairs that this ranker misranks.

        The items of a list are treated as independent draws. Its pairs are not independent, so
        disjoint pairs are matched at random: each is a random pair of unequal relevance, and their
        number is the m of the bounds. A tied pair counts as an error. Each bound alone holds with
        probability 1 - delta, also for the training data.

        Parameters
        ----------
        X : array-like, sparse array, data frame or RankingData
            Features; a `RankingData` includes everything else.
        y : array-like
            Relevance, >= 0.
        qid : array-like, optional
            The query of each row; None: all rows are one list.
        delta : float
            Probability that a bound does not hold.
        n_draws : int
            Draws for the Rademacher complexity.
        random_state : int, Generator, RandomState or None
            Seed of the matching and of the draws.

        Returns
        -------
        Table
            A row per bound: its name, ``value``, whether it is ``vacuous`` (1 or more), its parts
            ``empirical``, ``complexity`` and ``confidence``, the best margin ``rho`` (of powers of
            sqrt(2); the bound is uniform in rho), the number of ``pairs`` and a ``note`` on its
            assumptions. Ensembles have ``margin`` and ``vc``, and ``training`` (for training pairs
            only) if the algorithm has normalisers; linear scorers ``kernel`` and ``rank_svm``.
        """
        check_params(
            "generalization_bounds",
            {"delta": delta, "n_draws": n_draws},
            {"delta": Number(0, 1, open_low=True, open_high=True), "n_draws": Integer(2)},
        )
        random_state = as_seed(random_state)
        seen = self._seen_pairs(X, y, qid, random_state)
        complexity = seen.complexity(n_draws, random_state)
        best, rho = _best(seen, complexity, delta)
        if isinstance(seen.facts, KernelFacts):
            rows = _kernel_rows(seen, seen.facts, best, rho, delta)
        else:
            rows = _ensemble_rows(seen, seen.facts, best, rho, delta)
        return _table(rows, len(seen.better))

    def _seen_pairs(self, X: Any, y: Any, qid: Any, random_state: Any) -> SeenPairs:
        """Score the data and match its items into disjoint pairs."""
        data = self._prediction_data(X, y, qid, None)
        if data.y is None:
            raise DataError("y must be an array to bound the error, got None")
        score = np.asarray(self._scores(self.visible(data)), dtype=np.float64)
        better, worse = disjoint_pairs(data, random_state)
        return SeenPairs(data, score, better, worse, self._bound_facts(data))

    def _bound_facts(self, data: RankingData) -> EnsembleFacts | KernelFacts:
        raise TypeError(f"{type(self).__name__} must define _bound_facts")


Row = tuple[str, Bound, float, str]


def _ensemble_rows(
    seen: SeenPairs, facts: EnsembleFacts, best: Bound, rho: float, delta: float
) -> list[Row]:
    rows: list[Row] = [("margin", best, rho, "independent items")]
    rows.append(("vc", *_vc(seen.data, seen.score, facts, delta)))
    if facts.normalizers is not None:
        note = "training pairs only, weighted by cost"
        rows.append(("training", training_error_bound(facts.normalizers), np.nan, note))
    return rows


def _kernel_rows(
    seen: SeenPairs, facts: KernelFacts, best: Bound, rho: float, delta: float
) -> list[Row]:
    slack = float(np.maximum(0.0, 1.0 - seen.margins).mean())
    note = "norm and radius taken from the fit"
    by_slack = rank_svm_bound(
        slack, len(seen.better), norm=facts.norm, radius=facts.radius, delta=delta
    )
    return [("kernel", best, rho, note), ("rank_svm", by_slack, 1.0, note)]


def _vc(
    data: RankingData, score: np.ndarray, facts: EnsembleFacts, delta: float
) -> tuple[Bound, float, str]:
    """Return the VC bound if it applies, else an infinite one with the reason."""
    y = np.asarray(data.y)
    high = y == y.max()
    infinite = Bound(0.0, np.inf)
    if facts.weak_ranker != "stump":
        return infinite, np.nan, "does not apply: weak rankers must be binary"
    if data.n_queries > 1 or not (y[~high] == y.min()).all():
        return infinite, np.nan, "does not apply: needs one list of two grades"
    below = np.searchsorted(np.sort(score[~high]), score[high], side="left")
    error = 1.0 - float(below.mean()) / int((~high).sum())
    bound = vc_bound(
        min(max(error, 0.0), 1.0),
        int(high.sum()),
        int((~high).sum()),
        vc_dimension=stump_dimension(data.n_features, bool(np.isnan(_stored_values(data.X)).any())),
        n_rounds=max(1, facts.n_rounds),
        delta=delta,
    )
    return bound, np.nan, "independent items of either grade"


def stump_dimension(n_features: int, missing: bool = False) -> int:
    """Return a bound on the VC dimension of threshold stumps: d points need 2^d dichotomies.

    A feature splits d ordered points at d - 1 thresholds, and two splits are trivial; a side for
    missing values doubles the splits.
    """
    d = 1
    while 2 ** (d + 1) <= n_features * d * (2 if missing else 1) + 2:
        d += 1
    return d


def _stored_values(X: Any) -> np.ndarray:
    return np.asarray(X.data if hasattr(X, "tocsr") else X)


def _best(seen: SeenPairs, complexity: float, delta: float) -> tuple[Bound, float]:
    found = [(seen.bound(rho, complexity, delta), rho) for rho in MARGINS]
    return min(found, key=lambda pair: pair[0].value)


def _table(rows: list[Row], n_pairs: int) -> Table:
    bounds = [bound for _, bound, _, _ in rows]
    return Table(
        {
            "bound": np.array([name for name, _, _, _ in rows], dtype=object),
            "value": np.array([bound.value for bound in bounds]),
            "vacuous": np.array([bound.vacuous for bound in bounds]),
            "empirical": np.array([bound.empirical for bound in bounds]),
            "complexity": np.array([bound.complexity for bound in bounds]),
            "confidence": np.array([bound.confidence for bound in bounds]),
            "rho": np.array([rho for _, _, rho, _ in rows]),
            "pairs": np.full(len(rows), n_pairs),
            "note": np.array([note for _, _, _, note in rows], dtype=object),
        }
    )


def margin_report(
    ranker: GeneralizationBounds,
    X: Any,
    y: Any = None,
    qid: Any = None,
    *,
    rho: Any = None,
    delta: float = 0.05,
    n_draws: int = 50,
    random_state: Any = 0,
) -> Table:
    """Report the share of pairs that a ranker separates by a margin, and the bound, over margins.

    With a wider margin fewer pairs are separated but the other terms are smaller, so the bound is
    lowest in between. It is uniform in rho: all rows hold at once with probability 1 - delta, and
    the best may be chosen. Pairs are disjoint, as in ``ranker.generalization_bounds``; a tied pair
    counts as an error. Margins of ensembles (the RankBoost family) are score differences divided by
    the L1 norm of the weights, at most 1; those of linear and kernel rankers (`RankSVM`) are score
    differences, with a bound by norm and radius.

    Parameters
    ----------
    ranker : Ranker
        A fitted ranker with ``generalization_bounds``: a booster or `RankSVM`.
    X, y, qid, n_draws, random_state
        As in ``ranker.generalization_bounds``.
    rho : array-like, optional
        The margins, in (0, 1]; powers of sqrt(2) from 1/256 to 1 by default.
    delta : float
        Probability that the bounds do not hold.

    Returns
    -------
    Table
        A row per margin: ``rho``, ``error`` (the share of misranked pairs, the same in every row),
        ``margin_loss``, ``complexity``, ``confidence``, their sum ``bound``, whether it is
        ``vacuous`` (1 or more), and the number of ``pairs``; see `equirank.plots.margin_bounds`.

    References
    ----------
    As in `margin_bound`.

    Examples
    --------
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import RankBoost
    >>> from equirank.theory import margin_report
    >>> data = make_ranking(n_queries=400, random_state=0)
    >>> report = margin_report(RankBoost(20).fit(data), data, rho=[0.1, 0.3, 1.0])
    >>> report["margin_loss"].round(2).tolist()
    [0.26, 0.72, 1.0]
    """
    margins = np.asarray(MARGINS[::-1] if rho is None else rho, dtype=np.float64).ravel()
    check_params(
        "margin_report",
        {"delta": delta, "n_draws": n_draws},
        {"delta": Number(0, 1, open_low=True, open_high=True), "n_draws": Integer(2)},
    )
    if len(margins) == 0 or not ((margins > 0) & (margins <= 1)).all():
        raise DataError(f"rho of margin_report must hold margins in (0, 1], got {rho!r}")
    if not isinstance(ranker, GeneralizationBounds):
        raise DataError(
            "ranker of margin_report must have bounds (a booster or RankSVM), got "
            f"{type(ranker).__name__}"
        )
    seed = as_seed(random_state)
    seen = ranker._seen_pairs(X, y, qid, seed)
    complexity = seen.complexity(n_draws, seed)
    bounds = [seen.bound(float(each), complexity, delta) for each in margins]
    return Table(
        {
            "rho": margins,
            "error": np.full(len(margins), margin_loss(seen.margins, rho=0.0)),
            "margin_loss": np.array([bound.empirical for bound in bounds]),
            "complexity": np.array([bound.complexity for bound in bounds]),
            "confidence": np.array([bound.confidence for bound in bounds]),
            "bound": np.array([bound.value for bound in bounds]),
            "vacuous": np.array([bound.vacuous for bound in bounds]),
            "pairs": np.full(len(margins), len(seen.better)),
        }
    )
