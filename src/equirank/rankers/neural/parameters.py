"""Parameters that every neural ranker shares."""

import os
from dataclasses import dataclass
from typing import Any, cast

from ...core.data import RankingData
from ...core.metric import Metric
from ...core.params import AnyOf, Choice, Constraint, Instance, Integer, Number, Optional
from .network import ACTIVATIONS
from .training import SCHEDULES

__all__ = ["COMMON", "Widths"]


@dataclass(frozen=True)
class Widths:
    """Widths of layers: a tuple or list of integers >= 1, also an empty one."""

    def accepts(self, value: Any) -> bool:
        """Say whether the value is such a sequence."""
        return isinstance(value, (tuple, list)) and all(Integer(1).accepts(w) for w in value)

    def __str__(self) -> str:
        """Finish the sentence 'must be ...'."""
        return "a tuple or list of integers >= 1"


#: Parameters that every neural ranker shares, and what each may be.
COMMON: dict[str, Constraint] = {
    "layers": Widths(),
    "activation": Choice(*ACTIVATIONS),
    "n_epochs": Integer(0),
    "max_steps": Optional(Integer(0)),
    "batch_size": Integer(1),
    "learning_rate": Number(0.0, open_low=True),
    "schedule": Choice(*SCHEDULES),
    "clip": Optional(Number(0.0, open_low=True)),
    "weight_decay": Number(0.0),
    "early_stopping": Optional(Integer(1)),
    "validation": AnyOf(
        Number(0.0, 1.0, open_low=True, open_high=True),
        Optional(Instance(RankingData, "a RankingData")),
    ),
    "metric": AnyOf(Instance(str, "a metric's name"), Instance(Metric, "a metric")),
    "device": Choice("cpu", "cuda", "auto"),
    "precision": Choice("float32", "float64", "mixed"),
    "checkpoint": Optional(Instance(cast(type, str | os.PathLike), "a folder")),
    "n_jobs": Optional(Integer()),
}
