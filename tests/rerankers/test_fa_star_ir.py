"""FA*IR: re-ranked lists pass the test, the order inside groups stays, at the least price."""

import warnings
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equirank import DataError, EquirankWarning, InfeasibleError, as_ranking_data, evaluate
from equirank.metrics import FAStarIRTest
from equirank.rerankers import FAStarIR, fa_star_ir_table


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path_factory):
    monkeypatch.setenv("EQUIRANK_CACHE", str(tmp_path_factory.getbasetemp() / "tables"))


def twin(scores, groups, protected, table):
    """The greedy merge, written from its description."""
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], i))
    mine = [i for i in order if groups[i] == protected]
    other = [i for i in order if groups[i] != protected]
    result, count = [], 0
    for needed in table:
        due = count < needed
        take = mine and (due or not other or order.index(mine[0]) < order.index(other[0]))
        result.append((mine if take else other).pop(0))
        count += bool(take)
    return result


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.05, 0.1, 0.4])
@pytest.mark.parametrize("adjusted", [True, False])
def test_against_a_plain_merge(alpha, adjusted):
    rng = np.random.default_rng(0)
    for _ in range(60):
        n = int(rng.integers(2, 60))
        k = int(rng.integers(1, n + 1))
        p = float(rng.uniform(0.05, 0.95))
        groups = rng.choice(["f", "m", "x"], size=n)
        groups[0] = "f"
        scores = rng.integers(0, 20, size=n).astype(float)
        table = fa_star_ir_table(k, p, alpha, adjusted)
        reranker = FAStarIR(p, alpha, "f", k, adjusted=adjusted)
        if table[-1] > (groups == "f").sum():
            with pytest.raises(InfeasibleError):
                reranker.rerank(scores, sensitive_features=groups)
            continue
        result = reranker.rerank(scores, sensitive_features=groups)
        assert result.order().tolist() == twin(scores, groups, "f", table)
        assert result.holds


def test_no_list_that_passes_has_a_better_order():
    # FA*IR gives the best set of the first k that any passing list can have.
    rng = np.random.default_rng(1)
    for _ in range(40):
        groups = rng.choice(["f", "m"], size=9, p=[0.6, 0.4])
        scores = rng.normal(size=9)
        table = fa_star_ir_table(5, 0.6, 0.4)
        if table[-1] > (groups == "f").sum():
            continue
        result = FAStarIR(0.6, 0.4, "f", 5).rerank(scores, sensitive_features=groups)
        best = max(
            scores[list(some)].sum()
            for some in combinations(range(9), 5)
            if (groups[list(some)] == "f").sum() >= table[-1]
        )
        assert scores[result.order()].sum() == pytest.approx(best)


@st.composite
def lists(draw):
    n = draw(st.integers(1, 60))
    groups = draw(st.lists(st.sampled_from("abcd"), min_size=n, max_size=n))
    scores = draw(st.lists(st.integers(0, 12), min_size=n, max_size=n))
    qid = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    return np.array(scores, float), np.array(groups), np.array(qid)


@pytest.mark.slow
@settings(max_examples=80)
@given(
    lists(),
    st.sampled_from([None, 0.3, 0.8]),
    st.one_of(st.none(), st.integers(1, 70)),
    st.sampled_from(["binomial", "pool"]),
)
def test_a_permutation_whatever_the_group_sizes(pool, p, k, law):
    scores, groups, qid = pool
    reranker = FAStarIR(p, protected=str(groups[0]), k=k, law=law, on_infeasible="best")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquirankWarning)
        result = reranker.rerank(scores, sensitive_features=groups, qid=qid)
    check_permutation(result, scores, groups, qid, k, {groups[0]})


def check_permutation(result, scores, groups, qid, k, protected):
    for query in np.unique(qid):
        rows = np.flatnonzero(qid == query)
        order = result.order(query)
        assert len(order) == (len(rows) if k is None else min(k, len(rows)))
        assert len(set(order.tolist())) == len(order)
        assert set(order.tolist()) <= set(rows.tolist())
        kinds = [np.isin(groups, [g]) for g in protected] + [~np.isin(groups, list(protected))]
        for kind in kinds:
            best = sorted(rows[kind[rows]], key=lambda i: (-scores[i], i))
            mine = order[kind[order]]
            assert mine.tolist() == best[: len(mine)]


@pytest.mark.slow
@settings(max_examples=30)
@given(lists(), st.one_of(st.none(), st.integers(1, 30)))
def test_several_groups_give_a_permutation_too(pool, k):
    scores, groups, qid = pool
    shares = dict.fromkeys(sorted(set(groups.tolist()))[:2], 0.2)
    reranker = FAStarIR(shares, k=k, on_infeasible="best")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquirankWarning)
        result = reranker.rerank(scores[:30], sensitive_features=groups[:30], qid=qid[:30])
    seen = {g for g in shares if g in groups[:30]}
    check_permutation(result, scores[:30], groups[:30], qid[:30], k, seen)


