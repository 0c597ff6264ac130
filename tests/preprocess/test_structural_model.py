import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from equirank.preprocess.structural_model import logistic, logistic_coefficients


def test_agrees_with_scikit_learn_without_a_penalty():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    hit = (rng.random(300) < 1 / (1 + np.exp(-(0.5 + X @ [1.0, -2.0])))).astype(float)
    coef = logistic_coefficients(np.column_stack([np.ones(300), X]), hit)
    other = LogisticRegression(C=1e9, tol=1e-10, max_iter=1000).fit(X, hit)
    np.testing.assert_allclose(coef, [*other.intercept_, *other.coef_[0]], atol=1e-4)


def test_separated_rows_end_at_finite_numbers():
    X = np.column_stack([np.ones(6), np.arange(6.0) - 2.5])
    coef = logistic_coefficients(X, np.array([0, 0, 0, 1, 1, 1.0]))
    assert np.isfinite(coef).all()
    np.testing.assert_allclose(logistic(X @ coef), [0, 0, 0, 1, 1, 1], atol=1e-3)


def test_extreme_values_are_cut_off():
    assert logistic(np.array([-1e9, 0.0, 1e9])) == pytest.approx([0, 0.5, 1], abs=1e-12)
