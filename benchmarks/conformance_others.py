"""Other packages compared with the conformance vectors, for the metrics that they have.

Every list of every case whose options a package has is computed with it, one list at a time, and
compared. The packages are optional: those not installed are listed as such. Prints a table; with
``--write`` it becomes docs/results/conformance_others.md.

Run: python benchmarks/conformance_others.py
"""

import argparse
import importlib
import importlib.metadata
import json
import math
import sys
import warnings
from fractions import Fraction
from pathlib import Path

ROOT = Path(__file__).parents[1]
VECTORS = ROOT / "src" / "equirank" / "metrics" / "vectors"
PAGE = ROOT / "docs" / "results" / "conformance_others.md"
SAME = 1e-9


class NotOffered(Exception):
    """The package has no such option, or does not accept such data."""


def only(options, *known):
    """Raise for options that the package does not have."""
    if set(options) - {"ties", "undefined", *known}:
        raise NotOffered


def whole_grades(one):
    if any(y != int(y) for y in one["y"]):
        raise NotOffered
    return [int(y) for y in one["y"]]


def ordered(one):
    """Return the rows in ranked order; ties are broken by the order of rows."""
    return sorted(range(len(one["s"])), key=lambda i: -one["s"][i])


def in_front(one, k):
    chosen = ordered(one)[: k or len(one["s"])]
    return [int(i in chosen) for i in range(len(one["s"]))]


def two_groups(one):
    if len(set(one["g"])) != 2:
        raise NotOffered


# scikit-learn


def sklearn_dcg(one, options, normalised):
    from sklearn.metrics import dcg_score, ndcg_score

    only(options, "k", "gain")
    y = [2**y - 1 for y in one["y"]] if options.get("gain", "exp2") == "exp2" else one["y"]
    score = ndcg_score if normalised else dcg_score
    return score([y], [one["s"]], k=options.get("k"))


def sklearn_ap(one, options):
    from sklearn.metrics import average_precision_score

    only(options, "threshold")
    return average_precision_score([y >= options.get("threshold", 1) for y in one["y"]], one["s"])


def sklearn_auc(one, options):
    from sklearn.metrics import roc_auc_score

    only(options, "threshold")
    return roc_auc_score([y >= options.get("threshold", 1) for y in one["y"]], one["s"])


# ranx


def ranx_measure(name):
    def measure(one, options):
        from ranx import Qrels, Run, evaluate

        only(options, "k", "gain", "threshold")
        wanted = name
        if "dcg" in name:
            wanted = f"{name}_burges" if options.get("gain", "exp2") == "exp2" else name
        if "k" in options:
            wanted += f"@{options['k']}"
        if "threshold" in options:
            wanted += f"-l{options['threshold']}"
        docs = [f"d{i}" for i in range(len(one["s"]))]
        truth = Qrels({"q": dict(zip(docs, whole_grades(one), strict=True))})
        run = Run({"q": {d: float(s) for d, s in zip(docs, one["s"], strict=True)}})
        return evaluate(truth, run, wanted)

    return measure


# ir-measures


def ir_measure(name):
    def measure(one, options):
        import ir_measures

        only(options, "k", "gain", "threshold", "max_grade")
        given, k = {}, options.get("k")
        if name == "ERR" and options.get("max_grade") != 4:
            raise NotOffered  # its largest grade is always 4
        if name == "nDCG":
            given["dcg"] = "exp-log2" if options.get("gain", "exp2") == "exp2" else "log2"
        elif "threshold" in options:
            given["rel"] = options["threshold"]
        kind = getattr(ir_measures, name)
        kind = kind(**given) if given else kind
        if k is None and name in ("P", "R"):
            raise NotOffered  # these have no form without a cutoff
        if k is None and name in ("ERR", "nDCG"):
            k = 20  # these need one too, and it is longer than any list
        kind = kind if k is None else kind @ k
        docs = [f"d{i:02d}" for i in range(len(one["s"]))]
        truth = {"1": dict(zip(docs, whole_grades(one), strict=True))}
        run = {"1": {d: float(s) for d, s in zip(docs, one["s"], strict=True)}}
        (found,) = ir_measures.iter_calc([kind], truth, run)
        return found.value

    return measure


# fairlearn


def fairlearn_ratio(one, options):
    from fairlearn.metrics import demographic_parity_ratio

    only(options, "k")
    chosen = in_front(one, options.get("k"))
    return demographic_parity_ratio(chosen, chosen, sensitive_features=one["g"])


