"""Unknown labels: are bounds sharp, do intervals cover, are verdicts right, and how long is it?

1. Bounds equal brute force over all labels. 2. With nothing unknown, all answers are the value.
3. Bounds hold the truth, and their intervals cover it on the edge. 4. Corrected intervals cover
where their assumption is true, also given relevance or of changes, and how far they are off where
it is not. 5. Verdicts are rarely wrong if labels are missing by group and position. 6. Many lists,
resampled in buckets, and the bias of differences within lists. 7. A million rows.
Lists of 40 people with two groups are drawn from two populations; the truth is the value of 80,000
lists with all labels.
Run: python benchmarks/labels.py (``--points 4a`` for one point)
"""

import argparse
from itertools import product
from os import getpid
from time import perf_counter, process_time

import numpy as np
from joblib import Parallel, delayed

from equirank.auditing.label_answers import residual_bands, within_cells
from equirank.core.attribute import Attribute, CheckedLabels, LabelError
from equirank.kernels.prefix_bounds import prefix_range
from equirank.kernels.prefixes import share_distance, two_group_divergence
from equirank.statistics.corrected_labels import complete_values, corrected_measure
from equirank.statistics.label_model import LabelModel, label_model, position_bands
from equirank.statistics.membership_sums import Interval, change_interval
from equirank.statistics.metric_bounds import ratio_to_best
from equirank.statistics.parity_breakdown import check_parity
from equirank.statistics.unknown_labels import bounds_of_sides

LENGTH, TOP = 40, 10
#: Share of the group and size of the effect of each population.
POPULATIONS = {"30% group": (0.3, 0.5), "16% group": (0.16, 0.8)}
#: Name, values, measure and average.
MEASURES = (
    ("exposure share", "exposure", "share", "people"),
    ("mean position", "position", "mean", "lists"),
    ("position difference", "position", "difference", "lists"),
    ("exposure gap", "exposure", "difference", "lists"),
    ("selection rate", "selected", "mean", "people"),
    ("impact ratio", "selected", "ratio", "people"),
)
WITHIN = (
    ("mean position, pooled", "position", "mean", "people"),
    ("position difference, within", "position", "difference", "within"),
    ("exposure gap, within", "exposure", "difference", "within"),
    ("impact ratio, within", "selected", "ratio", "within"),
)
#: Measures of changes between two files.
CHANGES = (
    ("position difference, within", "position", "difference", "within"),
    ("exposure", "exposure", "mean", "people"),
    ("impact ratio, within", "selected", "ratio", "within"),
)
#: Measures of positions in many lists.
MANY = (("share", "people"), ("difference", "within"), ("ratio", "within"))
HIDDEN = ("at random", "by position", "by group and position", "low edge", "high edge")
#: Knowledge whose assumption is true, then knowledge whose assumption is false.
TRUE = (
    "missing 20%", "missing 40%", "missing by position 5%", "missing by position 20%",
    "missing by position 40%", "flips 5%", "flips 20%", "flips 30%", "flips 40%",
    "flips 20%, matrix of 300", "errors by half, two matrices", "checked 10%", "checked 30%",
)  # fmt: skip
#: Knowledge of the 30% group, which has fewer cells.
COMMON = ("missing 20%", "missing by position 40%", "flips 20%", "checked 30%")
FALSE = (
    "missing by group and position", "flips 20%, not corrected", "errors by half, one matrix",
    "flips 20%, error of matrix ignored",
)  # fmt: skip


def population(rng, n_lists, share=0.3, effect=0.5):
    """Return the values and the true sides of lists; the group scores lower, in some lists more."""
    group = rng.random((n_lists, LENGTH)) < rng.beta(20 * share, 20 * (1 - share), (n_lists, 1))
    shift = effect * rng.random((n_lists, 1)) * 2
    score = rng.normal(size=group.shape) - shift * group
    position = (-score).argsort(axis=1).argsort(axis=1) + 1.0
    values = {
        "position": position.ravel(),
        "exposure": (1 / np.log2(position + 1)).ravel(),
        "selected": (position <= TOP).ravel().astype(float),
    }
    return values, group.ravel().astype(np.int8), np.arange(n_lists + 1) * LENGTH


