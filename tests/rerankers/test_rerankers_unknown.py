"""Re-rankers with unknown labels: such people stay ranked and count in no bound, or it is said."""

import itertools
import warnings
from dataclasses import replace

import numpy as np
import pytest

from equirank import Reranker, as_ranking_data
from equirank.core.attribute import Attribute
from equirank.core.errors import DataError, EquirankWarning, InfeasibleError
from equirank.core.registry import public_classes
from equirank.rerankers import (
    BalancedSelection,
    ContinuousFairness,
    DetConstSort,
    DetGreedy,
    ExposureOptimal,
    FAStarIR,
    ImplicitBiasFloor,
    OnlineSelection,
    PrefixConstraints,
    RooneyRule,
)

RERANKERS = public_classes(Reranker, ["equirank.rerankers"])
REFUSED = {"ContinuousFairness"}
#: Those that rank lists with unknown labels.
USUAL = [name for name, cls in RERANKERS.items() if getattr(cls, "unknown", None) != "refused"]


def sample(labels, score=None, **more):
    """Return one list, in the order of its rows."""
    score = range(len(labels), 0, -1) if score is None else score
    return as_ranking_data(
        score=score, sensitive_features=list(labels), missing_sensitive="unknown", **more
    )


def lists(seed=0, n_queries=6, length=12):
    rng = np.random.default_rng(seed)
    n = n_queries * length
    label = rng.choice(np.array(["a", "b"], dtype=object), n)
    label[rng.random(n) < 0.3] = None
    label.reshape(n_queries, length)[:, -6:] = ["a", "b", "a", "b", "a", "b"]
    return sample(label, rng.permutation(n) + 1.0, qid=np.repeat(np.arange(n_queries), length))


def turned(data):
    (name, attribute), n = *data.sensitive.items(), len(data.attribute().categories)
    codes = np.where(attribute.codes < 0, -1, n - 1 - attribute.codes).astype(np.int32)
    return replace(data, sensitive={name: Attribute(codes, attribute.categories[::-1])})


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(RERANKERS) - {"Guaranteed"}))
def test_every_reranker_ranks_the_unknown_or_says_that_it_cannot(name):
    cls = RERANKERS[name]
    rule = cls(**getattr(cls, "test_params", {}))
    here, there = lists(), turned(lists())
    refuses = getattr(cls, "unknown", None) == "refused"
    assert refuses == (name in REFUSED), (
        f'state in {name} how it treats unknown labels, unknown = "free" or "fixed"; if it can '
        "only refuse them, add it to REFUSED in this file"
    )
    if name in REFUSED:
        with pytest.raises(DataError, match=r"needs the group of every row, .* unknown in row \d+"):
            rule(here.ranking())
        return
    one, two = rule(here.ranking()), rule(there.ranking())
    np.testing.assert_array_equal(one.position, two.position)  # no part of the last category
    assert one.holds
    assert two.holds
    if one.n_draws == 1:
        groups = {(row["query"], row["row"]): row["group"] for row in one.moves}
        labels = here.attribute().labels()
        assert all(labels[row] == group for (_, row), group in groups.items())
        assert str(one.explain(0))
        assert len(one.summary()["before"]) == len(one.summary()["after"]) > 2
    if getattr(rule, "k", None) is None:
        shown = np.asarray(one.position).reshape(here.n_rows, -1)
        assert (shown > 0).all()  # nobody is left out


