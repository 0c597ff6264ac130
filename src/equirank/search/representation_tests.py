"""evaluate_representation: group and relevance information in a learned representation."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from ..core.data import RankingData
from ..core.docstrings import describe_as
from ..core.environment import progress
from ..core.errors import DataError
from ..core.given_data import as_ranking_data, refuse_beside
from ..core.metric import GroupMetric, Metric
from ..core.params import Choice, Constraint, Integer, Number, check_params
from ..core.random import as_seed, generator
from ..core.splits import QueryKFold
from ..core.table import Table
from ..preprocess.leakage import representation_leakage
from ..rankers.early_stopping import metric_value
from .tradeoff_scorer import two_metrics

__all__ = ["evaluate_representation"]


Cells = dict[tuple[str, str, str], list[float]]
Model = Literal["linear", "forest"]
MODELS: tuple[Model, ...] = ("linear", "forest")


@describe_as(representation_leakage, sections=("References",))
def evaluate_representation(
    transformer: Any,
    X: Any,
    y: Any = None,
    sensitive_features: Any = None,
    qid: Any = None,
    *,
    models: Sequence[Model] = MODELS,
    relevance: Any = "NDCG",
    unfairness: Any = "RND",
    by: str | tuple[str, ...] | None = None,
    n_splits: int = 5,
    level: float = 0.95,
    random_state: Any = 0,
) -> Table:
    r"""Measure how well models trained on a representation predict groups and relevance.

    Models without fairness terms are trained on ``transformer.transform(X)`` and evaluated on
    held-out data:

    - ``ADRG``: the accuracy of predicting the group above that of guessing
      (`equirank.preprocess.representation_leakage`): 0 is best;
    - the relevance metric of ranking by their prediction of y;
    - 1 - the unfairness metric of the same ranking, for each attribute.

    Values are means over ``n_splits`` splits, with the Student t confidence interval of the mean,
    cut to [0, 1]. Lists are split whole; data with fewer lists than splits is split by person, and
    each part is one list. The splits share training data, so intervals describe the variation of
    the split, not of other people. Splits in which a value is undefined are omitted.

    Parameters
    ----------
    transformer : object with ``transform``, or None
        Fitted on other data, such as `DirectRanker`, `DebiasClassifier` or a scikit-learn
        transformer. None evaluates X itself, as a baseline.
    X : array-like, data frame or RankingData
        The data to transform; a `RankingData` contains the other arguments.
    y : array-like
        Relevance, >= 0.
    sensitive_features : array-like, data frame or dict
        The group of each row, any number of groups; each attribute is evaluated separately.
    qid : array-like, optional
        The list of each row; None makes all rows one list.
    models : sequence of {"linear", "forest"}
        Logistic regression for groups and ridge regression for y, on standardised columns; or
        random forests.
    relevance, unfairness : str or Metric, default="NDCG", "RND"
        A metric of which higher and one of which lower values are better, both between 0 and 1.
    by : str or tuple of str, optional
        The only attribute to evaluate, or several to cross.
    n_splits : int, default=5
        Number of splits; each holds out one part in ``n_splits``.
    level : float, default=0.95
        Level of the confidence intervals.
    random_state : int, Generator, RandomState or None
        Seed of splits and forests.

    Returns
    -------
    Table
        One row per model, metric and attribute: model, metric, attribute, value, low, high and n,
        the number of splits with a value.

    Examples
    --------
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import DirectRanker
    >>> from equirank.search import evaluate_representation
    >>> train = make_ranking(n_queries=40, n_items=20, feature_bias=1.0, random_state=0)
    >>> test = make_ranking(n_queries=40, n_items=20, feature_bias=1.0, random_state=1)
    >>> fair = DirectRanker("adversarial", n_epochs=20, random_state=0).fit(train)
    >>> table = evaluate_representation(fair, test, models=["linear"])
    >>> table["metric"].tolist()
    ['ADRG', 'NDCG', '1 - RND']
    >>> raw = evaluate_representation(None, test, models=["linear"])
    >>> bool(table["value"][0] < raw["value"][0])  # less about groups than the features
    True
    """
    allowed: dict[str, Constraint] = {
        "n_splits": Integer(2),
        "level": Number(0.0, 1.0, open_low=True, open_high=True),
    }
    given = {"n_splits": n_splits, "level": level}
    check_params("evaluate_representation", given, allowed)
    for model in models:
        check_params("evaluate_representation", {"models": model}, {"models": Choice(*MODELS)})
    good, bad = two_metrics(relevance, unfairness)
    data = _represented(transformer, X, y, sensitive_features, qid)
    names = list(data.sensitive) if by is None else [by]
    unfair = {_label(name): _of(bad, name) for name in names}
    for metric in (good, *unfair.values()):
        metric.check(data)
    seed = as_seed(random_state)
    cells: Cells = defaultdict(list)
    splits = enumerate(_splits(data, n_splits, seed))
    for fold, (train, test) in progress(splits, "splits", total=n_splits):
        draw = int(generator(seed, fold).integers(2**31))
        for model in models:
            for name in names:
                groups = data.attribute(name)
                leak = representation_leakage(
                    data.X[groups.known],
                    groups.codes[groups.known],
                    model=model,
                    test_size=1.0 / n_splits,
                    random_state=draw,
                )
                cells[model, "ADRG", _label(name)].append(leak)
            score = _regressor(model, draw).fit(train.X, train.y).predict(test.X)
            cells[model, good.name, ""].append(metric_value(good, test, score))
            for label, metric in unfair.items():
                value = 1.0 - metric_value(metric, test, score)
                cells[model, f"1 - {bad.name}", label].append(value)
    return _table(cells, level)


def _represented(
    transformer: Any, X: Any, y: Any, sensitive_features: Any, qid: Any
) -> RankingData:
    """Return the data with the representation in place of its features."""
    if transformer is not None and not hasattr(transformer, "transform"):
        kind = type(transformer).__name__
        raise DataError(f"transformer must have a method transform or be None, got {kind}")
    if not isinstance(X, RankingData):
        Z = X if transformer is None else transformer.transform(X)
        data = as_ranking_data(Z, y, qid=qid, sensitive_features=sensitive_features)
    else:
        refuse_beside({"y": y, "sensitive_features": sensitive_features, "qid": qid})
        data = X if transformer is None else _transformed(transformer, X)
    if data.X is None or not data.sensitive:
        missing = "X" if data.X is None else "sensitive_features"
        raise DataError(f"{missing} must be given to evaluate a representation")
    data.refuse_categories("a representation")
    return data


def _transformed(transformer: Any, data: RankingData) -> RankingData:
    if data.X is None:
        raise DataError("X must be given to evaluate a representation, and the data lacks it")
    given = data.to_original(data.X)
    if data.feature_names is not None and hasattr(transformer, "feature_names_in_"):
        named = zip(data.feature_names, given.T, strict=True)
        given = Table(dict(named), data.backend).to_frame()
    data.refuse_categories(type(transformer).__name__)
    Z = as_ranking_data(transformer.transform(given)).X
    if Z is None or Z.shape[0] != data.n_rows:
        raise DataError(f"transformer must return one row for each of the {data.n_rows} rows of X")
    return replace(data, X=Z[data.caller_rank], feature_names=None)


def _of(metric: Metric, name: Any) -> Metric:
    """Return the metric of this attribute, unless the metric names one itself."""
    if isinstance(metric, GroupMetric) and metric.by is None:
        return replace(metric, by=name)
    return metric


def _label(name: str | tuple[str, ...]) -> str:
    return name if isinstance(name, str) else " x ".join(name)


def _splits(data: RankingData, n_splits: int, seed: int) -> Any:
    by: Literal["query", "item"] = "query" if data.n_queries >= n_splits else "item"
    place = data.caller_rank
    for _, held_out in QueryKFold(n_splits, by=by, shuffle=True, random_state=seed).split(data):
        mask = np.zeros(data.n_rows, dtype=bool)
        mask[held_out] = True
        mask = mask[place]
        yield data.select_items(np.flatnonzero(~mask)), data.select_items(np.flatnonzero(mask))


def _regressor(model: str, seed: int) -> Any:
    from sklearn.ensemble import RandomForestRegressor
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if model == "forest":
        return RandomForestRegressor(random_state=seed)
    return make_pipeline(StandardScaler(), Ridge())


def _table(cells: Cells, level: float) -> Table:
    from scipy.special import stdtrit

    columns: dict[str, list[Any]] = {"model": [], "metric": [], "attribute": []}
    columns |= {"value": [], "low": [], "high": [], "n": []}
    for key, values in cells.items():
        known = np.array([value for value in values if not np.isnan(value)])
        n = len(known)
        mean = float(known.mean()) if n else float("nan")
        half = float("nan")
        if n > 1:
            spread = float(known.std(ddof=1)) / np.sqrt(n)
            half = float(stdtrit(n - 1, 0.5 + level / 2.0)) * spread
        row = (*key, mean, max(mean - half, 0.0), min(mean + half, 1.0), n)
        for column, value in zip(columns.values(), row, strict=True):
            column.append(value)
    return Table(columns)
