"""Counter-based random numbers: integers below a number, and keys of texts."""

import numpy as np

from equirank.kernels.counted_random import below, key_of, random_bits, text_keys


def drawn(key, n, count=20_000):
    bits = [random_bits(np.uint64(key), np.uint64(i)) for i in range(count)]
    return np.array([below(np.uint64(each), n) for each in bits])


def test_integers_are_uniform_and_keyed():
    found = drawn(key_of(np.uint64(3), np.uint64(4)), 7)
    counts = np.bincount(found, minlength=7)
    assert len(counts) == 7
    assert (np.abs(counts - 20_000 / 7) < 5 * np.sqrt(20_000 / 7)).all()
    other = drawn(key_of(np.uint64(3), np.uint64(5)), 7)
    assert abs((found == other).mean() - 1 / 7) < 0.02


def mixed(value):
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB % 2**64
    return value ^ (value >> 31)


def key_of_text(text):
    """The key, by Python's numbers."""
    key, step = len(text), 0x9E3779B97F4A7C15
    for at in range(0, len(text), 8):
        word = int.from_bytes(text[at : at + 8], "little")
        key = mixed(mixed((key + step) % 2**64) ^ (word * step % 2**64))
    return key


def test_keys_of_texts_equal_those_in_python():
    rng = np.random.default_rng(0)
    texts = [rng.bytes(size) for size in (*range(20), 63, 64, 65)]
    offsets = np.concatenate([[0], np.cumsum([len(text) for text in texts])]).astype(np.int64)
    found = text_keys(offsets, np.frombuffer(b"".join(texts), np.uint8))
    assert found.tolist() == [key_of_text(text) for text in texts]
    assert text_keys(offsets[:1], np.zeros(0, np.uint8)).tolist() == []


def test_keys_of_texts_spread_evenly():
    texts = [f"{n:036d}".encode() for n in range(20_000)]
    offsets = np.arange(20_001, dtype=np.int64) * 36
    found = text_keys(offsets, np.frombuffer(b"".join(texts), np.uint8))
    for bits in (0, 10, 37, 54):
        counts = np.bincount((found >> np.uint64(bits)).astype(np.int64) % 16, minlength=16)
        assert (np.abs(counts - 1250) < 5 * np.sqrt(1250)).all()
