"""The server of the studio: streams, cancelling, errors in words, hostile files, no connection."""

import http.client
import json
import os
import signal
import sys
import threading
import time

import pytest
from running_studio import running_studio

from equirank.studio.answers import Limits
from equirank.studio.regions import visible

pytest.importorskip("starlette", reason="starlette is not installed")
pytest.importorskip("uvicorn", reason="uvicorn is not installed")

PLAIN = "list,score,sex,id\n" + "\n".join(
    f"{i // 10},{100 - i},{'fm'[i % 2]},p{i}" for i in range(40)
)


@pytest.fixture(scope="module")
def studio():
    with running_studio(limits=Limits(max_bytes=2 << 20, max_rows=10_000)) as running:
        running.enter()
        yield running


def put(studio, content, name="people.csv", role="main"):
    """Return the last line of the answer to a file."""
    raw = content if isinstance(content, bytes) else content.encode()
    status, _, answer = studio.ask("PUT", f"/api/file?role={role}&name={name}", raw)
    lines = answer.splitlines()
    return status, json.loads(lines[-1])


def state(studio):
    return studio.json("GET", "/api/state")[1]


def change(studio, patch):
    body = {"revision": state(studio)["revision"], "patch": patch}
    status, answer = studio.json("PATCH", "/api/recipe", body)
    assert status == 200, answer


def test_a_file_is_read_in_a_stream(studio):
    lines = studio.lines("PUT", "/api/file?role=main&name=people.csv", PLAIN.encode())
    assert lines[0] == {"progress": 0.0, "words": "Reading the file"}
    result = lines[-1]["result"]
    assert result["file"]["rows"] == 40
    assert {"steps", "columns", "take"} <= set(result["regions"])
    assert "people.csv" in result["file"]["words"]


def test_an_audit_streams_numbers_first_and_findings_last(studio):
    put(studio, PLAIN)
    change(studio, {"roles": {"sex": "sensitive"}})
    lines = studio.lines("POST", "/api/audit", {"revision": state(studio)["revision"]})
    kinds = [next(iter(line)) for line in lines]
    assert kinds[0] == "progress"
    assert kinds[-1] == "result"
    quick = next(line["quick"] for line in lines if "quick" in line)
    assert quick["complete"] is False
    assert quick["headline"] is None
    assert quick["statements"] == []
    assert lines[-1]["result"]["complete"] is True
    again = studio.lines("POST", "/api/audit", {"revision": state(studio)["revision"]})
    assert [next(iter(line)) for line in again if "progress" not in line] == ["quick", "result"]


def test_an_old_revision_is_a_conflict(studio):
    put(studio, PLAIN)
    old = state(studio)["revision"]
    patch = {"revision": old, "patch": {"roles": {"id": "unused"}}}
    assert studio.json("PATCH", "/api/recipe", patch)[0] == 200
    status, answer = studio.json("PATCH", "/api/recipe", patch)
    assert (status, answer["error"]["kind"]) == (409, "revision")
    assert "Changed in another tab" in answer["error"]["message"]


def test_an_unknown_error_is_a_number_that_the_terminal_repeats(studio, monkeypatch):
    from equirank.studio.workspace import Workspace

    def broken(self):
        raise ZeroDivisionError("a secret of the data")

    monkeypatch.setattr(Workspace, "undo", broken)
    status, answer = studio.json("POST", "/api/undo", {})
    message = answer["error"]["message"]
    assert (status, answer["error"]["kind"]) == (500, "internal")
    assert "error 1" in message or "error " in message
    assert "secret" not in message
    assert "Traceback" not in message
    assert studio.said[-1].startswith("error ")
    assert "ZeroDivisionError at test_server.py" in studio.said[-1]
    assert "secret" not in studio.said[-1]


