"""Adversaries that predict the sensitive attribute from a representation, and gradient reversal."""

from typing import Any

import numpy as np

from ...core.attribute import Attribute
from ...core.data import RankingData
from ...core.environment import require
from .network import Layers, Net

__all__ = ["adversary_layers", "attributes_of", "cross_entropy", "reverse", "sensitive_columns"]


#: Code of an unknown label.
UNKNOWN = -1


def reverse(features: Any, gamma: Any) -> Any:
    """Return the features unchanged, with their gradient reversed and scaled by ``gamma``.

    ``gamma`` may be a tensor over which `torch.func` maps.
    """
    fixed = features.detach()
    return fixed - gamma * (features - fixed)


def attributes_of(data: RankingData, by: Any) -> list[Attribute]:
    """Return the attributes to hide: all, or the one or the crossing that ``by`` names."""
    return list(data.sensitive.values()) if by is None else [data.attribute(by)]


def sensitive_columns(data: RankingData, by: Any) -> np.ndarray:
    """Return the codes of the attributes side by side (row x attribute)."""
    codes = [attribute.codes.astype(np.int64) for attribute in attributes_of(data, by)]
    return np.stack(codes, axis=1)


def adversary_layers(
    role: str, data: RankingData, by: Any, width: int, layers: Any
) -> tuple[Layers, ...]:
    """Return one classifier of groups per attribute, named ``adversary.<role>.<number>``."""
    return tuple(
        Layers(f"adversary.{role}.{at}", (width, *layers, len(attribute.categories)))
        for at, attribute in enumerate(attributes_of(data, by))
    )


def cross_entropy(net: Net, role: str, features: Any, codes: Any, weight: Any) -> Any:
    """Return the weighted loss of one role's adversaries, summed over the attributes.

    Rows with an unknown label (-1) have no loss.
    """
    torch = require("torch", "neural")
    total = 0.0
    for at in range(codes.shape[-1]):
        logits = net.part(f"adversary.{role}.{at}", features)
        code = codes[..., at]
        each = torch.nn.functional.cross_entropy(
            logits, code, reduction="none", ignore_index=UNKNOWN
        )
        total = total + (each * weight).mean()
    return total
