"""MSLR: groups by feature 133."""

import gzip

import numpy as np
import pytest

from equirank import DataError
from equirank.datasets import load_mslr

SAMPLE = "ltr/MSLR-WEB10K-sample/msn1.fold1.{}.5k.txt.gz"


def lines(*qualities, qid=1):
    return "".join(
        f"{at % 5} qid:{qid} 1:{at} 132:0.5 133:{quality} 134:7 136:1\n"
        for at, quality in enumerate(qualities)
    )


@pytest.fixture
def sample(data_folder):
    data_folder(SAMPLE.format("test"), gzip.compress(lines(1, 2, qid=13).encode()))
    return data_folder(SAMPLE.format("train"), gzip.compress(lines(9, 10, 254, 1).encode()))


def groups(data):
    attribute = data.sensitive["quality"]
    return [attribute.categories[code] for code in attribute.codes]


@pytest.mark.slow
def test_sample(sample):
    data = load_mslr()
    assert data.X.shape == (4, 136)
    assert data.y.tolist() == [0, 1, 2, 3]
    assert groups(data) == ["low", "high", "high", "low"]
    assert groups(load_mslr(threshold=10.5)) == ["low", "low", "high", "low"]
    assert load_mslr(part="test").qids.tolist() == [13]
    assert len(load_mslr(path=sample)) == len(load_mslr(path=sample.parent)) == 4
    assert load_mslr(dtype=np.float32).X.dtype == np.float32


def test_quality_may_be_left_out(sample):
    data = load_mslr(drop_quality=True)
    assert data.X.shape == (4, 135)
    assert data.X[2, [0, 131, 132, 134]].tolist() == [2, 0.5, 7, 1]
    assert data.feature_names[131:133] == ("feature_132", "feature_134")
    assert len(data.feature_names) == 135
    assert groups(data) == groups(load_mslr())
    assert load_mslr().feature_names[132] == "feature_133"


@pytest.mark.parametrize("version", ["WEB10K", "WEB30K"])
def test_whole_sets(data_folder, version):
    for part in ("train", "vali", "test"):
        file = data_folder(f"ltr/MSLR-{version}/Fold3/{part}.txt", lines(3, 30, qid=len(part)))
    for part in ("train", "vali", "test"):
        data = load_mslr(version=version, fold=3, part=part)
        assert data.qids.tolist() == [len(part)]
        assert groups(data) == ["low", "high"]
    given = load_mslr(version=version, fold=3, path=file.parent.parent)
    assert given.qids.tolist() == [5]
    with pytest.raises(DataError, match=f"MSLR-{version}/Fold1/train.txt was not found.*Microsoft"):
        load_mslr(version=version)


def test_frame(sample):
    frame = load_mslr(as_frame=True)
    assert frame.shape == (4, 139)
    assert list(frame["quality"]) == ["low", "high", "high", "low"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"part": "vali"}, "'train' or 'test' of fold 1 for the sample, got 'vali'"),
        ({"fold": 2}, "of fold 1 for the sample"),
        ({"fold": 6}, "fold of load_mslr must be an integer from 1 to 5"),
        ({"version": "WEB20K"}, "version must be one of"),
        ({"part": "validation"}, "part must be one of"),
        ({"threshold": None}, "threshold of load_mslr must be a finite number"),
    ],
)
def test_bad(sample, given, said):
    with pytest.raises(DataError, match=said):
        load_mslr(**given)


def test_real(real):
    real("mslr")
    parts = [load_mslr(part=part) for part in ("train", "test")]
    for data in parts:
        assert (data.n_rows, data.n_queries, data.n_features) == (5000, 43, 136)
        assert set(data.y.tolist()) == {0, 1, 2, 3, 4}
    low = np.mean([name == "low" for data in parts for name in groups(data)])
    assert low == pytest.approx(0.6, abs=0.01)
