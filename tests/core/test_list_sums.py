"""Sums over lists: columns against the metrics, moments against enumeration, merging, files."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from equirank import DataError, Ranking, as_ranking_data
from equirank.auditing.measures import GroupTotals, list_differences
from equirank.core import sums_views
from equirank.core.block_columns import prefix_grid
from equirank.core.evaluation import Result
from equirank.core.group_columns import group_columns
from equirank.core.list_keys import list_keys
from equirank.core.list_sums import ListSums
from equirank.core.metric import measure, permuted
from equirank.core.outcomes import DecisionRule
from equirank.core.shuffles import shuffle_labels
from equirank.core.summed_lists import Before, _planned, list_columns, sum_data, sum_lists
from equirank.core.sums_plan import SumsPlan, Survey
from equirank.core.sums_views import margins_of
from equirank.metrics import (
    RND,
    DisparateTreatment,
    ExposureGap,
    GroupPairwiseAccuracy,
    pairwise_accuracy_matrix,
)


def made(seed=0, lists=40, ties=True, unknown=0.0, hidden=False, grades=4, extra=None):
    """Made-up lists of 1 to 30 people with two attributes."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 31, lists)
    n = int(sizes.sum())
    query = np.repeat(np.arange(lists), sizes)
    score = rng.normal(size=n)
    score = np.round(2 * score) if ties else score
    sex, race = (
        rng.choice(["f", "m"], n).astype(object),
        rng.choice(["a", "b", "c"], n, p=[0.7, 0.2, 0.1]),
    )
    race = race.astype(object)
    sex[rng.random(n) < unknown] = None
    race[rng.random(n) < unknown] = None
    y = rng.integers(0, grades, n) if grades <= 30 else rng.random(n)
    rng.permutation(n)
    data = as_ranking_data(
        y=y, qid=query, score=score, sensitive_features={"sex": sex, "race": race},
        missing_sensitive="unknown", outcomes=extra,
    )  # fmt: skip
    if not hidden:
        return data
    ranks = [np.argsort(np.argsort(-score[query == q])) + 1 for q in range(lists)]
    position = np.concatenate(ranks)
    position[position > 12] = 0
    return as_ranking_data(
        y=y, qid=query, position=position, sensitive_features={"sex": sex, "race": race},
        missing_sensitive="unknown",
    )  # fmt: skip


SHAPES = [
    {},
    {"ties": False},
    {"unknown": 0.2},
    {"hidden": True, "ties": False},
    {"unknown": 0.3, "hidden": True, "ties": False},
    {"grades": 100},
]
GAPS = {
    "ExposureGap": ExposureGap,
    "DisparateTreatment": DisparateTreatment,
    "GroupPairwiseAccuracy": GroupPairwiseAccuracy,
}


def plan_of(data, **options):
    return SumsPlan.of(Survey.of(data), **options)


def crossed(data):
    """Give intersections all combinations of groups, as in the plan."""
    data.keep_crossing(("sex", "race"), tuple(f"{s} & {r}" for s in "fm" for r in "abc"))
    return data


@pytest.mark.parametrize("shape", SHAPES)
def test_columns_are_the_metrics_of_each_list(shape):
    data = crossed(made(**shape))
    plan = plan_of(data)
    found = list_columns(data, plan)
    ranking = data.ranking()
    for at, key in enumerate(plan.keys):
        by = key[0] if len(key) == 1 else key
        metric = GroupTotals(by=by, ks=plan.ks)
        values = measure([metric], ranking)[0]
        mine = slice(*plan.first[at : at + 2])
        table = np.moveaxis(values.groups.reshape(data.n_queries, 7 + len(plan.ks), -1), 1, 2)
        np.testing.assert_allclose(found["totals"][:, mine], table, atol=1e-12)
        result = Result(metric, values, None, None, np.nan, None)
        claims = found["claims"][:, mine]
        mine_d = np.where(claims[:, :, 0] > 0, claims[:, :, 3], np.nan)
        np.testing.assert_allclose(mine_d, list_differences(result), atol=1e-12)
    for at, (name, key, group) in enumerate(plan.targets):
        by = key[0] if len(key) == 1 else key
        kind = GAPS.get(name)
        metric = RND(by=by, protected=group, step=plan.step)
        metric = metric if kind is None else kind(by=by, protected=group)
        values = measure([metric], ranking)[0].value
        value, defined = found["gaps"][:, at, 0], found["gaps"][:, at, 1] > 0
        np.testing.assert_allclose(np.where(defined, value, np.nan), values, atol=1e-12)


