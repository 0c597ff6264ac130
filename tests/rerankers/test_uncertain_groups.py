"""Re-ranking with probabilities of groups: guarantees, refusals and results."""

import itertools
import warnings

import numpy as np
import pytest

from equirank import LabelError, as_ranking_data
from equirank.core.errors import DataError, EquirankWarning, InfeasibleError
from equirank.rerankers import (
    DetConstSort,
    DetGreedy,
    ExposureOptimal,
    FAStarIR,
    PrefixConstraints,
    RooneyRule,
    uncertain_groups,
)


def guessed(n, seed=0, strength=1.5):
    """Return scores, true groups and calibrated probabilities: "f" scores lower."""
    rng = np.random.default_rng(seed)
    z = rng.random(n) < 0.4
    proxy = strength * z + rng.normal(size=n)
    score = rng.normal(size=n) - 0.8 * z
    logit = np.log(0.4 / 0.6) + strength * proxy - strength**2 / 2 - 0.8 * score - 0.32
    return score, z, 1.0 / (1.0 + np.exp(-logit))


def people(p):
    return {"sex": [None] * len(p), "sex[f]": p, "sex[m]": 1.0 - p}


def held(p, order, floors, n_draws=20_000, seed=1):
    """Return the share of drawn labels that keep the minimums in all prefixes, and in each."""
    rng = np.random.default_rng(seed)
    counts = np.cumsum(rng.random((n_draws, len(order))) < p[order], axis=1)
    good = counts >= floors
    return good.all(axis=1).mean(), good.mean(axis=0).min()


@pytest.mark.parametrize("over", ["joint", "prefix"])
def test_redrawn_labels_pass_the_fa_star_ir_test_with_the_chance(over):
    score, _, p = guessed(60)
    rule = FAStarIR(p=0.4, protected="f", labels="chance", over=over, k=20)
    result = rule.rerank(score, sensitive_features=people(p))
    assert result.holds
    known = FAStarIR(p=0.4, protected="f", k=20).rerank(
        score, sensitive_features=np.where(np.arange(60) % 2, "f", "m")
    )
    floors = known.bounds.least[:, 0]
    joint, least = held(p, result.order(), floors)
    row = next(iter(result.report))
    assert row["chance"] == pytest.approx(joint, abs=0.01)
    assert row["least"] == pytest.approx(least, abs=0.01)
    assert (joint if over == "joint" else least) >= 0.9 - 0.01
    assert row["score"] >= row["greedy_score"]
    easier = rule.set_params(chance=0.5).rerank(score, sensitive_features=people(p))
    assert easier.report["score"][0] > row["score"]


def test_expected_minimums_are_exact_against_all_permutations():
    for seed in range(6):
        score, _, p = guessed(7, seed)
        floors = [0, 1, 1, 2]
        rule = PrefixConstraints(lower={"f": floors}, labels="expected", k=4)
        best = -np.inf
        for order in itertools.permutations(range(7), 4):
            if (np.cumsum(p[list(order)]) >= np.array(floors) - 1e-9).all():
                best = max(best, (score[list(order)] / np.log2(np.arange(2, 6))).sum())
        if best == -np.inf:
            with pytest.raises(InfeasibleError, match="in expectation"):
                rule.rerank(score, sensitive_features=people(p))
            continue
        result = rule.rerank(score, sensitive_features=people(p))
        assert result.report["score"][0] == pytest.approx(best)
        assert result.gap[0] == pytest.approx(0.0, abs=1e-9)
        assert result.holds
        assert "the counts themselves keep this with probability" in result.bounds.words


def test_several_groups_and_an_upper_bound_share_the_chance():
    rng = np.random.default_rng(4)
    table = rng.dirichlet([0.5, 0.5, 0.7], size=40)
    features = {"g": [None] * 40} | {f"g[{name}]": table[:, at] for at, name in enumerate("abc")}
    bounds = {"lower": {"a": 0.2, "b": 0.2}, "upper": {"c": [1, 2, 3, 4, 4, 4, 5, 5, 6, 6]}}
    rule = PrefixConstraints(**bounds, labels="chance", chance=0.8, k=10)
    result = rule.rerank(-np.arange(40.0), sensitive_features=features)
    order = result.order()[:10]
    draws = np.array([rng.choice(3, p=table[row], size=20_000) for row in order]).T
    j = np.arange(1, 11)
    good = np.ones(20_000, dtype=bool)
    for g in range(2):
        good &= (np.cumsum(draws == g, axis=1) >= np.floor(0.2 * j + 1e-9)).all(axis=1)
    good &= (np.cumsum(draws == 2, axis=1) <= bounds["upper"]["c"]).all(axis=1)
    assert result.holds
    assert good.mean() >= result.report["chance"][0] - 0.01
    assert result.report["chance"][0] >= 0.8


