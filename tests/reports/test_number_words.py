"""Numbers in words: the text lies on the value's side of every threshold."""

import math
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from equirank.reports import number_words as words

GATES = st.lists(
    st.one_of(
        st.sampled_from([0.05, 2.0, -2.0, 0.4, 0.3, 0.95, 10.0, 1 / 3, 0.05 / 3]),
        st.floats(-50, 50).map(lambda value: round(value, 3)),
    ),
    max_size=3,
)


@st.composite
def near_thresholds(draw, low=-60.0, high=60.0):
    """A number of any size, or one beside a threshold, with the thresholds in play."""
    gates = [gate for gate in draw(GATES) if low <= gate <= high]
    limits = [limit for limit in (*words.THRESHOLDS, *gates) if low <= limit <= high]
    step = draw(st.sampled_from([0.0, 1e-7, 3e-5, 6e-5, 4e-4, 2e-3, 0.03])) * draw(
        st.sampled_from([-1, 1])
    )
    value = draw(st.one_of(st.floats(low, high), st.sampled_from(limits).map(lambda x: x + step)))
    return min(high, max(low, value)), gates


def side(value, limit):
    return (
        0 if abs(value - limit) <= 2e-12 * max(1.0, abs(limit)) else math.copysign(1, value - limit)
    )


def parsed(text):
    """The number of a text, and what it says about it: under, over, or equal as written."""
    found = re.fullmatch(r"(just under |just over )?([+-]?[\d,]+(?:\.\d+)?(?:e-\d+)?)", text)
    assert found, text
    return found[1], float(found[2].replace(",", ""))


def agrees(text, value, limits, scale=1.0):
    hint, shown = parsed(text)
    if hint is None:
        for limit in limits:
            assert side(scale * value, scale * limit) == side(shown, scale * limit), (text, limit)
    else:
        # exact: the library calls numbers equal within half the tolerance of `side`
        assert math.copysign(1, scale * value - shown) == (-1 if "under" in hint else 1)
        nearest = min(limits, key=lambda limit: abs(scale * (limit - value)))
        assert abs(shown - scale * nearest) < 2e-4


def decimals(text):
    return len(text.partition(".")[2])


@given(near_thresholds())
@example((0.798, []))
@example((0.8449, [0.845]))
@example((0.56 / 0.7, []))
@example((1.5e-12, []))
def test_every_text_is_on_the_side_of_its_value(case):
    value, gates = case
    limits = [*words.THRESHOLDS, *gates]
    agrees(words.number(value, thresholds=gates), value, limits)
    agrees(words.ratio(value, thresholds=gates), value, limits)
    agrees(words.positions(value, thresholds=gates).rsplit(" ", 1)[0], value, limits)
    share = words.percent(value, thresholds=gates)
    assert share.endswith("%")
    agrees(share[:-1], value, limits, 100.0)
    for digits in (0, 3):
        agrees(words.number(value, digits, thresholds=gates), value, limits)


@pytest.mark.slow
@given(near_thresholds())
def test_no_decimal_is_needless(case):
    value, gates = case
    limits = [*words.THRESHOLDS, *gates]
    (text,) = words.separated([value], 1, thresholds=gates)
    if text.startswith("just"):
        tried = range(1, words.MOST_DECIMALS + 1)
    else:
        tried = range(1, decimals(text))
    for fewer in tried:
        shorter = float(f"{value:.{fewer}f}")
        assert any(side(value, limit) != side(shorter, limit) for limit in limits)


@given(near_thresholds(0.0, 1.0), st.sampled_from([0.9, 0.95, 0.99]))
def test_p_values_are_on_the_side_of_the_level(case, level):
    p, gates = case
    gates = [gate for gate in gates if gate > 0]
    text = words.p_words(p, level, thresholds=gates)
    limits = [round(1 - level, 12), *gates]
    if text.startswith("p < "):
        bound = float(text[4:])
        assert p < bound <= 0.001
        assert not any(p < limit < bound or 0 < limit <= p for limit in limits)
    else:
        agrees(text.removeprefix("p ").removeprefix("= "), p, [0, 0.8, 1, *limits])
    cell = words.FORMATS["p_value"](p, level)
    if cell == "< 0.001":
        assert p < 0.0005
    else:
        agrees(cell, p, [0, 0.8, 1, round(1 - level, 12)])