@pytest.mark.parametrize("n", [6, 12, 18, 24, 30, 42])
def test_a_cut_through_the_whole_list_has_no_prefix_gap(n):
    rng = np.random.default_rng(n)
    data = as_ranking_data(
        score=rng.normal(size=9 * n),
        qid=np.repeat(np.arange(9), n),
        sensitive_features={"race": rng.choice(list("abc"), 9 * n)},
    )
    plan = replace(SumsPlan.of(Survey.of(data)), step=n)
    worst = list_columns(data, plan)["gaps"][:, plan.targets.index(("RND", ("race",), None))]
    assert np.isnan(measure([RND(by="race", step=n)], data.ranking())[0].value).all()
    assert not worst[:, 1].any()


@pytest.mark.parametrize("shape", SHAPES)
def test_comparisons_are_those_of_shuffled_labels(shape):
    data = crossed(made(**shape))
    plan = plan_of(data)
    sums = sum_data(data, plan)
    codes = np.stack([a.codes for a in data.sensitive.values()], axis=1)
    vectors, inverse = np.unique(codes, axis=0, return_inverse=True)
    pattern = np.unique(codes < 0, axis=0, return_inverse=True)[1].reshape(-1)
    ranking = data.ranking()
    from equirank.core.order_values import expected_positions, list_shares

    sizes = np.diff(data.offsets)
    position = expected_positions(ranking)
    exposure = list_shares(ranking) * np.repeat(sizes, sizes)
    top = [ranking.expect(lambda p, k=k: (p <= k).astype(float)) for k in plan.ks]
    for at, key in enumerate(plan.keys):
        attribute = data.attribute(key[0] if len(key) == 1 else key)
        labels = [attribute.codes[inverse.reshape(-1) == v][0] for v in range(len(vectors))]
        known = attribute.known
        count = np.bincount(data.query_of_rows(), known, data.n_queries)
        chance = expected_positions(ranking, known) / np.maximum(count, 1)[data.query_of_rows()]
        values = np.stack([position, chance, exposure, *top], axis=1)
        sides = np.stack(
            [
                np.where(np.array(labels) < 0, -1, np.array(labels) == g)
                for g in range(plan.sizes[at])
            ]
        )
        expected = shuffle_labels(
            data.query_of_rows(), pattern, inverse.reshape(-1), sides, values,
            np.array([True, True] + [False] * (1 + len(top))), 0, 0,
        )  # fmt: skip
        mine = slice(*plan.first[at : at + 2])
        claims = sums.sums["claims"][:, mine].sum(axis=0)
        lists = np.maximum(claims[:, 0], 1)
        scale = np.stack([lists, lists] + [np.ones_like(lists)] * (1 + len(top)), axis=1)
        total = [claims[:, 3], claims[:, 4], claims[:, 5] - claims[:, 6]]
        for j in range(len(top)):
            total.append(claims[:, 9 + 4 * j] - sums.sums["decided"][j, mine, 3])
        np.testing.assert_allclose(np.stack(total, axis=1) / scale, expected.total, atol=1e-10)
        np.testing.assert_allclose(sums.sums["mean"][mine] / scale, expected.mean, atol=1e-10)
        own = sums.sums["covariance"][mine, :, mine]
        variance = np.einsum("gjgj->gj", own)
        np.testing.assert_allclose(np.sqrt(variance) / scale, expected.deviation, atol=1e-9)


def compositions(n):
    """Every tie pattern of n slots, as the sizes of its blocks."""
    if n == 0:
        return [()]
    return [(size, *rest) for size in range(1, n + 1) for rest in compositions(n - size)]


def distinct_orders(labels):
    return sorted(set(permutations(labels)))


