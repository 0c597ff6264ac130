"""Watching validation data while trees grow: what LightGBM calls after each round."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ...core.data import RankingData
from ...core.errors import DataError

__all__ = ["watcher"]


def watcher(
    data: RankingData, value: Callable[[RankingData, np.ndarray], float], name: str, higher: bool
) -> Callable[[np.ndarray, Any], tuple[str, float, bool]]:
    """Make what LightGBM calls after each round with the raw scores of the validation rows."""
    plain = replace(data, score=None, position=None)

    def watch(score: np.ndarray, dataset: Any) -> tuple[str, float, bool]:
        found = value(plain, np.asarray(score, dtype=np.float64))
        if np.isnan(found):
            raise DataError(f"metric {name} is undefined in every query of the validation data")
        return name, found, higher

    return watch
