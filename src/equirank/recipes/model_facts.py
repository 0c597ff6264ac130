"""The model card of a trained model, put together from what is known after training."""

import os
import shlex
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..auditing.model_card import ModelCard
    from ..core.data import RankingData
    from ..core.table import Table
    from .config import Config, ModelEntry
    from .data_columns import DataColumns
    from .fit_recipe import Trained

__all__ = ["in_words", "make_card", "sees_groups"]


#: A group with fewer items held out makes every figure about it uncertain.
FEW = 30


def sees_groups(model: Any) -> bool:
    """Return whether a fitted model needs people's groups to predict."""
    return "sensitive_features" in model.predict_needs


def in_words(model: Any) -> str:
    """Name a model's class, and the re-rankers behind it."""
    steps: list[str] = []
    while hasattr(model, "reranker"):
        steps.insert(0, type(model.reranker).__name__)
        model = model.estimator_
    return type(model).__name__ + "".join(f", re-ranked with {step}" for step in steps)


def make_card(
    config: "Config",
    entry: "ModelEntry",
    data: "RankingData",
    columns: "DataColumns",
    trained: "Trained",
    folder: str,
    *,
    n_boot: int,
    created: str | None = None,
) -> "ModelCard":
    """Put the card together; where groups were named, what was held out is audited for it."""
    from ..auditing.audit import audit
    from ..auditing.model_card import ModelCard
    from ..core.environment import library_version

    held, fitted = trained.ranking.data, trained.fitted_on
    model = trained.model
    audited = None
    if held.sensitive:
        seed = config.split.seed
        audited = audit(trained.ranking, cross=False, n_boot=n_boot, random_state=seed)
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
        "kept": "The model in this folder is the one that was measured."
        if config.split.folds is None
        else "The model in this folder was then fitted on all rows.",
        "seed": config.split.seed,
        "fingerprint": getattr(model, "data_fingerprint_", fitted.fingerprint()),
        "n_features": len(columns.feature_names),
        "feature_names": list(columns.feature_names),
        "rerank": [step["class"] for step in entry.rerank],
        "needs": _needs(columns, model),
        "folder": repr(name),
        "call": f"{lists}{groups}",
        "command": f"equirank predict {shlex.quote(name)} data.csv --out scores.csv",
        "library_version": library_version(),
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
        created=created,
    )


def _innermost(model: Any) -> Any:
    """Return the ranker behind the re-rankers."""
    while hasattr(model, "reranker"):
        model = model.estimator_
    return model


def _needs(columns: "DataColumns", model: Any) -> str:
    words = [f"{len(columns.features)} feature column{'s' * (len(columns.features) != 1)}"]
    words += [f"the list of each row ({columns.query})"] if columns.query else []
    if sees_groups(model):
        words.append(f"people's groups ({', '.join(columns.sensitive)})")
    return ", ".join(words)


def _params(model: Any) -> "Table":
    import inspect

    from ..core.table import Table

    parts = [model]
    while hasattr(parts[-1], "reranker"):
        outer = parts.pop()
        parts += [outer.reranker, outer.estimator_]
    rows: list[tuple[Any, ...]] = []
    for part in reversed(parts):
        signature = inspect.signature(type(part)).parameters
        for name, value in part.get_params(deep=False).items():
            default = signature[name].default
            shown = "" if default is inspect.Parameter.empty else repr(default)
            given = " ".join(repr(value).split())
            rows.append((name, type(part).__name__, given, shown, given == shown))
    heads = ("parameter", "of", "value", "default", "same")
    return Table({head: [row[at] for row in rows] for at, head in enumerate(heads)})


def _columns(columns: "DataColumns") -> "Table":
    from ..core.table import Table

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


def _groups(data: "RankingData") -> "Table":
    import numpy as np

    from ..core.table import Table

    rows: list[tuple[str, Any, int, float]] = []
    for name, attribute in data.sensitive.items():
        sizes = np.bincount(attribute.codes, minlength=len(attribute.categories)).tolist()
        for group, size in zip(attribute.categories, sizes, strict=True):
            rows.append((name, group, size, size / data.n_rows))
    heads = ("attribute", "group", "entries", "share")
    return Table({head: [row[at] for row in rows] for at, head in enumerate(heads)})


def _limits(config: "Config", columns: "DataColumns", trained: "Trained") -> list[str]:
    """Say what the model must not be taken for, from what is known."""
    import numpy as np

    held = trained.ranking.data
    said = [
        f"The figures come from {held.n_rows:,} items in {held.n_queries:,} "
        f"list{'s' * (held.n_queries != 1)} of the same file as the training data. On data that "
        "was gathered in another way, place or time the model may do worse.",
        "A score orders the items of one list. It is no probability, and scores of different "
        "lists cannot be compared.",
    ]
    direct = [name for name in columns.sensitive if name in columns.features]
    if direct:
        said.append(
            f"The groups in {', '.join(direct)} are features: the model may rank people by them."
        )
    elif columns.sensitive and not sees_groups(trained.model):
        said.append(
            f"The model does not see {', '.join(columns.sensitive)} when it predicts. Other "
            "features may stand for them, so this alone does not make it fair."
        )
    if sees_groups(trained.model):
        said.append(
            f"It needs {', '.join(columns.sensitive)} to predict, and uses them to place people."
        )
    if not columns.sensitive:
        said.append("It is not known how it treats groups of people: none were named.")
    for name, attribute in held.sensitive.items():
        sizes = np.bincount(attribute.codes, minlength=len(attribute.categories)).tolist()
        few = [
            f"{group} ({size})"
            for group, size in zip(attribute.categories, sizes, strict=True)
            if size < FEW
        ]
        if few:
            said.append(
                f"Of {name}, few were held out: {', '.join(few)}. What is said about them is "
                "uncertain."
            )
    if columns.categories:
        said.append(
            "It knows only the categories listed under Data; a file with another one is refused."
        )
    said.append(
        "It repeats what the relevance in the data rewards. If those judgements were unfair, so "
        "is the model, and no figure here shows it."
    )
    return said
