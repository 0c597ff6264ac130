"""LambdaFair's objective against a naive double loop, its target lists, and its parts."""

import json
import math

import numpy as np
import pytest

import equirank
from equirank import DataError, EquirankWarning, as_ranking_data
from equirank.datasets import make_ranking
from equirank.rankers import FairLambdaMART, fair_objective


def lists(seed, sizes=(2, 5, 9, 13, 17, 24)):
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    data = as_ranking_data(
        None,
        rng.integers(0, 4, size=n),
        qid=np.repeat(np.arange(len(sizes)), sizes),
        sensitive_features=rng.choice(["p", "u"], size=n, p=[0.35, 0.65]),
    )
    score = rng.normal(size=n)
    score[rng.random(n) < 0.3] = 0.25  # ties
    return data, score


def blocks_of(label, group, score, strategy, step):
    """The block of each item in the target list: labels descending, then as the code places them.

    ``group`` is 1 for protected items.
    """
    n = len(label)
    share = group.mean()
    quota, placed = [], 0
    for b in range(math.ceil(n / step)):
        k = min(n, step * (b + 1))
        while placed < group.sum() and abs((placed + 1) / k - share) < abs(placed / k - share):
            placed += 1
        quota.append(placed)
    # slots: for each (label, group) the blocks that it fills, in order
    slots = {}
    if strategy == "fair_first":
        used = {0: 0, 1: 0}
        for i in sorted(range(n), key=lambda i: -label[i]):
            g = group[i]
            ends = [q if g else min(n, step * (b + 1)) - q for b, q in enumerate(quota)]
            block = next(b for b, end in enumerate(ends) if end > used[g])
            used[g] += 1
            slots.setdefault((label[i], g), []).append(block)
    else:
        order = sorted(range(n), key=lambda i: (-label[i], -group[i]))
        virtual = [int(group[i]) for i in order]
        used, later = {0: 0, 1: 0}, 1
        for at, i in enumerate(order):
            b = at // step
            ends = {1: quota[b], 0: min(n, step * (b + 1)) - quota[b]}
            g = virtual[at]
            if used[g] >= ends[g]:
                later = max(at + 1, later)
                found = False
                while later < n and label[order[later]] == label[i] and not found:
                    if virtual[later] != g:
                        virtual[later], found = g, True
                    later += 1
                g = 1 - g if found else g
            used[g] += 1
            slots.setdefault((label[i], g), []).append(b)
    block = np.empty(n, dtype=int)
    for i in sorted(range(n), key=lambda i: (-label[i], -score[i])):
        block[i] = slots[label[i], group[i]].pop(0)
    return block


def naive(data, score, alpha, strategy, *, T, step, sigma=1.0, same_block=False):
    """The gradient and Hessian, pair by pair, after the left column of the specification."""
    grad, hess = np.zeros(data.n_rows), np.zeros(data.n_rows)
    protected = (data.attribute().codes == data.attribute().code("p")).astype(int)
    for q in range(data.n_queries):
        rows = slice(data.offsets[q], data.offsets[q + 1])
        y, s, g = np.asarray(data.y)[rows], score[rows], protected[rows]
        n, share = len(y), g.mean()
        order = sorted(range(n), key=lambda i: -s[i])
        end = min(T, n)
        cuts = list(range(step, end + 1, step))
        cuts += [end] if end % step else []

        def unfairness(groups, cuts=cuts, share=share):
            return sum(abs(sum(groups[:k]) / k - share) / math.log2(k + 1) for k in cuts)

        ranked = [int(g[i]) for i in order]
        Z = max(unfairness(sorted(ranked)), unfairness(sorted(ranked, reverse=True)))
        Z = 0.0 if end <= step or share in (0.0, 1.0) else Z
        target = None if strategy == "swap" else blocks_of(y, g, s, strategy, step)
        gain, disc = 2.0**y - 1.0, [1.0 / math.log2(2 + at) for at in range(n)]
        ideal = sum(a * b for a, b in zip(sorted(gain, reverse=True)[:T], disc, strict=False))
        parts = {"ndcg": [], "fair": []}
        for i in range(min(n - 1, T)):
            for j in range(i + 1, n):
                a, b = order[i], order[j]
                if y[a] != y[b] and ideal > 0:
                    weight = disc[i] - disc[j] if j < T else disc[i]
                    pair = (a, b) if y[a] > y[b] else (b, a)
                    parts["ndcg"].append((pair, alpha * abs(gain[a] - gain[b]) * weight / ideal))
                if g[a] != g[b] and Z > 0:
                    swapped = list(ranked)
                    swapped[i], swapped[j] = swapped[j], swapped[i]
                    change = unfairness(swapped) - unfairness(ranked)
                    if target is None:
                        keeps = change > 0
                    elif target[a] == target[b] and not same_block:
                        continue
                    else:
                        keeps = target[a] < target[b]  # else, or equal, the lower should move up
                    pair = (a, b) if keeps else (b, a)
                    parts["fair"].append((pair, (1 - alpha) * abs(change) / Z))
        for pairs in parts.values():
            own = np.zeros(n), np.zeros(n)
            total = 0.0
            for (high, low), delta in pairs:
                if s.max() > s.min():
                    delta = delta / (0.01 + abs(s[high] - s[low]))
                rho = 1.0 / (1.0 + math.exp(sigma * (s[high] - s[low])))
                own[0][high] -= sigma * rho * delta
                own[0][low] += sigma * rho * delta
                own[1][[high, low]] += sigma**2 * rho * (1 - rho) * delta
                total += 2 * sigma * rho * delta
            factor = math.log2(1 + total) / total if total > 0 else 1.0
            grad[rows] += factor * own[0]
            hess[rows] += factor * own[1]
    return grad, hess


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["swap", "fair_first", "relevance_first"])
@pytest.mark.parametrize("same_block", [False, True])
@pytest.mark.parametrize(("T", "step"), [(7, 3), (8, 4), (20, 5)])
def test_the_gradient_is_that_of_a_double_loop(strategy, same_block, T, step):
    if strategy == "swap" and same_block:
        return
    given = {"same_block": True} if same_block else {}
    for seed in range(3):
        data, score = lists(seed)
        for alpha in (0.0, 0.3, 1.0):
            ranker = FairLambdaMART.lambdafair(
                alpha,
                strategy,
                truncation=T,
                step=step,
                sigma=1.2,
                protected="p",
                n_jobs=1,
                **given,
            )
            wanted = naive(
                data, score, alpha, strategy, T=T, step=step, sigma=1.2, same_block=same_block
            )
            for got, right in zip(ranker.objective(data)(score), wanted, strict=True):
                np.testing.assert_allclose(got, right, rtol=1e-10, atol=1e-13)