def moments(lists, pattern, cross=False):
    """Lists with given labels and tie pattern: columns, and the sums over them."""
    n = sum(pattern)
    score = np.repeat(-np.arange(len(pattern)), pattern)
    codes = np.array(lists)
    features = {"race": codes.ravel()} if not cross else cross(codes)
    data = as_ranking_data(
        qid=np.repeat(np.arange(len(lists)), n), score=np.tile(score, len(lists)),
        sensitive_features=features,
    )  # fmt: skip
    plan = plan_of(data, k=2)
    return list_columns(data, plan), sum_data(data, plan)


@pytest.mark.slow
@pytest.mark.parametrize(
    "n", [2, 3, 4, 5, *(pytest.param(n, marks=pytest.mark.gate) for n in (6, 7))]
)
def test_moments_are_those_of_all_arrangements(n):
    for pattern in compositions(n):
        for m in range(1, n):
            lists = distinct_orders("a" * m + "b" * (n - m))
            columns, sums = moments(lists, pattern)
            for j, column in enumerate((3, None, None, 9)):
                parts = columns["claims"][:, 0, 3] if column == 3 else None
                if j == 2:
                    parts = columns["claims"][:, 0, 5] - columns["claims"][:, 0, 6]
                elif j == 3:
                    parts = columns["claims"][:, 0, 9] - m / n * 2
                if parts is None:
                    continue
                covariance = sums.sums["covariance"][0, j, 0, j] / len(lists)
                third = sums.sums["third"][0, 0, j] / len(lists)
                fourth = sums.sums["fourth"][0, 0, j] / len(lists)
                second = (parts**2).mean()
                assert abs(parts.mean()) < 1e-12
                assert covariance == pytest.approx(second, abs=1e-12)
                assert third == pytest.approx((parts**3).mean(), abs=1e-11)
                assert fourth == pytest.approx((parts**4).mean() - 3 * second**2, abs=1e-10)


@pytest.mark.parametrize("pattern", [(1, 1, 1, 1, 1), (2, 1, 2), (1, 3, 1), (5,), (4, 1)])
def test_covariances_are_those_of_all_arrangements(pattern):
    people = [("f", "a"), ("f", "b"), ("m", "a"), ("m", "c"), ("m", "c")]
    lists = sorted(set(permutations(people)))
    n = len(pattern) and sum(pattern)
    data = as_ranking_data(
        qid=np.repeat(np.arange(len(lists)), n),
        score=np.tile(np.repeat(-np.arange(len(pattern)), pattern), len(lists)),
        sensitive_features={
            "sex": [p[0] for each in lists for p in each],
            "race": [p[1] for each in lists for p in each],
        },
    )
    plan = plan_of(data, k=2)
    claims, sums = list_columns(data, plan)["claims"], sum_data(data, plan)
    totals = list_columns(data, plan)["totals"]
    share = totals[:, :, 2] / n
    parts = np.stack(
        [claims[:, :, 3], claims[:, :, 4], claims[:, :, 5] - claims[:, :, 6],
         claims[:, :, 9] - share * 2 * (claims[:, :, 0] > 0)], axis=2,
    ).reshape(len(lists), -1)  # fmt: skip
    expected = parts.T @ parts / len(lists)
    found = sums.sums["covariance"].reshape(len(expected), -1) / len(lists)
    group = np.repeat(np.arange(plan.n_groups), 4)
    lower = group[:, None] >= group[None, :]
    np.testing.assert_allclose(found[lower], expected[lower], atol=1e-12)
    assert (found[~lower] == 0).all()


