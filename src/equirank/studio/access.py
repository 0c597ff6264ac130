"""Who may speak to the studio: launch codes, tokens, tickets, and the checks of every request."""

import hmac
import json
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["MOST_TABS", "REPORT_POLICY", "Access", "Guard", "refusal"]


Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

#: Seconds that a launch code and the ticket of a report are valid.
CODE_SECONDS, TICKET_SECONDS = 60.0, 30.0
#: Most tabs with a workspace of their own; one more drops the tab that was idle longest.
MOST_TABS = 4

UNKNOWN_TAB = "This tab is not known to the studio. Press Enter in its terminal for a new address."
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'; "
    "img-src 'self' data:; frame-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
REPORT_POLICY = "sandbox allow-scripts allow-downloads; connect-src 'none'; frame-ancestors 'self'"
#: Headers of every answer, beside the policy.
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


def refusal(kind: str, message: str, **details: Any) -> dict[str, Any]:
    """Return the body of an answer with an error."""
    where = {name: details.get(name) for name in ("column", "row", "list", "group")}
    actions = details.get("actions", [])
    return {"error": {"kind": kind, "message": message, "where": where, "actions": actions}}


@dataclass
class Access:
    """Launch codes, tokens and tickets; each is random, and none is written anywhere.

    Parameters
    ----------
    clock : callable
        Seconds that only grow.
    """

    clock: Callable[[], float] = time.monotonic
    _codes: dict[str, tuple[float, bool]] = field(default_factory=dict)
    _tokens: dict[str, Any] = field(default_factory=dict)
    _tickets: dict[str, tuple[float, str]] = field(default_factory=dict)

    def new_code(self) -> str:
        """Return a launch code, valid once and for 60 seconds."""
        self._drop_old()
        code = secrets.token_urlsafe(32)
        self._codes[code] = (self.clock() + CODE_SECONDS, False)
        return code

    def enter(self, code: str, workspace: Callable[[], Any]) -> str | None:
        """Return a token for a launch code, or None if the code is not valid.

        Raises
        ------
        PermissionError
            If the code was used before and is not yet 60 seconds old: someone else read it.
        """
        self._drop_old()
        for known, (until, used) in self._codes.items():
            if hmac.compare_digest(known.encode(), code.encode()):
                if used:
                    raise PermissionError("the launch code was used twice")
                self._codes[known] = (until, True)
                break
        else:
            return None
        while len(self._tokens) >= MOST_TABS:
            self._tokens.pop(next(iter(self._tokens))).forget()
        token = secrets.token_hex(32)
        self._tokens[token] = workspace()
        return token

    def workspace(self, token: str) -> Any | None:
        """Return the workspace of a token, which becomes the one used last, or None."""
        found = None
        for known in self._tokens:
            if hmac.compare_digest(known.encode(), token.encode()):
                found = known
        if found is None:
            return None
        self._tokens[found] = self._tokens.pop(found)
        return self._tokens[found]

    def workspaces(self) -> Iterable[Any]:
        """Return all workspaces."""
        return list(self._tokens.values())

    def new_ticket(self, page: str) -> str:
        """Return a ticket that shows a page once, within 30 seconds."""
        self._drop_old()
        ticket = secrets.token_urlsafe(32)
        self._tickets[ticket] = (self.clock() + TICKET_SECONDS, page)
        return ticket

    def redeem(self, ticket: str) -> str | None:
        """Return the page of a ticket, the first time only, or None."""
        self._drop_old()
        for known in list(self._tickets):
            if hmac.compare_digest(known.encode(), ticket.encode()):
                return self._tickets.pop(known)[1]
        return None

    def _drop_old(self) -> None:
        now = self.clock()
        self._codes = {code: each for code, each in self._codes.items() if each[0] > now}
        self._tickets = {code: each for code, each in self._tickets.items() if each[0] > now}


class Guard:
    """The checks before any route: Host, Origin, Sec-Fetch-Site and token; headers after it.

    The Host header must be the text ``127.0.0.1:PORT`` or ``localhost:PORT``, on every route, so
    that a name that another site resolves to this computer reaches nothing. ``scope["workspace"]``
    is the workspace of the token.
    """

    def __init__(self, app: Application, access: Access, port: Callable[[], int]):
        self.app, self.access, self.port = app, access, port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # a web socket is closed without an answer
        path = scope["path"]
        policy = REPORT_POLICY if path.startswith("/report/") else PAGE_POLICY

        async def answer(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                ours = HEADERS | {"content-security-policy": policy}
                kept = [
                    (name, value)
                    for name, value in message.get("headers", [])
                    if name.lower().decode("latin-1") not in {*ours, "server", "set-cookie"}
                ]
                added = [(name.encode(), value.encode()) for name, value in ours.items()]
                message = {**message, "headers": [*kept, *added]}
            await send(message)

        refused = self._refused(scope, path)
        if refused is None:
            await self.app(scope, receive, answer)
            return
        status, body = refused
        content = json.dumps(body).encode()
        headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
        headers.append((b"content-length", str(len(content)).encode()))
        await answer({"type": "http.response.start", "status": status, "headers": headers})
        await answer({"type": "http.response.body", "body": content})

    def _refused(self, scope: Scope, path: str) -> tuple[int, dict[str, Any]] | None:
        """Return status and body of a refusal, or None."""
        given: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            given.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        hosts = {f"{name}:{self.port()}" for name in ("127.0.0.1", "localhost")}
        host = given.get("host", [])
        if len(host) != 1 or host[0] not in hosts:
            message = "This address is not the studio's; open the one that the terminal printed."
            return 403, refusal("host", message)
        if not path.startswith(("/api/", "/report/")):
            return None
        origins = given.get("origin", [])
        if any(origin != f"http://{host[0]}" for origin in origins):
            return 403, refusal("origin", "The request comes from another page.")
        if any(site != "same-origin" for site in given.get("sec-fetch-site", [])):
            return 403, refusal("origin", "The request comes from another page.")
        if path == "/api/enter" or path.startswith("/report/"):
            return None
        bearers = given.get("authorization", [])
        workspace = None
        if len(bearers) == 1 and bearers[0].startswith("Bearer "):
            workspace = self.access.workspace(bearers[0].removeprefix("Bearer "))
        if workspace is None:
            return 401, refusal("token", UNKNOWN_TAB)
        scope["workspace"] = workspace
        return None
