"""evaluate and Evaluation: against the plain functions, by hand, and by simulation."""

import json
import math

import numpy as np
import pytest

import equirank
from equirank import DataError, Ranking, as_ranking_data, evaluate
from equirank import metrics as m
from equirank.core import inference
from equirank.core.metric import permuted
from equirank.core.query_values import difference, ratio
from equirank.core.random import generator


def make(n_queries=30, n_items=20, seed=0, shift=0.0, ties=False):
    rng = np.random.default_rng(seed)
    n = n_queries * n_items
    sex = rng.choice(["f", "m"], n)
    age = rng.choice(["old", "young"], n)
    score = rng.normal(size=n) - shift * (sex == "f")
    return {
        "y": rng.integers(0, 4, n),
        "qid": rng.permutation(np.repeat(np.arange(n_queries), n_items)),
        "score": score.round(1) if ties else score,
        "sensitive_features": {"sex": sex, "age": age},
    }


def data(**kwargs):
    return as_ranking_data(None, **make(**kwargs))


ALL = (
    "NDCG@10, AveragePrecision, Precision@5, ERR, AUC, RND(by='sex', step=5), ExposureGap(by='sex')"
)


@pytest.mark.parametrize("ties", [False, True])
def test_values_are_those_of_the_functions(ties):
    given = make(ties=ties)
    result = evaluate(as_ranking_data(None, **given), ALL, n_boot=0, n_permutations=0)
    y, s, q = given["y"], given["score"], given["qid"]
    sex = given["sensitive_features"]["sex"]
    assert result["NDCG@10"] == pytest.approx(m.ndcg(y, s, qid=q, k=10))
    assert result[m.AveragePrecision()] == pytest.approx(m.average_precision(y, s, qid=q))
    assert result["ERR"] == pytest.approx(m.err(y, s, qid=q))
    assert result['RND(by="sex", step=5)'] == pytest.approx(m.rnd(s, sex, qid=q, step=5))
    per_query = m.auc(y, s, qid=q, per_query=True)
    assert np.allclose(result.per_query("AUC"), per_query)
    assert result.qids.tolist() == list(dict.fromkeys(q.tolist()))


def test_replicates_are_means_over_resampled_queries():
    values = data()
    one = evaluate(values, "NDCG@10", n_boot=300, random_state=4)
    two = evaluate(values, "NDCG@10", n_boot=300, random_state=4)
    other = evaluate(values, "NDCG@10", n_boot=300, random_state=5)
    drawn = one.results[0].replicates
    assert np.array_equal(drawn, two.results[0].replicates)
    assert not np.array_equal(drawn, other.results[0].replicates)
    per_query = one.per_query("NDCG@10")
    assert drawn.std() == pytest.approx(per_query.std() / math.sqrt(len(per_query)), rel=0.15)
    row = next(iter(one.summary()))
    assert row["low"] < row["value"] < row["high"]


def test_intervals_do_not_depend_on_the_other_metrics():
    values = data()
    alone = evaluate(values, "AUC", n_boot=200).results[0].replicates
    beside = evaluate(values, "NDCG@10, AUC", n_boot=200).results[1].replicates
    assert np.array_equal(alone, beside)


def test_items_of_a_single_list_are_resampled_within_groups():
    """A replicate is the list with each row repeated as drawn, group sizes kept."""
    values = data(n_queries=1, n_items=60, ties=True)
    result = evaluate(values, "NDCG@10, RND(by='sex', step=5)", n_boot=50, random_state=1)
    rng = equirank.core.random.generator(1, 0)
    sex = values.sensitive["sex"].codes
    counts = equirank.kernels.resampling.stratified_counts(rng, 50, sex)
    for at in (0, 17, 49):
        rows = np.repeat(np.arange(60), counts[at])
        copy = as_ranking_data(
            None, values.y[rows], score=values.score[rows], sensitive_features=sex[rows]
        )
        assert (np.bincount(copy.sensitive["sensitive"].codes) == np.bincount(sex)).all()
        ndcg = (m.NDCG @ 10).per_query(Ranking.from_scores(copy)).value[0]
        rnd = m.RND(step=5).per_query(Ranking.from_scores(copy)).value[0]
        assert result.results[0].replicates[at] == pytest.approx(ndcg)
        assert result.results[1].replicates[at] == pytest.approx(rnd)