@pytest.mark.parametrize("shape", [{}, {"unknown": 0.2}, {"grades": 100}])
def test_differences_given_relevance_and_given_another_attribute(shape):
    from equirank.auditing.audit_plan import make_plan
    from equirank.auditing.given_claims import given_relevance
    from equirank.auditing.people import find_people, known_codes, make_values
    from equirank.core.outcomes import DecisionRule

    data = crossed(made(lists=60, **shape))
    plan = plan_of(data)
    sums = sum_data(data, plan).sums
    settings = {"level": 0.95, "n_boot": 10, "n_permutations": 0, "seed": 0}
    rows = make_plan(data.ranking(), protected=None, rule=DecisionRule(), cross=True, **settings)
    wanted = [(" x ".join(key), group) for key, group in plan.group_names]
    people = find_people(rows, wanted)
    values = make_values(rows.ranking, rows.decisions, people)
    for d, given in enumerate(plan.designs[1:]):
        if given == "relevance":
            stratum, columns = given_relevance(rows, people, values)
        else:
            stratum, columns = (
                known_codes(next(a for a in rows.audited if a.name == given)),
                values.columns,
            )
        cells = people.pattern * (int(stratum.max()) + 2) + stratum + 1
        for g, (key, _) in enumerate(plan.group_names):
            if given in key or (given != "relevance" and len(key) > 1):
                continue
            chance = values.at(f"chance {people.mask_index(people.partitions[g])}")
            found = shuffle_labels(
                people.query, cells, people.vectors, people.sides[[g]],
                columns[:, [values.at("position"), chance]], np.array([True, True]), 0, 0,
            )  # fmt: skip
            lists = sums["claims"][:, g, 0].sum()
            adjusted = sums["adjusted"][:, d, g].sum(axis=0) / lists
            np.testing.assert_allclose(adjusted, (found.total - found.mean)[0], atol=1e-10)
            own = np.sqrt(np.diagonal(sums["given_covariance"][d, g, :, g])) / lists
            np.testing.assert_allclose(own, found.deviation[0], atol=1e-9)


@pytest.mark.slow
def test_sums_do_not_depend_on_how_lists_are_distributed():
    data = made(3, lists=90, unknown=0.1)
    plan = plan_of(data, metrics=["RKL(step=3)"])
    whole = sum_data(data, plan)
    rng = np.random.default_rng(1)
    home = rng.integers(0, 7, data.n_queries)
    parts = []
    for part in range(7):
        lists = np.flatnonzero(home == part)
        rows = np.concatenate([np.arange(*data.offsets[q : q + 2]) for q in rng.permutation(lists)])
        rows = rows[rng.permutation(len(rows))]  # rows of a list in any order, lists mixed
        people = {name: a.labels()[rows] for name, a in data.sensitive.items()}
        parts.append(
            sum_lists(
                as_ranking_data(
                    y=data.y[rows], qid=data.query_of_rows()[rows], score=data.score[rows],
                    sensitive_features=people, missing_sensitive="unknown",
                ),
                plan,
            )
        )  # fmt: skip
    merged = ListSums.total(parts[::-1])
    for name, values in whole.sums.items():
        scale = max(1.0, np.abs(values).max())
        np.testing.assert_allclose(merged.sums[name], values, atol=1e-12 * scale)
    assert merged.people == whole.people
    assert merged.check(Survey.of(data)) is merged
    for name in ("kept", "rare"):
        a, b = getattr(whole, name), getattr(merged, name)
        assert a.labels.tolist() == b.labels.tolist()
        assert (np.sort(a.columns["score"]) == np.sort(b.columns["score"])).all()
    for a, b in zip(whole.extremes, merged.extremes, strict=True):
        assert a.labels.tolist() == b.labels.tolist()
        np.testing.assert_allclose(a.differences, b.differences, atol=1e-12)


@pytest.mark.slow
def test_twins_are_relabellings_and_draws_do_not_depend_on_neighbours():
    data = made(5, lists=8, ties=True, unknown=0.2)
    plan = plan_of(data)
    assert plan.n_twins == 99
    gaps = list_columns(data, plan)["gaps"]
    again = list_columns(data.select([4]), plan)["gaps"]
    np.testing.assert_array_equal(gaps[4], again[0])
    # means over twins agree with those over other relabellings of the same lists
    rng = np.random.default_rng(0)
    ranking, codes = data.ranking(), data.attribute("race").codes
    cell = data.query_of_rows() * 4 + (codes < 0) + 2 * (data.attribute("sex").codes < 0)
    labels = np.empty((2000, data.n_rows), dtype=np.int64)
    for draw in range(len(labels)):
        key = np.lexsort((rng.random(data.n_rows), cell))
        labels[draw, np.argsort(cell, kind="stable")] = codes[key]
    whole = slice(0, data.n_queries)
    for name, kind in {**GAPS, "RND": RND}.items():
        metric = kind(by="race", step=plan.step) if name == "RND" else kind(by="race")
        draws = permuted(metric, ranking, whole, "race", labels).value
        at = plan.targets.index((name, ("race",), None))
        tested = gaps[:, at, 4] > 0
        twins = (gaps[:, at, 0] - gaps[:, at, 2])[tested]
        draws = draws[:, tested]
        error = np.nanstd(draws, axis=0) * np.sqrt(1 / 50 + 1 / 2000) + 1e-9
        assert (np.abs(twins - np.nanmean(draws, axis=0)) < 5 * error).all()


