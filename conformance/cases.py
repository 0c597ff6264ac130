"""The inputs of the vectors: ties, groups, several lists, edges, random small ones, bad ones."""

import random
from collections.abc import Iterator
from itertools import cycle
from typing import Any

__all__ = ["Case", "plain_cases", "random_cases"]

#: A case is (name, inputs, options).
Case = tuple[str, dict[str, Any], dict[str, Any]]

GRADES = {
    "distinct grades in order": ([3, 2, 1, 0], [9, 7, 5, 3]),
    "distinct grades in reverse": ([0, 1, 2, 3], [9, 7, 5, 3]),
    "mixed order": ([0, 2, 1, 0, 3], [5, 4, 3, 2, 1]),
    "two tied at the top": ([1, 0, 1, 2], [3, 3, 2, 1]),
    "three tied in the middle": ([2, 0, 1, 3, 1], [4, 2, 2, 2, 1]),
    "two tied blocks": ([1, 0, 0, 2, 1], [2, 2, 2, 1, 1]),
    "all tied": ([0, 2, 1, 1], [1, 1, 1, 1]),
    "negative scores": ([1, 0, 2], [-1, -3, -2]),
    "broken grades": ([0.5, 1.5, 0, 1], [1, 2, 4, 3]),
    "one relevant item": ([1], [1]),
    "one irrelevant item": ([0], [1]),
    "all relevant": ([1, 1, 1], [3, 2, 1]),
    "none relevant": ([0, 0, 0], [3, 2, 1]),
    "minus zero ties with zero": ([1, 0], [0.0, -0.0]),
    "eight items": ([0, 1, 0, 2, 1, 0, 3, 1], [8, 7, 6, 5, 5, 3, 2, 1]),
}
GROUPS = {
    1: ["f"],
    2: ["m", "f"],
    3: ["m", "f", "f"],
    4: ["m", "f", "m", "f"],
    5: ["m", "m", "f", "m", "f"],
    8: ["m", "m", "f", "m", "f", "m", "m", "f"],
}
PEOPLE = {
    "three groups": ([1, 2, 0, 1, 3, 0], [6, 5, 4, 3, 2, 1], ["m", "f", "x", "m", "x", "f"]),
    "three groups, tied": ([1, 2, 0, 1, 3, 1], [3, 3, 2, 2, 2, 1], ["m", "f", "x", "m", "x", "f"]),
    "one group": ([1, 0, 2], [3, 2, 1], ["f", "f", "f"]),
    "group first": ([1, 0, 1, 2], [4, 3, 2, 1], ["f", "f", "m", "m"]),
    "group last": ([1, 0, 1, 2], [4, 3, 2, 1], ["m", "m", "f", "f"]),
    "single member in the middle": ([1, 2, 1, 0, 1], [5, 4, 3, 2, 1], ["m", "m", "f", "m", "m"]),
}
ABSENT = {
    "y_true": [2, 1, 1, 0, 1, 2],
    "y_score": [6, 5, 4, 3, 2, 1],
    "sensitive_features": ["m", "x", "m", "f", "m", "f"],
    "qid": ["q1", "q1", "q1", "q2", "q2", "q2"],
}
LISTS = {
    "y_true": [1, 0, 0, 2, 0, 1, 0, 3, 1],
    "y_score": [3, 9, 2, 1, 8, 2, 7, 1, 1],
    "sensitive_features": ["m", "f", "f", "f", "f", "m", "f", "m", "f"],
    "qid": ["q1", "q2", "q1", "q3", "q2", "q1", "q2", "q3", "q3"],
}


def _with_people(inputs: dict[str, Any]) -> dict[str, Any]:
    inputs["sensitive_features"] = GROUPS[len(inputs["y_score"])]
    return inputs


def _shaped(shape: str, inputs: dict[str, Any]) -> dict[str, Any]:
    """Keep and add what metrics of this shape read."""
    inputs = dict(inputs)
    n = len(inputs["y_score"])
    if shape == "merit":
        inputs["y_true"] = [y + 1 for y in inputs["y_true"]]
    if shape in ("groups", "features", "aspects"):
        inputs.pop("y_true", None)
    if shape in ("relevance", "cost", "features", "aspects"):
        inputs.pop("sensitive_features", None)
    if shape == "aspects":
        inputs["X"] = [[int(i % (t + 2) == 0) for t in range(3)] for i in range(1, n + 1)]
    if shape == "features":
        inputs["X"] = [[i * i % 7 / 2, (3 * i + 1) % 5] for i in range(n)]
    if shape == "cost":
        inputs["cost"] = [1 + i * 3 % 4 / 2 for i in range(n)]
    return inputs


