"""Processes that attack, and the parent that survives their crashes and hangs."""

import faulthandler
import hashlib
import multiprocessing
import os
import pickle
import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from .target import Case, Report, Target, attack, shrink, write_case

__all__ = ["KINDS", "USUAL", "Counts", "Run", "attack_for", "rows_of", "targets_of"]

#: The module of each kind of target.
KINDS = {
    "readers": "reader_targets",
    "models": "model_targets",
    "rerankers": "reranker_targets",
    "metrics": "metric_targets",
    "planted": "planted_targets",  # only if asked for
}
USUAL = [kind for kind in KINDS if kind != "planted"]
#: Seconds between two messages of a worker.
PERIOD = 1.0
#: Cases that hypothesis draws at a time, and its share of the time of a target.
EXAMPLES = 50
SHARE = 0.1


def targets_of(kinds: list[str], names: list[str]) -> list[Target]:
    """Return the targets of some kinds, or those named."""
    found = [target for kind in kinds for target in import_module(f"fuzz.{KINDS[kind]}").TARGETS]
    return [target for target in found if not names or target.name in names]


@dataclass
class Counts:
    """Counts of one target, which add up over workers and runs."""

    kind: str
    inputs: int = 0
    accepted: int = 0
    refused: int = 0
    faults: int = 0
    seconds: float = 0.0

    def add(self, other: "Counts") -> None:
        """Add the counts of another worker or run."""
        for name in ("inputs", "accepted", "refused", "faults", "seconds"):
            setattr(self, name, getattr(self, name) + getattr(other, name))


@dataclass
class Run:
    """What a run is asked for."""

    seconds: float
    jobs: int
    kinds: list[str]
    names: list[str]
    seed: int
    limit: float
    memory: int
    folder: Path
    hypothesis: bool = True
    most: int | None = None


@dataclass
class _Work:
    """The state of one worker."""

    run: Run
    number: int
    end: float
    pipe: Any
    deadline: Any
    current: Path
    counts: dict[str, Counts] = field(default_factory=dict)
    found: set[str] = field(default_factory=set)
    begun: set[str] = field(default_factory=set)
    told: float = 0.0

    def tried(self, target: Target, case: Case, folder: Path) -> Report | None:
        """Run one case and count it; return its fault."""
        self.current.write_bytes(pickle.dumps((target.name, case)))
        start, first = time.time(), target.name not in self.begun
        self.begun.add(target.name)  # the first case may have to compile
        self.deadline.value = start + self.run.limit * (10 if first else 1)
        accepted, report = attack(target, case, folder)
        size, counts = target.size(case), self.counts.setdefault(target.name, Counts(target.kind))
        counts.add(
            Counts(
                target.kind, size, size * accepted, size * (not accepted and report is None),
                int(report is not None), time.time() - start,
            )
        )  # fmt: skip
        _empty(folder)
        return report

    def attack(self, target: Target, case: Case, folder: Path, shrinking: bool = True) -> None:
        """Run one case and report its fault, the first of each kind shrunk."""
        report = self.tried(target, case, folder)
        if report is not None and report.signature not in self.found:
            self.found.add(report.signature)
            self.deadline.value = time.time() + 20 * self.run.limit
            smaller = shrink(target, case, report, folder) if shrinking else case
            self.pipe.send(("fault", report, smaller))
        self.deadline.value = time.time() + 10 * self.run.limit
        self.tell()

    def tell(self, always: bool = False) -> None:
        """Send the counts since the last message."""
        if always or time.time() - self.told > PERIOD:
            self.pipe.send(("counts", self.counts))
            self.counts, self.told = {}, time.time()


def _empty(folder: Path) -> None:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path, ignore_errors=True)
            else:
                os.unlink(entry.path)