def test_its_settings():
    ranker = FairLambdaMART.lambdafair(0.7, "fair_first", truncation=30, num_leaves=400)
    assert (ranker.alpha, ranker.strategy, ranker.truncation, ranker.cutoff) == (
        0.7, "fair_first", 30, 30,
    )  # fmt: skip
    assert (ranker.n_estimators, ranker.learning_rate, ranker.num_leaves) == (2000, 0.01, 400)
    assert not FairLambdaMART.lambdafair().steady
    model = FairLambdaMART.lambdafair(0.5, n_estimators=3, n_jobs=1)
    model.fit(make_ranking(n_queries=5, n_items=12, random_state=0))
    assert model.unfairness_ > 0


def test_parts_apart_are_each_normalised():
    data, score = lists(0)
    options = {"step": 3, "n_jobs": 1, "steady": False}
    apart = fair_objective(data, 0.3, normalize="parts", **options)(score)
    alone = [fair_objective(data, alpha, normalize="parts", **options) for alpha in (0.0, 1.0)]
    mixed = fair_objective(data, 0.3, normalize="mixed", **options)(score)
    assert not np.allclose(apart[0], mixed[0])
    for whole in (0.0, 1.0):  # one part alone is normalised alike
        wanted = fair_objective(data, whole, normalize="mixed", **options)(score)[0]
        assert np.array_equal(alone[int(whole)](score)[0], wanted)


def test_true_means_mixed_in_saved_models_too(tmp_path):
    data = make_ranking(n_queries=6, n_items=12, random_state=0)
    options = {"step": 3, "n_estimators": 3, "n_jobs": 1}
    new = FairLambdaMART(0.4, **options).fit(data)
    old = FairLambdaMART(0.4, normalize=True, **options).fit(data)
    assert np.array_equal(new.predict(data), old.predict(data))
    old.save(tmp_path / "model")
    assert (
        json.loads((tmp_path / "model" / "model.json").read_text())["params"]["normalize"] is True
    )
    again = equirank.load(tmp_path / "model").fit(data)
    assert np.array_equal(again.predict(data), new.predict(data))
    with pytest.raises(DataError, match="normalize of FairLambdaMART must be one of 'mixed'"):
        FairLambdaMART(normalize="apart").fit(data)


@pytest.mark.parametrize("fairness", ["rnd", "rkl", "rrd"])
@pytest.mark.parametrize("strategy", ["swap", "fair_first"])
def test_a_last_cut_is_one_more_prefix(fairness, strategy):
    data, score = lists(1, sizes=(8, 3, 2, 9))
    options = {"fairness": fairness, "strategy": strategy, "step": 3, "protected": "p", "n_jobs": 1}
    plain = fair_objective(data, 0.0, **options)(score)[0]
    last = fair_objective(data, 0.0, last_cut=True, **options)(score)[0]
    np.testing.assert_allclose(last, plain, atol=1e-15)  # a prefix of all items never differs
    cut = fair_objective(data, 0.0, last_cut=True, cutoff=7, **options)(score)[0]
    short = fair_objective(data, 0.0, last_cut=False, cutoff=7, **options)(score)[0]
    assert not np.array_equal(cut[:8], short[:8])


def test_options_without_effect_are_refused():
    data = lists(0)[0]
    with pytest.raises(DataError, match="last_cut must have its default for fairness='exposure'"):
        fair_objective(data, fairness="exposure", last_cut=True)
    with pytest.raises(DataError, match="discount must have its default"):
        fair_objective(data, fairness="treatment", discount="code")
    with pytest.warns(EquirankWarning, match="same_block of FairLambdaMART has no effect"):
        fair_objective(data, same_block=True)
    groups = np.array(["a", "b", "c"])[np.arange(data.n_rows) % 3]
    three = as_ranking_data(None, data.y, qid=data.query_of_rows(), sensitive_features=groups)
    with pytest.raises(DataError, match="are for two; name the group"):
        FairLambdaMART.lambdafair(0.5, "fair_first").objective(three)