@pytest.mark.parametrize(
    ("metrics", "split"),
    [
        ("RND(by='sex', step=5), RND(by='age', step=5)", {}),
        ("NDCG@10, ExposureGap(by='sex')", {"by": "age"}),
        ("NDCG@10", {"by": "sex", "control": "age"}),
    ],
)
def test_items_of_a_single_list_are_resampled_within_all_groups_compared(
    monkeypatch, metrics, split
):
    """Each replicate has as many rows of each sex and age as the list."""
    values = data(n_queries=1, n_items=60)
    drawn = []

    def counts_of(rng, n_boot, strata, draw=inference.item_counts):
        for counts in draw(rng, n_boot, strata):
            drawn.extend(counts)
            yield counts

    monkeypatch.setattr(inference, "item_counts", counts_of)
    evaluate(values, metrics, **split, n_boot=30, n_permutations=0)
    sex, age = (values.sensitive[name].codes for name in ("sex", "age"))
    cell = 2 * sex + age
    assert len(drawn) == 30
    for counts in drawn:
        assert np.bincount(cell, counts).tolist() == np.bincount(cell).tolist()
    assert len({tuple(counts) for counts in drawn}) == 30


@pytest.mark.parametrize("ties", [False, True])
def test_resampled_slots_of_a_list_without_ties_need_no_blocks(ties):
    """Copies of a row are equal in relevance and group: tied or in sequence, nothing changes."""
    values = data(n_queries=1, n_items=30, ties=ties)
    counts = equirank.kernels.resampling.bootstrap_counts(np.random.default_rng(0), 20, 30)
    slots = values.ranking().slots()
    for metric in (m.NDCG(k=7), m.AveragePrecision(), m.ERR(), m.ReciprocalRank(), m.AUC()):
        plain = metric.values(slots.resampled(counts)).value
        tied = metric.values(slots.resampled(counts, copies_tied=True)).value
        assert np.allclose(plain, tied, equal_nan=True)
    for metric in (m.RND(by="sex", step=3), m.RKL(by="sex", step=4)):
        plain = metric.values(slots.resampled(counts)).value
        tied = metric.values(slots.resampled(counts, copies_tied=True)).value
        assert np.allclose(plain, tied, equal_nan=True)


def test_permutation_p_values_see_a_planted_bias_and_not_its_absence():
    fair = evaluate(data(), "ExposureGap(by='sex'), RND(by='sex', step=5)", n_boot=0)
    biased = evaluate(data(shift=0.8), "ExposureGap(by='sex'), RND(by='sex', step=5)", n_boot=0)
    assert all(result.p_value > 0.05 for result in fair.results)
    assert all(result.p_value < 0.01 for result in biased.results)


def test_permutation_p_of_a_small_list_is_exact():
    values = as_ranking_data(None, score=[5, 4, 3, 2, 1], sensitive_features=list("aabbb"))
    result = evaluate(values, "ExposureGap", n_boot=0).results[0]
    # of the C(5, 2) arrangements only the observed one has so large a gap
    assert result.p_value == pytest.approx(1 / 10)


def test_a_worst_group_metric_where_higher_is_better_is_tested_downwards():
    biased = evaluate(data(shift=0.8), "ExposureByGroup(by='sex')", n_boot=0)
    assert biased.results[0].p_value < 0.01


def test_by_group_against_a_slow_twin():
    given = make(n_queries=4, n_items=12, ties=True)
    values = as_ranking_data(None, **given)
    result = evaluate(values, "DCG@5, Recall@5, AverageRank", by="sex", n_boot=50)
    table = {(row["metric"], row["group"]): row["value"] for row in result.by_group}
    place = np.empty(48)
    ranking = values.ranking()
    first, last = (values.to_original(a) for a in (ranking.position, ranking.last))
    for group in "fm":
        dcgs, recalls, ranks = [], [], []
        for query in range(4):
            rows = [
                i
                for i in range(48)
                if given["qid"][i] == query and given["sensitive_features"]["sex"][i] == group
            ]
            y = [int(given["y"][i]) for i in rows]
            blocks = [range(int(first[i]), int(last[i]) + 1) for i in rows]
            gain = [
                (2**g - 1) * np.mean([1 / math.log2(1 + j) if j <= 5 else 0.0 for j in block])
                for g, block in zip(y, blocks, strict=True)
            ]
            inside = [np.mean([j <= 5 for j in block]) for block in blocks]
            relevant = sum(g >= 1 for g in y)
            dcgs.append(sum(gain))
            recalls.append(sum(p * (g >= 1) for p, g in zip(inside, y, strict=True)) / relevant)
            ranks.append(
                sum(g * np.mean(list(block)) for g, block in zip(y, blocks, strict=True)) / sum(y)
            )
        assert table["DCG@5", group] == pytest.approx(np.mean(dcgs))
        assert table["Recall@5", group] == pytest.approx(np.mean(recalls))
        assert table["AverageRank", group] == pytest.approx(np.mean(ranks))
    assert place.size == 48


