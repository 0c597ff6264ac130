"""Oracles: definitions of a fair ranking for the search of scoring weights."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Protocol

import numpy as np

from ..core.data import RankingData
from ..core.errors import DataError
from ..core.metric import Metric
from ..core.params import Check, Constraint, Flag, Integer, Label, Number, Optional, check_params
from ..core.ranking import Ranking
from ..core.registry import parse_metric
from ..kernels.discounts import discounts
from ..kernels.exchange_sweep import RIGHT, advance, begin, sweep_counts, sweep_exposure
from ..kernels.fa_star_ir_minimums import adjusted_table, table

__all__ = [
    "ORACLES",
    "CallRule",
    "CountRule",
    "ExposureGapOracle",
    "ExposureRule",
    "FAStarIROracle",
    "MetricOracle",
    "Oracle",
    "PrefixSharesOracle",
    "Rule",
]


#: A gap that exceeds its limit by less than this is rounding.
ROUNDING = 1e-9


class Rule(Protocol):
    """A fairness rule bound to rows: judges one order, or all orders of two columns."""

    @property
    def depth(self) -> int:
        """Number of positions that count."""

    def fair(self, order: np.ndarray) -> bool:
        """Return whether an order, best first, is fair; its first ``depth`` rows suffice."""

    def sweep(self, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, int]:
        """Return the intervals of fair angles, and the number of different orders."""


@dataclass(frozen=True)
class CountRule:
    """Each prefix holds from ``low`` to ``high`` of each group (arrays: groups x prefixes)."""

    codes: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @property
    def depth(self) -> int:
        """Number of positions that count."""
        return int(self.low.shape[1])

    def fair(self, order: np.ndarray) -> bool:
        """Return whether an order is fair."""
        top = self.codes[order[: self.depth]]
        counts = np.cumsum(top == np.arange(len(self.low))[:, None], axis=1)
        return bool(((counts >= self.low) & (counts <= self.high)).all())

    def sweep(self, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, int]:
        """Return the intervals of fair angles, and the number of different orders."""
        state = begin(first, second)
        found: tuple[np.ndarray, int] = sweep_counts(
            first, second, *state, self.codes, self.low, self.high
        )
        return found


@dataclass(frozen=True)
class ExposureRule:
    """The mean exposure of each watched group is within ``limit`` of that of everyone else."""

    codes: np.ndarray
    exposure: np.ndarray
    watched: np.ndarray
    limit: float

    @property
    def depth(self) -> int:
        """Number of positions that count."""
        return len(self.codes)

    def fair(self, order: np.ndarray) -> bool:
        """Return whether an order is fair."""
        codes = self.codes[order]
        total = np.bincount(codes, weights=self.exposure, minlength=len(self.watched))
        size = np.bincount(codes, minlength=len(self.watched))
        known = self.watched & (size > 0) & (size < len(codes))
        rest = (total.sum() - total[known]) / (len(codes) - size[known])
        gap = np.abs(total[known] / size[known] - rest).max(initial=0.0)
        return bool(gap <= self.limit + ROUNDING)

    def sweep(self, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, int]:
        """Return the intervals of fair angles, and the number of different orders."""
        state = begin(first, second)
        found: tuple[np.ndarray, int] = sweep_exposure(
            first, second, *state, self.codes, self.exposure, self.watched, self.limit + ROUNDING
        )
        return found


@dataclass(frozen=True)
class CallRule:
    """A function of the order, called only when the first ``depth`` positions change."""

    function: Callable[[np.ndarray], Any]
    depth: int

    def fair(self, order: np.ndarray) -> bool:
        """Return the answer of the function."""
        answer = self.function(order)
        if not isinstance(answer, (bool, np.bool_)):
            raise DataError(
                f"oracle must return True or False, got {type(answer).__name__} {answer!r}"
            )
        return bool(answer)

    def sweep(self, first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, int]:
        """Return the intervals of fair angles, and the number of different orders."""
        order, tree = begin(first, second)
        found: list[list[float]] = []
        now, n_orders = 0.0, 1
        while now < RIGHT:
            good = self.fair(order.copy())
            then, passed = advance(first, second, order, tree, self.depth)
            n_orders += passed
            if good and then > now:
                if found and found[-1][1] == now:
                    found[-1][1] = then
                else:
                    found.append([now, then])
            now = then
        return np.array(found).reshape(-1, 2), n_orders


_SHARE = Optional(Number(0, 1))


def _are_cutoffs(value: Any) -> bool:
    values = value if isinstance(value, (tuple, list)) else [value]
    return len(values) > 0 and all(Integer(1).accepts(part) for part in values)


@dataclass(frozen=True, kw_only=True)
class Oracle:
    """Base of the oracles: a definition of fair, to be bound to data.

    Examples
    --------
    A fair ranking has an item of group "b" in its first two positions:

    >>> from equirank import as_ranking_data
    >>> from equirank.preprocess import PrefixSharesOracle
    >>> data = as_ranking_data(None, qid=[0] * 3, sensitive_features=["a", "a", "b"])
    >>> rule = PrefixSharesOracle(k=2, low=0.5, protected="b").bind(data)
    >>> rule.fair([0, 1, 2]), rule.fair([0, 2, 1])
    (False, True)
    """

    params: ClassVar[Mapping[str, Constraint]] = {}

    def __post_init__(self) -> None:
        """Check the parameters."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        check_params(type(self).__name__, given, self.params)

    def bind(self, data: RankingData) -> Rule:
        """Return the rule that judges orders of these rows."""
        raise TypeError(f"{type(self).__name__} must define bind; Oracle is abstract")