def fairlearn_gap(one, options):
    from fairlearn import metrics

    only(options, "k", "threshold", "rate")
    two_groups(one)
    kind = {
        "recall": metrics.equal_opportunity_difference,
        "false_positive": metrics.false_positive_rate_difference,
        "odds": metrics.equalized_odds_difference,
    }[options.get("rate", "recall")]
    truth = [int(y >= options.get("threshold", 1)) for y in one["y"]]
    return kind(truth, in_front(one, options.get("k")), sensitive_features=one["g"])


# FairRankTune


def tuned(name, pick):
    def measure(one, options):
        import pandas as pd
        from FairRankTune import Metrics

        only(options)
        places = ordered(one)
        frame = pd.DataFrame({"r": [f"i{i}" for i in places]})
        groups = {f"i{i}": one["g"][i] for i in range(len(places))}
        function = getattr(Metrics, name)
        if name == "NDKL":
            return function(frame, groups)
        if name == "EXPU":
            two_groups(one)
            most = max(one["y"], default=0) or 1
            merit = pd.DataFrame({"r": [one["y"][i] / most for i in places]})
            return pick(*function(frame, groups, merit, "MinMaxRatio"))
        if name == "EXP" and pick is difference:
            two_groups(one)
        return pick(*function(frame, groups, "MaxMinDiff"))

    return measure


def difference(value, groups):
    return value


def lowest(value, groups):
    return min(groups.values())


def highest(value, groups):
    return max(groups.values())


def tuned_iaa(one, options):
    import pandas as pd
    from FairRankTune.Metrics import IAA

    only(options)
    frames, merits = {}, {}
    for r, scores in enumerate(one["rankings"]):
        places = ordered({"s": scores})
        frames[r] = [f"i{i}" for i in places]
        merits[r] = [one["y"][i] / (sum(one["y"]) or 1) for i in places]
    return IAA(pd.DataFrame(frames), pd.DataFrame(merits))


#: (package, their name, our function, how it is called)
OVERLAP = [
    ("scikit-learn", "dcg_score", "dcg", lambda one, o: sklearn_dcg(one, o, False)),
    ("scikit-learn", "ndcg_score", "ndcg", lambda one, o: sklearn_dcg(one, o, True)),
    ("scikit-learn", "average_precision_score", "average_precision", sklearn_ap),
    ("scikit-learn", "roc_auc_score", "auc", sklearn_auc),
    ("ranx", "dcg, dcg_burges", "dcg", ranx_measure("dcg")),
    ("ranx", "ndcg, ndcg_burges", "ndcg", ranx_measure("ndcg")),
    ("ranx", "precision", "precision", ranx_measure("precision")),
    ("ranx", "recall", "recall", ranx_measure("recall")),
    ("ranx", "map", "average_precision", ranx_measure("map")),
    ("ranx", "mrr", "reciprocal_rank", ranx_measure("mrr")),
    ("ir-measures", "nDCG", "ndcg", ir_measure("nDCG")),
    ("ir-measures", "P", "precision", ir_measure("P")),
    ("ir-measures", "R", "recall", ir_measure("R")),
    ("ir-measures", "AP", "average_precision", ir_measure("AP")),
    ("ir-measures", "RR", "reciprocal_rank", ir_measure("RR")),
    ("ir-measures", "ERR", "err", ir_measure("ERR")),
    ("fairlearn", "demographic_parity_ratio", "adverse_impact_ratio", fairlearn_ratio),
    ("fairlearn", "equal_opportunity_difference and others", "recall_gap", fairlearn_gap),
    ("FairRankTune", "NDKL", "ndkl", tuned("NDKL", None)),
    ("FairRankTune", "EXP, lowest group", "exposure_by_group", tuned("EXP", lowest)),
    ("FairRankTune", "EXP (MaxMinDiff)", "exposure_gap", tuned("EXP", difference)),
    ("FairRankTune", "EXPU (MinMaxRatio)", "disparate_treatment", tuned("EXPU", difference)),
    ("FairRankTune", "ARP, highest group", "rank_parity_error", tuned("ARP", highest)),
    ("FairRankTune", "IAA", "individual_amortised_attention", tuned_iaa),
]
MODULES = {
    "scikit-learn": "sklearn",
    "ranx": "ranx",
    "ir-measures": "ir_measures",
    "fairlearn": "fairlearn",
    "FairRankTune": "FairRankTune",
}


