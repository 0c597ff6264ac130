"""The claims of an audit given relevance or another attribute, within whose strata labels move."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..core.shuffles import shuffle_labels
from ..core.sums_plan import BANDS, MOST_GRADES
from ..kernels.segments import divide
from ..reports.claims import effect_size
from ..reports.number_words import plain_column
from .audit_plan import Plan
from .claim_intervals import mean_ends
from .claim_tests import Tested
from .group_claims import by_chance, direction_of, first_claim, no_list, tested
from .people import People, Values, group_chance, known_codes, list_ranks
from .shuffled_sets import AnyShuffled, set_seed

__all__ = ["given_block", "given_claim", "given_relevance"]


def given_block(plan: Plan, people: People, values: Values) -> list[Tested]:
    """Return the differences in position given relevance, and given another attribute."""
    block: list[Tested] = []
    if plan.data.y is not None:
        band, columns = given_relevance(plan, people, values)
        every = list(range(len(people.partitions)))
        block += _given(plan, people, values, columns, band, every, "relevance", 11)
    single = [each for each in plan.audited if not each.crossed]
    for at, other in enumerate(single if len(single) > 1 else ()):
        codes = known_codes(other)
        some = [
            g
            for g, part in enumerate(people.partitions)
            if not part.audited.crossed and part.audited.name != other.name
        ]
        if some:
            columns = values.columns
            block += _given(plan, people, values, columns, codes, some, other.name, 12 + at)
    return block


def given_relevance(plan: Plan, people: People, values: Values) -> tuple[np.ndarray, np.ndarray]:
    """Return the grade or band of each row, and the columns, without trend if there are bands."""
    y = np.asarray(plan.data.y, dtype=np.float64)
    levels, grade = np.unique(y, return_inverse=True)
    grade = grade.reshape(-1)
    if len(levels) <= MOST_GRADES:
        return grade, values.columns
    ranks = np.argsort(np.argsort(y, kind="stable"), kind="stable")
    first = np.zeros(len(levels), dtype=np.int64)
    np.maximum.at(first, grade, ranks)
    band = first[grade] * BANDS // len(y)
    columns = values.columns.copy()
    predictor = list_ranks(y, people.query)
    n_queries = plan.data.n_queries
    count = np.bincount(people.query, minlength=n_queries).astype(float)
    centre = predictor - (np.bincount(people.query, predictor, n_queries) / count)[people.query]
    square = np.bincount(people.query, centre**2, n_queries)
    for j in np.flatnonzero(values.averaged):
        product = np.bincount(people.query, centre * columns[:, j], n_queries)
        slope = np.nan_to_num(divide(product, square))
        columns[:, j] -= slope[people.query] * centre
    return band, columns


def _given(
    plan: Plan,
    people: People,
    values: Values,
    columns: np.ndarray,
    stratum: np.ndarray,
    groups: Sequence[int],
    given: str,
    key: int,
) -> list[Tested]:
    """Return position claims with labels shuffled within strata of the lists."""
    cells = people.pattern * (int(stratum.max()) + 2) + stratum + 1
    used = [j for j in np.flatnonzero(values.averaged).tolist() if values.names[j] != "score"]
    names = [values.names[j] for j in used]
    block = []
    for some, rows in people.shuffled_sets(groups):
        found = shuffle_labels(
            people.query[rows],
            cells[rows],
            people.vectors[rows],
            people.sides[some],
            columns[rows][:, used],
            values.averaged[used],
            plan.n_permutations,
            set_seed(plan, some) + key,
            n_queries=plan.data.n_queries,
        )
        block += [
            given_claim(plan, people, found, names, at, g, given, group_chance(people, values, g))
            for at, g in enumerate(some)
        ]
    return block


def given_claim(
    plan: Plan,
    people: People,
    found: AnyShuffled,
    names: Sequence[str],
    at: int,
    g: int,
    given: str,
    raw: float,
) -> Tested:
    """Return the claim of one group: its difference less the one expected from the strata.

    ``raw`` is the chance that a person of the group is ranked above one of the other side.
    """
    partition = people.partitions[g]
    quantity = "merit" if given == "relevance" else "position"
    claim = replace(first_claim(plan, partition, found, at, quantity), block="ii")
    claim = replace(claim, scope={"given": given, **claim.scope})
    if claim.scope["lists"] == 0:
        claim = replace(claim, reason=claim.reason or no_list())
        return Tested(claim, float("nan"), found.draws[:, at, 0], 0.0)
    chance = names.index(f"chance {people.mask_index(partition)}")
    use_chance = by_chance(dict(claim.scope))
    j = chance if use_chance else names.index("position")
    if not claim.reason and not found.deviation[at, j] > 0:
        claim = replace(
            claim, reason=f"no list contains both sides with the same {plain_column(given)}"
        )
    estimate = float(found.total[at, j] - found.mean[at, j])
    terms = found.mean_terms(at, j, adjusted=True)
    ends = mean_ends(plan, terms, estimate, float(found.deviation[at, j]))
    shares = raw, raw + float(found.total[at, chance] - found.mean[at, chance])
    unit, direction = "positions", direction_of(-estimate)
    if use_chance:
        unit, estimate = "chance", raw
        ends = ends.mirrored(shares[1])
    claim = replace(
        claim,
        estimate=estimate,
        unit=unit,
        shares=shares,
        direction=direction,
        size=effect_size(*shares),
        **ends.fields,
    )
    return tested(claim, found, at, j)
