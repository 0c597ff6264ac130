"""ExposureOptimal: the random ranking of largest utility under constraints on exposure."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from ..core.data import RankingData
from ..core.declared import OnlyWith
from ..core.environment import progress
from ..core.errors import DataError, EquirankWarning, InfeasibleError
from ..core.given_data import as_ranking_data
from ..core.metric import DISCOUNT
from ..core.params import Choice, Integer, Label, Number, Optional
from ..core.ranking import Ranking
from ..core.reranker import Reranker
from ..core.table import Table
from ..kernels.discounts import discounts
from ..kernels.permutahedron import excess, nearest_reachable, peel
from ..kernels.segments import LARGE
from ..policies.policy import Mixture
from .exposure_program import (
    Constraints,
    Solution,
    best_mixture,
    gap_deviation,
    group_constraints,
    linear_program,
    side_by_side,
)
from .group_bounds import NoBounds
from .guaranteed import guess_groups, warn_of_guesses
from .reranking import Reranking

__all__ = ["ExposureOptimal", "SharedExposure"]


@dataclass(frozen=True, eq=False, repr=False)
class SharedExposure(Reranking):
    """Result of `ExposureOptimal`: a few rankings of each list, with their probabilities.

    Attributes
    ----------
    report : Table
        Per list: the expected utility, the best utility without constraints, the price (the share
        of it that is lost), the largest violation of a constraint, and the number of rankings. With
        ``labels="expected"`` also ``gap_sd``.

    Examples
    --------
    >>> from equirank.rerankers import ExposureOptimal
    >>> shared = ExposureOptimal().rerank([0.8, 0.7, 0.3], sensitive_features=["a", "a", "b"])
    >>> shared.n_draws, shared.holds
    (2, True)
    >>> shared.report["price"].round(4), round(shared.price.ndcg, 4)
    (array([0.0662]), 0.8776)
    """

    report: Table | None = None

    @cached_property
    def holds_per_query(self) -> np.ndarray:
        """Whether every constraint holds within 1e-9, per list in the order of ``data.qids``."""
        if self.report is None:
            return np.ones(self.data.n_queries, dtype=bool)
        return np.asarray(self.report["violation"] <= 1e-9)

    def policy(self) -> Mixture:
        """Return the result as a policy to sample from."""
        return Mixture(self)


class ExposureOptimal(Reranker):
    """The random ranking of each list with the largest expected utility under fair exposure.

    Maximises ``sum_i u_i e_i`` over the exposures e of random rankings, subject to

    - ``"parity"``: every group has the same mean exposure;
    - ``"treatment"``: the same mean exposure per merit;
    - ``"impact"``: the same mean of exposure times utility, per merit;
    - ``"item"``: the exposure of each item is proportional to its merit. If no random ranking
      reaches that, the nearest reachable exposures in Euclidean distance are used, and the report
      states the distance;
    - ``None``: only the bounds.

    Merit is the utility. The solution is exact, by column generation over rankings, in which the
    best ranking at given prices is a sort: m constraints need at most m + 1 rankings (``"item"`` at
    most n). Tied items keep input order. A list with one group has no constraint and no bound; rows
    that were not shown stay so. People with an unknown label are in no constraint.

    Parameters
    ----------
    constraint : {"parity", "treatment", "impact", "item"} or None
        See above.
    slack : float
        Largest difference between two groups, in units of exposure.
    penalty : float, optional
        Allow violations at this price in utility per unit of exposure.
    lower, upper : dict of group to float, optional
        Bounds on the mean exposure of groups.
    utility : {"score", "relevance"}
        The utility, which is also the merit.
    discount : {"log2", "zipf"} or sequence
        Exposure of the positions: ``1/log2(1 + j)``, ``1/j``, or given; it must not increase.
    k : int, optional
        Only the first k positions are shown and have exposure.
    by : str or tuple of str, optional
        The sensitive attribute, or several to cross, if there are several.
    on_infeasible : {"error", "best"}
        Raise if a list cannot meet the constraints, or use the closest solution and warn.
    method : {"columns", "lp"}
        Column generation, or the classical linear program in n^2 variables (short lists only).
    labels : {"known", "expected"}
        ``"known"``: by known labels only. ``"expected"``: by the probabilities of groups in the
        data (a label that was recorded with errors becomes its posterior): the constraint holds for
        expected counts, and ``gap_sd`` of the report is the standard deviation of the gap over the
        labels. The gap is within 1.96 of them with probability of about 95%, less exactly in short
        lists.

    Returns
    -------
    Reranking
        The result has a draw per ranking, with weights. ``report`` is a table per list: expected
        utility, best utility without constraints, price (the share of it that is lost), largest
        violation of a constraint, number of rankings. ``policy()`` returns a policy to sample from.

    References
    ----------
    Singh and Joachims, Fairness of exposure in rankings, KDD 2018.

    Examples
    --------
    Two job seekers of each group with similar scores; sorted by score the second pair gets less:

    >>> from equirank.rerankers import ExposureOptimal
    >>> scores, sex = [0.81, 0.80, 0.79, 0.78], ["m", "m", "f", "f"]
    >>> shared = ExposureOptimal("parity").rerank(scores, sensitive_features=sex)
    >>> shared.policy().exposure().round(3)
    array([0.815, 0.465, 0.815, 0.465])
    >>> shared.report
    query  utility    best   price  violation  n_rankings
        0   2.0400  2.0457  0.0028     0.0000           2
    """

    positional = ("constraint",)
    only_with: ClassVar[OnlyWith] = {"slack": ("constraint", ("parity", "treatment", "impact"))}
    acts_on: ClassVar[frozenset[str]] = frozenset({"exposure", "position", "metric"})
    plain_name: ClassVar[str] = "Near equal exposure, by a random order"
    strength: ClassVar[str] = "slack"
    random: ClassVar[bool] = True
    slow: ClassVar[bool] = True
    constraint: Annotated[str | None, Optional(Choice("parity", "treatment", "impact", "item"))] = (
        "parity"
    )
    slack: Annotated[float, Number(0.0)] = 0.0
    penalty: Annotated[float | None, Optional(Number(0.0, open_low=True))] = None
    lower: Mapping[Any, float] | None = None
    upper: Mapping[Any, float] | None = None
    utility: Annotated[Literal["score", "relevance"], Choice("score", "relevance")] = "score"
    discount: Annotated[str | Sequence[float], DISCOUNT] = "log2"
    k: Annotated[int | None, Optional(Integer(1))] = None
    by: Annotated[Any, Optional(Label(many=True))] = None
    on_infeasible: Annotated[Literal["error", "best"], Choice("error", "best")] = "error"
    method: Annotated[Literal["columns", "lp"], Choice("columns", "lp")] = "columns"
    labels: Annotated[Literal["known", "expected"], Choice("known", "expected")] = "known"

    def fit_policy(
        self, relevance: Any, *, sensitive_features: Any = None, qid: Any = None
    ) -> Mixture:
        """Return the policy for given relevances, true or estimated.

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
        members, categories = self._groups(ranking)
        codes = np.where(members.any(axis=1), members.argmax(axis=1) if categories else -1, -1)
        lists, positions = data.offsets, []
        shown = (ranking.position.reshape(data.n_rows, ranking.n_draws) > 0).max(axis=1)
        found: list[tuple[np.ndarray, dict[str, Any]]] = []
        for query in progress(range(data.n_queries), "sharing exposure", total=data.n_queries):
            is_shown = shown[lists[query] : lists[query + 1]]
            rows = lists[query] + np.flatnonzero(is_shown)
            # one sorted run per group is fast to merge
            rows = rows[np.lexsort((-utility[rows], codes[rows]))]
            label = data.qids[query : query + 1].tolist()[0]
            solution, facts = self._list(utility[rows], members[rows], categories, label)
            found_positions = np.full((len(solution.weights), len(is_shown)), -1)  # not shown
            found_positions[:, rows - lists[query]] = solution.positions
            positions.append(found_positions)
            found.append((solution.weights, facts))
        position, weights = side_by_side(positions, [w for w, _ in found], lists, self.k)
        facts = {name: np.array([fact[name] for _, fact in found]) for name in found[0][1]}
        return SharedExposure.from_draws(
            ranking,
            position,
            weights=weights,
            bounds=NoBounds(f"exposure is shared by the constraint {self.constraint!r}"),
            reranker=self,
            report=Table({"query": data.qids, **facts}, data.backend),
        )

    def current_needs(self) -> frozenset[str]:
        """Add the groups if a constraint or a bound is about them."""
        return self.needs | ({"sensitive"} if self._has_groups() else set())

    def _has_groups(self) -> bool:
        return self.constraint not in (None, "item") or bool(self.lower or self.upper)

    def _utility(self, data: RankingData) -> np.ndarray:
        values = data.score if self.utility == "score" else data.y
        if values is None:
            raise DataError(
                f"ExposureOptimal needs the {self.utility} as utility, which is missing"
            )
        utility = np.asarray(values, dtype=np.float64)
        large = np.abs(utility) >= LARGE
        if large.any():
            query, row = data.place(int(np.flatnonzero(large)[0]))
            raise DataError(
                f"{self.utility} must be smaller than {LARGE:.2g} to be summed as utility, got "
                f"{utility[large][0]:g} (first in row {row} of query {query!r})"
            )
        if self.constraint not in (None, "parity") and (utility < 0.0).any():
            query, row = data.place(int(np.flatnonzero(utility < 0.0)[0]))
            raise DataError(
                f"{self.utility} must be >= 0 to be merit for constraint {self.constraint!r}, got "
                f"{utility.min():g} (first in row {row} of query {query!r})"
            )
        return utility

    def _groups(self, ranking: Ranking) -> tuple[np.ndarray, tuple[Any, ...]]:
        """Return the probability of each group for each row (0 or 1 if known), and their names."""
        data = ranking.data
        if not self._has_groups():
            return np.ones((data.n_rows, 1)), ("all",)
        attribute = data.attribute(self.by)
        for name in {*(self.lower or {}), *(self.upper or {})}:
            attribute.code(name, "lower" if name in (self.lower or {}) else "upper")
        if self.labels == "known" or data.n_rows == 0:
            warn_of_guesses(self, attribute)
            known = attribute.codes[:, None] == np.arange(len(attribute.categories))
            return known.astype(np.float64), attribute.categories
        owner = "ExposureOptimal with labels='expected'"
        return guess_groups(ranking, self.by, owner).table, attribute.categories

    def _list(
        self, utility: np.ndarray, members: np.ndarray, categories: tuple[Any, ...], query: Any
    ) -> tuple[Solution, dict[str, Any]]:
        """Solve one list."""
        if len(utility) == 0:
            empty = Solution(np.ones(1), np.zeros((1, 0), dtype=int), np.zeros(0), np.zeros(0))
            facts = dict.fromkeys(("utility", "best", "price", "violation"), 0.0)
            more = {"n_rankings": 1} | ({} if self.labels == "known" else {"gap_sd": 0.0})
            return empty, facts | more
        attention = discounts(len(utility), self.discount, self.k)
        if (np.diff(attention) > 0.0).any():
            raise DataError("discount must not increase from one position to the next")
        best = float(np.sort(utility)[::-1] @ attention)
        if self.constraint == "item":
            solution = self._per_item(utility, attention, query)
        else:
            constraints = group_constraints(
                self.constraint,
                utility,
                members,
                categories,
                slack=self.slack,
                lower=self.lower or {},
                upper=self.upper or {},
                query=query,
            )
            solution = self._solve(utility, attention, constraints, query)
        exposure = solution.weights @ attention[solution.positions]
        value = float(utility @ exposure)
        lost = (best - value) / abs(best) if best else 0.0
        missed = float(solution.violation.max(initial=0.0))
        found: dict[str, Any] = {"utility": value, "best": best, "price": max(lost, 0.0)}
        found |= {"violation": missed, "n_rankings": len(solution.weights)}
        if self.labels != "known":
            kind = None if self.constraint == "item" else self.constraint
            found["gap_sd"] = gap_deviation(kind, utility, members, exposure)
        return solution, found

    def _solve(
        self, utility: np.ndarray, attention: np.ndarray, constraints: Constraints, query: Any
    ) -> Solution:
        solution = None
        if self.method == "lp" and self.penalty is None:
            solution = linear_program(utility, attention, constraints)
        if solution is None:
            solution = best_mixture(utility, attention, constraints, self.penalty)
        missed = solution.violation.max(initial=0.0)
        if missed > 1e-9 and self.penalty is None:
            worst = int(np.argmax(solution.violation))
            self._missed(
                f"no random ranking of query {query!r} meets the constraints: at best the "
                f"{constraints.names[worst]} is missed by {missed:.4g}",
                "allow slack or a penalty, or pass on_infeasible='best' for the closest",
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
                f"its merit: some items need {over:.4g} more than the first positions have, and "
                f"the nearest reachable exposures are {away:.4g} away",
                "pass on_infeasible='best' to use those",
            )
        weights, positions = peel(reached, attention)
        return Solution(weights, positions, reached, np.abs(reached - target))

    def _missed(self, what: str, hint: str) -> None:
        if self.on_infeasible == "error":
            raise InfeasibleError(f"{what}; {hint}")
        warnings.warn(what, EquirankWarning, stacklevel=2)
