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
from equirank.rankers.neural.network import Net
from equirank.search.stacked_fits import fit_all

#: Noise of the line, in standard deviations of the scores, and draws of each size.
NOISE, N_DRAWS = (0.25, 0.5, 1.0, 2.0, 4.0), 5
#: Models that a GPU scores at once, and rows of the forest that predicts groups.
MANY, FOREST_ROWS = 256, 6_000


@dataclass(frozen=True)
class Split:
    """One split of the 80% that are not for test: training and validation rows."""

    train: Any
    valid: Any


@dataclass(frozen=True)
class Case:
    """What a seed gives: the test part, repeated splits of the rest, and whom they are about."""

    seed: int
    test: Any
    splits: list[Split]
    protected: Any
    target: str


@dataclass
class Candidate:
    """A point at a number of steps in a case: its model and its validation score, per split."""

    case: Case
    point: Point
    steps: int
    models: list[Any]
    scores: list[float]

    @property
    def mean(self):
        return float(np.mean(self.scores))


def case_of(load, seed, quick, effort):
    """Return the test part, a fifth, and repeated splits of the rest: 60% train, 20% validation."""
    data, protected, target = load(seed, quick)
    rest, test = query_train_test_split(data, test_size=0.2, by="item", random_state=seed)
    splits = [
        Split(
            *query_train_test_split(rest, test_size=0.25, by="item", random_state=seed + 1000 * at)
        )
        for at in range(effort.splits)
    ]
    return Case(seed, test, splits, protected, target)


def trained(name, chosen, counts, effort):
    """Return the candidates of some (case, point) at some step counts, trained on every split.

    Points of one shape train as one stack, over all splits and seeds, and step counts are
    checkpoints of one run. A point whose loss does not stay finite on each split is left out.
    """
    most = max(counts)
    found = [Candidate(case, point, n, [], []) for case, point in chosen for n in counts]
    at = [(one, split) for one in found for split in one.case.splits]
    models = [
        made(name, one.point, split.train, one.steps, most, one.case.target, one.case.seed, effort)
        for one, split in at
    ]
    if hasattr(models[0], "get_params"):
        errors = fit_all(models, [split.train for _, split in at])
    else:
        errors = [None] * len(
            [m.fit(split.train) for m, (_, split) in zip(models, at, strict=True)]
        )
    whole = [n for n, error in enumerate(errors) if error is None]
    parts = [at[n][1].valid for n in whole]
    good, unfair = ranked([models[n] for n in whole], parts, chosen[0][0].protected, effort)
    for n, score in zip(whole, (good + 1.0 - unfair) / 2.0, strict=True):
        at[n][0].models.append(models[n])
        at[n][0].scores.append(float(score))
    return [one for one in found if len(one.models) == len(one.case.splits)]


def searched(name, cases, effort):
    """Return all candidates of each case, best first by the mean validation score over splits."""
    grid = [(case, point) for case in cases for point in points(name, effort)]
    if name == "parity_ridge":
        return by_case(trained(name, grid, (1,), effort), cases)
    rungs, long = effort.steps(name, effort.rungs), effort.steps(name, effort.long)
    if name == "constrained_pairwise":  # which chooses among its epochs itself
        return by_case(trained(name, grid, rungs[-1:], effort), cases)
    first = trained(name, grid, rungs, effort)
    alive = []
    for case, found in zip(cases, by_case(first, cases), strict=True):
        best = list(dict.fromkeys(one.point for one in found))[: effort.survivors]
        alive += [(case, point) for point in best]
    return by_case(first + trained(name, alive, long, effort), cases)


def by_case(found, cases):
    """Return the candidates of each case, best first."""
    return [sorted((one for one in found if one.case is case), key=lambda one: -one.mean)
            for case in cases]  # fmt: skip


def predicted(models, parts, effort):
    """Return the scores of each model on its part, on a GPU many models at once."""
    if effort.device == "cpu" or not all(hasattr(model, "model_") for model in models):
        return [model.predict(part.X) for model, part in zip(models, parts, strict=True)]
    alike = {}
    for at, (model, part) in enumerate(zip(models, parts, strict=True)):
        alike.setdefault((model.model_, part.X.shape), []).append(at)
    scores = [None] * len(models)
    for own in alike.values():
        for first in range(0, len(own), MANY):
            some = own[first : first + MANY]
            found = stacked_scores(
                [models[at] for at in some], [parts[at] for at in some], effort.device
            )
            for at, score in zip(some, found, strict=True):
                scores[at] = score
    return scores


def stacked_scores(models, parts, device):
    """Return the scores (model x row) of models of one shape, in double precision."""
    import torch

    def wide(values):
        return torch.as_tensor(np.asarray(values, dtype=np.float64), device=device)

    used = [n for n in models[0].weights_ if n.startswith(("input.", "features.", "output."))]
    weights = {name: wide(np.stack([model.weights_[name] for model in models])) for name in used}
    which = {id(part): part for part in parts}
    rows = wide(np.stack([part.X for part in which.values()]))
    rows = rows[torch.tensor([list(which).index(id(part)) for part in parts], device=device)]

    def score(own, x):
        return Net(models[0].model_, own).score((x - own["input.mean"]) / own["input.scale"])

    return torch.func.vmap(score)(weights, rows).cpu().numpy()


