"""The remedies that can act on a target: re-rankers, cutoffs, and features of a model."""

import inspect
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..auditing.audit_plan import TIMES
from ..core import inputs
from ..core.attribute import Attribute
from ..core.data import RankingData
from ..core.errors import DataError, EquirankWarning
from ..core.ranker import Ranker
from ..core.ranking import Ranking
from ..core.registry import public_classes
from ..core.reranker import Reranker
from ..reports.number_words import number, percent
from ..rerankers.group_bounds import NoBounds
from ..rerankers.margin_lottery import MarginLottery
from ..rerankers.reranking import Reranking
from .list_selection import Selection
from .targets import GroupTarget, Target

__all__ = [
    "EVERYONE_ELSE",
    "Candidate",
    "Made",
    "Situation",
    "cutoff_reaching",
    "feature_candidates",
    "reranker_candidates",
]

#: Most rows times draws of a random re-ranker, and most draws.
MOST_DRAWN, MOST_DRAWS = 2_000_000, 100
#: Most lists for re-rankers that solve a program for each.
MOST_PROGRAMS = 300
#: Longest list for re-rankers that solve a program over it.
LONGEST_PROGRAM = 2_000
#: Strengths of re-rankers that act on whole lists, whatever the cutoff of the target.
WHOLE = frozenset({"eps", "theta", "slack"})
#: Most distinct scores of which every difference is a step of a bonus.
MOST_LEVELS = 200
#: The name of the other side, if it is no single group.
EVERYONE_ELSE = "everyone else"
#: Bounds of strengths that may be neither 0 nor 1.
OPEN = 1e-6
#: Most features of a model that are tried.
MOST_FEATURES = 50


@dataclass(frozen=True, eq=False)
class Made:
    """The ranking that a remedy makes.

    Attributes
    ----------
    top : Ranking
        The order; a lottery is a tie, and several draws have weights. Of people whom a cutoff
        leaves out it says nothing.
    before : Ranking
        The order that it was made from.
    guarantee : str
        What is guaranteed about it.
    result : Reranking or None
        The result of a re-ranker whose guarantee can be checked.
    params : dict
        The parameters of the re-ranker.
    """

    top: Ranking
    before: Ranking
    guarantee: str = ""
    result: Reranking | None = None
    params: dict[str, Any] = field(default_factory=dict)

    @property
    def holds(self) -> np.ndarray | None:
        """Whether the guarantee holds in each list; None if there is none, or it is empty."""
        if self.result is None or not self.result.guaranteed:
            return None
        return self.result.holds_per_query

    @cached_property
    def ranking(self) -> Ranking:
        """The order of everyone: those whom a cutoff leaves out follow in their order before."""
        position, last = _completed(self.before, self.top)
        return Ranking(self.top.data, position, last, self.top.weights)


