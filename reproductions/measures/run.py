"""Behaviour of rND, rKL and rRD from unfair to fair and back.

    python reproductions/measures/run.py --quick
    python reproductions/measures/run.py

Lists of 1,000 with 300, 600 and 900 protected. At each position a protected item comes next with
probability f while both groups have items left; f runs from 0 to 0.98 in steps of 0.02.
A seed is one batch of lists: the curves are means over all lists of all seeds.
"""

import sys
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import charts
import verdicts as v

from equirank import EquirankWarning, as_ranking_data, evaluate

SCALE = {True: (500, 0.07, 5), False: (1000, 0.02, 20)}  # list size, step of f, lists per seed
METRICS = {name: f'{name.upper()}(protected="protected")' for name in ("rnd", "rkl", "rrd")}


def make_fairness_probability(n, n_protected, f, *, n_lists=1, random_state=None):
    """Draw ranked lists in which the next item is protected with probability f.

    While items of both groups remain, the next one is protected with probability f; then the
    remaining items of the other group follow. With f = 0 the protected
    come last, with f = 1 first, and with f = n_protected / n the order is about as fair as a
    shuffled one.

    Parameters
    ----------
    n : int
        Items of a list.
    n_protected : int
        How many of them are protected.
    f : float
        The fairness probability, from 0 to 1.
    n_lists : int, default=1
        Number of lists, drawn independently; each is a query, labelled 0, 1, ...
    random_state : int, Generator, RandomState or None
        Seed.

    Returns
    -------
    RankingData
        Rows best first, with scores n, ..., 2, 1 and the attribute ``group`` of values
        ``"protected"`` and ``"other"``.

    References
    ----------
    Yang and Stoyanovich, Measuring fairness in ranked outputs, SSDBM 2017.

    """
    if not (n >= 1 and 0 <= n_protected <= n and 0 <= f <= 1 and n_lists >= 1):
        raise ValueError(f"not a list: n={n}, n_protected={n_protected}, f={f}, n_lists={n_lists}")
    next_is_protected = np.random.default_rng(random_state).random((n_lists, n)) < f
    left = n_protected - np.cumsum(next_is_protected, axis=1)
    left_of_others = (n - n_protected) - np.cumsum(~next_is_protected, axis=1)
    # Draws count until one group is used up; then the other group follows.
    protected = np.where(left < 0, False, np.where(left_of_others < 0, True, next_is_protected))
    return as_ranking_data(
        qid=np.repeat(np.arange(n_lists), n),
        sensitive_features={"group": np.where(protected, "protected", "other").ravel()},
        score=np.tile(np.arange(n, 0, -1, dtype=np.float64), n_lists),
    )


def curves(given):
    """Compute the mean, 5% and 95% quantile of each metric for each share and f."""
    size, step, lists = SCALE[given.quick]
    rows = []
    cases = [(share, f) for share in (0.3, 0.6, 0.9) for f in np.arange(0.0, 0.99, step)]
    for share, f in v.progress(cases, "lists"):
        f = round(float(f), 2)
        parts = {name: [] for name in METRICS}
        for seed in range(given.seeds):
            data = make_fairness_probability(
                size, round(share * size), f, n_lists=lists, random_state=1000 * seed + int(100 * f)
            )
            with warnings.catch_warnings():  # rRD warns about majorities, which are tested here
                warnings.simplefilter("ignore", EquirankWarning)
                found = evaluate(data.ranking(), list(METRICS.values()), n_boot=0)
            for name, metric in METRICS.items():
                parts[name].append(found.per_query(metric))
        for name, measured in parts.items():
            values = np.concatenate(measured)
            low, high = np.quantile(values, [0.05, 0.95])
            mean, half = v.interval(values)
            rows.append({"share": share, "f": f, "metric": name, "mean": mean, "interval": half,
                         "low": float(low), "high": float(high), "lists": len(values)})  # fmt: skip
    return {"curves": rows}


def shape(rows, metric, share, f_below):
    """Return the minimum of a curve, the steps in the wrong direction, and the value at f = 0.

    A step is in the wrong direction if it does not decrease before the minimum or increase
    after it, beyond both intervals. f = 0 ranks all protected last; its value is a share of the
    maximum.
    """
    curve = [r for r in v.rows_where(rows, metric=metric, share=share) if r["f"] < f_below]
    mean = np.array([row["mean"] for row in curve])
    half = np.array([row["interval"] for row in curve])
    at = int(mean.argmin())
    sign = np.where(np.arange(len(mean) - 1) < at, -1.0, 1.0)
    wrong = sign * np.diff(mean) < -(half[1:] + half[:-1])
    return curve[at]["f"], int(wrong.sum()), float(mean[0] / mean.max())


def verdicts(found, expected):
    """Return one row per metric and share: a minimum at the share, and comparable ends."""
    rows = found["curves"]["curves"]
    near = max(expected["tolerance"], sorted({row["f"] for row in rows})[1])

    def case(metric, share, f_below=1.0):
        lowest, wrong, ends = shape(rows, metric, share, f_below)
        valley = abs(lowest - share) <= near + 1e-9 and not wrong
        said = f"lowest at f = {lowest}, {wrong} steps the other way"
        return valley, ends >= expected["balance"], said, f"{ends:.0%}"

    table = []
    for metric in ("rnd", "rkl"):
        for share in (0.3, 0.6, 0.9):
            valley, _, said, ends = case(metric, share)
            table.append(v.claim(
                f"{metric}, {share:.0%} protected: lowest at f = share, rising to both sides",
                f"lowest at f = {share}", said, v.CONFIRMED if valley else v.CONTRADICTED,
                f"f = 0 scores {ends} of the largest value",
            ))  # fmt: skip
    share, limit = 0.3, expected["rrd_f"]
    valley, balanced, said, ends = case("rrd", share, limit)
    table.append(v.claim(
        f"rrd, {share:.0%} protected, f under {limit}: makes sense", "a valley at the share",
        f"{said}; f = 0 scores {ends} of the largest value",
        v.CONFIRMED if valley and balanced else v.CONTRADICTED,
    ))  # fmt: skip
    for share, words in ((0.3, "30% protected, all f"), (0.6, "60%"), (0.9, "90%")):
        valley, balanced, said, ends = case("rrd", share)
        table.append(v.claim(
            f"rrd, {words}: makes no sense", "outside 'at most half, f < .5'",
            f"{said}; f = 0 scores {ends} of the largest value",
            v.CONTRADICTED if valley and balanced else v.CONFIRMED,
            "the minimum is there; the scale is not comparable" if valley and not balanced else "",
        ))  # fmt: skip
    return table


def pictures(found):
    """Draw the nine curves with the 90% band of the lists; dashed where f is the share."""
    rows = [
        {**row, "value": row["mean"], "protected": f"{row['share']:.0%}"}
        for row in found["curves"]["curves"]
    ]
    return {
        "measures": charts.lines(
            rows, "f", "value", "protected", "Prefix measures by fairness probability",
            facet="metric", band=("low", "high"), rule="share",
        )
    }  # fmt: skip


STUDY = v.Study(__file__, __doc__, {"curves": curves}, verdicts, pictures, seeds=5)


def main(argv=None):
    return v.main(STUDY, argv)


if __name__ == "__main__":
    main()
