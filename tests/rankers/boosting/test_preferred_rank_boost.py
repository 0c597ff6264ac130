"""Groups that choose: the three parties, and a plain twin that lists all pairs."""

import numpy as np
import pytest

from equirank import DataError, as_ranking_data, load
from equirank.metrics import group_benefit
from equirank.rankers import PreferredRankBoost, RankBoost

PARTY = np.array(list("TLDTTTDLT"))


def parties():
    X = np.stack([PARTY == "L", PARTY == "D", PARTY == "T"], axis=1).astype(float)
    X[8] = 0.0
    return X, np.arange(9, 0, -1.0)


def wrong_pairs(score, y):
    return int(((y[:, None] > y) & (score[:, None] < score)).sum())


def test_the_three_parties_misrank_seven_seven_and_six():
    X, y = parties()
    model = PreferredRankBoost(1).fit(X, y, sensitive_features=PARTY)
    table = model.choices_
    assert table["group"].tolist() == ["D", "L", "T"]
    assert table["misranked"].tolist() == [7, 7, 6]
    for choice in table:
        sign = 1.0 if choice["direction"] == ">" else -1.0
        assert wrong_pairs(sign * X[:, choice["feature"]], y) == choice["misranked"]
    # together they only put the unmarked last, with one weight for all
    assert len(set(table["weight"].tolist())) == 1
    assert wrong_pairs(model.predict(X), y) == 0


def test_weighted_singly_the_largest_party_wins():
    X, y = parties()
    model = PreferredRankBoost(1, weighting="single").fit(X, y, sensitive_features=PARTY)
    weight = dict(zip(model.choices_["group"], model.choices_["weight"], strict=True))
    assert weight["T"] == pytest.approx(0.5 * np.log((14 + 0.5) / (6 + 0.5)))
    assert [weight["L"], weight["D"]] == pytest.approx([0.0, 0.0], abs=1e-12)
    assert (model.predict(X) > 1e-9).tolist() == (X[:, 2] > 0).tolist()


def twin(X, y, query, group, names, rounds):
    """The same by lists of pairs and of stumps."""
    a, b = np.nonzero((y[:, None] > y) & (query[:, None] == query))
    stumps = [
        (f, (lower + upper) / 2)
        for f in range(X.shape[1])
        for lower, upper in zip(np.unique(X[:, f])[:-1], np.unique(X[:, f])[1:], strict=True)
    ]
    outputs = np.array([X[:, f] > cut for f, cut in stumps], dtype=float)

    def benefit(h, z):
        inside = group == z
        same = query[:, None] == query
        return ((h[:, None] - h) * (inside[:, None] & ~inside & same)).sum()

    score, D, smooth = np.zeros(len(y)), np.full(len(a), 1 / len(a)), 0.5 / len(a)
    chosen = []
    for _ in range(rounds):
        r = (outputs[:, a] - outputs[:, b]) @ D
        best = int(np.argmax(np.abs(r) >= np.abs(r).max() - 1e-10))
        parity = np.sign(r[best]) * outputs[best]
        mean = np.zeros(len(y))
        for z in names:
            own = group[a] == z
            drop = (outputs[:, a[own]] - outputs[:, b[own]]) @ D[own] / D[own].sum()
            good = [
                benefit(np.sign(d) * h, z) >= benefit(parity, z) - 1e-9
                for d, h in zip(drop, outputs, strict=True)
            ]
            size = np.where(good, np.abs(drop), 0.0)
            pick = int(np.argmax(size >= size.max() - 1e-10)) if size.max() > 1e-10 else None
            h = parity if pick is None else np.sign(drop[pick]) * outputs[pick]
            chosen.append((z, *stumps[best if pick is None else pick]))
            mean += h / len(names)
        joint = float((mean[a] - mean[b]) @ D)
        if joint <= 1e-7:
            return score, chosen[: -len(names)]
        alpha = 0.5 * np.log((1 + joint + smooth) / (1 - joint + smooth))
        score += alpha * mean
        D = D * np.exp(-alpha * (mean[a] - mean[b]))
        D /= D.sum()
    return score, chosen


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_it_is_its_twin(seed):
    rng = np.random.default_rng(seed)
    n = 60
    X = np.round(rng.normal(size=(n, 3)), 1)
    y = np.clip(np.round(X[:, 0] + rng.normal(size=n) + 1), 0, 3)
    query, group = rng.integers(0, 3, size=n), rng.choice(["a", "b", "c"], size=n)
    wanted, chosen = twin(X, y, query, group, ["a", "b", "c"], 5)
    model = PreferredRankBoost(5, max_bins=None).fit(X, y, qid=query, sensitive_features=group)
    table = model.choices_
    found = list(zip(table["group"], table["feature"], table["threshold"], strict=True))
    assert [f[:2] for f in found] == [c[:2] for c in chosen]
    np.testing.assert_allclose(table["threshold"], [c[2] for c in chosen])
    score = model.predict(X)
    np.testing.assert_allclose(score - score.mean(), wanted - wanted.mean(), atol=1e-9)


def test_no_group_has_less_than_under_the_parity_choice():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    group = np.where(X[:, 1] + rng.normal(size=300) > 0, "a", "b")
    y = np.clip(np.round(X[:, 0] + X[:, 1] + 1), 0, 3)
    model = PreferredRankBoost(1).fit(X, y, qid=0, sensitive_features=group)
    first = RankBoost(1).fit(X, y, qid=0)
    parity = np.sign(first.alpha_[0]) * (X[:, first.feature_[0]] > first.threshold_[0])
    _, least = group_benefit(parity, group, return_groups=True)
    for choice in model.choices_:
        assert choice["benefit"] >= least[choice["group"]] - 1e-6
        sign = 1.0 if choice["direction"] == ">" else -1.0
        h = sign * (X[:, choice["feature"]] > choice["threshold"])
        _, found = group_benefit(h, group, return_groups=True)
        assert choice["benefit"] == pytest.approx(found[choice["group"]])


@pytest.mark.slow
def test_it_learns_and_is_saved(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.clip(np.round(np.nan_to_num(X[:, 0]) * 2 + 1), 0, 4)
    group = rng.choice(["a", "b"], size=400)
    data = as_ranking_data(X, y, qid=rng.integers(0, 8, size=400), sensitive_features=group)
    model = PreferredRankBoost(20).fit(data)
    assert model.score(data) > 0.9
    bounds = model.generalization_bounds(data)
    assert bounds["bound"].tolist() == ["margin", "vc", "training"]
    assert bounds["value"][2] == pytest.approx(float(np.prod(model.learning_curve_["Z"])))
    assert len(model.learning_curve_) <= 20 < len(model.choices_)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert np.array_equal(again.predict(X), model.predict(X))
    assert again.choices_.to_dict() == model.choices_.to_dict()


def test_bad_input_is_named():
    with pytest.raises(DataError, match="weighting of PreferredRankBoost must be one of"):
        PreferredRankBoost(weighting="even").fit([[0.0], [1.0]], [0, 1], sensitive_features="ab")
