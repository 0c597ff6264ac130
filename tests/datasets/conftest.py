"""Tests of data sets see no data but what they write, unless they ask for the real files."""

import os

import pytest

from equirank.datasets.catalogue import dataset
from equirank.datasets.fetch import look

REAL = os.environ.get("EQUIRANK_DATA")


@pytest.fixture(autouse=True)
def nowhere(monkeypatch, tmp_path):
    """Let no test find real files or write into the user's cache."""
    monkeypatch.delenv("EQUIRANK_DATA", raising=False)
    monkeypatch.setenv("EQUIRANK_CACHE", str(tmp_path / "cache"))
    # what would be downloaded is not there
    monkeypatch.setattr("equirank.datasets.fetch._download", _no_download)


def _no_download(entry, file, target):
    raise AssertionError(f"{entry.name} would be downloaded from {file.url}")


@pytest.fixture
def real(monkeypatch):
    """Return a function that switches the real files of a set on, or skips the test."""

    def switch(name):
        if not REAL:
            pytest.skip("EQUIRANK_DATA does not name a folder with the real data sets")
        monkeypatch.setenv("EQUIRANK_DATA", REAL)
        lacking = [
            file.name for file in dataset(name).files if look(dataset(name), file.name) is None
        ]
        if lacking:
            pytest.skip(f"the folder in EQUIRANK_DATA lacks {lacking[0]}")

    return switch


@pytest.fixture
def data_folder(monkeypatch, tmp_path):
    """Return a folder that stands in EQUIRANK_DATA, and a function that writes a file below it."""
    monkeypatch.setenv("EQUIRANK_DATA", str(tmp_path / "data"))

    def write(name, text):
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(text, bytes):
            path.write_bytes(text)
        else:
            path.write_text(text, encoding="utf-8")
        return path

    return write
