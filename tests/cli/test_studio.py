"""``equirank studio``: the command starts the page, and says what it needs."""

import http.client
import json
import re
import socket
import subprocess
import sys

import pytest
from typer.testing import CliRunner
from waiting import LIMIT

from equirank.cli.app import app


def run(*words):
    return CliRunner().invoke(app, ["studio", *map(str, words)])


@pytest.mark.parametrize("package", ["starlette", "uvicorn", "jinja2"])
def test_a_missing_package_names_the_extra(monkeypatch, package):
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    done = run("--no-browser")
    assert done.exit_code == 2
    assert 'pip install "equirank[studio]"' in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.slow
def test_bad_files_and_ports_are_one_line(tmp_path):
    pytest.importorskip("uvicorn", reason="uvicorn is not installed")
    pytest.importorskip("starlette", reason="starlette is not installed")
    damaged = tmp_path / "damaged.xlsx"
    damaged.write_bytes(b"PK\x03\x04" + b"x" * 100)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        cases = [(tmp_path / "none.csv",), (damaged,), ("--port", port), ("--recipe", damaged)]
        for words in cases:
            done = run("--no-browser", *words)
            assert done.exit_code == 2, words
            assert len(done.stderr.strip().splitlines()) == 1, done.stderr
            assert "Traceback" not in done.stderr


@pytest.mark.gate
def test_the_command_serves_until_it_is_stopped():
    pytest.importorskip("uvicorn", reason="uvicorn is not installed")
    pytest.importorskip("starlette", reason="starlette is not installed")
    command = [sys.executable, "-m", "equirank", "studio", "--no-browser"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            lines = iter(process.stdout.readline, "")
            found = (re.search(r"http://(127\.0\.0\.1:\d+)/#code=([\w-]+)", line) for line in lines)
            host, code = next(filter(None, found)).groups()
            process.stdin.write("\n")
            process.stdin.flush()
            again = next(filter(None, found)).groups()
            assert again[0] == host
            assert again[1] != code
            connection = http.client.HTTPConnection(host, timeout=LIMIT)
            connection.request("POST", "/api/enter", json.dumps({"code": again[1]}))
            token = json.loads(connection.getresponse().read())["token"]
            headers = {"Authorization": f"Bearer {token}"}
            connection.request("POST", "/api/stop", "{}", headers)
            assert connection.getresponse().read()
            connection.close()
            out, err = process.communicate(timeout=LIMIT)
        finally:
            process.kill()
    assert process.returncode == 0
    assert "nothing was kept" in out
    assert err == ""
    assert token not in out
