"""Every public re-ranker on batches of small lists; each list counts as an input."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import equirank
from equirank import Ranking, Reranker
from equirank.allocation import EquityOfAttention
from equirank.core.registry import public_classes

from .promises import CHECKS, ListCase, check_rows, crossed, keeps_order
from .target import Case, Fault, Target

__all__ = ["PARAMS", "TARGETS", "list_count", "lists", "without_queries"]

_GROUPS = (
    ("a", "b"),
    ("f", "m"),
    ("a", "b", "c"),
    ("x", "y", "z", "w", "v"),
    ("é", " ", "a & b"),
    ("1",),
)
_JUNK = (
    None,
    -1,
    0,
    1.5,
    float("nan"),
    float("inf"),
    "x",
    "",
    [],
    {},
    True,
    10**30,
    [1, 2],
    {"a": 2},
)


def scores(rng: random.Random, n: int, odd: bool = True) -> list[float]:
    """Draw scores: tied, spread, tiny, huge or with opposite signs."""
    way = rng.randrange(6 if odd else 3)
    if way == 0:
        return [float(rng.randrange(3)) for _ in range(n)]
    if way == 1:
        return [rng.random() + 1e-3 for _ in range(n)]
    if way == 2:
        return [float(n - at) for at in range(n)]
    if way == 3:
        return [rng.choice([-1, 1]) * 10.0 ** rng.uniform(-320, 308) for _ in range(n)]
    if way == 4:
        return [rng.gauss(0, 1) for _ in range(n)]
    return [rng.choice([0.0, -0.0, 5e-324, 1.7976931348623157e308, 1.0]) for _ in range(n)]


def lists(rng: random.Random, n_lists: int, longest: int = 12, two: float = 0.2) -> Case:
    """Draw columns of lists whose rows are interleaved."""
    sizes = [rng.randint(1, longest) for _ in range(n_lists)]
    qid = [query for query, size in enumerate(sizes) for _ in range(size)]
    if rng.random() < 0.5:
        rng.shuffle(qid)
    n = len(qid)
    labels = {"sex": rng.choice(_GROUPS)}
    if rng.random() < two:
        labels["race"] = ("p", "q", "r")[: rng.randint(1, 3)]
    groups = {}
    for name, known in labels.items():
        weights = [rng.random() ** 2 + 0.05 for _ in known]
        groups[name] = rng.choices(known, weights, k=n)
    case: Case = {"qid": qid, "score": scores(rng, n), "groups": groups}
    case["y"] = [float(rng.randrange(4)) for _ in range(n)] if rng.random() < 0.7 else None
    if rng.random() < 0.2:  # given positions, some rows not shown
        case["position"] = _positions(rng, qid)
    return case


def _positions(rng: random.Random, qid: list[int]) -> list[int]:
    shown, result = [rng.random() < 0.8 for _ in qid], [0] * len(qid)
    order = list(range(len(qid)))
    rng.shuffle(order)
    count: dict[int, int] = {}
    for row in order:
        if shown[row]:
            result[row] = count[qid[row]] = count.get(qid[row], 0) + 1
    return result


def list_count(case: Case) -> int:
    """Return the number of lists."""
    return len(set(case["qid"]))


def without_queries(case: Case) -> Iterator[Case]:
    """Yield the case with fewer lists: half of them, a quarter, ..., all but one."""
    queries = sorted(set(case["qid"]))
    size = len(queries) // 2
    while size >= 1:
        for at in range(0, len(queries), size):
            kept = {*queries[:at], *queries[at + size :]}
            yield _taken(case, [row for row, query in enumerate(case["qid"]) if query in kept])
        size //= 2


def _taken(case: Case, rows: list[int]) -> Case:
    n = len(case["qid"])

    def cut(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: cut(part) for key, part in value.items()}
        whole = isinstance(value, list) and len(value) == n
        return [value[row] for row in rows] if whole else value

    return {key: cut(value) if key != "params" else value for key, value in case.items()}


# parameters

Params = Callable[[random.Random, Case], dict[str, Any]]


def _labels(case: Case, name: str = "sex") -> list[str]:
    return sorted(set(case["groups"][name]))


def _share(rng: random.Random) -> float:
    return rng.choice([0.0, 1.0, 0.5, 1 / 3, 0.1, rng.random()])


def _proportions(rng: random.Random, case: Case) -> dict[str, Any]:
    if rng.random() < 0.5:
        return {}
    labels = _labels(case)
    parts = [rng.choice([0, 1, 1, 2, 3]) for _ in labels]
    total = sum(parts) or 1
    return {"proportions": {label: part / total for label, part in zip(labels, parts, strict=True)}}


def _protected(rng: random.Random, case: Case) -> dict[str, Any]:
    labels = _labels(case)
    if rng.random() < 0.1:
        return {}
    if rng.random() < 0.15:
        return {"protected": rng.sample(labels, rng.randint(1, len(labels)))}
    return {"protected": rng.choice(labels)}


def _fa_star_ir(rng: random.Random, case: Case) -> dict[str, Any]:
    params = _protected(rng, case)
    if rng.random() < 0.5:
        params["p"] = rng.choice([0.1, 0.3, 0.5, 0.5, 0.8, 0.99])
    if rng.random() < 0.5:
        params["alpha"] = rng.choice([0.01, 0.05, 0.15, 0.3, 0.9])
    if rng.random() < 0.2:
        params["law"] = "pool"
    if rng.random() < 0.2:
        params["adjusted"] = False
    return params


def _implicit(rng: random.Random, case: Case) -> dict[str, Any]:
    return _protected(rng, case) | ({"phi": _share(rng)} if rng.random() < 0.6 else {})


def _rooney(rng: random.Random, case: Case) -> dict[str, Any]:
    return _protected(rng, case) | ({"count": rng.randint(1, 4)} if rng.random() < 0.4 else {})


def _prefix_bounds(rng: random.Random, case: Case) -> dict[str, Any]:
    params: dict[str, Any] = {}
    for name in ("lower", "upper"):
        if rng.random() < 0.7:
            params[name] = {}
            for label in _labels(case):
                if rng.random() < 0.6:
                    share = rng.random() * (0.6 if name == "lower" else 1.0)
                    counts = [int(j * share) + (name == "upper") for j in range(1, 6)]
                    params[name][label] = counts if rng.random() < 0.3 else share
    if "race" in case["groups"] and rng.random() < 0.5:
        bound = dict.fromkeys(_labels(case, "race")[:2], 0.2)
        params["lower"] = {"sex": params.get("lower") or {}, "race": bound}
        params["time_limit"] = 60.0
        if "upper" in params:
            params["upper"] = {"sex": params["upper"]}
    return params


def _number_bounds(rng: random.Random, case: Case, names: tuple[str, ...]) -> dict[str, Any]:
    params: dict[str, Any] = {}
    for name in names:
        if rng.random() < 0.7:
            params[name] = {
                label: rng.choice([0, 1, 1, 2, 0.2] if name == "lower" else [1, 2, 3, 0.5, 0.8])
                for label in _labels(case)
                if rng.random() < 0.6
            }
    return params


def _balanced(rng: random.Random, case: Case) -> dict[str, Any]:
    params = _number_bounds(rng, case, ("lower",))
    if rng.random() < 0.5:
        params["level"] = rng.choice([0.3, 0.7, 1.0])
    if rng.random() < 0.3:
        params["leximin"] = True
    if rng.random() < 0.3:
        params["igf"] = "aggregated"
    if params.get("level") or params.get("leximin"):
        case["score"] = [abs(score) + 1e-3 for score in scores(rng, len(case["qid"]), odd=False)]
    return params | {"time_limit": 60.0}


def _online(rng: random.Random, case: Case) -> dict[str, Any]:
    params = _number_bounds(rng, case, ("lower", "upper"))
    if rng.random() < 0.4:
        params["arrival"] = "given"
    if rng.random() < 0.4:
        params["deferred"] = False
    if rng.random() < 0.3:
        params["warm_up"] = rng.choice([0.0, 0.5, 0.99])
    if rng.random() < 0.2:
        params["n_draws"] = 3
    return params | {"random_state": rng.randrange(5)}


def _exposure(rng: random.Random, case: Case) -> dict[str, Any]:
    params: dict[str, Any] = {
        "constraint": rng.choice(["parity", "treatment", "impact", "item", None])
    }
    if rng.random() < 0.2:
        params["slack"] = rng.choice([0.01, 0.1])
    if rng.random() < 0.1:
        params["penalty"] = rng.choice([0.1, 10.0])
    if rng.random() < 0.2:
        params["discount"] = rng.choice(["zipf", [1.0, 0.5, 0.25]])
    if rng.random() < 0.1:
        params["method"] = "lp"
    if rng.random() < 0.9:
        case["score"] = [abs(score) for score in scores(rng, len(case["qid"]), odd=False)]
    return params


def _epsilon(rng: random.Random, case: Case) -> dict[str, Any]:
    return {"eps": _share(rng), "n_draws": rng.choice([1, 1, 3]), "random_state": rng.randrange(5)}


def _continuous(rng: random.Random, case: Case) -> dict[str, Any]:
    if rng.random() < 0.3:
        return {"theta": {label: rng.choice([0.0, 0.5, 1.0]) for label in _labels(case)}}
    return {"theta": rng.choice([0.0, 0.3, 1.0, 1.0])}


def _ratio(rng: random.Random, case: Case) -> dict[str, Any]:
    return {"ratio": rng.choice([0.0, 0.5, 0.8, 1.0]), "protected": rng.choice(_labels(case))}


def _lottery(rng: random.Random, case: Case) -> dict[str, Any]:
    widths = [0.0, 0.1, 1.0, 1e6]
    return {"width": rng.choice(widths), "n_draws": rng.choice([1, 3]), "random_state": 0}


def _bonus(rng: random.Random, case: Case) -> dict[str, Any]:
    given = {"bonus": rng.choice([0.0, 0.5, 10.0]), "protected": rng.choice(_labels(case))}
    return given | {"tied_first": rng.choice([None, 0.0, 0.3, 1.0])}


#: Lists of a batch, and parameters, of each class.
PARAMS: dict[str, tuple[int, Params]] = {
    "BalancedSelection": (4, _balanced),
    "ContinuousFairness": (200, _continuous),
    "DetCons": (300, _proportions),
    "DetConstSort": (300, _proportions),
    "DetGreedy": (300, _proportions),
    "DetRelaxed": (300, _proportions),
    "EpsilonGreedy": (300, _epsilon),
    "ExposureOptimal": (10, _exposure),
    "FAStarIR": (200, _fa_star_ir),
    "ImpactRatioFloor": (100, _ratio),
    "ImplicitBiasFloor": (300, _implicit),
    "MarginLottery": (300, _lottery),
    "OnlineSelection": (300, _online),
    "PrefixConstraints": (100, _prefix_bounds),
    "RooneyRule": (300, _rooney),
    "ScoreBonus": (300, _bonus),
}


def _drawn(name: str) -> Callable[[random.Random], Case]:
    n_lists, make = PARAMS[name]

    def draw(rng: random.Random) -> Case:
        strict = rng.random() < 0.15  # one infeasible list refuses all
        if name == "PrefixConstraints" and rng.random() < 0.3:
            case = lists(rng, 1 if strict else 3, longest=6, two=1.0)
        else:
            case = lists(rng, rng.randint(1, 3) if strict else n_lists)
        params = make(rng, case)
        if rng.random() < 0.4:
            params["k"] = rng.randint(1, 8)
        if len(case["groups"]) > 1 and name not in ("EpsilonGreedy", "PrefixConstraints"):
            params["by"] = "sex"
        params["on_infeasible"] = "error" if strict else "best"
        if strict and rng.random() < 0.3:
            params[rng.choice(list(params))] = rng.choice(_JUNK)
            case["junk"] = True
        return case | {"params": params}

    return draw


def _ranking(case: Case) -> Ranking:
    data = equirank.as_ranking_data(
        y=case["y"], qid=case["qid"], sensitive_features=case["groups"], score=case["score"]
    )
    if case.get("position") is not None:
        return Ranking.from_positions(data, case["position"])
    return data.ranking()


def _run(kind: type[Reranker]) -> Callable[[Case, Path], None]:
    def run(case: Case, folder: Path) -> None:
        ranking = _ranking(case)
        result: Any = kind(**case["params"])(ranking)
        if case.get("junk"):
            return
        _check(kind, case, ranking, result)
        result.moves.to_dict()
        _ = result.price

    return run


def _check(kind: type[Reranker], case: Case, ranking: Ranking, result: Any) -> None:
    """Check rows, order and promise of every list."""
    params, data = case["params"], ranking.data
    places = result.position.reshape(data.n_rows, -1)
    last = places if result.last is None else result.last.reshape(data.n_rows, -1)
    first = data.to_original(places).tolist()
    last = data.to_original(last).tolist()
    moved = result.score.tolist() if hasattr(result, "score") else None
    labels = {name: sorted(set(column)) for name, column in case["groups"].items()}
    claims = np.asarray(result.holds_per_query).tolist()
    queries = data.qids.tolist()
    rows_of: dict[Any, list[int]] = {query: [] for query in queries}
    for row, query in enumerate(case["qid"]):
        rows_of[query].append(row)
    position = case.get("position")
    for at, query in enumerate(queries):
        rows = rows_of[query]
        if position is None:
            before = sorted(rows, key=lambda row: -case["score"][row])
        else:
            before = sorted((row for row in rows if position[row]), key=lambda row: position[row])
        weights = [1.0] if result.weights is None else result.weights[at].tolist()
        if result.weights is None and result.n_draws > 1:
            weights = [1.0 / result.n_draws] * result.n_draws
        draws = [
            sorted((row for row in rows if first[row][d]), key=lambda row: first[row][d])
            for d in range(result.n_draws)
        ]
        each = ListCase(rows, before, draws, weights, case["score"], case["groups"], labels, moved)
        blocks = [[(first[row][d], last[row][d]) for row in rows] for d in range(result.n_draws)]
        wrong = check_rows(each, params.get("k"), blocks)
        if wrong:
            raise Fault(wrong.split(":")[0].split()[0], f"{kind.__name__}, list {query}: {wrong}")
        if getattr(kind, "keeps_order", False) and kind.__name__ != "ContinuousFairness":
            _check_order(kind, each, params)
        holds = CHECKS[kind.__name__](each, params)
        if holds is not None and holds != claims[at]:
            raise Fault(
                "holds", f"{kind.__name__}, list {query}: holds is {claims[at]}, checked {holds}"
            )
    if result.holds != all(claims):
        raise Fault("holds", f"{kind.__name__}: holds of all lists differs from each of them")


def _check_order(kind: type[Reranker], each: ListCase, params: dict[str, Any]) -> None:
    groups = crossed(each, list(each.groups))
    if not keeps_order(each, groups):
        raise Fault("order", f"{kind.__name__} changes the order within a group")


# a stream of lists


def _draw_stream(rng: random.Random) -> Case:
    n = rng.randint(2, 9)
    stream = [[float(rng.randrange(5)) for _ in range(n)] for _ in range(20)]
    params = {"theta": rng.choice([0.0, 0.5, 0.8, 0.9, 1.0]), "k": rng.randint(1, 5)}
    return {"qid": list(range(20)), "stream": stream, "params": params}


def _run_stream(case: Case, folder: Path) -> None:
    """Rank a stream, and check rows and NDCG by the gain that the class names."""
    equity = EquityOfAttention(**case["params"])
    gain, k = getattr(equity, "gain", "scaled"), case["params"]["k"]
    for relevance in case["stream"]:
        order = equity.rank_next(relevance)
        if sorted(order) != list(range(len(relevance))):
            raise Fault("loss", f"the ranking {order} is no order of {len(relevance)} items")
        scale = max(relevance) or 1.0
        scale = scale if gain == "scaled" else 1.0
        gains = [2.0 ** (each / scale) - 1.0 for each in relevance]
        weights = [1.0 / np.log2(2.0 + at) for at in range(min(k, len(order)))]
        got = sum(gains[row] * w for row, w in zip(order, weights, strict=False))
        best = sum(g * w for g, w in zip(sorted(gains, reverse=True), weights, strict=False))
        if got < case["params"]["theta"] * best - 1e-9:
            raise Fault("holds", f"NDCG@{k} is {got / best}, below theta {case['params']['theta']}")


def _smaller_stream(case: Case) -> Iterator[Case]:
    for end in range(1, len(case["stream"])):
        yield case | {"stream": case["stream"][:end], "qid": list(range(end))}


def _strategy() -> Any:
    """Return a strategy of hypothesis: few lists, any scores, groups of two."""
    from hypothesis import strategies as st

    finite = st.floats(allow_nan=False, allow_infinity=False)
    row = st.tuples(st.integers(0, 2), finite | st.sampled_from([0.0, 1.0]), st.sampled_from("ab"))

    def case(rows: list[Any]) -> Case:
        qid, score, sex = (list(column) for column in zip(*rows, strict=True))
        return {
            "qid": qid,
            "score": score,
            "groups": {"sex": sex},
            "y": [0.0] * len(qid),
            "params": {"on_infeasible": "best"},
        }

    return st.lists(row, min_size=1, max_size=12).map(case)


TARGETS = [
    Target(
        name, "rerankers", _drawn(name), _run(kind), list_count, without_queries,
        strategy=_strategy if name not in ("BalancedSelection", "ExposureOptimal") else None,
    )
    for name, kind in public_classes(Reranker, ["equirank.rerankers"]).items()
    if name in PARAMS  # tests/test_fuzz.py names a class that lacks them
]  # fmt: skip
TARGETS.append(
    Target("EquityOfAttention", "rerankers", _draw_stream, _run_stream, list_count, _smaller_stream)
)
