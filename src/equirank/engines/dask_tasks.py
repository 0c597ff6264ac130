"""Tasks of Dask: frames and folders to partitions, and results although workers leave."""

import asyncio
import os
import time
from collections.abc import Iterable
from concurrent.futures import wait
from typing import Any

from ..core.environment import require
from ..core.errors import DataError

__all__ = [
    "CHECK_SECONDS",
    "OFTEN",
    "WorkerLeft",
    "compute",
    "is_dask_frame",
    "left",
    "open_frame",
    "results",
]


#: Seconds between two checks of the workers, and seconds without any worker after which a call
#: that had workers ends; a new process of Dask's nanny needs a few.
CHECK_SECONDS, ALONE_SECONDS = 0.25, 15.0
OFTEN = "A worker that was killed often ran out of memory."


class WorkerLeft(RuntimeError):
    """A worker that a call needed left the cluster."""


def results(client: Any, futures: Iterable[Any], bound: Iterable[str] = ()) -> list[Any]:
    """Wait for tasks and return their results; raise `WorkerLeft` if they cannot end.

    Dask runs the tasks of a worker that left again on the others. It waits forever for a task that
    is ``bound`` to that worker or depends on such a task, and if no worker is left.
    """
    distributed = require("distributed", "dask")
    gathering = client.gather(list(futures), asynchronous=True)
    pending = asyncio.run_coroutine_threadsafe(gathering, client.loop.asyncio_loop)
    bound, seen_at = list(bound), None
    while not wait([pending], CHECK_SECONDS).done:
        present = client.nthreads()
        gone = [address for address in bound if address not in present]
        if gone:
            raise left(gone[0])
        if present:
            seen_at = time.monotonic()
        elif seen_at is not None and time.monotonic() - seen_at > ALONE_SECONDS:
            raise WorkerLeft(
                f"the last worker left, and none came within {ALONE_SECONDS:g} seconds. The call "
                f"can be repeated once the cluster has workers. {OFTEN}"
            )
    try:
        return list(pending.result())
    except distributed.KilledWorker as error:
        raise WorkerLeft(
            f"worker {error.last_worker.address} left during a task that had ended "
            f"{error.allowed_failures} workers before. {OFTEN} Smaller partitions need less."
        ) from error
    except (distributed.CancelledError, asyncio.CancelledError) as error:
        raise WorkerLeft(
            f"a worker left that held data which cannot be computed again. Send the data to the "
            f"workers once more, and repeat the call. {OFTEN}"
        ) from error


def left(address: str) -> WorkerLeft:
    """Return the error about a worker that left during training."""
    return WorkerLeft(
        f"worker {address} left during training, and training was ended on the other workers. The "
        f"cluster can be used again: call fit once more with the workers that are left. {OFTEN}"
    )


def is_dask_frame(data: Any) -> bool:
    """Return whether data is a frame of Dask, without importing it."""
    kind = type(data)
    return kind.__name__ == "DataFrame" and kind.__module__.startswith(("dask.", "dask_expr."))


def open_frame(data: Any) -> Any:
    """Return the Dask DataFrame, read from a folder of Parquet files if a path is given."""
    frames = require("dask.dataframe", "dask")
    if isinstance(data, (str, os.PathLike)):
        path = os.fspath(data)
        if "://" not in path and not os.path.exists(path):
            raise DataError(f"data must be a folder of Parquet files that exists, got {path!r}")
        return frames.read_parquet(path)
    if isinstance(data, frames.DataFrame):
        return data
    raise DataError(
        "data must be a Dask DataFrame or a folder of Parquet files, got "
        f"{type(data).__name__}; dask.dataframe.from_pandas converts a data frame in memory"
    )


def compute(tasks: Iterable[Any], client: Any) -> list[Any]:
    """Compute tasks on the client, or with Dask's current scheduler if it is None."""
    tasks = list(tasks)
    if client is None:
        client = _scheduler_client()
    if client is None:
        return list(require("dask", "dask").compute(*tasks))
    futures = client.compute(tasks)
    try:
        return results(client, futures)
    except BaseException:
        client.cancel(futures)
        raise


def _scheduler_client() -> Any:
    """Return the client that Dask's current scheduler belongs to, or None if it has none."""
    client = getattr(require("dask.base", "dask").get_scheduler(), "__self__", None)
    if not hasattr(client, "nthreads"):
        return None
    try:
        require("distributed", "dask").get_worker()
    except ValueError:
        return client
    return None  # this is a task of a worker, and Dask frees its thread while it waits
