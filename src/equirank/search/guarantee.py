"""promise: the setting whose mean loss on new lists stays below a bound, with confidence."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, exp, isfinite, log, nan, sqrt
from typing import Any, Literal

import numpy as np

from ..comparison.cell import rank
from ..core.data import RankingData
from ..core.errors import DataError
from ..core.metric import Metric
from ..core.params import Choice, Constraint, Integer, Number, Optional, check_params
from ..core.random import generator
from ..core.ranking import Ranking
from ..core.reranker import Reranker
from ..core.table import Table
from ..rankers.early_stopping import one_metric
from ..rankers.tradeoff_path import TradeoffPath
from ..reports.number_words import level_words, number
from ..theory.mean_bounds import BOLDEST, betting_p, mean_upper_bound

__all__ = ["Promise", "hoeffding_bentkus_p", "lists_needed", "promise", "promised_mean"]


#: Most lists that `lists_needed` names.
MOST_LISTS = 10**7
#: What a sentence calls a metric, by class.
WORDS = {
    "ExposureGap": "the difference in exposure",
    "RND": "the difference in representation",
}


def hoeffding_bentkus_p(losses: np.ndarray, at_most: float, delta: float = 0.1) -> float:
    r"""Return the p-value of a mean loss above a bound, by Hoeffding's and Bentkus's inequalities.

    .. math::

        p = \min\big(e^{-n\,h(\min(\hat L, a), a)},\ e\,P(\mathrm{Bin}(n, a) \le
        \lceil n \hat L \rceil)\big), \quad h(x, a) = x \log\tfrac{x}{a} + (1 - x)
        \log\tfrac{1 - x}{1 - a}

    It depends on the mean only. No list gives 1.

    Parameters
    ----------
    losses, at_most
        As in `betting_p`.
    delta : float
        Has no influence; it is an argument of every p-value.

    References
    ----------
    Bates, Angelopoulos, Lei, Malik and Jordan, Distribution-free, risk-controlling prediction sets,
    Journal of the ACM 68, 2021.

    Examples
    --------
    >>> from math import e
    >>> abs(hoeffding_bentkus_p(np.zeros(4), 0.5) - 0.5**4) < 1e-12
    True
    >>> hoeffding_bentkus_p(np.full(100, 0.6), 0.5)
    1.0
    """
    n = len(losses)
    if n == 0 or at_most >= 1.0:
        return 1.0 if n == 0 else 0.0
    return _hoeffding_bentkus(float(losses.mean()), n, at_most)


def _hoeffding_bentkus(mean: float, n: int, at_most: float) -> float:
    from scipy.special import bdtr

    below = min(mean, at_most)
    entropy = (1.0 - below) * log((1.0 - below) / (1.0 - at_most))
    if below > 0.0:
        entropy += below * log(below / at_most)
    hoeffding = exp(-n * entropy)
    if at_most == 0.0:
        return 1.0
    # Rounding of a mean of equal losses must not add a whole success.
    bentkus = exp(1.0) * float(bdtr(ceil(n * mean - 1e-9), n, at_most))
    return float(min(1.0, hoeffding, bentkus))


Method = Literal["betting", "hoeffding-bentkus"]
P_VALUES: dict[str, Callable[[np.ndarray, float, float], float]] = {
    "betting": betting_p,
    "hoeffding-bentkus": hoeffding_bentkus_p,
}


def lists_needed(losses: np.ndarray, at_most: float, delta: float, method: Method) -> float:
    """Return about how many lists like these keep the bound with confidence ``1 - delta``.

    It is the number at which the expected p-value, on a log scale, is ``delta`` if new lists have
    the mean and spread of these; infinite if their mean is not below the bound.

    Parameters
    ----------
    losses, at_most, delta
        As in `betting_p`.
    method : {"betting", "hoeffding-bentkus"}
        The p-value.

    Examples
    --------
    >>> lists_needed(np.zeros(5), 0.5, 0.1, "hoeffding-bentkus")
    4.0
    >>> lists_needed(np.ones(5), 0.5, 0.1, "betting")
    inf
    """
    mean = float(losses.mean()) if len(losses) else nan
    if not mean < at_most:
        return float("inf")
    variance = max(float(losses.var()), 1e-12)

    def enough(n: int) -> bool:
        if method != "betting":
            return _hoeffding_bentkus(mean, n, at_most) <= delta
        bet = min(sqrt(2.0 * log(1.0 / delta) / (n * variance)), BOLDEST / (1.0 - at_most))
        return n * float(np.log1p(bet * (at_most - losses)).mean()) >= -log(delta)

    low, high = 0, 1
    while not enough(high):
        low, high = high, 2 * high
        if high > MOST_LISTS:
            return float("inf")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return float(high)


@dataclass(frozen=True)
class _Loss:
    """A loss per list: what it is called, its range, and how a ranking is measured."""

    words: str
    bounds: tuple[float, float]
    metric: Metric | None
    of: Callable[[Ranking], np.ndarray]

    @classmethod
    def given(cls, loss: Any) -> "_Loss":
        """Return the loss that a text, a metric or a function states."""
        if callable(loss) and not isinstance(loss, Metric):
            name = str(getattr(loss, "__name__", type(loss).__name__))
            return cls(name, (0.0, 1.0), None, lambda ranking: np.asarray(loss(ranking)))
        lacking = isinstance(loss, str) and loss.strip().startswith("1 -")
        text = loss.strip()[3:].strip() if lacking else loss
        if isinstance(text, str) and any(f" {word} " in f" {text} " for word in ("selected", "vs")):
            _refuse_pooled(text)
        metric = one_metric(text)
        if type(metric).summarize is not Metric.summarize:
            _refuse_pooled(str(metric))
        if lacking != (metric.direction == "higher"):
            hint = f'"1 - {metric}"' if not lacking else f'"{metric}"'
            raise DataError(f"loss must be better where it is lower: write {hint}, got {loss!r}")
        low, high = metric.bounds
        if not (isfinite(low) and isfinite(high)):
            raise DataError(
                f"loss must be bounded for a promise, and {metric} is between {low:g} and {high:g}"
            )
        if lacking:
            words, bounds = f"1 - {metric}", (1.0 - high, 1.0 - low)
            return cls(words, bounds, metric, lambda ranking: 1.0 - metric.per_query(ranking).value)
        kind = type(metric).__name__
        words = WORDS.get(kind, str(metric))
        words += "" if str(metric) in (kind, words) else f" ({metric})"
        return cls(words, (low, high), metric, lambda ranking: metric.per_query(ranking).value)

    def scaled(self, values: Any, name: str) -> np.ndarray:
        """Return the defined losses of a candidate as numbers in [0, 1]."""
        losses = np.asarray(values, dtype=np.float64).reshape(-1)
        losses = losses[~np.isnan(losses)]
        low, high = self.bounds
        if len(losses) and not (losses.min() >= low - 1e-9 and losses.max() <= high + 1e-9):
            raise DataError(
                f"losses must be between {low:g} and {high:g}, got {losses.min():g} to "
                f"{losses.max():g} for {name}"
            )
        return np.clip((losses - low) / (high - low), 0.0, 1.0)


def _refuse_pooled(what: str) -> None:
    raise DataError(
        f"loss must be a mean of one value per list, and {what} is pooled over all lists: no "
        "promise of this kind exists for it"
    )


@dataclass(frozen=True)
class _Sequence:
    """Candidates in the order of their tests, what each is worth, and their losses per list."""

    names: list[str]
    candidates: list[Any]
    worth: list[float]
    losses: Callable[[int], Any]


@dataclass(frozen=True, eq=False)
class Promise:
    """What can be promised for new lists; the result of `promise`.

    It is true if a candidate can be promised.

    Attributes
    ----------
    chosen : str or None
        The name or strength of the promised candidate that is worth most; None if there is none.
    candidate : object
        The candidate itself: a ranker, a ranking, or a strength as a number.
    at_most, delta : float
        The bound of the mean loss, and the probability with which it may fail.
    method : {"betting", "hoeffding-bentkus"}
        The p-value.
    n_lists, n_undefined : int
        The calibration lists with a loss, and those without.
    needed : float
        About how many lists would be needed if nothing can be promised; infinite if more lists like
        these would not help, NaN if something is promised.
    sentence : str
        The result in words.
    table : Table
        Each test in order: candidate, mean loss, p-value, its level, whether it is promised.

    Examples
    --------
    >>> from equirank.datasets import load_hiring
    >>> from equirank.search import promise
    >>> result = promise(load_hiring().ranking(), "ExposureGap(by='sex')", 0.3)
    >>> bool(result), result.n_lists
    (True, 60)
    >>> result.sentence.split(", ")[1]
    'the difference in exposure (ExposureGap(by="sex")) is at most 0.3 on average (90% confidence).'
    """

    chosen: str | None
    candidate: Any
    loss: str
    at_most: float
    delta: float
    method: str
    n_lists: int
    n_undefined: int
    needed: float
    sentence: str
    table: Table

    def __bool__(self) -> bool:
        """Return whether a candidate can be promised."""
        return self.chosen is not None

    def to_dict(self) -> dict[str, Any]:
        """Return the promise for JSON: numbers, sentence and tests; infinity and NaN are None."""
        names = ("chosen", "loss", "at_most", "delta", "method", "n_lists", "n_undefined")
        found = {name: getattr(self, name) for name in names}
        found["needed"] = int(self.needed) if isfinite(self.needed) else None
        return found | {"sentence": self.sentence, "tests": list(self.table)}


def promise(
    path_or_remedies: Any,
    loss: Any,
    at_most: float,
    delta: float = 0.1,
    *,
    data: RankingData | None = None,
    strengths: Sequence[float] | None = None,
    method: Method = "betting",
    n_draws: int | None = None,
    random_state: Any = 0,
) -> Promise:
    """Choose what keeps the mean loss on new lists below a bound, with confidence ``1 - delta``.

    The losses of calibration lists, which nothing was fitted to or chosen on, test for each
    candidate whether its mean loss is above ``at_most``. Nothing is assumed but that the lists, and
    new ones, are independent draws from one source. Along a path the strongest setting is tested
    first and the tests stop at the first that fails (fixed-sequence testing), so each has the whole
    ``delta``; candidates of a set share it (Bonferroni), several paths too. Lists where the loss is
    undefined are left out, and the promise is about lists where it is defined.

    Parameters
    ----------
    path_or_remedies : TradeoffPath, object with ``strengths`` and ``losses``, list or dict
        A `TradeoffPath`, whose rankers are tested in the order of their validation values, the
        smallest loss first. Or any object with ``strengths`` (numbers, larger ones change more) and
        ``losses(strength)``, one loss per calibration list. Or a set, the most wanted first: fitted
        rankers, `Reranked`, rankings of the calibration lists, re-rankers of their scores, or
        several paths.
    loss : str, Metric or callable
        A bounded metric that is a mean over lists and of which lower is better
        (``"ExposureGap(by='sex')"``), ``"1 - NDCG@10"``, or a function that maps a `Ranking` to one
        number in [0, 1] per list. For an object with ``losses`` it names these.
    at_most : float
        Bound of the mean loss.
    delta : float
        Probability with which the promise may fail, over the calibration lists.
    data : RankingData, optional
        The calibration lists, which no candidate was fitted to and the order of the path does not
        depend on; not needed for rankings and for objects with ``losses``.
    strengths : sequence of float, optional
        The strengths to test instead of those of an object with ``losses``. The tests are valid
        for strengths that do not depend on the calibration lists; those of a bisection on the same
        lists do, so name others.
    method : {"betting", "hoeffding-bentkus"}
        The p-value. Choose it before the calibration lists are seen: the smaller of the two is no
        valid p-value.
    n_draws : int, optional
        Draws of stochastic rankers; without, they rank by their scores.
    random_state : int, Generator, RandomState or None
        Seed of the order in which `betting_p` takes the lists. Lists are sorted by query first, so
        the order of the rows has no influence.

    Returns
    -------
    Promise
        Of the candidates that can be promised, the one that is worth most: the weakest strength,
        the ranker of a `TradeoffPath` with the largest NDCG in validation (the least unfair if the
        loss is one of relevance), the first of a set.

    Raises
    ------
    DataError
        If the loss is pooled over lists (a ratio of sums), or not bounded.

    References
    ----------
    Angelopoulos, Bates, Candès, Jordan and Lei, Learn then test, Annals of Applied Statistics 19,
    2025.

    Examples
    --------
    >>> from equirank.datasets import load_hiring
    >>> from equirank.rerankers import DetGreedy
    >>> from equirank.search import promise
    >>> lists, fair = load_hiring(), {"DetGreedy": DetGreedy(by="sex")}
    >>> promise(fair, "ExposureGap(by='sex')", 0.15, data=lists).chosen
    'DetGreedy'
    >>> promise(lists.ranking(), "ExposureGap(by='sex')", 0.04).needed
    inf
    """
    given = {"at_most": at_most, "delta": delta, "method": method, "n_draws": n_draws}
    declared: dict[str, Constraint] = {
        "at_most": Number(),
        "delta": Number(0, 1, open_low=True, open_high=True),
        "method": Choice(*P_VALUES),
        "n_draws": Optional(Integer(1)),
    }
    check_params("promise", given, declared)
    measure = _Loss.given(loss)
    low, high = measure.bounds
    if not low < at_most < high:
        raise DataError(f"at_most must be between {low:g} and {high:g}, got {at_most}")
    sequences = _sequences(path_or_remedies, measure, data, n_draws, strengths)
    level, bound = delta / len(sequences), (at_most - low) / (high - low)
    rows: list[dict[str, Any]] = []
    promised: list[list[int]] = [[] for _ in sequences]
    first: list[np.ndarray] = []
    undefined = 0
    for own, sequence in zip(promised, sequences, strict=True):
        for at, name in enumerate(sequence.names):
            values = np.asarray(sequence.losses(at), dtype=np.float64).reshape(-1)
            losses = measure.scaled(values, name)
            order = generator(random_state, 29).permutation(len(losses))
            p = P_VALUES[method](losses[order], bound, level)
            mean = low + (high - low) * float(losses.mean()) if len(losses) else nan
            holds = p <= level
            rows.append({"candidate": name, "loss": mean, "p": p, "level": level,
                         "promised": holds, "lists": len(losses)})  # fmt: skip
            if at == 0:
                first.append(losses)
                undefined = max(undefined, len(values) - len(losses))
            if not holds:
                break
            own.append(at)
    return _result(
        sequences, promised, rows, measure, at_most=at_most, delta=delta, method=method,
        needed=min(lists_needed(each, bound, level, method) for each in first),
        undefined=undefined,
    )  # fmt: skip


def promised_mean(ranking: Ranking, metric: Metric, delta: float = 0.1) -> float:
    """Return the best mean of a metric that can be promised for new lists, with confidence.

    It is the largest mean of a metric of which lower is better, else the smallest, that the lists
    do not contradict by betting. A metric that is no bounded mean over lists is a DataError.

    Parameters
    ----------
    ranking : Ranking
        Lists that the ranker was not fitted to or chosen on.
    metric : Metric
        The metric.
    delta : float
        Probability with which the promise may fail, over the lists.

    Examples
    --------
    >>> from equirank.datasets import load_hiring
    >>> from equirank.metrics import ExposureGap
    >>> round(promised_mean(load_hiring().ranking(), ExposureGap(by="sex")), 2)
    0.09
    """
    lower = metric.direction == "lower"
    measure = _Loss.given(metric if lower else f"1 - {metric}")
    losses = measure.scaled(_by_query(measure, ranking), str(metric))
    order = generator(0, 29).permutation(len(losses))
    low, high = measure.bounds
    bound = low + (high - low) * mean_upper_bound([losses[order]], delta)
    return bound if lower else 1.0 - bound


def _result(
    sequences: Sequence[_Sequence],
    promised: Sequence[Sequence[int]],
    rows: list[dict[str, Any]],
    measure: _Loss,
    *,
    at_most: float,
    delta: float,
    method: str,
    needed: float,
    undefined: int,
) -> Promise:
    """Return the promise of the first sequence that has one, in words."""
    table = Table({name: [row[name] for row in rows] for name in rows[0]})
    n_lists = max(row["lists"] for row in rows)
    chosen = candidate = None
    for sequence, own in zip(sequences, promised, strict=True):
        if own:
            best = max(own, key=lambda at: sequence.worth[at])
            chosen, candidate, needed = sequence.names[best], sequence.candidates[best], nan
            break
    bound = f"at most {number(at_most)} on average"
    sure = f"{level_words(1 - delta)} confidence"
    if chosen is not None:
        alone = len(rows) == 1 and chosen == "ranking"
        of = "" if alone else f" of {chosen}"
        sentence = f"On new lists drawn like these, {measure.words}{of} is {bound} ({sure})."
    else:
        sentence = (
            f"None can be promised with these {n_lists:,} lists: for no candidate is it certain "
            f"that {measure.words} is {bound} on new lists ({sure}); "
        )
        least = min(row["loss"] for row in rows)
        sentence += (
            f"about {_rounded(needed):,} would be needed."
            if isfinite(needed)
            else f"more lists like these would not help, as the mean on them is {number(least)}."
        )
    if undefined:
        sentence += (
            f" The {undefined:,} lists where it is undefined are left out, and so are such lists "
            "from the statement."
        )
    return Promise(
        chosen, candidate, measure.words, at_most, delta, method, n_lists, undefined, needed,
        sentence, table,
    )  # fmt: skip


def _rounded(count: float) -> int:
    """Return a count rounded up to two digits."""
    size = 10 ** max(0, len(str(int(count))) - 2)
    return ceil(count / size) * size


def _sequences(
    given: Any,
    measure: _Loss,
    data: RankingData | None,
    n_draws: int | None,
    strengths: Sequence[float] | None,
) -> list[_Sequence]:
    """Return the sequences of tests: one of a path, one per member of a set."""
    if isinstance(given, TradeoffPath):
        return [_of_path(given, measure, data, n_draws)]
    if _has_strengths(given):
        return [_of_strengths(given, given.strengths if strengths is None else strengths)]
    if isinstance(given, Mapping):
        members = [(str(name), each) for name, each in given.items()]
    elif isinstance(given, (list, tuple)):
        members = [(_name(each, at, len(given)), each) for at, each in enumerate(given)]
    else:
        members = [(_name(given, 0, 1), given)]
    if not members:
        raise DataError("path_or_remedies must contain at least one candidate, got none")
    found = []
    for name, each in members:
        if isinstance(each, TradeoffPath) or _has_strengths(each):
            path = _sequences(each, measure, data, n_draws, strengths)[0]
            names = [f"{name}: {own}" for own in path.names]
            found.append(_Sequence(names, path.candidates, path.worth, path.losses))
        else:
            found.append(_alone(name, each, measure, data, n_draws))
    return found


def _has_strengths(given: Any) -> bool:
    return hasattr(given, "strengths") and callable(getattr(given, "losses", None))


def _name(candidate: Any, at: int, count: int) -> str:
    kind = "ranking" if isinstance(candidate, Ranking) else type(candidate).__name__
    return kind if count == 1 else f"{kind} {at + 1}"


def _alone(
    name: str, candidate: Any, measure: _Loss, data: RankingData | None, n_draws: int | None
) -> _Sequence:
    def losses(_: int) -> np.ndarray:
        return _by_query(measure, _ranking(name, candidate, data, n_draws))

    return _Sequence([name], [candidate], [0.0], losses)


def _of_path(
    path: TradeoffPath, measure: _Loss, data: RankingData | None, n_draws: int | None
) -> _Sequence:
    """Return the rankers of a path, the smallest loss in validation first."""
    good, bad = path.table["NDCG"], path.table["unfairness"]
    relevance = measure.metric is not None and "sensitive" not in measure.metric.needs
    expected, worth = (-good, -bad) if relevance else (bad, good)
    order = np.lexsort((-worth, expected)).tolist()
    values = path.table[path.parameter]

    def losses(at: int) -> np.ndarray:
        name = f"{path.parameter} {values[order[at]]:g}"
        return _by_query(measure, _ranking(name, path.rankers[order[at]], data, n_draws))

    return _Sequence(
        [f"{path.parameter} {values[at]:g}" for at in order],
        [path.rankers[at] for at in order],
        [float(worth[at]) for at in order],
        losses,
    )


def _of_strengths(path: Any, given: Sequence[float]) -> _Sequence:
    strengths = sorted({float(each) for each in given}, reverse=True)
    if not strengths:
        raise DataError("strengths must contain at least one number, got none")
    names = [f"strength {each:g}" for each in strengths]
    return _Sequence(
        names, strengths, [-each for each in strengths], lambda at: path.losses(strengths[at])
    )


def _ranking(name: str, candidate: Any, data: RankingData | None, n_draws: int | None) -> Ranking:
    """Return a candidate's ranking of the calibration lists."""
    if isinstance(candidate, Ranking):
        if data is not None and candidate.data.fingerprint() != data.fingerprint():
            raise DataError(f"{name} must be a ranking of the calibration lists, got other rows")
        return candidate
    if data is None:
        raise DataError(f"data must be the calibration lists, which {name} has to rank")
    if isinstance(candidate, Reranker):
        return candidate(data.ranking())
    if not hasattr(candidate, "rank"):
        kind = type(candidate).__name__
        raise DataError(f"{name} must be a fitted ranker, a re-ranker or a ranking, got {kind}")
    return rank(candidate, data, n_draws=n_draws, seed=0)


def _by_query(measure: _Loss, ranking: Ranking) -> np.ndarray:
    """Return the losses sorted by query, so that the order of rows has no influence."""
    losses = np.asarray(measure.of(ranking), dtype=np.float64).reshape(-1)
    if len(losses) != ranking.data.n_queries:
        raise DataError(
            f"loss must be one number per list ({ranking.data.n_queries:,}), got {len(losses):,}"
        )
    return losses[np.argsort(ranking.data.qids, kind="stable")]
