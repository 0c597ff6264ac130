"""The catalogue: every set has a loader, terms and a way to get it."""

import hashlib
import re
from pathlib import PurePosixPath

import pytest

from equirank import DataError, datasets
from equirank.datasets.catalogue import catalogue, dataset
from equirank.datasets.fetch import look

ENTRIES = list(catalogue().values())
FROM_FILES = [entry for entry in ENTRIES if entry.files]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_entry(entry):
    verb = "make" if entry.name == "yahoo_like" else "load"
    assert entry.loader == f"{verb}_{entry.name}"
    assert callable(getattr(datasets, entry.loader))
    for word in (entry.ranked, entry.relevance, entry.protected, entry.licence, entry.source):
        assert word
    assert entry.how
    assert 0 < entry.queries <= entry.rows
    assert entry.n_bytes == sum(file.n_bytes for file in entry.files)


def test_every_loader_has_an_entry():
    loaders = {name for name in datasets.__all__ if name.startswith("load_")}
    expected = loaders - {"load_letor_folds"} | {"make_yahoo_like"}
    assert expected == {entry.loader for entry in ENTRIES}


@pytest.mark.parametrize("entry", FROM_FILES, ids=lambda entry: entry.name)
def test_files_stay_in_the_data_folder(entry):
    for file in entry.files:
        path = PurePosixPath(file.name)
        assert not path.is_absolute()
        assert not {"..", "~"} & set(path.parts)


@pytest.mark.parametrize("entry", FROM_FILES, ids=lambda entry: entry.name)
def test_files(entry):
    for file in entry.files:
        assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
        assert file.n_bytes > 0
        if file.url is not None:
            assert file.url.startswith("https://")
            assert file.url.rpartition("/")[2] == file.name.rpartition("/")[2]
    names = [file.name for file in entry.files]
    assert len(names) == len(set(names))


def test_the_sets_with_a_sure_address_download():
    assert {entry.name for entry in ENTRIES if entry.downloads} == {"compas", "adult", "german"}


@pytest.mark.parametrize("entry", FROM_FILES, ids=lambda entry: entry.name)
def test_without_the_data_the_error_says_where_and_how(entry, tmp_path, monkeypatch):
    loader = getattr(datasets, entry.loader)
    if entry.downloads:  # the fixture stands in the way of the download: it is reached
        with pytest.raises(AssertionError, match=f"{entry.name} would be downloaded"):
            loader()
    else:
        with pytest.raises(DataError) as caught:
            loader()
        assert "EQUIRANK_DATA (not set)" in str(caught.value)
        assert str(tmp_path / "cache") in str(caught.value)
        assert entry.how in str(caught.value)
    with pytest.raises(DataError, match="path must be the file"):
        loader(path=tmp_path / "nowhere")


@pytest.mark.parametrize("entry", FROM_FILES, ids=lambda entry: entry.name)
def test_real_files_are_those_of_the_catalogue(entry, real):
    real(entry.name)
    for file in entry.files:
        found = look(entry, file.name)
        assert found.stat().st_size == file.n_bytes
        assert hashlib.sha256(found.read_bytes()).hexdigest() == file.sha256


@pytest.mark.parametrize("entry", FROM_FILES, ids=lambda entry: entry.name)
def test_real_rows_and_lists(entry, real):
    real(entry.name)
    data = getattr(datasets, entry.loader)()
    assert (data.n_rows, data.n_queries) == (entry.rows, entry.queries)


def test_the_bundled_set_is_as_large_as_it_says():
    data = datasets.load_hiring()
    assert (data.n_rows, data.n_queries) == (dataset("hiring").rows, dataset("hiring").queries)


def test_unknown_name():
    with pytest.raises(DataError, match="no data set 'germn'; did you mean 'german'"):
        dataset("germn")