def test_leaving_a_stream_ends_its_work(studio):
    """The process of long work ends, and the next request has a new one."""
    put(studio, PLAIN)
    change(studio, {"roles": {"sex": "sensitive"}, "audit": {"n_boot": 100_000}})
    worker = studio.studio._long
    before = worker._process.pid
    body = json.dumps({"revision": state(studio)["revision"]})
    connection = http.client.HTTPConnection("127.0.0.1", studio.port, timeout=60)
    connection.request(
        "POST", "/api/audit", body, {"Authorization": f"Bearer {studio.token}", "Host": studio.host}
    )
    answer = connection.getresponse()
    lines = (json.loads(answer.readline()) for _ in range(100))
    assert any("quick" in line for line in lines)
    assert "progress" in next(lines)  # the long work is under way
    answer.close()
    connection.close()
    for _ in range(200):
        if worker._process is not None and worker._process.pid != before:
            break
        time.sleep(0.05)
    assert worker._process.pid != before
    assert state(studio)["file"]["rows"] == 40


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signal that ends a process so")
def test_a_killed_process_is_said_in_words(studio):
    put(studio, PLAIN)
    change(studio, {"roles": {"sex": "sensitive"}, "audit": {"n_boot": 100_001}})
    pid = studio.studio._long._process.pid
    timer = threading.Timer(0.5, os.kill, (pid, signal.SIGKILL))
    timer.start()
    lines = studio.lines("POST", "/api/audit", {"revision": state(studio)["revision"]})
    timer.join()
    assert lines[-1]["error"]["kind"] == "data"
    assert "stopped before its end" in lines[-1]["error"]["message"]
    assert studio.studio._long._process.pid != pid


def test_a_file_that_is_too_large_is_refused_by_its_announced_and_real_size(studio):
    status, answer = studio.json("PUT", "/api/file?role=main&name=x.csv", b"x" * (3 << 20))
    assert (status, answer["error"]["kind"]) == (413, "size")
    many = "list,score\n" + "1,1\n" * 20_000
    _, last = put(studio, many)
    assert last["error"]["kind"] == "size"


def test_recipes_are_checked(studio):
    put(studio, PLAIN)
    for text in (
        "",
        "x" * 100,
        'format = "equirank recipe"\nversion = 99\n',
        'format = "equirank recipe"\nversion = 1\n[[remedy]]\nmethod = "os.system"\n',
        'format = "equirank recipe"\nversion = 1\n[data]\nname = "../../etc/passwd"\n',
    ):
        status, answer = studio.json("POST", "/api/recipe", {"text": text})
        if status == 200:
            assert "passwd" in text
            continue
        assert (status, answer["error"]["kind"]) == (422, "recipe"), text


def test_no_connection_leaves_and_no_file_is_written(studio, tmp_path, monkeypatch):
    seen = []
    watching = [True]

    def watch(event, arguments):
        if not watching[0]:
            return
        if event == "socket.connect" and arguments[1][0] not in ("127.0.0.1",):
            seen.append((event, arguments[1]))
        if event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
            path = str(arguments[0])
            if not isinstance(arguments[0], int) and not any(
                part in path for part in ("__pycache__", "numba", "equirank", "/dev/")
            ):
                seen.append((event, path))

    sys.addaudithook(watch)
    try:
        put(studio, PLAIN)
        change(studio, {"roles": {"sex": "sensitive"}})
        revision = state(studio)["revision"]
        studio.lines("POST", "/api/audit", {"revision": revision})
        for kind in ("recipe", "code", "report"):
            assert studio.ask("POST", f"/api/download/{kind}", {"revision": revision})[0] == 200
        ticket = studio.lines("POST", "/api/report", {"revision": revision})[-1]["result"]["ticket"]
        status, _, page = studio.ask("GET", f"/report/{ticket}", token=None)
        assert status == 200
        assert b"<!DOCTYPE html>" in page
        assert studio.token.encode() not in page
        assert studio.ask("GET", f"/report/{ticket}", token=None)[0] == 404
    finally:
        watching[0] = False
    assert seen == []


def test_visible_marks():
    assert visible("a\x00\x1bb") == "a␀␛b"
    assert visible("x\u2066y") == "x⟨2066⟩y"
    assert visible("👩\u200d🚀") == "👩\u200d🚀"
    assert visible("a" * 100, 10) == "aaaaaaaaa…"
