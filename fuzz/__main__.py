"""Attack readers, models, re-rankers and metrics, and write every fault as a file.

A fault is anything but the right result or an error of the library: a traceback, a crash, a hang,
a lost or repeated row, a wrong number, or a promise that does not hold. It is written to
tests/fuzz_cases, where tests/test_fuzz.py repeats it.
"""

import argparse
import json
import secrets
import sys
from dataclasses import asdict
from pathlib import Path

from .target import ROOT
from .workers import KINDS, USUAL, Counts, Run, attack_for, rows_of

__all__ = ["main"]


def _arguments(given: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser("fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="length of the run")
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    parser.add_argument("--only", action="append", choices=list(KINDS), help="kinds of targets")
    parser.add_argument("--target", action="append", default=[], help="single targets, by name")
    parser.add_argument("--seed", type=int, help="a number; a new one by default")
    parser.add_argument("--limit", type=float, default=30.0, help="seconds of one case")
    parser.add_argument("--memory", type=int, default=4096, help="megabytes of one process")
    parser.add_argument("--cases", type=Path, default=ROOT / "tests" / "fuzz_cases")
    parser.add_argument("--summary", type=Path, help="JSON file that gets the counts")
    parser.add_argument("--add", type=Path, nargs="*", default=[], help="summaries of earlier runs")
    parser.add_argument("--faults", type=int, help="end after this many different faults")
    parser.add_argument("--no-hypothesis", action="store_true", help="own generators only")
    return parser.parse_args(given)


def main(given: list[str] | None = None) -> int:
    """Run the attack, print a table of counts, and return 1 if there was a fault."""
    options = _arguments(given)
    seed = secrets.randbits(32) if options.seed is None else options.seed
    run = Run(
        options.seconds, options.jobs, options.only or USUAL, options.target, seed,
        options.limit, options.memory, options.cases, not options.no_hypothesis, options.faults,
    )  # fmt: skip
    counts, faults = attack_for(run) if options.seconds > 0 else ({}, {})
    signatures = set(faults)
    for path in options.add:
        document = json.loads(path.read_text(encoding="utf-8"))
        for name, each in document["targets"].items():
            counts.setdefault(name, Counts(each["kind"])).add(Counts(**each))
        signatures |= set(document["faults"])
    if options.summary:
        options.summary.parent.mkdir(parents=True, exist_ok=True)
        document = {
            "seed": seed,
            "targets": {name: asdict(each) for name, each in sorted(counts.items())},
            "faults": sorted(signatures),
        }
        options.summary.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    print(f"{'target':28}{'inputs':>12}{'accepted':>12}{'refused':>12}{'faults':>9}{'per s':>9}")
    for name, each in rows_of(counts):
        rate = each.inputs / each.seconds if each.seconds else 0.0
        print(
            f"{name:28}{each.inputs:>12,}{each.accepted:>12,}{each.refused:>12,}"
            f"{each.faults:>9,}{rate:>9,.0f}"
        )
    print(f"seed {seed}; {len(signatures)} different faults")
    return 1 if signatures else 0


if __name__ == "__main__":
    sys.exit(main())
