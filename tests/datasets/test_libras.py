"""Libras: equal rows have equal ids and stay in one fold."""

import numpy as np
import pytest

from equirank import DataError, QueryKFold
from equirank.datasets import load_libras


@pytest.fixture
def file(tmp_path):
    """40 distinct rows in 4 classes, 8 of them twice."""
    rng = np.random.default_rng(0)
    rows = [f"{','.join(f'{v:.5f}' for v in rng.random(90))},{1 + at % 4}" for at in range(40)]
    path = tmp_path / "movement_libras.data"
    path.write_text("\n".join(rows + rows[:8]) + "\n")
    return path


def test_rows(file):
    data = load_libras(path=file)
    assert (data.n_rows, data.n_queries, data.n_features) == (48, 1, 90)
    assert data.y.tolist() == [1, 2, 3, 4] * 12
    assert data.feature_names[:4] == ("x1", "y1", "x2", "y2")
    assert data.X[5, :2].tolist() == [
        float(c) for c in file.read_text().split("\n")[5].split(",")[:2]
    ]


def test_equal_rows_have_equal_ids(file):
    ids = load_libras(path=file).ids
    assert ids[:40].tolist() == list(range(40))
    assert ids[40:].tolist() == list(range(8))


def test_rows_that_differ_in_class_differ(file):
    lines = file.read_text().split("\n")
    lines[40] = lines[40].rpartition(",")[0] + ",4"
    file.write_text("\n".join(lines))
    assert load_libras(path=file).ids[40] == 40


@pytest.mark.parametrize("folds", [2, 5])
def test_folds(file, folds):
    parts = load_libras(path=file, folds=folds)
    assert len(parts) == folds
    assert sum(len(part.test) for part in parts) == 48
    for train, validation, test in parts:
        assert validation is None
        assert not set(train.ids.tolist()) & set(test.ids.tolist())
        assert len(train) + len(test) == 48
        distinct = dict(zip(test.ids.tolist(), test.y.tolist(), strict=True))
        counts = np.bincount(np.array(list(distinct.values()), dtype=int), minlength=5)[1:]
        assert counts.max() - counts.min() <= 1


def test_folds_depend_on_the_seed(file):
    tests = [
        load_libras(path=file, folds=4, random_state=s)[0].test.ids.tolist() for s in (0, 0, 1)
    ]
    assert tests[0] == tests[1] != tests[2]


def test_ids_serve_any_splitter(file):
    data = load_libras(path=file)
    for train, test in QueryKFold(5).split(data.X, qid=data.ids):
        assert not set(data.ids[train].tolist()) & set(data.ids[test].tolist())


def test_frame(file):
    frame = load_libras(path=file, as_frame=True)
    assert frame.shape == (48, 93)
    assert list(frame["relevance"][:4]) == [1, 2, 3, 4]


def test_bad(file):
    with pytest.raises(DataError, match="folds of load_libras must be an integer >= 2"):
        load_libras(path=file, folds=1)
    file.write_text("0.5,1\n")
    with pytest.raises(DataError, match="must have 91 cells, got 2"):
        load_libras(path=file)


def test_real(real):
    real("libras")
    data = load_libras()
    assert data.X.shape == (360, 90)
    assert np.bincount(data.y.astype(int)).tolist() == [0] + [24] * 15
    assert len(set(data.ids.tolist())) == 330
    assert (data.X.min() >= 0) & (data.X.max() <= 1)
    for train, _, test in load_libras(folds=5):
        assert not set(train.ids.tolist()) & set(test.ids.tolist())
        assert set(test.y.tolist()) == set(range(1, 16))
