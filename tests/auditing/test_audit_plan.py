"""What an audit looks at: attributes, intersections, protected groups, cutoffs."""

import pytest

from equirank import DataError, as_ranking_data
from equirank.auditing.audit_plan import choose_ks, make_plan
from equirank.core.outcomes import DecisionRule


def plan(protected=None, k=None, cross=True, n=4, **people):
    people = people or {"sex": list("fmfm"), "age": ["old", "young", "old", "old"]}
    data = as_ranking_data(score=range(n), sensitive_features=people)
    return make_plan(
        data.ranking(),
        protected=protected,
        rule=DecisionRule(k=k),
        cross=cross,
        level=0.95,
        n_boot=0,
        n_permutations=0,
        seed=0,
    )


def named(found):
    return {each.name: [each.groups[code] for code in each.protected] for each in found.audited}


def test_every_two_attributes_are_crossed():
    assert [each.name for each in plan().audited] == ["sex", "age", "sex x age"]
    assert [each.name for each in plan(cross=False).audited] == ["sex", "age"]
    three = plan(a=list("xyxy"), b=list("xyxy"), c=list("xyxy"))
    assert [each.name for each in three.audited] == ["a", "b", "c", "a x b", "a x c", "b x c"]
    assert three.audited[3].groups == ["x & x", "y & y"]


@pytest.mark.parametrize(
    "protected",
    [
        "sex=f",
        ["sex=f"],
        {"sex": "f"},
        {"sex": ["f"]},
    ],
)
def test_ways_to_name_a_protected_group(protected):
    found = plan(protected)
    assert named(found) == {"sex": ["f"], "age": [], "sex x age": []}
    assert found.audited[0].focus == 0


def test_several_and_crossed_protected_groups():
    found = plan(["sex=m", "sex=f", "sex x age=f & old"])
    assert named(found) == {"sex": ["m", "f"], "age": [], "sex x age": ["f & old"]}
    assert named(plan("f", sex=list("fmfm"))) == {"sex": ["f"]}
    assert named(plan("f")) == {"sex": ["f"], "age": [], "sex x age": []}
    assert named(plan(1, group=[0, 1, 0, 1])) == {"group": ["1"]}
    assert named(plan("a=b=c", a=["b=c", "d", "d", "d"])) == {"a": ["b=c"]}
    both = plan("a=b=c", cross=False, **{"a": ["b=c", "d", "d", "d"], "a=b": list("ccdd")})
    assert named(both) == {"a": [], "a=b": ["c"]}


@pytest.mark.parametrize(
    ("protected", "said"),
    [
        ("sex=x", "protected of 'sex' must be one of the groups 'f', 'm', got 'x'"),
        ("sxe=f", "must name one of the attributes 'sex', .* did you mean 'sex'"),
        ("q", "must look like \"sex=female\", got 'q', which is no group of 'sex'"),
        ({"height": "tall"}, "got 'height'"),
    ],
)
def test_bad_protected_groups(protected, said):
    with pytest.raises(DataError, match=said):
        plan(protected)


def test_cutoffs():
    assert choose_ks(None, 51) == (10, 50)
    assert choose_ks(None, 50) == (10,)
    assert choose_ks(None, 10) == (5,)
    assert choose_ks(None, 1) == (1,)
    assert choose_ks([50, 10, 10], 3) == (10, 50)
    for bad in (0, -1, 2.5, "10", [], [3, None]):
        with pytest.raises(DataError, match="k"):
            choose_ks(bad, 10)


@pytest.mark.parametrize(("n", "step"), [(4, 2), (20, 4), (49, 9), (50, 10), (500, 10)])
def test_step_of_rnd(n, step):
    assert plan(n=n, sex=["f", "m"] * (n // 2) + ["f"] * (n % 2)).step == step


def test_nobody_to_compare():
    data = as_ranking_data(score=[1, 2])
    with pytest.raises(DataError, match="sensitive must name at least one attribute"):
        make_plan(
            data.ranking(),
            protected=None,
            rule=DecisionRule(k=None),
            cross=True,
            level=0.95,
            n_boot=0,
            n_permutations=0,
            seed=0,
        )


def test_a_group_of_two_attributes_must_be_named_with_its_attribute():
    with pytest.raises(DataError, match="'a' and 'b' both have the group 'x'"):
        plan("x", a=list("xyxy"), b=list("xxyy"))
