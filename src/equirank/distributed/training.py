"""Training: what runs on each worker, and how the client watches over all of them."""

import os
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..core.data import RankingData
from ..core.errors import DataError
from ..core.extras import require
from ..rankers.lambdamart.fair_lambdamart import FairLambdaMART
from ..rankers.lambdamart.lightgbm_params import n_threads
from ..rankers.lambdamart.objective import Objective
from ..rankers.lambdamart.performance_part import cost_sums
from ..rankers.lambdamart.tree_ranker import Prepared, as_matrix
from .bin_edges import BINNING, Bins
from .cores import keep_to
from .lists import Lists
from .network import break_connections

__all__ = ["Grown", "Ready", "grow_part", "part_cost_sums", "prepare_part", "watch"]

#: Seconds between two looks at the workers, and how long training may take to end on the others
#: once it has failed on one.
LOOK, PATIENCE = 0.25, 20.0


@dataclass(frozen=True, eq=False)
class Ready:
    """A worker's lists, and the objective that closes over their groups and costs."""

    data: RankingData
    objective: Objective
    fingerprint: str


@dataclass(frozen=True, eq=False)
class Grown:
    """What a worker gives back: the trees from the first, the fingerprint of its rows from all."""

    trees: str | None
    best_iteration: int
    validation_scores: np.ndarray | None
    fingerprint: str
    n_rows: int


def part_cost_sums(
    model: FairLambdaMART, lists: Lists, frames: Sequence[Any]
) -> tuple[float, float]:
    """Add up the costs of a worker's pairs: their mean is one number for all workers."""
    data = lists.data(frames)
    return cost_sums(data, cost_combination=model.cost_combination, pair_cost=model.pair_cost)


def prepare_part(
    model: FairLambdaMART, lists: Lists, frames: Sequence[Any], cost_mean: float | None
) -> Ready:
    """Sort a worker's rows into lists and prepare the objective, which closes over them."""
    data = lists.data(frames)
    model = _local(model)
    model._check_finite(data)
    fingerprint = data.fingerprint()
    data = model._with_base(replace(data, score=None, position=None))
    return Ready(data, model._objective(data, cost_mean), fingerprint)


def grow_part(
    model: FairLambdaMART,
    ready: Ready,
    bins: Bins,
    network: dict[str, Any],
    validation: RankingData | None,
    rank: int,
    cores: Sequence[int] = (),
) -> Grown:
    """Grow the trees on one worker's lists, together with the others over LightGBM's network."""
    lightgbm = require("lightgbm", "lightgbm")
    model = _local(model, bins)
    params = model._lightgbm_params() | {"enable_bundle": False, "feature_pre_filter": False}
    with tempfile.TemporaryDirectory() as folder, keep_to(cores):
        path = os.path.join(folder, "reference.bin")
        Path(path).write_bytes(bins.reference)
        reference = lightgbm.Dataset(path, params=params).construct()
        train_set = _binned(model, ready.data, reference, params)
        valid = valid_set = None
        if validation is not None:
            valid = replace(validation, position=None)
            valid = replace(valid, score=None) if model.base is None else model._with_base(valid)
            valid_set = _binned(model, valid, reference, params)
        prepared = Prepared(ready.data, valid, train_set, valid_set)
        try:
            model._grow(prepared, ready.objective, **network)
        finally:
            if network:
                _leave_network(lightgbm)
    return Grown(
        model.booster_.model_to_string(num_iteration=-1) if rank == 0 else None,
        model.best_iteration_,
        getattr(model, "validation_scores_", None),
        ready.fingerprint,
        ready.data.n_rows,
    )


def _leave_network(lightgbm: Any) -> None:
    """Take this thread out of LightGBM's network, also where there is no booster to ask."""
    lightgbm.Booster.free_network(SimpleNamespace())


def _local(model: FairLambdaMART, bins: Bins | None = None) -> FairLambdaMART:
    """Give the model for this worker: its threads, and bins that are not its own to find."""
    from distributed import get_worker

    model = copy(model)
    threads = get_worker().state.nthreads
    model.n_jobs = min(threads, n_threads(model.n_jobs)) if model.n_jobs else threads
    kept = {k: v for k, v in getattr(model, "_more", {}).items() if k not in BINNING}
    model._more = kept if bins is None else kept | {"bin_construct_sample_cnt": bins.n_rows}
    return model


def _binned(
    model: FairLambdaMART, data: RankingData, reference: Any, params: dict[str, Any]
) -> Any:
    return (
        require("lightgbm", "lightgbm")
        .Dataset(
            as_matrix(data.X),
            model._label(data),
            weight=model._weight(data),
            init_score=data.score,
            categorical_feature=model._categorical(data),
            reference=reference,
            params=params,
        )
        .construct()
    )


def watch(client: Any, futures: dict[str, Any], ports: Sequence[int]) -> list[Any]:
    """Wait for the workers' tasks; where one fails, end the others and say which and why.

    A task is bound to its worker and to its place in the network, so Dask cannot move it. Where
    a worker leaves, the connections of the others are broken, which ends their training, and a
    worker on which it does not end is started anew.
    """
    while True:
        gone = [address for address in futures if address not in client.nthreads()]
        failed = [address for address, future in futures.items() if future.status == "error"]
        if gone or failed:
            break
        if all(future.done() for future in futures.values()):
            return list(client.gather(list(futures.values())))
        _next_news(futures)
    errors = [futures[address].exception() for address in failed]
    _end(client, futures, ports, gone)
    gone = gone or _left(client, futures)
    known = [error for error in errors if isinstance(error, DataError)]
    if known:
        raise known[0]
    if gone:
        raise RuntimeError(
            f"worker {gone[0]} left while the trees grew, and training was ended on the others. "
            "The cluster can be used again: fit once more, with the workers that are there. A "
            "worker that was killed had often run out of memory."
        ) from (errors[0] if errors else None)
    raise RuntimeError(
        f"training failed on worker {failed[0]}: {errors[0]}. It was ended on the others, and the "
        "cluster can be used again."
    ) from errors[0]


def _next_news(futures: dict[str, Any]) -> None:
    """Wait until the next task ends, but no longer than until the next look at the workers."""
    distributed = require("distributed", "dask")
    waiting = [future for future in futures.values() if not future.done()]
    if not waiting:
        return
    with suppress(TimeoutError, distributed.CancelledError):
        distributed.wait(waiting, timeout=LOOK, return_when="FIRST_COMPLETED")


def _left(client: Any, futures: dict[str, Any]) -> list[str]:
    """Wait a little for the news that a worker is gone: a lost connection may come first."""
    until = time.monotonic() + 3.0
    while time.monotonic() < until:
        here = client.nthreads()
        gone = [address for address in futures if address not in here]
        if gone:
            return gone
        time.sleep(LOOK)
    return []


def _end(client: Any, futures: dict[str, Any], ports: Sequence[int], gone: list[str]) -> None:
    """End training on the workers that are left, and free them."""
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        here = client.nthreads()
        busy = [a for a, f in futures.items() if a not in gone and a in here and not f.done()]
        if not busy:
            break
        client.run(break_connections, list(ports), workers=busy, on_error="ignore")
        time.sleep(LOOK)
    else:
        client.restart_workers(busy, timeout=60, raise_for_error=False)
    client.cancel(list(futures.values()), force=True)