@dataclass(frozen=True, eq=False)
class Situation:
    """A ranking and a target, and the groups as re-rankers see them.

    Attributes
    ----------
    ranking : Ranking
        The lists in the order that they have now, before any remedy.
    target : Target
        What to reach.
    promoted, others : str
        The two sides of the attribute that re-rankers see: who must rank higher, and the others.
        ``promoted`` is empty if the target is about more than two groups.
    seen : RankingData
        The data with that attribute alone.
    seed : int
        Seed of random remedies.
    shown : mapping
        Names of groups in sentences, by attribute.
    """

    ranking: Ranking
    target: Target
    promoted: str
    others: str
    seen: RankingData
    seed: int
    shown: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        ranking: Ranking,
        target: Target,
        seed: int,
        shown: Mapping[str, Mapping[str, str]] | None = None,
    ) -> "Situation":
        """Return the situation of a target: groups that are not compared count as unknown."""
        data = ranking.data
        attribute = target.attribute(data)
        name = target.by if isinstance(target.by, str) else TIMES.join(target.by)
        side, group, other = _sides(ranking, target, attribute)
        if side is None:
            seen = replace(data, sensitive={name: attribute})
            return cls(ranking, target, "", "", seen, seed, shown or {})
        codes = np.where(side == 1, 0, np.where(side == 0, 1, -1)).astype(np.int32)
        seen = replace(data, sensitive={name: Attribute(inputs.frozen(codes), (group, other))})
        return cls(ranking, target, group, other, seen, seed, shown or {})

    def on(self, queries: np.ndarray) -> "Situation":
        """Return the situation of some of the lists."""
        data = self.ranking.data
        rows = np.isin(data.query_of_rows(), queries)
        last, weights = self.ranking.last, self.ranking.weights
        part = data.select(queries)
        ranking = Ranking(
            part,
            self.ranking.position[rows],
            None if last is None else last[rows],
            None if weights is None else weights[queries],
        )
        target = self.target.on(part, queries)
        seen = self.seen.select(queries)
        return replace(self, ranking=ranking, target=target, seen=seen)

    @cached_property
    def ordered(self) -> Ranking:
        """The ranking that re-rankers receive: ties are broken in favour of whom they promote.

        So the order of rows does not decide who of tied people is where. Ties between people of
        one side are broken by id if there is one.
        """
        ranking, codes = self.ranking, self.seen.attribute().codes
        if ranking.last is None or ranking.n_draws > 1:
            return Ranking(self.seen, ranking.position, ranking.last, ranking.weights)
        data = ranking.data
        key = np.where(codes < 0, codes.max(initial=0) + 1, codes)
        ids = (
            np.zeros(data.n_rows)
            if data.ids is None
            else np.unique(data.ids, return_inverse=True)[1]
        )
        hidden = ranking.position == 0
        place = np.where(hidden, data.n_rows + 1, ranking.position)
        order = np.lexsort((ids, key, place, data.query_of_rows()))
        position = np.empty(data.n_rows, dtype=np.int32)
        start = np.repeat(data.offsets[:-1], np.diff(data.offsets))
        position[order] = np.arange(1, data.n_rows + 1) - start
        position[hidden] = 0
        return Ranking(self.seen, inputs.frozen(position))

    @property
    def promoted_words(self) -> str:
        """Whom re-rankers promote, in a sentence."""
        if self.promoted in ("", EVERYONE_ELSE):
            return self.promoted or "every group"
        names = self.shown.get(next(iter(self.seen.sensitive)), {})
        return names.get(self.promoted) or f'group "{self.promoted}"'

    @property
    def is_named(self) -> bool:
        """Whether the promoted group has a name for sentences."""
        return self.promoted in self.shown.get(next(iter(self.seen.sensitive)), {})

    @cached_property
    def spread(self) -> float:
        """The largest range of scores within a list."""
        data = self.ranking.data
        if data.score is None:
            return 0.0
        high, low = (f.reduceat(data.score, data.offsets[:-1]) for f in (np.maximum, np.minimum))
        return float((high - low).max())

    @cached_property
    def bonuses(self) -> np.ndarray:
        """The bonuses at which people tie, ascending, if there are few distinct scores."""
        data = self.ranking.data
        levels = np.zeros(0) if data.score is None else np.unique(data.score)
        if not 1 < len(levels) <= MOST_LEVELS:
            return np.zeros(0)
        differences = np.subtract.outer(levels, levels)
        size = float(np.abs(levels).max(initial=0.0)) or 1.0
        _, first = np.unique(np.rint(differences / (1e-9 * size)), return_index=True)
        found = differences.ravel()[first]
        return np.asarray(found[found >= 0])


