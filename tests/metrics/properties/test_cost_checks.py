"""Properties of cost-sensitive gains: found on random lists, broken on purpose."""

from dataclasses import dataclass

import numpy as np
import pytest

from equirank import DataError
from equirank.metrics import CostNDCG, cost_ndcg, csdcg
from equirank.metrics.properties import cost_checks, cost_properties


def held(metric):
    table = cost_properties(metric, n_lists=300, random_state=1)
    return dict(zip(table["property"].tolist(), table["holds"].tolist(), strict=True))


@pytest.mark.parametrize("cost", ["product", "mean", "sum", "max"])
def test_cost_ndcg_has_all_properties(cost):
    assert all(held(CostNDCG(cost=cost)).values())
    assert all(held(CostNDCG(cost=cost, k=3)).values())


def test_csdcg_lacks_some():
    every = {"bounded", "equal costs", "scale", "monotone", "Lipschitz"}
    assert {name for name, holds in held("CSDCG").items() if not holds} == every
    lacking = {name for name, holds in held("CSDCG(normalized=True)").items() if not holds}
    assert lacking == {"equal costs", "monotone", "Lipschitz"}


def test_a_change_of_costs_by_a_thousandth():
    """Three equal items: the normalised CSDCG falls from 1 to 0, CostNDCG hardly changes."""
    y, score = [1, 1, 1], [3, 2, 1]
    costs = [1.001, 1.0, 1.0], [1.0, 1.0, 1.001]
    assert [csdcg(y, score, cost=c, normalized=True) for c in costs] == pytest.approx([0, 1])
    new = [cost_ndcg(y, score, cost=c) for c in costs]
    assert new[0] == 1.0
    assert 0.9995 < new[1] < 1.0


def test_two_lists_of_eight_have_equal_relevance():
    """Each has the same y > 0 throughout; the other lists have it by chance only."""
    lists = cost_checks._lists(800, np.random.default_rng(0))
    parts = np.split(lists.y, lists.offsets[1:-1])
    equal = np.array([len(set(y.tolist())) == 1 and y[0] > 0 for y in parts])
    by_number = equal.reshape(100, 8).sum(axis=0)
    assert by_number[:2].tolist() == [100, 100]
    assert by_number[2:].max() < 20


@dataclass(frozen=True, repr=False, kw_only=True)
class Wrong(CostNDCG):
    """A metric that grows with the scale of the costs."""

    def values(self, slots):
        found = super().values(slots)
        scale = np.add.reduceat(slots.cost, slots.offsets[:-1]) / 1e3
        return found._replace(value=found.value + scale)


def test_violations_are_found_and_shown():
    table = cost_properties(Wrong(), n_lists=50)
    assert table["holds"].tolist()[:3] == [False, False, False]
    scale = table["violation"][2]
    costs = [float(c) for c in table["cost"][2].split()]
    assert scale == pytest.approx(7 * sum(costs) / 1e3, rel=1e-3)


def test_other_metrics_are_refused():
    with pytest.raises(DataError, match="must need costs, got NDCG"):
        cost_properties("NDCG")
    with pytest.raises(DataError, match="n_lists"):
        cost_properties("CostNDCG", n_lists=0)
