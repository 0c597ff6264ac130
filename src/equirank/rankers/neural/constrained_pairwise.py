"""ConstrainedPairwise: a pairwise ranker with bounded differences of accuracy between groups."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, ClassVar, cast

import numpy as np

from ...core.data import RankingData
from ...core.declared import OnlyWith
from ...core.environment import require
from ...core.params import AnyOf, Choice, Integer, Label, Number, Optional
from ...core.persistence import SavedFiles
from ...core.random import as_seed, generator
from ...core.ranking import Ranking
from ...core.table import Table
from .batches import QueryBatches, run_rows
from .model_files import read_weights
from .network import Layers, Net
from .neural_ranker import HiddenRepresentation
from .pair_constraints import (
    CONSTRAINTS,
    PAIR_LOSSES,
    DrawnPairs,
    PairConstraint,
    batch_gaps,
    best_mixture,
    constraint_terms,
    game,
    pair_constraint,
    signs,
)
from .training_loop import Plan, Problem

__all__ = ["ConstrainedPairwise"]


class ConstrainedPairwise(HiddenRepresentation):
    """Minimises a pairwise loss while pairwise accuracies of groups differ by at most eps.

    ``A_{G>H}`` is the share of pairs of one list, with the better item in G and the worse in H, in
    which the better item ranks first. Two players train: the scorer minimises the loss and convex
    proxies of the constraints; the second player weighs these by the true violations (proxy
    Lagrangian with swap regret). After each epoch the error and the differences of the scorer are
    measured. `predict` and `rank` use the epoch of least error within eps, or of least violation if
    there is none. ``rank(..., n_draws=...)`` draws from the mixture of epochs of least error within
    eps, found by a linear program. Groups are needed to fit, not to rank. Pairs are pooled over
    lists, weighted by query if given; ties count half. Groups without pairs are not constrained.

    Parameters
    ----------
    eps : float
        Largest difference of accuracies.
    constraint : {"equal_opportunity", "marginal", "continuous"}
        ``|A_{G>H} - A_{H>G}| <= eps`` for each two groups; the same for ``A_{G>all}``, the accuracy
        of pairs whose better item is in G; or, for a numeric attribute z, the accuracies of pairs
        whose better item has the larger z and the smaller z.
    loss : {"hinge", "logistic"}
        Loss of a pair: ``max(0, 1 - margin)`` or ``log(1 + exp(-margin))``.
    by : str or tuple of str, optional
        The sensitive attribute, or several crossed; may be omitted if there is one. For
        "continuous" its groups must be numbers.
    column : int or str, optional
        For "continuous": the feature that is the attribute, instead of ``sensitive_features``.
    multiplier_rate : float
        Step size of the second player.
    batch_size : int
        Number of pairs per step; an epoch draws as many pairs as there are rows.


    Attributes
    ----------
    steps_ : Table
        Per epoch the error (share of misordered pairs), the largest difference (violation) and the
        weight in the mixture (share), on the training data; on a million drawn pairs if there are
        more of a kind.
    differences_ : ndarray of shape (n_epochs, n_differences)
        Each signed difference of accuracies; ``labels_`` names the groups.
    best_ : int
        The best single epoch.
    mixture_violation_, mixture_error_ : float
        Expected violation and error of the mixture.

    References
    ----------
    Narasimhan, Cotter, Gupta and Wang, Pairwise fairness for ranking and regression, AAAI 2020.
    Cotter, Jiang and Sridharan, Two-player games for efficient non-convex constrained optimization,
    ALT 2019.

    Examples
    --------
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import ConstrainedPairwise
    >>> data = make_ranking(n_queries=40, n_items=20, feature_bias=1.0, random_state=0)
    >>> model = ConstrainedPairwise(0.05, layers=(), random_state=0).fit(data)
    >>> bool(model.steps_["violation"][model.best_] <= 0.05)
    True
    >>> model.rank(data, n_draws=3, random_state=0).n_draws
    3
    """

    fit_needs: ClassVar[frozenset[str]] = frozenset({"qid", "sensitive_features"})
    only_with: ClassVar[OnlyWith] = {"column": ("constraint", ("continuous",))}
    keep_epochs: ClassVar[bool] = True
    test_params: ClassVar[dict[str, Any]] = {"layers": (4,), "n_epochs": 2, "random_state": 0}
    file_attributes: ClassVar[tuple[str, ...]] = (*HiddenRepresentation.file_attributes, "members_")

    positional: ClassVar[tuple[str, ...]] = ("eps", "constraint")

    n_epochs = 100
    batch_size = 256
    learning_rate = 0.01
    eps: Annotated[float, Number(0.0, 1.0)] = 0.02
    constraint: Annotated[str, Choice(*CONSTRAINTS)] = "equal_opportunity"
    loss: Annotated[str, Choice(*PAIR_LOSSES)] = "hinge"
    by: Annotated[Any, Optional(Label(many=True))] = None
    column: Annotated[Any, Optional(AnyOf(Integer(0), Label()))] = None
    multiplier_rate: Annotated[float, Number(0.0, open_low=True)] = 0.03

    @property
    def steps_(self) -> Table:
        """Error, violation and mixture weight of each epoch."""
        columns = {
            "error": self.errors_,
            "violation": np.abs(self.differences_).max(axis=1, initial=0.0),
            "share": self.shares_,
        }
        return Table({"epoch": np.arange(1, len(self.errors_) + 1)} | columns)

    def mixture(
        self, X: Any, y: Any = None, *, qid: Any = None, sensitive_features: Any = None
    ) -> Ranking:
        """Return the mixture as a ranking with one weighted draw per epoch of positive weight.

        Parameters
        ----------
        X : array-like, data frame or RankingData
            Features; other given columns are stored in ``ranking.data`` for evaluation.
        y, qid, sensitive_features : array-like, optional
            As in `as_ranking_data`.
        """
        data = self._prediction_data(X, y, qid, sensitive_features)
        columns = [data.to_original(position) for position in self._member_positions(data)]
        weights = self.shares_[self.shares_ > 0]
        return Ranking.from_positions(data, np.stack(columns, axis=1), weights=weights)

    def current_needs(self) -> frozenset[str]:
        """Remove the groups if the attribute is a feature."""
        needs = super().current_needs()
        named = self.constraint == "continuous" and self.column is not None
        return needs - {"sensitive_features"} if named else needs

    def _fit(self, data: RankingData) -> None:
        rule = pair_constraint(data, self.constraint, self.by, self._column())
        super()._fit(data)
        epochs = self.__dict__.pop("_epochs") or [self.weights_]
        measure = rule.measure(generator(0, 7))
        scores = [run_rows(self.model_, weights, data.X, Net.score) for weights in epochs]
        measured = [measure(score) for score in scores]
        self.errors_ = np.array([error for error, _ in measured])
        self.differences_ = np.array([differences for _, differences in measured])
        self.labels_ = rule.labels
        violation = np.abs(self.differences_).max(axis=1, initial=0.0)
        within = violation <= self.eps + 1e-12
        best = np.where(within, self.errors_, np.inf) if within.any() else violation
        self.best_ = int(np.argmin(best))
        self.weights_ = epochs[self.best_]
        self.shares_ = best_mixture(self.errors_, self.differences_, float(self.eps))
        self.members_ = [epochs[at] for at in np.flatnonzero(self.shares_ > 0)]
        self.mixture_error_ = float(self.shares_ @ self.errors_)
        self.mixture_violation_ = float(np.abs(self.shares_ @ self.differences_).max(initial=0.0))

    def problem(self, data: RankingData, seed: int, device: Any) -> Problem:
        """Return the minimisation problem of this data; the ranker itself does not change."""
        plain = super().problem(data, seed, device)
        rule = pair_constraint(data, self.constraint, self.by, self._column())
        size = int(self.batch_size)
        share = max(2, size // max(1, len(rule.sets)))
        batches = DrawnPairs(
            cast(QueryBatches, plain.batches).rows, rule.whole, rule.sets, share, size, seed
        )
        players = 1 + 2 * len(rule.differences)
        second = Layers("multipliers", (1, players * players))
        loss = partial(_loss, rule=rule, kind=self.loss, n_pairs=size, eps=float(self.eps))
        model = replace(plain.model, opponents=(second,))
        return replace(plain, model=model, batches=batches, loss=loss)

    def plan(self, problem: Problem) -> Plan:
        """Return the options of the training loop; the second player takes plain gradient steps."""
        return replace(super().plan(problem), plain_rate=float(self.multiplier_rate))

    def _columns(self, data: RankingData) -> dict[str, np.ndarray]:
        return {"sign": signs(data, self.constraint, self.by, self._column())}

    def _column(self) -> Any:
        """Return the number of a column that is given by its name in a data frame."""
        names = [str(name) for name in getattr(self, "feature_names_in_", ())]
        return names.index(self.column) if self.column in names else self.column

    def _choose(self, epochs: list[dict[str, np.ndarray]]) -> None:
        self._epochs = epochs

    def _member_positions(self, data: RankingData) -> list[np.ndarray]:
        """Return the positions of the stored rows by each member of the mixture."""
        scores = [run_rows(self.model_, weights, data.X, Net.score) for weights in self.members_]
        return [Ranking.from_scores(data, data.to_original(score)).position for score in scores]

    def _draw(self, data: RankingData, n_draws: int, random_state: Any) -> np.ndarray:
        """Draw a member for each query and draw; return positions (stored rows x draws)."""
        seed, position = as_seed(random_state), np.stack(self._member_positions(data), axis=1)
        share = self.shares_[self.shares_ > 0]
        result = np.empty((data.n_rows, n_draws), dtype=np.int32)
        for query in range(data.n_queries):
            rows = slice(data.offsets[query], data.offsets[query + 1])
            chosen = generator(seed, query).choice(len(share), size=n_draws, p=share / share.sum())
            result[rows] = position[rows][:, chosen]
        return result

    def _save_files(self, folder: Path) -> None:
        super()._save_files(folder)
        safetensors = require("safetensors.numpy", "neural")
        for at, weights in enumerate(self.members_):
            plain = {name: np.ascontiguousarray(v) for name, v in weights.items()}
            safetensors.save_file(plain, folder / f"member_{at}.safetensors")

    def _load_files(self, files: SavedFiles) -> None:
        super()._load_files(files)
        names = [f"member_{at}.safetensors" for at in range(int((self.shares_ > 0).sum()))]
        self.members_ = [read_weights(files, name, self.model_) for name in names]


def _loss(
    net: Net,
    batch: dict[str, Any],
    hyper: dict[str, Any],
    rule: PairConstraint,
    kind: str,
    n_pairs: int,
    eps: float,
) -> Any:
    """Return the joint objective of both players; the pairs of the constraints come last."""
    torch = require("torch", "neural")
    gap, error = batch_gaps(net, batch, kind, n_pairs)
    if not rule.differences:
        return error
    better, worse = batch["sign"][:, n_pairs:]
    proxy, violation = constraint_terms(
        gap[n_pairs:], rule.cells(better, worse), rule.n_cells, rule.differences, kind, eps
    )
    logits = net.part("multipliers", torch.zeros_like(gap[:1]))
    players = 1 + len(violation)
    return game(error, proxy, violation, logits.reshape(players, players))
