from math import log, log2, nan

import numpy as np
import pytest

from equirank import DataError, Ranking, as_ranking_data
from equirank.metrics import AWRF, awrf
from equirank.testing import check_metric

from .comparing import agree_on_chances
from .test_skew import shares


def entropy(parts):
    return -sum(part * log2(part) for part in parts if part > 0)


def js(have, want):
    middle = [(h + w) / 2 for h, w in zip(have, want, strict=True)]
    return entropy(middle) - (entropy(have) + entropy(want)) / 2


def twin(
    chances,
    y,
    groups,
    labels,
    protected,
    *,
    k=None,
    discount="log2",
    stop=0.1,
    distance="difference",
    proportions=None,
):
    if discount == "trec":
        discount = [1 / log2(max(j, 2)) for j in range(1, len(groups) + 1)]
    if discount == "geometric":
        discount = [stop * (1 - stop) ** j for j in range(len(groups))]
    seen, target = chances(k, discount), shares(groups, labels, proportions)
    if sum(seen) == 0 or sum(share > 0 for share in target.values()) < 2:
        return nan, dict.fromkeys(labels, nan)
    have = {
        label: sum(s for s, g in zip(seen, groups, strict=True) if g == label) / sum(seen)
        for label in labels
    }
    apart = {label: have[label] - target[label] for label in labels}
    if protected is None:
        if distance != "difference":
            value = js([have[g] for g in labels], [target[g] for g in labels])
        else:
            value = max(abs(difference) for difference in apart.values())
    elif target[protected] == 0:
        value = nan
    elif distance != "difference":
        h, t = have[protected], target[protected]
        value = js([h, 1 - h], [t, 1 - t])
    else:
        value = abs(apart[protected])
    if distance == "trec":
        value *= log(2)
    return value, {g: apart[g] if target[g] > 0 else nan for g in labels}


OPTIONS = [
    {},
    {"k": 2},
    {"discount": "zipf"},
    {"discount": (0.0, 1.0), "k": 3},
    {"discount": "geometric", "stop": 0.3},
    {"discount": "geometric", "k": 2},
    {"distance": "js"},
    {"distance": "js", "discount": "zipf", "k": 2},
]


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("labels", ["ab", "abc"])
@pytest.mark.parametrize("protected", [None, "a"])
def test_agrees_with_twin(options, labels, protected):
    agree_on_chances(awrf, AWRF(protected=protected, **options), twin, labels, **options)


@pytest.mark.slow
@pytest.mark.parametrize("distance", ["difference", "js"])
@pytest.mark.parametrize("protected", [None, "b"])
def test_given_proportions_agree_with_twin(distance, protected):
    options = {"distance": distance, "proportions": {"a": 0.6, "b": 0.4, "c": 0.0}}
    agree_on_chances(awrf, AWRF(protected=protected, **options), twin, "abc", **options)


def test_single_list():
    v = [1 / log2(1 + place) for place in (1, 2, 3)]
    value, groups = awrf([3, 2, 1], list("aab"), return_groups=True)
    share = (v[0] + v[1]) / sum(v)
    assert value == pytest.approx(share - 2 / 3)
    assert groups == pytest.approx({"a": share - 2 / 3, "b": 2 / 3 - share})


def test_geometric_attention():
    value = awrf([2, 1], list("ab"), discount="geometric", stop=0.25, protected="a")
    assert value == pytest.approx(0.25 / (0.25 + 0.25 * 0.75) - 1 / 2)


def test_divergence_of_the_worst_list_against_a_rare_target_is_nearly_one():
    value = awrf([2, 1], list("ab"), k=1, distance="js", proportions={"a": 1e-9, "b": 1 - 1e-9})
    assert value == pytest.approx(1, abs=1e-6)


def test_one_group_with_a_target_is_undefined():
    proportions = {"a": 0.0, "b": 1.0}
    values = awrf([2, 1, 1], list("abb"), qid=[1, 1, 2], proportions=proportions, per_query=True)
    assert np.isnan(values).all()


def test_a_fair_coin_is_fair():
    data = as_ranking_data(y=[0, 0], sensitive_features=list("ab"))
    fair = Ranking.from_positions(data, [[1, 2], [2, 1]])
    for metric in (AWRF(), AWRF(distance="js")):
        assert metric.per_query(fair).value[0] == pytest.approx(0, abs=1e-12)


def test_direction():
    scores = [6, 5, 4, 3, 2, 1]
    assert AWRF.direction == "lower"
    for distance in ("difference", "js"):
        values = [
            awrf(scores, list(row), distance=distance) for row in ("abbaab", "aababb", "aaabbb")
        ]
        assert values[0] < values[1] < values[2]


def test_bad_options_are_refused():
    for options in ({"discount": "log"}, {"stop": 0}, {"stop": 1}, {"distance": "kl"}):
        with pytest.raises(DataError, match=f"{next(iter(options))} of AWRF"):
            AWRF(**options)


@pytest.mark.slow
@pytest.mark.parametrize("metric", [AWRF(), AWRF(distance="js") @ 2, AWRF(discount="geometric")])
def test_keeps_its_promises(metric):
    check_metric(metric)


@pytest.mark.parametrize(
    ("groups", "shares", "score"),
    [
        ("mmfmf", {"f": 0.5, "m": 0.5}, 0.9785651024527522),
        ("mfxmmffxmm", {"f": 0.3, "m": 0.5, "x": 0.2}, 0.9993652398723543),
        ("mfxmmffxmm", {"f": 0.6, "m": 0.2, "x": 0.2}, 0.9497125429448098),
        ("mf", {"f": 0.5, "m": 0.5}, 1.0),
    ],
)
def test_trec_score(groups, shares, score):
    # from the evaluation code of the TREC 2021 fair ranking track, which has single precision
    scores = range(len(groups), 0, -1)
    options = {"discount": "trec", "distance": "trec", "proportions": shares}
    assert 1 - awrf(list(scores), list(groups), **options) == pytest.approx(score, abs=1e-7)