# Point 1


def brute_force(values, side, groups, order):
    """Return the extremes of all measures over all labels, by name."""
    unknown = np.flatnonzero(side < 0)
    choices = np.array(list(product(range(groups), repeat=len(unknown))), dtype=np.int64)
    sides = np.repeat(side[None], len(choices), axis=0)
    sides[:, unknown] = choices
    member, n = sides == 1, len(side)
    size = member.sum(axis=1)
    inside = (member * values).sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean, other = inside / size, (values.sum() - inside) / (n - size)
        found = {"share": inside / values.sum(), "mean": mean, "difference": mean - other}
        rates = np.stack([((sides == g) * (values > 2)).sum(1) / (sides == g).sum(1)
                          for g in range(groups)])  # fmt: skip
        rest = ((~member) * (values > 2)).sum(axis=1) / (n - size)
        none = np.where((rest == 0) & (rates[1] > 0), np.inf, np.nan)
        found["ratio"] = np.where(rest > 0, rates[1] / rest, none)
        best = np.nanmax(rates, axis=0)
        found["ratio to the best"] = np.where(best > 0, rates[1] / best, np.nan)
    for name, distance in (("rND", share_distance), ("rKL", two_group_divergence)):
        parts = [
            prefix_range(row[order].astype(int), None, None, distance=distance, limit=n, step=2)[0]
            for row in member
        ]
        found[name] = np.array(parts)
    return {name: extremes(each) for name, each in found.items()}


def extremes(values):
    """Return the smallest and largest defined value."""
    values = values[~np.isnan(values)]
    return (values.min(), values.max()) if len(values) else (np.nan, np.nan)


def bounded(values, side, groups, order):
    """Return the bounds of the library, by name."""
    offsets, selected = np.array([0, len(side)]), (values > 2).astype(float)
    known = np.where(side > 1, 0, side).astype(np.int8)
    found = {
        name: bounds_of_sides(values, known, offsets, measure=name, average="people", n_boot=0)
        for name in ("share", "mean", "difference")
    }
    found["ratio"] = bounds_of_sides(
        selected, known, offsets, measure="ratio", average="people", n_boot=0
    )
    found["ratio to the best"] = ratio_to_best(selected, side, 1, groups)
    found = {name: (each.low, each.high) for name, each in found.items()}
    for name, distance in (("rND", share_distance), ("rKL", two_group_divergence)):
        found[name] = prefix_range(
            known[order].astype(int), None, None, distance=distance, limit=len(side), step=2
        )[:2]
    return found


def compare_with_brute_force(lists=500, seed=0):
    """Print the largest difference between bounds and brute force."""
    rng = np.random.default_rng(seed)
    worst, compared = {}, {}
    for case in range(lists):
        groups = 2 + case % 2
        n = int(rng.integers(3, 13 if groups == 2 else 10))
        side = rng.integers(0, groups if case % 7 else 1, n)  # some groups are empty
        most = min(n, 7 if groups == 2 else 4)
        unknown = {0: 0, 1: 1, 2: most}.get(case % 5, int(rng.integers(0, most + 1)))
        side[rng.permutation(n)[:unknown]] = -1
        values = rng.integers(1, 6, n).astype(float)  # with ties
        order = rng.permutation(n)
        slow, fast = brute_force(values, side, groups, order), bounded(values, side, groups, order)
        for name, ends in slow.items():
            if np.isnan(ends[0]) and np.isnan(fast[name][0]):
                continue
            if name == "ratio to the best" and (np.isnan(ends[0]) or case % 7 == 0):
                continue  # 0 / 0 counts as 1 there
            both = [pair for pair in zip(ends, fast[name], strict=True) if pair[0] != pair[1]]
            gap = max((abs(a - b) for a, b in both), default=0.0)
            worst[name] = max(worst.get(name, 0.0), gap)
            compared[name] = compared.get(name, 0) + 1
    print("1. Bounds and brute force over all labels")
    for name, gap in worst.items():
        print(f"   {name:20} {compared[name]:4} lists, largest difference {gap:.1e}")
    return max(worst.values())


