"""Targets about quotas and score cutoffs, and bonuses among few distinct scores."""

import numpy as np
import pytest

from equirank import DataError, Ranking, as_ranking_data, audit, remedy
from equirank.core.outcomes import DecisionRule
from equirank.rerankers import ScoreBonus
from equirank.search.list_selection import Selection
from equirank.search.remedy_quality import Quality

TARGET = "sex=f selected >= 0.8"


def people(seed, sizes, quotas=None, digits=3):
    """Return columns of lists whose group f has lower scores."""
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    sex = np.where(rng.random(n) < 0.45, "f", "m")
    at = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    sex[at], sex[at + 1] = "f", "m"
    found = {"qid": np.repeat(np.arange(len(sizes)), sizes), "sex": sex}
    found["score"] = np.round(10 + 3 * (rng.normal(size=n) - (sex == "f")), digits)
    found["exam"] = rng.integers(0, 9, n)
    found["openings"] = np.repeat([3] * len(sizes) if quotas is None else quotas, sizes)
    return found


def searched(columns, target=TARGET, **more):
    return remedy(columns, target, query="qid", sensitive="sex", n_boot=0, **more)


def numbers(result):
    return [
        (each.name, each.reached, each.moved, each.entered, round(each.target.value, 9))
        for each in result.remedies
        if each.name != "Cutoff"
    ]


def test_the_chance_to_be_selected_is_that_of_a_decision():
    rng, sizes = np.random.default_rng(3), [7, 5, 9]
    columns = people(1, sizes, quotas=[3, 0, 20], digits=0)
    data = as_ranking_data(
        score=columns["score"], qid=columns["qid"], sensitive_features=columns["sex"],
        outcomes={"openings": columns["openings"]},
    )  # fmt: skip
    tied, rule = data.ranking(), DecisionRule(quota="openings")
    drawn = Ranking.from_scores(data, rng.integers(0, 4, (21, 5)).astype(float))
    for ranking in (tied, drawn):
        chosen = Selection.by_rule(rule, ranking)
        assert chosen.limits.tolist() == [3, 0, 9]
        assert np.allclose(chosen.chance(ranking), rule.decisions(ranking, ())[0].selected)
    weight = rng.random(9)
    want = np.stack([tied.expect(lambda p, q=q: weight * (p <= q)) for q in range(10)])
    assert np.allclose(
        Selection.by_rule(rule, tied).weighted(tied, weight),
        want[np.repeat([3, 0, 9], sizes), np.arange(21)],
    )


@pytest.mark.gate
@pytest.mark.parametrize("sizes", [[12, 14, 9], [10] * 22])
def test_equal_quotas_are_a_top_k(sizes):
    columns = people(5, sizes)
    quota = searched(columns, quota="openings")
    top = searched(columns, "sex=f selected at 3 >= 0.8")
    assert len(quota.remedies) > 8
    assert numbers(quota) == numbers(top)
    assert [each.loss.value for each in quota.remedies if each.name != "Cutoff"] == pytest.approx(
        [each.loss.value for each in top.remedies if each.name != "Cutoff"], abs=1e-12
    )
    assert ("Cutoff", "the number selected from each list is given") in quota.not_tried


@pytest.mark.slow
def test_values_are_those_of_an_audit_of_the_same_decision():
    columns = people(2, [14, 9, 17, 12, 11, 8], quotas=[4, 1, 6, 2, 3, 3])
    columns["score"] = columns["score"] - 3 * (columns["sex"] == "f")
    for way in ({"quota": "openings"}, {"cutoff": "score>=11"}):
        result = searched(columns, **way)
        claims = audit(
            columns, query="qid", sensitive="sex", n_boot=0, n_permutations=0, cross=False, **way
        ).claims
        want = next(c.estimate for c in claims if c.quantity == "selected" and c.group == "f")
        assert result.before.value == pytest.approx(want)
        floor = result.find("ImpactRatioFloor")
        assert floor.reached
        after = result.apply("ImpactRatioFloor")
        limits = np.bincount(columns["qid"], result.selection.chance(result.ranking))
        new = after.data.to_original(after.position)
        chosen = (new > 0) & (new <= np.rint(limits)[columns["qid"]])
        assert chosen.sum() == round(limits.sum())
        assert "become selected and" in " ".join(result.sentences)


@pytest.mark.slow
def test_another_score_cutoff_is_the_nearest_of_all():
    columns = people(4, [12, 10, 15, 13], digits=1)
    result = searched(columns, cutoff="score>=11")
    moved = result.find("Cutoff")
    target, near = result.target, []
    for level in np.unique(columns["score"]):
        data = result.ranking.data
        some = Selection.by_rule(DecisionRule(cutoff=f"score>={level:g}"), result.ranking)
        value = type(target)(target.gate, data, some).value(result.ranking)
        if target.reached(value):
            near.append((abs(level - 11), level))
    assert moved.strength == pytest.approx(min(near)[1])
    assert moved.sentence.startswith("Selected are people with score >=")
    shown = result.apply("Cutoff")
    assert (
        (shown.data.to_original(shown.position) > 0) == (columns["score"] >= moved.strength)
    ).all()


