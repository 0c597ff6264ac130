"""Progress of a search: the trials and the current front, on a terminal only."""

import io
import sys

import pytest

from equirank.core.registry import parse_metrics
from equirank.search import alternative_progress
from equirank.search.alternative_progress import MOST_SHOWN, Progress, front_text

QUALITY, TARGET = parse_metrics(["NDCG@10", "ExposureGap"])


def rows(count):
    return [
        {"name": f"boost [red] {at}", "error": None,
         "values": {"NDCG@10": {"steer": at / 100}, "ExposureGap": {"steer": at / 50}}}
        for at in range(count)
    ]  # fmt: skip


def test_the_front_begins_with_the_best_quality():
    text = front_text(rows(3), [True, False, True], QUALITY, TARGET)
    lines = ["  0.0200  0.0400  boost [red] 2", "  0.0000  0.0000  boost [red] 0"]
    assert text.split("\n")[1:] == lines
    many = front_text(rows(20), [True] * 20, QUALITY, TARGET)
    assert len(many.split("\n")) == MOST_SHOWN + 2
    assert many.endswith("and 12 more")


@pytest.mark.parametrize("terminal", [True, False])
def test_a_terminal_shows_trials_and_front(terminal, monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return terminal

    monkeypatch.delenv("EQUIRANK_PROGRESS", raising=False)
    monkeypatch.setattr(alternative_progress, "AFTER", 0.0)
    monkeypatch.setattr(sys, "stderr", Terminal())
    with Progress("searching", 9, QUALITY, TARGET) as shown:
        failed = {"name": "broken 1", "error": "it broke", "values": {}}
        shown.update(3, [*rows(2), failed], [True, True])
    text = sys.stderr.getvalue()
    assert ("searching: 3 of 9 trials, 3 candidates" in text) is terminal
    assert ("boost [red] 1" in text) is terminal
