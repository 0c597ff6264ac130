"""LightGBM's network: which port each worker listens on, and how to get out of it."""

import os
import socket
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import Any
from urllib.parse import urlparse

from ..core.errors import DataError
from ..core.extras import require

__all__ = [
    "break_connections",
    "free_ports",
    "host_of",
    "hosts_of",
    "network_params",
    "ports_of",
]


def free_ports(n: int) -> list[int]:
    """Find so many free ports of this machine, all of them different.

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
    """Give the host in a worker's address.

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
    """Give the workers of each host; none where one worker needs no network.

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
    """Find a free port for each worker, different ones where several share a host."""
    free: dict[str, list[int]] = {}
    for host, several in hosts.items():
        first = several[0]
        free[host] = client.run(free_ports, len(several), workers=[first])[first]
    return [free[host_of(address)].pop() for address in workers] if hosts else []


def network_params(addresses: Sequence[str], ports: Sequence[int], rank: int) -> dict[str, Any]:
    """Give LightGBM's parameters of one machine of the network; none where it is alone.

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
    """Break this process's connections from or to these ports, and count them.

    A machine whose partner is gone may wait for it for ever, deep in LightGBM. The connection is
    shut, which wakes a read, and replaced by something that is no socket, so that the next read
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
