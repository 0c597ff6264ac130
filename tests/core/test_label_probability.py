"""Probabilities of groups from labels, guesses, errors of recording and checks."""

import numpy as np
import pytest

from equirank import LabelError, as_ranking_data
from equirank.core.errors import DataError
from equirank.core.label_probability import depth_by_value, group_probability


def depth_of(data):
    return depth_by_value(data.score, data.offsets)


def recorded(rng, n=6000, flips=((0.9, 0.1), (0.3, 0.7))):
    """Return truth, recorded label and score: group 1 is rarer at the top."""
    depth = np.arange(n) / n
    truth = (rng.random(n) < 0.2 + 0.4 * depth).astype(int)
    matrix = np.array(flips)
    label = (rng.random(n) < matrix[truth, 1]).astype(int)
    return truth, label, -depth, matrix


def test_a_recorded_label_becomes_its_posterior_in_each_tenth():
    truth, label, score, matrix = recorded(np.random.default_rng(0))
    names = np.array(["a", "b"])[label]
    data = as_ranking_data(
        score=score, sensitive_features={"g": names}, label_error={"g": LabelError(matrix)}
    )
    found = group_probability(data, "g", "test", depth_of(data))
    assert found.source == "errors"
    assert found.informedness == pytest.approx(0.6)
    for tenth in range(10):
        rows = slice(600 * tenth, 600 * tenth + 600)
        prior = 0.2 + 0.4 * (tenth + 0.5) / 10
        for b in (0, 1):  # Bayes' rule with the true share of the tenth
            joint = np.array([1 - prior, prior]) * matrix[:, b]
            table = found.table[rows][label[rows] == b]
            assert np.abs(table[:, 1] - joint[1] / joint.sum()).max() < 0.08
    assert abs(found.table[:, 1].mean() - truth.mean()) < 0.02
    np.testing.assert_allclose(found.table.sum(axis=1), 1.0)


def test_a_matrix_without_errors_keeps_the_labels():
    _, label, score, _ = recorded(np.random.default_rng(1), n=50)
    names = np.array(["a", "b"])[label]
    error = {"g": LabelError(np.eye(2))}
    data = as_ranking_data(score=score, sensitive_features={"g": names}, label_error=error)
    found = group_probability(data, "g", "test", depth_of(data))
    assert found.certain
    np.testing.assert_array_equal(found.table[:, 1], label)


def test_checked_rows_are_certain_and_the_others_take_their_shares():
    rng = np.random.default_rng(2)
    truth, label, score, _ = recorded(rng)
    names = np.array(["a", "b"])
    checked = rng.random(len(truth)) < 0.5
    verified = np.where(checked, names[truth], None)
    people = {"g": names[label], "g[true]": verified}
    data = as_ranking_data(score=score, sensitive_features=people, checked_rate=0.5)
    found = group_probability(data, "g", "test", depth_of(data))
    assert found.source == "checks"
    np.testing.assert_array_equal(found.table[checked, 1], truth[checked])
    rest = found.table[~checked, 1]
    for low, high in ((0.0, 0.3), (0.6, 1.0)):
        band = (rest >= low) & (rest < high)
        assert band.sum() > 300
        assert abs(rest[band].mean() - truth[~checked][band].mean()) < 0.05


def test_rows_of_which_nothing_is_known_are_refused_or_imputed_by_depth():
    sex = ["f"] * 5 + [None] + ["m"] * 5 + [None]
    data = as_ranking_data(
        score=-np.arange(12.0), sensitive_features={"sex": sex}, missing_sensitive="unknown"
    )
    depth = np.repeat([0.0, 0.9], 6)
    with pytest.raises(DataError, match=r"nothing is known of sex in row 5 \(2 of 12 rows\)"):
        group_probability(data, None, "X", depth)
    found = group_probability(data, None, "X", depth, impute=True)
    assert found.source == "bands"
    np.testing.assert_allclose(found.table[5], [(5 + 0.5) / 6, 0.5 / 6])  # one person at 1/2
    np.testing.assert_allclose(found.table[11], [0.5 / 6, (5 + 0.5) / 6])


def test_informedness_of_given_probabilities_is_the_expected_one():
    p = np.array([0.9, 0.8, 0.3, 0.1])
    people = {"sex": [None] * 4, "sex[f]": p, "sex[m]": 1 - p}
    data = as_ranking_data(score=[4, 3, 2, 1], sensitive_features=people)
    found = group_probability(data, None, "X", depth_of(data))
    assert found.source == "probabilities"
    assert found.informedness == pytest.approx(1.7 / 2.1 - 0.3 / 1.9)