def kind_of(case, rows_of_scores):
    """Return whether a list has ties, and how the vectors treat them."""
    if all(len(set(scores)) == len(scores) for scores in rows_of_scores):
        return "no ties"
    return "by order" if case["options"].get("ties") == "stable" else "averaged"


def lists(case):
    """Return the lists of a case with their expected values."""
    inputs, expected = case["inputs"], case["expected"]
    if "rankings" in inputs:
        if "qid" not in inputs and not isinstance(inputs["y_true"][0], list):
            one = {"y": inputs["y_true"], "rankings": inputs["rankings"]}
            yield one, expected["value"], kind_of(case, inputs["rankings"])
        return
    if "position" in inputs:  # other packages are given the items that are shown
        return
    n = len(inputs["y_score"])
    labels = inputs.get("qid", [0] * n)
    for query, value in zip(dict.fromkeys(labels), expected["per_query"], strict=True):
        rows = [i for i in range(n) if labels[i] == query]
        one = {"s": [inputs["y_score"][i] for i in rows]}
        for name, column in (("y", "y_true"), ("g", "sensitive_features")):
            one[name] = [inputs[column][i] for i in rows] if column in inputs else []
        yield one, value, kind_of(case, [one["s"]])


def compute(function, one, options):
    """Return the number, or NaN, and its text."""
    try:
        got = float(function(one, options))
    except NotOffered:
        raise
    except Exception as error:  # noqa: BLE001  anything may come out of a package
        return math.nan, type(error).__name__
    return got, f"{got:.6g}"


def compare(ours, function):
    """Count agreements by kind of list, and the results where our metric is undefined."""
    counts = {"no ties": [0, 0], "averaged": [0, 0], "by order": [0, 0]}
    given, far, first = {}, 0.0, ""
    vectors = json.loads((VECTORS / f"{ours}.json").read_text(encoding="utf-8"))
    for case in vectors["cases"]:
        if "error" in case["expected"] or case["options"].get("undefined", "skip") != "skip":
            continue
        for one, value, kind in lists(case):
            try:
                got, shown = compute(function, one, case["options"])
            except NotOffered:
                continue
            if value is None:
                word = shown if math.isnan(got) or got in (0.0, 1.0) else "a number"
                given[word] = given.get(word, 0) + 1
                continue
            wanted = float(Fraction(value))
            same = abs(got - wanted) <= SAME * max(1.0, abs(wanted))
            counts[kind][0] += same
            counts[kind][1] += 1
            if kind == "no ties" and not same:
                first = first or f"{case['name']}: {shown} for {wanted:.6g}"
                far = far if math.isnan(got) else max(far, abs(got - wanted))
    undefined = ", ".join(f"{word} ({count})" for word, count in sorted(given.items()))
    return [f"{a} of {b}" if b else "" for a, b in counts.values()], undefined, first, far


def rows():
    for package, theirs, ours, function in OVERLAP:
        try:
            importlib.import_module(MODULES[package])
            version = importlib.metadata.version(package)
        except ImportError:
            yield package, "", theirs, ours, "not installed, not run", "", "", "", "", ""
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            counts, undefined, first, far = compare(ours, function)
        yield package, version, theirs, ours, *counts, undefined, first, f"{far:.1e}" if far else ""


def markdown(found):
    heads = ("package", "version", "theirs", "ours", "no ties", "ties averaged", "ties by order")
    heads = (*heads, "result if undefined", "first difference without ties", "largest")
    lines = [
        "# Other packages and the vectors",
        "",
        "Written by `python benchmarks/conformance_others.py --write`: every list of the",
        "[vectors](../conformance.md) whose options a package has, computed with that package.",
        f"Two numbers agree if they differ by at most {SAME:g}, relatively above 1. Lists are",
        "counted separately by ties: none, averaged over the orders, or broken by",
        "the order of the rows. Packages with another rule for ties agree there only",
        "by chance. Lists on which our metric is undefined are counted separately, with the",
        "result of the package.",
        "",
        "| " + " | ".join(heads) + " |",
        "|" + " --- |" * len(heads),
    ]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in found]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the page of the docs")
    asked = parser.parse_args()
    text = markdown(list(rows()))
    sys.stdout.write(text)
    if asked.write:
        PAGE.write_text(text, encoding="utf-8")
