"""Bridges to torch modules and to functions of the features."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...core.data import RankingData
from ...core.environment import require
from ...core.explain_pair import as_dense
from .bridge import Bridge

__all__ = ["FunctionBridge", "TorchBridge"]


class FunctionBridge(Bridge):
    """Bridge to a function that takes X and returns one number per row."""

    prefit = True

    def matrix(self, model: Any, X: Any, columns: Sequence[int]) -> Any:
        """Return X as it is."""
        return X

    def n_features(self, model: Any) -> int | None:
        """Return None: a function does not state it."""
        return None

    def feature_names(self, model: Any) -> list[str] | None:
        """Return None: a function does not state them."""
        return None

    def scores(self, model: Any, X: Any, data: RankingData) -> Any:
        """Return the values of the function."""
        return model(X)

    def input_tags(self, model: Any) -> tuple[bool, bool]:
        """Return that missing values and sparse features are passed on."""
        return True, True


class TorchBridge(FunctionBridge):
    """Bridge to a torch module, which is called in evaluation mode with a float32 tensor."""

    def scores(self, model: Any, X: Any, data: RankingData) -> Any:
        """Return the output of the module, computed on its own device without gradients."""
        torch = require("torch", "neural")
        first = next(iter(model.parameters()), None)
        dense = np.array(as_dense(X), dtype=np.float32)
        rows = torch.from_numpy(dense).to("cpu" if first is None else first.device)
        training = {part: part.training for part in model.modules()}
        model.eval()
        try:
            with torch.no_grad():
                found = model(rows)
        finally:
            for part, mode in training.items():
                part.training = mode
        return found.detach().cpu().numpy() if hasattr(found, "detach") else found
