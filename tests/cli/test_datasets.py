"""``equirank datasets``."""

import json

import pytest
from typer.testing import CliRunner

from equirank.cli.app import app
from equirank.datasets.catalogue import catalogue

KEYS = {
    *("name", "loader", "ranked", "relevance", "protected", "rows", "queries", "bytes", "licence"),
    *("source", "how", "faults", "downloads", "present", "files"),
}


@pytest.fixture(autouse=True)
def folders(monkeypatch, tmp_path):
    monkeypatch.delenv("EQUIRANK_DATA", raising=False)
    monkeypatch.setenv("EQUIRANK_CACHE", str(tmp_path / "cache"))
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, ["datasets", *words])


def row(name):
    return next(row for row in json.loads(run("--json").stdout) if row["name"] == name)


def write(folder, name):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x")
    return path


def test_table(folders):
    done = run()
    assert (done.exit_code, done.stderr) == (0, "")
    head, *lines = done.stdout.splitlines()
    assert head.split() == ["name", "rows", "lists", "size", "present", "licence", "source"]
    shown = {line.split()[0]: line for line in lines[: lines.index("")]}
    assert list(shown) == list(catalogue())
    for name, entry in catalogue().items():
        assert entry.licence in shown[name]
        assert entry.source in shown[name]
        assert str(entry.rows) in shown[name]
    assert "no, downloads" in shown["german"]
    assert "2.5 MB" in shown["compas"]
    assert " no " in shown["law"]
    assert "downloads" not in shown["law"]
    assert " always " in shown["hiring"]
    assert lines[-2:] == ["data folder (EQUIRANK_DATA): not set", f"cache: {folders / 'cache'}"]


def test_json():
    rows = json.loads(run("--json").stdout)
    assert [each["name"] for each in rows] == list(catalogue())
    for each in rows:
        entry = catalogue()[each["name"]]
        assert set(each) == KEYS
        assert each["bytes"] == sum(file["bytes"] for file in each["files"])
        assert each["downloads"] == entry.downloads
        assert each["present"] is (not each["files"])
        for file in each["files"]:
            assert set(file) == {"name", "bytes", "sha256", "url", "found"}
            assert file["found"] is None


def test_present_in_the_data_folder(folders, monkeypatch):
    monkeypatch.setenv("EQUIRANK_DATA", str(folders))
    path = write(folders, "german/german.data")
    write(folders, "adult/adult.data")
    german, adult = row("german"), row("adult")
    assert (german["present"], german["files"][0]["found"]) == (True, str(path))
    assert adult["present"] is None
    shown = {line.split()[0]: line for line in run().stdout.splitlines() if line}
    assert " yes " in shown["german"]
    assert " partly " in shown["adult"]
    assert run().stdout.splitlines()[-2] == f"data folder (EQUIRANK_DATA): {folders}"


def test_a_damaged_download_is_not_present(folders):
    write(folders / "cache", "german/german.data")
    assert row("german")["present"] is False
    assert row("law")["present"] is False
    write(folders / "cache", "libras/movement_libras.data")  # put there by hand: not checked
    assert row("libras")["present"] is True


def test_another_layout_counts(folders, monkeypatch):
    monkeypatch.setenv("EQUIRANK_DATA", str(folders))
    write(folders, "ltr/MQ2008/Fold1/train.txt")
    assert row("mq2008")["present"] is True
    assert row("mslr")["present"] is False
    write(folders, "ltr/MSLR-WEB30K/Fold1/train.txt")
    assert row("mslr")["present"] is True


def test_json_to_a_file_leaves_the_table(tmp_path):
    target = tmp_path / "sets.json"
    done = run("--json", str(target))
    assert json.loads(target.read_text()) == json.loads(run("--json").stdout)
    assert done.stdout == run().stdout


def test_listed_in_the_help():
    assert "datasets" in CliRunner().invoke(app, ["--help"]).stdout
    assert "EQUIRANK_DATA" in run("--help").stdout
