"""What a re-ranking carries: moves, price, whether it holds, and reasons."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import equirank.rerankers
from equirank import DataError, Ranking, Reranker, as_ranking_data
from equirank.core.table import Table
from equirank.metrics import ndcg
from equirank.rerankers import (
    DetConstSort,
    DetGreedy,
    EpsilonGreedy,
    ExposureOptimal,
    FAStarIR,
    Guaranteed,
    Reranking,
)
from equirank.rerankers.explanation import Explanation
from equirank.rerankers.group_bounds import NoBounds, ShareBounds, TableBounds
from equirank.rerankers.reranking import Price

SCORE, GROUP = [4, 3, 2, 1], list("mmff")


def test_it_is_a_ranking_of_the_same_data():
    data = as_ranking_data(score=SCORE, sensitive_features=GROUP)
    before = data.ranking()
    result = DetGreedy()(before)
    assert isinstance(result, Ranking)
    assert isinstance(result, Reranking)
    assert result.data is data
    assert result.before is before
    assert result.position.tolist() == [1, 3, 2, 4]
    assert not result.position.flags.writeable
    again = FAStarIR(protected="f")(result)
    assert again.before is result


# moves


def test_moves_by_hand():
    result = DetGreedy().rerank(SCORE, sensitive_features=GROUP)
    assert result.moves.to_dict() == {
        "query": [0, 0],
        "row": [2, 1],
        "group": ["f", "m"],
        "from": [3, 2],
        "to": [2, 3],
    }
    cut = DetGreedy(k=2).rerank(SCORE, sensitive_features=GROUP)
    # Row 3 was behind the cutoff and stays there: no move.
    assert cut.moves["row"].tolist() == [2, 1]
    assert cut.moves["to"].tolist() == [2, 0]


def test_moves_of_many_lists_keep_ids_and_the_callers_rows():
    data = as_ranking_data(
        score=[4, 9, 3, 8, 2, 7, 1, 6],
        sensitive_features=list("mmmmffff"),
        qid=list("abababab"),
        ids=[f"x{i}" for i in range(8)],
    )
    moves = DetGreedy()(data.ranking()).moves
    assert moves["query"].tolist() == ["a", "a", "b", "b"]
    assert moves["row"].tolist() == [4, 2, 5, 3]
    assert moves["id"].tolist() == ["x4", "x2", "x5", "x3"]
    assert moves["from"].tolist() == [3, 2, 3, 2]
    assert moves["to"].tolist() == [2, 3, 2, 3]


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.one_of(st.none(), st.integers(1, 6)))
def test_moves_are_the_difference_of_the_places(seed, k):
    rng = np.random.default_rng(seed)
    n = 30
    qid, groups = rng.integers(0, 3, size=n), rng.choice(list("ab"), size=n)
    scores = rng.integers(0, 9, size=n).astype(float)
    result = DetConstSort(k=k, on_infeasible="best").rerank(
        scores, qid=qid, sensitive_features=groups
    )
    moved = {row["row"]: (row["from"], row["to"]) for row in result.moves}
    for query in np.unique(qid):
        rows = np.flatnonzero(qid == query)
        old = sorted(rows.tolist(), key=lambda i: (-scores[i], i))
        new = result.order(query).tolist()
        for row in old:
            was = old.index(row) + 1
            now = new.index(row) + 1 if row in new else 0
            still_out = k is not None and was > k and now == 0
            assert moved.get(row, "none") == ("none" if was == now or still_out else (was, now))


# price


def test_price_by_hand():
    result = DetGreedy(k=2).rerank(SCORE, sensitive_features=GROUP, y_true=[0, 2, 0, 1])
    price = result.price
    assert price.gain == "relevance"
    assert price.ndcg_before == pytest.approx(ndcg([0, 2, 0, 1], [4, 3, 2, 1], k=2))
    assert price.ndcg == pytest.approx(0.0)  # rows 0 and 2 are irrelevant
    assert price.score_loss == (4 + 3) / 2 - (4 + 2) / 2
    assert price.worst_inversion == 3 - 2  # row 1 is left out for row 2
    assert price.per_query.to_dict()["score_loss"] == [0.5]


def test_scores_are_the_gain_where_relevance_is_unknown():
    price = DetGreedy().rerank(SCORE, sensitive_features=GROUP).price
    assert price.gain == "score"
    assert price.ndcg_before == 1.0
    gains = np.array([3, 1, 2, 0])  # scores above the lowest, in the new order
    weights = 1 / np.log2(np.arange(2, 6))
    assert price.ndcg == pytest.approx((gains * weights).sum() / ([3, 2, 1, 0] * weights).sum())
    assert price.score_loss == 0.0
    assert price.worst_inversion == 1.0
    assert price.to_dict()["gain"] == "score"


def test_price_per_query_and_in_the_mean():
    result = DetGreedy(k=2).rerank(
        [4, 3, 2, 1, 8, 6, 4, 2], sensitive_features=GROUP * 2, qid=[1] * 4 + [2] * 4
    )
    assert result.price.per_query["query"].tolist() == [1, 2]
    assert result.price.per_query["score_loss"].tolist() == [0.5, 1.0]
    assert result.price.score_loss == 0.75
    assert result.price.worst_inversion == 2.0


def test_rows_left_out_have_no_order_among_themselves():
    result = DetGreedy(k=1).rerank([1, 9, 3, 2], sensitive_features=list("mmmf"))
    assert result.price.worst_inversion == 0.0


# whether it holds


def test_bounds_are_held_against_the_list():
    codes, offsets = np.array([0, 1, 1, 0, 0]), np.array([0, 3, 5])
    shares = np.array([[0.5, 0.5], [0.5, 0.5]])
    assert ShareBounds("", shares).holds(codes, offsets).tolist() == [True, False]
    bounds, counts = ShareBounds("", np.array([[0.5, 0.5], [0.4, 0.6]])), np.zeros((4, 2))
    assert bounds.lower(0, counts).tolist() == [[0, 0], [1, 1], [1, 1], [2, 2]]
    assert bounds.upper(0, counts).tolist() == [[1, 1], [1, 1], [2, 2], [2, 2]]
    assert bounds.lower(1, counts).tolist() == [[0, 0], [0, 1], [1, 1], [1, 2]]  # 0.4 j, 0.6 j
    assert bounds.upper(1, counts).tolist() == [[1, 1], [1, 2], [2, 2], [2, 3]]
    least = np.array([[0, 0], [1, 1], [1, 1], [0, 0], [2, 0]])
    start, lengths = np.array([0, 3]), np.array([3, 2])
    assert TableBounds("", least, None, start, lengths).holds(codes, offsets).all()
    most = least.copy()
    most[:] = 1
    tight = TableBounds("", None, most, start, lengths).holds(codes, offsets)
    assert tight.tolist() == [False, False]
    assert NoBounds().holds(codes, offsets).tolist() == [True, True]


def test_a_table_that_is_shorter_than_the_list_binds_its_prefixes_only():
    codes, offsets = np.array([0, 0, 0]), np.array([0, 3])
    least = np.array([[0, 0], [0, 0]])
    bounds = TableBounds("", least, None, np.array([0]), np.array([2]))
    assert bounds.holds(codes, offsets).all()
    counts = np.zeros((3, 2))
    assert bounds.lower(0, counts).shape == (2, 2)
    assert bounds.upper(0, counts) is None


# reasons


def test_who_is_lifted_is_told_the_bound():
    why = (
        FAStarIR(p=0.5, protected="f", k=8)
        .rerank(range(16, 0, -1), sensitive_features=["m"] * 8 + ["f"] * 8)
        .explain(8)
    )
    facts = why.facts
    assert (facts["from"], facts["to"], facts["move"]) == (9, 4, "up")
    assert facts["binding"] == {
        "prefix": 4, "group": "f", "bound": "lower", "needed": 1, "count": 1
    }  # fmt: skip
    assert facts["score"] == 8.0
    assert facts["instead"] == {"row": 3, "group": "m", "score": 13.0}
    assert facts["score_given_up"] == 13 - 8
    assert facts["next_in_group"] == {"row": 9, "group": "f", "score": 7.0}
    # It enters the first 8 as long as it is among the first two of its group.
    assert facts["target_place"] == 8
    assert facts["lowest_score"] == 6.0
    assert str(why).splitlines() == [
        "Row 8 (f) moved up from position 9 to position 4.",
        "The first 4 positions must hold at least 1 of f; without it they would hold 0.",
        "In the original order row 3 would be at position 4; its score is higher by 5.",
        "The next item of f is row 9.",
        "With a score of at least 6 it would have reached position 8.",
    ]
    assert why.to_dict()["sentences"] == list(why.sentences)


def test_who_is_left_out_is_told_who_stands_there():
    result = FAStarIR(p=0.5, protected="f", k=8).rerank(
        range(16, 0, -1), sensitive_features=["m"] * 8 + ["f"] * 8
    )
    facts = result.explain(7).facts
    assert (facts["from"], facts["to"], facts["move"]) == (8, 0, "left out")
    assert facts["binding"]["group"] == "f"
    assert facts["instead"]["row"] == 5
    assert facts["score_given_up"] == 9 - 11
    # Six others get in: it must beat the sixth of them.
    assert facts["lowest_score"] == 11.0
    assert facts["score_above"]
    assert "is left out" in str(result.explain(7))
    down = result.explain(3).facts
    assert (down["from"], down["to"], down["move"]) == (4, 5, "down")
    assert down["binding"] == {
        "prefix": 4, "group": "f", "bound": "lower", "needed": 1, "count": 1
    }  # fmt: skip
    still = result.explain(0)
    assert still.facts["move"] == "none"
    assert str(still).startswith("Row 0 (m) keeps position 1.")
    out = result.explain(15)
    assert out.facts["move"] == "none"
    assert "is not shown, as before" in str(out)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [DetGreedy, DetConstSort])
def test_the_lowest_score_is_the_lowest(kind):
    rng = np.random.default_rng(4)
    for _ in range(12):
        n, k = 14, 6
        groups = rng.choice(list("ab"), size=n)
        if min(np.sum(groups == "a"), np.sum(groups == "b")) < k:
            groups = np.array(list("ab") * 7)
        scores = rng.permutation(n).astype(float) * 10
        reranker = kind({"a": 0.5, "b": 0.5}, k=k)
        row = int(rng.integers(n))
        facts = reranker.rerank(scores, sensitive_features=groups).explain(row).facts

        def enters(score, row=row, scores=scores, groups=groups, reranker=reranker):
            changed = scores.copy()
            changed[row] = score
            return row in reranker.rerank(changed, sensitive_features=groups).order()

        assert not facts["any_score"]
        assert enters(facts["lowest_score"] + 1)
        assert not enters(facts["lowest_score"] - 1)
        assert enters(facts["lowest_score"]) != facts["score_above"]


def test_items_are_found_by_id_or_row():
    data = as_ranking_data(
        score=SCORE * 2, sensitive_features=GROUP * 2, qid=[1] * 4 + [2] * 4, ids=list("abcd") * 2
    )
    result = DetGreedy()(data.ranking())
    with pytest.raises(DataError, match="query must be named, since the id 'c' occurs 2 times"):
        result.explain("c")
    why = result.explain("c", query=2)
    assert why.facts["item"] == "c"
    assert why.facts["row"] == 6
    assert str(why).startswith("c (f) moved up from position 3 to position 2.")
    with pytest.raises(DataError, match="item must be the id of an item of the ranking, got 'z'"):
        result.explain("z")
    plain = DetGreedy().rerank(SCORE, sensitive_features=GROUP)
    for wrong in (4, -1, "c", 1.5):
        with pytest.raises(DataError, match="item must be the row of an item"):
            plain.explain(wrong)


def test_rows_that_come_mixed_are_found():
    result = DetGreedy().rerank(
        [4, 9, 3, 8, 2, 7, 1, 6], sensitive_features=list("mmmmffff"), qid=list("abababab")
    )
    assert result.explain(5).facts["query"] == "b"
    assert (result.explain(5).facts["from"], result.explain(5).facts["to"]) == (3, 2)


def test_without_scores_places_are_told():
    data = as_ranking_data(position=[1, 2, 3, 4], sensitive_features=GROUP)
    why = DetGreedy()(data.ranking()).explain(2)
    assert why.facts["score_given_up"] is None
    assert why.facts["lowest_score"] is None
    assert "From position 3 or better it would have reached position 2." in str(why)


def test_an_item_that_is_alone_in_its_group_enters_with_any_score():
    result = DetGreedy({"f": 0.5, "m": 0.5}, k=2).rerank([3, 2, 1], sensitive_features=list("mmf"))
    why = result.explain(2)
    assert why.facts["any_score"]
    assert "With any score it would have reached position 2." in str(why)


def test_upper_bounds_hold_down():
    data = as_ranking_data(score=SCORE, sensitive_features=GROUP)
    most = np.array([[4, 1], [4, 1], [4, 2], [4, 2]])  # of f, of m
    bounds = TableBounds("", None, most, np.array([0]), np.array([4]))
    result = Reranking.from_order(
        data.ranking(), np.array([0, 2, 1, 3]), data.offsets, bounds=bounds
    )
    assert result.holds
    binding = {"prefix": 2, "group": "m", "bound": "upper", "needed": 1, "count": 1}
    assert result.explain(1).facts["binding"] == binding
    assert result.explain(2).facts["binding"] == binding
    assert "The first 2 positions must hold at most 1 of m; they hold 1." in str(result.explain(1))


def test_a_minimum_of_0_holds_nobody_down_and_a_maximum_of_0_does():
    data = as_ranking_data(score=[3, 2, 1], sensitive_features=list("abc"))
    least, most = np.array([[0, 0, 1]] * 3), np.array([[0, 1, 1], [1, 1, 1], [1, 1, 1]])
    found = []
    for tables in ((least, None), (None, most)):
        bounds = TableBounds("", *tables, np.array([0]), np.array([3]))
        order = np.array([2, 0, 1])
        result = Reranking.from_order(data.ranking(), order, data.offsets, bounds=bounds)
        assert result.holds
        found.append(result.explain(0).facts["binding"])
    lower, upper = found
    assert lower == {"prefix": 1, "group": "c", "bound": "lower", "needed": 1, "count": 1}
    assert upper == {"prefix": 1, "group": "a", "bound": "upper", "needed": 0, "count": 0}


def test_a_reranking_without_a_past_says_so():
    data = as_ranking_data(score=SCORE, sensitive_features=GROUP)
    bare = Reranking.from_positions(data, [1, 2, 3, 4])
    assert bare.holds
    with pytest.raises(DataError, match="before of a Reranking must be"):
        bare.moves  # noqa: B018


def test_it_can_be_copied_and_pickled():
    result = DetGreedy().rerank(SCORE, sensitive_features=GROUP)
    for other in (copy.copy(result), pickle.loads(pickle.dumps(result))):
        assert other.moves.to_dict() == result.moves.to_dict()
        assert other.holds


def test_data_with_nothing_but_an_order_can_be_reranked_by_methods_without_bounds():
    data = as_ranking_data(position=[1, 2])
    result = Reranking.from_order(data.ranking(), np.array([1, 0]), data.offsets)
    assert result.holds
    assert "group" not in result.moves.columns
    assert result.explain(0).facts["move"] == "down"


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=50)
def test_lists_that_leave_people_out_have_the_slots_of_their_positions(seed):
    """The slots that `from_order` makes without sorting equal those that are sorted."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 7, rng.integers(1, 6))
    qid = np.repeat(np.arange(len(sizes)), sizes)
    data = as_ranking_data(score=rng.normal(size=sizes.sum()), qid=qid)
    shown = rng.integers(0, sizes + 1)
    begins = np.cumsum(sizes) - sizes
    parts = [b + rng.permutation(n)[:m] for b, n, m in zip(begins, sizes, shown, strict=True)]
    order, offsets = np.concatenate(parts), np.concatenate([[0], np.cumsum(shown)])
    result = Reranking.from_order(data.ranking(), order, offsets)
    made, sorted_ = result.slots(), Ranking(data, result.position).slots()
    for name in ("order", "offsets", "lo", "hi", "shown"):
        np.testing.assert_array_equal(getattr(made, name), getattr(sorted_, name), name)
    was, now = result.places_before, result.places
    query = data.query_of_rows()
    rows = [row for row in range(data.n_rows) if was[row] != now[row]]
    rows.sort(key=lambda row: (query[row], now[row] or data.n_rows + was[row]))
    assert result.moves["row"].tolist() == rows


