"""search_alternatives: a recorded search for less unfair rankers, with certified numbers."""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any, Literal

import numpy as np

from ..comparison.cell import Cell
from ..comparison.compare import chance_values
from ..comparison.comparison import on_front, read_rules
from ..comparison.folds import Fold
from ..comparison.parallel_jobs import run_jobs
from ..comparison.store import Store, cell_key, data_digest, describe, versions
from ..core import inference, inputs
from ..core.attribute import Attribute
from ..core.data import RankingData
from ..core.environment import library_version
from ..core.errors import DataError
from ..core.evaluate import evaluate
from ..core.given_data import as_given_data
from ..core.metric import Metric
from ..core.params import Choice, Constraint, Flag, Integer, Number, Optional, check_params
from ..core.random import as_seed, generator
from ..core.ranking import Ranking
from ..core.registry import find_metric, parse_metrics
from ..core.splits import query_train_test_split
from ..reports.provenance import Provenance
from .alternative_progress import Progress
from .alternative_record import Record
from .alternative_space import Alternative, Family, Space, Trial, fit_trials, jobs
from .alternatives_result import Alternatives, choose
from .guarantee import promised_mean

__all__ = ["Parts", "search_alternatives"]

#: Shares of the lists (or people) to fit, steer, choose and certify.
SHARES = (0.4, 0.2, 0.2, 0.2)
#: Trials if neither their number nor a limit of time is given.
N_TRIALS = 200
#: Trials of a block; a limit of time is checked between blocks.
BLOCK = 32
#: Bootstrap replicates of the intervals on the choosing and on the certify part.
N_BOOT, N_BOOT_CERTIFIED = 200, 2000
#: Probability with which the promise for new lists may fail.
PROMISE_DELTA = 0.1
#: The folder of measured candidates in the folder of the record.
CELLS = "cells"
PART_NAMES = ("fit", "steer", "choose", "certify")


@dataclass(frozen=True, eq=False)
class Parts:
    """The four parts of the data, which share no list, or no person if lists are split by item."""

    fit: RankingData
    steer: RankingData
    choose: RankingData
    certify: RankingData

    @classmethod
    def split(
        cls,
        data: RankingData,
        shares: Sequence[float] = SHARES,
        by: Literal["query", "item"] = "query",
        seed: int = 0,
        list_size: int | None = None,
    ) -> "Parts":
        """Return four parts of the data, of these shares; ``list_size`` cuts the first into lists.

        Examples
        --------
        >>> from equirank.datasets import make_ranking
        >>> parts = Parts.split(make_ranking(n_queries=20, random_state=0))
        >>> parts.fit.n_queries, parts.steer.n_queries, parts.certify.n_queries
        (8, 4, 4)
        """
        numbers = [float(share) for share in shares]
        if len(numbers) != 4 or min(numbers) <= 0 or abs(sum(numbers) - 1.0) > 1e-9:
            words = ", ".join(PART_NAMES)
            raise DataError(f"parts must be four shares ({words}) with sum 1, got {list(shares)}")
        count = data.n_queries if by == "query" else data.n_rows
        least = 1 if by == "query" else 2
        if min(numbers) * count < least:
            what = "lists" if by == "query" else "rows"
            hint = "" if by == "item" else '; data that is one list is split with by="item"'
            raise DataError(f"parts must have at least {least} of the {count} {what} each{hint}")
        rest, found, left = data, [], 1.0
        for at in (3, 2, 1):
            share = numbers[at] / left
            rest, part = query_train_test_split(rest, test_size=share, by=by, random_state=seed)
            found.append(part)
            left -= numbers[at]
        return cls(rest if list_size is None else cut(rest, list_size, seed), *found[::-1])

    def sizes(self, by: str) -> dict[str, int]:
        """Return the number of lists (or people) of each part."""
        parts = [getattr(self, name) for name in PART_NAMES]
        return {
            name: part.n_queries if by == "query" else part.n_rows
            for name, part in zip(PART_NAMES, parts, strict=True)
        }