@dataclass(frozen=True, kw_only=True)
class PrefixSharesOracle(Oracle):
    """Fair if the share of the group in the first k is between two bounds.

    Without ``protected`` the bounds apply to every group: with ``high=0.6`` no group may have more
    than 60%. Counts are compared: ``ceil(low k) <= count <= floor(high k)``. A cutoff beyond the
    last row counts all rows.

    Parameters
    ----------
    k : int or sequence of int
        The lengths of the prefixes.
    low, high : float, optional
        The smallest and the largest share; at least one is required.
    protected : label, optional
        The group of the bounds; None: all groups.
    by : str or tuple of str, optional
        The attribute, or several to cross, if there are several.

    References
    ----------
    Asudeh, Jagadish, Stoyanovich and Das, Designing fair ranking schemes, SIGMOD 2019.

    Examples
    --------
    >>> from equirank.preprocess import PrefixSharesOracle
    >>> PrefixSharesOracle(k=10, low=0.4, protected="f")
    PrefixSharesOracle(k=10, low=0.4, high=None, protected='f', by=None)
    """

    params: ClassVar[Mapping[str, Constraint]] = {
        "k": Check(_are_cutoffs, "an integer >= 1, or several"),
        "low": _SHARE,
        "high": _SHARE,
        "protected": Optional(Label()),
        "by": Optional(Label(many=True)),
    }

    k: int | Sequence[int] = 10
    low: float | None = None
    high: float | None = None
    protected: Any = None
    by: str | tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Check that there is a bound."""
        super().__post_init__()
        if self.low is None and self.high is None:
            raise DataError("low or high of PrefixSharesOracle must be a number, got None for both")
        if self.low is not None and self.high is not None and self.low > self.high:
            raise DataError(
                f"low of PrefixSharesOracle must be at most high, got {self.low} > {self.high}"
            )

    def bind(self, data: RankingData) -> Rule:
        """Return the rule that judges orders of these rows."""
        groups = data.known_attribute(self.by, type(self).__name__)
        cutoffs: Any = self.k if isinstance(self.k, (tuple, list)) else [self.k]
        lengths = np.array([min(int(k), data.n_rows) for k in cutoffs])
        depth = int(lengths.max())
        low = np.zeros((len(groups.categories), depth), dtype=np.int64)
        high = np.full_like(low, depth)
        rows = slice(None) if self.protected is None else groups.code(self.protected)
        for length in lengths:
            if self.low is not None:
                low[rows, length - 1] = int(np.ceil(self.low * length - 1e-9))
            if self.high is not None:
                high[rows, length - 1] = int(np.floor(self.high * length + 1e-9))
        return CountRule(data.to_original(groups.codes).astype(np.int64), low, high)


@dataclass(frozen=True, kw_only=True)
class ExposureGapOracle(Oracle):
    """Fair if the metric `ExposureGap` is at most ``limit``.

    Parameters
    ----------
    limit : float
        The largest gap.
    protected : label, optional
        The group whose gap counts; None: the largest gap of all groups.
    by : str or tuple of str, optional
        The attribute, or several to cross, if there are several.
    k : int, optional
        Only the first k positions have exposure.

    Examples
    --------
    >>> from equirank.preprocess import ExposureGapOracle
    >>> ExposureGapOracle(limit=0.05, protected="f")
    ExposureGapOracle(limit=0.05, protected='f', by=None, k=None)
    """

    params: ClassVar[Mapping[str, Constraint]] = {
        "limit": Number(0),
        "protected": Optional(Label()),
        "by": Optional(Label(many=True)),
        "k": Optional(Integer(1)),
    }

    limit: float = 0.1
    protected: Any = None
    by: str | tuple[str, ...] | None = None
    k: int | None = None

    def bind(self, data: RankingData) -> Rule:
        """Return the rule that judges orders of these rows."""
        groups = data.known_attribute(self.by, type(self).__name__)
        watched = np.full(len(groups.categories), self.protected is None)
        if self.protected is not None:
            watched[groups.code(self.protected)] = True
        exposure = np.asarray(discounts(data.n_rows, "log2", self.k), dtype=np.float64)
        codes = data.to_original(groups.codes).astype(np.int64)
        return ExposureRule(codes, exposure, watched, float(self.limit))


@dataclass(frozen=True, kw_only=True)
class FAStarIROracle(Oracle):
    """Fair if every prefix of the first k holds as many items of the group as FA*IR requires.

    The minimum counts are those of the metric `FAStarIRTest`.

    Parameters
    ----------
    k : int
        Length of the longest prefix.
    protected : label
        The protected group.
    p : float, optional
        Its probability at each position; None takes its share of all rows.
    alpha : float
        Largest probability that a fair list fails.
    adjusted : bool
        Correct for testing every prefix.
    by : str or tuple of str, optional
        The attribute, or several to cross, if there are several.

    References
    ----------
    Zehlike, Bonchi, Castillo, Hajian, Megahed and Baeza-Yates, FA*IR: a fair top-k ranking
    algorithm, CIKM 2017.

    Examples
    --------
    >>> from equirank.preprocess import FAStarIROracle
    >>> FAStarIROracle(k=20, protected="f", p=0.4)
    FAStarIROracle(k=20, protected='f', p=0.4, alpha=0.1, adjusted=True, by=None)
    """

    params: ClassVar[Mapping[str, Constraint]] = {
        "k": Integer(1),
        "protected": Label(),
        "p": Optional(Number(0, 1, open_low=True, open_high=True)),
        "alpha": Number(0, 1, open_low=True, open_high=True),
        "adjusted": Flag(),
        "by": Optional(Label(many=True)),
    }

    k: int = 10
    protected: Any
    p: float | None = None
    alpha: float = 0.1
    adjusted: bool = True
    by: str | tuple[str, ...] | None = None

    def bind(self, data: RankingData) -> Rule:
        """Return the rule that judges orders of these rows."""
        groups = data.known_attribute(self.by, type(self).__name__)
        code = groups.code(self.protected)
        member = groups.codes == code
        p = float(member.mean()) if self.p is None else self.p
        if not 0 < p < 1:
            raise DataError(
                f"protected of FAStarIROracle must be a share of the rows in (0, 1), got {p:g}"
            )
        depth = min(self.k, data.n_rows)
        make = adjusted_table if self.adjusted else table
        counts = np.asarray(make(depth, p, self.alpha).counts, dtype=np.int64)
        low = np.zeros((2, depth), dtype=np.int64)
        low[1] = counts
        codes = data.to_original(member).astype(np.int64)
        return CountRule(codes, low, np.full_like(low, depth))


@dataclass(frozen=True, kw_only=True)
class MetricOracle(Oracle):
    """Fair if a metric of the ranking is between two bounds.

    Each new order is evaluated in full, so this is slower than the specialised oracles.

    Parameters
    ----------
    metric : Metric or str
        Such as ``"NDKL@50"``.
    low, high : float, optional
        The bounds; at least one is required.

    Examples
    --------
    >>> from equirank.preprocess import MetricOracle
    >>> MetricOracle(metric="NDKL@50", high=0.1)
    MetricOracle(metric='NDKL@50', low=None, high=0.1)
    """

    params: ClassVar[Mapping[str, Constraint]] = {
        "metric": Check(lambda value: isinstance(value, (str, Metric)), "a metric or its name"),
        "low": Optional(Number()),
        "high": Optional(Number()),
    }

    metric: Any
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        """Check that there is a bound."""
        super().__post_init__()
        if self.low is None and self.high is None:
            raise DataError("low or high of MetricOracle must be a number, got None for both")

    def bind(self, data: RankingData) -> Rule:
        """Return the rule that judges orders of these rows."""
        metric = parse_metric(self.metric) if isinstance(self.metric, str) else self.metric
        low = -np.inf if self.low is None else self.low
        high = np.inf if self.high is None else self.high

        def fair(order: np.ndarray) -> bool:
            position = np.empty(len(order), dtype=np.int32)
            position[order] = np.arange(1, len(order) + 1)
            value = metric.per_query(Ranking.from_positions(data, position)).value[0]
            if np.isnan(value):
                raise DataError(f"metric {metric} is not defined on this data")
            return bool(low <= value <= high)

        return CallRule(fair, data.n_rows)


#: The public oracles by name, as saved models name them.
ORACLES: dict[str, type[Oracle]] = {
    kind.__name__: kind
    for kind in (PrefixSharesOracle, ExposureGapOracle, FAStarIROracle, MetricOracle)
}