def test_pairs_and_prefixes():
    data = made(2, lists=30, unknown=0.2)
    plan = plan_of(data)
    sums = sum_data(data, plan).sums
    table = pairwise_accuracy_matrix(None, data.ranking(), None, by="race")
    first, labels = int(plan.first[1]), list("abc")
    for row in table:
        g = first + labels.index(row["better"])
        found = sums["pairs_with_others"][g]
        if row["worse"] != "(others)":
            found = sums["pairs"][g, first + labels.index(row["worse"])]
        assert found[0] / found[1] == pytest.approx(row["accuracy"], abs=1e-12)
        assert found[1:].tolist() == [row["queries"], row["pairs"]]
    grid = prefix_grid()
    assert grid[:61].tolist() == [*range(1, 62)]
    assert (np.diff(grid) > 0).all()
    assert grid[-1] <= 20_000
    k = 5
    slots = data.ranking().slots()
    shares = []
    for q in np.flatnonzero(np.diff(data.offsets) >= k):
        part = slots.block(slice(q, q + 1))
        codes = data.attribute("race").codes[part.order]
        weight = part.expect((np.arange(31) < k).astype(float))
        known = weight[codes >= 0].sum()
        if known > 0:
            shares.append(weight[codes == 1].sum() / known)
    assert sums["prefix_groups"][first + 1, k - 1, 0] == pytest.approx(sum(shares))
    assert sums["prefix_keys"][1, k - 1, 0] == len(shares)


def test_a_group_that_only_one_side_has():
    one = as_ranking_data(score=[3, 2, 1], qid=[1, 1, 1], sensitive_features={"race": list("aab")})
    two = as_ranking_data(
        score=[5, 4, 3, 2, 1], qid=[2, 2, 2, 3, 3], sensitive_features={"race": list("cabca")}
    )
    both = as_ranking_data(
        score=[3, 2, 1, 5, 4, 3, 2, 1], qid=[1, 1, 1, 2, 2, 2, 3, 3],
        sensitive_features={"race": list("aabcabca")},
    )  # fmt: skip
    plan = plan_of(both, k=1)
    later = sum_data(two, plan_of(two, k=1)).regrouped
    merged = sum_data(one, plan_of(one, k=1)) + sum_data(two, plan_of(two, k=1))
    assert merged.plan.groups == {"race": ("a", "b", "c")}
    whole = sum_data(both, plan)
    for name in ("totals", "claims", "covariance", "lengths", "prefix_groups", "third"):
        np.testing.assert_allclose(merged.sums[name], whole.sums[name], atol=1e-12)
    values = [0, 1]  # value and whether it is defined; the relabellings are those of fewer groups
    np.testing.assert_allclose(
        merged.sums["gaps"][..., values], whole.sums["gaps"][..., values], atol=1e-12
    )
    assert later is not None
    assert merged.people == whole.people


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    ("others", "cross"), [(4, True), pytest.param(150, False, marks=pytest.mark.gate)]
)
def test_groups_that_no_list_has_change_nothing(shape, others, cross):
    """With 150 further groups of each, label vectors are too many for a table."""
    data = made(**shape)
    plan = plan_of(data, cross=cross)
    more = tuple(f"x{at}" for at in range(others))
    wide = replace(plan, groups={name: (*labels, *more) for name, labels in plan.groups.items()})
    found, wanted = sum_data(data, wide), sum_data(data, plan).regrouped(wide)
    for name, sums in wanted.sums.items():
        if name not in ("gaps", "pairs", "pairs_with_others"):  # not measured of so many groups
            np.testing.assert_allclose(found.sums[name], sums, atol=1e-11, err_msg=name)


