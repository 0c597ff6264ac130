"""The compiled parser and formatter against Python's float and format."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import sized

from equirank.kernels import svmlight_text as kernel
from equirank.kernels.svmlight_text import decimals, format_rows


def parse(text, *, base=1, last_id=2**31 - 1, with_qid=-1, comments=False):
    raw = text.encode() if isinstance(text, str) else text
    room = len(raw) + 2
    labels, qids, ends = np.zeros(room), np.zeros(room, np.int64), np.zeros(room, np.int64)
    columns, values = np.zeros(room, np.int32), np.zeros(room)
    slow, notes = np.zeros((room, 3), np.int64), np.zeros((room * comments, 2), np.int64)
    buffer = np.frombuffer(bytearray(raw + bytes(8)), np.uint8)
    rows, entries, n_slow, with_qid, ordered, code, where = kernel.parse_block(
        buffer, len(raw), base, last_id, with_qid, labels, qids, ends, columns, values, slow, notes
    )
    for target, begin, end in slow[:n_slow].tolist():
        try:
            number = float(raw[begin:end])
        except ValueError:
            number = np.nan
        if target >= 0:
            values[target] = number
        else:
            labels[-1 - target] = number
    return {
        "labels": labels[:rows].tolist(),
        "qids": qids[:rows].tolist(),
        "ends": ends[:rows].tolist(),
        "columns": columns[:entries].tolist(),
        "values": values[:entries],
        "slow": n_slow,
        "with_qid": with_qid,
        "ordered": ordered,
        "code": code,
        "where": where,
        "comments": [raw[a:b] for a, b in notes[:rows].tolist()],
    }


def bits(numbers):
    return np.asarray(numbers, dtype=np.float64).view(np.int64).tolist()


def check_numbers(words, most_slow=1.0):
    result = parse("".join(f"0 1:{word}\n" for word in words))
    assert result["code"] == kernel.OK
    wrong = [w for w, v in zip(words, result["values"], strict=True) if bits([v]) != bits([w])]
    assert wrong == []
    assert result["slow"] <= most_slow * len(words)


def test_a_line():
    result = parse("2 qid:7 1:0.5 3:-2e1 # note\n")
    assert result["labels"] == [2.0]
    assert result["qids"] == [7]
    assert result["columns"] == [0, 2]
    assert result["values"].tolist() == [0.5, -20.0]
    assert result["ends"] == [2]
    assert (result["code"], result["with_qid"], result["ordered"]) == (kernel.OK, 1, True)


def test_blank_lines_comments_tabs_and_returns():
    result = parse("\n# all\n \t\r\n1\tqid:3  1:1\t2:2#c\r\n\n0 qid:4\r\n", comments=True)
    assert result["labels"] == [1.0, 0.0]
    assert result["qids"] == [3, 4]
    assert result["ends"] == [2, 2]
    assert result["comments"] == [b"c\r", b""]


@pytest.mark.slow
def test_doubles_at_random_from_all_bit_patterns():
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, 2**64, 20_000, dtype=np.uint64).view(np.float64)
    check_numbers([repr(x) for x in numbers[np.isfinite(numbers)].tolist()], most_slow=0.02)


@pytest.mark.parametrize("form", ["{!r}", "{:.6f}", "{:.16g}", "{:.17g}", "{:.18e}"])
def test_usual_doubles_stay_off_the_slow_path(form):
    numbers = np.random.default_rng(1).standard_normal(5_000) * 30
    most = 1.0 if "e" in form else 0.01
    check_numbers([form.format(x) for x in numbers.tolist()], most_slow=most)


@pytest.mark.slow
def test_digits_and_exponents_at_random():
    rng = np.random.default_rng(2)
    digits = rng.integers(1, 10**18, 20_000) // 10 ** rng.integers(0, 18, 20_000)
    powers = rng.integers(-345, 310, 20_000)
    check_numbers([f"{d}e{p}" for d, p in zip(digits.tolist(), powers.tolist(), strict=True)])


def test_numbers_half_way_between_two_doubles():
    whole = [str(2**53 + 2 * k + 1) for k in range(200)]
    halves = [f"{2**52 + k}.5" for k in range(200)]
    near = [f"{2**52 + k}.50000000000000000001" for k in range(200)]
    fives = [f"{(2 * k + 1) * 5**10}e-10" for k in range(200)]
    check_numbers([*whole, *halves, *near, *fives])


@pytest.mark.parametrize(
    "word",
    ["0", "-0", "+1", "1.", ".5", "-.5e-3", "00012", "0.0001", "1e22", "1e23", "1E+5", "4.9e-324",
     "2.2250738585072014e-308", "2.225073858507201e-308", "1.7976931348623157e308", "1e400",
     "1e-400", "1e99999999999999999999", "0e5", "123456789012345678901234567890",
     "9007199254740993",
     "0.00000000000000000000000000012345678901234567", "1" + "0" * 400, "0." + "0" * 400 + "1"],
)  # fmt: skip
def test_numbers_of_every_shape(word):
    check_numbers([word])


@pytest.mark.parametrize("word", ["nan", "NaN", "inf", "-inf", "abc", "+", "-", ".", "é"])
def test_words_are_left_to_the_caller(word):
    text = f"0 1:{word}\n".encode()
    labels, ends, values = np.zeros(9), np.zeros(9, np.int64), np.zeros(9)
    slow = np.zeros((9, 3), np.int64)
    buffer = np.frombuffer(bytearray(text + bytes(8)), np.uint8)
    result = kernel.parse_block(
        buffer, len(text), 1, 9, -1, labels, ends.copy(), ends, np.zeros(9, np.int32), values,
        slow, np.zeros((0, 2), np.int64),
    )  # fmt: skip
    assert result[2] == 1
    assert text[slow[0, 1] : slow[0, 2]].decode() == word


MALFORMED = [
    ("1 qid:1 1:2 3:1x\n", "BAD_VALUE", 12),
    ("1 qid:1 1:\n", "BAD_VALUE", 8),
    ("1 qid:1 1:1e\n", "BAD_VALUE", 8),
    ("1 qid:1 1:1e+ 2:1\n", "BAD_VALUE", 8),
    ("1 qid:1 1:1:1\n", "BAD_VALUE", 8),
    ("1 qid:1 1:1.5.5\n", "BAD_VALUE", 8),
    ("1 qid:1 a:2\n", "BAD_FEATURE", 8),
    ("1 qid:1 -1:2\n", "BAD_FEATURE", 8),
    ("1 qid:1 1.5:2\n", "BAD_FEATURE", 8),
    ("1 qid:1 7\n", "BAD_FEATURE", 8),
    ("1 qid:1 0:2\n", "FEATURE_RANGE", 8),
    ("1 qid:1 2147483648:2\n", "FEATURE_RANGE", 8),
    ("1 qid:1 99999999999999999999999:2\n", "FEATURE_RANGE", 8),
    ("1 qid:x 1:2\n", "BAD_QID", 2),
    ("1 qid: 1:2\n", "BAD_QID", 2),
    ("1 qid:1.5 1:2\n", "BAD_QID", 2),
    ("1 quid:1 1:2\n", "BAD_QID", 2),
    ("1 q\n", "BAD_QID", 2),
    ("1 qid:9223372036854775808 1:2\n", "BAD_QID", 2),
    ("1 qid:92233720368547758070 1:2\n", "BAD_QID", 2),
    ("1 1:2 qid:1\n", "QID_LATE", 6),
    ("1 qid:1 1:2\n1 1:2\n", "QID_ABSENT", 12),
    ("1 1:2\n1 qid:1 1:2\n", "QID_UNEXPECTED", 6),
    ("-1 qid:1 1:2\n", "BAD_LABEL", 0),
    ("1x qid:1 1:2\n", "BAD_LABEL", 0),
    ("1:2 qid:1\n", "BAD_LABEL", 0),
    ("1 qid:1 1:2 # a\0b\n", "BAD_NUL", 15),
    ("# a\0b\n", "BAD_NUL", 3),
]


@pytest.mark.parametrize(("text", "code", "where"), MALFORMED)
def test_malformed(text, code, where):
    result = parse(text)
    assert (result["code"], result["where"]) == (getattr(kernel, code), where)


def test_rows_before_a_malformed_one_are_there():
    result = parse("1 qid:1 1:2\n2 qid:1 1:3\n3 qid:1 1:2x\n")
    assert result["labels"] == [1.0, 2.0]
    assert result["ends"] == [1, 2]


def test_largest_numbers_of_64_and_31_bits():
    result = parse("1 qid:9223372036854775807 2147483647:1\n0 qid:-9223372036854775807\n")
    assert result["qids"] == [2**63 - 1, -(2**63 - 1)]
    assert result["columns"] == [2**31 - 2]


def test_ids_out_of_order_are_said_to_be():
    assert not parse("0 3:1 2:1\n")["ordered"]
    assert not parse("0 2:1 2:1\n")["ordered"]
    assert parse("0 2:1\n0 1:1\n")["ordered"]


def test_zero_based_ids():
    assert parse("0 0:1 5:1\n", base=0)["columns"] == [0, 5]


@pytest.mark.slow
@settings(max_examples=sized(50, 200))
@given(st.text(alphabet="0123456789.eE+-:# \t\nqidnaf_", max_size=60))
def test_any_text_is_parsed_or_refused_within_bounds(text):
    result = parse(text + "\n")
    if result["code"] == kernel.OK:
        lines = [line.split("#")[0].split() for line in text.split("\n")]
        assert len(result["labels"]) == sum(map(bool, lines))
    else:
        assert 0 <= result["where"] <= len(text)


def test_scatter():
    out = np.zeros((3, 4), np.float32)
    ends, columns = np.array([2, 2, 3]), np.array([3, 0, 1], np.int32)
    kernel.scatter(ends, columns, np.array([1.0, 2.0, 3.0]), out)
    assert out.tolist() == [[2, 0, 0, 1], [0, 0, 0, 0], [0, 3, 0, 0]]


@pytest.mark.parametrize(("old", "new"), [(2, 5), (5, 2), (3, 3), (0, 2), (1, 4)])
def test_restride(old, new):
    rng = np.random.default_rng(3)
    matrix = rng.random((6, old))
    flat = np.concatenate([matrix.ravel(), rng.random(6 * max(0, new - old))])
    kernel.restride(flat, 6, old, new)
    expected = np.zeros((6, new))
    expected[:, : min(old, new)] = matrix[:, :new]
    assert np.array_equal(flat[: 6 * new].reshape(6, new), expected)


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
