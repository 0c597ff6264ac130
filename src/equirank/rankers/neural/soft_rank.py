"""SoftRank: the NDCG to expect where scores are uncertain, climbed by its gradient."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from ...core.data import RankingData
from ...core.environment import require
from ...core.params import Choice, Constraint, Integer, Number, Optional
from ...kernels.discounts import discounts
from .losses import (
    expected_gain,
    normalised_gains,
    score_slopes,
    score_table,
    win_probabilities,
    with_slopes,
)
from .network import Net
from .neural_ranker import COMMON, NeuralRanker

__all__ = ["SoftRank"]


class SoftRank(NeuralRanker):
    """Maximises the expected NDCG of a list whose scores are Gaussians around the network's.

    Item i beats item j with the probability ``Phi((s_i - s_j) / (sqrt(2) sigma))``; taking these
    duels as independent, the number of items that beat j has a distribution that grows duel by
    duel, and with it the expected discount of j's place. The loss is 1 - the expected NDCG, its
    mean over the lists, by query weight where given. The work is of the order of n^3 for a list of
    n, n^2 k with a cutoff. A list without relevant items teaches nothing.

    Parameters
    ----------
    sigma : float
        Standard deviation of each score; smaller is nearer to NDCG itself and harder to climb.
    k : int, optional
        Cutoff of NDCG.
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
    Taylor, Guiver, Robertson and Minka, SoftRank: optimizing non-smooth rank metrics, WSDM 2008.

    Examples
    --------
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import SoftRank
    >>> data = make_ranking(n_queries=40, n_items=15, random_state=0)
    >>> model = SoftRank(layers=(8,), n_epochs=20, learning_rate=0.03, random_state=0).fit(data)
    >>> round(model.score(data), 2) > 0.85
    True
    """

    params: ClassVar[Mapping[str, Constraint]] = {
        **COMMON,
        "sigma": Number(0.0, open_low=True),
        "k": Optional(Integer(1)),
        "gain": Choice("exp2", "linear"),
    }
    test_params: ClassVar[dict[str, Any]] = {"layers": (4,), "n_epochs": 1, "random_state": 0}

    def __init__(
        self,
        sigma: float = 1.0,
        k: int | None = None,
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
        self.sigma = sigma
        self.k = k
        self.gain = gain

    def _columns(self, data: RankingData) -> dict[str, np.ndarray]:
        worth = normalised_gains(np.asarray(data.y), data.offsets, self.gain, self.k)
        return {"gain": worth.astype(self._dtype)}

    def _loss(self, net: Net, batch: dict[str, Any], hyper: dict[str, Any]) -> Any:
        torch = require("torch", "neural")
        score, real, gain = score_table(net, batch), batch["real"], batch["gain"]
        length = score.shape[1]
        counted = discounts(length if self.k is None else min(self.k, length), "log2")
        discount = torch.as_tensor(np.array(counted), dtype=score.dtype, device=score.device)
        with torch.no_grad():
            win = win_probabilities(score, real, float(self.sigma))
            value, slope = expected_gain(win, gain, discount)
            slope = score_slopes(score, real, slope, float(self.sigma))
            some = (gain.sum(dim=1) > 0).to(score.dtype)
        return (batch["weight"] * with_slopes(some - value, -slope, score)).mean()
