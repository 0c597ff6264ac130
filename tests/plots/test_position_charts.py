"""Charts of positions: what is overlaid, the names of lines, ticks and bands."""

from itertools import pairwise

import pytest
from sample_audit import sample_audit

from equirank.plots import position_charts, prefix_shares, score_distributions

pytest.importorskip("altair")


def marks(spec, kind):
    """The layers with a mark, each with its rows."""
    layers = spec.get("layer") or spec["spec"]["layer"]
    found = [layer for layer in layers if layer["mark"]["type"] == kind]
    return [(layer, layer.get("data", {}).get("values")) for layer in found]


def sample(n_groups):
    return sample_audit({"school": list("abcdefgh"[:n_groups])}, n_queries=2, against=False)


@pytest.mark.slow
@pytest.mark.parametrize(("n_groups", "together"), [(2, True), (3, True), (4, False)])
def test_three_groups_are_overlaid_and_four_are_not(n_groups, together):
    for chart in (prefix_shares, score_distributions):
        spec = chart(sample(n_groups), width=640, height=240).to_dict()
        assert ("facet" not in spec) == together
        inner = spec if together else spec["spec"]
        assert (inner["width"], inner["height"]) == ((640, 240) if together else (173, 120))
    (rule, _), *_ = marks(spec, "rule")
    assert ("legend" in rule["encoding"]["color"]) != together  # a title says which group it is
    dashes = rule["encoding"]["strokeDash"]["scale"]["range"]
    assert len({str(each) for each in dashes}) == n_groups


@pytest.mark.slow
def test_the_band_is_that_of_the_group_in_focus_or_of_each_group():
    for n_groups, banded in ((3, {"a"}), (4, set("abcd"))):
        spec = prefix_shares(sample(n_groups)).to_dict()
        rows = spec["data"]["values"]
        assert {row["group"] for row in rows if row["banded"]} == banded
        assert len(marks(spec, "text")) == (3 if n_groups == 3 else 0)


def test_names_of_lines_are_beside_their_ends_and_do_not_overlap():
    height = 30  # so low that names must be moved
    spec = prefix_shares(sample(3), height=height).to_dict()
    rows = spec["data"]["values"]
    highest = max(max(row["share"], row["band_high"] or 0.0) for row in rows)
    last = max(row["k"] for row in rows)
    placed = []
    for layer, (end,) in marks(spec, "text"):
        assert end["k"] == last
        placed.append((height * (1 - end["share"] / highest), layer["mark"]["dy"]))
    assert placed == sorted(placed)
    moved = [by for _, by in placed]
    assert moved[0] == 0
    gaps = [below - above for above, below in pairwise(at + by for at, by in placed)]
    assert all(gap >= 15 - 1e-9 for gap in gaps)
    assert all(down == 0 or gap < 15 + 1e-9 for down, gap in zip(moved[1:], gaps, strict=True))


def test_ticks_of_a_logarithmic_axis_end_with_the_list():
    assert position_charts._ticks(37, (1, 2, 5)) == [1, 2, 5, 10, 20]
    assert position_charts._ticks(50, (1, 2, 5)) == [1, 2, 5, 10, 20, 50]
    assert position_charts._ticks(1, (1, 3)) == [1]
