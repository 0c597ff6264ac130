"""How the tests run a study: its script loaded from its file, in its quick form."""

import importlib.util
import json
from pathlib import Path

ROOT = Path(__file__).parents[2] / "reproductions"
VERDICTS = {"confirmed", "not confirmed", "contradicted", "not testable here"}


def load(name, file="run.py"):
    spec = importlib.util.spec_from_file_location(f"reproduction_{name}", ROOT / name / file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_quick(name, folder, *words):
    """Run a study; check what every study must leave behind, and give its results."""
    results = load(name).main(["--quick", "--out", str(folder), *words])
    stored = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    assert stored == results
    assert stored["quick"] is True
    assert {row["verdict"] for row in results["verdicts"]} <= VERDICTS
    lines = (folder / "table.md").read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("| claim | published | ours | verdict |")
    assert len(lines) == 2 + len(results["verdicts"])
    tables = {table for part in results["parts"].values() for table in part["tables"]}
    assert tables == {path.stem for path in folder.glob("*.csv")}
    assert list(folder.glob("*.svg"))
    assert not list(folder.glob(".*"))
    return results


def verdict_of(results, start):
    """The verdict on the one claim that starts so."""
    (row,) = [row for row in results["verdicts"] if row["claim"].startswith(start)]
    return row["verdict"]
