"""The inputs of the metrics that do not read one list of scores."""

import random
from collections.abc import Iterator
from typing import Any

from .cases import Case

__all__ = [
    "leakage_cases",
    "merit_cases",
    "overlap_cases",
    "policy_cases",
    "ranking_cases",
    "test_cases",
]


def test_cases(seed: str) -> Iterator[Case]:
    """Return lists for the test of prefixes."""
    down = list(range(10, 0, -1))
    for name, people in {
        "protected first": "ffffmmmmmm",
        "protected last": "mmmmmmffff",
        "alternating": "mfmfmfmfmf",
        "one protected, last": "mmmmmmmmmf",
        "one protected, first": "fmmmmmmmmm",
    }.items():
        inputs = {"y_score": down, "sensitive_features": list(people)}
        yield name, inputs, {"protected": "f"}
        yield f"{name}, p = 1/2", inputs, {"protected": "f", "p": 0.5}
        yield (
            f"{name}, p = 3/8, not adjusted",
            inputs,
            {"protected": "f", "p": 0.375, "adjusted": False},
        )
        yield f"{name}, first six", inputs, {"protected": "f", "p": 0.25, "k": 6, "alpha": 0.25}
    tied = {"y_score": [2, 2, 2, 2, 1, 1], "sensitive_features": list("fmfmfm")}
    yield "tied: against the protected", tied, {"protected": "f", "p": 0.5, "alpha": 0.25}
    yield "all tied", {"y_score": [1] * 6, "sensitive_features": list("ffmmmm")}, {"protected": "f"}
    yield (
        "three groups",
        {"y_score": [6, 5, 4, 3, 2, 1], "sensitive_features": list("mxfmfx")},
        {"protected": "f"},
    )
    yield (
        "cutoff longer than the list",
        {"y_score": [3, 2, 1], "sensitive_features": list("mfm")},
        {"protected": "f", "k": 8},
    )
    yield "unknown group", tied, {"protected": "nobody"}
    yield (
        "score not a number",
        {"y_score": [1, float("nan")], "sensitive_features": list("fm")},
        {"protected": "f"},
    )
    yield "a score too few", {"y_score": [1], "sensitive_features": list("fm")}, {"protected": "f"}
    draw = random.Random(f"equirank {seed}")
    for number in range(12):
        n = draw.randrange(3, 10)
        people = [draw.choice("fm") for _ in range(n)]
        people[0], people[-1] = draw.sample("fm", 2)
        options: dict[str, Any] = {"protected": "f", "alpha": draw.choice([0.0625, 0.125, 0.25])}
        if number % 2:
            options["p"] = draw.choice([0.25, 0.375, 0.5, 0.625])
        if number % 3 == 0:
            options["adjusted"] = False
        scores = [draw.randrange(2 * n) for _ in range(n)]
        yield f"random {number + 1}", {"y_score": scores, "sensitive_features": people}, options


def overlap_cases(options: list[dict[str, Any]], seed: str) -> Iterator[Case]:
    """Return two lists of scores of the same rows."""
    for name, (first, second) in {
        "the same order": ([3, 2, 1], [9, 5, 4]),
        "the reverse": ([3, 2, 1], [1, 2, 3]),
        "one item": ([1], [2]),
        "all tied in both": ([1, 1, 1], [2, 2, 2]),
        "blocks that overlap": ([3, 3, 2, 2, 1], [1, 2, 2, 2, 3]),
    }.items():
        for option in options:
            yield f"{name}, {option or 'no options'}", {"first": first, "second": second}, option
    yield "input order kept", {"first": [1, 1], "second": [1, 2]}, {"ties": "stable"}
    yield "score not a number", {"first": [1, 2], "second": [1, float("nan")]}, {}
    yield "a score too few", {"first": [1, 2], "second": [1]}, {}
    yield "empty list", {"first": [], "second": []}, {}
    draw = random.Random(f"equirank {seed}")
    for number in range(16):
        sizes = [draw.randrange(1, 5) for _ in range(draw.randrange(1, 4))]
        n = sum(sizes)
        inputs: dict[str, Any] = {
            name: [draw.randrange(4) for _ in range(n)] for name in ("first", "second")
        }
        if len(sizes) > 1:
            names = [name for name, size in zip("abc", sizes, strict=False) for _ in range(size)]
            draw.shuffle(names)
            inputs["qid"] = names
        yield f"random {number + 1}", inputs, options[number % len(options)]


def merit_cases(options: list[dict[str, Any]], seed: str) -> Iterator[Case]:
    """Return scores and draws of merit of the same rows."""
    for name, (ranking, merit) in {
        "certain merit in order": ([3, 2, 1], [[9, 9], [5, 5], [4, 4]]),
        "certain merit reversed": ([1, 2, 3], [[9], [5], [4]]),
        "one item": ([1], [[2, 3]]),
        "tied merit": ([2, 1], [[1, 4], [1, 2]]),
        "all tied in both": ([1, 1, 1], [[2], [2], [2]]),
    }.items():
        for option in options:
            yield f"{name}, {option or 'no options'}", {"ranking": ranking, "merit": merit}, option
    yield "score not a number", {"ranking": [1, float("nan")], "merit": [[1], [2]]}, {}
    yield "a row too few", {"ranking": [1, 2], "merit": [[1, 2]]}, {}
    draw = random.Random(f"equirank {seed}")
    for number in range(12):
        sizes = [draw.randrange(1, 5) for _ in range(draw.randrange(1, 4))]
        inputs: dict[str, Any] = {
            "ranking": [draw.randrange(4) for _ in range(sum(sizes))],
            "merit": [[draw.randrange(4) for _ in range(4)] for _ in range(sum(sizes))],
        }
        if len(sizes) > 1:
            names = [name for name, size in zip("abc", sizes, strict=False) for _ in range(size)]
            draw.shuffle(names)
            inputs["qid"] = names
        yield f"random {number + 1}", inputs, options[number % len(options)]


