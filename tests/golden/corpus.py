"""The cases of the golden corpus: computed on several processes, compared, stored, reported."""

import argparse
import json
import logging
import os
import subprocess
import sys
import tempfile
import warnings
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

FOLDER = Path(__file__).parent / "stored"
#: Most kinds of differences that are listed, and most differences of one kind.
KINDS, LISTED = 20, 3
AGAIN = '    to store it: make golden ARGS="--write -k {}"'


def all_cases():
    """Return the names of all cases, the slow ones first."""
    from . import audits, calls, evaluations, remedies

    found = []
    for module in (audits, remedies, evaluations):
        group = module.__name__.rpartition(".")[2]
        found += [f"{group}/{name}" for name in functions_of(module)]
    return found + [f"calls/{name}" for name in calls.public_calls()]


def functions_of(module):
    """Return the cases of a module: its functions without underscore that take nothing."""
    return {
        name: each
        for name, each in vars(module).items()
        if not name.startswith("_")
        and getattr(each, "__module__", "") == module.__name__
        and not each.__code__.co_argcount
    }


def compute(case):
    """Return the plain result of a case, in a folder of its own; an error is a result, too."""
    from . import audits, calls, evaluations, remedies
    from .compare import plain

    group, _, name = case.partition("/")
    here = os.getcwd()
    logging.disable()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if group == "calls":
                    return calls.stored(name)
                module = {"audits": audits, "evaluations": evaluations, "remedies": remedies}[group]
                result = functions_of(module)[name]()
                parts = result if isinstance(result, dict) else {"": result}
                found = {}
                for key, part in parts.items():
                    told = module.stored(part, name) if isinstance(part, module.Result) else part
                    found |= plain({key: told} if key else told)
                return found
        except Exception as error:  # noqa: BLE001
            return {"error": f"{type(error).__name__}: {error}"}
        finally:
            os.chdir(here)


def path_of(case):
    return FOLDER / f"{case}.json"


def compare_case(case, renames):
    """Return the differences of a case, and its result; None if it is not stored."""
    from . import calls
    from .compare import differences, renamed, rounded

    now = compute(case)
    before = {new: old for old, new in renames.get("cases", {}).items()}
    path = path_of(before.get(case, case))
    if not path.is_file():
        return None, now
    stored = renamed(json.loads(path.read_text(encoding="utf-8"))["result"], renames)
    found = calls.changed_examples if case.startswith("calls/") else differences
    return list(found(stored, json.loads(json.dumps(rounded(now))))), now


def write(case, result, commit):
    """Store a result with the commit of the source that computed it."""
    from .compare import as_text, rounded

    path = path_of(case)
    path.parent.mkdir(parents=True, exist_ok=True)
    text = as_text({"source": commit, "result": rounded(result)})
    path.write_text(text + "\n", encoding="utf-8")


def commit_of_source():
    """Return the last commit that changed src, and whether src has changes since."""
    root = Path(__file__).parents[2]

    def git(*words):
        done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    changed = " and changes" if git("status", "--porcelain", "--", "src") else ""
    return git("log", "-1", "--format=%h", "--", "src") + changed


def computed(cases, renames, jobs):
    """Yield each case with its differences and its result, and show the progress on a terminal."""
    from rich.console import Console
    from rich.progress import track

    pool = ProcessPoolExecutor(jobs, mp_context=get_context("spawn"))
    with pool:
        started = {pool.submit(compare_case, case, renames): case for case in cases}
        console = Console(stderr=True)
        done = as_completed(started)
        if console.is_terminal:
            done = track(done, "comparing", len(cases), console=console, transient=True)
        for each in done:
            yield started[each], *each.result()


def shown(value):
    text = repr(value) if isinstance(value, float) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 120 else f"{text[:117]}..."


def report(found, kinds_listed=KINDS, listed=LISTED):
    """Return lines about the differences, the kinds of most cases first; the rest is counted."""
    kinds = defaultdict(list)
    for case, differences in sorted(found.items()):
        for each in differences:
            kinds[each.pattern].append((case, each))
    ranked = [(key, some, {case for case, _ in some}) for key, some in kinds.items()]
    ranked.sort(key=lambda each: -len(each[2]))
    lines = []
    for (pattern, kind), some, cases in ranked[:kinds_listed]:
        for case, each in some[:listed]:
            size = "" if each.relative != each.relative else f"  (relative {each.relative:.2g})"
            lines += [f"{case}: {each.place}: {kind}{size}"]
            lines += [f"    stored {shown(each.stored)}", f"    now    {shown(each.now)}"]
            lines += [AGAIN.format(case)] if kind.startswith("example changed") else []
        if len(some) > listed:
            lines += [f"    and {len(some) - listed:,} more of {pattern} in {len(cases):,} cases"]
    if len(ranked) > kinds_listed:
        more = f"{len(ranked) - kinds_listed:,} more kinds of differences"
        lines += [f'and {more}; make golden ARGS="--all" lists everything']
    return lines


def parse(words, description):
    parser = argparse.ArgumentParser(prog="make golden", description=description)
    parser.add_argument("-k", metavar="TEXT", default="", help="only cases that contain the text")
    parser.add_argument("--write", action="store_true", help="store what is computed now")
    parser.add_argument("--all", action="store_true", help="list every difference")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    return parser.parse_args(words)


def main(words, description):
    """Compare, or write; return the exit code."""
    given = parse(words, description)
    from .compare import read_renames

    renames = read_renames()
    names = all_cases()
    cases = [case for case in names if given.k in case]
    known = {*names, *renames.get("cases", {})}
    stored = {_case_of(path): path for path in sorted(FOLDER.rglob("*.json"))}
    gone = [case for case in stored if given.k in case and case not in known]
    if not cases and not gone:
        print(f"no case contains {given.k!r}")
        return 1
    if given.write:
        return _write_all(computed(cases, renames, given.jobs), [stored[case] for case in gone])
    found, new = {}, []
    for case, differences, _ in computed(cases, renames, given.jobs):
        if differences is None:
            new.append(case)
        elif differences:
            found[case] = differences
    lines = report(found, sys.maxsize, sys.maxsize) if given.all else report(found)
    lines += [f"{case}: stored, but the case is gone" for case in gone]
    lines += [f"{case}: not stored\n{AGAIN.format(case)}" for case in sorted(new)]
    different = len(found) + len(gone) + len(new)
    print("\n".join([*lines, f"{len(cases):,} cases, {different:,} with differences"]))
    return 1 if lines else 0


def _write_all(found, gone):
    """Store what is new or differs, and remove what is gone; an error is not stored."""
    commit, counts, failed = commit_of_source(), [0, 0], []
    for case, differences, result in found:
        if "error" in result:
            failed.append(f"{case}: {result['error']}")
        elif differences is None or differences:
            write(case, result, commit)
            counts[differences is not None] += 1
    for path in gone:
        path.unlink()
    print(f"{counts[0]:,} new, {counts[1]:,} written again, {len(gone):,} removed")
    print("\n".join(sorted(failed)), end="\n" * bool(failed))
    return 1 if failed else 0


def _case_of(path):
    return path.relative_to(FOLDER).with_suffix("").as_posix()
