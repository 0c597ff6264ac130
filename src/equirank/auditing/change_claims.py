"""Claims about a change between two rankings of the same people, like compared with like."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..core.data import RankingData
from ..core.errors import DataError
from ..core.inputs import frozen
from ..core.outcomes import decide_top
from ..core.ranking import Ranking
from ..reports.claims import Claim, effect_size
from .audit_plan import Plan
from .claim_intervals import mean_ends
from .claim_tests import Tested
from .group_claims import by_chance, direction_of, first_claim, tested
from .people import Partition, People, Values, group_chance, make_values
from .shuffled_sets import AnyValues, shuffle_set

__all__ = ["Change", "align", "change_block", "change_claims", "shown_cut"]


def align(ranking: Ranking, before: Ranking) -> Ranking | str:
    """Return the second ranking over the rows of the first, or what differs between them.

    Rows are matched by query and id, unless one ranking's data was made from the other's.

    Raises
    ------
    DataError
        If ids are missing or repeated within a list.
    """
    data, other = ranking.data, before.data
    if data.offsets is other.offsets and data.qids is other.qids:
        return Ranking(data, before.position, before.last, before.weights)
    if data.ids is None or other.ids is None:
        raise DataError(
            "against must have ids, so that its people can be matched: name their column with id "
            "(--id on the command line)"
        )
    keys = [_keys(each) for each in (data, other)]
    if set(data.qids.tolist()) != set(other.qids.tolist()):
        return "the two rankings have different lists"
    if set(keys[0]) != set(keys[1]):
        return "the two rankings have different people"
    rows = np.array([keys[1][key] for key in keys[0]])
    for attribute, known in data.sensitive.items():
        theirs = other.sensitive[attribute].labels()[rows]
        if any(
            (a is None) != (b is None) or str(a) != str(b)
            for a, b in zip(known.labels().tolist(), theirs.tolist(), strict=True)
        ):
            return f"the two rankings have different labels of {attribute}"
    last = None if before.last is None else frozen(before.last[rows])
    return Ranking(data, frozen(before.position[rows]), last, before.weights)


def _keys(data: RankingData) -> dict[tuple[Any, Any], int]:
    """Return the row of each query and id."""
    query = data.qids[data.query_of_rows()].tolist()
    ids = [] if data.ids is None else data.ids.tolist()
    found: dict[tuple[Any, Any], int] = {}
    for row, key in enumerate(zip(query, ids, strict=True)):
        if key in found:
            raise DataError(
                f"ids must differ within a list, got {key[1]!r} twice in list {key[0]!r}"
            )
        found[key] = row
    return found


def shown_cut(ranking: Ranking, before: Ranking) -> int | str | None:
    """Return the cut of the first ranking, None if all is shown, or why the two differ.

    A ranking cut at k is compared with the first k of the other.
    """
    shown = [_shown(each) for each in (ranking, before)]
    sizes = np.diff(ranking.data.offsets)
    if (shown[0] == sizes).all() and (shown[1] == sizes).all():
        return None
    cut = int(shown[0].max())
    if (shown[0] != np.minimum(cut, sizes)).any() or (shown[1] < shown[0]).any():
        return "the two rankings show different numbers of people"
    return cut


def _shown(ranking: Ranking) -> np.ndarray:
    position = ranking.position if ranking.position.ndim == 1 else ranking.position.max(axis=1)
    return np.add.reduceat((position > 0).astype(np.int64), ranking.data.offsets[:-1])


def change_block(
    plan: Plan, people: People, before: Ranking
) -> tuple[list[Tested], dict[str, Any]]:
    """Return the claims about changes since ``before``, and what was compared.

    The facts are ``moved``, the number of people whose position changed, ``cut``, and ``refused``,
    the reason why no change is claimed (empty if changes are claimed).
    """
    aligned = align(plan.ranking, before)
    cut = aligned if isinstance(aligned, str) else shown_cut(plan.ranking, aligned)
    if isinstance(aligned, str) or isinstance(cut, str):
        return [], {"moved": None, "cut": None, "refused": str(cut)}
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