@pytest.mark.parametrize("labels", ["expected", "chance"])
def test_certain_probabilities_give_todays_result_row_for_row(labels):
    score, z, _ = guessed(50, 3)
    names, qid = np.where(z, "f", "m"), np.repeat([1, 2], 25)
    given = people(z.astype(float))
    for rule in (
        FAStarIR(p=0.5, protected="f", on_infeasible="best"),
        FAStarIR(k=10),
        PrefixConstraints(lower={"f": 0.3}, upper={"m": 0.7}, k=12),
    ):
        plain = rule.rerank(score, sensitive_features=names, qid=qid)
        rule.set_params(labels=labels)
        for features in (given, {"sex": names}):
            other = rule.rerank(score, sensitive_features=features, qid=qid)
            np.testing.assert_array_equal(other.position, plain.position)
            assert type(other) is type(plain)


def test_an_impossible_guarantee_names_list_prefix_minimum_and_best_chance():
    p = np.full(10, 0.3)
    rule = PrefixConstraints(lower={"f": [0, 0, 1]}, labels="chance", over="prefix", k=3)
    message = (
        "PrefixConstraints cannot keep its bounds in query 7: the first 3 positions need 1 of "
        "group 'f' with probability 0.9, and the best reachable probability is 0.657"
    )
    with pytest.raises(InfeasibleError, match=message):  # 1 - 0.7 ** 3
        rule.rerank(range(10), sensitive_features=people(p), qid=[7] * 10)
    with pytest.warns(EquirankWarning, match="the closest ranking is returned"):
        closest = rule.set_params(on_infeasible="best").rerank(
            range(10), sensitive_features=people(p)
        )
    assert not closest.holds
    assert closest.report["chance"][0] == pytest.approx(0.657)
    upper = PrefixConstraints(upper={"f": [0, 0]}, labels="chance", k=2)
    with pytest.raises(InfeasibleError, match=r"may hold 0 of group 'f'.*best reachable .* 0.49"):
        upper.rerank(range(10), sensitive_features=people(p))
    expected = PrefixConstraints(lower={"f": [0, 1]}, labels="expected", k=2)
    with pytest.raises(InfeasibleError, match=r"in expectation, .* expected count is 0.6"):
        expected.rerank(range(10), sensitive_features=people(p))


def test_the_closest_list_has_the_largest_chance():
    score, _, p = guessed(12, 5)
    rule = FAStarIR(p=0.8, protected="f", labels="chance", on_infeasible="best", k=6)
    with pytest.warns(EquirankWarning, match="cannot keep"):
        result = rule.rerank(score, sensitive_features=people(p))
    again = FAStarIR(p=0.8, protected="f", labels="chance", chance=result.report["chance"][0], k=6)
    assert again.rerank(score, sensitive_features=people(p)).holds
    again.set_params(chance=result.report["chance"][0] + 1e-6)
    with pytest.raises(InfeasibleError):
        again.rerank(score, sensitive_features=people(p))


def test_methods_with_a_queue_per_group_refuse_and_name_prefix_constraints():
    score, _, p = guessed(20)
    for rule in (DetGreedy({"f": 0.25, "m": 0.75}), DetConstSort({"f": 0.25, "m": 0.75})):
        with pytest.raises(
            DataError, match=r"PrefixConstraints\(lower=\{'f': 0.25, 'm': 0.75\}, labels='chance'\)"
        ):
            rule.rerank(score, sensitive_features=people(p))
    with pytest.raises(DataError, match=f"'f': {p.mean():.4f}"):
        DetGreedy().rerank(score, sensitive_features=people(p))
    table = np.random.default_rng(0).dirichlet(np.ones(3), size=20)
    several = {"g": [None] * 20} | {f"g[{name}]": table[:, at] for at, name in enumerate("abc")}
    with pytest.raises(DataError, match=r"FAStarIR with several.*lower=\{'a': 0.2, 'b': 0.3\}"):
        FAStarIR({"a": 0.2, "b": 0.3}, labels="chance").rerank(score, sensitive_features=several)


