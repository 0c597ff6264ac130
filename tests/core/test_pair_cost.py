"""PairCost: cells to costs, equality, what fit sees because of it, routing, saving."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import sklearn
from reference_ranker import RidgeRanker
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from equirank import (
    DataError,
    EquirankWarning,
    FormatError,
    QueryKFold,
    as_ranking_data,
    evaluate,
    load,
)
from equirank.core.pair_cost import warn_uneven_costs
from equirank.costs import PairCost
from equirank.metrics import NDCG

RNG = np.random.default_rng(0)
X = RNG.normal(size=(24, 3))
Y = np.arange(24) % 3
QID = np.arange(24) % 4
PEOPLE = np.where(X[:, 1] > 0, "f", "m")


@dataclass(frozen=True, eq=False)
class ByGroup(PairCost):
    """A cost that sees groups."""

    table: tuple = ((1.0, 2.0), (3.0, -4.0))
    needs: ClassVar = frozenset({"sensitive_features"})

    def blocks(self, data):
        return data.attribute().codes, np.array(self.table)


@dataclass(frozen=True, eq=False)
class Neither(PairCost):
    """Defines nothing."""


@dataclass(frozen=True, eq=False)
class Arrayed(PairCost):
    """Holds an array."""

    values: np.ndarray


class Watcher(RidgeRanker):
    """Remembers whether it was shown groups and costs."""

    fit_takes: ClassVar = frozenset({"cost"})

    def __init__(self, penalty=1.0, pair_cost=None):
        super().__init__(penalty)
        self.pair_cost = pair_cost

    def _fit(self, data):
        super()._fit(data)
        self.saw_costs_ = data.cost is not None


def test_costs_come_from_the_cells_of_both_items():
    data = as_ranking_data(None, [1, 0, 2], qid=[1, 1, 1], sensitive_features=["b", "a", "a"])
    costs = ByGroup().pairs(data, np.array([0, 2, 2]), np.array([1, 1, 0]))
    assert costs.tolist() == [3.0, 1.0, 2.0]
    with pytest.raises(TypeError, match="must define blocks or pairs"):
        Neither().pairs(data, np.array([0]), np.array([1]))


def test_equal_by_kind_and_parameters():
    assert ByGroup() == ByGroup()
    assert hash(ByGroup()) == hash(ByGroup())
    assert ByGroup() != ByGroup(((1.0, 1.0), (1.0, 1.0)))
    assert Arrayed(np.ones(2)) == Arrayed(np.ones(2))
    assert Arrayed(np.ones(2)) != Arrayed(np.zeros(2))
    assert clone(Watcher(pair_cost=ByGroup())).pair_cost == ByGroup()


def test_fit_sees_what_the_pair_cost_needs_and_nothing_else():
    given = {"qid": QID, "sensitive_features": PEOPLE, "cost": np.ones(24)}
    blind = Watcher().fit(X, Y, **given)
    assert (blind.saw_groups_, blind.saw_costs_) == (False, True)
    seeing = Watcher(pair_cost=ByGroup()).fit(X, Y, **given)
    assert seeing.saw_groups_
    data = as_ranking_data(X, Y, qid=QID, sensitive_features=PEOPLE)
    assert Watcher(pair_cost=ByGroup()).fit(data).saw_groups_
    assert not Watcher().fit(data).saw_groups_
    with pytest.raises(DataError, match="sensitive_features must be given: Watcher"):
        Watcher(pair_cost=ByGroup()).fit(X, Y, qid=QID)
    assert not Watcher().fit(X, Y, qid=QID).saw_costs_


def test_routing_follows_the_pair_cost():
    with sklearn.config_context(enable_metadata_routing=True):
        plain = Watcher().get_metadata_routing().fit.requests
        costly = Watcher(pair_cost=ByGroup()).get_metadata_routing().fit.requests
        assert (plain["sensitive_features"], plain["cost"]) == (False, True)
        assert (costly["sensitive_features"], costly["qid"]) == (True, True)
        scores = cross_val_score(
            Watcher(pair_cost=ByGroup()),
            X,
            Y,
            cv=QueryKFold(2),
            scoring=(NDCG @ 10).scorer(),
            params={"qid": QID, "sensitive_features": PEOPLE},
        )
    assert len(scores) == 2
    assert np.isfinite(scores).all()


def test_a_pair_cost_is_saved_by_name_and_parameters(tmp_path):
    given = {"qid": QID, "sensitive_features": PEOPLE}
    model = Watcher(pair_cost=ByGroup(((1.0, 2.0), (2.0, 1.0)))).fit(X, Y, **given)
    model.save(tmp_path / "model")
    back = load(tmp_path / "model", classes=[Watcher, ByGroup])
    assert back.pair_cost == model.pair_cost
    with pytest.raises(FormatError, match="ByGroup"):
        load(tmp_path / "model", classes=[Watcher])

    class Impostor:
        pass

    Impostor.__name__ = "ByGroup"
    with pytest.raises(FormatError, match="not a pair cost"):
        load(tmp_path / "model", classes=[Watcher, Impostor])


def test_metrics_and_data_as_parameters_are_saved(tmp_path):
    data = as_ranking_data(X, Y, qid=QID)
    model = Watcher(pair_cost=NDCG @ 5).fit(data)
    model.save(tmp_path / "metric")
    assert load(tmp_path / "metric", classes=[Watcher]).pair_cost == NDCG @ 5
    model.set_params(pair_cost=data)
    model.save(tmp_path / "data")
    assert load(tmp_path / "data", classes=[Watcher]).pair_cost is None


def test_uneven_costs_warn():
    warn_uneven_costs("it", None)
    warn_uneven_costs("it", np.array([1.0, 10.0]))
    with pytest.warns(EquirankWarning, match="cost of it differs by a factor of 11"):
        warn_uneven_costs("it", np.array([1.0, 11.0]))
    with pytest.raises(DataError, match="cost of it must be finite numbers > 0"):
        warn_uneven_costs("it", np.array([0.0, 1.0]))


def test_evaluation_warns_of_uneven_costs_where_they_matter():
    cost = np.where(np.arange(24) == 3, 50.0, 1.0)
    data = as_ranking_data(X, Y, qid=QID, cost=cost, score=X[:, 0])
    with pytest.warns(EquirankWarning, match="cost of the data differs by a factor of 50"):
        evaluate(data, "CSDCG, NDCG@10", n_boot=0)
    evaluate(data, "NDCG@10", n_boot=0)  # a warning would be an error here
