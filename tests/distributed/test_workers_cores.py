"""Cores: shared out only where the workers fill a machine, and given back afterwards."""

import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from waiting import LIMIT, ended

from equirank.distributed import workers
from equirank.distributed.workers import allowed_cores, hosts_of, keep_to, share_cores, worker_cores

linux = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity here")


@pytest.mark.slow
@given(st.lists(st.integers(1, 4), min_size=2, max_size=5), st.integers(-2, 2))
def test_every_core_has_one_worker_or_nobody_is_bound(sizes, spare):
    names = [f"w{at}" for at in range(len(sizes))]
    cores = tuple(range(3, 3 + sum(sizes) + spare))
    found = share_cores(dict.fromkeys(names, cores), dict(zip(names, sizes, strict=True)))
    if spare:
        assert found == {}
    else:
        assert [len(found[name]) for name in names] == sizes
        assert sorted(core for own in found.values() for core in own) == list(cores)


def test_nobody_is_bound_whose_cores_are_not_those_of_all():
    threads = {"a": 1, "b": 1}
    assert share_cores({"a": (0, 1), "b": (1, 2)}, threads) == {}
    assert share_cores({"a": (0,)}, threads) == {}
    assert share_cores({"a": (), "b": ()}, threads) == {}
    assert share_cores({}, threads) == {}


@pytest.mark.parametrize(
    ("n_jobs", "n_cores", "wanted"),
    [
        (None, 6, {"tcp://a:1": (0, 1), "tcp://a:2": (2, 3, 4, 5)}),
        (-1, 6, {"tcp://a:1": (0, 1), "tcp://a:2": (2, 3, 4, 5)}),
        (1, 2, {"tcp://a:1": (0,), "tcp://a:2": (1,)}),
        (1, 6, {}),
        (3, 5, {"tcp://a:1": (0, 1), "tcp://a:2": (2, 3, 4)}),
    ],
)
def test_workers_that_fill_a_machine_keep_to_cores_of_their_own(
    monkeypatch, n_jobs, n_cores, wanted
):
    threads = {"tcp://a:1": 2, "tcp://a:2": 4, "tcp://b:1": 6}

    def ask(client, task, given):
        return dict.fromkeys(given, tuple(range(n_cores)))

    monkeypatch.setattr(workers, "ask", ask)
    assert worker_cores(None, threads, n_jobs, hosts_of(list(threads))) == wanted
    assert worker_cores(None, threads, n_jobs, hosts_of(["tcp://a:1"])) == {}


@linux
def test_threads_started_meanwhile_are_bound_and_all_are_free_afterwards():
    before = allowed_cores()
    seen, stop, started = [], threading.Event(), threading.Event()

    def work():
        seen.append(allowed_cores())
        started.set()
        stop.wait(LIMIT)
        seen.append(allowed_cores())

    with keep_to(before[:1]):
        assert allowed_cores() == before[:1]
        thread = threading.Thread(target=work)
        thread.start()
        assert started.wait(LIMIT)
    assert allowed_cores() == before
    stop.set()
    ended(thread)
    assert seen == [before[:1], before]


@linux
def test_an_error_gives_the_cores_back():
    before = allowed_cores()
    with pytest.raises(ZeroDivisionError), keep_to(before[:1]):
        _ = 1 / 0
    assert allowed_cores() == before


@linux
def test_cores_that_may_not_be_used_are_left_alone():
    before = allowed_cores()
    for cores in ((), (max(before) + 1000,)):
        with keep_to(cores):
            assert allowed_cores() == before
