"""Stored sums: digests, damage, older formats, and several processes that write to one folder."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from thorough import sized
from waiting import LIMIT

from equirank import DataError, FormatError, audit_sums, list_sums
from equirank.core import persistence, sums_files
from equirank.core.list_sums import ListSums
from equirank.core.sums_plan import FORMAT

STORED = Path(__file__).parent / "sums"
ODD = [None, -1, 2, True, 1.5, 10**30, float("nan"), "x", "", [], {}, [[1]]]


def made(seed=0):
    """Return sums with ids, decisions, a reference and scores, so that every file is written."""
    rng = np.random.default_rng(seed)
    log = {
        "query": np.repeat(np.arange(3), 8),
        "score": rng.normal(size=24),
        "sex": np.tile(["f", "m"], 12),
        "hired": rng.integers(0, 2, 24),
        "id": np.arange(24) % 20,
    }
    return list_sums(
        log, query="query", score="score", sensitive="sex", selected="hired", id="id",
        reference={"sex": "m"}, scored=True,
    )  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "day.sums"
    made().save(folder)
    return folder


@pytest.fixture
def folder(whole, tmp_path):
    return Path(shutil.copytree(whole, tmp_path / "day.sums"))


def refused(folder, name):
    """Check that a folder is refused, with its name and that of the file."""
    with pytest.raises(FormatError) as error:
        ListSums.load(folder)
    assert str(folder) in str(error.value)
    assert name in str(error.value)


def same(one, other):
    return all(np.array_equal(values, other.sums[name]) for name, values in one.sums.items())


FILES = sorted(["buckets", "extremes", "kept", "moved", "people", "prefixes", "rare", "views"])
FILES = [*(f"{name}.parquet" for name in FILES), "plan.json"]


def test_every_file_has_a_digest(whole):
    assert sorted(os.listdir(whole)) == sorted(FILES)
    stored = json.loads((whole / "plan.json").read_text())
    assert sorted(stored["files"]) == FILES[:-1]
    assert set(stored["digest"]) <= set("0123456789abcdef")
    assert stored["plan"]["format"] == FORMAT == 6
    assert same(ListSums.load(whole), made())


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_a_file_that_was_changed_cut_or_lost_is_named(folder, name):
    path, rng = folder / name, random.Random(name)
    good = path.read_bytes()
    places = sorted({0, 3, len(good) - 1, *rng.sample(range(len(good)), 3)})
    for at in places:
        path.write_bytes(good[:at] + bytes([good[at] ^ rng.randrange(1, 256)]) + good[at + 1 :])
        refused(folder, name)
        path.write_bytes(good[:at])
        refused(folder, name)
    path.write_bytes(good + b" ")
    refused(folder, name)
    path.unlink()
    refused(folder, name)
    path.mkdir()
    refused(folder, name)
    path.rmdir()
    path.write_bytes(good)
    assert ListSums.load(folder).n_rows == 24


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_a_file_of_other_sums_is_refused(folder, tmp_path, name):
    made(1).save(tmp_path / "other.sums")
    if (tmp_path / "other.sums" / name).read_bytes() == (folder / name).read_bytes():
        assert name in ("moved.parquet", "people.parquet")  # none moved; the ids are the same
        return
    shutil.copy(tmp_path / "other.sums" / name, folder / name)
    refused(folder, name if name != "plan.json" else "buckets.parquet")


def rewrite(path, column, cells):
    """Write a table with other cells in one column, of its own type unless they are text."""
    table = pq.read_table(path)
    at = table.column_names.index(column)
    kind = pa.string() if cells and isinstance(cells[-1], str) else table.schema[at].type
    pq.write_table(table.set_column(at, column, pa.array(cells, type=kind)), path)


def test_one_cell_is_found(folder):
    path = folder / "kept.parquet"
    cells = pq.read_table(path)["column score"].to_pylist()
    rewrite(path, "column score", [cells[0] + 1e-9, *cells[1:]])
    refused(folder, "kept.parquet")


def leaves(value, path=()):
    """Yield the path to every value in a JSON value."""
    several = enumerate(value) if isinstance(value, list) else ()
    for key, each in value.items() if isinstance(value, dict) else several:
        yield *path, key
        yield from leaves(each, (*path, key))


def changed(document, path, value):
    """Return a copy with another value at a path, or without it."""
    document = json.loads(json.dumps(document))
    *before, last = path
    place = document
    for key in before:
        place = place[key]
    if value is changed:
        del place[last]
    else:
        place[last] = value
    return document


def test_a_value_of_the_plan_that_was_edited_is_found(folder):
    path, rng = folder / "plan.json", random.Random(0)
    document = json.loads(path.read_text())
    for place in rng.sample(list(leaves(document)), sized(20, 80)):
        text = json.dumps(changed(document, place, rng.choice([changed, *ODD])), indent=1)
        path.write_text(text)
        refused(folder, "plan.json")


def test_a_plan_without_digests_is_refused(folder):
    path = folder / "plan.json"
    document = json.loads(path.read_text())
    for name in ("files", "digest"):
        rest = {key: value for key, value in document.items() if key not in ("digest", name)}
        text = json.dumps(rest, indent=1).encode()
        path.write_bytes(persistence.sealed(text) if name == "files" else text)
        with pytest.raises(FormatError, match=r"plan.json' is damaged: it has no digests"):
            ListSums.load(folder)


# older and newer formats


def test_a_newer_format_is_refused(folder):
    path = folder / "plan.json"
    document = json.loads(path.read_text()) | {"plan": {"format": 99}}
    path.write_text(json.dumps({k: v for k, v in document.items() if k != "digest"}))
    with pytest.raises(FormatError, match=r"plan.json' must be sums of format 6 or older, got 99"):
        ListSums.load(folder)
    with pytest.raises(FormatError, match=r"none' must be a folder written by ListSums.save"):
        ListSums.load(folder.parent / "none")


@pytest.mark.parametrize("version", [5, 6])
def test_sums_of_stored_formats_are_read(version):
    stored = STORED / f"v{version}"
    assert json.loads((stored / "plan.json").read_text())["plan"]["format"] == version
    sums = ListSums.load(stored)
    assert (sums.n_rows, sums.n_lists, sums.plan.ks) == (7, 2, (2,))
    assert sums.kept.columns["score"].tolist() == [4, 3, 2, 1, 3, 2, 1]
    assert sums.people == ({(0,): 3, (1,): 4} if version == 5 else {(0,): 4, (1,): 3})
    people = sums.recurrence
    assert people is None if version == 5 else (people.n_people, people.n_recurring) == (5, 2)
    assert (sums + sums).n_lists == 4
    assert audit_sums(sums, n_boot=5).verdict


def without_digests(folder):
    """Rewrite a folder as format 5, which had no digests."""
    path = folder / "plan.json"
    document = json.loads(path.read_text())
    document["plan"]["format"] = 5
    del document["digest"], document["files"]
    path.write_text(json.dumps(document))
    return document


def readable(folder):
    """Return whether sums are audited; a damaged folder may only be refused in a sentence."""
    try:
        sums = ListSums.load(folder)
        audit_sums(sums, n_boot=5)
        audit_sums(sums + sums, n_boot=0)
    except (DataError, FormatError):
        return False
    return True


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("places", [8, pytest.param(80, marks=pytest.mark.gate)])
def test_a_plan_without_digests_never_ends_in_a_traceback(folder, places):
    document, rng = without_digests(folder), random.Random(1)
    assert readable(folder)
    path = folder / "plan.json"
    for place in rng.sample(list(leaves(document)), places):
        path.write_text(json.dumps(changed(document, place, rng.choice([changed, *ODD]))))
        readable(folder)
    sure = [("plan", "groups", "sex"), ("plan", "reference", "sex"), ("n_lists",), ("people", 0)]
    for place in [*sure, ("shapes", "totals"), ("views",), ("recurrence", 0), ("lengths",)]:
        for value in (-1, "x", [[1]]):
            path.write_text(json.dumps(changed(document, place, value)))
            assert not readable(folder), (place, value)
    path.write_text(json.dumps(changed(document, ("plan", "rule", "selected"), None)))
    refused(folder, "plan.json")  # nothing decides


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("rounds", [1, pytest.param(6, marks=pytest.mark.gate)])
@pytest.mark.parametrize("name", FILES[:-1])
def test_tables_without_digests_never_end_in_a_traceback(folder, name, rounds):
    without_digests(folder)
    path, rng = folder / name, random.Random(name)
    good, table = path.read_bytes(), pq.read_table(path)
    for _ in range(rounds):
        path.write_bytes(good[: rng.randrange(len(good))])
        assert not readable(folder)
        column = rng.choice(table.column_names)
        cells = table[column].to_pylist()
        for value in (3, 10**9, None) if cells and isinstance(cells[0], int | float) else ():
            path.write_bytes(good)
            rewrite(path, column, [value, *cells[1:]])
            readable(folder)
        path.write_bytes(good)
        rewrite(path, column, list(map(str, cells)))
        readable(folder)
        pq.write_table(table.slice(1), path)
        readable(folder)


# several writers


@pytest.mark.slow
def test_of_two_writers_at_once_the_first_wins(tmp_path, monkeypatch):
    """The other saves while the tables of the one are written."""
    target, one, other = tmp_path / "day.sums", made(1), made(2)
    write = sums_files._write

    def interleaved(sums, folder):
        write(sums, folder)
        if sums is one:
            other.save(target)

    monkeypatch.setattr(sums_files, "_write", interleaved)
    for existing in (False, True):
        if existing:
            target.mkdir()
        with pytest.raises(DataError, match=r"day\.sums must be a new or empty folder"):
            one.save(target)
        assert same(ListSums.load(target), other)
        assert os.listdir(tmp_path) == ["day.sums"]
        shutil.rmtree(target)


@pytest.mark.slow
def test_two_writers_in_lockstep_do_not_mix_their_files(tmp_path, monkeypatch):
    target, several, won = tmp_path / "day.sums", [made(1), made(2)], []
    write, together = sums_files._write_table, threading.Barrier(2)

    def in_lockstep(path, columns):
        together.wait(timeout=LIMIT)
        write(path, columns)

    def save(sums):
        with suppress(DataError):
            sums.save(target)
            won.append(sums)

    monkeypatch.setattr(sums_files, "_write_table", in_lockstep)
    writers = [threading.Thread(target=save, args=[sums]) for sums in several]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    (winner,) = won
    assert same(ListSums.load(target), winner)
    assert os.listdir(tmp_path) == ["day.sums"]


def test_a_failure_leaves_nothing(tmp_path, monkeypatch):
    def full(path, columns):
        raise OSError("No space left on device")

    monkeypatch.setattr(sums_files, "_write_table", full)
    with pytest.raises(OSError, match="No space"):
        made().save(tmp_path / "day.sums")
    assert os.listdir(tmp_path) == []


RACE = """
import multiprocessing, os, sys
from pathlib import Path
import numpy as np
sys.path[:0] = os.environ["TESTS"].split(os.pathsep)
from test_sums_files import made, same
from equirank import DataError
from equirank.core.list_sums import ListSums