@pytest.mark.parametrize("name", USUAL)
def test_a_list_without_a_known_label_keeps_its_order(name):
    data = as_ranking_data(
        score=[4, 3, 2, 1, 6, 5],
        qid=[1, 1, 1, 1, 2, 2],
        sensitive_features=[None, None, None, None, "a", "b"],
        missing_sensitive="unknown",
    )
    cls = RERANKERS[name]
    rule = cls(**getattr(cls, "test_params", {}))
    if hasattr(rule, "on_infeasible"):
        rule.set_params(on_infeasible="best")
    alone = data.select([0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquirankWarning)  # of bounds that nobody can meet
        result = rule(alone.ranking())
    if cls.__name__ in ("OnlineSelection", "EpsilonGreedy"):
        return  # they select or draw
    shown = np.asarray(result.position)[:, 0] if result.n_draws > 1 else result.position
    assert shown.tolist() == [1, 2, 3, 4]


def test_a_reranker_of_users_refuses_unless_it_says_otherwise():
    from equirank.rerankers import Guaranteed

    class Mine(Guaranteed):
        def _rerank(self, ranking):
            return self._pool(ranking)

    with pytest.raises(DataError, match="Mine needs the group of every row, and sensitive is unkn"):
        Mine()(sample(["a", None]).ranking())


@pytest.mark.parametrize("k", [None, 5])
@pytest.mark.parametrize("rule", [DetGreedy(), DetConstSort(), FAStarIR(alpha=0.4, protected="a")])
def test_fixed_positions_and_the_list_of_all_others(rule, k):
    rule = type(rule)(**{**rule.get_params(), "k": k, "on_infeasible": "best"})
    for seed in range(10):
        rng = np.random.default_rng(seed)
        labels = rng.choice(np.array(["a", "b", None], dtype=object), 11)
        labels[-2:] = ["a", "b"]
        known = np.flatnonzero(labels != None)  # noqa: E711
        result = rule(sample(labels).ranking())
        order = result.order()
        size = 11 if k is None else k
        assert len(order) == size
        gaps = [row for row in range(size) if labels[row] is None]
        assert [row for row in order if labels[row] is None] == gaps
        assert all(order[row] == row for row in gaps)
        room = size - len(gaps)
        alone = type(rule)(**{**rule.get_params(), "k": room or None})
        if room:
            wanted = alone.rerank(range(len(known), 0, -1), sensitive_features=labels[known])
            wanted = known[wanted.order()]
            assert [row for row in order if labels[row] is not None] == wanted.tolist()
        assert result.holds


def test_the_guarantee_of_fixed_lists_is_that_of_the_known():
    data = sample(["b", None, "b", "a", None, "a"])
    result = DetGreedy({"a": 0.5, "b": 0.5})(data.ranking())
    assert result.order().tolist() == [0, 1, 3, 2, 4, 5]
    assert result.bounds.words.endswith("of the people with a known label")
    bound = result.explain(3).facts["binding"]
    assert (bound["group"], bound["prefix"], bound["needed"]) == ("a", 3, 1)
    assert result.explain(1).facts["group"] is None
    assert result.explain(1).facts["next_in_group"] is None
    shares = {row["measure"]: (row["before"], row["after"]) for row in result.summary()}
    assert shares["share of a in the first 10"] == (0.5, 0.5)
    assert str(result.explain(1)).startswith("Row 1 keeps position 2")
    unfair = replace(result, position=data.ranking().position)
    assert not unfair.holds


def best_list(labels, score, keeps):
    """Return the largest discounted score of all orders whose prefixes are kept."""
    weight = 1 / np.log2(np.arange(2, len(labels) + 2))
    every = (np.array(order) for order in itertools.permutations(range(len(labels))))
    kept = [order for order in every if keeps(labels[order])]
    return max((float(score[order] @ weight) for order in kept), default=None)


@pytest.mark.slow
def test_prefix_constraints_against_every_order():
    for seed in range(12):
        rng = np.random.default_rng(seed)
        labels = rng.choice(np.array(["a", "b", None], dtype=object), 6)
        labels[:2] = ["a", "b"]
        score = rng.permutation(6) + 1.0

        def keeps(row):
            return all(
                np.floor(0.4 * j + 1e-9) <= (row[:j] == "a").sum()
                and (row[:j] == "b").sum() <= np.ceil(0.5 * j - 1e-9)
                for j in range(1, 7)
            )

        wanted = best_list(labels, score, keeps)
        rule = PrefixConstraints(lower={"a": 0.4}, upper={"b": 0.5})
        data = sample(labels, score)
        if wanted is None:
            with pytest.raises(InfeasibleError):
                rule(data.ranking())
            continue
        result = rule(data.ranking())
        weight = 1 / np.log2(np.arange(2, 8))
        assert float(score[result.order()] @ weight) == pytest.approx(wanted)
        assert result.holds


def test_floors_and_selections_count_known_members_only():
    labels = [None, None, "b", "b", "a", "a"]
    assert RooneyRule("a", k=2)(sample(labels).ranking()).order().tolist() == [0, 4]
    floor = ImplicitBiasFloor(None, "a", k=4)(sample(labels).ranking())
    assert floor.order().tolist() == [4, 0, 5, 1]  # ceil(j / 2): half of the known are a
    several = ImplicitBiasFloor(0.5, ("a", "b"), k=4)(sample(labels).ranking())
    assert several.order().tolist() == [2, 0, 3, 1]
    assert several.holds
    balanced = BalancedSelection({"a": 1}, k=3)(sample(labels).ranking())
    assert balanced.order().tolist() == [0, 1, 4]
    assert balanced.holds
    assert sorted(balanced.igf["group"].tolist()) == ["a", "b"]
    worse_first = sample([None, "a", "a"], [3.0, 1.0, 2.0], position=[1, 2, 3])
    level = BalancedSelection(k=2, level=0.9)(worse_first.ranking())
    assert level.order().tolist() == [0, 2]
    assert level.holds  # which the first two, with the worse of a, do not
    for seed in range(20):
        rule = OnlineSelection(k=3, lower={"a": 2}, upper={"b": 0}, random_state=seed)
        found = rule(sample(labels).ranking())
        chosen = [labels[row] for row in found.order()]
        assert (chosen.count("a"), chosen.count("b")) == (2, 0)
        assert found.holds
    with pytest.raises(InfeasibleError, match="2 positions, and the upper bounds of 'a' and 'b'"):
        OnlineSelection(k=2, upper={"a": 0, "b": 0})(sample([None, "a", "b"]).ranking())


def test_exposure_is_shared_among_the_known():
    data = sample([None, "a", "a", "b", "b", None], [0.9, 0.8, 0.7, 0.3, 0.2, 0.1])
    shared = ExposureOptimal("parity")(data.ranking())
    exposure = shared.policy().exposure()
    assert exposure[[1, 2]].mean() == pytest.approx(exposure[[3, 4]].mean())
    assert exposure[0] == pytest.approx(1.0)  # in no constraint, and the best
    assert exposure[5] == pytest.approx(1 / np.log2(7))


def test_several_attributes_with_unknown_labels_are_refused():
    groups = {"sex": ["f", None, "m"], "race": ["x", "y", "x"]}
    data = as_ranking_data(score=[3, 2, 1], sensitive_features=groups, missing_sensitive="unknown")
    for rule in (
        PrefixConstraints(lower={"sex": {"f": 0.3}, "race": {"x": 0.3}}),
        BalancedSelection({"f": 1, "x": 1}, k=2),
    ):
        with pytest.raises(DataError, match="and sex is unknown in row 1"):
            rule(data.ranking())
    with pytest.raises(DataError, match="ContinuousFairness needs the group of every row"):
        ContinuousFairness(by="sex")(data.ranking())
