"""Fair pairwise ranking: DirectRanker and its fair family against DELTR and a debias classifier.

    python reproductions/fair_pairwise/run.py --quick
    EQUIRANK_DATA=... python reproductions/fair_pairwise/run.py

COMPAS in both orientations, law students by sex and by race, Adult and Wiki talk, each one list of
people (or comments). A fifth is for test; the rest is split into training and validation parts
several times, and every model uses the point of the grid that is best on the mean over the splits.
Each seed draws its own parts and weights. Every cell, one model on one seed, is stored in the
folder of results, and a run continues with those that are missing. Only 1,492 of the Wiki comments
are available, so they are substitute data.
"""

import json
import sys
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import verdicts as v
from fair_pairwise import lists
from fair_pairwise.grid import MODELS, QUICK, Effort
from fair_pairwise.judging import pictures, remarks, verdicts
from fair_pairwise.training import cells, chance

#: Seeds of the constrained model, which cannot be stacked.
ALONE = 5


def effort_of(given):
    """Return how much is searched, by the options."""
    if given.quick:
        return QUICK
    full = Effort(splits=given.splits, survivors=given.survivors, device=given.device)
    return replace(
        full,
        widths=tuple(int(width) for width in given.widths.split(",")),
        rungs=tuple(steps for steps in full.rungs if steps <= given.first) or (given.first,),
        long=tuple(steps for steps in full.long if steps <= given.longest) or (given.longest,),
    )


def computed(folder, load, part, seeds, name, quick, effort):
    """Compute and store the cells of one model on some seeds, with the CPU time of each."""
    begin = time.process_time()
    found = cells(load, seeds, name, quick, effort)
    seconds = (time.process_time() - begin) / len(seeds)
    for seed, done in zip(seeds, found, strict=True):
        file = folder / f"{part}_{seed}_{name}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(".partial")
        text = json.dumps(v.plain(done | {"seconds": round(seconds, 1)}))
        partial.write_text(text, encoding="utf-8")
        partial.replace(file)


def study(given, part, load, names=MODELS):
    """Run all seeds, models in parallel if there are several jobs."""
    from joblib import Parallel, delayed

    effort = effort_of(given)
    folder = given.out / "cells" / effort.key()
    files, jobs = [], []
    for name in names:
        alone = name == "constrained_pairwise"
        n_seeds, size = (min(given.seeds, ALONE), 1) if alone else (given.seeds, given.together)
        mine = [folder / f"{part}_{seed}_{name}.json" for seed in range(n_seeds)]
        missing = [seed for seed, file in enumerate(mine) if not file.exists()]
        for first in range(0, len(missing), size):
            seeds = missing[first : first + size]
            jobs.append(delayed(computed)(folder, load, part, seeds, name, given.quick, effort))
        files += mine
    steps = Parallel(n_jobs=given.n_jobs, return_as="generator_unordered")(jobs)
    for _ in v.progress(steps, part):
        pass
    found = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    return {
        "seconds": round(sum(one["seconds"] for one in found), 1),
        "figures": [one["row"] for one in found],
        "lines": [row for one in found for row in one["lines"]],
        "chance": [chance(load, seed, given.quick, effort) for seed in range(given.seeds)],
    }


PARTS = {
    "compas": lambda given: study(given, "compas", lists.compas_people),
    "compas_high": lambda given: study(given, "compas_high", lists.compas_high_risk_first),
    "law_sex": lambda given: study(given, "law_sex", lists.students_by_sex),
    "law_race": lambda given: study(given, "law_race", lists.students_by_race),
    "adult": lambda given: study(given, "adult", lists.adult_people),
    "wiki": lambda given: study(
        given, "wiki", lists.wiki_comments, (*MODELS, "constrained_pairwise")
    ),
}
OPTIONS = {
    "splits": (int, 3, "splits into training and validation parts"),
    "widths": (str, "10,20,50,100", "widths of the two layers"),
    "first": (int, 2_000, "most steps of all points"),
    "survivors": (int, 3, "points that train on"),
    "longest": (int, 10_000, "most steps of the survivors"),
    "device": (str, "cpu", "cpu or cuda"),
    "together": (int, 1, "seeds that train as one stack; all of them on a GPU"),
}
STUDY = v.Study(
    __file__, __doc__, PARTS, verdicts, pictures, seeds=10, needs_data=True, remarks=remarks,
    options=OPTIONS,
)  # fmt: skip


def main(argv=None):
    return v.main(STUDY, argv)


if __name__ == "__main__":
    main()
