"""PreferredRankBoost: boosting in which every group chooses a weak ranker in every round."""

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.validation import check_is_fitted

from ...core.data import RankingData
from ...core.environment import progress
from ...core.errors import DataError
from ...core.params import Choice, Integer, Label, Number, Optional
from ...core.table import Table
from ..feature_bins import Bins, Workers, bin_features
from ..training_pairs import CostRule, Stump
from .ensemble import Ensemble
from .factorised_weights import FactorisedWeights

__all__ = ["PreferredRankBoost"]


#: Sums that differ by less are ties.
TIE = 1e-10


class PreferredRankBoost(Ensemble):
    """RankBoost in which each group chooses for itself, and none receives less than under parity.

    The parity choice of a round is the stump that RankBoost would choose. Every group then chooses
    the stump with the largest decrease of the loss on the pairs whose better item is in the group,
    among the stumps whose benefit to the group (the sum of ``h(a) - h(b)`` over its items a and all
    items b) is at least that of the parity choice; if there is none, the parity choice. The stumps
    of a round enter as their mean ``h``, with ``alpha = 1/2 ln((1 + r) / (1 - r))`` from its joint
    ``r``. A missing value is above every threshold. Among equal stumps, the one with the lowest
    feature, then the lowest threshold, is chosen. Groups are needed to fit, not to rank. Training
    stops if the joint r is at most ``tol``; without pairs of unequal relevance all scores are 0.

    Parameters
    ----------
    n_estimators : int
        Largest number of rounds; each adds one stump per group.
    weighting : {"common", "single"}
        One weight for the stumps of a round, or one weight for each from its own errors, as in
        RankBoost. ``"single"`` has a known weakness: it favours the largest group, which has the
        fewest mistakes.
    tol : float
        The r at which training stops.
    random_state : int, Generator, RandomState or None
        Seed of the sample used for bins beyond 200,000 rows.

    Attributes
    ----------
    choices_ : Table
        The choice of each group in each round: feature, direction and threshold of the stump, its
        weight, the number of training pairs it misranks alone, and its benefit to the group.

    References
    ----------
    Zafar et al., NeurIPS 2017, cited in full by `equirank.metrics.GroupBenefit`.

    Examples
    --------
    Three parties in their true order; each feature marks most members of one party:

    >>> import numpy as np
    >>> from equirank.rankers import PreferredRankBoost
    >>> party = np.array(list("TLDTTTDLT"))
    >>> X = np.stack([party == "L", party == "D", party == "T"], axis=1).astype(float)
    >>> X[8] = 0.0  # the last member of T is not marked
    >>> model = PreferredRankBoost(1).fit(X, range(9, 0, -1), sensitive_features=party)
    >>> for choice in model.choices_:
    ...     print(choice["group"], choice["feature"], choice["misranked"])
    D 1 7
    L 0 7
    T 2 6
    """

    fit_needs: ClassVar[frozenset[str]] = frozenset({"qid", "sensitive_features"})
    positional: ClassVar[tuple[str, ...]] = ("n_estimators",)
    test_params: ClassVar[dict[str, Any]] = {"n_estimators": 8}

    n_estimators: Annotated[int, Integer(1)] = 50
    weighting: Annotated[Literal["common", "single"], Choice("common", "single")] = "common"
    by: Annotated[Any, Optional(Label(many=True))] = None
    max_bins: Annotated[int | None, Optional(Integer(2, 255))] = 255
    tol: Annotated[float, Number(0.0)] = 1e-7
    n_jobs: Annotated[int | None, Optional(Integer())] = -1
    random_state: Any = None

    @property
    def choices_(self) -> Table:
        """The choice of each group in each round."""
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
        attribute = data.known_attribute(by, type(self).__name__)
        if data.n_rows < 2:
            raise DataError("X must have at least two rows to form a pair, got one sample")
        with Workers(effective_n_jobs(self.n_jobs)) as workers:
            parts = _Groups(data, attribute.codes, len(attribute.categories), workers)
            bins = bin_features(
                np.asarray(data.X), parts.every.rows, self.max_bins, self.random_state, workers
            )
            picks, curve = self._rounds(parts, bins, workers)
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
    """A stump, its direction, and the group that chose it."""

    group: int
    stump: Stump
    side: float
    benefit: float
    round: int = 0
    weight: float = 0.0
    misranked: int = 0


class _Groups:
    """Weights of all pairs, and of the pairs whose better item is in each group."""

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
            size_inside = np.bincount(query, weights=inside)[query]
            # derivative of the benefit by the output of each row
            gain = np.where(inside, rows - size_inside, -size_inside)
            self.benefit.append(gain[self.every.rows].astype(np.float64))

    def vote(self, plus: float, minus: float) -> float:
        """Return 1/2 ln(plus / minus), smoothed."""
        return 0.5 * math.log((plus + self.smooth) / (minus + self.smooth))

    def add(self, output: Any) -> None:
        """Add an output to the scores and update all weights."""
        for part in (self.every, *self.own):
            part.add_output(output, 1.0)


def _choices(
    parts: _Groups, bins: Bins, benefit: list[np.ndarray], workers: Workers
) -> list[_Pick]:
    """Return the choice of every group; none if the parity choice has no edge."""
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
        allowed = np.sign(drop) * benefit[z] >= least - 1e-9 * (1.0 + abs(least))
        at = _largest(drop, allowed)
        side = direction if at is None else (1.0 if drop[at] > 0 else -1.0)
        at = parity if at is None else at
        stump = Stump(int(at[0]), int(at[1]), 1)
        picks.append(_Pick(z, stump, side, float(side * benefit[z][at])))
    return picks


def _above(bins: Bins, values: np.ndarray, workers: Workers) -> np.ndarray:
    """Sum values above each threshold (feature x cut); 0 if the feature has no such cut."""
    sums = bins.histograms(values, workers)
    total = sums.sum(axis=1, keepdims=True)
    above = total - np.cumsum(sums[:, : bins.edges.shape[1]], axis=1)
    return np.where(np.arange(above.shape[1]) < bins.n_edges[:, None], above, 0.0)


def _largest(merit: np.ndarray, allowed: np.ndarray) -> tuple[int, int] | None:
    """Return the feature and cut of the largest absolute merit allowed, None if all are 0."""
    size = np.where(allowed, np.abs(merit), 0.0)
    most = float(size.max(initial=0.0))
    if most <= TIE:
        return None
    feature, cut = np.unravel_index(int(np.argmax(size >= most - TIE)), size.shape)
    return int(feature), int(cut)


def _output(bins: Bins, stump: Stump) -> np.ndarray:
    return (bins.codes[stump.feature] > stump.cut).astype(np.float64)
