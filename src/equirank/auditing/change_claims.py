"""Claims about a change between two rankings of the same people, like compared with like."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..core.outcomes import decide_top
from ..core.paired_rankings import pair_rankings
from ..core.ranking import Ranking
from ..reports.claims import Claim, effect_size
from .audit_plan import Plan
from .claim_intervals import mean_ends
from .claim_tests import Tested
from .group_claims import by_chance, direction_of, first_claim, tested
from .people import Partition, People, Values, group_chance, make_values
from .shuffled_sets import AnyValues, shuffle_set

__all__ = ["Change", "change_block", "change_claims"]


def change_block(
    plan: Plan, people: People, before: Ranking
) -> tuple[list[Tested], dict[str, Any]]:
    """Return the claims about changes since ``before``, and what was compared.

    The facts are ``moved``, the number of people whose position changed, ``cut``, and ``refused``,
    the reason why no change is claimed (empty if changes are claimed).
    """
    paired = pair_rankings(plan.ranking, before)
    aligned, cut = paired.before, paired.cut
    if aligned is None:
        return [], {"moved": None, "cut": None, "refused": paired.refused}
    ks = [k for k in plan.ks if cut is None or k <= cut]
    new, old = (
        make_values(each, [decide_top(each, k) for k in ks], people, cut)
        for each in (plan.ranking, aligned)
    )
    moved = int((np.abs(new.columns[:, 0] - old.columns[:, 0]) > 1e-9).sum())
    facts = {"moved": moved, "cut": cut, "refused": ""}
    if moved == 0:
        return [], facts
    change = replace(new, columns=new.columns - old.columns)
    sizes = np.diff(plan.data.offsets)
    block: list[Tested] = []
    for groups, rows in people.shuffled_sets():
        seed = plan.seed + 30 + (0 if len(groups) > 1 else 101 * groups[0])
        shuffled = shuffle_set(
            people, groups, rows, change, sizes, plan.n_permutations, seed, studentized=True
        )
        for at, g in enumerate(groups):
            found = shuffled.found
            if found.used[:, at].any():
                columns = _columns(people, new, g, ks)
                pairs = _pairs(people, (new, old), g, ks, found.used[:, at])
                block += change_claims(plan, people.partitions[g], found, at, columns, pairs)
    return block, facts


#: The names of what may change: position, chance, exposure, and the top k by k.
Change = str | int


def _columns(people: People, values: Values, g: int, ks: Sequence[int]) -> dict[Change, int]:
    """Return the numbers of the values of a comparison."""
    chance = f"chance {people.mask_index(people.partitions[g])}"
    found: dict[Change, int] = {"position": values.at("position"), "chance": values.at(chance)}
    return found | {"exposure": values.at("exposure")} | {k: values.at(f"top {k}") for k in ks}


def _pairs(
    people: People, values: tuple[Values, Values], g: int, ks: Sequence[int], used: np.ndarray
) -> dict[Change, tuple[float, float]]:
    """Return the chance, share of exposure and rates of a comparison, now and before."""
    new, old = values
    side = np.where(used[people.query], people.partitions[g].sides[people.vectors], -1)
    found: dict[Change, tuple[float, float]] = {
        "position": (group_chance(people, new, g), group_chance(people, old, g)),
        "exposure": (_share(side, new), _share(side, old)),
    }
    return found | {k: (_rate(side, new, k), _rate(side, old, k)) for k in ks}


def change_claims(
    plan: Plan,
    partition: Partition,
    found: AnyValues,
    g: int,
    columns: Mapping[Change, int],
    pairs: Mapping[Change, tuple[float, float]],
) -> list[Tested]:
    """Return the claims about the changes of one comparison.

    Parameters
    ----------
    plan, partition, found, g
        The comparison, and its number in the statistics.
    columns : mapping
        The numbers of the changed values: position, chance, exposure, and each k.
    pairs : mapping
        The chance to be ranked above, the share of exposure, and the rate of each k, now and
        before.
    """
    base = replace(first_claim(plan, partition, found, g, "change of position"), block="iii")
    use_chance = by_chance(dict(base.scope))
    j = columns["chance" if use_chance else "position"]
    sign, unit = (-1.0, "chance") if use_chance else (1.0, "positions")
    claims = [_finished(plan, base, found, g, j, sign, unit, pairs["position"])]
    claim = replace(base, quantity="change of exposure")
    factor = 1.0 / sum(found.sides(g))
    claims.append(
        _finished(plan, claim, found, g, columns["exposure"], factor, "share", pairs["exposure"])
    )
    for k in (name for name in columns if isinstance(name, int)):
        claim = replace(base, quantity="change of selected", scope={"k": k, **base.scope})
        claims.append(_finished(plan, claim, found, g, columns[k], 1.0, "people", pairs[k]))
    return claims


def _finished(
    plan: Plan,
    claim: Claim,
    found: AnyValues,
    g: int,
    j: int,
    factor: float,
    unit: str,
    shares: tuple[float, float],
) -> Tested:
    """Return the claim of one value: its change times a factor, with its interval."""
    total, deviation = float(found.total[g, j]), float(found.deviation[g, j])
    ends = mean_ends(plan, found.mean_terms(g, j), total, deviation).times(factor)
    down = total if unit == "positions" else -total * factor
    claim = replace(
        claim,
        estimate=total * factor,
        unit=unit,
        shares=shares,
        direction=direction_of(-down),
        size=effect_size(*shares),
        **ends.fields,
    )
    if not claim.reason and not deviation > 0:
        claim = replace(claim, reason="no shuffle of the labels changes it")
    return tested(claim, found, g, j)


def _share(side: np.ndarray, values: Values) -> float:
    """Return the group's share of the exposure of both sides."""
    column = values.columns[:, values.at("exposure")]
    return float(column[side == 1].sum() / max(column[side >= 0].sum(), 1e-300))


def _rate(side: np.ndarray, values: Values, k: int) -> float:
    return float(values.columns[side == 1, values.at(f"top {k}")].mean())
