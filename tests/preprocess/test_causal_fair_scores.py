import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression

import equirank
from equirank import DataError
from equirank.preprocess import CausalFairScores

DAG = [
    ("sex", "test"),
    ("sex", "grade"),
    ("sex", "points"),
    ("test", "points"),
    ("grade", "points"),
    ("test", "grade"),
]


def clean(noise, groups, *causes):
    """Noise without any linear trace of the causes within each group: least squares is exact."""
    noise = noise.copy()
    for group in np.unique(groups):
        rows = groups == group
        design = np.column_stack([np.ones(rows.sum()), *(cause[rows] for cause in causes)])
        noise[rows] -= design @ np.linalg.lstsq(design, noise[rows], rcond=None)[0]
    return noise


def planted(n=200, seed=0):
    """A linear model with coefficients of each group's own, and its equations."""
    rng = np.random.default_rng(seed)
    sex = np.where(np.arange(n) % 3 == 0, "f", "m")
    male = (sex == "m").astype(float)
    e_test = clean(rng.normal(size=n), sex)
    test = 1.0 + 2.0 * male + e_test
    e_grade = clean(rng.normal(size=n), sex, test)
    grade = -1.0 + 0.5 * male + (0.3 + 0.2 * male) * test + e_grade
    e_points = clean(rng.normal(size=n), sex, test, grade)
    points = 0.5 + 1.0 * male + (0.7 - 0.4 * male) * test + (0.2 + 0.1 * male) * grade + e_points

    def world(male, resolving=()):
        t = test if "test" in resolving else 1.0 + 2.0 * male + e_test
        g = -1.0 + 0.5 * male + (0.3 + 0.2 * male) * t + e_grade
        g = grade if "grade" in resolving else g
        return (
            t,
            g,
            0.5 + male + (0.7 - 0.4 * male) * t + (0.2 + 0.1 * male) * g + e_points,
        )

    X = {"sex": sex, "test": test, "grade": grade, "points": points}
    return X, world


@pytest.mark.parametrize("resolving", [(), ("test",), ("grade",), ("test", "grade")], ids=str)
@pytest.mark.parametrize("reference", ["f", "m"])
def test_counterfactuals_of_a_linear_model_are_exact(resolving, reference):
    X, world = planted()
    model = CausalFairScores(DAG, resolving=list(resolving), reference=reference).fit(X)
    wanted = world(float(reference == "m"), resolving)
    table = model.counterfactuals(X)
    for name, column in zip(("test", "grade", "points"), wanted, strict=True):
        np.testing.assert_allclose(table[name], column, atol=1e-10)
    for name in resolving:
        np.testing.assert_array_equal(table[name], X[name])
    np.testing.assert_array_equal(model.transform(X)[:, 0], table["points"])
    own = X["sex"] == reference
    np.testing.assert_array_equal(table["points"][own], X["points"][own])


def test_without_a_reference_every_group_counts_the_same():
    X, world = planted()
    scores = CausalFairScores(DAG).fit_transform(X)[:, 0]
    np.testing.assert_allclose(scores, (world(0.0)[2] + world(1.0)[2]) / 2, atol=1e-10)


def test_coefficients_are_those_planted():
    X, _ = planted()
    equation = CausalFairScores(DAG).fit(X).equations_["points"]
    assert (equation["kind"], equation["by"], equation["groups"]) == ("linear", ["sex"], ["f", "m"])
    assert equation["causes"] == ["test", "grade"]
    np.testing.assert_allclose(equation["coef"], [[0.5, 0.7, 0.2], [1.5, 0.3, 0.3]], atol=1e-10)


def test_new_people_are_scored_by_the_equations_of_fit():
    X, world = planted()
    model = CausalFairScores(DAG, reference="m").fit(X)
    few = {name: column[:7] for name, column in X.items()}
    np.testing.assert_allclose(model.transform(few)[:, 0], world(1.0)[2][:7], atol=1e-10)
    lone = {name: column[:1] for name, column in X.items()}
    np.testing.assert_allclose(model.transform(lone)[0, 0], world(1.0)[2][0], atol=1e-10)


