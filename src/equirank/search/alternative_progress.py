"""Progress of a search for alternatives: a bar and the current front, on a terminal only."""

import os
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from ..core.metric import Metric

__all__ = ["Progress", "front_text"]

#: Candidates of the front that are shown.
MOST_SHOWN = 8
#: Seconds of work before something is shown.
AFTER = 1.0


def front_text(
    rows: Sequence[Mapping[str, Any]], front: Sequence[bool], quality: Metric, target: Metric
) -> str:
    """Return the candidates on the front as lines, the best quality first.

    Parameters
    ----------
    rows : sequence of mapping
        Candidates as in the record, without failed ones.
    front : sequence of bool
        Which of them are on the front of the steering part.
    quality, target : Metric
        The two metrics.
    """
    shown = [row for row, on in zip(rows, front, strict=True) if on]
    sign = -1.0 if quality.direction == "higher" else 1.0
    shown.sort(key=lambda row: sign * row["values"][quality.name]["steer"])
    lines = [f"front on the steering part: {quality.name}, {target.name}"]
    for row in shown[:MOST_SHOWN]:
        pair = [row["values"][metric.name]["steer"] for metric in (quality, target)]
        lines.append(f"  {pair[0]:.4f}  {pair[1]:.4f}  {row['name']}")
    if len(shown) > MOST_SHOWN:
        lines.append(f"  and {len(shown) - MOST_SHOWN} more")
    return "\n".join(lines)


class Progress:
    """A context that shows the number of trials and the current front.

    Parameters
    ----------
    words : str
        Text beside the bar.
    total : int or None
        Number of trials, if it is known.
    quality, target : Metric
        The metrics of the front.

    Notes
    -----
    ``EQUIRANK_PROGRESS=0`` switches it off.
    """

    def __init__(self, words: str, total: int | None, quality: Metric, target: Metric) -> None:
        self.words, self.total, self.quality, self.target = words, total, quality, target
        self.on = os.environ.get("EQUIRANK_PROGRESS") != "0" and sys.stderr.isatty()
        self._started, self._live = time.monotonic(), None

    def __enter__(self) -> "Progress":
        """Begin."""
        return self

    def update(self, done: int, rows: Sequence[Mapping[str, Any]], front: Sequence[bool]) -> None:
        """Show the trials that are done, and the front of the candidates that did not fail."""
        if not self.on or time.monotonic() - self._started < AFTER:
            return
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        count = f"{done:,}" if self.total is None else f"{done:,} of {self.total:,}"
        known = [row for row in rows if row["error"] is None]
        text = f"{self.words}: {count} trials, {len(rows):,} candidates\n"
        text += front_text(known, front, self.quality, self.target)
        shown: Any = self._live
        if shown is None:
            shown = Live(console=Console(stderr=True), transient=True, auto_refresh=False)
            shown.start()
            self._live = shown
        shown.update(Text(text), refresh=True)

    def __exit__(self, *raised: object) -> None:
        """Remove what is shown."""
        shown: Any = self._live
        if shown is not None:
            shown.stop()
