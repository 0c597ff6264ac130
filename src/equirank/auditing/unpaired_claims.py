"""Claims about a change between two files of different lists, such as two periods or systems."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from math import exp, inf, isnan, log
from typing import Any

import numpy as np

from ..core.errors import DataError
from ..core.inputs import shown
from ..core.outcomes import Decision
from ..core.random import generator
from ..core.sums_plan import Survey
from ..core.sums_views import margins_of
from ..kernels.column_names import CLAIM_COLUMNS
from ..kernels.segments import divide
from ..reports.claims import Claim, effect_size
from ..statistics.stratified import ratio_ends
from .audit_plan import Plan
from .claim_intervals import Ends, interval_levels, normal_quantiles
from .claim_tests import Tested
from .group_claims import direction_of, too_small
from .people import Partition, People, find_people, make_values
from .shuffled_sets import shuffle_set
from .summed_claims import SummedSet, summed_sets

__all__ = ["check_lists_differ", "unpaired_blocks"]


#: Fewest lists on each side whose effects are compared by a test that deals lists anew.
FEWEST_EFFECTS = 10
#: Fewest expected people in each cell of each file, for the test of few lists.
FEWEST_EXPECTED = 5.0
#: Ratios are compared if neither the share selected nor the length differs by more than this.
LIKE = 2.0
#: Lists whose ratios have a smaller standard error than this, from rounding, do not vary.
SAME = 1e-6


@dataclass(frozen=True, eq=False)
class Effects:
    """What lists contribute to one comparison of one file.

    Attributes
    ----------
    x, y : ndarray
        Per list, or per bucket of sums over lists: for a mean, its value and 1; for a ratio, the
        two terms of ``sum x / sum y``. NaN in a list that lacks one of the sides.
    ratio : bool
        Whether the effect is the logarithm of ``sum x / sum y``, else it is the mean of x.
    length : float
        Median length of the lists.
    share, expected : float
        Of decisions: share of the people selected, and smallest expected count of group and other
        side, selected and not.
    ends : callable
        Returns the score interval of the Mantel-Haenszel ratio of decisions for a level.
    lists : int or None
        Number of lists with both sides, if x and y are those of buckets.
    """

    x: np.ndarray
    y: np.ndarray
    ratio: bool
    length: float = float("nan")
    share: float = float("nan")
    expected: float = float("nan")
    ends: Callable[[float], tuple[float, float]] = lambda level: (0.0, inf)
    lists: int | None = None

    @property
    def estimate(self) -> float:
        """The chance of being ranked above, or the ratio."""
        if self.n_lists == 0:
            return float("nan")
        if not self.ratio:
            return float(np.nanmean(self.x))
        bottom = float(np.nansum(self.y))
        return float(np.nansum(self.x)) / bottom if bottom > 0 else float("nan")

    @property
    def n_lists(self) -> int:
        """Number of lists with both sides."""
        return int((~np.isnan(self.x)).sum()) if self.lists is None else self.lists


def check_lists_differ(plan: Plan, other: Plan) -> None:
    """Raise if a list occurs in both files; of sums over lists, those with rows are compared."""
    shared = set(plan.data.qids.tolist()) & set(other.data.qids.tolist())
    if plan.n_queries == 1 and other.n_queries == 1:
        return  # two pools without list labels
    if shared:
        label = shown(min(shared, key=str))
        raise DataError(
            f"unpaired must have other lists, got list {label} in both; against (--against) "
            "compares the same lists, and lists_differ (--lists-differ) states that equal labels "
            "are different lists"
        )


def unpaired_blocks(plan: Plan, people: People, other: Plan) -> list[list[Tested]]:
    """Return the claims about changes since another file, in two blocks.

    With at least 10 lists on each side, Welch's t of the lists' effects is compared with its values
    after lists were dealt anew between the files. With fewer, the difference of the logarithms of
    two Mantel-Haenszel ratios is compared with its standard error, from their score intervals.
    """
    names = [(part.audited.name, part.group) for part in people.partitions]
    theirs = find_people(other, names)
    mine, others = dict(_effects(plan, people)), dict(_effects(other, theirs))
    many: list[tuple[Claim, Effects, Effects]] = []
    few: list[Tested] = []
    for key, new in mine.items():
        g, quantity, at = key
        old = others.get(key)
        claim = _first(plan, people.partitions[g], quantity, at, new, old)
        small = ""
        if quantity == "selected":
            small = too_small(plan, people.partitions[g], at)
            small = small or too_small(other, theirs.partitions[g], at)
        if small:
            claim = replace(claim, estimate=float("nan"), reason=small)
        if old is None or claim.reason:
            few.append(_untested(claim))
        elif min(new.n_lists, old.n_lists) >= FEWEST_EFFECTS:
            many.append((claim, new, old))
        else:
            few.append(_few_lists(plan, claim, new, old))
    return [_many_lists(plan, many), few]


def _effects(plan: Plan, people: People) -> Iterator[tuple[tuple[int, str, int], Effects]]:
    """Yield the effects of a file by partition, quantity and decision."""
    if plan.sums is not None:
        for each in summed_sets(plan, people, plan.sums):
            yield from _summed_effects(plan, each)
        return
    whole = [each for each in plan.decisions if each.among is None]
    values = make_values(plan.ranking, whole, people, ordered=plan.ordered)
    sizes = np.diff(plan.data.offsets)
    for groups, rows in people.shuffled_sets() if values.names else ():
        found = shuffle_set(people, groups, rows, values, sizes, 0, plan.seed).found
        for at, g in enumerate(groups):
            used = found.used[:, at]
            length = float(np.median(sizes[used])) if used.any() else float("nan")
            if plan.ordered:
                j = values.at(f"chance {people.mask_index(people.partitions[g])}")
                x = 0.5 - found.parts[:, at, j] * used.sum()
                yield (g, "position", 0), Effects(x, np.ones(len(x)), False, length=length)
                j = values.at("exposure")
                y = np.where(used, found.expected[:, at, j], np.nan)
                x = found.parts[:, at, j] + y
                yield (g, "exposure", 0), Effects(x, y, True, length=length)
            for key, decision in enumerate(plan.decisions):
                if decision.among is None:
                    j = values.at(decision.name)
                    yield (g, "selected", key), _decided(found, at, j, length)
    for key, decision in enumerate(plan.decisions):
        if decision.among is not None:
            yield from _effects_among(plan, people, decision, key)


def _effects_among(
    plan: Plan, people: People, decision: Decision, key: int
) -> Iterator[tuple[tuple[int, str, int], Effects]]:
    """Yield the effects of a decision about some people."""
    values = make_values(plan.ranking, [decision], people, ordered=False)
    sizes = np.bincount(people.query[decision.among], minlength=plan.data.n_queries)
    for groups, rows in people.shuffled_sets(among=decision.among):
        found = shuffle_set(people, groups, rows, values, sizes, 0, plan.seed).found
        for at, g in enumerate(groups):
            used = found.used[:, at]
            length = float(np.median(sizes[used])) if used.any() else float("nan")
            yield (g, "selected", key), _decided(found, at, 0, length)


def _decided(found: Any, g: int, j: int, length: float) -> Effects:
    used = found.used[:, g]
    n1, n2 = found.group_size[used, g], found.other_size[used, g]
    expected = found.expected[used, g, j]
    a = found.parts[used, g, j] + expected
    b = np.maximum(divide(expected * (n1 + n2), n1) - a, 0.0)
    m, n = a + b, n1 + n2
    share = float(m.sum() / n.sum()) if len(n) else float("nan")
    x, y = np.full((2, len(used)), np.nan)
    x[used], y[used] = a * n2 / n, b * n1 / n
    ends = partial(ratio_ends, (a, n1, b, n2), len(n), x[used].sum(), y[used].sum(), 0.0)
    cells = _cells(float((n1 * m / n).sum()), float(m.sum()), float(n1.sum()), float(n2.sum()))
    return Effects(x, y, True, length, share, cells, ends)


def _cells(selected: float, m: float, n1: float, n2: float) -> float:
    """Return the smallest expected count, from that of the group's selected and the margins."""
    return min(selected, n1 - selected, m - selected, n2 - (m - selected))


