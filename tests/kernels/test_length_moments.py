"""Moments added up by length: against those of the lists one by one."""

from dataclasses import replace

import numpy as np
import pytest

from equirank import as_ranking_data
from equirank.core.outcomes import DecisionRule
from equirank.core.summed_lists import sum_data
from equirank.core.sums_plan import SumsPlan, Survey
from equirank.kernels.length_moments import fits_tables


def test_tables_are_for_few_groups_and_short_lists():
    assert fits_tables(11, 80, 3)
    assert fits_tables(2, 512, 1)
    assert not fits_tables(17, 80, 3)
    assert not fits_tables(2, 513, 1)
    assert not fits_tables(16, 512, 3)


@pytest.mark.slow
@pytest.mark.parametrize("decimals", [0, 1, 9])
@pytest.mark.parametrize("way", ["top", "selected", "blank"])
def test_sums_are_those_of_a_plan_with_too_many_groups(decimals, way):
    """Further groups, that no list has, make the kernel measure lists one by one."""
    rng = np.random.default_rng([decimals, len(way)])
    sizes = np.concatenate([np.repeat(np.arange(1, 8), 5), rng.integers(8, 81, 120)])
    n = int(sizes.sum())
    decided = (rng.random(n) < 0.4).astype(object)
    decided[rng.random(n) < (0.3 if way == "blank" else 0.0)] = None
    data = as_ranking_data(
        y=rng.integers(0, 4, n),
        qid=np.repeat(np.arange(len(sizes)), sizes),
        score=np.round(rng.normal(size=n), decimals),
        sensitive_features={"sex": rng.choice(["f", "m"], n), "race": rng.choice(list("abc"), n)},
        outcomes=None if way == "top" else {"hired": decided},
    )
    rule = DecisionRule(k=(3, 20)) if way == "top" else DecisionRule(selected="hired")
    reference = {"sex": "m"}
    plan = SumsPlan.of(Survey.of(data), rule=rule, reference=reference)
    more = tuple(f"x{at}" for at in range(5))
    wide = replace(plan, groups={name: (*labels, *more) for name, labels in plan.groups.items()})
    found, wanted = sum_data(data, wide), sum_data(data, plan).regrouped(wide)
    several = [(found.sums, wanted.sums)]
    several += [(found.views[view].sums, each.sums) for view, each in wanted.views.items()]
    for one, other in several:
        for name in ("adjusted", "covariance", "given_covariance", "third", "fourth", "mean"):
            scale = max(1.0, np.abs(other[name]).max(initial=0.0))
            np.testing.assert_allclose(one[name], other[name], atol=1e-12 * scale, err_msg=name)
    assert (np.abs(wanted.sums["given_covariance"]).max(axis=(1, 2, 3, 4)) > 0).all()