def _sides(
    ranking: Ranking, target: Target, attribute: Attribute
) -> tuple[np.ndarray | None, str, str]:
    """Return per row 1 for whom to promote, 0 for the others, -1 for neither, and their names."""
    codes, labels = attribute.codes, [str(each) for each in attribute.categories]
    if isinstance(target, GroupTarget) and target.single:
        sides = target.sides[0]
        against = target.gate.against
        other = against if against != "rest" else EVERYONE_ELSE
        if against == "rest" and len(labels) == 2:
            other = next(label for label in labels if label != sides.group)
        raised = target.upwards is (target.quantity != "positions")
        if raised:
            return sides.side, sides.group, other
        side = np.where(sides.side >= 0, 1 - sides.side, -1)
        return side, other, sides.group
    there = [code for code, size in enumerate(attribute.sizes) if size]
    group = getattr(target, "group", "")
    if len(there) != 2 and not group:
        return None, "", ""
    position = ranking.expect(lambda place: place.astype(float))
    relative = position / np.diff(ranking.data.offsets)[ranking.data.query_of_rows()]
    if group:
        code = attribute.code(group)
        side = np.where(codes == code, 1, np.where(codes >= 0, 0, -1))
        names = (labels[code], EVERYONE_ELSE)
    else:
        side = np.where(codes == there[0], 1, np.where(codes == there[1], 0, -1))
        names = (labels[there[0]], labels[there[1]])
    if relative[side == 1].mean() >= relative[side == 0].mean():
        return side, *names
    return np.where(side >= 0, 1 - side, -1), names[1], names[0]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A remedy before its strength is known.

    Attributes
    ----------
    name : str
        The name that tables and sentences use for it.
    uses_group : bool
        Whether it uses the group of a person to decide.
    random : bool
        Whether its order is random.
    strength_name : str
        What the strength is called.
    make : callable
        Maps a situation and a strength in [0, 1] to a `Made`.
    words : callable
        Maps a situation and a strength to a sentence.
    value : callable
        Maps a situation and a strength to the value of the parameter.
    only_full : bool
        Whether only strength 1 makes sense.
    steps : int
        In how many steps strengths differ most, each of which is searched.
    of_model : bool
        Whether it changes a feature of a model.
    """

    name: str
    uses_group: bool
    random: bool
    strength_name: str
    make: Callable[[Situation, float], Made]
    words: Callable[[Situation, float], str]
    value: Callable[[Situation, float], float]
    only_full: bool = False
    steps: int = 1
    of_model: bool = False


def reranker_candidates(
    situation: Situation, *, blind_only: bool, score_error: float | None
) -> tuple[list[Candidate], list[tuple[str, str]]]:
    """Return the re-rankers that can act on the target, and why others are not tried.

    Their classes declare it: ``acts_on`` names the kinds of targets, ``strength`` the parameter to
    search, and ``needs`` whether groups are used.
    """
    found: list[Candidate] = []
    left_out: list[tuple[str, str]] = []
    for name, kind in public_classes(Reranker, ["equirank.rerankers"]).items():
        if situation.target.kind not in kind.acts_on:
            continue
        aware = "sensitive" in kind().current_needs()
        if blind_only and aware:
            continue
        reason = _why_not(situation, name, kind)
        if reason:
            left_out.append((name, reason))
        else:
            found.append(_candidate(situation, name, kind, aware, score_error))
    return found, left_out


def _why_not(situation: Situation, name: str, kind: type[Reranker]) -> str:
    """Return why a re-ranker cannot act here; empty if it can."""
    data, several = situation.ranking.data, not situation.promoted
    if data.score is None and "score" in kind().current_needs():
        return "it needs scores, and the lists have positions only"
    if several and kind.strength in ("phi", "count", "bonus", "ratio"):
        return "it raises one group, and the target is about several"
    if getattr(kind, "unknown", "") == "refused" and situation.seen.attribute().n_unknown:
        return "it needs everyone on one of the two sides, and some people are on neither"
    if name == "BalancedSelection" and not (np.asarray(data.score) > 0).all():
        return "it needs scores above 0"
    sizes = np.diff(data.offsets)
    if kind.slow and (len(sizes) > MOST_PROGRAMS or sizes.max() > LONGEST_PROGRAM):
        return (
            f"it solves a program for each list, and there are more than {MOST_PROGRAMS} lists or "
            f"lists of more than {LONGEST_PROGRAM:,} people"
        )
    return ""


def _candidate(
    situation: Situation,
    name: str,
    kind: type[Reranker],
    aware: bool,
    score_error: float | None,
) -> Candidate:
    """Return the candidate of a re-ranker."""
    limit = None if score_error is None else 1.96 * 2.0**0.5 * score_error

    def params(situation: Situation, strength: float) -> dict[str, Any]:
        return _params(situation, name, kind, strength, limit)

    def make(situation: Situation, strength: float) -> Made:
        given = params(situation, strength)
        reranker = kind(**given)
        chosen = situation.target.selection
        if chosen is not None and chosen.k is None and _cut(kind):
            reranker = reranker.with_limits(chosen.limits)
        return _applied(situation, reranker, given)

    def words(situation: Situation, strength: float) -> str:
        return _sentence(situation, name, kind, params(situation, strength))

    def value(situation: Situation, strength: float) -> float:
        found = params(situation, strength)[kind.strength]
        if isinstance(found, Mapping):
            found = found.get(situation.promoted, strength)
        return float(strength if found is None else found)

    full = kind.strength == "proportions" and not situation.promoted
    fine = len(situation.bonuses) if kind.strength == "bonus" else 1
    return Candidate(name, aware, kind.random, kind.strength, make, words, value, full, fine)


# A table with one entry per parameter.
def _params(
    situation: Situation, name: str, kind: type[Reranker], strength: float, limit: float | None
) -> dict[str, Any]:
    """Return the parameters of a re-ranker at a strength in [0, 1]."""
    group, others, target = situation.promoted, situation.others, situation.target
    inner = min(max(strength, OPEN), 1.0 - OPEN)
    chosen = target.selection
    k = None if chosen is None else chosen.k
    count = max(1, round(strength * (1 if chosen is None else chosen.most)))
    made: dict[str, Any] = {
        "phi": strength,
        "theta": strength,
        "eps": strength,
        "slack": 1.0 - strength,
        "bonus": strength * situation.spread,
        "width": strength * (situation.spread if limit is None else limit),
        "count": count,
        "ratio": strength * _ratio_of(target),
    }
    if group:
        made |= {"p": inner, "lower": {group: strength}}
        made["proportions"] = {group: strength, others: 1.0 - strength}
        if name == "BalancedSelection":
            made["lower"] = {group: count}
    else:
        attribute = situation.seen.attribute()
        shares = attribute.sizes / max(attribute.sizes.sum(), 1)
        each = dict(zip(attribute.categories, shares.tolist(), strict=True))
        largest = max(each, key=lambda label: each[label])
        made["lower"] = {label: strength * share for label, share in each.items()}
        made["p"] = {g: max(inner * s, OPEN) for g, s in each.items() if g != largest}
        made["proportions"] = None  # the shares of each list, or nothing
    given = {kind.strength: made[kind.strength]}
    if kind.strength == "bonus" and len(situation.bonuses):
        steps = strength * len(situation.bonuses)
        at = min(int(steps), len(situation.bonuses) - 1)
        given = {"bonus": float(situation.bonuses[at]), "tied_first": min(steps - at, 1.0)}
    takes = inspect.signature(kind).parameters
    if "protected" in takes and group:
        given["protected"] = group
    if k is not None and _cut(kind):
        given["k"] = k
    if "on_infeasible" in takes:
        given["on_infeasible"] = "best"
    if "random_state" in takes:
        given["random_state"] = situation.seed
    if name == "EpsilonGreedy":
        rows = situation.ranking.data.n_rows
        given["n_draws"] = int(np.clip(MOST_DRAWN // rows, 1, MOST_DRAWS))
    return given


def _cut(kind: type[Reranker]) -> bool:
    """Return whether a re-ranker fills the positions of a selection, and not whole lists."""
    return "k" in inspect.signature(kind).parameters and kind.strength not in WHOLE


def _ratio_of(target: Target) -> float:
    """Return the ratio of the promoted side that a target about selection asks for."""
    ratio = target.limit if target.upwards else 1.0 / target.limit if target.limit else np.inf
    strict = target.sign in ("<", ">")
    return float(ratio * (1.0 + 1e-6 if strict else 1.0))


def _applied(situation: Situation, reranker: Reranker, given: dict[str, Any]) -> Made:
    """Apply a re-ranker, and append those whom its cutoff leaves out in their order before."""
    before, data = situation.ordered, situation.ranking.data
    shown = {name: value for name, value in given.items() if name != "on_infeasible"}
    if isinstance(reranker, MarginLottery):
        plain = situation.ranking
        tied = reranker.tied(Ranking(situation.seen, plain.position, plain.last))
        words = f"people whose scores are within {reranker.width:g} have equal chances"
        return Made(Ranking(data, tied.position, tied.last), before, words, params=shown)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EquirankWarning)
        result = reranker(before)
    top = Ranking(data, result.position, result.last, result.weights)
    if not isinstance(result, Reranking):
        return Made(top, before, params=shown)
    words, bound = result.bounds.words, not isinstance(result.bounds, NoBounds)
    if "slack" in given:
        words, bound = "mean exposures of the groups differ by at most the slack", True
    return Made(top, before, words if bound else "", result if bound else None, shown)


def _completed(before: Ranking, after: Ranking) -> tuple[np.ndarray, np.ndarray | None]:
    """Return positions of everyone who was shown: those left out follow in their order before."""
    columns = after.position.reshape(after.data.n_rows, -1)
    missing = (columns == 0) & (before.position > 0).reshape(-1, 1)
    if not missing.any():
        return after.position, after.last
    order, offsets = before.slots().order, after.data.offsets
    begin, sizes = offsets[:-1], np.diff(offsets)
    filled = columns.copy()
    for draw in range(columns.shape[1]):
        out = missing[order, draw]
        count = np.concatenate([[0], np.cumsum(out)])
        shown = sizes - (count[offsets[1:]] - count[begin])
        shown -= np.add.reduceat((before.position == 0).astype(np.int64), begin)
        rank = count[1:] + np.repeat(shown - count[begin], sizes)
        filled[order[out], draw] = rank[out]
    position, last = np.asarray(filled.reshape(after.position.shape)), after.last
    if last is not None:
        last = np.where(missing.reshape(last.shape), position, last).astype(np.int32)
        last = inputs.frozen(last)
    return inputs.frozen(position), last


def _points(value: float) -> str:
    return f"{value:.4g}"


# Long, since it is a table: one text per kind of strength.
def _sentence(
    situation: Situation, name: str, kind: type[Reranker], given: Mapping[str, Any]
) -> str:
    """Return what a remedy does, in one sentence."""
    who = situation.promoted_words
    people = who if situation.is_named else f"of {who}"
    everyone = f"everyone in {who}" if not situation.is_named else f"all {who}"
    k, value = given.get("k"), given[kind.strength]
    share = value
    if isinstance(value, Mapping) and situation.promoted:
        share = value[situation.promoted]
    top = "Each beginning of a list" if k is None else f"Each beginning of the top {k}"
    whole = "The list" if k is None else f"The top {k}"
    chosen = situation.target.selection
    limited = chosen is not None and chosen.k is None and _cut(kind)
    if limited:
        top, whole = "Each beginning of the selected part of a list", "The selected of each list"
    if not situation.promoted and kind.strength in ("p", "lower", "proportions"):
        return f"{top} holds at least the share of each group in all lists, scaled ({name})."
    texts: dict[str, Callable[[], str]] = {
        "p": lambda: (
            f"{top} holds as many {people} as a fair draw with a probability of "
            f"{percent(share)} would, at level 0.1."
        ),
        "phi": lambda: f"{top} holds at least {percent(share)} {people}, rounded up.",
        "lower": lambda: (
            f"{whole} hold at least {share} {people}."
            if name == "BalancedSelection"
            else f"{top} holds at least {percent(share)} {people}, rounded down."
        ),
        "proportions": lambda: (
            f"{top} holds at least {percent(share)} {people} and "
            f"{percent(1.0 - share)} of the others, rounded down."
        ),
        "count": lambda: f"{whole} hold at least {value} {people}.",
        "ratio": lambda: (
            f"{'Among the selected' if limited else f'In the top {k}'}, the lowest of the others "
            "are exchanged for the next of "
            f"{who} where that costs least."
        ),
        "theta": lambda: (
            f"The scores of every group are moved {percent(value)} of the way to the "
            "distribution that all groups share."
        ),
        "bonus": lambda: (
            f"{_points(value)} points are added to the score of {everyone}"
            f"{_tie_words(given.get('tied_first'))}."
        ),
        "slack": lambda: (
            "A random order in which the mean exposures of the groups differ by at "
            f"most {number(value)}."
        ),
        "eps": lambda: (
            "Each position is swapped with a random later one with a probability of "
            f"{percent(value)}."
        ),
        "width": lambda: (
            f"People whose scores are within {_points(value)} points of the cutoff "
            "are drawn by lot."
            if k is not None or limited
            else f"People within a band of {_points(value)} points of score are drawn by lot."
        ),
    }
    return texts[kind.strength]()


def _tie_words(share: float | None) -> str:
    if share is None:
        return ""
    return f"; of those who then tie with others, {percent(share)} rank above them"


def cutoff_reaching(target: GroupTarget, ranking: Ranking) -> Selection | None:
    """Return the nearest other cutoff at which the target is reached; None if none does.

    Of two equally near cutoffs the one that selects more people is returned. A quota has none.
    """
    chosen = target.selection
    if ranking.n_draws > 1 or not target.single or chosen is None:
        return None
    if chosen.k is None:
        return _score_reaching(target, ranking, chosen)
    longest = int(np.diff(ranking.data.offsets).max())
    first = ranking.position.astype(np.int64)
    last = first if ranking.last is None else ranking.last.astype(np.int64)
    totals = []
    for rows, weight in _weights(target, ranking):
        steps = np.zeros(longest + 2)
        share = weight / (last[rows] - first[rows] + 1)
        np.add.at(steps, first[rows], share)
        np.add.at(steps, last[rows] + 1, -share)
        totals.append(np.cumsum(np.cumsum(steps))[1 : longest + 1])
    reached = [k for k in _reaching(target, *totals) if k < longest]
    given = chosen.k
    found = min(reached, key=lambda k: (abs(k - given), -k), default=None)
    return None if found is None else Selection.top(ranking.data.n_queries, found)


def _weights(target: GroupTarget, ranking: Ranking) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the rows of both sides, and what the selection of each adds to its sum."""
    sides = target.sides[0]
    n1, n2 = sides.sizes
    used = sides.used[sides.query] & (ranking.position > 0)
    n = np.maximum(n1 + n2, 1.0)
    for side, size in ((1, n2), (0, n1)):
        rows = np.flatnonzero(used & (sides.side == side))
        yield rows, (size / n)[sides.query[rows]]


