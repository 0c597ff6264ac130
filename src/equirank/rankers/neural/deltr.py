"""DELTR: ListNet that pays for a protected group's smaller exposure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from ...core.data import RankingData
from ...core.params import Choice, Constraint, Flag, Label, Number, Optional
from .losses import cross_entropy, exposure_excess, exposure_sides, log_chances, score_table
from .network import Model, Net
from .neural_ranker import COMMON, NeuralRanker
from .training_loop import Problem

__all__ = ["DELTR"]


class DELTR(NeuralRanker):
    """ListNet with a price on how much less exposure a protected group gets than the others.

    The loss of a list is ``L + gamma U``: L is `ListNet`'s cross-entropy, and ``U = max(0,
    exposure(others) - exposure(protected))^2``, the exposure of a group being the mean of its
    items' chances of being first. Where no group is named protected, every group is in turn, and
    the U are added up: of two groups that is the squared difference. A list without the group, or
    of it alone, has U = 0. The scorer is linear unless ``layers`` are given. Groups are needed to
    fit, not to rank.

    ``compat="fairsearch"`` takes the loss of the authors' library fairsearchdeltr instead: L is
    divided by the logarithm of the number of rows of all lists, exposures are divided by ln 2, each
    list counts once per row, and ``l2`` times the sum of all squared scores is added; the learning
    curve then shows that sum over a batch, not a mean. The gradient is that of the loss, which the
    library's own is not where gamma > 0. (The library's stored cost is the same sum times the
    number of rows, and where a list lacks a group it is not a number.)

    Parameters
    ----------
    gamma : float
        The price of a smaller exposure. Chances of being first are small in long lists: differences
        of exposure are of the order of 1 / length, so useful prices grow with its square.
    protected : label, optional
        The group that must not get less; None for all of them in turn.
    by : str or tuple of str, optional
        Which sensitive attribute, or several crossed; may be left out where there is one.
    compat : {None, "fairsearch"}
        Whose loss.
    l2 : float
        The weight of squared scores, with ``compat="fairsearch"`` only.
    noise : bool
        Whether features pass ``x * w1 + eta * w2`` first, eta being drawn once.
    layers, activation
        Widths of the hidden layers, none for a linear scorer, and "tanh", "relu" or "sigmoid".
    n_epochs, max_steps, batch_size, learning_rate, schedule, clip, weight_decay
        Passes through the lists, a limit to the steps, lists per step, and how Adam descends.
    early_stopping, validation, metric
        Epochs without a better ``metric`` on the held-out share of the queries (or data) to stop
        after.
    device, precision, checkpoint, n_jobs, random_state
        As in `DirectRanker`.

    References
    ----------
    Zehlike and Castillo, Reducing disparate exposure in ranking: a learning to rank approach, WWW
    2020. Zehlike, Suehr, Castillo and Kitanovski, FairSearch: a tool for fairness in ranked search
    results, WWW 2020.

    Examples
    --------
    >>> from equirank import evaluate
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import DELTR
    >>> data = make_ranking(n_queries=30, n_items=20, feature_bias=1.0, random_state=0)
    >>> plain = DELTR(0.0, n_epochs=100, random_state=0).fit(data)
    >>> fair = DELTR(300.0, n_epochs=100, random_state=0).fit(data)
    >>> before, after = (evaluate(m.rank(data), "ExposureGap", n_boot=0) for m in (plain, fair))
    >>> bool(after["ExposureGap"] < 0.8 * before["ExposureGap"])
    True
    """

    fit_needs: ClassVar[frozenset[str]] = frozenset({"qid", "sensitive_features"})
    hyper: ClassVar[tuple[str, ...]] = ("gamma",)
    params: ClassVar[Mapping[str, Constraint]] = {
        **COMMON,
        "gamma": Number(0.0),
        "protected": Optional(Label()),
        "by": Optional(Label(many=True)),
        "compat": Optional(Choice("fairsearch")),
        "l2": Number(0.0),
        "noise": Flag(),
    }
    test_params: ClassVar[dict[str, Any]] = {"n_epochs": 5, "random_state": 0}

    def __init__(
        self,
        gamma: float = 1.0,
        *,
        protected: Any = None,
        by: Any = None,
        compat: str | None = None,
        l2: float = 0.001,
        noise: bool = False,
        layers: Sequence[int] = (),
        activation: str = "tanh",
        n_epochs: int = 300,
        max_steps: int | None = None,
        batch_size: int = 32,
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
        self.gamma = gamma
        self.protected = protected
        self.by = by
        self.compat = compat
        self.l2 = l2
        self.noise = noise

    def problem(self, data: RankingData, seed: int, device: Any) -> Problem:
        """Return what is minimised on this data; the ranker itself is left as it is."""
        n_rows = data.n_rows if self.compat == "fairsearch" else 0
        loss = partial(_loss, n_rows=n_rows, l2=float(self.l2))
        return replace(super().problem(data, seed, device), loss=loss)

    def _columns(self, data: RankingData) -> dict[str, np.ndarray]:
        attribute = data.attribute(self.by)
        groups: Sequence[int] = range(len(attribute.categories))
        if self.protected is not None:
            groups = (attribute.code(self.protected),)
        side = exposure_sides(attribute.codes, data.offsets, groups)
        return {**super()._columns(data), "side": side.astype(self._dtype)}

    def _model(self, data: RankingData) -> Model:
        plain = super()._model(data)
        return replace(plain, features=replace(plain.features, noise=bool(self.noise)))


def _loss(net: Net, batch: dict[str, Any], hyper: dict[str, Any], n_rows: int, l2: float) -> Any:
    """Return the loss of a batch; with ``n_rows`` the one of fairsearchdeltr."""
    score, real, price = score_table(net, batch), batch["real"], hyper["gamma"]
    log_chance = log_chances(score, real)
    error = cross_entropy(log_chance, real, batch["y"])
    if not n_rows:
        found = error + price * exposure_excess(log_chance, batch["side"])
        return (batch["weight"] * found).mean()
    unfair = exposure_excess(log_chance, batch["side"], 1.0 / math.log(2.0))
    found = batch["size"] * (error / math.log(n_rows) + price * unfair)
    found = found + l2 * score.masked_fill(~real, 0.0).square().sum(dim=1)
    return (batch["weight"] * found).sum()
