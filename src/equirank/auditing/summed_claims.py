"""The claims of an audit from sums over lists: closed tests, and shuffles for rare groups."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from ..core.closed_shuffles import ClosedShuffles, n_draws_of
from ..core.data import RankingData
from ..core.list_samples import ListSample
from ..core.list_sums import ListSums
from ..core.random import generator
from ..core.shuffles import own_p
from ..core.sums_views import SumsView
from ..engines.given_ranking import ordered
from .audit_plan import Audited, Plan
from .claim_tests import Tested
from .given_claims import given_claim
from .group_claims import claims_of_set, selected_claim
from .people import People, Values, find_people, make_values
from .shuffled_sets import ShuffledSet, shuffle_set

__all__ = ["SummedSet", "summed_blocks", "summed_sets"]


@dataclass(frozen=True, eq=False)
class SummedSet:
    """Comparisons whose labels are shuffled together, and the sums that have them.

    Attributes
    ----------
    sums : ListSums or SumsView
        The sums.
    groups : list of int
        The partitions.
    index : list of int
        Their numbers among the groups of the sums.
    decision : int
        The decision that alone is compared, among those decided about; -1 for everything else.
    """

    sums: ListSums | SumsView
    groups: list[int]
    index: list[int]
    decision: int = -1

    def shuffled(self, plan: Plan, n_draws: int, stream: int, design: int = 0) -> ClosedShuffles:
        """Return the statistics of the comparisons."""
        keys = (9, design) if stream == 0 else (9, design, stream)
        rng = generator(plan.seed, *keys)
        return ClosedShuffles.of(self.sums, self.index, design, n_draws=n_draws, rng=rng)


def summed_blocks(plan: Plan, people: People, sums: ListSums) -> list[list[Tested]]:
    """Return the claims of an audit from sums, in the blocks of `group_blocks`."""
    names = ("position", "chance", "exposure", *(each.name for each in plan.decisions))
    values = _SummedValues(np.zeros((0, 0)), np.array([name in names[:2] for name in names]), names)
    sets = list(summed_sets(plan, people, sums))
    numbers = sum(len(each.groups) * (3 + each.sums.n_decisions) for each in sets)
    n_draws = n_draws_of(numbers) if plan.n_permutations else 0
    block, chances = list[Tested](), dict[int, float]()
    for stream, each in enumerate(sets):
        found = each.shuffled(plan, n_draws, stream)
        shuffled = ShuffledSet(found, each.groups, np.zeros(0, dtype=np.int64))
        if each.decision < 0:
            chances |= {g: found.mean_chance(at) for at, g in enumerate(each.groups)}
            claims = claims_of_set(plan, people, values, shuffled)
        else:
            claims = _claims_among(plan, people, shuffled, each.decision)
        block += [_calibrated(plan, people, sums, shuffled, each.decision, c) for c in claims]
    block.sort(key=lambda each: each.order)
    second = _given_claims(plan, people, sums, sets, chances) if plan.ordered else []
    return [block, second]


def summed_sets(plan: Plan, people: People, sums: ListSums) -> Iterator[SummedSet]:
    """Yield the sets of comparisons: with everyone else together, with a reference one by one."""
    every = [g for g, part in enumerate(people.partitions) if (part.sides == 1).any()]
    common = [g for g in every if people.partitions[g].against == "rest"]
    index = [_index(plan, people, g) for g in common]
    paired = [(g, people.partitions[g]) for g in every if g not in common]
    if common:
        yield SummedSet(sums, common, index)
    for g, part in paired:
        yield SummedSet(sums.compared(part.audited.by, part.group), [g], [0])
    for at in range(sums.n_decisions):
        decided = sums.decided(at)
        if decided is None:
            continue
        if common:
            yield SummedSet(decided, common, index, at)
        for g, part in paired:
            yield SummedSet(sums.compared(part.audited.by, part.group, at), [g], [0], at)


def _claims_among(
    plan: Plan, people: People, shuffled: ShuffledSet[ClosedShuffles], key: int
) -> list[Tested]:
    """Return the claims of a decision about some people."""
    decision, block = plan.decisions[key], []
    for at, g in enumerate(shuffled.groups):
        one = selected_claim(plan, shuffled, at, people.partitions[g], 3, decision)
        block.append(replace(one, order=(g, key)))
    return block


def _given_claims(
    plan: Plan, people: People, sums: ListSums, sets: Sequence[SummedSet], chances: dict[int, float]
) -> list[Tested]:
    """Return the differences in position given relevance, and given another attribute."""
    block: list[Tested] = []
    whole = [each for each in sets if each.decision < 0]
    n_draws = 0
    if plan.n_permutations:
        n_draws = n_draws_of(2 * max(len(people.partitions), 1))
    for design, given in list(enumerate(sums.plan.designs))[1:]:
        for stream, each in enumerate(whole):
            some = [
                at
                for at, g in enumerate(each.groups)
                if _applies(people.partitions[g].audited, given)
            ]
            if not some:
                continue
            groups = [each.groups[at] for at in some]
            part = replace(each, groups=groups, index=[each.index[at] for at in some])
            found = part.shuffled(plan, n_draws, stream, design)
            for at, g in enumerate(groups):
                both = ["position", f"chance {people.mask_index(people.partitions[g])}"]
                raw = 0.5 - chances[g]
                block.append(given_claim(plan, people, found, both, at, g, given, raw))
    return block


class _SummedValues(Values):
    """Names of the compared values; there is one chance, that among the known of an attribute."""

    def at(self, name: str) -> int:
        """Return the index of a value."""
        return self.names.index("chance" if name.startswith("chance ") else name)


def _applies(audited: Audited, given: str) -> bool:
    return given == "relevance" or (not audited.crossed and audited.name != given)


def _index(plan: Plan, people: People, g: int) -> int:
    """Return the number of a compared group among all groups of the sums."""
    partition = people.partitions[g]
    return int(plan.group_indices(partition.audited)[partition.code])


def _calibrated(
    plan: Plan,
    people: People,
    sums: ListSums,
    shuffled: ShuffledSet[ClosedShuffles],
    decision: int,
    one: Tested,
) -> Tested:
    """Return a test whose normal distribution is poor with the p-value of shuffles, if possible.

    All lists of a rare group are stored, so that its labels can be shuffled. The statistic becomes
    the normal quantile of that p-value, which the family of tests then uses.
    """
    if np.isnan(one.z) or one.column < 0:
        return one
    g = one.order[0]
    if shuffled.found.is_normal(shuffled.groups.index(g), one.column):
        return one
    claim = one.claim
    if not np.isnan(one.exact):  # exact over lists
        return replace(one, z=_quantile(one, one.exact))
    rows = _rows_with(sums, _index(plan, people, g))
    if rows is None:
        words = f"{claim.test[:-1]}; approximate: few people)"
        return replace(one, claim=replace(claim, test=words))
    z, draws = _shuffled(plan, people, sums, g, one.column, decision, rows)
    p = float(own_p(np.array([z]), draws[:, None])[0])
    found = replace(claim, test="shuffled labels")
    return replace(one, claim=found, z=_quantile(one, p), exact=p)


def _quantile(one: Tested, p: float) -> float:
    """Return the normal quantile of a p-value, with the sign of the statistic."""
    size = NormalDist().inv_cdf(1.0 - min(max(p, 1e-15), 1.0 - 1e-12) / 2.0)
    return float(np.sign(one.z) * size)


def _rows_with(sums: ListSums, index: int) -> RankingData | None:
    """Return all lists that contain a group, if their rows are stored."""
    lists = int(sums.sums["totals"][:, index, 1].sum())
    for sample in (sums.rare, sums.kept):
        chosen = _with_group(sample, sums, index)
        if len(chosen) == lists:
            return sample.take(chosen).to_data(sums.plan)
    return None


def _with_group(sample: ListSample, sums: ListSums, index: int) -> np.ndarray:
    key, code = sums.plan.place(index)
    inside = sums.plan.codes_of(sample.codes, key) == code
    query = np.repeat(np.arange(sample.n_lists), sample.sizes)
    return np.flatnonzero(np.bincount(query, inside, sample.n_lists) > 0)


def _shuffled(
    plan: Plan,
    people: People,
    sums: ListSums,
    g: int,
    column: int,
    decision: int,
    data: RankingData,
) -> tuple[float, np.ndarray]:
    """Return the statistic of a comparison and of shuffles, from the rows of its lists."""
    crossed = [each for each in plan.audited if each.crossed]
    for each in crossed:
        data.keep_crossing(each.by, each.attribute.categories)
    ranking = ordered(data, sums.plan.ties, sums.plan.rule)
    audited = tuple(replace(each, attribute=data.attribute(each.key)) for each in plan.audited)
    decisions = sums.plan.rule.decisions(ranking, sums.plan.ks)
    rows = replace(plan, ranking=ranking, audited=audited, sums=None, decisions=decisions)
    partition = people.partitions[g]
    wanted = find_people(rows, [(partition.audited.name, partition.group)])
    values = make_values(ranking, decisions, wanted)
    names = ["position", "chance 0", "exposure", *(each.name for each in decisions)]
    among = None if decision < 0 else decisions[decision].among
    at = values.at(names[column if decision < 0 else 3 + decision])
    only = Values(values.columns[:, [at]], values.averaged[[at]], (values.names[at],))
    groups, inside = next(wanted.shuffled_sets(among=among))
    sizes = np.diff(data.offsets)
    seed = plan.seed + 17 * column
    found = shuffle_set(wanted, groups, inside, only, sizes, plan.n_permutations, seed).found
    return float(found.z[0, 0]), found.draws[:, 0, 0]
