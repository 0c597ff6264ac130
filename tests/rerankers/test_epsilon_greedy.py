"""EpsilonGreedy: chances that can be written down, and draws that depend on seed and label only."""

import numpy as np
import pytest

from equirank import DataError, Ranking, as_ranking_data
from equirank.rerankers import EpsilonGreedy


def test_the_chances_of_the_first_two_places():
    eps, n = 0.4, 5
    result = EpsilonGreedy(eps, n_draws=40_000, random_state=1).rerank([5, 4, 3, 2, 1])
    first = (result.position == 1).mean(axis=1)
    assert first[0] == pytest.approx(1 - eps, abs=0.01)
    assert first[1:] == pytest.approx(np.full(n - 1, eps / (n - 1)), abs=0.01)
    # the second stays if it is neither drawn to the top nor swapped away
    second = (result.position == 2).mean(axis=1)
    stays = (1 - eps / (n - 1)) * (1 - eps)
    assert second[1] == pytest.approx(stays, abs=0.01)


def test_none_and_always():
    still = EpsilonGreedy(0.0, n_draws=3, random_state=0).rerank([1, 3, 2])
    assert still.position.tolist() == [[3] * 3, [1] * 3, [2] * 3]
    always = EpsilonGreedy(1.0, n_draws=200, random_state=0).rerank([2, 1])
    assert always.position.tolist() == [[2] * 200, [1] * 200]


def test_the_draws_of_a_list_do_not_depend_on_the_others():
    rule = EpsilonGreedy(0.5, n_draws=5, random_state=7)
    score = np.arange(12.0)
    qid = np.repeat(["x", "y"], 6)
    both = rule.rerank(score, qid=qid)
    turned = rule.rerank(score[::-1], qid=qid[::-1])
    alone = rule.rerank(score[6:], qid=qid[6:])
    assert np.array_equal(both.position, turned.data.to_original(turned.position)[::-1])
    assert np.array_equal(both.position[6:], alone.position)
    assert not np.array_equal(both.position[:6], both.position[6:])
    other = EpsilonGreedy(0.5, n_draws=5, random_state=8).rerank(score, qid=qid)
    assert not np.array_equal(both.position, other.position)


def test_a_cutoff_shows_so_many_in_every_draw():
    result = EpsilonGreedy(0.5, k=2, n_draws=50, random_state=0).rerank([5, 4, 3, 2, 1])
    assert ((result.position > 0).sum(axis=0) == 2).all()
    assert (np.sort(result.position, axis=0)[-2:] == [[1], [2]]).all()
    assert result.shown_share[4] > 0


def test_rows_not_shown_stay_so():
    data = as_ranking_data(None, qid=[0] * 4)
    hidden = Ranking.from_positions(data, [2, 1, 0, 3])
    result = EpsilonGreedy(1.0, n_draws=30, random_state=0)(hidden)
    assert (result.position[2] == 0).all()
    assert (np.sort(result.position, axis=0)[1:] == [[1], [2], [3]]).all()


@pytest.mark.slow
def test_moves_price_and_reasons_are_means_over_draws():
    rule = EpsilonGreedy(0.5, k=2, n_draws=400, random_state=0)
    result = rule.rerank([3, 2, 1], y_true=[1, 0, 0], sensitive_features=list("mff"))
    moves = result.moves.to_dict()
    assert set(moves) == {"query", "row", "group", "from", "to", "shown"}
    at = moves["row"].index(0)
    places = result.position[0]
    assert moves["shown"][at] == pytest.approx((places > 0).mean())
    assert moves["to"][at] == pytest.approx(places[places > 0].mean())
    gains = np.where(places == 1, 1.0, np.where(places == 2, 1 / np.log2(3), 0.0))
    assert result.price.ndcg == pytest.approx(gains.mean())
    assert result.price.ndcg_before == 1.0
    assert result.price.worst_inversion == 2.0
    scores = np.array([3, 2, 1]) @ (result.position > 0) / 2
    assert result.price.score_loss == pytest.approx(2.5 - scores.mean())
    assert result.price.per_query.to_dict()["ndcg"] == [pytest.approx(gains.mean())]
    said = str(result.explain(0))
    assert said.startswith("Over 400 draws it is shown in")
    assert "In the first draw:" in said
    assert result.holds


def test_one_draw_is_a_plain_reranking():
    result = EpsilonGreedy(1.0, random_state=0).rerank([2, 1])
    assert result.n_draws == 1
    assert result.order().tolist() == [1, 0]
    assert result.moves.to_dict()["to"] == [1, 2]
    assert "No bound requires this" in str(result.explain(1))


def test_bad_input_is_named():
    with pytest.raises(DataError, match=r"eps of EpsilonGreedy must be a number in \[0, 1\]"):
        EpsilonGreedy(-0.1).rerank([1, 2])
    with pytest.raises(DataError, match="n_draws of EpsilonGreedy"):
        EpsilonGreedy(n_draws=0).rerank([1, 2])
    assert len(EpsilonGreedy(k=3).rerank([1, 2]).order()) == 2


@pytest.mark.slow
def test_the_table_is_a_mean_over_draws():
    rule = EpsilonGreedy(0.5, n_draws=50, random_state=0)
    result = rule.rerank([4, 3, 2, 1], sensitive_features=list("mmff"))
    table = result.summary().to_dict()
    at = table["measure"].index("NDCG (score)")
    assert table["after"][at] == pytest.approx(result.price.ndcg)
    assert table["before"][at] == 1.0
