import numpy as np
import pytest

from equirank import DataError
from equirank.metrics.properties import (
    bimodality,
    clustering,
    scenario_names,
    scenario_pair,
    smoothness,
)
from equirank.metrics.properties.scenarios import PROTECTED, M, N

MOVED = {"tokenisation", "noisy ranking", "arbitrary treatment"}
SAME_MEAN = {"smooth distribution", "bimodality", "clustering"}


def lists(data):
    """Position, protected and part of every list, items by merit."""
    group, part = data.sensitive["group"], data.sensitive["part"]
    protected = (group.codes == group.code(PROTECTED)).reshape(-1, N)
    position = np.rint((1 - data.score) * N + 0.5).astype(int).reshape(-1, N)
    return position, protected, part.codes.reshape(-1, N)


def test_the_nine_properties():
    assert scenario_names() == [
        "smooth distribution",
        "tokenisation",
        "bimodality",
        "clustering",
        "noisy ranking",
        "arbitrary treatment",
        "class asymmetry",
        "biased ground truth",
        "gerrymandering",
    ]


@pytest.mark.parametrize("name", scenario_names())
def test_everything_else_is_equal(name):
    fair, bad = scenario_pair(name, n_lists=6, random_state=1)
    position, protected, part = zip(lists(fair), lists(bad), strict=True)
    np.testing.assert_array_equal(fair.y, bad.y)
    for version in (0, 1):
        assert (protected[version].sum(axis=1) == M).all()
        assert (np.sort(position[version], axis=1) == np.arange(1, N + 1)).all()
    assert (position[0] != position[1]).any() == (name in MOVED)
    assert (protected[0] != protected[1]).any() == (name not in MOVED | {"gerrymandering"})
    assert (part[0] != part[1]).any() == (name == "gerrymandering")


@pytest.mark.parametrize("name", sorted(SAME_MEAN))
def test_shapes_have_one_mean(name):
    for data in scenario_pair(name, n_lists=10):
        position, protected, _ = lists(data)
        for places, group in zip(position, protected, strict=True):
            assert places[group].mean() == (N + 1) / 2


@pytest.mark.parametrize("name", sorted(SAME_MEAN))
def test_the_bad_version_is_bad(name):
    def badness(position, protected):
        places = position[protected]
        return {
            "smooth distribution": smoothness(places, N).ks,
            "bimodality": bimodality(places, N).coefficient,
            "clustering": -clustering(protected[np.argsort(position)]).z,
        }[name]

    fair, bad = (
        [badness(*both) for both in zip(*lists(data)[:2], strict=True)]
        for data in scenario_pair(name, n_lists=10)
    )
    assert max(fair) < min(bad)


def test_arbitrary_treatment_deals_out_the_same_places():
    fair, bad = (lists(data) for data in scenario_pair("arbitrary treatment", n_lists=5))
    for at in range(5):
        before, after = fair[0][at], bad[0][at]
        group = fair[1][at]
        assert set(before[group]) == set(after[group])
        assert (before[~group] == after[~group]).all()


def test_biased_truth_lowers_the_merit_of_the_protected():
    fair, bad = (
        [np.flatnonzero(group).mean() for group in lists(data)[1]]
        for data in scenario_pair("biased ground truth", n_lists=5)
    )
    assert np.mean(bad) - np.mean(fair) > 4


def test_gerrymandering_keeps_the_margins():
    fair, bad = (lists(data) for data in scenario_pair("gerrymandering", n_lists=40))
    moved = bad[0] - np.arange(1, N + 1)
    group, part = bad[1], bad[2] == 0  # part x
    hit = group ^ part
    assert moved[hit].mean() > 3
    assert moved[~hit].mean() < -3
    same = fair[1] ^ (fair[2] == 0)
    assert abs(moved[same].mean()) < 1.5
    for at in range(40):
        assert part[at][group[at]].sum() == (fair[2][at] == 0)[group[at]].sum()


def test_seeds():
    a, again = (scenario_pair("clustering", n_lists=2, random_state=5)[1] for _ in range(2))
    assert a.fingerprint() == again.fingerprint()
    other = scenario_pair("clustering", n_lists=2, random_state=6)[1]
    assert a.fingerprint() != other.fingerprint()
    longer = scenario_pair("clustering", n_lists=3, random_state=5)[1]
    assert longer.select(slice(0, 2)).fingerprint() == a.fingerprint()


def test_bad_input():
    with pytest.raises(DataError, match="did you mean 'clustering'"):
        scenario_pair("clusterin")
    with pytest.raises(DataError, match="n_lists of scenario_pair"):
        scenario_pair("clustering", n_lists=0)
