import numpy as np
import pytest

from equirank import DataError, Ranking, as_ranking_data
from equirank.metrics import RecallGap, recall_gap
from equirank.testing import check_metric

from .. import twins
from .comparing import agree_on_chances


def twin(chances, y, groups, labels, protected, *, k=None, threshold=1, rate="recall"):
    inside = chances(k, (1.0,) * len(groups))
    found, rates = {}, {}
    for name in ("recall", "false_positive"):
        wanted = [item for item in range(len(y)) if (y[item] >= threshold) == (name == "recall")]
        for label in labels:
            own = [item for item in wanted if groups[item] == label]
            rest = [item for item in wanted if groups[item] != label]
            rates[name, label] = twins.mean_of(inside, own)
            found[name, label] = abs(rates[name, label] - twins.mean_of(inside, rest))
    if rate == "odds":
        both = {
            label: twins.worst([found["recall", label], found["false_positive", label]], max)
            for label in labels
        }
        gaps, known = both, both
    else:
        gaps = {label: found[rate, label] for label in labels}
        known = {label: rates[rate, label] for label in labels}
    if protected is not None:
        return gaps[protected], known
    return twins.worst(list(gaps.values()), max), known


OPTIONS = [
    {},
    {"k": 1},
    {"k": 2, "threshold": 2},
    {"k": 2, "rate": "false_positive"},
    {"k": 3, "rate": "odds"},
    {"k": 9, "rate": "odds", "threshold": 3},
]


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("labels", ["ab", "abc"])
@pytest.mark.parametrize("protected", [None, "b"])
def test_agrees_with_twin(options, labels, protected):
    agree_on_chances(recall_gap, RecallGap(protected=protected, **options), twin, labels, **options)


def test_single_list():
    y, scores, groups = [1, 0, 1, 1, 0, 1], [6, 5, 4, 3, 2, 1], list("aababb")
    value, known = recall_gap(y, scores, groups, k=3, return_groups=True)
    # relevant of a at places 1 and 4, of b at 3 and 6
    assert known == {"a": 1 / 2, "b": 1 / 2}
    assert value == 0
    value, known = recall_gap(y, scores, groups, k=2, rate="false_positive", return_groups=True)
    assert known == {"a": 1, "b": 0}
    assert value == 1
    assert recall_gap(y, scores, groups, k=2) == pytest.approx(1 / 2)
    value, known = recall_gap(y, scores, groups, k=2, rate="odds", return_groups=True)
    assert value == 1
    assert known == {"a": 1, "b": 1}


def test_three_groups_take_the_largest_gap_to_the_rest():
    value = recall_gap([1] * 4, [4, 3, 2, 1], list("abca"), k=2)
    # a 1/2 against 1/2, b 1 against 1/3, c 0 against 2/3
    assert value == pytest.approx(2 / 3)
    assert recall_gap([1] * 4, [4, 3, 2, 1], list("abca"), k=2, protected="a") == 0


def test_undefined_without_relevant_items_on_both_sides():
    values = recall_gap(
        [1, 0, 0, 0, 1, 1],
        [2, 1, 2, 1, 2, 1],
        list("ababab"),
        qid=[1, 1, 2, 2, 3, 3],
        per_query=True,
        k=1,
    )
    assert np.isnan(values[:2]).all()
    assert values[2] == 1
    # where one of the two rates is undefined the other counts
    assert recall_gap([0, 0], [2, 1], list("ab"), k=1, rate="odds") == 1


def test_policies_are_worth_their_expected_rates():
    data = as_ranking_data(y=[1, 1], sensitive_features=list("ab"))
    fair = Ranking.from_positions(data, [[1, 2], [2, 1]])
    assert (RecallGap @ 1).per_query(fair).value[0] == pytest.approx(0, abs=1e-12)


def test_direction():
    assert RecallGap.direction == "lower"
    y, scores = [1] * 6, [6, 5, 4, 3, 2, 1]
    values = [recall_gap(y, scores, list(row), k=4) for row in ("abbaab", "aaabbb")]
    assert values == pytest.approx([0, 2 / 3])


def test_bad_options_are_refused():
    for options in ({"threshold": 0}, {"rate": "precision"}):
        with pytest.raises(DataError, match=f"{next(iter(options))} of RecallGap"):
            RecallGap(**options)


@pytest.mark.slow
@pytest.mark.parametrize("metric", [RecallGap() @ 2, RecallGap(rate="odds") @ 2])
def test_keeps_its_promises(metric):
    check_metric(metric)
