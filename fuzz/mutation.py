"""Mutation of bytes, and the smaller versions of bytes that failed."""

import random
from collections.abc import Iterator, Sequence

__all__ = ["halves", "mutated", "number_text"]

#: Bytes that readers treat in a special way.
TOKENS: tuple[bytes, ...] = (
    *(b"\0", b"\n", b"\r", b"\r\n", b"\t", b" ", b'"', b'""', b"'", b",", b";", b":", b"#", b"="),
    *(b"nan", b"NaN", b"inf", b"-inf", b"Infinity", b"NA", b"null", b"true", b"false", b"None"),
    *(b"0", b"-0", b"-1", b"1e308", b"1e309", b"-1e400", b"5e-324", b"1_0", b"0x1p3", b"00"),
    *(b"9223372036854775807", b"9223372036854775808", b"99999999999999999999", b"2147483648"),
    *(b"\xef\xbb\xbf", b"\xff", b"\xc3", b"\xe2\x80\xa8", b"\xc2\xa0", b"\xf0\x9f\x98\x80"),
    *(b"{", b"}", b"[", b"]", b"(", b")", b"\\u0000", b"\\ud800", b"\x1f\x8b", b"\x1a", b"\x1c"),
    *(b"qid:1", b"1:1", b"# docid = a", b"PAR1", b"../..", b"\xd9\xa1", b"+1", b".5", b"5."),
)
_NUMBERS = (
    *("0", "1", "2", "3", "-1", "0.5", "1e-3", "-0.0", "1e300", "5e-324", "1.7976931348623157e308"),
    *(
        "nan",
        "inf",
        "9007199254740993",
        "9223372036854775807",
        "1e309",
        "007",
        "+4",
        " 5 ",
        "1_000",
    ),
)


def number_text(rng: random.Random, odd: bool = True) -> str:
    """Draw a number as text, mostly a plain one."""
    if not odd or rng.random() < 0.85:
        return str(rng.choice([rng.randrange(4), round(rng.uniform(0, 9), 3)]))
    return rng.choice(_NUMBERS)


def mutated(rng: random.Random, data: bytes, tokens: Sequence[bytes] = ()) -> bytes:
    """Change bytes in one to eight ways."""
    pool = [*TOKENS, *tokens]
    result = bytearray(data)
    for _ in range(1 + min(7, int(rng.expovariate(0.8)))):
        at = rng.randrange(len(result) + 1)
        end = min(len(result), at + 1 + int(rng.expovariate(0.1)))
        way = rng.randrange(10)
        if way == 0 and at < len(result):
            result[at] ^= 1 << rng.randrange(8)
        elif way == 1 and at < len(result):
            result[at] = rng.randrange(256)
        elif way == 2:
            result[at:at] = rng.randbytes(1 + rng.randrange(4))
        elif way == 3:
            del result[at:end]
        elif way == 4:
            result[at:at] = result[at:end]
        elif way == 5:
            result[at:end] = rng.choice(pool)
        elif way == 6:
            result[at:at] = rng.choice(pool)
        elif way == 7:
            del result[at:]
        elif way == 8:
            other = rng.randrange(len(result) + 1)
            result[at:end] = result[other : other + end - at]
        elif rng.random() < 0.05:
            result[at:at] = (rng.choice(pool) or b"x") * rng.choice([50, 1000, 20000])
    return bytes(result)


def halves(data: bytes) -> Iterator[bytes]:
    """Yield the bytes without a part: half of them, a quarter, ..., one byte."""
    size = len(data) // 2
    while size >= 1:
        for at in range(0, len(data), size):
            yield data[:at] + data[at + size :]
        size //= 2
