"""ImpactRatioFloor, ScoreBonus and MarginLottery against enumeration."""

from itertools import combinations, permutations, product

import numpy as np
import pytest

from equirank import DataError, EquirankWarning, InfeasibleError, Ranking, as_ranking_data
from equirank.rerankers import ImpactRatioFloor, MarginLottery, ScoreBonus


def people(seed, sizes, shift=1.0):
    """Return lists whose group f has lower scores."""
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    sex = np.where(rng.random(n) < 0.45, "f", "m")
    at = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    sex[at], sex[at + 1] = "f", "m"
    score = rng.normal(size=n) - shift * (sex == "f")
    qid = np.repeat(np.arange(len(sizes)), sizes)
    return as_ranking_data(score=score, qid=qid, sensitive_features={"sex": sex})


def ratio_of(data, chosen):
    """The Mantel-Haenszel ratio by its formula."""
    x = y = 0.0
    female = data.attribute("sex").codes == 0
    for q in range(data.n_queries):
        own = slice(data.offsets[q], data.offsets[q + 1])
        f, c = female[own], chosen[own]
        n1, n2 = f.sum(), (~f).sum()
        if n1 and n2:
            x += c[f].sum() * n2 / (n1 + n2)
            y += c[~f].sum() * n1 / (n1 + n2)
    return x / y if y else np.inf


def ndcg(score, order, k):
    gain = score - score.min()
    weight = 1 / np.log2(np.arange(2, k + 2))
    best = np.sort(gain)[::-1][:k] @ weight
    return gain[order[:k]] @ weight / best if best > 0 else 1.0


def best_by_enumeration(data, k, ratio):
    """The largest mean NDCG@k over all sets of k in every list that reach the ratio."""
    options = []
    for q in range(data.n_queries):
        begin, end = data.offsets[q : q + 2]
        score = np.asarray(data.score[begin:end])
        own = []
        for some in combinations(range(end - begin), k):
            order = np.array(sorted(some, key=lambda i: -score[i]))
            own.append((ndcg(score, order, k), some, begin))
        # of each number of women only the best set matters
        female = data.attribute("sex").codes[begin:end] == 0
        best = {}
        for quality, some, start in own:
            count = int(female[list(some)].sum())
            if count not in best or quality > best[count][0]:
                best[count] = (quality, some, start)
        options.append(list(best.values()))
    found = -np.inf
    for choice in product(*options):
        chosen = np.zeros(data.n_rows)
        for _, some, start in choice:
            chosen[np.array(some) + start] = 1.0
        if ratio_of(data, chosen) >= ratio - 1e-9:
            found = max(found, float(np.mean([quality for quality, _, _ in choice])))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("ratio", [0.5, 0.8, 1.0])
def test_no_set_of_people_reaches_the_ratio_at_a_smaller_loss(seed, ratio):
    data, k = people(seed, [8, 6, 9, 7]), 3
    best = best_by_enumeration(data, k, ratio)
    result = ImpactRatioFloor(ratio, protected="f", k=k)(data.ranking())
    assert result.holds
    assert ratio_of(data, (result.position > 0).astype(float)) >= ratio - 1e-9
    loss, least = 1 - result.price.ndcg, 1 - best
    assert loss == pytest.approx(least, rel=0.01, abs=1e-12)


def test_one_list_is_exact_and_a_reached_ratio_moves_nobody():
    data = people(1, [12], shift=2.0)
    best = best_by_enumeration(data, 4, 0.8)
    result = ImpactRatioFloor(0.8, protected="f", k=4)(data.ranking())
    assert result.price.ndcg == pytest.approx(best)
    again = ImpactRatioFloor(0.8, protected="f", k=4)(
        Ranking.from_positions(data, np.arange(1, 13))  # another order
    )
    assert again.holds
    assert len(ImpactRatioFloor(0.0, protected="f", k=4)(data.ranking()).moves) == 0


def test_a_ratio_out_of_reach_is_an_error_that_names_the_nearest():
    data = as_ranking_data(score=[6, 5, 4, 3, 2, 1], sensitive_features=list("mmmmmf"))
    # the one woman and two of five men in the top 3: 1 / 0.4
    assert ImpactRatioFloor(2.5, protected="f", k=3)(data.ranking()).holds
    with pytest.raises(InfeasibleError, match=r"ratio of 2\.6: .* it is 2\.5"):
        ImpactRatioFloor(2.6, protected="f", k=3)(data.ranking())
    with pytest.warns(EquirankWarning, match="closest"):
        result = ImpactRatioFloor(2.6, protected="f", k=3, on_infeasible="best")(data.ranking())
    assert not result.holds


