"""Remedies: the result of `remedy`, one row per remedy, cheapest first."""

import html
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isnan
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..core.errors import DataError, suggest
from ..core.random import label_keys
from ..core.ranking import Ranking
from ..core.registry import public_classes
from ..core.reranker import Reranker
from ..core.table import Table, table_to_json
from ..io.files import write_text
from ..reports.number_words import level_words, number, quoted, separated
from ..reports.provenance import Provenance
from ..rerankers.margin_lottery import lots
from ..rerankers.reranking import Reranking
from .list_selection import Selection
from .targets import Estimate, Target

if TYPE_CHECKING:
    from .remedy_search import RemedyPath

__all__ = [
    "CUTOFF",
    "MOST_MOVES",
    "Line",
    "Remedies",
    "Remedy",
    "RemedyPromise",
    "Unreachable",
    "loss_words",
    "plain_remedy_name",
    "value_words",
]

SCHEMA_VERSION = 1
#: Most moves of a remedy that the JSON and the page contain.
MOST_MOVES = 200
#: Cheapest remedies that the picture names; it names all that do not use groups.
LABELLED = 4
#: The name of the remedy that selects another number of people.
CUTOFF = "Cutoff"


def plain_remedy_name(name: str) -> str:
    """Return what a remedy does in a few words; that of a feature of a model is its own.

    Examples
    --------
    >>> plain_remedy_name("ScoreBonus"), plain_remedy_name("Cutoff")
    ('Points added to scores', 'Another number of people selected')
    """
    if name == CUTOFF:
        return "Another number of people selected"
    kind = public_classes(Reranker, ["equirank.rerankers"]).get(name)
    return name if kind is None else kind.plain_name


@dataclass(frozen=True)
class Line:
    """A line of the picture: random orders of growing randomness, from the given one."""

    name: str
    values: list[float]
    qualities: list[float]


@dataclass(frozen=True)
class Unreachable:
    """What is nearest to a target that nothing reaches.

    Attributes
    ----------
    name : str
        The remedy that comes nearest.
    value : float
        The value that it reaches.
    lists : list
        The lists in which the value misses the target, if it has a value in each.
    bound : str
        The guarantee of that remedy, if it does not hold.
    failing : list
        The lists in which the guarantee does not hold.
    """

    name: str
    value: float
    lists: list[Any]
    bound: str = ""
    failing: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class RemedyPromise:
    """What can be promised about a remedy on new lists.

    Attributes
    ----------
    strength : float or None
        The weakest setting with which the target is promised; None if it cannot be.
    delta : float
        Probability with which the promise may fail.
    n_lists : int
        Lists of the calibration part.
    sentence : str
        The promise in words.
    """

    strength: float | None
    delta: float
    n_lists: int
    sentence: str


