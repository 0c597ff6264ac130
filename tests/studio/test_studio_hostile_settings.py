"""Whatever a request sets, the state answers: values are kept, or refused in words and leave it."""

import json
import urllib.parse

import pytest
from running_studio import running_studio

from equirank.recipes.recipe import AUDIT_KEYS, FILE_KEYS
from equirank.rerankers.chooser import methods

pytest.importorskip("starlette", reason="starlette is not installed")
pytest.importorskip("uvicorn", reason="uvicorn is not installed")
pytestmark = pytest.mark.slow

PEOPLE = "list,id,sex,age,score,other\n" + "\n".join(
    f"L{i // 8},p{i},{'fm'[i % 2]},{20 + i % 45},{(37 * i) % 101},{i}" for i in range(24)
)
#: JSON as it is sent, since Python's own writer cannot send all of it.
VALUES = [
    "Infinity", "-Infinity", "NaN", "1e999", "-1e999", "-1", "0", "1", "0.5", "1e300", "1e-320",
    "true", "null", str(10**30), str(-(10**30)), str(2**63), "9" * 400, '""', "[]", "{}", "[[1]]",
    '[null]', '{"f": [1, 1, 1]}', '{"f": 0.5}', '{"f": {"g": 1}}', '{"f": null}', '["sex"]',
    '[1, 2]', '["sex=f"]', '"\\ud800"', '{"\\udfff": 1}', '"a\\u0000b"', '"a\\nb"', '"sex"',
    '"f"', '"score"', '"stable"', '"2020-01-01"', '"' + "x" * 100_000 + '"',
    "[" * 200 + "]" * 200, '{"a":' * 400 + "1" + "}" * 400, "[" * 90_000 + "]" * 90_000,
]  # fmt: skip
#: Values for the many parameters of remedies.
FEW = [VALUES[at] for at in (0, 2, 3, 5, 6, 12, 13, 15, 17, 18, 20, 22, 23, 24, 26, 29, 31, 34)]


def setting(*path):
    """Return a function that writes a patch with a value at a path."""

    def write(value):
        text = value
        for key in reversed(path):
            text = f"{{{json.dumps(key)}: {text}}}"
        return text

    return write


def remedy(method, more, start=None):
    start = {"method": method, "by": "sex", "k": 4} if start is None else start

    def write(value):
        own = json.dumps({key: each for key, each in start.items() if key != more})
        return f'{{"remedy": [{own[:-1]}, {json.dumps(more)}: {value}}}]}}'

    return write


PATCHES = {
    **{f"data.{key}": setting("data", key) for key in FILE_KEYS},
    **{f"against.{key}": setting("against", key) for key in ("score", "higher_first", "name")},
    **{f"audit.{key}": setting("audit", key) for key in AUDIT_KEYS},
    **{key: setting(key) for key in ("data", "audit", "against", "shown", "files", "looked_at")},
    **{key: setting(key) for key in ("roles", "turn_round", "remedy", "keep", "unkeep", "compare")},
    "labels of sex": setting("data", "labels", "sex"),
    "a label": setting("data", "labels", "sex", "f"),
    "bands of age": setting("data", "bands", "age"),
    "a word": setting("shown", "sex=f"),
    "a role": setting("roles", "sex"),
    "another score": setting("compare", "score"),
    "its order": setting("compare", "higher_first"),
    "a method": remedy("", "method"),
    "kept": remedy("RooneyRule", "kept"),
    "no method": remedy("", "k", {}),
}
#: The patches with all values.
ALL_VALUES = {"data", "shown", "roles", "remedy", "compare", "a word", "audit.level", "audit.k"}
PARAMETERS = {
    f"{name}.{key}": remedy(name, key)
    for name, kind in methods().items()
    for key in ("random_state", *kind.params)
}


@pytest.fixture(scope="module")
def studio():
    with running_studio() as running:
        running.enter()
        running.ask("PUT", "/api/file?role=main&name=people.csv", PEOPLE.encode())
        status, state = running.json("GET", "/api/state")
        assert status == 200
        patch = {"roles": {"sex": "sensitive", "age": "unused"}, "audit": {"k": [4]}}
        body = {"revision": state["revision"], "patch": patch}
        assert running.json("PATCH", "/api/recipe", body)[0] == 200
        yield running


