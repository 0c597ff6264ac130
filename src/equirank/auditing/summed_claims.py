"""The claims of an audit from sums over lists: closed tests, and shuffles for rare groups."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np

from ..core.closed_shuffles import ClosedShuffles, ClosedValues, n_draws_of
from ..core.data import RankingData
from ..core.list_samples import ListSample
from ..core.list_sums import ListSums
from ..core.random import generator
from ..core.shuffles import own_p, shuffle_labels
from ..core.sums_plan import View
from ..core.sums_views import SumsView
from ..core.value_views import changed_ks, given_values
from ..engines.given_ranking import ordered
from ..statistics.score_gaps import gap_of_sums
from .audit_plan import Audited, Plan
from .change_claims import Change, change_claims
from .claim_tests import Tested
from .gain_claims import gain_claim
from .given_claims import given_claim
from .group_claims import MANY, claims_of_set, score_claims, selected_claim
from .people import Partition, People, Values, find_people, make_values
from .shuffled_sets import ShuffledSet, shuffle_set

__all__ = ["SummedSet", "summed_blocks", "summed_changes", "summed_sets"]


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
    scores = list(_given_sets(plan, people, sums, "score")) if plan.scored else []
    numbers = sum(len(each.groups) * (3 + each.sums.n_decisions) for each in sets)
    numbers += sum(3 * len(each.groups) for each in scores)
    n_draws = n_draws_of(numbers) if plan.n_permutations else 0
    block, chances = list[Tested](), dict[int, float]()
    whole = replace(plan, scored=False)
    for stream, each in enumerate(sets):
        found = each.shuffled(plan, n_draws, stream)
        shuffled = ShuffledSet(found, each.groups, np.zeros(0, dtype=np.int64))
        if each.decision < 0:
            chances |= {g: found.mean_chance(at) for at, g in enumerate(each.groups)}
            claims = claims_of_set(whole, people, values, shuffled)
        else:
            claims = _claims_among(plan, people, shuffled, each.decision)
        block += [_calibrated(plan, people, sums, shuffled, each.decision, c) for c in claims]
    for stream, given in enumerate(scores):
        block += _score_claims(plan, people, given, given.found(plan, n_draws, stream), chances)
    block.sort(key=lambda each: each.order)
    if not plan.ordered:
        return [block, []]
    return [block, _second_block(plan, people, sums, sets, chances)]


def _split(plan: Plan, people: People) -> tuple[list[int], list[int], list[tuple[int, Partition]]]:
    """Return whom everyone else is compared with, as numbers in sums, too; and the others."""
    every = [g for g, part in enumerate(people.partitions) if (part.sides == 1).any()]
    common = [g for g in every if people.partitions[g].against == "rest"]
    index = [_index(plan, people, g) for g in common]
    return common, index, [(g, people.partitions[g]) for g in every if g not in common]


def summed_sets(plan: Plan, people: People, sums: ListSums) -> Iterator[SummedSet]:
    """Yield the sets of comparisons: with everyone else together, with a reference one by one."""
    common, index, paired = _split(plan, people)
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


def _second_block(
    plan: Plan, people: People, sums: ListSums, sets: Sequence[SummedSet], chances: dict[int, float]
) -> list[Tested]:
    """Return the claims given relevance or another attribute, and those about an NDCG."""
    gains = [
        (metric, given)
        for metric in plan.gains
        if str(metric) in sums.plan.gains
        for given in _given_sets(plan, people, sums, str(metric))
    ]
    n_draws = 0
    if plan.n_permutations:
        n_draws = n_draws_of(2 * max(len(people.partitions), 1) * (1 + len(plan.gains)))
    block = _given_claims(plan, people, sums, sets, chances, n_draws)
    for stream, (metric, given) in enumerate(gains):
        found = given.found(plan, n_draws, stream)
        for at, g in enumerate(given.groups):
            one = gain_claim(plan, people.partitions[g], found, at, metric)
            block.append(given.calibrated(plan, found, at, one))
    return block


def _given_claims(
    plan: Plan,
    people: People,
    sums: ListSums,
    sets: Sequence[SummedSet],
    chances: dict[int, float],
    n_draws: int,
) -> list[Tested]:
    """Return the differences in position given relevance, and given another attribute."""
    block: list[Tested] = []
    whole = [each for each in sets if each.decision < 0]
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


@dataclass(frozen=True, eq=False)
class _GivenSet:
    """Comparisons of given values whose labels are shuffled together.

    Attributes
    ----------
    whole : ListSums
        All sums.
    view : View
        The values, and whom.
    groups, index : list of int
        The partitions, and their numbers among the groups of the view.
    """

    whole: ListSums
    view: View
    groups: list[int]
    index: list[int]

    @property
    def sums(self) -> SumsView:
        """The sums of the view."""
        return self.whole.views[self.view]

    def found(self, plan: Plan, n_draws: int, stream: int) -> ClosedValues:
        """Return the statistics of the comparisons."""
        change = self.view.values == "change"
        kind = self.whole.plan.given_values.index(self.view.values)
        return ClosedValues.of_values(
            self.sums, self.index, n_draws, generator(plan.seed, 19, kind, stream),
            n_averaged=2 if change else 0, studentized=change,
        )  # fmt: skip

    def calibrated(self, plan: Plan, found: ClosedValues, at: int, one: Tested) -> Tested:
        """Return a test whose normal distribution is poor with the p-value of shuffles."""
        if np.isnan(one.z) or one.column < 0 or found.is_normal(at, one.column):
            return one
        sample = self._rows(self.index[at])
        if sample is None:
            return _approximate(one)
        z, draws = self._shuffled(plan, sample, self.index[at], one.column)
        return _by_shuffles(one, z, draws)

    def _rows(self, index: int) -> ListSample | None:
        """Return all lists that a comparison depends on, if their rows are stored."""
        if self.view.values == "change":
            moved = self.whole.moved
            return moved if moved.n_lists == self.whole.sums["moved"][1] else None
        plan, view = self.whole.plan, self.view
        if view.key:
            index = plan.group_names.index((view.key, view.group))
        return _lists_with(self.whole, index)

    def _shuffled(
        self, plan: Plan, sample: ListSample, index: int, column: int
    ) -> tuple[float, np.ndarray]:
        """Return the statistic of a comparison and of shuffles, from the rows of its lists."""
        made, data = self.whole.plan, sample.to_data(self.whole.plan)
        ranking = ordered(data, made.ties, made.rule)
        given = given_values(ranking, made, self.view, sample.codes, sample.before(data))
        key = int(np.searchsorted(given.first, index, side="right")) - 1
        labels = np.arange(given.first[key], given.first[key + 1])
        sides = np.full((1, int(given.first[-1]) + 1), -1)
        sides[0, labels + 1] = labels == index
        rows = np.arange(data.n_rows) if given.inside is None else np.flatnonzero(given.inside)
        found = shuffle_labels(
            data.query_of_rows()[rows], given.cells[rows], given.groups[rows, key] + 1, sides,
            given.values[given.column[key, column], rows][:, None],
            np.array([column < given.n_averaged]), plan.n_permutations, plan.seed + 17 * column,
            studentized=self.view.values == "change", n_queries=data.n_queries,
        )  # fmt: skip
        return float(found.z[0, 0]), found.draws[:, 0, 0]


def _given_sets(plan: Plan, people: People, sums: ListSums, values: str) -> Iterator[_GivenSet]:
    """Yield the comparisons of given values: with everyone else, then with each reference."""
    common, index, paired = _split(plan, people)
    if common:
        yield _GivenSet(sums, View((), "", "", -1, values), common, index)
    for g, part in paired:
        view = View(part.audited.by, part.group, part.against, -1, values)
        yield _GivenSet(sums, view, [g], [0])


def _score_claims(
    plan: Plan, people: People, given: _GivenSet, found: ClosedValues, chances: dict[int, float]
) -> Iterator[Tested]:
    """Yield the claims about scores; the first value is being above the median."""
    shuffled = ShuffledSet(found, given.groups, np.zeros(0, dtype=np.int64))
    for at, g in enumerate(given.groups):
        product, weight = (float(each.sum()) for each in found.weighted_terms(at, 1))
        within = float(given.sums.sums["within"][given.index[at]])
        n1, n2 = map(int, found.sides(at))
        gap = gap_of_sums(product, weight, within, found.lists(at), n1, n2, plan.level)
        above = 0.5 - chances[g] if plan.ordered else float("nan")
        both = score_claims(plan, shuffled, at, people.partitions[g], (0, 1), gap, above)
        for key, one in enumerate(both):
            one = replace(one, order=(g, MANY + key))
            yield given.calibrated(plan, found, at, one)


def summed_changes(
    plan: Plan, people: People, sums: ListSums
) -> tuple[list[Tested], dict[str, Any]]:
    """Return the claims about changes since another ranking, and what was compared.

    As `change_block`, from sums.
    """
    facts = {"moved": int(sums.sums["moved"][0]), "cut": sums.plan.cut, "refused": ""}
    if facts["moved"] == 0:
        return [], facts
    ks = changed_ks(sums.plan)
    columns: dict[Change, int] = {"position": 0, "chance": 1, "exposure": 2}
    columns |= {k: 3 + at for at, k in enumerate(ks)}
    sets = list(_given_sets(plan, people, sums, "change"))
    numbers = sum(len(each.groups) * (len(columns) + 1) for each in sets)
    n_draws = n_draws_of(numbers) if plan.n_permutations else 0
    block: list[Tested] = []
    for stream, given in enumerate(sets):
        found = given.found(plan, n_draws, stream)
        own = sums.compared(given.view.key, given.view.group) if given.view.key else sums
        now = ClosedShuffles.of(own, given.index, 0)
        for at, g in enumerate(given.groups):
            if found.lists(at):
                pairs = _pairs(found, now, at, columns, {k: plan.ks.index(k) for k in ks})
                claims = change_claims(plan, people.partitions[g], found, at, columns, pairs)
                block += [given.calibrated(plan, found, at, one) for one in claims]
    return block, facts


def _pairs(
    found: ClosedValues,
    now: ClosedShuffles,
    g: int,
    columns: Mapping[Change, int],
    decisions: Mapping[int, int],
) -> dict[Change, tuple[float, float]]:
    """Return the chance, share of exposure and rates of a comparison, now and before."""
    chance = 0.5 - now.mean_chance(g)
    a, b = found.received(g, len(columns))  # the exposure of now comes last
    change = found.received(g, columns["exposure"])
    old = (a - change[0]) / max(a + b - sum(change), 1e-300)
    pairs: dict[Change, tuple[float, float]] = {
        "position": (chance, chance + float(found.total[g, columns["chance"]])),
        "exposure": (a / max(a + b, 1e-300), old),
    }
    for k, at in decisions.items():
        selected, people = now.rates(g, 3 + at).a, found.sides(g)[0]
        before = selected - found.received(g, columns[k])[0]
        pairs[k] = selected / people, before / people
    return pairs


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
    if not np.isnan(one.exact):  # exact over lists
        return replace(one, z=_quantile(one, one.exact))
    rows = _lists_with(sums, _index(plan, people, g))
    if rows is None:
        return _approximate(one)
    data = rows.to_data(sums.plan)
    return _by_shuffles(one, *_shuffled(plan, people, sums, g, one.column, decision, data))


def _approximate(one: Tested) -> Tested:
    """Return a test that says that its normal distribution is poor."""
    claim = one.claim
    return replace(one, claim=replace(claim, test=f"{claim.test[:-1]}; approximate: few people)"))


def _by_shuffles(one: Tested, z: float, draws: np.ndarray) -> Tested:
    """Return a test with the p-value of shuffles."""
    p = float(own_p(np.array([z]), draws[:, None])[0])
    claim = replace(one.claim, test="shuffled labels")
    return replace(one, claim=claim, z=_quantile(one, p), exact=p)


def _quantile(one: Tested, p: float) -> float:
    """Return the normal quantile of a p-value, with the sign of the statistic."""
    size = NormalDist().inv_cdf(1.0 - min(max(p, 1e-15), 1.0 - 1e-12) / 2.0)
    return float(np.sign(one.z) * size)


def _lists_with(sums: ListSums, index: int) -> ListSample | None:
    """Return all lists that contain a group, if their rows are stored."""
    lists = int(sums.sums["totals"][:, index, 1].sum())
    for sample in (sums.rare, sums.kept):
        chosen = _with_group(sample, sums, index)
        if len(chosen) == lists:
            return sample.take(chosen)
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
