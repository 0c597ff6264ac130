"""Options, verdicts, files and charts of all reproductions.

A study is a script ``<name>/run.py`` with a `Study`: its parts (functions that return tables of
rows), their verdicts and their charts. Published values are read from ``expected.toml`` in the
same folder. Results are written after each part, so a run can be split into parts, and charts can
be drawn later.
"""

import argparse
import csv
import gzip
import json
import math
import os
import sys
import time
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from equirank import MissingExtraError, __version__

CONFIRMED, NOT_CONFIRMED = "confirmed", "not confirmed"
CONTRADICTED, NOT_TESTABLE = "contradicted", "not testable here"
VERDICTS = (CONFIRMED, NOT_CONFIRMED, CONTRADICTED, NOT_TESTABLE)
COLUMNS = ("claim", "published", "ours", "verdict", "note")
#: Quantiles of Student's t at 97.5% by degrees of freedom.
T_975 = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13)


@dataclass(frozen=True)
class Study:
    """One reproduction.

    Attributes
    ----------
    file, doc : str
        The script, in the folder of ``expected.toml``, and its description.
    parts : dict
        Name to a function of the options that returns a dict of tables, each a list of rows; and
        ``seconds`` if its time is not that of the call, since it continued an earlier one.
    verdicts : callable
        Maps the results of all parts that were run, and the published values, to rows of `COLUMNS`.
    pictures : callable
        Maps the same results to a dict of charts.
    seeds : int
        Number of seeds of a full run; a quick run has two.
    needs_data : bool
        Whether the claims concern real data: a quick run, on synthetic data, tests none of them.
    remarks : callable, optional
        Maps the results and the published values to sentences about the published table itself.
    options : dict
        Further options of the command line: name to type, default and help.
    """

    file: str
    doc: str
    parts: dict[str, Callable]
    verdicts: Callable
    pictures: Callable
    seeds: int
    needs_data: bool = False
    remarks: Callable | None = None
    options: dict[str, tuple] = field(default_factory=dict)

    @property
    def name(self):
        return Path(self.file).resolve().parent.name

    @property
    def title(self):
        readme = Path(self.file).with_name("README.md")
        if not readme.exists():
            return self.name
        return readme.read_text("utf-8").splitlines()[0].lstrip("# ").strip()

    @property
    def expected(self):
        return tomllib.loads(Path(self.file).with_name("expected.toml").read_text("utf-8"))


def interval(values):
    """Return the mean and half the width of its 95% interval, NaN for fewer than two values."""
    values = np.asarray(values, dtype=np.float64)
    values = values[~np.isnan(values)]
    if len(values) < 2:
        return (float(values[0]) if len(values) else math.nan), math.nan
    t = T_975[len(values) - 2] if len(values) <= 16 else 1.96 + 2.5 / (len(values) - 1)
    return float(values.mean()), float(t * values.std(ddof=1) / math.sqrt(len(values)))


def written(values, digits=3, scale=1.0):
    """Format a mean with its interval."""
    mean, half = interval(np.asarray(values, dtype=np.float64) * scale)
    return f"{mean:.{digits}f}" + ("" if math.isnan(half) else f" ± {half:.{digits}f}")


def figure(values, published, tolerance, exact=False):
    """Return the verdict on a value: within the tolerance, not, or excluded by our interval.

    An exact value has no interval: it is confirmed or contradicted.
    """
    mean, half = interval(values)
    if abs(mean - published) <= tolerance + 1e-9:
        return CONFIRMED
    half = 0.0 if exact else half
    ruled_out = not math.isnan(half) and abs(mean - published) > tolerance + half
    return CONTRADICTED if ruled_out else NOT_CONFIRMED


def ordering(differences):
    """Return the verdict on 'a is larger than b' from paired differences, one per seed.

    Confirmed if the 95% confidence interval is above 0, contradicted if it is below.
    """
    mean, half = interval(differences)
    if math.isnan(half):
        return NOT_CONFIRMED
    return CONFIRMED if mean - half > 0 else CONTRADICTED if mean + half < 0 else NOT_CONFIRMED


