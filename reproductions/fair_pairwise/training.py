"""The search of the fair pairwise study: splits, the choice of a point, and its test values."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from fair_pairwise.grid import Point, made, points
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from equirank import query_train_test_split
from equirank.metrics import auc, group_pairwise_accuracy, ndcg, rnd
from equirank.preprocess import representation_leakage
from equirank.search.stacked_fits import fit_all

#: Noise of the line, in standard deviations of the scores, and draws of each size.
NOISE, N_DRAWS = (0.25, 0.5, 1.0, 2.0, 4.0), 5


@dataclass(frozen=True)
class Split:
    """One split of the 80% that are not for test: training and validation rows."""

    train: Any
    valid: Any


@dataclass
class Candidate:
    """A point at a number of steps: its model and its validation score, per split."""

    point: Point
    steps: int
    models: list[Any]
    scores: list[float]

    @property
    def mean(self):
        return float(np.mean(self.scores))


def parts_of(data, seed, effort):
    """Return the test part, a fifth, and repeated splits of the rest: 60% train, 20% validation."""
    rest, test = query_train_test_split(data, test_size=0.2, by="item", random_state=seed)
    splits = [
        Split(
            *query_train_test_split(rest, test_size=0.25, by="item", random_state=seed + 1000 * at)
        )
        for at in range(effort.splits)
    ]
    return test, splits


def trained(name, chosen, counts, splits, protected, target, seed, effort):
    """Return the candidates of some points at some step counts, trained on every split.

    Points of one shape train as one stack, and step counts are checkpoints of one run. A point
    whose loss does not stay finite is left out.
    """
    most = max(counts)
    found = [Candidate(point, steps, [], []) for point in chosen for steps in counts]
    failed = set()
    for split in splits:
        models = [made(name, c.point, split.train, c.steps, most, target, seed, effort)
                  for c in found]  # fmt: skip
        if hasattr(models[0], "get_params"):
            errors = fit_all(models, split.train)
        else:
            errors = [None] * len([model.fit(split.train) for model in models])
        for at, (candidate, model, error) in enumerate(zip(found, models, errors, strict=True)):
            if error is not None:
                failed.add(at)
                continue
            figures = measured(model.predict(split.valid.X), split.valid, protected)
            candidate.models.append(model)
            candidate.scores.append((figures["ndcg"] + 1.0 - figures["rnd"]) / 2.0)
    return [candidate for at, candidate in enumerate(found) if at not in failed]


def searched(name, splits, protected, target, seed, effort):
    """Return all candidates, best first by the mean validation score over the splits."""
    grid = points(name, effort)
    if name == "parity_ridge":
        found = trained(name, grid, (1,), splits, protected, target, seed, effort)
        return sorted(found, key=lambda one: -one.mean)
    rungs, long = effort.steps(name, effort.rungs), effort.steps(name, effort.long)
    found = trained(name, grid, rungs, splits, protected, target, seed, effort)
    found.sort(key=lambda one: -one.mean)
    alive = list(dict.fromkeys(one.point for one in found))[: effort.survivors]
    found += trained(name, alive, long, splits, protected, target, seed, effort)
    return sorted(found, key=lambda one: -one.mean)


def measured(score, data, protected):
    """Return NDCG@500, rND (Z: the protected all last), the gap of pairwise accuracies, and AUC."""
    groups = np.array(data.attribute().categories, dtype=object)[data.attribute().codes]
    figures = {
        "ndcg": ndcg(data.y, score, k=500),
        "rnd": rnd(score, groups, protected=protected, normalizer="last"),
        "gpa": group_pairwise_accuracy(data.y, score, groups),
    }
    return figures | ({"auc": auc(data.y, score)} if data.y.max() == 1.0 else {})


def represented(model, split, test, protected, seed):
    """Return ADRG by both probes, and 1 - rND and NDCG of a ridge on the representation.

    Groups are predicted from validation and test rows. The representation of a model without
    ``transform`` is its score.
    """
    Z, Z_valid, Z_test = (_representation(model, p.X) for p in (split.train, split.valid, test))
    unseen = np.concatenate([Z_valid, Z_test])
    groups = np.concatenate([split.valid.attribute().codes, test.attribute().codes])
    leak = {
        f"on_adrg{end}": representation_leakage(
            unseen, groups, model=probe, test_size=0.5, random_state=seed
        )
        for end, probe in (("", "linear"), ("_forest", "forest"))
    }
    linear = make_pipeline(StandardScaler(), Ridge()).fit(Z, split.train.y)
    figures = measured(linear.predict(Z_test), test, protected)
    return leak | {"on_one_minus_rnd": 1.0 - figures["rnd"], "on_ndcg": figures["ndcg"]}


def _representation(model, X):
    return model.transform(X) if hasattr(model, "transform") else model.predict(X)[:, None]


def averaged(rows):
    """Return the mean of each column."""
    return {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}


def one_cell(load, seed, name, quick, effort):
    """Return the row of one model on one seed, of the plain model with its noise line.

    Test values are means over the models of the chosen point, one per split. ``best_on_test`` is
    the smallest distance of any candidate on the test part: what better choosing could gain.
    """
    data, protected, target = load(seed, quick)
    test, splits = parts_of(data, seed, effort)
    found = searched(name, splits, protected, target, seed, effort)
    if not found:
        raise RuntimeError(f"no point of {name} stayed finite with seed {seed}")
    best = found[0]
    on_test = [
        averaged([measured(model.predict(test.X), test, protected) for model in one.models])
        for one in found
    ]
    far = [abs(1.0 - figures["ndcg"]) + abs(figures["rnd"]) for figures in on_test]
    row = {"seed": seed, "model": name, **asdict(best.point), "steps": best.steps}
    row |= {"validation": best.mean, "best_on_test": min(far), **on_test[0]}
    row |= averaged([represented(model, split, test, protected, seed)
                     for model, split in zip(best.models, splits, strict=True)])  # fmt: skip
    lines = noise_line(best.models, test, protected, seed) if name == "plain" else []
    return {"row": row, "lines": lines}


def noise_line(models, test, protected, seed):
    """Return the mean metrics of scores with more and more noise."""
    rng, rows = np.random.default_rng([17, seed]), []
    scores = [np.asarray(model.predict(test.X), dtype=np.float64) for model in models]
    for size in NOISE:
        drawn = []
        for score in scores:
            spread = size * score.std()
            noisy = [score + spread * rng.normal(size=len(score)) for _ in range(N_DRAWS)]
            drawn += [measured(one, test, protected) for one in noisy]
        rows.append({"seed": seed, "amount": size, **averaged(drawn)})
    return rows


def chance(load, seed, quick, effort):
    """Return the mean metrics of random orders of the test part."""
    data, protected, _ = load(seed, quick)
    test, _ = parts_of(data, seed, effort)
    rng = np.random.default_rng([13, seed])
    drawn = [measured(rng.random(test.n_rows), test, protected) for _ in range(20)]
    return {"seed": seed, **averaged(drawn)}
