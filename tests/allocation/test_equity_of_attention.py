"""EquityOfAttention: attention catches up with relevance, quality is kept, nothing is lost."""

from itertools import permutations

import numpy as np
import pytest

import equirank
from equirank import DataError, as_ranking_data
from equirank.allocation import EquityOfAttention


def ndcg(values, order, k):
    gain = np.exp2(values / values.max()) - 1
    discount = 1 / np.log2(np.arange(2, k + 2))
    return (gain[order[:k]] @ discount) / (np.sort(gain)[::-1][:k] @ discount)


def stream(seed, lists, items):
    return np.random.default_rng(seed).random((lists, items)) * 0.2 + np.linspace(1, 0.5, items)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["assignment", "milp"])
def test_attention_follows_relevance_and_quality_stays(method):
    equity = EquityOfAttention(theta=0.9, k=3, method=method)
    plain = EquityOfAttention(theta=1.0, k=3)
    for values in stream(0, 40, 8):
        order = equity.rank_next(values)
        assert sorted(order) == list(range(8))
        assert ndcg(values, np.array(order), 3) >= 0.9 - 1e-9
        best = plain.rank_next(values)
        assert ndcg(values, np.array(best), 3) == pytest.approx(1.0)
    assert equity.unfairness_ < 0.75 * plain.unfairness_
    assert equity.attention_.sum() == pytest.approx(40)
    assert equity.relevance_.sum() == pytest.approx(40)


def by_force(values, owed, attention, theta, k):
    """The least unfairness over all orders that keep the quality."""
    best = np.inf
    for order in permutations(range(len(values))):
        if ndcg(values, np.array(order), k) >= theta - 1e-9:
            drawn = np.empty(len(values))
            drawn[list(order)] = attention
            best = min(best, np.abs(owed - drawn).sum())
    return best


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_the_exact_method_is_exact(seed):
    lists = stream(seed, 6, 5)
    exact, quick = EquityOfAttention(0.85, 3, method="milp"), EquityOfAttention(0.85, 3)
    attention = np.concatenate([1 / np.log2(np.arange(2, 5)), [0, 0]])
    attention /= attention.sum()
    for values in lists:
        before = getattr(exact, "relevance_", np.zeros(5)) - getattr(exact, "attention_", 0.0)
        owed = before + values / values.sum()
        exact.rank_next(values)
        assert exact.unfairness_ == pytest.approx(by_force(values, owed, attention, 0.85, 3))
        quick.rank_next(values)
    assert quick.unfairness_ <= 1.6 * exact.unfairness_ + 0.2


def test_the_account_can_be_saved_and_resumed(tmp_path):
    lists = stream(1, 10, 6)
    whole = EquityOfAttention(0.7, 2)
    orders = [whole.rank_next(values) for values in lists]
    first = EquityOfAttention(0.7, 2, store=str(tmp_path / "state"))
    got = [first.rank_next(values) for values in lists[:5]]
    second = equirank.load(tmp_path / "state")
    got += [second.rank_next(values) for values in lists[5:]]
    assert got == orders
    assert second.n_rankings_ == 10
    assert second.reset().unfairness_ == 0.0


def test_new_items_open_an_account():
    equity = EquityOfAttention(0.0, 1)
    assert equity.rank_next([1.0, 1.0], ids=["a", "b"])[0] == "a"
    assert equity.rank_next([1.0, 1.0], ids=["c", "a"])[0] == "c"
    assert equity.ids_ == ["a", "b", "c"]


def test_lists_of_a_ranking_are_a_stream():
    data = as_ranking_data(qid=[1, 1, 2, 2], score=[0.6, 0.5, 0.6, 0.5], ids=["a", "b", "a", "b"])
    result = EquityOfAttention(0.5, 1)(data.ranking())
    assert result.position.tolist() == [1, 2, 2, 1]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda e: e.rank_next([0.1, -1.0]), "row 1"),
        (lambda e: e.rank_next([]), "one number per item"),
        (lambda e: e.rank_next([0.1, 0.2], ids=["a", "a"]), "unique"),
        (lambda e: e.rank_next([0.1, 0.2], ids=["a"]), "one per item"),
        (lambda e: e(as_ranking_data(score=[1.0]).ranking()), "ids and scores"),
        (lambda e: e.set_params(theta=2.0).rank_next([0.1]), "theta of EquityOfAttention"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(DataError, match=words):
        call(EquityOfAttention())