class Watch:
    """Sends requests, and notes those that break something."""

    def __init__(self, studio):
        self.studio, self.broken = studio, []
        self.state = self.ask("GET", "/api/state")[1]

    def ask(self, method, path, body=None):
        status, _, raw = self.studio.ask(method, path, body and body.encode())
        return status, json.loads(raw.splitlines()[-1]) if raw else {}

    def sent(self, what, method, path, body):
        """Send one request; the state answers, and is the same unless the request was taken."""
        before = self.state
        status, answer = self.ask(method, path, body)
        told = answer.get("error", {})
        if status >= 500 or told.get("kind") == "internal" or (told and not told["message"]):
            self.broken.append((what, status, told))
        status, self.state = self.ask("GET", "/api/state")
        if status != 200 or (told and self.state != before):
            self.broken.append((what, "state", status))
        if told:
            return False
        status, facts = self.ask("GET", "/api/state?screen=remedy")
        if status not in (200, 422) or facts.get("error", {}).get("kind") == "internal":
            self.broken.append((what, status, facts))
        words = json.dumps(facts)
        if "cannot be shown (" in words:  # what is caught is a fault all the same
            self.broken.append((what, words[words.index("cannot be shown (") :][:80]))
        return True

    def patched(self, what, write, values):
        for value in values:
            body = f'{{"revision": {self.state["revision"]}, "patch": {write(value)}}}'
            name = f"{what} = {value[:40]}"
            undo = self.state["undo"]
            if self.sent(name, "PATCH", "/api/recipe", body) and self.state["undo"] > undo:
                self.sent(f"{name}, tried", "POST", "/api/try", self.setting_in_force())
                self.sent(f"{name}, kept", "PATCH", "/api/recipe", self.keeping())
                while self.state["undo"] > undo:
                    self.sent(f"{name}, undone", "POST", "/api/undo", "{}")

    def setting_in_force(self):
        tables = self.state["recipe"].get("remedy", [])
        body = {"revision": self.state["revision"], "seq": 1, "page": self.state["revision"]}
        return json.dumps(body | {"remedy": tables[0] if tables else None})

    def keeping(self):
        return json.dumps({"revision": self.state["revision"], "patch": {"keep": True}})


@pytest.fixture
def watch(studio):
    said = len(studio.said)
    found = Watch(studio)
    yield found
    assert (found.broken, studio.said[said:]) == ([], [])


#: Of the settings that are tried: one of each kind in make test, all in the gate.
FIRST = ("audit.k", "a label", "a role", "a method", "no method")


@pytest.mark.parametrize(
    "what",
    [what if what in FIRST else pytest.param(what, marks=pytest.mark.gate) for what in PATCHES],
)
def test_a_patch_is_taken_or_refused(watch, what):
    watch.patched(what, PATCHES[what], VALUES if what in ALL_VALUES else FEW)


@pytest.mark.parametrize(
    "name",
    [
        name if name in ("DetGreedy", "ScoreBonus") else pytest.param(name, marks=pytest.mark.gate)
        for name in methods()
    ],
)
def test_a_parameter_of_a_remedy_is_taken_or_refused(watch, name):
    for what, write in PARAMETERS.items():
        if what.startswith(f"{name}."):
            watch.patched(what, write, FEW)


@pytest.mark.gate
def test_other_fields_are_taken_or_refused(watch):
    revision = watch.state["revision"]
    for value in FEW:
        for method, path, body in (
            ("PATCH", "recipe", f'{{"revision": {value}, "patch": {{}}}}'),
            ("PATCH", "recipe", f'{{"revision": {revision}, "patch": {value}}}'),
            ("PATCH", "recipe", f'{{"revision": {revision}, "patch": {{}}, "drag": {value}}}'),
            ("PATCH", "recipe", value),
            ("POST", "recipe", f'{{"text": {value}}}'),
            ("POST", "recipe", f'{{"text": "a", "name": {value}}}'),
            ("POST", "enter", f'{{"code": {value}}}'),
            ("POST", "undo", value),
            ("POST", "try", f'{{"revision": {revision}, "seq": {value}, "page": "p"}}'),
            ("POST", "try", f'{{"revision": {revision}, "seq": 1, "page": {value}}}'),
            ("POST", "try", f'{{"revision": {revision}, "seq": 1, "remedy": {value}}}'),
            ("POST", "try", f'{{"revision": {revision}, "seq": 1, "list": {value}}}'),
            ("POST", "explain", f'{{"person": {value}}}'),
            ("POST", "explain", f'{{"person": "p1", "list": {value}}}'),
            ("POST", "explain", f'{{"person": "p1", "remedy": {value}}}'),
            ("POST", "download/code", f'{{"which": {value}}}'),
        ):
            status, _, raw = watch.studio.ask(method, f"/api/{path}", body.encode())
            if status >= 500 or b'"internal"' in raw:
                watch.broken.append((path, body[:60], status, raw[:200]))
        for name in ("name", "role", "encoding", "x"):
            text = urllib.parse.quote(value.encode() if value else b"\xed\xa0\x80")
            raw = watch.studio.ask("PUT", f"/api/file?{name}={text[:3000]}", b"")[2]
            if b'"internal"' in raw:
                watch.broken.append(("file", name, value[:40], raw[:200]))
    assert watch.ask("GET", "/api/state")[0] == 200


