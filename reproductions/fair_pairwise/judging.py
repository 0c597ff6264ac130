"""Verdicts of the fair pairwise study on the published values and claims, and its charts."""

import numpy as np
import verdicts as v

SETS = {
    "compas": "COMPAS",
    "compas_high": "COMPAS, high risk first",
    "law_sex": "Law, sex",
    "law_race": "Law, race",
    "adult": "Adult",
    "wiki": "Wiki",
}
STAND_IN = "1,492 of 127,820 comments"
FAIR = ("adversarial", "flipped", "both")
#: The rivals of the claim, each with and without noise.
RIVALS = {"DELTR": ("deltr",), "debias classifier": ("debias_classifier",), "plain": ("plain",)}
COLUMNS = ("adrg", "one_minus_rnd", "ndcg")
#: Parts whose published values are those of another part.
SAME_TABLE = {"compas_high": "compas"}


def published_of(expected, part):
    """Return the published rows of a part."""
    return expected[SAME_TABLE.get(part, part)]


def verdicts(found, expected):
    """Return the verdicts on the published table, then on the claims."""
    table = []
    for claims in (figures, tradeoffs, lines, hidden_groups, further_claims):
        for part, words in SETS.items():
            rows = []
            if part in found:
                rows = list(claims(found[part], part, words, expected))
            table += [v.on_stand_in(row, STAND_IN) for row in rows] if part == "wiki" else rows
    return table


def figures(tables, part, words, expected):
    """Return one row per model: three values of a model trained on its representation.

    The published values are of other lists (see `remarks`), so none of them is testable here.
    """
    rows = tables["figures"]
    for model, published in published_of(expected, part).items():
        ours = [v.values(rows, f"on_{name}", model=model) for name in COLUMNS]
        near = v.altogether(
            v.figure(o, p, expected["tolerance"]) for o, p in zip(ours, published, strict=True)
        )
        yield v.claim(
            f"{words}, {model}: ADRG / 1 - rND / NDCG on the representation",
            " / ".join(f"{p:.2f}" for p in published),
            " / ".join(v.written(o, 2) for o in ours),
            v.NOT_TESTABLE,
            "other lists: "
            + ("ours are near" if near == v.CONFIRMED else "ours differ")
            + f"; ADRG by a forest {v.written(v.values(rows, 'on_adrg_forest', model=model), 2)}",
        )


def remarks(found, expected):
    """Return what is odd in the published table itself, in sentences."""
    said = []
    for part, words in SETS.items():
        if part in SAME_TABLE:
            continue
        table = expected[part]
        models = len(table)
        if max(table.values(), key=lambda row: row[1]) is table["plain"]:
            said.append(
                f"{words}: the plain ranker, the baseline without fairness, has the best 1 - rND "
                f"({table['plain'][1]:.2f}) of all {models} models."
            )
        least = min(row[0] for row in table.values())
        if table["plain"][0] <= least + 0.005:
            said.append(
                f"{words}: the plain ranker has an ADRG of {table['plain'][0]:.2f}, "
                f"{least:.2f} being the smallest of all: nothing was left to hide."
            )
        if part not in found:
            continue
        chance = v.values(found[part]["chance"], "ndcg")
        below = [model for model, row in table.items() if row[2] < chance.mean()]
        if below:
            lowest = min(table[model][2] for model in below)
            said.append(
                f"{words}: the published NDCG of {len(below)} of {models} models, at least "
                f"{lowest:.2f}, is below that of a random order of our list "
                f"({v.written(chance, 2)}): these are other lists."
            )
    return said


def distance(row):
    """Return the trade-off distance on the test part."""
    return abs(1.0 - row["ndcg"]) + abs(row["rnd"])


def of_best(rows, names, value=distance):
    """Return a value per seed of the model that is best on the validation part, and its name."""
    mine = [row for row in rows if row["model"].partition("+")[0] in names]
    best = {}
    for row in mine:
        if row["seed"] not in best or row["validation"] > best[row["seed"]]["validation"]:
            best[row["seed"]] = row
    taken = [best[seed] for seed in sorted(best)]
    return np.array([value(row) for row in taken]), [row["model"] for row in taken]


