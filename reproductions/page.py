"""Insert the verdicts of full runs into the page of the documentation.

    python reproductions/page.py FOLDER [FOLDER ...]

Each folder contains the results of a study; several folders of one study (its parts, run in
parallel) are combined. In docs/reproductions.md only the text between the marks of these studies
is replaced.
"""

import json
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import verdicts as v

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "reproductions.md"


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


def judged(name, results):
    """Return the verdicts of a study on all its parts."""
    spec = spec_from_file_location(f"reproduction_{name}", HERE / name / "run.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    order = [part for part in module.STUDY.parts if part in results["parts"]]
    found = {part: results["parts"][part]["tables"] for part in order}
    return module.STUDY.verdicts(found, module.STUDY.expected)


def written(rows, results):
    """Return the claims that did not hold, then all claims in a collapsed block."""
    words = [row["verdict"] for row in rows]
    counts = ", ".join(f"{words.count(word)} {word}" for word in v.VERDICTS if word in words)
    seconds = sum(part["seconds"] for part in results["parts"].values())
    seeds = sorted({part["seeds"] for part in results["parts"].values()})
    text = [f"{len(rows)} claims: {counts}. Seeds: {', '.join(map(str, seeds))}; "
            f"{seconds / 60:.0f} CPU minutes in total."]  # fmt: skip
    failed = [row for row in rows if row["verdict"] in (v.CONTRADICTED, v.NOT_CONFIRMED)]
    if failed:
        text += ["", "Not confirmed or contradicted:", "", v.markdown(failed)]
    text += ["", "<details><summary>All claims</summary>", "", v.markdown(rows), "", "</details>"]
    return "\n".join(text)


def main(folders):
    page = PAGE.read_text(encoding="utf-8")
    for name, results in merged(folders).items():
        begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
        before, rest = page.split(begin)
        _, after = rest.split(end)
        text = written(judged(name, results), results)
        page = f"{before}{begin}\n\n{text}\n\n{end}{after}"
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