def test_what_a_job_is_given_is_taken_or_refused(watch):
    """Each is long work in a process of its own, so there are few of them."""
    revision = watch.state["revision"]
    for value in FEW:
        for path, key in (("path", "points"), ("path", "remedy"), ("remedies", "target")):
            body = f'{{"revision": {revision}, "{key}": {value}}}'
            if (path, value) == ("remedies", "null"):
                continue
            watch.sent(f"{path} {key} {value[:40]}", "POST", f"/api/{path}", body)


@pytest.mark.gate
def test_many_draws_are_refused_before_they_are_drawn(watch):
    remedy = {"method": "EpsilonGreedy", "k": 4, "n_draws": 10_000_000}
    body = {"revision": watch.state["revision"], "seq": 1, "person": "p1", "points": 2}
    for method, path, more in (
        ("PATCH", "recipe", {"patch": {"remedy": [remedy]}}),
        ("POST", "try", {"remedy": remedy}),
        ("POST", "explain", {"remedy": remedy}),
        ("POST", "path", {"remedy": remedy}),
    ):
        told = watch.ask(method, f"/api/{path}", json.dumps(body | more))[1]["error"]
        assert told["kind"] == "recipe"
        assert told["message"] == "[[remedy]] n_draws: must be at most 1, got 10,000,000"
        assert watch.ask("GET", "/api/state") == (200, watch.state)


RECIPES = {
    "an infinite number": (
        "[data]\nbands = { age = [1, inf] }",
        "must be a finite number, got inf",
    ),
    "counts by position": (
        "[[remedy]]\nmethod = 'PrefixConstraints'\nk = 4\nlower = { f = [1, 1, 1] }",
        "",
    ),
    "shares of groups": ("[[remedy]]\nmethod = 'FAStarIR'\nk = 4\np = { f = 0.5 }", ""),
    "many draws": ("[[remedy]]\nmethod = 'EpsilonGreedy'\nn_draws = 10_000_000", "at most 1"),
    "two groups at once": (
        "[[remedy]]\nmethod = 'FAStarIR'\nby = ['sex']\nk = 4\nprotected = 'f'\nkept = true",
        "",
    ),
    "shares to come near to": (
        "[[remedy]]\nmethod = 'ContinuousFairness'\nk = 4\ntheta = { f = 0.5, m = 1.0 }",
        "",
    ),
    "counts of people": (
        "[[remedy]]\nmethod = 'BalancedSelection'\nk = 4\nlower = { f = 3 }\nkept = true",
        "",
    ),
}


@pytest.mark.gate
@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_shown_and_tried_or_refused(watch, name):
    text, words = RECIPES[name]
    head = 'format = "equirank recipe"\nversion = 1\n'
    data = {"list": "query", "id": "id", "score": "score"}
    named = "".join(f'{role} = "{column}"\n' for column, role in data.items())
    start = "" if text.startswith("[data]") else f'[data]\n{named}sensitive = ["sex"]\n'
    body = json.dumps({"text": f"{head}{start}{text}\n"})
    if words:
        assert words in watch.ask("POST", "/api/recipe", body)[1]["error"]["message"]
        assert watch.ask("GET", "/api/state") == (200, watch.state)
        return
    assert watch.sent(name, "POST", "/api/recipe", body)
    status, state = watch.ask("GET", "/api/state?screen=remedy")
    assert status == 200
    own = state["recipe"]["remedy"][0]
    assert not [one["key"] for one in state["remedy"]["methods"] if one["current"]] or own.get(
        "kept"
    )
    body = {"revision": state["revision"], "seq": 1, "page": name, "remedy": own}
    status, tried = watch.ask("POST", "/api/try", json.dumps(body))
    assert status == 200
    assert tried["guarantee"]["words"] or tried["guarantee"]["empty"]
    assert watch.ask("POST", "/api/undo", "{}")[0] == 200