def _summed_effects(plan: Plan, each: SummedSet) -> Iterator[tuple[tuple[int, str, int], Effects]]:
    """Yield the effects of the comparisons of a set, whose units are buckets of lists."""
    found = each.sums.sums
    for g, at in zip(each.groups, each.index, strict=True):
        columns = found["claims"][:, at]
        n, used = columns[:, 0], columns[:, 0] > 0
        counts = found["lengths"][:, 1 + at].astype(int).tolist()
        lengths = dict(zip(each.sums.lengths.tolist(), counts, strict=True))
        median = Survey({}, lengths).median if used.any() else float("nan")
        known: dict[str, Any] = {"length": median, "lists": int(n.sum())}
        if plan.ordered and each.decision < 0:
            above = 0.5 * n - columns[:, CLAIM_COLUMNS.index("chance")]
            yield (
                (g, "position", 0),
                Effects(_of_buckets(above, n), np.ones(len(n)), False, **known),
            )
            exposed = (columns[:, CLAIM_COLUMNS.index(name)] for name in ("observed", "expected"))
            x, y = (np.where(used, part, np.nan) for part in exposed)
            yield (g, "exposure", 0), Effects(x, y, True, **known)
        for key, decision in enumerate(plan.decisions):
            if (decision.among is None) != (each.decision < 0) or each.decision not in (-1, key):
                continue
            j = 0 if each.decision >= 0 else key
            x, y, a, b = columns[:, len(CLAIM_COLUMNS) + 4 * j :][:, :4].T
            m, n1, n2 = float((a + b).sum()), float(columns[:, 1].sum()), float(columns[:, 2].sum())
            selected, variance = (float(found["decided"][j, at, part]) for part in (3, 4))
            share = m / (n1 + n2) if used.any() else float("nan")
            known |= {"share": share, "expected": _cells(selected, m, n1, n2)}
            counts = margins_of(found, j, at)
            counts = (a.sum(), n1, b.sum(), n2) if counts is None else counts
            terms = int(n.sum()), float(x.sum()), float(y.sum()), variance
            known["ends"] = partial(ratio_ends, counts, *terms)
            x, y = (np.where(used, part, np.nan) for part in (x, y))
            yield (g, "selected", key), Effects(x, y, True, **known)


