"""The compiled formatter against Python's float and format."""

import numpy as np
import pytest

from equirank.kernels.svmlight_text import decimals, format_rows


def write(labels, qids, rows, comments=None):
    columns = np.array([c for row in rows for c in row], np.int64)
    values = np.array([v for row in rows for v in row.values()] + list(labels))
    digits, places = np.zeros(len(values), np.int64), np.zeros(len(values), np.int64)
    decimals(values, False, digits, places)
    pairs = zip(values.tolist(), places.tolist(), strict=True)
    texts = [repr(value).encode() if place < 0 else b"" for value, place in pairs]
    notes = [note.encode() for note in comments or [""] * len(labels)]
    out = np.zeros(1000, np.uint8)
    size = format_rows(
        np.array(qids), np.cumsum([len(row) for row in rows]), columns, digits, places,
        np.frombuffer(bytearray(b"".join(texts)), np.uint8), np.cumsum([len(t) for t in texts]),
        np.frombuffer(bytearray(b"".join(notes)), np.uint8), np.cumsum([len(n) for n in notes]),
        out,
    )  # fmt: skip
    return out[:size].tobytes().decode()


def test_rows():
    rows = [{1: 0.5, 12: -3.0}, {}, {7: 1e-300, 8: np.nan, 9: -0.0, 10: 0.001}]
    text = write([2.0, 0.25, 0.1 + 0.2], [7, -12, 0], rows, ["", "doc é", "x"])
    assert text == (
        "2 qid:7 1:0.5 12:-3\n"
        "0.25 qid:-12 # doc é\n"
        "0.30000000000000004 qid:0 7:1e-300 8:nan 9:-0.0 10:0.001 # x\n"
    )


@pytest.mark.parametrize("places", [0, 1, 2, 6, 12])
def test_short_decimals_are_found_with_the_fewest_places(places):
    whole = np.random.default_rng(0).integers(-(10**9), 10**9, 2000)
    numbers = np.array([float(f"{w}e-{places}") for w in whole.tolist()])
    digits, found = np.zeros(2000, np.int64), np.zeros(2000, np.int64)
    decimals(numbers, False, digits, found)
    for number, digit, place in zip(numbers.tolist(), digits.tolist(), found.tolist(), strict=True):
        assert 0 <= place <= places
        assert float(f"{digit}e-{place}") == number
        assert place == 0 or digit % 10 != 0


def test_float32_gets_the_digits_of_float32():
    numbers = np.array([0.1, 7.1, 1 / 3], np.float32)
    digits, places = np.zeros(3, np.int64), np.zeros(3, np.int64)
    decimals(numbers.astype(np.float64), True, digits, places)
    assert [(d, p) for d, p in zip(digits.tolist(), places.tolist(), strict=True)][:2] == [
        (1, 1),
        (71, 1),
    ]
    assert np.float32(digits[2] / 10 ** places[2]) == numbers[2]
    decimals(numbers.astype(np.float64), False, digits, places)
    assert places[0] != 1


@pytest.mark.parametrize(
    "number", [np.nan, np.inf, -np.inf, -0.0, 2.0**53, 1e300, 0.1 + 0.2, 5e-324]
)
def test_what_has_no_short_decimals_is_left_to_the_caller(number):
    digits, places = np.zeros(1, np.int64), np.zeros(1, np.int64)
    decimals(np.array([number]), False, digits, places)
    assert places[0] == -1
