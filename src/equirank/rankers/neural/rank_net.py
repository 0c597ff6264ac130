"""RankNet: the logistic loss of all pairs of a list."""

from typing import Annotated, Any, ClassVar

from ...core.environment import require
from ...core.params import Number
from .losses import (
    logistic_grads,
    logistic_grads_of_rows,
    ragged,
    score_table,
    with_grads,
    with_grads_of_rows,
)
from .network import Net
from .neural_ranker import NeuralRanker

__all__ = ["RankNet"]


class RankNet(NeuralRanker):
    """Learns the probability that the better of two items ranks first, from all pairs of a list.

    The loss of a list is the mean of ``log(1 + exp(-sigma (s_i - s_j)))`` over its pairs with ``y_i
    > y_j``; the mean over lists, weighted by query if given, is minimised. The gradients of all
    pairs are summed per item first, so backpropagation runs once per item, not once per pair. A
    list without two levels of relevance has no gradient.

    Parameters
    ----------
    sigma : float
        Steepness of the sigmoid.


    References
    ----------
    Burges, Shaked, Renshaw, Lazier, Deeds, Hamilton and Hullender, Learning to rank using gradient
    descent, ICML 2005.

    Examples
    --------
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import RankNet
    >>> data = make_ranking(n_queries=50, random_state=0)
    >>> RankNet(layers=(16,), learning_rate=0.01, random_state=0).fit(data).score(data) > 0.8
    True
    """

    stackable: ClassVar[bool] = False
    test_params: ClassVar[dict[str, Any]] = {"layers": (4,), "n_epochs": 2, "random_state": 0}

    positional: ClassVar[tuple[str, ...]] = ("sigma",)

    sigma: Annotated[float, Number(0.0, open_low=True)] = 1.0

    def _loss(self, net: Net, batch: dict[str, Any], hyper: dict[str, Any]) -> Any:
        torch, sigma = require("torch", "neural"), float(self.sigma)
        if batch["x"].device.type == "cpu":
            score = net.score(batch["x"])
            scores, labels, offsets = ragged(batch, score, batch["y"])
            found = logistic_grads_of_rows(scores, labels, offsets, sigma)
            return with_grads_of_rows(*found, score, batch)
        score = score_table(net, batch)
        with torch.no_grad():
            found = logistic_grads(score, batch["real"], batch["y"], sigma)
        return (batch["weight"] * with_grads(*found, score)).mean()
