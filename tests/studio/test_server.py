"""The server of the studio: streams, cancelling, errors in words, hostile files, no connection."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager

import pytest
from running_studio import running_studio
from waiting import LIMIT, until

from equirank.studio.answers import Limits
from equirank.studio.regions import visible

pytest.importorskip("starlette", reason="starlette is not installed")
pytest.importorskip("uvicorn", reason="uvicorn is not installed")
pytestmark = pytest.mark.slow

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


def test_a_body_does_not_wait_for_the_acknowledgement_of_its_headers(studio):
    """Asyncio sets TCP_NODELAY on connections of a socket whose protocol is named only."""
    assert studio.studio._socket.proto == socket.IPPROTO_TCP


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


def test_a_fault_in_the_settings_has_a_way_out(studio, monkeypatch):
    from equirank.studio.workspace import Workspace

    def broken(self, revision):
        raise ZeroDivisionError("a secret of the data")

    put(studio, PLAIN)
    monkeypatch.setattr(Workspace, "remedy_facts", broken)
    status, answer = studio.json("GET", "/api/state?screen=remedy")
    told = answer["error"]
    assert (status, told["kind"]) == (422, "recipe")
    assert told["message"].startswith(
        "The settings of the remedy cannot be shown (ZeroDivisionError at test_server.py:"
    )
    assert told["actions"] == [{"label": "Use no remedy", "patch": {"remedy": None}}]
    assert studio.ask("GET", "/api/state")[0] == 200


@contextmanager
def audit_under_way(studio, n_boot):
    """Yield the further lines of an audit whose long work has begun."""
    put(studio, PLAIN)
    change(studio, {"roles": {"sex": "sensitive"}, "audit": {"n_boot": n_boot}})
    body = json.dumps({"revision": state(studio)["revision"]})
    connection = http.client.HTTPConnection("127.0.0.1", studio.port, timeout=LIMIT)
    headers = {"Authorization": f"Bearer {studio.token}", "Host": studio.host}
    connection.request("POST", "/api/audit", body, headers)
    answer = connection.getresponse()
    lines = map(json.loads, iter(answer.readline, b""))
    assert any("quick" in line for line in lines)
    assert "progress" in next(lines)
    yield lines
    answer.close()
    connection.close()


@pytest.mark.gate
def test_leaving_a_stream_ends_its_work(studio):
    """The process of long work ends, and the next request has a new one."""
    worker = studio.studio._long
    with audit_under_way(studio, 100_000):
        before = worker._process.pid
    until(lambda: worker._process is not None and worker._process.pid != before)
    assert state(studio)["file"]["rows"] == 40


@pytest.mark.gate
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signal that ends a process so")
def test_a_killed_process_is_said_in_words(studio):
    with audit_under_way(studio, 100_001) as lines:
        pid = studio.studio._long._process.pid
        os.kill(pid, signal.SIGKILL)
        last = list(lines)[-1]
    assert last["error"]["kind"] == "data"
    assert "stopped before its end" in last["error"]["message"]
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


#: Installed in every process of the studio: names each connection and each file opened to write.
WATCHING = """
import os, sys
log = os.open(os.environ["EQUIRANK_TEST_LOG"], os.O_WRONLY | os.O_APPEND)
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
def watch(event, given):
    told = ""
    if event == "socket.connect" and given[1][0] != "127.0.0.1":
        told = f"connection {given[1]!r}"
    if event == "open" and isinstance(given[0], (str, bytes)):
        mode, flags = given[1], given[2]
        writes = set(mode) & set("wax+") if isinstance(mode, str) else flags & WRITES
        told = f"file {given[0]!r}" if writes else ""
    if told:
        os.write(log, (told + chr(10)).encode())
sys.addaudithook(watch)
"""
#: Caches of compiled code and of tables of FA*IR, and what is no file.
CACHES = ("__pycache__", "numba", "fa_star_ir", "/dev/", "equirank-cache")


@pytest.mark.gate
def test_no_connection_leaves_and_no_file_is_written(tmp_path, monkeypatch):
    """In the server, in the process of long work and in those that read files."""
    log = tmp_path / "log"
    log.touch()
    (tmp_path / "sitecustomize.py").write_text(WATCHING)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    monkeypatch.setenv("PYTHONPATH", path)
    monkeypatch.setenv("EQUIRANK_TEST_LOG", str(log))
    program = "import os; os.open('x', os.O_WRONLY | os.O_CREAT)"
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)
    assert log.read_text() == "file 'x'\n"  # it is watching
    log.write_text("")
    here, watching = [], [True]

    def watch(event, given):
        if watching and event == "socket.connect" and given[1][0] != "127.0.0.1":
            here.append(given[1])

    sys.addaudithook(watch)
    with running_studio() as studio:
        studio.enter()
        put(studio, PLAIN)
        remedy = {"method": "PrefixConstraints", "by": "sex", "k": 4, "lower": {"f": 0.5}}
        change(studio, {"roles": {"sex": "sensitive"}, "audit": {"n_boot": 20, "k": [4]}})
        change(studio, {"remedy": [remedy]})
        revision = state(studio)["revision"]
        studio.lines("POST", "/api/audit", {"revision": revision})
        studio.lines("POST", "/api/path", {"revision": revision, "remedy": remedy, "points": 3})
        for kind in ("recipe", "code", "report", "numbers", "list"):
            assert studio.ask("POST", f"/api/download/{kind}", {"revision": revision})[0] == 200
    watching.clear()
    assert here == []
    told = log.read_text().splitlines()
    assert [line for line in told if not any(part in line for part in CACHES)] == []


def test_the_token_is_in_no_answer_and_no_line_of_the_terminal(studio):
    put(studio, PLAIN)
    change(studio, {"roles": {"sex": "sensitive"}, "audit": {"n_boot": 20}})
    revision = state(studio)["revision"]
    asked = [
        ("GET", "/", None),
        ("GET", "/assets/main.js", None),
        ("GET", "/api/state?screen=remedy", None),
        ("GET", "/api/people?find=p1", None),
        ("POST", "/api/audit", {"revision": revision}),
        ("POST", "/api/try", {"revision": revision, "seq": 1, "remedy": None}),
        ("POST", "/api/explain", {"remedy": None, "person": "p1"}),
        ("POST", "/api/explain", {"remedy": None, "person": studio.token[:0]}),
        ("POST", "/api/audit", {"revision": -1}),
        ("POST", "/api/no", {}),
        *(
            ("POST", f"/api/download/{kind}", {"revision": revision})
            for kind in ("report", "numbers", "recipe", "code", "list")
        ),
    ]
    for method, path, body in asked:
        _, headers, content = studio.ask(method, path, body)
        assert studio.token.encode() not in content, path
        assert studio.token not in str(headers), path
    ticket = studio.lines("POST", "/api/report", {"revision": revision})[-1]["result"]["ticket"]
    status, _, page = studio.ask("GET", f"/report/{ticket}", token=None)
    assert status == 200
    assert studio.token.encode() not in page
    assert studio.ask("GET", f"/report/{ticket}", token=None)[0] == 404  # once only
    assert studio.token not in "".join(studio.said)


def test_visible_marks():
    assert visible("a\x00\x1bb") == "a␀␛b"
    assert visible("x\u2066y") == "x⟨2066⟩y"
    assert visible("👩\u200d🚀") == "👩\u200d🚀"
    assert visible("a" * 100, 10) == "aaaaaaaaa…"
