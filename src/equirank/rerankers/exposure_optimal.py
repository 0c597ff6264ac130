"""ExposureOptimal: the most useful random ranking whose exposure is shared fairly."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from ..core import inputs as door
from ..core.data import RankingData, as_ranking_data
from ..core.environment import progress
from ..core.errors import DataError, EquirankWarning, InfeasibleError
from ..core.metric import DISCOUNT
from ..core.params import Choice, Constraint, Integer, Label, Number, Optional
from ..core.ranking import Ranking
from ..core.reranker import Reranker
from ..core.table import Table
from ..kernels.discounts import discounts
from ..kernels.permutahedron import excess, nearest_reachable, peel
from ..policies.policy import Mixture
from .exposure_program import (
    Constraints,
    Solution,
    best_mixture,
    group_constraints,
    linear_programme,
)

__all__ = ["ExposureOptimal", "SharedExposure", "lay_side_by_side"]


@dataclass(frozen=True, eq=False, repr=False)
class SharedExposure(Ranking):
    """What `ExposureOptimal` gives back: a few rankings of each list, with their probabilities.

    Attributes
    ----------
    report : Table
        Per list: the expected utility, the best there is without constraints, the price (the share
        of it given up), the largest violation of a constraint, and the number of rankings.

    Examples
    --------
    >>> from equirank.rerankers import ExposureOptimal
    >>> shared = ExposureOptimal().rerank([0.8, 0.7, 0.3], sensitive_features=["a", "a", "b"])
    >>> shared.n_draws, shared.holds
    (2, True)
    >>> round(shared.price, 4)
    0.0662
    """

    report: Table | None = None

    @property
    def price(self) -> float:
        """The share of the best utility that is given up, in the mean over lists."""
        return float(np.mean(self._columns()["price"]))

    @property
    def holds_per_query(self) -> np.ndarray:
        """Whether every constraint holds within 1e-9, per list in the order of ``data.qids``."""
        return np.asarray(self._columns()["violation"] <= 1e-9)

    @property
    def holds(self) -> bool:
        """Whether every constraint holds in every list, within 1e-9."""
        return bool(self.holds_per_query.all())

    def policy(self) -> Mixture:
        """Return it as a policy to sample from."""
        return Mixture(self)

    def _columns(self) -> dict[str, Any]:
        return {} if self.report is None else {n: self.report[n] for n in self.report.columns}


def lay_side_by_side(
    places: list[np.ndarray], weights: list[np.ndarray], offsets: np.ndarray, k: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return positions (row x draw) and weights (list x draw) of mixtures of different sizes.

    A list with fewer rankings than the longest mixture repeats its first one with weight 0.
    """
    widest = max(len(share) for share in weights)
    position = np.zeros((offsets[-1], widest), dtype=np.int32)
    share = np.zeros((len(weights), widest))
    for query, (place, weight) in enumerate(zip(places, weights, strict=True)):
        rows = slice(offsets[query], offsets[query + 1])
        position[rows] = place[0][:, None] + 1
        position[rows, : len(place)] = place.T + 1
        share[query, : len(weight)] = weight
    if k is not None:
        position[position > k] = 0
    return door.frozen(position), door.frozen(share)