def plain_cases(shape: str, options: list[dict[str, Any]]) -> Iterator[Case]:
    """Return named cases: each with the first options, some with all."""
    turns = cycle(options)
    first = options[0]
    for name, (y, s) in GRADES.items():
        yield name, _shaped(shape, _with_people({"y_true": y, "y_score": s})), first
    if shape in ("groups", "both", "merit"):
        for name, (y, s, g) in PEOPLE.items():
            inputs = {"y_true": y, "y_score": s, "sensitive_features": g}
            yield name, _shaped(shape, inputs), first
            yield f"{name}, other options", _shaped(shape, inputs), next(turns)
        for option in ({}, {"protected": "f"}, {"protected": "x"}):
            inputs = _shaped(shape, ABSENT)
            yield "a group absent from a list", inputs, {**first, **option}
    y, s = GRADES["three tied in the middle"]
    tied = _shaped(shape, _with_people({"y_true": y, "y_score": s}))
    yield "tied, input order kept", tied, {**first, "ties": "stable"}
    for option in options[1:]:
        yield "tied, other options", tied, option
    for option in options:
        if shape == "relevance" and not option:
            continue
        yield "other options", _shaped(shape, LISTS), option
    yield "three lists, interleaved", _shaped(shape, LISTS), first
    for undefined in ("zero", "one", "raise"):
        name = f"three lists, undefined counts as: {undefined}"
        yield name, _shaped(shape, LISTS), {**first, "undefined": undefined}
    whole = _shaped(shape, _with_people({"y_true": [1, 0, 2, 0], "y_score": [4, 3, 2, 1]}))
    yield from _bad(whole, first, shape)


def _bad(inputs: dict[str, Any], options: dict[str, Any], shape: str) -> Iterator[Case]:
    def changed(name: str, at: int, value: Any) -> dict[str, Any]:
        column = list(inputs[name])
        column[at] = value
        return {**inputs, name: column}

    yield "score not a number", changed("y_score", 2, float("nan")), options
    yield "infinite score", changed("y_score", 1, float("inf")), options
    yield "a score too few", {**inputs, "y_score": inputs["y_score"][:-1]}, options
    yield "empty list", {name: [] for name in inputs}, options
    yield "a query label too few", {**inputs, "qid": ["p", "p", "q"]}, options
    if "y_true" in inputs:
        yield "negative relevance", changed("y_true", 3, -1), options
        yield "relevance not a number", changed("y_true", 0, float("nan")), options
    if "cost" in inputs:
        yield "cost of zero", changed("cost", 0, 0), options
        yield "negative cost", changed("cost", 0, -2), options
    if "sensitive_features" in inputs:
        yield "unknown group", inputs, {**options, "protected": "nobody"}
    if shape == "merit":
        yield "merit of zero", changed("y_true", 0, 0), options


def random_cases(
    shape: str, options: list[dict[str, Any]], seed: str, count: int
) -> Iterator[Case]:
    """Return small random lists, with ties, one to three queries, two or three groups."""
    draw = random.Random(f"equirank {seed}")
    for number in range(count):
        option = dict(options[number % len(options)])
        if number % 5 == 4:
            option["ties"] = "stable"
        sizes = [draw.randrange(1, 8) for _ in range(draw.randrange(1, 4))]
        n = sum(sizes)
        labels = ["f", "m", "x"][: draw.choice([2, 2, 3])]
        people = [draw.choice(labels) for _ in range(n)]
        people[draw.randrange(n)] = "f"
        inputs: dict[str, Any] = {
            "y_true": [draw.choice([0, 0, 1, 1, 2, 3]) for _ in range(n)],
            "y_score": [draw.randrange(-4, 13) / 4 for _ in range(n)],
            "sensitive_features": people,
        }
        if len(sizes) > 1:
            names = [name for name, size in zip("abc", sizes, strict=False) for _ in range(size)]
            draw.shuffle(names)
            inputs["qid"] = names
        inputs = _shaped(shape, inputs)
        if shape == "features":
            inputs["X"] = [[draw.randrange(6), draw.randrange(8) / 2] for _ in range(n)]
        if shape == "aspects":
            inputs["X"] = [[draw.choice([0, 0, 1]) for _ in range(4)] for _ in range(n)]
            inputs["y_score"] = draw.sample(range(20), n) if number % 5 else inputs["y_score"]
        if "cost" in inputs:
            inputs["cost"] = [draw.randrange(1, 9) / 2 for _ in range(n)]
            if number % 4 == 3:
                del inputs["cost"]
                inputs["cost_table"] = [[draw.randrange(4) for _ in range(4)] for _ in range(4)]
        yield f"random {number + 1}", inputs, option
