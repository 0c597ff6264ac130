"""Training on Dask workers: assignment of queries, tasks of the workers, and their failures."""

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
from .bin_edges import BINNING, Bins
from .partitions import Lists
from .survey import Survey, balanced_homes, gathered
from .workers import break_connections, hosts_of, keep_to, ports_of, worker_cores

__all__ = ["Grown", "Plan", "Ready", "grow_part", "make_plan", "pinned", "watch"]


#: Seconds between two checks of the workers, and seconds to wait for the end of training on the
#: other workers after one has failed.
CHECK_SECONDS, END_SECONDS = 0.25, 20.0


@dataclass(frozen=True, eq=False)
class Plan:
    """The model to copy to the workers, and the lists, port and cores of each worker."""

    blank: FairLambdaMART
    ready: dict[str, Any]
    valid: Any
    ports: list[int]
    cores: dict[str, tuple[int, ...]]

    def wait(self) -> None:
        """Wait until every worker has its lists; raise errors before the workers connect."""
        for future in self.ready.values():
            error = future.exception()
            if error is not None:
                raise error


def make_plan(model: FairLambdaMART, parts: list[Any], seen: Survey, client: Any) -> Plan:
    """Assign queries to workers, which begin to prepare them."""
    home, held = _homes(model, seen, client)
    pieces = gathered(parts, seen, home)
    workers = sorted(client.nthreads())[: len(pieces) - (held is not None)]
    valid = model.validation if isinstance(model.validation, RankingData) else None
    if held is not None:
        valid = client.submit(Lists.data, seen.lists, client.compute(pieces.pop(held)), pure=False)
    hosts = hosts_of(workers)
    ports = ports_of(client, workers, hosts)
    order = sorted(pieces)
    pieces_of = {a: client.compute(pieces[at]) for a, at in zip(workers, order, strict=True)}
    mean = _cost_mean(model, seen.lists, pieces_of, client)
    blank = _without_data(model)
    ready = {
        address: client.submit(_prepare_part, blank, seen.lists, own, mean, **pinned(address))
        for address, own in pieces_of.items()
    }
    return Plan(blank, ready, valid, ports, worker_cores(client, model.n_jobs, hosts))


def pinned(address: str) -> dict[str, Any]:
    """Return the options of a task that one worker alone runs, without retries."""
    return {"workers": [address], "allow_other_workers": False, "retries": 0, "pure": False}


def _homes(model: FairLambdaMART, seen: Survey, client: Any) -> tuple[np.ndarray, int | None]:
    """Return the worker number of each query, and the number of held-out validation queries."""
    n_workers = min(len(client.nthreads()), seen.n_queries)
    if n_workers == 0:
        raise DataError("client must have at least one worker, got none")
    if model.validation is None or isinstance(model.validation, RankingData):
        return balanced_homes(seen.sizes, n_workers), None
    names = as_ranking_data(np.zeros((seen.n_queries, 1)), qid=np.arange(seen.n_queries))
    _, valid = held_out(names, model.validation, model.random_state, "DaskFairLambdaMART")
    training = np.ones(seen.n_queries, dtype=bool)
    training[[] if valid is None else valid.qids] = False
    home = np.full(seen.n_queries, n_workers)
    home[training] = balanced_homes(seen.sizes[training], min(n_workers, int(training.sum())))
    return home, n_workers


def _cost_mean(
    model: FairLambdaMART, lists: Lists, pieces: dict[str, Any], client: Any
) -> float | None:
    """Return the mean cost of all pairs, over all workers."""
    if model.pair_cost is None and "cost" not in lists.roles.single:
        return None
    sums = client.gather(
        [
            client.submit(_part_cost_sums, model, lists, own, workers=[address], pure=False)
            for address, own in pieces.items()
        ]
    )
    total, count = np.sum(sums, axis=0)
    return float(total / count) if count and total else None


def _without_data(model: FairLambdaMART) -> FairLambdaMART:
    """Return a copy without validation lists, which are sent separately, and options of binning."""
    params = {k: v for k, v in model.get_params(deep=False).items() if k not in BINNING}
    blank = FairLambdaMART(**(params | {"validation": None}))
    for name in ("n_features_in_", "feature_names_in_", "categories_", "groups_"):
        setattr(blank, name, getattr(model, name))
    return blank


# tasks of the workers


@dataclass(frozen=True, eq=False)
class Ready:
    """The lists of a worker, and the objective that holds their groups and costs."""

    data: RankingData
    objective: Objective
    fingerprint: str


@dataclass(frozen=True, eq=False)
class Grown:
    """Result of a worker: the fingerprint of its rows, and, from the first worker, the trees."""

    trees: str | None
    best_iteration: int
    validation_scores: np.ndarray | None
    fingerprint: str
    n_rows: int


def _part_cost_sums(
    model: FairLambdaMART, lists: Lists, frames: Sequence[Any]
) -> tuple[float, float]:
    data = lists.data(frames)
    return cost_sums(data, cost_combination=model.cost_combination, pair_cost=model.pair_cost)


