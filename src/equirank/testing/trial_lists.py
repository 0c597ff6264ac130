"""Random small lists on which the checks run: ties, interleaved queries, every special shape."""

import warnings
from dataclasses import dataclass, replace
from itertools import permutations, product
from typing import Any

import numpy as np

from ..core.data import RankingData
from ..core.errors import DataError, EquirankWarning
from ..core.given_data import as_ranking_data
from ..core.metric import Metric, Values, measure
from ..core.ranking import Ranking

__all__ = ["Rows", "Trial", "constant", "random_rows", "tie_orders", "widened"]


@dataclass(frozen=True, eq=False)
class Rows:
    """Columns in a caller's row order, with everything a metric may need."""

    qid: np.ndarray
    score: np.ndarray
    y: np.ndarray
    people: dict[str, np.ndarray]
    cost: np.ndarray
    X: np.ndarray

    def take(self, index: np.ndarray) -> "Rows":
        """Keep these rows, in this order."""
        people = {name: column[index] for name, column in self.people.items()}
        columns = (self.qid, self.score, self.y, self.cost, self.X)
        qid, score, y, cost, X = (column[index] for column in columns)
        return Rows(qid, score, y, people, cost, X)

    def data(self, **without: None) -> RankingData:
        """Return the data without the named parts."""
        columns: dict[str, Any] = {
            "X": self.X,
            "y": self.y,
            "qid": self.qid,
            "sensitive_features": self.people,
            "cost": self.cost,
            "score": self.score,
        }
        return as_ranking_data(**(columns | without))

    def ranking(self) -> Ranking:
        """Rank by score."""
        return self.data().ranking()


def random_rows(
    metric: Metric,
    rng: np.random.Generator,
    *,
    n_queries: int = 12,
    fewest: int = 1,
    most: int = 6,
    n_groups: int = 3,
) -> Rows:
    """Draw lists that fit a metric's options, all rows interleaved."""
    sizes = rng.integers(fewest, most + 1, size=n_queries)
    qid = rng.permutation(np.repeat(np.arange(n_queries), sizes))
    n = len(qid)
    grades = _grades(metric)
    people = {
        name: np.array(labels, dtype=object)[rng.integers(0, len(labels), size=n)]
        for name, labels in _labels(metric, n_groups).items()
    }
    for name, labels in _labels(metric, n_groups).items():
        people[name][: len(labels)] = labels[:n]
    return Rows(
        qid=np.array([f"q{number}" for number in qid]),
        score=rng.integers(0, 4, size=n) / 2.0,
        y=grades[rng.integers(0, len(grades), size=n)],
        people=people,
        cost=rng.integers(1, 5, size=n).astype(np.float64),
        X=rng.normal(size=(n, 2)),
    )


def constant(rows: Rows, *, y: float | None = None, tied: bool = False, group: Any = None) -> Rows:
    """Return every row the same relevance, score or group."""
    people = rows.people
    if group is not None:
        people = {name: np.full(len(rows.y), column[0]) for name, column in people.items()}
    return replace(
        rows,
        y=rows.y if y is None else np.full(len(rows.y), y),
        score=np.zeros(len(rows.y)) if tied else rows.score,
        people=people,
    )


def widened(rows: Rows, metric: Metric, rng: np.random.Generator) -> Rows:
    """Draw relevance and costs anew, from the whole range of doubles; some relevance is 0."""

    def draw(largest: float) -> np.ndarray:
        size = np.ldexp(rng.uniform(0.5, 1.0, size=n), rng.integers(-1072, 1025, size=n))
        return np.minimum(size, largest)

    n, top = len(rows.y), getattr(metric, "max_grade", None)
    y = np.where(rng.random(n) < 0.1, 0.0, draw(np.inf if top is None else float(top)))
    by_grade = isinstance(getattr(metric, "cost", None), tuple)
    return replace(rows, y=rows.y if by_grade else y, cost=draw(np.inf))


def tie_orders(score: np.ndarray) -> np.ndarray:
    """List the positions in every order that the ties of one list allow (row x order)."""
    blocks = [np.flatnonzero(score == level) for level in np.unique(score)[::-1]]
    columns = []
    for parts in product(*(permutations(block.tolist()) for block in blocks)):
        order = [row for part in parts for row in part]
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(1, len(order) + 1)
        columns.append(place)
    return np.stack(columns, axis=1)


def _grades(metric: Metric) -> np.ndarray:
    """Return the grades a metric allows, 0 to 3 unless it names a largest one."""
    top = getattr(metric, "max_grade", None)
    return np.arange(4.0) if top is None else np.linspace(0.0, min(float(top), 3.0), 4)


def _labels(metric: Metric, n_groups: int) -> dict[str, list[Any]]:
    """Name the attributes and groups a metric asks for, the protected one among them."""
    by = getattr(metric, "by", None)
    names = ["sex"] if by is None else [by] if isinstance(by, str) else list(by)
    protected = getattr(metric, "protected", None)
    parts = [protected] if len(names) == 1 else str(protected).split(" & ")
    labels = {}
    for at, name in enumerate(names):
        known = [parts[at]] if protected is not None and at < len(parts) else []
        labels[name] = known + [f"group {j}" for j in range(n_groups - len(known))]
    return labels


class Trial:
    """One metric under test, and the lists that are drawn for it."""

    def __init__(self, metric: Metric, rng: np.random.Generator, n_groups: int) -> None:
        self.metric = replace(metric, undefined="skip")
        self.given = metric
        self.rng = rng
        self.n_groups = n_groups

    def rows(self, **options: int) -> Rows:
        """Draw lists, without ties if the metric refuses them."""
        rows = random_rows(self.metric, self.rng, n_groups=self.n_groups, **options)
        if self.metric.refuses_ties:
            rows = replace(rows, score=self.rng.permutation(len(rows.score)).astype(np.float64))
        return rows

    def values(self, ranking: Ranking, metric: Metric | None = None) -> Values:
        """Measure a ranking, leaving the metric's advice aside."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EquirankWarning)
            try:
                return (metric or self.metric).per_query(ranking)
            except DataError as error:
                # the relevance and costs of these lists are small
                self.require("exceeds" not in str(error), "a value must be finite or NaN")
                raise

    def alone(self, ranking: Ranking) -> np.ndarray | None:
        """Measure part of the lists; None where crossed attributes lose the protected group."""
        try:
            return measure([self.metric], ranking)[0].value
        except DataError:
            if len(ranking.data.sensitive) > 1:
                return None
            raise

    def require(self, condition: Any, sentence: str) -> None:
        """Fail with a sentence that names the metric."""
        if not bool(condition):
            raise AssertionError(f"{self.given}: {sentence}")

    def same(self, got: Any, wanted: Any, sentence: str, atol: float = 1e-9) -> None:
        """Compare arrays, NaN equal to NaN."""
        got, wanted = np.asarray(got, dtype=float), np.asarray(wanted, dtype=float)
        self.require(got.shape == wanted.shape, f"{sentence}: shape {got.shape}")
        bad = ~np.isclose(got, wanted, rtol=1e-9, atol=atol, equal_nan=True)
        if bad.any():
            self.require(False, f"{sentence}: {got[bad][0]!r} instead of {wanted[bad][0]!r}")
