"""MQ2008: all rows once, or the five folds."""

import numpy as np
import pytest

from equirank import DataError
from equirank.datasets import load_mq2008


def line(qid, grade):
    features = " ".join(f"{number}:{number / 100 + qid}" for number in range(1, 47))
    return f"{grade} qid:{qid} {features} #docid = GX{qid}-{grade} inc = 1 prob = 0.1\n"


def part(number):
    return "".join(line(number, grade) for grade in (0, 1, 2))


@pytest.fixture
def folder(data_folder):
    for number in range(1, 6):
        path = data_folder(f"ltr/MQ2008/S{number}.txt", part(number))
    return path.parent


def check_whole(data):
    assert data.qids.tolist() == [1, 2, 3, 4, 5]
    assert data.y.tolist() == [0, 1, 2] * 5
    assert data.X.shape == (15, 46)
    assert data.X[3, 1] == 2.02
    assert data.ids[:2].tolist() == ["GX1-0", "GX1-1"]


def test_all_rows(folder):
    check_whole(load_mq2008())
    check_whole(load_mq2008(path=folder))
    assert load_mq2008(dtype=np.float32).X.dtype == np.float32


def test_folds(folder):
    folds = load_mq2008(folds=True)
    assert len(folds) == 5
    assert [fold.test.qids.tolist() for fold in folds] == [[5], [1], [2], [3], [4]]
    assert folds[4].train.qids.tolist() == [5, 1, 2]
    assert folds[0].validation.ids.tolist() == ["GX4-0", "GX4-1", "GX4-2"]


def test_the_published_layout(data_folder):
    for fold in range(1, 6):
        for name, step in {"train": 0, "vali": 3, "test": 4}.items():
            numbers = [(fold - 1 + step + more) % 5 + 1 for more in range(3 if step == 0 else 1)]
            data_folder(f"ltr/MQ2008/Fold{fold}/{name}.txt", "".join(map(part, numbers)))
    check_whole(load_mq2008())
    assert load_mq2008(folds=True)[0].train.qids.tolist() == [1, 2, 3]


def test_frame(folder):
    frame = load_mq2008(as_frame=True)
    assert list(frame.columns[:4]) == ["qid", "id", "relevance", "feature_1"]
    assert frame.shape == (15, 49)


def test_a_part_lacks(folder):
    (folder / "S4.txt").unlink()
    with pytest.raises(DataError, match=r"must contain S4\.txt"):
        load_mq2008()


def test_real(real):
    real("mq2008")
    data = load_mq2008()
    assert (data.n_rows, data.n_queries, data.n_features) == (15211, 784, 46)
    assert np.bincount(data.y.astype(int)).tolist() == [12279, 2001, 931]
    assert len(set(data.ids.tolist())) > 10000
    folds = load_mq2008(folds=True)
    assert sum(fold.test.n_rows for fold in folds) == 15211
    assert len(set(np.concatenate([fold.test.qids for fold in folds]).tolist())) == 784
    for fold in folds:
        assert sum(part.n_queries for part in fold) == 784
        assert sum(part.n_rows for part in fold) == 15211
