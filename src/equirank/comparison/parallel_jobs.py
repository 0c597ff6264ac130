"""Jobs in parallel processes, of which each that kills its worker fails alone."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from typing import Any, TypeVar

from joblib import Parallel, delayed
from joblib.parallel import get_active_backend

__all__ = ["run_jobs"]

Job = TypeVar("Job")
Result = TypeVar("Result")


def run_jobs(
    work: Callable[..., Result],
    jobs: Sequence[Job],
    words: Callable[[Job], tuple[Any, ...]],
    n_jobs: int | None,
    died: Callable[[BrokenExecutor], Result],
) -> Iterator[tuple[Job, Result]]:
    """Yield each job with its result when it is done.

    Parameters
    ----------
    work : callable
        Computes a result; it must be importable.
    jobs : sequence
        The jobs.
    words : callable
        Maps a job to the arguments of ``work``. joblib sends large arrays to the workers once, as
        memory maps.
    n_jobs : int or None
        Number of workers, as in joblib.
    died : callable
        Maps the error of a worker that died (for example out of memory) to the result of its job.
        The jobs that were not finished then run one by one.
    """

    def start(some: Sequence[int], workers: int | None) -> Any:
        soon = getattr(get_active_backend()[0], "supports_return_generator", False)
        order = "generator_unordered" if soon else "list"
        return Parallel(n_jobs=workers, batch_size=1, return_as=order)(
            delayed(_one)(at, work, *words(jobs[at])) for at in some
        )

    left = list(range(len(jobs)))
    try:
        for at, result in start(left[:], n_jobs) if left else ():
            left.remove(at)
            yield jobs[at], result
        return
    except BrokenExecutor:
        pass  # the job is unknown
    for at in left:
        try:
            for _, result in start([at], 2):
                yield jobs[at], result
        except BrokenExecutor as error:
            yield jobs[at], died(error)


def _one(at: int, work: Callable[..., Result], *words: Any) -> tuple[int, Result]:
    return at, work(*words)
