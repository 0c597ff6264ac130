"""Every public metric on batches of small lists; each list counts as an input."""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import equirank
from equirank import GroupMetric, Ranking
from equirank.core.registry import find, metric_names, parse_metric

from .reranker_targets import list_count, lists, scores, without_queries
from .target import Case, Fault, Target

__all__ = ["TARGETS", "variants"]


def variants(name: str) -> list[str]:
    """Return a metric as text: with its defaults, a cutoff, short steps, a protected group."""
    kind = find(name, ["equirank.metrics"])
    found = [name]
    if kind.takes_k:
        found += [f"{name}@1", f"{name}@3"]
    if "step" in kind.options():
        found.append(f"{name}(step=2)")
    if issubclass(kind, GroupMetric):
        found.append(f'{name}(protected="a")')
    return found


def _numbers(rng: random.Random, n: int, least: float) -> list[float]:
    """Draw numbers >= 0 over the whole range of doubles."""
    way = rng.randrange(4)
    if way == 0:
        return [max(least, float(rng.randrange(4))) for _ in range(n)]
    if way == 1:
        return [max(least, rng.random()) for _ in range(n)]
    if way == 2:
        return [max(least, 10.0 ** rng.uniform(-320, 308)) for _ in range(n)]
    return [
        max(least, rng.choice([0.0, 1.0, 5e-324, 1e300, 1.7976931348623157e308])) for _ in range(n)
    ]


def _drawn(name: str) -> Callable[[random.Random], Case]:
    known = variants(name)

    def draw(rng: random.Random) -> Case:
        case = lists(rng, 60, longest=8, two=0.0)
        case["groups"]["sex"] = rng.choices(
            "ab" if rng.random() < 0.7 else "abc", k=len(case["qid"])
        )
        n = len(case["qid"])
        if case["y"] is None or rng.random() < 0.5:
            case["y"] = _numbers(rng, n, 0.0)
        case["cost"] = _numbers(rng, n, 5e-324)
        case["X"] = [[value] for value in scores(rng, n)]
        return case | {"metric": rng.choice(known)}

    return draw


def _values(case: Case, rows: list[int], names: dict[int, str]) -> dict[str, float]:
    """Return the value of each query, by its new name, with the rows in another order."""
    data = equirank.as_ranking_data(
        [case["X"][row] for row in rows],
        [case["y"][row] for row in rows],
        qid=[names[case["qid"][row]] for row in rows],
        sensitive_features={"sex": [case["groups"]["sex"][row] for row in rows]},
        cost=[case["cost"][row] for row in rows],
        score=[case["score"][row] for row in rows],
    )
    ranking = data.ranking()
    if case.get("position") is not None:
        ranking = Ranking.from_positions(data, [case["position"][row] for row in rows])
    values = parse_metric(case["metric"]).per_query(ranking)
    return dict(zip(data.qids.tolist(), values.value.tolist(), strict=True))


def _run(case: Case, folder: Path) -> None:
    """Check that values are finite and within bounds, and the same for shuffled rows."""
    metric = parse_metric(case["metric"])
    low, high = metric.bounds
    rows = list(range(len(case["qid"])))
    names = {query: f"q{query}" for query in case["qid"]}
    first = _values(case, rows, names)
    for query, value in first.items():
        if np.isinf(value):
            raise Fault("value", f"{metric} is {value} in {query}")
        if not (np.isnan(value) or low - 1e-9 <= value <= high + 1e-9):
            raise Fault("value", f"{metric} is {value} in {query}, outside {metric.bounds}")
    rng = random.Random(len(rows))
    rng.shuffle(rows)
    renamed = {query: f"new {1000 - query}" for query in case["qid"]}
    again = _values(case, rows, renamed)
    if len(again) != len(first):
        raise Fault("loss", f"{metric} has {len(again)} values of {len(first)}")
    for query, name in names.items():
        a, b = first[name], again[renamed[query]]
        if not np.isclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True):
            raise Fault("value", f"{metric} is {a} in {name}, and {b} with shuffled rows")


def _strategy(name: str) -> Callable[[], Any]:
    def make() -> Any:
        from hypothesis import strategies as st

        amount = st.floats(0, 1.7976931348623157e308) | st.sampled_from([0.0, 1.0, 2.0])
        finite = st.floats(allow_nan=False, allow_infinity=False)
        score = finite | st.sampled_from([0.0, 1.0])
        cost = st.floats(5e-324, 1.7976931348623157e308)
        row = st.tuples(st.integers(0, 2), score, amount, cost, st.sampled_from("ab"))

        def case(pair: Any) -> Case:
            metric, rows = pair
            qid, score, y, cost, sex = (list(column) for column in zip(*rows, strict=True))
            columns = {"qid": qid, "score": score, "y": y, "cost": cost, "groups": {"sex": sex}}
            return columns | {"X": [[each] for each in score], "metric": metric}

        lists_of = st.lists(row, min_size=1, max_size=8)
        return st.tuples(st.sampled_from(variants(name)), lists_of).map(case)

    return make


TARGETS = [
    Target(
        name, "metrics", _drawn(name), _run, list_count, without_queries, _strategy(name), 0.3
    )
    for name in metric_names()
]  # fmt: skip
