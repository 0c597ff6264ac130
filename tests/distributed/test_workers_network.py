"""The network: ports that differ, and connections that end when they are broken."""

import socket
import threading

from waiting import ended

from equirank.distributed.workers import break_connections, free_ports, host_of, network_params


def test_a_single_machine_has_no_network():
    assert network_params(["tcp://a:1"], [], 0) == {}
    assert len(set(free_ports(20))) == 20
    assert host_of("tls://10.0.0.7:8786") == "10.0.0.7"


def test_a_machine_that_waits_for_its_partner_is_freed():
    found = []

    def wait(connection):
        """Read as LightGBM does: until something comes, or an error does."""
        try:
            while not connection.recv(10):
                pass
        except OSError as error:
            found.append(error)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as far, listener.accept()[0] as near:
            thread = threading.Thread(target=wait, args=(near,))
            thread.start()
            assert break_connections([port + 1]) == 0
            assert thread.is_alive()
            assert break_connections([port]) == 2  # both ends are of this process
            ended(thread)
            assert far.fileno() >= 0
    assert len(found) == 1
