import pytest

from equirank.allocation import item_impact, user_utility

from ..metrics.cases import same
from .division_twins import EXAMPLE, POLICIES, random_cases


def test_agrees_with_twin():
    for relevance, policy, attention in random_cases(300):
        users, items, places = policy.shape
        wanted = [
            sum(
                relevance[u, i] * attention[k] * policy[u, i, k]
                for i in range(items)
                for k in range(places)
            )
            for u in range(users)
        ]
        got = user_utility(relevance, policy, attention=attention)
        same(got, wanted)
        assert got.sum() == pytest.approx(item_impact(relevance, policy, attention=attention).sum())


@pytest.mark.parametrize(
    ("name", "total"), [("maximal", 1.30), ("fair", 1.23), ("uniform", 1.00), ("nash", 1.20)]
)
def test_two_users_and_two_items(name, total):
    assert user_utility(EXAMPLE, POLICIES[name], attention=[1]).sum() == pytest.approx(total)
