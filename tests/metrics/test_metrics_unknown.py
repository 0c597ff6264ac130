"""Metrics with unknown labels: positions are kept, and nobody is taken for a group or the rest."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from equirank import Ranking, as_ranking_data, evaluate
from equirank.core.attribute import Attribute
from equirank.core.errors import DataError
from equirank.core.metric import GroupMetric
from equirank.core.registry import public_classes
from equirank.metrics import (
    AWRF,
    NDCG,
    NDKL,
    RKL,
    RND,
    RRD,
    AdverseImpactRatio,
    CalibrationGap,
    DisparateImpact,
    DisparateTreatment,
    ExposureByGroup,
    ExposureGap,
    FAStarIRTest,
    GroupDisparity,
    IGFAggregated,
    IGFRatio,
    InfeasibleIndex,
    RecallGap,
    Skew,
    fa_star_ir_test,
    pairwise_accuracy_matrix,
    pairwise_profile,
)
from equirank.testing.strategies import ranked_lists

METRICS = public_classes(GroupMetric, ["equirank.metrics"])
#: Metrics of pairs, or of the list of known people alone: unknown rows may as well be absent.
OF_KNOWN = {
    "CrossGroupAUC",
    "GroupPairwiseAccuracy",
    "RankCalibrationError",
    "RankEqualityError",
    "RankParityError",
    "GroupBenefit",
    "FAStarIRTest",
}


def sample(seed=0, n_queries=5, length=14, groups="abc", unknown=0.3, ties=True):
    """Return data with unknown labels; the first list has none, the second only unknown ones."""
    rng = np.random.default_rng(seed)
    n = n_queries * length
    label = rng.choice(np.array(list(groups), dtype=object), n)
    label[rng.random(n) < unknown] = None
    label[:length] = np.resize(list(groups), length)
    label[length : 2 * length] = None
    y = rng.integers(1, 4, n)
    y[:6] = [1, 1, 1, 3, 3, 3]  # of every group
    return as_ranking_data(
        y=y,
        score=rng.integers(0, 9, n) if ties else rng.permutation(n),
        qid=np.repeat(np.arange(n_queries), length),
        sensitive_features=label,
        missing_sensitive="unknown",
    )


def turned(data):
    """Return the same groups, with categories and codes in reverse order."""
    (name, attribute), n = *data.sensitive.items(), len(data.attribute().categories)
    codes = np.where(attribute.codes < 0, -1, n - 1 - attribute.codes).astype(np.int32)
    return replace(data, sensitive={name: Attribute(codes, attribute.categories[::-1])})


def without_unknown(data):
    kept = data.select_items(np.flatnonzero(data.attribute().known))
    queries = np.searchsorted(data.qids, kept.qids)
    return kept, queries


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("k", [None, 4])
@pytest.mark.parametrize("name", sorted(METRICS))
def test_the_last_category_has_no_part_in_it(name, k, ties):
    cls = METRICS[name]
    if k is not None and not cls.takes_k:
        pytest.skip("takes no cutoff")
    data = sample(ties=ties)
    with np.errstate(all="raise"):
        for protected in (None, "a", "c"):
            options = {"step": 2} if "step" in cls.options() else {}
            options |= {"threshold": 2} if name == "CrossGroupAUC" else {}
            options |= {"smoothing": 1.0} if name == "Skew" else {}
            metric = cls(k=k, protected=protected, **options)
            if name == "RRD":
                metric = cls(k=k, protected="b", **options)
            here, there = (metric.per_query(d.ranking()) for d in (data, turned(data)))
            np.testing.assert_allclose(here.value, there.value, rtol=1e-12)
            by_label = dict(zip(there.labels, there.groups.T, strict=True))
            for label, column in zip(here.labels, here.groups.T, strict=True):
                np.testing.assert_allclose(column, by_label[label], rtol=1e-12)
            assert np.isnan(here.value[1])  # nobody's label is known
            assert not np.isnan(here.value[0])


@pytest.mark.parametrize("name", sorted(METRICS))
def test_lists_with_every_label_known_do_not_change(name):
    cls = METRICS[name]
    data, metric = sample(), cls(protected="a") if name == "RRD" else cls()
    metric = cls(threshold=2) if name == "CrossGroupAUC" else metric
    whole, alone = metric.per_query(data.ranking()), metric.per_query(data.select([0]).ranking())
    assert whole.value[0] == alone.value[0]


@pytest.mark.parametrize("name", sorted(METRICS))
def test_a_part_without_a_known_label_is_undefined(name):
    part = sample().select([1])
    with np.errstate(all="raise"):
        found = METRICS[name]().per_query(part.ranking())
    assert np.isnan(found.value).all()
    assert np.isnan(found.groups).all()
    with pytest.raises(DataError, match="must be a group with at least one row"):
        METRICS[name](protected="a").per_query(part.ranking())


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("name", sorted(OF_KNOWN))
def test_metrics_of_pairs_are_those_of_the_known_people(name, ties):
    cls, data = METRICS[name], sample(seed=1, ties=ties)
    kept, queries = without_unknown(data)
    for protected in (None, "b"):
        metric = cls(protected=protected)
        whole, alone = (metric.per_query(d.ranking()) for d in (data, kept))
        np.testing.assert_allclose(whole.value[queries], alone.value, rtol=1e-12)
        np.testing.assert_allclose(whole.groups[queries], alone.groups, rtol=1e-12)


# slow twins of the others, list by list and without ties: each person is (position, group, y)


def people_of(data, query):
    own = data.select([query])
    order = np.argsort(-own.score, kind="stable")
    labels = own.attribute().labels()
    return [(at + 1, labels[row], float(own.y[row])) for at, row in enumerate(order.tolist())]


def worst(values, lower):
    known = [v for v in values if v is not None]
    return None if not known else (max if lower else min)(known)


def sides(people, group):
    """Return the group and everyone else whose label is known."""
    inside = [p for p in people if p[1] == group]
    return inside, [p for p in people if p[1] is not None and p[1] != group]


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else None


def v(position, k=None):
    return 1 / np.log2(1 + position) if k is None or position <= k else 0.0


def exposure(people, group, k):
    return mean(v(p[0], k) for p in sides(people, group)[0])


def gap(people, group, k):
    both = [mean(v(p[0], k) for p in side) for side in sides(people, group)]
    return None if None in both else abs(both[0] - both[1])


def rate(people, group, k):
    return mean(float(p[0] <= (k or 99)) for p in sides(people, group)[0])


def impact(people, group, k, groups):
    rates = [r for r in (rate(people, g, k) for g in groups) if r is not None]
    own = rate(people, group, k)
    return None if own is None or len(rates) < 2 or max(rates) == 0 else own / max(rates)


def per_merit(side, k, clicks):
    merit = sum(p[2] for p in side)
    return sum(v(p[0], k) * (p[2] if clicks else 1) for p in side) / merit if merit else None


def treated(people, group, k, clicks=False):
    both = [per_merit(side, k, clicks) for side in sides(people, group)]
    return None if None in both or both[1] == 0 else both[0] / both[1]


def disparity(people, group, k):
    inside, rest = sides(people, group)
    both = [per_merit(side, k, False) for side in (inside, rest)]
    if None in both:
        return None
    merits = [mean(p[2] for p in side) for side in (inside, rest)]
    if abs(merits[0] - merits[1]) < 1e-12:
        return abs(both[0] - both[1])
    return max(0.0, (both[0] - both[1]) * (1 if merits[0] > merits[1] else -1))


def recall(people, group, k):
    both = [mean(float(p[0] <= (k or 99)) for p in s if p[2] >= 1) for s in sides(people, group)]
    return None if None in both else abs(both[0] - both[1])


def share(people, group):
    known = [p for p in people if p[1] is not None]
    return mean(float(p[1] == group) for p in known)


def differ(people, group, k, distance, step):
    """Return the raw sum of a prefix metric: weights of positions, shares of the known."""
    total, n = 0.0, len(people) if k is None else min(k, len(people))
    whole = share(people, group)
    for cut in range(step, n + 1, step):
        own = share(people[:cut], group)
        if own is not None and cut > 1:
            total += distance(own, whole) / np.log2(cut)
    return total


def orders(people, group):
    """Yield every order of the known people; the others keep their positions."""
    free = [at for at, p in enumerate(people) if p[1] is not None]
    size = sum(p[1] == group for p in people)
    for chosen in itertools.combinations(free, size):
        yield [
            (p[0], None if p[1] is None else (group if at in chosen else "other"), p[2])
            for at, p in enumerate(people)
        ]


def kl(own, whole):
    pairs = ((own, whole), (1 - own, 1 - whole))
    return sum(p * np.log2(p / q) for p, q in pairs if p > 0)


def odds(own, whole):
    return abs((own / (1 - own) if own < 1 - 1e-12 else 0.0) - whole / (1 - whole))


@pytest.mark.parametrize("k", [None, 5])
@pytest.mark.parametrize("seed", range(3))
def test_exposure_selection_and_merit_against_twins(seed, k):
    data = sample(seed=seed, ties=False, groups="ab" if seed else "abc")
    groups = data.attribute().categories
    twins = {
        ExposureByGroup: (exposure, False),
        ExposureGap: (gap, True),
        AdverseImpactRatio: (lambda p, g, k: impact(p, g, k, groups), False),
        DisparateTreatment: (treated, False),
        DisparateImpact: (lambda p, g, k: treated(p, g, k, clicks=True), False),
        GroupDisparity: (disparity, True),
        RecallGap: (recall, True),
    }
    for cls, (twin, lower) in twins.items():
        found = cls(k=k).per_query(data.ranking())
        for query in range(data.n_queries):
            people = people_of(data, query)
            wanted = worst([twin(people, group, k) for group in groups], lower)
            assert found.value[query] == pytest.approx(
                np.nan if wanted is None else wanted, nan_ok=True
            ), cls
            for group in groups:
                one = cls(k=k, protected=group).per_query(data.ranking()).value[query]
                expected = twin(people, group, k)
                assert one == pytest.approx(np.nan if expected is None else expected, nan_ok=True)


@pytest.mark.filterwarnings("ignore:RRD")
@pytest.mark.parametrize("k", [None, 7])
@pytest.mark.parametrize("seed", range(2))
def test_prefixes_against_twins_and_every_order(seed, k):
    data = sample(seed=seed, n_queries=4, length=9, groups="ab", ties=False)
    distances = {RND: lambda a, b: abs(a - b), RKL: kl, RRD: odds}
    for cls, distance in distances.items():
        for normalizer in ("none", "exact" if cls is RRD else "extremes", "exact"):
            metric = cls(k=k, step=2, protected="a", normalizer=normalizer)
            found = metric.per_query(data.ranking()).value
            for query in (0, 2, 3):
                people = people_of(data, query)
                value = differ(people, "a", k, distance, 2)
                if normalizer != "none":
                    value /= max(differ(o, "a", k, distance, 2) for o in orders(people, "a"))
                assert found[query] == pytest.approx(value), (cls, normalizer)
            assert np.isnan(found[1])


@pytest.mark.parametrize("k", [None, 6])
def test_shares_against_twins(k):
    data = sample(seed=5, ties=False)
    groups = data.attribute().categories
    values = {
        cls: cls(k=k).per_query(data.ranking()) for cls in (NDKL, InfeasibleIndex, AWRF, Skew)
    }
    for query in (0, 2, 3, 4):
        people = people_of(data, query)
        n = len(people) if k is None else k
        target = {g: share(people, g) for g in groups}
        heads = [people[:i] for i in range(1, n + 1)]
        pairs = [(i + 1, {g: share(h, g) for g in groups}) for i, h in enumerate(heads)]
        pairs = [(i, shares) for i, shares in pairs if shares["a"] is not None]
        top = sum(
            sum(s * np.log(s / target[g]) for g, s in shares.items() if s > 0) / np.log2(i + 1)
            for i, shares in pairs
        )
        wanted = top / sum(1 / np.log2(i + 1) for i, _ in pairs)
        assert values[NDKL].value[query] == pytest.approx(wanted)
        short = 0
        for head in heads:
            known = [p for p in head if p[1] is not None]
            short += any(
                sum(p[1] == g for p in known) < np.floor(len(known) * target[g] + 1e-9)
                for g in groups
            )
        assert values[InfeasibleIndex].value[query] == short
        drawn = {g: sum(v(p[0], k) for p in people if p[1] == g) for g in groups}
        gaps = [abs(drawn[g] / sum(drawn.values()) - target[g]) for g in groups]
        assert values[AWRF].value[query] == pytest.approx(max(gaps))
        last = {g: share(people[:n], g) for g in groups}
        skews = [np.log(last[g] / target[g]) for g in groups if last[g]]
        lowest = min(skews) if len(skews) == len(groups) else np.nan
        assert values[Skew].value[query] == pytest.approx(lowest, nan_ok=True)
    assert all(np.isnan(found.value[1]) for found in values.values())


def test_in_group_fairness_and_calibration_by_hand():
    data = as_ranking_data(
        y=[3.0, 1.0, 2.0, 4.0, 9.0, 5.0],
        score=[6, 5, 4, 3, 2, 1],
        sensitive_features=["a", None, "b", "a", None, "b"],
        missing_sensitive="unknown",
    )
    ratio = IGFRatio(k=3).per_query(data.ranking())
    assert ratio.groups.tolist() == [[3 / 4, 2 / 5]]
    aggregated = IGFAggregated(k=3).per_query(data.ranking())
    assert aggregated.groups.tolist() == [[3 / 7, 2 / 7]]
    bins = CalibrationGap(n_bins=2).per_query(data.ranking())  # 3 and 2 above, 4 and 5 below
    assert bins.value.tolist() == [1.0]


def test_fa_star_ir_counts_known_people():
    labels = ["m", None, "m", "m", None, "m", "f", "f", "m", "f"]
    data = as_ranking_data(
        score=range(10, 0, -1), sensitive_features=labels, missing_sensitive="unknown"
    )
    known = [label for label in labels if label]
    found = fa_star_ir_test(data.ranking(), None, protected="f", p=0.6, alpha=0.2)
    wanted = fa_star_ir_test(range(8, 0, -1), known, protected="f", p=0.6, alpha=0.2)
    assert found.p_value == wanted.p_value
    assert found.counts.tolist() == wanted.counts.tolist() == [0, 0, 0, 0, 1, 2, 2, 3]
    cut = fa_star_ir_test(data.ranking(), None, protected="f", p=0.6, k=6)
    assert len(cut.counts) == 4  # four of the first six are known


@pytest.mark.parametrize("ties", [False, True])
def test_fa_star_ir_of_many_lists_counts_known_people(ties):
    data = sample(seed=9, n_queries=40, unknown=0.5, ties=ties)
    kept, queries = without_unknown(data)
    metric = FAStarIRTest(alpha=0.3)
    whole, alone = (metric.per_query(d.ranking()) for d in (data, kept))
    np.testing.assert_array_equal(whole.groups[queries], alone.groups)
    assert {0.0, 1.0} <= set(whole.value.tolist())
    top = FAStarIRTest(alpha=0.3, k=5, protected="a").per_query(data.ranking()).value
    if not ties:
        for at in queries.tolist():
            labels = [p[1] for p in people_of(data, at) if p[1]]
            k = sum(p[1] is not None for p in people_of(data, at)[:5])
            share = labels.count("a") / len(labels)
            if 0 < share < 1 and k:
                given = {"protected": "a", "p": share, "alpha": 0.3, "k": k}
                wanted = fa_star_ir_test(range(len(labels), 0, -1), labels, **given).passed
                assert top[at] == wanted


def test_tables_of_pairs_leave_the_unknown_out():
    data = sample(seed=3)
    kept, _ = without_unknown(data)
    both = [pairwise_accuracy_matrix(None, d.ranking(), None) for d in (data, kept)]
    for column in ("better", "worse", "accuracy", "pairs"):
        assert both[0][column].tolist() == both[1][column].tolist()
    table = pairwise_profile("RankParityError", None, data.ranking(), None, window=6)
    turn = pairwise_profile("RankParityError", None, turned(data).ranking(), None, window=6)
    assert table["value"].tolist() == turn["value"].tolist()


def test_evaluation_by_group_leaves_the_unknown_out():
    data = sample(seed=2, ties=False)
    options = {"n_boot": 20, "n_permutations": 19, "random_state": 0, "by": "sensitive"}
    metrics = [NDCG(k=5), ExposureByGroup(), ExposureGap()]
    one, two = (evaluate(d.ranking(), metrics, **options) for d in (data, turned(data)))
    tables = [
        {(row["metric"], row["group"]): row["value"] for row in each.by_group}
        for each in (one, two)
    ]
    assert tables[0] == pytest.approx(tables[1])
    for group in "abc":
        found = [exposure(people_of(data, query), group, None) for query in range(data.n_queries)]
        wanted = np.mean([value for value in found if value is not None])
        assert tables[0]["ExposureByGroup", group] == pytest.approx(wanted)
    assert one["ExposureGap"] == two["ExposureGap"]
    together = {row["metric"]: row["value"] for row in one.overall}
    known = [[p for p in people_of(data, query) if p[1] is not None] for query in (0, 2, 3, 4)]
    wanted = np.mean([mean(v(p[0]) for p in people) for people in known])
    assert together["ExposureByGroup"] == pytest.approx(wanted)


def test_evaluation_within_strata_leaves_the_unknown_of_both_out():
    groups = {"sex": ["f", "m", "f", None, "m", "f"], "race": ["x", None, "y", "x", "y", "y"]}
    data = as_ranking_data(
        score=range(6, 0, -1), sensitive_features=groups, missing_sensitive="unknown"
    )
    options = {"n_boot": 0, "n_permutations": 0, "by": "sex", "control": "race"}
    found = evaluate(data.ranking(), ExposureByGroup(by="sex"), **options)
    table = {(row["control"], row["group"]): row["value"] for row in found.by_group}
    assert table["x", "f"] == v(1)
    assert table["y", "f"] == pytest.approx((v(3) + v(6)) / 2)
    assert table["y", "m"] == v(5)
    assert np.isnan(table["x", "m"])
    whole = {row["control"]: row["value"] for row in found.overall}
    assert whole == pytest.approx({"x": v(1), "y": (v(3) + v(5) + v(6)) / 3})


def test_shuffles_leave_the_unknown_where_they_are():
    from equirank.core.inference import PermutationPlan

    data = sample(seed=4)
    codes = data.attribute().codes
    plan = PermutationPlan(data, codes, None, 50)
    for queries, drawn in plan.draws(0):
        rows = slice(*data.offsets[[queries.start, queries.stop]].tolist())
        assert ((drawn < 0) == (codes[rows] < 0)).all()
        assert (np.sort(drawn[:, :14]) == np.sort(codes[rows][:14])).all()
    small = as_ranking_data(
        score=[4, 3, 2, 1],
        sensitive_features=["a", None, "b", "b"],
        missing_sensitive="unknown",
    )
    exact = PermutationPlan(small, small.attribute().codes, None, 50)
    ((_, every),) = exact.draws(0)
    assert sorted(map(tuple, every.tolist())) == [(0, -1, 1, 1), (1, -1, 0, 1), (1, -1, 1, 0)]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:RRD")
@settings(max_examples=15)
@given(ranked_lists(groups=("a", "b", None), grades=(1, 2, 3)))
def test_any_list_with_unknown_labels(data):
    for cls in METRICS.values():
        metric = cls(step=2) if "step" in cls.options() else cls()
        here, there = (metric.per_query(d.ranking()) for d in (data, turned(data)))
        np.testing.assert_allclose(here.value, there.value, rtol=1e-9, atol=1e-12)
        low, high = metric.bounds
        known = here.value[~np.isnan(here.value)]
        assert ((known >= low - 1e-9) & (known <= high + 1e-9)).all(), metric


def test_a_crossing_without_a_known_row_is_refused():
    groups = {"sex": ["f", None, "m"], "race": [None, "x", None]}
    data = as_ranking_data(score=[3, 2, 1], sensitive_features=groups, missing_sensitive="unknown")
    with pytest.raises(DataError, match="unknown in every row"):
        ExposureGap(by=("sex", "race")).per_query(data.ranking())


def test_a_missing_category_is_never_the_reference():
    data = as_ranking_data(
        score=[6, 5, 4, 3, 2, 1],
        sensitive_features=[None, "m", "f", "m", "f", "f"],
        missing_sensitive="category",
    )
    rates = AdverseImpactRatio(k=3).selection(data.ranking())
    assert rates.groups == ("f", "m", "(missing)")
    np.testing.assert_allclose(rates.ratio[0], [2 / 3, 1.0, 2.0])
    assert AdverseImpactRatio(k=3).per_query(data.ranking()).value == pytest.approx(2 / 3)


def test_draws_and_hidden_rows():
    data = sample(seed=6, ties=False)
    rng = np.random.default_rng(0)
    draws = np.stack([data.to_original(data.ranking().position)] * 2, axis=1)
    draws[:, 1] = data.n_rows  # refilled list by list
    for begin in range(0, data.n_rows, 14):
        draws[begin : begin + 14, 1] = rng.permutation(14) + 1
    draws[draws > 11] = 0
    both = [Ranking.from_positions(d, draws) for d in (data, turned(data))]
    for name, cls in METRICS.items():
        metric = cls(protected="a") if name == "RRD" else cls()
        one, two = (metric.per_query(ranking).value for ranking in both)
        np.testing.assert_allclose(one, two, rtol=1e-12, err_msg=name)
