"""A second, slow program for the claims of an audit: numpy alone, from a CSV file.

It shares no code with the library. Lists, ties, groups, statistics, their moments over shuffles,
draws, corrected p-values and intervals are computed anew from the definitions.
"""

import csv
from itertools import combinations
from math import asin, comb, exp, isnan, log, log2, sqrt
from statistics import NormalDist, median

import numpy as np

NAN = float("nan")


class File:
    """The columns of a CSV file: lists, scores, labels (None if unknown) and relevance."""

    def __init__(self, path, sensitive):
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        names = sorted({row["query"] for row in rows}, key=[r["query"] for r in rows].index)
        self.lists = [[i for i, row in enumerate(rows) if row["query"] == q] for q in names]
        self.score = [float(row["score"]) for row in rows]
        self.before = [float(row["before"]) for row in rows] if "before" in rows[0] else None
        self.relevance = None
        if "relevance" in rows[0]:
            self.relevance = [float(row["relevance"]) for row in rows]
        self.labels = {name: [row[name] or None for row in rows] for name in sensitive}
        self.n = len(rows)
        self.list_of = np.empty(self.n, dtype=int)
        for q, members in enumerate(self.lists):
            self.list_of[members] = q


def spans(scores, people):
    """The first and last position of each person: those of the block of equal scores."""
    found = {}
    for i in people:
        above = sum(scores[j] > scores[i] for j in people)
        equal = sum(scores[j] == scores[i] for j in people)
        found[i] = (above + 1, above + equal)
    return found


def columns_of(file, scores, ks, known_sets):
    """Position, chance per set of known people, exposure and top k of every person."""
    found = {"position": np.zeros(file.n), "exposure": np.zeros(file.n)}
    found |= {f"top {k}": np.zeros(file.n) for k in ks}
    for people in file.lists:
        span = spans(scores, people)
        for i in people:
            first, last = span[i]
            block = range(first, last + 1)
            found["position"][i] = (first + last) / 2
            found["exposure"][i] = sum(1 / log2(1 + p) for p in block) / len(block)
            for k in ks:
                found[f"top {k}"][i] = sum(p <= k for p in block) / len(block)
        total = found["exposure"][people].sum()
        found["exposure"][people] *= len(people) / total
    for key, known in known_sets.items():
        column = found[key] = np.zeros(file.n)
        for people in file.lists:
            inside = [scores[i] for i in people if known[i]]
            for i in people:
                ahead, tied = sum(s > scores[i] for s in inside), inside.count(scores[i])
                column[i] = (ahead + (tied + 1) / 2) / len(inside) if inside else 0.0
    return found


def partitions_of(file, protected):
    """Attribute, group and side (1, 0, -1) of every person; each comparison once."""
    single = list(file.labels)
    found = {}
    for by in [*((name,) for name in single), *combinations(single, 2)]:
        labels = [
            None if any(file.labels[name][i] is None for name in by)
            else " & ".join(file.labels[name][i] for name in by)
            for i in range(file.n)
        ]  # fmt: skip
        for group in sorted({label for label in labels if label is not None}):
            side = np.array([-1 if label is None else int(label == group) for label in labels])
            if not (side == 0).any():
                continue
            mirror = np.where(side < 0, -1, 1 - side)
            key = min(side.tobytes(), mirror.tobytes())
            named = protected.get(" x ".join(by)) == group
            rank = (len(by) > 1, not named, int((side == 1).sum()), group)
            if key not in found or rank < found[key][0]:
                found[key] = (rank, " x ".join(by), group, side)
    return [(attribute, group, side) for _, attribute, group, side in found.values()]


