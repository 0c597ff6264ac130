"""The nearest change of one or two features with which a model selects a person."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from ..core import inputs
from ..core.data import RankingData
from ..core.errors import DataError, suggest
from ..core.explain_pair import as_dense

__all__ = ["Change", "Crossing", "Feature", "features_of", "nearest_changes"]


#: Most values of a feature that are tried alone; of more, evenly spaced ones.
MOST_VALUES = 500
#: Features that are tried in pairs, those that raise the score most alone, and values of each.
MOST_PAIRED, PAIR_VALUES = 8, 12
#: Rows that are scored at once.
BLOCK = 1 << 18


@dataclass(frozen=True, eq=False)
class Feature:
    """A feature of the model as people know it: a number, or one of some categories.

    Attributes
    ----------
    name : str
        The column of the file.
    columns : tuple of int
        Its columns of X: one, or one indicator per category.
    labels : tuple of str or None
        The categories in order; None for a number.
    """

    name: str
    columns: tuple[int, ...]
    labels: tuple[str, ...] | None = None

    def value(self, row: np.ndarray) -> float:
        """Return the number, or the code of the category, of a row of X; NaN if missing."""
        if self.labels is None or len(self.columns) == 1:
            return float(row[self.columns[0]])
        found = np.flatnonzero(row[list(self.columns)] == 1)
        return float(found[0]) if len(found) == 1 else float("nan")

    def put(self, rows: np.ndarray, values: np.ndarray) -> None:
        """Set the feature in rows of X."""
        if self.labels is None or len(self.columns) == 1:
            rows[:, self.columns[0]] = values
        else:
            rows[:, list(self.columns)] = values[:, None] == np.arange(len(self.columns))

    def words(self, value: float) -> str:
        """Return a value as people write it."""
        if np.isnan(value):
            return "missing"
        if self.labels is None:
            return f"{value:.6g}"
        return self.labels[int(value)]

    def options(self, X: np.ndarray, own: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the other values that occur in the data, nearest first, and their distances.

        The distance of a number is its share of the range in the data. Another category, and a
        number in place of a missing one, count as the whole range.
        """
        if self.labels is not None:
            codes = np.arange(len(self.labels), dtype=np.float64)
            codes = codes[codes != own]
            return codes, np.ones(len(codes))
        values = np.unique(X[:, self.columns[0]])
        values = values[np.isfinite(values) & (values != own)]
        if len(values) == 0:
            return values, values
        if np.isnan(own):
            return values, np.ones(len(values))
        away = np.abs(values - own) / np.ptp([own, values.min(), values.max()])
        order = np.argsort(away, kind="stable")
        return values[order], away[order]


@dataclass(frozen=True)
class Change:
    """Values of one or two features, and what the model makes of them.

    Attributes
    ----------
    features : tuple of str
        The features that change.
    before, after : tuple of str
        Their values in words.
    distance : float
        The sum of the distances, each a share of the range in the data.
    score : float
        The model's score of the changed person.
    position : int
        Its position in the list, the last one of a tie.
    """

    features: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]
    distance: float
    score: float
    position: int


