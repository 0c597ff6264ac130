"""ExposureOptimal: equal to the classical programme, exact, and clear where nothing fits."""

import numpy as np
import pytest

from equirank import DataError, EquirankWarning, InfeasibleError, evaluate
from equirank.rerankers import ExposureOptimal


def case(seed, n_groups, low=3, high=12):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(max(low, n_groups), high))
    group = np.concatenate([np.arange(n_groups), rng.integers(n_groups, size=n - n_groups)])
    return rng.random(n) + 0.1, group


@pytest.mark.gate
@pytest.mark.parametrize("n_groups", [2, 3, 4])
@pytest.mark.parametrize("constraint", ["parity", "treatment", "impact", None])
@pytest.mark.parametrize("slack", [0.0, 0.05])
def test_as_good_as_the_programme_over_matrices(constraint, n_groups, slack):
    slack = slack if constraint else 0.0
    for seed in range(6):
        utility, group = case(seed, n_groups)
        given = {"sensitive_features": group.astype(str)}
        columns = ExposureOptimal(constraint, slack=slack, on_infeasible="best")
        programme = ExposureOptimal(constraint, slack=slack, method="lp", on_infeasible="best")
        try:
            ours = columns.set_params(on_infeasible="error").rerank(utility, **given)
        except InfeasibleError:
            with pytest.raises(InfeasibleError):
                programme.set_params(on_infeasible="error").rerank(utility, **given)
            continue
        theirs = programme.rerank(utility, **given)
        assert ours.report["utility"][0] == pytest.approx(theirs.report["utility"][0], abs=1e-7)
        assert ours.report["violation"][0] <= 1e-9
        pairs = n_groups - 1 if slack == 0.0 else n_groups * (n_groups - 1) // 2
        assert ours.n_draws <= pairs + 1


def drawn(constraint, utility, exposure, inside):
    if constraint == "impact":
        exposure = exposure * utility
    value = exposure[inside].mean()
    return value if constraint == "parity" else value / utility[inside].mean()


@pytest.mark.parametrize("constraint", ["parity", "treatment", "impact"])
def test_groups_draw_the_same(constraint):
    utility = np.array([0.9, 0.85, 0.8, 0.75, 0.7, 0.65])
    group = np.array(list("aabbab"))
    policy = ExposureOptimal(constraint).rerank(utility, sensitive_features=group).policy()
    exposure = policy.exposure()
    a = drawn(constraint, utility, exposure, group == "a")
    b = drawn(constraint, utility, exposure, group == "b")
    assert a == pytest.approx(b, abs=1e-12)
    assert exposure.sum() == pytest.approx((1 / np.log2(np.arange(2, 8))).sum())


def test_many_lists_in_the_callers_order():
    rng = np.random.default_rng(5)
    qid = rng.integers(4, size=60)
    score, group = rng.random(60), rng.choice(["x", "y"], size=60)
    shared = ExposureOptimal().rerank(score, sensitive_features=group, qid=qid)
    assert shared.holds
    for query in range(4):
        inside = qid == query
        alone = ExposureOptimal().rerank(score[inside], sensitive_features=group[inside])
        assert shared.policy().exposure()[inside] == pytest.approx(alone.policy().exposure())
    assert len(shared.report) == 4


def test_the_gap_metric_sees_parity():
    score, group = case(3, 2, 8, 9)
    shared = ExposureOptimal().rerank(score, sensitive_features=group.astype(str))
    assert evaluate(shared, ["ExposureGap"], n_boot=0).summary()["value"][0] < 1e-9


def test_each_item_by_its_merit():
    merit = np.array([0.5, 0.45, 0.4, 0.45])
    shared = ExposureOptimal("item").rerank(merit)
    exposure = shared.policy().exposure()
    assert exposure / merit == pytest.approx(np.full(4, exposure.sum() / merit.sum()), abs=1e-9)
    assert shared.n_draws <= 4


