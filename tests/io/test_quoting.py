"""Bytes are stopped where two readers of CSV could differ, wherever blocks are cut."""

import io

import pytest

from equirank.io.delimited import PlainBytes

PLAIN = ["a,b\n1,2\n", '"a","b ""c"" d"\r\n"","x\ny"\n', '"""a"""', '"a"', "", "a\n"]
ODD = ['a"b,c\n', '"a"b,c\n', 'a,"b\n', 'a,b"\n', '"a" ,b\n', ' "a",b\n', "a\0b", '"a""']


def read(text, step):
    stream = PlainBytes(io.BytesIO(text.encode()), ",")
    parts = []
    while part := stream.read(step):
        parts.append(part)
    return b"".join(parts).decode()


@pytest.mark.parametrize("step", [1, 2, 3, 5, 100])
@pytest.mark.parametrize("text", PLAIN)
def test_plain_text_goes_through(text, step):
    assert read(text, step) == text


@pytest.mark.parametrize("step", [1, 2, 3, 5, 100])
@pytest.mark.parametrize("text", ODD)
def test_odd_text_is_stopped(text, step):
    with pytest.raises(ValueError, match=r"quote|NUL"):
        read(text, step)


def test_the_delimiter_counts():
    stream = PlainBytes(io.BytesIO(b'"a";"b"\n'), ";")
    assert stream.read() == b'"a";"b"\n'
    with pytest.raises(ValueError, match="quote"):
        PlainBytes(io.BytesIO(b'"a";"b"\n'), ",").read()