def test_the_lists_pass_the_metric():
    rng = np.random.default_rng(2)
    qid = np.repeat(np.arange(30), 40)
    groups = np.where(rng.random(1200) < 0.5, "f", "m")
    scores = rng.normal(size=1200) - (groups == "f")
    metric = FAStarIRTest(p=0.4, protected="f") @ 30
    data = as_ranking_data(score=scores, qid=qid, sensitive_features=groups)
    before = evaluate(data.ranking(), [metric], n_boot=0)
    result = FAStarIR(p=0.4, protected="f", k=30)(data.ranking())
    after = evaluate(result, [metric], n_boot=0)
    assert before.summary()["value"][0] < 0.9
    assert after.summary()["value"][0] == 1.0
    assert result.holds
    # The pool's share, whole lists.
    whole = FAStarIR(protected="f")(data.ranking())
    assert evaluate(whole, [FAStarIRTest(protected="f")], n_boot=0).summary()["value"][0] == 1.0


def test_a_fair_list_is_left_alone():
    groups, scores = list("fmfmfmfmfm"), range(10, 0, -1)
    result = FAStarIR(0.5, protected="f").rerank(scores, sensitive_features=groups)
    assert result.order().tolist() == list(range(10))
    assert len(result.moves) == 0
    assert result.price.score_loss == 0.0


def test_the_pool_law_draws_without_replacement():
    groups = ["m"] * 10 + ["f"] * 10
    scores = range(20, 0, -1)
    whole = FAStarIR(protected="f", law="pool").rerank(scores, sensitive_features=groups)
    table = fa_star_ir_table(20, 0.5, 0.1, pool=20)
    assert table[-1] == 10
    assert whole.holds
    assert whole.order().tolist() == twin(list(scores), groups, "f", table)
    given = FAStarIR(0.25, protected="f", law="pool", k=10)
    expected = twin(list(scores), groups, "f", fa_star_ir_table(10, 0.25, 0.1, pool=20))
    assert given.rerank(scores, sensitive_features=groups).order().tolist() == expected


# who is protected


def protected_in(result):
    return result.bounds.words.partition(" for ")[2].partition(" (")[0]


def test_the_smaller_group_is_protected_unless_named():
    result = FAStarIR().rerank([5, 4, 3, 2, 1], sensitive_features=list("mmmff"))
    assert protected_in(result) == "'f'"
    result = FAStarIR(protected="m").rerank([5, 4, 3, 2, 1], sensitive_features=list("mmmff"))
    assert protected_in(result) == "'m'"
    for groups, lower in (("ffmm", "m"), ("mmff", "f")):
        result = FAStarIR(0.5).rerank([4, 3, 2, 1], sensitive_features=list(groups))
        assert protected_in(result) == repr(lower)


def test_groups_of_a_mapping_are_protected():
    groups, scores = list("aaaabbbcccddd"), range(13, 0, -1)
    for p, names in [
        ({"b": 0.2}, "'b'"),
        ({"b": 0.2, "c": 0.2}, "'b' and 'c'"),
        ({"a": 0.4, "b": 0.2, "c": 0.2, "d": 0.2}, "'b' and 'c' and 'd'"),
    ]:
        result = FAStarIR(p, k=6).rerank(scores, sensitive_features=groups)
        assert protected_in(result) == names
        assert result.holds
    result = FAStarIR({"b": 0.2, "c": 0.2}, protected=["c"], k=6).rerank(
        scores, sensitive_features=groups
    )
    assert protected_in(result) == "'c'"
    result = FAStarIR(k=6).rerank(scores, sensitive_features=groups)
    assert protected_in(result) == "'b' and 'c' and 'd'"


# several groups


def passing(need, order, groups, protected):
    counts = np.zeros(len(protected), dtype=int)
    for j, row in enumerate(order):
        if groups[row] in protected:
            counts[protected.index(groups[row])] += 1
        if need[(j, *counts[1:])] > counts[0]:
            return False
    return True


@pytest.mark.parametrize("seed", range(8))
def test_several_groups_take_the_best_item_that_can_still_pass(seed):
    rng = np.random.default_rng(seed)
    groups = rng.choice(["a", "b", "m"], size=11, p=[0.3, 0.3, 0.4])
    scores = rng.permutation(11) - 6.0 * (groups != "m")
    shares, k = {"a": 0.3, "b": 0.35}, 6
    need = fa_star_ir_table(k, shares, 0.4)
    order = sorted(range(11), key=lambda i: -scores[i])
    queues = {g: [i for i in order if groups[i] == g] for g in "abm"}

    def best(done, left):
        """The best completion, or None; greedy by score, so the first found is the answer."""
        if not passing(need, done, groups, ["a", "b"]):
            return None
        if len(done) == k:
            return done
        for g in sorted((g for g in left if left[g]), key=lambda g: order.index(left[g][0])):
            found = best([*done, left[g][0]], {**left, g: left[g][1:]})
            if found is not None:
                return found
        return None

    expected = best([], queues)
    reranker = FAStarIR(shares, 0.4, k=k)
    if expected is None:
        with pytest.raises(InfeasibleError, match=r"of group '[ab]'"):
            reranker.rerank(scores, sensitive_features=groups)
        return
    result = reranker.rerank(scores, sensitive_features=groups)
    assert result.order().tolist() == expected
    assert result.holds
    assert result.holds_per_query.tolist() == [True]