class Shuffles:
    """Statistics ``sum over lists of w (sum over the group - expected)`` and their shuffles."""

    def __init__(self, file, side, values, averaged, cells):
        self.used = []
        for q, people in enumerate(file.lists):
            sides = side[people]
            if (sides == 1).any() and (sides == 0).any():
                self.used.append(q)
        n_values = values.shape[1]
        self.n1 = np.array([(side[file.lists[q]] == 1).sum() for q in self.used], dtype=float)
        self.n2 = np.array([(side[file.lists[q]] == 0).sum() for q in self.used], dtype=float)
        self.coefficient = np.zeros((file.n, n_values))
        self.constant = np.zeros((len(self.used), n_values))
        self.expected = np.zeros((len(self.used), n_values))
        self.parts = np.zeros((len(self.used), n_values))
        self.mean_parts = np.zeros((len(self.used), n_values))
        variance = np.zeros(n_values)
        for at, q in enumerate(self.used):
            people = np.array(file.lists[q])
            n1, n2 = self.n1[at], self.n2[at]
            weight = np.where(averaged, (n1 + n2) / (n1 * n2 * len(self.used)), 1.0)
            known, inside = people[side[people] >= 0], people[side[people] == 1]
            expected = n1 / (n1 + n2) * values[known].sum(axis=0)
            self.expected[at], self.constant[at] = expected, weight * expected
            self.coefficient[people] = weight * values[people]
            self.parts[at] = weight * (values[inside].sum(axis=0) - expected)
            mean = -expected
            for cell in np.unique(cells[people]):
                rows = people[cells[people] == cell]
                count, size = int((side[rows] == 1).sum()), len(rows)
                mean = mean + count * values[rows].mean(axis=0)
                if size > 1:
                    # Drawing without replacement.
                    centred = ((values[rows] - values[rows].mean(axis=0)) ** 2).sum(axis=0)
                    variance += weight**2 * count * (size - count) / (size * (size - 1)) * centred
            self.mean_parts[at] = weight * mean
        self.total, self.mean = self.parts.sum(axis=0), self.mean_parts.sum(axis=0)
        self.deviation = np.sqrt(np.where(variance > 1e-16, variance, 0.0))
        self.side = side
        self.people = np.zeros((len(self.used), file.n))
        for at, q in enumerate(self.used):
            self.people[at, file.lists[q]] = 1.0

    def drawn(self, order):
        """The statistics if person i has the label of person ``order[i]``, per list."""
        inside = self.side[order] == 1
        return self.people @ (self.coefficient * inside[:, None]) - self.constant


def orders(rng, file, cells, draws):
    """Random orders that stay within list and cell."""
    for _ in range(draws):
        key = rng.random(file.n)
        order = np.empty(file.n, dtype=int)
        order[np.lexsort((np.arange(file.n), cells, file.list_of))] = np.lexsort(
            (key, cells, file.list_of)
        )
        yield order


def family(z, drawn):
    """Own and step-down maxT p-values."""
    draws = len(drawn)
    own = [
        (1 + (np.abs(drawn[:, j]) >= abs(z[j]) - 1e-9).sum()) / (1 + draws) for j in range(len(z))
    ]
    order = sorted(range(len(z)), key=lambda j: -abs(z[j]))
    corrected, running = [NAN] * len(z), 0.0
    for at, j in enumerate(order):
        largest = np.abs(drawn[:, order[at:]]).max(axis=1)
        running = max(running, (1 + (largest >= abs(z[j]) - 1e-9).sum()) / (1 + draws))
        corrected[j] = running
    return own, corrected


def bootstrap_t(x, y, level, boots, rng, logarithm=False):
    """Bootstrap-t interval of sum(x) / sum(y) over lists."""

    def estimate(rows):
        top, bottom = x[rows].sum(axis=-1), y[rows].sum(axis=-1)
        theta = top / bottom
        error = np.sqrt(((x[rows] - theta[..., None] * y[rows]) ** 2).sum(axis=-1)) / bottom
        if logarithm:
            positive = np.where(theta > 0, theta, NAN)
            return np.log(positive), error / positive
        return theta, error

    with np.errstate(divide="ignore", invalid="ignore"):
        theta, error = (part[0] for part in estimate(np.arange(len(x))[None]))
        drawn, spread = estimate(rng.integers(0, len(x), (boots, len(x))))
        t = np.where(spread != 0, (drawn - theta) / spread, NAN)
    upper = np.quantile(np.where(np.isnan(t), np.inf, t), (1 + level) / 2)
    lower = np.quantile(np.where(np.isnan(t), -np.inf, t), (1 - level) / 2)
    low, high = theta - upper * error, theta - lower * error
    return (exp(low), exp(high)) if logarithm else (low, high)


