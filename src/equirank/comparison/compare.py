"""compare: fit and evaluate several methods on the same folds."""

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from ..core.chance import chance_by_query, exceeds
from ..core.data import RankingData
from ..core.environment import progress
from ..core.errors import DataError, NoHeadroomWarning
from ..core.given_data import as_given_data
from ..core.metric import Metric
from ..core.params import Choice, Constraint, Flag, Integer, Number, Optional, check_params
from ..core.random import generator
from ..core.ranking import Ranking
from ..core.registry import parse_metrics
from ..kernels.segments import sort_within
from ..rankers.bridges.given_scores import are_scores, with_scores
from ..reports.provenance import Provenance
from .cell import Cell, as_method, measured, run_cell, seeded_clone
from .comparison import Comparison
from .folds import Fold, make_folds, seed_numbers, units
from .parallel_jobs import run_jobs
from .store import Store, cell_key, data_digest, describe, versions

__all__ = ["chance_values", "compare"]


#: Random orders over which the value of chance is averaged.
N_DRAWS = 20


def chance_values(
    data: RankingData, folds: Sequence[Fold], metrics: Sequence[Metric], unit: str
) -> dict[str, float]:
    """Return each metric's value for random orders of the test lists of the first seed.

    The orders are draws of one random policy: metrics of an expectation (exposure) use their mean,
    other metrics are averaged over the draws. Metrics of scores are omitted, since a random order
    has none.
    """
    scoreless = [metric for metric in metrics if "score" not in metric.needs]
    if not scoreless:
        return {}
    means: dict[str, list[np.ndarray]] = {metric.name: [] for metric in scoreless}
    for fold in (each for each in folds if each.seed == folds[0].seed):
        test = data.select_items(fold.test)
        rng = generator(fold.seed, 7, fold.number)
        positions = np.stack([_random_positions(test, rng) for _ in range(N_DRAWS)], axis=1)
        ranking = Ranking.from_positions(test, test.to_original(positions))
        values, summary, _ = measured(scoreless, ranking)
        for metric in scoreless:
            whole = unit == "folds" or type(metric).summarize is not Metric.summarize
            found = np.array([summary[metric.name]]) if whole else values[metric.name]
            means[metric.name].append(found[~np.isnan(found)])
    joined = {name: np.concatenate(parts) for name, parts in means.items()}
    return {name: float(each.mean()) for name, each in joined.items() if len(each)}


def _random_positions(data: RankingData, rng: np.random.Generator) -> np.ndarray:
    """Return the position of each stored row in a random order of its list."""
    order = sort_within(rng.random(data.n_rows), data.offsets)
    position = np.empty(data.n_rows, dtype=np.int32)
    starts = np.repeat(data.offsets[:-1], np.diff(data.offsets))
    position[order] = np.arange(data.n_rows) - starts + 1
    return position


