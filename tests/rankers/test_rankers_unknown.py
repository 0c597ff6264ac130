"""Rankers with unknown labels: rows without a group have no group term, or it is an error."""

from dataclasses import replace

import numpy as np
import pytest

from equirank.core.attribute import Attribute
from equirank.core.errors import DataError
from equirank.core.ranker import Ranker
from equirank.core.registry import public_classes
from equirank.costs import GroupPairCost, ParityPairCost, ProtectedPairCost
from equirank.datasets import make_ranking
from equirank.rankers.neural.losses import exposure_contrasts
from equirank.rankers.neural.pair_constraints import group_pairs

REFUSE = {"FairPGRank", "PreferredRankBoost"}
TRAIN = {
    *("ConstrainedPairwise", "DELTR", "DebiasClassifier", "DirectRanker", "FairLambdaMART"),
    *("FairReduction", "PairwiseRegularised"),
}
OPTIONS = {
    "DirectRanker": {"fairness": "both"},
    "FairPGRank": {"disparity": "group", "lam": 1.0},
}


def with_unknown(data, every=4):
    (name, attribute) = next(iter(data.sensitive.items()))
    codes = attribute.codes.copy()
    codes[::every] = -1
    return replace(data, sensitive={name: Attribute(codes, attribute.categories)})


def fair_rankers():
    found = {}
    for name, cls in public_classes(Ranker, ["equirank.rankers"]).items():
        try:
            model = cls(**getattr(cls, "test_params", {}) | OPTIONS.get(name, {}))
        except TypeError:
            continue  # wraps another estimator
        if "sensitive_features" in model.current_needs():
            found[name] = model
    return found


FAIR = fair_rankers()


def test_every_ranker_that_needs_groups_is_walked():
    assert set(FAIR) == REFUSE | TRAIN


@pytest.mark.parametrize("name", sorted(FAIR))
def test_every_ranker_trains_without_these_labels_or_says_that_it_cannot(name):
    pytest.importorskip("torch")
    data = with_unknown(make_ranking(n_queries=6, n_items=8, random_state=0))
    if name in REFUSE:
        with pytest.raises(DataError, match=r"the group of every row, .* is unknown in row 0 \("):
            FAIR[name].fit(data)
        return
    model = FAIR[name].fit(data)
    assert np.isfinite(model.predict(data)).all()
    assert model.rank(data).n_draws >= 1

    assert (
        model.predict(data) == model.predict(make_ranking(n_queries=6, n_items=8, random_state=0))
    ).all()


def test_contrasts_leave_the_unknown_out():
    codes = np.array([0, -1, 1, 1, -1, -1])
    found = exposure_contrasts(codes, np.array([0, 4, 6]), [0, 1])
    assert found.tolist() == [[-1, 1], [0, 0], [0.5, -0.5], [0.5, -0.5], [0, 0], [0, 0]]


def test_pairs_of_the_unknown_belong_to_no_two_groups():
    query, y, weight = np.zeros(4, dtype=int), np.array([3.0, 2.0, 1.0, 0.0]), np.ones(1)
    sets = group_pairs(query, y, weight, np.array([0, -1, 1, -1]))
    assert set(sets) == {(0, -1), (0, 1), (-1, 1), (-1, -1), (1, -1)}
    assert sum(part.n_pairs for part in sets.values()) == 6
    known = {groups: part.listed().T.tolist() for groups, part in sets.items() if min(groups) >= 0}
    assert known == {(0, 1): [[0, 2]]}


def test_constraints_compare_known_rows():
    pytest.importorskip("torch")
    from equirank.rankers.neural.pair_constraints import pair_constraint

    data = with_unknown(make_ranking(n_queries=5, n_items=9, random_state=1), 3)
    codes = data.attribute().codes
    kinds = ("equal_opportunity", "marginal")
    for kind in kinds:
        rule = pair_constraint(data, kind, None, None)
        for part in rule.sets:
            assert (codes[part.listed()] >= 0).all()
        everyone = sum(part.n_pairs for part in rule.whole.sets)
        y = data.y.reshape(5, 9)
        assert everyone == sum((row[:, None] > row[None, :]).sum() for row in y)
    with pytest.raises(DataError, match="'continuous' needs the group of every row"):
        pair_constraint(data, "continuous", None, None)


def test_adversaries_have_no_loss_where_the_label_is_unknown():
    torch = pytest.importorskip("torch")
    from equirank.rankers.neural.adversaries import cross_entropy

    class Net:
        def part(self, name, features):
            return features

    logits = torch.tensor([[2.0, 0.0], [0.0, 1.0], [3.0, 0.0]])
    codes, weight = torch.tensor([[0], [-1], [1]]), torch.ones(3)
    loss = cross_entropy(Net(), "row", logits, codes, weight)
    wanted = (np.log(1 + np.exp(-2.0)) + 0.0 + np.log(1 + np.exp(3.0))) / 3
    assert float(loss) == pytest.approx(wanted, rel=1e-6)


def test_differences_of_unknown_groups_have_no_loss():
    torch = pytest.importorskip("torch")
    from equirank.rankers import DirectRanker

    class Net:
        def part(self, name, gap):
            return gap

    gap, weight = torch.tensor([[0.5], [0.5], [0.5]]), torch.ones(3)
    codes = torch.tensor([[[1], [1], [-1]], [[0], [-1], [1]]])  # pairs (1, 0), (1, ?), (?, 1)
    loss = DirectRanker(fairness="flipped")._flipped(Net(), gap, codes, weight)
    assert float(loss) == pytest.approx((1 - 0 - 0.5) ** 2 / 3)


def test_costs_by_groups():
    data = with_unknown(make_ranking(n_queries=2, n_items=6, random_state=0))
    for cost in (GroupPairCost(np.ones((2, 2))), ParityPairCost(np.zeros((2, 2)))):
        with pytest.raises(DataError, match="PairCost needs the group of every row"):
            cost.blocks(data)
    label = data.attribute().categories[-1]
    inside, _ = ProtectedPairCost(2.0, protected=label).blocks(data)
    assert (inside == (data.attribute().codes == 1)).all()  # the unknown are not protected
