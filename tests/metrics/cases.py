"""Random small lists, and how they are put into one call: rows of all queries interleaved."""

from dataclasses import dataclass

import numpy as np

from equirank import Ranking, as_ranking_data


@dataclass(frozen=True)
class Case:
    """One query: a score, a relevance and a group per item."""

    score: list
    y: list
    groups: list

    def blocks(self):
        """Return the items as blocks of equal score, best first."""
        levels = sorted(set(self.score), reverse=True)
        return [[i for i, s in enumerate(self.score) if s == level] for level in levels]

    def in_order(self):
        """Return the items best first, ties in the order given: blocks of one item each."""
        best = sorted(range(len(self.score)), key=lambda i: -self.score[i])
        return [[i] for i in best]


@dataclass(frozen=True)
class Batch:
    """Cases in the order in which their queries first appear, and the arrays of one call."""

    cases: list
    y: np.ndarray
    score: np.ndarray
    groups: np.ndarray
    qid: np.ndarray
    item: np.ndarray  # the item's number within its case
    case: np.ndarray  # the case of each row

    def data(self):
        return as_ranking_data(
            self.X,
            self.y,
            qid=self.qid,
            sensitive_features=self.groups,
            cost=self.cost,
            score=self.score,
        )

    @property
    def X(self):
        """Two features per row, some rows equal."""
        return np.stack([self.item % 3, self.case % 2 + self.y], axis=1).astype(float)

    @property
    def cost(self):
        return 1.0 + self.item % 4

    def twin(self, value, *args, **options):
        """Return the twin's value of every query, ties averaged."""
        return np.array(
            [value(case.blocks(), [], *pick(case, args), **options) for case in self.cases]
        )

    def stable(self, value, *args, **options):
        """Return the twin's value of every query, ties in the order given."""
        return np.array(
            [value(case.in_order(), [], *pick(case, args), **options) for case in self.cases]
        )


def pick(case, names):
    return [getattr(case, name) if name in ("y", "groups", "score") else name for name in names]


def make_batch(n_cases, *, seed=0, most=6, levels=None, grades=4, labels="ab", shares=None):
    """Make random cases: short lists, few score levels (so ties), every special shape included."""
    rng = np.random.default_rng(seed)
    cases = []
    for number in range(n_cases):
        n = int(rng.integers(1, most + 1))
        n_levels = n + 3 if number % 4 == 0 else int(rng.integers(1, n + 2))
        n_levels = n_levels if levels is None else levels
        score = rng.integers(0, n_levels, size=n) if number % 8 else rng.permutation(n)
        y = rng.integers(0, grades, size=n)
        if number % 11 == 1:
            y[:] = 0
        if number % 11 == 2:
            y[:] = grades - 1
        groups = rng.choice(list(labels), size=n, p=shares)
        if number % 13 == 1:
            groups[:] = groups[0]
        cases.append(Case((score / 4 - 0.5).tolist(), y.tolist(), groups.tolist()))
    a, b = labels[:2]
    nothing = Case([0.5], [0], [a])
    tied = Case([0.5] * 4, [0, 1, grades - 1, 0], [a, b, b, a])
    return batch_of([nothing, *cases, tied, Case([1.0, 0.5], [0, 0], [a, a]), nothing], rng)


def batch_of(cases, rng):
    """Interleave the rows of all cases, each case's rows in their own order.

    The first case stays first and the last three stay last: what is empty there tries the edges.
    """
    case = np.repeat(np.arange(len(cases)), [len(c.y) for c in cases])
    inner = (case > 0) & (case < len(cases) - 3)
    mixed = case.copy()
    mixed[inner] = rng.permutation(case[inner])
    flat_row = np.empty(len(case), dtype=int)  # the row of its own case, cases one by one
    flat_row[np.argsort(mixed, kind="stable")] = np.arange(len(case))
    flat = {
        name: np.array([v for c in cases for v in getattr(c, name)])
        for name in ("y", "score", "groups")
    }
    item = np.array([i for c in cases for i in range(len(c.y))])
    seen = list(dict.fromkeys(mixed.tolist()))
    number = {old: new for new, old in enumerate(seen)}
    return Batch(
        [cases[old] for old in seen],
        flat["y"][flat_row].astype(float),
        flat["score"][flat_row],
        flat["groups"][flat_row],
        np.array([f"q{old}" for old in mixed]),
        item[flat_row],
        np.array([number[old] for old in mixed.tolist()]),
    )


@dataclass(frozen=True)
class Drawn:
    """Cases with given positions: per draw and case the tie blocks and what is not shown."""

    batch: Batch
    draws: list  # per draw: per case (blocks, hidden)
    weights: np.ndarray | None
    ranking: Ranking

    def share(self, draw, case):
        if self.weights is None:
            return 1 / len(self.draws)
        row = self.weights if self.weights.ndim == 1 else self.weights[case]
        return row[draw] / row.sum()

    def twin(self, value, *args, **options):
        """Return the twin's expected value of every query over the draws."""
        result = np.zeros(len(self.batch.cases))
        for number, draw in enumerate(self.draws):
            for at, ((blocks, hidden), case) in enumerate(zip(draw, self.batch.cases, strict=True)):
                result[at] += self.share(number, at) * value(
                    blocks, hidden, *pick(case, args), **options
                )
        return result


def make_drawn(n_cases, n_draws=1, *, seed=0, hide=True, weights=None, **options):
    """Make random positions with shared places and rows that are not shown."""
    batch = make_batch(n_cases, seed=seed, **options)
    rng = np.random.default_rng([seed, 1])
    draws, table = [], np.zeros((len(batch.y), n_draws), dtype=int)
    for draw in range(n_draws):
        lists, places = [], []
        for at, case in enumerate(batch.cases):
            n = len(case.y)
            shown = int(rng.integers(0, n + 1)) if hide and rng.random() < 0.6 else n
            shown = 0 if hide and at in (0, len(batch.cases) - 1) else shown
            items = rng.permutation(n).tolist()
            blocks = []
            for item in items[:shown]:
                if blocks and rng.random() < 0.4:
                    blocks[-1].append(item)
                else:
                    blocks.append([item])
            place, here = 1, [0] * n
            for block in blocks:
                for item in block:
                    here[item] = place
                place += len(block)
            lists.append((blocks, sorted(items[shown:])))
            places.append(here)
        draws.append(lists)
        table[:, draw] = [places[c][i] for c, i in zip(batch.case, batch.item, strict=True)]
    if weights == "draw":
        weights = rng.random(n_draws)
    elif weights == "query":
        weights = rng.random((len(batch.cases), n_draws))
    ranking = Ranking.from_positions(
        batch.data(), table[:, 0] if n_draws == 1 else table, weights=weights
    )
    return Drawn(batch, draws, weights, ranking)


def same(got, wanted, tol=1e-10):
    """Compare value by value, NaN equal to NaN, naming the first query that differs."""
    got, wanted = np.asarray(got, dtype=float), np.asarray(wanted, dtype=float)
    assert got.shape == wanted.shape, f"shape {got.shape} instead of {wanted.shape}"
    bad = ~np.isclose(got, wanted, rtol=tol, atol=tol, equal_nan=True)
    assert not bad.any(), (
        f"{bad.sum()} of {bad.size} differ, first at {np.argwhere(bad)[0].tolist()}: "
        f"got {got[bad][0]!r}, wanted {wanted[bad][0]!r}"
    )