def test_the_bounds_of_several_groups_see_a_list_that_fails():
    groups, scores = ["m"] * 12 + ["a"] * 4 + ["b"] * 4, range(20, 0, -1)
    result = FAStarIR({"a": 0.3, "b": 0.3}, 0.3, k=10).rerank(scores, sensitive_features=groups)
    assert result.holds
    codes = np.full(10, result.groups.categories.index("m"))
    assert not result.bounds.holds(codes, np.array([0, 10]))[0]
    why = result.explain(int(result.order()[-1]))
    assert why.facts["to"] == 10


def test_a_group_that_runs_out_is_seen_in_time():
    # Whoever counts on a second a, when there is one only, has too few b in the end.
    groups = ["a"] + ["m"] * 16 + ["b"] * 15
    reranker = FAStarIR({"a": 0.1, "b": 0.5}, 0.5, k=16, adjusted=False)
    result = reranker.rerank(range(32, 0, -1), sensitive_features=groups)
    need = fa_star_ir_table(16, [0.1, 0.5], 0.5, adjusted=False)
    assert result.holds
    assert passing(need, result.order(), groups, ["a", "b"])


def test_several_groups_that_run_out_are_reported():
    groups, scores = ["m"] * 18 + ["a"] + ["b"], range(20, 0, -1)
    reranker = FAStarIR({"a": 0.4, "b": 0.4}, 0.3, k=15)
    with pytest.raises(InfeasibleError, match=r"the first \d+ positions need \d of group '[ab]'"):
        reranker.rerank(scores, sensitive_features=groups)
    reranker.set_params(on_infeasible="best")
    with pytest.warns(EquirankWarning, match="the closest ranking is returned"):
        result = reranker.rerank(scores, sensitive_features=groups)
    assert len(set(result.order().tolist())) == 15
    assert not result.holds


def test_the_pool_law_for_several_groups():
    groups = ["m"] * 6 + ["a"] * 3 + ["b"] * 3
    result = FAStarIR(law="pool", protected=["a", "b"]).rerank(
        range(12, 0, -1), sensitive_features=groups
    )
    need = fa_star_ir_table(12, [0.25, 0.25], 0.1, pool=12)
    assert result.holds
    assert passing(need, result.order(), groups, ["a", "b"])
    assert not passing(need, range(12), groups, ["a", "b"])


# bad input


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"p": 0.0}, r"p of FAStarIR must be a number in \(0, 1\)"),
        ({"p": 1.0}, "p of FAStarIR"),
        ({"p": "half"}, "p of FAStarIR"),
        ({"p": {"f": 1.2}}, "p of FAStarIR"),
        ({"p": {"z": 0.2}}, "p of FAStarIR must be one of the groups.*'z'"),
        ({"p": {"f": 0.5, "m": 0.5}, "protected": ["f", "m"]}, "must sum to less than 1"),
        (
            {"p": {"f": 0.5}, "protected": "m"},
            "must name every protected group, and 'm' is missing",
        ),
        ({"p": 0.5, "protected": ["f", "m"]}, "p of FAStarIR must be a mapping"),
        ({"alpha": 0.0}, "alpha of FAStarIR"),
        ({"alpha": 1.0}, "alpha of FAStarIR"),
        ({"protected": "z"}, "protected of FAStarIR must be one of the groups 'f', 'm', got 'z'"),
        ({"protected": ["f", "f"]}, "protected of FAStarIR must name each group once"),
        ({"law": "poisson"}, "law of FAStarIR must be one of 'binomial', 'pool'"),
        ({"adjusted": 1}, "adjusted of FAStarIR must be True or False"),
    ],
)
def test_bad_input_is_refused_in_a_clear_sentence(given, message):
    with pytest.raises(DataError, match=message):
        FAStarIR(**given).rerank([4, 3, 2, 1], sensitive_features=list("mmff"), groups=["f", "m"])


def test_too_few_protected_say_where_and_what_to_do():
    scores, groups = range(30, 0, -1), ["m"] * 28 + ["f"] * 2
    message = (
        "FAStarIR cannot keep its guarantee in query 0: the first 11 positions need 3 of group "
        "'f', and the list has 2; lower p or alpha, choose a smaller k, or pass "
        "on_infeasible='best'"
    )
    table = fa_star_ir_table(20, 0.5, 0.1)
    assert np.flatnonzero(table > 2)[0] + 1 == int(message.split("first ")[1].split()[0])
    with pytest.raises(InfeasibleError, match=message):
        FAStarIR(0.5, protected="f", k=20).rerank(scores, sensitive_features=groups)
    with pytest.warns(EquirankWarning, match="the closest ranking is returned"):
        result = FAStarIR(0.5, protected="f", k=20, on_infeasible="best").rerank(
            scores, sensitive_features=groups
        )
    assert not result.holds
    assert set(result.order()[:10]) >= {28, 29}
