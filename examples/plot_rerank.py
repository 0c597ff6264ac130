"""
Which re-ranker, at which price?
================================

The screening system of the bundled hiring data holds the scores of women down, although women and
men are equally suitable. Nobody can retrain it. Several re-rankers take its order and give another
one, each with a guarantee of its own. What does each promise, does it hold, and what does it cost?
"""

from equirank import evaluate
from equirank.datasets import load_hiring
from equirank.metrics import NDCG, ExposureGap
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
# From the mildest to the strictest: at least one woman on the short list; as many as chance would
# hardly undercut; a floor for both; the same share at every prefix; the same with rounding up; and
# scores moved until both groups are spread alike.

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
# ``moved`` counts the applicants who stand elsewhere than before. NDCG counts the unbiased
# suitability, so it may well rise: the order given was not the best one.

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
# The order given, for comparison:

evaluate(data, [NDCG @ k, ExposureGap(by="sex") @ k])

# %%
# One of them, before and after
# -----------------------------
# The floors of ``PrefixConstraints`` bind both groups; of all orders that keep them it gives the
# one with the highest scores.

result = PrefixConstraints({women: 0.4, men: 0.4}, k=k, by="sex")(given)
result.summary()

# %%
# And why did somebody move?

item = result.moves["id"][0]
print(result.explain(item))
