"""Reranker: the same rows in, the same rows out, from a Ranking or from arrays."""

from typing import ClassVar

import numpy as np
import pytest
from reference_ranker import ReverseReranker, SwapTopReranker
from sklearn.base import clone

from equirank import DataError, Ranking, Reranker, as_ranking_data

QID = ["b", "a", "b", "a", "b"]
SCORE = [1, 5, 3, 7, 2]


class Needy(ReverseReranker):
    """Needs everything."""

    needs: ClassVar = frozenset({"sensitive", "relevance", "score"})


def test_arrays_come_back_in_the_callers_rows():
    result = ReverseReranker().rerank(SCORE, qid=QID)
    assert isinstance(result, Ranking)
    assert result.data.to_original(result.position).tolist() == [1, 1, 3, 2, 2]
    assert result.order("b").tolist() == [0, 4, 2]


def test_a_ranking_is_called_and_keeps_its_data():
    data = as_ranking_data(None, [0, 1, 2, 3, 4], qid=QID, score=SCORE, sensitive_features=QID)
    result = SwapTopReranker()(data.ranking())
    assert result.data is data
    assert result.order("b").tolist() == [4, 2, 0]
    assert SwapTopReranker()(result).order("b").tolist() == [2, 4, 0]


def test_what_is_given_rides_along():
    result = ReverseReranker().rerank(
        SCORE, qid=QID, y_true=[1, 0, 0, 1, 0], sensitive_features=list("fmfmf")
    )
    assert result.data.to_original(result.data.y).tolist() == [1, 0, 0, 1, 0]
    assert result.data.attribute().categories == ("f", "m")


def test_without_queries_it_is_one_list():
    assert ReverseReranker().rerank([3, 2, 1]).order().tolist() == [2, 1, 0]


@pytest.mark.parametrize(
    ("missing", "word"), [("sensitive_features", "sensitive_features"), ("y_true", "y_true")]
)
def test_what_it_needs_and_lacks_is_named(missing, word):
    given = {"sensitive_features": list("fm"), "y_true": [1, 0]}
    Needy().rerank([2, 1], **given)
    del given[missing]
    with pytest.raises(DataError, match=f"Needy needs {word}"):
        Needy().rerank([2, 1], **given)


def test_scores_may_be_needed():
    data = as_ranking_data(None, [1, 0], sensitive_features=["f", "m"], position=[1, 2])
    with pytest.raises(DataError, match="Needy needs scores"):
        Needy()(data.ranking())


@pytest.mark.parametrize("wrong", [[1, 2, 3], np.ones(3), None, as_ranking_data(None, score=[1])])
def test_only_a_ranking_is_called(wrong):
    with pytest.raises(DataError, match="ranking of ReverseReranker must be a Ranking"):
        ReverseReranker()(wrong)


def test_parameters_are_checked_on_every_call():
    with pytest.raises(DataError, match="places of SwapTopReranker must be"):
        SwapTopReranker(places=3).rerank([1, 2])


def test_bad_arrays_name_the_row():
    with pytest.raises(DataError, match="row 1"):
        ReverseReranker().rerank([1, np.nan])
    with pytest.raises(DataError, match="row 1"):
        ReverseReranker().rerank([1, 2], y_true=[1, -1])


def test_errors_speak_of_the_callers_arguments():
    with pytest.raises(DataError, match="y_score must be"):
        ReverseReranker().rerank([1, np.nan])
    with pytest.raises(DataError, match="y_true must be"):
        ReverseReranker().rerank([1, 2], y_true=[1, -1])


def test_it_is_a_scikit_learn_object():
    assert clone(SwapTopReranker(places=2)).get_params() == {"places": 2}
    assert repr(SwapTopReranker(places=3)) == "SwapTopReranker(places=3)"


def test_the_base_is_abstract():
    with pytest.raises(TypeError, match="_rerank"):
        Reranker().rerank([1, 2])
