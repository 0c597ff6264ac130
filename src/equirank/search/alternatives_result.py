"""Alternatives: everything that a search tried, its choice, and what holds for it."""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from math import ceil, isfinite, log
from pathlib import Path
from typing import Any

import numpy as np

from ..comparison.comparison import on_front, read_rules
from ..core.errors import DataError, suggest
from ..core.metric import Metric
from ..core.registry import find_metric
from ..core.table import Table
from ..io.files import write_text
from ..io.write_table import write_table
from ..plots.theme import shorten
from ..reports.number_words import confidence_interval, joined, level_words, number, percent
from ..reports.provenance import Provenance

__all__ = ["FILES", "Alternatives", "Certificate", "choose", "stopping_certificate"]

#: The files that `Alternatives.save` writes.
FILES = ("candidates.csv", "certified.csv", "alternatives.json", "report.html")
#: What every certificate leaves open.
NOT_COVERED: tuple[str, ...] = (
    "other families of rankers, other features, or other parameters and ranges than those stated",
    "the error of the measurement: candidates are compared as measured on the choosing part",
)


@dataclass(frozen=True)
class Certificate:
    """What n independent draws say about all that a search can draw.

    `stopping_certificate` makes it.

    Attributes
    ----------
    n : int
        Number of independent draws.
    share : float
        With confidence ``level``, less than this share of what the search can draw is better than
        the chosen candidate by more than ``margin``: ``1 - (1 - level)^(1/n)``.
    margin : float
        The difference that counts.
    level : float
        The confidence.
    more : int
        Number of further draws after which the share would be 1%.
    sentence : str
        The certificate in words.
    not_covered : tuple of str
        What it does not cover.
    """

    n: int
    share: float
    margin: float
    level: float
    more: int
    sentence: str
    not_covered: tuple[str, ...]


def stopping_certificate(
    n: int, chosen: str | None, *, margin: float = 0.0, level: float = 0.95, timed: bool = False
) -> Certificate:
    """Return what n independent draws of which none is better than the chosen candidate say.

    If a share u of the draws is better, none of n is with probability ``(1 - u)^n``, which is at
    most ``1 - level`` for ``u >= 1 - (1 - level)^(1/n)``. For the largest of n draws of a
    continuous quantity this is exact.

    Parameters
    ----------
    n : int
        Number of independent draws.
    chosen : str or None
        Name of the candidate, for the sentence; None if no candidate satisfies the rule.
    margin : float
        The difference that counts.
    level : float
        The confidence.
    timed : bool
        Whether a limit of time ended the draws.

    Examples
    --------
    >>> found = stopping_certificate(59, "boost 3")
    >>> round(found.share, 4), found.more
    (0.0495, 240)
    """
    share = 1.0 - (1.0 - level) ** (1.0 / n) if n else 1.0
    enough = ceil(log(1.0 - level) / log(0.99))
    more = max(0, enough - n)
    by = f" by more than {number(margin)}" if margin else ""
    draws = "1 independent draw" if n == 1 else f"{n:,} independent draws"
    found, does = f"was better than {shorten(chosen or '', 60)}{by}", f"is better{by}"
    if chosen is None:
        found, does = "satisfied the rule", "does"
    sentence = (
        f"In {draws} from this search, nothing {found}. With {level_words(level)} confidence, less "
        f"than {percent(share)} of what this search can draw {does}, as measured on the choosing "
        "part."
    )
    sentence += (
        f" For 1%, {more:,} more independent draws are needed." if more else " This is at most 1%."
    )
    open_ends = NOT_COVERED
    if timed:
        open_ends += ("the limit of time, by which slow draws can be missing at the end",)
    return Certificate(n, share, margin, level, more, sentence, open_ends)


def choose(
    rows: Sequence[Mapping[str, Any]], metrics: Sequence[Metric], rule: str | None, target: Metric
) -> int:
    """Return the index of the candidate that a rule chooses, -1 if none satisfies it.

    Parameters
    ----------
    rows : sequence of mapping
        The candidates as in the record; the first is the baseline.
    metrics : sequence of Metric
        The metrics of the search. Of equal candidates the better by the first one, then the first,
        is chosen.
    rule : str or None
        Such as ``"NDCG@10 >= baseline - 0.01"``.
    target : Metric
        The metric that is to be smallest.
    """
    allowed = np.array([row["error"] is None for row in rows])
    for each in read_rules(rule, "baseline") if rule is not None else ():
        metric = find_metric(each.metric, list(metrics))
        reference = float(_column(rows, metric, "value")[0])
        allowed &= each.holds(_column(rows, metric, each.part), reference)
    value = _column(rows, target, "value")
    allowed &= ~np.isnan(value)
    if not allowed.any():
        return -1
    good = _column(rows, metrics[0], "value")
    good = -good if metrics[0].direction == "higher" else good
    order = np.lexsort((np.arange(len(rows)), good, np.where(allowed, value, np.inf)))
    return int(order[0])


