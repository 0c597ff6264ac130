"""The record of a search: it only grows, and changes are found."""

import json

import pytest

from equirank import DataError
from equirank.search.alternative_record import NAME, Record


def made(folder):
    record = Record(folder, {"seed": 0})
    for number in range(3):
        record.append("candidate", name=f"a\u2028{number}", value=0.1 * number)
    return record


def test_a_record_is_read_as_it_was_written(tmp_path):
    lines = made(tmp_path).lines
    again = Record(tmp_path, {"seed": 0})
    assert again.lines == lines
    assert again.n_cut == 0
    assert [line["value"] for line in again.of("candidate")] == [0.0, 0.1, 0.2]


def test_a_line_cut_off_is_skipped_and_the_file_only_grows(tmp_path):
    made(tmp_path)
    whole = (tmp_path / NAME).read_bytes()
    for size in range(len(whole) - 60, len(whole)):
        (tmp_path / NAME).write_bytes(whole[:size])
        record = Record(tmp_path, {"seed": 0})
        assert record.n_cut == (size < len(whole) - 1)
        record.append("candidate", name="next")
        assert (tmp_path / NAME).read_bytes().startswith(whole[:size])
        again = Record(tmp_path, {"seed": 0})
        assert again.lines == record.lines
        assert again.lines[-1]["name"] == "next"


@pytest.mark.parametrize("line", [1, 2, 3])
def test_a_line_that_was_changed_or_removed_is_found(tmp_path, line):
    made(tmp_path)
    path = tmp_path / NAME
    lines = path.read_text().split("\n")
    path.write_text("\n".join([*lines[:line], lines[line].replace("0.", "7."), *lines[line + 1 :]]))
    if lines[line].replace("0.", "7.") != lines[line]:
        with pytest.raises(DataError, match=f"line {line + 1} was changed"):
            Record(tmp_path, {"seed": 0})
    if line < 3:
        path.write_text("\n".join([*lines[:line], *lines[line + 1 :]]))
        with pytest.raises(DataError, match=f"line {line + 1} was changed, or a line before it"):
            Record(tmp_path, {"seed": 0})


def test_another_search_and_another_process_are_refused(tmp_path):
    record = made(tmp_path)
    with pytest.raises(DataError, match="differs in more, seed"):
        Record(tmp_path, {"seed": 1, "more": 2})
    other = Record(tmp_path, {"seed": 0})
    other.append("candidate", name="x")
    with pytest.raises(DataError, match="another process writes"):
        record.append("candidate", name="y")
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="store must be a folder"):
        Record(tmp_path / "file", {})


def test_a_record_can_stay_in_memory():
    record = Record(None, {"seed": 0})
    record.append("candidate", value=json.loads("1.5"))
    assert record.path is None
    assert len(record.lines) == 2
