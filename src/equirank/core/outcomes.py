"""Decisions about people: who could be selected, and who was."""

import operator
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .data import RankingData
from .errors import DataError, suggest
from .inputs import is_missing, shown
from .ranking import Ranking
from .source import IN_MEMORY

__all__ = [
    "Decision",
    "DecisionRule",
    "cutoff_parts",
    "decide_top",
    "decision_words",
    "other_values",
    "outcome_numbers",
    "where",
    "yes_or_no",
]


#: Words for yes and no that are known without being told, in lower case.
YES, NO = frozenset({"yes", "true", "1", "1.0"}), frozenset({"no", "false", "0", "0.0"})
_CUTOFF = re.compile(r"\s*(.+?)\s*(>=|<=|>|<)\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*")
_SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


@dataclass(frozen=True, eq=False)
class Decision:
    """One decision about the people of some lists.

    Attributes
    ----------
    scope : dict
        What decides: ``{"k": 10}``, ``{"column": "hired"}``, ``{"cutoff": "score >= 70"}``,
        ``{"quota": "openings"}`` or ``{"stage": "hired"}``; a stage of everyone, instead of those
        who reached it, has ``"overall": True``.
    selected : ndarray of float
        Per stored row: 1 if selected, 0 if not, or the chance of being selected if ties decide.
    among : ndarray of bool or None
        The rows about which it was decided; None if about all.
    undecided : int
        Number of rows left out because the decision is not recorded.
    other : dict of str to int
        The recorded values that count as no although they are no word for no, and their rows.
    """

    scope: dict[str, Any]
    selected: np.ndarray
    among: np.ndarray | None = None
    undecided: int = field(default=0)
    other: dict[str, int] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The decision in a few words."""
        return decision_words(self.scope)


def decision_words(scope: Mapping[str, Any]) -> str:
    """Return a decision in a few words.

    Examples
    --------
    >>> decision_words({"k": 10}), decision_words({"column": "hired"})
    ('top 10', '"hired"')
    """
    if "k" in scope:
        return f"top {scope['k']:,}"
    if "cutoff" in scope:
        return str(scope["cutoff"])
    if "quota" in scope:
        return f'quota "{scope["quota"]}"'
    if "column" in scope:
        return f'"{scope["column"]}"'
    stage = f'stage "{scope["stage"]}"'
    return f"{stage}, of everyone" if scope.get("overall") else stage


@dataclass(frozen=True)
class DecisionRule:
    """The one way in which people are selected.

    Attributes
    ----------
    selected : str or None
        A column of recorded decisions.
    cutoff : str or None
        A comparison such as ``"score>=70"``.
    quota : str or None
        A column with the number of people selected from each list.
    stages : tuple of str
        Columns of recorded decisions, each about those who passed the one before.
    yes : str, sequence or None
        The values of recorded decisions that mean yes.
    k : int, sequence of int or None
        The top k of each list are selected; the way if no other is given.
    """

    selected: str | None = None
    cutoff: str | None = None
    quota: str | None = None
    stages: tuple[str, ...] = ()
    yes: Any = None
    k: Any = None

    def __post_init__(self) -> None:
        """Check that there is one way."""
        ways = [n for n in ("selected", "cutoff", "quota", "stages") if getattr(self, n)]
        ways += ["k"] if self.k is not None else []
        if len(ways) > 1:
            raise DataError(f"one way decides who is selected, got {' and '.join(ways)}")
        if self.yes is not None and not (self.selected or self.stages):
            raise DataError("yes must be given with selected or stages, whose values it explains")
        if self.cutoff:
            cutoff_parts(self.cutoff)

    @property
    def recorded(self) -> bool:
        """Whether decisions are recorded, so that no order is needed."""
        return bool(self.selected or self.stages)

    def score_column(self, score: Any, position: Any) -> Any:
        """Return the column of the score: the one given, else that of a cutoff from below."""
        if not self.cutoff or score is not None or position is not None:
            return score
        name, sign, _ = cutoff_parts(self.cutoff)
        return None if name == "score" or sign not in (">", ">=") else name

    def columns(self) -> list[str]:
        """Return the columns that it needs beside the score."""
        found = [*self.stages, *filter(None, (self.selected, self.quota))]
        if self.cutoff:
            name = cutoff_parts(self.cutoff)[0]
            found += [] if name == "score" else [name]
        return found

    def decisions(self, ranking: Ranking, ks: Sequence[int]) -> tuple[Decision, ...]:
        """Return the decisions about the people of a ranking; ``ks`` are used if it has no way."""
        data = ranking.data
        if self.selected:
            return (_recorded(data, self.selected, self.yes),)
        if self.stages:
            return tuple(_by_stages(data, self.stages, self.yes))
        if self.cutoff:
            return (_by_cutoff(data, self.cutoff),)
        if self.quota:
            return (_by_quota(ranking, self.quota),)
        return tuple(decide_top(ranking, k) for k in ks)


def yes_or_no(argument: str, data: RankingData, name: str, yes: Any = None) -> np.ndarray:
    """Return a recorded decision as 1 and 0 per stored row, NaN where it is blank.

    Parameters
    ----------
    argument : str
        Name of the argument, for messages.
    data : RankingData
        Its ``outcomes`` contain the column.
    name : str
        The column.
    yes : str or sequence, optional
        The values that mean yes; every other value means no. By default yes, true and 1 mean yes,
        and no, false and 0 mean no, in any case; other values are an error.

    Examples
    --------
    >>> from equirank import as_ranking_data
    >>> data = as_ranking_data(score=[3, 2, 1], outcomes={"hired": ["Yes", "no", None]})
    >>> yes_or_no("selected", data, "hired")
    array([ 1.,  0., nan])
    """
    values = _column(argument, data, name).tolist()
    chosen = YES if yes is None else _words_of(yes)
    meaning: dict[str, float] = {"": np.nan}
    for row, word in enumerate(map(_word, values)):
        if word in meaning:
            continue
        if yes is None and word not in YES | NO:
            raise DataError(
                f"{argument} ({name!r}) must be yes or no (true or false, 1 or 0), got "
                f"{shown(values[row])} {where(data, row)}; name the values that mean yes with yes= "
                "(--yes)"
            )
        meaning[word] = float(word in chosen)
    if yes is not None and 1.0 not in meaning.values():
        known = ", ".join(sorted(set(meaning) - {""})[:10])
        raise DataError(
            f"yes must name a value of {name!r} ({known}), got {', '.join(sorted(chosen))}"
        )
    return np.array([meaning[_word(value)] for value in values])


def other_values(data: RankingData, name: str, yes: Any, rows: np.ndarray) -> dict[str, int]:
    """Return the values of some rows that count as no, but are no word for no, and their rows.

    Examples
    --------
    >>> from equirank import as_ranking_data
    >>> data = as_ranking_data(score=[3, 2, 1], outcomes={"hired": ["Yes", "no", "Pending"]})
    >>> other_values(data, "hired", "yes", np.ones(3, dtype=bool))
    {'Pending': 1}
    """
    if yes is None:
        return {}
    plain, names, counts = _words_of(yes) | NO | {""}, dict[str, str](), Counter[str]()
    for value in data.outcomes[name][rows].tolist():
        word = _word(value)
        if word not in plain:
            names.setdefault(word, str(value))
            counts[word] += 1
    return {names[word]: count for word, count in counts.most_common()}


def _word(value: Any) -> str:
    if is_missing(value):
        return ""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        value = int(value)
    return " ".join(str(value).split()).casefold()


def _words_of(yes: Any) -> frozenset[str]:
    several = yes.split(",") if isinstance(yes, str) else yes
    several = several if isinstance(several, (list, tuple, set, frozenset)) else [several]
    found = frozenset(_word(each) for each in several) - {""}
    if not found:
        raise DataError(f"yes must name at least one value, got {yes!r}")
    return found


def where(data: RankingData, row: int) -> str:
    """Return the place of a stored row in words."""
    at = data.place(row)[1]
    if data.source is None or data.source.name == IN_MEMORY:
        return f"in row {at}"
    return f"in row {at + 1} of {data.source.name}, not counting the header"


def _column(argument: str, data: RankingData, name: str) -> np.ndarray:
    if name not in data.outcomes:
        hint = suggest(str(name), list(data.outcomes))
        words = ", ".join(map(repr, data.outcomes)) or "none"
        raise DataError(f"{argument} must be a column of decisions ({words}), got {name!r}{hint}")
    return data.outcomes[name]


def _recorded(data: RankingData, name: str, yes: Any = None) -> Decision:
    """Return the recorded decision; blank ones are left out and counted."""
    values = yes_or_no("selected", data, name, yes)
    known = ~np.isnan(values)
    if not known.any():
        raise DataError(f"selected ({name!r}) must contain a decision, and all are blank")
    undecided = int((~known).sum())
    among = known if undecided else None
    other = other_values(data, name, yes, known)
    return Decision({"column": name}, np.nan_to_num(values), among, undecided, other)


def cutoff_parts(text: Any) -> tuple[str, str, float]:
    """Return column, sign and number of a comparison such as ``"score>=70"``.

    Examples
    --------
    >>> cutoff_parts("score>=70")
    ('score', '>=', 70.0)
    """
    match = _CUTOFF.fullmatch(text) if isinstance(text, str) else None
    if match is None:
        raise DataError(f'cutoff must look like "score>=70", got {text!r}')
    return match[1], match[2], float(match[3])


def _by_cutoff(data: RankingData, text: Any) -> Decision:
    """Return who is beyond a cutoff of the score, or of a column of numbers."""
    name, sign, limit = cutoff_parts(text)
    if name in data.outcomes:
        values = outcome_numbers("cutoff", data, name)
    elif data.score is not None and name == "score":
        values = data.score.astype(np.float64)
    else:
        known = [*(["score"] if data.score is not None else []), *data.outcomes]
        hint = suggest(name, known)
        raise DataError(
            f"cutoff must compare one of the columns {', '.join(known) or '(none)'}, got "
            f"{name!r}{hint}"
        )
    known_rows = ~np.isnan(values)
    undecided = int((~known_rows).sum())
    selected = np.where(known_rows, _SIGNS[sign](values, limit), 0.0).astype(np.float64)
    scope = {"cutoff": f"{name} {sign} {limit:g}"}
    return Decision(scope, selected, known_rows if undecided else None, undecided)


def outcome_numbers(argument: str, data: RankingData, name: str) -> np.ndarray:
    """Return a column of outcomes as numbers per stored row, NaN where it is blank."""
    values = _column(argument, data, name)
    found = np.full(len(values), np.nan)
    for row, value in enumerate(values.tolist()):
        if is_missing(value) or value == "":
            continue
        try:
            found[row] = float(value)
        except (TypeError, ValueError):
            raise DataError(
                f"{argument} ({name!r}) must be a number, got {shown(value)} {where(data, row)}"
            ) from None
    return found


def decide_top(ranking: Ranking, k: int) -> Decision:
    """Return who is in the top k of each list; a tied block shares by chance."""
    return Decision({"k": k}, ranking.expect(lambda position: (position <= k).astype(np.float64)))


def _by_quota(ranking: Ranking, name: str) -> Decision:
    """Return who is in the top q of each list, q being the same number in all rows of a list."""
    data = ranking.data
    values = outcome_numbers("quota", data, name)
    query = data.query_of_rows()
    first = values[data.offsets[:-1]]
    bad = np.isnan(values) | (values < 0) | (values != np.floor(values))
    if bad.any():
        row = int(bad.argmax())
        raise DataError(
            f"quota ({name!r}) must be a whole number >= 0, got {shown(data.outcomes[name][row])} "
            f"{where(data, row)}"
        )
    uneven = values != first[query]
    if uneven.any():
        row = int(uneven.argmax())
        raise DataError(
            f"quota ({name!r}) must be the same in all rows of a list, got {values[row]:g} "
            f"{where(data, row)} and {first[query[row]]:g} before in list "
            f"{shown(data.qids[query[row]])}"
        )
    selected = np.zeros(data.n_rows)
    longest = int(np.diff(data.offsets).max())
    capped = np.minimum(values, longest)
    for quota in np.unique(capped).astype(int).tolist():
        inside = capped == quota
        selected[inside] = decide_top(ranking, quota).selected[inside]
    return Decision({"quota": name}, selected)


def _by_stages(data: RankingData, names: Sequence[str], yes: Any = None) -> list[Decision]:
    """Return one decision per stage, among those who passed the stage before; then the last of all.

    Raises
    ------
    DataError
        If a person is selected at a stage after not being selected at the one before.
    """
    if len(names) < 2 or len(set(names)) < len(names):
        raise DataError(
            f"stages must name at least two different columns, got {', '.join(names) or 'none'}"
        )
    found: list[Decision] = []
    reached, open_cases = np.ones(data.n_rows, dtype=bool), np.zeros(data.n_rows, dtype=bool)
    before = ""
    for name in names:
        values = yes_or_no("stages", data, name, yes)
        late = (values == 1) & ~reached
        if late.any():
            row = int(late.argmax())
            raise DataError(
                f"stages: {name!r} must not be yes {where(data, row)}, since {before!r} is not yes "
                "there"
            )
        blank = reached & np.isnan(values)
        among = reached & ~blank
        if not among.any():
            raise DataError(f"stages: {name!r} must contain a decision about those who reached it")
        whole = None if among.all() else among
        other = other_values(data, name, yes, among)
        undecided = int(blank.sum())
        found.append(Decision({"stage": name}, np.nan_to_num(values), whole, undecided, other))
        reached, before, open_cases = values == 1, name, open_cases | blank
    closed = ~open_cases if open_cases.any() else None
    scope = {"stage": names[-1], "overall": True}
    overall = Decision(scope, reached.astype(np.float64), closed, int(open_cases.sum()))
    return [*found, overall]
