"""Sums over lists: calibration of the closed tests and of twins, and CPU times as ratios.

Prints shares of p-values on data without any difference, and times measured in the same run.

python benchmarks/sums.py [calibration|given|split|speed] [SIMULATIONS]
python benchmarks/sums.py acceptance [FOLDER] [OLD/src]

``acceptance`` prints every ratio that was asked for of sums, each with its limit. It writes logs of
1e7 and 1e8 rows (0.3 GB) to the folder, unless they are there. With the source of the release
before the sums (mkdir OLD && git archive 40a21fc~1 src | tar x -C OLD) it also times that release.
Wall times, those of two threads, need idle cores.
"""

import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

from equirank import as_ranking_data, audit, evaluate
from equirank.core.closed_shuffles import ClosedShuffles, ClosedValues
from equirank.core.list_sums import ListSums
from equirank.core.ranking import Ranking
from equirank.core.shuffles import normal_p, shuffle_labels
from equirank.core.summed_lists import Before, sum_data, sum_lists
from equirank.core.summed_results import split_of
from equirank.core.sums_plan import SumsPlan, Survey
from equirank.kernels.discounts import discounts

#: Lists, shortest and longest list, share of the group, tied scores.
SHAPES = [
    (3, (20, 60), 0.3, True),
    (3, (40, 90), 0.06, False),
    (30, (10, 50), 0.3, True),
    (30, (60, 160), 0.03, False),
    (300, (10, 50), 0.3, True),
    (300, (60, 160), 0.03, False),
    (3_000, (5, 30), 0.3, True),
]


def lottery(rng, lists, sizes, share, ties):
    n_items = rng.integers(*sizes, lists)
    n = int(n_items.sum())
    score = rng.normal(size=n)
    return as_ranking_data(
        y=rng.integers(0, 4, n),
        qid=np.repeat(np.arange(lists), n_items),
        score=np.round(score, 1) if ties else score,
        sensitive_features=np.where(rng.random(n) < share, "g", "rest"),
    )


def permuted_p(data, seed):
    """Return the p-value of exposure by shuffled labels, the fall-back of few people."""
    attribute, query = data.attribute(), data.query_of_rows()
    exposure = data.ranking().expect(lambda p: discounts(len(p), "log2"))
    mean = np.bincount(query, exposure) / np.diff(data.offsets)
    found = shuffle_labels(
        query, np.zeros_like(query), attribute.codes, np.array([[1, 0]]),
        (exposure / mean[query])[:, None], np.array([False]), 999, seed,
    )  # fmt: skip
    z, drawn = abs(found.z[0, 0]), np.abs(found.draws[:, 0, 0])
    return (1 + (drawn >= z - 1e-9).sum()) / (1 + len(drawn))


