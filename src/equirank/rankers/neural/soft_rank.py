"""SoftRank: gradient ascent on the expected NDCG of uncertain scores."""

from typing import Annotated, Any, ClassVar

import numpy as np

from ...core.data import RankingData
from ...core.environment import require
from ...core.params import Choice, Integer, Number, Optional
from ...kernels.discounts import discounts
from .losses import (
    expected_gain,
    normalised_gains,
    score_grads,
    score_table,
    win_probabilities,
    with_grads,
)
from .network import Net
from .neural_ranker import NeuralRanker

__all__ = ["SoftRank"]


class SoftRank(NeuralRanker):
    """Maximises the expected NDCG of a list whose scores are Gaussians around the network's.

    Item i beats item j with the probability ``Phi((s_i - s_j) / (sqrt(2) sigma))``. If these
    comparisons are independent, the number of items that beat j has a distribution that is updated
    comparison by comparison, which gives the expected discount of j. The loss is 1 - the expected
    NDCG, averaged over lists, weighted by query if given. It takes O(n^3) for a list of n items,
    O(n^2 k) with a cutoff. A list without relevant items has no gradient.

    Parameters
    ----------
    sigma : float
        Standard deviation of each score; smaller values approach NDCG and are harder to optimise.
    k : int, optional
        Cutoff of NDCG.
    gain : {"exp2", "linear"}
        ``2**y - 1`` or the relevance itself.


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

    test_params: ClassVar[dict[str, Any]] = {"layers": (4,), "n_epochs": 1, "random_state": 0}

    positional: ClassVar[tuple[str, ...]] = ("sigma", "k")

    sigma: Annotated[float, Number(0.0, open_low=True)] = 1.0
    k: Annotated[int | None, Optional(Integer(1))] = None
    gain: Annotated[str, Choice("exp2", "linear")] = "exp2"

    def _columns(self, data: RankingData) -> dict[str, np.ndarray]:
        gain = normalised_gains(np.asarray(data.y), data.offsets, self.gain, self.k)
        return {"gain": gain.astype(self.dtype)}

    def _loss(self, net: Net, batch: dict[str, Any], hyper: dict[str, Any]) -> Any:
        torch = require("torch", "neural")
        score, real, gain = score_table(net, batch), batch["real"], batch["gain"]
        length = score.shape[1]
        weights = discounts(length if self.k is None else min(self.k, length), "log2")
        discount = torch.as_tensor(np.array(weights), dtype=score.dtype, device=score.device)
        with torch.no_grad():
            win = win_probabilities(score, real, float(self.sigma))
            value, grad = expected_gain(win, gain, discount)
            grad = score_grads(score, real, grad, float(self.sigma))
            has_gain = (gain.sum(dim=1) > 0).to(score.dtype)
        return (batch["weight"] * with_grads(has_gain - value, -grad, score)).mean()
