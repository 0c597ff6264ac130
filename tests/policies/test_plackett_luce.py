"""PlackettLuce: exact where it says so, drawn from the right law, and clear about bad input."""

from itertools import permutations

import numpy as np
import pytest

import equirank
from equirank import DataError, Ranking, as_ranking_data
from equirank.policies import PlackettLuce

DISCOUNT = 1 / np.log2(np.arange(2, 20))


def enumerated(score, places=None):
    """The exact exposures of a list, over all its orders."""
    score = np.asarray(score, dtype=float)
    exposure = np.zeros(len(score))
    policy = PlackettLuce(score)
    for order in permutations(range(len(score))):
        chance = np.exp(policy.log_prob(list(order)))
        for place, item in enumerate(order[:places]):
            exposure[item] += chance * DISCOUNT[place]
    return exposure


@pytest.mark.parametrize("n", [1, 2, 4, 6])
def test_exposure_is_exact_for_short_lists(n):
    score = np.random.default_rng(n).normal(size=n)
    values, error = PlackettLuce(score).exposure(return_error=True)
    assert values == pytest.approx(enumerated(score), abs=1e-12)
    assert (error == 0).all()


def test_truncated_lists_show_k_places():
    score = np.random.default_rng(0).normal(size=5)
    policy = PlackettLuce(score, k=2)
    assert policy.exposure() == pytest.approx(enumerated(score, 2), abs=1e-12)
    drawn = policy.sample(7, random_state=1)
    assert ((drawn.position > 0).sum(axis=0) == 2).all()
    assert policy.log_prob([3, 1, 0, 2, 4]) == policy.log_prob([3, 1])


@pytest.mark.slow
def test_sampled_exposure_agrees_within_its_error():
    score = np.random.default_rng(4).normal(size=6)
    policy = PlackettLuce(score)
    values, error = policy.exposure(4000, return_error=True)
    z = (values - policy.exposure()) / error
    assert np.abs(z).max() < 4.5
    assert error.max() < 0.01


@pytest.mark.slow
def test_samples_follow_the_law():
    score = np.array([1.0, 0.0, -0.5])
    policy = PlackettLuce(score)
    drawn = policy.sample(6000, random_state=0).position
    for order in permutations(range(3)):
        place = np.empty(3, dtype=int)
        place[list(order)] = [1, 2, 3]
        share = (drawn == place[:, None]).all(axis=0).mean()
        chance = np.exp(policy.log_prob(list(order)))
        assert abs(share - chance) < 4.5 * np.sqrt(chance * (1 - chance) / 6000)


@pytest.mark.slow
def test_many_lists_and_the_callers_order():
    score = np.array([0.0, 3.0, 1.0, 2.0, -1.0])
    qid = np.array(["b", "a", "b", "a", "b"])
    policy = PlackettLuce(score, qid)
    alone = PlackettLuce(score[qid == "b"])
    assert policy.exposure()[qid == "b"] == pytest.approx(alone.exposure())
    drawn = policy.sample(2, random_state=3)
    assert policy.log_prob(drawn).shape == (2, 2)
    marginals = policy.marginals()
    assert [table.shape for table in marginals] == [(3, 3), (2, 2)]
    assert marginals[0] == pytest.approx(alone.marginals()[0])
    assert policy.marginals(k=1, n_samples=3000)[0] == pytest.approx(
        alone.marginals(k=1)[0], abs=0.05
    )


def test_seeds_fix_the_draws_and_longer_samples_go_on():
    policy = PlackettLuce(np.zeros(30))
    few, many = policy.sample(2, random_state=5), policy.sample(4, random_state=5)
    assert (few.position == many.position[:, :2]).all()
    assert (few.position != policy.sample(2, random_state=6).position).any()


def test_temperature():
    score = np.array([0.0, 1.0])
    cold = PlackettLuce(score, temperature=0.01)
    assert cold.exposure() == pytest.approx([DISCOUNT[1], 1.0])
    hot = PlackettLuce(score, temperature=1e9)
    assert hot.exposure() == pytest.approx([(1 + DISCOUNT[1]) / 2] * 2)


@pytest.mark.slow
def test_entropy():
    assert PlackettLuce(np.zeros(4)).entropy() == pytest.approx([np.log(24)])
    assert PlackettLuce(np.zeros(20), k=2).entropy() == pytest.approx([np.log(20 * 19)])
    score = np.random.default_rng(2).normal(size=6)
    exact = PlackettLuce(score).entropy()
    assert PlackettLuce(score).entropy(3000) == pytest.approx(exact, abs=0.05)


@pytest.mark.slow
def test_log_prob_reads_rankings():
    data = as_ranking_data(None, [1, 0, 1], score=[0.1, 0.5, 0.3])
    policy = PlackettLuce(data)
    ranking = data.ranking()
    assert policy.log_prob(ranking) == policy.log_prob([1, 2, 0])
    assert policy.expected("NDCG@3", 400) == pytest.approx(
        sum(
            np.exp(policy.log_prob(list(order)))
            * ((DISCOUNT[order.index(0)] + DISCOUNT[order.index(2)]) / DISCOUNT[:2].sum())
            for order in permutations(range(3))
        ),
        abs=0.02,
    )


def test_saved_and_read_back(tmp_path):
    policy = PlackettLuce([0.2, 0.1, 0.4], ["x", "y", "x"], temperature=0.5, k=2)
    policy.save(tmp_path / "policy")
    again = equirank.load(tmp_path / "policy")
    assert (again.exposure() == policy.exposure()).all()
    assert (again.sample(5, 1).position == policy.sample(5, 1).position).all()
    assert policy.to_frame("pandas").columns.tolist() == ["query", "row", "exposure"]


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: PlackettLuce([0.0, np.nan]), "y_score.*row 1"),
        (lambda: PlackettLuce([0.0], temperature=0), "temperature of PlackettLuce must be"),
        (lambda: PlackettLuce([0.0], k=0), "k of PlackettLuce must be"),
        (lambda: PlackettLuce(as_ranking_data(None, [1])), "scores must be given"),
        (lambda: PlackettLuce([0.0, 1.0]).log_prob([0, 0]), "each once"),
        (lambda: PlackettLuce([0.0, 1.0]).log_prob([0, 2]), "got 2"),
        (lambda: PlackettLuce([0.0, 1.0], [1, 2]).log_prob([0, 1]), "2 lists"),
        (lambda: PlackettLuce([0.0, 1.0]).sample(0), "n of sample must be"),
    ],
)
def test_bad_input(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_tied_rankings_have_no_probability():
    data = as_ranking_data(score=[1.0, 1.0])
    with pytest.raises(DataError, match="without ties"):
        PlackettLuce(data).log_prob(Ranking.from_scores(data))
