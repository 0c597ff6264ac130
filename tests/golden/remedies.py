"""The remedies of the golden corpus: each function without underscore is a case."""

import json

import numpy as np

from equirank import as_ranking_data, remedy
from equirank.datasets import load_hiring
from equirank.search.remedies import Remedies

from .data import as_data, people, positions

#: What a case returns.
Result = Remedies
FEW = {"n_boot": 200}
NAMED = {"query": "list", "score": "points", "relevance": "grade"}
RANKED = {"query": "list", "score": "points"}
SELECTED = "sex=f selected at 5 >= 0.9"


def stored(result, name):
    """Return what is stored of remedies: their JSON, texts, the best, its order and all paths."""
    found = json.loads(result.to_json())
    found["settings"] = found.pop("provenance")["settings"]
    found["tables"] = {"remedies": result.table}
    found["text"] = repr(result).splitlines()
    found["picture"] = result.picture()
    found["orders"] = {}
    for each in result.remedies:
        found["orders"][each.name] = result.apply(each.name).position
    if result.remedies:
        found["best"] = result.best().name
        found["tables"]["moves"] = result.moves()
    found["paths"] = {
        name: {"strengths": path.strengths, "values": path.values}
        for name, path in result.paths.items()
    }
    return found


def hiring():
    return remedy(load_hiring(), "sex=female selected at 10 >= 0.8", **FEW)


def hiring_finding():
    """Find the target, too: that of the largest finding."""
    return remedy(load_hiring(), k=10, **FEW)


def few_people():
    scores, sex = [8, 7, 6, 5, 4, 3, 2, 1], list("mmmmffff")
    return remedy(score=scores, sensitive={"sex": sex}, target="sex=f selected at 4 >= 0.8")


def selected():
    return remedy(people(91), SELECTED, **NAMED, sensitive="sex", **FEW)


def selected_by_score():
    return remedy(people(91), SELECTED, **RANKED, sensitive="sex", **FEW)


def exposure():
    return remedy(people(92), "sex=f exposure >= 0.97", **NAMED, sensitive="sex", **FEW)


def above():
    return remedy(people(93), "sex=f above >= 0.47", **NAMED, sensitive="sex", **FEW)


def positions_of_groups():
    return remedy(people(93), "sex=f positions <= 0.5", **NAMED, sensitive="sex", **FEW)


def gap():
    target = "ExposureGap(by='sex') <= 0.005"
    return remedy(people(94, [12] * 20, bias=3.0), target, **NAMED, sensitive="sex", **FEW)


def several_groups():
    return remedy(people(95), "any age selected at 5 >= 0.9", **NAMED, sensitive="age", **FEW)


def versus_a_group():
    target = "race=a exposure vs b >= 0.99"
    return remedy(people(96), target, **RANKED, sensitive="race", **FEW)


def crossed():
    target = "sex x age=f & old selected at 5 >= 0.8"
    return remedy(people(97), target, **NAMED, sensitive=["sex", "age"], **FEW)


def one_list():
    target = "sex=f selected at 30 >= 0.95"
    return remedy(people(98, [120]), target, **NAMED, sensitive="sex", **FEW)


def ties():
    return remedy(people(99, digits=-1), SELECTED, **NAMED, sensitive="sex", **FEW)


def unknown_labels():
    return remedy(people(100, unknown=0.15), SELECTED, **NAMED, sensitive="sex", **FEW)


def positions_only():
    made = positions(people(101))
    given = {"query": "list", "position": "place", "sensitive": "sex"}
    return remedy(made, SELECTED, **given, **FEW)


def quota():
    made = people(102, [8, 12, 30, 22] * 6)
    target = "sex=f selected >= 0.9"
    return remedy(made, target, **RANKED, sensitive="sex", quota="openings", **FEW)


def cutoff():
    target = "sex=f selected >= 0.9"
    return remedy(people(103), target, **RANKED, sensitive="sex", cutoff="points>=55", **FEW)


def blind_only():
    given = {"blind_only": True, "score_error": 2.0, "random_state": 7}
    return remedy(people(104), SELECTED, **NAMED, sensitive="sex", **given, **FEW)


def promises():
    more = people(106, [12] * 150, start=1000)
    return remedy(
        people(105, [12] * 60), "sex=f above >= 0.44", **RANKED, sensitive="sex",
        calibration=more, delta=0.1, **FEW,
    )  # fmt: skip


def unreachable():
    given = {"sensitive": "sex", "score_error": 0.1}
    return remedy(people(107, [12] * 10), "raw: RND(step=1) <= 0", **RANKED, **given, **FEW)


def features_of_a_model():
    from sklearn.linear_model import LinearRegression

    data = as_data(people(108))
    X = np.column_stack([np.asarray(data.X)[:, 1], data.score])
    given = as_ranking_data(
        X, data.y, qid=data.query_of_rows(),
        sensitive_features={"sex": data.attribute("sex").labels()},
    )  # fmt: skip
    model = LinearRegression().fit(X, X @ [1.0, 0.5])
    return remedy(given, SELECTED, score=model, **FEW)


def recurring():
    made = people(109, [15] * 30, recurring=30000)
    shown = {"sex": {"f": "women", "m": "men"}}
    return remedy(made, SELECTED, **NAMED, sensitive="sex", id="person", shown=shown, **FEW)
