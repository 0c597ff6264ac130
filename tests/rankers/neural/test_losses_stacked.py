"""Configurations of one shape train together: losses run over stacked weights and numbers."""

import numpy as np
import pytest
import torch

from equirank.datasets import make_ranking
from equirank.rankers import DELTR, ConstrainedPairwise, ListNet, PairwiseRegularised, SoftRank

MODELS = [
    ListNet(layers=(4,)),
    ListNet("linear", 3, layers=(4,)),
    ListNet(top=2, target="distribution", layers=(4,)),
    DELTR(compat="fairsearch"),
    SoftRank(layers=(3,)),
    PairwiseRegularised(layers=(4,)),
    ConstrainedPairwise(layers=()),
]


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_stacked_weights_give_each_one_s_loss_and_gradient(model):
    data = make_ranking(n_queries=5, n_items=6, feature_bias=1.0, random_state=0)
    model.set_params(precision="float64")
    problem = model.problem(data, 0, torch.device("cpu"))
    batch = next(iter(problem.batches.epoch(0)))
    weights = torch.tensor(np.stack([problem.start(seed) for seed in range(3)]), requires_grad=True)
    hyper = {name: torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64) for name in model.hyper}
    over = (0, None, 0 if hyper else None)
    together = torch.func.vmap(problem.value, in_dims=over)(weights, batch, hyper)
    (slope,) = torch.autograd.grad(together.sum(), weights)
    for at in range(3):
        own = {name: values[at] for name, values in hyper.items()}
        alone = weights[at].detach().requires_grad_(True)
        value = problem.value(alone, batch, own)
        torch.testing.assert_close(together[at].detach(), value.detach())
        torch.testing.assert_close(slope[at], torch.autograd.grad(value, alone)[0])
