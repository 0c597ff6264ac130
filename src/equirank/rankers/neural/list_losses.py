"""Losses of whole lists, on lists padded to one length: scores in, one number per list out.

``score`` and ``label`` are tensors of n_lists x longest; ``real`` says which cells are items. What
stands in the other cells is never read.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.extras import require
from ...kernels.segments import segment_sum
from .network import Net
from .padding import padded

__all__ = [
    "cross_entropy",
    "exposure_excess",
    "exposure_sides",
    "label_order_loss",
    "log_chances",
    "log_powers",
    "score_table",
]

#: The logarithm of the power of an item that is not there; infinity would spoil gradients.
NOBODY = -1e30


def score_table(net: Net, batch: dict[str, Any]) -> Any:
    """Score the rows of a batch of lists and lay the scores side by side."""
    return padded(net.score(batch["x"]).to(batch["x"].dtype), batch)


def log_powers(values: Any, real: Any, phi: str) -> Any:
    """Give the logarithms of phi: of exp, of the sigmoid, or of 1 + how far above the lowest."""
    torch = require("torch", "neural")
    if phi == "linear":
        lowest = values.masked_fill(~real, torch.inf).amin(dim=1, keepdim=True)
        values = torch.log1p((values - lowest).masked_fill(~real, 0.0))
    elif phi == "sigmoid":
        values = torch.nn.functional.logsigmoid(values)
    return values.masked_fill(~real, NOBODY)


def log_chances(score: Any, real: Any, phi: str = "exp") -> Any:
    """Give the logarithms of the chances of being first."""
    return log_powers(score, real, phi).log_softmax(dim=1)


def cross_entropy(log_chance: Any, real: Any, label: Any, phi: str = "exp") -> Any:
    """Compare who is first by the labels with who is first by the scores."""
    return -(log_powers(label, real, phi).softmax(dim=1) * log_chance).sum(dim=1)


def label_order_loss(
    score: Any, real: Any, label: Any, phi: str = "exp", top: int | None = None
) -> Any:
    """Give minus the log-probability that the first ``top`` places follow the labels.

    Items of equal label are each chosen among all items that are not better, so that their order
    does not matter; where only some of them are within ``top``, each counts that share.
    """
    torch = require("torch", "neural")
    length = score.shape[1]
    ranked, order = label.masked_fill(~real, -torch.inf).sort(dim=1, descending=True)
    power = log_powers(score, real, phi).gather(1, order)
    from_here = power.flip(1).logcumsumexp(dim=1).flip(1)
    place = torch.arange(length, device=score.device).expand_as(ranked)
    new = torch.ones_like(real)
    new[:, 1:] = ranked[:, 1:] != ranked[:, :-1]
    begin = place.masked_fill(~new, 0).cummax(dim=1).values
    last = torch.ones_like(real)
    last[:, :-1] = new[:, 1:]
    end = (place + 1).masked_fill(~last, length).flip(1).cummin(dim=1).values.flip(1)
    counted = length if top is None else top
    share = ((counted - begin).to(score.dtype) / (end - begin)).clamp(0.0, 1.0)
    lost = (from_here.gather(1, begin) - power) * share
    return lost.masked_fill(ranked == -torch.inf, 0.0).sum(dim=1)


def exposure_sides(code: np.ndarray, offsets: np.ndarray, groups: Sequence[int]) -> np.ndarray:
    """Give what each row's chance counts in the others' exposure less a group's (row x group).

    One over their number for the others, less one over its size for the group; 0 in a list without
    the group, or without others.
    """
    sizes = np.diff(offsets)
    sides = np.zeros((len(code), len(groups)))
    for column, group in enumerate(groups):
        inside = code == group
        mine = np.repeat(segment_sum(inside.astype(np.float64), offsets), sizes)
        theirs = np.repeat(sizes, sizes) - mine
        both = (mine > 0) & (theirs > 0)
        sides[both, column] = np.where(inside, -1.0 / mine.clip(1), 1.0 / theirs.clip(1))[both]
    return sides


def exposure_excess(log_chance: Any, side: Any, attention: float = 1.0) -> Any:
    """Add up, over the groups, the square of what the others' exposure exceeds the group's by.

    The exposure of a group is the mean chance of its items to be first times ``attention``;
    ``side`` (list x item x group) holds what `exposure_sides` gives.
    """
    gap = attention * (log_chance.exp()[:, :, None] * side).sum(dim=1)
    return gap.clamp_min(0.0).square().sum(dim=1)