def _of_buckets(total: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Return values of buckets whose mean is that over lists, and that vary as its influences."""
    used = n > 0
    mean = total.sum() / n.sum() if used.any() else float("nan")
    found = np.full(len(n), np.nan)
    found[used] = mean + (total - mean * n)[used] / n[used].mean()
    return found


def _first(
    plan: Plan, partition: Partition, quantity: str, at: int, new: Effects, old: Effects | None
) -> Claim:
    """Return a claim with its estimate, and why it is not tested, if so."""
    scope: dict[str, Any] = {"unpaired": True, "lists": new.n_lists}
    if quantity == "selected":
        scope = {**plan.decisions[at].scope, **scope}
    claim = Claim(
        "",
        f"change of {quantity}",
        partition.audited.name,
        partition.group,
        partition.against,
        scope=scope,
        unit="ratio" if new.ratio else "chance",
        test=f"{_units(new, old)} dealt anew between the files",
        block="iii",
        level=plan.level,
    )
    if old is None or old.n_lists == 0 or new.n_lists == 0:
        which = "the other file" if old is None or old.n_lists == 0 else "this file"
        return replace(claim, reason=f"no list of {which} contains both sides")
    pair = new.estimate, old.estimate
    claim = replace(claim, scope={**scope, "other_lists": old.n_lists})
    if new.ratio and not (min(pair) > 0 and max(pair) < inf):
        return replace(claim, reason="a ratio is 0 or undefined in one of the files")
    if new.ratio:
        shares = pair[0] / (1.0 + pair[0]), pair[1] / (1.0 + pair[1])
        estimate, direction = pair[0] / pair[1], direction_of(pair[0] / pair[1] - 1.0)
    else:
        shares, estimate = pair, pair[0] - pair[1]
        direction = direction_of(estimate)
    also = {"now": (pair[0],), "before": (pair[1],)}
    claim = replace(
        claim,
        estimate=estimate,
        shares=shares,
        direction=direction,
        size=effect_size(*shares),
        also=also,
    )
    return replace(claim, reason=_unlike(plan, new, old) if new.ratio else _drawless(plan))


def _units(*files: Effects | None) -> str:
    buckets = any(each is not None and each.lists is not None for each in files)
    return "buckets of lists" if buckets else "lists"


def _drawless(plan: Plan) -> str:
    if plan.n_permutations == 0 or plan.n_boot == 0:
        return "no draws or no resamples were requested"
    return ""


def _unlike(plan: Plan, new: Effects, old: Effects) -> str:
    """Return why ratios of the two files cannot be compared; empty if they can."""
    for what, pair in (
        ("the share selected", (new.share, old.share)),
        ("the median length of the lists", (new.length, old.length)),
    ):
        if max(pair) > LIKE * min(pair):
            return f"{what} differs by more than a factor of {LIKE:g}, and ratios change with it"
    return _drawless(plan)


def _untested(claim: Claim) -> Tested:
    return Tested(claim, float("nan"), np.empty(0), 0.0)


def _many_lists(plan: Plan, found: list[tuple[Claim, Effects, Effects]]) -> list[Tested]:
    """Return the claims tested by dealing lists anew between the files, alike for all claims."""
    if not found:
        return []
    n, total = len(found[0][1].x), len(found[0][1].x) + len(found[0][2].x)
    rng = generator(plan.seed, 40)
    first = np.zeros((plan.n_permutations + 1, total))
    first[0, :n] = 1.0
    for row in first[1:]:
        row[rng.permutation(total)[:n]] = 1.0
    block = []
    for claim, new, old in found:
        x, y = np.concatenate([new.x, old.x]), np.concatenate([new.y, old.y])
        z, difference, error, free = _welch(x, y, new.ratio, first)
        ends = _ends(plan, float(difference[0]), float(error[0]), float(free[0]), new.ratio)
        deviation = float(error[0])
        if deviation < SAME and new.share == new.share:
            ends, deviation = _ends_of_people(plan, new, old)
        block.append(Tested(replace(claim, **ends.fields), float(z[0]), z[1:], deviation))
    return block


def _welch(
    x: np.ndarray, y: np.ndarray, ratio: bool, first: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return z, the difference of effects, its standard error and degrees of freedom, per deal.

    z is Welch's t made normal: ``(8 f + 1) / (8 f + 3) sqrt(f log(1 + t^2 / f))``. The effect of a
    list on the logarithm of a ratio is its first-order influence, ``x / mean x - y / mean y``; it
    is defined for a list where nobody was selected, too.

    Parameters
    ----------
    x, y : ndarray of shape (lists,)
        The terms of all lists of both files; NaN in lists that are not used.
    ratio : bool
        Whether the effect is ``log(mean x / mean y)`` or the mean of x.
    first : ndarray of shape (deals, lists)
        1 for the lists dealt to the first file, else 0.
    """
    used = ~np.isnan(x)
    x, y, first = x[used], y[used], first[:, used]
    effect, variance, free = [], [], []
    for side in (first, 1.0 - first):
        n = side.sum(axis=1)
        a, b = (divide(side @ part, n) for part in (x, y))
        squares = [divide(side @ part, n) for part in (x * x, x * y, y * y)]
        if ratio:
            effect.append(_log(a) - _log(b))
            spread = divide(squares[0], a * a) - 2.0 * divide(squares[1], a * b)
            spread = spread + divide(squares[2], b * b)
        else:
            effect.append(a)
            spread = squares[0] - a * a
        variance.append(np.maximum(np.nan_to_num(divide(spread, n - 1.0)), 0.0))
        free.append(np.maximum(n - 1.0, 1.0))
    whole = variance[0] + variance[1]
    difference = effect[0] - effect[1]
    f = divide(whole**2, variance[0] ** 2 / free[0] + variance[1] ** 2 / free[1])
    f = np.where(np.isnan(f), 1.0, f)
    # Without any spread, or with a ratio of 0, a difference is beyond every other.
    far = ((whole <= 0) & (difference != 0)) | ~np.isfinite(difference)
    t = np.where(far, 0.0, np.nan_to_num(divide(difference, np.sqrt(whole)), posinf=0, neginf=0))
    z = (8.0 * f + 1.0) / (8.0 * f + 3.0) * np.sqrt(f * np.log1p(t**2 / f))
    z = np.where(far, inf, z) * np.sign(np.where(np.isnan(difference), 1.0, difference))
    return z, difference, np.sqrt(whole), f


def _log(values: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values))


