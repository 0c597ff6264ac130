"""The notes of an audit, which qualify its numbers, and the facts about what was audited."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ..core.data import RankingData
from ..core.environment import library_version
from ..core.list_sums import ListSums
from ..core.outcomes import Decision, where
from ..core.recurrence import Recurrence, n_copies, rows_of_totals
from ..core.sums_plan import MOST_PAIRED, MOST_PREFIXED
from ..core.table import Table
from ..kernels.column_names import TOTAL_COLUMNS
from ..reports.claims import Claim
from ..reports.number_words import joined, number, percent, plain_column, quoted
from ..statistics.stratified import UNEVEN
from .audit_plan import SMALL_SELECTED, Audited, Plan
from .measured import Measured
from .tables.gap_tables import MOST_QUERIES
from .tables.group_tables import POWER, SMALL_SHARE
from .tables.position_tables import BAND_ALPHA, LISTS_SHOWN, MOST_GROUPS
from .tables.shape_tables import MOST_LISTS

__all__ = [
    "arbitrary_share",
    "counted",
    "list_lengths",
    "make_facts",
    "make_notes",
    "people_and_rows",
    "people_facts",
    "people_remarks",
    "recurring_words",
    "tie_share",
    "unknown_words",
    "untested_words",
]


#: A warning is given if ties decide at least this share of the top k.
MANY_TIES = 0.2

#: Most values of a decision that a note names.
MOST_VALUES = 6

Notes = Iterable[tuple[str, str]]


def make_notes(
    measured: Measured,
    facts: dict[str, Any],
    tables: dict[str, Table],
    claims: Sequence[Claim],
) -> list[dict[str, str]]:
    """Return the notes, warnings first."""
    found = [
        {"kind": kind, "text": text}
        for kind, text in (
            ("scope", _covered(facts)),
            ("not_measured", _not_measured(facts, tables)),
            *_recurring(measured.plan),
            *_ties(measured.plan, facts),
            *_cutoffs(facts),
            *_decided(facts),
            *_different_lists(tables),
            *_unknown(facts, tables),
            *_skipped(tables, facts),
            *_absent(claims, facts),
            *_small(measured.plan),
            *_sample(facts),
            *_limited(measured, facts),
            *_sampled(facts, claims),
        )
    ]
    return sorted(found, key=lambda note: note["kind"] != "warning")


def arbitrary_share(plan: Plan, k: int) -> float:
    """Return the share of the top k that is filled from a tie block reaching beyond position k.

    Which items of the block are in the top k is arbitrary. The share is a mean over lists longer
    than k.
    """
    if plan.sums is not None:
        across, lists = plan.sums.sums["ties"][1 + plan.ks.index(k)]
        return float(across / lists) if lists else 0.0
    shares = []
    for _, draw in plan.ranking.draws():
        slots = draw.slots()
        inside = np.flatnonzero(slots.sizes > k)
        if slots.lo is None or len(inside) == 0:
            shares.append(0.0)
            continue
        last = slots.offsets[inside] + k - 1
        begin, end = slots.lo[last], slots.end()[last]
        across = np.where(end > last + 1, last + 1 - begin, 0)
        shares.append(float((across / k).mean()))
    return float(np.mean(shares))


#: What is assumed about data without ids.
NO_IDS = "The data have no ids of people, so every row is taken to be another person."


def _recurring(plan: Plan) -> Notes:
    """State who has several rows, and what is assumed about rows without an id."""
    rows, sizes = plan.given_rows, (plan.n_rows, plan.n_queries)
    if rows is not None and rows.ids is None and plan.recurrence is not None:
        rows = None  # sums keep rows without their ids
    copies = 0 if rows is None else n_copies(rows)
    for text in people_remarks(plan.recurrence, *sizes, plan.untested, copies):
        yield "people", text
    if rows is not None:
        yield from _totals(rows)


def _totals(rows: RankingData) -> Notes:
    """Warn of rows that look like totals."""
    found = rows_of_totals(rows)
    if not found:
        return
    at, why = found[0]
    place = f"{where(rows, at)} ({why})"
    if len(found) == 1:
        text = f"A row of totals seems to be among the people, {place}: leave it out of the data "
        yield "warning", f"{text}if it is one."
        return
    yield (
        "warning",
        f"{number(len(found))} rows of totals seem to be among the people, the first {place}: "
        "leave them out of the data if they are.",
    )


def people_remarks(
    people: Recurrence | None,
    n_rows: int,
    n_lists: int,
    untested: str = "",
    copies: int = 0,
) -> Iterator[str]:
    """Yield sentences on who has several rows, and on rows without an id.

    Parameters
    ----------
    people : Recurrence or None
        The people; None without ids.
    n_rows, n_lists : int
        Numbers of rows and lists.
    untested : str
        Why nothing is tested; empty if there are tests.
    copies : int
        Number of rows that are equal to an earlier one in everything that was read.
    """
    repeated = 0 if people is None else n_rows - people.n_people
    if copies:
        yield _copies_words(copies, n_rows, people is not None, repeated if untested else 0)
    if people is None:
        yield NO_IDS
    elif untested:
        if copies != repeated:  # else copies are the whole reason
            yield (
                "Ids must name people: if they name places in a list, such as row numbers, leave "
                "them out or make them different in each list."
            )
    elif people.n_recurring:
        words = recurring_words(people, n_rows, n_lists)
        yield f"{words[:1].upper()}{words[1:]}; the tests take each row for another person."
    if people is not None and people.unnamed:
        verb = "has" if people.unnamed == 1 else "have"
        rows = _number_of(people.unnamed, "rows")
        yield f"{rows} {verb} no id, and each is taken to be another person."


def _copies_words(copies: int, n_rows: int, ids: bool, repeated: int) -> str:
    """Return how many rows are copies; ``repeated`` rows break tests, some or all as copies."""
    one = copies == 1
    if not ids and 2 * copies >= n_rows:
        return (
            "Most rows are equal to another row of the same list in all columns that were read, so "
            "copies of rows cannot be told from people."
        )
    text = (
        f"{_number_of(copies, 'rows')} of {number(n_rows)} {'is' if one else 'are'} equal to an "
        "earlier row of the same list in all columns that were read"
    )
    if not ids:
        they = "it is a copy, or a person" if one else "they are copies, or people"
        return f"{text}: {they} whom an id would tell apart. Nothing was removed."
    text += f" and {'counts' if one else 'count'} again. Nothing was removed."
    if repeated:
        why = "the reason" if copies == repeated else "one reason"
        text += f" Such copies are {why} why people appear more than once."
    return text


def untested_words(people: Recurrence | None, n_rows: int, n_lists: int) -> str:
    """Return why nothing is tested; empty if few enough people have several rows."""
    if people is None or not people.breaks_tests:
        return ""
    words = recurring_words(people, n_rows, n_lists)
    return f"{words}, and the tests assume that everybody appears once"


def recurring_words(people: Recurrence, n_rows: int, n_lists: int) -> str:
    """Return how many people have several rows, and among how many in how many rows and lists.

    Examples
    --------
    >>> recurring_words(Recurrence.of(np.array(["a", "b", "b", "c"])), 4, 2)
    '1 of the 3 people in 4 rows of 2 lists appears more than once'
    """
    about = "about " if people.sampled else ""
    everybody = people.n_recurring == people.n_people > 1
    some = "all" if everybody else f"{about}{number(people.n_recurring)} of the"
    lists = "one list" if n_lists == 1 else f"{number(n_lists)} lists"
    verb = "appears" if people.n_recurring == 1 else "appear"
    return (
        f"{some} {about}{number(people.n_people)} people in {number(n_rows)} rows of {lists} "
        f"{verb} more than once"
    )


def _ties(plan: Plan, facts: dict[str, Any]) -> Notes:
    if facts["tie_share"] == 0 or not facts["ordered"]:
        return
    yield (
        "ties",
        f"{percent(facts['tie_share'])} of the {counted(facts)} are tied. Each has the mean of the "
        "positions that the tie spans, and counts for the top k with the probability of being "
        "there.",
    )
    share, k = max(((arbitrary_share(plan, k), k) for k in plan.ks), default=(0.0, 0))
    if share >= MANY_TIES:
        yield (
            "warning",
            f"{percent(share)} of the top {k} positions are filled from ties that reach beyond "
            "them, so who is there is arbitrary. Metrics of the top positions (selection rates, "
            "RND, shares by prefix) spread tied people evenly and look equal for that reason "
            "alone, not because of how people were ranked.",
        )


def _cutoffs(facts: dict[str, Any]) -> Notes:
    longest = facts["list_length"]["max"]
    too_long = [str(k) for k in facts["ks"] if k >= longest]
    if too_long:
        yield (
            "warning",
            f"k = {joined(too_long)} is as long as every list: everyone is selected there, so "
            "selection rates at this cutoff carry no information.",
        )
    if facts["positions_given"]:
        scores = "scores are only shown" if facts["has_score"] else "there are no scores"
        yield "data", f"The audited order is that of the given positions; {scores}."


def _decided(facts: dict[str, Any]) -> Notes:
    """State who was selected, and about whom no decision is recorded."""
    for each in facts["decisions"]:
        if "k" in each["scope"]:
            continue
        many = number(each["selected"]) if each["selected"] % 1 == 0 else f"{each['selected']:.1f}"
        people = _number_of(each["people"], counted(facts))
        yield "decision", f"{_selected_words(each)}: {many} of {people}."
        if each["undecided"]:
            yield (
                "undecided",
                f"The decision ({each['name']}) is not recorded for "
                f"{_number_of(each['undecided'], counted(facts))}; its rates leave them out.",
            )
        if each["other"]:
            values = [f'"{value}" ({number(many)})' for value, many in each["other"].items()]
            if len(values) > MOST_VALUES:
                values[MOST_VALUES:] = [f"{len(values) - MOST_VALUES} more"]
            sample = " of a sample of the lists" if facts.get("sums", {}).get("sampled") else ""
            yield (
                "undecided",
                f"Counted as no in the decision ({each['name']}){sample}: {joined(values)}; leave "
                "cells blank where nothing was decided.",
            )


def people_and_rows(n_rows: int, n_people: int | None) -> str:
    """Return how many people there are, and in how many rows if these are more.

    Examples
    --------
    >>> people_and_rows(1860, 1800), people_and_rows(1860, None)
    ('1,800 people (1,860 rows)', '1,860 people')
    """
    people = n_rows if n_people is None else n_people
    words = _number_of(people, "people")
    return words if people == n_rows else f"{words} ({number(n_rows)} rows)"


def people_facts(plan: Plan) -> dict[str, Any]:
    """Return the numbers of people and of those with several rows; None where nobody has an id.

    ``people_sampled`` says that both are estimates, ``n_unnamed`` is the number of rows without id.
    """
    people = plan.recurrence
    if people is None:
        return {"n_people": None, "n_recurring": None, "n_unnamed": None, "people_sampled": False}
    return {
        "n_people": people.n_people,
        "n_recurring": people.n_recurring,
        "n_unnamed": people.unnamed,
        "people_sampled": people.sampled,
    }


def counted(facts: Mapping[str, Any]) -> str:
    """Return what counts of an audit count: "rows" if some of them are of the same person."""
    return "people" if facts.get("n_people") in (None, facts["n_rows"]) else "rows"


def _number_of(count: int, what: str) -> str:
    """Return a number of "people" or "rows"."""
    if count == 1:
        return "1 person" if what == "people" else "1 row"
    return f"{number(count)} {what}"


def _different_lists(tables: dict[str, Table]) -> Notes:
    """State where rates of all people together do not show what lists show."""
    rows = [row for row in tables["decisions"] if row["note"] == UNEVEN]
    names = dict.fromkeys(f'"{row["group"]}" ({row["attribute"]})' for row in rows)
    if names:
        words = joined(list(names)[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")
        yield (
            "strata",
            f"People of {words} and those they are compared with are spread unevenly over the "
            "lists, so the ratio of all people together differs from the ratio within lists, which "
            "is the one stated.",
        )


def _selected_words(decision: dict[str, Any]) -> str:
    """Return what selected means, to be followed by a number of people."""
    scope = decision["scope"]
    if "column" in scope:
        return f'Selected according to column "{scope["column"]}"'
    if "cutoff" in scope:
        return f"Selected by the cutoff {scope['cutoff']}"
    if "quota" in scope:
        return f'Selected by the quota of each list in column "{scope["quota"]}"'
    if scope.get("overall"):
        return f'Selected at stage "{scope["stage"]}", of everyone'
    return f'Selected at stage "{scope["stage"]}", of those who reached it'


def _unknown(facts: dict[str, Any], tables: dict[str, Table]) -> Notes:
    for each in facts["attributes"]:
        rows = [row for row in tables["unknown"] if row["attribute"] == each["name"]]
        if rows and not each["crossed"]:
            text = "They are in no group" + (
                ", and keep their positions." * facts["ordered"] or "."
            )
            if rows[0]["share"] == 1.0:
                text += " What can be said of everyone is in the table of labels."
            yield "unknown", f"{unknown_words(each['name'], rows, counted(facts))} {text}"


def unknown_words(name: str, rows: Sequence[Mapping[str, Any]], what: str = "people") -> str:
    """Return how many people (``what``: or rows) have an unknown label, and how many are selected.

    Examples
    --------
    >>> rows = [{"decision": "top 10", "size": 120, "share": 0.04, "rate": 0.12}]
    >>> unknown_words("sex", rows)
    'sex unknown: 120 people (4%); selected: 12% (top 10).'
    """
    people = _number_of(int(rows[0]["size"]), what)
    rates = [f"{percent(row['rate'])} ({row['decision']})" for row in rows]
    known = f"{plain_column(name)} unknown: {people} ({percent(rows[0]['share'])})"
    return f"{known}; selected: {', '.join(rates)}."


def _skipped(tables: dict[str, Table], facts: dict[str, Any]) -> Notes:
    skipped: dict[str, list[str]] = {}
    for name in ("gaps", "metrics"):
        for row in tables[name]:
            if row["n_skipped"]:
                metric = row["metric"]
                metric += f" ({row['attribute']})" if row.get("attribute") else ""
                skipped.setdefault(number(row["n_skipped"]), []).append(metric)
    for count, metrics in skipped.items():
        names = list(dict.fromkeys(metrics))
        words = joined(names) if len(names) <= 6 else f"{len(names)} metrics"
        yield (
            "skipped",
            f"{count} of {number(facts['n_queries'])} lists {'is' if count == '1' else 'are'} "
            f"excluded from {words}, which cannot be computed there (one group only, or nothing "
            "relevant).",
        )


def _absent(claims: Sequence[Claim], facts: dict[str, Any]) -> Notes:
    """State where the positions of a group could not be compared in every list."""
    for each in facts["attributes"]:
        rows = [
            claim
            for claim in claims
            if claim.attribute == each["name"]
            and claim.quantity == "position"
            and not claim.scope.get("given")
        ]
        if not rows:
            continue
        fewest = min(rows, key=lambda claim: claim.scope["lists"])
        if fewest.scope["lists"] < facts["n_queries"]:
            yield (
                "skipped",
                f"Groups of {plain_column(each['name'])} are compared by position in the lists "
                f"that contain the group and others: {number(fewest.scope['lists'])} of "
                f'{number(facts["n_queries"])} for group "{fewest.group}"'
                + (", the rarest." if len(rows) > 1 else "."),
            )


def _small(plan: Plan) -> Notes:
    """State which groups are too small to be compared in the top k."""
    for at, decision in enumerate(plan.decisions):
        k, small = decision.scope.get("k"), {}
        for each in plan.audited if k is not None else ():
            few = np.flatnonzero(plan.expected_in_top(each, at) < SMALL_SELECTED)
            if len(few) and plan.group_sizes(each).any():
                small[each.name] = [each.groups[code] for code in few]
        words = [f"{quoted(groups)} ({attribute})" for attribute, groups in small.items()]
        if words:
            one = sum(map(len, small.values())) == 1
            yield (
                "small",
                f"{'Group' if one else 'Groups'} {joined(words)} {'is' if one else 'are'} too "
                f"small for a reliable selection rate in the top {k}. "
                f"{'Its' if one else 'Their'} counts are shown but not compared.",
            )


def _sample(facts: dict[str, Any]) -> Notes:
    if facts["untested"]:
        return
    if facts["n_queries"] == 1:
        yield (
            "sample",
            "There is only one list. Confidence intervals resample its items within each group and "
            "say nothing about other lists.",
        )
    elif facts["n_queries"] < 20:
        yield (
            "sample",
            f"With only {facts['n_queries']} lists, the confidence intervals are approximate.",
        )
    if facts["n_boot"] == 0:
        yield "sample", "No confidence intervals were requested."
    most = max(len(each["groups"]) for each in facts["attributes"])
    if facts["n_permutations"] and most > 2:
        finest = most / (facts["n_permutations"] + 1)
        if finest >= 1 - facts["level"]:
            yield (
                "warning",
                f"{number(facts['n_permutations'])} permutations are too few for {most} groups: no "
                "difference can be distinguished from chance. Increase n_permutations.",
            )


def _limited(measured: Measured, facts: dict[str, Any]) -> Notes:
    """State which tables and checks cover only a part of the data."""
    kept, total = facts["drilldown_kept"], facts["drilldown_total"]
    if kept < total:
        yield (
            "drilldown",
            f"The table of lists contains the {number(kept)} most unequal of {number(total)} lists "
            "for each attribute.",
        )
    if facts["checks_lists"] < total:
        yield (
            "drilldown",
            f"The distributional checks use {facts['checks_lists']} lists, spread evenly over all.",
        )
    for each in measured.plan.audited:
        lead = f"There are {each.n_groups} groups of {plain_column(each.name)}:"
        if each.n_groups > MOST_PAIRED and facts["has_relevance"]:
            yield "drilldown", f"{lead} they are not compared pair by pair."
        if each.n_groups > MOST_PREFIXED and not each.crossed:
            yield "drilldown", f"{lead} RND is omitted unless it is requested."
        if each.n_groups > MOST_GROUPS:
            largest = f"the {MOST_GROUPS} largest"
            yield "drilldown", f"{lead} shares by prefix and scores show {largest}."


#: Relabellings of each list from which on their noise is not mentioned.
ENOUGH_TWINS = 20


def _sampled(facts: dict[str, Any], claims: Sequence[Claim]) -> Notes:
    """State what describes a sample of lists, and which p-values are approximate."""
    sums = facts.get("sums")
    if sums is None:
        return
    yield (
        "drilldown",
        f"Scores, strips of positions and distributional checks describe {number(sums['lists'])} "
        f"of {number(facts['n_queries'])} lists, chosen by their labels alone.",
    )
    if sums["unknown"] and sums["sampled"]:
        yield (
            "drilldown",
            f"What unknown labels could change was computed from these {number(sums['lists'])} "
            "lists. Bounds in sentences are confidence intervals for all lists.",
        )
    if sums["twins"] < ENOUGH_TWINS and facts["n_permutations"]:
        times = "once" if sums["twins"] == 1 else f"{sums['twins']} times"
        yield (
            "sample",
            f"The p-values of gaps compare every list with the same list relabelled {times}, which "
            "adds noise to them.",
        )
    rounded = (
        c.quantity == "selected" and c.test.endswith("(normal approximation)") for c in claims
    )
    if any(rounded) and facts["n_permutations"]:
        yield (
            "sample",
            "The p-values of selections are those of a normal distribution with the covariance of "
            "shuffled labels. Exact tests need recorded decisions and the counts of at most 4,096 "
            "lists.",
        )
    rough = [claim for claim in claims if claim.test.endswith("approximate: few people)")]
    if rough:
        names = dict.fromkeys(f'"{claim.group}" ({claim.attribute})' for claim in rough)
        yield (
            "sample",
            f"The p-values of {joined(list(names)[:6])} are approximate: few people of these "
            "groups are in many lists.",
        )


def _covered(facts: dict[str, Any]) -> str:
    """Return how many people and lists were audited, and by what."""
    length = facts["list_length"]
    if facts["n_queries"] == 1:
        lists = "one list"
    elif length["min"] == length["max"]:
        lists = f"{number(facts['n_queries'])} lists of {number(length['max'])}"
    else:
        lists = (
            f"{number(facts['n_queries'])} lists ({number(length['min'])} to "
            f"{number(length['max'])} people each, median {length['median']:,.0f})"
        )
    names = [plain_column(each["name"]) for each in facts["attributes"] if not each["crossed"]]
    crossed = len(facts["attributes"]) - len(names)
    if crossed:
        names.append("their intersection" if crossed == 1 else "their intersections")
    people = people_and_rows(facts["n_rows"], facts.get("n_people"))
    other = facts.get("unpaired")
    if other:
        names[-1] += (
            f", and with {people_and_rows(other['n_rows'], other.get('n_people'))} in "
            f"{number(other['n_queries'])} other lists ({other['title']})"
        )
    return f"This audit covers {people} in {lists}, compared by {joined(names)}."


#: Properties of the benchmark that sentences can name.
PROPERTIES = {
    "smooth distribution": "positions that are spread unevenly",
    "tokenisation": "a few people of a group ranked high while the rest of the group is ranked low",
    "bimodality": "positions concentrated at both ends",
    "clustering": "positions in clusters",
    "noisy ranking": "less accurate positions for one group",
    "arbitrary treatment": "positions within a group that ignore merit",
    "class asymmetry": "a group moved down as a whole",
    "biased ground truth": "a group ranked lower because its recorded relevance is distorted",
    "gerrymandering": "harm to one part of a group that another part offsets",
}


def _not_measured(facts: dict[str, Any], tables: dict[str, Table]) -> str:
    """Return what was not measured."""
    missing = []
    if not facts["ordered"]:
        missing.append("the order of people, since neither score nor position was given")
    elif facts["has_relevance"]:
        missing.append("whether the recorded relevance is right")
    else:
        missing.append("whether more relevant people rank higher, since no relevance was given")
    names = [each["name"] for each in facts["attributes"] if not each["crossed"]]
    if len(names) == 1:
        missing.append(
            f"attributes other than {plain_column(names[0])}, and its intersections with them"
        )
    elif len(names) == len(facts["attributes"]):
        missing.append("intersections of the attributes")
    if facts["n_queries"] == 1:
        missing.append("lists other than this one")
    missing.append("whether similar people are treated alike")
    rows = list(tables["blind_spots"])
    detected = {row["property"] for row in rows if row["detects"]}
    known = dict.fromkeys(row["property"] for row in rows)
    undetected = [PROPERTIES.get(name, name) for name in known if name not in detected]
    if undetected:
        missing.append(f"what no metric of this audit detects: {joined(undetected, 'or')}")
    return f"Not measured: {'; '.join(missing)}."


def make_facts(measured: Measured, against: dict[str, Any] | None, title: str) -> dict[str, Any]:
    """Return what was audited, and how; ``against`` are the facts of a second ranking."""
    plan = measured.plan
    data, n_queries = plan.data, plan.n_queries
    return {
        "title": title,
        "library_version": library_version(),
        "n_rows": plan.n_rows,
        "n_queries": n_queries,
        "list_length": list_lengths(plan),
        "has_relevance": data.y is not None,
        "has_score": data.score is not None,
        "positions_given": data.position is not None,
        "attributes": [_attribute(plan, each) for each in plan.audited],
        "ks": list(plan.ks),
        "ordered": plan.ordered,
        "decisions": [_decision(plan, each) for each in plan.decisions],
        "step": plan.step,
        "level": plan.level,
        "n_boot": plan.n_boot,
        "n_permutations": plan.n_permutations,
        "random_state": plan.seed,
        "resampling": "items" if plan.one_list else "queries",
        "tie_share": tie_share(plan),
        "band_alpha": BAND_ALPHA,
        "power": POWER,
        "small_share": SMALL_SHARE,
        "small_selected": SMALL_SELECTED,
        "against": against,
        "drilldown_kept": min(n_queries, MOST_QUERIES),
        "drilldown_total": n_queries,
        "strip_lists": min(n_queries, LISTS_SHOWN),
        "checks_lists": min(n_queries, MOST_LISTS),
        "untested": plan.untested,
    } | people_facts(plan) | _summed_facts(plan)  # fmt: skip


def _summed_facts(plan: Plan) -> dict[str, Any]:
    """Return how many lists tables of single people describe, and how gaps were tested."""
    sums = plan.sums
    if sums is None:
        return {}
    kept = {"lists": sums.kept.n_lists, "rows": sums.kept.n_rows, "twins": sums.plan.n_twins}
    unknown = bool(sums.sums["unknown"][:, 0].any())
    return {"sums": kept | {"unknown": unknown, "sampled": plan.sampled}}


def _decision(plan: Plan, decision: Decision) -> dict[str, Any]:
    """Return what decides, about how many people, and how many were selected."""
    among = decision.among
    if plan.sums is not None:
        return _summed_decision(plan, plan.sums, decision)
    people = plan.data.n_rows if among is None else int(among.sum())
    inside = decision.selected if among is None else decision.selected[among]
    return {
        "scope": dict(decision.scope),
        "name": decision.name,
        "people": people,
        "selected": float(inside.sum()),
        "undecided": decision.undecided,
        "other": decision.other,
    }


def _summed_decision(plan: Plan, sums: ListSums, decision: Decision) -> dict[str, Any]:
    at = plan.decisions.index(decision)
    some = sums.decided(at)
    first = slice(*sums.plan.first[:2].tolist())
    selected = sums.sums["totals"][:, first, len(TOTAL_COLUMNS) + at].sum()
    selected += sums.sums["unknown"][0, 4 + at]
    return {
        "scope": dict(decision.scope),
        "name": decision.name,
        "people": plan.n_rows if some is None else some.n_people,
        "selected": round(float(selected), 6),
        "undecided": int(sums.sums["undecided"][at]),
        "other": plan.of_rows.decisions[at].other,
    }


def _attribute(plan: Plan, each: Audited) -> dict[str, Any]:
    size = plan.group_sizes(each).tolist()
    known = max(1, sum(size))
    return {
        "name": each.name,
        "by": list(each.by),
        "crossed": each.crossed,
        "groups": [
            {"name": group, "size": n, "share": n / known}
            for group, n in zip(each.groups, size, strict=True)
        ],
        "unknown": plan.n_unknown(each),
        "protected": [each.groups[code] for code in each.protected],
        "reference": None if each.reference is None else each.groups[each.reference],
        "focus": each.groups[each.focus],
    }


def list_lengths(plan: Plan) -> dict[str, Any]:
    """Return the shortest, the median and the longest list length."""
    if plan.sums is not None:
        lengths = plan.sums.lengths
        return {
            "min": int(lengths[0]),
            "median": plan.sums.median_length(),
            "max": int(lengths[-1]),
        }
    sizes = np.diff(plan.data.offsets)
    return {"min": int(sizes.min()), "median": float(np.median(sizes)), "max": int(sizes.max())}


def tie_share(plan: Plan) -> float:
    """Return the share of tied rows among those shown."""
    if plan.sums is not None:
        tied, shown = plan.sums.sums["ties"][0]
        return float(tied / shown) if shown else 0.0
    tied = shown = 0
    for _, draw in plan.ranking.draws():
        slots = draw.slots()
        visible = draw.position > 0
        shown += int(visible.sum())
        if slots.lo is not None:
            several = (slots.end() - slots.begin() > 1) & visible[slots.order]
            tied += int(several.sum())
    return tied / shown if shown else 0.0