def nearest(rows, names):
    """Return the model with the smallest mean distance, and its distances."""
    models = [
        m for m in dict.fromkeys(row["model"] for row in rows) if m.partition("+")[0] in names
    ]
    by_model = {m: np.array(list(map(distance, v.rows_where(rows, model=m)))) for m in models}
    best = min(by_model, key=lambda model: by_model[model].mean())
    return best, by_model[best]


def tradeoffs(tables, part, words, expected):
    """Check that the family, selected on validation, has a smaller distance than each rival."""
    rows = tables["figures"]
    ours, taken = of_best(rows, FAIR)
    names, cases = [f"family {v.written(ours)}"], []
    for name, models in RIVALS.items():
        theirs, _ = of_best(rows, models)
        names.append(f"{name} {v.written(theirs)}")
        cases.append(v.ordering(theirs - ours))
    best, values = nearest(rows, FAIR)
    rival, beaten = nearest(rows, sum(RIVALS.values(), ()))
    note = (
        f"taken: {', '.join(sorted(set(taken)))}; smallest mean of the family: {best} "
        f"{v.written(values)}, of the rivals: {rival} {v.written(beaten)}; "
        f"a random order: {v.written(list(map(distance, tables['chance'])))}"
    )
    yield v.claim(f"{words}: a member of the family has a smaller 1 - NDCG + rND than each rival",
                  "yes", "; ".join(names), v.altogether(cases),
                  f"{v.counted(cases)}; {note}")  # fmt: skip


def line_points(tables, x="rnd", y="ndcg"):
    """Return the points of the noise line and of the mixture line: (line, x, y) per seed.

    Both begin at the plain ranker and end at a random order; the mixture line is straight, since a
    random order is shown with some probability.
    """
    plain = {row["seed"]: row for row in v.rows_where(tables["figures"], model="plain")}
    chance = {row["seed"]: row for row in tables["chance"]}
    found = {"noise": {}, "mixture": {}}
    for seed, start in plain.items():
        ends = [(row[x], row[y]) for row in (start, chance[seed])]
        drawn = [(row[x], row[y]) for row in v.rows_where(tables["lines"], seed=seed)]
        found["noise"][seed] = [ends[0], *drawn, ends[1]]
        shares = np.linspace(0.0, 1.0, 5)[:, None]
        mixed = (1.0 - shares) * np.array(ends[0]) + shares * np.array(ends[1])
        found["mixture"][seed] = [tuple(point) for point in mixed.tolist()]
    return found


def lines(tables, part, words, expected):
    """Compare the family, and the parity-penalised ridge, with what needs no training at all.

    A line has the smallest mean distance of its points, chosen on the test part in its favour.
    """
    rows = tables["figures"]
    ours, _ = of_best(rows, FAIR)
    names, cases = [f"family {v.written(ours)}"], []
    for name, seeds in line_points(tables).items():
        steps = np.array([
            [abs(1.0 - y) + abs(x) for x, y in seeds[seed]] for seed in sorted(seeds)
        ])  # fmt: skip
        best = steps[:, int(np.argmin(steps.mean(axis=0)))]
        names.append(f"{name} line {v.written(best)}")
        cases.append(v.ordering(best - ours))
    ridge = np.array(list(map(distance, v.rows_where(rows, model="parity_ridge"))))
    names.append(f"parity-penalised ridge {v.written(ridge)}")
    cases.append(v.ordering(ridge - ours))
    slack = [distance(row) - row["best_on_test"] for row in rows]
    yield v.claim(
        f"{words}: a member of the family has a smaller 1 - NDCG + rND than noise on plain scores, "
        "random mixtures and a parity-penalised ridge",
        "not compared", "; ".join(names), v.altogether(cases),
        f"{v.counted(cases)}; choosing on validation costs {v.written(slack)} (mean over models)",
    )  # fmt: skip


