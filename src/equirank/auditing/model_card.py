"""ModelCard: what a trained model is, what it learned from, what it is worth and where it ends."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .. import plots
from ..core.evaluation import Evaluation
from ..core.table import Table
from ..plots.theme import group_scale
from ..reports.page import asset, chart_for_page, table_rows, write_page
from .audit_result import AuditResult

__all__ = ["ModelCard"]


#: The pictures of each attribute: name on the page, function, table that must have rows.
PICTURES = (
    ("places", "position_difference", "groups"),
    ("prefix", "prefix_shares", "prefix_shares"),
    ("ratios", "impact_ratios", "selection"),
)


@dataclass(frozen=True, eq=False)
class ModelCard:
    """A page about one trained model; nothing is computed when it is written.

    Attributes
    ----------
    name, class_name, summary : str
        The model's name, its class, and the first sentence of the class.
    facts : dict
        What else the template names: the file and its fingerprint, how many rows were fitted on
        and held out and how, the features, what it needs to predict, how to load it.
    params : Table
        parameter, of, value, default, same: of the ranker and of each re-ranker behind it.
    columns : Table
        column, role, holds: the columns of the file and what they were used as.
    groups : Table
        attribute, group, entries, share: who was in the data.
    evaluation : Evaluation
        What was held out, measured.
    by_group : dict of str to Evaluation
        The same, split by each attribute.
    audit : AuditResult or None
        The audit of what was held out; None where no groups were named.
    limits : list of str
        What the model must not be taken for.
    created : str, optional
        When it was made.
    """

    name: str
    class_name: str
    summary: str
    facts: dict[str, Any]
    params: Table
    columns: Table
    groups: Table
    evaluation: Evaluation
    by_group: dict[str, Evaluation]
    audit: AuditResult | None
    limits: list[str]
    created: str | None = None

    def to_html(self) -> str:
        """Return the page: one HTML file that needs no network, names escaped."""
        tables = self.tables()
        return write_page(
            asset("model_card.html"),
            kind="model card",
            title=self.name,
            first="model",
            library_version=self.facts["library_version"],
            created=self.created,
            tables=tables,
            charts=dict(self._charts()),
            json_name="model_card.json",
            style=asset("model_card.css"),
            card=self,
            facts=self.facts,
            rows={name: table_rows(table) for name, table in tables.items()},
            directions={
                each.metric.name: each.metric.direction for each in self.evaluation.results
            },
            verdict=[] if self.audit is None else self.audit.verdict,
            panels=list(self._panels()),
        )

    def tables(self) -> dict[str, Table]:
        """Return every table of the page, by name."""
        rows: list[dict[str, Any]] = []
        for attribute, evaluation in self.by_group.items():
            rows += [{"attribute": attribute, **row} for row in evaluation.by_group]
        heads = ("attribute", "metric", "group", "value", "low", "high")
        tables = {
            "metrics": self.evaluation.summary(),
            "metrics_by_group": Table({head: [row[head] for row in rows] for head in heads}),
            "params": self.params,
            "columns": self.columns,
            "groups": self.groups,
        }
        if self.audit is not None:
            tables["held_out_groups"] = self.audit.tables["groups"]
        return tables

    def _panels(self) -> Iterator[dict[str, Any]]:
        """Return what the fairness section shows of each attribute."""
        if self.audit is None:
            return
        for index, entry in enumerate(self.audit.facts["attributes"]):
            name = entry["name"]
            scale = group_scale(self.audit, name)
            found = table_rows(self.audit.tables["groups"])
            yield {
                "index": index,
                "name": name,
                "rows": [row for row in found if row["attribute"] == name],
                "colours": dict(zip(scale["domain"], scale["range"], strict=True)),
            }

    def _charts(self) -> Iterator[tuple[str, dict[str, Any]]]:
        if self.audit is None:
            return
        for index, entry in enumerate(self.audit.facts["attributes"]):
            for key, function, table in PICTURES:
                rows = self.audit.tables[table]
                if any(row["attribute"] == entry["name"] for row in rows):
                    drawn = getattr(plots, function)(self.audit, entry["name"])
                    yield f"{key}-{index}", chart_for_page(drawn)
