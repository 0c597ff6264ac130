"""The model card: what a model was trained on, how it ranks held-out data, and its limits."""

import inspect
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .. import plots
from ..auditing.audit import audit
from ..auditing.audit_result import AuditResult
from ..core.data import RankingData
from ..core.evaluation import Evaluation
from ..core.table import Table
from ..metrics import NDCG
from ..plots.group_charts import drawn_claims, with_ratio
from ..plots.theme import group_scale
from ..reports.claims import lead_statements
from ..reports.number_words import joined, plain_column
from ..reports.page import asset, chart_for_page, table_rows, write_page
from ..reports.provenance import NOT_GIVEN, Provenance
from .new_file import is_external, sees_groups
from .toml_text import shell_line

if TYPE_CHECKING:
    from .config import Config, ModelEntry
    from .data_columns import DataColumns
    from .fit_recipe import Trained

__all__ = ["ModelCard", "make_card", "recorded"]


#: The charts of each attribute: name on the page, function, table that must have rows.
CHARTS = (
    ("places", "position_difference", "groups"),
    ("prefix", "prefix_shares", "prefix_shares"),
    ("ratios", "impact_ratios", "selection"),
)


@dataclass(frozen=True, eq=False)
class ModelCard:
    """The contents of the page about one trained model.

    Attributes
    ----------
    name, class_name, summary : str
        The model's name, its class, and the first sentence of the class.
    facts : dict
        Further values of the template: file, fingerprint, numbers of rows, split, features, and how
        to predict.
    params : Table
        parameter, of, value, default, same; for the ranker and each re-ranker.
    columns : Table
        column, role, holds; for each column of the file.
    groups : Table
        attribute, group, entries, share; for each group in the data.
    evaluation : Evaluation
        The evaluation of the held-out data.
    by_group : dict of str to Evaluation
        The evaluation split by each attribute.
    audit : AuditResult or None
        The audit of the held-out data; None without sensitive attributes.
    limits : list of str
        Sentences on the limits of the model.
    uses : list of str
        Sentences on the intended use.
    provenance : Provenance
        The files, settings, version and date of the card.
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
    uses: list[str] = field(default_factory=list)
    provenance: Provenance = field(default_factory=Provenance)

    def to_html(self) -> str:
        """Return the page as one self-contained HTML file."""
        tables = self.tables()
        return write_page(
            asset("model_card.html"),
            kind="model card",
            title=self.name if self.provenance.title == NOT_GIVEN else self.provenance.title,
            first="use",
            provenance=self.provenance,
            tables=tables,
            charts=dict(self._charts()),
            json_name="model_card.json",
            card=self,
            facts=self.facts,
            rows={name: table_rows(table) for name, table in tables.items()},
            directions={
                each.metric.name: each.metric.direction for each in self.evaluation.results
            },
            verdict=[] if self.audit is None else self.audit.verdict,
            gains=self._gain_sentences(),
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

    def _gain_sentences(self) -> list[str]:
        """Return the first sentences about NDCG by group, at most five."""
        claims = [] if self.audit is None else self.audit.claims
        about = [claim for claim in claims if claim.unit == "gain"]
        return [each.text for each in lead_statements(about)[0]] if about else []

    def _panels(self) -> Iterator[dict[str, Any]]:
        """Yield the rows and colours of each attribute for the fairness section."""
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
        if drawn_claims(self.audit):
            yield "claims", chart_for_page(plots.findings(self.audit))
        for index, entry in enumerate(self.audit.facts["attributes"]):
            for key, function, table in CHARTS:
                every = self.audit.tables[table]
                rows = [row for row in every if row["attribute"] == entry["name"]]
                if with_ratio(rows) if key == "ratios" else rows:
                    drawn = getattr(plots, function)(self.audit, entry["name"])
                    yield f"{key}-{index}", chart_for_page(drawn)


#: Held-out items of a group below which the card calls its numbers uncertain.
FEW = 30


def make_card(
    config: "Config",
    entry: "ModelEntry",
    data: RankingData,
    columns: "DataColumns",
    trained: "Trained",
    folder: str,
    *,
    n_boot: int,
    provenance: Provenance,
) -> ModelCard:
    """Return the card; with sensitive attributes, the held-out data are audited."""
    held, fitted = trained.ranking.data, trained.fitted_on
    model = trained.model
    audited = None
    if held.sensitive:
        seed = config.split.seed
        date = provenance.date
        # A named NDCG is compared by group, in the same report as all other comparisons.
        gains = [
            each.metric for each in trained.evaluation.results if isinstance(each.metric, NDCG)
        ]
        audited = audit(
            trained.ranking,
            metrics=gains or None,
            cross=False,
            n_boot=n_boot,
            random_state=seed,
            date=date,
        )
    name = os.path.basename(os.path.normpath(folder))
    groups = ", sensitive_features=groups" if sees_groups(model) else ""
    lists = ", qid=lists" if "qid" in model.predict_needs else ""
    facts = {
        "file": os.path.basename(config.data.path),
        "rows": data.n_rows,
        "queries": data.n_queries,
        "fitted_rows": fitted.n_rows,
        "fitted_queries": fitted.n_queries,
        "held_rows": held.n_rows,
        "held_queries": held.n_queries,
        "how": trained.how,
        "kept": "The model in this folder is the evaluated one."
        if config.split.folds is None
        else "The model in this folder was then fitted on all rows.",
        "seed": config.split.seed,
        "unfairness": _unfairness_words(_innermost(model)),
        "fingerprint": getattr(model, "data_fingerprint_", fitted.fingerprint()),
        "n_features": len(columns.feature_names),
        "feature_names": list(columns.feature_names),
        "rerank": [step["class"] for step in entry.rerank],
        "needs": _needs_words(columns, model),
        "folder": repr(name),
        "call": f"{lists}{groups}",
        "command": shell_line("equirank", "predict", name, "data.csv", "--out", "scores.csv"),
    }
    first = _innermost(model)
    return ModelCard(
        name=entry.name,
        class_name=type(first).__name__,
        summary=" ".join((type(first).__doc__ or "").strip().split("\n\n")[0].split()),
        facts=facts,
        params=_params(model),
        columns=_columns(columns),
        groups=_groups(data),
        evaluation=trained.evaluation,
        by_group=trained.by_group,
        audit=audited,
        limits=_limits(config, columns, trained),
        uses=_uses(facts, columns, provenance),
        provenance=provenance,
    )


def recorded(
    provenance: Provenance,
    config: "Config",
    entry: "ModelEntry",
    data: RankingData,
    trained: "Trained",
    n_boot: int,
) -> Provenance:
    """Return the record with the data, the configuration and the settings of the training."""
    return provenance.with_inputs(
        data, config.file, model=entry.name, split=trained.how, by=config.split.by,
        seed=config.split.seed, n_boot=n_boot,
        metrics=[each.metric.name for each in trained.evaluation.results],
    )  # fmt: skip


def _innermost(model: Any) -> Any:
    """Return the ranker inside the re-rankers, or the model of another library."""
    while hasattr(model, "reranker"):
        model = model.estimator_
    return model.model if is_external(model) else model


def _unfairness_words(model: Any) -> str:
    """Return the unfairness in training beside that of random order; empty if none is known."""
    if not hasattr(model, "unfairness_"):
        return ""
    words = (
        f"In training the unfairness was {model.unfairness_:.3f}; random orders of the same lists "
        f"have {model.chance_unfairness_:.3f}"
    )
    held = getattr(model, "validation_unfairness_", None)
    words += "" if held is None else f", and the validation lists of the training {held:.3f}"
    return (
        f"{words}. A model that does not use the groups can hardly be fairer on new lists than "
        "random order, so a lower value in training says nothing about them."
    )


def _needs_words(columns: "DataColumns", model: Any) -> str:
    words = [f"{len(columns.features)} feature column{'s' * (len(columns.features) != 1)}"]
    words += [f"the list of each row ({columns.query})"] if columns.query else []
    if sees_groups(model):
        words.append(f"people's groups ({', '.join(columns.sensitive)})")
    return ", ".join(words)


def _params(model: Any) -> Table:
    parts = [model]
    while hasattr(parts[-1], "reranker"):
        outer = parts.pop()
        parts += [outer.reranker, outer.estimator_]
    rows: list[tuple[Any, ...]] = []
    for part in reversed(parts):
        part = part.model if is_external(part) else part
        signature = inspect.signature(type(part)).parameters
        for name, value in part.get_params(deep=False).items():
            # options of LightGBM are not in the signature
            default = signature[name].default if name in signature else inspect.Parameter.empty
            shown = "" if default is inspect.Parameter.empty else repr(default)
            given = " ".join(repr(value).split())
            rows.append((name, type(part).__name__, given, shown, given == shown))
    heads = ("parameter", "of", "value", "default", "same")
    return Table({head: [row[at] for row in rows] for at, head in enumerate(heads)})


def _columns(columns: "DataColumns") -> Table:
    roles = [("list", columns.query, "labels"), ("relevance", columns.relevance, "numbers")]
    roles += [("cost", columns.cost, "numbers"), ("id", columns.id, "labels")]
    rows = [(name, role, holds) for role, name, holds in roles if name is not None]
    for name in columns.sensitive:
        rows.append((name, "people's groups", ", ".join(map(str, columns.groups.get(name, [])))))
    for name in columns.features:
        seen = columns.categories.get(name)
        holds = "numbers" if seen is None else f"categories ({columns.encoding}): {', '.join(seen)}"
        rows.append((name, "feature", holds))
    heads = ("column", "role", "holds")
    return Table({head: [row[at] for row in rows] for at, head in enumerate(heads)})


def _groups(data: RankingData) -> Table:
    rows: list[tuple[str, Any, int, float]] = []
    for name, attribute in data.sensitive.items():
        known = max(1, int(attribute.sizes.sum()))
        for group, size in zip(attribute.categories, attribute.sizes.tolist(), strict=True):
            rows.append((name, group, size, size / known))
    heads = ("attribute", "group", "entries", "share")
    return Table({head: [row[at] for row in rows] for at, head in enumerate(heads)})


def _uses(facts: dict[str, Any], columns: "DataColumns", provenance: Provenance) -> list[str]:
    """Return sentences on what the model is for: its purpose, what it orders, for which data."""
    purpose = "No purpose was recorded. State one with --purpose when the model is trained."
    if provenance.purpose != NOT_GIVEN:
        purpose = f"Purpose: {provenance.purpose}"
    target = plain_column(columns.relevance or "relevance")
    lists = f"the rows with the same {plain_column(columns.query)}" if columns.query else "all rows"
    count = facts["fitted_queries"]
    return [
        purpose,
        f"The model orders the items of a list ({lists}) by predicted {target}.",
        f"It was fitted to {facts['fitted_rows']:,} items in {count:,} list{'s' * (count != 1)} of "
        f"{facts['file']}, and is meant for lists collected in the same way.",
    ]


def _in_words(names: Sequence[str]) -> str:
    return joined([plain_column(name) for name in names])


def _limits(config: "Config", columns: "DataColumns", trained: "Trained") -> list[str]:
    """Return sentences on the limits of the model."""
    held = trained.ranking.data
    limits = [
        f"The numbers come from {held.n_rows:,} items in {held.n_queries:,} "
        f"list{'s' * (held.n_queries != 1)} of the same file as the training data. The model may "
        "perform worse on data collected in another way, at another location or time.",
        "A score orders the items of one list. It is not a probability, and scores of different "
        "lists cannot be compared.",
    ]
    direct = [name for name in columns.sensitive if name in columns.features]
    if direct:
        limits.append(
            f"The groups in {_in_words(direct)} are features: the model may rank people by them."
        )
    elif columns.sensitive and not sees_groups(trained.model):
        limits.append(
            f"The model does not use {_in_words(columns.sensitive)} for prediction. Other features "
            "may be proxies for them, so this alone does not make it fair."
        )
    if sees_groups(trained.model):
        limits.append(
            f"The model needs {_in_words(columns.sensitive)} for prediction and uses them to rank "
            "people."
        )
    if not columns.sensitive:
        limits.append("No sensitive attributes were named, so its treatment of groups is unknown.")
    for name, attribute in held.sensitive.items():
        if attribute.n_unknown:
            limits.append(
                f"{plain_column(name)} unknown: {attribute.n_unknown:,} of {held.n_rows:,} "
                "held-out items. They belong to no group."
            )
        few = [
            f"{group} ({size})"
            for group, size in zip(attribute.categories, attribute.sizes.tolist(), strict=True)
            if size < FEW
        ]
        if few:
            limits.append(
                f"Few held-out items belong to these groups of {plain_column(name)}: "
                f"{', '.join(few)}. Their numbers are uncertain."
            )
    if columns.categories:
        limits.append(
            "The model accepts only the categories listed under Data; another category is an error."
        )
    limits.append(
        "The model reproduces the relevance in its training data. If those judgements were unfair, "
        "so is the model, and no number here shows it."
    )
    return limits
