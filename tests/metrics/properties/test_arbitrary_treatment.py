from math import isnan

import numpy as np
import pytest
from scipy import stats

from equirank.metrics.properties import arbitrary_treatment


@pytest.mark.parametrize("ties", [False, True])
def test_tau_is_scipys(ties):
    rng = np.random.default_rng(2)
    position, truth = rng.permutation(40) + 1, rng.permutation(40) + 1
    truth = truth // 3 if ties else truth
    mask = rng.random(40) < 0.4
    found = arbitrary_treatment(position, truth, mask)
    assert found.protected == pytest.approx(stats.kendalltau(position[mask], truth[mask])[0])
    assert found.others == pytest.approx(stats.kendalltau(position[~mask], truth[~mask])[0])
    assert found.difference == pytest.approx(found.others - found.protected)


def test_a_shift_of_the_whole_group_changes_nothing():
    found = arbitrary_treatment([4, 5, 6, 1, 2, 3], [1, 2, 3, 4, 5, 6], [1, 1, 1, 0, 0, 0])
    assert found.difference == 0.0
    dealt = arbitrary_treatment([3, 2, 1, 4, 5, 6], [1, 2, 3, 4, 5, 6], [1, 1, 1, 0, 0, 0])
    assert (dealt.protected, dealt.others, dealt.difference) == (-1.0, 1.0, 2.0)


def test_no_pair():
    assert isnan(arbitrary_treatment([1, 2, 3], [1, 2, 3], [1, 0, 0]).difference)
