"""The models of the fair pairwise study and the choice of their grid points."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from equirank import query_train_test_split
from equirank.metrics import auc, group_pairwise_accuracy, ndcg, rnd
from equirank.preprocess import representation_leakage
from equirank.rankers import DELTR, ConstrainedPairwise, DebiasClassifier, DirectRanker

FAIR = ("adversarial", "flipped", "both")
NOISY = ("plain", *FAIR, "deltr", "debias_classifier")
MODELS = tuple(name + end for name in NOISY for end in ("", "+noise"))
GAMMAS = (0.1, 1.0, 2.0, 5.0, 10.0, 100.0)
WIDTHS = (10, 20, 50)
EPS = (0.01, 0.05, 0.1)
#: Steps after which only the best third continues. DELTR uses the whole list in each step.
RUNGS, RUNGS_OF_LISTS = (500, 1000, 2000), (100, 200, 400)
BATCH = 128


@dataclass(frozen=True)
class Point:
    """One point of the grid."""

    gamma: float
    width: int


@dataclass(frozen=True)
class Chosen:
    """The chosen model and its score on the validation part."""

    model: Any
    point: Point
    steps: int
    validation: float


def grid(name, seed, quick):
    """Return the initial points: every gamma, widths assigned by seed, the same for all models.

    Models without a gamma try every width.
    """
    widths = (10,) if quick else WIDTHS
    if name.startswith("plain"):
        return [Point(0.0, width) for width in widths]
    values = EPS if name == "constrained_pairwise" else GAMMAS
    values = values[1:4:2] if quick else values
    dealt = np.random.default_rng([11, seed]).permutation(np.resize(widths, len(values)))
    return [Point(value, int(width)) for value, width in zip(values, dealt, strict=True)]


def made(name, point, train, n_epochs, target, seed, checkpoint):
    """Return a model that trains for a number of epochs, continuing from the checkpoint."""
    common = {"n_epochs": n_epochs, "random_state": seed, "checkpoint": checkpoint}
    common["layers"] = (point.width, point.width)
    if name == "constrained_pairwise":
        return ConstrainedPairwise(point.gamma, **common)
    name, _, noise = name.partition("+")
    common["noise"] = bool(noise)
    if name == "deltr":  # squared differences of exposure decrease with n^2
        return DELTR(point.gamma * train.n_rows**2, **common)
    common["batch_size"] = BATCH
    if name == "plain":
        return DirectRanker(**common)
    if name != "flipped":  # whose adversary is linear
        common["adversary_layers"] = (point.width, point.width)
    if name == "debias_classifier":
        return DebiasClassifier(point.gamma, target, **common)
    return DirectRanker(name, point.gamma, **common)


def chosen(name, train, valid, protected, target, seed, quick):
    """Train all points by successive halving and return the one with the best equal-weight score.

    Step counts are checkpoints of one run: a remaining point continues its run. The best of
    all points at all step counts is returned.
    """
    rungs = RUNGS_OF_LISTS if name.startswith("deltr") else RUNGS
    rungs = tuple(steps // 50 for steps in rungs[:2]) if quick else rungs
    per_epoch = 1 if name.startswith("deltr") else max(1, train.n_rows // BATCH)
    alive, best = grid(name, seed, quick), None
    with TemporaryDirectory() as folder:
        runs = {point: Path(folder) / str(number) for number, point in enumerate(alive)}
        for steps in rungs:
            found = []
            for point in alive:
                n_epochs = max(1, round(steps / per_epoch))
                model = made(name, point, train, n_epochs, target, seed, runs[point])
                model.fit(train)
                figures = measured(model.predict(valid.X), valid, protected)
                value = (figures["ndcg"] + 1.0 - figures["rnd"]) / 2.0
                found.append(Chosen(model, point, steps, value))
            found.sort(key=lambda one: -one.validation)
            if best is None or found[0].validation > best.validation:
                best = found[0]
            alive = [one.point for one in found[: max(1, len(found) // 3)]]
    return best


def measured(score, data, protected):
    """Return NDCG@500, rND (Z: the protected all last), the gap of pairwise accuracies, and AUC."""
    groups = np.array(data.attribute().categories, dtype=object)[data.attribute().codes]
    figures = {
        "ndcg": ndcg(data.y, score, k=500),
        "rnd": rnd(score, groups, protected=protected, normalizer="last"),
        "gpa": group_pairwise_accuracy(data.y, score, groups),
    }
    return figures | ({"auc": auc(data.y, score)} if data.y.max() == 1.0 else {})


def represented(model, train, rest, test, protected, seed):
    """Return the ADRG of the representation, and 1 - rND and NDCG of a linear model trained on it.

    The representation of rankers without ``transform`` is their score.
    """
    Z, Z_rest, Z_test = (_representation(model, part.X) for part in (train, rest, test))
    groups = rest.attribute().codes
    leak = representation_leakage(Z_rest, groups, test_size=0.5, random_state=seed)
    linear = make_pipeline(StandardScaler(), Ridge()).fit(Z, train.y)
    figures = measured(linear.predict(Z_test), test, protected)
    return {"on_adrg": leak, "on_one_minus_rnd": 1.0 - figures["rnd"], "on_ndcg": figures["ndcg"]}


def _representation(model, X):
    return model.transform(X) if hasattr(model, "transform") else model.predict(X)[:, None]


def one_seed(load, seed, names, quick):
    """Split 60/20/20, choose every model on the validation part, evaluate it on the test part.

    Returns the rows of the models, and the metrics of a random order of the test part.
    """
    data, protected, target = load(seed, quick)
    cut = {"by": "item", "random_state": seed}
    train, rest = query_train_test_split(data, test_size=0.4, **cut)
    valid, test = query_train_test_split(rest, test_size=0.5, **cut)
    rows = []
    for name in names:
        best = chosen(name, train, valid, protected, target, seed, quick)
        row = {"seed": seed, "model": name, "gamma": best.point.gamma, "width": best.point.width,
               "steps": best.steps, "validation": best.validation}  # fmt: skip
        row |= measured(best.model.predict(test.X), test, protected)
        rows.append(row | represented(best.model, train, rest, test, protected, seed))
    return rows, {"seed": seed} | chance(test, protected, seed)


def chance(test, protected, seed):
    """Return the mean metrics of random orders."""
    rng = np.random.default_rng([13, seed])
    drawn = [measured(rng.random(test.n_rows), test, protected) for _ in range(20)]
    return {name: float(np.mean([one[name] for one in drawn])) for name in drawn[0]}
