"""Sums over some people of each list: merged, stored, and with groups of later days."""

import numpy as np
import pytest

from equirank import DataError, as_ranking_data
from equirank.core.list_sums import ListSums
from equirank.core.outcomes import DecisionRule
from equirank.core.summed_lists import sum_data
from equirank.core.sums_plan import SumsPlan, Survey, View

OPTIONS = {"rule": DecisionRule(stages=("screened", "hired")), "reference": "race=a"}


def made(seed=0, lists=30, races="abc"):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 12, lists)
    n = int(sizes.sum())
    screened = rng.choice(["yes", "no", ""], n, p=[0.6, 0.3, 0.1])
    hired = np.where(screened == "yes", rng.choice(["yes", "no"], n), "")
    return as_ranking_data(
        qid=np.repeat(np.arange(lists) + 1000 * seed, sizes),
        score=np.round(rng.normal(size=n), 1), y=rng.integers(0, 3, n),
        sensitive_features={"sex": rng.choice(["f", "m"], n), "race": rng.choice(list(races), n)},
        outcomes={"screened": screened, "hired": hired},
    )  # fmt: skip


def assert_same(found, wanted):
    assert found.views.keys() == wanted.views.keys()
    for view, sums in wanted.views.items():
        np.testing.assert_array_equal(found.views[view].lengths, sums.lengths)
        for name, values in sums.sums.items():
            np.testing.assert_allclose(
                found.views[view].sums[name],
                values,
                rtol=1e-12,
                atol=1e-12,
                err_msg=f"{view} {name}",
            )


@pytest.mark.slow
def test_views_are_merged_and_stored(tmp_path):
    data = made()
    plan = SumsPlan.of(Survey.of(data), **OPTIONS)
    whole = sum_data(data, plan)
    assert View(("race",), "c", "a", -1) in whole.views
    parts = [sum_data(data.select(np.arange(at, 30, 3)), plan) for at in range(3)]
    merged = ListSums.total(reversed(parts))
    assert_same(merged, whole)
    assert (merged.sums["undecided"] == whole.sums["undecided"]).all()
    merged.save(tmp_path / "day.sums")
    assert_same(ListSums.load(tmp_path / "day.sums"), whole)
    screened = data.outcomes["screened"]
    assert whole.decided(0).n_people == (screened != "").sum()
    assert whole.sums["undecided"][0] == (screened == "").sum()
    assert sum_data(made(), rule=DecisionRule(selected="screened")).decided(0) is not None
    assert sum_data(made(), k=3).views == {}


@pytest.mark.slow
def test_a_group_of_a_later_day_has_a_view():
    one, two = made(races="ab"), made(1, races="abc")
    first = sum_data(one, **OPTIONS)
    later = first + sum_data(two, like=first)
    plan = later.plan
    whole = sum_data(one, plan) + sum_data(two, plan)
    assert_same(later, whole)
    assert later.views[View(("race",), "c", "a", -1)].sums["claims"][:, 0, 1].sum() > 0


def test_references_must_be_groups():
    data = made()
    with pytest.raises(DataError, match=r"reference must name one of the attributes .*'ethnicity'"):
        sum_data(data, reference="ethnicity=a")
    with pytest.raises(DataError, match=r"reference of 'race' must be .*got 'x'"):
        sum_data(data, reference="race=x")
    with pytest.raises(DataError, match="reference must be one group of 'race'"):
        sum_data(data, reference=["race=a", "race=b"])
    crossed = sum_data(data, reference="sex x race=f & a").plan
    assert crossed.reference == {"sex x race": "f & a"}
    assert len(crossed.views) == 5
