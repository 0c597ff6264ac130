"""The rounds of boosting: choose a weak ranker, weigh it, renew the pair weights, record."""

import math
from typing import Any, Protocol, Self

import numpy as np

from ...core.extras import progress
from .ensemble import dense
from .pair_errors import PairErrors
from .pair_terms import CostRule
from .stump import Stump
from .watching import Watch
from .weak_rankers import Choice, WeakRankers

__all__ = ["COLUMNS", "Rounds"]

#: What is recorded of every round.
COLUMNS = ("alpha", "r", "e_plus", "e_minus", "e_zero", "Z", "E", "R2", "cost_R2")


class Rule(Protocol):
    """What a booster says about its rounds."""

    tol: float
    smoothing: float | None

    def _alpha(self, choice: Choice, sides: tuple[float, float] | None, smooth: float) -> float:
        """Give the weight of a weak ranker with these errors."""


class Rounds:
    """Rounds of RankBoost on given weights, and what came of them."""

    def __init__(
        self,
        rule: Rule,
        weights: Any,
        weak: WeakRankers,
        errors: PairErrors | None,
        watch: Watch | None,
    ) -> None:
        self.rule, self.weights, self.weak = rule, weights, weak
        self.errors, self.watch = errors, watch
        self.rankers: list[Stump] = []
        self.alphas: list[float] = []
        self.curve: dict[str, list[float]] = {name: [] for name in COLUMNS}

    def run(
        self, n_rounds: int, growing: CostRule | None = None, fixed: list[Stump] | None = None
    ) -> Self:
        """Run up to so many rounds.

        Parameters
        ----------
        n_rounds : int
            At most.
        growing : CostRule, optional
            Costs that enter round by round, as their powers t / n_rounds.
        fixed : list of Stump, optional
            The weak rankers to take, in order; without them each round chooses.
        """
        weights, rule = self.weights, self.rule
        if weights.n_pairs == 0:
            return self
        smooth = 0.5 / weights.n_pairs if rule.smoothing is None else rule.smoothing
        log_cost = weights.log_cost()
        for at in progress(range(n_rounds), "boosting"):
            if growing is not None:
                weights.set_costs(growing.to_power((at + 1) / n_rounds))
                log_cost = weights.log_cost()
            if fixed is None:
                choice = self.weak.choose(weights)
                if choice is None or choice.merit <= rule.tol:
                    break
            else:
                choice = self.weak.again(weights, fixed[at])
            sides = self.weak.sides(weights, choice)
            alpha = rule._alpha(choice, sides, smooth)
            before = weights.log_total
            self.weak.add(weights, choice.ranker, alpha)
            self._record(choice.ranker, choice.r, alpha, sides, before, log_cost)
            if self.watch is not None and self.watch.add(self._watched(choice.ranker, alpha)):
                break
            if fixed is None and weights.separated():
                break
        return self

    def _watched(self, ranker: Stump, alpha: float) -> np.ndarray:
        """Give the round's part of the scores of the validation data."""
        if self.watch is None:
            return np.zeros(0)
        return alpha * self.weak.output_of(dense(self.watch.data.X), ranker)

    def _record(
        self,
        ranker: Stump,
        r: float,
        alpha: float,
        sides: tuple[float, float] | None,
        before: float,
        log_cost: float,
    ) -> None:
        self.rankers.append(ranker)
        self.alphas.append(alpha)
        plus, minus = sides if sides is not None else (math.nan, math.nan)
        after = self.weights.log_total
        plain, costly = math.nan, math.nan
        if self.errors is not None:
            plain, costly = self.errors(self.weights.stored_scores())
        line = [alpha, r, plus, minus, 1.0 - plus - minus]
        line += [math.exp(after - before), math.exp(min(after - log_cost, 700.0)), plain, costly]
        for name, value in zip(COLUMNS, line, strict=True):
            self.curve[name].append(value)
