"""Explanation: the reasons for an item's position after a re-ranking, as sentences and facts."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.data import RankingData
from ..core.errors import DataError, EquirankWarning, InfeasibleError
from ..core.ranking import Ranking
from .group_bounds import OverlappingBounds

if TYPE_CHECKING:
    from .reranking import Reranking

__all__ = ["Explanation", "Words", "explain", "lowest_entry"]


def lowest_entry(result: "Reranking", query: int, row: int, target: int) -> dict[str, Any]:
    """Find the last original position from which a row reaches a target position, by bisection.

    The list is re-ranked with the row at each tried position and all other rows in their order.
    This assumes that a better position before never leads to a worse one after.

    Parameters
    ----------
    result : Reranking
        Result of a re-ranker that uses the order only (class attribute ``reads_order``).
    query : int
        Index of the list.
    row : int
        The stored row.
    target : int
        The position to reach.

    Returns
    -------
    dict
        ``lowest_place``, that position; ``lowest_score``, the score of the item there;
        ``score_above``, whether an equal score is too low (ties keep input order); ``any_score``,
        whether the last position suffices. All None or False if even the first position does not
        suffice or the re-ranker uses more than the order.
    """
    found: dict[str, Any] = {"lowest_place": None, "lowest_score": None}
    found |= {"score_above": False, "any_score": False}
    reranker = result.reranker
    if reranker is None or not getattr(reranker, "reads_order", False) or target < 1:
        return found
    data = result.data.select([query])
    begin = int(result.data.offsets[query])
    positions = result.places_before[begin : int(result.data.offsets[query + 1])]
    order = np.argsort(positions, kind="stable")
    others = order[(positions[order] > 0) & (order != row - begin)]

    def reaches(at: int) -> bool:
        moved = np.insert(others, at, row - begin)
        return _position_after(reranker, data, moved, row - begin) <= target

    low, high = 0, len(others)
    if not reaches(low):
        return found
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if reaches(middle) else (low, middle - 1)
    found |= {"lowest_place": low + 1, "any_score": low == len(others)}
    score = result._made_from.data.score
    if score is not None and low < len(others):
        following = int(others[low])
        found |= {
            "lowest_score": float(score[begin + following]),
            "score_above": following < row - begin,
        }
    return found


def _position_after(reranker: Any, data: RankingData, order: np.ndarray, row: int) -> float:
    """Re-rank one list and return the new position of a row, infinity if it has none."""
    position = np.zeros(data.n_rows, dtype=np.int32)
    position[order] = np.arange(1, len(order) + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EquirankWarning)
            after = reranker(Ranking.from_positions(data, data.to_original(position)))
    except InfeasibleError:
        return np.inf
    found = int(after.position[row])
    return found if found > 0 else np.inf


@dataclass(frozen=True)
class Explanation:
    """Reasons for the position of an item.

    Attributes
    ----------
    sentences : tuple of str
        The reasons, one sentence each.
    facts : dict
        ``item, row, query, group, score``; ``from`` and ``to`` (positions, 0 = not shown);
        ``move`` ("up", "down", "left out" or "none"); ``binding`` (None, or ``prefix, group,
        bound, needed, count``: the first prefix whose bound would fail at the old position);
        ``by_probability`` (whether the guarantee counts probabilities of groups);
        ``instead`` (the item that the original order would put there), ``next_in_group`` (the next
        item of its group); ``score_given_up`` (how much higher the score of ``instead`` is);
        ``target_place`` (the cutoff, else its old or new position) and what would reach it:
        ``lowest_place`` (the last sufficient original position, None if unknown),
        ``lowest_score`` (the score of the item there), ``score_above`` (whether an equal score is
        too low), ``any_score`` (whether any score suffices). With several draws also ``shown``
        (the share of draws that show it) and ``mean_place``.

    Examples
    --------
    >>> from equirank.rerankers import DetGreedy
    >>> result = DetGreedy().rerank([4, 3, 2, 1], sensitive_features=list("mmff"))
    >>> print(result.explain(2))
    Row 2 (f) moved up from position 3 to position 2.
    The first 2 positions must hold at least 1 of f; without it they would hold 0.
    In the original order row 1 would be at position 2; its score is higher by 1.
    The next item of f is row 3.
    With a score of at least 1 it would have reached position 2.
    """

    sentences: tuple[str, ...]
    facts: dict[str, Any]

    def __str__(self) -> str:
        """Return the sentences, one per line."""
        return "\n".join(self.sentences)

    def to_dict(self) -> dict[str, Any]:
        """Return facts and sentences as plain values."""
        return {**self.facts, "sentences": list(self.sentences)}


@dataclass(frozen=True, eq=False)
class _List:
    """One list of a re-ranking: its stored rows before and after, best first."""

    result: "Reranking"
    query: int
    old: np.ndarray
    new: np.ndarray

    @classmethod
    def of(cls, result: "Reranking", query: int) -> "_List":
        begin, end = result.data.offsets[query : query + 2].tolist()
        return cls(
            result,
            query,
            _best_first(result.places_before[begin:end]) + begin,
            _best_first(result.places[begin:end]) + begin,
        )

    def named(self, row: int) -> dict[str, Any]:
        """Return the id or number of a row, its group and score."""
        data = self.result.data
        known: dict[str, Any] = {"row": data.place(row)[1]}
        if data.ids is not None:
            known["item"] = _plain(data.ids[row])
        if self.result.has_groups:
            groups = self.result.groups
            code = int(groups.codes[row])
            known["group"] = None if code < 0 else groups.categories[code]
        score = self.result._made_from.data.score
        known["score"] = None if score is None else float(score[row])
        return known


def _best_first(positions: np.ndarray) -> np.ndarray:
    order = np.argsort(positions, kind="stable")
    return order[positions[order] > 0]


@dataclass(frozen=True)
class Words:
    """How sentences name an item.

    Attributes
    ----------
    it, its, one, several : str
        The item, what belongs to another one, one of several, and several.
    shown : mapping
        Names of groups in sentences, by their labels.
    sign : float
        -1 if lower scores rank first, and the scores of the data are therefore negative.
    """

    it: str = "it"
    its: str = "its"
    one: str = "item"
    several: str = "items"
    shown: Mapping[str, str] = field(default_factory=dict)
    sign: float = 1.0

    @classmethod
    def about(cls, shown: Mapping[Any, str] | None, lower_first: bool) -> "Words":
        """Return words about people if groups may have names, else about items."""
        sign = -1.0 if lower_first else 1.0
        if shown is None:
            return cls(sign=sign)
        names = {str(group): word for group, word in shown.items()}
        return cls("this person", "the", "person", "people", names, sign)

    def group(self, label: Any) -> str:
        """Return the name of a group."""
        return self.shown.get(str(label), str(label))


def explain(
    result: "Reranking", item: Any, query: Any = None, words: Words | None = None
) -> Explanation:
    """Explain the position of one item."""
    words = words or Words()
    if result.n_draws > 1:
        return _explain_draws(result, item, query, words)
    if isinstance(result.bounds, OverlappingBounds) and result.names:
        return _explain_attributes(result, result.bounds, item, query, words)
    return _explain_one(result, item, query, words)


def _explain_draws(result: "Reranking", item: Any, query: Any, words: Words) -> Explanation:
    """Report the positions of an item over the draws, and the reasons of the first draw."""
    found = explain(next(result.each_draw()), item, query, words)
    row = _find(result, item, query)
    positions = result.position[row][result.position[row] > 0]
    facts = {"shown": float(result.shown_share[row]), "mean_place": float(result.mean_places[row])}
    sentence = f"Over {result.n_draws} draws {words.it} is shown in {facts['shown']:.0%}"
    if len(positions):
        sentence += f", at position {facts['mean_place']:.4g} on average ({positions.min()} to "
        sentence += f"{positions.max()})"
    return Explanation((f"{sentence}. In the first draw:", *found.sentences), found.facts | facts)


def _explain_attributes(
    result: "Reranking", bounds: OverlappingBounds, item: Any, query: Any, words: Words
) -> Explanation:
    """Explain by the first attribute with a binding bound, else by the first attribute."""
    first = None
    for name, part in bounds.parts.items():
        found = _explain_one(replace(result, bounds=part, names=(name,)), item, query, words)
        if found.facts["binding"] is not None:
            return found
        first = first or found
    return first or _explain_one(result, item, query, words)


def _explain_one(result: "Reranking", item: Any, query: Any, words: Words) -> Explanation:
    row = _find(result, item, query)
    at = int(np.searchsorted(result.data.offsets, row, side="right")) - 1
    one = _List.of(result, at)
    was, now = int(result.places_before[row]), int(result.places[row])
    facts = {"query": _plain(result.data.qids[at])} | one.named(row)
    facts |= {"from": was, "to": now, "move": _move(was, now, len(one.new))}
    facts["by_probability"] = result.by_probability
    facts["binding"] = _binding(one, was, now)
    facts |= _neighbours(one, row, was, now)
    target = result.k if result.k is not None else (was if was < now or now == 0 else now)
    target = min(target, len(one.new))
    facts["target_place"] = target
    facts |= lowest_entry(result, at, row, target)
    return Explanation(tuple(_sentences(facts, words)), facts)


def _find(result: "Reranking", item: Any, query: Any) -> int:
    """Return the stored row of an id, or of a row number in the input."""
    data = result.data
    keys = data.ids if data.ids is not None else data.rows
    word = "row" if data.ids is None else "id"
    if keys is None:
        fits = isinstance(item, (int, np.integer)) and 0 <= int(item) < data.n_rows
        found = np.array([int(item)] if fits else [], dtype=np.int64)
    else:
        found = np.flatnonzero(keys == item)
    if query is not None and len(found):
        at = data.query_index(query)
        found = found[(found >= data.offsets[at]) & (found < data.offsets[at + 1])]
    if len(found) == 0:
        raise DataError(f"item must be the {word} of an item of the ranking, got {item!r}")
    if len(found) > 1:
        queries = sorted({str(data.place(int(row))[0]) for row in found[:5]})
        raise DataError(
            f"query must be named, since the {word} {item!r} occurs {len(found)} times "
            f"(in {', '.join(queries)})"
        )
    return int(found[0])


def _move(was: int, now: int, shown: int) -> str:
    if now == 0:
        return "left out" if 0 < was <= shown else "none"
    return "up" if now < was else "down" if now > was else "none"


def _binding(one: _List, was: int, now: int) -> dict[str, Any] | None:
    """Find the first prefix between the two positions whose bound is met exactly."""
    result, shown = one.result, len(one.new)
    if not result.has_groups or shown == 0:
        return None
    now = now or shown + 1
    if was == now or was == 0:
        return None
    first, last = min(was, now), min(max(was, now) - 1, shown)
    groups = result.groups
    codes = groups.codes[one.new]
    counts = np.cumsum(codes[:, None] == np.arange(len(groups.categories)), axis=0)
    mine = int(groups.codes[one.old[was - 1]])
    up = now < was
    for bound, table in (
        ("lower", result.bounds.lower(one.query, counts)),
        ("upper", result.bounds.upper(one.query, counts)),
    ):
        if table is None:
            continue
        size = min(last, len(table))
        tight = counts[first - 1 : size] == table[first - 1 : size]
        # A lower bound moves its own group up and other groups down; an upper bound the reverse.
        own = np.arange(tight.shape[1]) == mine
        tight &= own if up == (bound == "lower") else ~own
        tight &= table[first - 1 : size] > (0 if bound == "lower" else -1)
        hits = np.argwhere(tight)
        if len(hits):
            at, group = hits[0].tolist()
            prefix = first + at
            return {
                "prefix": prefix,
                "group": groups.categories[group],
                "bound": bound,
                "needed": int(table[prefix - 1, group]),
                "count": int(counts[prefix - 1, group]),
            }
    return None


def _neighbours(one: _List, row: int, was: int, now: int) -> dict[str, Any]:
    """Find the item that the original order would put there, and the next one of the group."""
    ahead = set(one.new[: now - 1].tolist()) if now else set(one.new.tolist())
    instead: int | None = None
    if now:
        instead = next((r for r in one.old.tolist() if r not in ahead), None)
        instead = None if instead == row else instead
    elif 0 < was <= len(one.new):
        instead = int(one.new[was - 1])
    facts: dict[str, Any] = {"instead": None if instead is None else one.named(instead)}
    score = one.result._made_from.data.score
    given_up = None
    if instead is not None and score is not None:
        given_up = float(score[instead] - score[row]) * (1 if now else -1)
    facts["score_given_up"] = given_up
    following = None
    if one.result.has_groups:
        codes = one.result.groups.codes
        behind = [r for r in one.old.tolist() if codes[r] == codes[row] >= 0]
        after = behind[behind.index(row) + 1 :] if row in behind else []
        following = after[0] if after else None
    facts["next_in_group"] = None if following is None else one.named(following)
    return facts


def _sentences(facts: dict[str, Any], words: Words) -> list[str]:
    group = facts.get("group")
    who = _name(facts, first=True) + ("" if group is None else f" ({words.group(group)})")
    was, now, move = facts["from"], facts["to"], facts["move"]
    if move == "left out":
        sentences = [f"{who} was at position {was} and is left out."]
    elif now == 0:
        sentences = [f"{who} was at position {was} and is not shown, as before."]
    elif move == "none":
        sentences = [f"{who} keeps position {now}."]
    else:
        sentences = [f"{who} moved {move} from position {was} to position {now}."]
    sentences += _binding_sentence(facts, words)
    sentences += _neighbour_sentences(facts, words)
    return sentences + _entry_sentence(facts, words)


def _binding_sentence(facts: dict[str, Any], words: Words) -> list[str]:
    binding, move = facts["binding"], facts["move"]
    if binding is None and move not in ("up", "down"):
        return []
    if binding is None and facts["by_probability"]:
        every = f"all {words.several} of each prefix"
        return [f"The guarantee counts probabilities of groups, over {every}."]
    if binding is None:
        return [f"No bound requires this; other {words.several} moved past {words.it}."]
    word = "at least" if binding["bound"] == "lower" else "at most"
    prefix = binding["prefix"]
    top = f"The first {prefix} positions" if prefix > 1 else "The first position"
    head = f"{top} must hold {word} {binding['needed']} of {words.group(binding['group'])}"
    if binding["bound"] == "upper":
        return [f"{head}; they hold {binding['count']}."]
    if binding["group"] == facts.get("group"):
        return [f"{head}; without {words.it} they would hold {binding['count'] - 1}."]
    return [f"{head}; they hold exactly {binding['count']}, so none of these can move down."]


def _neighbour_sentences(facts: dict[str, Any], words: Words) -> list[str]:
    sentences = []
    instead, given_up = facts["instead"], facts["score_given_up"]
    given_up = None if given_up is None else words.sign * given_up
    if instead is not None and facts["to"]:
        more = "" if given_up is None else f"; {words.its} score is {_difference(given_up)}"
        sentences.append(
            f"In the original order {_name(instead)} would be at position {facts['to']}{more}."
        )
    elif instead is not None:
        more = "" if given_up is None else f"; {words.its} score is {_difference(-given_up)}"
        sentences.append(f"{_name(instead, first=True)} is now at position {facts['from']}{more}.")
    if facts["next_in_group"] is not None:
        of = words.group(facts["group"])
        sentences.append(f"The next {words.one} of {of} is {_name(facts['next_in_group'])}.")
    return sentences


def _entry_sentence(facts: dict[str, Any], words: Words) -> list[str]:
    target = f"{words.it} would have reached position {facts['target_place']}"
    if facts["lowest_place"] is None:
        return []
    if facts["any_score"]:
        return [f"With any score {target}."]
    if facts["lowest_score"] is None:
        return [f"From position {facts['lowest_place']} or better {target}."]
    word = "above" if facts["score_above"] else "of at least"
    if words.sign < 0:
        word = "below" if facts["score_above"] else "of at most"
    return [f"With a score {word} {words.sign * facts['lowest_score']:.6g} {target}."]


def _difference(amount: float) -> str:
    if amount == 0:
        return "the same"
    return f"{'higher' if amount > 0 else 'lower'} by {abs(amount):.6g}"


def _name(known: dict[str, Any], first: bool = False) -> str:
    """Return the id of an item, else its row; ``first`` begins a sentence."""
    return str(known["item"]) if "item" in known else f"{'Row' if first else 'row'} {known['row']}"


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
