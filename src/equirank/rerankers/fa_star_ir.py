"""FA*IR: the best next item, unless a prefix would hold too few protected items."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from ..core.declared import OnlyWith
from ..core.environment import progress
from ..core.label_probability import GroupProbability
from ..core.params import AnyOf, Choice, Flag, Optional
from ..core.ranking import Ranking
from ..core.reranker import ORDER_TARGETS, Control
from .fa_star_ir_tables import OPEN, stored_region
from .group_bounds import StatedBounds, TableBounds
from .guaranteed import (
    HELD,
    LABELS,
    OPEN_SHARES,
    Missed,
    Pool,
    candidates,
    protected_shares,
)
from .reranking import Reranking
from .uncertain_groups import LikelyReranking, UncertainGroups, refuse_guesses

__all__ = ["FAStarIR", "RegionBounds", "merge_lists"]


@dataclass(frozen=True, eq=False)
class RegionBounds(StatedBounds):
    """Regions of passing counts, which several lists may share.

    Attributes
    ----------
    needs : tuple of ndarray
        Regions (`kernels.fa_star_ir_groups`).
    which : ndarray of int
        The region of each list, -1 for none.
    protected : ndarray of int
        Codes of the protected groups, in the order of the regions' counts.
    """

    needs: tuple[np.ndarray, ...]
    which: np.ndarray
    protected: np.ndarray

    def lower(self, query: int, counts: np.ndarray) -> np.ndarray | None:
        """Return the least count of each group, given the counts of all other groups."""
        if self.which[query] < 0:
            return None
        need = self.needs[self.which[query]]
        length = min(len(counts), len(need))
        least = np.zeros((length, counts.shape[1]), dtype=np.int64)
        mine = counts[:length, self.protected]
        for j in range(length):
            for at, code in enumerate(self.protected.tolist()):
                others = list(mine[j])
                for count in range(j + 2):
                    others[at] = count
                    if need[(j, *np.minimum(others[1:], len(need)))] <= others[0]:
                        break
                least[j, code] = count
        return least

    def holds(self, codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return for each list whether all prefixes pass, given the group at each position."""
        holds = np.ones(len(self.which), dtype=bool)
        for query in np.flatnonzero(self.which >= 0).tolist():
            need = self.needs[self.which[query]]
            row = codes[offsets[query] : offsets[query + 1]][: len(need)]
            counts = np.cumsum(row[:, None] == self.protected, axis=0)
            needed = need[(np.arange(len(row)), *counts[:, 1:].T)]
            holds[query] = bool((counts[:, 0] >= needed).all())
        return holds

    def binding(self, codes: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return for each list whether a prefix without any protected item would fail."""
        least = [need.reshape(len(need), -1)[:, 0] for need in self.needs]
        sizes = np.diff(offsets).tolist()
        found = [
            which >= 0 and bool((least[which][:size] > 0).any())
            for which, size in zip(self.which.tolist(), sizes, strict=True)
        ]
        return np.array(found, dtype=bool)


ADVICE = "lower p or alpha, choose a smaller k"


class FAStarIR(UncertainGroups):
    """Re-rank so that every prefix holds as many protected items as chance would select.

    The first j positions hold at least m(j) protected items, the smallest m with
    ``F(m; j, p) > alpha'``, where F is the binomial distribution function. The level alpha' is
    lowered until the exact probability that a fair list fails in any prefix is at most alpha
    (`fa_star_ir_table`). Position j goes to the best protected item if m(j) requires one, else to
    the best item. With several protected groups F is the joint distribution function of their
    counts, so that one group's count can compensate for another's; position j then goes to the best
    item after which all later prefixes can still pass.

    The order within groups is kept, ties are taken in input order, and only the order of scores is
    used. Rows that were not shown stay so, but count in the share of the list. A list without
    protected items keeps its order. People with an unknown label keep their
    positions; the guarantee is about the list of all others. With probabilities of groups
    (``labels``) the table is the same for one protected group; items may then pass others of their
    group, and several protected groups are an error.

    Parameters
    ----------
    p : float or mapping of group to float, optional
        Probability of the protected group at every position of a fair list; a mapping for several
        groups. None takes the share of each list. If a mapping names every group and sums to 1, the
        group with the largest share is not protected.
    alpha : float
        Largest probability that a fair list fails the test.
    protected : label or sequence of labels, optional
        The protected group or groups. None takes those that ``p`` names; without a mapping all
        groups except the largest, in a tie except the one ranked higher.
    law : {"binomial", "pool"}
        A fair list draws each position with probability p, or draws the items of the list without
        replacement (p is then rounded to a whole number of items).
    adjusted : bool
        Correct for testing every prefix; otherwise each prefix alone is tested at alpha.

    References
    ----------
    Zehlike, Bonchi, Castillo, Hajian, Megahed and Baeza-Yates, FA*IR: a fair top-k ranking
    algorithm, CIKM 2017. Zehlike, Sühr, Baeza-Yates, Bonchi, Castillo and Hajian, Fair top-k
    ranking with multiple protected groups, Information Processing and Management 2022 (several
    groups, and the correction; here both are exact).

    Examples
    --------
    >>> from equirank.rerankers import FAStarIR
    >>> groups = ["m"] * 8 + ["f"] * 8
    >>> reranker = FAStarIR(p=0.5, protected="f", k=8)
    >>> result = reranker.rerank(range(16, 0, -1), sensitive_features=groups)
    >>> result.order()
    array([0, 1, 2, 8, 3, 4, 9, 5])
    >>> result.holds, result.price.score_loss
    (True, 0.5)
    """

    positional = ("p", "alpha", "protected", "k", "law", "adjusted", "by", "on_infeasible")
    only_with: ClassVar[OnlyWith] = {"time_limit": ("labels", ("expected",))}
    p: Annotated[Any, Optional(AnyOf(OPEN, OPEN_SHARES))] = None
    alpha: Annotated[float, OPEN] = 0.1
    protected: Annotated[Any, Optional(LABELS)] = None
    law: Annotated[Literal["binomial", "pool"], Choice("binomial", "pool")] = "binomial"
    adjusted: Annotated[bool, Flag()] = True

    unknown: ClassVar[Literal["refused", "fixed", "free"]] = "fixed"
    acts_on: ClassVar[frozenset[str]] = ORDER_TARGETS
    strength: ClassVar[str] = "p"
    plain_name: ClassVar[str] = "Nothing beyond chance"
    controls: ClassVar[Mapping[str, Control]] = {
        "p": Control("Share expected by chance", 0.01, 0.99, 0.01),
        "alpha": Control("How strict", 0.01, 0.5, 0.01),
    }
    no_guarantee: ClassVar[str] = "where chance alone would often leave the group out of the list"
    guarantee: ClassVar[str] = (
        "every prefix passes the FA*IR test, which a fair list fails with probability <= alpha"
    )
    needs_text: ClassVar[str] = (
        "groups and the protected ones; the probability p, or the share of the list"
    )
    cost: ClassVar[str] = "little score: it only excludes lists that chance would rarely produce"

    def _rerank(self, ranking: Ranking) -> Reranking:
        guess = self._guess(ranking)
        if guess is not None:
            return self._likely_lists(ranking, guess)
        pool = self._pool(ranking)
        codes, shares = protected_shares(self, pool)
        one = len(codes) == 1
        chosen, bounds = (self._one if one else self._several)(pool, codes, shares)
        return Reranking.from_order(
            ranking, *pool.placed(chosen), bounds=pool.bounds(bounds), reranker=self
        )

    def _likely_lists(self, ranking: Ranking, guess: GroupProbability) -> LikelyReranking:
        """Return lists that pass the test in expectation or with a probability."""
        pool = self._guessed_pool(ranking, guess, self.by)
        codes, shares = protected_shares(self, pool)
        if len(codes) != 1:
            means = shares.mean(axis=0) if codes else np.zeros(0)
            names = [pool.groups.categories[code] for code in codes]
            refuse_guesses(
                "FAStarIR with several protected groups",
                dict(zip(names, means.tolist(), strict=True)),
                "a prefix passes by the joint counts of all groups",
            )
        floors, start, _, _ = self._floors(pool, shares)
        words = self._words(pool, codes)
        return self._likely(
            ranking, pool, guess, [(codes[0], False)], floors[:, None], start, words, self.by
        )

    def _floors(
        self, pool: Pool, shares: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, list[np.ndarray], np.ndarray]:
        """Return all minimums, where those of each list begin, the tables, and each list's one."""
        kinds, kind = self._kinds(pool, shares)
        steps = progress(kinds.tolist(), "FA*IR tables")
        tables = [self._table(int(k), int(n), float(share)) for k, n, share in steps]
        starts = np.concatenate([[0], np.cumsum([len(table) for table in tables])])
        floors = np.concatenate([np.zeros(0, dtype=np.int32), *tables])
        return floors, starts[:-1][kind], tables, kind

    def _words(self, pool: Pool, codes: list[int]) -> str:
        names = " and ".join(repr(pool.groups.categories[code]) for code in codes)
        level = f"alpha = {self.alpha:g}, {'adjusted' if self.adjusted else 'each prefix alone'}"
        return f"every prefix passes the FA*IR test for {names} ({level}, {self.law} law)"

    def _kinds(self, pool: Pool, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the distinct (limit, pool size, shares or sizes), and the index of each list."""
        n = np.diff(pool.offsets) if self.law == "pool" else np.zeros(len(pool.limit))
        values = np.round(shares * n[:, None]) if self.law == "pool" else shares
        rows = np.column_stack([pool.limit, n, values])
        kinds, kind = np.unique(rows, axis=0, return_inverse=True)
        return kinds, kind.ravel()

    # one protected group

    def _one(
        self, pool: Pool, codes: list[int], shares: np.ndarray
    ) -> tuple[np.ndarray, TableBounds]:
        from ..kernels.group_queues import merge_by_floors

        floors, start, tables, kind = self._floors(pool, shares)
        self._check_supply(pool, codes[0], tables, kind)
        chosen = merge_by_floors(
            pool.codes, pool.offsets, pool.shown, pool.limit, floors, start, codes[0]
        )
        least = np.zeros((len(floors), pool.n_groups), dtype=np.int32)
        least[:, codes[0]] = floors
        return chosen, TableBounds(self._words(pool, codes), least, None, start, pool.limit)

    def _table(self, k: int, n: int, share: float) -> np.ndarray:
        from ..kernels import fa_star_ir_minimums as kernel

        whole = n if self.law == "pool" else 1
        if k == 0 or share <= 0 or share >= whole:
            return np.zeros(k, dtype=np.int32)
        alpha = float(self.alpha)
        if self.law == "pool":
            make = kernel.pool_adjusted_table if self.adjusted else kernel.pool_table
            found = make(k, n, int(share), alpha)
        else:
            found = (kernel.adjusted_table if self.adjusted else kernel.table)(k, share, alpha)
        return found.counts

    def _check_supply(
        self, pool: Pool, code: int, tables: list[np.ndarray], kind: np.ndarray
    ) -> None:
        """Report the first prefix of a list that needs more protected items than there are."""
        there = candidates(pool)[:, code]
        last = np.array([table[-1] if len(table) else 0 for table in tables])
        prefix = np.full(len(there), HELD)
        for query in np.flatnonzero(last[kind] > there).tolist():
            table = tables[kind[query]]
            prefix[query] = np.searchsorted(table, there[query], side="right") + 1
        missed = Missed(prefix, np.full(len(there), code))
        self._report(
            pool,
            missed,
            lambda query, prefix, _: int(tables[kind[query]][prefix - 1]),
            ADVICE,
        )

    # several protected groups

    def _several(
        self, pool: Pool, codes: list[int], shares: np.ndarray
    ) -> tuple[np.ndarray, RegionBounds]:
        kinds, kind = self._kinds(pool, shares)
        needs: list[np.ndarray] = []
        which = np.full(len(kinds), -1)
        for at, (k, n, *values) in enumerate(progress(kinds.tolist(), "FA*IR tables")):
            if k == 0 or sum(values) <= 0 or sum(values) >= (n or 1.0) - 1e-12:
                continue
            which[at] = len(needs)
            alpha, adjusted = float(self.alpha), bool(self.adjusted)
            needs.append(stored_region(int(k), tuple(values), alpha, adjusted, int(n)).need)
        protected = np.array(codes, dtype=np.int64)
        bounds = RegionBounds(self._words(pool, codes), tuple(needs), which[kind], protected)
        chosen, missed, needed = merge_lists(pool, bounds)
        self._report(pool, missed, lambda query, *_: needed[query], ADVICE)
        return chosen, bounds


def merge_lists(pool: Pool, bounds: RegionBounds) -> tuple[np.ndarray, Missed, np.ndarray]:
    """Return the slots in their new order, where a list cannot pass, and the count it needs.

    If a group is exhausted on the way, the list is merged again under its group sizes, so that a
    list fails only if no order of it passes.
    """
    from ..kernels.fa_star_ir_regions import reachable
    from ..kernels.group_queues import merge_in_region

    n_queries, codes = len(pool.limit), bounds.protected
    kind = np.full(pool.n_groups, -1)
    kind[codes] = np.arange(len(codes))
    there = candidates(pool)[:, codes]
    plenty = [reachable(need, np.full(len(codes), len(need))).ravel() for need in bounds.needs]
    chosen = np.empty(int(pool.out_offsets[-1]), dtype=np.int64)
    prefix, group = np.full(n_queries, HELD), np.zeros(n_queries, dtype=np.int64)
    needed = np.zeros(n_queries, dtype=np.int64)
    for query in range(n_queries):
        begin, end = pool.out_offsets[query : query + 2].tolist()
        first, which = int(pool.offsets[query]), int(bounds.which[query])
        if which < 0:
            chosen[begin:end] = first + np.arange(end - begin)
            continue
        shape = (pool.codes, first, int(pool.shown[query]), end - begin, kind, len(codes))
        order, missed = merge_in_region(*shape, plenty[which])
        if missed:
            capped = reachable(bounds.needs[which], there[query]).ravel()
            again, still = merge_in_region(*shape, capped)
            if not still:
                order, missed = again, 0
        chosen[begin:end] = order
        if missed:
            prefix[query], at, needed[query] = _first_short(
                bounds.needs[which], there[query], missed
            )
            group[query] = codes[at]
    return chosen, Missed(prefix, group), needed


def _first_short(need: np.ndarray, there: np.ndarray, missed: int) -> tuple[int, int, int]:
    """Find the first prefix that all protected items together do not pass, and the short group."""
    for j in range(len(need)):
        have = np.minimum(there, j + 1)
        if need[(j, *have[1:])] > have[0]:
            best = (j + 1, 0, int(have[0]) + 1)
            for at in range(len(there)):
                for count in range(int(have[at]) + 1, j + 2):
                    more = have.copy()
                    more[at] = count
                    if need[(j, *more[1:])] <= more[0]:
                        return j + 1, at, count
            return best
    return missed, int(np.argmin(there)), int(there.min()) + 1
