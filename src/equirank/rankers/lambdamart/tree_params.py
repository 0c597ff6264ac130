"""Constraints of the parameters that the rankers on LightGBM share."""

from dataclasses import dataclass
from typing import Any

from ...core.data import RankingData
from ...core.errors import DataError
from ...core.names import parse_metrics
from ...core.pair_cost import PairCost
from ...core.params import Vector

__all__ = ["Columns", "Costs", "Function", "MetricName", "ModelOrScores", "Rows"]


@dataclass(frozen=True)
class Rows:
    """A `RankingData`."""

    def accepts(self, value: Any) -> bool:
        """Say whether the value is one."""
        return isinstance(value, RankingData)

    def __str__(self) -> str:
        """Finish the sentence 'must be ...'."""
        return "a RankingData"


@dataclass(frozen=True)
class Costs:
    """A `PairCost`."""

    def accepts(self, value: Any) -> bool:
        """Say whether the value is one."""
        return isinstance(value, PairCost)

    def __str__(self) -> str:
        """Finish the sentence 'must be ...'."""
        return "a PairCost"


@dataclass(frozen=True)
class Function:
    """Something that can be called."""

    def accepts(self, value: Any) -> bool:
        """Say whether the value is such a thing."""
        return callable(value)

    def __str__(self) -> str:
        """Finish the sentence 'must be ...'."""
        return "a function of (count, cut, n, size)"


@dataclass(frozen=True)
class ModelOrScores:
    """None, a model with ``predict``, or a score per training row."""

    def accepts(self, value: Any) -> bool:
        """Say whether the value is one of these."""
        return value is None or hasattr(value, "predict") or Vector().accepts(value)

    def __str__(self) -> str:
        """Finish the sentence 'must be ...'."""
        return "a model with predict, a score for each row, or None"


@dataclass(frozen=True)
class Columns:
    """Columns of X, by name or number."""

    def accepts(self, value: Any) -> bool:
        """Say whether the value is a list of such."""
        return isinstance(value, (list, tuple)) and all(
            isinstance(part, str) or (isinstance(part, int) and part >= 0) for part in value
        )

    def __str__(self) -> str:
        """Finish the sentence 'must be ...'."""
        return "a list of columns of X, by name or number"


@dataclass(frozen=True)
class MetricName:
    """A metric of equirank, or its name; further words where a class has its own."""

    words: tuple[str, ...] = ()

    def accepts(self, value: Any) -> bool:
        """Say whether the value is one metric."""
        if isinstance(value, str) and value in self.words:
            return True
        try:
            return len(parse_metrics(value)) == 1
        except DataError:
            return False

    def __str__(self) -> str:
        """Finish the sentence 'must be ...'."""
        more = "".join(f", or {word!r}" for word in self.words)
        return f"a metric or its name, such as 'NDCG@10'{more}"