def ndcg_sums(rows, k):
    """A group's DCG as ranked and in the ideal order of the list; rows are (score, y, in group)."""

    def total(key):
        found = 0.0
        for row in rows:
            above = sum(key(other) > key(row) for other in rows)
            tied = sum(key(other) == key(row) for other in rows)
            places = range(above + 1, above + tied + 1)
            weight = sum(1 / math.log2(1 + j) for j in places if j <= k) / tied
            found += (2 ** row[1] - 1) * weight * row[2]
        return found

    return total(lambda row: row[0]), total(lambda row: row[1])


def test_ndcg_by_group_is_a_ratio_of_sums_over_lists():
    given = make(n_queries=5, n_items=14, ties=True)
    result = evaluate(as_ranking_data(None, **given), "NDCG@6", by="sex", n_boot=60)
    columns = [given["qid"], given["score"], given["y"], given["sensitive_features"]["sex"]]
    rows = list(zip(*(np.asarray(column).tolist() for column in columns), strict=True))
    sums = {}
    for group in ("f", "m", "fm"):
        lists = [
            [(s, y, sex in group) for q, s, y, sex in rows if q == query]
            for query in result.qids.tolist()
        ]
        sums[group] = np.array([ndcg_sums(one, 6) for one in lists])
    value = {name: table[:, 0].sum() / table[:, 1].sum() for name, table in sums.items()}
    assert result.by_group["value"].tolist() == pytest.approx([value["f"], value["m"]])
    assert result.overall["value"].tolist() == pytest.approx([value["fm"]])
    assert (np.asarray(result.by_group["low"]) <= result.by_group["value"]).all()
    assert (np.asarray(result.by_group["value"]) <= result.by_group["high"]).all()
    counts = np.concatenate(list(inference.query_counts(generator(0, 0), 60, 5)))
    for at, group in enumerate("fm"):
        drawn = (counts @ sums[group])[:, 0] / (counts @ sums[group])[:, 1]
        assert result.results[0].split.replicates[:, 0, at] == pytest.approx(drawn)