def test_known_labels_only_warns_that_probabilities_are_left_aside():
    score, _, p = guessed(20)
    with pytest.warns(
        EquirankWarning, match="uses known labels only.*its parameter labels can use them"
    ):
        FAStarIR(p=0.4, protected="f", on_infeasible="best").rerank(
            score, sensitive_features=people(p)
        )
    certain = np.where(np.arange(20) < 3, 1.0, p)
    with pytest.warns(EquirankWarning, match="RooneyRule uses known labels only and leaves"):
        RooneyRule(protected="f", k=3).rerank(score, sensitive_features=people(certain))
    with pytest.warns(EquirankWarning, match="chance of FAStarIR has no effect"):
        FAStarIR(chance=0.8).rerank(score, sensitive_features=["f", "m"] * 10)


def test_nothing_known_of_a_row_is_an_error():
    sex = ["f", "m", None, "f"]
    data = as_ranking_data(
        score=[4, 3, 2, 1], sensitive_features={"sex": sex}, missing_sensitive="unknown"
    )
    with pytest.raises(DataError, match=r"labels='chance' needs a label or probabilities .* row 2"):
        FAStarIR(p=0.5, protected="f", labels="chance")(data.ranking())


def test_recorded_labels_with_errors_become_probabilities():
    rng = np.random.default_rng(2)
    z = rng.random(400) < 0.4
    score = rng.normal(size=400) - 0.5 * z
    flip = rng.random(400) < 0.2
    data = as_ranking_data(
        score=score,
        qid=np.repeat(np.arange(8), 50),
        sensitive_features={"sex": np.where(z ^ flip, "f", "m")},
        label_error={"sex": LabelError([[0.8, 0.2], [0.2, 0.8]])},
    )
    rule = FAStarIR(p=0.4, protected="f", labels="chance", k=15)
    result = rule(data.ranking())
    assert result.holds
    assert "errors of recording, which were not checked" in result.bounds.words
    with pytest.raises(DataError, match="DetGreedy needs labels"):
        DetGreedy()(data.ranking())


def calibrated(p, z, score, rate=1.0, **more):
    rng = np.random.default_rng(6)
    seen = rng.random(len(p)) < rate
    verified = np.where(seen, np.where(z, "f", "m"), None)
    return as_ranking_data(
        score=score,
        qid=np.arange(len(p)) // 40,
        sensitive_features=people(p) | {"sex[true]": verified},
        checked_rate=rate,
        **more,
    )


def test_probabilities_that_ignore_the_score_are_reported():
    score, z, p = guessed(8000, 7)
    rule = FAStarIR(p=0.3, protected="f", labels="chance", k=10, on_infeasible="best")
    good = rule(calibrated(p, z, score, 0.5).ranking())
    assert np.abs(good.calibration["gap"]).max() < 0.08
    assert "probabilities" in good.bounds.words
    order = np.argsort(score)
    blind = np.full(8000, z.mean())  # the share of all, at every score
    with pytest.warns(EquirankWarning, match="not right at every score: in band (1|10) of 10"):
        bad = rule(calibrated(blind, z, score, 0.5).ranking())
    top = next(row for row in bad.calibration if row["band"] == 1 and row["group"] == "f")
    assert top["share"] == pytest.approx(z[order[-800:]].mean(), abs=0.05)
    assert top["probability"] == pytest.approx(z.mean())
    assert "off by" in bad.bounds.words


def test_known_labels_are_compared_with_guesses_of_others_in_the_band():
    score, z, p = guessed(6000, 8)
    known = np.random.default_rng(1).random(6000) < 0.5
    labels = np.where(known, np.where(z, "f", "m"), None)
    rule = FAStarIR(p=0.3, protected="f", labels="chance", k=10, on_infeasible="best")
    qid = np.arange(6000) // 40
    for guess, off in ((p, False), (np.full(6000, 0.9), True)):
        column = {"f": np.where(known, np.nan, guess), "m": np.where(known, np.nan, 1 - guess)}
        features = {"sex": labels} | {f"sex[{name}]": values for name, values in column.items()}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = rule.rerank(score, sensitive_features=features, qid=qid)
        assert any("not right at every score" in str(one.message) for one in caught) == off
        assert result.calibration is not None


