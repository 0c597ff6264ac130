import numpy as np
import pytest

from equirank import DataError, Ranking, as_ranking_data
from equirank.core.errors import EquirankWarning
from equirank.metrics import Bpref, bpref

from .. import twins
from ..agreement import agree


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"threshold": 2}, {"threshold": 0.5}], ids=str)
def test_agrees_with_twin(options):
    agree(bpref, Bpref(**options), twins.bpref, ["y"], options)


def test_single_lists():
    # R = 2, N = 3: one irrelevant item above the first, three above the second
    assert bpref([0, 1, 0, 0, 1], [5, 4, 3, 2, 1]) == ((1 - 1 / 2) + (1 - 2 / 2)) / 2
    assert bpref([1, 1, 0], [3, 2, 1]) == 1
    assert bpref([1, 1], [2, 1]) == 1
    assert bpref([0, 0, 1], [3, 2, 1]) == 0
    # R = 1, N = 3, tied with one of them: n is 0 or 1
    assert bpref([1, 0, 0, 0], [2, 2, 1, 1]) == 1 / 2
    # R = 3, N = 1: min(n, 3) / 1 is at most 1
    assert bpref([0, 1, 1, 1], [2, 2, 2, 1]) == pytest.approx((1 / 2 + 1 / 2 + 0) / 3)


def test_long_tied_block():
    # R = 40 tied with N = 60: n is uniform on 0..60, cut at 40, over 40
    wanted = 1 - np.minimum(np.arange(61), 40).mean() / 40
    assert bpref([1] * 40 + [0] * 60, [1] * 100) == pytest.approx(wanted, rel=1e-12)


def test_not_shown_is_not_found():
    data = as_ranking_data(None, [1, 1, 0, 0])
    found = Bpref().per_query(Ranking.from_positions(data, [2, 0, 1, 0])).value
    assert found[0] == (1 - 1 / 2) / 2


def test_undefined_without_relevant_items():
    with pytest.warns(EquirankWarning, match="no item is relevant"):
        assert np.isnan(bpref([0, 0], [2, 1]))
    with pytest.raises(DataError, match="takes no cutoff"):
        Bpref(k=3)
