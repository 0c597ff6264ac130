"""LambdaRank: RankNet's pulls, each times how much NDCG its swap would change."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from ...core.data import RankingData
from ...core.environment import require
from ...core.params import Choice, Constraint, Integer, Number, Optional
from .losses import (
    lambda_slopes,
    lambda_slopes_of_rows,
    normalised_gains,
    ragged,
    score_table,
    with_slopes,
    with_slopes_of_rows,
)
from .network import Net
from .neural_ranker import COMMON, NeuralRanker

__all__ = ["LambdaRank"]


class LambdaRank(NeuralRanker):
    """Follows `RankNet`'s gradients, each pair times how much NDCG would change by swapping it.

    The pull of a pair with ``y_i > y_j`` is ``sigma |dNDCG| / (1 + exp(sigma (s_i - s_j)))``, up
    for i and down for j; these are the gradients of `LambdaMART` without its normalisation, added
    up per item before the network is gone through. There is no loss they are the gradient of: the
    learning curve shows 1 - NDCG of the batches instead. The mean over lists counts, by query
    weight where given. Equal scores stand in the order of the rows; a list without two levels of
    relevance teaches nothing.

    Parameters
    ----------
    truncation : int, optional
        Pairs count where one of the two stands within so many places, None for all.
    sigma : float
        Steepness of the sigmoid.
    gain : {"exp2", "linear"}
        ``2**y - 1`` or the relevance itself.
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
    Burges, Ragno and Le, Learning to rank with nonsmooth cost functions, NeurIPS 2006. Burges, From
    RankNet to LambdaRank to LambdaMART: an overview, 2010.

    Examples
    --------
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import LambdaRank
    >>> data = make_ranking(n_queries=50, random_state=0)
    >>> model = LambdaRank(layers=(16,), learning_rate=0.01, random_state=0).fit(data)
    >>> round(model.score(data), 2) > 0.85
    True
    """

    params: ClassVar[Mapping[str, Constraint]] = {
        **COMMON,
        "truncation": Optional(Integer(1)),
        "sigma": Number(0.0, open_low=True),
        "gain": Choice("exp2", "linear"),
    }
    stackable: ClassVar[bool] = False
    test_params: ClassVar[dict[str, Any]] = {"layers": (4,), "n_epochs": 2, "random_state": 0}

    def __init__(
        self,
        truncation: int | None = None,
        sigma: float = 1.0,
        *,
        gain: str = "exp2",
        layers: Sequence[int] = (64, 32),
        activation: str = "tanh",
        n_epochs: int = 30,
        max_steps: int | None = None,
        batch_size: int = 32,
        learning_rate: float = 0.001,
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
        self.truncation = truncation
        self.sigma = sigma
        self.gain = gain

    def _columns(self, data: RankingData) -> dict[str, np.ndarray]:
        worth = normalised_gains(np.asarray(data.y), data.offsets, self.gain, self.truncation)
        return {"gain": worth.astype(self._dtype)}

    def _loss(self, net: Net, batch: dict[str, Any], hyper: dict[str, Any]) -> Any:
        torch, sigma = require("torch", "neural"), float(self.sigma)
        some = (batch["gain"].sum(dim=1) > 0).to(batch["gain"].dtype)
        if batch["x"].device.type == "cpu":
            score = net.score(batch["x"])
            scores, gains, offsets = ragged(batch, score, batch["gain"])
            near = self.truncation or int(np.diff(offsets).max())
            known = some.numpy().astype(np.float64)
            found = lambda_slopes_of_rows(scores, gains, known, offsets, near, sigma)
            return with_slopes_of_rows(*found, score, batch)
        score = score_table(net, batch)
        near = self.truncation or score.shape[1]
        with torch.no_grad():
            found = lambda_slopes(score, batch["real"], batch["gain"], some, near, sigma)
        return (batch["weight"] * with_slopes(*found, score)).mean()
