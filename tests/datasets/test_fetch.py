"""Where files are looked for, and what a download leaves behind."""

import hashlib
import io
import sys
import threading
from contextlib import suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from equirank import DataError, MissingExtraError
from equirank.core.environment import cache_folder
from equirank.datasets import fetch as _fetch
from equirank.datasets.catalogue import DataFile, DataSet
from equirank.datasets.fetch import find, look

BODY = b"a,b\n1,2\n" * 5000
DOWNLOAD = _fetch._download  # the fixture of this folder replaces it


def entry(url=None, body=BODY, name="toy/part.csv", **given):
    file = DataFile(name, len(body), hashlib.sha256(body).hexdigest(), url)
    words = ["toy", "load_toy", "", "", "", 1, 1, "", "", "the toy page of the toy project"]
    return DataSet(*words, files=(file,), **given)


def everything(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


# where it looks


def test_path_may_be_the_file_its_folder_or_the_data_folder(tmp_path):
    file = tmp_path / "toy" / "part.csv"
    file.parent.mkdir()
    file.write_bytes(BODY)
    for path in (file, file.parent, tmp_path, str(file)):
        assert find(entry(), "toy/part.csv", path=path) == file
    other = tmp_path / "renamed.csv"
    other.write_bytes(b"x")
    assert find(entry(), "toy/part.csv", path=other) == other


@pytest.mark.parametrize(
    ("asked", "there"), [("part.csv", "part.csv.gz"), ("part.csv.gz", "part.csv")]
)
def test_packed_or_not(tmp_path, monkeypatch, asked, there):
    monkeypatch.setenv("EQUIRANK_DATA", str(tmp_path))
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / there).write_bytes(b"x")
    assert find(entry(), f"toy/{asked}") == tmp_path / "toy" / there
    assert find(entry(), f"toy/{asked}", path=tmp_path) == tmp_path / "toy" / there


def test_order_path_then_data_folder_then_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("EQUIRANK_DATA", str(tmp_path / "data"))
    places = [tmp_path / "given", tmp_path / "data" / "toy", cache_folder() / "toy"]
    for place in places:
        place.mkdir(parents=True)
        (place / "part.csv").write_bytes(BODY)
    toy = entry()
    assert find(toy, "toy/part.csv", path=places[0]) == places[0] / "part.csv"
    assert find(toy, "toy/part.csv") == look(toy, "toy/part.csv") == places[1] / "part.csv"
    (places[1] / "part.csv").unlink()
    assert find(toy, "toy/part.csv") == look(toy, "toy/part.csv") == places[2] / "part.csv"
    (places[2] / "part.csv").unlink()
    assert look(toy, "toy/part.csv") is None


def test_the_data_folder_is_the_users_own_and_not_checked(tmp_path, monkeypatch):
    monkeypatch.setenv("EQUIRANK_DATA", str(tmp_path))
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "part.csv").write_bytes(b"a later release")
    assert find(entry("http://nowhere.invalid/part.csv"), "toy/part.csv").read_bytes()[:1] == b"a"


def test_one_of_several_names(tmp_path, monkeypatch):
    monkeypatch.setenv("EQUIRANK_DATA", str(tmp_path))
    (tmp_path / "Fold1").mkdir()
    (tmp_path / "Fold1" / "train.txt").write_bytes(b"x")
    found = find(entry(), "S1.txt.gz", "Fold1/train.txt")
    assert found == tmp_path / "Fold1" / "train.txt"


@pytest.mark.parametrize("folder", [None, "data"])
def test_error_says_where_it_looked_and_how_to_get_it(tmp_path, monkeypatch, folder):
    if folder:
        monkeypatch.setenv("EQUIRANK_DATA", str(tmp_path / folder))
    with pytest.raises(DataError) as caught:
        find(entry(), "toy/part.csv")
    said = str(caught.value)
    expected = str(tmp_path / "data" / "toy" / "part.csv") if folder else "EQUIRANK_DATA (not set)"
    assert expected in said
    assert str(tmp_path / "cache" / "toy" / "part.csv") in said
    assert "the toy page of the toy project" in said
    assert "path= to load_toy" in said


@pytest.mark.parametrize(("make", "said"), [(True, "without it"), (False, "does not exist")])
def test_error_of_a_path(tmp_path, make, said):
    folder = tmp_path / "folder"
    if make:
        folder.mkdir()
    with pytest.raises(DataError, match=f"part.csv of toy.*{said}.*toy page"):
        find(entry(), "toy/part.csv", path=folder)


# downloads


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        if self.path == "/missing.csv":
            self.send_error(404)
            return
        if self.path == "/endless.csv":
            self.send_response(200)
            self.end_headers()
            with suppress(ConnectionError):
                for _ in range(10_000):
                    self.wfile.write(BODY)
                raise AssertionError("nobody stopped the download")
            return
        cut = len(BODY) // 2 if self.path == "/broken.csv" else len(BODY)
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY[:cut])

    def log_message(self, *words):
        pass