@pytest.mark.parametrize("metric", ["NDCG", "NDCG@5", "NDCG(gain='linear')@20"])
def test_a_perfect_order_has_ndcg_1_in_every_group(metric):
    """It was 0.857 and 0.666 for groups of a coin flip, because it depended on their size."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 5, 300)
    sex = {"sex": np.where(rng.random(300) < 0.2, "f", "m")}
    values = as_ranking_data(None, y, qid=np.arange(300) % 10, score=y, sensitive_features=sex)
    result = evaluate(values, metric, by="sex", n_boot=30)
    assert result.by_group["value"].tolist() == pytest.approx([1.0, 1.0])
    one = as_ranking_data(None, y, score=y, sensitive_features=sex)
    result = evaluate(one, metric, by="sex", n_boot=30)
    assert result.by_group["value"].tolist() == pytest.approx([1.0, 1.0])
    assert result.by_group["low"].tolist() == pytest.approx([1.0, 1.0])
    assert next(iter(result.difference()))["p_value"] == 1.0


def test_ndcg_by_group_of_a_lottery_hardly_depends_on_the_size_of_the_group():
    rng = np.random.default_rng(0)
    y, qid = rng.integers(0, 5, 26 * 1500), np.repeat(np.arange(1500), 26)
    means, sums = [], []
    for share in (0.2, 0.5):
        sex = np.where(rng.random(len(y)) < share, "f", "m")
        values = as_ranking_data(
            None, y, qid=qid, score=rng.random(len(y)), sensitive_features={"sex": sex}
        )
        slots = values.ranking().slots()
        per_list = m.NDCG().split(slots, slots.groups("sex")[0], 2)
        means.append(np.nanmean(per_list[:, 0]))
        result = evaluate(values, "NDCG", by="sex", n_boot=0, n_permutations=0)
        sums.append(next(iter(result.by_group))["value"])
    assert means == pytest.approx([0.81, 0.73], abs=0.015)
    assert sums == pytest.approx([0.72, 0.71], abs=0.015)
    assert abs(sums[0] - sums[1]) < 0.01 < means[0] - means[1]


def test_comparisons_of_groups():
    result = evaluate(data(shift=0.5), "Recall@5", by="sex", n_boot=200)
    value = {row["group"]: row["value"] for row in result.by_group}
    whole = next(iter(result.overall))["value"]
    assert whole == pytest.approx(result["Recall@5"])
    row = next(iter(result.difference()))
    assert row["value"] == pytest.approx(value["m"] - value["f"])
    assert row["low"] <= row["value"] <= row["high"]
    assert row["p_value"] < 0.01
    to_whole = next(iter(result.difference("to_overall")))["value"]
    assert to_whole == pytest.approx(max(abs(v - whole) for v in value.values()))
    assert next(iter(result.ratio()))["value"] == pytest.approx(value["f"] / value["m"])
    quotient = next(iter(result.ratio("to_overall")))["value"]
    assert quotient == pytest.approx(min(value["f"] / whole, whole / value["m"]))
    low, high = next(iter(result.group_min())), next(iter(result.group_max()))
    assert (low["group"], high["group"]) == ("f", "m")
    assert (low["value"], high["value"]) == (value["f"], value["m"])
    with pytest.raises(DataError, match="between_groups"):
        result.difference("sideways")


def test_crossed_groups_and_control_strata():
    values = data(shift=0.5)
    crossed = evaluate(values, "Precision@5", by=("sex", "age"), n_boot=0, n_permutations=0)
    assert set(crossed.by_group["group"]) == {"f & old", "f & young", "m & old", "m & young"}
    slots = values.ranking().slots()
    parts = m.Precision(k=5).split(slots, values.cross("sex", "age").codes[slots.order], 4)
    assert np.allclose(np.nansum(parts, axis=1), crossed.per_query("Precision@5"))
    assert np.allclose(np.nanmean(parts, axis=0), crossed.by_group["value"])
    inside = evaluate(values, "Recall@5", by="sex", control="age", n_boot=100)
    table = inside.difference()
    assert list(table["control"]) == ["old", "young"]
    assert (np.asarray(table["p_value"]) < 0.05).all()
    groups = {(r["control"], r["group"]): r["value"] for r in inside.by_group}
    one = as_ranking_data(None, **make(shift=0.5))
    slots = one.ranking().slots()
    cell = one.cross("age", "sex")
    twin = m.Recall(k=5).split(slots, cell.codes[slots.order], 4)
    for at, name in enumerate(cell.categories):
        assert groups[tuple(name.split(" & "))] == pytest.approx(np.nanmean(twin[:, at]))


def test_draws_of_a_policy_average():
    """Two equal items and a fair coin: the gap of the expected exposures is 0, of a draw 0.37."""
    values = as_ranking_data(None, [1, 0], qid=["a", "a"], sensitive_features=["f", "m"])
    coin = Ranking.from_positions(values, [[1, 2], [2, 1]])
    result = evaluate(coin, "ExposureGap, NDCG, RND(step=2, normalizer='none')", n_boot=0)
    assert result["ExposureGap"] == 0.0
    assert result["NDCG"] == pytest.approx((1 + 1 / math.log2(3)) / 2)
    named = as_ranking_data(None, [2, 1], qid=["a", "a"], sensitive_features={"sex": ["f", "m"]})
    coin = Ranking.from_positions(named, [[1, 2], [2, 1]])
    by_group = evaluate(coin, "NDCG", by="sex", n_boot=0).by_group["value"].tolist()
    half = (1 + 1 / math.log2(3)) / 2
    assert by_group == pytest.approx([half, half * math.log2(3)])
    weighted = Ranking.from_positions(values, [[1, 2], [2, 1]], weights=[3, 1])
    gap = evaluate(weighted, "ExposureGap", n_boot=0)["ExposureGap"]
    assert gap == pytest.approx((1 - 1 / math.log2(3)) / 2)


def test_skipped_queries_are_counted_and_noted():
    values = as_ranking_data(None, [1, 0, 0, 0], qid=[1, 1, 2, 2], score=[1, 2, 3, 4])
    result = evaluate(values, "NDCG, Precision@1", n_boot=10)
    rows = list(result.summary())
    assert [row["skipped"] for row in rows] == [1, 0]
    assert [row["queries"] for row in rows] == [1, 2]
    assert result.notes == ["NDCG: 1 of 2 queries are skipped, where no item is relevant"]
    assert "note: NDCG" in repr(result)


def test_versus_another_evaluation():
    values = data(n_queries=40)
    good = Ranking.from_scores(values, values.to_original(values.y + 0.0))
    noise = np.random.default_rng(0).normal(size=values.n_rows)
    some = Ranking.from_scores(values, values.to_original(values.y + 2 * noise))
    best, worse = (evaluate(r, "NDCG@10, AUC", n_boot=0) for r in (good, some))
    table = best.versus(worse)
    assert list(table["metric"]) == ["NDCG@10", "AUC"]
    assert (table["difference"] > 0).all()
    assert (table["p_random"] < 0.01).all()
    assert (table["p_t_holm"] >= table["p_t"]).all()
    assert (table["low"] > 0).all()
    same = best.versus(best)
    assert (same["p_random"] == 1).all()
    assert (same["p_t_holm"] == 1).all()


def test_versus_matches_queries_by_label_and_skips_undefined():
    one = as_ranking_data(None, [1, 0, 0, 1, 0, 0], qid=list("aabbcc"), score=[1, 2, 3, 4, 5, 6])
    two = as_ranking_data(None, [0, 1, 1, 0], qid=list("bbaa"), score=[9, 1, 1, 9])
    row = next(iter(evaluate(one, "NDCG").versus(evaluate(two, "NDCG"))))
    assert row["queries"] == 2
    assert row["value"] == pytest.approx((1 / math.log2(3) + 1) / 2)
    assert row["other"] == pytest.approx(1 / math.log2(3))
    stranger = as_ranking_data(None, [1, 0], qid=["x", "x"], score=[1, 2])
    with pytest.raises(DataError, match="shares none"):
        evaluate(one, "NDCG").versus(evaluate(stranger, "NDCG"))
    with pytest.raises(DataError, match="one of the metrics NDCG"):
        evaluate(one, "NDCG").versus(evaluate(two, "AUC"))


def test_what_comes_out():
    result = evaluate(data(), "NDCG@10, ExposureGap(by='sex')", by="sex", n_boot=20)
    document = json.loads(result.to_json())
    assert document["schema_version"] == 1
    assert {"summary", "by_group", "difference", "notes"} <= set(document)
    assert document["summary"][0]["p_value"] is None
    frame = result.to_frame("pandas")
    assert list(frame.columns) == ["metric", "query", "group", "value"]
    assert len(frame) == 30 * (1 + 3)
    assert "by group" in repr(result)
    page = result._repr_html_()
    assert page.count("<table>") == 3


def test_a_result_is_found_by_any_spelling_and_has_one_name():
    data = as_ranking_data(None, [1, 0, 3], score=[0.1, 0.9, 0.5])
    result = evaluate(data, "map, ndcg_cut_2, NDCG@2", n_boot=0)
    assert result.metrics == ["AveragePrecision", 'NDCG(gain="linear")@2', "NDCG@2"]
    assert result["MAP"] == result["AveragePrecision"] == result["average_precision"]
    assert result.per_query("ndcg_2") == result["NDCG@2"] != result["ndcg_cut_2"]
    with pytest.raises(DataError, match=r"must be one of AveragePrecision, .* got 'MRR'"):
        result["MRR"]


def test_hostile_names_are_escaped_in_html():
    values = as_ranking_data(None, score=[1, 2], sensitive_features={"<script>": ["<b>x</b>", "y"]})
    page = evaluate(values, "ExposureGap", n_boot=0)._repr_html_()
    assert "<b>" not in page
    assert "&lt;b&gt;" in page


@pytest.mark.parametrize(
    ("metrics", "options", "words"),
    [
        ("NDCG@10, NDCG@10", {}, "named twice"),
        ("", {}, "at least one metric"),
        ("NDGC@10", {}, "did you mean 'NDCG'"),
        ("RND(setp=5)", {}, "no option 'setp'; did you mean 'step'"),
        ("RND", {}, "by must name one of the attributes 'sex', 'age'"),
        ("RND(by='sxe')", {}, "did you mean 'sex'"),
        ("RND(by='sex', protected='female')", {}, "protected must be one of the groups 'f', 'm'"),
        ("AUC", {"by": "sex"}, "a sum over items"),
        ("NDCG", {"control": "age"}, "by must be given"),
        ("NDCG", {"n_boot": -1}, "n_boot of evaluate must be an integer >= 0, got -1"),
        ("NDCG", {"level": 95}, r"level of evaluate must be a number in \(0, 1\), got 95"),
        ([3], {}, "metrics must be metrics or their names, got 3"),
    ],
)
def test_bad_input_is_said_clearly(metrics, options, words):
    with pytest.raises(DataError, match=words):
        evaluate(data(), metrics, **options)


def test_a_metric_that_needs_what_the_data_lacks():
    bare = as_ranking_data(None, score=[1, 2])
    with pytest.raises(DataError, match=r"NDCG needs relevance \(y\), which the data lacks"):
        evaluate(bare, "NDCG")
    with pytest.raises(DataError, match=r"RND needs groups \(sensitive_features\)"):
        evaluate(bare, "RND")
    with pytest.raises(DataError, match="score or position must be given"):
        evaluate(as_ranking_data(None, [1, 0]), "NDCG")
    with pytest.raises(DataError, match="as_ranking_data makes one"):
        evaluate([1, 2, 3], "NDCG")


def test_an_empty_group_after_filtering_is_said():
    values = as_ranking_data(
        None, qid=[1, 1, 2], score=[1, 2, 3], sensitive_features=["f", "m", "m"]
    )
    with pytest.raises(DataError, match="'f' has none here"):
        evaluate(values.select([1]), "RND(protected='f')")


def test_a_query_of_one_item_is_named_when_asked():
    values = as_ranking_data(None, [1, 0, 1], qid=["a", "a", "b"], score=[1, 2, 3])
    with pytest.raises(DataError, match=r"AUC.* is undefined for query 'b' \(row 2\)"):
        evaluate(values, "AUC(undefined='raise')")
    assert evaluate(values, "AUC", n_boot=0).results[0].n_skipped == 1


def test_permuted_groups_of_a_later_block_go_to_its_own_rows():
    values = data(n_queries=5, n_items=8)
    ranking = values.ranking()
    rows = slice(int(values.offsets[2]), int(values.offsets[4]))
    codes = values.sensitive["sex"].codes[rows]
    labels = np.stack([codes, 1 - codes])
    metric = m.ExposureGap(by="sex", protected="f")
    drawn = permuted(metric, ranking, slice(2, 4), "sex", labels)
    whole = metric.per_query(ranking)
    assert np.allclose(drawn.value[0], whole.value[2:4])
    assert np.allclose(drawn.groups[1], whole.groups[2:4, ::-1])


def test_the_ratio_to_the_whole_looks_both_ways():
    table = np.array([[0.9, 2.0, 1.0]])  # two groups and the whole
    assert ratio(table, "to_overall").tolist() == [0.5]
    assert ratio(np.array([[0.4, 2.0, 1.0]]), "to_overall").tolist() == [0.4]
    assert difference(table, "to_overall").tolist() == [1.0]
    assert np.isnan(difference(np.array([[0.9, np.nan, 1.0]]), "between_groups")).all()


def test_versus_leaves_out_what_is_undefined_on_either_side():
    one = as_ranking_data(None, [1, 0, 1, 0], qid=list("aabb"), score=[2, 1, 1, 2])
    two = as_ranking_data(None, [1, 0, 0, 0], qid=list("aabb"), score=[1, 2, 1, 2])
    for first, second in ((one, two), (two, one)):
        row = next(iter(evaluate(first, "NDCG").versus(evaluate(second, "NDCG"))))
        assert row["queries"] == 1
        assert not math.isnan(row["difference"])


def test_a_result_keeps_the_draws_of_its_test():
    data = as_ranking_data(score=[5, 4, 3, 2, 1], sensitive_features=list("aabbb"))
    result = evaluate(data, "ExposureGap", n_boot=0).results[0]
    assert result.null.shape == (10,)  # all arrangements
    assert result.p_value == (result.null >= result.summary[0] - 1e-12).mean()
    assert evaluate(data, "ExposureGap", n_boot=0, n_permutations=0).results[0].null is None
