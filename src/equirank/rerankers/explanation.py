"""Explanation: why an item stands where it stands after a re-ranking, in sentences and as facts."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.data import RankingData
from ..core.errors import DataError, EquirankWarning, InfeasibleError
from ..core.ranking import Ranking

if TYPE_CHECKING:
    from .reranking import Reranking

__all__ = ["Explanation", "explain", "lowest_entry"]


def lowest_entry(result: "Reranking", query: int, row: int, target: int) -> dict[str, Any]:
    """Find the latest place in the given order from which a row reaches a place, by halving.

    The list is re-ranked anew with the row put elsewhere, all others in their order, so the answer
    is the algorithm's own. It supposes that a better place before never gives a worse one after.

    Parameters
    ----------
    result : Reranking
        Of a re-ranker that reads the order only (its class says so with ``reads_order``).
    query : int
        Index of the list.
    row : int
        The stored row.
    target : int
        The place to reach.

    Returns
    -------
    dict
        ``lowest_place``; ``lowest_score``, the score of who stands there, and ``score_above``,
        whether the score must lie above it (equal scores keep the order of rows); ``any_score``,
        where the last place is enough. All None or False where even the first place is not enough,
        or the method cannot tell.
    """
    found: dict[str, Any] = {"lowest_place": None, "lowest_score": None}
    found |= {"score_above": False, "any_score": False}
    reranker = result.reranker
    if reranker is None or not getattr(reranker, "reads_order", False) or target < 1:
        return found
    data = result.data.select([query])
    begin = int(result.data.offsets[query])
    places = result.places_before[begin : int(result.data.offsets[query + 1])]
    order = np.argsort(places, kind="stable")
    others = order[(places[order] > 0) & (order != row - begin)]

    def reaches(at: int) -> bool:
        moved = np.insert(others, at, row - begin)
        return _place_after(reranker, data, moved, row - begin) <= target

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


def _place_after(reranker: Any, data: RankingData, order: np.ndarray, row: int) -> float:
    """Re-rank one list given best first; give the row's new place, infinity where it has none."""
    import warnings

    position = np.zeros(data.n_rows, dtype=np.int32)
    position[order] = np.arange(1, len(order) + 1)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EquirankWarning)
            after = reranker(Ranking.from_positions(data, data.to_original(position)))
    except InfeasibleError:
        return np.inf
    place = int(after.position[row])
    return place if place > 0 else np.inf


@dataclass(frozen=True)
class Explanation:
    """Why an item stands where it stands.

    Attributes
    ----------
    sentences : tuple of str
        In plain words.
    facts : dict
        ``item, row, query, group, score``; ``from`` and ``to`` (places, 0 = not shown); ``move``
        ("up", "down", "left out" or "none"); ``binding`` (None, or ``prefix, group, bound, needed,
        count``: the first prefix whose bound would break if the item stood where it was);
        ``instead`` (who would stand at its place by the order given), ``next_in_group`` (the
        group's best behind it); ``score_given_up`` (how much higher the score of ``instead`` is);
        ``target_place`` (the cutoff; without one the place it held or holds) and how it would be
        reached: ``lowest_place`` (the last place in the given order that is enough; None where none
        is, or the method cannot tell), ``lowest_score`` (the score of who stands there),
        ``score_above`` (whether an equal score is too low), ``any_score`` (whether the last is
        enough).

    Examples
    --------
    >>> from equirank.rerankers import DetGreedy
    >>> result = DetGreedy().rerank([4, 3, 2, 1], sensitive_features=list("mmff"))
    >>> print(result.explain(2))
    Row 2 (f) moved up from place 3 to place 2.
    The first 2 places must hold at least 1 of f, and without it they would hold 0.
    By the order given row 1 would stand at place 2; its score is higher by 1.
    The next of f is row 3.
    With a score of at least 1 it would have reached place 2.
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
        """Return a row's id or number, its group and score."""
        data = self.result.data
        known: dict[str, Any] = {"row": data.place(row)[1]}
        if data.ids is not None:
            known["item"] = _plain(data.ids[row])
        if data.sensitive:
            groups = self.result.groups
            known["group"] = groups.categories[int(groups.codes[row])]
        score = self.result._made_from.data.score
        known["score"] = None if score is None else float(score[row])
        return known


def _best_first(places: np.ndarray) -> np.ndarray:
    order = np.argsort(places, kind="stable")
    return order[places[order] > 0]