@dataclass(frozen=True, eq=False)
class Remedy:
    """One remedy: what it does, what it reaches and what it costs.

    Attributes
    ----------
    name, sentence : str
        Its name, and what it does.
    uses_group : {"blind", "aware"}
        Whether it uses the group of a person to decide.
    random : bool
        Whether its order is random.
    strength_name, strength, parameters : str, float, dict
        The parameter that was searched, its value, and all parameters.
    target : Estimate
        The quantity of the target after it.
    reached : bool
        Whether the target is reached in these lists; the nearest value is reported otherwise.
    quality, loss : Estimate
        NDCG after it, and the decrease of NDCG.
    moved, mean_move, largest_move : int, float, float
        People who move, and by how many positions; of a random order in the mean.
    entered, left : int
        People whose chance to be in the top k rises, and falls.
    selected_change : float
        Change of the number of people selected.
    guarantee, holds, failing : str, bool or None, list
        What is guaranteed, whether it holds in all lists, and the lists in which it does not.
    monotone : bool
        Whether the target never moved back as the strength grew.
    keeps_number : bool
        Whether as many people are selected as before.
    ranking : Ranking
        The order; a lottery is a tie.
    selection : Selection or None
        Who is selected, if it selects another number of people.
    promise : RemedyPromise or None
        What can be promised for new lists, if a calibration part is given.
    """

    name: str
    sentence: str
    uses_group: Literal["blind", "aware"]
    random: bool
    strength_name: str
    strength: float
    parameters: Mapping[str, Any]
    target: Estimate
    reached: bool
    quality: Estimate
    loss: Estimate
    guarantee: str
    holds: bool | None
    failing: list[Any]
    monotone: bool
    moved: int
    mean_move: float
    largest_move: float
    entered: int
    left: int
    selected_change: float
    ranking: Ranking = field(repr=False)
    keeps_number: bool = True
    selection: Selection | None = field(default=None, repr=False)
    promise: RemedyPromise | None = None

    @property
    def plain_name(self) -> str:
        """What it does, in a few words for people who do not program."""
        return plain_remedy_name(self.name)

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain values; undefined ones are None."""
        ends = ("value", "low", "high")
        found: dict[str, Any] = {
            "name": self.name,
            "sentence": self.sentence,
            "uses_group": self.uses_group,
            "random": self.random,
            "strength_name": self.strength_name,
            "strength": self.strength,
            "parameters": {name: _plain(value) for name, value in self.parameters.items()},
            "reached": self.reached,
        }
        for name in ("target", "quality", "loss"):
            found[name] = {end: getattr(getattr(self, name), end) for end in ends}
        for name in (
            "moved", "mean_move", "largest_move", "entered", "left", "selected_change",
            "keeps_number", "guarantee", "holds", "monotone",
        ):  # fmt: skip
            found[name] = getattr(self, name)
        found["failing"] = [str(each) for each in self.failing]
        found["promise"] = None if self.promise is None else vars(self.promise)
        return _finite(found)


@dataclass(eq=False, repr=False)
class Remedies:
    """The result of `remedy`.

    Attributes
    ----------
    target : Target
        What was to be reached; ``target.text`` is its text.
    before : Estimate
        The quantity of the target as the lists are ranked now.
    quality_name : str
        What quality means: NDCG by relevance if that is known, else by score.
    quality_before : Estimate
        Quality as the lists are ranked now.
    remedies : list of Remedy
        Those that reach the target first, then those that select the same number of people, the
        smallest loss first.
    not_tried : list of tuple of str
        Remedies that could not act, and why.
    unreachable : Unreachable or None
        What is nearest, if no remedy reaches the target.
    lines : list of Line
        Random mixtures and noise in the scores, for comparison.
    notes : list of str
        Remarks.
    ranking, ordered : Ranking
        The lists as they are ranked now; the same with ties broken in favour of whom remedies
        promote, which is what a fixed order is compared with.
    selection : Selection
        Who is selected: the top k of each list, a quota, or everyone from a score on.
    shown : mapping
        Names of groups in sentences, by attribute.
    """

    target: Target
    before: Estimate
    quality_name: str
    quality_before: Estimate
    remedies: list[Remedy]
    not_tried: list[tuple[str, str]]
    unreachable: Unreachable | None
    lines: list[Line]
    notes: list[str]
    ranking: Ranking
    ordered: Ranking
    selection: Selection
    level: float
    seed: int
    blind_only: bool
    provenance: Provenance
    title: str
    paths: "dict[str, RemedyPath]"
    shown: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def target_words(self) -> str:
        """The quantity of the target in words, with the names of groups that were given."""
        return self.target.plain_words(self.shown)

    @property
    def reached(self) -> list[Remedy]:
        """The remedies that reach the target."""
        return [each for each in self.remedies if each.reached]

    def best(self, uses_group: Literal["blind", "aware"] | None = None) -> Remedy:
        """Return the first remedy: the cheapest that reaches the target, else the first tried.

        Remedies that select another number of people come after those that keep it.

        Parameters
        ----------
        uses_group : {"blind", "aware"}, optional
            Only remedies that do not use groups to decide, or that do.
        """
        some = [each for each in self.remedies if uses_group in (None, each.uses_group)]
        if not some:
            raise DataError(f"there is no remedy{f' that is {uses_group}' if uses_group else ''}")
        return some[0]

    def find(self, name: str) -> Remedy:
        """Return the remedy with a name.

        Parameters
        ----------
        name : str
            Its name.
        """
        for each in self.remedies:
            if each.name == name:
                return each
        names = [each.name for each in self.remedies]
        listed = ", ".join(names) or "none"
        raise DataError(f"remedy must be one of {listed}, got {name!r}{suggest(name, names)}")

    def path(self, name: str) -> "RemedyPath":
        """Return a remedy as a function of its strength, for a promise about new lists.

        Parameters
        ----------
        name : str
            Its name.
        """
        if name not in self.paths:
            names = list(self.paths)
            raise DataError(
                f"path must name one of {', '.join(names)}, got {name!r}{suggest(name, names)}"
            )
        return self.paths[name]

    def apply(self, name: str | None = None, *, random_state: Any = None) -> Reranking:
        """Return the new order of every list; of a random remedy one draw.

        Parameters
        ----------
        name : str, optional
            The remedy; by default the first.
        random_state : int, Generator, RandomState or None
            Seed of the draw; by default that of the search.
        """
        chosen = self.best() if name is None else self.find(name)
        ranking, data = chosen.ranking, self.ranking.data
        position = ranking.position
        keys = label_keys(self.seed if random_state is None else random_state, data.qids.tolist())
        query = data.query_of_rows()
        if ranking.n_draws > 1:
            weights = ranking.weights
            share = (
                np.full((data.n_queries, ranking.n_draws), 1.0 / ranking.n_draws)
                if weights is None
                else weights
            )
            lot = lots(keys, np.zeros(data.n_queries), 1) / 2.0**64
            draw = (np.cumsum(share, axis=1) < lot[:, None]).sum(axis=1)
            draw = np.minimum(draw, ranking.n_draws - 1)
            position = position[np.arange(data.n_rows), draw[query]]
        if chosen.selection is not None:
            position = np.where(position <= chosen.selection.limits[query], position, 0)
        before = Reranking(data, self.ranking.position, self.ranking.last, before=self.ranking)
        tie = before.places if not chosen.random else lots(keys[query], before.places, 2)
        hidden = position == 0
        order = np.lexsort((tie, position, hidden, query))
        order = order[~hidden[order]]
        sizes = np.bincount(query[order], minlength=data.n_queries)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        return Reranking.from_order(self.ranking, order, offsets)

    @property
    def table(self) -> Table:
        """One row per remedy, cheapest first."""
        columns: dict[str, list[Any]] = {}
        for each in self.remedies:
            row = each.to_dict()
            row["parameters"] = json.dumps(row["parameters"], default=str)
            row["failing"] = len(each.failing)
            row["promise"] = "" if each.promise is None else each.promise.sentence
            row["holds"] = "" if each.holds is None else str(each.holds)
            for name in ("target", "quality", "loss"):
                number = getattr(each, name)
                row |= {name: number.value, f"{name}_low": number.low, f"{name}_high": number.high}
            row |= {"target_before": self.before.value, "quality_before": self.quality_before.value}
            for name, value in row.items():
                columns.setdefault(name, []).append(value)
        return Table(columns, self.ranking.data.backend)

    def moves(self, name: str | None = None) -> Table:
        """Return who moves: list, row, id if known, group, positions, selected before and after.

        Of a random remedy positions are means, and ``selected`` is a chance.

        Parameters
        ----------
        name : str, optional
            The remedy; by default the first.
        """
        chosen = self.best() if name is None else self.find(name)
        data = self.ranking.data
        before = self.ranking if chosen.random else self.ordered
        old, new = (_means(each) for each in (before, chosen.ranking))
        was = self.selection.chance(before)
        now = (chosen.selection or self.selection).chance(chosen.ranking)
        moved = (np.abs(old - new) > 1e-6) | (np.abs(was - now) > 1e-9)
        rows = np.flatnonzero(moved)
        query = data.query_of_rows()
        rows = rows[np.lexsort((old[rows], new[rows], query[rows]))]
        columns: dict[str, Any] = {
            "list": data.qids[query[rows]].astype(object),
            "row": rows if data.rows is None else data.rows[rows],
        }
        if data.ids is not None:
            columns["id"] = data.ids[rows].astype(object)
        columns["group"] = self.target.attribute(data).labels()[rows]
        columns |= {"from": old[rows], "to": new[rows]}
        columns |= {"selected_before": was[rows], "selected": now[rows]}
        return Table(columns, data.backend)

    def picture(self) -> dict[str, Any]:
        """Return what `equirank.plots.remedies` draws: points, lines, axes and the limit."""
        rows = [_point("as ranked now", "as ranked now", self.before, self.quality_before, True)]
        for at, each in enumerate(self.remedies):
            aware = each.uses_group == "aware"
            mark = "uses groups" if aware else "does not use groups"
            row = _point(each.name, mark, each.target, each.quality, each.reached)
            rows.append(row | ({} if at < LABELLED or not aware else {"label": ""}))
        lines = [
            {
                "name": line.name,
                "points": [
                    {"x": x, "y": y}
                    for x, y in zip(line.values, line.qualities, strict=True)
                    if not (isnan(x) or isnan(y))
                ],
            }
            for line in self.lines
        ]
        return {
            "points": [row for row in rows if not (isnan(row["x"]) or isnan(row["y"]))],
            "lines": [line for line in lines if len(line["points"]) > 1],
            "x": self.target.words,
            "y": self.quality_name,
            "x_better": "higher" if self.target.upwards else "lower",
            "limit": self.target.limit,
        }

    @property
    def sentences(self) -> list[str]:
        """The result in a few sentences."""
        return list(_sentences(self))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values."""
        unreachable = None
        if self.unreachable is not None:
            unreachable = vars(self.unreachable) | {
                "lists": [str(each) for each in self.unreachable.lists],
                "failing": [str(each) for each in self.unreachable.failing],
            }
        target = {
            "text": self.target.text,
            "quantity": self.target.words,
            "sign": self.target.sign,
            "limit": self.target.limit,
        }
        tables = {"remedies": self.table}
        if self.remedies:
            tables["moves"] = self._few_moves()
        document = {
            "schema_version": SCHEMA_VERSION,
            "kind": "equirank remedy",
            "provenance": self.provenance.to_dict(),
            "target": target | {"before": _ends(self.before)},
            "quality": {"name": self.quality_name, "before": _ends(self.quality_before)},
            "k": self.selection.k,
            "selection": self.selection.words,
            "level": self.level,
            "blind_only": self.blind_only,
            "sentences": self.sentences,
            "remedies": [each.to_dict() for each in self.remedies],
            "unreachable": unreachable,
            "not_tried": [dict(zip(("name", "reason"), e, strict=True)) for e in self.not_tried],
            "lines": [vars(line) for line in self.lines],
            "notes": self.notes,
            "tables": {name: table_to_json(table) for name, table in tables.items()},
        }
        found: dict[str, Any] = _finite(document)
        return found

    def _few_moves(self) -> Table:
        """Return the first moves of the first remedy."""
        table = self.moves()
        return Table({name: values[:MOST_MOVES] for name, values in table.columns.items()})

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return `to_dict` as a text of JSON, and write it to a path if given.

        The file is written under another name and renamed when complete.
        """
        text = json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)
        if path is not None:
            write_text(path, f"{text}\n")
        return text

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write the page, one HTML file that needs no network, to a path.

        Parameters
        ----------
        path : path
            The file is written under another name and renamed when complete.
        """
        from .remedies_page import render

        write_text(path, render(self))

    def shown_table(self) -> Table:
        """Return the table in a few columns, as text."""
        limits = [self.target.limit]
        rows = self.remedies
        promised: dict[str, list[str]] = {}
        if any(each.promise is not None for each in rows):
            promised["promised"] = [_promised(each) for each in rows]
        return Table(
            {
                "uses groups": [each.uses_group for each in rows],
                "remedy": [each.name for each in rows],
                "random": ["yes" if each.random else "no" for each in rows],
                "reached": ["yes" if each.reached else "no" for each in rows],
                "target": [value_words(each.target.value, limits) for each in rows],
                "interval": [_interval(each.target, limits) for each in rows],
                "quality": [value_words(each.quality.value) for each in rows],
                "loss": [loss_words(each.loss.value) for each in rows],
                "moved": [f"{each.moved:,}" for each in rows],
                "positions": [f"{each.mean_move:.1f}" for each in rows],
                "enter": [f"{each.entered:,}" for each in rows],
                "leave": [f"{each.left:,}" for each in rows],
                **promised,
            }
        )

    def __repr__(self) -> str:
        """Return the sentences and the table."""
        table = self.shown_table().to_text() if self.remedies else ""
        return "\n".join([*self.sentences, "", table]).rstrip()

    def _repr_html_(self) -> str:
        sentences = "".join(f"<li>{html.escape(each)}</li>" for each in self.sentences)
        table = self.shown_table()._repr_html_() if self.remedies else ""
        return f"<ul>{sentences}</ul>{table}"