@pytest.mark.parametrize(
    ("way", "target", "words"),
    [
        ({"quota": "openings"}, "sex=f selected at 3 >= 0.8", "must not name a k"),
        ({"quota": "openings", "k": 3}, TARGET, "one way decides who is selected"),
        ({"cutoff": "score<9"}, TARGET, "rank everyone by the column that it compares"),
        ({"cutoff": "exam>=5", "score": "score"}, TARGET, "must select the top of every list"),
        ({"selected": "hired"}, TARGET, "state how people will be selected instead, with k, quota"),
        ({"stages": "a,b"}, TARGET, "keep the people who reached one stage"),
        ({}, "sex=f selected stage hired >= 0.8", "must not name a stage.*keep the people"),
        ({}, "sex=f scored >= 0.8", r'cutoff "score>[0-9.]+" with a target about selected'),
        ({}, "sex=f score >= 0", "'above' compares how pairs"),
    ],
)
def test_decisions_that_no_order_changes_are_refused_with_advice(way, target, words):
    with pytest.raises(DataError, match=words):
        searched(people(1, [9, 8]), target, **way)


@pytest.mark.slow
def test_the_largest_finding_of_a_quota_is_a_target():
    rng = np.random.default_rng(0)
    columns = people(7, [30] * 25, quotas=rng.integers(2, 9, 25))
    columns["score"] = columns["score"] - 6 * (columns["sex"] == "f")
    result = remedy(columns, query="qid", sensitive="sex", quota="openings", n_boot=0)
    assert result.target.text in ("sex=f selected >= 0.8", "sex=f above >= 0.45")
    assert result.reached


# --- ScoreBonus among few distinct scores ---


def coarse(seed, n, levels):
    rng = np.random.default_rng(seed)
    female = rng.permutation(n) < 0.4 * n
    score = (rng.integers(1, levels, n) + 2.0 * ~female) / 10.0  # sums of these are not exact
    groups = {"sex": np.where(female, "f", "m")}
    return score, female, as_ranking_data(score=score, sensitive_features=groups)


@pytest.mark.gate
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("target", ["exposure >= 0.9", "selected at 4 >= 0.8"])
def test_a_bonus_costs_what_the_cheapest_setting_of_all_costs(seed, target):
    score, _, data = coarse(seed, 10, 5)
    result = remedy(data, f"sex=f {target}", n_boot=0)
    quality, best = Quality(result.ranking, result.target.selection), np.inf
    for bonus in np.unique(np.round(np.subtract.outer(score, score), 9)):
        for share in np.linspace(0, 1, 101):
            if bonus >= 0:
                k = 4 if "at 4" in target else None
                rule = ScoreBonus(bonus, tied_first=share, protected="f", k=k)
                made = rule(result.ordered)
                if result.target.reached(result.target.value(made)):
                    best = min(best, quality.measure(made, 0.95, 0, 0)[1].value)
    found = result.find("ScoreBonus")
    assert found.reached
    assert found.loss.value == pytest.approx(best, rel=0.01, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_bonus_is_within_one_percent_of_the_best_mixture(seed):
    score, _, data = coarse(seed, 300, 6)
    result = remedy(data, "sex=f exposure >= 0.9", n_boot=0)
    found, target = result.find("ScoreBonus"), result.target
    assert 0.9 <= found.target.value < 0.9 + 1e-3
    quality = Quality(result.ranking, None)
    points = []
    for bonus in np.unique(np.round(np.subtract.outer(score, score), 9)):
        for share in (0.0, 1.0):  # the corners: no order is better than their mixtures
            made = ScoreBonus(max(bonus, 0), tied_first=share, protected="f")(result.ordered)
            points.append((target.value(made), quality.value(made)))
    value, best = np.array(sorted(points)).T
    best = np.maximum.accumulate(best[::-1])[::-1]
    bound = quality.value(result.ranking) - np.interp(found.target.value, value, best)
    assert found.loss.value <= 1.01 * bound + 1e-9


def test_the_order_of_a_tie_by_hand():
    score, sex = [2, 2, 2, 1, 1], list("mmmff")
    orders = {
        (share, k): ScoreBonus(1.0, tied_first=share, protected="f", k=k)
        .rerank(score, sensitive_features=sex).order().tolist()
        for share, k in [(0.0, None), (0.2, None), (0.5, None), (1.0, None), (0.5, 3), (1.0, 4)]
    }  # fmt: skip
    assert orders == {
        (0.0, None): [0, 1, 2, 3, 4],
        (0.2, None): [0, 3, 1, 2, 4],
        (0.5, None): [3, 0, 1, 2, 4],
        (1.0, None): [3, 4, 0, 1, 2],
        (0.5, 3): [0, 1, 3],
        (1.0, 4): [0, 1, 3, 4],
    }
