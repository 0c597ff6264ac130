"""Engineering students: two files of the same people, a list per year."""

import numpy as np
import pytest

from equirank import DataError
from equirank.datasets import load_engineering_students

NAME = "engineering_students/chileDataL2R_{}_nosemi_full.txt"
HEAD = "entrance_year,{},psu_math,psu_lang,psu_science,gpa,score\n"


def text(word, values, year=lambda at: 1 + at // 2):
    rows = [f"{year(at)},{value},{at},0.5,0.25,1,{at / 2 - 2}\n" for at, value in enumerate(values)]
    return HEAD.format(word) + "".join(rows)


@pytest.fixture(autouse=True)
def files(data_folder):
    data_folder(NAME.format("gender"), text("gender", [0, 1] * 5))
    school = text("highschool", ["0.0"] * 5 + ["1.0"] * 5)
    return data_folder(NAME.format("highschool"), school).parent


def groups(data, name):
    attribute = data.sensitive[name]
    return [attribute.categories[code] for code in attribute.codes]


def test_both_attributes_side_by_side(files):
    data = load_engineering_students()
    assert data.qids.tolist() == [1, 2, 3, 4, 5]
    assert data.feature_names == ("psu_math", "psu_lang", "psu_science", "gpa")
    assert data.X[3].tolist() == [3, 0.5, 0.25, 1]
    assert data.y.tolist() == [at / 2 for at in range(10)]
    assert groups(data, "sex") == ["male", "female"] * 5
    assert groups(data, "high_school") == ["private"] * 5 + ["public"] * 5
    assert len(load_engineering_students(path=files)) == 10


def test_only_the_file_asked_for_is_read(files):
    (files / "chileDataL2R_highschool_nosemi_full.txt").unlink()
    data = load_engineering_students(sensitive="sex")
    assert list(data.sensitive) == ["sex"]
    with pytest.raises(DataError, match="highschool_nosemi_full"):
        load_engineering_students()


def test_each_fold_tests_one_year():
    folds = load_engineering_students(folds=True)
    assert [fold.test.qids.tolist() for fold in folds] == [[1], [2], [3], [4], [5]]
    assert folds[1].train.qids.tolist() == [1, 3, 4, 5]
    assert folds[1].validation is None


def test_files_must_agree(data_folder):
    data_folder(NAME.format("gender"), text("gender", [0, 1] * 5, year=lambda at: 5 - at // 2))
    with pytest.raises(DataError, match="must contain the same students"):
        load_engineering_students()


def test_bad(data_folder):
    with pytest.raises(DataError, match="'sex', 'high_school', got 'gender'"):
        load_engineering_students(sensitive="gender")
    data_folder(NAME.format("gender"), text("gender", [0, 2] * 5))
    with pytest.raises(DataError, match="'gender' must be one of"):
        load_engineering_students(sensitive="sex")


def test_frame():
    frame = load_engineering_students(as_frame=True)
    assert frame.shape == (10, 8)
    assert list(frame["high_school"])[4:6] == ["private", "public"]


def test_real(real):
    real("engineering_students")
    data = load_engineering_students()
    assert groups(data, "sex").count("female") == 488
    assert groups(data, "high_school").count("public") == 838
    assert np.diff(data.offsets).sum() == 2403
    assert data.y.min() == 0
    assert sum(len(fold.test) for fold in load_engineering_students(folds=True)) == 2403