def score_end(z, a, n1, b, n2):
    """Lower end of the score interval of a ratio of rates within lists, by bisection."""
    n = n1 + n2
    x, y = (a * n2 / n).sum(), (b * n1 / n).sum()

    def within(ratio):
        first, second = n * ratio, n1 * ratio + a + n2 + b * ratio
        root = np.sqrt(np.maximum(second**2 - 4 * first * (a + b), 0))
        p2 = 2 * (a + b) / (second + root)
        p1, p2 = np.clip(ratio * p2, 0, 1), np.clip(p2, 0, 1)
        spread = n1 * n2**2 * p1 * (1 - p1) + ratio**2 * n2 * n1**2 * p2 * (1 - p2)
        half = [1 / (2 + (size * p * (1 - p)).sum()) for size, p in ((n1, p1), (n2, p2))]
        step = (n1 * n2 / n).sum() * (half[0] / n1.sum() + ratio * half[1] / n2.sum())
        return abs(x - ratio * y) - step <= z * sqrt((spread / (n * (n - 1))).sum())

    low = -40.0
    if x < 1e-12 or within(exp(low)):
        return 0.0
    high = log(x / y) if y > 1e-12 else 40.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (low, middle) if within(exp(middle)) else (middle, high)
    return exp(high)


def exact(a, n1, b, n2):
    """Fisher's rule on the convolution of the lists' hypergeometrics, in whole numbers; None for
    counts that are not whole."""
    counts = np.rint([a, n1, b, n2])
    if np.abs(counts - [a, n1, b, n2]).max() > 1e-6:
        return None
    ways = {0: 1}
    for a1, m1, b1, m2 in counts.astype(int).T.tolist():
        here = {x: comb(m1, x) * comb(m2, a1 + b1 - x) for x in range(a1 + b1 + 1)}
        there = {}
        for x, first in ways.items():
            for y, second in here.items():
                there[x + y] = there.get(x + y, 0) + first * second
        ways = there
    limit = ways[int(counts[0].sum())]
    extreme = sum(way for way in ways.values() if way * 10**7 <= limit * (10**7 + 1))
    return extreme / sum(ways.values())


def size(u, v):
    return abs(2 * asin(sqrt(min(max(u, 0), 1))) - 2 * asin(sqrt(min(max(v, 0), 1))))


def above(file, scores, side):
    """Share of pairs in which the group is ranked above the other side; ties count half."""
    shares = []
    for people in file.lists:
        ours = [i for i in people if side[i] == 1]
        others = [i for i in people if side[i] == 0]
        if ours and others:
            won = sum(
                (scores[i] > scores[j]) + 0.5 * (scores[i] == scores[j])
                for i in ours
                for j in others
            )
            shares.append(won / (len(ours) * len(others)))
    return sum(shares) / len(shares) if shares else NAN


