"""Tables kept on disk: read back, never trusted, never half-written."""

import numpy as np
import pytest

from equirank.kernels import fa_star_ir_regions as fa_star_ir_groups
from equirank.rerankers import fa_star_ir_tables as table_cache
from equirank.rerankers.fa_star_ir_tables import stored_region

KEY = (8, (0.2, 0.3), 0.1, True)


@pytest.fixture
def computed(monkeypatch, tmp_path):
    """An empty cache, and a list that grows with every computation."""
    monkeypatch.setenv("EQUIRANK_CACHE", str(tmp_path))
    stored_region.cache_clear()
    runs, search = [], fa_star_ir_groups.group_search

    def counted(*args):
        runs.append(args)
        return search(*args)

    monkeypatch.setattr(fa_star_ir_groups, "group_search", counted)
    yield runs
    stored_region.cache_clear()


def only_file(folder):
    (path,) = [path for path in folder.rglob("*") if path.is_file()]
    return path


def test_it_is_computed_once_and_read_back(computed, tmp_path):
    first = stored_region(*KEY)
    assert only_file(tmp_path).suffix == ".npz"
    stored_region.cache_clear()
    second = stored_region(*KEY)
    assert len(computed) == 1
    assert np.array_equal(first.need, second.need)
    assert first[1:] == second[1:]
    assert not second.need.flags.writeable


def damage(kind, path):
    if kind == "empty":
        path.write_bytes(b"")
    elif kind == "cut":
        path.write_bytes(path.read_bytes()[:100])
    elif kind == "text":
        path.write_text("not a table")
    elif kind == "one number":
        with np.load(path) as stored:
            parts = dict(stored)
        parts["need"][3, 2] += 1
        np.savez(path, **parts)
    elif kind == "pickle":
        np.savez(path, need=np.array([{}], dtype=object), numbers=np.zeros(3), seal=np.zeros(32))
    else:
        np.savez(path, something=np.zeros(3))


@pytest.mark.parametrize("kind", ["empty", "cut", "text", "one number", "pickle", "foreign"])
def test_a_damaged_or_foreign_file_is_computed_anew_and_replaced(computed, tmp_path, kind):
    good = stored_region(*KEY)
    damage(kind, only_file(tmp_path))
    stored_region.cache_clear()
    again = stored_region(*KEY)
    assert len(computed) == 2
    assert np.array_equal(again.need, good.need)
    stored_region.cache_clear()
    assert np.array_equal(stored_region(*KEY).need, good.need)
    assert len(computed) == 2


def test_a_file_of_another_key_is_not_taken(computed, tmp_path):
    stored_region(*KEY)
    path = only_file(tmp_path)
    stored_region(8, (0.2, 0.3), 0.2, True)
    (other,) = [p for p in path.parent.iterdir() if p != path]
    path.write_bytes(other.read_bytes())
    stored_region.cache_clear()
    stored_region(*KEY)
    assert len(computed) == 3


def test_a_cache_that_cannot_be_written_costs_nothing_else(computed, tmp_path, monkeypatch):
    (tmp_path / "taken").write_text("a file")
    monkeypatch.setenv("EQUIRANK_CACHE", str(tmp_path / "taken"))
    assert stored_region(*KEY).fail <= 0.1
    assert (tmp_path / "taken").read_text() == "a file"


def test_an_interrupted_write_leaves_nothing(computed, tmp_path, monkeypatch):
    def broken(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(table_cache.os, "replace", broken)
    with pytest.raises(KeyboardInterrupt):
        stored_region(*KEY)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_many_tables_take_bounded_memory_and_disk(computed, tmp_path, monkeypatch):
    """Every list of other sizes has a table of its own."""
    monkeypatch.setattr(table_cache, "FILES", 8)
    for at in range(40):
        stored_region(3, (0.2, 0.3 + at / 1000), 0.1, True)
        assert len(list((tmp_path / "fa_star_ir").iterdir())) <= 8
    assert stored_region.cache_info().currsize <= 32
    stored_region.cache_clear()
    stored_region(3, (0.2, 0.3 + 39 / 1000), 0.1, True)  # the newest is still there
    assert len(computed) == 40