def test_every_kind_of_table_gives_the_same():
    import pandas as pd
    import polars as pl

    X, _ = planted()
    wanted = CausalFairScores(DAG, reference="m").fit_transform(X)
    for frame in (pd.DataFrame(X), pl.DataFrame(X)):
        np.testing.assert_array_equal(
            CausalFairScores(DAG, reference="m").fit_transform(frame), wanted
        )
    frame = pd.DataFrame(X)
    rest = frame[["test", "grade"]]
    model = CausalFairScores(DAG, reference="m")
    model.fit(rest, frame["points"], sensitive_features=frame[["sex"]])
    apart = model.transform(rest, sensitive_features=frame[["sex"]], y=frame["points"])
    np.testing.assert_array_equal(apart, wanted)


def intersectional(n=4000, seed=1):
    rng = np.random.default_rng(seed)
    sex, race = rng.choice(["f", "m"], n), rng.choice(["b", "w"], n)
    both = ((sex == "f") & (race == "b")).astype(float)
    test = rng.normal(size=n) - 1.0 * both  # only black women are held back
    points = test - 0.5 * both + rng.normal(size=n)
    X = {"sex": sex, "race": race, "test": test, "points": points}
    dag = [("sex", "test"), ("race", "test"), ("test", "points"), ("sex", "points")]
    return X, [*dag, ("race", "points")], both


def test_intersectional_groups_have_effects_of_their_own():
    X, dag, both = intersectional()
    reference = {"sex": "m", "race": "w"}
    model = CausalFairScores(dag, reference=reference).fit(X)
    gain = model.transform(X)[:, 0] - X["points"]
    assert gain[both == 1].mean() == pytest.approx(1.5, abs=0.2)
    assert gain[both == 0].mean() == pytest.approx(0.0, abs=0.12)
    table = model.effects(X, n_boot=0).groups
    assert sorted(set(table["group"])) == ["f & b", "f & w", "m & b"]
    assert len(model.combinations_) == 4


