"""check_metric: what every metric promises, tried on random lists."""

import copy
import pickle
import warnings
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..core.attribute import Attribute
from ..core.data import RankingData
from ..core.errors import DataError
from ..core.metric import Metric, measure, permuted, resampled
from ..core.random import generator
from ..core.ranking import Ranking
from ..core.registry import metric_names, parse_metric, parse_metrics
from ..kernels.segments import divide
from .trial_lists import Trial, constant, tie_orders, widened

__all__ = ["CHECKS", "check_metric"]


NEEDS = {
    "relevance": "y",
    "sensitive": "sensitive_features",
    "cost": "cost",
    "features": "X",
    "score": "score",
}


def check_name(trial: Trial) -> None:
    """Check that the string parses back, and that equal metrics have equal keys."""
    metric, kind = trial.given, type(trial.given)
    trial.require(metric.name == repr(metric) == str(metric), "its name must be its repr")
    if kind.__name__ in metric_names():
        trial.require(parse_metric(repr(metric)) == metric, "its string must parse back to it")
    else:
        read = eval(repr(metric), {kind.__name__: kind})
        read = read() if isinstance(read, type) else read
        trial.require(read == metric, "its string must read back as the metric")
    copies = [replace(metric), copy.deepcopy(metric), pickle.loads(pickle.dumps(metric))]
    for other in copies:
        trial.require(other == metric, "a copy must be equal to it")
        trial.require(hash(other) == hash(metric), "a copy must have the same hash")
    if kind.takes_k:
        trial.require(metric @ 1 != metric @ 2, "other cutoffs must make other metrics")
        trial.require((metric @ 7).k == 7, "@ must set the cutoff")
        trial.require(repr(metric @ 7).endswith("@7"), "its string must end with its cutoff")


def check_declarations(trial: Trial) -> None:
    """Direction, needs and bounds are declared, and the bounds hold."""
    metric = trial.metric
    trial.require(metric.direction in ("higher", "lower"), "direction must be 'higher' or 'lower'")
    trial.require(metric.needs <= set(NEEDS), f"needs must be among {', '.join(NEEDS)}")
    trial.require(type(metric).summary(), "it must have a docstring")
    low, high = metric.bounds
    trial.require(low < high, "bounds must be (lowest, highest)")
    for most in (3, 6, 15, 40):
        value = trial.values(trial.rows(most=most, n_queries=60).ranking()).value
        seen = value[~np.isnan(value)]
        trial.require(np.isfinite(seen).all(), "a value must be finite or NaN")
        outside = seen[(seen < low - 1e-9) | (seen > high + 1e-9)]
        trial.require(not len(outside), f"{outside[:1]} lies outside its bounds {metric.bounds}")


def check_needs(trial: Trial) -> None:
    """Check that data without what the metric needs raise an error that names it."""
    rows = trial.rows()
    places = rows.data().to_original(Ranking.from_scores(rows.data()).position)
    for need in trial.metric.needs:
        ranking = Ranking.from_positions(rows.data(**{NEEDS[need]: None}), places)
        try:
            trial.values(ranking)
        except DataError as error:
            named = str(trial.metric) in str(error)
            trial.require(named, f"the error without {need} must name it, got {error}")
        else:
            trial.require(False, f"data without {need} must raise DataError")


def check_order(trial: Trial) -> None:
    """One value per query, in order of first appearance, whatever other queries there are."""
    rows = trial.rows()
    ranking = rows.ranking()
    values = trial.values(ranking)
    labels = list(dict.fromkeys(rows.qid.tolist()))
    trial.require(values.value.shape == (len(labels),), "per_query must give one value per query")
    for at, label in enumerate(labels):
        trial.require(ranking.data.qids[at] == label, "queries must keep their order")
        one = trial.alone(ranking.data.select([at]).ranking())
        if one is not None:
            trial.same(one, values.value[[at]], "a query must have the same value alone")


def check_rows(trial: Trial) -> None:
    """Check that the order of the rows does not change the value."""
    rows = trial.rows()
    first = dict(zip(dict.fromkeys(rows.qid), trial.values(rows.ranking()).value, strict=True))
    for _ in range(3):
        mixed = rows.take(trial.rng.permutation(len(rows.qid)))
        value = trial.values(mixed.ranking()).value
        wanted = [first[label] for label in dict.fromkeys(mixed.qid)]
        trial.same(value, wanted, "the order of rows must not matter")