def strata_of(file):
    """The grade or band of each person's relevance, and whether it is a band."""
    values = sorted(set(file.relevance))
    if len(values) <= 10:
        return np.array([values.index(v) for v in file.relevance]), False
    last = [sum(other <= v for other in file.relevance) - 1 for v in file.relevance]
    return np.array([20 * rank // file.n for rank in last]), True


def without_trend(file, columns):
    """Columns less their linear trend on the relevance ranks of the list."""
    found = columns.copy()
    for people in file.lists:
        y = [file.relevance[i] for i in people]
        ranks = np.array([sum(o < v for o in y) + (sum(o == v for o in y) - 1) / 2 for v in y])
        if np.ptp(ranks):
            centred = ranks - ranks.mean()
            for j in range(columns.shape[1]):
                slope = (centred * columns[people, j]).sum() / (centred**2).sum()
                found[people, j] -= slope * centred
    return found


class Twin:
    """All claims of a file."""

    def __init__(
        self, path, sensitive, ks, protected=None, draws=999, boots=999, seed=1, level=0.95
    ):
        self.file, self.ks, self.level, self.draws, self.boots = (
            File(path, sensitive), ks, level, draws, boots
        )  # fmt: skip
        self.rng = np.random.default_rng(seed)
        self.parts = partitions_of(self.file, protected or {})
        self.normal = NormalDist().inv_cdf((1 + level) / 2)
        self.pattern = np.zeros(self.file.n, dtype=int)
        for labels in self.file.labels.values():
            self.pattern = 2 * self.pattern + np.array([label is None for label in labels])
        self.known = {f"chance {g}": side >= 0 for g, (_, _, side) in enumerate(self.parts)}

    def claims(self):
        """The claims as dictionaries, with their corrected p-values."""
        file = self.file
        self.columns = columns = columns_of(file, file.score, self.ks, self.known)
        blocks = [self.block_one(columns), self.block_two(columns)]
        if file.before is not None:
            blocks.append(self.block_three(columns))
        tested = [[c for c in block if not isnan(c["z"])] for block in blocks]
        present = max(sum(map(bool, tested)), 1)
        share = (1 - self.level) / present
        for block in tested:
            if not block:
                continue
            z, drawn = [c["z"] for c in block], np.stack([c["drawn"] for c in block], axis=1)
            largest = np.sort(np.abs(drawn).max(axis=1))[::-1]
            critical = largest[int(share * (1 + self.draws) + 1e-9) - 1]
            for c, own, corrected in zip(block, *family(z, drawn), strict=True):
                c |= {"p": c.get("exact") or own, "p_family": min(1.0, present * corrected)}
                c |= {"threshold": 1 - self.level, "blocks": present}
                c["detectable"] = (critical + NormalDist().inv_cdf(0.8)) * c["deviation"]
        return [c for block in blocks for c in block]

    def scope(self, found):
        sizes = [len(self.file.lists[q]) for q in found.used]
        return {
            "lists": len(sizes), "people": int(found.n1.sum() + found.n2.sum()),
            "shortest": min(sizes, default=0), "median": median(sizes) if sizes else 0.0,
            "longest": max(sizes, default=0),
        }  # fmt: skip

    def enough(self, found):
        return len(found.used) and min(found.n1.sum(), found.n2.sum()) >= 5

    def of_people(self, centre, spread):
        return centre - self.normal * spread, centre + self.normal * spread

    def mean_ends(self, parts, total, deviation):
        """The interval of a mean over lists."""
        if len(parts) < 20:
            return *self.of_people(total, deviation), "people"
        ones = np.ones(len(parts))
        ends = bootstrap_t(parts * len(parts), ones, self.level, self.boots, self.rng)
        return *ends, "lists"

    def statistics(self, columns, cells, wanted):
        """Shuffles of the wanted partitions: position, own chance, exposure, top k."""
        names = [
            ["position", f"chance {g}", "exposure", *(f"top {k}" for k in self.ks)] for g in wanted
        ]
        averaged = np.array([True, True, False, *(False for _ in self.ks)])
        found = [
            Shuffles(self.file, self.parts[g][2], np.stack([columns[n] for n in chosen], axis=1),
                     averaged, cells)
            for g, chosen in zip(wanted, names, strict=True)
        ]  # fmt: skip
        drawn = [[] for _ in wanted]
        for order in orders(self.rng, self.file, cells, self.draws):
            for at, each in enumerate(found):
                drawn[at].append(each.drawn(order))
        return found, [np.array(each) for each in drawn]

    def claim(self, quantity, g, found, drawn, j, studentized=False, **values):
        attribute, group, _ = self.parts[g]
        scope = self.scope(found) | values.pop("scope", {})
        z, spread = NAN, float(found.deviation[j]) if len(found.used) else 0.0
        draws = np.full(self.draws, NAN)
        if self.enough(found) and spread > 0 and not values.pop("untested", False):
            if studentized:
                square = (found.parts[:, j] ** 2).sum()
                z = found.total[j] / sqrt(square) if square else 0.0
                squares = np.sqrt((drawn[:, :, j] ** 2).sum(axis=1))
                draws = np.nan_to_num(drawn[:, :, j].sum(axis=1) / np.where(squares, squares, 1.0))
            else:
                z = (found.total[j] - found.mean[j]) / spread
                draws = (drawn[:, :, j].sum(axis=1) - found.mean[j]) / spread
        return {"quantity": quantity, "attribute": attribute, "group": group, "scope": scope,
                "z": z, "drawn": draws, "deviation": spread, **values}  # fmt: skip

    def block_one(self, columns):
        every = range(len(self.parts))
        found, drawn = self.statistics(columns, self.pattern, every)
        return [
            claim
            for g in every
            for claim in self.comparisons(g, found[g], drawn[g])
        ]  # fmt: skip

    def comparisons(self, g, found, drawn):
        if not found.used:
            for quantity in ("position", "exposure"):
                yield self.claim(quantity, g, found, drawn, 0, estimate=NAN)
            for k in self.ks:
                yield self.claim("selected", g, found, drawn, 0, scope={"k": k}, estimate=NAN)
            return
        chance = above(self.file, self.file.score, self.parts[g][2])
        scope = self.scope(found)
        if scope["longest"] > 2 * scope["shortest"]:
            low, high, of = self.mean_ends(found.parts[:, 1], 0.5 - chance, found.deviation[1])
            values = {"estimate": chance, "unit": "chance", "low": 0.5 - high, "high": 0.5 - low}
            values, j = values | {"interval_of": of}, 1
        else:
            low, high, of = self.mean_ends(found.parts[:, 0], found.total[0], found.deviation[0])
            values = {"estimate": found.total[0], "unit": "positions", "low": low, "high": high}
            values, j = values | {"interval_of": of}, 0
        yield self.claim("position", g, found, drawn, j, **values, shares=(chance, 0.5))
        expected, share = found.expected[:, 2], found.n1.sum() / (found.n1 + found.n2).sum()
        observed = found.parts[:, 2] + expected
        estimate = observed.sum() / expected.sum()
        if len(found.used) < 20:
            low, high = self.of_people(estimate, found.deviation[2] / expected.sum())
            low, of = max(low, 0.0), "people"
        else:
            low, high = bootstrap_t(observed, expected, self.level, self.boots, self.rng, True)
            of = "lists"
        yield self.claim("exposure", g, found, drawn, 2, estimate=estimate, unit="ratio", low=low,
                         high=high, interval_of=of, shares=(share * estimate, share))  # fmt: skip
        for j, k in enumerate(self.ks, start=3):
            yield self.selected(g, found, drawn, j, k)

    def selected(self, g, found, drawn, j, k):
        n1, n2 = found.n1, found.n2
        sides, top = self.parts[g][2], self.columns[f"top {k}"]
        smaller = min((sides == 1).sum(), (sides == 0).sum())
        if smaller * top[sides >= 0].mean() < 5:
            return self.claim("selected", g, found, drawn, j, scope={"k": k}, estimate=NAN,
                              untested=True)  # fmt: skip
        a = found.parts[:, j] + found.expected[:, j]
        b = found.expected[:, j] * (n1 + n2) / n1 - a
        x, y = a * n2 / (n1 + n2), b * n1 / (n1 + n2)
        if b.sum() < 1e-9:
            return self.claim("selected", g, found, drawn, j, scope={"k": k}, estimate=NAN,
                              untested=True)  # fmt: skip
        cells = a.sum(), (n1 - a).sum(), b.sum(), (n2 - b).sum()
        if len(n1) >= 20 and min(cells) > 1e-6:
            low, high = bootstrap_t(x, y, self.level, self.boots, self.rng, True)
            of = "lists"
        else:
            low, of = score_end(self.normal, a, n1, b, n2), "people"
            high = 1 / score_end(self.normal, b, n2, a, n1)
        return self.claim("selected", g, found, drawn, j, scope={"k": k}, unit="ratio",
                          estimate=x.sum() / y.sum(), low=low, high=high, interval_of=of,
                          exact=exact(a, n1, b, n2),
                          shares=(a.sum() / n1.sum(), b.sum() / n2.sum()))  # fmt: skip

    def block_two(self, columns):
        file, claims = self.file, []
        if file.relevance is not None:
            strata, bands = strata_of(file)
            chosen = columns
            if bands:
                names = [n for n in columns if n == "position" or n.startswith("chance")]
                straight = without_trend(file, np.stack([columns[n] for n in names], axis=1))
                chosen = columns | dict(zip(names, straight.T, strict=True))
            claims += self.given(chosen, strata, range(len(self.parts)), "relevance")
        if len(file.labels) > 1:
            for other, labels in file.labels.items():
                values = sorted({label for label in labels if label is not None})
                strata = np.array(
                    [-1 if label is None else values.index(label) for label in labels]
                )
                some = [
                    g for g, (attribute, _, _) in enumerate(self.parts)
                    if " x " not in attribute and attribute != other
                ]  # fmt: skip
                claims += self.given(columns, strata, some, other) if some else []
        return claims

    def given(self, columns, strata, wanted, given):
        cells = self.pattern * (strata.max() + 2) + strata + 1
        found, drawn = self.statistics(columns, cells, wanted)
        for at, g in enumerate(wanted):
            yield self.given_claim(g, found[at], drawn[at], given)

    def given_claim(self, g, found, drawn, given):
        quantity = "merit" if given == "relevance" else "position"
        if not found.used:
            return self.claim(quantity, g, found, drawn, 0, scope={"given": given}, estimate=NAN)
        scope = self.scope(found)
        j = int(scope["longest"] > 2 * scope["shortest"])
        parts = found.parts[:, j] - found.mean_parts[:, j]
        low, high, of = self.mean_ends(parts, parts.sum(), found.deviation[j])
        chance = above(self.file, self.file.score, self.parts[g][2])
        expected = chance + (found.total[1] - found.mean[1])
        values = {"estimate": parts.sum(), "unit": "positions", "low": low, "high": high}
        if j:
            values = {"estimate": chance, "unit": "chance", "low": expected - high,
                      "high": expected - low}  # fmt: skip
        return self.claim(quantity, g, found, drawn, j, **values, interval_of=of,
                          shares=(chance, expected), scope={"given": given})  # fmt: skip

    def block_three(self, new):
        file = self.file
        old = columns_of(file, file.before, self.ks, self.known)
        if all(abs(new["position"] - old["position"]) < 1e-9):
            return []
        change = {name: new[name] - old[name] for name in new}
        every = range(len(self.parts))
        found, drawn = self.statistics(change, self.pattern, every)
        return [
            claim
            for g in every
            if found[g].used
            for claim in self.changes(g, found[g], drawn[g], new, old)
        ]

    def changes(self, g, found, drawn, new, old):
        file, side = self.file, self.parts[g][2]
        scope = self.scope(found)
        lists = np.isin(file.list_of, found.used)
        ours, both = (side == 1) & lists, (side >= 0) & lists
        chances = above(file, file.score, side), above(file, file.before, side)
        by_chance = scope["longest"] > 2 * scope["shortest"]
        wanted = [("change of position", int(by_chance), -1.0 if by_chance else 1.0,
                   "chance" if by_chance else "positions", chances, {})]  # fmt: skip
        shares = tuple(c["exposure"][ours].sum() / c["exposure"][both].sum() for c in (new, old))
        wanted.append(("change of exposure", 2, 1 / both.sum(), "share", shares, {}))
        for j, k in enumerate(self.ks, start=3):
            rates = tuple(c[f"top {k}"][ours].mean() for c in (new, old))
            wanted.append(("change of selected", j, 1.0, "people", rates, {"k": k}))
        for quantity, j, factor, unit, shares, more in wanted:
            low, high, of = self.mean_ends(found.parts[:, j], found.total[j], found.deviation[j])
            ends = sorted((factor * low, factor * high))
            yield self.claim(quantity, g, found, drawn, j, studentized=True, unit=unit,
                             estimate=factor * found.total[j], low=ends[0], high=ends[1],
                             interval_of=of, shares=shares, scope=more)  # fmt: skip
