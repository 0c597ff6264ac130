"""PersonExplanation: a person's position, the decision, its reasons, and what would change it."""

import json
import os
from dataclasses import asdict, dataclass, field
from typing import Any

from ..core.table import Table, table_to_json
from ..io.files import replacing
from ..reports.number_words import joined, percent, plain_column
from ..reports.page import asset, write_page
from ..reports.provenance import NOT_GIVEN, Provenance
from .nearest_change import Change

__all__ = ["PersonExplanation"]


SCHEMA_VERSION = 1
#: Features and changes that are named in sentences; the tables contain all.
NAMED = 4
#: Sentences about how the contributions are computed.
METHODS = {
    "exact": "The contributions are exact.",
    "shap": "The contributions are differences of SHAP values.",
    "sampled": "The contributions are estimated from random orders of the features.",
}


@dataclass(frozen=True, eq=False, repr=False)
class PersonExplanation:
    """What one person can be told about its position and a decision; see `explain_person`.

    Attributes
    ----------
    id, query : label
        The person, and its list (None if there is one list).
    first, last : int
        The position; a tie spans the positions from first to last. 0: not shown.
    n_people : int
        Number of people in the list.
    score : float or None
        The score.
    rule : str or None
        What decides, in a sentence.
    status : {"selected", "not selected", "tied", "undecided", "no decision"}
        What was decided about the person; ``"tied"`` if a tie reaches beyond the top k.
    chance : float or None
        If tied: the share of the tied people who are selected.
    n_selected : int or None
        People selected in the list.
    below_selected : int
        People ranked below who were selected although this person was not.
    boundary : float or None
        The score that a cutoff names, else the lowest score of a selected person.
    by_cutoff : bool
        Whether a cutoff of the score decides.
    compared_with : str or None
        Whom the features are compared with, in words.
    model, method : str or None
        The class of the model, and how contributions are computed.
    moved_from : int or None
        The position before a re-ranker moved the person.
    features : list of dict
        ``feature``, ``value`` and ``contribution`` to the difference from ``compared_with``, the
        largest first.
    changes : list of Change or None
        Changes with which the model selects the person, nearest first; None if not searched.
    fixed : list of str
        Features that were not changed.
    provenance : Provenance
        The files, settings, version and date.
    """

    id: Any
    query: Any
    first: int
    last: int
    n_people: int
    score: float | None
    rule: str | None
    status: str
    chance: float | None
    n_selected: int | None
    below_selected: int
    boundary: float | None
    by_cutoff: bool
    compared_with: str | None
    model: str | None
    method: str | None
    moved_from: int | None
    features: list[dict[str, Any]]
    changes: list[Change] | None
    fixed: list[str]
    provenance: Provenance = field(default_factory=Provenance)

    @property
    def sentences(self) -> tuple[str, ...]:
        """The explanation as sentences, addressed to the person."""
        return tuple(sentence for _, said in self.sections for sentence in said)

    @property
    def sections(self) -> list[tuple[str, list[str]]]:
        """The sentences by heading; sections without sentences are left out."""
        parts = [
            ("Your position", self._position()),
            ("The decision", self._decision()),
            ("What weighed most", self._weights()),
            ("What would have changed the decision", self._changes()),
            ("What this page does not show", self._limits()),
        ]
        return [(heading, said) for heading, said in parts if said]

    def _position(self) -> list[str]:
        where = "" if self.query is None else f' in list "{self.query}"'
        if self.first == 0:
            return [f"Your application is not shown{where}; {self.n_people} people are in it."]
        tied = self.last - self.first
        if tied:
            people = "one other person" if tied == 1 else f"{tied} other people"
            said = [
                f"Your application is tied with {people} for positions {self.first} to "
                f"{self.last} of {self.n_people}{where}."
            ]
        else:
            said = [
                f"Your application was ranked at position {self.first} of {self.n_people}{where}."
            ]
        if self.score is not None:
            said.append(f"Your score is {self._scores()[0]}.")
        if self.moved_from is not None:
            before = f"at position {self.moved_from}" if self.moved_from else "not shown"
            said.append(f"Before the re-ranking, your application was {before}.")
        return said

    def _decision(self) -> list[str]:
        if self.rule is None:
            return []
        said = [self.rule]
        if self.n_selected is not None:
            be = "person" if self.n_people == 1 else "people"
            be += " is" if self.n_selected == 1 else " are"
            said.append(f"In your list {self.n_selected} of {self.n_people} {be} selected.")
        if self.status == "tied":
            said.append(
                f"The tie reaches beyond the cutoff: {percent(self.chance or 0.0)} of the tied "
                "people are selected, and their order is arbitrary."
            )
        else:
            said.append(
                {
                    "selected": "You were selected.",
                    "not selected": "You were not selected.",
                    "undecided": "No decision about you is recorded.",
                }[self.status]
            )
        if self.below_selected:
            count = self.below_selected
            people = "1 person ranked below you was" if count == 1 else (
                f"{count} people ranked below you were")  # fmt: skip
            said.append(f"{people} selected, so the decision does not follow this ranking.")
        if self.boundary is not None and self.score is not None:
            said += self._distance()
        return said

    def _distance(self) -> list[str]:
        """Return how far the score is from the lowest selected one."""
        _, lowest, away = self._scores()
        gap = (self.score or 0.0) - (self.boundary or 0.0)
        if self.by_cutoff:
            side = f"{away} {'above' if gap > 0 else 'below'}" if gap else "equal to"
            return [f"Your score is {side} the cutoff."]
        if self.status == "selected" and gap == 0:
            return ["Your score is the lowest of those selected."]
        side = "higher" if gap > 0 else "lower"
        return [f"The lowest score of a selected person is {lowest}; yours is {away} {side}."]

    def _scores(self) -> tuple[str, str, str]:
        """Return the score, the lowest selected one and their distance, with equal decimals."""
        own = 0.0 if self.score is None else self.score
        lowest = own if self.boundary is None else self.boundary
        return _apart(own, lowest)

    def _weights(self) -> list[str]:
        if self.model is None:
            return []
        if not self.features:
            return ["No feature distinguishes you from another person of the list."]
        said: list[str] = []
        terms = [row for row in self.features if row["feature"].startswith("(")]
        features = [row for row in self.features if row not in terms]
        for sign, verb in ((-1, "lower"), (1, "raise")):
            rows = [row for row in features if sign * row["contribution"] > 0][:NAMED]
            if rows:
                words = joined([_weight(row) for row in rows])
                lead = f"Compared with {self.compared_with}, " if not said else ""
                these = "this feature" if len(rows) == 1 else "these features"
                verb = f"{verb}s" if len(rows) == 1 else verb
                start = f"{lead}{these} {verb} your score most: {words}."
                said.append(start[0].upper() + start[1:])
        for row in terms:
            name = {"(re-ranker)": "re-ranking", "(base)": "initial model"}.get(row["feature"])
            verb = "raises" if row["contribution"] > 0 else "lowers"
            by = f"{abs(row['contribution']):.4g}"
            said.append(f"The {name or row['feature'].strip('()')} {verb} your score by {by}.")
        return [*said, METHODS[self.method or "exact"]]

    def _changes(self) -> list[str]:
        if self.changes is None:
            return []
        kept = (
            [f"Not changed: {joined([plain_column(name) for name in self.fixed])}."]
            if self.fixed
            else []
        )
        if not self.changes:
            return [
                "No change of one or two features was found, within the range of the data, with "
                "which you would have been selected.",
                *kept,
            ]
        if len(self.changes[0].features) == 2:
            change = self.changes[0]
            both = joined([_changed(*each) for each in _steps(change)])
            said = [
                "No change of one feature within the range of the data would have been enough. "
                f"These two together would: {both}. Your score would have been {change.score:.4g}, "
                f"at position {change.position}."
            ]
        else:
            shown = self.changes[:NAMED]
            words = joined([_changed(*_steps(change)[0]) for change in shown], "or")
            start = "This change" if len(shown) == 1 else "Each of these changes alone"
            said = [
                f"{start} would have been enough to be selected, with everything else and "
                f"everyone else unchanged: {words}."
            ]
        return [
            *said,
            "The model scored your list again with the change, which confirmed it.",
            *kept,
        ]

    def _limits(self) -> list[str]:
        said = []
        if self.model is None:
            said.append("Which features weighed is not known, since no model was given.")
        else:
            said.append(
                "This page describes how the model ranks. It does not show that a feature causes "
                "anything, that its use is justified, or that you can or should change it."
            )
        if self.changes:
            said.append("A later list has other people and may have another cutoff.")
        return said

    def __str__(self) -> str:
        """Return the sentences, one per line."""
        return "\n".join(self.sentences)

    def __repr__(self) -> str:
        """Return the person, its position and the decision."""
        return (
            f"PersonExplanation({self.id!r}, position {self.first} of {self.n_people}, "
            f"{self.status})"
        )

    def tables(self) -> dict[str, Table]:
        """Return the table of features, and that of changes, one row per changed feature."""
        heads = ("feature", "value", "contribution")
        steps = [
            (number, *step, change.score, change.position)
            for number, change in enumerate(self.changes or (), start=1)
            for step in _steps(change)
        ]
        names = ("change", "feature", "value", "changed_to", "score", "position")
        return {
            "features": Table({head: [row[head] for row in self.features] for head in heads}),
            "changes": Table({name: [row[at] for row in steps] for at, name in enumerate(names)}),
        }

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the explanation as JSON, and write it to a path if given.

        Parameters
        ----------
        path : path, optional
            The file is written under another name and renamed when complete.
        """
        text = json.dumps(self._document(), ensure_ascii=False, allow_nan=False)
        if path is not None:
            with replacing(path) as file:
                file.write(text.encode("utf-8") + b"\n")
        return text

    def _document(self) -> dict[str, Any]:
        values = asdict(self)
        values["provenance"] = self.provenance.to_dict()
        head = {"schema_version": SCHEMA_VERSION, "kind": "equirank person"}
        return head | values | {"sentences": list(self.sentences)}

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the page, one HTML file that needs no network, and write it to a path if given.

        Parameters
        ----------
        path : path, optional
            The file is written under another name and renamed when complete.
        """
        title = self.provenance.title
        document = self._document()
        tables = self.tables()
        page = write_page(
            asset("person.html"),
            kind="a person's page",
            title=f"Application {self.id}" if title == NOT_GIVEN else title,
            first="explanation",
            provenance=self.provenance,
            tables=tables,
            charts={},
            document=document
            | {"tables": {key: table_to_json(table) for key, table in tables.items()}},
            json_name="person.json",
            sections=self.sections,
            person=self,
            largest=max((abs(row["contribution"]) for row in self.features), default=1.0),
            rows={name: list(table) for name, table in tables.items()},
        )
        if path is not None:
            with replacing(path) as file:
                file.write(page.encode("utf-8"))
        return page


