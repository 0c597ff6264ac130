"""Fit a model of a configuration and evaluate it on held-out data."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..core.errors import DataError, InfeasibleError
from .config_objects import ConfigError

if TYPE_CHECKING:
    import numpy as np

    from ..core.data import RankingData
    from ..core.evaluation import Evaluation
    from ..core.ranking import Ranking
    from .config import Config, ModelEntry

__all__ = [
    "Trained",
    "check_features",
    "default_metrics",
    "train_model",
    "usual_metrics",
]


#: Held-out share if the configuration has neither a share nor folds.
TEST = 0.25


@dataclass(frozen=True)
class Trained:
    """A fitted model, with the ranking and evaluation of the held-out data.

    ``evaluation`` covers all items, ``by_group`` splits it by each sensitive column.
    """

    model: Any
    ranking: "Ranking"
    evaluation: "Evaluation"
    by_group: "dict[str, Evaluation]"
    fitted_on: "RankingData"
    how: str


def train_model(
    config: "Config", entry: "ModelEntry", data: "RankingData", *, n_boot: int = 1000
) -> Trained:
    """Return a fitted and evaluated model.

    With a held-out share, the model returned is the evaluated one. With folds, each row is ranked
    by a model not trained on it, and the model returned is fitted on all rows. The first seed of
    the configuration splits the data and is every ``random_state`` of the model, as in `compare`.
    """
    check_features(data, entry.estimator, config.data.path)
    try:
        if config.split.folds is None:
            model, ranking, fitted_on, how = _hold_out(config, entry, data)
        else:
            model, ranking, fitted_on, how = _in_folds(config, entry, data)
    except ConfigError:
        raise
    except (DataError, InfeasibleError) as error:
        raise ConfigError(f"{entry.location}: {error}") from None
    return _measured(config, model, ranking, fitted_on, how, n_boot)


def check_features(data: "RankingData", model: Any, path: str) -> None:
    """Raise if a feature is missing and the model does not accept missing values."""
    import numpy as np
    from sklearn.utils import get_tags

    values = data.X
    if values is None or hasattr(values, "tocsr") or get_tags(model).input_tags.allow_nan:
        return
    bad = np.argwhere(np.isnan(values))
    if len(bad):
        stored, column = bad[0].tolist()
        row = int(stored if data.rows is None else data.rows[stored]) + 1
        name = column + 1 if data.feature_names is None else data.feature_names[column]
        raise ConfigError(
            f"{path}: feature {name!r} must not be missing for {type(model).__name__}, "
            f"got a missing value in row {row}"
        )


def _hold_out(
    config: "Config", entry: "ModelEntry", data: "RankingData"
) -> "tuple[Any, Ranking, RankingData, str]":
    from ..comparison.cell import seeded_clone
    from ..core.splits import query_train_test_split

    by, share = config.split.by, config.split.test or TEST
    train, test = query_train_test_split(
        _splittable(config, data),
        test_size=share,
        by=by,  # type: ignore[arg-type]
        random_state=config.split.seed,
    )
    model = seeded_clone(entry.estimator, config.split.seed).fit(train)
    words = f"the lists ({test.n_queries} of {data.n_queries})"
    words = words if by == "query" else f"the items ({test.n_rows} of {data.n_rows})"
    return model, model.rank(test), train, f"{100 * share:g}% of {words}"


def _in_folds(
    config: "Config", entry: "ModelEntry", data: "RankingData"
) -> "tuple[Any, Ranking, RankingData, str]":
    import numpy as np

    from ..comparison.cell import seeded_clone
    from ..core.environment import progress

    folds, by, seed = int(config.split.folds or 2), config.split.by, config.split.seed
    position = np.zeros(data.n_rows, dtype=np.int32)
    score = np.zeros(data.n_rows)
    fold = np.zeros(data.n_rows, dtype=np.int64)
    parts = progress(_parts(config, data), f"{entry.name}: folds", folds)
    for number, (train, test, held) in enumerate(parts):
        ranking = seeded_clone(entry.estimator, seed).fit(train).rank(test)
        if ranking.n_draws > 1:
            raise ConfigError(
                f"{entry.location}: must return one draw to be evaluated in folds, got "
                f"{ranking.n_draws}; [split] test holds out a share instead"
            )
        position[held], fold[held] = ranking.position, number
        if ranking.data.score is not None:
            score[held] = ranking.data.score
    model = seeded_clone(entry.estimator, seed).fit(data)
    return model, _combined(data, position, score, fold, by), data, f"{folds} folds, by {by}"


def _parts(
    config: "Config", data: "RankingData"
) -> "Iterator[tuple[RankingData, RankingData, np.ndarray]]":
    """Yield train, test and the stored rows of the test of each fold."""
    import numpy as np

    from ..core.splits import QueryKFold

    split = config.split
    splitter = QueryKFold(split.folds, by=split.by, shuffle=True, random_state=split.seed)  # type: ignore[arg-type]
    for _, test in splitter.split(_splittable(config, data)):
        chosen = np.zeros(data.n_rows, dtype=bool)
        chosen[test] = True
        chosen = chosen if data.rows is None else chosen[data.rows]
        if split.by == "query":
            queries = chosen[data.offsets[:-1]]
            yield data.select(~queries), data.select(queries), np.flatnonzero(chosen)
        else:
            held = np.flatnonzero(chosen)
            rest = np.flatnonzero(~chosen)
            yield data.select_items(rest), data.select_items(held), held


def _splittable(config: "Config", data: "RankingData") -> "RankingData":
    """Return the data, or raise if a single list is to be split by query."""
    if config.split.by == "query" and data.n_queries == 1:
        raise ConfigError(
            f'{config.file}: [split] by: must be "item" for a single list, got "query"'
        )
    return data


def _combined(
    data: "RankingData", position: "np.ndarray", score: "np.ndarray", fold: "np.ndarray", by: str
) -> "Ranking":
    """Return one ranking of all folds; split by item, each fold is a separate list."""
    from ..core.given_data import as_ranking_data
    from ..core.ranking import Ranking
    from ..datasets.assembly import labels_of

    if by == "query":
        return Ranking.from_positions(replace(data, score=score), data.to_original(position))
    query = data.query_of_rows()
    lists = as_ranking_data(
        y=data.y,
        qid=query * (int(fold.max()) + 1) + fold,
        sensitive_features={n: labels_of(a) for n, a in data.sensitive.items()} or None,
        cost=data.cost,
        score=score,
        max_groups=data.n_rows,
    )
    return Ranking.from_positions(lists, position)


def _measured(
    config: "Config",
    model: Any,
    ranking: "Ranking",
    fitted_on: "RankingData",
    how: str,
    n_boot: int,
) -> Trained:
    from ..core.evaluate import evaluate

    metrics = list(config.metrics) or default_metrics(ranking.data)
    seed = config.split.seed
    try:
        whole = evaluate(ranking, metrics, n_boot=n_boot, random_state=seed)
        split = [metric for metric in metrics if metric.additive]
        by_group = {
            name: evaluate(ranking, split, by=name, n_boot=n_boot, random_state=seed)
            for name in (ranking.data.sensitive if split else ())
        }
    except DataError as error:
        raise ConfigError(f"{config.file}: metrics: {error}") from None
    return Trained(model, ranking, whole, by_group, fitted_on, how)


def default_metrics(data: "RankingData") -> list[Any]:
    """Return default metrics that the data allow."""
    return usual_metrics(data.y is not None, list(data.sensitive))


def usual_metrics(relevance: bool, attributes: Sequence[str]) -> list[Any]:
    """Return default metrics of data with or without relevance and with these attributes."""
    from ..metrics import NDCG, RND, AveragePrecision, ExposureGap, Precision

    chosen: list[Any] = []
    if relevance:
        chosen += [NDCG(k=10), Precision(k=10), AveragePrecision()]
    for name in attributes:
        by = name if len(attributes) > 1 else None
        chosen += [ExposureGap(by=by), RND(by=by)]
    if not chosen:
        raise DataError("relevance or sensitive must be given to compute metrics, got neither")
    return chosen