def calibration(n_simulations):
    print("shares of p < .05 / .01 on lotteries: position, exposure, exposure with fall-back,")
    print("then twins of ExposureGap, RND, DisparateTreatment, GroupPairwiseAccuracy (p < .05)")
    for at, (lists, sizes, share, ties) in enumerate(SHAPES):
        closed, backed, twins, normal = [], [], [], 0
        runs = n_simulations if lists < 3_000 else max(1, n_simulations // 5)
        for run in range(runs):
            rng = np.random.default_rng([4711, at, run])
            data = lottery(rng, lists, sizes, share, ties)
            sums = sum_data(data, seed=run)
            found = ClosedShuffles.of(sums, [0], 0)
            closed.append(normal_p(found.z[0, [0, 2]]))
            fine = found.is_normal(0, 2)
            normal += fine
            backed.append(closed[-1][1] if fine else permuted_p(data, run))
            worst = [at for at, target in enumerate(sums.plan.targets) if target[2] is None]
            total = sums.sums["gaps"][:, worst].sum(axis=0)
            sign = np.array([1.0, 1.0, -1.0, 1.0])
            twins.append(sign * total[:, 2] / np.sqrt(np.maximum(total[:, 3], 1e-300)))
        closed, backed, twins = map(np.array, (closed, backed, twins))
        error = 3 * np.sqrt(0.05 * 0.95 / runs), 3 * np.sqrt(0.01 * 0.99 / runs)
        words = [f"{(p < 0.05).mean():.3f}/{(p < 0.01).mean():.4f}" for p in (*closed.T, backed)]
        gaps = " ".join(f"{share:.3f}" for share in (twins > 1.644854).mean(axis=0))
        print(
            f"{lists:>5} lists of {sizes[0]}-{sizes[1]}, share {share}: {', '.join(words)}; "
            f"twins {gaps} (limits {0.05 + error[0]:.3f}/{0.01 + error[1]:.4f}, normal in "
            f"{normal / runs:.0%})"
        )


def given(n_simulations):
    """Print the shares of small p-values of scores, gains and changes that labels do not affect."""
    print("shares of p < .05 / .01: rate above the median and mean score, NDCG@10 given relevance,")
    print("change of position, exposure and top 5 (everyone may move; two people of a list swap)")
    for at, (lists, sizes, share, ties) in enumerate(SHAPES):
        found = []
        runs = n_simulations if lists < 3_000 else max(1, n_simulations // 5)
        for run in range(runs):
            rng = np.random.default_rng([4712, at, run])
            data = lottery(rng, lists, sizes, share, ties)
            scores = np.asarray(data.score)
            noisy = scores + rng.normal(0, 0.3, len(scores))
            swapped = scores.copy()
            rows = data.offsets[:-1] + rng.integers(0, np.diff(data.offsets) - 1)
            swapped[rows], swapped[rows + 1] = scores[rows + 1], scores[rows]
            options = {"scored": True, "changed": True, "k": 5, "metrics": ["NDCG@10"]}
            plan = SumsPlan.of(Survey.of(data, True), **options)
            p = []
            for other in (noisy, swapped):
                ranked = Ranking.from_scores(data, other)
                before = Ranking(data, ranked.position, ranked.last)
                sums = sum_data(data, plan, before=Before.of(data, before, plan, before))
                if not p:
                    p += [*_closed_p(sums, "score", 2), *_closed_p(sums, "NDCG@10", 1)]
                change = _closed_p(sums, "change", 4, n_averaged=2, studentized=True)
                p += [change[0], change[2], change[3]]
            found.append(p)
        error = 3 * np.sqrt(0.05 * 0.95 / runs), 3 * np.sqrt(0.01 * 0.99 / runs)
        table = np.array(found)
        words = [f"{(p < 0.05).mean():.3f}/{(p < 0.01).mean():.4f}" for p in table.T]
        print(
            f"{lists:>5} lists of {sizes[0]}-{sizes[1]}, share {share}: {', '.join(words)} (limits "
            f"{0.05 + error[0]:.3f}/{0.01 + error[1]:.4f})"
        )


#: Metrics that are split by group.
SPLIT = ["NDCG@10", "Precision@5", "AverageRank", "Recall@5"]


def split(n_simulations):
    """Print the shares of small p-values of metrics by group that labels do not affect."""
    print(f"shares of p <= .05 / .01 of {', '.join(SPLIT)} by group, then within strata")
    for lists, n_twins in ((2_100, 1), (2_100, 5), (2_100, 95)):
        jobs = (delayed(_split_p)(lists, n_twins, run) for run in range(n_simulations))
        table = np.array(Parallel(n_jobs=-1)(jobs))
        words = [f"{(p <= 0.05).mean():.3f}/{(p <= 0.01).mean():.4f}" for p in table.T]
        error = 3 * np.sqrt(0.05 * 0.95 / len(table)), 3 * np.sqrt(0.01 * 0.99 / len(table))
        print(
            f"{lists} lists, {n_twins} relabellings: {', '.join(words)} (limits "
            f"{0.05 + error[0]:.3f}/{0.01 + error[1]:.4f})"
        )


def _split_p(lists, n_twins, run):
    """Return p-values where groups differ by their lists alone.

    In the second half of the lists group a is frequent, and scores do not depend on relevance.
    """
    rng = np.random.default_rng([4713, n_twins, run])
    size = rng.integers(4, 20, lists)
    n, late = int(size.sum()), np.repeat(np.arange(lists) > lists // 2, size)
    y, noise = rng.integers(0, 3, n), rng.normal(size=n)
    people = {"g": rng.random(n) < np.where(late, 0.6, 0.2), "s": rng.random(n) < 0.5}
    data = as_ranking_data(
        y=y, qid=np.repeat(np.arange(lists), size), score=noise + y * ~late,
        sensitive_features={name: np.where(v, "a", "b") for name, v in people.items()},
    )  # fmt: skip
    found = []
    for options in ({"by": "g"}, {"by": "g", "control": "s"}):
        plan = SumsPlan.of(Survey.of(data), metrics=SPLIT, cross=False, seed=run, **options)
        sums = sum_data(data, replace(plan, n_twins=n_twins))
        found += [split_of(name, sums, None, 999, run).p_value[0] for name in SPLIT]
    return found


def _closed_p(sums, name, n_values, **options):
    closed = ClosedValues.of_values(sums.given(name), [0], 0, None, **options)
    normal = [closed.is_normal(0, j) for j in range(n_values)]
    return np.where(normal, normal_p(closed.z[0, :n_values]), np.nan)


def cpu(function, repeats=3):
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        function()
        times.append(time.process_time() - begin)
    return min(times)


def many(n_rows, n_lists, attributes):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, n_rows)
    return as_ranking_data(
        y=y,
        qid=np.repeat(np.arange(n_lists), n_rows // n_lists),
        score=rng.normal(size=n_rows) + 0.3 * y,
        sensitive_features={name: rng.choice(list(g), n_rows) for name, g in attributes.items()},
    )


def numbers_tests_audit():
    """Return CPU times over 1e6 rows: three metrics, the same with tests, and an audit."""
    data = many(1_000_000, 10_000, {"race": "abc"})
    names = "NDCG@10, ExposureGap, RND"
    audit(data.select(slice(0, 3_000)))
    evaluate(data.select(slice(0, 3_000)), names)
    alone = cpu(lambda: evaluate(data, names, n_boot=0, n_permutations=0))
    return alone, cpu(lambda: evaluate(data, names)), cpu(lambda: audit(data))


def speed():
    alone, full, whole = numbers_tests_audit()
    print(f"1e6 rows, 10,000 lists: three metrics {alone:.3f} s of CPU")
    print(f"  with intervals and tests {full / alone:.1f} times, audit {whole / alone:.1f} times")
    data = many(2_000_000, 40_000, {"sex": "fm", "race": "abc"})
    plan = SumsPlan.of(Survey.of(data))
    sums, whole = cpu(lambda: sum_data(data, plan), 2), cpu(lambda: audit(data), 2)
    print(f"2e6 rows, 40,000 lists, two attributes crossed: sums {sums:.2f} s, audit {whole:.2f} s")
    begin = time.perf_counter()
    sum_data(data, plan)
    one = time.perf_counter() - begin
    begin = time.perf_counter()
    sum_data(data, plan, n_jobs=2)
    print(f"  two threads {one / (time.perf_counter() - begin):.2f} times as fast (idle cores)")
    home = np.arange(data.n_queries) * 7 // data.n_queries
    parts = [sum_lists(data.select(home == part), plan) for part in range(7)]
    merged = ListSums.total(parts[::-1])
    exact = sum_data(data, plan)
    apart = max(
        np.abs(merged.sums[n] - v).max(initial=0.0) / np.abs(v).max(initial=1e-300)
        for n, v in exact.sums.items()
    )
    print(f"  seven parts merged backwards: largest difference {apart:.1e} of the largest sum")


def acceptance(folder, baseline=None):
    """Print each ratio that was asked for, its limit, and whether it holds."""
    import corners
    import sum_engines

    def row(words, above, below, limit, *, least=False):
        ratio = above / below
        holds = ratio >= limit if least else ratio <= limit
        bound = "at least" if least else "at most"
        verdict = "" if holds else ", DOES NOT HOLD"
        print(
            f"{words}: {above:.4g} / {below:.4g} = {ratio:.3g}x ({bound} {limit}){verdict}",
            flush=True,
        )

    logs = {rows: str(Path(folder, f"log{rows}.parquet")) for rows in (10**7, 10**8)}
    for rows, path in logs.items():
        if not Path(path).exists():
            sum_engines.make(path, rows)
    short, long = logs.values()
    small, large = sum_engines.measured("stream", short), sum_engines.measured("stream", long)
    read, groups = (sum_engines.measured(name, long)["cpu"] for name in ("read", "groups"))
    window = sum_engines.measured("window", short)["cpu"]
    row("1e8 rows of Parquet, CPU against reading", large["cpu"], read, 30)
    row("1e8 rows, CPU against DuckDB's sums by group", large["cpu"], groups, 25)
    row("1e7 rows, CPU against DuckDB's window", small["cpu"], window, 2.5)
    row("peak MB, 1e8 over 1e7 rows", large["mb"], small["mb"], 1.1)
    two = sum_engines.measured("stream", long, jobs=2)["wall"]
    row("1e8 rows, wall time of one thread over two", large["wall"], two, 1.7, least=True)
    alone, tested, audited = numbers_tests_audit()
    row("1e6 rows, evaluate with intervals and tests over numbers alone", tested, alone, 5)
    row("1e6 rows, audit by one attribute over numbers alone", audited, alone, 12)
    if baseline is not None:
        own = str(Path(__file__).parents[1] / "src")
        for name in ("audit_bundled", "audit_lists"):
            old, new = (corners.run(name, source)[0] for source in (baseline, own))
            row(f"{corners.CORNERS[name].__doc__} Before over now", old, new, 10, least=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["acceptance"]:
        with tempfile.TemporaryDirectory() as temporary:
            acceptance(*(sys.argv[2:4] or [temporary]))
        sys.exit()
    wanted = sys.argv[1:2] or ["calibration", "given", "split", "speed"]
    simulations = int(sys.argv[2]) if len(sys.argv) > 2 else 2_000
    if "calibration" in wanted:
        calibration(simulations)
    if "given" in wanted:
        given(simulations)
    if "split" in wanted:
        split(simulations // 5)
    if "speed" in wanted:
        speed()
