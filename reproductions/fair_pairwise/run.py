"""Fair pairwise ranking: DirectRanker and its fair family against DELTR and a debias classifier.

    python reproductions/fair_pairwise/run.py --quick
    EQUIRANK_DATA=... python reproductions/fair_pairwise/run.py

COMPAS, law students by sex and by race, Adult and Wiki talk, each one list of people (or comments)
split 60/20/20. Every model uses the point of a reduced grid that is best on the validation part.
Each seed draws its own split, widths and weights. Only 1,492 of the Wiki comments are available, so
they are substitute data.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import verdicts as v
from fair_pairwise import lists
from fair_pairwise.judging import pictures, verdicts
from fair_pairwise.training import MODELS, one_seed


def study(given, load, names=MODELS):
    """Run all seeds, in parallel if there are several jobs."""
    from joblib import Parallel, delayed

    jobs = [delayed(one_seed)(load, seed, names, given.quick) for seed in range(given.seeds)]
    steps = Parallel(n_jobs=given.n_jobs, return_as="generator")(jobs)
    rows, chances = zip(*v.progress(steps, load.__name__), strict=True)
    return {"figures": [row for found in rows for row in found], "chance": list(chances)}


PARTS = {
    "compas": lambda given: study(given, lists.compas_people),
    "law_sex": lambda given: study(given, lists.students_by_sex),
    "law_race": lambda given: study(given, lists.students_by_race),
    "adult": lambda given: study(given, lists.adult_people),
    "wiki": lambda given: study(given, lists.wiki_comments, (*MODELS, "constrained_pairwise")),
}
STUDY = v.Study(__file__, __doc__, PARTS, verdicts, pictures, seeds=5, needs_data=True)


def main(argv=None):
    return v.main(STUDY, argv)


if __name__ == "__main__":
    main()
