import pytest

from equirank.allocation import envy

from .division_twins import EXAMPLE, POLICIES, UNIFORM, impact, random_cases


def test_agrees_with_twin():
    seen = []
    for relevance, policy, attention in random_cases(400):
        r, x, e = relevance.tolist(), policy.tolist(), attention.tolist()
        n = len(r[0])
        wanted = 0.0
        for i in range(n):
            own = impact(r, x, e, i, i)
            wanted += max(impact(r, x, e, i, j) - own for j in range(n)) / n
        got = envy(relevance, policy, attention=attention)
        assert type(got) is float
        assert got == pytest.approx(wanted, abs=1e-12)
        assert got >= 0
        seen.append(got)
    assert max(seen) > 0.1


def test_two_users_and_two_items():
    got = {name: envy(EXAMPLE, policy, attention=[1]) for name, policy in POLICIES.items()}
    # maximal: item 2 would have .3 + .4 with the places of item 1
    assert got["maximal"] == pytest.approx(0.7 / 2)
    # exposure-fair: item 2 would have .3 + .4 * .3 = .42 instead of .28
    assert got["fair"] == pytest.approx((0.42 - 0.28) / 2)
    assert got["uniform"] == 0.0
    # Nash: item 1 would have .5 instead of .8, item 2 .3 instead of .4
    assert got["nash"] == 0.0


def test_better_and_worse():
    """Mixing in the uniform policy lowers envy."""
    previous = 1.0
    for share in (0.0, 0.25, 0.5, 1.0):
        mixed = [
            [[(1 - share) * a + share * b] for (a,), (b,) in zip(rows, others, strict=True)]
            for rows, others in zip(POLICIES["maximal"], UNIFORM, strict=True)
        ]
        value = envy(EXAMPLE, mixed, attention=[1])
        assert value < previous
        previous = value
    assert previous == 0.0