def test_later_days_take_over_the_plan():
    first = sum_data(made(7, lists=20), k=3)
    day = as_ranking_data(
        score=np.arange(80), qid=np.repeat([1, 2], 40), y=np.tile([0, 3], 40),
        sensitive_features={"sex": list("fx") * 40, "race": list("aabb") * 20},
    )  # fmt: skip
    second = sum_data(day, like=first)
    assert second.plan.ks == (3,)
    assert second.plan.step == first.plan.step
    week = first + second
    assert week.plan.groups["sex"] == ("f", "m", "x")
    assert week.n_lists == 22
    with pytest.raises(DataError, match="k must not be given beside a plan"):
        sum_data(day, like=first, k=5)
    other = as_ranking_data(score=[2, 1], y=[0, 1], sensitive_features={"sex": ["f", "m"]})
    with pytest.raises(DataError, match=r"attributes of the plan \('sex', 'race'\)|attributes of"):
        sum_data(other, like=first)


@pytest.mark.slow
def test_saved_sums_are_the_same(tmp_path):
    data = made(4, lists=25, unknown=0.1)
    sums = sum_data(data)
    sums.save(tmp_path / "day.sums")
    loaded = ListSums.load(tmp_path / "day.sums")
    assert all(np.array_equal(loaded.sums[name], sums.sums[name]) for name in sums.sums)
    assert loaded.plan.to_json() == sums.plan.to_json()
    assert loaded.people == sums.people
    assert loaded.complete
    assert (
        loaded.kept.to_data(sums.plan).fingerprint() == sums.kept.to_data(sums.plan).fingerprint()
    )
    twice = loaded + sums
    assert twice.n_lists == 2 * sums.n_lists  # lists of one label in two sums stay two lists
    with pytest.raises(DataError, match="new or empty folder"):
        sums.save(tmp_path / "day.sums")


def test_sums_that_cannot_be_added_or_made():
    data = made(1, lists=12)
    sums = sum_data(data)
    with pytest.raises(DataError, match="step differs"):
        sums + sum_data(data, replace(sums.plan, step=7))
    with pytest.raises(DataError, match="39 rows were surveyed, 202 were measured"):
        sums.check(Survey.of(data.select([1, 2])))
    other = as_ranking_data(
        score=[2, 1], sensitive_features={"sex": ["x", "f"], "race": ["a", "a"]}, y=[0, 1]
    )
    with pytest.raises(DataError, match="sex must have one of the groups of the plan, got 'x'"):
        sum_lists(other, sums.plan)
    high = as_ranking_data(
        score=[2, 1], sensitive_features={"sex": ["m", "f"], "race": ["a", "a"]}, y=[0, 9]
    )
    with pytest.raises(DataError, match="one of the grades of the survey, got 9 in row 1"):
        sum_lists(high, sums.plan)
    draws = Ranking.from_positions(
        data.select([0]), np.stack([np.arange(1, len(data.select([0])) + 1)] * 2, axis=1)
    )
    with pytest.raises(DataError, match="one draw, got 2 draws"):
        sum_lists(draws, sums.plan)
    whole = plan_of(data, metrics=["IndividualAmortisedAttention"])  # from rows, as all are kept
    assert "IndividualAmortisedAttention" not in whole.metrics
    many = replace(Survey.of(data), lengths={10: 2049})
    with pytest.raises(DataError, match="is no mean over lists"):
        SumsPlan.of(many, metrics=["IndividualAmortisedAttention"])


def test_samples_have_bounds(monkeypatch):
    from equirank.core import list_samples, list_sums

    monkeypatch.setattr(list_samples, "MOST_LISTS", 10)
    monkeypatch.setattr(list_samples, "MOST_EXTREME", 5)
    monkeypatch.setattr(list_sums, "MOST_RARE", 4)
    data = made(6, lists=40)
    sums = sum_data(data)
    assert not sums.complete
    assert sums.kept.n_lists == 10
    assert sums.kept.keys.tolist() == sorted(list_keys(data.qids).tolist())[:10]
    assert len(sums.extremes[0].keys) == 5
    lists = sums.sums["totals"][:, :, 1].sum(axis=0)
    assert sums.rare.n_lists <= 4 * (lists <= 4).sum()
    monkeypatch.setattr(list_samples, "MOST_ROWS", 1)
    assert sum_data(data).kept.n_lists == 1


