import numpy as np
import pytest

from equirank import DataError
from equirank.metrics import (
    RankCalibrationError,
    kendall_loss,
    pair_loss,
    rank_calibration_error,
)
from equirank.testing import check_metric

from .. import pair_twins as twins
from ..cases import same
from .pairwise_agreement import LABELS, agree, over_labels


@pytest.mark.slow
@pytest.mark.parametrize("denominator", ["all", "comparable"])
@pytest.mark.parametrize("labels", LABELS)
def test_agrees_with_twin(labels, denominator):
    def twin(case, blocks, hidden, label):
        return twins.rank_calibration_error(
            blocks, hidden, case.y, case.groups, label, denominator=denominator
        )

    agree(
        rank_calibration_error,
        RankCalibrationError,
        labels,
        twin,
        over_labels(labels, twin),
        twin,
        truth=True,
        denominator=denominator,
    )


def test_by_hand():
    # pairs with a: (a1, a2) wrong, (a1, b) right, (a2, b) tied
    y, score, groups = [2, 3, 0], [5, 4, 4], list("aab")
    assert rank_calibration_error(y, score, groups, protected="a") == pytest.approx(1.5 / 3)
    assert rank_calibration_error(y, score, groups, protected="b") == pytest.approx(0.5 / 2)
    value = rank_calibration_error([2, 3, 3], score, groups, protected="a")
    assert value == pytest.approx(2 / 3)
    comparable = {"protected": "a", "denominator": "comparable"}
    assert rank_calibration_error([2, 3, 3], score, groups, **comparable) == pytest.approx(2 / 2)


def test_one_group_is_the_plain_loss():
    rng = np.random.default_rng(0)
    y, score, groups = rng.integers(0, 4, 30), rng.integers(0, 9, 30), ["a"] * 30
    assert rank_calibration_error(y, score, groups) == pytest.approx(kendall_loss(y, score))
    value = rank_calibration_error(y, score, groups, denominator="comparable")
    assert value == pytest.approx(pair_loss(y, score, kind="R2"))


def test_undefined_for_one_item_only():
    values = rank_calibration_error(
        [1, 0, 1], [2, 1, 2], list("aab"), qid=[1, 2, 2], per_query=True
    )
    same(values, [np.nan, 0])
    with pytest.raises(DataError, match="no pair to compare"):
        rank_calibration_error([1], [2], ["a"], undefined="raise")


def test_direction():
    truth, groups = [4, 3, 2, 1], list("abab")
    better = rank_calibration_error(truth, [4, 3, 2, 1], groups)
    worse = rank_calibration_error(truth, [4, 1, 3, 2], groups)
    assert 0 == better < worse
    assert RankCalibrationError().direction == "lower"


@pytest.mark.slow
@pytest.mark.parametrize("denominator", ["all", "comparable"])
def test_keeps_every_promise(denominator):
    check_metric(RankCalibrationError(protected="a", denominator=denominator))
    check_metric(RankCalibrationError(denominator=denominator))
