"""Checkpoints: the state of a run in one file of a folder, replaced whole after every epoch."""

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...core.errors import DataError, FormatError
from ...core.extras import require
from .training import State

__all__ = ["read_checkpoint", "replaced", "stored_seed", "write_checkpoint"]

NAME = "checkpoint.safetensors"


@contextmanager
def replaced(target: Path) -> Iterator[Path]:
    """Give a temporary name beside a file, and rename it to the file when all is written."""
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    try:
        yield partial
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


def write_checkpoint(folder: Any, state: State, identity: dict[str, Any]) -> None:
    """Write a run's state, and whose it is."""
    safetensors = require("safetensors.torch", "neural")
    tensors = {name: getattr(state, name) for name in ("weights", "first", "second", "best")}
    tensors |= {f"kept.{step}": values for step, values in state.kept.items()}
    numbers = {name: getattr(state, name) for name in ("step", "epoch", "losses", "watched")}
    notes = {"identity": json.dumps(identity, sort_keys=True), "numbers": json.dumps(numbers)}
    with replaced(Path(folder) / NAME) as path:
        plain = {name: values.detach().contiguous() for name, values in tensors.items()}
        safetensors.save_file(plain, path, metadata=notes)


def stored_seed(folder: Any) -> int | None:
    """Give the seed of the run a folder holds, if it holds one."""
    if not (Path(folder) / NAME).exists():
        return None
    return int(_notes(Path(folder) / NAME)["identity"]["seed"])


def read_checkpoint(folder: Any, identity: dict[str, Any], device: Any) -> State | None:
    """Read the state a folder holds, None where it holds none.

    Raises
    ------
    DataError
        Where the folder holds the run of other data or other parameters.
    """
    path = Path(folder) / NAME
    if not path.exists():
        return None
    notes = _notes(path)
    if notes["identity"] != json.loads(json.dumps(identity)):
        other = [key for key, value in notes["identity"].items() if identity.get(key) != value]
        raise DataError(
            f"checkpoint must be a new folder, or hold a run on this data with these parameters; "
            f"{str(folder)!r} differs in {', '.join(other) or 'its parameters'}"
        )
    found = require("safetensors.torch", "neural").load_file(path, device=str(device))
    steps = sorted(int(name[5:]) for name in found if name.startswith("kept."))
    kept = {step: found[f"kept.{step}"] for step in steps}
    tensors = {name: found[name] for name in ("weights", "first", "second", "best")}
    return State(**tensors, **notes["numbers"], kept=kept)


def _notes(path: Path) -> dict[str, Any]:
    safetensors = require("safetensors", "neural")
    try:
        with safetensors.safe_open(path, framework="np") as file:
            return {name: json.loads(text) for name, text in file.metadata().items()}
    except (safetensors.SafetensorError, AttributeError, ValueError) as error:
        raise FormatError(f"{str(path)!r} is not a checkpoint: {error}") from None
