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

from ..core.data import RankingData
from ..core.encoding import Encoding
from ..core.environment import require
from ..core.errors import DataError
from ..core.given_data import as_ranking_data
from ..engines.dask_tasks import CHECK_SECONDS, WorkerLeft, left, results
from ..rankers.early_stopping import held_out
from ..rankers.lambdamart.fair_lambdamart import FairLambdaMART
from ..rankers.lambdamart.lightgbm_params import n_threads, without_output
from ..rankers.lambdamart.objective import FairObjective, cost_sums
from .bin_edges import BINNING, Bins
from .partitions import Lists
from .survey import Survey, balanced_homes, gathered
from .workers import ask, break_connections, hosts_of, keep_to, pinned, ports_of, worker_cores

__all__ = ["Grown", "Plan", "Ready", "grow_part", "make_plan", "watch"]


#: Parameters of the network that growing trees needs once the machines are connected.
LEARNER = ("num_machines", "tree_learner")
#: Seconds to wait for the end of training on the other workers after one has failed, and then
#: seconds for their restart.
END_SECONDS, RESTART_SECONDS = 8.0, 12.0


@dataclass(frozen=True, eq=False)
class Plan:
    """The model to copy to the workers, and the lists, port and cores of each worker."""

    blank: FairLambdaMART
    ready: dict[str, Any]
    valid: Any
    ports: list[int]
    cores: dict[str, tuple[int, ...]]

    def wait(self, client: Any) -> None:
        """Wait until every worker has its lists; raise errors before the workers connect."""
        ask(client, _n_rows, {address: (future,) for address, future in self.ready.items()})


def make_plan(model: FairLambdaMART, parts: list[Any], seen: Survey, client: Any) -> Plan:
    """Assign queries to workers, which begin to prepare them."""
    threads = dict(client.nthreads())
    home, held = _homes(model, seen, len(threads))
    pieces = gathered(parts, seen, home)
    workers = sorted(threads)[: len(pieces) - (held is not None)]
    valid = None
    if isinstance(model.validation, RankingData):
        valid = as_ranking_data(model.validation, like=_encoding(model))
    if held is not None:
        valid = client.submit(Lists.data, seen.lists, client.compute(pieces.pop(held)), pure=False)
    hosts = hosts_of(workers)
    ports = ports_of(client, workers, hosts)
    cores = worker_cores(client, threads, model.n_jobs, hosts)
    order = sorted(pieces)
    pieces_of = {a: client.compute(pieces[at]) for a, at in zip(workers, order, strict=True)}
    mean = _cost_mean(model, seen.lists, pieces_of, client)
    blank = _without_data(model)
    ready = {
        address: client.submit(_prepare_part, blank, seen.lists, own, mean, **pinned(address))
        for address, own in pieces_of.items()
    }
    return Plan(blank, ready, valid, ports, cores)


def _homes(model: FairLambdaMART, seen: Survey, n_workers: int) -> tuple[np.ndarray, int | None]:
    """Return the worker number of each query, and the number of held-out validation queries."""
    n_workers = min(n_workers, seen.n_queries)
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
    given = {address: (model, lists, own) for address, own in pieces.items()}
    total, count = np.sum(list(ask(client, _part_cost_sums, given).values()), axis=0)
    return float(total / count) if count and total else None


def _encoding(model: FairLambdaMART) -> Encoding:
    """Return the features and categories of training, before the trees are grown."""
    categories = {name: tuple(labels) for name, labels in model.categories_.items()}
    return Encoding(tuple(map(str, model.feature_names_in_)), categories)


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
    objective: FairObjective
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
    data.known_attribute(model.by, type(model).__name__)  # parts cannot estimate memberships alike
    fingerprint = data.fingerprint()
    data = model.prepare(data)
    return Ready(data, model.objective(data, cost_mean), fingerprint)


def _n_rows(ready: Ready) -> int:
    return ready.data.n_rows


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
            if network:
                _join_network(model, network)
            model.grow(binned, ready.objective, **{k: network[k] for k in LEARNER if k in network})
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


def _join_network(model: FairLambdaMART, network: dict[str, Any]) -> None:
    """Connect this thread with the other machines of LightGBM's network."""
    booster = require("lightgbm", "lightgbm").Booster
    given = {name: value for name, value in network.items() if name != "tree_learner"}
    given["listen_time_out"] = model.options.get("time_out", 120)
    with without_output():  # of the thread that waits for the others
        booster.set_network(SimpleNamespace(), **given)


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
    try:
        return results(client, futures.values(), futures)
    except WorkerLeft:
        _end(client, futures, ports)
        raise
    except Exception as error:
        failed = {a: f.exception() for a, f in futures.items() if f.status == "error"}
        _end(client, futures, ports)
        known = [each for each in failed.values() if isinstance(each, DataError)]
        if known:
            raise known[0] from None
        gone = _left(client, futures)
        if gone:
            raise left(gone[0]) from error
        raise RuntimeError(
            f"training failed on worker {next(iter(failed), 'of the cluster')}: {error}. It was "
            "ended on the other workers, and the cluster can be used again."
        ) from error
    except BaseException:  # an interrupt
        _end(client, futures, ports)
        raise


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


def _end(client: Any, futures: dict[str, Any], ports: Sequence[int]) -> None:
    """End training on the workers that are left, and free them."""
    until = time.monotonic() + END_SECONDS
    while time.monotonic() < until:
        present = client.nthreads()
        busy = [address for address, f in futures.items() if address in present and not f.done()]
        if not busy:
            break
        client.run(break_connections, list(ports), workers=busy, on_error="ignore")
        time.sleep(CHECK_SECONDS)
    else:
        with suppress(ValueError):  # only workers with a nanny can be restarted
            client.restart_workers(busy, timeout=RESTART_SECONDS, raise_for_error=False)
    client.cancel(list(futures.values()), force=True)