def _steps(change: Change) -> list[tuple[str, str, str]]:
    """Return the feature, its value and the other value of each part of a change."""
    return list(zip(change.features, change.before, change.after, strict=True))


def _changed(feature: str, before: str, after: str) -> str:
    return f"{plain_column(feature)} {after} instead of {before}"


def _weight(row: dict[str, Any]) -> str:
    return f"{plain_column(row['feature'])} ({row['value']}) by {abs(row['contribution']):.4g}"


def _apart(own: float, lowest: float) -> tuple[str, str, str]:
    """Return two numbers and their distance, with enough decimals that the two differ.

    Examples
    --------
    >>> _apart(48.0, 61.25), _apart(0.12341, 0.12342)
    (('48', '61.25', '13.25'), ('0.12341', '0.12342', '0.00001'))
    """
    digits = 4
    while digits < 17 and own != lowest and f"{own:.{digits}g}" == f"{lowest:.{digits}g}":
        digits += 1
    texts = [f"{value:.{digits}g}" for value in (own, lowest)]
    if any("e" in text for text in texts):
        return texts[0], texts[1], f"{abs(own - lowest):.4g}"
    decimals = max(len(text.partition(".")[2]) for text in texts)
    away = f"{abs(own - lowest):.{decimals}f}"
    return texts[0], texts[1], away.rstrip("0").rstrip(".") if "." in away else away