def mediated(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    male = (sex == "m").astype(float)
    test = 0.8 * male + rng.normal(size=n)
    job = 0.5 * male + rng.normal(size=n)
    points = 0.3 * male + 0.5 * test + 0.4 * job + rng.normal(size=n)
    dag = [("sex", "test"), ("sex", "job"), ("sex", "points"), ("test", "points")]
    return {"sex": sex, "test": test, "job": job, "points": points}, [*dag, ("job", "points")]


@pytest.mark.slow
def test_planted_effects_are_recovered_and_lie_in_their_intervals():
    X, dag = mediated()
    model = CausalFairScores(dag, resolving="job", reference="f").fit(X)
    found = model.effects(X, n_boot=60, random_state=1)
    truth = {"direct": 0.3, "indirect": 0.8 * 0.5, "resolved": 0.5 * 0.4}
    truth["total"] = sum(truth.values())
    for row in found.groups:
        assert (row["group"], row["reference"]) == ("m", "f")
        assert row["effect"] == pytest.approx(truth[row["part"]], abs=0.1)
        assert row["low"] <= truth[row["part"]] <= row["high"]
        assert row["low"] < row["effect"] < row["high"]
    effect = dict(zip(found.groups["part"], found.groups["effect"], strict=True))
    assert effect["total"] == pytest.approx(
        effect["direct"] + effect["indirect"] + effect["resolved"]
    )
    edges = {(row["cause"], row["effect"]): row for row in found.edges}
    wanted = {("sex", "test"): 0.8, ("sex", "job"): 0.5, ("sex", "points"): 0.3}
    wanted |= {("test", "points"): 0.5, ("job", "points"): 0.4}
    assert set(edges) == set(wanted)
    for edge, value in wanted.items():
        assert edges[edge]["low"] <= value <= edges[edge]["high"]
    assert edges["sex", "test"]["change"] == "m against f"
    again = model.effects(X, n_boot=60, random_state=1)
    np.testing.assert_array_equal(again.groups["low"], found.groups["low"])


def test_effects_of_a_reversed_reference_turn_their_sign_without_interaction():
    X, dag = mediated()
    kinds = {"regressor": LinearRegression()}  # one slope for all groups
    up = CausalFairScores(dag, reference="f", **kinds).fit(X).effects(X, n_boot=0)
    down = CausalFairScores(dag, reference="m", **kinds).fit(X).effects(X, n_boot=0)
    np.testing.assert_allclose(up.groups["effect"], -down.groups["effect"], atol=1e-10)
    assert np.isnan(up.groups["low"]).all()


def test_without_a_reference_effects_are_against_the_largest_group():
    X, _ = planted()
    assert set(CausalFairScores(DAG).fit(X).effects(X, n_boot=0).groups["reference"]) == {"m"}


def binary(n=6000, seed=0):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    luck = rng.random(n)
    chance = np.where(sex == "m", 0.7, 0.4)
    hired = np.where(luck < chance, 5.0, 3.0)  # two values, not 0 and 1
    points = hired + 0.1 * rng.normal(size=n)
    return {"sex": sex, "hired": hired, "points": points}, luck


def test_a_mediator_with_two_values_is_logistic_and_keeps_the_luck():
    X, luck = binary()
    model = CausalFairScores([("sex", "hired"), ("hired", "points")], reference="m").fit(X)
    assert model.equations_["hired"]["kind"] == "logistic"
    there = model.counterfactuals(X)["hired"]
    men = X["sex"] == "m"
    np.testing.assert_array_equal(there[men], X["hired"][men])
    women_in, women_out = ~men & (X["hired"] == 5), ~men & (X["hired"] == 3)
    np.testing.assert_allclose(there[women_in], 5.0)  # the chance grew, so nobody loses
    share = [np.mean(X["hired"][group] == 5) for group in (men, ~men)]
    gain = (share[0] - share[1]) / (1 - share[1])
    np.testing.assert_allclose(there[women_out], 3 + 2 * gain, atol=1e-6)
    truth = np.where(luck < 0.7, 5.0, 3.0)
    assert there[~men].mean() == pytest.approx(truth[~men].mean(), abs=0.05)
    back = CausalFairScores([("sex", "hired"), ("hired", "points")], reference="f").fit(X)
    lost = back.counterfactuals(X)["hired"][men & (X["hired"] == 5)]
    np.testing.assert_allclose(lost, 3 + 2 * share[1] / share[0], atol=1e-6)


def test_resampled_people_who_are_all_alike_do_no_harm():
    """A mediator with two values, one of them so rare that a sample may miss it."""
    X, _ = binary(60)
    X["hired"] = np.where(np.arange(60) == 7, 5.0, 3.0)
    model = CausalFairScores([("sex", "hired"), ("hired", "points")], reference="m").fit(X)
    found = model.effects(X, n_boot=30)
    assert np.isfinite(found.groups["low"]).all()
    assert np.isfinite(found.edges["high"]).all()


@pytest.mark.slow
def test_models_of_scikit_learn_can_be_plugged_in(tmp_path):
    X, _ = binary(800)
    dag = [("sex", "hired"), ("hired", "points")]
    plain = CausalFairScores(dag, reference="m").fit(X)
    plugged = CausalFairScores(
        dag,
        reference="m",
        regressor=LinearRegression(),
        classifier=LogisticRegression(C=1e9),
    ).fit(X)
    np.testing.assert_allclose(plugged.transform(X), plain.transform(X), atol=1e-3)
    boosted = CausalFairScores(
        dag, reference="m", classifier=GradientBoostingClassifier(n_estimators=5)
    ).fit(X)
    assert np.isfinite(boosted.transform(X)).all()
    assert plugged.effects(X, n_boot=3).groups["effect"][-1] > -2
    assert 0 < plugged.rank_test(X, n_boot=4).p_value <= 1
    with pytest.raises(DataError, match="cannot be saved"):
        plugged.save(tmp_path / "model")


@pytest.mark.slow
def test_the_causal_test_tells_a_fair_ranking_from_an_unfair_one():
    X, _ = planted(300)
    model = CausalFairScores(DAG, reference="m").fit(X)
    raw = model.rank_test(X, n_boot=49)
    assert raw.p_value == pytest.approx(0.02)
    assert raw.statistic > 0.05
    repaired = model.rank_test(X, model.transform(X), n_boot=49)
    assert repaired.statistic == pytest.approx(0, abs=1e-9)
    assert repaired.p_value == 1.0
    assert set(repaired.groups["group"]) == {"f", "m"}
    np.testing.assert_allclose(repaired.groups["mean"], 150.5)
    assert repaired.pairs["distance"].max() < 1e-9


def test_resolving_mediators_may_move_positions():
    rng = np.random.default_rng(1)
    sex = rng.choice(["f", "m"], 400)
    test = (sex == "m") + rng.normal(size=400)
    X = {"sex": sex, "test": test, "points": test + 0.5 * rng.normal(size=400)}
    dag = [("sex", "test"), ("test", "points")]
    closed = CausalFairScores(dag).fit(X).rank_test(X, n_boot=39)
    opened = CausalFairScores(dag, resolving="test").fit(X).rank_test(X, n_boot=39)
    assert closed.p_value < 0.05
    assert opened.p_value > 0.05


@pytest.mark.slow
def test_the_causal_test_keeps_its_level():
    """With no effect at all the p-value is not small more often than it should be."""
    small = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = {"sex": rng.choice(["f", "m"], 60), "points": rng.normal(size=60)}
        model = CausalFairScores([("sex", "points")]).fit(X)
        small += model.rank_test(X, n_boot=19, random_state=seed).p_value <= 0.1
    assert small <= 10


def test_positions_are_those_among_all_others():
    from equirank.preprocess.causal_effects import _positions

    X, _ = planted(30)
    model = CausalFairScores(DAG).fit(X)
    people = model._given(X, None, None)
    places = _positions(model._model(), people)
    for at, group in enumerate(("f", "m")):
        there = model.counterfactuals(X, group)["points"]
        for i in range(30):
            others = np.delete(X["points"], i)
            # one's own counterfactual equals one's own score up to rounding, and nobody else's
            ahead = (others > there[i] + 1e-9).sum()
            assert places[i, at] == 1 + ahead


def test_loading_gives_the_same_model_with_effects_and_test(tmp_path):
    X, dag = mediated(300)
    model = CausalFairScores(dag, resolving="job").fit(X)
    model.save(tmp_path / "model")
    back = equirank.load(tmp_path / "model")
    np.testing.assert_array_equal(back.transform(X), model.transform(X))
    assert repr(back.effects(X, n_boot=5)) == repr(model.effects(X, n_boot=5))


def test_the_ranking_carries_its_groups():
    X, _ = planted()
    ranking = CausalFairScores(DAG, reference="m").fit(X).rank(X)
    assert ranking.data.attribute("sex").categories == ("f", "m")
    assert len(ranking.order()) == 200


@pytest.mark.parametrize(
    ("change", "given", "message"),
    [
        (
            {"dag": [("sex", "tst"), ("tst", "points")]},
            {},
            "got 'tst'; did you mean 'test'",
        ),
        ({"dag": [("sex", "test"), ("test", "sex")]}, {}, "no cycle"),
        ({"protected": ["sex", "test"]}, {}, "'test' is protected and a mediator too"),
        ({"resolving": ["sex"]}, {}, "'sex' is protected"),
        ({"reference": "x"}, {}, r"one of the groups \['f', 'm'\] of sex, got 'x'"),
        ({"reference": {"race": "w"}}, {}, "a group of each of sex"),
        ({}, {"test": np.ones(200)}, "'test' has the value 1 only"),
        ({}, {"points": np.zeros(200)}, "'points' has the value 0 only"),
        ({}, {"sex": ["f"] * 200}, "sex must hold at least two groups"),
        ({}, {"sex": np.arange(200.0)}, "cut it into bins"),
        ({}, {"test": ["a"] * 200}, "test must be a number, got 'a' in row 0"),
        ({}, {"sex": ["f", "x"] + ["m"] * 198}, "group 'f' has 1 rows"),
    ],
    ids=str,
)
def test_bad_input(change, given, message):
    X, _ = planted()
    with pytest.raises(DataError, match=message):
        CausalFairScores(**({"dag": DAG} | change)).fit(X | given)


def test_bad_input_later():
    X, _ = planted()
    model = CausalFairScores(DAG, reference="m").fit(X)
    strange = X | {"sex": np.where(np.arange(200) == 4, "x", X["sex"])}
    with pytest.raises(DataError, match=r"groups \['f', 'm'\] seen in fit, got 'x' in row 4"):
        model.transform(strange)
    with pytest.raises(DataError, match="y_score must have one value per row"):
        model.rank_test(X, X["points"][:-1])
    with pytest.raises(DataError, match="n_boot"):
        model.effects(X, n_boot=-1)
    with pytest.raises(DataError, match="reference of counterfactuals must name a group"):
        CausalFairScores(DAG).fit(X).counterfactuals(X)
    X2, dag, _ = intersectional(400)
    with pytest.raises(DataError, match="a group of each of sex, race"):
        CausalFairScores(dag, reference="m").fit(X2)
