"""When a claim is a finding: the corrected test and the interval on one side of no difference."""

from types import SimpleNamespace

import numpy as np
import pytest

from equirank.auditing import claim_tests
from equirank.reports.claims import Claim

#: No draw is as far from 0 as the observed statistic, so p = 1 / (999 + 1).
DRAWS = np.zeros(999)
NAN = float("nan")


def judged(z=5.0, **fields):
    """Return the claim of a report with one comparison."""
    claim = Claim("", "position", "sex", "f", **fields)
    plan = SimpleNamespace(untested="", level=0.95)
    (found,) = claim_tests.finish([[claim_tests.Tested(claim, z, DRAWS, deviation=1.0)]], plan)
    return found


@pytest.mark.parametrize(
    ("unit", "estimate", "low", "high", "status"),
    [
        ("ranks", 2.0, 1.0, 3.0, "finding"),
        ("ranks", -2.0, -3.0, -1.0, "finding"),
        ("ranks", 2.0, -0.1, 3.0, "cannot_tell"),  # the test is clear, the interval includes 0
        ("ranks", -2.0, -3.0, 0.1, "cannot_tell"),
        ("ranks", 2.0, 0.0, 3.0, "cannot_tell"),  # an end at 0 is not beyond it
        ("ranks", 2.0, -3.0, -1.0, "cannot_tell"),  # beyond it on the other side
        ("ratio", 0.6, 0.4, 0.9, "finding"),  # of a ratio, 1 is no difference
        ("ratio", 0.6, 0.4, 1.1, "cannot_tell"),
        ("ratio", 1.5, 0.9, 2.0, "cannot_tell"),
    ],
)
def test_a_finding_needs_the_interval_as_well_as_the_test(unit, estimate, low, high, status):
    found = judged(unit=unit, estimate=estimate, low=low, high=high)
    assert found.p_family == 1 / 1000
    assert found.status == status


def test_a_finding_needs_the_test_as_well_as_the_interval():
    found = judged(z=0.0, unit="ranks", estimate=2.0, low=1.0, high=3.0)
    assert (found.p_family, found.status) == (1.0, "cannot_tell")


def test_a_share_is_compared_with_the_share_of_the_others():
    for low, status in ((0.45, "finding"), (0.35, "cannot_tell")):
        found = judged(unit="chance", estimate=0.5, low=low, high=0.6, shares=(0.5, 0.4))
        assert found.status == status


def test_without_a_test_or_an_interval_a_claim_describes():
    found = judged(unit="ranks", estimate=2.0, low=NAN, high=NAN)
    assert (found.status, found.reason) == ("described", "no interval could be computed")
    found = judged(z=NAN, unit="ranks", estimate=2.0, low=1.0, high=3.0)
    assert (found.status, found.reason) == ("described", "no test could be computed")
