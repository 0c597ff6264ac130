"""Claims about NDCG by group: the gain that a group receives, given its relevance."""

from dataclasses import replace
from statistics import NormalDist

import numpy as np

from ..core.shuffles import bootstrap_t, shuffle_labels
from ..core.sums_plan import MOST_GRADES
from ..metrics import NDCG
from ..reports.claims import effect_size
from .audit_plan import Plan
from .claim_intervals import FEWEST_LISTS, Ends, interval_levels
from .claim_tests import Tested
from .group_claims import direction_of, first_claim
from .people import Partition, People
from .shuffled_sets import AnyValues

__all__ = ["gain_claim", "gain_claims"]


def gain_claims(plan: Plan, people: People) -> list[Tested]:
    """Return the claims about each NDCG that the audit was asked for, given relevance.

    Labels are shuffled among people of the same list and grade, who have the same gain in the ideal
    order. So the denominator of a group's NDCG is the same in every shuffle, the numerator is
    linear in the labels, and the difference between the NDCG of a group and that of everyone else,
    less its mean over all shuffles, is ``(A - E) (1/B + 1/B')`` with the gain A of the group, its
    mean E, and the ideal gains B and B'. It has the same test as ``A/B`` and its mean ``E/B``,
    which the claim states. Relevance with more than 10 values has too few people per grade: there
    are no claims.
    """
    y = plan.data.y
    if y is None or not plan.gains:
        return []
    grade = np.unique(y, return_inverse=True)[1].reshape(-1)
    if grade.max() >= MOST_GRADES:
        return []
    slots = plan.ranking.slots(expected=True)
    block = []
    for key, metric in enumerate(plan.gains):
        values = np.empty((len(people.query), 2))
        values[slots.order] = np.stack(metric.item_gains(slots), axis=1)
        cells = people.pattern * (int(grade.max()) + 1) + grade
        for some, rows in people.shuffled_sets():
            found = shuffle_labels(
                people.query[rows],
                cells[rows],
                people.vectors[rows],
                people.sides[some],
                values[rows],
                np.array([False, False]),
                plan.n_permutations,
                plan.seed + 307 + key + (0 if len(some) != 1 else 101 * some[0]),
                n_queries=plan.data.n_queries,
            )
            block += [
                gain_claim(plan, people.partitions[g], found, at, metric)
                for at, g in enumerate(some)
            ]
    return block


def gain_claim(plan: Plan, partition: Partition, found: AnyValues, at: int, metric: NDCG) -> Tested:
    """Return the claim of one group: its NDCG, and the one expected from its relevance."""
    claim = replace(first_claim(plan, partition, found, at, str(metric)), block="ii")
    cut = {} if metric.k is None else {"k": metric.k}
    claim = replace(claim, scope={"given": "relevance", **cut, **claim.scope})
    draws = found.draws[:, at, 0]
    received, ideal = (found.observed_terms(at, j)[0] for j in (0, 1))
    whole = float(ideal.sum())
    if whole <= 0:
        reason = claim.reason or "nobody of the group is relevant in a list that contains both"
        return Tested(replace(claim, reason=reason), float("nan"), draws, 0.0)
    above = found.adjusted_terms(at, 0)
    value = float(received.sum()) / whole
    expected = value - float(above.sum()) / whole
    deviation = float(found.deviation[at, 0]) / whole
    if not deviation > 0 and not claim.reason:
        claim = replace(claim, reason="all with the same relevance have the same gain")
    ends = Ends()
    if plan.n_boot and found.lists(at) >= FEWEST_LISTS:
        pairs = bootstrap_t(above, ideal, interval_levels(plan), plan.n_boot, plan.seed)
        ends = Ends.of([(expected + low, expected + high) for low, high in pairs], "lists")
    elif plan.n_boot:
        widths = [
            NormalDist().inv_cdf((1.0 + level) / 2.0) * deviation for level in interval_levels(plan)
        ]
        ends = Ends.of([(value - width, value + width) for width in widths], "people")
    claim = replace(
        claim,
        estimate=value,
        unit="gain",
        shares=(value, expected),
        direction=direction_of(value - expected),
        size=effect_size(value, expected),
        **ends.fields,
    )
    z = float("nan") if claim.reason else float(found.z[at, 0])
    return Tested(claim, z, draws, deviation, column=0)
