"""Promises of remedies for new lists, from a calibration part."""

import json

import numpy as np
import pytest

from equirank import DataError, as_ranking_data, remedy
from equirank.datasets import make_ranking
from equirank.metrics import ExposureGap
from equirank.rerankers import ContinuousFairness, ScoreBonus
from equirank.search.guarantee import promised_mean
from equirank.search.targets import read_target
from equirank.theory import mean_upper_bound
from equirank.theory.mean_bounds import betting_p

ABOVE = "sex=f above >= 0.42"


def lists(seed, n_lists=60, size=12, scale=1.0, groups="fm"):
    rng = np.random.default_rng(seed)
    sex = rng.choice(list(groups), n_lists * size)
    score = scale * (rng.normal(size=n_lists * size) - 0.8 * (sex == "f"))
    qid = np.repeat(np.arange(n_lists) + 1000 * seed, size)
    return as_ranking_data(score=score, qid=qid, sensitive_features={"sex": sex})


@pytest.fixture(scope="module")
def found():
    return remedy(lists(1), ABOVE, calibration=lists(2, 150), n_boot=0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ContinuousFairness", "ScoreBonus"])
def test_a_promised_setting_passes_its_test_on_the_calibration_part(found, name):
    each, data = found.find(name), lists(2, 150)
    made = {"ContinuousFairness": ContinuousFairness, "ScoreBonus": ScoreBonus}[name]
    rule = made(each.promise.strength, **({"protected": "f"} if name == "ScoreBonus" else {}))
    ranking = data.ranking()
    values = read_target(ABOVE, ranking, (10,)).per_list(rule(ranking))
    losses = 1.0 - values[~np.isnan(values)]
    order = np.random.default_rng(0).permutation(len(losses))
    assert each.promise.strength >= each.strength
    assert losses.mean() < 0.58
    assert betting_p(losses[order], 0.58, 0.1) < 0.2  # 0.1 in the order of the promise


@pytest.mark.slow
def test_promises_are_in_the_sentences_the_table_and_the_json(found):
    first = found.best("aware")
    assert first.promise.sentence in found.sentences
    assert first.promise.sentence.startswith("On new lists drawn like the 150 of the calibration")
    assert "promised" in found.shown_table().columns
    document = json.loads(found.to_json())
    assert document["remedies"][0]["promise"]["n_lists"] == 150


@pytest.mark.slow
def test_few_lists_promise_nothing_and_say_how_many_would():
    result = remedy(lists(1), "sex=f above >= 0.49", calibration=lists(2, 8), n_boot=0)
    each = result.find("ContinuousFairness")
    assert each.promise.strength is None
    assert "cannot be promised" in each.promise.sentence
    assert "would" in each.promise.sentence


@pytest.mark.slow
def test_what_cannot_be_promised_is_said():
    pooled = remedy(lists(1), "sex=f selected at 3 >= 0.8", calibration=lists(2), n_boot=0)
    assert any("no promise of this kind" in note for note in pooled.notes)
    assert pooled.best().promise is None
    with pytest.raises(DataError, match="must be other lists than data, got the same"):
        remedy(lists(1), ABOVE, calibration=lists(1), n_boot=0)
    with pytest.raises(DataError, match="calibration must be None beside arrays"):
        remedy(score=[2, 1], sensitive={"sex": ["m", "f"]}, calibration=lists(1), target=ABOVE)


@pytest.mark.gate
def test_nothing_is_promised_about_several_groups():
    several = remedy(
        lists(1, groups="fmx"), "ExposureGap <= 0.01", calibration=lists(2, groups="fmx"), n_boot=0
    )
    assert any("about several groups" in note for note in several.notes)


def test_a_promised_mean_is_the_bound_of_the_losses_of_lists():
    ranking = make_ranking(n_queries=80, n_items=12, score_bias=1.0, random_state=0).ranking()
    losses = np.asarray(ExposureGap().per_query(ranking).value)
    bound = promised_mean(ranking, ExposureGap())
    assert losses.mean() < bound < losses.mean() + 0.1
    # The order of the lists has a small influence.
    assert bound == pytest.approx(mean_upper_bound([losses], 0.1), abs=0.01)