def test_merit_beyond_the_first_place_is_projected_and_said():
    merit = [10.0, 0.1, 0.1]
    with pytest.raises(InfeasibleError, match=r"first positions have.*are .* away"):
        ExposureOptimal("item").rerank(merit)
    with pytest.warns(EquirankWarning, match="in proportion"):
        shared = ExposureOptimal("item", on_infeasible="best").rerank(merit)
    assert shared.policy().exposure()[0] == pytest.approx(1.0)
    assert not shared.holds


def test_impossible_constraints_say_which_and_by_how_much():
    utility = [1.0, 0.01]  # per merit the second asks for a hundredth of the first's exposure
    given = {"sensitive_features": ["a", "b"]}
    with pytest.raises(InfeasibleError, match="treatment of 'b' and 'a' is missed by"):
        ExposureOptimal("treatment").rerank(utility, **given)
    with pytest.warns(EquirankWarning, match="missed by"):
        best = ExposureOptimal("treatment", on_infeasible="best").rerank(utility, **given)
    assert best.order().tolist() == [0, 1]
    three = {"sensitive_features": ["a", "b", "c"]}
    with pytest.raises(InfeasibleError, match="missed by"):
        ExposureOptimal("treatment").rerank([1.0, 0.01, 0.02], **three)


def test_bounds_and_penalty():
    utility, group = np.array([0.9, 0.8, 0.2, 0.1]), list("aabb")
    shared = ExposureOptimal(None, lower={"b": 0.6}).rerank(utility, sensitive_features=group)
    assert shared.policy().exposure()[2:].mean() == pytest.approx(0.6, abs=1e-12)
    free = ExposureOptimal("parity", penalty=1e-6).rerank(utility, sensitive_features=group)
    assert free.order().tolist() == [0, 1, 2, 3]
    dear = ExposureOptimal("parity", penalty=1e6).rerank(utility, sensitive_features=group)
    hard = ExposureOptimal("parity").rerank(utility, sensitive_features=group)
    assert dear.report["utility"][0] == pytest.approx(hard.report["utility"][0])


def test_cutoff_shows_k_places():
    utility, group = np.array([0.9, 0.8, 0.7, 0.6]), list("aabb")
    shared = ExposureOptimal("parity", k=2).rerank(utility, sensitive_features=group)
    assert ((shared.position > 0).sum(axis=0) == 2).all()
    exposure = shared.policy().exposure()
    assert exposure[:2].mean() == pytest.approx(exposure[2:].mean(), abs=1e-12)


def test_fit_policy_expects_metrics():
    policy = ExposureOptimal("treatment").fit_policy(
        [0.8, 0.79, 0.78, 0.77, 0.76, 0.75], sensitive_features=list("aaabbb")
    )
    ratio = policy.expected("DisparateTreatment")
    assert ratio == pytest.approx(1.0, abs=1e-9)
    drawn = policy.sample(10, random_state=0)
    assert (np.sort(drawn.position, axis=0) == np.arange(1, 7)[:, None]).all()


@pytest.mark.parametrize(
    ("reranker", "words"),
    [
        (ExposureOptimal("treatment"), "score must be >= 0 to be merit"),
        (ExposureOptimal(lower={"z": 1.0}), "z"),
        (ExposureOptimal(discount=[0.5, 1.0]), "discount must not increase"),
        (ExposureOptimal(utility="relevance"), "needs the relevance"),
        (ExposureOptimal(slack=-1), "slack of ExposureOptimal must be"),
    ],
)
def test_bad_input(reranker, words):
    with pytest.raises(DataError, match=words):
        reranker.rerank([-1.0, 0.5, 0.2], sensitive_features=["a", "b", "b"], groups=["a", "b"])


def test_groups_are_needed():
    with pytest.raises(DataError, match="sensitive_features"):
        ExposureOptimal().rerank([1.0, 0.5])
