"""Processes beside the server: one for long work, and one for each file that is read."""

import asyncio
import multiprocessing
import signal
import sys
import zlib
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from typing import Any

from ..core.errors import DataError
from .answers import Limits, Progress, StudioError, Upload
from .uploads import read_upload

__all__ = ["Failure", "Worker", "memory_to_read", "place_of", "read_apart", "read_file"]


#: Bytes that a process may reserve beyond what it has when it begins to read a file: so many times
#: the file, and no less than so many.
TIMES_MEMORY, LEAST_MEMORY = 10, 2 << 30


#: Bytes that are unpacked at a time, and what a file that is too large needs.
PART = 1 << 20
LARGER = "Start the studio with a larger --max-mb, or use equirank audit, which reads any size."
#: What is said of a process that ended, was ended by the system, or crashed.
ENDED = (
    "The work stopped before its end, as it does when memory runs out. Nothing was changed. Try it "
    "again, with a smaller file if it happens again."
)
NOT_READ = (
    "The file could not be read: it is damaged, or it needs more memory than the studio may use. "
    "Nothing was changed. Save it again, as CSV for example, and open that file."
)


class Failure(Exception):
    """An error that nobody expected in another process: its kind and place, without a trace."""


class Worker:
    """A warm spawned process that does one task after another; leaving a task ends the process.

    Parameters
    ----------
    once : bool
        Whether each task has a process of its own, with its memory limited.
    """

    def __init__(self, once: bool = False):
        self.once = once
        self._lock = asyncio.Lock()
        self._process: Any = None
        self._connection: Any = None
        self._closed = False

    def start(self) -> None:
        """Start the process, if none is running."""
        if self._closed or (self._process is not None and self._process.is_alive()):
            return
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()
        self._connection = ours

    def stop(self) -> None:
        """End the process at once."""
        if self._process is not None:
            self._process.terminate()
            self._process.join(1.0)
            if self._process.is_alive():  # it ignored the signal, as in a C extension
                self._process.kill()
                self._process.join(1.0)
            self._connection.close()
            self._process = self._connection = None

    def close(self) -> None:
        """End the process, and start no other."""
        self._closed = True
        self.stop()

    async def run(
        self, task: Callable[..., Any], *arguments: Any, memory: int | None = None
    ) -> AsyncIterator[tuple[str, Any]]:
        """Yield ``("progress", (share, words))`` and at last ``("result", value)``.

        A consumer that leaves early ends the process; the next one starts at once.

        Raises
        ------
        StudioError
            As the task raised it, or if the process ended.
        Failure
            If the task raised anything else.
        """
        async with self._lock:
            finished = False
            try:
                self.start()
                connection = self._connection
                with suppress(BrokenPipeError):
                    await asyncio.to_thread(connection.send, (task, arguments, memory))
                while True:
                    try:
                        kind, value = await asyncio.to_thread(connection.recv)
                    except (EOFError, OSError):
                        words = NOT_READ if self.once else ENDED
                        raise StudioError("data", words) from None
                    finished = kind != "progress" and not self.once
                    if kind == "refused":
                        raise StudioError(*value)
                    if kind == "failed":
                        raise Failure(value)
                    yield kind, value
                    if kind == "result":
                        return
            finally:
                if not finished:
                    self.stop()
                    self.start()


def _serve(connection: Any) -> None:
    """Do the tasks that arrive, until the other side closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            task, arguments, memory = connection.recv()
        except (EOFError, OSError):
            return

        def progress(share: float, words: str) -> None:
            connection.send(("progress", (share, words)))

        try:
            if memory is not None:
                _limit_memory(memory)
            message = ("result", task(*arguments, progress=progress))
        except StudioError as error:
            message = ("refused", (error.kind, error.message, error.where, error.actions))
        except DataError as error:
            message = ("refused", ("data", str(error)))
        except MemoryError:
            message = ("refused", ("size", "There is not enough memory for this file."))
        except Exception as error:  # noqa: BLE001 - the other side numbers it and goes on
            message = ("failed", place_of(error))
        with suppress(BrokenPipeError):
            connection.send(message)
        if memory is not None:
            return


def read_file(
    name: str,
    content: bytes,
    limits: Limits,
    encoding: str = "",
    progress: Progress | None = None,
) -> Upload:
    """Read a file as `read_upload` does, after a look at its size when unpacked.

    Raises
    ------
    StudioError
        ``"size"`` if a packed file has more bytes than a file may have.
    """
    if _unpacked_more_than(limits.max_bytes, content):
        most = f"{limits.max_bytes / (1 << 20):,.0f} MB"
        raise StudioError(
            "size", f"The file unpacks to more than {most}, which is the most. {LARGER}"
        )
    return read_upload(name, content, limits, progress, encoding)


def memory_to_read(content: bytes) -> int:
    """Return the bytes that the process which reads a file may reserve."""
    return TIMES_MEMORY * len(content)


def read_apart(name: str, content: bytes, limits: Limits) -> Upload:
    """Read a file as `read_file` does, in a process of its own with limited memory.

    Raises
    ------
    StudioError
        As `read_file`, or if the process ended.
    """

    async def work() -> Upload:
        worker, memory = Worker(once=True), memory_to_read(content)
        try:
            async for kind, value in worker.run(read_file, name, content, limits, memory=memory):
                if kind == "result":
                    worker.close()  # so that no further process starts
                    found: Upload = value
        finally:
            worker.close()
        return found

    return asyncio.run(work())


def _unpacked_more_than(most: int, content: bytes) -> bool:
    """Return whether a gzip file has more bytes than so many; damage is left to the reader."""
    size, rest = 0, content
    with suppress(zlib.error):
        while rest[:2] == b"\x1f\x8b":  # each member of the file
            unpacking = zlib.decompressobj(wbits=31)
            while rest and not unpacking.eof:
                size += len(unpacking.decompress(rest, PART))
                rest = unpacking.unconsumed_tail
                if size > most:
                    return True
            rest = unpacking.unused_data
    return False


def place_of(error: BaseException) -> str:
    """Return the kind of an error and the line that raised it, without its text and trace."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return type(error).__name__
    file = trace.tb_frame.f_code.co_filename.replace("\\", "/").rpartition("/")[2]
    return f"{type(error).__name__} at {file}:{trace.tb_lineno}"


def _limit_memory(more: int) -> None:
    """Allow this process to reserve so many further bytes and no more, where the system can."""
    if sys.platform == "win32" or sys.platform == "darwin":
        return
    import resource

    with open("/proc/self/statm", encoding="ascii") as file:
        now = int(file.read().split()[0]) * resource.getpagesize()
    limit = now + max(more, LEAST_MEMORY)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