@given(near_thresholds(), near_thresholds(), st.sampled_from(["positions", "%", "times"]))
def test_both_ends_of_an_interval(one, other, unit):
    (low, high), gates = sorted([one[0], other[0]]), one[1]
    text = words.confidence_interval(low, high, 0.95, unit, thresholds=gates)
    text = text.removeprefix("95% confidence interval ").removesuffix(" positions")
    ends = text.replace("%", "").split(" to ")
    scale = 100.0 if unit == "%" else 1.0
    for end, value in zip(ends, (low, high), strict=True):
        agrees(end, value, [*words.THRESHOLDS, *gates], scale)
    plain = [end for end in ends if not end.startswith("just")]
    if len({decimals(end) for end in plain}) > 1:  # only where no shared number of decimals does
        limits = [scale * limit for limit in (*words.THRESHOLDS, *gates)]
        for digits in range(2, words.MOST_DECIMALS + 1):
            shown = [(scale * end, float(f"{scale * end:.{digits}f}")) for end in (low, high)]
            assert any(side(a, limit) != side(b, limit) for a, b in shown for limit in limits)


@given(near_thresholds(0.0, 60.0))
def test_ratios_of_pages(case):
    value, gates = case
    agrees(words.FORMATS["ratio"](value, *gates), value, [*words.THRESHOLDS, *gates])


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (words.ratio(0.798), "0.798"),
        (words.ratio(0.79996), "just under 0.8"),
        (words.ratio(0.56 / 0.7), "0.80"),
        (words.ratio(0.3344, thresholds=[0.33]), "0.334"),
        (words.number(0.0412), "0.041"),
        (words.number(-1.9996, thresholds=[-2]), "-1.9996"),
        (words.number(3212.99999, thresholds=[3213]), "just under 3,213"),
        (words.percent(0.05 / 3, thresholds=[0.05 / 3]), "1.666666666667%"),
        (words.positions(0.99999), "just under 1 position"),
        (words.p_words(0.0499), "p = 0.0499"),
        (words.p_words(0.05), "p = 0.05"),
        (words.p_words(0.0099, 0.99), "p = 0.0099"),
        (words.FORMATS["ratio"](0.798), "0.798"),
        (words.FORMATS["p_value"](0.0499), "0.0499"),
        (words.FORMATS["p_value"](0.0099, 0.99), "0.0099"),
        (words.FORMATS["ratio"](math.inf), words.DASH),
        (words.number(math.nan), words.UNKNOWN),
        (words.percent(math.nan), words.UNKNOWN),
        (words.ratio(math.nan), words.UNKNOWN),
        (
            words.confidence_interval(0.44, math.inf, 0.95, "times"),
            "95% confidence interval 0.44 to infinity",
        ),
        (
            words.confidence_interval(0.00001, 5.5, 0.95),
            "95% confidence interval just over 0 to 5.5 positions",
        ),
        (
            words.confidence_interval(0.612, 0.798, 0.95, "times"),
            "95% confidence interval 0.612 to 0.798",
        ),
    ],
)
def test_by_hand(written, expected):
    assert written == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("sex", "sex"),
        ("age_group", "age group"),
        ("Höchster  Abschluss ", "Höchster Abschluss"),
        ("sex x age_group", "sex and age group together"),
        ("Sex (m/f)", '"Sex (m/f)"'),
        ("which_group_are_you_in", '"which_group_are_you_in"'),
        ("_", '"_"'),
    ],
)
def test_columns_in_sentences(name, expected):
    assert words.plain_column(name) == expected
