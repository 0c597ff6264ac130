"""The studio's server: routes, streams and processes, on this computer only (needs Starlette)."""

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from typing import Any, TypeVar

from ..core.environment import require
from ..core.errors import DataError, FormatError
from .access import Access, Guard, refusal
from .answers import ENCODINGS, Action, Limits, StudioError
from .jobs import run_job
from .long_work import Failure, Worker, memory_to_read, place_of, read_file
from .regions import MEDIA_TYPES, Regions, page_asset
from .uploads import examples
from .workspace import Workspace

__all__ = ["Studio"]

T = TypeVar("T")
#: Most bytes of a body that is not a file.
MOST_JSON = 2 << 20
#: Most pages whose latest setting is remembered.
MOST_PAGES = 32
#: Kinds of downloads, and those that need the report's work first.
DOWNLOADS = ("report", "list", "recipe", "numbers", "code")
NOTHING = "There is nothing at this address."
TWICE = "This address was used twice. The studio stops."
OLD_CODE = "This address is no longer valid. Press Enter in the studio's terminal for a new one."
OLD_TICKET = "This report was shown already. Open it again in the studio."
LONG_DOWNLOADS = {"report": "report", "numbers": "report"}


class Studio:
    """The server and its workspaces; nothing of the data is written to disk.

    Parameters
    ----------
    limits : Limits, optional
        The largest file.
    port : int
        Port at 127.0.0.1; 0 for a free one.
    first : Workspace, optional
        The workspace of the first tab, such as one with a file loaded.
    say : callable, optional
        Called with a line for the terminal.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        port: int = 0,
        first: Workspace | None = None,
        say: Callable[[str], None] | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self.say = say or (lambda line: None)
        self.access = Access()
        self.regions = Regions()
        self._first = first
        self._errors = 0
        self._latest: dict[str, int] = {}
        self._quick = ThreadPoolExecutor(1, thread_name_prefix="equirank studio")
        # With the protocol named, asyncio sends each part of an answer at once; without it the
        # body waits 40 ms until the browser has acknowledged the headers.
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind(("127.0.0.1", port))
            self._socket.listen(128)  # a request before the server runs waits for it
        except OSError as error:
            self._socket.close()
            raise DataError(f"port {port} cannot be used: {error.strerror}") from None
        self.port: int = self._socket.getsockname()[1]
        self._server: Any = None
        self._long: Worker
        self._reading: Worker

    def address(self) -> str:
        """Return an address with a new launch code, valid once and for 60 seconds."""
        return f"http://127.0.0.1:{self.port}/#code={self.access.new_code()}"

    def run(self, ready: Callable[[], None] | None = None) -> None:
        """Serve until `stop`, a request to stop, or an interrupt."""
        uvicorn = require("uvicorn", "studio")
        config = uvicorn.Config(
            self.app(), log_level="error", access_log=False, server_header=False, lifespan="off",
            proxy_headers=False, ws="none", http="h11", loop="asyncio", timeout_graceful_shutdown=1,
        )  # fmt: skip
        self._server = uvicorn.Server(config)

        async def serve() -> None:
            self._long, self._reading = Worker(), Worker(once=True)
            self._long.start()
            self._reading.start()
            if ready is not None:
                threading.Thread(target=ready, daemon=True).start()
            try:
                await self._server.serve(sockets=[self._socket])
            finally:
                self._long.close()
                self._reading.close()

        try:
            asyncio.run(serve())
        finally:
            self._quick.shutdown(wait=False, cancel_futures=True)
            self._socket.close()

    def stop(self) -> None:
        """End the server; may be called from any thread."""
        if self._server is not None:
            self._server.should_exit = True

    # Routes ----------------------------------------------------------------------------------
    def app(self) -> Guard:
        """Return the application, with the checks of every request around it."""
        applications = require("starlette.applications", "studio")
        routing = require("starlette.routing", "studio")
        http = require("starlette.exceptions", "studio").HTTPException
        responses = require("starlette.responses", "studio")
        self._json, self._bytes = responses.JSONResponse, responses.Response
        routes = [
            ("GET", "/", self._page),
            ("GET", "/assets/{name}", self._asset),
            ("GET", "/report/{ticket}", self._report_page),
            ("POST", "/api/enter", self._enter),
            ("GET", "/api/state", self._state),
            ("PUT", "/api/file", self._file),
            ("POST", "/api/example", self._example),
            ("POST", "/api/recipe", self._load_recipe),
            ("PATCH", "/api/recipe", self._patch),
            ("POST", "/api/undo", self._undo),
            ("POST", "/api/redo", self._redo),
            ("POST", "/api/audit", self._audit),
            ("POST", "/api/compare", self._compare),
            ("POST", "/api/remedies", self._remedies),
            ("POST", "/api/uncertainty", self._uncertainty),
            ("POST", "/api/try", self._try),
            ("POST", "/api/path", self._path),
            ("POST", "/api/explain", self._explain),
            ("GET", "/api/people", self._people),
            ("POST", "/api/report", self._report),
            ("POST", "/api/download/{kind}", self._download),
            ("POST", "/api/forget", self._forget),
            ("POST", "/api/stop", self._stop),
        ]
        inner = applications.Starlette(
            routes=[
                routing.Route(path, self._safely(handler), methods=[method])
                for method, path, handler in routes
            ],
            exception_handlers={http: self._no_route},
        )
        return Guard(inner, self.access, lambda: self.port)

    def _safely(self, handler: Callable[[Any], Awaitable[Any]]) -> Callable[[Any], Awaitable[Any]]:
        """Return a handler whose errors are answers in words."""

        async def answer(request: Any) -> Any:
            try:
                return await handler(request)
            except Exception as error:  # noqa: BLE001 - numbered, and the server goes on
                status, body = self._words_of(error)
                return self._json(body, status)

        return answer

    def _words_of(self, error: Exception) -> tuple[int, dict[str, Any]]:
        """Return status and body of an error: in words, or a number that the terminal repeats."""
        if isinstance(error, StudioError):
            return error.status, error.to_dict()
        if isinstance(error, DataError):
            return 422, refusal("data", str(error))
        if isinstance(error, FormatError):
            return 422, refusal("recipe", str(error))
        self._errors += 1
        place = error.args[0] if isinstance(error, Failure) else place_of(error)
        self.say(f"error {self._errors}: {place}")
        message = (
            f"Something went wrong (error {self._errors}). Nothing was changed; the terminal names "
            "the same number."
        )
        return 500, refusal("internal", message)

    async def _no_route(self, request: Any, error: Any) -> Any:
        return self._json(
            refusal("missing", "There is nothing at this address."), error.status_code
        )

    async def _in_thread(self, work: Callable[..., T], *arguments: Any) -> T:
        """Do quick work in the one thread that touches workspaces."""
        return await asyncio.get_running_loop().run_in_executor(self._quick, work, *arguments)

    async def _page(self, request: Any) -> Any:
        text = self.regions.page(examples(), self.limits)
        return self._bytes(text, media_type="text/html; charset=utf-8")

    async def _asset(self, request: Any) -> Any:
        name = request.path_params["name"]
        if name not in MEDIA_TYPES:
            raise StudioError("missing", NOTHING)
        content = await asyncio.to_thread(page_asset, name)
        return self._bytes(content, media_type=MEDIA_TYPES[name])

    async def _enter(self, request: Any) -> Any:
        code = _text(await _json_body(request), "code")
        try:
            token = self.access.enter(code, self._new_workspace)
        except PermissionError:
            self.say("a launch code was used twice: the studio stops")
            self.stop()
            return self._json(refusal("code", TWICE), 403)
        if token is None:
            return self._json(refusal("code", OLD_CODE), 401)
        self._quick.submit(_warm_up)
        return self._json({"token": token})

    def _new_workspace(self) -> Workspace:
        given, self._first = self._first, None
        return given or Workspace(self.limits)

    # State -----------------------------------------------------------------------------------
    async def _state(self, request: Any) -> Any:
        screen = request.query_params.get("screen", "")
        workspace = request.scope["workspace"]

        def work() -> dict[str, Any]:
            answer = self.regions.state(workspace.state())
            if screen == "remedy":
                facts = _facts(workspace, answer["revision"])
                answer["remedy"] = facts
                answer["regions"] |= self.regions.settings(facts)
            return answer

        return self._json(await self._in_thread(work))

    async def _changed(self, work: Callable[..., Any], *arguments: Any) -> Any:
        """Answer with the state after a change."""
        return self._json(await self._in_thread(lambda: self.regions.state(work(*arguments))))

    async def _file(self, request: Any) -> Any:
        role, name = request.query_params.get("role", "main"), request.query_params.get("name", "")
        if role not in ("main", "other"):
            raise StudioError("recipe", f"role must be main or other, got {role!r}")
        encoding = request.query_params.get("encoding", "")
        if encoding not in ("", *ENCODINGS):
            known = ", ".join(ENCODINGS)
            raise StudioError("recipe", f"encoding must be one of {known}, got {encoding!r:.40}")
        content = await _body(request, self.limits.max_bytes)
        workspace = request.scope["workspace"]
        if encoding and not content:  # the loaded file, in another encoding
            name, content = workspace.loaded(role)

        async def steps() -> AsyncIterator[dict[str, Any]]:
            yield {"progress": 0.0, "words": "Reading the file"}
            upload, memory = None, memory_to_read(content)
            async for kind, value in self._reading.run(
                read_file, name, content, self.limits, encoding, memory=memory
            ):
                if kind == "progress":
                    yield {"progress": value[0], "words": value[1]}
                else:
                    upload = value
            state = await self._in_thread(workspace.accept, upload, role)
            yield {"result": await self._in_thread(self.regions.state, state)}

        return _Lines(steps(), self._words_of)

    async def _example(self, request: Any) -> Any:
        key = _text(await _json_body(request), "key")
        return await self._changed(request.scope["workspace"].load_example, key)

    async def _load_recipe(self, request: Any) -> Any:
        body = await _json_body(request)
        name = str(body.get("name") or "recipe.toml")
        return await self._changed(
            request.scope["workspace"].load_recipe, _text(body, "text"), name
        )

    async def _patch(self, request: Any) -> Any:
        body = await _json_body(request)
        patch, drag = body.get("patch"), body.get("drag")
        if not isinstance(patch, dict):
            raise StudioError("recipe", "patch must be an object")
        drag = None if drag is None else str(drag)
        return await self._changed(
            request.scope["workspace"].patch, _whole(body, "revision"), patch, drag
        )

    async def _undo(self, request: Any) -> Any:
        return await self._changed(request.scope["workspace"].undo)

    async def _redo(self, request: Any) -> Any:
        return await self._changed(request.scope["workspace"].redo)

    async def _forget(self, request: Any) -> Any:
        return await self._changed(request.scope["workspace"].forget)

    async def _stop(self, request: Any) -> Any:
        self.say("stopped from the page")
        asyncio.get_running_loop().call_later(0.2, self.stop)
        return self._json({"stopped": True})

    # Findings --------------------------------------------------------------------------------
    async def _audit(self, request: Any) -> Any:
        workspace, body = request.scope["workspace"], await _json_body(request)
        about = {"attribute": str(body.get("attribute") or "")}

        def draw(answer: Any) -> dict[str, Any]:
            return self.regions.findings(answer, workspace.recipe.shown)

        return self._findings(workspace, body, workspace.quick_audit, "audit", draw, about)

    async def _compare(self, request: Any) -> Any:
        workspace, body = request.scope["workspace"], await _json_body(request)
        quick, draw = workspace.quick_compare, self.regions.compare
        return self._findings(workspace, body, quick, "compare", draw, {})

    def _findings(
        self,
        workspace: Workspace,
        body: dict[str, Any],
        quick: Callable[..., Any],
        kind: Any,
        draw: Callable[[Any], dict[str, Any]],
        about: dict[str, Any],
    ) -> "_Lines":
        """Stream numbers without resampling at once, and what they show when it is known."""
        revision = _whole(body, "revision")

        async def steps() -> AsyncIterator[dict[str, Any]]:
            yield {"progress": 0.0, "words": "Counting"}
            yield {"quick": await self._in_thread(lambda: draw(quick(revision, **about)))}
            job = await self._in_thread(lambda: workspace.job(kind, revision, **about))
            async for line in self._job(workspace, job, draw):
                yield line

        return _Lines(steps(), self._words_of)

    async def _job(
        self, workspace: Workspace, job: Any, draw: Callable[[Any], Any]
    ) -> AsyncIterator[dict[str, Any]]:
        """Yield the lines of a long job, from the cache if it was done before."""
        answer = await self._in_thread(workspace.cached, job)
        if answer is None:
            async for kind, value in self._long.run(run_job, job):
                if kind == "progress":
                    yield {"progress": value[0], "words": value[1]}
                else:
                    answer = await self._in_thread(workspace.finish, job, value)
        yield {"result": await self._in_thread(draw, answer)}

    async def _streamed(
        self, request: Any, kind: Any, draw: Callable[[Any], Any], words: str, **more: Any
    ) -> Any:
        """Stream one long job at the revision of the request."""
        workspace, body = request.scope["workspace"], await _json_body(request)
        revision = _whole(body, "revision")
        for name, default in more.items():
            more[name] = body.get(name, default)

        async def steps() -> AsyncIterator[dict[str, Any]]:
            yield {"progress": 0.0, "words": words}
            job = await self._in_thread(lambda: workspace.job(kind, revision, **more))
            async for line in self._job(workspace, job, draw):
                yield line

        return _Lines(steps(), self._words_of)

    # Remedies --------------------------------------------------------------------------------
    async def _try(self, request: Any) -> Any:
        workspace, body = request.scope["workspace"], await _json_body(request)
        seq, revision = _whole(body, "seq"), _whole(body, "revision")
        page = str(body.get("page", ""))[:64]  # two tabs of a workspace count for themselves
        self._latest[page] = max(seq, self._latest.pop(page, 0))
        while len(self._latest) > MOST_PAGES:
            self._latest.pop(next(iter(self._latest)))

        def work() -> dict[str, Any]:
            if seq < self._latest.get(page, 0):
                return {"seq": seq, "dropped": True}
            answer = workspace.try_remedy(revision, seq, body.get("remedy"), body.get("list"))
            return {**answer, "regions": self.regions.tried(answer)}

        return self._json(await self._in_thread(work))

    async def _path(self, request: Any) -> Any:
        return await self._streamed(
            request, "path", self.regions.path, "Trying settings", remedy=None, points=13
        )

    async def _remedies(self, request: Any) -> Any:
        return await self._streamed(
            request, "remedies", self.regions.remedies, "Trying remedies", target=None
        )

    async def _uncertainty(self, request: Any) -> Any:
        return await self._streamed(
            request, "uncertainty", self.regions.uncertainty, "Working out how sure this is"
        )

    async def _explain(self, request: Any) -> Any:
        workspace, body = request.scope["workspace"], await _json_body(request)

        def work() -> dict[str, Any]:
            answer = workspace.explain(body.get("remedy"), _text(body, "person"), body.get("list"))
            return {**answer, "regions": {"explained": self.regions.explained(answer)}}

        return self._json(await self._in_thread(work))

    async def _people(self, request: Any) -> Any:
        asked, workspace = request.query_params, request.scope["workspace"]
        after = asked.get("after", "0")
        if not (after.isascii() and after.isdigit() and len(after) < 12):
            raise StudioError("recipe", f"after must be a whole number, got {after!r}")

        def work() -> dict[str, Any]:
            answer = workspace.people(asked.get("list"), int(after), asked.get("find", ""))
            return {**answer, "regions": {"people": self.regions.people(answer)}}

        return self._json(await self._in_thread(work))

    # Take it away ----------------------------------------------------------------------------
    async def _report(self, request: Any) -> Any:
        def draw(answer: Any) -> dict[str, str]:
            return {"ticket": self.access.new_ticket(answer["html"])}

        return await self._streamed(request, "report", draw, "Writing the report", which="given")

    async def _report_page(self, request: Any) -> Any:
        page = self.access.redeem(request.path_params["ticket"])
        if page is None:
            raise StudioError(
                "missing", "This report was shown already. Open it again in the studio."
            )
        return self._bytes(page, media_type="text/html; charset=utf-8")

    async def _download(self, request: Any) -> Any:
        kind, workspace = request.path_params["kind"], request.scope["workspace"]
        if kind not in DOWNLOADS:
            raise StudioError("missing", "There is no such download.")
        body = await _json_body(request)
        which = str(body.get("which") or "")
        if kind in LONG_DOWNLOADS:
            revision = _whole(body, "revision")
            more = {"which": which} if which else {}
            job = await self._in_thread(lambda: workspace.job("report", revision, **more))
            async for _ in self._job(workspace, job, lambda answer: None):
                pass
        made = await self._in_thread(workspace.download, kind, which)
        headers = {"x-file-name": made.name.encode("ascii", "replace").decode()}
        return self._bytes(made.content, media_type=made.media_type, headers=headers)


class _Lines:
    """An answer of newline-delimited JSON; a client that leaves cancels the work."""

    def __init__(
        self,
        steps: AsyncIterator[dict[str, Any]],
        words_of: Callable[[Exception], tuple[int, dict[str, Any]]],
    ) -> None:
        self.steps, self.words_of = steps, words_of

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-type", b"application/x-ndjson")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})

        async def write(line: dict[str, Any]) -> None:
            body = json.dumps(line, allow_nan=False).encode() + b"\n"
            await send({"type": "http.response.body", "body": body, "more_body": True})

        async def work() -> None:
            try:
                async for line in self.steps:
                    await write(line)
            except Exception as error:  # noqa: BLE001 - the last line, in words
                await write(self.words_of(error)[1])
            await send({"type": "http.response.body", "body": b""})

        async def left() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass

        working, leaving = asyncio.ensure_future(work()), asyncio.ensure_future(left())
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)
        await self.steps.aclose()  # type: ignore[attr-defined]


async def _body(request: Any, most: int) -> bytes:
    """Return the body of a request, read no further than the most bytes."""
    parts, size = [], 0
    said = request.headers.get("content-length", "0")
    if said.isdigit() and int(said) > most:
        raise StudioError("size", _too_large(int(said), most))
    async for part in request.stream():
        size += len(part)
        if size > most:
            raise StudioError("size", _too_large(size, most))
        parts.append(part)
    return b"".join(parts)


def _too_large(size: int, most: int) -> str:
    return (
        f"The file has {size / (1 << 20):,.0f} MB or more, and the studio reads up to "
        f"{most / (1 << 20):,.0f} MB. Start it with a larger --max-mb, or use equirank audit."
    )


async def _json_body(request: Any) -> dict[str, Any]:
    """Return the object in the body of a request; an empty body is an empty object."""
    raw = await _body(request, MOST_JSON)
    try:
        value = json.loads(raw or b"{}")
    except (ValueError, RecursionError):
        raise StudioError("recipe", "the request must be JSON") from None
    if not isinstance(value, dict):
        raise StudioError("recipe", "the request must be a JSON object")
    try:  # what could not be written back: infinite numbers, lone surrogates, too many levels
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
        deepcopy(value)
    except (ValueError, RecursionError):
        raise StudioError(
            "recipe", "the request must have finite numbers, text in UTF-8 and few levels"
        ) from None
    return value


def _facts(workspace: Workspace, revision: int) -> Any:
    """Return the facts of the remedy screen; what breaks them is refused with a way out."""
    try:
        return workspace.remedy_facts(revision)
    except (StudioError, DataError):
        raise
    except Exception as error:  # noqa: BLE001 - said with its place
        out: Action = {"label": "Use no remedy", "patch": {"remedy": None}}
        message = f"The settings of the remedy cannot be shown ({place_of(error)})."
        raise StudioError("recipe", message, actions=[out]) from None


def _whole(body: dict[str, Any], name: str) -> int:
    value = body.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise StudioError("recipe", f"{name} must be a whole number, got {value!r:.40}")
    return value


def _text(body: dict[str, Any], name: str) -> str:
    value = body.get(name)
    if not isinstance(value, str):
        raise StudioError("recipe", f"{name} must be text")
    return value


def _warm_up() -> None:
    """Import what the first audit needs, while the first screen is read."""
    from ..auditing import audit  # noqa: F401