def test_no_person_is_given_a_guessed_group():
    score, _, p = guessed(30)
    rule = FAStarIR(p=0.4, protected="f", labels="chance", k=12)
    result = rule.rerank(score, sensitive_features=people(p))
    assert set(result.moves["group"].tolist()) == {None}
    row = int(result.moves["row"][0])
    text = str(result.explain(row))
    assert "counts probabilities of groups" in text
    assert "(f)" not in text
    assert result.explain(row).facts["group"] is None
    measures = result.summary()["measure"].tolist()
    assert "expected share of f in the first 12" in measures
    assert "lists that keep the guarantee" in measures


def test_lists_of_different_lengths_empty_heads_and_positions_only():
    score, _, p = guessed(31, 9)
    qid = np.r_[0, np.repeat(1, 10), np.repeat(2, 20)]
    rule = FAStarIR(p=0.2, protected="f", labels="chance", k=15, on_infeasible="best")
    result = rule.rerank(score, sensitive_features=people(p), qid=qid)
    assert sorted(np.bincount(qid[result.position > 0]).tolist()) == [1, 10, 15]
    position = np.r_[1, np.arange(1, 11), np.arange(1, 21)]
    data = as_ranking_data(position=position, sensitive_features=people(p), qid=qid)
    assert rule(data.ranking()).holds_per_query.all()


@pytest.mark.parametrize("constraint", ["parity", "treatment", "impact"])
def test_expected_exposure_is_shared_and_the_realised_gap_has_the_stated_deviation(constraint):
    score, _, p = guessed(40, 10)
    merit = score - score.min() + 0.5
    rule = ExposureOptimal(constraint, labels="expected")
    shared = rule.rerank(merit, sensitive_features=people(p))
    assert shared.holds
    e = shared.policy().exposure()
    x = e * (merit if constraint == "impact" else 1.0)
    w = np.ones(40) if constraint == "parity" else merit / merit.mean()
    if constraint == "impact":
        w = merit
    gap = (p @ x) / (p @ w) - ((1 - p) @ x) / ((1 - p) @ w)
    assert gap == pytest.approx(0.0, abs=1e-9)
    z = np.random.default_rng(0).random((20_000, 40)) < p
    gaps = (z @ x) / (z @ w) - (~z @ x) / (~z @ w)
    sd = shared.report["gap_sd"][0]
    assert gaps.std() / sd == pytest.approx(1.0, abs=0.06)
    assert (np.abs(gaps) < 1.96 * sd).mean() > 0.9


def test_expected_exposure_of_three_groups_and_of_certain_ones():
    rng = np.random.default_rng(3)
    table = rng.dirichlet(np.ones(3), size=30)
    features = {"g": [None] * 30} | {f"g[{name}]": table[:, at] for at, name in enumerate("abc")}
    shared = ExposureOptimal(labels="expected").rerank(
        rng.normal(size=30), sensitive_features=features
    )
    means = (table.T @ shared.policy().exposure()) / table.sum(axis=0)
    np.testing.assert_allclose(means, means[0], atol=1e-9)
    assert shared.report["gap_sd"][0] > 0
    z = rng.random(20) < 0.5
    score = rng.normal(size=20)
    plain = ExposureOptimal().rerank(score, sensitive_features=np.where(z, "f", "m"))
    same = ExposureOptimal(labels="expected").rerank(
        score, sensitive_features=people(z.astype(float))
    )
    np.testing.assert_array_equal(plain.position, same.position)
    np.testing.assert_array_equal(plain.weights, same.weights)
    assert same.report["gap_sd"][0] == 0.0
    with pytest.warns(EquirankWarning, match="ExposureOptimal uses known labels only"):
        ExposureOptimal().rerank(score, sensitive_features=people(rng.random(20)))


def test_the_warning_names_groups_without_their_numpy_type():
    table = {"group": np.array(["f"]), "band": [1], "probability": [0.3], "share": [0.6]}
    table |= {"gap": np.array([0.3]), "error": np.array([0.01])}
    with pytest.warns(EquirankWarning, match="of group 'f' are not right at every score"):
        uncertain_groups._warn_of_bands(table)
