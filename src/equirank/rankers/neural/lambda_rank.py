"""LambdaRank: RankNet gradients, each weighted by the change in NDCG from swapping the pair."""

from typing import Annotated, Any, ClassVar

import numpy as np

from ...core.data import RankingData
from ...core.environment import require
from ...core.params import Choice, Integer, Number, Optional
from .losses import (
    lambda_grads,
    lambda_grads_of_rows,
    normalised_gains,
    ragged,
    score_table,
    with_grads,
    with_grads_of_rows,
)
from .network import Net
from .neural_ranker import NeuralRanker

__all__ = ["LambdaRank"]


class LambdaRank(NeuralRanker):
    """Follows `RankNet` gradients, each weighted by the change in NDCG from swapping the pair.

    The gradient of a pair with ``y_i > y_j`` is ``sigma |delta NDCG| / (1 + exp(sigma (s_i -
    s_j)))``, up for i and down for j. These are the gradients of `LambdaMART` without its
    normalisation, summed per item before backpropagation and averaged over lists, weighted by query
    if given. They are not the gradient of a loss: the learning curve shows 1 - NDCG of the batches
    instead. Tied scores are ordered by row; a list without two levels of relevance has no gradient.

    Parameters
    ----------
    truncation : int, optional
        Pairs count if one of the two items is in the top ``truncation``; None for all.
    sigma : float
        Steepness of the sigmoid.
    gain : {"exp2", "linear"}
        ``2**y - 1`` or the relevance itself.


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

    stackable: ClassVar[bool] = False
    test_params: ClassVar[dict[str, Any]] = {"layers": (4,), "n_epochs": 2, "random_state": 0}

    positional: ClassVar[tuple[str, ...]] = ("truncation", "sigma")

    truncation: Annotated[int | None, Optional(Integer(1))] = None
    sigma: Annotated[float, Number(0.0, open_low=True)] = 1.0
    gain: Annotated[str, Choice("exp2", "linear")] = "exp2"

    def _columns(self, data: RankingData) -> dict[str, np.ndarray]:
        gain = normalised_gains(np.asarray(data.y), data.offsets, self.gain, self.truncation)
        return {"gain": gain.astype(self.dtype)}

    def _loss(self, net: Net, batch: dict[str, Any], hyper: dict[str, Any]) -> Any:
        torch, sigma = require("torch", "neural"), float(self.sigma)
        has_gain = (batch["gain"].sum(dim=1) > 0).to(batch["gain"].dtype)
        if batch["x"].device.type == "cpu":
            score = net.score(batch["x"])
            scores, gains, offsets = ragged(batch, score, batch["gain"])
            top = self.truncation or int(np.diff(offsets).max())
            inverse_ideal = has_gain.numpy().astype(np.float64)
            found = lambda_grads_of_rows(scores, gains, inverse_ideal, offsets, top, sigma)
            return with_grads_of_rows(*found, score, batch)
        score = score_table(net, batch)
        top = self.truncation or score.shape[1]
        with torch.no_grad():
            found = lambda_grads(score, batch["real"], batch["gain"], has_gain, top, sigma)
        return (batch["weight"] * with_grads(*found, score)).mean()
