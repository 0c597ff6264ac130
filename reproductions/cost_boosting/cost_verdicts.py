"""Verdicts of the cost experiments on the published values and claims, and their charts."""

import charts
import numpy as np
import verdicts as v

MODELS = ("RankBoost", "RankBoost+", "CS-RankBoost", "CS-RankBoost+")
SETS = {
    "ternary": ("movielens", "MovieLens, ternary costs"),
    "continuous": (None, "MovieLens, continuous costs"),
    "libras": ("libras", "LIBRAS"),
    "compas": ("compas", "COMPAS"),
}
STAND_IN = "substitute without the tag genome"


def by_seed(rows, column, model):
    """Return a value of a model per seed, the mean over its folds."""
    mine = v.rows_where(rows, model=model)
    seeds = sorted({row["seed"] for row in mine})
    return np.array([v.values(mine, column, seed=seed).mean() for seed in seeds])


def verdicts(found, expected):
    """Return one row per published value, then one per claim; MovieLens is substitute data."""
    table = []
    for part, (name, words) in SETS.items():
        rows = list(figures(found[part]["figures"], expected, name, words)) if part in found else []
        if name == "movielens":
            rows = [v.on_stand_in(row, STAND_IN, seen=False) for row in rows]
        table += rows
    for part, (_, words) in SETS.items():
        rows = list(blind_and_aware(found[part]["figures"], words)) if part in found else []
        table += [v.on_stand_in(row, STAND_IN) for row in rows] if "Movie" in words else rows
    if "ternary" in found:
        rows = cost_classes(found["ternary"]["classes"], expected["by_cost"])
        table += [v.on_stand_in(row, STAND_IN) for row in rows]
    return table + further_claims(found)


#: What two readings of LIBRAS are called; the source does not say which one it means.
READINGS = {"test_r2": "classes as grades", "accuracy": "all 15 classes",
            "one_vs_rest_r2": "each class against all others",
            "one_vs_rest_accuracy": "each class against all others"}  # fmt: skip


def figures(rows, expected, name, words):
    """Return the rows of the published table, one verdict per value."""
    for metric, line in expected.get(name, {}).items():
        column = "test_r2" if metric == "r2" else metric
        columns = [column, f"one_vs_rest_{metric}"] if name == "libras" else [column]
        for model, value in zip(MODELS, line, strict=True):
            ours = {column: by_seed(rows, column, model) for column in columns}
            found = [v.figure(one, value, expected["tolerance"][metric]) for one in ours.values()]
            shown = list(map(v.written, ours.values()))
            note = ""
            if name == "libras":
                shown = [f"{one} ({READINGS[c]})" for c, one in zip(columns, shown, strict=True)]
                note = f"two readings: {' and '.join(found)}"
                if metric == "accuracy":
                    note += "; always predicting 'other class' is right in 0.933"
            elif name == "compas" and metric == "r2":
                accuracy = expected[name]["accuracy"][MODELS.index(model)]
                note = (
                    f"two classes: an R2 of {value:g} is an AUC of {1 - value:.3f}; beside an "
                    f"accuracy of {accuracy:g} not credible: the threshold is unknown"
                )
            yield v.claim(f"{words}, {model}: {metric}", value, "; ".join(shown),
                          v.by_any_reading(found), note)  # fmt: skip


def blind_and_aware(rows, words):
    """Check that the model without costs has the lower plain loss, with costs the weighted one."""
    for side in ("test", "train"):
        for kind in MODELS[:2]:
            aware = f"CS-{kind}"
            for loss, low, high in (("r2", kind, aware), ("cost_r2", aware, kind)):
                lower, higher = (by_seed(rows, f"{side}_{loss}", m) for m in (low, high))
                word = "plain" if loss == "r2" else "cost-weighted"
                yield v.claim(
                    f"{words}, {side}: {low} has a lower {word} R2 than {high}", "lower",
                    f"{v.written(lower)} against {v.written(higher)}", v.ordering(higher - lower),
                )  # fmt: skip