def altogether(verdicts):
    """Combine the verdicts on the cases of one claim: it is confirmed if all cases are."""
    verdicts = list(verdicts)
    if CONTRADICTED in verdicts:
        return CONTRADICTED
    return CONFIRMED if set(verdicts) == {CONFIRMED} else NOT_CONFIRMED


def by_any_reading(verdicts):
    """Combine the verdicts on one claim whose source allows several readings.

    It is confirmed if one reading is, and contradicted only if all are.
    """
    verdicts = list(verdicts)
    if CONFIRMED in verdicts:
        return CONFIRMED
    return CONTRADICTED if set(verdicts) == {CONTRADICTED} else NOT_CONFIRMED


def counted(verdicts):
    """Describe how many cases of a claim are confirmed and how many contradicted."""
    verdicts = list(verdicts)
    text = f"{verdicts.count(CONFIRMED)} of {len(verdicts)} confirmed"
    against = verdicts.count(CONTRADICTED)
    return text + (f", {against} contradicted" if against else "")


def claim(text, published, ours, verdict, note=""):
    """Return a row of the table of verdicts."""
    if verdict not in VERDICTS:
        raise ValueError(f"verdict must be one of {', '.join(VERDICTS)}, got {verdict!r}")
    row = (text, published, ours, verdict, note)
    return dict(zip(COLUMNS, map(str, row), strict=True))


def on_stand_in(row, name, *, seen=True):
    """Replace a verdict found on substitute data; the note may state the verdict there."""
    if row["verdict"] == NOT_TESTABLE:
        return row
    words = f"{name}: there {row['verdict']}" if seen else name
    return row | {"verdict": NOT_TESTABLE, "note": "; ".join(filter(None, (words, row["note"])))}


def rows_where(rows, **wanted):
    """Return the rows with these values."""
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def values(rows, column, **wanted):
    """Return a column of the rows with these values, as an array."""
    return np.array([row[column] for row in rows_where(rows, **wanted)], dtype=np.float64)


def progress(steps, description):
    """Return the steps with a progress bar on a terminal; unchanged elsewhere."""
    if os.environ.get("EQUIRANK_PROGRESS") == "0" or not sys.stderr.isatty():
        return steps
    from rich.console import Console
    from rich.progress import track

    return track(steps, description, console=Console(stderr=True), transient=True)


def main(study, argv=None):
    """Run a study from the command line; return its results with verdicts."""
    given = _options(study, argv)
    if given.stored:
        given.out.mkdir(parents=True, exist_ok=True)
        return _finish(study, stored(study), given.out)
    if given.draw is not None:
        results = json.loads((given.draw / "results.json").read_text(encoding="utf-8"))
        return _finish(study, results, given.draw)
    given.out.mkdir(parents=True, exist_ok=True)
    file = given.out / "results.json"
    results = {"name": study.name, "version": __version__, "quick": given.quick, "parts": {}}
    if file.exists():
        before = json.loads(file.read_text(encoding="utf-8"))
        if before.get("name") == study.name and before.get("quick") == given.quick:
            results["parts"] = before["parts"]
    run = {"version": __version__, "began": time.strftime("%Y-%m-%d %H:%M", time.gmtime())}
    for part in given.part or study.parts:
        begin = time.perf_counter()
        tables = study.parts[part](given)
        seconds = tables.pop("seconds", round(time.perf_counter() - begin, 1))
        results["parts"][part] = {"seconds": seconds, "seeds": given.seeds, "tables": tables, **run}
        _write(file, _json(results))
        print(f"{study.name} {part}: {seconds:.0f} s", file=sys.stderr)
    return _finish(study, json.loads(file.read_text(encoding="utf-8")), given.out)


