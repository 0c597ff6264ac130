"""The cases of the golden corpus: computed on several processes, compared, stored, reported."""

import argparse
import json
import os
import subprocess
import tempfile
import warnings
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

FOLDER = Path(__file__).parent / "stored"
#: Most cases listed of differences of one kind.
LISTED = 3


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
    from .compare import differences, renamed, rounded

    now = compute(case)
    before = {new: old for old, new in renames.get("cases", {}).items()}
    path = path_of(before.get(case, case))
    if not path.is_file():
        return None, now
    stored = renamed(json.loads(path.read_text(encoding="utf-8"))["result"], renames)
    return list(differences(stored, json.loads(json.dumps(rounded(now))))), now


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


def report(found):
    """Return lines about the differences: those of one kind are counted, a few are listed."""
    kinds = defaultdict(list)
    for case, differences in sorted(found.items()):
        for each in differences:
            kinds[each.pattern].append((case, each))
    lines = []
    for (pattern, kind), some in kinds.items():
        cases = {case for case, _ in some}
        for case, each in some[:LISTED]:
            size = "" if each.relative != each.relative else f"  (relative {each.relative:.2g})"
            lines += [f"{case}: {each.path}: {kind}{size}"]
            lines += [f"    stored {shown(each.stored)}", f"    now    {shown(each.now)}"]
        if len(some) > LISTED:
            lines += [f"    and {len(some) - LISTED:,} more of {pattern} in {len(cases):,} cases"]
    return lines


def parse(words, description):
    parser = argparse.ArgumentParser(prog="make golden", description=description)
    parser.add_argument("-k", metavar="TEXT", default="", help="only cases that contain the text")
    parser.add_argument("--write", action="store_true", help="store what is computed now")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    return parser.parse_args(words)


def main(words, description):
    """Compare, or write; return the exit code."""
    given = parse(words, description)
    from .compare import read_renames

    renames = read_renames()
    names = all_cases()
    cases = [case for case in names if given.k in case]
    kept = {*names, *renames.get("cases", {})}
    gone = [path for path in sorted(FOLDER.rglob("*.json"))
            if given.k in (case := _case_of(path)) and case not in kept]  # fmt: skip
    if not cases and not gone:
        print(f"no case contains {given.k!r}")
        return 1
    found, unknown, failed, commit = {}, [], {}, commit_of_source() if given.write else ""
    for case, differences, result in computed(cases, renames, given.jobs):
        if given.write and (differences is None or differences):
            write(case, result, commit)
        if "error" in result:
            failed[case] = result["error"]
        if differences is None:
            unknown.append(case)
        elif differences:
            found[case] = differences
    if given.write:
        for path in gone:
            path.unlink()
        print(f"{len(cases):,} cases: {len(unknown):,} new, {len(found):,} written again, "
              f"{len(gone):,} removed")  # fmt: skip
        for case in sorted(failed):
            print(f"{case}: {failed[case]}")
        return 0
    lines = report(found)
    lines += [f"{_case_of(path)}: stored, but the case is gone" for path in gone]
    lines += [f"{case}: not stored; make golden ARGS='--write -k {case}'" for case in unknown]
    print("\n".join([*lines, f"{len(cases):,} cases, {len(found) + len(gone) + len(unknown):,} "
                     "with differences"]))  # fmt: skip
    return 1 if lines else 0


def _case_of(path):
    return path.relative_to(FOLDER).with_suffix("").as_posix()
