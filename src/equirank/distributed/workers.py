"""Workers of a Dask cluster: tasks on each of them, their cores, ports and connections."""

import os
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any
from urllib.parse import urlparse

from ..core.environment import require
from ..core.errors import DataError
from ..engines.dask_tasks import results

__all__ = [
    "allowed_cores",
    "ask",
    "break_connections",
    "free_ports",
    "host_of",
    "hosts_of",
    "keep_to",
    "network_params",
    "pinned",
    "ports_of",
    "share_cores",
    "worker_cores",
]


def pinned(address: str) -> dict[str, Any]:
    """Return the options of a task that one worker alone runs, without retries."""
    return {"workers": [address], "allow_other_workers": False, "retries": 0, "pure": False}


def ask(
    client: Any, task: Callable[..., Any], given: Mapping[str, Sequence[Any]]
) -> dict[str, Any]:
    """Run a task on workers, each with its own arguments, and return the result of each."""
    futures = [client.submit(task, *own, **pinned(address)) for address, own in given.items()]
    try:
        return dict(zip(given, results(client, futures, given), strict=True))
    except BaseException:
        client.cancel(futures)
        raise


def allowed_cores() -> tuple[int, ...]:
    """Return the sorted cores available to this process; empty if the system does not tell."""
    known = getattr(os, "sched_getaffinity", None)
    return tuple(sorted(known(0))) if known else ()


def share_cores(
    allowed: Mapping[str, Sequence[int]], threads: Mapping[str, int]
) -> dict[str, tuple[int, ...]]:
    """Distribute the cores of one machine among its workers, by their numbers of threads.

    The result is empty, and no worker is bound to cores, unless the workers have the same cores and
    as many threads as there are cores. A container, for example, may see more cores than it may
    use. A single worker on its machine is not bound either.

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
    client: Any, threads: Mapping[str, int], n_jobs: int | None, hosts: Mapping[str, Sequence[str]]
) -> dict[str, tuple[int, ...]]:
    """Return the cores of each worker of these hosts, where `share_cores` binds them."""
    if n_jobs is not None and n_jobs > 0:
        threads = {address: min(n, n_jobs) for address, n in threads.items()}
    found: dict[str, tuple[int, ...]] = {}
    for several in hosts.values():
        if len(several) > 1:
            allowed = ask(client, allowed_cores, dict.fromkeys(several, ()))
            found |= share_cores(allowed, threads)
    return found


@contextmanager
def keep_to(cores: Sequence[int]) -> Iterator[None]:
    """Bind this thread, and those it starts, to some cores, and release them afterwards.

    Two LightGBM processes that exchange messages on one host wake each other all the time. Linux
    tends to run the woken process on the core of the waker, so both would often share a core while
    another is idle.
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
            with suppress(OSError):  # the thread has ended
                if os.sched_getaffinity(thread) == set(cores):
                    os.sched_setaffinity(thread, before)


def free_ports(n: int) -> list[int]:
    """Return n different free ports of this machine.

    Examples
    --------
    >>> len(set(free_ports(3)))
    3
    """
    with ExitStack() as stack:
        found = [stack.enter_context(socket.socket()) for _ in range(n)]
        for each in found:
            each.bind(("", 0))
        return [int(each.getsockname()[1]) for each in found]


def host_of(address: str) -> str:
    """Return the host of the address of a worker.

    Examples
    --------
    >>> host_of("tcp://127.0.0.1:36201")
    '127.0.0.1'
    """
    host = urlparse(address).hostname
    if host is None or address.startswith("inproc"):
        raise DataError(
            "the workers of client must be processes of their own, which LightGBM can connect "
            f"over the network, got {address!r}; start a LocalCluster with processes=True"
        )
    return host


def hosts_of(workers: Sequence[str]) -> dict[str, list[str]]:
    """Return the workers of each host; empty for a single worker, which needs no network.

    Examples
    --------
    >>> hosts_of(["tcp://a:1", "tcp://a:2", "tcp://b:1"])
    {'a': ['tcp://a:1', 'tcp://a:2'], 'b': ['tcp://b:1']}
    """
    hosts: dict[str, list[str]] = {}
    for address in workers if len(workers) > 1 else ():
        hosts.setdefault(host_of(address), []).append(address)
    return hosts


def ports_of(client: Any, workers: Sequence[str], hosts: Mapping[str, list[str]]) -> list[int]:
    """Return a free port for each worker; workers of one host have different ports."""
    firsts = {several[0]: (len(several),) for several in hosts.values()}
    free = {host_of(first): ports for first, ports in ask(client, free_ports, firsts).items()}
    return [free[host_of(address)].pop() for address in workers] if hosts else []


def network_params(addresses: Sequence[str], ports: Sequence[int], rank: int) -> dict[str, Any]:
    """Return LightGBM's parameters of one machine of the network; empty for a single machine.

    Examples
    --------
    >>> found = network_params(["tcp://a:1", "tcp://b:1"], [12400, 12401], 1)
    >>> found["machines"], found["local_listen_port"]
    ('a:12400,b:12401', 12401)
    """
    if len(addresses) == 1:
        return {}
    each = [f"{host_of(a)}:{port}" for a, port in zip(addresses, ports, strict=True)]
    return {
        "machines": ",".join(each),
        "local_listen_port": ports[rank],
        "num_machines": len(addresses),
        "tree_learner": "data",
    }


def break_connections(ports: Iterable[int]) -> int:
    """Break the connections of this process from or to these ports, and return their number.

    LightGBM may wait forever for a machine that is gone. The connection is shut down, which ends a
    blocked read, and its descriptor is replaced by one that is not a socket, so that the next read
    fails and training ends.
    """
    psutil = require("psutil", "dask")
    process, wanted, broken = psutil.Process(), set(ports), 0
    connections = getattr(process, "net_connections", None) or process.connections
    nothing = os.open(os.devnull, os.O_RDWR)
    try:
        for each in connections(kind="tcp"):
            ends = {end.port for end in (each.laddr, each.raddr) if end}
            if ends & wanted and each.status != psutil.CONN_LISTEN and each.fd >= 0:
                with socket.socket(fileno=os.dup(each.fd)) as end, suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
                os.dup2(nothing, each.fd)
                broken += 1
    finally:
        os.close(nothing)
    return broken
