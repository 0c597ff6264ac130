"""
When exposure in proportion to merit does harm
==============================================

There are two users, two items, and one position in each list. Both users prefer item 1; item 2 has
less merit. With exposure in proportion to merit, item 2 is worse off than in a random list: it
receives its exposure from the user who values it less. Nash welfare, the product of the impacts of
the items, is better for both items.
"""

import altair as alt
import numpy as np

from equirank.allocation import ExposureAllocation, NashAllocation, UserItemPolicy

relevance = np.array([[0.8, 0.3], [0.5, 0.4]])
nobody = np.zeros((0, 2, 1), dtype=int)

policies = {
    "most useful": NashAllocation(k=1, aversion=0.0).fit_policy(relevance),
    "exposure by merit": ExposureAllocation(k=1).fit_policy(relevance),
    "Nash welfare": NashAllocation(k=1, tol=1e-6).fit_policy(relevance),
    "at random": UserItemPolicy(nobody, [], [1.0], n_items=2, uniform=1.0),
}

# %%
# The total utility of the users, and the impact of each item:

for name, policy in policies.items():
    utility = policy.user_utility(relevance).sum()
    first, second = policy.impact(relevance)
    print(f"{name:18} users {utility:.2f}   items {first:.2f} and {second:.2f}")

# %%
# Six items liked by 55, 53, 51, 49, 47 and 45% of all users: ranked by utility, the first item
# is at position 1 every time.

rng = np.random.default_rng(0)
likes = (rng.random((2000, 6)) < [0.55, 0.53, 0.51, 0.49, 0.47, 0.45]).astype(float)
known = np.tile(likes.mean(axis=0), (2000, 1))  # the system knows only the averages
greedy = NashAllocation(k=1, aversion=0.0).fit_policy(known)
shared = NashAllocation(k=1).fit_policy(known)
print("most useful  ", (greedy.exposure() / 2000).round(2))
print("Nash welfare ", (shared.exposure() / 2000).round(2))

# %%
# How often each item is at position 1.

bars = [
    {"item": at + 1, "share": float(value), "policy": name}
    for name, policy in (("most useful", greedy), ("Nash welfare", shared))
    for at, value in enumerate(policy.exposure() / 2000)
]
alt.Chart(alt.Data(values=bars), width=200, height=160).mark_bar(color="#5f6c7b").encode(
    x=alt.X("item:O", title="item").axis(labelAngle=0),
    y=alt.Y("share:Q", title="share of users who see it").axis(format=".0%"),
    column=alt.Column("policy:N", title=None),
)
