"""Small padded batches for the tests of losses, and slopes by finite differences."""

import numpy as np
import torch


def padded(seed, sizes=(5, 1, 7, 2), grades=4, groups=3):
    """Random lists; the cells behind them hold numbers that must not be read."""
    rng = np.random.default_rng(seed)
    shape = (len(sizes), max(sizes))
    real = np.arange(shape[1]) < np.array(sizes)[:, None]
    score = np.where(real, rng.normal(size=shape), 0.77)
    label = np.where(real, rng.integers(0, grades, size=shape), 9).astype(float)
    code = np.where(real, rng.integers(0, groups, size=shape), 0)
    return (
        torch.tensor(score, dtype=torch.float64, requires_grad=True),
        torch.tensor(real),
        torch.tensor(label),
        torch.tensor(code),
    )


def items(score, real, *columns):
    """The lists one by one, as NumPy arrays without the padding."""
    for q in range(len(real)):
        here = real[q].numpy()
        yield tuple(part[q].detach().numpy()[here] for part in (score, *columns))


def differences(loss, score, step=1e-6):
    """The slope of the sum of a loss by each score, from both sides."""
    slope = np.zeros(tuple(score.shape))
    for at in np.ndindex(*slope.shape):
        up, down = score.detach().clone(), score.detach().clone()
        up[at] += step
        down[at] -= step
        slope[at] = float((loss(up).sum() - loss(down).sum()) / (2 * step))
    return slope


def slopes(loss, score):
    """The slope by PyTorch."""
    (grad,) = torch.autograd.grad(loss(score).sum(), score)
    return grad.numpy()