# Point 2


def nothing_unknown(seed=0):
    """Print the largest difference between the three answers if all labels are known."""
    rng = np.random.default_rng(seed)
    values, side, offsets = population(rng, 60)
    model = model_of(Attribute((1 - side).astype(np.int32), ("a", "b")), values, offsets)
    worst = 0.0
    for _, name, measure, average in MEASURES:
        exact = complete_values(values[name], side, model, measure, average)[0]
        bounds = bounds_of_sides(
            values[name], side, offsets, measure=measure, average=average, n_boot=0
        )
        found = corrected_measure(model, 0, values[name], measure=measure, average=average, seed=1)
        answers = np.array([bounds.known, bounds.low, bounds.high, found.value])
        worst = max(worst, np.abs(answers - exact).max())
    print(f"2. Nothing unknown: largest difference between the answers {worst:.1e}")
    nobody = model_of(Attribute(np.full(len(side), -1, np.int32), ("a", "b")), values, offsets)
    refused = corrected_measure(nobody, 0, values["position"], measure="mean", average="people")
    print(f"   All unknown: {refused.reason}; bounds only")
    return worst


def model_of(attribute, values, offsets):
    """Return the model of an attribute."""
    return label_model(attribute, offsets, position_bands(values["position"], offsets))


# Point 3


def hide(rng, how, position, side):
    """Return the sides with -1 where the label is unknown."""
    share = {
        "by position": 0.4 * position / LENGTH,
        "by group and position": np.where(side == 1, 0.5, 0.1) * position / LENGTH,
    }.get(how, 0.2)
    return np.where(rng.random(len(side)) < share, np.int8(-1), side)


def bounds_coverage(how, which, runs, n_lists, seed):
    """Return how often bounds held the data's truth, the interval the population's, and more."""
    _, name, measure, average = which
    rng = np.random.default_rng(seed)
    settings = {"measure": measure, "average": average}

    def drawn(number, **more):
        values, side, offsets = population(rng, number)
        known = hide(rng, how, values["position"], side)
        complete = bounds_of_sides(values[name], side, offsets, n_boot=0, **settings)
        found = bounds_of_sides(values[name], known, offsets, **settings, **more)
        edges = {"low edge": found.low, "high edge": found.high}
        return edges.get(how, complete.low), found

    truth = float(np.mean([drawn(20_000, n_boot=0)[0] for _ in range(2)]))
    held = covered = 0
    for run in range(runs):
        own, found = drawn(n_lists, n_boot=300, random_state=run)
        held += found.low - 1e-9 <= own <= found.high + 1e-9
        covered += found.interval_low <= truth <= found.interval_high
    return held / runs, covered / runs


# Points 4 and 5


