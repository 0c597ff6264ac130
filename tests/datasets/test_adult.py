"""Adult: two files that differ, unknown values, categories of both."""

import numpy as np
import pytest

from equirank import DataError
from equirank.datasets import load_adult

TRAIN = """\
30, Private, 1, Bachelors, 13, Never-married, Sales, Unmarried, White, Male, 0, 0, 40, X-Land, <=50K
40, State-gov, 2, Masters, 14, Divorced, Sales, Wife, Black, Female, 7, 0, 50, X-Land, >50K
50, ?, 3, Masters, 14, Divorced, ?, Wife, Black, Female, 0, 0, 50, X-Land, >50K

"""
TEST = """\
|1x3 Cross validator
60, Private, 4, Bachelors, 13, Divorced, Tech, Husband, White, Male, 0, 9, 20, Y-Land, >50K.
70, Private, 5, Bachelors, 13, Divorced, Tech, Husband, White, Male, 0, 0, 20, ?, <=50K.

"""


@pytest.fixture(autouse=True)
def files(data_folder):
    data_folder("adult/adult.test", TEST)
    return data_folder("adult/adult.data", TRAIN).parent


def test_rows_with_unknown_values_are_dropped():
    data = load_adult()
    assert data.X[:, data.feature_names.index("age")].tolist() == [30, 40, 60]
    assert data.y.tolist() == [0, 1, 1]
    assert load_adult(drop_missing=False).y.tolist() == [0, 1, 1, 1, 0]
    assert "workclass=?" in load_adult(drop_missing=False).feature_names


def test_parts_have_the_same_features():
    train, test, both = (load_adult(part=part) for part in ("train", "test", "all"))
    assert train.feature_names == test.feature_names == both.feature_names
    assert (len(train), len(test)) == (2, 1)
    assert np.concatenate([train.X, test.X]).tolist() == both.X.tolist()
    assert test.y.tolist() == [1]
    assert test.sensitive["sex"].categories == ("Female", "Male")
    assert test.sensitive["sex"].codes.tolist() == [1]
    assert "native_country=Y-Land" in train.feature_names


def test_features_and_attributes():
    data = load_adult()
    assert list(data.sensitive) == ["sex", "race"]
    assert data.sensitive["sex"].codes.tolist() == [1, 0, 1]
    words = {name.split("=")[0] for name in data.feature_names}
    assert not words & {"sex", "race", "income", "fnlwgt", "education"}
    kept = load_adult(keep_sensitive=True, encoding="ordinal")
    assert kept.feature_names == (
        "age", "workclass", "education_num", "marital_status", "occupation", "relationship", "race",
        "sex", "capital_gain", "capital_loss", "hours_per_week", "native_country",
    )  # fmt: skip
    assert kept.X[1].tolist() == [40, 1, 14, 0, 0, 2, 0, 0, 7, 0, 50, 0]
    one = load_adult(sensitive="sex")
    assert "race=Black" in one.feature_names
    assert "sex=Male" not in one.feature_names


def test_frame(files):
    frame = load_adult(as_frame=True)
    assert list(frame["income"]) == ["<=50K", ">50K", ">50K"]
    assert list(frame["fnlwgt"]) == [1, 2, 4]
    assert frame.shape == (3, 15)
    assert load_adult(part="test", as_frame=True, path=files).shape == (1, 15)
    assert load_adult(path=files / "adult.data", as_frame=True).shape == (3, 15)


def test_damaged(data_folder):
    with pytest.raises(DataError, match="part must be one of"):
        load_adult(part="both")
    data_folder("adult/adult.data", TRAIN.replace("<=50K", "50K"))
    with pytest.raises(DataError, match="'income' must be one of"):
        load_adult()


def test_real(real):
    real("adult")
    whole = load_adult()
    assert len(whole) == 45222
    assert (len(load_adult(part="train")), len(load_adult(part="test"))) == (30162, 15060)
    train, test = (load_adult(part=p, drop_missing=False) for p in ("train", "test"))
    assert (len(train), len(test)) == (32561, 16281)
    assert (train.y.sum(), test.y.sum()) == (7841, 3846)
    assert whole.sensitive["sex"].categories == ("Female", "Male")
