"""Bounds on groups that are known as probabilities: in expectation, or with a stated chance."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np

from ..core.data import RankingData
from ..core.declared import OnlyWith
from ..core.environment import progress
from ..core.errors import DataError, EquirankWarning, outer_stacklevel
from ..core.inputs import shown
from ..core.label_probability import GroupProbability
from ..core.params import Choice, Number
from ..core.ranking import Ranking
from ..core.table import Table
from .bounded_lists import raise_or_warn, slot_values
from .group_bounds import NoBounds
from .guaranteed import Guaranteed, Pool, guess_groups
from .reranking import Reranking

if TYPE_CHECKING:
    from .likely_lists import Conditions, LikelyList

__all__ = ["GuessedPool", "LikelyReranking", "UncertainGroups", "refuse_guesses"]


@dataclass(frozen=True, eq=False)
class GuessedPool(Pool):
    """Candidates whose groups are known as probabilities.

    Attributes
    ----------
    table : ndarray of shape (rows, groups)
        The probability of each group for each stored row.
    """

    table: np.ndarray = None  # type: ignore[assignment]

    @cached_property
    def sizes(self) -> np.ndarray:
        """Expected number of items of each group in each list (query x group)."""
        return np.add.reduceat(self.table[self.order], self.offsets[:-1], axis=0)

    @cached_property
    def present(self) -> np.ndarray:
        """Return True: every group is possible in every list."""
        return np.ones((len(self.limit), len(self.groups.categories)), dtype=bool)

    @cached_property
    def alone(self) -> np.ndarray:
        """Return False: no group is sure to be alone."""
        return np.zeros(len(self.limit), dtype=bool)


@dataclass(frozen=True, eq=False, repr=False)
class LikelyReranking(Reranking):
    """Result of a re-ranker that uses probabilities of groups.

    Attributes
    ----------
    report : Table
        Per list: ``chance``, the probability that all bounds hold in all prefixes (a lower bound of
        it if several groups are bounded), ``least``, the smallest probability of a single bound,
        ``score`` and ``greedy_score``, the discounted score of the list and of the greedy one.
    calibration : Table or None
        Mean probability and share of each group in ten bands of the score, if labels allow it.

    Examples
    --------
    >>> from equirank.rerankers import FAStarIR
    >>> sex = {"sex": [None] * 12, "sex[f]": [0.1, 0.9] * 6, "sex[m]": [0.9, 0.1] * 6}
    >>> rule = FAStarIR(p=0.5, protected="f", labels="chance")
    >>> result = rule.rerank(range(12, 0, -1), sensitive_features=sex)
    >>> result.holds, bool(result.report["chance"][0] >= 0.9)
    (True, True)
    """

    by_probability: ClassVar[bool] = True

    report: Table | None = None
    calibration: Table | None = None
    conditions: "Conditions | None" = None

    def kept(self, order: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return whether the guarantee holds in each list, given the stored rows in order."""
        if self.conditions is None:
            return np.ones(len(offsets) - 1, dtype=bool)
        return self.conditions.held(order, offsets)

    def bound_lists(self, order: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Return whether there are conditions, for each list."""
        some = self.conditions is not None and len(self.conditions.sides) > 0
        return np.full(len(offsets) - 1, some)

    def members(self, code: int) -> np.ndarray:
        """Return the probability that each stored row is in a group."""
        if self.conditions is None:
            return super().members(code)
        return self.conditions.table[:, code]


class UncertainGroups(Guaranteed):
    """Base of the re-rankers that accept probabilities of groups instead of labels.

    Parameters
    ----------
    labels : {"known", "expected", "chance"}
        How labels count. ``"known"``: by known labels only. ``"expected"``: every bound holds for
        the expected count, the sum of the probabilities; the counts themselves often miss it.
        ``"chance"``: the bounds hold with probability ``chance``, if labels are independent draws.
        The probabilities are those of the data; a label that was recorded with errors becomes its
        posterior. They must be right at every score: the result compares them with known or
        verified labels in ten bands of the score, and states if there are none.
    chance : float
        The probability with which the bounds hold. Several groups share ``1 - chance`` equally.
    over : {"joint", "prefix"}
        Whether all prefixes hold together with that probability, or each prefix by itself.
    time_limit : float
        Seconds per list of an integer program, with ``labels="expected"``.
    """

    only_with: ClassVar[OnlyWith] = {
        "chance": ("labels", ("chance",)),
        "over": ("labels", ("chance",)),
    }

    labels: Annotated[
        Literal["known", "expected", "chance"], Choice("known", "expected", "chance")
    ] = "known"
    chance: Annotated[float, Number(0, 1, open_low=True, open_high=True)] = 0.9
    over: Annotated[Literal["joint", "prefix"], Choice("joint", "prefix")] = "joint"
    time_limit: Annotated[float, Number(0.0, open_low=True)] = 10.0

    @property
    def reads_order(self) -> bool:  # type: ignore[override]
        """Whether only the order is used, which is so for known labels."""
        return self.labels == "known"

    def _guess(self, ranking: Ranking, by: Any = None) -> GroupProbability | None:
        """Return the probabilities of the groups, or None if labels count as they are."""
        key = self.by if by is None else by
        if self.labels == "known" or ranking.data.n_rows == 0:
            return None
        owner = f"{type(self).__name__} with labels={self.labels!r}"
        found = guess_groups(ranking, key, owner)
        codes = ranking.data.attribute(key).codes
        same = found.certain and bool((found.table.argmax(axis=1) == codes).all())
        return None if same else found

    def _guessed_pool(self, ranking: Ranking, guess: GroupProbability, by: Any) -> GuessedPool:
        """Return the candidates of a ranking with the probabilities of their groups."""
        pool = self._all_candidates(ranking, by)
        fields = {name: getattr(pool, name) for name in pool.__dataclass_fields__}
        likely = guess.table.argmax(axis=1).astype(np.int32)[pool.order]
        return GuessedPool(**fields | {"codes": likely}, table=guess.table)

    def _likely(
        self,
        ranking: Ranking,
        pool: GuessedPool,
        guess: GroupProbability,
        sides: list[tuple[int, bool]],
        floors: np.ndarray,
        start: np.ndarray,
        words: str,
        by: Any,
    ) -> LikelyReranking:
        """Return the lists under minimums of groups, or of everyone else for maximums.

        ``sides`` are the code of each column of ``floors``, and whether it counts everyone else.
        """
        from .likely_lists import EXPECTED, JOINT, PREFIX, Conditions

        mode = EXPECTED if self.labels == "expected" else JOINT if self.over == "joint" else PREFIX
        used = [at for at in range(len(sides)) if floors[:, at].any()]
        level = 1.0 if mode == EXPECTED else 1.0 - (1.0 - self.chance) / max(len(used), 1)
        conditions = Conditions(
            guess.table, tuple(sides[at] for at in used), floors[:, used], start, pool.limit,
            mode, level, pool.groups.categories,
        )  # fmt: skip
        found = self._arranged(pool, conditions)
        order = np.concatenate([np.zeros(0, dtype=np.int64), *(one.order for one in found)])
        calibration = calibration_table(ranking.data, by, guess)
        result = LikelyReranking.from_order(
            ranking,
            pool.order[order],
            pool.out_offsets,
            bounds=NoBounds(""),
            reranker=self,
            gap=np.array([one.gap for one in found]) if mode == EXPECTED else None,
            names=None if by is None else (by,),
            report=_report(ranking, found),
            calibration=calibration,
            conditions=conditions,
        )
        text = self._in_words(words, result, calibration, guess)
        return replace(result, bounds=NoBounds(text))

    def _in_words(
        self,
        words: str,
        result: LikelyReranking,
        calibration: Table | None,
        guess: GroupProbability,
    ) -> str:
        """Return the guarantee in one sentence, with what it rests on."""
        if self.labels == "expected":
            report: Any = result.report
            mean = float(np.mean(report["chance"])) if len(report["chance"]) else 1.0
            kept = (
                f"expected counts: {words}; the counts themselves keep this with probability "
                f"{mean:.2f} in the mean over lists"
            )
        else:
            over = "in all prefixes together" if self.over == "joint" else "in each prefix"
            kept = f"with probability >= {self.chance:g} {over}: {words}"
        return f"{kept}; {calibration_words(calibration, guess)}"

    def _arranged(self, pool: GuessedPool, conditions: "Conditions") -> "list[LikelyList]":
        """Return every list, or raise or warn about those whose bounds cannot hold."""
        from .likely_lists import arrange_list

        values, found, failed = slot_values(pool), [], []
        for query in progress(range(len(pool.limit)), "re-ranking"):
            begin, n = int(pool.offsets[query]), int(pool.shown[query])
            share, floors = conditions.of_list(query, pool.order[begin : begin + n])
            own = values[begin : begin + n]
            one = arrange_list(
                own, share, floors, conditions, closest=self.on_infeasible == "best",
                time_limit=self.time_limit,
            )  # fmt: skip
            found.append(replace(one, order=one.order + begin))
            if one.missed is not None:
                failed.append((query, one))
                if self.on_infeasible == "error":
                    break
        if failed:
            reason = conditions.reason(failed[0][1])
            queries = np.array([query for query, _ in failed])
            raise_or_warn(self, pool, queries, reason, "the closest ranking is returned")
        return found


def _report(ranking: Ranking, found: "list[LikelyList]") -> Table:
    columns = {
        "query": ranking.data.qids,
        "chance": np.array([one.chance for one in found]),
        "least": np.array([one.least for one in found]),
        "score": np.array([one.score for one in found]),
        "greedy_score": np.array([one.greedy_score for one in found]),
    }
    return Table(columns, ranking.data.backend)


def refuse_guesses(owner: str, shares: Mapping[Any, float], why: str) -> None:
    """Raise for a re-ranker that cannot use probabilities of groups, and name one that can."""
    rounded = {label: round(float(share), 4) for label, share in shares.items()}
    raise DataError(
        f"{owner} needs labels, and some groups are known as probabilities only: {why}; "
        f"PrefixConstraints(lower={rounded}, labels='chance') keeps the same shares with a "
        "stated probability"
    )


#: Bands of the score.
N_BANDS = 10
#: Fewest labels that are compared.
FEWEST = 100
#: Largest difference of mean probability and share that is not reported.
LARGEST = 0.05


def calibration_table(data: RankingData, by: Any, guess: GroupProbability) -> Table | None:
    """Return mean probability and share of each group in ten bands of the score, or None.

    Verified labels are compared with the probabilities of the same people, weighted by the inverse
    of their rate of checking. Without them, known labels are compared with the probabilities of
    other people in the band, which assumes that labels are missing at random there. Warns if a
    difference exceeds 0.05 and twice its standard error. None with fewer than 100 labels.
    """
    attribute = data.attribute(by)
    table, checked = guess.table, attribute.checked
    if checked is not None and guess.source != "checks":
        seen = checked.codes >= 0
        truth, weight = checked.codes, np.where(seen, 1.0 / checked.rate, 0.0)
        given = attribute.probability if attribute.probability is not None else table
        guessed = seen & ~np.isnan(given).any(axis=1)
        seen = guessed
    elif guess.source == "probabilities" and attribute.known.any():
        seen, truth, given = attribute.known, attribute.codes, table
        guessed, weight = ~seen, np.ones(len(seen))
    else:
        return None
    if seen.sum() < FEWEST or not guessed.any():
        return None
    band = _bands(data, seen)
    columns: dict[str, list[Any]] = {
        name: [] for name in ("band", "group", "n", "probability", "share", "gap", "error")
    }
    for b in range(N_BANDS):
        mine, other = seen & (band == b), guessed & (band == b)
        if not mine.any() or not other.any():
            continue
        for code, label in enumerate(attribute.categories):
            share = float(np.average(truth[mine] == code, weights=weight[mine]))
            mean = float(np.average(given[other, code], weights=np.maximum(weight[other], 1e-300)))
            spread = weight[mine] / weight[mine].sum()
            error = float(np.sqrt(mean * (1.0 - mean) * (spread**2).sum()))
            values = (b + 1, label, int(mine.sum()), mean, share, mean - share, error)
            for name, entry in zip(columns, values, strict=True):
                columns[name].append(entry)
    found = Table({name: np.array(values) for name, values in columns.items()}, data.backend)
    _warn_of_bands(found)
    return found


def _bands(data: RankingData, seen: np.ndarray) -> np.ndarray:
    """Return the band of each row: tenths of the people with labels by score, the top first."""
    score = data.score if data.score is not None else -np.asarray(data.position)
    score = np.asarray(score, dtype=np.float64)
    edges = np.quantile(score[seen], np.arange(1, N_BANDS) / N_BANDS)
    return N_BANDS - 1 - np.searchsorted(edges, score, side="right")


def _worst(table: Table) -> int | None:
    """Return the row with the largest difference that is not noise, if it is reported."""
    gap, error = np.abs(table["gap"]), np.asarray(table["error"])
    clear = (gap > LARGEST) & (gap > 2.0 * error)
    return int(np.argmax(np.where(clear, gap, -1.0))) if clear.any() else None


def _warn_of_bands(table: Table) -> None:
    at = _worst(table)
    if at is None:
        return
    warnings.warn(
        f"the probabilities of group {shown(table['group'][at])} are not right at every score: in "
        f"band {table['band'][at]} of {N_BANDS} their mean is {table['probability'][at]:.2f} and "
        f"the share of labels is {table['share'][at]:.2f}; the guarantee rests on them, so "
        "estimate them given the score as well",
        EquirankWarning,
        stacklevel=outer_stacklevel(),
    )


def calibration_words(table: Table | None, guess: GroupProbability) -> str:
    """Return in a few words what the probabilities rest on."""
    if table is None or len(table["gap"]) == 0:
        return {
            "errors": "it rests on the stated errors of recording, which were not checked",
            "checks": "it rests on probabilities estimated from verified labels",
        }.get(guess.source, "it rests on unchecked probabilities")
    at = _worst(table)
    if at is not None:
        return f"it rests on probabilities that are off by {abs(table['gap'][at]):.2f} in one band"
    coarse = int((2.0 * np.asarray(table["error"]) > LARGEST).sum())
    if coarse:
        return (
            "it rests on probabilities that were compared with too few labels to show a difference "
            f"of {LARGEST:g} in every band of the score"
        )
    return f"it rests on probabilities within {LARGEST:g} of labels in ten bands of the score"
