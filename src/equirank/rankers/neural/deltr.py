"""DELTR: ListNet with a penalty on smaller exposure of a protected group."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np

from ...core.data import RankingData
from ...core.declared import OnlyWith
from ...core.params import Choice, Flag, Label, Number, Optional
from .losses import (
    cross_entropy,
    exposure_contrasts,
    exposure_excess,
    log_probabilities,
    score_table,
)
from .network import Model, Net
from .neural_ranker import HiddenRepresentation
from .training_loop import Problem

__all__ = ["DELTR"]


class DELTR(HiddenRepresentation):
    """ListNet with a penalty if a protected group receives less exposure than everyone else.

    The loss of a list is ``L + gamma U``: L is `ListNet`'s cross-entropy, and ``U = max(0,
    exposure(rest) - exposure(protected))^2``. The exposure of a group is the mean top-one
    probability of its items. Without a protected group, U is summed over all groups: for two groups
    this is the squared difference. A list without the group, or of it alone, has U = 0. The scorer
    is linear unless ``layers`` are given. Groups are needed to fit, not to rank.

    ``compat="fairsearch"`` uses the loss of the authors' library fairsearchdeltr instead: L is
    divided by the logarithm of the number of rows of all lists, exposures are divided by ln 2, each
    list counts once per row, and ``l2`` times the sum of all squared scores is added. The learning
    curve then shows the sum over a batch, not a mean. The gradient is that of the loss, unlike the
    library's own for gamma > 0. (The library's stored cost is the same sum times the number of
    rows; if a list lacks a group it is NaN.)

    Parameters
    ----------
    gamma : float
        Weight of U. Top-one probabilities are small in long lists: differences of exposure are of
        the order of 1 / length, so useful weights grow with its square.
    protected : label, optional
        The protected group; None for every group in turn.
    by : str or tuple of str, optional
        The sensitive attribute, or several crossed; may be omitted if there is one.
    compat : {None, "fairsearch"}
        The library whose loss is used; None for the loss above.
    l2 : float
        Weight of squared scores, with ``compat="fairsearch"`` only.
    noise : bool
        Whether features pass ``x * w1 + eta * w2`` first, with eta drawn once.


    References
    ----------
    Zehlike and Castillo, Reducing disparate exposure in ranking: a learning to rank approach, WWW
    2020. Zehlike, Suehr, Castillo and Kitanovski, FairSearch: a tool for fairness in ranked search
    results, WWW 2020.

    Examples
    --------
    >>> from equirank.datasets import make_ranking
    >>> data = make_ranking(n_queries=30, n_items=20, feature_bias=1.0, random_state=0)
    >>> from equirank import evaluate
    >>> from equirank.rankers import DELTR
    >>> plain = DELTR(0.0, n_epochs=100, random_state=0).fit(data)
    >>> fair = DELTR(300.0, n_epochs=100, random_state=0).fit(data)
    >>> before, after = (evaluate(m.rank(data), "ExposureGap", n_boot=0) for m in (plain, fair))
    >>> bool(after["ExposureGap"] < 0.8 * before["ExposureGap"])
    True
    """

    fit_needs: ClassVar[frozenset[str]] = frozenset({"qid", "sensitive_features"})
    only_with: ClassVar[OnlyWith] = {"l2": ("compat", ("fairsearch",))}
    hyper: ClassVar[tuple[str, ...]] = ("gamma",)
    test_params: ClassVar[dict[str, Any]] = {"n_epochs": 5, "random_state": 0}

    positional: ClassVar[tuple[str, ...]] = ("gamma",)

    layers = ()
    n_epochs = 300
    learning_rate = 0.01
    gamma: Annotated[float, Number(0.0)] = 1.0
    protected: Annotated[Any, Optional(Label())] = None
    by: Annotated[Any, Optional(Label(many=True))] = None
    compat: Annotated[str | None, Optional(Choice("fairsearch"))] = None
    l2: Annotated[float, Number(0.0)] = 0.001
    noise: Annotated[bool, Flag()] = False

    def problem(self, data: RankingData, seed: int, device: Any) -> Problem:
        """Return the minimisation problem of this data; the ranker itself does not change."""
        n_rows = data.n_rows if self.compat == "fairsearch" else 0
        loss = partial(_loss, n_rows=n_rows, l2=float(self.l2))
        return replace(super().problem(data, seed, device), loss=loss)

    def _columns(self, data: RankingData) -> dict[str, np.ndarray]:
        attribute = data.attribute(self.by)
        groups: Sequence[int] = range(len(attribute.categories))
        if self.protected is not None:
            groups = (attribute.code(self.protected),)
        contrast = exposure_contrasts(attribute.codes, data.offsets, groups)
        return {**super()._columns(data), "contrast": contrast.astype(self.dtype)}

    def _model(self, data: RankingData) -> Model:
        plain = super()._model(data)
        return replace(plain, features=replace(plain.features, noise=bool(self.noise)))


def _loss(net: Net, batch: dict[str, Any], hyper: dict[str, Any], n_rows: int, l2: float) -> Any:
    """Return the loss of a batch; with ``n_rows`` that of fairsearchdeltr."""
    score, real, gamma = score_table(net, batch), batch["real"], hyper["gamma"]
    log_p = log_probabilities(score, real)
    error = cross_entropy(log_p, real, batch["y"])
    if not n_rows:
        found = error + gamma * exposure_excess(log_p, batch["contrast"])
        return (batch["weight"] * found).mean()
    unfair = exposure_excess(log_p, batch["contrast"], 1.0 / math.log(2.0))
    found = batch["size"] * (error / math.log(n_rows) + gamma * unfair)
    found = found + l2 * score.masked_fill(~real, 0.0).square().sum(dim=1)
    return (batch["weight"] * found).sum()
