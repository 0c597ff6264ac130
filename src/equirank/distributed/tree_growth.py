"""The plan of a training: which worker has which lists, its port and its cores."""

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

from ..core.data import RankingData, as_ranking_data
from ..core.environment import require
from ..core.errors import DataError
from ..rankers.early_stopping import held_out
from ..rankers.lambdamart.fair_lambdamart import FairLambdaMART
from ..rankers.lambdamart.lightgbm_params import n_threads
from ..rankers.lambdamart.objective import Objective, cost_sums
from ..rankers.lambdamart.tree_ranker import Prepared, as_matrix
from .bin_edges import BINNING, Bins
from .partitions import Lists
from .survey import Survey, balanced_homes, gathered
from .workers import break_connections, hosts_of, keep_to, ports_of, worker_cores

__all__ = [
    "Grown",
    "Plan",
    "Ready",
    "grow_part",
    "make_plan",
    "part_cost_sums",
    "pinned",
    "prepare_part",
    "watch",
]


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
    """Return the model for this worker: its threads, and bins that are not its own to find."""
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


@dataclass(frozen=True, eq=False)
class Plan:
    """Who grows trees on what: the model to copy, and each worker's lists, port and cores."""

    blank: FairLambdaMART
    ready: dict[str, Any]
    valid: Any
    ports: list[int]
    cores: dict[str, tuple[int, ...]]

    def wait(self) -> None:
        """Wait until every worker has its lists; what is wrong is said before they connect."""
        for future in self.ready.values():
            error = future.exception()
            if error is not None:
                raise error


def make_plan(model: FairLambdaMART, parts: list[Any], seen: Survey, client: Any) -> Plan:
    """Return each worker its queries, and let it begin to prepare them."""
    home, held = _homes(model, seen, client)
    pieces = gathered(parts, seen, home)
    workers = sorted(client.nthreads())[: len(pieces) - (held is not None)]
    valid = model.validation if isinstance(model.validation, RankingData) else None
    if held is not None:
        valid = client.submit(_joined, seen.lists, client.compute(pieces.pop(held)), pure=False)
    hosts = hosts_of(workers)
    ports = ports_of(client, workers, hosts)
    order = sorted(pieces)
    pieces_of = {a: client.compute(pieces[at]) for a, at in zip(workers, order, strict=True)}
    mean = _cost_mean(model, seen.lists, pieces_of, client)
    blank = _without_data(model)
    ready = {
        address: client.submit(prepare_part, blank, seen.lists, own, mean, **pinned(address))
        for address, own in pieces_of.items()
    }
    return Plan(blank, ready, valid, ports, worker_cores(client, model.n_jobs, hosts))


def pinned(address: str) -> dict[str, Any]:
    """Say that a task is for one worker alone, and is not tried again."""
    return {"workers": [address], "allow_other_workers": False, "retries": 0, "pure": False}


def _homes(model: FairLambdaMART, seen: Survey, client: Any) -> tuple[np.ndarray, int | None]:
    """Return each query its worker; those held out for validation have a home of their own."""
    n_workers = min(len(client.nthreads()), seen.n_queries)
    if n_workers == 0:
        raise DataError("client must have at least one worker, got none")
    if model.validation is None or isinstance(model.validation, RankingData):
        return balanced_homes(seen.sizes, n_workers), None
    names = as_ranking_data(np.zeros((seen.n_queries, 1)), qid=np.arange(seen.n_queries))
    _, valid = held_out(names, model.validation, model.random_state, "DaskFairLambdaMART")
    kept = np.ones(seen.n_queries, dtype=bool)
    kept[[] if valid is None else valid.qids] = False
    home = np.full(seen.n_queries, n_workers)
    home[kept] = balanced_homes(seen.sizes[kept], min(n_workers, int(kept.sum())))
    return home, n_workers


def _cost_mean(
    model: FairLambdaMART, lists: Lists, pieces: dict[str, Any], client: Any
) -> float | None:
    """Return the mean cost of all pairs, over all workers."""
    if model.pair_cost is None and "cost" not in lists.roles.single:
        return None
    sums = client.gather(
        [
            client.submit(part_cost_sums, model, lists, own, workers=[address], pure=False)
            for address, own in pieces.items()
        ]
    )
    total, count = np.sum(sums, axis=0)
    return float(total / count) if count and total else None


def _joined(lists: Lists, frames: list[Any]) -> RankingData:
    return lists.data(frames)


def _without_data(model: FairLambdaMART) -> FairLambdaMART:
    """Leave the validation lists out: they travel by themselves."""
    blank = FairLambdaMART(**(model.get_params(deep=False) | {"validation": None}))
    for name in ("n_features_in_", "feature_names_in_", "categories_", "groups_"):
        setattr(blank, name, getattr(model, name))
    return blank
