"""A studio that runs in a thread of the tests, and plain requests to it."""

import http.client
import json
import threading
from contextlib import contextmanager

from waiting import LIMIT, ended

from equirank.studio.server import Studio


class Running:
    """A running studio: requests with or without the token of its first tab."""

    def __init__(self, studio, said):
        self.studio, self.said, self.port = studio, said, studio.port
        self.host = f"127.0.0.1:{self.port}"
        self.token = None

    def code(self):
        return self.studio.address().partition("#code=")[2]

    def enter(self):
        status, _, body = self.ask("POST", "/api/enter", {"code": self.code()}, token=None)
        assert status == 200, body
        self.token = json.loads(body)["token"]
        return self.token

    def ask(self, method, path, body=None, token="", headers=None, host=None):
        """Return status, headers (a message) and bytes; token "" is that of the first tab."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=LIMIT)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for each in [self.host] if host is None else host:
                connection.putheader("Host", each)
            token = self.token if token == "" else token
            if token is not None:
                connection.putheader("Authorization", f"Bearer {token}")
            for name, value in (headers or {}).items():
                connection.putheader(name, value)
            raw = (
                body
                if isinstance(body, bytes)
                else b""
                if body is None
                else json.dumps(body).encode()
            )
            connection.putheader("Content-Length", str(len(raw)))
            connection.endheaders(raw)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def json(self, method, path, body=None, **options):
        status, _, raw = self.ask(method, path, body, **options)
        return status, json.loads(raw)

    def lines(self, method, path, body=None):
        """Return the lines of a stream."""
        status, _, raw = self.ask(method, path, body)
        assert status == 200, raw
        return [json.loads(line) for line in raw.splitlines()]


@contextmanager
def running_studio(**options):
    """Run a studio until the block ends."""
    said = []
    studio = Studio(say=said.append, **options)
    ready = threading.Event()
    thread = threading.Thread(target=studio.run, args=(ready.set,), daemon=True)
    thread.start()
    assert ready.wait(LIMIT)
    running = Running(studio, said)
    running.thread = thread
    try:
        yield running
    finally:
        studio.stop()
        ended(thread)
