"""Targets with a crash, a hang and a fault planted, to try the attack itself."""

import os
import random
import time
from pathlib import Path

from .target import Case, Fault, Target

__all__ = ["TARGETS"]


def _draw(rng: random.Random) -> Case:
    return {"data": rng.randbytes(1)}


def _passes(case: Case, folder: Path) -> None:
    (folder / "file").write_bytes(case["data"])


def _crashes(case: Case, folder: Path) -> None:
    if case["data"] < b"\x01":
        os.abort()


def _hangs(case: Case, folder: Path) -> None:
    if case["data"] < b"\x02":
        time.sleep(1000)


def _loses(case: Case, folder: Path) -> None:
    if case["data"] < b"\x80":
        raise Fault("loss", "planted")


TARGETS = [
    Target("planted pass", "planted", _draw, _passes),
    Target("planted crash", "planted", _draw, _crashes),
    Target("planted hang", "planted", _draw, _hangs),
    Target("planted loss", "planted", _draw, _loses),
]
