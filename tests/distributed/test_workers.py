"""Watching the workers: the client waits for events instead of polling without pause."""

import pytest

from equirank.distributed import tree_growth as training

pytest.importorskip("dask")  # without it the folder of these tests is imported instead
distributed = pytest.importorskip("distributed")


class Task:
    """A future without an error."""

    status = "pending"

    def __init__(self, ended=False):
        self.ended = ended

    def done(self):
        return self.ended


class Workers:
    """A client whose workers are all there."""

    def nthreads(self):
        return {"a": 1, "b": 1}

    def gather(self, futures):
        return [future.ended for future in futures]


@pytest.mark.parametrize("error", [None, TimeoutError, distributed.CancelledError])
def test_between_two_checks_it_waits_for_running_tasks(monkeypatch, error):
    tasks, waits = {"a": Task(ended=True), "b": Task()}, []

    def wait(futures, timeout, return_when):
        waits.append((list(futures), timeout, return_when))
        tasks["b"].ended = len(waits) == 2
        if error is not None:
            raise error("nothing yet")

    monkeypatch.setattr(distributed, "wait", wait)
    assert training.watch(Workers(), tasks, []) == [True, True]
    assert waits == 2 * [([tasks["b"]], training.CHECK_SECONDS, "FIRST_COMPLETED")]
