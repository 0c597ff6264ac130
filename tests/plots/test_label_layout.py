"""Names beside points: the usual offset where there is room, else clear of all that is there."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equirank.plots.label_layout import NEAR, PADDING, Offset, Sheet, _overlap, box, label_offsets

SHEET = Sheet((0.0, 1.0), (0.0, 2.0), 400, 300)


def boxes(points, texts, offsets):
    return [
        box(at, offset.dx, offset.dy, offset.align, text)
        for at, text, offset in zip(points, texts, offsets, strict=True)
    ]


def overlaps(some):
    return sum(_overlap(a, b) for at, a in enumerate(some) for b in some[:at])


def test_pixels_are_those_of_the_scales_and_back():
    assert SHEET.at({"x": 0.0, "y": 0.0}) == (PADDING, 300 - PADDING)
    assert SHEET.at({"x": 1.0, "y": 2.0}) == (400 - PADDING, PADDING)
    assert SHEET.back(*SHEET.at({"x": 0.25, "y": 1.5})) == pytest.approx({"x": 0.25, "y": 1.5})
    flat = Sheet.around([{"x": 3.0, "y": 1.0, "low": 0.0, "high": None}], 400, 300)
    assert (flat.x, flat.y) == ((3.0, 3.0), (0.0, 1.0))
    assert flat.at({"x": 3.0, "y": 1.0}) == (200.0, PADDING)


def test_with_room_every_name_stands_to_the_upper_right():
    points = [(60.0, 80.0), (200.0, 80.0), (60.0, 200.0)]
    assert label_offsets(points, ["a", "b", "c"], points, [], SHEET) == 3 * [
        Offset(*NEAR[0], joined=False)
    ]


def test_a_name_keeps_off_the_edge_and_other_texts():
    at = [(390.0, 150.0)]
    (offset,) = label_offsets(at, ["a long name"], at, [], SHEET)
    assert offset.align == "right"
    taken = [(270.0, 385.0, 135.0, 150.0)]
    (offset,) = label_offsets(at, ["a long name"], at, taken, SHEET)
    assert (offset.align, offset.dy > 0) == ("right", True)


def test_a_crowd_is_named_from_afar_with_lines():
    points = [(200.0 + i, 150.0 + (i % 3)) for i in range(10)]
    texts = [f"method {i}" for i in range(10)]
    offsets = label_offsets(points, texts, points, [], SHEET)
    assert overlaps(boxes(points, texts, offsets)) == 0.0
    assert any(offset.joined for offset in offsets)
    assert not offsets[0].joined


@pytest.mark.slow
@settings(max_examples=60)
@given(st.lists(st.tuples(st.floats(24, 376), st.floats(24, 276)), min_size=1, max_size=14))
def test_names_lie_on_each_other_less_than_without_choice(points):
    texts = [f"ranking {i}" for i in range(len(points))]
    chosen = boxes(points, texts, label_offsets(points, texts, points, [], SHEET))
    plain = boxes(points, texts, [Offset(*NEAR[0], joined=False)] * len(points))
    assert overlaps(chosen) <= overlaps(plain) + 1e-9
