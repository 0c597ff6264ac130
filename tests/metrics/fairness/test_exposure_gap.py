from math import log2

import numpy as np
import pytest

from equirank import Ranking, as_ranking_data
from equirank.metrics import ExposureGap, exposure_gap

from .. import twins
from ..agreement import batches, positions
from ..cases import same
from .test_exposure_by_group import OPTIONS, expected_exposures


def largest(seen, groups, labels):
    return twins.worst([twins.gap(seen, groups, label) for label in labels], max)


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("labels", ["ab", "abc"])
@pytest.mark.parametrize("ties", ["average", "stable"])
def test_agrees_with_twin(options, labels, ties):
    for batch in batches(labels):
        seen = [
            twins.exposure(
                case.blocks() if ties == "average" else case.in_order(), [], len(case.y), **options
            )
            for case in batch.cases
        ]
        pairs = list(zip(seen, batch.cases, strict=True))
        call = {"qid": batch.qid, "per_query": True, "ties": ties, **options}
        got, groups = exposure_gap(batch.score, batch.groups, return_groups=True, **call)
        same(got, [largest(some, case.groups, labels) for some, case in pairs])
        for label in labels:
            wanted = [twins.mean_of(s, twins.members(c.groups, label)) for s, c in pairs]
            same(groups[label], wanted)
        got = exposure_gap(batch.score, batch.groups, protected="b", **call)
        same(got, [twins.gap(some, case.groups, "b") for some, case in pairs])


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("labels", ["ab", "abc"])
def test_policies_agree_with_twin(options, labels):
    for drawn in positions(labels):
        pairs = list(zip(expected_exposures(drawn, **options), drawn.batch.cases, strict=True))
        got = ExposureGap(**options).per_query(drawn.ranking).value
        same(got, [largest(some, case.groups, labels) for some, case in pairs])
        got = ExposureGap(protected="a", **options).per_query(drawn.ranking).value
        same(got, [twins.gap(some, case.groups, "a") for some, case in pairs])


def test_single_list():
    value = exposure_gap([4, 3, 2, 1], list("abba"))
    wanted = abs((1 / log2(2) + 1 / log2(5)) / 2 - (1 / log2(3) + 1 / log2(4)) / 2)
    assert value == pytest.approx(wanted)


def test_three_groups_take_the_largest_gap_to_the_rest():
    v = [1 / log2(1 + place) for place in (1, 2, 3)]
    gaps = [abs(v[i] - (sum(v) - v[i]) / 2) for i in range(3)]
    assert exposure_gap([3, 2, 1], list("abc")) == pytest.approx(max(gaps))
    assert exposure_gap([3, 2, 1], list("abc"), protected="b") == pytest.approx(gaps[1])


def test_a_fair_coin_has_no_gap():
    data = as_ranking_data(y=[0, 0], sensitive_features=list("ab"))
    fair = Ranking.from_positions(data, [[1, 2], [2, 1]])
    assert ExposureGap().per_query(fair).value[0] == pytest.approx(0, abs=1e-12)
    one = Ranking.from_positions(data, [1, 2])
    assert ExposureGap().per_query(one).value[0] == pytest.approx(1 - 1 / log2(3))


def test_undefined_for_one_group_only():
    values = exposure_gap([2, 1, 2, 1], list("aaab"), qid=[1, 1, 2, 2], per_query=True)
    same(values, [np.nan, 1 - 1 / log2(3)])


def test_crossed_attributes():
    people = {"sex": list("ffmm"), "race": list("xyxy")}
    data = as_ranking_data(score=[4, 3, 2, 1], sensitive_features=people)
    v = [1 / log2(1 + place) for place in (1, 2, 3, 4)]
    got = ExposureGap(by=("sex", "race"), protected="m & x").per_query(data.ranking()).value[0]
    assert got == pytest.approx(abs(v[2] - (v[0] + v[1] + v[3]) / 3))
    got = ExposureGap(by="race", protected="x").per_query(data.ranking()).value[0]
    assert got == pytest.approx(abs((v[0] + v[2]) / 2 - (v[1] + v[3]) / 2))