class ExposureOptimal(Reranker):
    """The random ranking of each list with the largest expected utility under fair exposure.

    Maximises ``sum_i u_i e_i`` over the exposures e that random rankings reach, subject to

    - ``"parity"``: every group has the same mean exposure;
    - ``"treatment"``: the same mean exposure per merit;
    - ``"impact"``: the same mean of exposure times utility, per merit;
    - ``"item"``: each item's exposure is proportional to its merit. Where no random ranking reaches
      that (some items ask for more than the first places hold), the nearest reachable exposures in
      Euclidean distance are taken, and the report says how far they lie off;
    - ``None``: only the bounds.

    Merit is the utility. Solved exactly by column generation over rankings, where the best ranking
    at given prices is a sort: m constraints need at most m + 1 rankings (``"item"`` at most n).
    Equal items keep the caller's order among them. A list with one group only is unconstrained;
    rows that the ranking does not show stay so.

    Parameters
    ----------
    constraint : {"parity", "treatment", "impact", "item"} or None
        See above.
    slack : float
        By how much two groups may differ, in units of exposure.
    penalty : float, optional
        Let constraints be missed at this price in utility per unit of exposure.
    lower, upper : dict of group to float, optional
        Bounds on the mean exposure of groups.
    utility : {"score", "relevance"}
        What is maximised and counts as merit.
    discount : {"log2", "zipf"} or sequence
        Attention of the places: ``1/log2(1 + j)``, ``1/j``, or given; it must not rise.
    k : int, optional
        Only the first k places are shown and draw attention.
    by : str or tuple of str, optional
        Which sensitive attribute, or several crossed; may be left out where there is one.
    on_infeasible : {"error", "best"}
        Raise where a list cannot meet the constraints, or take the closest and warn.
    method : {"columns", "lp"}
        Column generation, or the classical linear programme in n^2 variables (short lists only).

    References
    ----------
    Singh and Joachims, Fairness of exposure in rankings, KDD 2018.

    Examples
    --------
    Two job seekers of each group, nearly alike; sorted by score, the second pair draws less:

    >>> from equirank.rerankers import ExposureOptimal
    >>> scores, sex = [0.81, 0.80, 0.79, 0.78], ["m", "m", "f", "f"]
    >>> shared = ExposureOptimal("parity").rerank(scores, sensitive_features=sex)
    >>> shared.policy().exposure().round(3)
    array([0.815, 0.465, 0.815, 0.465])
    >>> shared.report
    query  utility    best   price  violation  n_rankings
        0   2.0400  2.0457  0.0028     0.0000           2
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    params: ClassVar[Mapping[str, Constraint]] = {
        "constraint": Optional(Choice("parity", "treatment", "impact", "item")),
        "slack": Number(0.0),
        "penalty": Optional(Number(0.0, open_low=True)),
        "utility": Choice("score", "relevance"),
        "discount": DISCOUNT,
        "k": Optional(Integer(1)),
        "by": Optional(Label(many=True)),
        "on_infeasible": Choice("error", "best"),
        "method": Choice("columns", "lp"),
    }

    def __init__(
        self,
        constraint: str | None = "parity",
        *,
        slack: float = 0.0,
        penalty: float | None = None,
        lower: Mapping[Any, float] | None = None,
        upper: Mapping[Any, float] | None = None,
        utility: Literal["score", "relevance"] = "score",
        discount: str | Sequence[float] = "log2",
        k: int | None = None,
        by: Any = None,
        on_infeasible: Literal["error", "best"] = "error",
        method: Literal["columns", "lp"] = "columns",
    ) -> None:
        self.constraint = constraint
        self.slack = slack
        self.penalty = penalty
        self.lower = lower
        self.upper = upper
        self.utility = utility
        self.discount = discount
        self.k = k
        self.by = by
        self.on_infeasible = on_infeasible
        self.method = method

    def fit_policy(
        self, relevance: Any, *, sensitive_features: Any = None, qid: Any = None
    ) -> Mixture:
        """Find the policy for given relevances, true or estimated.

        Parameters
        ----------
        relevance : array-like
            The utility and merit of each row, >= 0.
        sensitive_features, qid : array-like, optional
            As in `as_ranking_data`.
        """
        data = as_ranking_data(
            y=relevance, qid=qid, sensitive_features=sensitive_features, score=relevance
        )
        return Mixture(self(data.ranking()))

    def _rerank(self, ranking: Ranking) -> SharedExposure:
        data = ranking.data
        utility = self._utility(data)
        codes, categories = self._groups(data)
        lists, places = data.offsets, []
        shown = (ranking.position.reshape(data.n_rows, -1) > 0).max(axis=1)
        found: list[tuple[np.ndarray, dict[str, Any]]] = []
        for query in progress(range(data.n_queries), "sharing exposure", total=data.n_queries):
            here = shown[lists[query] : lists[query + 1]]
            rows = lists[query] + np.flatnonzero(here)
            # one run per group: quick to merge
            rows = rows[np.lexsort((-utility[rows], codes[rows]))]
            solution, facts = self._list(utility[rows], codes[rows], categories, data.qids[query])
            place = np.full((len(solution.weights), len(here)), -1)  # not shown
            place[:, rows - lists[query]] = solution.places
            places.append(place)
            found.append((solution.weights, facts))
        position, weights = lay_side_by_side(places, [w for w, _ in found], lists, self.k)
        facts = {name: np.array([fact[name] for _, fact in found]) for name in found[0][1]}
        if weights.shape[1] == 1:
            position, share = position[:, 0], None
        else:
            share = weights
        report = Table({"query": data.qids, **facts}, data.backend)
        return SharedExposure(data, position, None, share, report=report)

    def _needs(self) -> frozenset[str]:
        """Add the groups where a constraint or a bound is about them."""
        return self.needs | ({"sensitive"} if self._has_groups() else set())

    def _has_groups(self) -> bool:
        return self.constraint not in (None, "item") or bool(self.lower or self.upper)

    def _utility(self, data: RankingData) -> np.ndarray:
        values = data.score if self.utility == "score" else data.y
        if values is None:
            raise DataError(
                f"ExposureOptimal needs the {self.utility} as utility, which is missing"
            )
        worth = np.asarray(values, dtype=np.float64)
        if self.constraint not in (None, "parity") and (worth < 0.0).any():
            query, row = data.place(int(np.flatnonzero(worth < 0.0)[0]))
            raise DataError(
                f"{self.utility} must be >= 0 to be merit for constraint {self.constraint!r}, got "
                f"{worth.min():g} (first in row {row} of query {query!r})"
            )
        return worth

    def _groups(self, data: RankingData) -> tuple[np.ndarray, tuple[Any, ...]]:
        if not self._has_groups():
            return np.zeros(data.n_rows, dtype=np.int32), ("all",)
        attribute = data.attribute(self.by)
        for name in {*(self.lower or {}), *(self.upper or {})}:
            attribute.code(name, "lower" if name in (self.lower or {}) else "upper")
        return attribute.codes, attribute.categories

    def _list(
        self, utility: np.ndarray, codes: np.ndarray, categories: tuple[Any, ...], query: Any
    ) -> tuple[Solution, dict[str, Any]]:
        """Solve one list."""
        if len(utility) == 0:
            nobody = Solution(np.ones(1), np.zeros((1, 0), dtype=int), np.zeros(0), np.zeros(0))
            facts = dict.fromkeys(("utility", "best", "price", "violation"), 0.0)
            return nobody, facts | {"n_rankings": 1}
        attention = discounts(len(utility), self.discount, self.k)
        if (np.diff(attention) > 0.0).any():
            raise DataError("discount must not rise from one place to the next")
        best = float(np.sort(utility)[::-1] @ attention)
        if self.constraint == "item":
            solution = self._per_item(utility, attention, query)
        else:
            constraints = group_constraints(
                self.constraint,
                utility,
                codes,
                categories,
                slack=self.slack,
                lower=self.lower or {},
                upper=self.upper or {},
                query=query,
            )
            solution = self._solve(utility, attention, constraints, query)
        value = float(utility @ (solution.weights @ attention[solution.places]))
        lost = (best - value) / abs(best) if best else 0.0
        missed = float(solution.violation.max(initial=0.0))
        facts = {"utility": value, "best": best, "price": max(lost, 0.0)}
        return solution, facts | {"violation": missed, "n_rankings": len(solution.weights)}

    def _solve(
        self, utility: np.ndarray, attention: np.ndarray, constraints: Constraints, query: Any
    ) -> Solution:
        solution = None
        if self.method == "lp" and self.penalty is None:
            solution = linear_programme(utility, attention, constraints)
        if solution is None:
            solution = best_mixture(utility, attention, constraints, self.penalty)
        missed = solution.violation.max(initial=0.0)
        if missed > 1e-9 and self.penalty is None:
            worst = int(np.argmax(solution.violation))
            self._missed(
                f"no random ranking of query {query!r} meets the constraints: at best the "
                f"{constraints.names[worst]} is missed by {missed:.4g}",
                "allow slack or a penalty, or take the closest with on_infeasible='best'",
            )
        return solution

    def _per_item(self, merit: np.ndarray, attention: np.ndarray, query: Any) -> Solution:
        total = float(merit.sum())
        if total <= 0.0:
            raise DataError(f"{self.utility} must be positive for some item of query {query!r}")
        target = merit * (attention.sum() / total)
        over = excess(target, attention)
        reached = target
        if over > 1e-12 * len(target):
            reached = nearest_reachable(target, attention)
            away = float(np.linalg.norm(reached - target))
            self._missed(
                f"no random ranking of query {query!r} gives every item exposure in proportion to "
                f"its merit: some items ask for {over:.4g} more than the first places hold, and "
                f"the nearest reachable exposures lie {away:.4g} off",
                "take them with on_infeasible='best'",
            )
        weights, places = peel(reached, attention)
        return Solution(weights, places, reached, np.abs(reached - target))

    def _missed(self, what: str, hint: str) -> None:
        if self.on_infeasible == "error":
            raise InfeasibleError(f"{what}; {hint}")
        warnings.warn(what, EquirankWarning, stacklevel=2)