def _sentences(result: Remedies) -> Any:
    """Yield the first sentences."""
    target, limits = result.target, [result.target.limit]
    yield (
        f"Wanted: {result.target_words}: {target.wanted}. In these lists it is "
        f"{value_words(result.before.value, limits)}"
        f"{_bracket(result.before, limits, result.level)}."
    )
    yield from result.notes
    if result.unreachable is not None:
        yield _unreachable_words(result.unreachable, limits)
    if not result.remedies:
        if not any("reached already" in note for note in result.notes):
            yield "No remedy could be tried; the reasons are listed."
        return
    reached = result.reached
    for kind, words in (("blind", "without using groups"), ("aware", "using groups")):
        if kind == "aware" and result.blind_only:
            continue
        some = [each for each in reached if each.uses_group == kind]
        kept = [each for each in some if each.keeps_number]
        same = " and selects as many people as before" if len(kept) < len(some) else ""
        if kept:
            first = kept[0]
            yield (
                f"The cheapest that reaches it {words} to decide{same} is {first.name}: "
                f"{value_words(first.target.value, limits)}, {_price(result, first)}. "
                f"{first.sentence} "
                f"{_moving(first)}; "
                f"{_entering(first, result.selection)}."
            )
            if first.promise is not None:
                yield first.promise.sentence
        elif reached or kind == "blind":
            yield f"No remedy that was tried reaches it {words} to decide{same}."
        for other in [each for each in some if not each.keeps_number]:
            yield (
                f"{other.name} reaches it with another number of people selected: "
                f"{value_words(other.target.value, limits)}, {_price(result, other)}. "
                f"{other.sentence}"
            )
    yield (
        "Whether a remedy uses the group of a person to decide matters: in some jurisdictions "
        "adjusting scores or positions by group is itself unlawful."
    )