def _reaching(target: GroupTarget, above: np.ndarray, below: np.ndarray) -> list[int]:
    """Return where the ratio of two sums reaches the target, counted from 1."""
    with np.errstate(divide="ignore", invalid="ignore"):
        values = above / below
    return [
        at
        for at, value in enumerate(values.tolist(), 1)
        if np.isfinite(value) and target.reached(value)
    ]


def _score_reaching(target: GroupTarget, ranking: Ranking, chosen: Selection) -> Selection | None:
    """Return the score cutoff nearest to the given one at which the target is reached."""
    if chosen.cutoff is None or ranking.data.score is None:
        return None
    score = np.asarray(ranking.data.score, dtype=float)
    levels = np.unique(score)[::-1]
    totals = []
    for rows, weight in _weights(target, ranking):
        at = len(levels) - 1 - np.searchsorted(levels[::-1], score[rows])
        totals.append(np.cumsum(np.bincount(at, weight, len(levels))))
    reached = levels[np.array(_reaching(target, *totals), dtype=np.int64) - 1]
    if not len(reached) or np.isnan(chosen.cutoff):
        return None
    nearest = min(reached.tolist(), key=lambda level: (abs(level - chosen.cutoff), level))
    return chosen.from_score(ranking.data, float(nearest))


def feature_candidates(
    model: Ranker, data: RankingData
) -> tuple[list[Candidate], list[tuple[str, str]]]:
    """Return the remedies that leave a feature out of a model's scores, or cap it.

    Parameters
    ----------
    model : Ranker
        A fitted ranker.
    data : RankingData
        The lists, with the features.
    """
    X = data.X
    if X is None:
        raise DataError("data must have features if a model is given, got none")
    if not isinstance(X, np.ndarray):
        return [], [("features", "features of a sparse array are not changed")]
    names = data.feature_names or [f"feature {at}" for at in range(X.shape[1])]
    listed = [str(name) for name in names][:MOST_FEATURES]
    found = list(_features(model, listed, frozenset(data.categories)))
    left_out = [
        (f"feature {name}", f"only the first {MOST_FEATURES} features are tried")
        for name in list(names)[MOST_FEATURES:]
    ]
    return found, left_out