def test_the_most_unequal_lists_are_found_among_many():
    """All of up to 2,000 lists; of more, those as unequal as the 500th from the end."""
    from equirank.core.list_samples import most_unequal

    assert most_unequal(np.arange(2000.0)).tolist() == list(range(2000))
    assert most_unequal(np.arange(2001.0)).tolist() == list(range(1501, 2001))


@pytest.mark.slow
def test_counts_of_decided_lists_are_kept_while_they_are_few(monkeypatch, tmp_path):
    rng = np.random.default_rng(3)
    sizes = rng.integers(2, 7, 60)
    n = int(sizes.sum())
    hired, race = rng.integers(0, 2, n), rng.choice(list("ab"), n)
    query = np.repeat(np.arange(60), sizes)

    def data(rows, extra=()):
        return as_ranking_data(
            qid=query[rows], score=rng.normal(size=len(rows)), outcomes={"hired": hired[rows]},
            sensitive_features={"race": np.where(np.isin(query[rows], extra), "0", race[rows])},
        )  # fmt: skip

    rows = np.arange(n)
    early, late = data(rows[query < 30]), data(rows[query >= 30], extra=[40])
    rule = DecisionRule(selected="hired")
    first = sum_data(early, rule=rule)
    second = sum_data(late, like=first)
    (first + second).save(tmp_path / "both.sums")
    both = ListSums.load(tmp_path / "both.sums")
    assert both.plan.group_names[1][1] == "a"  # behind the new group
    wanted = []
    for q in range(60):
        mine, other = (race[query == q] == "a"), (race[query == q] != "a")
        if mine.any() and other.any() and q != 40:
            picked = hired[query == q]
            wanted.append((picked[mine].sum(), mine.sum(), picked[other].sum(), other.sum()))
    found = margins_of(both.sums, 0, 1)
    assert sorted(map(tuple, found.T.astype(int).tolist())) == sorted(wanted)
    assert margins_of(both.sums, 0, 0) is None  # all of its only list
    monkeypatch.setattr(sums_views, "MOST_MARGINS", 12)
    again = sum_data(early, rule=rule) + sum_data(late, like=first)
    assert margins_of(again.sums, 0, 1) is None
    assert margins_of((again + again).sums, 0, 1) is None


def test_a_plan_compares_changes_if_both_rankings_have_the_same_people():
    data = made(lists=12)
    data = replace(data, ids=np.arange(data.n_rows))
    ranking, plan = data.ranking(), sum_data(data).plan
    other = Ranking.from_scores(data, -data.score)
    before, changed = Before.paired(ranking, other, plan)
    assert (before.refused, plan.changed, changed.changed, changed.cut) == ("", False, True, None)
    assert Before.paired(ranking, other, changed)[1] is changed
    assert Before.paired(ranking, other, replace(plan, changed=True, cut=5))[1].cut is None
    others = replace(data.select(np.arange(12) >= 0), ids=data.ids + 1).ranking()
    refused, unchanged = Before.paired(ranking, others, changed)
    assert refused.refused
    assert not unchanged.changed


def test_costs_are_kept_if_a_metric_reads_them():
    data = made(lists=12)
    data = replace(data, cost=np.linspace(1, 2, data.n_rows))
    for name, needed in (("NDCG@5", False), ("CostNDCG@5", True)):
        plan = sum_data(data, metrics=[name]).plan
        codes = np.stack([data.sensitive[each].codes for each in plan.groups], axis=1)
        assert (_planned(data.ranking(), plan, codes).data.cost is not None) == needed


def test_a_split_of_a_quotient_of_sums_has_columns_for_both_sums():
    for name, parts in (("NDCG@5", [0, 0, 0, 1, 1, 1]), ("DCG@5", [0, 0, 0])):
        plan = SumsPlan.of(Survey({"sex": ("f", "m")}, {10: 5}), metrics=[name], by="sex")
        assert [column.part for column in group_columns(plan)] == parts
        assert [column.group for column in group_columns(plan)] == ["f", "m", None] * len({*parts})