def test_a_reference_leaves_the_third_group_alone():
    rng = np.random.default_rng(3)
    race = np.array(list("wwwwwwbbbbcccc"))
    score = rng.normal(size=14) + 2.0 * (race == "w") + 1.0 * (race == "c")
    data = as_ranking_data(score=score, sensitive_features={"race": race})
    rule = ImpactRatioFloor(1.0, protected="b", k=6)
    rule.set_params(reference="w")
    before = data.ranking()
    result = rule(before)
    inside = race == "c"
    np.testing.assert_array_equal((result.position > 0)[inside], (before.position <= 6)[inside])
    with pytest.raises(DataError, match="another group than protected"):
        rule.set_params(reference="b")(before)


def exposure(order, female):
    weight = 1 / np.log2(np.arange(2, len(order) + 2))
    return float(weight[female[order]].sum())


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_no_order_with_that_exposure_has_a_larger_discounted_score(seed):
    data = people(seed, [7])
    score, female = np.asarray(data.score), data.attribute("sex").codes == 0
    weight = 1 / np.log2(np.arange(2, 9))
    for bonus in (0.0, 0.4, 1.1, 5.0):
        order = ScoreBonus(bonus, protected="f")(data.ranking()).order()
        reached, mine = exposure(order, female), float(score[order] @ weight)
        for other in permutations(range(7)):
            order = np.array(other)
            if exposure(order, female) >= reached - 1e-12:
                assert score[order] @ weight <= mine + 1e-12


def test_a_lottery_is_the_mean_over_all_orders_of_the_margin():
    score = np.array([9.0, 6.0, 5.0, 4.5, 4.0, 1.0])
    data = as_ranking_data(score=score)
    lottery = MarginLottery(0.75, k=3, random_state=0)
    # the middle of 5 and 4.5 is 4.75: 5, 4.5 and 4 are within 0.75
    tied = lottery.tied(data.ranking())
    chance = tied.expect(lambda position: (position <= 3).astype(float))
    np.testing.assert_allclose(chance, [1, 1, 1 / 3, 1 / 3, 1 / 3, 0])
    many = MarginLottery(0.75, k=3, random_state=0, n_draws=4000)(data.ranking())
    np.testing.assert_allclose((many.position > 0).mean(axis=1), chance, atol=0.03)
    assert ((many.position > 0).sum(axis=0) == 3).all()


def test_bands_are_counted_from_the_top_and_a_draw_keeps_them_apart():
    data = as_ranking_data(score=[10.0, 9.5, 9.0, 8.9, 1.0], qid=[1, 1, 1, 1, 1])
    tied = MarginLottery(1.0).tied(data.ranking())
    assert tied.position.tolist() == [1, 1, 1, 4, 5]
    drawn = MarginLottery(1.0, random_state=3)(data.ranking()).order().tolist()
    assert sorted(drawn[:3]) == [0, 1, 2]
    assert drawn[3:] == [3, 4]
    assert MarginLottery(0.0, random_state=3)(data.ranking()).order().tolist() == [0, 1, 2, 3, 4]
    every = np.array(
        [MarginLottery(1.0, random_state=seed)(data.ranking()).order()[:3] for seed in range(300)]
    )
    counts = np.unique(every @ [9, 3, 1], return_counts=True)[1]
    assert len(counts) == 6  # all orders occur
    assert counts.min() > 25


def test_rows_that_were_not_shown_stay_so():
    data = as_ranking_data(score=[5.0, 4.9, 4.8, 4.7])
    before = Ranking.from_positions(data, [1, 2, 0, 0])
    for width in (0.0, 0.5, 9.0):
        tied = MarginLottery(width).tied(before)
        assert (tied.position > 0).tolist() == [True, True, False, False]
        drawn = MarginLottery(width, random_state=1)(before)
        assert sorted(drawn.order().tolist()) == [0, 1]


def test_the_greedy_choice_is_near_that_of_the_integer_program(monkeypatch):
    from equirank.rerankers import impact_ratio_floor

    data = people(5, [20] * 30)
    rule = ImpactRatioFloor(0.9, protected="f", k=5)
    best = 1 - rule(data.ranking()).price.ndcg
    monkeypatch.setattr(impact_ratio_floor, "MOST_EXCHANGES", 0)
    greedy = rule(data.ranking())
    assert greedy.holds
    assert best <= 1 - greedy.price.ndcg <= 1.03 * best