def compare(
    estimators: Mapping[str, Any],
    data: Any,
    metrics: Any,
    *,
    cv: Any = 5,
    by: Literal["query", "item"] = "query",
    seeds: Any = 1,
    n_jobs: int | None = None,
    store: str | os.PathLike[str] | None = None,
    fresh: bool = False,
    n_draws: int | None = None,
    level: float = 0.95,
    title: str | None = None,
    purpose: str | None = None,
    period: str | None = None,
    author: str | None = None,
    date: Any = None,
    **columns: Any,
) -> Comparison:
    """Fit and evaluate several methods on the same folds of the same data.

    Each method is cloned, seeded and fitted on the train rows of a fold; it then ranks the test
    rows and is evaluated. An exception of a method is recorded in the table, and the other methods
    continue. The same seeds produce the same numbers, for any ``n_jobs``.

    Parameters
    ----------
    estimators : dict of str to estimator
        Rankers, `Reranked`, scikit-learn pipelines that end in one, searches over one (their parts
        receive lists and groups by metadata routing, which is enabled during the call only), or
        whatever `equirank.rankers.as_ranker` takes: rankers of LightGBM, XGBoost and CatBoost,
        regressors and classifiers, fitted boosters, functions, columns. None is modified.
    data : RankingData or data frame
        Data with features and relevance.
    metrics : str, Metric, or list of them
        The metrics to evaluate; tables and charts begin with the first.
    cv : int, float, splitter or list of (train, test)
        Number of folds, or share held out, redrawn for each seed; or a splitter or rows, equal for
        every seed.
    by : {"query", "item"}
        Split whole queries; or, for a single list of people, its rows, stratified by group.
    seeds : int or list of int
        Number of seeds (3 means 0, 1 and 2), or the seeds. Each redraws the folds and is set as
        every ``random_state``, ``seed`` and ``random_seed``, including those of parts.
    n_jobs : int, optional
        Number of parallel cells in joblib; -1 for all cores. Other backends, such as Dask, are
        chosen with ``joblib.parallel_config``.
    store : path, optional
        A folder of finished cells, from which an interrupted run continues. A cell is recomputed if
        the method, a parameter, metric, fold, version or the data changed. Errors are not stored.
        Changes in the code of your own classes are not detected.
    fresh : bool
        Recompute every cell, and replace those in the store.
    n_draws : int, optional
        Draws of stochastic rankers; without, they rank by their scores.
    level : float
        Level of the confidence intervals.
    title, purpose, period, author, date : optional
        For the report, as in `audit`.
    **columns
        Columns of a data frame, as in `as_ranking_data`: ``y="grade", qid="query",
        sensitive_features=["seller"], ids="sku"``.

    Returns
    -------
    Comparison

    Notes
    -----
    **Unit of the tests.** Split by query, values are averaged over the seeds for each query, and
    the unit is the query: the tests compare the fitted methods on new queries. Split by item, each
    fold is one list, and folds share most of their training rows; the corrected resampled t-test
    [1]_ has folds as units and widens their variance by test over train size. Metrics that are not
    a mean over queries also have folds as units.

    **No headroom.** If a method that is trained with groups is compared, and the first method
    without them is not two standard errors over lists less fair than random order, a
    `NoHeadroomWarning` says so: a score of single items can hardly be fairer than random order on
    new lists.

    An empty set of estimators is an error. Ties are handled by the metrics.

    References
    ----------
    .. [1] C. Nadeau and Y. Bengio, Inference for the generalization error, Machine Learning 52,
       2003.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from equirank import compare
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rerankers import DetGreedy, Reranked
    >>> data = make_ranking(n_queries=30, n_items=20, random_state=0)
    >>> methods = {"plain": Ridge(), "fair": Reranked(Ridge(), DetGreedy())}
    >>> result = compare(methods, data, ["NDCG@10", "RND(step=5)@15"], cv=3)
    >>> len(result.table), result.unit
    (12, 'queries')
    >>> result.pick("NDCG@10 >= 0.5 * best", minimise="RND(step=5)@15")
    'fair'
    """
    given = {"by": by, "fresh": fresh, "n_draws": n_draws, "level": level}
    check_params("compare", given, DECLARED)
    provenance = Provenance.given(
        title=title, purpose=purpose, period=period, author=author, date=date
    )
    data = as_given_data(data, "compare", columns)
    methods = _checked(estimators, data)
    chosen = _measurable(metrics, data)
    numbers = seed_numbers(seeds)
    folds = make_folds(data, cv, by, numbers)
    unit = units(data, folds, cv, by)
    queries = [np.unique(data.query_of_rows()[fold.test]) for fold in folds]
    kept = None if store is None else Store(store)
    keys = _keys(methods, data, folds, chosen, n_draws) if kept is not None else {}
    cells: dict[tuple[str, int], Cell] = {}
    if kept is not None and not fresh:
        cells = _stored_cells(kept, keys, queries, chosen)
    wanted = [(name, i) for i in range(len(folds)) for name in methods if (name, i) not in cells]
    ran = _run(wanted, methods, data, folds, chosen, n_draws, n_jobs)
    for at, cell in progress(ran, "comparing", len(wanted)):
        cells[at] = cell
        if kept is not None and at in keys:
            kept.write(keys[at][0], cell, keys[at][1])
    _warn_without_headroom(methods, data, folds, chosen, cells)
    return Comparison(
        estimators=methods,
        metrics=chosen,
        folds=folds,
        queries=queries,
        cells={name: [cells[name, i] for i in range(len(folds))] for name in methods},
        unit=unit,
        chance=chance_values(data, folds, chosen, unit),
        level=level,
        data=data,
        provenance=provenance.with_inputs(
            data, methods=list(methods), metrics=chosen, cv=cv if np.isscalar(cv) else "given",
            by=by, seeds=list(numbers), n_draws=n_draws, level=level,
        ),
    )  # fmt: skip


DECLARED: dict[str, Constraint] = {
    "by": Choice("query", "item"),
    "fresh": Flag(),
    "n_draws": Optional(Integer(1)),
    "level": Number(0, 1, open_low=True, open_high=True),
}


def _stored_cells(
    kept: Store,
    keys: Mapping[tuple[str, int], tuple[str, Any]],
    queries: Sequence[np.ndarray],
    metrics: list[Metric],
) -> dict[tuple[str, int], Cell]:
    """Return the finished cells of a store that fit these folds and metrics."""
    cells = {}
    for at, (key, _) in keys.items():
        found = kept.read(key)
        if found is not None and _fits(found, len(queries[at[1]]), metrics):
            cells[at] = found
    return cells


