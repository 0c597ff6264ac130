"""FairReduction: fairness constraints for any ranker that accepts pair costs."""

from pathlib import Path
from typing import Annotated, Any, ClassVar, Unpack

import numpy as np
from sklearn.base import clone

from ...core.data import RankingData
from ...core.environment import progress
from ...core.errors import DataError
from ...core.explain_pair import Parts
from ...core.keywords import ListKeywords, shared_keywords
from ...core.params import Choice, Instance, Integer, Label, Number, Optional, check_params
from ...core.persistence import SavedFiles
from ...core.random import as_seed, generator
from ...core.ranker import Ranker
from ...core.ranking import Ranking
from ...core.table import Table
from .held_out_bound import HeldOutBound, held_out_bound
from .pairwise_constraint import CONSTRAINTS, PairwiseConstraint, pairwise_constraint
from .rank_boost import RankBoost

__all__ = ["FairReduction", "ReductionSteps"]


#: Share of eps that the mean multiplier of two groups aims at, as a safety margin.
INSIDE = 0.9
#: The error of a single ranker may exceed that of the mixture by this many times tol.
NEARLY = 10.0


class ReductionSteps:
    """The rankers fitted so far, with their errors, differences and multipliers."""

    def __init__(self, rule: PairwiseConstraint, eps: float, bound: float) -> None:
        self.rule, self.eps, self.bound = rule, eps, bound
        self.members: list[Any] = []
        self.net: list[np.ndarray] = []
        self.errors: list[float] = []
        self.differences: list[np.ndarray] = []
        self.history: list[tuple[float, ...]] = []
        self.gap = np.inf

    def multipliers(self, theta: np.ndarray) -> np.ndarray:
        """Return the net multiplier of each difference."""
        top = float(theta.max(initial=0.0))
        raised = np.exp(theta - top)
        both = self.bound * raised / (np.exp(-top) + raised.sum())
        return both[0] - both[1]

    def priced(self) -> np.ndarray | None:
        """Return multipliers derived from the current mixture.

        For two groups: the mean multiplier of the mixture that stays within 0.9 eps, or None if
        that is a single ranker, whose multiplier has been used. For more groups: the dual prices of
        the linear program, whose best ranker improves the mixture most.
        """
        if len(self.rule.labels) == 1:
            weights = self.mix(INSIDE * self.eps)[0]
            return np.asarray(weights @ np.array(self.net)) if (weights > 0).sum() > 1 else None
        net = self.prices()
        size = float(np.abs(net).sum())
        return net * min(1.0, self.bound / size) if size > 0 else None

    def prices(self) -> np.ndarray:
        """Return the dual prices: how the mixture's error decreases with each difference."""
        errors, table = np.array(self.errors), np.array(self.differences).T
        excess = _program(np.append(np.zeros(len(errors)), 1.0), table, self.eps, np.inf).x[-1]
        found = _program(np.append(errors, 0.0), table, self.eps, excess + 1e-9)
        both = -np.asarray(found.ineqlin.marginals)
        half = len(both) // 2
        return both[:half] - both[half:]

    def add(self, model: Any, net: np.ndarray, error: float, difference: np.ndarray) -> None:
        """Add the ranker of a step, and record errors, violations and the duality gap."""
        self.members.append(model)
        self.net.append(net)
        self.errors.append(error)
        self.differences.append(difference)
        _, mixed_error, mixed_violation = self.mix()
        primal = mixed_error + self.bound * max(0.0, mixed_violation - self.eps)
        violation = float(np.abs(difference).max(initial=0.0))
        self.gap = primal - self.dual()
        self.history.append((error, violation, mixed_error, mixed_violation, self.gap))

    def dual(self) -> float:
        """Return the largest Lagrangian value of a step's multipliers, minimised over rankers."""
        net, table = np.array(self.net), np.array(self.differences)
        value = np.array(self.errors) + net @ table.T - self.eps * np.abs(net).sum(1)[:, None]
        return float(value.min(axis=1).max())

    def mix(self, eps: float | None = None) -> tuple[np.ndarray, float, float]:
        """Return the mixture of least violation beyond eps, then of least error.

        The result is a tuple of weights, error and violation.
        """
        errors, table = np.array(self.errors), np.array(self.differences).T
        eps = self.eps if eps is None else eps
        excess = _program(np.append(np.zeros(len(errors)), 1.0), table, eps, np.inf).x[-1]
        weights = _program(np.append(errors, 0.0), table, eps, excess + 1e-9).x[:-1]
        weights = np.where(weights < 1e-9, 0.0, weights)
        weights = weights / weights.sum()
        return weights, float(errors @ weights), float(np.abs(table @ weights).max(initial=0.0))

    def violations(self) -> np.ndarray:
        """Return the violation of each ranker."""
        return np.abs(np.array(self.differences)).max(axis=1, initial=0.0)

    def within(self) -> np.ndarray:
        """Return which rankers have a violation of at most eps."""
        return self.violations() <= self.eps + 1e-12

    def done(self, tol: float) -> bool:
        """Return whether the mixture and the best single ranker are optimal within tolerance."""
        if not self.within().any():
            return False
        excess = self.errors[self.best()] - self.history[-1][2]
        return len(self.members) == 1 or (self.gap <= tol and excess <= NEARLY * tol)

    def best(self) -> int:
        """Return the ranker of least error within eps, or the one of least violation."""
        within = self.within()
        if within.any():
            return int(np.argmin(np.where(within, self.errors, np.inf)))
        return int(np.argmin(self.violations()))