def _ends(plan: Plan, difference: float, error: float, free: float, ratio: bool) -> Ends:
    """Return the interval by the t distribution, for ratios on the log scale."""
    from scipy.stats import t as student

    pairs = []
    for level in (plan.level, max(2.0 * plan.level - 1.0, 0.0)):
        width = float(student.ppf((1.0 + level) / 2.0, free)) * error
        low, high = difference - width, difference + width
        pairs.append((exp(low), exp(high)) if ratio else (low, high))
    return Ends.of(pairs, "lists")


def _few_lists(plan: Plan, claim: Claim, new: Effects, old: Effects) -> Tested:
    """Return the claim of fewer than 10 lists on a side, tested if it is about a decision."""
    if isnan(new.expected) or isnan(old.expected):
        reason = f"fewer than {FEWEST_EFFECTS} lists on one side"
        return _untested(replace(claim, status="cannot_tell", reason=reason))
    ends, error = _ends_of_people(plan, new, old)
    if min(new.expected, old.expected) < FEWEST_EXPECTED or error == inf:
        reason = f"fewer than {FEWEST_EFFECTS} lists on one side, and too few people"
        return _untested(replace(claim, status="cannot_tell", reason=reason))
    claim = replace(
        claim, test="difference of the logarithms of two Mantel-Haenszel ratios", **ends.fields
    )
    return Tested(claim, log(new.estimate / old.estimate) / error, np.empty(0), error)


def _ends_of_people(plan: Plan, new: Effects, old: Effects) -> tuple[Ends, float]:
    """Return the interval of the ratio of two ratios, and the standard error of its logarithm.

    The interval is that of Zou and Donner (Statistics in Medicine 2008), from the intervals of both
    ratios. The error is its half that reaches towards 0, in normal quantiles.
    """
    difference, halves = log(new.estimate / old.estimate), []
    for level in interval_levels(plan):
        mine, other = (
            np.abs(_log(np.array(each.ends(level)) / each.estimate)) for each in (new, old)
        )
        halves.append((float(np.hypot(mine[0], other[1])), float(np.hypot(mine[1], other[0]))))
    pairs = [(exp(difference - low), exp(difference + high)) for low, high in halves]
    error = halves[0][0 if difference > 0 else 1] / normal_quantiles(plan)[0]
    return Ends.of(pairs, "people"), error