def _promised(remedy: Remedy) -> str:
    if remedy.promise is None:
        return ""
    value = remedy.promise.strength
    return "no" if value is None else f"{remedy.strength_name} = {value:.4g}"


def _moving(remedy: Remedy) -> str:
    """Return how many people move, and how far."""
    if remedy.moved == 1:
        return f"1 person moves, by {_positions(remedy.mean_move)}"
    return f"{remedy.moved:,} people move, by {_positions(remedy.mean_move)} on average"


def _positions(mean: float) -> str:
    text = number(mean)
    return f"{text} position{'' if text == '1' else 's'}"


def _entering(remedy: Remedy, selection: Selection) -> str:
    top = f"in {selection.words}" if selection.k else "selected"
    if remedy.random:
        return (
            f"the chance to be {top} rises for {remedy.entered:,} of them and falls for "
            f"{remedy.left:,}"
        )
    if selection.k:
        enter = f"{remedy.entered:,} {'enters' if remedy.entered == 1 else 'enter'}"
        leave = f"{remedy.left:,} {'leaves' if remedy.left == 1 else 'leave'}"
        return f"{enter} {selection.words} and {leave} it"
    become = f"{remedy.entered:,} {'becomes' if remedy.entered == 1 else 'become'} selected"
    return f"{become} and {remedy.left:,} no longer {'is' if remedy.left == 1 else 'are'}"


