"""Where training runs: the device that was asked for, its threads, its precision."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from joblib import effective_n_jobs

from ...core.errors import DataError
from ...core.extras import require

__all__ = ["autocast", "chosen_device", "threads"]


def chosen_device(device: str, precision: str) -> Any:
    """Give the device by its name; only ``"auto"`` picks one.

    Examples
    --------
    >>> chosen_device("cpu", "mixed")
    Traceback (most recent call last):
    ...
    equirank.core.errors.DataError: precision must be 'float32' or 'float64' on a CPU, got 'mixed'
    """
    torch = require("torch", "neural")
    there = bool(torch.cuda.is_available())
    if device == "cuda" and not there:
        raise DataError(
            "device must be 'cpu' or 'auto' here, got 'cuda': PyTorch finds no CUDA GPU"
        )
    name = ("cuda" if there else "cpu") if device == "auto" else device
    if name == "cpu" and precision == "mixed":
        raise DataError("precision must be 'float32' or 'float64' on a CPU, got 'mixed'")
    return torch.device(name)


@contextmanager
def threads(n_jobs: int | None) -> Iterator[None]:
    """Let PyTorch use so many threads, and give it back the number it had."""
    torch = require("torch", "neural")
    before = torch.get_num_threads()
    torch.set_num_threads(effective_n_jobs(n_jobs))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def autocast(device: Any, precision: str) -> AbstractContextManager[Any]:
    """Let matrix products run in bfloat16 where mixed precision is asked for."""
    if precision != "mixed":
        return nullcontext()
    torch = require("torch", "neural")
    found: AbstractContextManager[Any] = torch.autocast(device.type, dtype=torch.bfloat16)
    return found
