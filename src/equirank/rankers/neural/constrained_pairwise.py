"""ConstrainedPairwise: the best pairwise ranker whose accuracies differ little between groups."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, cast

import numpy as np

from ...core.data import RankingData
from ...core.environment import require
from ...core.params import AnyOf, Choice, Constraint, Integer, Label, Number, Optional
from ...core.random import as_seed, generator
from ...core.ranking import Ranking
from ...core.table import Table
from .batches import QueryBatches
from .network import Layers, Net
from .neural_ranker import COMMON, NeuralRanker, run_rows
from .pair_constraints import (
    CONSTRAINTS,
    PAIR_LOSSES,
    DrawnPairs,
    PairConstraint,
    best_mixture,
    constraint_terms,
    game,
    pair_constraint,
    pair_loss,
    signs,
)
from .training_loop import Plan, Problem

__all__ = ["ConstrainedPairwise"]


class ConstrainedPairwise(NeuralRanker):
    """Minimises a pairwise loss such that groups' pairwise accuracies differ by at most eps.

    ``A_{G>H}`` is the share of pairs with the better item in G and the worse in H, of one list, in
    which the better one stands above. Two players train: the scorer descends the loss and the
    constraints' convex stand-ins, weighed by the second player, who looks at the true shares and
    moves weight to what is violated (proxy Lagrangian with swap regret). After each epoch the
    scorer's error and differences are measured. `predict` and `rank` take the epoch of least error
    within eps, or of least violation where none is; ``rank(..., n_draws=...)`` draws from the
    mixture of epochs of least error within eps, which a linear program finds. Groups are needed to
    fit, not to rank. Pairs are pooled over lists, by query weight where given; ties count half.
    Groups without pairs to compare are not constrained.

    Parameters
    ----------
    eps : float
        By how much accuracies may differ.
    constraint : {"equal_opportunity", "marginal", "continuous"}
        For each two groups ``|A_{G>H} - A_{H>G}| <= eps``; the same of ``A_{G>all}``, the accuracy
        where G's item is the better one, whoever the other is; or, for an attribute z that is a
        number, the accuracies where the better item has more of z and where it has less.
    loss : {"hinge", "logistic"}
        Of a pair: ``max(0, 1 - margin)`` or ``log(1 + exp(-margin))``.
    by : str or tuple of str, optional
        Which sensitive attribute, or several crossed; may be left out where there is one. For
        "continuous" its groups must be numbers.
    column : int or str, optional
        For "continuous": the feature that is the attribute, instead of ``sensitive_features``.
    multiplier_rate : float
        The step size of the second player.
    layers, activation
        Widths of the hidden layers, none for a linear scorer, and "tanh", "relu" or "sigmoid".
    n_epochs, max_steps, batch_size, learning_rate, schedule, clip, weight_decay
        Passes, each with as many pairs as there are rows; a limit to the steps; pairs per step; and
        how Adam descends.
    early_stopping, validation, metric
        Epochs without a better ``metric`` on the held-out share of the queries (or data) to stop
        after.
    device, precision, checkpoint, n_jobs, random_state
        As in `DirectRanker`.

    Attributes
    ----------
    steps_ : Table
        Per epoch the error (share of misordered pairs), the largest difference (violation) and the
        epoch's share in the mixture, on the training data; of more than a million pairs of a kind,
        on so many drawn ones.
    differences_ : ndarray of shape (n_epochs, n_differences)
        Each difference of accuracies, signed; ``labels_`` says whose.
    best_ : int
        Which epoch is the best single one.
    mixture_violation_, mixture_error_ : float
        Of the mixture, in expectation.

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
    keep_epochs: ClassVar[bool] = True
    params: ClassVar[Mapping[str, Constraint]] = {
        **COMMON,
        "eps": Number(0.0, 1.0),
        "constraint": Choice(*CONSTRAINTS),
        "loss": Choice(*PAIR_LOSSES),
        "by": Optional(Label(many=True)),
        "column": Optional(AnyOf(Integer(0), Label())),
        "multiplier_rate": Number(0.0, open_low=True),
    }
    test_params: ClassVar[dict[str, Any]] = {"layers": (4,), "n_epochs": 2, "random_state": 0}
    file_attributes: ClassVar[tuple[str, ...]] = (*NeuralRanker.file_attributes, "members_")

    def __init__(
        self,
        eps: float = 0.02,
        constraint: str = "equal_opportunity",
        *,
        loss: str = "hinge",
        by: Any = None,
        column: Any = None,
        multiplier_rate: float = 0.03,
        layers: Sequence[int] = (64, 32),
        activation: str = "tanh",
        n_epochs: int = 100,
        max_steps: int | None = None,
        batch_size: int = 256,
        learning_rate: float = 0.01,
        schedule: str = "constant",
        clip: float | None = None,
        weight_decay: float = 0.0,
        early_stopping: int | None = None,
        validation: Any = None,
        metric: Any = "NDCG@10",
        device: str = "cpu",
        precision: str = "float32",
        checkpoint: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            layers=layers,
            activation=activation,
            n_epochs=n_epochs,
            max_steps=max_steps,
            batch_size=batch_size,
            learning_rate=learning_rate,
            schedule=schedule,
            clip=clip,
            weight_decay=weight_decay,
            early_stopping=early_stopping,
            validation=validation,
            metric=metric,
            device=device,
            precision=precision,
            checkpoint=checkpoint,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.eps = eps
        self.constraint = constraint
        self.loss = loss
        self.by = by
        self.column = column
        self.multiplier_rate = multiplier_rate

    @property
    def steps_(self) -> Table:
        """What each epoch came to."""
        columns = {
            "error": self.errors_,
            "violation": np.abs(self.differences_).max(axis=1, initial=0.0),
            "share": self.shares_,
        }
        return Table({"epoch": np.arange(1, len(self.errors_) + 1)} | columns)

    def mixture(
        self, X: Any, y: Any = None, *, qid: Any = None, sensitive_features: Any = None
    ) -> Ranking:
        """Return the mixture as a ranking with one weighted draw per epoch in it.

        Parameters
        ----------
        X : array-like, data frame or RankingData
            Features; what else is given rides along in ``ranking.data``, ready to be evaluated.
        y, qid, sensitive_features : array-like, optional
            As in `as_ranking_data`.
        """
        data = self._prediction_data(X, y, qid, sensitive_features)
        columns = [data.to_original(places) for places in self._places(data)]
        weights = self.shares_[self.shares_ > 0]
        return Ranking.from_positions(data, np.stack(columns, axis=1), weights=weights)

    def _needs(self) -> frozenset[str]:
        """Leave out the groups where the attribute is a feature."""
        needs = super()._needs()
        named = self.constraint == "continuous" and self.column is not None
        return needs - {"sensitive_features"} if named else needs

    def _fit(self, data: RankingData) -> None:
        rule = pair_constraint(data, self.constraint, self.by, self._column())
        super()._fit(data)
        kept = self.__dict__.pop("_epochs") or [self.weights_]
        measure = rule.measure(generator(0, 7))
        scores = [run_rows(self.model_, weights, data.X, Net.score) for weights in kept]
        found = [measure(score) for score in scores]
        self.errors_ = np.array([error for error, _ in found])
        self.differences_ = np.array([apart for _, apart in found])
        self.labels_ = rule.labels
        violation = np.abs(self.differences_).max(axis=1, initial=0.0)
        within = violation <= self.eps + 1e-12
        best = np.where(within, self.errors_, np.inf) if within.any() else violation
        self.best_ = int(np.argmin(best))
        self.weights_ = kept[self.best_]
        self.shares_ = best_mixture(self.errors_, self.differences_, float(self.eps))
        self.members_ = [kept[at] for at in np.flatnonzero(self.shares_ > 0)]
        self.mixture_error_ = float(self.shares_ @ self.errors_)
        self.mixture_violation_ = float(np.abs(self.shares_ @ self.differences_).max(initial=0.0))

    def problem(self, data: RankingData, seed: int, device: Any) -> Problem:
        """Return what is minimised on this data; the ranker itself is left as it is."""
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

    def _plan(self, problem: Problem) -> Plan:
        return replace(super()._plan(problem), plain_rate=float(self.multiplier_rate))

    def _columns(self, data: RankingData) -> dict[str, np.ndarray]:
        return {"sign": signs(data, self.constraint, self.by, self._column())}

    def _column(self) -> Any:
        """Return the column's number where it goes by the name it had in a data frame."""
        names = [str(name) for name in getattr(self, "feature_names_in_", ())]
        return names.index(self.column) if self.column in names else self.column

    def _choose(self, epochs: list[dict[str, np.ndarray]]) -> None:
        self._epochs = epochs

    def _places(self, data: RankingData) -> list[np.ndarray]:
        """Return the positions that each member of the mixture gives to the stored rows."""
        scores = [run_rows(self.model_, weights, data.X, Net.score) for weights in self.members_]
        return [Ranking.from_scores(data, data.to_original(score)).position for score in scores]

    def _draw(self, data: RankingData, n_draws: int, random_state: Any) -> np.ndarray:
        """Draw a member for each query and draw; gives the positions (stored rows x draws)."""
        seed, places = as_seed(random_state), np.stack(self._places(data), axis=1)
        share = self.shares_[self.shares_ > 0]
        result = np.empty((data.n_rows, n_draws), dtype=np.int32)
        for query in range(data.n_queries):
            rows = slice(data.offsets[query], data.offsets[query + 1])
            chosen = generator(seed, query).choice(len(share), size=n_draws, p=share / share.sum())
            result[rows] = places[rows][:, chosen]
        return result

    def _save_files(self, folder: Path) -> None:
        super()._save_files(folder)
        safetensors = require("safetensors.numpy", "neural")
        for at, weights in enumerate(self.members_):
            plain = {name: np.ascontiguousarray(v) for name, v in weights.items()}
            safetensors.save_file(plain, folder / f"member_{at}.safetensors")

    def _load_files(self, folder: Path) -> None:
        super()._load_files(folder)
        safetensors = require("safetensors.numpy", "neural")
        count = int((self.shares_ > 0).sum())
        self.members_ = [
            safetensors.load_file(folder / f"member_{at}.safetensors") for at in range(count)
        ]


def _loss(
    net: Net,
    batch: dict[str, Any],
    hyper: dict[str, Any],
    rule: PairConstraint,
    kind: str,
    n_pairs: int,
    eps: float,
) -> Any:
    """Return what both players descend, on the first pairs and on those of the constraints."""
    torch = require("torch", "neural")
    score = net.score(batch["x"]).to(batch["x"].dtype)
    gap = score[0] - score[1]
    error = pair_loss(gap[:n_pairs], kind).mean()
    if not rule.differences:
        return error
    better, worse = batch["sign"][:, n_pairs:]
    proxy, violation = constraint_terms(
        gap[n_pairs:], rule.cells(better, worse), rule.n_cells, rule.differences, kind, eps
    )
    logits = net.part("multipliers", torch.zeros_like(gap[:1]))
    players = 1 + len(violation)
    return game(error, proxy, violation, logits.reshape(players, players))