def _point(name: str, mark: str, x: Estimate, y: Estimate, reached: bool) -> dict[str, Any]:
    row: dict[str, Any] = {"name": name, "label": name, "mark": mark, "reached": reached}
    row |= {"x": x.value, "y": y.value}
    for key, end in (("x_low", x.low), ("x_high", x.high), ("low", y.low), ("high", y.high)):
        row[key] = end if np.isfinite(end) else None
    return row


def _unreachable_words(why: Unreachable, limits: list[float]) -> str:
    def said(lists: list[Any]) -> str:
        word = "list" if len(lists) == 1 else "lists"
        return f"in {len(lists):,} {word} ({quoted([str(each) for each in lists])})"

    text = (
        f"No remedy that was tried reaches the target. The nearest is {why.name} with "
        f"{value_words(why.value, limits)}."
    )
    if why.lists:
        text += f" It misses the target {said(why.lists)}."
    if why.failing:
        text += f" Its guarantee, {why.bound}, fails {said(why.failing)}."
    return text


def value_words(value: float, limits: list[float] | None = None) -> str:
    """Return a number with three decimals, and more where it is near a limit."""
    if isnan(value):
        return ""
    return separated([value], 3 if abs(value) < 10 else 1, thresholds=limits or [])[0]


def _price(result: Remedies, remedy: Remedy) -> str:
    """Return the change of quality in words."""
    if isnan(remedy.loss.value):
        return "with an unknown change of quality"
    word = "gain" if loss_words(remedy.loss.value).startswith("-") else "loss"
    return f"with a {word} of {loss_words(abs(remedy.loss.value))} in {result.quality_name}"


def loss_words(value: float) -> str:
    """Return a loss in quality with two digits."""
    if isnan(value):
        return "unknown"
    return "0" if abs(value) < 5e-7 else f"{value:.2g}" if abs(value) < 0.01 else f"{value:.3f}"


def _interval(estimate: Estimate, limits: list[float]) -> str:
    if isnan(estimate.low):
        return ""
    return f"{value_words(estimate.low, limits)} to {value_words(estimate.high, limits)}"


def _bracket(estimate: Estimate, limits: list[float], level: float) -> str:
    ends = _interval(estimate, limits)
    if not ends:
        return ""
    people = " for the people of these lists" if estimate.units == "people" else ""
    return f" ({level_words(level)} confidence interval {ends}{people})"


def _means(ranking: Ranking) -> np.ndarray:
    return ranking.expect(lambda position: position.astype(float))


def _ends(estimate: Estimate) -> dict[str, Any]:
    return {name: getattr(estimate, name) for name in ("value", "low", "high", "units")}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, np.generic):
        return value.item()
    return value


def _finite(value: Any) -> Any:
    """Return plain values in which undefined numbers are None."""
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if isinstance(value, np.generic):
        return _finite(value.item())
    if isinstance(value, Mapping):
        return {str(name): _finite(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return value
