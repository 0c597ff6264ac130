from math import log2, nan

import numpy as np
import pytest

from equirank import Ranking, as_ranking_data
from equirank.metrics import ExposureByGroup, exposure_by_group

from .. import twins
from ..agreement import batches, positions
from ..cases import same

OPTIONS = [{}, {"k": 2}, {"discount": "zipf"}, {"discount": (1.0, 0.5, 0.25), "k": 3}]


def expected_exposures(drawn, **options):
    """Return each case's exposures, averaged over the draws."""
    result = [np.zeros(len(case.y)) for case in drawn.batch.cases]
    for number, draw in enumerate(drawn.draws):
        for at, (blocks, hidden) in enumerate(draw):
            seen = twins.exposure(blocks, hidden, len(result[at]), **options)
            result[at] += drawn.share(number, at) * np.array(seen)
    return result


def least(seen, groups, labels):
    values = [twins.mean_of(seen, twins.members(groups, label)) for label in labels]
    return twins.worst(values, min), values


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("labels", ["ab", "abc"])
def test_agrees_with_twin(options, labels):
    for batch in batches(labels):
        for ties in ("average", "stable"):
            wanted = [
                least(
                    twins.exposure(
                        case.blocks() if ties == "average" else case.in_order(),
                        [],
                        len(case.y),
                        **options,
                    ),
                    case.groups,
                    labels,
                )
                for case in batch.cases
            ]
            value, groups = exposure_by_group(
                batch.score,
                batch.groups,
                qid=batch.qid,
                per_query=True,
                return_groups=True,
                ties=ties,
                **options,
            )
            same(value, [w for w, _ in wanted])
            same(np.stack([groups[label] for label in labels], axis=1), [g for _, g in wanted])


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("labels", ["ab", "abc"])
def test_policies_agree_with_twin(options, labels):
    for drawn in positions(labels):
        seen = expected_exposures(drawn, **options)
        wanted = [
            least(some, case.groups, labels)
            for some, case in zip(seen, drawn.batch.cases, strict=True)
        ]
        got = ExposureByGroup(**options).per_query(drawn.ranking)
        same(got.value, [w for w, _ in wanted])
        same(got.groups, [g for _, g in wanted])
        got = ExposureByGroup(protected="b", **options).per_query(drawn.ranking)
        same(got.value, [g[1] for _, g in wanted])


def test_single_list():
    value, groups = exposure_by_group([4, 3, 2, 1], list("abba"), return_groups=True)
    wanted = {
        "a": (1 / log2(2) + 1 / log2(5)) / 2,
        "b": (1 / log2(3) + 1 / log2(4)) / 2,
    }
    assert groups == pytest.approx(wanted)
    assert value == pytest.approx(min(wanted.values()))


def test_protected_group():
    value, groups = exposure_by_group([2, 1], list("ab"), protected="a", return_groups=True)
    assert value == 1.0
    assert groups == {"a": 1.0}


def test_tied_items_share():
    assert exposure_by_group([1, 1], list("ab")) == pytest.approx((1 + 1 / log2(3)) / 2)


def test_items_not_shown_draw_nothing():
    data = as_ranking_data(y=[0, 0, 0], sensitive_features=list("aab"))
    ranking = Ranking.from_positions(data, [1, 0, 2])
    got = ExposureByGroup().per_query(ranking).groups[0]
    assert got == pytest.approx([(1 + 0) / 2, 1 / log2(3)])


def test_a_group_without_items_has_no_value():
    _, groups = exposure_by_group(
        [2, 1, 1], list("aba"), qid=[1, 1, 2], per_query=True, return_groups=True
    )
    same(groups["b"], [1 / log2(3), nan])
    value = exposure_by_group([2, 1, 1], list("aba"), qid=[1, 1, 2], protected="b")
    assert value == pytest.approx(1 / log2(3))


def test_two_draws_average_the_exposure():
    data = as_ranking_data(y=[0, 0], sensitive_features=list("ab"))
    ranking = Ranking.from_positions(data, [[1, 2], [2, 1]], weights=[0.75, 0.25])
    got = ExposureByGroup().per_query(ranking).groups[0]
    second = 1 / log2(3)
    assert got == pytest.approx([0.75 + 0.25 * second, 0.75 * second + 0.25])
