"""Blend: a weighted sum of the standardised scores of several rankers."""

from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags

from ..core.data import RankingData
from ..core.errors import DataError
from ..core.params import Check, Optional, Vector
from ..core.persistence import SavedFiles, save
from ..core.ranker import Ranker
from ..kernels.segments import segment_sum

__all__ = ["Blend"]


def _are_rankers(value: Any) -> bool:
    """Return whether a value is a list of pairs of different names and rankers."""
    if not isinstance(value, (list, tuple)) or not value:
        return False
    if not all(isinstance(pair, tuple) and len(pair) == 2 for pair in value):
        return False
    names = [name for name, _ in value]
    good = all(isinstance(n, str) and n and "__" not in n for n in names)
    good = good and not {"rankers", "weights"} & set(names) and len(set(names)) == len(names)
    return good and all(isinstance(ranker, Ranker) for _, ranker in value)


class _Union:
    """The needs of one instance: those of all its rankers, and those of the class."""

    def __init__(self, *always: str) -> None:
        self.always = frozenset(always)

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, model: Any, kind: type) -> frozenset[str]:
        if model is None or not _are_rankers(getattr(model, "rankers", None)):
            return self.always
        found = [
            ranker.current_needs() if self.name == "fit_needs" else getattr(ranker, self.name)
            for _, ranker in model.rankers
        ]
        return self.always.union(*found)


class Blend(Ranker):
    """Weighted sum of the scores of several rankers, standardised in each list.

    ``score = sum over rankers of weight (s - mean of s) / SD of s``, with mean and standard
    deviation over the items of the list. A ranker that gives all items of a list one score adds 0
    there, as in a list of one item. Half a plain and half a fair ranker is a compromise between the
    two that needs no further training. Equal sums are ties.

    Parameters
    ----------
    rankers : list of (str, Ranker)
        Names and rankers; they are cloned and fitted on the same data. Parameters of each are set
        as ``name__parameter``.
    weights : sequence of float, optional
        One weight >= 0 per ranker; by default all are equal and sum to 1.

    Attributes
    ----------
    members_ : list of Ranker
        The fitted rankers.

    Examples
    --------
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import Blend, MART, RankBoost
    >>> data = make_ranking(n_queries=20, random_state=0)
    >>> blend = Blend([("trees", MART(n_estimators=5, n_jobs=1)), ("rules", RankBoost())], [2, 1])
    >>> blend.fit(data).score(data) > 0.6
    True
    """

    fit_needs = _Union("qid")
    fit_takes = _Union()
    predict_needs = _Union("qid")
    positional: ClassVar[tuple[str, ...]] = ("rankers", "weights")
    file_attributes: ClassVar[tuple[str, ...]] = ("members_",)

    rankers: Annotated[
        list[tuple[str, Any]],
        Check(_are_rankers, "a list of (name, ranker) with different names without '__'"),
    ]
    weights: Annotated[Any, Optional(Vector(low=0.0))] = None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; with ``deep`` also the rankers and their parameters."""
        params = super().get_params(deep=False)
        if deep and _are_rankers(self.rankers):
            for name, ranker in self.rankers:
                inner = ranker.get_params(deep=True)
                params |= {name: ranker, **{f"{name}__{key}": v for key, v in inner.items()}}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters, rankers by name, and parameters of rankers by ``name__parameter``."""
        own = {name: params.pop(name) for name in ("rankers", "weights") if name in params}
        super().set_params(**own)
        members = dict(self.rankers) if _are_rankers(self.rankers) else {}
        for name in [name for name in params if name in members]:
            members[name] = params.pop(name)
        if members:
            self.rankers = list(members.items())
        for name, value in params.items():
            head, _, rest = name.partition("__")
            if head not in members or not rest:
                known = ", ".join(["rankers", "weights", *members])
                raise ValueError(f"Invalid parameter {name!r} for Blend: it has {known}")
            members[head].set_params(**{rest: value})
        return self

    def get_metadata_routing(self) -> Any:
        """Return the routing: the metadata that one of the rankers requests."""
        return self._own_routing(score=True)

    def _weights(self) -> np.ndarray:
        if self.weights is None:
            return np.full(len(self.rankers), 1.0 / len(self.rankers))
        weights = np.asarray(self.weights, dtype=np.float64)
        if len(weights) != len(self.rankers) or weights.sum() == 0.0:
            raise DataError(
                f"weights of Blend must be {len(self.rankers)} numbers, one per ranker and not all "
                f"0, got {weights.tolist()}"
            )
        return weights

    def _fit(self, data: RankingData) -> None:
        self._weights()
        self.members_ = [clone(ranker).fit(data) for _, ranker in self.rankers]

    def _scores(self, data: RankingData) -> np.ndarray:
        total = np.zeros(data.n_rows)
        for weight, member in zip(self._weights(), self.members_, strict=True):
            score = np.asarray(member.predict(data), dtype=np.float64)[data.caller_rank]
            total += weight * _standardised(score, data)
        return total

    def __sklearn_tags__(self) -> Any:
        """Declare the input that all rankers accept."""
        tags = super().__sklearn_tags__()
        if _are_rankers(self.rankers):
            inner = [get_tags(ranker).input_tags for _, ranker in self.rankers]
            tags.input_tags.allow_nan = all(each.allow_nan for each in inner)
            tags.input_tags.sparse = all(each.sparse for each in inner)
        return tags

    def _save_files(self, folder: Path) -> None:
        for at, member in enumerate(self.members_):
            save(member, folder / f"member_{at}")

    def _load_files(self, files: SavedFiles) -> None:
        own = [type(ranker) for _, ranker in self.rankers]
        self.members_ = [files.load(f"member_{at}", own) for at in range(len(self.rankers))]


def _standardised(score: np.ndarray, data: RankingData) -> np.ndarray:
    """Return scores with mean 0 and standard deviation 1 in each list; 0 if they are constant."""
    n, query = np.diff(data.offsets), data.query_of_rows()
    centred = score - (segment_sum(score, data.offsets) / n)[query]
    spread = np.sqrt(segment_sum(centred**2, data.offsets) / n)
    largest = np.maximum.reduceat(np.abs(score), data.offsets[:-1])
    constant = spread <= 1e-12 * largest  # what rounding of the mean leaves
    return np.where(constant[query], 0.0, centred / np.where(constant, 1.0, spread)[query])
