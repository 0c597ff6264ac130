"""LightGBM's own parameters: which names it knows, and which of them are ours to set."""

import os
from collections.abc import Iterable
from typing import Any

from ...core.errors import DataError
from ...core.extras import require
from ...core.names import suggest
from ...core.random import as_seed

__all__ = ["check_names", "lightgbm_params", "n_threads"]

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
    """Give the number of threads: None and -1 stand for all cores this process may use."""
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
