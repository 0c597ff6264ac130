"""
Which re-ranker, at which price?
================================

The scores of the screening system in the bundled hiring data are biased against women, although
women and men are equally suitable. Suppose it cannot be retrained. Several re-rankers change its
order, each with its own guarantee. Does the guarantee hold, and what is its price?
"""

from equirank import audit, evaluate
from equirank.datasets import load_hiring
from equirank.metrics import NDCG, ExposureGap
from equirank.plots import comparison
from equirank.rerankers import (
    ContinuousFairness,
    DetConstSort,
    FAStarIR,
    ImplicitBiasFloor,
    PrefixConstraints,
    RooneyRule,
)

data = load_hiring()
given = data.ranking()
k = 10

# %%
# Six re-rankers
# --------------
# From the mildest to the strictest: at least one woman on the short list; at least as many as a
# statistical test requires; lower bounds for both groups; equal shares in every prefix; the same
# with rounding up; and scores moved until both groups have the same distribution.

women, men = "female", "male"
rules = [
    RooneyRule(women, k=k, by="sex"),
    FAStarIR(p=0.5, alpha=0.1, protected=women, k=k, by="sex"),
    PrefixConstraints({women: 0.4, men: 0.4}, k=k, by="sex"),
    DetConstSort({women: 0.5, men: 0.5}, k=k, by="sex"),
    ImplicitBiasFloor(0.5, women, k=k, by="sex"),
    ContinuousFairness(by="sex"),
]

# %%
# Guarantee and price
# -------------------
# ``moved`` counts the applicants with another position than before. NDCG uses the unbiased
# suitability, so it may increase: the original order was not optimal.

print(f"{'re-ranker':<20}{'holds':<7}{'moved':>5}{'NDCG@10':>9}{'exposure gap':>14}")
for rule in rules:
    result = rule(given)
    quality, gap = (
        evaluate(result, metric).summary()["value"][0]
        for metric in (NDCG @ k, ExposureGap(by="sex") @ k)
    )
    held = "yes" if result.holds else "no"
    name = type(rule).__name__
    print(f"{name:<20}{held:<7}{len(result.moves):>5}{quality:>9.3f}{gap:>14.3f}")

# %%
# The original order, for comparison:

evaluate(data, [NDCG @ k, ExposureGap(by="sex") @ k])

# %%
# One method, before and after
# ----------------------------
# The lower bounds of ``PrefixConstraints`` apply to both groups; of all orders that satisfy them it
# returns the one with the highest scores.

result = PrefixConstraints({women: 0.4, men: 0.4}, k=k, by="sex")(given)
result.summary()

# %%
# Why did a person move?

item = result.moves["id"][0]
print(result.explain(item))

# %%
# Before and after, metric by metric, each with its own scale.

comparison(audit(result, against=given, n_boot=100, n_permutations=99), "sex")