def _warn_without_headroom(
    methods: Mapping[str, Any],
    data: RankingData,
    folds: Sequence[Fold],
    metrics: Sequence[Metric],
    cells: Mapping[tuple[str, int], Cell],
) -> None:
    """Warn if the first method without fairness is not clearly less fair than random order.

    Values are those of the test lists of the first seed. Only methods that use groups in training
    and not in prediction are concerned: a re-ranker can be fairer than random order.
    """
    uses = {name: _uses_groups(model) for name, model in methods.items()}
    plain = next((name for name, used in uses.items() if used == (False, False)), None)
    unfair = [m for m in metrics if "sensitive" in m.needs and m.direction == "lower"]
    if plain is None or (True, False) not in uses.values():
        return
    numbers = [i for i, fold in enumerate(folds) if fold.seed == folds[0].seed]
    for metric in (m for m in unfair if "score" not in m.needs):
        if any(metric.name not in cells[plain, i].values for i in numbers):
            continue  # the method failed
        value = np.concatenate([cells[plain, i].values[metric.name] for i in numbers])
        tests = [data.select_items(folds[i].test) for i in numbers]
        orders = [chance_by_query(metric, test, folds[0].seed).mean(axis=0) for test in tests]
        chance = np.concatenate(orders)
        if len(value) > 1 and not exceeds(value, chance):
            warnings.warn(
                f"{metric} of {plain!r}, which is trained without fairness, is "
                f"{np.nanmean(value):.3g}, not two standard errors above that of random order "
                f"({np.nanmean(chance):.3g}): fair training cannot show an effect on these lists",
                NoHeadroomWarning,
                stacklevel=3,
            )


def _uses_groups(model: Any) -> tuple[bool, bool]:
    """Return whether an estimator, or the last step of a pipeline, fits and predicts by groups."""
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    fit, predict = (
        "sensitive_features" in getattr(last, name, frozenset())
        for name in ("fit_needs", "predict_needs")
    )
    return fit, predict


def _run(
    wanted: Sequence[tuple[str, int]],
    methods: Mapping[str, Any],
    data: RankingData,
    folds: Sequence[Fold],
    metrics: Sequence[Metric],
    n_draws: int | None,
    n_jobs: int | None,
) -> Iterator[tuple[tuple[str, int], Cell]]:
    """Compute cells in parallel and yield each when it is done."""

    def words(at: tuple[str, int]) -> tuple[Any, ...]:
        return methods[at[0]], data, folds[at[1]], metrics, n_draws

    def died(error: BrokenExecutor) -> Cell:
        message = f"{type(error).__name__}: the worker died"
        return Cell({}, {}, {}, float("nan"), float("nan"), message, str(error))

    yield from run_jobs(run_cell, wanted, words, n_jobs, died)


def _checked(estimators: Any, data: RankingData) -> dict[str, Any]:
    if not isinstance(estimators, Mapping) or not estimators:
        raise DataError("estimators must be a dict of names to estimators, with at least one")
    for name, estimator in estimators.items():
        if not isinstance(name, str) or not name.strip():
            raise DataError(f"estimators must have names that are texts, got {name!r}")
        try:
            as_method(estimator)
            if are_scores(estimator):
                with_scores(estimator, data)
        except DataError as error:
            if are_scores(estimator):
                raise DataError(
                    f"estimators[{name!r}] must be an estimator, or scores: {error}"
                ) from None
            kind = estimator.__name__ if isinstance(estimator, type) else type(estimator).__name__
            what = "a class: call it first" if isinstance(estimator, type) else "no estimator"
            raise DataError(
                f"estimators[{name!r}] must be an estimator, and {kind} is {what}"
            ) from None
    return dict(estimators)


def _measurable(metrics: Any, data: RankingData) -> list[Metric]:
    """Return the parsed metrics, checked against the data."""
    if data.X is None or data.y is None:
        raise DataError("data must have features (X) and relevance (y)")
    chosen = parse_metrics(metrics)
    scored = replace(data, score=np.zeros(data.n_rows))
    for metric in chosen:
        metric.check(scored)
    return chosen


def _keys(
    methods: Mapping[str, Any],
    data: RankingData,
    folds: Sequence[Fold],
    metrics: Sequence[Metric],
    n_draws: int | None,
) -> dict[tuple[str, int], tuple[str, dict[str, Any]]]:
    """Return each cell's key and description; none for estimators that cannot be cloned."""
    digest, rows = data_digest(data), [fold.digest() for fold in folds]
    keys = {}
    for name, estimator in methods.items():
        described: dict[int, Any] = {}
        for i, fold in enumerate(folds):
            if fold.seed not in described:
                try:
                    model = seeded_clone(as_method(estimator), fold.seed)
                except (TypeError, RuntimeError, ValueError, AttributeError):
                    break  # the cell will record the error
                described[fold.seed] = describe(model, f"estimators[{name!r}]")
            method = described[fold.seed]
            about = {"method": method, "data": digest, "fold": fold.number, "seed": fold.seed}
            about |= {"rows": rows[i], "n_draws": n_draws, "versions": versions(method)}
            about |= {"metrics": [repr(metric) for metric in metrics]}
            keys[name, i] = cell_key(about), about | {"name": name}
    return keys


def _fits(cell: Cell, n_queries: int, metrics: Sequence[Metric]) -> bool:
    """Return whether a stored cell contains all metrics."""
    return all(
        metric.name in cell.summary and len(cell.values.get(metric.name, ())) == n_queries
        for metric in metrics
    )