def knowledge(rng, how, values, side):
    """Return what is known of the labels; code 0 is the group."""
    truth, position = (1 - side).astype(np.int32), values["position"]
    n, groups = len(truth), ("a", "b")
    number = float(how.split("%")[0].split()[-1]) / 100 if "%" in how else 0.2
    if how.startswith("missing"):
        rate = np.full(n, number)
        if "position" in how:
            rate = 2 * number * position / LENGTH
        if "group" in how:
            rate = np.where(truth == 0, 0.7, 0.1) * position / LENGTH
        return Attribute(np.where(rng.random(n) < rate, -1, truth).astype(np.int32), groups)
    if how.startswith("checked"):
        recorded = np.where(rng.random(n) < 0.2, 1 - truth, truth)
        verified = np.where(rng.random(n) < number, truth, -1).astype(np.int32)
        checked = CheckedLabels(verified, np.full(n, number))
        return Attribute(recorded.astype(np.int32), groups, checked=checked)
    rate = np.full(n, number)
    if how.startswith("errors by half"):
        rate = np.where(position > LENGTH / 2, 0.3, 0.1)
    recorded = np.where(rng.random(n) < rate, 1 - truth, truth).astype(np.int32)
    flips = [np.array([[1 - e, e], [e, 1 - e]]) for e in (0.1, 0.3)]
    error = None
    if how.endswith("two matrices"):
        error = LabelError(flips, (position > LENGTH / 2).astype(int))
    elif how.endswith("one matrix"):
        error = LabelError((flips[0] + flips[1]) / 2, np.zeros(n, int))
    elif "matrix" in how:
        matrix = np.array([[1 - number, number], [number, 1 - number]])
        counts = np.stack([rng.multinomial(150, row) for row in matrix]).astype(float)
        kept = None if how.endswith("ignored") else counts[None]
        error = LabelError(counts / counts.sum(axis=1, keepdims=True), np.zeros(n, int), kept)
    elif not how.endswith("not corrected"):
        error = LabelError([[1 - number, number], [number, 1 - number]], np.zeros(n, int))
    return Attribute(recorded, groups, error=error)


class Open(LabelModel):
    """A model that corrects also where pages refuse to."""

    def refusal(self, code):
        """Return no reason."""
        del code
        return ""


def truths(kind, seed=99):
    """Return the value of each measure in a population."""
    rng = np.random.default_rng(seed)
    found = {which[0]: [] for which in (*MEASURES, *WITHIN)}
    for _ in range(3):
        values, side, offsets = population(rng, 20_000, *POPULATIONS[kind])
        model = model_of(Attribute((1 - side).astype(np.int32), ("a", "b")), values, offsets)
        for label, name, measure, average in (*MEASURES, *WITHIN):
            value = complete_values(values[name], side, model, measure, average)[0]
            found[label].append(value)
    return {label: float(np.mean(each)) for label, each in found.items()}


def corrected_coverage(kind, how, truth, runs, n_lists, seed):
    """Return the coverage and the share without an estimate of each measure."""
    rng = np.random.default_rng(seed)
    covered = dict.fromkeys(truth, 0)
    absent = dict(covered)
    for run in range(runs):
        values, side, offsets = population(rng, n_lists, *POPULATIONS[kind])
        model = Open(**vars(model_of(knowledge(rng, how, values, side), values, offsets)))
        for label, name, measure, average in (*MEASURES, *WITHIN):
            goal = truth[label]
            found = corrected_measure(
                model, 0, values[name], measure=measure, average=average, n_boot=150, seed=run
            )
            absent[label] += bool(found.reason)
            covered[label] += found.low <= goal <= found.high
    return {
        label: (covered[label] / max(runs - absent[label], 1), absent[label] / runs)
        for label in truth
    }


def one_list_coverage(kind, how, runs, seed):
    """Return the coverage of the list's own value, and the share without an estimate."""
    rng = np.random.default_rng(seed)
    covered = dict.fromkeys((which[0] for which in MEASURES), 0)
    given = dict(covered)
    for run in range(runs):
        values, side, offsets = population(rng, 1, *POPULATIONS[kind])
        model = model_of(knowledge(rng, how, values, side), values, offsets)
        for label, name, measure, average in MEASURES:
            goal = complete_values(values[name], side, model, measure, average)[0]
            found = corrected_measure(
                model, 0, values[name], measure=measure, average=average, seed=run
            )
            given[label] += bool(np.isfinite(goal) and not found.reason)
            covered[label] += found.low - 1e-9 <= goal <= found.high + 1e-9
    return {
        label: (covered[label] / max(number, 1), 1 - number / runs)
        for label, number in given.items()
    }