def cut(data: RankingData, size: int, seed: int) -> RankingData:
    """Return one list cut at random into lists of about this size.

    Examples
    --------
    >>> from equirank.datasets import make_ranking
    >>> cut(make_ranking(n_queries=1, n_items=60, random_state=0), 20, seed=0).n_queries
    3
    """
    if data.n_queries > 1:
        raise DataError(f"list_size is for data that is one list, got {data.n_queries:,} lists")
    order = generator(seed, 41).permutation(data.n_rows)
    n_lists = max(1, round(data.n_rows / size))
    rows = np.arange(data.n_rows) if data.rows is None else data.rows

    def shuffled(values: Any) -> Any:
        return None if values is None else inputs.frozen(values[order])

    return replace(
        data,
        X=None if data.X is None else inputs.frozen_matrix(data.X[order]),
        y=shuffled(data.y), cost=shuffled(data.cost), ids=shuffled(data.ids),
        rows=shuffled(rows), score=None, position=None, query_weight=None,
        outcomes={name: shuffled(each) for name, each in data.outcomes.items()},
        sensitive={
            name: Attribute(shuffled(each.codes), each.categories)
            for name, each in data.sensitive.items()
        },
        offsets=inputs.frozen(np.arange(n_lists + 1, dtype=np.int64) * data.n_rows // n_lists),
        qids=inputs.frozen(np.arange(n_lists)),
    )  # fmt: skip


def search_alternatives(
    families: Mapping[str, Any],
    data: Any,
    metrics: Any,
    rule: str | None = None,
    *,
    minimise: str | Metric | None = None,
    baseline: Any = None,
    leave_out: Mapping[str, Sequence[str]] | None = None,
    n_trials: int | None = None,
    minutes: float | None = None,
    steered: int = 0,
    margin: float = 0.0,
    parts: Sequence[float] = SHARES,
    by: Literal["query", "item"] = "query",
    list_size: int | None = None,
    certify: bool = True,
    store: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    level: float = 0.95,
    random_state: Any = 0,
    title: str | None = None,
    purpose: str | None = None,
    period: str | None = None,
    author: str | None = None,
    date: Any = None,
    **columns: Any,
) -> Alternatives:
    """Search families of rankers for one that is less unfair, and record everything tried.

    The data are split into four parts that share no list: candidates are fitted to the first, the
    second steers paths, early stopping and further trials, all are compared on the third, and the
    fourth is opened once, for the chosen candidate and the baseline. The rule of the choice is in
    the record before.

    Parameters
    ----------
    families : mapping of str to Family or estimator
        What is searched. An estimator alone is a family without parameters to draw.
    data : RankingData or data frame
        Data with features, relevance and groups.
    metrics : str, Metric, or list of them
        The first is the quality, the next of which lower is better the unfairness; further ones
        are recorded.
    rule : str, optional
        Which candidates may be chosen: ``"NDCG@10 >= baseline - 0.01"``, compared on the choosing
        part; several are joined by ``and``. None: all.
    minimise : str or Metric, optional
        The metric to minimise among them; by default the first after the quality of which lower is
        better.
    baseline : estimator, optional
        The ranker in use; by default the estimator of the first family, as it is. It is fitted to
        the same lists and can be chosen.
    leave_out : mapping of str to list of str, optional
        Groups of columns. Each trial leaves out a random subset of the groups.
    n_trials : int, optional
        Number of independent draws; by default 200, or as many as ``minutes`` allow.
    minutes : float, optional
        Limit of time of this call, checked between blocks of 32 trials.
    steered : int
        Number of further trials, each a candidate from the front of the steering part with one
        respect drawn anew. They are not independent, and the certificate does not count them.
    margin : float
        The certificate counts candidates that are better by more than this.
    parts : sequence of four float
        Shares of the lists to fit, steer, choose and certify.
    by : {"query", "item"}
        Split whole queries; or, for a single list of people, its rows, stratified by group.
    list_size : int, optional
        For a single list of people: cut those to fit to into random lists of about this size, since
        the time of rankers by pairs grows with the square of the length.
    certify : bool
        Whether to open the certify part at the end. It is opened once: the record then accepts no
        further trials.
    store : path, optional
        A folder for the record and the measured candidates, from which an interrupted search
        continues. None keeps the record in memory.
    n_jobs : int, optional
        Number of parallel fits; -1 for all cores.
    level : float
        Level of the confidence intervals; that of the certificate is 0.95.
    random_state : int, Generator, RandomState or None
        Seed of the parts and of the trials.
    title, purpose, period, author, date : optional
        For the report, as in `audit`.
    **columns
        Columns of a data frame, as in `compare`.

    Returns
    -------
    Alternatives

    Raises
    ------
    DataError
        If the store contains another search, a record that was changed, or one whose certify part
        was opened before the trials asked for were made.

    Examples
    --------
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import RegressionRanker
    >>> from equirank.search import Family, search_alternatives
    >>> from sklearn.linear_model import Ridge
    >>> data = make_ranking(n_queries=60, n_items=10, feature_bias=1.0, random_state=0)
    >>> ridge = Family(RegressionRanker(Ridge()), {"estimator__alpha": [0.1, 1.0, 10.0, 100.0]})
    >>> metrics, rule = ["NDCG@10", "ExposureGap"], "NDCG@10 >= baseline - 0.05"
    >>> found = search_alternatives({"ridge": ridge}, data, metrics, rule, n_trials=5)
    >>> len(found.candidates), found.n_independent, round(found.certificate.share, 3)
    (6, 5, 0.451)
    """
    given: dict[str, Any] = {"n_trials": n_trials, "minutes": minutes, "steered": steered}
    given |= {"margin": margin, "by": by, "list_size": list_size}
    given |= {"certify": certify, "level": level}
    check_params("search_alternatives", given, DECLARED)
    record_of = Provenance.given(
        title=title, purpose=purpose, period=period, author=author, date=date
    )
    data = as_given_data(data, "search_alternatives", columns)
    seed = as_seed(random_state)
    chosen, target = _metrics(metrics, minimise, rule, data)
    space = Space(_families(families), leave_out or {}, data.feature_names, seed, baseline)
    cuts = Parts.split(data, parts, by, seed, list_size)
    search = _Search(
        space, cuts, chosen, target, rule, margin, level, by,
        n_jobs, store, data_digest(data),
    )  # fmt: skip
    timed = search.run(n_trials, minutes, steered)
    if certify:
        search.certify()
    settings: dict[str, Any] = {
        "metrics": chosen,
        "rule": rule,
        "minimise": target.name,
        "parts": list(parts),
    }
    settings |= {"by": by, "list_size": list_size, "seed": seed, "level": level, "margin": margin}
    settings |= {"families": list(families), "leave_out": dict(leave_out or {})}
    return search.result(timed, record_of.with_inputs(data, **settings))


DECLARED: dict[str, Constraint] = {
    "n_trials": Optional(Integer(1)),
    "minutes": Optional(Number(0, open_low=True)),
    "steered": Integer(0),
    "margin": Number(0),
    "by": Choice("query", "item"),
    "list_size": Optional(Integer(2)),
    "certify": Flag(),
    "level": Number(0, 1, open_low=True, open_high=True),
}


def _families(families: Any) -> dict[str, Family]:
    if not isinstance(families, Mapping) or not families:
        raise DataError("families must be a dict of names to families, with at least one")
    for name in families:
        if not isinstance(name, str) or not name.strip():
            raise DataError(f"families must have names that are texts, got {name!r}")
    return {
        name: each if isinstance(each, Family) else Family(each) for name, each in families.items()
    }


def _metrics(
    metrics: Any, minimise: Any, rule: str | None, data: RankingData
) -> tuple[list[Metric], Metric]:
    """Return the metrics and the one to minimise, checked against the data and the rule."""
    if data.X is None or data.y is None:
        raise DataError("data must have features (X) and relevance (y)")
    chosen = parse_metrics(metrics)
    if len(chosen) < 2:
        raise DataError("metrics must be a quality and an unfairness, got one metric")
    if minimise is None:
        lower = [metric for metric in chosen[1:] if metric.direction == "lower"]
        if not lower:
            named = ", ".join(map(str, chosen))
            raise DataError(f"metrics must include one of which lower is better, got {named}")
        target = lower[0]
    else:
        target = find_metric(minimise, chosen)
    if target.direction != "lower":
        raise DataError(f"minimise must be a metric of which lower is better, got {target}")
    for metric in chosen:
        if "score" not in metric.needs:
            metric.check(data)
    for each in read_rules(rule, "baseline") if rule is not None else ():
        find_metric(each.metric, chosen)
    return chosen, target


Measured = tuple[dict[str, Any], Cell]


class _Search:
    """A search in progress: the space, the parts, the record and the store of candidates."""

    def __init__(
        self,
        space: Space,
        parts: Parts,
        metrics: Sequence[Metric],
        target: Metric,
        rule: str | None,
        margin: float,
        level: float,
        by: Literal["query", "item"],
        n_jobs: int | None,
        store: str | os.PathLike[str] | None,
        digest: str,
    ) -> None:
        self.space, self.parts, self.metrics, self.target = space, parts, list(metrics), target
        self.rule, self.margin, self.level, self.by = rule, margin, level, by
        self.n_jobs, self.digest = n_jobs, digest
        described = space.described()
        lists = [getattr(parts, name) for name in PART_NAMES]
        header = {
            "equirank": library_version(), "versions": versions(described), "data": digest,
            "parts": [describe([part.rows, part.offsets]) for part in lists],
            "search": described, "rule": rule,
            "minimise": target.name, "metrics": [repr(metric) for metric in metrics],
            "margin": margin, "level": level, "by": by,
        }  # fmt: skip
        self.record = Record(store, header)
        self.store = None if store is None else Store(os.path.join(store, CELLS))

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The candidates of the record, in the order of trials and points."""
        found = self.record.of("candidate")
        return sorted(found, key=lambda row: (row["trial"] < 0, abs(row["trial"]), row["step"]))

    def run(self, n_trials: int | None, minutes: float | None, steered: int) -> bool:
        """Make the trials that the record lacks; return whether the time ended before they did."""
        deadline = None if minutes is None else time.monotonic() + 60.0 * minutes
        most = n_trials if n_trials is not None else None if minutes is not None else N_TRIALS
        opened = bool(self.record.of("choice"))
        if opened:
            free = sum(row["independent"] for row in self.rows if row["step"] == 0)
            if most is not None and most > free:
                raise DataError(
                    f"n_trials must be at most {free}: the certify part of this record was opened "
                    "after so many trials, and can be opened once"
                )
            return minutes is not None
        timed, done = False, self._done()
        with Progress("searching", most, self.metrics[0], self.target) as shown:
            self._make([self.space.first()], done, shown)
            if self.rows[0]["error"] is not None:
                raise DataError(f"the baseline must be fitted, and fails: {self.rows[0]['error']}")
            first = 1
            while most is None or first <= most:
                last = first + BLOCK if most is None else min(first + BLOCK, most + 1)
                self._make([self.space.trial(at) for at in range(first, last)], done, shown)
                first = last
                if deadline is not None and time.monotonic() > deadline:
                    timed = most is None or first <= most
                    break
            for at in range(1, steered + 1, BLOCK):
                if deadline is not None and time.monotonic() > deadline:
                    break
                numbers = range(at, min(at + BLOCK, steered + 1))
                near = [self._steer(-number) for number in numbers if -number not in done]
                self._make(near, done, shown)
        return timed or (minutes is not None and most is None)

    def _done(self) -> set[int]:
        """Return the trials whose candidates are all in the record."""
        found: dict[int, list[dict[str, Any]]] = {}
        for row in self.rows:
            found.setdefault(row["trial"], []).append(row)
        return {
            number
            for number, rows in found.items()
            if rows[0]["error"] or len(rows) == len(self._points(self._trial(rows[0])))
        }

    def _steer(self, number: int) -> Trial:
        """Return a neighbour of a draw on the front of the steering part."""
        rows = [row for row in self.rows if row["error"] is None and row["independent"]]
        front = [row for row, on in zip(rows, _front(rows, self), strict=True) if on]
        if not front:
            raise DataError("steered needs a draw that did not fail, and all failed")
        parent = front[-number % len(front)]["trial"]
        return self.space.neighbour(self.space.trial(parent), number)

    def _make(self, trials: Sequence[Trial], done: set[int], shown: Progress) -> None:
        """Fit and measure the trials that the record lacks, and record each when it is done."""
        missing = [trial for trial in trials if trial.number not in done]
        again = []
        for trial in missing:
            found = self._stored(trial)
            if found is None:
                again.append(trial)
            else:
                self._write(trial, found, done)
        for job, results in self._results(jobs(self.space, again)):
            for trial, outcome in zip(job, results, strict=True):
                self._write(trial, outcome, done)
            if shown.on:
                rows = self.rows
                front = _front([row for row in rows if not row["error"]], self)
                shown.update(len(done - {0}), rows, front)

    def _results(
        self, wanted: Sequence[list[Trial]]
    ) -> Iterator[tuple[list[Trial], list[list[Measured] | str]]]:
        parts = (self.parts.fit, self.parts.steer, self.parts.choose)

        def died(error: BrokenExecutor) -> str:
            return f"{type(error).__name__}: the worker died"

        def words(job: list[Trial]) -> tuple[Any, ...]:
            return self.space, job, parts, self.metrics, self.level

        for job, results in run_jobs(_job, wanted, words, self.n_jobs, died):
            yield job, [results] * len(job) if isinstance(results, str) else results

    def _points(self, trial: Trial) -> list[dict[str, Any]]:
        path = self.space.family(trial).path
        if path is None:
            return [{}]
        ((name, values),) = path.items()
        return [{name: value} for value in values]

    def _key(self, trial: Trial, point: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return the key and the description of a candidate in the store."""
        family = self.space.family(trial)
        before = [
            None if at is None else describe(listed[at])
            for at, listed in ((trial.prepare, family.prepare), (trial.sample, family.sample))
        ]
        about = {
            "method": describe(family.estimator), "params": describe(trial.params),
            "point": describe(dict(point)), "before": before, "seed": trial.seed,
            "dropped": self.space.dropped(trial.left_out).tolist(), "data": self.digest,
            "rows": self.record.lines[0]["parts"][:3], "level": self.level,
            "metrics": [repr(metric) for metric in self.metrics],
        }  # fmt: skip
        about["versions"] = versions(about["method"])
        return cell_key(about), about

    def _stored(self, trial: Trial) -> list[Measured] | None:
        """Return the measured candidates of a trial if the store has all of them."""
        if self.store is None:
            return None
        found = []
        for point in self._points(trial):
            cell = self.store.read(self._key(trial, point)[0])
            if cell is None or any(metric.name not in cell.summary for metric in self.metrics):
                return None
            found.append((point, cell))
        return found

    def _write(self, trial: Trial, outcome: list[Measured] | str, done: set[int]) -> None:
        """Record the candidates of a trial; an error is one of them."""
        error = outcome if isinstance(outcome, str) else None
        points: Sequence[tuple[dict[str, Any], Cell | None]] = [({}, None)]
        points = points if isinstance(outcome, str) else outcome
        family = self.space.family(trial)
        before = {
            name: None if at is None or listed[at] is None else repr(listed[at])
            for name, at, listed in (
                ("prepare", trial.prepare, family.prepare),
                ("sample", trial.sample, family.sample),
            )
        }
        known = {(row["trial"], row["step"]) for row in self.record.of("candidate")}
        for step, (point, cell) in enumerate(points):
            if (trial.number, step) in known:
                continue  # recorded before an interruption
            key, about = self._key(trial, point)
            if cell is not None and self.store is not None:
                self.store.write(key, cell, about)
            self.record.append(
                "candidate", trial=trial.number, step=step, name=trial.name(point),
                family=trial.family, independent=trial.independent, parent=trial.parent,
                params={name: _plain(value) for name, value in trial.params.items()},
                point={name: _plain(value) for name, value in point.items()},
                left_out=list(trial.left_out), **before, seed=trial.seed, key=key,
                values={} if cell is None else _values(cell, self.metrics), error=error,
                seconds=None if cell is None else round(cell.fit_seconds, 3),
            )  # fmt: skip
        done.add(trial.number)

    def certify(self) -> None:
        """Record the choice, open the certify part, and record the certified numbers."""
        rows = self.rows
        at = choose(rows, self.metrics, self.rule, self.target)
        if at < 0 or self.record.of("certified"):
            return  # nothing to certify, or certified before
        if not self.record.of("choice"):
            name = rows[at]["name"]
            self.record.append("choice", rule=self.rule, minimise=self.target.name, chosen=name)
        found = {who: self.refit(rows[i]) for who, i in (("chosen", at), ("baseline", 0))}
        part = self.parts.certify
        rankings = {who: model.rank(part) for who, model in found.items()}
        evaluations = {
            who: evaluate(
                ranking, self.metrics, n_boot=N_BOOT_CERTIFIED, n_permutations=0, level=self.level
            )
            for who, ranking in rankings.items()
        }
        numbers = []
        for metric in self.metrics:
            row: dict[str, Any] = {"metric": metric.name}
            results = {who: each.result(metric) for who, each in evaluations.items()}
            size = evaluations["chosen"].sample_size
            for who, i in (("chosen", at), ("baseline", 0)):
                chosen = {k: rows[i]["values"][metric.name][k] for k in ("value", "low", "high")}
                own = _interval(results[who].summary[0], results[who].replicates, self.level, size)
                row[who] = {"name": rows[i]["name"], "choose": chosen, "certify": own}
            mine, other = (results[who].replicates for who in ("chosen", "baseline"))
            gap = results["chosen"].summary[0] - results["baseline"].summary[0]
            drawn = None if mine is None or other is None else mine - other
            row |= {"difference": _interval(gap, drawn, self.level, size)}
            if self.by == "query":
                row["promise"] = _promise(rankings["chosen"], metric)
            numbers.append(row)
        self.record.append("certified", numbers=numbers)

    def refit(self, row: Mapping[str, Any]) -> Alternative:
        """Return a candidate, fitted again."""
        trial = self._trial(row)
        (outcome,) = fit_trials(self.space, [trial], self.parts.fit, self.parts.steer)
        if isinstance(outcome, str):
            raise DataError(f"{row['name']} cannot be fitted again: {outcome}")
        return outcome[row["step"]][1]

    def _trial(self, row: Mapping[str, Any]) -> Trial:
        if row["trial"] == 0:
            return self.space.first()
        if row["parent"] is None:
            return self.space.trial(row["trial"])
        return self.space.neighbour(self.space.trial(row["parent"]), row["trial"])

    def result(self, timed: bool, provenance: Provenance) -> Alternatives:
        """Return what the record contains."""
        rows, certified = self.rows, self.record.of("certified")
        part = self.parts.choose
        every = np.arange(part.n_rows)
        fold = Fold(0, self.space.seed, every, every)
        notes = []
        if self.record.n_cut:
            notes.append(f"{self.record.n_cut} lines of the record were cut off and made again.")
        if self.by == "query":
            notes += _shared_people(self.parts)
        return Alternatives(
            candidates=rows, metrics=self.metrics, target=self.target, rule=self.rule,
            margin=self.margin, level=self.level, parts=self.parts.sizes(self.by),
            unit="lists" if self.by == "query" else "people",
            certified=certified[0]["numbers"] if certified else [], timed=timed, notes=notes,
            provenance=provenance, refit=self.refit,
            chance=chance_values(part, [fold], self.metrics, "queries"),
        )  # fmt: skip


def _job(
    space: Space,
    job: list[Trial],
    parts: tuple[RankingData, RankingData, RankingData],
    metrics: Sequence[Metric],
    level: float,
) -> list[list[Measured] | str] | str:
    """Fit and measure the trials of a job."""
    started = time.perf_counter()
    fitted = fit_trials(space, job, parts[0], parts[1])
    count = sum(len(each) for each in fitted if not isinstance(each, str))
    seconds = (time.perf_counter() - started) / max(count, 1)
    found: list[list[Measured] | str] = []
    for outcome in fitted:
        if isinstance(outcome, str):
            found.append(outcome)
            continue
        try:
            found.append(
                [
                    (point, _measure(model, parts, metrics, level, seconds))
                    for point, model in outcome
                ]
            )
        except Exception as error:  # noqa: BLE001 - any exception is the result of the trial
            found.append(f"{type(error).__name__}: {error}")
    return found


def _measure(
    model: Alternative,
    parts: tuple[RankingData, RankingData, RankingData],
    metrics: Sequence[Metric],
    level: float,
    seconds: float,
) -> Cell:
    """Return a candidate's values on the choosing part, with intervals, and on the steering one."""
    started = time.perf_counter()
    on_steer = evaluate(model.rank(parts[1]), metrics, n_boot=0, n_permutations=0)
    on_choose = evaluate(
        model.rank(parts[2]), metrics, n_boot=N_BOOT, n_permutations=0, level=level
    )
    summary: dict[str, float] = {}
    values: dict[str, np.ndarray] = {}
    ends = {row["metric"]: row for row in on_choose.summary() if row["group"] is None}
    for metric in metrics:
        result, name = on_choose.result(metric), metric.name
        found = ends[name]
        summary |= {name: result.summary[0], f"{name} steer": on_steer[metric]}
        summary |= {f"{name} {end}": _number(found[end]) for end in ("low", "high")}
        values[name] = result.values.value
    return Cell(values, summary, {}, seconds, time.perf_counter() - started)


def _interval(
    value: float, replicates: np.ndarray | None, level: float, n: int
) -> dict[str, float | None]:
    """Return a value with its interval, for JSON."""
    low = high = np.array([np.nan])
    if replicates is not None:
        low, high = inference.interval(np.asarray(replicates)[:, None], level, n)
    ends = {"value": value, "low": float(low[0]), "high": float(high[0])}
    return {name: end if isfinite(end) else None for name, end in ends.items()}


def _values(cell: Cell, metrics: Sequence[Metric]) -> dict[str, dict[str, float | None]]:
    """Return the values of a measured candidate as the record has them."""
    names = {"value": "", "low": " low", "high": " high", "steer": " steer"}
    found: dict[str, dict[str, float | None]] = {}
    for metric in metrics:
        numbers = {part: cell.summary[f"{metric.name}{end}"] for part, end in names.items()}
        found[metric.name] = {name: v if isfinite(v) else None for name, v in numbers.items()}
    return found


def _number(value: float | None) -> float:
    return float("nan") if value is None else value


def _plain(value: Any) -> Any:
    """Return a parameter for the record: numbers and texts as they are, all else in words."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return value if isinstance(value, float) and isfinite(value) else repr(value)


def _front(rows: Sequence[Mapping[str, Any]], search: _Search) -> list[bool]:
    """Return which candidates are on the front of quality and target on the steering part."""
    if not rows:
        return []
    pair = (search.metrics[0], search.target)
    columns = {
        metric.name: np.array([_number(row["values"][metric.name]["steer"]) for row in rows])
        for metric in pair
    }
    found = on_front(columns, {metric.name: metric.direction == "higher" for metric in pair})
    return [bool(on) for on in found]


def _promise(ranking: Ranking, metric: Metric) -> dict[str, Any]:
    """Return the mean of a metric that can be promised for new lists, or why none can."""
    try:
        bound = promised_mean(ranking, metric, PROMISE_DELTA)
    except DataError as error:
        return {"bound": None, "delta": PROMISE_DELTA, "reason": str(error)}
    return {"bound": bound, "delta": PROMISE_DELTA, "reason": None}


def _shared_people(parts: Parts) -> list[str]:
    """Return a note on ids that are in the certify part and in another part."""
    if parts.certify.ids is None:
        return []
    others = np.concatenate([getattr(parts, name).ids for name in PART_NAMES[:3]])
    shared = len(np.intersect1d(parts.certify.ids, others))
    if not shared:
        return []
    return [
        f"{shared:,} ids are in the certify part and in another part: the lists are new there, "
        "these people or items are not."
    ]