def _program(price: np.ndarray, table: np.ndarray, eps: float, most: float) -> Any:
    """Find weights and an excess over eps, at most ``most``, that minimise the price."""
    from scipy.optimize import linprog

    size, both = len(price) - 1, np.concatenate([table, -table])
    found = linprog(
        price,
        A_ub=np.hstack([both, -np.ones((len(both), 1))]),
        b_ub=np.full(len(both), eps),
        A_eq=np.append(np.ones(size), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0.0, 1.0)] * size + [(0.0, most)],
        method="highs",
    )
    if found.x is None:
        raise DataError(f"the linear program of the mixture has no solution: {found.message}")
    return found


#: Factors of the rate of a difference whose sign changed, and of one whose sign did not.
SLOWER, FASTER = 0.5, 1.25
COLUMNS = ("error", "violation", "mixture_error", "mixture_violation", "gap")


class FairReduction(Ranker):
    """Reduction of a fairness constraint to pair costs, for a ranker that accepts them.

    Groups must be treated alike within ``eps``, by a measure that is a sum over pairs. Multipliers
    on the differences between groups turn that into signed pair costs; a negative cost applies to
    the reversed pair. The multipliers follow exponentiated gradient,
    ``lambda = bound exp(theta) / (1 + sum exp(theta))``, where ``theta`` increases by
    ``rate x (difference - eps)``, and each step fits the estimator to the resulting costs. The rate
    of a difference is halved when its sign changes and grows by a quarter otherwise. From the
    fourth step on, every second step derives its multipliers from the current mixture: their mean
    for two groups, the dual prices of its linear program for more. The result is the best mixture
    of the fitted rankers (a linear program) and the best single ranker. Training stops if the
    first, unconstrained ranker satisfies eps, or if the duality gap is at most ``tol`` and a single
    ranker within eps has at most ``10 tol`` more error than the mixture.

    `predict` and `rank` use the best single ranker; ``rank(..., n_draws=...)`` draws from the
    mixture, and `mixture` returns it exactly. Groups are needed to fit, not to rank. Pairs of all
    queries are pooled; ties count half. The differences of the mixture are those of its expected
    pair shares. If no mixture satisfies eps, the least violation is taken, which `steps_` shows.
    Groups without pairs to compare are not constrained. `certify` bounds error and violation on new
    lists.

    What can be reached depends on the features. Without the group among them (blind), rank equality
    is limited by what the features tell about the group: over 60 splits of Law by three races the
    held-out violation falls from .111 to .058, with an indicator of the group (aware) from .267 to
    .025 for the single ranker and .019 for the mixture, which is what sampling alone leaves. Under
    the other constraints the aware mixture keeps more accuracy, while the aware single ranker may
    exceed eps by far. The user guide has the figures.

    Groups may be uncertain: a pair then counts ``a_i(g) a_j(h)``, with memberships a whose
    expectation is the true group. They are the probabilities of the data, the inverse of the errors
    of recording, or what a checked sample corrects; unknown labels have the shares of known people
    in the same tenth of the list by relevance. Fitting warns if the labels tell little.

    Parameters
    ----------
    estimator : Ranker, optional
        A ranker with a parameter ``pair_cost``; by default ``RankBoost()``.
    constraint : {"group_pairwise_accuracy", "rank_equality", "rank_parity"}
        What must be alike for each two groups g and h: the accuracies on pairs whose better item is
        in g or in h; the rank equality errors (how often an item of the group is ranked above a
        better item of another group, over all its mixed pairs); the shares of mixed pairs in which
        the item of the group is ranked above. The violation is the largest difference.
    eps : float
        The largest difference allowed.
    max_iter : int
        Largest number of steps, each of which is a fit.
    bound : float
        The largest sum of multipliers.
    learning_rate : float
        Size of the first step.
    tol : float
        The duality gap at which training stops.
    random_state : int, Generator, RandomState or None
        Seed passed to the estimator if its ``random_state`` is None.

    Attributes
    ----------
    members_ : list of Ranker
        The fitted rankers.
    weights_ : ndarray
        The probability of each in the mixture.
    best_ : int
        Index of the best single ranker.
    multipliers_ : ndarray of shape (n_steps, n_differences)
        Net multiplier of each difference at each step.
    steps_ : Table
        Per step: error and violation of the ranker and of the current mixture, and the duality gap,
        which is the mixture's error plus ``bound`` times its excess over eps, minus the best
        Lagrangian value. All values are of the training data and of the rankers found.

    References
    ----------
    Agarwal, Beygelzimer, Dudik, Langford and Wallach, A reductions approach to fair classification,
    ICML 2018 (for classifiers).

    Examples
    --------
    >>> import numpy as np
    >>> from equirank.rankers import FairReduction, RankBoost
    >>> rng = np.random.default_rng(0)
    >>> group = rng.choice(["a", "b"], size=500)
    >>> skill = rng.normal(size=500)
    >>> X = np.stack([skill + rng.normal(size=500), (group == "b") + rng.normal(size=500)], axis=1)
    >>> y = np.clip(np.round(skill + (group == "b") + 1), 0, 3)
    >>> fair = FairReduction(RankBoost(20), "rank_parity", eps=0.05, random_state=0)
    >>> steps = fair.fit(X, y, qid=0, sensitive_features=group).steps_
    >>> bool(steps["violation"][fair.best_] <= 0.05 < steps["violation"][0])
    True
    """

    fit_needs: ClassVar[frozenset[str]] = frozenset({"qid", "sensitive_features"})
    positional: ClassVar[tuple[str, ...]] = ("estimator", "constraint", "eps")
    test_params: ClassVar[dict[str, Any]] = {"estimator": RankBoost(5), "max_iter": 3}
    file_attributes: ClassVar[tuple[str, ...]] = ("members_",)

    estimator: Annotated[
        Ranker | None, Optional(Instance(Ranker, "a Ranker with a parameter pair_cost"))
    ] = None
    constraint: Annotated[str, Choice(*CONSTRAINTS)] = "group_pairwise_accuracy"
    eps: Annotated[float, Number(0.0, 1.0)] = 0.02
    max_iter: Annotated[int, Integer(1)] = 25
    bound: Annotated[float, Number(0.0, open_low=True)] = 5.0
    learning_rate: Annotated[float, Number(0.0, open_low=True)] = 1.0
    tol: Annotated[float, Number(0.0)] = 5e-4
    by: Annotated[Any, Optional(Label(many=True))] = None
    random_state: Any = None

    def mixture(
        self, X: Any, y: Any = None, *, qid: Any = None, sensitive_features: Any = None
    ) -> Ranking:
        """Return the mixture as a ranking with one weighted draw per ranker in it.

        Parameters
        ----------
        X : array-like, sparse array, data frame or RankingData
            Features; the other arguments are stored in ``ranking.data`` for evaluation.
        y, qid, sensitive_features : array-like, optional
            As in `as_ranking_data`.
        """
        data = self._prediction_data(X, y, qid, sensitive_features)
        used = np.flatnonzero(self.weights_ > 0)
        columns = [data.to_original(self._positions(data, int(at))) for at in used]
        return Ranking.from_positions(data, np.stack(columns, axis=1), weights=self.weights_[used])

    @shared_keywords(ListKeywords)
    def certify(
        self,
        X: Any,
        y: Any = None,
        *,
        level: float = 0.95,
        mixture: bool = False,
        random_state: Any = 0,
        **lists: Unpack[ListKeywords],
    ) -> HeldOutBound:
        """Bound the error and the violation on new lists, from lists that were not used to fit.

        Nothing is assumed but that these lists and new ones are independent draws from one source.
        Each list counts the same, and a value of a list is bounded, so betting on the values of the
        lists bounds their mean. A single list is taken as a sample of people, who are matched at
        random into disjoint pairs; the bounds are then about pairs of new people. All bounds hold
        at once (Bonferroni).

        Parameters
        ----------
        y : array-like
            Relevance, >= 0.
        level : float
            Probability with which the bounds hold.
        mixture : bool
            Bound the mixture instead of the best single ranker.
        random_state : int, Generator, RandomState or None
            Seed of the orders and of the matchings, over which the bets are averaged.

        Returns
        -------
        HeldOutBound
            ``error_at_most``, ``violation_at_most``, a table of differences with intervals, and a
            ``sentence``, which `print` shows.

        References
        ----------
        Waudby-Smith and Ramdas, Estimating means of bounded random variables by betting, Journal of
        the Royal Statistical Society B 86, 2024.
        """
        open_unit = Number(0, 1, open_low=True, open_high=True)
        check_params("certify", {"level": level}, {"level": open_unit})
        data = self._prediction_data(X, y, **lists)
        self._warn_of_given(X, lists["qid"], data, "certify")
        used = np.flatnonzero(self.weights_ > 0) if mixture else np.array([self.best_])
        scores = np.stack(
            [self.members_[at].predict(data)[data.caller_rank] for at in used], axis=1
        )
        shares = self.weights_[used] if mixture else np.ones(1)
        by = self.by if self.by is None or isinstance(self.by, str) else tuple(self.by)
        return held_out_bound(data, scores, shares, self.constraint, by, level, random_state)

    @property
    def steps_(self) -> Table:
        """Error, violation and duality gap of each step."""
        parts = {name: self.history_[:, at] for at, name in enumerate(COLUMNS)}
        return Table({"step": np.arange(1, len(self.history_) + 1)} | parts)

    def _fit(self, data: RankingData) -> None:
        estimator = RankBoost() if self.estimator is None else self.estimator
        if "pair_cost" not in estimator.get_params(deep=False):
            raise DataError(
                f"estimator of FairReduction must have a parameter pair_cost, got "
                f"{type(estimator).__name__}, which has none"
            )
        by = self.by if self.by is None or isinstance(self.by, str) else tuple(self.by)
        rule = pairwise_constraint(data, self.constraint, by)
        seed = as_seed(self.random_state)
        theta = np.zeros((2, len(rule.labels)))
        state = ReductionSteps(rule, self.eps, self.bound)
        rate, previous = np.full(len(rule.labels), float(self.learning_rate)), theta[0]
        for step in progress(range(self.max_iter), "fair reduction"):
            derived = state.priced() if step % 2 and step > 2 else None
            net = state.multipliers(theta) if derived is None else derived
            model = self._member(estimator, rule, net, seed)
            model.fit(data)
            error, difference = rule.measure(data, model.predict(data)[data.caller_rank])
            state.add(model, net, error, difference)
            if state.done(self.tol):
                break
            if derived is not None:
                continue
            rate = rate * np.where(difference * previous < 0, SLOWER, FASTER)
            theta = theta + rate * (np.stack([difference, -difference]) - self.eps)
            previous = difference
        self.members_, self.weights_ = state.members, state.mix()[0]
        self.best_ = state.best()
        self.multipliers_ = np.array(state.net)
        self.history_ = np.array(state.history)
        self.differences_ = np.array(state.differences)

    @staticmethod
    def _member(estimator: Ranker, rule: PairwiseConstraint, net: np.ndarray, seed: int) -> Any:
        """Return the unfitted ranker of a step; without multipliers it has no pair cost."""
        given: dict[str, Any] = {"pair_cost": rule.cost(net) if net.any() else None}
        known = estimator.get_params(deep=False)
        if known.get("random_state", 0) is None:
            given["random_state"] = seed
        return clone(estimator).set_params(**given)

    def _scores(self, data: RankingData) -> np.ndarray:
        return np.asarray(self.members_[self.best_].predict(data)[data.caller_rank])

    def _parts(self, data: RankingData) -> Parts | None:
        member = self.members_[self.best_]
        return member._parts(member.visible(data))

    def _positions(self, data: RankingData, member: int) -> np.ndarray:
        """Return the positions of the stored rows under one member."""
        return Ranking.from_scores(data, self.members_[member].predict(data)).position

    def _draw(self, data: RankingData, n_draws: int, random_state: Any) -> np.ndarray:
        """Draw a member for each query and draw, and return positions (stored rows x draws)."""
        seed = as_seed(random_state)
        used = np.flatnonzero(self.weights_ > 0)
        positions = np.stack([self._positions(data, int(at)) for at in used], axis=1)
        share = self.weights_[used] / self.weights_[used].sum()
        result = np.empty((data.n_rows, n_draws), dtype=np.int32)
        for query in range(data.n_queries):
            rows = slice(data.offsets[query], data.offsets[query + 1])
            chosen = generator(seed, query).choice(len(used), size=n_draws, p=share)
            result[rows] = positions[rows][:, chosen]
        return result

    def _save_files(self, folder: Path) -> None:
        for at, member in enumerate(self.members_):
            member.save(folder / f"member_{at}")

    def _load_files(self, files: SavedFiles) -> None:
        own = () if self.estimator is None else (type(self.estimator),)
        self.members_ = [files.load(f"member_{at}", own) for at in range(len(self.weights_))]
