"""COMPAS: the filter, what is never loaded, relevance either way."""

import csv
import io

import numpy as np
import pytest

from equirank import DataError
from equirank.datasets import load_compas

HEADER = [
    *("id", "name", "first", "last", "compas_screening_date", "sex"),
    *("dob", "age", "age_cat", "race", "juv_fel_count", "decile_score"),
    *(
        "juv_misd_count",
        "juv_other_count",
        "priors_count",
        "days_b_screening_arrest",
        "c_jail_in",
        "c_jail_out",
    ),
    *(
        "c_case_number",
        "c_offense_date",
        "c_arrest_date",
        "c_days_from_compas",
        "c_charge_degree",
        "c_charge_desc",
    ),
    *(
        "is_recid",
        "r_case_number",
        "r_charge_degree",
        "r_days_from_arrest",
        "r_offense_date",
        "r_charge_desc",
    ),
    *(
        "r_jail_in",
        "r_jail_out",
        "violent_recid",
        "is_violent_recid",
        "vr_case_number",
        "vr_charge_degree",
    ),
    *(
        "vr_offense_date",
        "vr_charge_desc",
        "type_of_assessment",
        "decile_score",
        "score_text",
        "screening_date",
    ),
    *(
        "v_type_of_assessment",
        "v_decile_score",
        "v_score_text",
        "v_screening_date",
        "in_custody",
        "out_custody",
    ),
    *("priors_count", "start", "end", "event", "two_year_recid"),
]
NEVER = ("name", "first", "last", "dob", "case_number", "date", "jail", "custody", "id")
USUAL = {
    "name": "ada example", "first": "ada", "last": "example", "dob": "1970-01-01", "sex": "Female",
    "age": "30", "age_cat": "25 - 45", "race": "Other", "juv_fel_count": "0", "decile_score": "4",
    "juv_misd_count": "1", "juv_other_count": "2", "priors_count": "3",
    "days_b_screening_arrest": "-1", "c_charge_degree": "F", "is_recid": "0",
    "is_violent_recid": "0", "score_text": "Low", "v_decile_score": "2", "v_score_text": "Low",
    "two_year_recid": "1", "c_charge_desc": 'a, "quoted" charge',
}  # fmt: skip
DROPPED = [
    {"days_b_screening_arrest": "31"},
    {"days_b_screening_arrest": "-31"},
    {"days_b_screening_arrest": ""},
    {"is_recid": "-1"},
    {"c_charge_degree": "O"},
    {"score_text": "N/A"},
]
KEPT = [
    {},
    {"days_b_screening_arrest": "30", "race": "Asian", "decile_score": "10", "two_year_recid": "0"},
    {"days_b_screening_arrest": "-30", "sex": "Male", "c_charge_degree": "M", "decile_score": "1"},
]


def text(rows):
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(HEADER)
    for row in rows:
        writer.writerow([(USUAL | row).get(name, "secret") for name in HEADER])
    return stream.getvalue()


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "compas-scores-two-years.csv"
    path.write_text(text([DROPPED[0], KEPT[0], *DROPPED[1:4], *KEPT[1:], *DROPPED[4:]]))
    return path


def test_filter_and_relevance(file):
    data = load_compas(path=file)
    assert data.y.tolist() == [4, 10, 1]
    assert data.n_queries == 1
    assert load_compas(path=file, reverse=True).y.tolist() == [6, 0, 9]
    assert load_compas(path=file, relevance="two_year_recid").y.tolist() == [1, 0, 1]
    reverse = load_compas(path=file, relevance="two_year_recid", reverse=True)
    assert reverse.y.tolist() == [0, 1, 0]


def test_attributes(file):
    data = load_compas(path=file)
    assert list(data.sensitive) == ["race", "sex", "age_cat"]
    assert data.sensitive["race"].categories == ("Asian", "Other")
    assert data.sensitive["sex"].codes.tolist() == [0, 0, 1]
    assert list(load_compas(path=file, sensitive="sex").sensitive) == ["sex"]
    with pytest.raises(DataError, match="'race', 'sex', 'age_cat', got 'dob'"):
        load_compas(path=file, sensitive="dob")


def test_features(file):
    counts = ("juv_fel_count", "juv_misd_count", "juv_other_count", "priors_count")
    data = load_compas(path=file)
    charge = ("c_charge_degree=F", "c_charge_degree=M")
    assert data.feature_names == ("days_b_screening_arrest", *counts, *charge)
    assert data.X[1].tolist() == [30, 0, 1, 2, 3, 1, 0]
    # as in the published experiment: the score, and the people's groups as integers
    data = load_compas(
        path=file, relevance="two_year_recid", keep_sensitive=True, encoding="ordinal"
    )
    assert data.feature_names == (
        "decile_score", "days_b_screening_arrest", *counts, "c_charge_degree", "sex", "age", "race",
    )  # fmt: skip
    assert data.X[2].tolist() == [1, -30, 0, 1, 2, 3, 1, 1, 30, 1]
    assert "age" in load_compas(path=file, sensitive="race").feature_names


def test_what_identifies_people_is_not_loaded(file):
    frame = load_compas(path=file, as_frame=True)
    assert len(frame) == 3
    assert list(frame["decile_score"]) == [4, 10, 1]
    assert len(set(frame.columns)) == len(frame.columns) == 17
    for column in frame.columns:
        assert not any(word in column.split("_") or word == column for word in NEVER), column
    everything = " ".join(map(str, frame.to_numpy().ravel()))
    for secret in ("ada", "example", "1970", "secret", "quoted"):
        assert secret not in everything
    assert load_compas(path=file).ids is None


def test_columns_that_occur_twice_must_agree(file):
    lines = file.read_text().split("\n")
    cells = next(csv.reader([lines[1]]))
    cells[HEADER.index("decile_score", 12)] = "9"
    file.write_text(
        "\n".join(
            [lines[0], ",".join(f'"{cell}"'.replace('"a, "quoted" charge"', "x") for cell in cells)]
        )
    )
    with pytest.raises(DataError, match="two columns 'decile_score' must be equal"):
        load_compas(path=file)


def test_unknown_relevance(file):
    with pytest.raises(DataError, match="relevance must be one of"):
        load_compas(path=file, relevance="score")


def test_real(real):
    real("compas")
    data = load_compas()
    race = data.sensitive["race"]
    count = dict(zip(race.categories, np.bincount(race.codes).tolist(), strict=True))
    assert (count["African-American"], count["Caucasian"], len(data)) == (3175, 2103, 6172)
    assert (data.y.min(), data.y.max()) == (1, 10)
    assert not np.isnan(data.X).any()