def _options(study, argv):
    parser = argparse.ArgumentParser(description=study.doc)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--quick", action="store_true", help="synthetic data, under a minute")
    parser.add_argument("--seeds", type=int, help=f"default {study.seeds}, 2 with --quick")
    parser.add_argument("--part", action="append", choices=list(study.parts))
    parser.add_argument("--n-jobs", type=int, help="threads; default all, 1 with --quick")
    default = Path("build/reproductions") / study.name
    parser.add_argument("--out", type=Path, default=default, help=f"folder, default {default}")
    parser.add_argument("--stored", action="store_true", help="show the full run of the repository")
    parser.add_argument("--draw", type=Path, metavar="FOLDER", help="only write table and charts")
    for name, (kind, default, text) in study.options.items():
        parser.add_argument(f"--{name}", type=kind, default=default, help=f"{text} ({default})")
    given = parser.parse_args(argv)
    if given.stored and (given.quick or given.part or given.seeds or given.draw):
        parser.error("--stored takes --out only, got other options beside it")
    if given.n_jobs is None:
        given.n_jobs = 1 if given.quick else -1
    if given.seeds is None:
        given.seeds = 2 if given.quick else study.seeds
    return given


def stored(study):
    """Return the full run that is kept in the repository next to the script.

    A run of which only the printed claims were kept has no parts, and ``pieced_together`` says so.
    """
    file = Path(study.file).with_name("results.json.gz")
    if not file.exists():
        raise SystemExit(f"{file}: no full run of {study.name} is kept")
    return json.loads(gzip.decompress(file.read_bytes()))


def keep(study, results):
    """Store a full run in the repository, compressed; equal results give equal bytes."""
    text = json.dumps(plain(results), allow_nan=False, separators=(",", ":"))
    file = Path(study.file).with_name("results.json.gz")
    file.write_bytes(gzip.compress(text.encode("utf-8"), 9, mtime=0))


def judge(study, results):
    """Set the verdicts, and the remarks, of results whose rows per seed are known."""
    found = {part: results["parts"][part]["tables"] for part in study.parts
             if part in results["parts"]}  # fmt: skip
    if found:
        results["verdicts"] = study.verdicts(found, study.expected)
        if study.remarks is not None:
            results["remarks"] = study.remarks(found, study.expected)
    return found


def _finish(study, results, out):
    """Write tables, and charts and a page if they can be drawn."""
    found = judge(study, results)
    if study.needs_data and results["quick"]:
        results["verdicts"] = [
            on_stand_in(row, "synthetic data", seen=False) for row in results["verdicts"]
        ]
    _write(out / "results.json", _json(results))
    table = markdown(results["verdicts"])
    _write(out / "table.md", table + "\n")
    for name in dict.fromkeys(name for tables in found.values() for name in tables):
        rows = [
            {"part": part, **row}
            for part, tables in found.items()
            for row in tables.get(name, ())
        ]  # fmt: skip
        _write_csv(out / f"{name}.csv", rows)
    print(table)
    try:
        from equirank.plots import save_chart
        from equirank.reports.reproduction_page import render

        charts = study.pictures(found)
        for name, chart in charts.items():
            save_chart(chart, out / f"{name}.svg")
        _write(out / "report.html", render(plain(results), charts, title=study.title))
    except (MissingExtraError, ModuleNotFoundError) as error:
        print(f"no charts and page: {error}; draw them later with --draw {out}", file=sys.stderr)
    print(f"results: {out}", file=sys.stderr)
    return results


def markdown(rows):
    """Return the verdicts as a Markdown table; without a column of notes if there are none."""
    columns = COLUMNS if any(row["note"] for row in rows) else COLUMNS[:-1]
    lines = ["| " + " | ".join(columns) + " |", "|" + " --- |" * len(columns)]
    lines += ["| " + " | ".join(row[name] for name in columns) + " |" for row in rows]
    return "\n".join(lines)


def _json(value):
    return json.dumps(plain(value), indent=1, allow_nan=False)


def plain(value):
    """Convert NumPy numbers to Python numbers, and non-finite numbers to None."""
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _write(path, text):
    """Write a file to a temporary name and rename it."""
    partial = path.with_name(f".{path.name}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def _write_csv(path, rows):
    partial = path.with_name(f".{path.name}.partial")
    with open(partial, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(key for row in rows for key in row)))
        writer.writeheader()
        writer.writerows(rows)
    partial.replace(path)