def check_range(trial: Trial) -> None:
    """Neither rows nor other queries count for relevance and costs of any size.

    A value that no double can hold is a DataError, for the query alone and among others.
    """
    reads = trial.metric.needs & {"relevance", "cost"}
    if not reads:
        return
    atol = 1e-20 if np.isinf(trial.metric.bounds).any() else 1e-9
    for tied in (False, True)[: 1 if trial.metric.refuses_ties else 2]:
        rows = widened(constant(trial.rows(n_queries=24), tied=tied), trial.metric, trial.rng)
        mixed = rows.take(trial.rng.permutation(len(rows.qid)))
        mixed = replace(mixed, qid=np.char.add("new ", mixed.qid))
        data, other = rows.data(), mixed.data()
        wanted, found = [], []
        for at, label in enumerate(data.qids.tolist()):
            value = _wide_value(trial, data, [at])
            if value is not None:
                wanted.append(value)
                found.append(other.qids.tolist().index(f"new {label}"))
        if len(wanted) < data.n_queries and len(data.sensitive) == 1:
            trial.require(
                _wide_value(trial, other, range(data.n_queries)) is None,
                "a value over 1.8e308 must raise DataError among other queries too",
            )
        if wanted:
            trial.same(
                _wide_value(trial, other, found),
                np.concatenate(wanted),
                "relevance and costs of any size must not depend on rows and other queries",
                atol,
            )


