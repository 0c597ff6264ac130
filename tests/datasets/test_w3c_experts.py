"""W3C experts: two variants, with folds."""

import gzip

import numpy as np
import pytest

from equirank import DataError
from equirank.datasets import load_w3c_experts

HEAD = "sensitive_attribute,session,score,feature_1,feature_2,feature_3,feature_4,feature_5\n"


def deltr(*queries):
    return gzip.compress(
        "".join(f"{q},{q % 2}.0,{q},-0.2,0.3,0.4,0.5,{1 - q / 100}\n" for q in queries).encode()
    )


def laura(*queries):
    rows = "".join(f"{q % 2}.0,{q}.0,{q}.0,{q},2,3,4,5\n" for q in queries)
    return gzip.compress((HEAD + rows).encode())


@pytest.fixture(autouse=True)
def files(data_folder):
    queries = {fold: [10 * fold - 9, 10 * fold - 8] for fold in range(1, 7)}
    everyone = [q for pair in queries.values() for q in pair]
    data_folder("trec_w3c/deltr_total.csv.gz", deltr(*everyone))
    for fold, pair in queries.items():
        rest = [q for q in everyone if q not in pair]
        data_folder(f"trec_w3c/deltr_fold{fold}_test.csv.gz", deltr(*pair))
        data_folder(f"trec_w3c/deltr_fold{fold}_train.csv.gz", deltr(*rest))
    data_folder("trec_w3c/ba_laura_fold1_train.csv.gz", laura(1, 2, 3))
    data_folder("trec_w3c/ba_laura_fold1_validation.csv.gz", laura(4))
    return data_folder("trec_w3c/ba_laura_fold1_test.csv.gz", laura(5)).parent


def sexes(data):
    attribute = data.sensitive["sex"]
    return [attribute.categories[code] for code in attribute.codes]


def test_deltr(files):
    data = load_w3c_experts()
    assert (data.n_rows, data.n_queries) == (12, 12)
    assert data.qids[:3].tolist() == [1, 2, 11]
    assert data.X[1].tolist() == [2, -0.2, 0.3, 0.4, 0.5]
    assert data.y[:2].tolist() == [0.99, 0.98]
    assert sexes(data)[:3] == ["female", "male", "female"]
    assert len(load_w3c_experts(path=files)) == 12


def test_six_folds():
    folds = load_w3c_experts(folds=True)
    assert [fold.test.qids.tolist() for fold in folds] == [
        [10 * fold - 9, 10 * fold - 8] for fold in range(1, 7)
    ]
    for train, validation, test in folds:
        assert validation is None
        assert train.n_queries == 10
        assert not set(train.qids.tolist()) & set(test.qids.tolist())


def test_the_other_variant():
    data = load_w3c_experts(variant="ba_laura")
    assert data.qids.tolist() == [1, 2, 3, 4, 5]
    assert data.y.tolist() == [1, 2, 3, 4, 5]
    assert sexes(data) == ["female", "male", "female", "male", "female"]
    assert data.X[1].tolist() == [2, 2, 3, 4, 5]
    ((train, validation, test),) = load_w3c_experts(variant="ba_laura", folds=True)
    assert [part.qids.tolist() for part in (train, validation, test)] == [[1, 2, 3], [4], [5]]


def test_frame():
    frame = load_w3c_experts(as_frame=True)
    assert list(frame.columns[:4]) == ["qid", "relevance", "sex", "feature_1"]
    assert frame.shape == (12, 8)


def test_bad():
    with pytest.raises(DataError, match="variant must be one of"):
        load_w3c_experts(variant="trec")


def test_real(real):
    real("w3c_experts")
    data = load_w3c_experts()
    assert sexes(data).count("female") == 1261
    sizes = np.diff(data.offsets)
    assert (sizes == 200).sum() == 59
    assert sizes[data.query_index(43)] == 390
    assert len(np.unique(data.X, axis=0)) == 3962
    folds = load_w3c_experts(folds=True)
    assert len(folds) == 6
    assert sum(len(fold.test) for fold in folds) == 12190
    other = load_w3c_experts(variant="ba_laura")
    assert (other.n_rows, other.n_queries) == (39312 + 2 * 13104, 60)
    assert sexes(other).count("female") / len(other) == pytest.approx(0.1099, abs=1e-4)