def _column(rows: Sequence[Mapping[str, Any]], metric: Metric, part: str) -> np.ndarray:
    found = [row["values"].get(metric.name, {}).get(part) for row in rows]
    return np.array([np.nan if value is None else value for value in found], dtype=np.float64)


class Alternatives:
    """Everything that a search tried, its choice, and the certified numbers.

    `search_alternatives` returns it.

    Attributes
    ----------
    candidates : list of dict
        All candidates as in the record, the baseline first; failed ones have an ``error``.
    chosen : dict or None
        The candidate that the rule chooses; None if none satisfies it.
    certified : list of dict
        Per metric: the chosen candidate and the baseline on the choosing and the certify part, and
        their difference on the certify part, with intervals; empty while the part is closed.
    certificate : Certificate
        What the draws say about all that the search can draw.
    sentences : list of str
        The result in words.
    gain : bool
        Whether the certify part shows that the chosen candidate is better than the baseline in the
        metric that was minimised: the interval of the difference excludes 0.
    provenance : Provenance
        The files, settings, version and date of the search.
    """

    def __init__(
        self,
        *,
        candidates: Sequence[Mapping[str, Any]],
        metrics: Sequence[Metric],
        target: Metric,
        rule: str | None,
        margin: float,
        level: float,
        parts: Mapping[str, int],
        unit: str,
        certified: Sequence[Mapping[str, Any]],
        timed: bool,
        notes: Sequence[str],
        provenance: Provenance,
        refit: Callable[[Mapping[str, Any]], Any],
        chance: Mapping[str, float],
    ) -> None:
        self.candidates = [dict(row) for row in candidates]
        self.metrics, self.target, self.rule = list(metrics), target, rule
        self.margin, self.level, self.unit = margin, level, unit
        self.parts, self.notes, self.chance = dict(parts), list(notes), dict(chance)
        self.certified = [dict(row) for row in certified]
        self.provenance, self._refit, self._timed = provenance, refit, timed
        at = choose(self.candidates, self.metrics, rule, target)
        self.chosen = self.candidates[at] if at >= 0 else None

    @property
    def n_independent(self) -> int:
        """Number of independent draws."""
        return len({row["trial"] for row in self.candidates if row["independent"]})

    @property
    def n_failed(self) -> int:
        """Number of candidates that failed."""
        return sum(row["error"] is not None for row in self.candidates)

    @cached_property
    def certificate(self) -> Certificate:
        """What the draws say about all that the search can draw."""
        name = None if self.chosen is None else self.chosen["name"]
        name = "the baseline" if name == "baseline" else name
        return stopping_certificate(
            self.n_independent, name, margin=self.margin, level=0.95, timed=self._timed
        )

    def fitted(self, name: str) -> Any:
        """Return a candidate by name, fitted again to the same lists; its ``rank`` ranks others."""
        for row in self.candidates:
            if row["name"] == name:
                return self._refit(row)
        known = [row["name"] for row in self.candidates]
        raise DataError(f"name must be that of a candidate, got {name!r}{suggest(name, known)}")

    @cached_property
    def model(self) -> Any:
        """The chosen candidate, as `fitted` returns it."""
        if self.chosen is None:
            raise DataError("no candidate satisfies the rule, so there is no model")
        return self._refit(self.chosen)

    @property
    def gain(self) -> bool:
        """Whether the certify part shows less of the target than the baseline has."""
        row = self._of(self.target)
        return row is not None and row["difference"]["high"] is not None and (
            row["difference"]["high"] < 0
        )  # fmt: skip

    def _of(self, metric: Metric) -> dict[str, Any] | None:
        return next((row for row in self.certified if row["metric"] == metric.name), None)

    def front(self, part: str = "value") -> np.ndarray:
        """Return for each candidate whether it is on the Pareto front of quality and target.

        Parameters
        ----------
        part : {"value", "steer"}
            The choosing or the steering part.
        """
        pair = (self.metrics[0], self.target)
        columns = {m.name: _column(self.candidates, m, part) for m in pair}
        return on_front(columns, {m.name: m.direction == "higher" for m in pair})

    @cached_property
    def table(self) -> Table:
        """One row per candidate: what was drawn, each metric with interval, and its error."""
        front = self.front()
        rows = []
        for at, row in enumerate(self.candidates):
            line: dict[str, Any] = {"candidate": row["name"], "trial": row["trial"]}
            line |= {"family": row["family"], "independent": row["independent"]}
            line |= {"parameters": parameter_words(row), "left_out": ", ".join(row["left_out"])}
            line["seed"] = row["seed"]
            for metric in self.metrics:
                values = row["values"].get(metric.name, {})
                for part, suffix in (("value", ""), ("low", " low"), ("high", " high")):
                    found = values.get(part)
                    line[f"{metric.name}{suffix}"] = float("nan") if found is None else found
            line |= {"front": bool(front[at]), "chosen": row is self.chosen}
            rows.append(line | {"error": row["error"] or ""})
        return Table({name: [row[name] for row in rows] for name in rows[0]})

    @cached_property
    def certified_table(self) -> Table:
        """The certified numbers, one row per metric, candidate and part."""
        names = ("metric", "candidate", "part", "value", "low", "high")
        rows: list[tuple[Any, ...]] = []
        for row in self.certified:
            for who in ("chosen", "baseline"):
                for part in ("choose", "certify"):
                    found = row[who][part]
                    rows.append((row["metric"], row[who]["name"], part, *_ends(found)))
            rows.append((row["metric"], "difference", "certify", *_ends(row["difference"])))
        return Table({name: [row[at] for row in rows] for at, name in enumerate(names)})

    @cached_property
    def sentences(self) -> list[str]:
        """The result in words."""
        if self.certified:
            found = [self._outcome(metric) for metric in (self.target, *self._others())]
            found += [*self._curse(), *self._promises()]
        else:
            found = ["No number is certified: the certify part was not opened."]
        found += [f"{self._choice()} {self._rule_words()}", self.certificate.sentence]
        found += [f"It does not cover {joined(self.certificate.not_covered)}.", self._scope()]
        return [*found, *self.notes]

    def _promises(self) -> Iterator[str]:
        """Yield what is promised for new lists: the target, and the quality."""
        if self.unit != "lists":
            yield "The data are one list of people, so nothing is promised about new lists."
            return
        rows = {row["metric"]: row for row in self.certified}
        for metric in (self.target, self.metrics[0]):
            found = rows[metric.name].get("promise")
            if found is None or found["bound"] is None:
                continue
            word = "at most" if metric.direction == "lower" else "at least"
            yield (
                f"On new lists drawn like these, {metric.name} of "
                f"{shorten(rows[metric.name]['chosen']['name'], 60)} is {word} "
                f"{number(found['bound'])} on average "
                f"({level_words(1.0 - found['delta'])} confidence, whatever the distribution)."
            )

    def _choice(self) -> str:
        if self.chosen is None:
            return "No candidate satisfies the rule, so none is chosen."
        if self.chosen["trial"] == 0:
            return "No candidate is better than the baseline by the rule."
        return f"The rule chooses {_words(self.chosen)}."

    def _others(self) -> list[Metric]:
        return [metric for metric in self.metrics if metric is not self.target]

    def _scope(self) -> str:
        families = {row["family"] for row in self.candidates if row["trial"] > 0}
        count, trials = len(self.candidates) - 1, len({r["trial"] for r in self.candidates}) - 1
        parts = joined([f"{self.parts[name]:,} to {name}" for name in self.parts])
        kinds = "family" if len(families) == 1 else "families"
        failed = f"; {self.n_failed:,} failed" if self.n_failed else ""
        return (
            f"{count:,} candidates of {len(families)} {kinds} were tried in {trials:,} "
            f"draws, {self.n_independent:,} of them independent{failed}. "
            f"The {self.unit} are separate: {parts}."
        )

    def _rule_words(self) -> str:
        among = "all candidates" if self.rule is None else f"those with {self.rule}"
        return (
            f"The rule, recorded before the certify part was opened: the least {self.target.name} "
            f"among {among}."
        )

    def _outcome(self, metric: Metric) -> str:
        row = self._of(metric)
        if row is None or self.chosen is None:
            return f"{metric.name} is not certified."
        mine, other, gap = row["chosen"]["certify"], row["baseline"]["certify"], row["difference"]
        if None in (mine["value"], other["value"], gap["value"]):
            return f"{metric.name} is undefined on the certify part."
        name = shorten(self.chosen["name"], 60)
        if self.chosen["trial"] == 0:
            return f"On the certify part, the baseline has {metric.name} {self._value(mine)}."
        pair = f"{name} has {metric.name} {self._value(mine)}, the baseline {self._value(other)}"
        size = f"the difference is {number(gap['value'])}{self._interval(gap)}"
        ends = (gap["low"], gap["high"])
        if None in ends:
            return f"On the certify part, {pair}; {size}."
        better = ends[1] < 0 if metric.direction == "lower" else ends[0] > 0
        worse = ends[0] > 0 if metric.direction == "lower" else ends[1] < 0
        if better or worse:
            verdict = "a gain" if better else "a loss"
            return f"On the certify part, {pair}: {verdict}; {size}."
        return (
            f"The certify part does not show a difference in {metric.name}: {pair}; {size}, which "
            "includes 0."
        )

    def _value(self, found: Mapping[str, Any]) -> str:
        return number(found["value"], 3)

    def _interval(self, found: Mapping[str, Any]) -> str:
        if found["low"] is None or found["high"] is None:
            return ""
        return f" ({confidence_interval(found['low'], found['high'], self.level, '')})"

    def _curse(self) -> list[str]:
        """Return the chosen candidate's target on both parts, unless it is the baseline."""
        row = self._of(self.target)
        if row is None or self.chosen is None or self.chosen["trial"] == 0:
            return []
        before, after = row["chosen"]["choose"]["value"], row["chosen"]["certify"]["value"]
        if before is None or after is None:
            return []
        return [
            f"On the choosing part its {self.target.name} was {number(before, 3)}, on the certify "
            f"part it is {number(after, 3)}: the best of many is partly best by luck, and only the "
            "second number is free of that."
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything for JSON; undefined numbers are None."""
        return {
            "rule": self.rule,
            "minimise": self.target.name,
            "metrics": [metric.name for metric in self.metrics],
            "parts": self.parts,
            "unit": self.unit,
            "level": self.level,
            "chosen": None if self.chosen is None else self.chosen["name"],
            "gain": self.gain,
            "certificate": asdict(self.certificate),
            "certified": self.certified,
            "candidates": [_without(row, "hash", "kind", "seconds") for row in self.candidates],
            "sentences": self.sentences,
            "provenance": self.provenance.to_dict(),
        }

    def to_json(self) -> str:
        """Return `to_dict` as a text of JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False, indent=1)

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write the report: one HTML file that needs no network."""
        from .alternatives_page import render

        write_text(path, render(self))

    def save(self, folder: str | os.PathLike[str], *, keep_formulas: bool = False) -> None:
        """Write ``candidates.csv``, ``certified.csv``, ``alternatives.json`` and ``report.html``.

        Parameters
        ----------
        folder : path
            Created if missing; existing files of these names are replaced.
        keep_formulas : bool
            As in `Comparison.to_csv`.
        """
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        candidates, certified, document, report = (target / name for name in FILES)
        write_table(candidates, self.table.columns, keep_formulas=keep_formulas)
        write_table(certified, self.certified_table.columns, keep_formulas=keep_formulas)
        write_text(document, f"{self.to_json()}\n")
        self.to_html(report)

    def __repr__(self) -> str:
        """Return the sentences, one per line."""
        return "\n".join(self.sentences)


def _ends(found: Mapping[str, Any]) -> tuple[float, float, float]:
    ends = [found[name] for name in ("value", "low", "high")]
    known = [float("nan") if end is None or not isfinite(end) else end for end in ends]
    return known[0], known[1], known[2]


def _without(row: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in names}


def parameter_words(row: Mapping[str, Any]) -> str:
    """Return what a trial drew, as a text: parameters, the point of a path, what precedes it."""
    drawn = {**row["params"], **row["point"]}
    words = [f"{name} = {_short(value)}" for name, value in drawn.items()]
    words += [f"{name} = {row[name]}" for name in ("prepare", "sample") if row[name]]
    return ", ".join(words)


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _words(row: Mapping[str, Any]) -> str:
    drawn = parameter_words(row)
    out = f"without {joined(row['left_out'])}" if row["left_out"] else ""
    inside = "; ".join(shorten(part, 160) for part in (drawn, out) if part)
    return f"{shorten(row['name'], 60)}" + (f" ({inside})" if inside else "")