def adjusted_population(rng, n_lists, what, share, effect):
    """Return adjusted values, positions and true sides: given relevance, an attribute, or changes.

    Relevance, and the other attribute, depend on the group, and positions on both.
    """
    shape = n_lists, LENGTH
    group = rng.random(shape) < rng.beta(20 * share, 20 * (1 - share), (n_lists, 1))
    merit = rng.normal(size=shape) - 0.8 * group
    score = merit + 0.8 * rng.normal(size=shape) - 2 * effect * rng.random((n_lists, 1)) * group
    before = merit + 0.8 * rng.normal(size=shape)
    position, earlier = (
        ((-each).argsort(axis=1).argsort(axis=1) + 1.0).ravel() for each in (score, before)
    )
    lists = np.repeat(np.arange(n_lists), LENGTH)
    if what == "change":
        return position - earlier, position, group.ravel().astype(np.int8)
    if what == "NDCG gain":
        grade = np.searchsorted([0.5, 1.2, 1.8], merit.ravel())
        gain = (2.0**grade - 1) / np.log2(position + 1)
        return within_cells(gain, 4 * lists + grade), position, group.ravel().astype(np.int8)
    cuts = [0.0] if what == "given an attribute" else [-0.8, -0.3, 0.3, 0.8]
    stratum = np.searchsorted(cuts, merit.ravel())
    return within_cells(position, 5 * lists + stratum), position, group.ravel().astype(np.int8)


def adjusted_coverage(what, how, share, effect, runs, n_lists, seed):
    """Return the coverage of corrected differences of adjusted values."""
    rng = np.random.default_rng(seed)
    truth, covered = [], 0
    measure = "excess" if what == "NDCG gain" else "difference"
    for _ in range(2):
        values, _, side = adjusted_population(rng, 10_000, what, share, effect)
        whole = model_of(Attribute((1 - side).astype(np.int32), ("a", "b")), {"position": values},
                         np.arange(10_001) * LENGTH)  # fmt: skip
        truth.append(complete_values(values, side, whole, measure, "within")[0])
    for run in range(runs):
        values, position, side = adjusted_population(rng, n_lists, what, share, effect)
        offsets = np.arange(n_lists + 1) * LENGTH
        labels = knowledge(rng, how, {"position": position}, side)
        model = Open(**vars(label_model(labels, offsets,
                                        residual_bands(values, position, offsets))))  # fmt: skip
        found = corrected_measure(
            model, 0, values, measure=measure, average="within", n_boot=150, seed=run
        )
        covered += found.low <= np.mean(truth) <= found.high
    return covered / runs


def file_coverage(which, how, runs, n_lists, seed):
    """Return the coverage of corrected changes between two files of different lists."""
    _, name, measure, average = which
    rng = np.random.default_rng(seed)
    files, ratio = ((0.3, 0.5), (0.3, 0.1)), measure != "difference"
    truth, covered, given = [], 0, 0
    for share, effect in files:
        values, side, offsets = population(rng, 20_000, share, effect)
        whole = model_of(Attribute((1 - side).astype(np.int32), ("a", "b")), values, offsets)
        truth.append(complete_values(values[name], side, whole, measure, average)[0])
    goal = truth[0] / truth[1] if ratio else truth[0] - truth[1]
    for run in range(runs):
        ends = []
        for share, effect in files:
            values, side, offsets = population(rng, n_lists, share, effect)
            model = Open(**vars(model_of(knowledge(rng, how, values, side), values, offsets)))
            found = corrected_measure(
                model, 0, values[name], measure=measure, average=average, n_boot=150, seed=run
            )
            ends.append(Interval(found.value, found.low, found.high))
        low, high = change_interval(*ends, ratio=ratio)[1:]
        given += not np.isnan(low)
        covered += low <= goal <= high
    return covered / max(given, 1)


