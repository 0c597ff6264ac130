"""AuditResult: the verdict, facts, tables and notes of an audit."""

import html
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..core.errors import DataError, FormatError
from ..core.metric import GroupMetric, Metric
from ..core.table import Table, table_from_json, table_to_json
from ..io.files import replacing
from ..reports.claims import Claim, Statement, lead_statements, ordered_findings
from ..reports.provenance import Provenance
from .audit_plan import Plan
from .gates import Outcome, concerns, judge, read_gate

__all__ = ["SCHEMA_VERSION", "AuditResult"]


SCHEMA_VERSION = 2
#: Columns of the table of groups in the text form.
SHOWN = ("attribute", "group", "size", "mean_position", "position_difference", "exposure_per_item")


@dataclass(eq=False, repr=False)
class AuditResult:
    """The result of `audit`; `from_json` reads a stored one.

    Attributes
    ----------
    facts : dict
        What was audited and how: sizes, attributes and their groups, cutoffs, seeds.
    claims : list of Claim
        Every comparison of the report: its numbers, its test and its status.
    tables : dict of str to Table
        ``claims``, ``decisions``, ``groups``, ``selection``, ``unknown``, ``gaps``, ``metrics``,
        ``prefix_shares``, ``exposure_merit``, ``pairwise``, ``scores``, ``strip``, ``checks``,
        ``queries``, ``blind_spots``, ``methods``, ``comparison`` and ``profile``; those that do not
        apply have no rows. Each has ``to_frame``.
    notes : list of dict
        ``kind`` and ``text``: ties, unknown labels, skipped lists, small groups.
    provenance : Provenance
        The files, settings, version and date of the audit; two results that differ in it alone
        are equal.
    plan_of_rows : callable or None
        Returns the plan with the rows, for metrics that `judge` computes later; None without rows.

    Examples
    --------
    >>> from equirank import audit
    >>> result = audit(score=[4, 3, 2, 1], sensitive={"sex": list("mmff")}, protected="sex=f")
    >>> result.claims[0].estimate, result.claims[0].status
    (2.0, 'described')
    >>> result.tables["groups"]["mean_position"]
    array([3.5, 1.5])
    """

    facts: dict[str, Any]
    claims: list[Claim]
    tables: dict[str, Table]
    notes: list[dict[str, str]] = field(default_factory=list)
    provenance: Provenance = field(default_factory=Provenance)
    plan_of_rows: Callable[[], Plan] | None = None

    @property
    def findings(self) -> list[Claim]:
        """The claims with status ``"finding"``, largest first."""
        return ordered_findings(self.claims)

    @property
    def statements(self) -> list[Statement]:
        """The first sentences of the report, at most five, with the ids of their claims."""
        return lead_statements(self.claims)[0]

    @property
    def verdict(self) -> list[str]:
        """The first sentences of the report, at most five."""
        return [statement.text for statement in self.statements]

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
            ``schema_version``, ``provenance``, ``facts``, ``claims``, ``verdict`` (sentences with
            the ids of their claims), ``notes`` and ``tables``; each table maps a column to ``type``
            and ``values``. Undefined numbers are null.
        """
        document = {
            "schema_version": SCHEMA_VERSION,
            "kind": "equirank audit",
            "provenance": self.provenance.to_dict(),
            "facts": self.facts,
            "claims": [claim.to_dict() for claim in self.claims],
            "verdict": [statement._asdict() for statement in self.statements],
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
        if version < 2:
            raise FormatError(
                f"schema_version of {name} must be {SCHEMA_VERSION}, got {version}: its sentences "
                "were not stored as claims; audit the data again"
            )
        try:
            tables = {key: table_from_json(part) for key, part in document["tables"].items()}
            facts, notes = document["facts"], document["notes"]
            claims = [Claim.from_dict(each) for each in document["claims"]]
            provenance = Provenance.from_dict(document.get("provenance", {}))
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError):
            raise FormatError(f"{name} must be JSON of an audit, but parts are missing") from None
        return cls(facts, claims, tables, notes, provenance)

    def fails(self, gates: str | Sequence[str]) -> bool:
        """Return whether a gate fires, such as ``"sex=female selected at 10 < 0.8"``.

        Parameters
        ----------
        gates : str or sequence of str
            As in `judge`.
        """
        return bool(self.failures(gates))

    def failures(self, gates: str | Sequence[str]) -> list[str]:
        """Return one line for each comparison for which a gate fires.

        Parameters
        ----------
        gates : str or sequence of str
            As in `judge`.
        """
        return [line for outcome in self.judge(gates) for line in outcome.fired]

    def judge(self, gates: str | Sequence[str]) -> list[Outcome]:
        """Return what each gate finds; fair data fire any of them with probability at most 5%.

        A gate fires when the estimate breaks the number, its one-sided confidence bound is beyond
        the number, and the p-value of "no difference" is at most 0.05 divided by the number of
        comparisons in all gates.

        Parameters
        ----------
        gates : str or sequence of str
            Limits for comparisons of groups (``"any race exposure < 0.8"``, ``"sex=female above <
            0.4"``, ``"female positions > 3"``), ``"any finding"``, or limits for metrics
            (``"RND@50 > 0.3"``), which apply to the value corrected for chance, or with ``raw:`` to
            the bare value. A metric that the audit did not include is computed now, unless the
            result was read from a file.
        """
        parsed = [read_gate(each) for each in ([gates] if isinstance(gates, str) else gates)]
        labels = list(self.tables.get("labels", ()))
        return judge(parsed, self.claims, self._rows, self.facts, labels)

    def _rows(self, metric: Metric) -> list[dict[str, Any]]:
        """Return the rows of a metric, computed now if the audit did not include it."""
        both = [*self.tables["gaps"], *({"name": r["metric"], **r} for r in self.tables["metrics"])]
        found = [row for row in both if concerns(metric, row)]
        if not found and self.plan_of_rows is not None:
            from .measured import measure_all
            from .tables.gap_tables import gap_rows, metrics_table

            plan = self.plan_of_rows()
            measured = measure_all(plan, [metric], only=True)
            more = [row for each in plan.audited for row in gap_rows(measured, each)]
            more += [{"name": row["metric"], **row} for row in metrics_table(measured)]
            found = [row for row in more if concerns(metric, row)]
        if not found:
            names = [name for table in ("gaps", "metrics") for name in self.tables[table]["metric"]]
            words = ", ".join(dict.fromkeys(names))
            raise DataError(f"gates must use a metric of this audit ({words}), got {metric}")
        return [row | self._label_numbers(metric, row) for row in found]

    def _label_numbers(self, metric: Metric, row: dict[str, Any]) -> dict[str, Any]:
        """Return what unknown labels mean for the row of a metric; nothing if all are known."""
        name = row.get("attribute", "")
        facts = self.facts.get("labels", {}).get("attributes", {}).get(name)
        if not facts or not (facts["unknown"] or facts["doubted"]):
            return {}
        key = name, row["group"], row["metric"]
        told = [
            each
            for each in self.tables["labels"]
            if (each["attribute"], each["group"], each["measure"]) == key
        ]
        if not told and self.plan_of_rows is not None and isinstance(metric, GroupMetric):
            from .measured import Gap
            from .tables.label_tables import gap_label_rows

            plan = self.plan_of_rows()
            audited = next(each for each in plan.audited if each.name == name)
            protected = next(
                (c for c in audited.attribute.categories if str(c) == row["group"]), None
            )
            bound = replace(metric, by=audited.key, protected=protected)
            told = list(gap_label_rows(plan, Gap(audited, bound, row["metric"])))
        by_method = {each["method"]: each for each in told}
        numbers: dict[str, Any] = {"doubted": facts["doubted"], "labels": by_method}
        return numbers

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
