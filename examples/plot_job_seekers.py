"""
Small differences in merit, large differences in exposure
=========================================================

Six job seekers, three men and three women, are nearly equally suitable. Sorted by suitability, all
men are ranked first. Exposure decreases steeply with the position, so a difference of 0.03 in merit
becomes a large difference in exposure. A random ranking can share the exposure at almost no loss.
"""

import altair as alt
import numpy as np

from equirank import as_ranking_data
from equirank.metrics import exposure_by_group
from equirank.policies import Mixture
from equirank.rerankers import ExposureOptimal

suited = np.array([0.80, 0.79, 0.78, 0.77, 0.76, 0.75])
sex = np.array(["man"] * 3 + ["woman"] * 3)

# %%
# Mean exposure of each group in the list sorted by suitability: women have 45% less. (Reports of
# '30% less' compare the groups' shares of all exposure, 64.5% and 35.5%.)

_, groups = exposure_by_group(suited, sex, return_groups=True)
men, women = groups["man"], groups["woman"]
print({name: round(float(value), 3) for name, value in groups.items()})
print(f"women get {1 - women / men:.0%} less")
print(f"shares: {men / (men + women):.1%} and {women / (men + women):.1%}")

# %%
# Three policies: equal mean exposure of both groups; exposure in proportion to the merit of the
# groups; and in proportion to the merit of each person. Each is a mixture of a few rankings, and
# the price is the lost share of the maximal utility.

for constraint in ("parity", "treatment", "item"):
    shared = ExposureOptimal(constraint).rerank(suited, sensitive_features=sex)
    exposure = shared.policy().exposure()
    print(
        f"{constraint:9}  men {exposure[:3].mean():.3f}  women {exposure[3:].mean():.3f}  "
        f"rankings {shared.n_draws}  price {shared.report['price'].mean():.4f}"
    )

# %%
# The rankings under parity, with their probabilities.

shared = ExposureOptimal("parity").rerank(suited, sensitive_features=sex)
for draw in range(shared.n_draws):
    order = " ".join(f"{sex[row][0]}{suited[row]:.2f}" for row in shared.order(draw=draw))
    print(f"{shared.weights[0, draw]:.3f}  {order}")

# %%
# Ten candidates, five at 0.89 and five at 0.88: a similar gap from an even smaller difference.

ten = np.repeat([0.89, 0.88], 5)
group = np.repeat(["first", "second"], 5)
data = as_ranking_data(score=ten + np.linspace(1e-6, 0, 10), sensitive_features=group)
exposure = Mixture(data.ranking()).exposure()
print(f"sorted: {exposure[:5].mean():.3f} and {exposure[5:].mean():.3f}")
fair = ExposureOptimal("treatment").rerank(ten, sensitive_features=group).policy().exposure()
print(f"shared: {fair[:5].mean():.3f} and {fair[5:].mean():.3f}")

# %%
# The exposure of each of the ten, ranked by score and shared.

bars = [
    {"candidate": at + 1, "exposure": float(value), "ranking": name}
    for name, values in (("by score", exposure), ("shared", fair))
    for at, value in enumerate(values)
]
alt.Chart(alt.Data(values=bars), width=220, height=160).mark_bar(color="#5f6c7b").encode(
    x=alt.X("candidate:O", title="candidate, by score").axis(labelAngle=0),
    y=alt.Y("exposure:Q", title="expected exposure"),
    column=alt.Column("ranking:N", title=None),
)
