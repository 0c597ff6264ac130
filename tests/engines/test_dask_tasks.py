"""Waiting for workers: results come, or an error says which worker left."""

import asyncio
import threading
from concurrent.futures import wait
from types import SimpleNamespace

import pytest
from waiting import LIMIT, ended

from equirank.engines import dask_tasks as workers

pytest.importorskip("dask")  # without it the folder of these tests is imported instead
distributed = pytest.importorskip("distributed")


class Cluster:
    """A client of two workers; what a test plans for a check happens during it, on any machine."""

    def __init__(self):
        loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=loop.run_forever, daemon=True)
        self.thread.start()
        self.loop = SimpleNamespace(asyncio_loop=loop)
        self.present, self.n_checks, self.pauses = {"a": 1, "b": 1}, 0, []
        self.plan = {}
        self.end = loop.create_future()

    def wait(self, pending, seconds):
        self.pauses.append(seconds)
        return wait(pending, seconds)

    def nthreads(self):
        self.n_checks += 1
        assert self.n_checks < LIMIT / 0.02  # a call that should have ended
        self.plan.get(self.n_checks, list)()
        return dict(self.present)

    async def gather(self, futures, asynchronous):
        assert asynchronous
        return await self.end

    def finish(self, set_state, value):
        self.loop.asyncio_loop.call_soon_threadsafe(set_state, value)


@pytest.fixture
def cluster(monkeypatch):
    monkeypatch.setattr(workers, "CHECK_SECONDS", 0.02)
    monkeypatch.setattr(workers, "ALONE_SECONDS", 0.1)
    cluster = Cluster()
    monkeypatch.setattr(workers, "wait", cluster.wait)
    yield cluster
    cluster.loop.asyncio_loop.call_soon_threadsafe(cluster.loop.asyncio_loop.stop)
    ended(cluster.thread)
    cluster.loop.asyncio_loop.close()


def test_results_come_although_an_unbound_worker_left(cluster):
    del cluster.present["b"]
    cluster.plan[4] = lambda: cluster.finish(cluster.end.set_result, [1, 2])
    assert workers.results(cluster, [None, None], ["a"]) == [1, 2]
    assert cluster.n_checks >= 4
    assert cluster.pauses == [0.02] * (cluster.n_checks + 1)  # it waits between checks


def test_a_bound_worker_that_left_is_named(cluster):
    cluster.plan[3] = lambda: cluster.present.pop("b")
    with pytest.raises(RuntimeError, match="worker b left during training"):
        workers.results(cluster, [None], ["a", "b"])
    assert cluster.n_checks == 3
    cluster.finish(cluster.end.set_result, None)


def test_without_any_worker_the_call_ends(cluster):
    cluster.plan[3] = cluster.present.clear
    with pytest.raises(RuntimeError, match=r"the last worker left, and none came within 0\.1"):
        workers.results(cluster, [None])
    assert cluster.n_checks > 3
    cluster.finish(cluster.end.set_result, None)


def test_a_cluster_that_begins_without_workers_is_waited_for(cluster):
    cluster.present.clear()
    cluster.plan[12] = lambda: cluster.finish(cluster.end.set_result, [3])  # after over 0.2 s
    assert workers.results(cluster, [None]) == [3]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (distributed.CancelledError("lost"), "a worker left that held data which cannot"),
        (
            distributed.KilledWorker("task", SimpleNamespace(address="tcp://a:1"), 3),
            "worker tcp://a:1 left during a task that had ended 3 workers before",
        ),
        (ValueError("of a task"), "^of a task"),
    ],
)
def test_errors_of_dask_are_put_into_words(cluster, error, words):
    cluster.finish(cluster.end.set_exception, error)
    with pytest.raises((RuntimeError, ValueError), match=words):
        workers.results(cluster, [None])
