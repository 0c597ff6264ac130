"""Remedies on German, Law, COMPAS and Adult, and the time for a million rows.

Run: ``python benchmarks/remedies.py real FOLDER`` writes one file per data set to a folder and
prints the command for each; ``python benchmarks/remedies.py time FOLDER`` writes a file of a
million rows, and prints the seconds of ``equirank rerank`` and of ``equirank remedy``, then the
seconds of processor time of both in memory, without reading the file.
"""

import csv
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from equirank import remedy
from equirank.datasets import load_adult, load_compas, load_german, load_law
from equirank.rerankers import FAStarIR

#: Per data set: the target, and further options.
TARGETS = {
    "german": ("age_25='under 25' selected at 100 >= 0.8", ["--sensitive", "age_25"]),
    "law": ("race=Black selected vs White at 2000 >= 0.8", ["--sensitive", "race"]),
    "compas": (
        "race=African-American selected vs Caucasian at 1000 >= 0.8",
        ["--sensitive", "race"],
    ),
    "adult": ("sex=Female selected at 5000 >= 0.8", ["--sensitive", "sex"]),
}


def held_out(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return scores of a logistic regression, each from a fit without the person."""
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    return cross_val_predict(model, X, y > 0, cv=5, method="predict_proba")[:, 1]


def columns() -> dict[str, dict[str, np.ndarray]]:
    """Return id, score, relevance and groups of each data set."""
    german, law, compas = load_german(), load_law(), load_compas(relevance="two_year_recid")
    adult = load_adult()
    scores = {
        "german": (german, held_out(german.X, german.y), german.y),
        # Both admission criteria, standardised; the relevance is the grade of the first year.
        "law": (law, StandardScaler().fit_transform(law.X).sum(axis=1), law.y - law.y.min()),
        # Low risk ranks first; who was not charged again is relevant.
        "compas": (compas, 10.0 - load_compas().y, 1.0 - compas.y),
        "adult": (adult, held_out(adult.X, adult.y), adult.y),
    }
    found = {}
    for name, (data, score, y) in scores.items():
        groups = {key: each.labels() for key, each in data.sensitive.items()}
        found[name] = {"id": np.arange(data.n_rows), "score": score, "relevance": y} | groups
    return found


def write(path: Path, table: dict[str, np.ndarray]) -> None:
    """Write columns to a file."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*(column.tolist() for column in table.values()), strict=True))


def real(folder: Path) -> None:
    """Write the files, and find remedies for each."""
    for name, table in columns().items():
        path = folder / f"{name}.csv"
        write(path, table)
        target, more = TARGETS[name]
        words = ["remedy", str(path), "--id", "id", "--relevance", "relevance", *more]
        words += ["--target", target, "--report", str(path.with_suffix(".html"))]
        began = time.perf_counter()
        run(words)
        print(f"{name}: {time.perf_counter() - began:.1f} s\n", flush=True)


def run(words: list[str]) -> None:
    """Run a command of equirank."""
    subprocess.run([sys.executable, "-m", "equirank", *words], check=True)


def timed(folder: Path) -> None:
    """Compare the time of remedies with that of one re-ranking, for a million rows."""
    rng = np.random.default_rng(0)
    n, lists = 1_000_000, 10_000
    sex = np.where(rng.random(n) < 0.4, "f", "m")
    path = folder / "million.csv"
    table = {"qid": np.repeat(np.arange(lists), n // lists), "sex": sex}
    table["score"] = rng.normal(size=n) - 0.5 * (sex == "f")
    write(path, table)
    given = [str(path), "--query", "qid", "--sensitive", "sex"]
    one = ["rerank", *given, "--method", "FAStarIR", "--p", "0.5", "--k", "10"]
    one += ["--protected", "f", "--on-infeasible", "best"]
    every = ["remedy", *given, "--target", "sex=f selected at 10 >= 0.8"]
    seconds = []
    for words in (one, every):
        began = time.perf_counter()
        run(words)
        seconds.append(time.perf_counter() - began)
    print(f"one re-ranking {seconds[0]:.1f} s, remedies {seconds[1]:.1f} s", flush=True)
    in_memory(table)


def in_memory(table: dict[str, np.ndarray]) -> None:
    """Compare a re-ranking and its report with remedies, from arrays and after warming up."""

    def one() -> None:
        rule = FAStarIR(p=0.5, k=10, protected="f", on_infeasible="best")
        groups = {"sex": table["sex"]}
        made = rule.rerank(table["score"], sensitive_features=groups, qid=table["qid"])
        _ = (made.moves, made.price, made.holds, made.summary())

    def every() -> None:
        groups = {"sex": table["sex"]}
        target = "sex=f selected at 10 >= 0.8"
        remedy(score=table["score"], sensitive=groups, query=table["qid"], target=target)

    for name, work in (("one re-ranking with moves, price and summary", one), ("remedies", every)):
        work()
        began = time.process_time()
        work()
        print(f"in memory: {name} {time.process_time() - began:.2f} s", flush=True)


if __name__ == "__main__":
    {"real": real, "time": timed}[sys.argv[1]](Path(sys.argv[2]))
