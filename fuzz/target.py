"""A target of the attack, its cases, and what counts as a fault."""

import base64
import hashlib
import json
import random
import re
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from equirank import (
    DataError,
    EquirankWarning,
    FormatError,
    InfeasibleError,
    MissingExtraError,
)

__all__ = ["CLEAR", "Case", "Fault", "Report", "Target", "attack", "read_case", "write_case"]

#: Errors with a message for the caller. Everything else is a fault.
CLEAR = (DataError, InfeasibleError, FormatError, MissingExtraError)
#: An input: JSON values and bytes, with all that is needed to repeat it.
Case = dict[str, Any]
ROOT = Path(__file__).parents[1]


class Fault(Exception):
    """A wrong result: ``kind`` is one word for it (loss, duplicate, holds, value, ...)."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def _none(case: Case) -> Iterator[Case]:
    yield from ()


def _one(case: Case) -> int:
    return 1


@dataclass(frozen=True)
class Target:
    """Something to attack.

    Attributes
    ----------
    name : str
        Its name in the summary and in the files of cases.
    kind : {"readers", "models", "rerankers", "metrics"}
        What ``--only`` selects.
    draw : callable
        Draws a case: ``draw(random.Random)``.
    run : callable
        Runs a case in an empty folder. It returns if the result is right, and raises a clear error
        or anything else, which is a fault: ``run(case, folder)``.
    size : callable
        The number of inputs of a case: lists for re-rankers and metrics.
    smaller : callable
        Yields smaller cases, tried in turn while the fault stays the same.
    strategy : callable, optional
        Returns a strategy of hypothesis that draws cases.
    weight : float
        Its share of the time, relative to others.
    """

    name: str
    kind: str
    draw: Callable[[random.Random], Case]
    run: Callable[[Case, Path], None]
    size: Callable[[Case], int] = _one
    smaller: Callable[[Case], Iterator[Case]] = _none
    strategy: Callable[[], Any] | None = None
    weight: float = 1.0


@dataclass(frozen=True)
class Report:
    """A fault: target, kind, where it arose, the message, the end of the traceback."""

    target: str
    kind: str
    where: str
    message: str
    trace: str = ""

    @property
    def signature(self) -> str:
        """A name that is the same for the same fault of other inputs."""
        text = "|".join([self.target, self.kind, self.where])
        return f"{_word(self.target)}_{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def _word(text: str) -> str:
    return re.sub(r"\W+", "_", text).strip("_").lower()


def attack(target: Target, case: Case, folder: Path) -> tuple[bool, Report | None]:
    """Run a case; return whether it was accepted, and the fault if it is one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        warnings.simplefilter("ignore", EquirankWarning)
        try:
            target.run(case, folder)
            return True, None
        except CLEAR as error:
            text = str(error)
            if text.strip():
                return False, None
            return False, _report(target, error, "message", folder)
        except Fault as fault:
            return False, _report(target, fault, fault.kind, folder)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # noqa: BLE001, the purpose of this function
            kind = "warning" if isinstance(error, Warning) else "traceback"
            return False, _report(target, error, kind, folder)


def _report(target: Target, error: BaseException, kind: str, folder: Path) -> Report:
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f for f in frames if "equirank" in Path(f.filename).parts] or list(frames)
    last = ours[-1]
    where = f"{Path(last.filename).name}:{last.name} {type(error).__name__}"
    if isinstance(error, Fault):
        where = "fuzz"
    trace = " < ".join(f"{Path(f.filename).name}:{f.lineno}" for f in reversed(frames[-6:]))
    message = f"{type(error).__name__}: {error}".replace(str(folder), "FOLDER")
    message = re.sub(r"(?<!\w)(/[\w.+-]+)+/", "", message[:500])  # no folder of this machine
    return Report(target.name, kind, where, message, trace)


def shrink(target: Target, case: Case, report: Report, folder: Path, tries: int = 300) -> Case:
    """Return a smaller case with the same fault."""
    found, end = "RecursionError" not in report.where, time.time() + 15.0  # depth is no shape
    while found and tries > 0:
        found = False
        for smaller in target.smaller(case):
            tries -= 1
            if tries <= 0 or time.time() > end:
                break
            with TemporaryDirectory(dir=folder) as inner:
                _, again = attack(target, smaller, Path(inner))
            if again is not None and again.signature == report.signature:
                case, found = smaller, True
                break
    return case


def _packed(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, dict):
        return {key: _packed(part) for key, part in value.items()}
    return [_packed(part) for part in value] if isinstance(value, (list, tuple)) else value


def _unpacked(value: Any) -> Any:
    if isinstance(value, dict):
        if set(value) == {"base64"}:
            return base64.b64decode(value["base64"])
        return {key: _unpacked(part) for key, part in value.items()}
    return [_unpacked(part) for part in value] if isinstance(value, list) else value


def write_case(path: Path, report: Report, case: Case) -> None:
    """Write a case with its fault as JSON."""
    document = {"fault": asdict(report), "case": _packed(case)}
    text = json.dumps(document, indent=1)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="utf-8")


def read_case(path: Path) -> tuple[str, Case]:
    """Return the name of the target and the case of a file."""
    document = json.loads(path.read_text(encoding="utf-8"))
    return document["fault"]["target"], _unpacked(document["case"])