@pytest.fixture
def server(monkeypatch):
    pytest.importorskip("pooch", reason="pooch is not installed (extra: data)")
    monkeypatch.setattr(_fetch, "_download", DOWNLOAD)
    monkeypatch.setenv("NO_PROXY", "*")
    server = HTTPServer(("127.0.0.1", 0), Handler)
    server.asked = []
    server.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.slow
def test_download_goes_to_the_cache_once(server, tmp_path):
    toy = entry(f"{server.address}/part.csv")
    found = find(toy, "toy/part.csv")
    assert found == tmp_path / "cache" / "toy" / "part.csv"
    assert found.read_bytes() == BODY
    assert find(toy, "toy/part.csv") == found
    assert server.asked == ["/part.csv"]
    assert everything(tmp_path) == ["cache", "cache/toy", "cache/toy/part.csv"]


@pytest.mark.slow
def test_of_several_files_the_one_asked_for_is_downloaded(server):
    one, two = (
        entry(f"{server.address}/{name}", name=f"toy/{name}") for name in ("a.csv", "b.csv")
    )
    both = replace(one, files=one.files + two.files)
    assert find(both, "toy/b.csv").name == "b.csv"
    assert server.asked == ["/b.csv"]


def test_wrong_checksum_is_an_error_and_keeps_nothing(server, tmp_path):
    toy = entry(f"{server.address}/part.csv", body=b"something else")
    with pytest.raises(DataError) as caught:
        find(toy, "toy/part.csv")
    said = str(caught.value)
    assert said.startswith("toy/part.csv: ")
    assert hashlib.sha256(b"something else").hexdigest() in said
    assert hashlib.sha256(BODY).hexdigest() in said
    assert server.address in said
    assert everything(tmp_path) == []


@pytest.mark.parametrize("page", ["broken", "missing"])
def test_broken_download_leaves_nothing_behind(server, tmp_path, page):
    with pytest.raises(DataError, match=r"could not be downloaded from.*by hand: the toy page"):
        find(entry(f"{server.address}/{page}.csv"), "toy/part.csv")
    assert server.asked == [f"/{page}.csv"]
    assert everything(tmp_path) == []


def test_a_download_that_does_not_end_is_stopped(server, tmp_path):
    toy = entry(f"{server.address}/endless.csv")
    with pytest.raises(DataError, match=f"it must have {len(BODY)} bytes, got more than twice"):
        find(toy, "toy/part.csv")
    assert everything(tmp_path) == []


def test_broken_download_leaves_other_files_alone(server, tmp_path):
    other = cache_folder() / "toy" / "other.csv"
    other.parent.mkdir(parents=True)
    other.write_bytes(b"x")
    with pytest.raises(DataError):
        find(entry(f"{server.address}/broken.csv"), "toy/part.csv")
    assert everything(tmp_path) == ["cache", "cache/toy", "cache/toy/other.csv"]


def test_interrupt_leaves_nothing_behind(server, tmp_path, monkeypatch):
    import pooch

    def interrupted(self, url, output_file, pooch):
        Path(output_file).write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(pooch.HTTPDownloader, "__call__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        find(entry(f"{server.address}/part.csv"), "toy/part.csv")
    assert everything(tmp_path) == []


def test_no_server(server, tmp_path):
    toy = entry("http://127.0.0.1:9/part.csv")
    with pytest.raises(DataError, match="could not be downloaded"):
        find(toy, "toy/part.csv")
    assert everything(tmp_path) == []


def test_cache_that_cannot_be_written(server, tmp_path):
    (tmp_path / "cache").write_bytes(b"a file where the folder should be")
    with pytest.raises(DataError, match=r"could not be downloaded from.*into"):
        find(entry(f"{server.address}/part.csv"), "toy/part.csv")


def test_damaged_cache_is_an_error(server, tmp_path):
    toy = entry(f"{server.address}/part.csv")
    find(toy, "toy/part.csv").write_bytes(b"damaged")
    with pytest.raises(DataError, match=r"sha256.*delete the file to download it again"):
        find(toy, "toy/part.csv")


def test_what_a_user_put_into_the_cache_is_not_checked(tmp_path):
    file = cache_folder() / "toy" / "part.csv"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"a later release")
    assert find(entry(), "toy/part.csv") == file


def test_without_pooch(monkeypatch, tmp_path):
    monkeypatch.setattr(_fetch, "_download", DOWNLOAD)
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(MissingExtraError, match=r"equirank\[data\]"):
        find(entry("http://127.0.0.1:9/part.csv"), "toy/part.csv")
    assert everything(tmp_path) == []


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("wanted", "shown"), [("1", True), ("0", False)])
def test_bar_on_a_terminal_only(server, monkeypatch, wanted, shown):
    monkeypatch.setenv("EQUIRANK_PROGRESS", wanted)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    find(entry(f"{server.address}/part.csv"), "toy/part.csv")
    assert ("toy/part.csv" in sys.stderr.getvalue()) is shown


def test_no_bar_elsewhere(server, capsys):
    find(entry(f"{server.address}/part.csv"), "toy/part.csv")
    assert capsys.readouterr() == ("", "")