@pytest.mark.parametrize("y", [None, [0, 2, 1, 0, 1, 2]])
def test_measures_before_are_those_of_a_ranking_that_was_never_re_ranked(y):
    """Measures of the given order are computed once, for each cutoff and attribute apart."""
    groups = {"sex": list("mmffmf"), "age": list("oyoyoy")}
    data = as_ranking_data(y=y, score=[6, 5, 4, 3, 2, 1], sensitive_features=groups)
    shared = data.ranking()
    for rule in (DetGreedy(by="sex", k=3), DetGreedy(by="age", k=4), DetGreedy(by="sex")):
        again, alone = rule(shared).summary(), rule(data.ranking()).summary()
        assert again.to_dict() == alone.to_dict()


# one type of result

PUBLIC = [getattr(equirank.rerankers, name) for name in equirank.rerankers.__all__]
RERANKERS = [
    kind
    for kind in PUBLIC
    if isinstance(kind, type) and issubclass(kind, Reranker) and kind is not Guaranteed
]


@pytest.mark.parametrize("kind", RERANKERS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("n_draws", [1, 3])
def test_every_result_has_the_same_fields_of_the_same_types(kind, n_draws):
    options = dict(getattr(kind, "test_params", {}))
    if n_draws > 1:
        if "n_draws" not in kind().get_params():
            pytest.skip("takes one draw")
        options["n_draws"] = n_draws
    rng = np.random.default_rng(0)
    result = kind(**options).rerank(
        rng.random(20) + 1.0, sensitive_features=list("ab") * 10, qid=np.repeat([1, 2], 10)
    )
    assert isinstance(result, Reranking)
    assert type(result.moves) is Table
    assert type(result.price) is Price
    assert type(result.summary()) is Table
    assert type(result.holds) is bool
    assert result.holds_per_query.dtype == bool
    assert type(result.explain(0)) is Explanation
    assert result.gap is None or result.gap.shape == (2,)


def test_weighted_draws_are_weighed_in_moves_price_and_summary():
    score, groups = np.array([0.81, 0.80, 0.79, 0.78]), list("mmff")
    result = ExposureOptimal("parity").rerank(score, sensitive_features=groups)
    draws = list(result.each_draw())
    weights = result.weights[0]
    assert len(draws) > 1
    assert result.price.ndcg == pytest.approx(
        sum(w * draw.price.ndcg for w, draw in zip(weights, draws, strict=True))
    )
    table = result.summary().to_dict()
    at = table["measure"].index("NDCG (score)")
    assert table["after"][at] == pytest.approx(result.price.ndcg)
    assert table["before"][at] == pytest.approx(1.0)
    moves = {row["row"]: row["to"] for row in result.moves}
    for row, to in moves.items():
        assert to == pytest.approx(weights @ result.position[row])
    facts = result.explain(0).facts
    assert facts["shown"] == pytest.approx(1.0)
    assert facts["mean_place"] == pytest.approx(weights @ result.position[0])


def test_several_attributes_need_not_be_named_where_groups_play_no_part():
    people = {"sex": list("mmff"), "race": list("abab")}
    result = EpsilonGreedy(0.5, random_state=0).rerank(SCORE, sensitive_features=people)
    assert "group" not in result.moves.columns
    assert "group" not in result.explain(0).facts
    assert result.holds


def test_an_explanation_about_people_uses_names_of_groups_and_the_scores_of_the_file():
    scores = -np.array([1.0, 2.0, 3.0, 4.0])  # of a file in which lower scores rank first
    result = DetGreedy().rerank(scores, sensitive_features=list("mmff"))
    assert result.explain(2).sentences[3:] == (
        "The next item of f is row 3.",
        "With a score of at least -4 it would have reached position 2.",
    )
    told = result.explain(2, shown={"f": "women"}, lower_first=True)
    assert told.sentences == (
        "Row 2 (women) moved up from position 3 to position 2.",
        "The first 2 positions must hold at least 1 of women; without this person they would "
        "hold 0.",
        "In the original order row 1 would be at position 2; the score is lower by 1.",
        "The next person of women is row 3.",
        "With a score of at most 4 this person would have reached position 2.",
    )
    assert told.facts == result.explain(2).facts
    told = result.explain(2, lower_first=True)
    assert told.sentences[4] == "With a score of at most 4 it would have reached position 2."