def _features(model: Ranker, names: list[str], texts: frozenset[str]) -> Iterator[Candidate]:
    """Yield each feature left out, and capped unless it is no number."""
    for at, name in enumerate(names):
        text = name in texts
        usual = "most frequent value" if text else "median"
        yield Candidate(
            f"Without {name}",
            False,
            False,
            "leave out",
            lambda situation, _, at=at, text=text: _rescored(  # type: ignore[misc]
                model, situation, at, _usual(situation, at, text)
            ),
            lambda _, __, name=name, usual=usual: (  # type: ignore[misc]
                f'The feature "{name}" counts as its {usual} for everyone.'
            ),
            lambda _, __: 1.0,
            only_full=True,
            of_model=True,
        )
        if text:
            continue
        yield Candidate(
            f"Cap {name}",
            False,
            False,
            "cap",
            lambda situation, s, at=at: _rescored(  # type: ignore[misc]
                model, situation, at, np.minimum(_column(situation, at), _cap(situation, at, s))
            ),
            lambda situation, s, at=at, name=name: (  # type: ignore[misc]
                f'The feature "{name}" counts as {_points(_cap(situation, at, s))} where it is '
                "larger."
            ),
            lambda situation, s, at=at: _cap(situation, at, s),  # type: ignore[misc]
            of_model=True,
        )


def _column(situation: Situation, at: int) -> np.ndarray:
    return np.asarray(situation.ranking.data.X)[:, at]


def _usual(situation: Situation, at: int, text: bool) -> float:
    """Return the median of a feature, or its most frequent value if it is no number."""
    column = _column(situation, at)
    if not text:
        return float(np.nanmedian(column))
    values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    return float(values[counts.argmax()])


def _cap(situation: Situation, at: int, strength: float) -> float:
    column = _column(situation, at)
    return float(np.nanquantile(column, 1.0 - strength, method="inverted_cdf"))


def _rescored(model: Ranker, situation: Situation, at: int, values: Any) -> Made:
    """Return the ranking by a model that sees other values of one feature."""
    data = situation.ranking.data
    X = np.array(data.X, copy=True)
    X[:, at] = values
    ranking = model.rank(replace(data, X=X))
    made = Ranking(data, ranking.position, ranking.last, ranking.weights)
    return Made(made, situation.ranking)
