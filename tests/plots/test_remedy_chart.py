"""The picture of remedies."""

import pytest

from equirank import DataError, remedy
from equirank.plots import remedies

pytest.importorskip("altair")


@pytest.fixture(scope="module")
def found():
    sex, score = list("mmmmmfmfffff"), list(range(12, 0, -1))
    return remedy(score=score, sensitive={"sex": sex}, target="sex=f selected at 4 >= 0.8")


def rows_of(spec):
    """All rows of all layers."""
    for layer in spec["layer"]:
        yield layer["mark"], layer.get("data", {}).get("values", [])


@pytest.mark.slow
def test_every_remedy_is_a_point_and_groups_have_their_own_shape(found):
    spec = remedies(found).to_dict()
    points = [row for mark, rows in rows_of(spec) if mark["type"] == "point" for row in rows]
    assert {row["name"] for row in points} == {
        "as ranked now", *(each.name for each in found.remedies)
    }  # fmt: skip
    marks = {row["name"]: row["mark"] for row in points}
    assert marks["MarginLottery"] == "does not use groups"
    assert marks["ScoreBonus"] == "uses groups"
    shapes = next(
        layer["encoding"]["shape"] for layer in spec["layer"] if "shape" in layer["encoding"]
    )
    scale = shapes["scale"]
    assert len(set(scale["range"])) == len(scale["domain"]) == 3
    lines = [rows for mark, rows in rows_of(spec) if mark["type"] == "line"]
    assert len(lines) == 2  # random mixtures, and noise
    rules = [rows for mark, rows in rows_of(spec) if mark["type"] == "rule"]
    assert [{"x": 0.8}] in [list(rows) for rows in rules]


def test_unknown_quality_is_an_error():
    found = remedy(
        position=list(range(1, 9)),
        sensitive={"sex": list("mmmmffff")},
        target="sex=f selected at 4 >= 0.8",
        n_boot=0,
    )
    with pytest.raises(DataError, match="known quality"):
        remedies(found)
