"""Settings of remedies for people who do not program: choices, one setting tried, and a path."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.environment import listening, progress
from ..core.errors import DataError
from .recipe_run import RecipeRun
from .reranked_list import selected_change

if TYPE_CHECKING:
    from ..core.data import RankingData
    from ..core.reranker import Control
    from ..rerankers.reranking import Reranking

__all__ = ["Choice", "SettingPath", "Tried", "choices", "completed", "setting_path", "try_setting"]

#: The methods offered, in their order; the last of a pair from four groups on.
OFFERED = (
    ("FAStarIR",),
    ("PrefixConstraints",),
    ("DetGreedy", "DetConstSort"),
    ("RooneyRule",),
    ("ContinuousFairness",),
)
FOUR_GROUPS = 4
#: What to know about a method; whether it can also lower the group is ``two_sided``.
HINTS = {
    "FAStarIR": "changes the least",
    "PrefixConstraints": "in every top 1, 2, 3 and so on",
    "DetGreedy": "in every top 1, 2, 3 and so on",
    "DetConstSort": "in every top 1, 2, 3 and so on",
    "RooneyRule": "in the top of each list",
    "ContinuousFairness": "moves scores, so that groups have alike ones",
}
#: Points from which on every step of a method is tried that can also lower the group.
FINE_POINTS = 61
#: Parameters whose value is a table of groups.
BY_GROUP = ("lower", "proportions")
#: Decimals of a share in a recipe.
DECIMALS = 6


@dataclass(frozen=True)
class Choice:
    """One method for a group, with the setting it starts from.

    Attributes
    ----------
    kind : type
        The re-ranker.
    setting : dict
        The table of the recipe.
    controls : tuple
        For each control the keys that lead to its value in the setting, its `Control`, the value
        and the largest value.
    lacks : str
        What the data lack, else empty.
    present : bool
        Whether this is the present setting, with values that the controls can show.
    """

    kind: Any
    setting: dict[str, Any]
    controls: "tuple[tuple[tuple[str, ...], Control, float, float], ...]"
    lacks: str = ""
    present: bool = False

    @property
    def hint(self) -> str:
        """What to know about the method before it is tried."""
        return HINTS[self.kind.__name__]


def choices(
    data: "RankingData", attribute: str, group: str, k: int, present: Mapping[str, Any] | None
) -> list[Choice]:
    """Return the methods offered for a group; the present setting keeps its values.

    A present setting whose values no control can show, such as counts by position, is none of
    these choices. Shares start at the group's share of all people.

    Examples
    --------
    >>> from equirank import as_ranking_data
    >>> data = as_ranking_data(score=[4, 3, 2, 1], sensitive_features={"sex": list("mmff")})
    >>> found = choices(data, "sex", "f", 2, None)
    >>> [each.kind.__name__ for each in found][:3]
    ['FAStarIR', 'PrefixConstraints', 'DetGreedy']
    >>> found[1].setting
    {'method': 'PrefixConstraints', 'by': 'sex', 'k': 2, 'lower': {'f': 0.5}}
    """
    from ..rerankers.chooser import methods

    known = methods()
    groups = data.attribute(attribute)
    shares = _shares(data, attribute)
    found = []
    for names in OFFERED:
        kind: Any = known[names[-1] if len(groups.categories) >= FOUR_GROUPS else names[0]]
        shows = present is not None and _shows(kind, present)
        own = present if present is not None and shows else {}
        start: dict[str, Any] = {"method": kind.__name__, "by": attribute, "k": k}
        if "protected" in kind.params:
            start["protected"] = group
        controls = []
        for name, control in kind.controls.items():
            path, value = _start(kind, name, control, group, own, shares)
            start |= {path[0]: {path[1]: value}} if len(path) > 1 else {name: value}
            high = float(k) if control.high is None else control.high
            controls.append((path, control, min(float(value), high), high))
        lacks = "it needs a score" if "score" in kind.needs and data.score is None else ""
        setting = completed(start, data, group)
        found.append(Choice(kind, setting, tuple(controls), lacks, shows))
    return found


def _shows(kind: Any, present: Mapping[str, Any]) -> bool:
    """Return whether a setting is of a method, and the controls can show its values."""
    if present.get("method") != kind.__name__:
        return False
    for name in kind.controls:
        value = present.get(name, 0)
        listed = value.values() if name in BY_GROUP and isinstance(value, Mapping) else [value]
        if not all(isinstance(each, Real) for each in listed):
            return False
    return True


def _shares(data: "RankingData", attribute: str) -> dict[str, float]:
    groups = data.attribute(attribute)
    counts = np.bincount(groups.codes[groups.codes >= 0], minlength=len(groups.categories))
    total = max(int(counts.sum()), 1)
    return {
        str(name): n / total for name, n in zip(groups.categories, counts.tolist(), strict=True)
    }


def _start(
    kind: Any,
    name: str,
    control: "Control",
    group: str,
    own: Mapping[str, Any],
    shares: Mapping[str, float],
) -> tuple[tuple[str, ...], float]:
    """Return the keys of a control in the setting, and its value: the present or the first one."""
    if name in BY_GROUP:
        first = float(np.floor(shares.get(group, 0.5) / control.step) * control.step)
        given = own.get(name, {})
        value = given.get(group, first) if isinstance(given, Mapping) else first
        return (name, group), round(float(value), DECIMALS)
    share = float(np.round(shares.get(group, 0.5), 2))
    usual = {"p": min(max(share, control.low), control.high or 1.0), "count": 1}
    return (name,), own.get(name, usual.get(name, getattr(kind, name, control.low)))


def completed(setting: Mapping[str, Any], data: "RankingData", group: str) -> dict[str, Any]:
    """Return a setting with target shares of all groups and without noise of the last digits.

    The other groups share what the group leaves in proportion to their sizes.

    Examples
    --------
    >>> from equirank import as_ranking_data
    >>> data = as_ranking_data(score=[4, 3, 2, 1], sensitive_features={"sex": list("mmff")})
    >>> completed({"method": "DetGreedy", "proportions": {"f": 0.29000000000000004}}, data, "f")
    {'method': 'DetGreedy', 'proportions': {'f': 0.29, 'm': 0.71}}
    """
    found = {key: _rounded(value) for key, value in setting.items()}
    given = found.get("proportions")
    if not isinstance(given, dict) or not data.sensitive:
        return found
    by = found.get("by") or next(iter(data.sensitive))
    known = all(each in data.sensitive for each in (by if isinstance(by, list) else [by]))
    if not known or not all(isinstance(v, (int, float)) and 0 <= v <= 1 for v in given.values()):
        return found  # which is refused by the check of the recipe, or by the data
    shares = _shares(data, by)
    if group not in given or group not in shares:
        return found
    others = {name: share for name, share in shares.items() if name != group}
    left, total = max(0.0, 1.0 - given[group]), sum(others.values())
    parts = {
        name: round(left * (share / total if total else 1 / len(others)), DECIMALS)
        for name, share in others.items()
    }
    if parts:
        last = list(parts)[-1]
        rest = sum(value for name, value in parts.items() if name != last)
        parts[last] = round(max(0.0, left - rest), DECIMALS)
    found["proportions"] = {name: ({group: given[group]} | parts)[name] for name in shares}
    return found


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DECIMALS)
    if isinstance(value, Mapping):
        return {key: _rounded(each) for key, each in value.items()}
    return value


@dataclass(frozen=True, eq=False)
class Tried:
    """One setting, applied to the given order.

    Attributes
    ----------
    result : Reranking
        The new order.
    k : int
        The top k of each list are selected.
    before, after : ndarray of bool
        Who is selected, by stored row.
    sign : float
        -1 if lower scores are better, and the scores of the data therefore negative.
    """

    result: "Reranking"
    k: int
    before: np.ndarray
    after: np.ndarray
    sign: float = 1.0

    @cached_property
    def summary(self) -> dict[str, tuple[float, float]]:
        """The measures of `Reranking.summary`, before and after."""
        table = self.result.summary()
        rows = zip(table["measure"], table["before"], table["after"], strict=True)
        return {str(name): (float(first), float(last)) for name, first, last in rows}

    def measure(self, start: str) -> tuple[str, float, float] | None:
        """Return the name and both values of the first measure that begins with some words."""
        for name, (first, last) in self.summary.items():
            if name.startswith(start):
                sign = self.sign if start == "mean score" else 1.0
                return name, sign * first, sign * last
        return None

    def share(self, group: str) -> tuple[float, float] | None:
        """Return the mean share of a group among the selected of a list, before and after."""
        found = self.measure(f"share of {group} in the first ")
        return None if found is None else found[1:]

    def changed(self, joins: bool) -> dict[str, int]:
        """Return by group how many people join, or leave, the selected."""
        if not self.result.has_groups:
            return {}
        moved = self.after & ~self.before if joins else self.before & ~self.after
        groups = self.result.groups
        names = ["unknown", *map(str, groups.categories)]
        counts = np.bincount(groups.codes[moved] + 1, minlength=len(names)).tolist()
        found = {name: n for name, n in zip(names, counts, strict=True) if n}
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    @cached_property
    def moved_lists(self) -> dict[str, int]:
        """How many people move in each list, those lists only."""
        query = self.result.moves["query"]  # list by list
        first = np.flatnonzero(np.append(True, query[1:] != query[:-1])[: len(query)])
        counts = np.diff(np.append(first, len(query)))
        return {str(query[at]): n for at, n in zip(first, counts.tolist(), strict=True)}


def try_setting(run: RecipeRun, setting: Mapping[str, Any] | None) -> Tried:
    """Apply a setting; None leaves the order as given and selects the top k of the recipe."""
    base: dict[str, Any] = {"method": "PrefixConstraints", "k": run.k}
    if setting is None and len(run.data.sensitive) > 1:
        base["by"] = next(iter(run.data.sensitive))
    chosen: Mapping[str, Any] = base if setting is None else setting
    result = run.reranked(chosen)
    k = int(chosen.get("k") or run.k)
    before, after = selected_change(result, k)
    sign = 1.0 if run.recipe.data.get("higher_first", True) else -1.0
    return Tried(result, k, before, after, sign)


@dataclass(frozen=True, eq=False)
class SettingPath:
    """A setting as its main control moves: points, and where the selected people change.

    Attributes
    ----------
    keys : tuple of str
        The keys that lead to the value in the setting.
    points : list of tuple
        Value and what it gives, ascending.
    ranges : list of tuple of float
        The first and the last value of each range with the same selected people.
    step : float
        The step of the control.
    """

    keys: tuple[str, ...]
    points: list[tuple[float, Tried]]
    ranges: list[tuple[float, float]]
    step: float


def setting_path(
    run: RecipeRun,
    setting: Mapping[str, Any],
    group: str,
    n_points: int = 13,
    call: Callable[[float, str], None] | None = None,
) -> SettingPath:
    """Move the main control of a setting over its range.

    Of a minimum, where two points select the same people, so do the values between them: they
    select as many of the group in each list, and the order within groups is kept. Elsewhere values
    between them are tried until each change is located to one step of the control. A method that
    can also lower the group has no such rule: every step is tried if there are 61 points, and
    otherwise the ranges are left out.

    Parameters
    ----------
    run : RecipeRun
        The data.
    setting : mapping
        The setting, whose main control is moved.
    group : str
        The group that the control is about.
    n_points : int
        Number of points.
    call : callable, optional
        Called with the share done and words.
    """
    from ..rerankers.chooser import methods

    kind: Any = methods()[setting["method"]]
    if not kind.controls:
        raise DataError(f"{setting['method']} has no setting that a path could vary")
    name = next(iter(kind.controls))
    control = kind.controls[name]
    nested = isinstance(setting.get(name), Mapping)
    keys = (name, group) if nested else (name,)
    k = int(setting.get("k") or run.k)
    high = float(k) if control.high is None else control.high
    n_steps = round((high - control.low) / control.step)
    seen: dict[int, Tried] = {}

    def tried(at: int) -> Tried:
        if at not in seen:
            value: Any = round(control.low + at * control.step, DECIMALS)
            value = int(value) if control.step == 1 else value
            moved = dict(setting) | (
                {name: {**setting[name], group: value}} if nested else {name: value}
            )
            seen[at] = try_setting(run, completed(moved, run.data, group))
        return seen[at]

    fine = kind.two_sided and n_points >= FINE_POINTS
    wanted = sorted({round(x) for x in np.linspace(0, n_steps, min(n_points, n_steps + 1))})
    with listening(call):
        for at in progress(range(n_steps + 1) if fine else wanted, "trying settings"):
            tried(at)
        pairs = [] if kind.two_sided else list(pairwise(wanted))
        for low, last in progress(pairs, "locating changes"):
            for at in _between(low, last, tried):
                tried(at)
    values = {at: round(control.low + at * control.step, DECIMALS) for at in seen}
    points = [(values[at], seen[at]) for at in wanted]
    ranges = _ranges(seen, values) if fine or pairs else []
    return SettingPath(keys, points, ranges, control.step)


def _between(low: int, high: int, tried: Callable[[int], Tried]) -> Iterator[int]:
    """Yield the steps to try between two, as long as both ends differ."""
    if high - low < 2 or np.array_equal(tried(low).after, tried(high).after):
        return
    middle = (low + high) // 2
    yield middle
    yield from _between(low, middle, tried)
    yield from _between(middle, high, tried)


def _ranges(seen: Mapping[int, Tried], values: Mapping[int, float]) -> list[tuple[float, float]]:
    """Return the runs of tried values whose selected people are the same."""
    found: list[tuple[float, float]] = []
    last: np.ndarray | None = None
    for at in sorted(seen):
        after = seen[at].after
        if last is not None and np.array_equal(after, last):
            found[-1] = (found[-1][0], values[at])
        else:
            found.append((values[at], values[at]))
        last = after
    return found
