"""One cell of a comparison: one method, one fold, one seed."""

import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..core.data import RankingData
from ..core.errors import DataError
from ..core.measuring import measure
from ..core.metric import Metric
from ..core.ranking import Ranking
from .fitting import fit, rank
from .seeding import seeded_clone
from .splits import Fold

__all__ = ["Cell", "Groups", "measured", "run_cell"]


@dataclass(frozen=True, eq=False)
class Groups:
    """A metric's value in each group."""

    labels: list[str]
    values: list[float]


@dataclass(frozen=True, eq=False)
class Cell:
    """What a cell found: per metric the values per query and their summary; or an error.

    Attributes
    ----------
    values : dict of str to ndarray
        Per metric, one value per query of the test, NaN where undefined.
    summary : dict of str to float
        Per metric, the value over the test.
    groups : dict of str to Groups
        Per metric of groups, each group's value over the test.
    fit_seconds, other_seconds : float
        Time to fit; time to rank and evaluate.
    error, trace : str
        What was raised and where; empty where nothing was.
    """

    values: dict[str, np.ndarray]
    summary: dict[str, float]
    groups: dict[str, Groups]
    fit_seconds: float
    other_seconds: float
    error: str = ""
    trace: str = ""


def run_cell(
    estimator: Any, data: RankingData, fold: Fold, metrics: Sequence[Metric], n_draws: int | None
) -> Cell:
    """Fit on the fold's train rows, rank its test rows and measure; an error becomes the cell's."""
    started = time.perf_counter()
    fitted = started
    try:
        model = seeded_clone(estimator, fold.seed)
        model = fit(model, data.select_items(fold.train))
        fitted = time.perf_counter()
        ranking = rank(model, data.select_items(fold.test), n_draws=n_draws, seed=fold.seed)
        values, summary, groups = measured(metrics, ranking)
    except Exception as error:  # noqa: BLE001 - whatever a method raises is its result
        now = time.perf_counter()
        said = f"{type(error).__name__}: {error}"
        trace = "".join(traceback.format_exception(error))
        fit_seconds = (fitted if fitted > started else now) - started
        return Cell({}, {}, {}, fit_seconds, now - started - fit_seconds, said, trace)
    seconds = fitted - started, time.perf_counter() - fitted
    return Cell(values, summary, groups, *seconds)


def measured(
    metrics: Sequence[Metric], ranking: Ranking
) -> tuple[dict[str, np.ndarray], dict[str, float], dict[str, Groups]]:
    """Give each metric's values per query, their summary, and the summary of each group."""
    values, summary, groups = {}, {}, {}
    for metric in metrics:
        if "score" in metric.needs and ranking.data.score is None:
            raise DataError(f"{metric} needs scores, and the method gives places only")
    for metric, found in zip(metrics, measure(metrics, ranking), strict=True):
        value, by_group = metric.summarize(found)
        values[metric.name] = found.value
        summary[metric.name] = float(value)
        if by_group is not None and len(by_group) == len(found.labels) <= 100:
            labels = [str(label) for label in found.labels]
            groups[metric.name] = Groups(labels, [float(each) for each in by_group])
    return values, summary, groups