def ranked(models, parts, protected, effort):
    """Return NDCG@500 and rND (Z: the protected all last) of each model on its part."""
    scores = predicted(models, parts, effort)
    found, alike = np.full((2, len(models)), np.nan), {}
    for at, part in enumerate(parts):
        alike.setdefault(id(part), []).append(at)
    for own in alike.values():
        for first in range(0, len(own), MANY):
            some = own[first : first + MANY]
            table = np.stack([scores[at] for at in some])
            found[:, some] = of_scores(table, parts[some[0]], protected)
    return found


def of_scores(scores, data, protected, k=500, step=10):
    """Return NDCG@k and rND of each row of scores; tied items share their gains and prefixes."""
    n = scores.shape[1]
    order = np.argsort(-scores, axis=1, kind="stable")
    ordered = np.take_along_axis(scores, order, axis=1)
    new = np.ones(scores.shape, dtype=bool)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    starts = np.flatnonzero(new)
    sizes = np.diff(np.append(starts, scores.size))

    def shared(values):
        total = np.add.reduceat(values[order].ravel(), starts)
        return np.repeat(total / sizes, sizes).reshape(scores.shape)

    gain = 2.0 ** np.asarray(data.y, dtype=np.float64) - 1.0
    discount = np.where(np.arange(n) < k, 1.0 / np.log2(np.arange(n) + 2.0), 0.0)
    ideal = np.sort(gain)[::-1] @ discount
    mine = (groups_of(data) == protected).astype(np.float64)
    at = np.arange(step, n + 1, step)

    def unfair(counts):
        return (np.abs(counts[..., at - 1] / at - mine.mean()) / np.log2(at)).sum(axis=-1)

    worst = unfair(np.cumsum(np.sort(mine)))
    return shared(gain) @ discount / ideal, unfair(np.cumsum(shared(mine), axis=1)) / worst


def groups_of(data):
    """Return the label of each row."""
    return np.array(data.attribute().categories, dtype=object)[data.attribute().codes]


def measured(score, data, protected):
    """Return NDCG@500, rND, the gap of pairwise accuracies, and AUC if relevance is binary."""
    groups = groups_of(data)
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
    some = np.random.default_rng([19, seed]).permutation(len(unseen))[:FOREST_ROWS]
    leak = {
        f"on_adrg{end}": representation_leakage(
            unseen[rows], groups[rows], model=probe, test_size=0.5, random_state=seed
        )
        for end, probe, rows in (("", "linear", slice(None)), ("_forest", "forest", some))
    }
    linear = make_pipeline(StandardScaler(), Ridge()).fit(Z, split.train.y)
    figures = measured(linear.predict(Z_test), test, protected)
    return leak | {"on_one_minus_rnd": 1.0 - figures["rnd"], "on_ndcg": figures["ndcg"]}


def _representation(model, X):
    return model.transform(X) if hasattr(model, "transform") else model.predict(X)[:, None]


def averaged(rows):
    """Return the mean of each column."""
    return {name: float(np.mean([row[name] for row in rows])) for name in rows[0]}


def cells(load, seeds, name, quick, effort):
    """Return the row of one model on each of some seeds, of the plain model with its noise line.

    Test values are means over the models of the chosen point, one per split. ``best_on_test`` is
    the smallest distance of any candidate on the test part: what better choosing could gain.
    """
    cases = [case_of(load, seed, quick, effort) for seed in seeds]
    return [cell_of(name, case, found, effort)
            for case, found in zip(cases, searched(name, cases, effort), strict=True)]  # fmt: skip


def cell_of(name, case, found, effort):
    """Return the row of a model on one seed."""
    if not found:
        raise RuntimeError(f"no point of {name} stayed finite with seed {case.seed}")
    best, test, protected = found[0], case.test, case.protected
    models = [model for one in found for model in one.models]
    on_test = ranked(models, [test] * len(models), protected, effort)
    good, unfair = on_test.reshape(2, len(found), -1).mean(axis=2)
    row = {"seed": case.seed, "model": name, **asdict(best.point), "steps": best.steps}
    row |= {"validation": best.mean, "best_on_test": float((np.abs(1.0 - good) + unfair).min())}
    row |= averaged([measured(model.predict(test.X), test, protected) for model in best.models])
    row |= averaged([represented(model, split, test, protected, case.seed)
                     for model, split in zip(best.models, case.splits, strict=True)])  # fmt: skip
    lines = noise_line(best.models, test, protected, case.seed) if name == "plain" else []
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
    case, rng = case_of(load, seed, quick, effort), np.random.default_rng([13, seed])
    drawn = [measured(rng.random(case.test.n_rows), case.test, case.protected) for _ in range(20)]
    return {"seed": seed, **averaged(drawn)}