context = multiprocessing.get_context("fork")
several, trials = [made(1), made(2)], int(sys.argv[2])
barrier, ends = context.Barrier(2), context.SimpleQueue()

def write(at):
    for trial in range(trials):
        barrier.wait()
        try:
            several[at].save(os.path.join(sys.argv[1], f"{trial}.sums"))
            ends.put((trial, at, True))
        except DataError as error:
            ends.put((trial, at, "must be a new or empty folder" not in str(error) and str(error)))
        except Exception as error:
            ends.put((trial, at, repr(error)))

writers = [context.Process(target=write, args=[at]) for at in range(2)]
for writer in writers:
    writer.start()
found = [ends.get() for _ in range(2 * trials)]
assert {end for *_, end in found} == {True, False}, found
for writer in writers:
    writer.join()
for trial in range(trials):
    (winner,) = [at for each, at, won in found if each == trial and won]
    assert same(ListSums.load(os.path.join(sys.argv[1], f"{trial}.sums")), several[winner])
assert len(os.listdir(sys.argv[1])) == trials, os.listdir(sys.argv[1])
"""


def run_python(program, *words):
    folders = os.pathsep.join(map(str, Path(__file__).parents[:2]))
    env = os.environ | {"TESTS": folders, "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, words)], capture_output=True, text=True, env=env
    )


@pytest.mark.gate
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_two_processes_that_save_to_one_folder(tmp_path):
    done = run_python(RACE, tmp_path, 24)
    assert done.returncode == 0, done.stderr


KILLED = """
import os, signal, sys
sys.path[:0] = os.environ["TESTS"].split(os.pathsep)
from test_sums_files import made
from equirank.core import sums_files

write = sums_files._write_sample
def killed(path, sample):
    write(path, sample)
    os.kill(os.getpid(), signal.SIGKILL)
sums_files._write_sample = killed
made().save(sys.argv[1])
"""


@pytest.mark.gate
@pytest.mark.skipif(os.name != "posix", reason="signal 9")
def test_what_a_killed_writer_left_is_not_in_the_way(tmp_path):
    done = run_python(KILLED, tmp_path / "day.sums")
    assert done.returncode == -signal.SIGKILL, done.stderr
    (left,) = os.listdir(tmp_path)
    assert left.startswith(".day.sums.")
    made().save(tmp_path / "day.sums")
    assert os.listdir(tmp_path) == ["day.sums"]


def test_a_link_to_an_empty_folder_stays_a_link(tmp_path, monkeypatch):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    made().save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert ListSums.load(tmp_path / "real").n_rows == 24
    monkeypatch.chdir(tmp_path)
    made().save("bare")
    assert ListSums.load("bare").n_rows == 24
