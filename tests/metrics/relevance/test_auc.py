import numpy as np
import pytest

from equirank.metrics import AUC, auc

from .. import twins
from ..agreement import agree
from ..cases import make_batch, same


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"threshold": 2}, {"threshold": 0.5}], ids=str)
def test_agrees_with_twin(options):
    agree(auc, AUC(**options), twins.auc, ["y"], options)


def test_single_list():
    # relevant at 1 and 3; pairs won: (1 over 2), (1 over 4), (3 over 4)
    assert auc([1, 0, 1, 0], [4, 3, 2, 1]) == pytest.approx(3 / 4)


def test_tied_pairs_count_half():
    assert auc([1, 0, 0], [1, 1, 0]) == pytest.approx((1 / 2 + 1) / 2)


def test_best_worst_and_chance():
    assert auc([1, 0], [2, 1]) == 1.0
    assert auc([0, 1], [2, 1]) == 0.0
    assert auc([0, 1, 1], [5, 5, 5]) == 0.5


def test_undefined_for_one_class_only():
    values = auc([1, 1, 0, 0, 1, 0], [1, 2, 1, 2, 2, 1], qid=[1, 1, 2, 2, 3, 3], per_query=True)
    assert np.isnan(values[:2]).all()
    assert values[2] == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("levels", [3, None])
def test_scikit_learn_with_and_without_ties(levels):
    metrics = pytest.importorskip("sklearn.metrics")
    batch = make_batch(150, seed=4, most=30, levels=levels)
    got = auc(batch.y, batch.score, qid=batch.qid, per_query=True)
    wanted = [
        metrics.roc_auc_score(np.array(case.y) >= 1, case.score)
        if 0 < sum(grade >= 1 for grade in case.y) < len(case.y)
        else np.nan
        for case in batch.cases
    ]
    same(got, wanted)