def cost_classes(rows, published):
    """Check that with costs, expensive pairs are ordered correctly more often than cheap ones."""
    places = {"right": "all pairs", "right_top": "pairs that reach into the top tenth",
              "right_below": "other pairs"}  # fmt: skip
    for side in ("test", "train"):
        mine = v.rows_where(rows, side=side)

        def shares(model, column, mine=mine):
            classes = (v.rows_where(mine, **{"class": c}) for c in ("high", "medium", "low"))
            return [by_seed(part, column, model) for part in classes]

        for model, printed in published.items():
            said, ours = " / ".join(f"{share:g}" for share in printed), shares(model, "right")
            near = v.altogether(v.figure(o, p, 0.02) for o, p in zip(ours, printed, strict=True))
            yield v.claim(
                f"MovieLens, {side}: pairs in order, high / medium / low cost, {model}",
                said, " / ".join(map(v.written, ours)), near,
            )  # fmt: skip
        for column, where in places.items():
            high, medium, low = ours = shares("CS-RankBoost+", column)
            yield v.claim(
                f"MovieLens, {side}: high > medium > low under cost, {where}", "yes",
                " / ".join(map(v.written, ours)),
                v.altogether([v.ordering(high - medium), v.ordering(medium - low)]),
            )  # fmt: skip


def further_claims(found):
    """Check the claims of the text beyond the tables."""
    table = []
    for part, word in (("ternary", "help"), ("continuous", "hurt")):
        if part in found:
            rows = found[part]["figures"]
            blind, aware = (by_seed(rows, "test_r2", m) for m in ("RankBoost+", "CS-RankBoost+"))
            verdict = v.ordering(blind - aware if word == "help" else aware - blind)
            table.append(v.claim(
                f"{part} costs {word} RankBoost+ on MovieLens (R2)", word,
                f"{v.written(blind)} without, {v.written(aware)} with", v.NOT_TESTABLE,
                f"{STAND_IN}: there {verdict}",
            ))  # fmt: skip
    if "ternary" in found:
        rows = found["ternary"]["figures"]
        gaps = [by_seed(rows, "test_r2", m) - by_seed(rows, "train_r2", m) for m in MODELS[:2]]
        table.append(v.claim(
            "RankBoost overfits MovieLens more than RankBoost+ (test less train R2)", "more",
            f"{v.written(gaps[0])} against {v.written(gaps[1])}", v.NOT_TESTABLE,
            f"{STAND_IN}: there {v.ordering(gaps[0] - gaps[1])}",
        ))  # fmt: skip
    orders = (
        ("libras", "RankBoost+ is more accurate than RankBoost", "accuracy", 1, 0),
        ("compas", "costs lower the R2 of RankBoost", "test_r2", 0, 2),
        ("compas", "RankBoost has a lower R2 than RankBoost+", "test_r2", 1, 0),
        ("compas", "costs make RankBoost more accurate", "accuracy", 2, 0),
    )
    if "libras" in found:
        rows, cases, shown = found["libras"]["figures"], [], []
        for column in ("test_r2", "one_vs_rest_r2"):
            blind, aware = (by_seed(rows, column, MODELS[m]) for m in (0, 2))
            cases.append(v.ordering(blind - aware))
            shown.append(f"{v.written(blind)} against {v.written(aware)} ({READINGS[column]})")
        table.append(v.claim("LIBRAS: costs lower the R2 of RankBoost", "yes", "; ".join(shown),
                             v.by_any_reading(cases),
                             f"two readings: {' and '.join(cases)}"))  # fmt: skip
    for part, text, column, high, low in orders:
        if part in found:
            rows = found[part]["figures"]
            high, low = (by_seed(rows, column, MODELS[m]) for m in (high, low))
            table.append(v.claim(f"{SETS[part][1]}: {text}", "yes",
                                 f"{v.written(high)} against {v.written(low)}",
                                 v.ordering(high - low)))  # fmt: skip
    return table


def pictures(found):
    """Draw the rank loss over rounds: four charts, test and train."""
    pictures = {}
    for part, tables in found.items():
        rows = [
            {**row, "R2": row["r2"], "cost-weighted R2": row["cost_r2"]} for row in tables["curves"]
        ]
        for y, ending in (("R2", ""), ("cost-weighted R2", "_cost")):
            pictures[f"loss_{part}{ending}"] = charts.lines(
                rows, "round", y, "model", f"{SETS[part][1]}: {y} by round", facet="side"
            )
    return pictures
