"""Published files as they come: read with at most one option, which the error names."""

import os
from pathlib import Path

import pytest

from equirank import DataError
from equirank.io import read_file

FOLDER = Path(os.environ.get("EQUIRANK_DATA", "none"))
ADULT = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education_num",
    "marital",
    "occupation",
    "relationship",
    "race",
    "sex",
    "gain",
    "loss",
    "hours",
    "country",
    "income",
]
GERMAN = [
    "status",
    "duration",
    "history",
    "purpose",
    "amount",
    "savings",
    "employment",
    "rate",
    "sex",
    "debtors",
    "residence",
    "property",
    "age",
    "plans",
    "housing",
    "credits",
    "job",
    "people",
    "phone",
    "foreign",
    "class",
]

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="EQUIRANK_DATA names no folder")


def test_law():
    data = read_file(FOLDER / "law/law_data.csv", score="ZFYA", sensitive=["sex", "race"])
    assert data.n_rows == 21791
    assert data.source.labels["sex"] == (("1", 9537, "1"), ("2", 12254, "2"))
    assert "sex: the groups are numbers: 1, 2" in data.source.remarks


def test_compas():
    path = FOLDER / "compas/compas-scores-two-years.csv"
    wanted = {"score": "decile_score", "sensitive": ["sex", "race"]}
    with pytest.raises(
        DataError, match=r'line 1: .*\'decile_score\' twice.* repeated must be "num'
    ):
        read_file(path, **wanted)
    data = read_file(path, **wanted, repeated="number")
    assert data.n_rows == 7214
    assert {a: n for a, n, _ in data.source.labels["race"]}["African-American"] == 3696


@pytest.mark.parametrize(("name", "rows", "rich"), [("data", 32561, 7841), ("test", 16281, 3846)])
def test_adult(name, rows, rich):
    path = FOLDER / f"adult/adult.{name}"
    wanted = {"score": "hours", "outcomes": "income", "sensitive": ["sex", "country"]}
    wanted["missing_sensitive"] = "category"
    with pytest.raises(DataError, match="columns must name the columns"):
        read_file(path, **wanted)
    data = read_file(path, **wanted, columns=ADULT)
    assert data.n_rows == rows
    assert data.attribute("sex").categories == ("Female", "Male")
    income = [str(each).strip(" .") for each in data.outcomes["income"].tolist()]
    assert income.count(">50K") == rich
    unknown = [count for _, count, became in data.source.labels["country"] if became is None]
    assert sum(unknown) == {"data": 583, "test": 274}[name]
    noted = any("line 1 is a comment" in each for each in data.source.remarks)
    assert noted == (name == "test")


def test_german():
    path = FOLDER / "german/german.data"
    with pytest.raises(
        DataError, match=r"delimiter must be named .*; columns must name the columns"
    ):
        read_file(path, score="amount", sensitive="sex")
    data = read_file(path, score="amount", sensitive="sex", outcomes="class", columns=GERMAN)
    assert data.n_rows == 1000
    assert {a: n for a, n, _ in data.source.labels["sex"]}["A92"] == 310
    assert data.outcomes["class"].tolist().count(1) == 700
    assert data.source.how["delimiter"] == "space (guessed: it makes 21 cells)"
