"""What each re-ranker promises, checked list by list in plain Python from the definitions.

Nothing here calls the library: a list is the rows in their order, a group is a text.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

__all__ = ["CHECKS", "ListCase", "check_rows"]

#: A share times a length that is this close to a whole number is that number.
ROUNDING = 1e-9


@dataclass
class ListCase:
    """One list: rows before and after (best first), all rows, scores, groups, new scores."""

    rows: list[int]
    before: list[int]
    draws: list[list[int]]
    weights: list[float]
    score: list[float]
    groups: dict[str, list[str]]
    labels: dict[str, list[str]]
    moved: list[float] | None = None


def check_rows(each: ListCase, k: int | None, blocks: list[list[tuple[int, int]]]) -> str:
    """Return what is wrong with the rows shown: lost, repeated or at impossible positions.

    ``blocks`` holds for every draw the first and last position of each row, (0, 0) if not shown.
    """
    wanted = len(each.before) if k is None else min(k, len(each.before))
    known = set(each.before)
    for draw in blocks:
        shown = [(row, *place) for row, place in zip(each.rows, draw, strict=True) if place[0] > 0]
        if any(row not in known for row, _, _ in shown):
            return "a row that was not shown is shown"
        if len(shown) < wanted:
            return f"loss: {len(shown)} rows of {wanted} are shown"
        if len(shown) > wanted:
            return f"duplicate: {len(shown)} rows of {wanted} are shown"
        shown.sort(key=lambda one: (one[1], one[2]))
        at = 1
        while at <= len(shown):
            _, first, last = shown[at - 1]
            if first != at or last < first:
                return f"duplicate: position {first} where {at} is next"
            for one in shown[at - 1 : last]:
                if one[1:] != (first, last):
                    return f"duplicate: positions {one[1:]} beside {(first, last)}"
            at = last + 1
        if shown and shown[-1][2] != len(shown):
            return "loss: positions end behind the list"
    return ""


def _attribute(params: dict[str, Any], each: ListCase) -> str:
    by = params.get("by")
    return by if isinstance(by, str) else next(iter(each.groups))


def _all_draws(each: ListCase, good: Any) -> bool:
    return all(good(draw) for draw in each.draws)


def _counts(draw: list[int], groups: list[str], wanted: str) -> list[int]:
    total, result = 0, []
    for row in draw:
        total += groups[row] == wanted
        result.append(total)
    return result


def _lacks(each: ListCase, groups: list[str], labels: list[str]) -> bool:
    """Return whether a list has no candidate of the groups: nothing is promised about them."""
    return not any(groups[row] in labels for row in each.before)


def _is_bound(each: ListCase, attribute: str, label: str, lower: bool) -> bool:
    """Return whether a list is bounded: lower if it has the group, upper if it has another, too."""
    present = {each.groups[attribute][row] for row in each.before}
    return label in present if lower else len(present) != 1


def _floor(j: int, p: float | Fraction) -> int:
    return math.floor(float(j * p) + ROUNDING) if isinstance(p, float) else math.floor(j * p)


def _ceil(j: int, p: float | Fraction) -> int:
    return math.ceil(float(j * p) - ROUNDING) if isinstance(p, float) else math.ceil(j * p)


def shares_hold(each: ListCase, params: dict[str, Any]) -> bool:
    """Every prefix j holds at least floor(j p) of every group."""
    name = _attribute(params, each)
    groups = each.groups[name]
    given = params.get("proportions")
    for label in each.labels[name]:
        if _lacks(each, groups, [label]):
            continue
        inside = sum(groups[row] == label for row in each.rows)
        share = Fraction(inside, len(each.rows)) if given is None else float(given[label])
        for draw in each.draws:
            for j, count in enumerate(_counts(draw, groups, label), start=1):
                if count < _floor(j, share):
                    return False
    return True


def _protected(params: dict[str, Any], each: ListCase) -> list[str] | None:
    named = params.get("protected")
    if named is None:
        return None
    return list(named) if isinstance(named, (list, tuple)) else [named]


def floor_holds(each: ListCase, params: dict[str, Any]) -> bool | None:
    """Every prefix j holds at least ceil(phi j) protected items."""
    protected = _protected(params, each)
    if protected is None:
        return None
    groups = each.groups[_attribute(params, each)]
    if _lacks(each, groups, protected):
        return True
    inside = sum(groups[row] in protected for row in each.rows)
    phi = params.get("phi")
    share = Fraction(inside, len(each.rows)) if phi is None else float(phi)
    for draw in each.draws:
        total = 0
        for j, row in enumerate(draw, start=1):
            total += groups[row] in protected
            if total < _ceil(j, share):
                return False
    return True


def rooney_holds(each: ListCase, params: dict[str, Any]) -> bool | None:
    """Check that the short list holds at least ``count`` protected items."""
    protected = _protected(params, each)
    if protected is None:
        return None
    groups = each.groups[_attribute(params, each)]
    need = params.get("count", 1)
    return _lacks(each, groups, protected) or all(
        not draw or sum(groups[row] in protected for row in draw) >= need for draw in each.draws
    )


def _bounds(params: dict[str, Any], name: str, each: ListCase) -> list[tuple[str, str, Any]]:
    """Return attribute, group and value of all bounds of a parameter."""
    found = []
    for key, value in (params.get(name) or {}).items():
        if isinstance(value, dict):
            found += [(key, label, part) for label, part in value.items()]
        elif isinstance(params.get("by"), str) or len(each.groups) == 1:
            found.append((_attribute(params, each), key, value))
        else:
            having = [name for name, labels in each.labels.items() if key in labels]
            found.append((having[0], key, value))
    return found


def _prefix_bound(value: Any, j: int, lower: bool) -> float:
    if isinstance(value, (list, tuple)):
        return value[j - 1] if j <= len(value) else (0 if lower else math.inf)
    exact = j * float(value)
    return math.floor(exact + ROUNDING) if lower else math.ceil(exact - ROUNDING)


def prefixes_hold(each: ListCase, params: dict[str, Any]) -> bool:
    """Every prefix keeps the lower and upper bounds of each group."""
    for draw in each.draws:
        for name in ("lower", "upper"):
            for attribute, label, value in _bounds(params, name, each):
                if not _is_bound(each, attribute, label, name == "lower"):
                    continue
                counts = _counts(draw, each.groups[attribute], label)
                for j, count in enumerate(counts, start=1):
                    bound = _prefix_bound(value, j, name == "lower")
                    if (count < bound) if name == "lower" else (count > bound):
                        return False
    return True


def _number_of(value: Any, k: int, lower: bool) -> int:
    if value >= 1 or (isinstance(value, int) and not isinstance(value, bool)):
        return int(value)
    exact = k * float(value)
    return math.floor(exact + ROUNDING) if lower else math.ceil(exact - ROUNDING)


def selection_holds(each: ListCase, params: dict[str, Any]) -> bool:
    """Check that the selection keeps the lower and upper numbers of each group."""
    for draw in each.draws:
        if not draw:
            continue
        for name in ("lower", "upper"):
            for attribute, label, value in _bounds(params, name, each):
                if not _is_bound(each, attribute, label, name == "lower"):
                    continue
                count = sum(each.groups[attribute][row] == label for row in draw)
                bound = _number_of(value, len(draw), name == "lower")
                if (count < bound) if name == "lower" else (count > bound):
                    return False
    return True


def balanced_holds(each: ListCase, params: dict[str, Any]) -> bool | None:
    """Lower numbers hold, and the in-group fairness of every group is at least the level."""
    if not selection_holds(each, params):
        return False
    level, kind = params.get("level", 0.0), params.get("igf", "ratio")
    if level == 0:
        return True
    by = params.get("by")
    names = list(each.groups) if by is None else [by]
    (draw,) = each.draws
    chosen = set(draw)
    worst = math.inf
    for name in names:
        for label in each.labels[name]:
            inside = [row for row in each.before if each.groups[name][row] == label]
            merit = {row: each.score[row] for row in inside}
            taken = [row for row in inside if row in chosen]
            if not taken:
                continue
            if kind == "ratio":
                rest = [merit[row] for row in inside if row not in chosen]
                low = min(merit[row] for row in taken)
                worst = min(worst, 1.0 if not rest else min(1.0, low / max(rest)))
            else:
                for row in taken:
                    above = [one for one in inside if merit[one] >= merit[row]]
                    part = math.fsum(merit[one] for one in above if one in chosen)
                    worst = min(worst, part / math.fsum(merit[one] for one in above))
    return None if abs(worst - level) < 1e-6 else worst >= level


def exposure_holds(each: ListCase, params: dict[str, Any]) -> bool | None:
    """Check that mean exposure, treatment or impact of any two groups differ by the slack at most.

    None where the difference is within rounding of the slack.
    """
    constraint = params.get("constraint", "parity")
    if params.get("lower") or params.get("upper") or params.get("penalty") is not None:
        return None
    if constraint is None or not each.before:
        return True
    discount, k = params.get("discount", "log2"), params.get("k")

    def attention(j: int) -> float:
        if k is not None and j > k:
            return 0.0
        if isinstance(discount, (list, tuple)):
            return discount[j - 1] if j <= len(discount) else 0.0
        return 1.0 / j if discount == "zipf" else 1.0 / math.log2(1 + j)

    exposure = dict.fromkeys(each.before, 0.0)
    for draw, weight in zip(each.draws, each.weights, strict=True):
        for j, row in enumerate(draw, start=1):
            exposure[row] += weight * attention(j)
    total = math.fsum(attention(j) for j in range(1, len(each.before) + 1))
    slack = float(params.get("slack", 0.0))
    if constraint == "item":
        merit = math.fsum(each.score[row] for row in each.before)
        away = max(abs(exposure[row] - each.score[row] / merit * total) for row in each.before)
        return None if 1e-10 < away < 1e-8 else away <= 1e-9
    name = _attribute(params, each)
    values, unsure = [], False
    for label in each.labels[name]:
        inside = [row for row in each.before if each.groups[name][row] == label]
        if not inside:
            continue
        merit = math.fsum(each.score[row] for row in inside) / len(inside)
        part = [exposure[row] for row in inside]
        if constraint == "impact":
            part = [exposure[row] * each.score[row] for row in inside]
        mean = math.fsum(part) / len(inside)
        if constraint == "parity":
            values.append(mean)
        elif merit > 0:
            values.append(mean / merit)
        else:
            unsure = True
    if len(values) < 2:
        return None if unsure else True
    away = max(values) - min(values)
    if constraint != "parity":  # the slack is scaled by merit: only 0 is plain
        return True if away <= 1e-9 * max(values) else None
    return None if abs(away - slack) < 1e-8 else away <= slack + 1e-9


def transport_holds(each: ListCase, params: dict[str, Any]) -> bool | None:
    """Check that groups with theta = 1 have the same new scores, up to the largest step."""
    theta, name = params.get("theta", 1.0), _attribute(params, each)
    moved = each.moved or []
    parts = []
    for label in each.labels[name]:
        own = theta.get(label, 0.0) if isinstance(theta, dict) else theta
        values = [moved[row] for row in each.before if each.groups[name][row] == label]
        if own == 1.0 and values:
            parts.append(values)
    if len(parts) < 2:
        return True
    step = max(max(part.count(v) for v in part) / len(part) for part in parts)
    worst = 0.0
    for at in sorted({value for part in parts for value in part}):
        below = [sum(v <= at for v in part) / len(part) for part in parts]
        worst = max(worst, max(below) - min(below))
    return None if abs(worst - step) < 1e-8 else worst <= step


def always(each: ListCase, params: dict[str, Any]) -> bool:
    """Return True: nothing is promised about groups."""
    return True


# FA*IR: the definition of the test, with exact sums over all counts


@cache
def _law(j: int, p: float, pool: int, inside: int) -> tuple[float, ...]:
    """Return the probability of each count of protected items in the first j."""
    if pool:
        whole = math.comb(pool, j)
        return tuple(
            math.comb(inside, m) * math.comb(pool - inside, j - m) / whole if m <= j else 0.0
            for m in range(j + 1)
        )
    return tuple(math.comb(j, m) * p**m * (1 - p) ** (j - m) for m in range(j + 1))


@cache
def _minimums(k: int, p: float, alpha: float, pool: int, inside: int) -> tuple[int, ...]:
    """Return the smallest m with F(m; j, p) > alpha for j = 1 to k."""
    found = []
    for j in range(1, k + 1):
        total, least = 0.0, -1
        for mass in _law(j, p, pool, inside):
            total, least = total + mass, least + 1
            if total > alpha:
                break
        found.append(least)
    return tuple(found)


@cache
def _fails(table: tuple[int, ...], p: float, pool: int, inside: int) -> float:
    """Return the probability that a fair list misses the table in any prefix."""
    alive = {0: 1.0}
    for j, least in enumerate(table, start=1):
        after: dict[int, float] = {}
        for count, mass in alive.items():
            own = (inside - count) / (pool - j + 1) if pool else p
            for step, chance in ((1, own), (0, 1.0 - own)):
                if chance > 0 and count + step >= least:
                    after[count + step] = after.get(count + step, 0.0) + mass * chance
        alive = after
    return 1.0 - math.fsum(alive.values())


@cache
def _table(k: int, p: float, alpha: float, adjusted: bool, pool: int, inside: int) -> Any:
    """Return the largest table that a fair list fails with probability alpha at most.

    Levels at which a minimum changes are the values of F; they are tried from the largest down.
    None where two levels, or a value of F and alpha, are too near to tell apart.
    """
    levels = {alpha}
    for j in range(1, k + 1):
        total = 0.0
        for mass in _law(j, p, pool, inside):
            total += mass
            if abs(total - alpha) < 1e-12:
                return None
            if total < 1.0:
                levels.add(total * (1 - 1e-13))
    if not adjusted:
        return _minimums(k, p, alpha, pool, inside)
    for level in sorted(levels, reverse=True):
        table = _minimums(k, p, level, pool, inside)
        fails = _fails(table, p, pool, inside)
        if abs(fails - alpha) < 1e-10:
            return None
        if fails < alpha:
            return table
    return (0,) * k


def fa_star_ir_holds(each: ListCase, params: dict[str, Any]) -> bool | None:
    """Every prefix passes the FA*IR test for one protected group; None for several."""
    protected = _protected(params, each)
    if protected is None or len(protected) != 1 or isinstance(params.get("p"), dict):
        return None
    groups = each.groups[_attribute(params, each)]
    n = len(each.rows)
    inside = sum(groups[row] == protected[0] for row in each.rows)
    if _lacks(each, groups, protected):
        return True
    p = inside / n if params.get("p") is None else float(params["p"])
    pool, sure = (n, round(p * n)) if params.get("law") == "pool" else (0, 0)
    (draw,) = each.draws
    if p in (0.0, 1.0) or (pool and sure in (0, n)) or not draw:
        return True
    if pool and abs(p * n - round(p * n)) == 0.5:
        return None
    alpha, adjusted = float(params.get("alpha", 0.1)), params.get("adjusted", True)
    table = _table(len(draw), p if not pool else 0.0, alpha, adjusted, pool, sure)
    if table is None:
        return None
    counts = _counts(draw, groups, protected[0])
    return all(count >= least for count, least in zip(counts, table, strict=True))


def crossed(each: ListCase, names: list[str]) -> list[str]:
    """Return the crossed group of each row."""
    return [" & ".join(parts) for parts in zip(*(each.groups[n] for n in names), strict=True)]


def keeps_order(each: ListCase, groups: list[str]) -> bool:
    """Return whether the rows of each group keep their order."""
    rank = {row: at for at, row in enumerate(each.before)}
    for draw, label in product(each.draws, set(groups)):
        ranks = [rank[row] for row in draw if groups[row] == label]
        if ranks != sorted(ranks):
            return False
    return True


CHECKS = {
    "BalancedSelection": balanced_holds,
    "ContinuousFairness": transport_holds,
    "DetCons": shares_hold,
    "DetConstSort": shares_hold,
    "DetGreedy": shares_hold,
    "DetRelaxed": shares_hold,
    "EpsilonGreedy": always,
    "ExposureOptimal": exposure_holds,
    "FAStarIR": fa_star_ir_holds,
    "ImpactRatioFloor": always,
    "ImplicitBiasFloor": floor_holds,
    "MarginLottery": always,
    "OnlineSelection": selection_holds,
    "PrefixConstraints": prefixes_hold,
    "RooneyRule": rooney_holds,
    "ScoreBonus": always,
}
