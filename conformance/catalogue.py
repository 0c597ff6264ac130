"""What is said about each metric, read from ``catalogue.toml``."""

import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["METRICS", "Metric"]


@dataclass
class Metric:
    """What the vectors of one metric say.

    ``golden`` cases have a name, inputs, options and the working that a person can check.
    """

    shape: str
    direction: str
    formula: str
    reference: str
    options: list[dict[str, Any]]
    object: str | None = None
    low: float | None = None
    high: float | None = None
    golden: list[dict[str, Any]] = field(default_factory=list)


METRICS: dict[str, Metric] = {
    name: Metric(**entry)
    for name, entry in tomllib.loads(
        Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    ).items()
}