def _work(
    run: Run, number: int, end: float, pipe: Connection, deadline: Any, current: Path, log: Path,
    again: Any,
) -> None:  # fmt: skip
    """Attack until the time is over; the target that used the least time is next."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with open(log, "w") as trace:
        faulthandler.enable(trace)
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, for the life of the process
        os.dup2(trace.fileno(), 2)  # what libraries print before they abort
        _limit_memory(run.memory)
        # Import, and fit the models that are damaged later.
        targets = targets_of(run.kinds, run.names)
        used = {target.name: 0.0 for target in targets}
        guided = dict(used)  # of it, by hypothesis
        work = _Work(run, number, end, pipe, deadline, current)
        rng = random.Random(f"{run.seed} {number}")
        folder = Path(tempfile.mkdtemp(prefix="fuzz"))
        try:
            if again is not None:  # a case that ended the worker before, once more
                name, case = again
                target = next(each for each in targets if each.name == name)
                work.attack(target, case, folder, shrinking=False)
            while time.time() < end:
                target = min(targets, key=lambda each: used[each.name] / each.weight)
                start = time.time()
                if run.hypothesis and guided[target.name] < SHARE * used[target.name] - 0.2:
                    _by_hypothesis(work, target, folder, rng.randrange(2**32))
                    guided[target.name] += time.time() - start
                else:
                    first = target.name not in work.begun
                    work.attack(target, target.draw(rng), folder)
                    start = max(start, time.time() - 0.1) if first else start  # without compiling
                used[target.name] += time.time() - start
            work.tell(always=True)
            pipe.send(("end",))
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _limit_memory(megabytes: int) -> None:
    """Limit the private memory of this process, where the system can."""
    try:
        import resource
    except ImportError:
        return
    size = megabytes << 20
    resource.setrlimit(resource.RLIMIT_DATA, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _by_hypothesis(work: _Work, target: Target, folder: Path, seed: int) -> None:
    """Attack with cases of hypothesis, if it is installed; it shrinks what fails.

    Cases tried while shrinking count as inputs, and as faults if they fail.
    """
    try:
        from hypothesis import HealthCheck, Phase, given, settings
        from hypothesis import seed as seeded
    except ImportError:
        return
    if target.strategy is None:
        return
    last: list[tuple[Report, Case]] = []

    @seeded(seed)
    @settings(
        database=None, deadline=None, max_examples=EXAMPLES,
        suppress_health_check=list(HealthCheck), phases=[Phase.generate, Phase.shrink],
    )  # fmt: skip
    @given(target.strategy())
    def attempt(case: Case) -> None:
        report = work.tried(target, case, folder)
        if report is not None and report.signature not in work.found:
            last[:] = [(report, case)]
            raise AssertionError(report.signature)

    try:
        attempt()
    except AssertionError:
        report, case = last[0]
        work.found.add(report.signature)
        work.pipe.send(("fault", report, case))


@dataclass
class _Worker:
    """A process and what the parent knows of it."""

    process: Any
    pipe: Any
    deadline: Any
    current: Path
    log: Path
    again: Any
    ended: bool = False


def attack_for(run: Run) -> tuple[dict[str, Counts], dict[str, Report]]:
    """Attack with several processes, and return counts by target and faults by signature."""
    context = multiprocessing.get_context("spawn")
    end, counts, faults = time.time() + run.seconds, dict[str, Counts](), dict[str, Report]()
    scratch = Path(tempfile.mkdtemp(prefix="fuzz_run"))
    numbers = iter(range(10**9))
    suspects: dict[str, int] = {}

    def start(again: Any = None) -> _Worker:
        number = next(numbers)
        mine, theirs = context.Pipe(duplex=False)
        deadline = context.Value("d", time.time() + 600.0, lock=False)
        current, log = scratch / f"{number}.case", scratch / f"{number}.log"
        process = context.Process(
            target=_work,
            args=(run, number, end, theirs, deadline, current, log, again),
            daemon=True,
        )
        process.start()
        theirs.close()
        return _Worker(process, mine, deadline, current, log, again)

    def hear(worker: _Worker) -> None:
        try:
            while worker.pipe.poll():
                message = worker.pipe.recv()
                if message[0] == "counts":
                    for name, each in message[1].items():
                        counts.setdefault(name, Counts(each.kind)).add(each)
                elif message[0] == "fault":
                    _keep(run, faults, message[1], message[2])
                else:
                    worker.ended = True
        except (EOFError, OSError):
            pass

    def lost(worker: _Worker, kind: str) -> _Worker | None:
        """Record a crash or a hang; a hang is a fault only if it happens twice."""
        name, case = _current(worker)
        if name is None:
            print(f"a worker ended before its first case: {_tail(worker.log)}", file=sys.stderr)
            return None
        key = hashlib.sha256(pickle.dumps((name, case))).hexdigest()
        suspects[key] = suspects.get(key, 0) + 1
        if kind == "hang" and suspects[key] == 1:
            return start(again=(name, case))
        where = f"exit {worker.process.exitcode}" if kind == "crash" else "hang"
        report = Report(name, kind, where, _tail(worker.log))
        known = next((each.kind for each in targets if each.name == name), "")
        counts.setdefault(name, Counts(known)).add(Counts(known, 1, faults=1))
        _keep(run, faults, report, case)
        return start() if time.time() < end else None

    targets = targets_of(run.kinds, run.names)
    workers = [start() for _ in range(run.jobs)]
    try:
        while workers and (run.most is None or len(faults) < run.most):
            wait([w.pipe for w in workers] + [w.process.sentinel for w in workers], timeout=0.5)
            for worker in list(workers):
                hear(worker)
                kind = ""
                if not worker.process.is_alive():
                    worker.process.join()
                    hear(worker)
                    kind = "" if worker.ended else "crash"
                elif time.time() > worker.deadline.value:
                    os.kill(worker.process.pid, signal.SIGABRT)  # faulthandler writes where it is
                    worker.process.join(10)
                    if worker.process.is_alive():
                        worker.process.kill()
                        worker.process.join()
                    hear(worker)
                    kind = "hang"
                else:
                    continue
                workers.remove(worker)
                following = lost(worker, kind) if kind else None
                workers += [following] if following is not None else []
    finally:
        for worker in workers:
            worker.process.kill()
            worker.process.join()
        shutil.rmtree(scratch, ignore_errors=True)
    return counts, faults


def _keep(run: Run, faults: dict[str, Report], report: Report, case: Case) -> None:
    """Keep the first case of each fault as a file."""
    if report.signature not in faults:
        faults[report.signature] = report
        write_case(run.folder / f"{report.signature}.json", report, case)
        print(f"fault: {report.target}: {report.kind}: {report.message[:200]!r}", file=sys.stderr)


def _current(worker: _Worker) -> tuple[str | None, Case]:
    try:
        name, case = pickle.loads(worker.current.read_bytes())
        return name, case
    except (OSError, EOFError, pickle.UnpicklingError):
        return None, {}


def _tail(log: Path) -> str:
    """Return the end of what a process wrote, without the folders of this machine."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    start = next((at for at, line in enumerate(lines) if "Fatal Python error" in line), len(lines))
    text = " / ".join(line.strip() for line in lines[max(0, start - 3) : start + 10] if line)
    return re.sub(r"(/[\w.+-]+)+/", "", text)[:1000]


def rows_of(counts: dict[str, Counts]) -> Iterator[tuple[str, Counts]]:
    """Yield the counts of each target, and the sums of each kind."""
    for kind in KINDS:
        mine = {name: each for name, each in counts.items() if each.kind == kind}
        total = Counts(kind)
        for name, each in sorted(mine.items()):
            total.add(each)
            yield name, each
        if mine:
            yield f"all {kind}", total
