"""Comparison: the result of `compare`, with tables, paired tests and a choice of method."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from ..core import inference
from ..core.data import RankingData
from ..core.errors import DataError, InfeasibleError, suggest
from ..core.metric import Metric
from ..core.registry import find_metric
from ..core.rules import SIGNS, take_rule_apart
from ..core.table import Table
from ..io.files import write_text
from ..io.write_table import write_table
from ..reports.provenance import Provenance
from .cell import Cell
from .comparison_claims import ComparisonClaim, make_claims
from .folds import Fold
from .paired import Sample, means_and_intervals, paired_tests, samples

__all__ = ["FILES", "Comparison", "Rule", "on_front", "read_rules"]


#: The files that `Comparison.save` writes.
FILES = ("results.csv", "summary.csv", "tests.csv", "report.html")
FORM = '"NDCG@10 >= 0.99 * {word}" or "RND@50 <= 0.2"'
NUMBER = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
#: The word ``and`` outside quotes: an even number of quotes follows.
AND = re.compile(r"""\s+and(?:\s+|$)(?=(?:[^"']*["'][^"']*["'])*[^"']*$)""")
#: The limits of a rule; the word is what a value is compared with.
LIMITS = (
    rf"(?P<number>{NUMBER})",
    rf"(?P<factor>{NUMBER})\s*\*\s*(?P<word>\w+)",
    rf"(?P<word>\w+)\s*\*\s*(?P<factor>{NUMBER})",
    rf"(?P<word>\w+)\s*(?P<step>[+-])\s*(?P<number>{NUMBER})",
    r"(?P<word>[a-z]+)",
)


class Comparison:
    """Evaluations of several methods on the same folds; the result of `compare`.

    Attributes
    ----------
    estimators : dict of str to estimator
        The methods, not fitted.
    metrics : list of Metric
        The metrics evaluated.
    unit : {"queries", "folds"}
        The unit that intervals and paired tests treat as independent.
    chance : dict of str to float
        The value of each metric for a random order of the same lists.
    table : Table
        One row per method, fold, seed and metric: value on the test rows, seconds, and the error of
        a failed cell.
    provenance : Provenance
        The files, settings, version and date of the comparison.
    claims : list of ComparisonClaim
        Values and paired differences, with corrected p-values, behind every sentence of the report.

    Examples
    --------
    >>> from sklearn.linear_model import Lasso, Ridge
    >>> from equirank import compare
    >>> from equirank.datasets import make_ranking
    >>> data = make_ranking(n_queries=30, random_state=0)
    >>> result = compare({"ridge": Ridge(), "lasso": Lasso(alpha=9)}, data, "NDCG@10", cv=3)
    >>> result.versus("lasso")["method"].tolist()
    ['ridge']
    >>> sorted(result.chance)
    ['NDCG@10']
    """

    def __init__(
        self,
        *,
        estimators: Mapping[str, Any],
        metrics: Sequence[Metric],
        folds: Sequence[Fold],
        queries: Sequence[np.ndarray],
        cells: Mapping[str, Sequence[Cell]],
        unit: str,
        chance: Mapping[str, float],
        level: float,
        data: RankingData,
        provenance: Provenance | None = None,
    ) -> None:
        self.estimators, self.metrics = dict(estimators), list(metrics)
        self.unit, self.chance, self.level = unit, dict(chance), level
        self.folds, self._queries, self._cells = list(folds), list(queries), dict(cells)
        self.n_queries, self.n_rows, self.backend = data.n_queries, data.n_rows, data.backend
        self.fingerprint = data.fingerprint()
        self.provenance = provenance or Provenance()

    @property
    def methods(self) -> list[str]:
        """The names of the methods."""
        return list(self.estimators)

    @cached_property
    def table(self) -> Table:
        """One row per method, fold, seed and metric."""
        names = ("method", "fold", "seed", "metric", "value", "fit_seconds", "other_seconds")
        columns: dict[str, list[Any]] = {name: [] for name in (*names, "error")}
        for method, cells in self._cells.items():
            for fold, cell in zip(self.folds, cells, strict=True):
                for metric in self.metrics:
                    value = cell.summary.get(metric.name, float("nan"))
                    row: list[Any] = [method, fold.number, fold.seed, metric.name, value]
                    row += [cell.fit_seconds, cell.other_seconds, cell.error or None]
                    for name, value in zip(columns, row, strict=True):
                        columns[name].append(value)
        return Table(columns, self.backend)

    @cached_property
    def errors(self) -> Table:
        """One row per failed cell, with its traceback."""
        rows = [
            (method, fold.number, fold.seed, cell.error, cell.trace)
            for method, cells in self._cells.items()
            for fold, cell in zip(self.folds, cells, strict=True)
            if cell.error
        ]
        names = ("method", "fold", "seed", "error", "trace")
        return Table({name: [row[i] for row in rows] for i, name in enumerate(names)}, self.backend)

    def summary(self) -> Table:
        """Return one row per method and metric: value, interval, seconds to fit and failed cells.

        Over queries, a value is the mean over queries, each averaged over the seeds; over folds,
        the mean over cells. Failed cells are excluded, and their method cannot be picked.
        """
        return self._summary

    @cached_property
    def _summary(self) -> Table:
        found = means_and_intervals(list(self._samples.values()), self.level)
        rows = []
        for (method, metric), row in zip(self._samples, found, strict=True):
            cells = self._cells[method]
            done = [cell.fit_seconds for cell in cells if not cell.error]
            rows.append(
                {
                    "method": method, "metric": metric, "value": row["value"], "low": row["low"],
                    "high": row["high"], "unit": self._samples[method, metric].unit, "n": row["n"],
                    "fit_seconds": float(np.mean(done)) if done else float("nan"),
                    "failed": sum(bool(cell.error) for cell in cells),
                }
            )  # fmt: skip
        return _table(rows, self.backend)

    @cached_property
    def _samples(self) -> dict[tuple[str, str], Sample]:
        return {
            (method, metric.name): samples(cells, self.folds, self._queries, metric, self.unit)
            for method, cells in self._cells.items()
            for metric in self.metrics
        }

    @cached_property
    def claims(self) -> list[ComparisonClaim]:
        """Each method's value of each metric, then the paired difference of all pairs of methods.

        The p-values are corrected for all pairs and metrics, so the report names a difference
        between equal methods with a probability of at most ``1 - level``. Every sentence of the
        report is made from these claims.
        """
        failed = [method for method in self.methods if not self._whole(method)]
        return make_claims(self._samples, self.methods, self.metrics, failed, self.level)

    def by_group(self) -> Table:
        """Return each group's value of each group metric, as a mean over cells."""
        rows = []
        for method, cells in self._cells.items():
            for metric in self.metrics:
                found: dict[str, list[float]] = {}
                for cell in cells:
                    if metric.name in cell.groups:
                        groups = cell.groups[metric.name]
                        for label, value in zip(groups.labels, groups.values, strict=True):
                            found.setdefault(label, []).append(value)
                for label, values in found.items():
                    known = [value for value in values if value == value]
                    mean = float(np.mean(known)) if known else float("nan")
                    row = {"method": method, "metric": metric.name, "group": label}
                    rows.append(row | {"value": mean})
        return _table(rows, self.backend, ("method", "metric", "group", "value"))

    def versus(self, baseline: str) -> Table:
        """Return paired tests of every other method against one, on the same folds.

        Parameters
        ----------
        baseline : str
            Name of the method to compare with.

        Returns
        -------
        Table
            Per method and metric: both values where both finished, the difference (method minus
            baseline) with its interval, the p-values of the paired randomisation test and of the
            t-test, each also corrected by Holm over all rows, and the number of queries (or folds)
            compared. Over folds only the corrected resampled t-test is computed.
        """
        _known("baseline", baseline, self.methods)
        asked = [
            (method, metric.name)
            for method in self.methods
            if method != baseline
            for metric in self.metrics
        ]
        pairs = [(self._samples[one], self._samples[baseline, one[1]]) for one in asked]
        rows: list[dict[str, Any]] = [
            {"method": method, "metric": metric} | row
            for (method, metric), row in zip(asked, paired_tests(pairs, self.level), strict=True)
        ]
        for test in ("p_random", "p_t"):
            corrected = inference.holm([row[test] for row in rows])
            for row, p in zip(rows, corrected, strict=True):
                row[f"{test}_holm"] = float(p)
        names = ["method", "metric", "value", "other", "difference", "low", "high", "p_random"]
        names += ["p_random_holm", "p_t", "p_t_holm", "unit", "n"]
        return _table([{name: row[name] for name in names} for row in rows], self.backend, names)

    def pareto(self, x: str | Metric, y: str | Metric) -> Table:
        """Return the methods on the Pareto front of two metrics, the best y first.

        No other method is at least as good in both metrics and better in one. Equal methods are all
        on the front; failed methods are not.

        Parameters
        ----------
        x, y : str or Metric
            Two of the metrics compared.
        """
        first, second = self.metric(x), self.metric(y)
        front = self.front(first, second)
        order = sorted(
            (i for i, on in enumerate(front) if on),
            key=lambda i: -self._signed(second)[i],
        )
        columns: dict[str, Any] = {"method": [self.methods[i] for i in order]}
        columns |= {m.name: self._values(m)[order] for m in (first, second)}
        return Table(columns, self.backend)

    def front(self, x: str | Metric, y: str | Metric) -> np.ndarray:
        """Return for each method whether it is on the Pareto front of two metrics."""
        chosen = [self.metric(each) for each in (x, y)]
        whole = np.array([self._whole(method) for method in self.methods])
        columns = {m.name: np.where(whole, self._values(m), np.nan) for m in chosen}
        return on_front(columns, {m.name: m.direction == "higher" for m in chosen})

    def pick(
        self,
        rule: str | None = None,
        *,
        minimise: str | Metric | None = None,
        maximise: str | Metric | None = None,
    ) -> str:
        """Return the method that is best by one metric among those that satisfy a rule.

        Parameters
        ----------
        rule : str, optional
            Such as ``"NDCG@10 >= 0.99 * best"``, ``"NDCG@10 >= best - 0.01"`` or ``"RND@50.high <=
            0.2"``; several are joined by ``and``. ``best`` is the best value of that metric among
            the methods that finished. The rule is parsed, never executed.
        minimise, maximise : str or Metric
            Exactly one: the metric to optimise. Of equal methods the first is chosen.

        Returns
        -------
        str
            The method's name, a key of ``estimators``.

        Raises
        ------
        InfeasibleError
            If no method satisfies the rule.
        """
        given = [each for each in (minimise, maximise) if each is not None]
        if len(given) != 1:
            raise DataError("exactly one of minimise and maximise must be given to pick")
        target = self.metric(given[0])
        allowed = np.array([self._whole(method) for method in self.methods])
        if not allowed.any():
            raise InfeasibleError("no method finished every fold, so none can be picked")
        whole = allowed.copy()
        for each in read_rules(rule) if rule is not None else ():
            metric = self.metric(each.metric)
            known = self._values(metric)[whole]
            best = np.nanmax(known) if metric.direction == "higher" else np.nanmin(known)
            allowed &= each.holds(self._values(metric, each.part), float(best))
        values = self._values(target)
        allowed &= ~np.isnan(values)
        if not allowed.any():
            raise InfeasibleError(f"{rule!r} holds for no method that finished every fold")
        value = np.where(allowed, values if minimise is None else -values, -np.inf)
        return self.methods[int(np.argmax(value))]

    def plot(
        self, x: str | Metric | None = None, y: str | Metric | None = None, **options: Any
    ) -> Any:
        """Draw the methods as points of two metrics, with the line of random mixtures.

        The dashed line joins the method that is best by y to a random order of the same lists.
        Needs the extra ``report``.

        Parameters
        ----------
        x, y : str or Metric, optional
            By default the second and the first metric.
        **options
            Options of `equirank.plots.tradeoff`, such as ``title``.
        """
        from .comparison_page import tradeoff_chart

        if len(self.metrics) < 2 and (x is None or y is None):
            raise DataError("x and y must be given: fewer than two metrics were compared")
        chosen = [
            self.metric(self.metrics[i] if given is None else given)
            for i, given in ((1, x), (0, y))
        ]
        return tradeoff_chart(self, chosen[0], chosen[1], options)

    def to_html(self, path: str | os.PathLike[str], *, baseline: str | None = None) -> None:
        """Write the report: one HTML file that needs no network.

        Parameters
        ----------
        path : path
            The file is written under another name and renamed when complete.
        baseline : str, optional
            The method that paired tests compare with; by default the first.
        """
        from .comparison_page import render

        write_text(path, render(self, baseline))

    def to_csv(self, path: str | os.PathLike[str], *, keep_formulas: bool = False) -> None:
        """Write `table` as CSV: method, fold, seed, metric, value, seconds and error.

        Parameters
        ----------
        path : path
            The file is written under another name and renamed when complete. Undefined values are
            empty.
        keep_formulas : bool
            Whether to write text that a spreadsheet runs as a formula as it is. By default a quote
            goes before it, as in the report's downloads.
        """
        write_table(path, self.table.columns, kind=".csv", keep_formulas=keep_formulas)

    def save(
        self,
        folder: str | os.PathLike[str],
        *,
        baseline: str | None = None,
        keep_formulas: bool = False,
    ) -> None:
        """Write ``results.csv``, ``summary.csv``, ``tests.csv`` and ``report.html`` into a folder.

        Parameters
        ----------
        folder : path
            Created if missing; existing files of these names are replaced.
        baseline : str, optional
            The method that paired tests compare with; by default the first.
        keep_formulas : bool
            As in `to_csv`.
        """
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        results, summary, tests, report = (target / name for name in FILES)
        self.to_csv(results, keep_formulas=keep_formulas)
        write_table(summary, self.summary().columns, keep_formulas=keep_formulas)
        against = self.versus(baseline or self.methods[0])
        write_table(tests, against.columns, keep_formulas=keep_formulas)
        self.to_html(report, baseline=baseline)

    def metric(self, name: str | Metric) -> Metric:
        """Return one of the metrics by name, in any spelling that parses to it."""
        return find_metric(name, self.metrics)

    def _whole(self, method: str) -> bool:
        return not any(cell.error for cell in self._cells[method])

    def _values(self, metric: Metric, part: str = "value") -> np.ndarray:
        """Return a column of the summary, one number per method."""
        table = self.summary()
        return table[part][table["metric"] == metric.name].astype(np.float64)

    def _signed(self, metric: Metric) -> np.ndarray:
        values = self._values(metric)
        return values if metric.direction == "higher" else -values

    def wide(self) -> Table:
        """Return one row per method: value of each metric, seconds to fit and failed cells."""
        one = self.summary()
        first = one["metric"] == self.metrics[0].name
        columns: dict[str, Any] = {"method": self.methods}
        columns |= {metric.name: self._values(metric) for metric in self.metrics}
        columns |= {name: one[name][first] for name in ("fit_seconds", "failed")}
        return Table(columns, self.backend)

    def __repr__(self) -> str:
        """Return one line per method, and the errors."""
        lines = [self.wide().to_text()]
        for method, error in self.first_errors().items():
            lines.append(f"failed: {method}: {error}")
        return "\n".join(lines)

    def first_errors(self) -> dict[str, str]:
        """Return the first error of each method that has one, in one line."""
        found: dict[str, str] = {}
        for row in self.errors:
            found.setdefault(row["method"], " ".join(row["error"].split())[:200])
        return found

    def _repr_html_(self) -> str:
        return self.wide()._repr_html_()


def _known(argument: str, name: Any, known: list[str]) -> None:
    if name not in known:
        words, hint = ", ".join(known), suggest(str(name), known)
        raise DataError(f"{argument} must be one of {words}, got {name!r}{hint}")


def _table(
    rows: list[dict[str, Any]], backend: str | None, names: Sequence[str] | None = None
) -> Table:
    keys = list(rows[0]) if names is None else names
    return Table({name: [row[name] for row in rows] for name in keys}, backend)


@dataclass(frozen=True)
class Rule:
    """A comparison of a metric, or an end of its interval, with ``factor * best + shift``."""

    text: str
    metric: str
    part: str
    sign: str
    factor: float
    shift: float

    def holds(self, values: np.ndarray, best: float) -> np.ndarray:
        """Return for each value whether the rule holds, up to rounding; False for NaN."""
        limit = self.factor * best + self.shift if self.factor else self.shift
        slack = 1e-12 * max(1.0, abs(limit))
        slack = slack if self.sign in (">=", "<=") else 0.0
        limit += -slack if self.sign[0] == ">" else slack
        return np.array([v == v and SIGNS[self.sign](v, limit) for v in values.tolist()])


def read_rules(text: str, word: str = "best") -> list[Rule]:
    """Return the parsed rules of a text, joined by ``and``.

    Parameters
    ----------
    text : str
        The rules.
    word : str
        What a limit may refer to: the ``best`` value of the metric, or another one.

    Examples
    --------
    >>> read_rules("NDCG@10 >= 0.99 * best")[0].factor
    0.99
    >>> [rule.metric for rule in read_rules("NDCG@10 >= best - 0.01 and RND@50.high <= 0.2")]
    ['NDCG@10', 'RND@50']
    """
    if not isinstance(text, str):
        raise DataError(f"rule must be a text such as {FORM.format(word=word)}, got {text!r}")
    return [_read(part, word) for part in AND.split(text.strip())]


def _read(text: str, word: str) -> Rule:
    form = FORM.format(word=word)
    pieces = take_rule_apart(text, form)
    for pattern in LIMITS:
        found = re.fullmatch(pattern, pieces.limit)
        given = {} if found is None else found.groupdict()
        if found is None or pieces.part == "p_value" or given.get("word", word) != word:
            continue
        shift = float(given.get("number") or 0.0)
        shift = -shift if given.get("step") == "-" else shift
        factor = 1.0 if "word" in given else 0.0
        factor = float(given["factor"]) if given.get("factor") else factor
        return Rule(text.strip(), pieces.metric, pieces.part, pieces.sign, factor, shift)
    raise DataError(f"expression {text!r} cannot be read; it looks like {form}")


def on_front(columns: Mapping[str, np.ndarray], higher: Mapping[str, bool]) -> np.ndarray:
    """Return for each point whether it is on the Pareto front of all columns.

    No other point is at least as good in all columns and better in one. A point with an undefined
    value is not on the front; equal points all are.

    Examples
    --------
    >>> columns = {"a": np.array([1.0, 2.0, 1.0]), "b": np.array([1.0, 2.0, 3.0])}
    >>> on_front(columns, {"a": True, "b": False})
    array([ True,  True, False])
    """
    signed = np.stack([v if higher[name] else -v for name, v in columns.items()])
    no_worse = np.all(signed[:, None, :] >= signed[:, :, None], axis=0)
    better = np.any(signed[:, None, :] > signed[:, :, None], axis=0)
    return np.asarray(~(no_worse & better).any(axis=1) & ~np.isnan(signed).any(axis=0))