def ranking_cases(options: list[dict[str, Any]], seed: str, ids: bool) -> Iterator[Case]:
    """Return sequences of rankings of the same rows."""
    one = {"y_true": [2, 1, 0, 1], "rankings": [[4, 3, 2, 1]]}
    for number, option in enumerate(options):
        yield f"one ranking, options {number + 1}", one, option
    yield "one item", {"y_true": [1], "rankings": [[1]]}, {}
    yield "none relevant", {"y_true": [0, 0], "rankings": [[2, 1]]}, {}
    yield "all tied", {"y_true": [2, 1, 0], "rankings": [[1, 1, 1]]}, {}
    yield (
        "all tied, input order kept",
        {"y_true": [2, 1, 0], "rankings": [[1, 1, 1]]},
        {"ties": "stable"},
    )
    yield "a ranking twice", {"y_true": [2, 1, 0], "rankings": [[1, 2, 3], [1, 2, 3]]}, {}
    yield "score not a number", {"y_true": [1, 0], "rankings": [[1, float("nan")]]}, {}
    yield "negative relevance", {"y_true": [1, -1], "rankings": [[1, 2]]}, {}
    if ids:
        moved = {"y_true": [[1, 0], [0, 1]], "rankings": [[2, 1], [1, 2]]}
        yield "relevance differs from ranking to ranking", moved, {"discount": "zipf"}
    draw = random.Random(f"equirank {seed}")
    for number in range(16):
        sizes = [draw.randrange(1, 6) for _ in range(draw.randrange(1, 4))]
        n = sum(sizes)
        inputs: dict[str, Any] = {
            "y_true": [draw.choice([0, 1, 1, 2, 3]) for _ in range(n)],
            "rankings": [
                [draw.randrange(6) for _ in range(n)] for _ in range(draw.randrange(1, 4))
            ],
        }
        if len(sizes) > 1:
            inputs["qid"] = [
                name for name, size in zip("abc", sizes, strict=False) for _ in range(size)
            ]
            if ids:
                inputs["ids"] = [i for size in sizes for i in draw.sample(range(6), size)]
        yield f"random {number + 1}", inputs, options[number % len(options)]


def _random_policy(draw: random.Random, users: int, items: int, places: int) -> list[Any]:
    """Mix two rankings of each user, by halves or quarters."""
    policy = []
    for _ in range(users):
        share = draw.choice([0.25, 0.5, 1.0])
        table = [[0.0] * places for _ in range(items)]
        for weight in (share, 1 - share):
            for place, item in enumerate(draw.sample(range(items), places)):
                table[item][place] += weight
        policy.append(table)
    return policy


def policy_cases(options: list[dict[str, Any]], seed: str, others: bool) -> Iterator[Case]:
    """Return policies of users and items."""
    one = {"relevance": [[1]], "policy": [[[1]]], "attention": [1]}
    more = {"others": [[[[1]]], [[[0]]]]} if others else {}
    yield "one user, one item", {**one, **more}, {}
    unwanted = {
        "relevance": [[1, 0], [0.5, 0]],
        "policy": [[[1], [0]], [[0], [1]]],
        "attention": [1],
    }
    more = {"others": [[[[1], [0]], [[1], [0]]]]} if others else {}
    yield "an item relevant to nobody", {**unwanted, **more}, {}
    nothing = {"relevance": [[0, 0]], "policy": [[[1], [0]]], "attention": [1]}
    more = {"others": [[[[0], [1]]]]} if others else {}
    yield "nothing relevant to anybody", {**nothing, **more}, {}
    more = {"others": [[[[1]]]]} if others else {}
    yield "negative relevance", {**one, **more, "relevance": [[-1]]}, {}
    yield "more than certain", {**one, **more, "policy": [[[2]]]}, {}
    draw = random.Random(f"equirank {seed}")
    for number in range(20):
        users, items = draw.randrange(1, 4), draw.randrange(2, 6)
        places = draw.randrange(1, min(items, 3) + 1)
        inputs: dict[str, Any] = {
            "relevance": [[draw.randrange(9) / 8 for _ in range(items)] for _ in range(users)],
            "policy": _random_policy(draw, users, items, places),
            "attention": [1, 0.5, 0.25][:places],
        }
        if others:
            inputs["others"] = [_random_policy(draw, users, items, places) for _ in range(3)]
            inputs["others"].append(inputs["policy"])
        yield f"random {number + 1}", inputs, options[number % len(options)]


def leakage_cases(options: list[dict[str, Any]]) -> Iterator[Case]:
    """Return representations that leave no choice."""
    for option in options:
        for name, sizes in {
            "halves": (20, 20),
            "three to one": (30, 10),
            "three groups": (20, 10, 10),
        }.items():
            people = [group for group, size in zip("abc", sizes, strict=False) for _ in range(size)]
            apart = [[float(group == other) for other in "abc"] for group in people]
            yield f"{name}, told apart", {"Z": apart, "sensitive_features": people}, option
            yield (
                f"{name}, one place",
                {"Z": [[1.0, 2.0]] * len(people), "sensitive_features": people},
                option,
            )
    people = ["a"] * 10
    yield "one group", {"Z": [[1.0]] * 10, "sensitive_features": people}, {}
    yield "a row too few", {"Z": [[1.0]] * 9, "sensitive_features": people}, {}
