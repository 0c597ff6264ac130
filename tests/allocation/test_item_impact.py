import pytest

from equirank.allocation import item_impact

from ..metrics.cases import same
from .division_twins import EXAMPLE, POLICIES, impacts, random_cases


def test_agrees_with_twin():
    for relevance, policy, attention in random_cases(300):
        got = item_impact(relevance, policy, attention=attention)
        same(got, impacts(relevance.tolist(), policy.tolist(), attention.tolist()))


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("maximal", (1.3, 0)),
        ("fair", (0.95, 0.28)),
        ("uniform", (0.65, 0.35)),
        ("nash", (0.8, 0.4)),
    ],
)
def test_two_users_and_two_items(name, wanted):
    same(item_impact(EXAMPLE, POLICIES[name], attention=[1]), wanted)


def test_a_second_place_counts_by_its_attention():
    policy = [[[1, 0], [0, 1]]]
    same(item_impact([[2, 3]], policy, attention=[1, 0.5]), [2, 1.5])
