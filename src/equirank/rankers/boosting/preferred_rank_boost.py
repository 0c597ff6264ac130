"""PreferredRankBoost: boosting in which every group picks a weak ranker in every round."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.validation import check_is_fitted

from ...core.data import RankingData
from ...core.environment import progress
from ...core.errors import DataError
from ...core.params import Choice, Constraint, Integer, Label, Number, Optional
from ...core.table import Table
from ..feature_bins import Bins, Workers, bin_features
from ..training_pairs import CostRule, Stump
from .ensemble import Ensemble
from .factorised_weights import FactorisedWeights

__all__ = ["PreferredRankBoost"]


#: Sums closer than this are equal: the lowest feature, then the lowest threshold is taken.
TIE = 1e-10


class PreferredRankBoost(Ensemble):
    """RankBoost in which each group chooses for itself, and none has less than under parity.

    Each round has a parity choice, the stump that RankBoost would take. Every group then picks the
    stump with the largest drop of the loss on the pairs whose better item is its own, among those
    whose benefit to the group (the sum over its items and all others of ``h(a) - h(b)``) is at
    least that of the parity choice; where there is none it takes the parity choice. The round's
    stumps enter together: their mean ``h``, with ``alpha = 1/2 ln((1 + r) / (1 - r))`` from its
    joint ``r``. A missing value lies above every threshold. Of equal stumps the one with the lowest
    feature, then threshold, is taken. Groups are needed to fit, not to rank. It stops where the
    joint r is not above ``tol``; without pairs of unequal relevance all scores are 0.

    Parameters
    ----------
    n_estimators : int
        Number of rounds at most; each adds one stump per group.
    weighting : {"common", "single"}
        One weight for the stumps of a round, or each its own from its own errors, as RankBoost
        would weigh it. The latter shows the known weakness: the largest group has the fewest
        mistakes and wins.
    by : str or sequence of str, optional
        The sensitive attribute, or several to cross; may be left out where there is only one.
    max_bins : int or None
        Thresholds per feature are between at most so many quantile bins; None tries all.
    tol : float
        The r at which it stops.
    n_jobs : int or None
        Number of threads.
    random_state : int, Generator, RandomState or None
        Seed of the sample that bins are taken from beyond 200,000 rows.

    Attributes
    ----------
    choices_ : Table
        Who picked what: round, group, feature, direction and threshold of the stump, its weight,
        how many training pairs it misranks by itself, and its benefit to the group.

    References
    ----------
    Zafar, Valera, Gomez Rodriguez, Gummadi and Weller, From parity to preference-based notions of
    fairness in classification, NeurIPS 2017 (for classifiers).

    Examples
    --------
    Three parties in their true order, each with a feature that marks most of its own:

    >>> import numpy as np
    >>> from equirank.rankers import PreferredRankBoost
    >>> party = np.array(list("TLDTTTDLT"))
    >>> X = np.stack([party == "L", party == "D", party == "T"], axis=1).astype(float)
    >>> X[8] = 0.0  # the last of T is not marked
    >>> model = PreferredRankBoost(1).fit(X, range(9, 0, -1), sensitive_features=party)
    >>> for choice in model.choices_:
    ...     print(choice["group"], choice["feature"], choice["misranked"])
    D 1 7
    L 0 7
    T 2 6
    """

    fit_needs: ClassVar[frozenset[str]] = frozenset({"qid", "sensitive_features"})
    params: ClassVar[Mapping[str, Constraint]] = {
        "n_estimators": Integer(1),
        "weighting": Choice("common", "single"),
        "by": Optional(Label(many=True)),
        "max_bins": Optional(Integer(2, 255)),
        "tol": Number(0.0),
        "n_jobs": Optional(Integer()),
    }
    test_params: ClassVar[dict[str, Any]] = {"n_estimators": 8}

    def __init__(
        self,
        n_estimators: int = 50,
        *,
        weighting: Literal["common", "single"] = "common",
        by: Any = None,
        max_bins: int | None = 255,
        tol: float = 1e-7,
        n_jobs: int | None = -1,
        random_state: Any = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.weighting = weighting
        self.by = by
        self.max_bins = max_bins
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def choices_(self) -> Table:
        """Who picked what in each round."""
        check_is_fitted(self)
        return Table(
            {
                "round": self.round_,
                "group": [self.group_names_[code] for code in self.group_],
                "feature": self._feature_words(self.feature_),
                "direction": np.where(self.direction_ > 0, ">", "<=").tolist(),
                "threshold": self.threshold_,
                "weight": np.abs(self.alpha_),
                "misranked": self.misranked_,
                "benefit": self.benefit_,
            }
        )

    def _fit(self, data: RankingData) -> None:
        by = self.by if self.by is None or isinstance(self.by, str) else tuple(self.by)
        attribute = data.attribute(by)
        if data.n_rows < 2:
            raise DataError("X must have two rows or more to make a pair, got one sample")
        workers = Workers(effective_n_jobs(self.n_jobs))
        try:
            parts = _Groups(data, attribute.codes, len(attribute.categories), workers)
            bins = bin_features(
                np.asarray(data.X), parts.every.rows, self.max_bins, self.random_state, workers
            )
            picks, curve = self._rounds(parts, bins, workers)
        finally:
            workers.close()
        self.group_names_ = [str(name) for name in attribute.categories]
        self._keep(data, bins, picks, curve)

    def _rounds(
        self, parts: "_Groups", bins: Bins, workers: Workers
    ) -> tuple[list["_Pick"], dict[str, list[float]]]:
        picks: list[_Pick] = []
        curve: dict[str, list[float]] = {"r": [], "Z": []}
        benefit = [_above(bins, part, workers) for part in parts.benefit]
        for at in progress(range(self.n_estimators), "boosting"):
            chosen = _choices(parts, bins, benefit, workers)
            if not chosen:
                break
            outputs = [part.side * _output(bins, part.stump) for part in chosen]
            if self.weighting == "common":
                mean = np.mean(outputs, axis=0)
                r = float(parts.every.potential @ mean)
                weights = [parts.vote(1.0 + r, 1.0 - r) / len(chosen)] * len(chosen)
            else:
                sides = [parts.every.sides(bins, part.stump)[:: int(part.side)] for part in chosen]
                weights = [parts.vote(*side) for side in sides]
                r = max(abs(plus - minus) for plus, minus in sides)
            if r <= self.tol:
                break
            before = parts.every.log_total
            parts.add(sum(w * out for w, out in zip(weights, outputs, strict=True)))
            curve["r"].append(r)
            curve["Z"].append(math.exp(parts.every.log_total - before))
            for part, weight in zip(chosen, weights, strict=True):
                part.round, part.weight = at + 1, weight
            picks += chosen
        for pick in picks:
            plus, minus = parts.start.sides(bins, pick.stump)
            wrong = minus if pick.side > 0 else plus
            pick.misranked = round(wrong * parts.start.n_pairs)
        return picks, curve

    def _keep(
        self, data: RankingData, bins: Bins, picks: list["_Pick"], curve: dict[str, list[float]]
    ) -> None:
        self.feature_ = np.array([p.stump.feature for p in picks], dtype=np.int64)
        cuts = [bins.edges[p.stump.feature, p.stump.cut] for p in picks]
        self.threshold_ = np.array(cuts, dtype=np.float64)
        self.side_ = np.ones(len(picks), dtype=np.int64)
        self.direction_ = np.array([p.side for p in picks], dtype=np.float64)
        self.alpha_ = np.array([p.side * p.weight for p in picks], dtype=np.float64)
        self.round_ = np.array([p.round for p in picks], dtype=np.int64)
        self.group_ = np.array([p.group for p in picks], dtype=np.int64)
        self.misranked_ = np.array([p.misranked for p in picks], dtype=np.int64)
        self.benefit_ = np.array([p.benefit for p in picks], dtype=np.float64)
        self.low_, self.high_ = np.zeros(data.n_features), np.ones(data.n_features)
        self.curve_ = curve


@dataclass
class _Pick:
    """A stump, its direction, and who picked it."""

    group: int
    stump: Stump
    side: float
    benefit: float
    round: int = 0
    weight: float = 0.0
    misranked: int = 0


class _Groups:
    """Pair weights of everyone, and of the pairs whose better item belongs to each group."""

    def __init__(self, data: RankingData, codes: np.ndarray, size: int, workers: Workers) -> None:
        def weights(matrix: np.ndarray) -> FactorisedWeights:
            rule = CostRule(None, "product", codes.astype(np.int32), matrix)
            return FactorisedWeights(data, rule, workers)

        whole = np.ones((size, size))
        self.every, self.start = weights(whole), weights(whole)
        own = np.eye(size)
        self.own = [weights(np.outer(own[z], np.ones(size))) for z in range(size)]
        self.smooth = 0.5 / max(1.0, self.start.n_pairs)
        query = data.query_of_rows()
        rows = np.bincount(query)[query]
        self.benefit = []
        for z in range(size):
            inside = codes == z
            mine = np.bincount(query, weights=inside)[query]
            # what 1 more for a row adds to the benefit: once per item outside, or less per inside
            gain = np.where(inside, rows - mine, -mine)
            self.benefit.append(gain[self.every.rows].astype(np.float64))

    def vote(self, plus: float, minus: float) -> float:
        """Return 1/2 ln(plus / minus), smoothed."""
        return 0.5 * math.log((plus + self.smooth) / (minus + self.smooth))

    def add(self, output: Any) -> None:
        """Add to everyone's scores and renew all weights."""
        for part in (self.every, *self.own):
            part.add_output(output, 1.0)


