"""Cores: each worker's trees on cores of their own, where the workers fill a machine."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

__all__ = ["allowed_cores", "keep_to", "share_cores", "worker_cores"]


def allowed_cores() -> tuple[int, ...]:
    """Give the cores this process may use, in order; none where the system does not say."""
    known = getattr(os, "sched_getaffinity", None)
    return tuple(sorted(known(0))) if known else ()


def share_cores(
    allowed: Mapping[str, Sequence[int]], threads: Mapping[str, int]
) -> dict[str, tuple[int, ...]]:
    """Share the cores of one machine out among its workers, by their numbers of threads.

    Only where the workers have the same cores and fill them exactly: then nobody else is meant to
    have one. Anywhere else, as in a container that sees more cores than it may use, nobody is bound
    to a core, and the result is empty. A worker alone on its machine has no need of it.

    Examples
    --------
    >>> share_cores({"a": (0, 1, 2), "b": (0, 1, 2)}, {"a": 1, "b": 2})
    {'a': (0,), 'b': (1, 2)}
    >>> share_cores({"a": (0, 1, 2, 3), "b": (0, 1, 2, 3)}, {"a": 1, "b": 1})
    {}
    """
    sets = {tuple(cores) for cores in allowed.values()}
    if len(allowed) < 2 or len(sets) > 1:
        return {}
    cores = sets.pop()
    if sum(threads[name] for name in allowed) != len(cores):
        return {}
    found, begin = {}, 0
    for name in allowed:
        found[name] = cores[begin : begin + threads[name]]
        begin += threads[name]
    return found


def worker_cores(
    client: Any, n_jobs: int | None, hosts: Mapping[str, Sequence[str]]
) -> dict[str, tuple[int, ...]]:
    """Give each worker of some hosts the cores its trees keep to, where they fill a machine."""
    threads = dict(client.nthreads())
    if n_jobs is not None and n_jobs > 0:
        threads = {address: min(n, n_jobs) for address, n in threads.items()}
    found: dict[str, tuple[int, ...]] = {}
    for several in hosts.values():
        if len(several) > 1:
            allowed = client.run(allowed_cores, workers=list(several))
            found |= share_cores({address: allowed[address] for address in several}, threads)
    return found


@contextmanager
def keep_to(cores: Sequence[int]) -> Iterator[None]:
    """Keep this thread, and those it starts, to some cores; afterwards they may use all again.

    Two machines of LightGBM that send to each other on one host wake each other all the time. Linux
    likes to run who is woken where the waker runs, so both would often share a core while another
    idles.
    """
    before = allowed_cores()
    if not cores or not set(cores) <= set(before):
        yield
        return
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        for thread in map(int, os.listdir("/proc/self/task")):
            with suppress(OSError):  # a thread that has ended meanwhile
                if os.sched_getaffinity(thread) == set(cores):
                    os.sched_setaffinity(thread, before)
