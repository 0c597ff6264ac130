"""AuditResult: the verdict, facts, tables and notes of an audit."""

import html
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..core.errors import DataError, FormatError
from ..core.table import Table, table_from_json, table_to_json
from ..io.files import replacing
from .audit_plan import Plan
from .gates import Expression, read_expression

__all__ = ["SCHEMA_VERSION", "AuditResult"]


SCHEMA_VERSION = 1
#: Columns of the table of groups in the text form.
SHOWN = ("attribute", "group", "size", "mean_position", "position_difference", "exposure_per_item")


@dataclass(eq=False, repr=False)
class AuditResult:
    """The result of `audit`; `from_json` reads a stored one.

    Attributes
    ----------
    facts : dict
        What was audited and how: sizes, attributes and their groups, cutoffs, seeds.
    verdict : list of str
        Sentences in plain English, written by rules from the tables.
    tables : dict of str to Table
        ``groups``, ``selection``, ``gaps``, ``metrics``, ``prefix_shares``, ``exposure_merit``,
        ``pairwise``, ``scores``, ``strip``, ``checks``, ``queries``, ``blind_spots``, ``methods``
        and ``comparison``; those that do not apply have no rows. Each has ``to_frame``.
    notes : list of dict
        ``kind`` and ``text``: ties, missing values, skipped lists, small groups.

    Examples
    --------
    >>> from equirank import audit
    >>> result = audit(score=[4, 3, 2, 1], sensitive={"sex": list("mmff")}, protected="sex=f")
    >>> result.verdict[0]
    'This audit covers 4 people in one list, compared by sex.'
    >>> result.tables["groups"]["mean_position"]
    array([3.5, 1.5])
    >>> result.fails("PositionDifference>3")
    False
    """

    facts: dict[str, Any]
    verdict: list[str]
    tables: dict[str, Table]
    notes: list[dict[str, str]] = field(default_factory=list)
    _plan: Plan | None = None

    def to_html(self, path: str | os.PathLike[str]) -> None:
        """Write the report: one HTML file that needs no network.

        Parameters
        ----------
        path : path
            The file is written under another name and renamed when complete.
        """
        from .audit_page import render

        page = render(self)
        with replacing(path) as file:
            file.write(page.encode("utf-8"))

    def to_json(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the result as JSON, and write it to a path if given.

        Parameters
        ----------
        path : path, optional
            The file is written under another name and renamed when complete.

        Returns
        -------
        str
            ``schema_version``, ``facts``, ``verdict``, ``notes`` and ``tables``; each table maps a
            column to ``type`` and ``values``. Undefined numbers are null.
        """
        document = {
            "schema_version": SCHEMA_VERSION,
            "kind": "equirank audit",
            "facts": self.facts,
            "verdict": self.verdict,
            "notes": self.notes,
            "tables": {name: table_to_json(table) for name, table in self.tables.items()},
        }
        text = json.dumps(document, ensure_ascii=False, allow_nan=False)
        if path is not None:
            with replacing(path) as file:
                file.write(text.encode("utf-8") + b"\n")
        return text

    @classmethod
    def from_json(cls, path: str | os.PathLike[str]) -> "AuditResult":
        """Return the result that `to_json` wrote.

        Parameters
        ----------
        path : path or str
            A file, or the JSON text.

        Raises
        ------
        FormatError
            If it is not the JSON of an audit, or was written by a newer version.

        Examples
        --------
        >>> from equirank import AuditResult, audit
        >>> result = audit(score=[4, 3, 2, 1], sensitive={"sex": list("mmff")}, n_boot=0)
        >>> AuditResult.from_json(result.to_json()) == result
        True
        """
        name = "the text"
        text = path if isinstance(path, str) and path.lstrip().startswith("{") else None
        try:
            if text is None:
                name = os.fspath(path)
                text = Path(path).read_text(encoding="utf-8")
            document = json.loads(text)
            version = document["schema_version"]
        except (ValueError, TypeError, KeyError, RecursionError):
            raise FormatError(f"{name} must be JSON written by an audit") from None
        if not isinstance(version, int) or version > SCHEMA_VERSION:
            raise FormatError(
                f"schema_version of {name} must be at most {SCHEMA_VERSION}, got {version!r}: a "
                "newer equirank is needed"
            )
        try:
            tables = {key: table_from_json(part) for key, part in document["tables"].items()}
            parts = [document[key] for key in ("facts", "verdict", "notes")]
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError):
            raise FormatError(f"{name} must be JSON of an audit, but parts are missing") from None
        return cls(parts[0], parts[1], tables, parts[2])

    def fails(self, expression: str) -> bool:
        """Return whether an expression holds, such as ``"RND@50>0.3"`` or ``"RND@50.low>0.3"``.

        Parameters
        ----------
        expression : str
            A metric, optionally ``.low``, ``.high`` or ``.p_value``, one of ``>``, ``>=``, ``<``
            and ``<=``, and a number. A group metric without an attribute is checked for every
            attribute, and holds if it holds for any; the audit's protected groups apply.

        Returns
        -------
        bool

        Raises
        ------
        DataError
            If it cannot be parsed, or its number is undefined. A metric that the audit did not
            include is computed now, unless the result was read from a file.
        """
        return bool(self.failures(expression))

    def failures(self, expression: str) -> list[str]:
        """Return one line for each attribute and group for which an expression holds.

        Parameters
        ----------
        expression : str
            As in `fails`.
        """
        rule = read_expression(expression)
        rows = self._rows(rule)
        if not rows and self._plan is not None:
            rows = self._computed_rows(rule)
        if not rows:
            known = [name for table in ("gaps", "metrics") for name in self.tables[table]["metric"]]
            words = ", ".join(dict.fromkeys(known))
            raise DataError(
                f"{expression!r} must use a metric of this audit ({words}), got {rule.metric}"
            )
        return rule.held_by(rows)

    def _rows(self, rule: Expression) -> list[dict[str, Any]]:
        both = [*self.tables["gaps"], *({"name": r["metric"], **r} for r in self.tables["metrics"])]
        return [row for row in both if rule.concerns(row)]

    def _computed_rows(self, rule: Expression) -> list[dict[str, Any]]:
        from .measured import measure_all
        from .tables.gap_tables import gap_rows, metrics_table

        if self._plan is None:
            return []
        measured = measure_all(self._plan, [rule.metric], only=True)
        more = [row for each in self._plan.audited for row in gap_rows(measured, each)]
        more += [{"name": row["metric"], **row} for row in metrics_table(measured)]
        return [row for row in more if rule.concerns(row)]

    def __eq__(self, other: object) -> bool:
        """Return whether two results are equal."""
        if not isinstance(other, AuditResult):
            return NotImplemented
        a, b = ((each.facts, each.verdict, each.notes, list(each.tables)) for each in (self, other))
        return a == b and all(
            _same(table, other.tables[name]) for name, table in self.tables.items()
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        """Return the verdict and the table of groups as text."""
        groups = self._shown_groups().to_text()
        return "\n".join([*self.verdict, "", groups])

    def _shown_groups(self) -> Table:
        groups = self.tables["groups"]
        return Table({name: groups[name] for name in SHOWN})

    def _repr_html_(self) -> str:
        sentences = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in self.verdict)
        notes = "".join(
            f"<p><em>{html.escape(note['text'])}</em></p>"
            for note in self.notes
            if note["kind"] == "warning"
        )
        title = html.escape(str(self.facts.get("title", "")))
        return (
            f"<h4>Audit of {title}</h4><ul>{sentences}</ul>{notes}"
            f"{self._shown_groups()._repr_html_()}"
        )


def _same(a: Table, b: Table) -> bool:
    return list(a.columns) == list(b.columns) and all(
        _same_column(values, b[name]) for name, values in a.columns.items()
    )


def _same_column(a: np.ndarray, b: np.ndarray) -> bool:
    if a.dtype.kind == "f" and b.dtype.kind == "f":
        return bool(np.array_equal(a, b, equal_nan=True))
    return a.tolist() == b.tolist()