@dataclass(frozen=True, eq=False)
class Crossing:
    """A person of a list, a model, and the rule that selects.

    Attributes
    ----------
    data : RankingData
        The person's list.
    at : int
        The person's row in it.
    model : Ranker
        The fitted model.
    selects : function of (score, number of others at least as high)
        Whether the person is selected for certain.
    """

    data: RankingData
    at: int
    model: Any
    selects: Callable[[np.ndarray, np.ndarray], np.ndarray]

    def score_list(self, data: RankingData) -> np.ndarray:
        """Return the model's score of each stored row."""
        found = np.asarray(self.model.predict(data), dtype=np.float64)
        return found if data.rows is None else found[data.caller_rank]

    def tried(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the score of each changed row, and how many others score at least as high.

        All other rows of the list stay as they are.
        """
        whole = "qid" in self.model.predict_needs
        n = self.data.n_rows if whole else 1
        score, above = np.empty(len(rows)), np.empty(len(rows), dtype=np.int64)
        others = np.delete(np.arange(self.data.n_rows), self.at)
        fixed = None if whole else self.score_list(self.data)[others]
        for begin in range(0, len(rows), max(1, BLOCK // n)):
            part = slice(begin, min(begin + max(1, BLOCK // n), len(rows)))
            copies = self._copies(rows[part], whole)
            found = self.score_list(copies).reshape(-1, n)
            score[part] = found[:, self.at if whole else 0]
            rest = found[:, others] if fixed is None else fixed[None, :]
            above[part] = (rest >= score[part][:, None]).sum(axis=1)
        return score, above

    def confirmed(self, row: np.ndarray) -> tuple[bool, float, int]:
        """Score the list itself with one changed row: selected or not, its score and position."""
        X = as_dense(self.data.X).copy()
        X[self.at] = row
        changed = replace(self.data, X=inputs.frozen_matrix(self._like(X)))
        found = self.score_list(changed)
        above = int((np.delete(found, self.at) >= found[self.at]).sum())
        score = float(found[self.at])
        yes = self.selects(np.array([score]), np.array([above]))
        return bool(yes[0]), score, above + 1

    def _like(self, X: np.ndarray) -> Any:
        own = self.data.X
        return type(own)(X) if hasattr(own, "tocsr") else X.astype(own.dtype, copy=False)

    def _copies(self, rows: np.ndarray, whole: bool) -> RankingData:
        """Return one copy of the list per changed row, or the changed rows alone."""
        data, count = self.data, len(rows)
        n = data.n_rows if whole else 1
        at = self.at if whole else 0
        kept = np.arange(data.n_rows) if whole else np.array([self.at])
        X = np.repeat(as_dense(data.X)[None, kept], count, axis=0)
        X[:, at] = rows
        return RankingData(
            X=inputs.frozen_matrix(self._like(X.reshape(count * n, -1))),
            y=None,
            offsets=inputs.frozen(np.arange(count + 1, dtype=np.int64) * n),
            qids=inputs.frozen(np.arange(count)),
            sensitive={name: a.take(np.tile(kept, count)) for name, a in data.sensitive.items()},
            feature_names=data.feature_names,
            max_grade=data.max_grade,
        )


def features_of(
    names: Sequence[str], categories: Mapping[str, Sequence[str]], fixed: Sequence[str]
) -> tuple[list[Feature], list[Feature]]:
    """Return the features of a model, and those of them that may change.

    ``categories`` maps a feature to its labels, which are codes of one column or one indicator
    column each (``home=own``). ``fixed`` names features that may not change.
    """
    at = {name: column for column, name in enumerate(names)}
    found: list[Feature] = []
    used: set[int] = set()
    for name, labels in categories.items():
        split = [f"{name}={label}" for label in labels]
        if name in at:
            columns: tuple[int, ...] = (at[name],)
        elif all(each in at for each in split):
            columns = tuple(at[each] for each in split)
        else:
            raise DataError(f"categories must name features of the model, got {name!r}")
        found.append(Feature(name, columns, tuple(map(str, labels))))
        used.update(columns)
    found += [Feature(name, (column,)) for name, column in at.items() if column not in used]
    found.sort(key=lambda feature: feature.columns)
    known = [feature.name for feature in found]
    for name in fixed:
        if name not in known:
            words = ", ".join(known[:10]) + (", ..." if len(known) > 10 else "")
            raise DataError(
                f"fixed must name features of the model ({words}), got {name!r}"
                f"{suggest(name, known)}"
            )
    return found, [feature for feature in found if feature.name not in fixed]


def nearest_changes(crossing: Crossing, features: Sequence[Feature], X: np.ndarray) -> list[Change]:
    """Return for each feature its nearest change that selects the person; else the nearest pair.

    Every value that occurs in the data ``X`` is tried (of more than 500, evenly spaced ones). If
    no single change suffices, pairs of the eight features that raise the score most are tried on
    a grid, and the nearest pair is moved back towards the person as far as it still suffices.
    Every change is confirmed by scoring the list itself with the changed row.
    """
    own = np.asarray(as_dense(crossing.data.X)[crossing.at], dtype=np.float64)
    tried = [_Tried.of(crossing, feature, own, X) for feature in features]
    alone = [found for each in tried for found in each.nearest(crossing)]
    if alone:
        return sorted(alone, key=lambda change: (change.distance, change.features))
    best = sorted(tried, key=lambda each: -each.gain)[:MOST_PAIRED]
    return _nearest_pair(crossing, [each for each in best if len(each.values)], own)


@dataclass(frozen=True, eq=False)
class _Tried:
    """A feature, the values that were tried, nearest first, and which of them suffice."""

    feature: Feature
    own: np.ndarray
    values: np.ndarray
    distance: np.ndarray
    enough: np.ndarray
    gain: float

    @classmethod
    def of(cls, crossing: Crossing, feature: Feature, own: np.ndarray, X: np.ndarray) -> "_Tried":
        values, distance = feature.options(X, feature.value(own))
        if len(values) == 0:
            return cls(feature, own, values, distance, np.zeros(0, dtype=bool), -np.inf)
        kept = _spread(len(values), MOST_VALUES)
        values, distance = values[kept], distance[kept]
        rows = np.repeat(own[None], len(values), axis=0)
        feature.put(rows, values)
        score, above = crossing.tried(rows)
        enough = crossing.selects(score, above)
        return cls(feature, own, values, distance, enough, float(score.max()))

    def nearest(self, crossing: Crossing) -> list[Change]:
        """Return the nearest change that suffices and is confirmed, if any."""
        for at in np.flatnonzero(self.enough).tolist():
            change = _confirmed(crossing, self.own, [self.feature], [self.values[at]],
                                float(self.distance[at]))  # fmt: skip
            if change is not None:
                return [change]
        return []


def _nearest_pair(crossing: Crossing, tried: list[_Tried], own: np.ndarray) -> list[Change]:
    """Return the nearest confirmed change of two features that was found, if any."""
    found: list[tuple[float, tuple[_Tried, _Tried], tuple[int, int]]] = []
    for pair in combinations(tried, 2):
        grids = [_spread(len(each.values), PAIR_VALUES) for each in pair]
        first, second = (g.reshape(-1) for g in np.meshgrid(*grids, indexing="ij"))
        enough = _pair_enough(crossing, pair, own, first, second)
        away = pair[0].distance[first] + pair[1].distance[second]
        for at in np.flatnonzero(enough)[np.argsort(away[enough], kind="stable")][:1].tolist():
            found.append((float(away[at]), pair, (int(first[at]), int(second[at]))))
    for _, pair, at in sorted(found, key=lambda each: each[0]):
        chosen = _moved_back(crossing, pair, own, at)
        distance = float(sum(each.distance[i] for each, i in zip(pair, chosen, strict=True)))
        change = _confirmed(crossing, own, [each.feature for each in pair],
                            [each.values[i] for each, i in zip(pair, chosen, strict=True)],
                            distance)  # fmt: skip
        if change is not None:
            return [change]
    return []


def _pair_enough(
    crossing: Crossing,
    pair: tuple[_Tried, _Tried],
    own: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
) -> np.ndarray:
    rows = np.repeat(own[None], len(first), axis=0)
    pair[0].feature.put(rows, pair[0].values[first])
    pair[1].feature.put(rows, pair[1].values[second])
    return crossing.selects(*crossing.tried(rows))


def _moved_back(
    crossing: Crossing, pair: tuple[_Tried, _Tried], own: np.ndarray, at: tuple[int, int]
) -> tuple[int, int]:
    """Return the nearest value of the first feature with the second as it is, then vice versa."""
    first, second = at
    nearer = np.arange(first + 1)
    enough = _pair_enough(crossing, pair, own, nearer, np.full(len(nearer), second))
    first = int(np.flatnonzero(enough)[0]) if enough.any() else first
    nearer = np.arange(second + 1)
    enough = _pair_enough(crossing, pair, own, np.full(len(nearer), first), nearer)
    second = int(np.flatnonzero(enough)[0]) if enough.any() else second
    return first, second


def _confirmed(
    crossing: Crossing,
    own: np.ndarray,
    features: Sequence[Feature],
    values: Sequence[float],
    distance: float,
) -> Change | None:
    """Return a change if scoring the list itself confirms that it suffices."""
    row = own.copy()[None]
    for feature, value in zip(features, values, strict=True):
        feature.put(row, np.array([value]))
    yes, score, position = crossing.confirmed(row[0])
    if not yes:
        return None
    return Change(
        tuple(feature.name for feature in features),
        tuple(feature.words(feature.value(own)) for feature in features),
        tuple(feature.words(v) for feature, v in zip(features, values, strict=True)),
        distance,
        score,
        position,
    )


def _spread(n: int, most: int) -> np.ndarray:
    """Return at most ``most`` evenly spaced indices from 0 to n - 1, both ends included."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.int64))
