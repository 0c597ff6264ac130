"""LightGBM's own parameters: which names it knows, and which of them are ours to set."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np

from ...core.data import RankingData
from ...core.environment import require
from ...core.errors import DataError, suggest
from ...core.pair_cost import PairCost
from ...core.params import Vector
from ...core.random import as_seed
from ...core.registry import parse_metrics

__all__ = [
    "Columns",
    "Costs",
    "Function",
    "MetricName",
    "ModelOrScores",
    "Rows",
    "check_names",
    "encode_frame",
    "find_categories",
    "lightgbm_params",
    "n_threads",
]


#: Set by the class or through a parameter of ours; passing them on would contradict it.
OURS = {
    "objective": "the class sets it",
    "metric": "the metric watched is a metric of equirank",
    "num_iterations": "say n_estimators",
    "learning_rate": "say learning_rate",
    "num_leaves": "say num_leaves",
    "min_data_in_leaf": "say min_child_samples",
    "early_stopping_round": "say early_stopping",
    "num_threads": "say n_jobs",
    "seed": "say random_state",
    "num_class": "the class sets it",
    "categorical_feature": "say categorical",
    "lambdarank_truncation_level": "say truncation",
    "lambdarank_norm": "say normalize",
    "sigmoid": "say sigma",
    "verbosity": "the library prints nothing",
}


def n_threads(n_jobs: int | None) -> int:
    """Return the number of threads: None and -1 stand for all cores this process may use."""
    if n_jobs is None or n_jobs < 1:
        affinity = getattr(os, "sched_getaffinity", None)
        return len(affinity(0)) if affinity else (os.cpu_count() or 1)
    return int(n_jobs)


def check_names(owner: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse parameters that LightGBM does not know or that are ours to set."""
    lightgbm = require("lightgbm", "lightgbm")
    aliases = getattr(lightgbm.basic, "_ConfigAliases", None)
    if aliases is None:
        return
    lightgbm_names = set(aliases._get_all_param_aliases())
    every = {name: aliases.get(name) for name in lightgbm_names}
    for name in given:
        for main, why in OURS.items():
            if name in every.get(main, {main}):
                raise DataError(f"{name} must not be given to {owner}: {why}")
        if not any(name in names for names in every.values()):
            hint = suggest(name, [*known, *lightgbm_names])
            raise DataError(
                f"{name} must be a parameter of {owner} or of LightGBM, and is neither{hint}"
            )


def lightgbm_params(
    *,
    learning_rate: float,
    num_leaves: int,
    min_child_samples: int,
    n_jobs: int | None,
    random_state: Any,
    more: dict[str, Any],
) -> dict[str, Any]:
    """Put LightGBM's parameters together; what the user passes on comes last and counts.

    Histograms are built by column and in a fixed order, so that neither the number of threads nor
    the load of the machine changes a result.
    """
    params: dict[str, Any] = {
        "learning_rate": learning_rate,
        "num_leaves": num_leaves,
        "min_data_in_leaf": min_child_samples,
        "num_threads": n_threads(n_jobs),
        "verbosity": -1,
        "deterministic": True,
    }
    if not {"force_row_wise", "force_col_wise"} & set(more):
        params["force_col_wise"] = True
    if random_state is not None:
        params["seed"] = as_seed(random_state) % (2**31 - 1)
    return params | more


def find_categories(X: Any) -> dict[str, list[str]]:
    """Return the categories of each column of text or categories, sorted; nothing for arrays.

    Examples
    --------
    >>> import pandas as pd
    >>> find_categories(pd.DataFrame({"age": [31, 40], "city": ["Rome", "Bonn"]}))
    {'city': ['Bonn', 'Rome']}
    """
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return {}
    kinds = (nw.String, nw.Categorical, nw.Enum, nw.Object)
    return {
        name: sorted({str(value) for value in frame[name].to_list() if _there(value)})
        for name, kind in frame.schema.items()
        if isinstance(kind, kinds) or kind in kinds
    }


def encode_frame(X: Any, categories: dict[str, list[str]]) -> Any:
    """Replace those columns by the numbers of their categories; missing and unknown become NaN."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not categories or not isinstance(frame, nw.DataFrame):
        return X
    columns = []
    for name, labels in categories.items():
        if name not in frame.columns:
            continue  # scikit-learn's own check says which names are missing
        number = {label: float(at) for at, label in enumerate(labels)}
        values = frame[name].to_list()
        codes = [number.get(str(v), np.nan) if _there(v) else np.nan for v in values]
        columns.append(
            nw.new_series(name, np.array(codes), nw.Float64, backend=frame.implementation)
        )
    return frame.with_columns(*columns).to_native()


def _there(value: Any) -> bool:
    return value is not None and value == value


@dataclass(frozen=True)
class Rows:
    """A `RankingData`."""

    def accepts(self, value: Any) -> bool:
        """Return whether the value is one."""
        return isinstance(value, RankingData)

    def __str__(self) -> str:
        """Finish the sentence 'must be ...'."""
        return "a RankingData"


@dataclass(frozen=True)
class Costs:
    """A `PairCost`."""

    def accepts(self, value: Any) -> bool:
        """Return whether the value is one."""
        return isinstance(value, PairCost)

    def __str__(self) -> str:
        """Finish the sentence 'must be ...'."""
        return "a PairCost"


@dataclass(frozen=True)
class Function:
    """Something that can be called."""

    def accepts(self, value: Any) -> bool:
        """Return whether the value is such a thing."""
        return callable(value)

    def __str__(self) -> str:
        """Finish the sentence 'must be ...'."""
        return "a function of (count, cut, n, size)"


@dataclass(frozen=True)
class ModelOrScores:
    """None, a model with ``predict``, or a score per training row."""

    def accepts(self, value: Any) -> bool:
        """Return whether the value is one of these."""
        return value is None or hasattr(value, "predict") or Vector().accepts(value)

    def __str__(self) -> str:
        """Finish the sentence 'must be ...'."""
        return "a model with predict, a score for each row, or None"


@dataclass(frozen=True)
class Columns:
    """Columns of X, by name or number."""

    def accepts(self, value: Any) -> bool:
        """Return whether the value is a list of such."""
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
        """Return whether the value is one metric."""
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
