"""Who may speak to the studio: codes, tokens and tickets, and the checks of every request."""

import json

import pytest
from waiting import ended

pytest.importorskip("starlette", reason="starlette is not installed")
pytest.importorskip("uvicorn", reason="uvicorn is not installed")

from running_studio import running_studio

from equirank.studio.access import MOST_TABS, Access

pytestmark = pytest.mark.slow

OPEN = [("GET", "/"), ("GET", "/assets/main.js"), ("GET", "/report/none")]
KEYLESS = [("POST", "/api/enter")]
NAMES = """example recipe undo redo audit compare remedies uncertainty try path explain report
download/report download/list download/recipe download/numbers download/code forget stop"""
KEYED = [
    *(("GET", f"/api/{name}") for name in ("state", "people")),
    ("PUT", "/api/file"),
    ("PATCH", "/api/recipe"),
    *(("POST", f"/api/{name}") for name in NAMES.split()),
]
HOSTS = """evil.example 127.0.0.1 127.0.0.1:1 localhost.evil.example:PORT LOCALHOST:PORT
127.0.0.1:PORT@evil.example [::1]:PORT 127.0.0.1:PORT/../x"""


@pytest.fixture(scope="module")
def studio():
    with running_studio() as running:
        running.enter()
        yield running


def test_every_route_is_in_the_lists_above(studio):
    from starlette.routing import Route

    routes = [route for route in studio.studio.app().app.routes if isinstance(route, Route)]
    listed = {(method, path.split("/")[2]) for method, path in KEYED + KEYLESS}
    known = {
        (method, route.path.split("/")[2])
        for route in routes
        for method in route.methods - {"HEAD"}
        if route.path.startswith("/api/")
    }
    assert known == listed
    assert {route.path for route in routes if not route.path.startswith("/api/")} == {
        "/", "/assets/{name}", "/report/{ticket}",
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("method", "path"), OPEN + KEYLESS + KEYED)
def test_a_foreign_host_is_refused_on_every_route(studio, method, path):
    for host in HOSTS.replace("PORT", str(studio.port)).split():
        status, answer = studio.json(method, path, host=[host])
        assert (status, answer["error"]["kind"]) == (403, "host"), host


def test_two_hosts_or_none_are_refused(studio):
    assert studio.ask("GET", "/", host=[studio.host, studio.host])[0] in (400, 403)
    assert studio.ask("GET", "/", host=[])[0] in (400, 403)
    assert studio.ask("GET", "/", host=[f"localhost:{studio.port}"])[0] == 200


@pytest.mark.parametrize(("method", "path"), KEYED)
def test_a_wrong_token_is_refused(studio, method, path):
    for header in (
        "Bearer",
        "Bearer ",
        "Bearer " + "0" * 64,
        "Basic x",
        studio.token,
        b"Bearer \xe9",
    ):
        status, answer = studio.json(method, path, token=None, headers={"Authorization": header})
        assert (status, answer["error"]["kind"]) == (401, "token"), header
    assert studio.ask(method, path, token=None)[0] == 401


@pytest.mark.parametrize(("method", "path"), KEYED + KEYLESS)
def test_another_origin_is_refused(studio, method, path):
    origins = ("http://evil.example", "null", "http://127.0.0.1:1", f"https://{studio.host}")
    given = [{"Origin": origin} for origin in origins]
    given += [{"Sec-Fetch-Site": site} for site in ("cross-site", "same-site", "none")]
    for headers in given:
        status, answer = studio.json(method, path, headers=headers)
        assert (status, answer["error"]["kind"]) == (403, "origin"), headers


@pytest.mark.parametrize(
    ("method", "path"), [*OPEN, *KEYLESS, ("GET", "/api/people"), ("GET", "/no")]
)
def test_headers_of_every_answer(studio, method, path):
    _, headers, _ = studio.ask(method, path, {})
    policy = headers["content-security-policy"]
    if path.startswith("/report/"):
        assert policy == (
            "sandbox allow-scripts allow-downloads; connect-src 'none'; frame-ancestors 'self'"
        )
    else:
        assert policy.startswith("default-src 'none'; script-src 'self';")
        assert "unsafe-eval" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    names = {name.lower() for name in headers}
    assert not {"set-cookie", "server"} & names
    assert not any(name.startswith("access-control-") for name in names)


def test_assets_are_a_fixed_list(studio):
    for name in (
        "../server.py",
        "..%2fserver.py",
        "index.html",
        "workspace.py",
        "%2e%2e/server.py",
    ):
        assert studio.ask("GET", f"/assets/{name}")[0] == 404
    assert studio.ask("POST", "/api/download/passwd", {})[0] == 404
    assert studio.ask("GET", "/assets/main.js")[1]["content-type"].startswith("text/javascript")


def test_the_server_listens_on_this_computer_only(studio):
    assert studio.studio._socket.getsockname()[0] == "127.0.0.1"


def test_bodies_that_are_not_json_are_refused_in_words(studio):
    for body in (b"{", b"[1]", b"[" * 100_000, b"\xff"):
        status, answer = studio.json("POST", "/api/try", body)
        assert (status, answer["error"]["kind"]) == (422, "recipe")
    status, answer = studio.json("POST", "/api/try", b" " * (3 << 20))
    assert (status, answer["error"]["kind"]) == (413, "size")


def test_a_code_works_once_and_its_second_use_stops_the_studio():
    with running_studio() as running:
        code = running.code()
        assert running.json("POST", "/api/enter", {"code": "wrong"}, token=None)[0] == 401
        status, answer = running.json("POST", "/api/enter", {"code": code}, token=None)
        assert status == 200
        assert len(answer["token"]) == 64
        assert running.json("POST", "/api/enter", {"code": code}, token=None)[0] == 403
        ended(running.thread)
        assert answer["token"] not in json.dumps(running.said)


class Kept:
    """A workspace that remembers whether it was dropped."""

    dropped = False

    def forget(self):
        self.dropped = True


def test_codes_and_tickets_expire():
    now = [0.0]
    access = Access(clock=lambda: now[0])
    code, ticket = access.new_code(), access.new_ticket("page")
    now[0] = 29.0
    assert access.redeem(ticket) == "page"
    assert access.redeem(ticket) is None
    late = access.new_ticket("page")
    now[0] = 61.0
    assert access.redeem(late) is None
    assert access.enter(code, Kept) is None


def test_a_used_code_is_forgotten_after_a_minute():
    now = [0.0]
    access = Access(clock=lambda: now[0])
    code = access.new_code()
    assert access.enter(code, Kept) is not None
    with pytest.raises(PermissionError):
        access.enter(code, Kept)
    now[0] = 60.5
    assert access.enter(code, Kept) is None


def test_the_tab_that_was_idle_longest_is_dropped():
    access = Access()
    tokens = [access.enter(access.new_code(), Kept) for _ in range(MOST_TABS)]
    oldest, second = access.workspace(tokens[0]), access.workspace(tokens[1])
    access.workspace(tokens[0])
    for token in tokens[2:]:
        access.workspace(token)
    access.workspace(tokens[0])
    access.enter(access.new_code(), Kept)
    assert (oldest.dropped, second.dropped) == (False, True)
    assert access.workspace(tokens[1]) is None
    assert access.workspace(tokens[0]) is oldest
