"""The plan of a training: which worker has which lists, its port and its cores."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.data import RankingData, as_ranking_data
from ..core.errors import DataError
from ..rankers.lambdamart.fair_lambdamart import FairLambdaMART
from ..rankers.validation import held_out
from .cores import worker_cores
from .lists import Lists
from .network import hosts_of, ports_of
from .survey import Survey
from .training import part_cost_sums, prepare_part
from .whole_queries import balanced_homes, gathered

__all__ = ["Plan", "make_plan", "pinned"]


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
    """Give each worker its queries, and let it begin to prepare them."""
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
    """Give each query its worker; those held out for validation have a home of their own."""
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
    """Give the mean cost of all pairs, over all workers."""
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