def hidden_groups(tables, part, words, expected):
    """Check that the fair members published with an ADRG under the limit have one."""
    limit, rows, cases, seen = expected["hidden"], tables["figures"], [], []
    models = [model for model in published_of(expected, part) if model.partition("+")[0] in FAIR]
    said = [model for model in models if published_of(expected, part)[model][0] < limit]
    for model in models:
        mean, half = v.interval(v.values(rows, "on_adrg", model=model))
        seen += [model] if mean < limit else []
        clear = not np.isnan(half) and abs(mean - limit) > half
        verdict = v.CONFIRMED if mean < limit else v.CONTRADICTED
        cases += [verdict if clear else v.NOT_CONFIRMED] if model in said else []
    yield v.claim(f"{words}: fair members with ADRG under {limit}", _listed(said, models),
                  _listed(seen, models), v.altogether(cases), v.counted(cases))  # fmt: skip


def _listed(names, all_names):
    return "all" if len(names) == len(all_names) else ", ".join(names) or "none"


def further_claims(tables, part, words, expected):
    """Check the claims about the adversary, noise, and the constrained model on Wiki."""
    rows = tables["figures"]
    ours, _ = of_best(rows, ("adversarial", "both"))
    others, _ = of_best(rows, ("flipped", *sum(RIVALS.values(), ())))
    yield v.claim(f"{words}: models with the adversary are best (1 - NDCG + rND)", "yes",
                  f"{v.written(ours)}, best of the others {v.written(others)}",
                  v.ordering(others - ours))  # fmt: skip
    if part in ("compas", "law_race"):
        plain, noise = (v.values(rows, "rnd", model=m) for m in ("deltr", "deltr+noise"))
        yield v.claim(f"{words}: noise makes DELTR fairer (rND)", "yes",
                      f"{v.written(noise)} with, {v.written(plain)} without",
                      v.ordering(plain - noise))  # fmt: skip
    if part == "wiki":

        def far(row):
            return 1.0 - row["auc"] + row["gpa"]

        seeds = {row["seed"] for row in v.rows_where(rows, model="constrained_pairwise")}
        rows = [row for row in rows if row["seed"] in seeds]
        ours, _ = of_best(rows, ("constrained_pairwise",), far)
        others, _ = of_best(rows, (*FAIR, *sum(RIVALS.values(), ())), far)
        yield v.claim(f"{words}: the constrained model is best in AUC against the GPA gap", "yes",
                      f"1 - AUC + gap {v.written(ours)}, best of the others {v.written(others)}",
                      v.ordering(others - ours), f"{len(seeds)} seeds")  # fmt: skip


def pictures(found):
    """Draw means over seeds, with lines of equal distance and the line of random mixtures."""
    drawn = {}
    for part, tables in found.items():
        pairs = {"rnd": ("NDCG@500", "ndcg", "1 - rND", "rnd"),
                 "gpa": ("NDCG@500", "ndcg", "1 - GPA gap", "gpa")}  # fmt: skip
        if part == "wiki":
            pairs["auc"] = ("AUC", "auc", "1 - GPA gap", "gpa")
        for name, (y, good, x, bad) in pairs.items():
            drawn[f"{name}_{part}"] = picture(tables, x, y, good, bad, SETS[part])
    return drawn


def picture(tables, x, y, good, bad, words):
    """Draw the trade-offs of the models; dashed: the best rival, dotted: the best model."""
    from equirank.plots import tradeoff

    names = ("name", x, "x_low", "x_high", y, "low", "high", "rival")
    points = {name: [] for name in names}
    for model in dict.fromkeys(row["model"] for row in tables["figures"]):
        mine = v.rows_where(tables["figures"], model=model)
        (unfair, wide), (value, half) = (v.interval(v.values(mine, name)) for name in (bad, good))
        place, rival = (1.0 - unfair, value), model.partition("+")[0] not in FAIR
        spans = (place[0] - wide, place[0] + wide, value, value - half, value + half)
        row = (model, place[0], *spans, rival)
        for column, entry in zip(points, row, strict=True):
            points[column].append(entry)
        if model == "plain":
            plain = place
    chance = [v.values(tables["chance"], name).mean() for name in (bad, good)]
    ends = (*plain, 1.0 - chance[0], chance[1])
    steps = np.mean(list(line_points(tables, bad, good)["noise"].values()), axis=0)
    return tradeoff(
        points, x, y, mixture=ends, noise=[(1.0 - a, b) for a, b in steps.tolist()],
        title=f"{words}: {y} against {x}",
    )  # fmt: skip
