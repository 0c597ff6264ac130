"""Metric: an immutable object that computes values per query of a Ranking and their summary."""

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np

from ..kernels.resampling import weighted_means
from . import inputs
from .data import RankingData
from .docstrings import inherit_parameters
from .errors import DataError, EquirankWarning
from .given_data import as_scored_data, refuse_beside
from .params import AnyOf, Choice, Constraint, Integer, Label, Optional, Vector, check_params
from .ranking import Ranking
from .slots import Slots

if TYPE_CHECKING:
    from .scorer import MetricScorer

__all__ = [
    "DISCOUNT",
    "GroupMetric",
    "Metric",
    "Values",
    "measure",
    "permuted",
    "resampled",
    "score_arrays",
]


#: Constraint of the parameter ``discount`` of all metrics.
DISCOUNT: Constraint = AnyOf(Choice("log2", "zipf"), Vector(low=0.0))


class Values(NamedTuple):
    """Values of one metric per query, and per query and group if it compares groups.

    Examples
    --------
    >>> import numpy as np
    >>> from equirank import Values
    >>> Values(np.array([0.5, np.nan])).value
    array([0.5, nan])
    """

    value: np.ndarray
    groups: np.ndarray | None = None
    labels: tuple[Any, ...] = ()


class MetricType(type):
    """Metaclass for cutoffs: ``NDCG @ 10`` is ``NDCG(k=10)``."""

    def __matmul__(cls, k: int) -> Any:
        """Return the metric with this cutoff."""
        return cls(k=k)


