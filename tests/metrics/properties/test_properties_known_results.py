"""What the literature knows of the metrics' blindness, as numbers."""

import pytest

from equirank.metrics import rank_equality_error, rank_parity_error


def taken_apart(text):
    """Groups and true positions of a ranking such as ``B9 A0``, best first."""
    items = text.split()
    score = list(range(len(items), 0, -1))
    merit = [9 - int(item[1]) for item in items]
    return score, merit, [item[0] for item in items]


def test_rank_equality_cannot_tell_who_is_harmed():
    score, merit, groups = taken_apart("B9 A0 A2 B1 B3 A5 B4 A8 B6 B7")
    errors = [rank_equality_error(merit, score, groups, protected=group) for group in "AB"]
    assert errors == [pytest.approx(4 / 24)] * 2


def test_rank_parity_is_one_half_although_bimodal():
    score, _, groups = taken_apart("A0 A2 B1 B3 B4 B6 B7 B9 A5 A8")
    for group in "AB":
        assert rank_parity_error(score, groups, protected=group) == 0.5
    assert rank_parity_error(score, groups) == 0.5