def _choices(
    parts: _Groups, bins: Bins, benefit: list[np.ndarray], workers: Workers
) -> list[_Pick]:
    """Let every group pick; nobody does where the parity choice has no edge."""
    merit = _above(bins, parts.every.potential, workers)
    everywhere = np.ones(merit.shape, dtype=bool)
    parity = _largest(merit, everywhere)
    if parity is None:
        return []
    direction = 1.0 if merit[parity] > 0 else -1.0
    picks = []
    for z, own in enumerate(parts.own):
        drop = _above(bins, own.potential, workers)
        least = direction * benefit[z][parity]
        content = np.sign(drop) * benefit[z] >= least - 1e-9 * (1.0 + abs(least))
        at = _largest(drop, content)
        side = direction if at is None else (1.0 if drop[at] > 0 else -1.0)
        at = parity if at is None else at
        stump = Stump(int(at[0]), int(at[1]), 1)
        picks.append(_Pick(z, stump, side, float(side * benefit[z][at])))
    return picks


def _above(bins: Bins, values: np.ndarray, workers: Workers) -> np.ndarray:
    """Sum values above each threshold (feature x cut); 0 where a feature has no such cut."""
    sums = bins.histograms(values, workers)
    total = sums.sum(axis=1, keepdims=True)
    above = total - np.cumsum(sums[:, : bins.edges.shape[1]], axis=1)
    return np.where(np.arange(above.shape[1]) < bins.n_edges[:, None], above, 0.0)


def _largest(merit: np.ndarray, allowed: np.ndarray) -> tuple[int, int] | None:
    """Find the largest absolute merit among the allowed, None where all are 0."""
    size = np.where(allowed, np.abs(merit), 0.0)
    most = float(size.max(initial=0.0))
    if most <= TIE:
        return None
    feature, cut = np.unravel_index(int(np.argmax(size >= most - TIE)), size.shape)
    return int(feature), int(cut)


def _output(bins: Bins, stump: Stump) -> np.ndarray:
    return (bins.codes[stump.feature] > stump.cut).astype(np.float64)
