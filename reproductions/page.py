"""Keep full runs in the repository, and write the page of the documentation from them.

    python reproductions/page.py [FOLDER ...]

Each folder contains the results of a study; several folders of one study (its parts, run in
parallel) are combined. A study's results are stored as results.json.gz next to its script. In
docs/results/reproductions.md only the text between the marks of the studies is replaced; without
folders it is written again from what is stored.
"""

import json
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import verdicts as v

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "results" / "reproductions.md"


def merged(folders):
    """Return the results of each study, with the parts of its folders combined."""
    studies = {}
    for folder in folders:
        results = json.loads((Path(folder) / "results.json").read_text(encoding="utf-8"))
        if results["quick"]:
            raise SystemExit(f"{folder}: must contain a full run, got a quick one")
        before = studies.setdefault(results["name"], results)
        before["parts"] |= results["parts"]
    return studies


def study_of(name):
    """Return the study of a folder."""
    spec = spec_from_file_location(f"reproduction_{name}", HERE / name / "run.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.STUDY


def origin(results):
    """Return sentences about the runs that the figures are from."""
    parts = results["parts"].values()
    seconds = sum(part["seconds"] for part in parts) if parts else results["seconds"]
    seeds = sorted({part["seeds"] for part in parts}) if parts else results["seeds"]
    text = f"Seeds: {', '.join(map(str, seeds))}; {seconds / 60:.0f} CPU minutes in total."
    if "pieced_together" in results:
        text += f" Pieced together: {results['pieced_together']}"
    runs = dict.fromkeys((part["version"], part["began"]) for part in parts if "began" in part)
    if len(runs) > 1:
        named = "; ".join(
            f"{', '.join(n for n, p in results['parts'].items() if p.get('began') == began)} "
            f"({began} UTC)"
            for _, began in runs
        )
        text += f" Pieced together from {len(runs)} runs: {named}."
    return text


def written(results):
    """Return the claims that did not hold, then all claims in a collapsed block."""
    rows = results["verdicts"]
    words = [row["verdict"] for row in rows]
    counts = ", ".join(f"{words.count(word)} {word}" for word in v.VERDICTS if word in words)
    text = [f"{len(rows)} claims: {counts}. {origin(results)}"]
    if results.get("remarks"):
        text += ["", "What is odd in the published table itself:", ""]
        text += [f"- {remark}" for remark in results["remarks"]]
    failed = [row for row in rows if row["verdict"] in (v.CONTRADICTED, v.NOT_CONFIRMED)]
    if failed:
        text += ["", "Not confirmed or contradicted:", "", v.markdown(failed)]
    text += ["", "<details><summary>All claims</summary>", "", v.markdown(rows), "", "</details>"]
    return "\n".join(text)


def inserted(page, name, results):
    """Return the page with the text between the marks of a study replaced."""
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    before, rest = page.split(begin)
    _, after = rest.split(end)
    return f"{before}{begin}\n\n{written(results)}\n\n{end}{after}"


def main(folders):
    for name, results in merged(folders).items():
        v.judge(study_of(name), results)
        v.keep(study_of(name), results)
    page = PAGE.read_text(encoding="utf-8")
    for file in sorted(HERE.glob("*/results.json.gz")):
        name = file.parent.name
        page = inserted(page, name, v.stored(study_of(name)))
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