def wrong_verdicts(share, effect, runs, n_lists, seed):
    """Return how often a difference "holds whatever", or "unless", and is none or the opposite."""
    rng = np.random.default_rng(seed)
    whatever = unless = 0
    for run in range(runs):
        values, side, offsets = population(rng, n_lists, share, effect)
        model = model_of(knowledge(rng, "missing by group and position", values, side),
                         values, offsets)  # fmt: skip
        found = check_parity(model, 0, values["position"], level=0.95, n_boot=200, seed=run)
        wrong = effect == 0 or found.value < 0  # the group ranks lower: differences are above 0
        whatever += found.holds_whatever and wrong
        unless += found.holds_unless and wrong
    return whatever / runs, unless / runs


# Point 6


def many_lists(length, effect, runs, n_lists, seed):
    """Return coverage, truth and bias of each measure, with a quarter of the labels unknown."""

    def drawn(rng, n, share):
        group = rng.random((n, length)) < 0.35
        score = rng.normal(size=group.shape) - effect * group
        position = (-score).argsort(axis=1).argsort(axis=1).ravel() + 1.0
        codes = np.where(rng.random(n * length) < share, -1, ~group.ravel()).astype(np.int32)
        model = model_of(Attribute(codes, ("a", "b")), {"position": position},
                         np.arange(n + 1) * length)  # fmt: skip
        return Open(**vars(model)), position

    def measured(model, position, n_boot):
        return np.array([
            (found.value, found.low, found.high)
            for measure, average in MANY
            for found in [corrected_measure(
                model, 0, position, measure=measure, average=average, n_boot=n_boot
            )]
        ])  # fmt: skip

    rng = np.random.default_rng(seed)
    truth = measured(*drawn(rng, 1_600_000 // length, 0.0), 0)[:, 0]
    found = np.array([measured(*drawn(rng, n_lists, 0.25), 200) for _ in range(runs)])
    covered = (found[:, :, 1] <= truth) & (truth <= found[:, :, 2])
    return covered.mean(axis=0), truth, found[:, :, 0].mean(axis=0) - truth


# Point 7


def time_rows(n_lists=10_000, length=100):
    """Print the time for a million rows with 20% unknown, and that of the table of groups."""
    from equirank import as_ranking_data
    from equirank.auditing.audit_plan import make_plan
    from equirank.auditing.claim_tests import finish
    from equirank.auditing.compared import Compared, group_blocks
    from equirank.auditing.measured import measure_all
    from equirank.auditing.people import find_people
    from equirank.auditing.tables.group_tables import groups_table
    from equirank.core.outcomes import DecisionRule

    rng = np.random.default_rng(0)
    score = rng.normal(size=n_lists * length)
    side = rng.choice(np.array([0, 1, -1], np.int8), len(score), p=[0.5, 0.3, 0.2])
    position = (-score.reshape(n_lists, length)).argsort(axis=1).argsort(axis=1).ravel() + 1.0
    offsets = np.arange(n_lists + 1) * length
    labels = np.array(["a", "b", None], dtype=object)[side]
    data = as_ranking_data(score=score, qid=np.repeat(np.arange(n_lists), length),
                           sensitive_features={"sex": labels},
                           missing_sensitive="unknown")  # fmt: skip
    plan = make_plan(
        data.ranking(), protected=None, rule=DecisionRule(), cross=False, level=0.95, n_boot=1000,
        n_permutations=1999, seed=0,
    )  # fmt: skip
    begin = process_time()
    people = find_people(plan)
    claims = finish(group_blocks(plan, people), plan)
    groups_table(measure_all(plan), Compared(claims, people, {}))
    table = process_time() - begin
    columns = {"position": position, "exposure": 1 / np.log2(position + 1)}
    columns["selected"] = (position <= TOP).astype(float)
    begin = process_time()
    for _, name, measure, average in MEASURES:
        for one in (side, np.where(side < 0, side, 1 - side)):
            bounds_of_sides(columns[name], one, offsets, measure=measure, average=average)
    bounds = process_time() - begin
    print(f"7. {len(score):,} rows, {n_lists:,} lists, 20% unknown, two groups, six measures:")
    seconds = f"bounds {bounds:.1f}, table of groups {table:.1f}"
    print(f"   processor seconds: {seconds}, ratio {bounds / table:.2f}")


def main():
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--lists", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--only", default="", help="part of the name of a measure, for point 3")
    parser.add_argument("--points", default=",".join(POINTS), help="such as 3,4a")
    options = parser.parse_args()
    begin = perf_counter()
    for point in options.points.split(","):
        POINTS[point](options)
    print(f"{perf_counter() - begin:.0f} s, {CPU[0] + process_time():.0f} s of CPU")


#: Processor seconds of the workers.
CPU = [0.0]


def timed(function, *given):
    """Return a result, and its processor seconds if a worker computed it."""
    begin, process = process_time(), getpid()
    found = function(*given)
    return found, process_time() - begin, process


def in_parallel(options, function, cells):
    """Return the result of each cell."""
    results = Parallel(n_jobs=options.jobs)(delayed(timed)(function, *cell) for cell in cells)
    CPU[0] += sum(seconds for _, seconds, process in results if process != getpid())
    return [found for found, _, _ in results]


def bounds_section(options):
    """Print how often bounds held the truth, and intervals covered it."""
    print(f"3. {options.runs} runs of {options.lists} lists: truth held, interval covers (95%)")
    runs = {how: options.runs if how.endswith("edge") else options.runs // 3 for how in HIDDEN}
    cells = [(how, which, runs[how], options.lists, seed)
             for which, (seed, how) in product(MEASURES, enumerate(HIDDEN, options.seed))
             if options.only in which[0]]  # fmt: skip
    found = in_parallel(options, bounds_coverage, cells)
    for (how, which, *_), (held, covered) in zip(cells, found, strict=True):
        print(f"   {which[0]:20} {how:22} {held:7.1%} {covered:7.1%}")


def corrected_section(options):
    """Print the coverage of corrected intervals."""
    print("4. Corrected intervals (95%): least, mean and most over measures; without estimate")
    truth = {kind: truths(kind) for kind in POPULATIONS}
    cells = []
    for kind, how in product(POPULATIONS, (*TRUE, *FALSE)):
        if kind == "16% group" or how in (*COMMON, *FALSE):
            runs = options.runs if how in TRUE else options.runs // 5
            cells.append((kind, how, truth[kind], runs, options.lists, options.seed + len(cells)))
    found, everything = in_parallel(options, corrected_coverage, cells), []
    for (kind, how, *_), each in zip(cells, found, strict=True):
        coverage = np.array([covered for covered, _ in each.values()])
        absent = max(gone for _, gone in each.values())
        least = min(each, key=lambda label: each[label][0])
        if how in TRUE:
            everything += coverage.tolist()
        ends = f"{coverage.min():6.1%} {coverage.mean():6.1%} {coverage.max():6.1%}"
        print(f"   {kind:10} {how:36} {ends} {absent:6.1%}  {least}")
    print(f"   assumptions true: mean {np.mean(everything):.1%}, least {min(everything):.1%}")


def one_list_section(options):
    """Print the coverage of corrected intervals of one list."""
    print(f"4a. One list of {LENGTH} people, corrected (95%): least, mean and most; no estimate")
    cells = [(kind, how, options.runs // 2, options.seed)
             for kind, how in product(POPULATIONS, TRUE)
             if not how.startswith(("checked", "flips 40%"))]  # fmt: skip
    found = in_parallel(options, one_list_coverage, cells)
    for (kind, how, *_), each in zip(cells, found, strict=True):
        coverage = np.array([covered for covered, _ in each.values()])
        absent = max(gone for _, gone in each.values())
        least = min(each, key=lambda label: each[label][0])
        ends = f"{coverage.min():6.1%} {coverage.mean():6.1%} {coverage.max():6.1%}"
        print(f"   {kind:10} {how:36} {ends} {absent:6.1%}  {least}")
    every = [covered for each in found for covered, _ in each.values()]
    print(f"   mean {np.mean(every):.1%}, least {min(every):.1%}")


def adjusted_section(options):
    """Print the coverage of differences given relevance, given an attribute, and of changes."""
    print("4b. Adjusted differences, corrected (95%): coverage")
    kinds = ("given relevance", "given an attribute", "change")
    hows = ("missing 20%", "missing by position 40%", "flips 20%", "checked 30%")
    cells = [(what, how, share, effect, options.runs * 2 // 5, options.lists, options.seed + 7)
             for what, how in product(kinds, hows)
             for share, effect in ((0.3, 0.5), (0.3, 0.0))]  # fmt: skip
    cells += [("NDCG gain", how, share, effect, options.runs * 2 // 5, options.lists, options.seed)
              for how in ("missing 20%", "missing by position 20%", "flips 20%")
              for share, effect in ((0.3, 0.5), (0.16, 0.8))]  # fmt: skip
    found = in_parallel(options, adjusted_coverage, cells)
    for (what, how, share, effect, *_), covered in zip(cells, found, strict=True):
        print(f"   {what:20} {how:26} group {share:.0%}, effect {effect:g}: {covered:6.1%}")
    found = [f for f, cell in zip(found, cells, strict=True) if cell[0] != "NDCG gain"]
    print(f"   mean {np.mean(found):.1%}, least {min(found):.1%}")
    print("4c. Changes between two files of different lists, corrected (95%): coverage")
    hows = ("missing 20%", "missing by position 20%", "flips 20%", "checked 30%")
    cells = [(which, how, options.runs * 2 // 5, options.lists, options.seed + 9)
             for which, how in product(CHANGES, hows)]  # fmt: skip
    found = in_parallel(options, file_coverage, cells)
    for (which, how, *_), covered in zip(cells, found, strict=True):
        print(f"   {which[0]:28} {how:26} {covered:6.1%}")
    print(f"   mean {np.mean(found):.1%}, least {min(found):.1%}")


def verdict_section(options):
    """Print how often verdicts are wrong if labels are missing by group and position."""
    print("5. Missing by group and position: wrong verdicts, whatever and unless")
    cells = [(share, effect, options.runs, options.lists, 5)
             for share, effect in ((0.3, 0.0), (0.16, 0.0), (0.3, 0.3))]  # fmt: skip
    found = in_parallel(options, wrong_verdicts, cells)
    for (share, effect, *_), (whatever, unless) in zip(cells, found, strict=True):
        print(f"   group {share:.0%}, effect {effect:g}: {whatever:6.1%} {unless:6.1%}")


def many_section(options):
    """Print coverage and bias in many lists, by their length and the effect."""
    runs, n_lists = max(options.runs // 5, 2), max(options.lists, 2_400)
    names = ", ".join(measure for measure, _ in MANY)
    print(f"6. {runs} runs of {n_lists:,} lists: coverage, truth and bias of {names}")
    cells = [(length, effect, runs, n_lists, options.seed)
             for length in (8, 40) for effect in (0.0, 0.5, 1.5)]  # fmt: skip
    found = in_parallel(options, many_lists, cells)
    for (length, effect, *_), each in zip(cells, found, strict=True):
        words = "; ".join(f"{c:6.1%} {t:7.4f} {b:+.4f}" for c, t, b in zip(*each, strict=True))
        print(f"   length {length:2}, effect {effect}: {words}")


POINTS = {
    "1": lambda options: compare_with_brute_force(seed=options.seed),
    "2": lambda _: nothing_unknown(),
    "3": bounds_section,
    "4": corrected_section,
    "4a": one_list_section,
    "4b": adjusted_section,
    "5": verdict_section,
    "6": many_section,
    "7": lambda _: time_rows(),
}

if __name__ == "__main__":
    main()
