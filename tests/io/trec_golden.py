"""Write a run without ties, its judgements, and what ir_measures computes from them.

Run as ``python tests/io/trec_golden.py`` where ir_measures is installed; the files are in
``tests/io/trec_files``.
"""

import json
import random
from pathlib import Path

FOLDER = Path(__file__).with_name("trec_files")
#: The name here, and that in ir_measures.
SHARED = {
    'NDCG(gain="linear")': "nDCG",
    'NDCG(gain="linear")@5': "nDCG@5",
    "AveragePrecision": "AP",
    "AveragePrecision(threshold=2)@7": "AP(rel=2)@7",
    "ReciprocalRank": "RR",
    "ReciprocalRank(threshold=2)@5": "RR(rel=2)@5",
    "Precision@5": "P@5",
    "Recall@8": "R@8",
    "Bpref": "Bpref",
}


def write_lists(rng):
    """Write ten queries: unjudged documents, judged ones that are not retrieved, and no ties."""
    run, qrels = [], []
    for query in range(301, 311):
        documents = [f"doc-{rng.randrange(10**6):06d}" for _ in range(30)]
        scores = sorted(rng.sample(range(1, 10_000), 20), reverse=True)
        for rank, (name, score) in enumerate(zip(documents, scores, strict=False), start=1):
            run.append(f"{query} Q0 {name} {rank} {score / 64} golden\n")
        for name in documents:
            if rng.random() < 0.7:
                grade = rng.choices([0, 1, 2, 3], [6, 3, 2, 1])[0]
                qrels.append(f"{query} 0 {name} {grade}\n")
    rng.shuffle(run)
    (FOLDER / "run.txt").write_text("".join(run), encoding="utf-8")
    (FOLDER / "qrels.txt").write_text("".join(qrels), encoding="utf-8")


def computed():
    """Return the values of ir_measures by our name and query."""
    import ir_measures

    qrels = list(ir_measures.read_trec_qrels(str(FOLDER / "qrels.txt")))
    run = list(ir_measures.read_trec_run(str(FOLDER / "run.txt")))
    values = {}
    for ours, theirs in SHARED.items():
        found = ir_measures.iter_calc([ir_measures.parse_measure(theirs)], qrels, run)
        values[ours] = {each.query_id: each.value for each in found}
    return values


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    write_lists(random.Random(0))
    text = json.dumps(computed(), indent=1, sort_keys=True)
    (FOLDER / "ir_measures.json").write_text(text + "\n", encoding="utf-8")
