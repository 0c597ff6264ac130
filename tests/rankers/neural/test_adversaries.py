"""Adversaries: gradients turned round, attributes side by side or crossed."""

import numpy as np
import torch

from equirank import as_ranking_data
from equirank.rankers.neural.adversaries import adversary_layers, reverse, sensitive_columns


def test_reversal_passes_values_on_and_turns_gradients():
    x = torch.tensor([1.0, -2.0, 1e-30], requires_grad=True)
    gamma = torch.tensor(0.3, requires_grad=True)
    passed = reverse(x, gamma)
    assert torch.equal(passed, x)
    assert torch.equal(torch.autograd.grad(passed.sum(), x, retain_graph=True)[0], -gamma.expand(3))


def test_attributes_stand_side_by_side_or_crossed():
    groups = {"sex": ["f", "m", "f"], "age": ["old", "old", "young"]}
    data = as_ranking_data(np.eye(3), [0, 1, 2], sensitive_features=groups)
    assert sensitive_columns(data, None).tolist() == [[0, 0], [1, 0], [0, 1]]
    assert sensitive_columns(data, "age").tolist() == [[0], [0], [1]]
    assert len(np.unique(sensitive_columns(data, ("sex", "age")))) == 3
    layers = adversary_layers("first", data, None, 4, (7,))
    assert [part.name for part in layers] == ["adversary.first.0", "adversary.first.1"]
    assert layers[0].widths == (4, 7, 2)