@dataclass(frozen=True, repr=False, kw_only=True)
class Metric(metaclass=MetricType):
    """Base class of all metrics.

    A subclass defines `values` and declares what it needs. The string of a metric is its repr, its
    key, its name on the command line and its column name, and it parses back to the metric.

    Attributes
    ----------
    needs : frozenset of str
        Of ``"relevance", "sensitive", "cost", "score", "features"``.
    direction : {"higher", "lower"}
        Whether higher or lower values are better.
    bounds : tuple of float
        Smallest and largest possible value.
    additive : bool
        Whether it is a sum over items, which `split` computes by group.
    of_expectation : bool
        Whether exposure is averaged over draws before the metric is computed, not after.
    individual : bool
        Whether it distinguishes two copies of one item.
    exact_ties : bool
        Whether ties receive the mean over all orders of the tied items.
    refuses_ties : bool
        Whether ties between different items are an error.
    biased : bool
        Whether its mean over random orders differs from ``ideal``, as for gaps between groups.
    takes_k : bool
        Whether it has a cutoff.
    infinite : bool
        Whether a value over 1.8e308 is infinite; with other metrics it is an error.
    why_undefined : str
        Why it can be undefined, for messages.
    leading_arguments : tuple of str
        Keyword arguments that its function lists first.

    Parameters
    ----------
    k : int, optional
        Cutoff: only positions 1 to k count; ``NDCG@10`` is ``NDCG(k=10)``.
    undefined : {"skip", "zero", "one", "raise"}
        Treatment of queries where the metric is undefined: skip, 0, 1, or an error.

    Examples
    --------
    >>> from equirank.metrics import NDCG, RND
    >>> NDCG@10, RND(step=5)@50
    (NDCG@10, RND(step=5)@50)
    >>> (NDCG@10).direction, (NDCG@10).bounds, sorted((NDCG@10).needs)
    ('higher', (0.0, 1.0), ['relevance'])
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    direction: ClassVar[Literal["higher", "lower"]] = "higher"
    bounds: ClassVar[tuple[float, float]] = (0.0, 1.0)
    additive: ClassVar[bool] = False
    of_expectation: ClassVar[bool] = False
    individual: ClassVar[bool] = False
    exact_ties: ClassVar[bool] = True
    refuses_ties: ClassVar[bool] = False
    biased: ClassVar[bool] = False
    takes_k: ClassVar[bool] = True
    infinite: ClassVar[bool] = False
    why_undefined: ClassVar[str] = "a denominator is 0"
    plain_name: ClassVar[str] = ""
    leading_arguments: ClassVar[tuple[str, ...]] = ()
    params: ClassVar[Mapping[str, Constraint]] = {}

    k: int | None = None
    undefined: Literal["skip", "zero", "one", "raise"] = "skip"

    def __init_subclass__(cls) -> None:
        """Inherit the constraints and the documentation of parameters from the base classes."""
        inherited = [vars(base).get("params", {}) for base in reversed(cls.__mro__)]
        cls.params = {name: rule for part in inherited for name, rule in part.items()}
        inherit_parameters(cls, without=() if cls.takes_k else ("k",))

    def __post_init__(self) -> None:
        """Check the options and make sequences hashable."""
        name = type(self).__name__
        if self.k is not None and not self.takes_k:
            raise DataError(f"k of {name} must be None: it takes no cutoff, got {self.k!r}")
        common: dict[str, Constraint] = {
            "k": Optional(Integer(1)),
            "undefined": Choice("skip", "zero", "one", "raise"),
        }
        check_params(name, vars(self), {**common, **self.params})
        for key, value in vars(self).items():
            if isinstance(value, (list, np.ndarray)):
                object.__setattr__(self, key, tuple(np.asarray(value).tolist()))

    def __matmul__(self, k: int) -> "Metric":
        """Return the same metric with another cutoff."""
        return replace(self, k=k)

    def __repr__(self) -> str:
        """Return the string of the metric, which parses back."""
        shown = [
            f"{f.name}={_literal(getattr(self, f.name))}"
            for f in sorted(fields(self), key=lambda f: f.name)
            if f.name != "k" and getattr(self, f.name) != f.default
        ]
        call = f"({', '.join(shown)})" if shown else ""
        return f"{type(self).__name__}{call}" + ("" if self.k is None else f"@{self.k}")

    @property
    def name(self) -> str:
        """String of the metric."""
        return repr(self)

    @property
    def ideal(self) -> float:
        """The best possible value, or the neutral one for ratios without an upper bound."""
        low, high = self.bounds
        if self.direction == "lower":
            return low if np.isfinite(low) else 0.0
        return high if np.isfinite(high) else 1.0

    @classmethod
    def options(cls) -> list[str]:
        """Return the names of the options."""
        return list(_option_names(cls))

    @classmethod
    def from_arrays(cls, *args: Any, **arguments: Any) -> tuple["Metric", dict[str, Any]]:
        """Split the arguments of the metric function into the metric and what it measures.

        A metric whose function has other arguments overrides this. Positional parameters replace
        the arrays that ``needs`` implies; a new keyword follows the one declared before it.

        Returns
        -------
        metric, arguments : Metric, dict
            The arguments are those of `score_arrays`.
        """
        options = {name: arguments.pop(name) for name in _option_names(cls) if name in arguments}
        return cls(**options), arguments

    @classmethod
    def summary(cls) -> str:
        """Return the first sentence of the docstring."""
        return " ".join((cls.__doc__ or "").strip().split("\n\n")[0].split())

    def check(self, data: RankingData) -> None:
        """Raise if the data lack what the metric needs."""
        known = {
            "relevance": (data.y, "relevance (y)"),
            "sensitive": (data.sensitive or None, "groups (sensitive_features)"),
            "cost": (data.cost, "costs (cost)"),
            "features": (data.X, "features (X)"),
            "score": (data.score, "scores (score)"),
        }
        for need in sorted(self.needs):
            if known[need][0] is None:
                raise DataError(f"{self} needs {known[need][1]}, which the data lacks")

    def per_query(self, ranking: Ranking) -> Values:
        """Return the value of each query; undefined values are NaN or set by ``undefined``."""
        self.check(ranking.data)
        return self.refuse_undefined(ranking.data, measure([self], ranking)[0])

    def refuse_undefined(self, data: RankingData, values: Values) -> Values:
        """Raise for the first undefined query if ``undefined="raise"``."""
        missing = np.isnan(values.value)
        if self.undefined == "raise" and missing.any():
            query, row = data.place(int(data.offsets[np.flatnonzero(missing)[0]]))
            raise DataError(
                f"{self} is undefined for query {query!r} (row {row}): {self.why_undefined}"
            )
        return values

    def fill(self, values: Values) -> Values:
        """Replace undefined values by 0 or 1 as ``undefined`` states."""
        if self.undefined not in ("zero", "one"):
            return values
        fill = 0.0 if self.undefined == "zero" else 1.0
        return values._replace(value=np.where(np.isnan(values.value), fill, values.value))

    def summarize(
        self, values: Values, counts: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the mean over the queries where the metric is defined.

        Parameters
        ----------
        values : Values
            Per query.
        counts : ndarray of shape (n_replicates, n_queries), optional
            How often each query counts in each bootstrap replicate.

        Returns
        -------
        value, groups : arrays
            Of shapes () and (n_groups,), with ``counts`` (n_replicates, ...).
        """
        value = weighted_means(values.value[:, None], counts)[..., 0]
        return value, None if values.groups is None else weighted_means(values.groups, counts)

    def remarks(self, ranking: Ranking) -> list[str]:
        """Return sentences that the notes of an evaluation include."""
        return []

    def split(self, slots: Slots, codes: np.ndarray, n_groups: int) -> np.ndarray:
        """Return the metric of each group at the positions of the full list (query x group).

        Only for metrics that are sums over items (``additive``). The value of a group over all
        queries is the mean over those that contain it, unless the metric defines `split_sums`.
        """
        raise DataError(f"{self} is not a sum over items, so it has no values by group")

    def split_sums(
        self, slots: Slots, codes: np.ndarray, n_groups: int
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Return numerator and denominator of each group (query x group), or None.

        The value of a group is then the sum of its numerators over all queries divided by the sum
        of its denominators.
        """
        return None

    def scorer(self) -> "MetricScorer":
        """Return a scikit-learn scorer; higher is better."""
        from .scorer import MetricScorer

        return MetricScorer(self)

    def values(self, slots: Slots) -> Values:
        """Return the value of each query of the slots; NaN if undefined."""
        raise TypeError(f"{type(self).__name__} must define values; Metric is abstract")


@dataclass(frozen=True, repr=False, kw_only=True)
class GroupMetric(Metric):
    """Base class of metrics that compare groups.

    A subclass defines `by_group`, the value of each group against everyone else. The code of an
    unknown label is -1: such an item keeps its position, and is neither in a group nor part of
    everyone else. `Slots.sum_by_group` leaves it out.

    Parameters
    ----------
    by : str or tuple of str, optional
        The attribute, or several for their intersection; optional if the data have only one.
    protected : label, optional
        The group to compare with everyone else; without it, the worst value over all groups.

    Examples
    --------
    The difference in mean position between a group and everyone else:

    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from equirank import GroupMetric, as_ranking_data, evaluate
    >>> @dataclass(frozen=True, repr=False, kw_only=True)
    ... class PositionGap(GroupMetric):
    ...     bounds = (0.0, np.inf)
    ...
    ...     def by_group(self, slots, codes, wanted):
    ...         n_groups = len(slots.groups(self.by)[1])
    ...         count = slots.sum_by_group(np.ones(len(codes)), codes, n_groups)
    ...         total = slots.sum_by_group(slots.position, codes, n_groups)
    ...         rest = (total.sum(1, keepdims=True) - total) / (count.sum(1, keepdims=True) - count)
    ...         return np.abs(total / count - rest)[:, wanted]
    >>> data = as_ranking_data(None, score=[4, 3, 2, 1], sensitive_features=list("mmff"))
    >>> evaluate(data, PositionGap(), n_boot=0, n_permutations=0)["PositionGap"]
    2.0
    """

    needs: ClassVar[frozenset[str]] = frozenset({"sensitive"})
    direction: ClassVar[Literal["higher", "lower"]] = "lower"
    biased: ClassVar[bool] = True
    why_undefined: ClassVar[str] = "it contains only one group"

    by: str | tuple[str, ...] | None = None
    protected: Any = None

    def __post_init__(self) -> None:
        """Check the options."""
        check_params(
            type(self).__name__,
            vars(self),
            {"by": Optional(Label(many=True)), "protected": Optional(Label())},
        )
        super().__post_init__()

    def check(self, data: RankingData) -> None:
        """Raise if the data lack the attribute or the protected group."""
        super().check(data)
        attribute = data.attribute(self.by)
        if not attribute.categories:
            raise DataError(f"{self} needs a group, and one of {self.by} is unknown in every row")
        if self.protected is not None:
            code = attribute.code(self.protected)
            if not (attribute.codes == code).any():
                raise DataError(
                    f"protected of {self} must be a group with at least one row, "
                    f"and {self.protected!r} has none here"
                )

    def by_group(self, slots: Slots, codes: np.ndarray, wanted: np.ndarray) -> np.ndarray:
        """Return the value of each wanted group against everyone else (query x wanted group)."""
        raise TypeError(f"{type(self).__name__} must define by_group; GroupMetric is abstract")

    def values(self, slots: Slots) -> Values:
        """Compare every group, or the protected one, with everyone else; return the worst value."""
        codes, labels = slots.groups(self.by)
        if self.protected is None:
            wanted = np.arange(len(labels))
        else:
            wanted = np.array([slots.data.attribute(self.by).code(self.protected)])
        groups = self.by_group(slots, codes, wanted)
        worst = _worst(groups, self.direction)
        return Values(worst, groups, tuple(labels[code] for code in wanted))


def _worst(groups: np.ndarray, direction: str) -> np.ndarray:
    """Return the worst value of each query, without absent groups."""
    fill = -np.inf if direction == "lower" else np.inf
    filled = np.where(np.isnan(groups), fill, groups)
    worst = filled.max(axis=1) if direction == "lower" else filled.min(axis=1)
    return np.where(np.isinf(worst), np.nan, worst)


def score_arrays(
    metric: Metric,
    *,
    y_score: Any,
    y_true: Any = None,
    sensitive_features: Any = None,
    qid: Any = None,
    ties: Literal["average", "stable"] = "average",
    per_query: bool = False,
    return_groups: bool = False,
    **given: Any,
) -> Any:
    """Evaluate one metric on plain arrays; all metric functions call this.

    Further arrays (``cost``, ``X``) go to `as_ranking_data` as they are.

    Returns
    -------
    float, or ndarray with ``per_query``; with ``return_groups`` also a dict of group to value.
    """
    inputs.choose("ties", ties, ("average", "stable"))
    if isinstance(y_score, Ranking):
        beside = {"y_true": y_true, "sensitive_features": sensitive_features, "qid": qid, **given}
        refuse_beside(beside, "Ranking")
        ranking = y_score
    else:
        data = as_scored_data(
            y_score, y_true, qid=qid, sensitive_features=sensitive_features, **given
        )
        ranking = Ranking.from_scores(data, ties=ties)
    values = metric.per_query(ranking)
    value, groups = metric.summarize(values)
    if np.isnan(value) and not per_query:
        warnings.warn(
            f"{metric} is undefined in every query ({metric.why_undefined}): the result is NaN",
            EquirankWarning,
            stacklevel=3,
        )
    result: Any = values.value if per_query else float(value)
    if not return_groups:
        return result
    if groups is None or values.groups is None:
        return result, {}
    columns = values.groups.T if per_query else [float(v) for v in groups]
    return result, dict(zip(values.labels, columns, strict=True))


@cache
def _option_names(cls: type[Metric]) -> tuple[str, ...]:
    return tuple(f.name for f in fields(cls) if f.name != "k" or cls.takes_k)


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, tuple):
        inside = ", ".join(_literal(part) for part in value)
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    return repr(value.item() if isinstance(value, np.generic) else value)


def measure(metrics: Sequence[Metric], ranking: Ranking) -> list[Values]:
    """Return the values per query of several metrics, with shared sorting."""
    found: list[list[Values]] = [[] for _ in metrics]
    for queries in ranking.data.query_blocks():
        shared: dict[bool, list[tuple[np.ndarray, Slots]]] = {}
        for at, metric in enumerate(metrics):
            kind = metric.of_expectation and ranking.n_draws > 1
            if kind not in shared:
                shared[kind] = list(_draws(ranking, queries, kind))
            found[at].append(_averaged(metric, shared[kind]))
    values = [_joined(metric, parts) for metric, parts in zip(metrics, found, strict=True)]
    for metric, value in zip(metrics, values, strict=True):
        if not metric.infinite:
            _refuse_infinite(metric, ranking.data, value)
    return values


def _refuse_infinite(metric: Metric, data: RankingData, values: Values) -> None:
    """Raise for the first query with a value, or a value of a group, that no double can hold."""
    infinite = np.isinf(values.value)
    if values.groups is not None:
        infinite |= np.isinf(values.groups).any(axis=1)
    if infinite.any():
        query, row = data.place(int(data.offsets[np.flatnonzero(infinite)[0]]))
        raise DataError(
            f"{metric} exceeds 1.8e308 for query {query!r} (row {row}): its relevance, costs or "
            "scores are too large or too small; scale them first"
        )


def permuted(
    metric: Metric, ranking: Ranking, queries: slice, by: object, labels: np.ndarray
) -> Values:
    """Return the values of a block's queries under permuted groups (draws x queries first).

    ``labels`` holds one row per permutation and one column per row of the block.
    """
    first = int(ranking.data.offsets[queries.start])

    def relabel(slots: Slots) -> Slots:
        return slots.relabelled(by, labels[:, slots.order - first])

    draws = [(w, relabel(s)) for w, s in _draws(ranking, queries, metric.of_expectation)]
    values = metric.fill(_averaged(metric, draws))
    shape = (len(labels), -1)
    groups = values.groups
    if groups is not None:
        groups = groups.reshape(*shape, groups.shape[1])
    return Values(values.value.reshape(shape), groups, values.labels)


def resampled(metrics: Sequence[Metric], ranking: Ranking, counts: np.ndarray) -> list[Values]:
    """Return the values of bootstrap replicates of a single list."""
    shared: dict[tuple[bool, bool], list[tuple[np.ndarray, Slots]]] = {}
    found = []
    for metric in metrics:
        kind = (metric.of_expectation and ranking.n_draws > 1, metric.individual)
        if kind not in shared:
            some = _draws(ranking, slice(0, 1), metric.of_expectation)
            shared[kind] = [(w, slots.resampled(counts, metric.individual)) for w, slots in some]
        found.append(metric.fill(_averaged(metric, shared[kind])))
    return found


def _draws(ranking: Ranking, queries: slice, expected: bool) -> Iterator[tuple[np.ndarray, Slots]]:
    """Yield the weight of each draw per query, and the slots of the block."""
    expected = expected and ranking.n_draws > 1
    if expected or ranking.n_draws == 1:
        n_queries = queries.stop - queries.start
        yield np.ones(n_queries), ranking.slots(expected=expected).block(queries)
        return
    for weight, draw in ranking.draws():
        yield weight[queries], draw.slots().block(queries)


@np.errstate(over="ignore")
def _averaged(metric: Metric, draws: Sequence[tuple[np.ndarray, Slots]]) -> Values:
    if len(draws) == 1:
        return metric.values(draws[0][1])
    parts = [(weight, metric.values(slots)) for weight, slots in draws]
    shares = [np.tile(weight, len(part.value) // len(weight)) for weight, part in parts]
    value = sum(share * part.value for share, (_, part) in zip(shares, parts, strict=True))
    groups = None
    if parts[0][1].groups is not None:
        groups = sum(
            share[:, None] * np.asarray(part.groups)
            for share, (_, part) in zip(shares, parts, strict=True)
        )
    return Values(
        np.asarray(value), None if groups is None else np.asarray(groups), parts[0][1].labels
    )


def _joined(metric: Metric, parts: list[Values]) -> Values:
    if len(parts) > 1:
        groups = None if parts[0].groups is None else np.concatenate([p.groups for p in parts])
        value = np.concatenate([part.value for part in parts])
        parts = [Values(value, groups, parts[0].labels)]
    return metric.fill(parts[0])
