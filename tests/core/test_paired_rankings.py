"""People of two rankings are matched by list and id, or it is said what differs."""

import numpy as np
import pytest

from equirank import DataError, Ranking, as_ranking_data
from equirank.core.paired_rankings import first_reason, matched_lists, pair_rankings, shown_cut

N = 60
QUERY, NUMBER = np.repeat(np.arange(6), 10), np.tile(np.arange(10), 6)


def made(qid, ids, sex=None, seed=0, **order):
    score = np.random.default_rng(seed).normal(size=len(qid)).round(1)
    return as_ranking_data(
        qid=qid, ids=ids, sensitive_features={"sex": ["f", "m"] * (len(qid) // 2)} if sex is None
        else {"sex": sex}, missing_sensitive="unknown", **order or {"score": score},
    )  # fmt: skip


@pytest.mark.parametrize(
    "ids",
    [
        NUMBER, NUMBER.astype(np.int16) - 5, NUMBER.astype(np.uint64) + 2**63, NUMBER * 2**59,
        np.array([f"p{each}" for each in NUMBER]), NUMBER.astype(object), NUMBER / 2.0,
        np.array(["2026-01-01"], dtype="M8[D]") + NUMBER,
    ],
    ids=["int", "small", "unsigned", "far apart", "text", "objects", "halves", "days"],
)  # fmt: skip
@pytest.mark.parametrize("qid", [QUERY, np.array([f"q{each}" for each in QUERY])])
def test_rows_are_matched_by_list_and_id(ids, qid):
    first, order = (np.random.default_rng(seed).permutation(N) for seed in (1, 2))
    qid, ids, sex = qid[first], ids[first], np.where(NUMBER % 3, "f", "m")[first]
    one, other = made(qid, ids, sex), made(qid[order], ids[order], sex[order], seed=2)
    found = pair_rankings(one.ranking(), other.ranking())
    assert (found.cut, found.refused) == (None, "")
    row = {}
    for at, key in enumerate(zip(other.qids[other.query_of_rows()], other.ids, strict=True)):
        row[key] = at
    rows = [row[key] for key in zip(one.qids[one.query_of_rows()], one.ids, strict=True)]
    np.testing.assert_array_equal(found.before.position, other.ranking().position[rows])
    np.testing.assert_array_equal(found.before.last, other.ranking().last[rows])
    assert found.before.data is one


def test_a_number_of_one_type_is_the_same_in_another():
    one, other = made(QUERY, NUMBER), made(QUERY.astype(np.int8), NUMBER.astype(np.uint64))
    assert pair_rankings(one.ranking(), other.ranking()).refused == ""
    texts = made(QUERY, NUMBER.astype(str))
    assert "different people" in pair_rankings(one.ranking(), texts.ranking()).refused
    far, below = NUMBER.astype(np.uint64) + 2**63, NUMBER - 2**62 - 2**62
    found = pair_rankings(made(QUERY, far).ranking(), made(QUERY, below).ranking())
    assert "different people" in found.refused
    assert matched_lists(one, made(QUERY.astype(str), NUMBER)).tolist() == [-1] * 6
    ages = made(QUERY, NUMBER, np.where(NUMBER > 5, 1, 2))
    words = made(QUERY, NUMBER, np.where(NUMBER > 5, "1", "2"))
    assert pair_rankings(ages.ranking(), words.ranking()).refused == ""


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        (made(QUERY[10:], NUMBER[10:]), "have different lists"),
        (made(QUERY + 1, NUMBER), "have different lists"),
        (made(QUERY, NUMBER + (np.arange(N) == 9)), "have different people"),
        (made(QUERY[:-2], NUMBER[:-2]), "have different people"),
        (made(QUERY, NUMBER, np.where(np.arange(N) == 7, "x", ["f", "m"] * 30)), "labels of sex"),
        (made(QUERY, NUMBER, np.where(np.arange(N) == 7, None, ["f", "m"] * 30)), "labels of sex"),
    ],
)
def test_what_differs_is_said(other, reason):
    found = pair_rankings(made(QUERY, NUMBER).ranking(), other.ranking())
    assert found.before is None
    assert reason in found.refused


def cut_at(k):
    position = np.where(k > NUMBER, NUMBER + 1, 0)
    return made(QUERY, NUMBER, position=position).ranking()


@pytest.mark.parametrize(
    ("k", "other", "cut"),
    [(10, 10, None), (4, 10, 4), (4, 6, 4), (4, 4, 4), (6, 4, "refused"), (10, 4, "refused")],
)
def test_a_cut_ranking_is_compared_with_as_many_of_the_other(k, other, cut):
    found = pair_rankings(cut_at(k), cut_at(other))
    assert shown_cut(cut_at(k)) == (None if k == 10 else k)
    if cut == "refused":
        assert "show different numbers of people" in found.refused
    else:
        assert (found.cut, found.refused) == (cut, "")
    # some lists of data whose longest list shows 5
    some = pair_rankings(cut_at(4), cut_at(6), (5,))
    assert "show different numbers of people" in some.refused


def test_ids_that_are_missing_or_repeated_name_the_list():
    one = made(QUERY, NUMBER).ranking()
    with pytest.raises(
        DataError, match="ids of against must differ within a list, got 3 twice in list 2"
    ):
        pair_rankings(one, made(QUERY, np.where(np.arange(N) == 27, 3, NUMBER)).ranking())
    blank = NUMBER.astype(object)
    blank[31] = None
    with pytest.raises(DataError, match="ids must not be missing, got a blank in list 3"):
        pair_rankings(made(QUERY, blank).ranking(), one)
    nan = np.where(np.arange(N) == 31, np.nan, NUMBER)
    with pytest.raises(
        DataError, match="ids of against must not be missing, got a blank in list 3"
    ):
        pair_rankings(one, made(QUERY, nan).ranking())
    with pytest.raises(DataError, match="against must have ids"):
        pair_rankings(one, made(QUERY, None).ranking())


def test_rankings_of_one_data_set_need_no_ids():
    data = made(QUERY, None)
    other = Ranking.from_scores(data, -np.asarray(data.score))
    found = pair_rankings(data.ranking(), other)
    np.testing.assert_array_equal(found.before.position, other.position)


def test_the_reason_that_is_looked_for_first_is_reported():
    people, shown = (
        f"the two rankings {w}"
        for w in ("have different people", "show different numbers of people")
    )
    labels = "the two rankings have different labels of race"
    assert first_reason(["", shown, people], ["sex"]) == people
    assert first_reason([shown, labels], ["sex", "race"]) == labels
    assert first_reason(["", ""], ["sex"]) == ""