def explain(result: "Reranking", item: Any, query: Any = None) -> Explanation:
    """Explain the place of one item; see `Explanation` for what comes back."""
    row = _find(result, item, query)
    at = int(np.searchsorted(result.data.offsets, row, side="right")) - 1
    one = _List.of(result, at)
    was, now = int(result.places_before[row]), int(result.places[row])
    facts = {"query": _plain(result.data.qids[at])} | one.named(row)
    facts |= {"from": was, "to": now, "move": _move(was, now, len(one.new))}
    facts["binding"] = _binding(one, was, now)
    facts |= _others(one, row, was, now)
    target = result.k if result.k is not None else (was if was < now or now == 0 else now)
    target = min(target, len(one.new))
    facts["target_place"] = target
    facts |= lowest_entry(result, at, row, target)
    return Explanation(tuple(_sentences(facts)), facts)


def _find(result: "Reranking", item: Any, query: Any) -> int:
    """Find the stored row of an id, or of the caller's row number."""
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
    """Find the first prefix between the two places whose bound is met exactly."""
    result, shown = one.result, len(one.new)
    if not result.data.sensitive or shown == 0:
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
        # A lower bound lifts its own group and holds others down; an upper one the reverse.
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


def _others(one: _List, row: int, was: int, now: int) -> dict[str, Any]:
    """Find who would stand at its place by the order given, and who of its group is next."""
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
    if one.result.data.sensitive:
        codes = one.result.groups.codes
        behind = [r for r in one.old.tolist() if codes[r] == codes[row]]
        after = behind[behind.index(row) + 1 :] if row in behind else []
        following = after[0] if after else None
    facts["next_in_group"] = None if following is None else one.named(following)
    return facts


def _sentences(facts: dict[str, Any]) -> list[str]:
    group = facts.get("group")
    who = _name(facts, first=True) + (f" ({group})" if group is not None else "")
    was, now, move = facts["from"], facts["to"], facts["move"]
    if move == "left out":
        said = [f"{who} stood at place {was} and is left out."]
    elif now == 0:
        said = [f"{who} stood at place {was} and is not shown, as before."]
    elif move == "none":
        said = [f"{who} keeps place {now}."]
    else:
        said = [f"{who} moved {move} from place {was} to place {now}."]
    said += _binding_sentence(facts)
    said += _others_sentences(facts)
    return said + _entry_sentence(facts)


def _binding_sentence(facts: dict[str, Any]) -> list[str]:
    binding, move = facts["binding"], facts["move"]
    if binding is None:
        return (
            ["No bound holds it there: others moved around it."] if move in ("up", "down") else []
        )
    word = "at least" if binding["bound"] == "lower" else "at most"
    places = f"The first {binding['prefix']} places" if binding["prefix"] > 1 else "The first place"
    head = f"{places} must hold {word} {binding['needed']} of {binding['group']}"
    if binding["bound"] == "upper":
        return [f"{head}, and they hold {binding['count']}."]
    if binding["group"] == facts.get("group"):
        return [f"{head}, and without it they would hold {binding['count'] - 1}."]
    return [f"{head}, and they hold exactly {binding['count']}: none of them can make room."]


def _others_sentences(facts: dict[str, Any]) -> list[str]:
    said = []
    instead, given_up = facts["instead"], facts["score_given_up"]
    if instead is not None and facts["to"]:
        more = "" if given_up is None else f"; its score is {_difference(given_up)}"
        said.append(
            f"By the order given {_name(instead)} would stand at place {facts['to']}{more}."
        )
    elif instead is not None:
        more = "" if given_up is None else f"; its score is {_difference(-given_up)}"
        said.append(f"{_name(instead, first=True)} stands at place {facts['from']} now{more}.")
    if facts["next_in_group"] is not None:
        said.append(f"The next of {facts['group']} is {_name(facts['next_in_group'])}.")
    return said


def _entry_sentence(facts: dict[str, Any]) -> list[str]:
    place = f"place {facts['target_place']}"
    if facts["lowest_place"] is None:
        return []
    if facts["any_score"]:
        return [f"With any score it would have reached {place}."]
    if facts["lowest_score"] is None:
        return [f"From place {facts['lowest_place']} or better it would have reached {place}."]
    word = "above" if facts["score_above"] else "of at least"
    return [f"With a score {word} {facts['lowest_score']:.6g} it would have reached {place}."]


def _difference(amount: float) -> str:
    if amount == 0:
        return "the same"
    return f"{'higher' if amount > 0 else 'lower'} by {abs(amount):.6g}"


def _name(known: dict[str, Any], first: bool = False) -> str:
    """Name an item by its id, else by its row; ``first`` in a sentence."""
    return str(known["item"]) if "item" in known else f"{'Row' if first else 'row'} {known['row']}"


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
