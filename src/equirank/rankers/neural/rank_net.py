"""RankNet: the logistic loss over all pairs of a list."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ...core.environment import require
from ...core.params import Constraint, Number
from .losses import (
    logistic_slopes,
    logistic_slopes_of_rows,
    ragged,
    score_table,
    with_slopes,
    with_slopes_of_rows,
)
from .network import Net
from .neural_ranker import COMMON, NeuralRanker

__all__ = ["RankNet"]


class RankNet(NeuralRanker):
    """Learns the chance that the better of two items stands above, from all pairs of a list.

    The loss of a list is the mean of ``log(1 + exp(-sigma (s_i - s_j)))`` over its pairs with ``y_i
    > y_j``; the mean over lists is minimised, by query weight where given. What all pairs pull at
    an item is added up first, so the network is gone through once per item, not once per pair. A
    list without two levels of relevance teaches nothing.

    Parameters
    ----------
    sigma : float
        Steepness of the sigmoid.
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
    Burges, Shaked, Renshaw, Lazier, Deeds, Hamilton and Hullender, Learning to rank using gradient
    descent, ICML 2005.

    Examples
    --------
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import RankNet
    >>> data = make_ranking(n_queries=50, random_state=0)
    >>> model = RankNet(layers=(16,), learning_rate=0.01, random_state=0).fit(data)
    >>> round(model.score(data), 2) > 0.8
    True
    """

    params: ClassVar[Mapping[str, Constraint]] = {**COMMON, "sigma": Number(0.0, open_low=True)}
    stackable: ClassVar[bool] = False
    test_params: ClassVar[dict[str, Any]] = {"layers": (4,), "n_epochs": 2, "random_state": 0}

    def __init__(
        self,
        sigma: float = 1.0,
        *,
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
        self.sigma = sigma

    def _loss(self, net: Net, batch: dict[str, Any], hyper: dict[str, Any]) -> Any:
        torch, sigma = require("torch", "neural"), float(self.sigma)
        if batch["x"].device.type == "cpu":
            score = net.score(batch["x"])
            scores, labels, offsets = ragged(batch, score, batch["y"])
            found = logistic_slopes_of_rows(scores, labels, offsets, sigma)
            return with_slopes_of_rows(*found, score, batch)
        score = score_table(net, batch)
        with torch.no_grad():
            found = logistic_slopes(score, batch["real"], batch["y"], sigma)
        return (batch["weight"] * with_slopes(*found, score)).mean()