def _prepare_part(
    model: FairLambdaMART, lists: Lists, frames: Sequence[Any], cost_mean: float | None
) -> Ready:
    """Sort the rows of a worker into lists and make the objective for them."""
    data = lists.data(frames)
    model = _local(model)
    fingerprint = data.fingerprint()
    data = model.prepare(data)
    return Ready(data, model.objective(data, cost_mean), fingerprint)


def grow_part(
    model: FairLambdaMART,
    ready: Ready,
    bins: Bins,
    network: dict[str, Any],
    validation: RankingData | None,
    rank: int,
    cores: Sequence[int] = (),
) -> Grown:
    """Grow the trees on the lists of one worker, connected to the others by LightGBM's network."""
    model = _local(model)
    model.set_params(bin_construct_sample_cnt=bins.n_rows)
    with tempfile.TemporaryDirectory() as folder, keep_to(cores):
        path = os.path.join(folder, "reference.bin")
        Path(path).write_bytes(bins.reference)
        valid = None
        if validation is not None:
            plain = replace(validation, score=None, position=None)
            valid = plain if model.base is None else model.prepare(plain)
        binned = model.bin_features(ready.data, valid, reference=path)
        try:
            model.grow(binned, ready.objective, **network)
        finally:
            if network:
                _leave_network()
    return Grown(
        model.booster_.model_to_string(num_iteration=-1) if rank == 0 else None,
        model.best_iteration_,
        getattr(model, "validation_scores_", None),
        ready.fingerprint,
        ready.data.n_rows,
    )


def _leave_network() -> None:
    """Disconnect this thread from LightGBM's network, even if there is no booster."""
    require("lightgbm", "lightgbm").Booster.free_network(SimpleNamespace())


def _local(model: FairLambdaMART) -> FairLambdaMART:
    """Return a copy of the model with the number of threads of this worker."""
    from distributed import get_worker

    model = copy(model)
    threads = get_worker().state.nthreads
    model.n_jobs = min(threads, n_threads(model.n_jobs)) if model.n_jobs else threads
    return model


# failures


def watch(client: Any, futures: dict[str, Any], ports: Sequence[int]) -> list[Any]:
    """Wait for the tasks of the workers; if one fails, end the others and raise its error.

    A task is bound to its worker and to its rank in the network, so Dask cannot move it. If a
    worker leaves, the connections of the others are broken, which ends their training. A worker
    whose training does not end is restarted.
    """
    while True:
        gone = [address for address in futures if address not in client.nthreads()]
        failed = [address for address, future in futures.items() if future.status == "error"]
        if gone or failed:
            break
        if all(future.done() for future in futures.values()):
            return list(client.gather(list(futures.values())))
        _wait_for_next(futures)
    errors = [futures[address].exception() for address in failed]
    _end(client, futures, ports, gone)
    gone = gone or _left(client, futures)
    known = [error for error in errors if isinstance(error, DataError)]
    if known:
        raise known[0]
    if gone:
        raise RuntimeError(
            f"worker {gone[0]} left during training, and training was ended on the other workers. "
            "The cluster can be used again: call fit once more with the workers that are left. A "
            "worker that was killed often ran out of memory."
        ) from (errors[0] if errors else None)
    raise RuntimeError(
        f"training failed on worker {failed[0]}: {errors[0]}. It was ended on the other workers, "
        "and the cluster can be used again."
    ) from errors[0]


def _wait_for_next(futures: dict[str, Any]) -> None:
    """Wait until the next task ends, at most until the next check of the workers."""
    distributed = require("distributed", "dask")
    waiting = [future for future in futures.values() if not future.done()]
    if not waiting:
        return
    with suppress(TimeoutError, distributed.CancelledError):
        distributed.wait(waiting, timeout=CHECK_SECONDS, return_when="FIRST_COMPLETED")


def _left(client: Any, futures: dict[str, Any]) -> list[str]:
    """Return the workers that left, after a short wait: a lost connection may be noticed first."""
    until = time.monotonic() + 3.0
    while time.monotonic() < until:
        present = client.nthreads()
        gone = [address for address in futures if address not in present]
        if gone:
            return gone
        time.sleep(CHECK_SECONDS)
    return []


def _end(client: Any, futures: dict[str, Any], ports: Sequence[int], gone: list[str]) -> None:
    """End training on the workers that are left, and free them."""
    until = time.monotonic() + END_SECONDS
    while time.monotonic() < until:
        present = client.nthreads()
        busy = [a for a, f in futures.items() if a not in gone and a in present and not f.done()]
        if not busy:
            break
        client.run(break_connections, list(ports), workers=busy, on_error="ignore")
        time.sleep(CHECK_SECONDS)
    else:
        client.restart_workers(busy, timeout=60, raise_for_error=False)
    client.cancel(list(futures.values()), force=True)
