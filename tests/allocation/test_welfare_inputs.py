import pytest

from equirank import DataError
from equirank.allocation import (
    dominance,
    envy,
    item_impact,
    nash_welfare,
    pareto_dominated,
    user_utility,
)

from .division_twins import EXAMPLE, NASH

FUNCTIONS = [
    dominance,
    envy,
    item_impact,
    nash_welfare,
    user_utility,
    lambda relevance, policy, attention: pareto_dominated(
        relevance, policy, [policy], attention=attention
    ),
]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"relevance": [1, 2]}, r"relevance must have 2 dimensions.*got shape \(2,\)"),
        ({"relevance": [[1, -2], [1, 1]]}, r"relevance must be finite.*-2.0 at \(0, 1\)"),
        ({"relevance": [[1, float("nan")], [1, 1]]}, r"relevance must be finite.*nan"),
        ({"relevance": [["x", "y"], [1, 1]]}, r"relevance must be numbers"),
        ({"relevance": [[], []]}, r"relevance.*at least one value"),
        ({"attention": 1}, r"attention must have 1 dimension "),
        ({"attention": [-1]}, r"attention must be finite numbers >= 0, got -1.0 at 0"),
        ({"attention": [1, 1, 1]}, r"attention must have at most one value per item \(2\), got 3"),
        ({"attention": [1, 0.5]}, r"policy must have the shape \(2, 2, 2\)"),
        ({"policy": [[1, 0], [0, 1]]}, r"policy must have 3 dimensions"),
        ({"policy": [[[1], [0]]]}, r"policy must have the shape \(2, 2, 1\).*\(1, 2, 1\)"),
        ({"policy": [[[1], [0.1]], [[0], [1]]]}, r"at a position, got 1.1 for user 0, position 0"),
        (
            {"policy": [[[1, 0.5], [0, 0.5]], [[0, 1], [1, 0]]], "attention": [1, 1]},
            r"of an item over the positions, got 1.5 for user 0, item 0",
        ),
    ],
)
def test_refuses(function, change, words):
    given = {"relevance": EXAMPLE, "policy": NASH, "attention": [1], **change}
    with pytest.raises(DataError, match=words):
        function(given["relevance"], given["policy"], attention=given["attention"])


def test_rounding_and_empty_places_are_allowed():
    assert item_impact(EXAMPLE, [[[1 + 1e-9], [0]], [[0], [0]]], attention=[1]).tolist() == [
        pytest.approx(0.8),
        0,
    ]


def test_attention_must_be_named():
    with pytest.raises(TypeError):
        envy(EXAMPLE, NASH, [1])