def _wide_value(trial: Trial, data: RankingData, queries: Sequence[int]) -> np.ndarray | None:
    """Measure some queries; None if their value is refused."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            value = measure([trial.metric], data.select(queries).ranking())[0].value
    except (DataError, RuntimeWarning, ArithmeticError) as error:
        trial.require(isinstance(error, DataError), f"{type(error).__name__}: {error}")
        return None
    infinite = trial.metric.infinite or not np.isinf(value).any()
    trial.require(infinite, "a value must be finite, NaN or refused")
    return value


def check_scores(trial: Trial) -> None:
    """Only the order of scores counts, unless the metric says that it reads them."""
    if "score" in trial.metric.needs:
        return
    rows = trial.rows()
    wanted = trial.values(rows.ranking()).value
    for score in (np.exp(rows.score), 7.0 * rows.score - 100.0, rows.score**3):
        value = trial.values(replace(rows, score=score).ranking()).value
        trial.same(value, wanted, "a monotone transform of the scores must not matter")


def check_groups(trial: Trial) -> None:
    """Check that new names of groups change only the names."""
    if "sensitive" not in trial.metric.needs:
        return
    rows, metric = trial.rows(), trial.metric
    new: dict[str, dict[Any, str]] = {}
    for name, column in rows.people.items():
        known = sorted(set(column.tolist()), key=str, reverse=True)
        new[name] = {label: f"{at} new" for at, label in enumerate(known)}
    people = {
        name: np.array([new[name][label] for label in column.tolist()])
        for name, column in rows.people.items()
    }
    renamed = metric
    protected = getattr(metric, "protected", None)
    if protected is not None:
        parts = str(protected).split(" & ") if len(people) > 1 else [protected]
        words = [names[part] for names, part in zip(new.values(), parts, strict=True)]
        renamed = _named(metric, " & ".join(words))
    before = trial.values(rows.ranking())
    after = trial.values(replace(rows, people=people).ranking(), renamed)
    trial.same(after.value, before.value, "new names for the groups must not matter")
    if before.groups is not None and len(people) == 1:
        (names,) = new.values()
        order = [after.labels.index(names[label]) for label in before.labels]
        trial.same(after.groups[:, order], before.groups, "each group must keep its value")  # type: ignore[index]


def check_unknown(trial: Trial) -> None:
    """Check that an unknown label is no group: neither the last one nor any other."""
    by = getattr(trial.metric, "by", None)
    if "sensitive" not in trial.metric.needs or not (by is None or isinstance(by, str)):
        return
    data = trial.rows().ranking().data
    ((name, attribute),) = data.sensitive.items()
    codes, n_groups = attribute.codes.copy(), len(attribute.categories)
    codes[trial.rng.random(len(codes)) < 0.3] = -1
    codes[: 2 * n_groups] = attribute.codes[: 2 * n_groups]
    turned = np.where(codes < 0, -1, n_groups - 1 - codes).astype(np.int32)
    both = (
        Attribute(codes, attribute.categories),
        Attribute(turned, attribute.categories[::-1]),
    )
    try:
        here, there = (
            trial.values(replace(data, sensitive={name: each}).ranking()).value for each in both
        )
    except DataError:
        return
    trial.same(there, here, "an unknown label (code -1) must not count as the last group")


def check_queries(trial: Trial) -> None:
    """All queries twice give the same summary."""
    rows = trial.rows()
    n = len(rows.qid)
    twice = rows.take(np.tile(np.arange(n), 2))
    labels = np.where(np.arange(2 * n) < n, twice.qid, np.char.add(twice.qid, " again"))
    once, both = trial.values(rows.ranking()), trial.values(replace(twice, qid=labels).ranking())
    summaries = [trial.metric.summarize(values)[0] for values in (once, both)]
    trial.same(summaries[1], summaries[0], "all queries twice must give the same summary")
    counts = np.full((3, len(once.value)), 2)
    replicates = trial.metric.summarize(once, counts)[0]
    trial.same(replicates, np.full(3, summaries[0]), "counting each query twice must not matter")


def check_ties(trial: Trial) -> None:
    """Tied items are worth what a fair lottery over all their orders is worth."""
    for _ in range(12):
        rows = trial.rows(n_queries=1, fewest=2, most=5)
        ranking = rows.ranking()
        lottery = Ranking.from_positions(ranking.data, tie_orders(rows.score))
        value, wanted = trial.values(ranking).value, trial.values(lottery).value
        trial.same(value, wanted, "ties must be worth the mean over their orders")


def check_draws(trial: Trial) -> None:
    """Check that several equal draws have the value of one."""
    rows = trial.rows()
    data = rows.data()
    places = trial.rng.random((len(rows.qid), 1))
    single = Ranking.from_scores(data, places[:, 0])
    column = data.to_original(single.position)
    thrice = Ranking.from_positions(single.data, np.stack([column] * 3, axis=1), weights=[1, 2, 5])
    wanted = trial.values(single).value
    trial.same(trial.values(thrice).value, wanted, "the same draw again must not matter")


def check_edges(trial: Trial) -> None:
    """Check lists of one item or group, all or none relevant, all tied, none shown."""
    rows = trial.rows(n_queries=4)
    shapes = {
        "one item": trial.rows(n_queries=1, most=1),
        "lists of one item": trial.rows(most=1),
        "one group": constant(rows, group=True),
        "no relevant item": constant(rows, y=0.0),
        "all relevant": constant(rows, y=float(rows.y.max())),
    }
    if not trial.metric.refuses_ties:
        shapes["all tied"] = constant(rows, tied=True)
    rankings = {name: shape.ranking() for name, shape in shapes.items()}
    hidden = np.zeros(len(rows.qid), dtype=np.int64)
    rankings["nothing shown"] = Ranking.from_positions(rows.data(), hidden)
    for name, ranking in rankings.items():
        try:
            value = trial.values(ranking).value
        except (ArithmeticError, IndexError, Warning) as error:
            trial.require(False, f"{name}: {type(error).__name__}: {error}")
        trial.require(not np.isinf(value).any(), f"{name}: a value must be finite or NaN")


def check_replicates(trial: Trial) -> None:
    """Replicates laid side by side as queries have the values they have one by one."""
    metric, rng = trial.metric, trial.rng
    data = trial.rows(n_queries=1, fewest=4, most=6).data()
    n = data.n_rows
    counts = rng.multinomial(n, np.full(n, 1 / n), size=5)
    for shown in (np.ones(n, dtype=bool), rng.random(n) < 0.6):
        (replicates,) = resampled([metric], _ranked(data, shown), counts)
        for got, times in zip(replicates.value, counts, strict=True):
            drawn = np.repeat(np.arange(n), times)
            wanted = trial.alone(_ranked(data.select_items(drawn), shown[drawn]))
            if wanted is not None:
                trial.same([got], wanted, "resampled items must be worth what their list is worth")
    by = getattr(metric, "by", None)
    if "sensitive" not in metric.needs or not (by is None or isinstance(by, str)):
        return
    rows = trial.rows()
    ranking = rows.ranking()
    codes = rng.integers(0, trial.n_groups, size=(3, len(rows.qid))).astype(np.int32)
    together = permuted(metric, ranking, slice(0, ranking.data.n_queries), by, codes).value
    for row, labels in zip(together, codes, strict=True):
        single = measure([metric], _with_codes(ranking.data, labels).ranking())[0]
        trial.same(row, single.value, "permuted groups must count as given ones")


def check_split(trial: Trial) -> None:
    """Check that sums over items have values by group, and that other metrics raise."""
    metric, rows = trial.metric, trial.rows()
    slots = rows.ranking().slots()
    codes, labels = slots.groups(None if len(rows.people) == 1 else tuple(rows.people))
    if not metric.additive:
        try:
            metric.split(slots, codes, len(labels))
        except DataError:
            return
        trial.require(False, "split must raise DataError unless the metric is additive")
    values = metric.split(slots, codes, len(labels))
    trial.require(values.shape == (slots.n_queries, len(labels)), "split must be query x group")
    sums = metric.split_sums(slots, codes, len(labels))
    if sums is not None:
        trial.same(divide(*sums), values, "split must be the quotient of split_sums")
    swapped = metric.split(slots, len(labels) - 1 - codes, len(labels))
    trial.same(swapped[:, ::-1], values, "split must follow the groups")


def _named(metric: Any, protected: str) -> Metric:
    named: Metric = replace(metric, protected=protected)
    return named


def _ranked(data: RankingData, shown: np.ndarray) -> Ranking:
    """Rank one list by score, equal scores sharing a place, leaving out what is not shown."""
    score = np.asarray(data.score)
    above = ((score[None, :] > score[:, None]) & shown[None, :]).sum(axis=1)
    return Ranking.from_positions(data, np.where(shown, above + 1, 0))


def _with_codes(data: RankingData, codes: np.ndarray) -> RankingData:
    ((name, attribute),) = data.sensitive.items()
    return replace(data, sensitive={name: Attribute(codes, attribute.categories)})


#: The checks by the names that ``skip`` takes.
CHECKS: dict[str, Callable[[Trial], None]] = {
    "name": check_name,
    "declarations": check_declarations,
    "needs": check_needs,
    "order": check_order,
    "rows": check_rows,
    "range": check_range,
    "scores": check_scores,
    "groups": check_groups,
    "unknown": check_unknown,
    "queries": check_queries,
    "ties": check_ties,
    "draws": check_draws,
    "edges": check_edges,
    "replicates": check_replicates,
    "split": check_split,
}


def check_metric(
    metric: Any, *, skip: Collection[str] = (), n_groups: int = 3, random_state: Any = 0
) -> None:
    """Check that a metric keeps what every metric promises; for your own metrics too.

    Its string reads back and its bounds hold. Neither the order of rows, a monotone transform of
    the scores, new names for groups nor doubled queries change a value, for relevance and costs of
    any size. An unknown label is no group. Ties are worth the mean over their orders (metrics of
    expected prefix counts are not asked). Odd lists do not crash.

    Parameters
    ----------
    metric : Metric, its class or its string
        What is checked.
    skip : collection of str
        Checks to leave out, by name: ``"scores"`` for a metric that reads scores and not only their
        order, ``"ties"`` for one that is not a mean over the orders of tied items.
    n_groups : int
        How many groups each sensitive attribute of the random lists has.
    random_state : int, Generator or None
        Draws the lists.

    Raises
    ------
    AssertionError
        Naming the metric and the promise it breaks.

    Examples
    --------
    >>> from equirank.metrics import NDCG
    >>> from equirank.testing import check_metric
    >>> check_metric(NDCG@10)
    """
    unknown = sorted(set(skip) - set(CHECKS))
    if unknown:
        raise DataError(f"skip must name checks ({', '.join(CHECKS)}), got {unknown[0]!r}")
    (given,) = parse_metrics(metric)
    left_out = set(skip) if given.exact_ties and not given.refuses_ties else {*skip, "ties"}
    for number, (name, check) in enumerate(CHECKS.items()):
        if name not in left_out:
            check(Trial(given, generator(random_state, number), n_groups))
