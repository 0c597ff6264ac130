"""Profiles: the files of the package, and what a wrong file is told."""

import re
from dataclasses import fields
from datetime import date

import pytest

import equirank
from equirank import DataError
from equirank.auditing.profiles.profile import (
    FOLDER,
    KEYS,
    Profile,
    load_profile,
    profile_names,
    read_profile,
)

SPECIFIED = [
    *("id", "title", "citation", "sources", "checked", "status", "applies_from", "attributes"),
    *("tables", "reference", "small_share", "thresholds", "unknown", "text", "not_covered"),
]
GOOD = (FOLDER / "nyc-ll144.toml").read_text(encoding="utf-8")


def test_the_profiles_and_their_fields():
    assert profile_names() == ["credit", "eu-ai-act", "nj-13-16", "nyc-ll144", "ugesp"]
    assert list(KEYS) == SPECIFIED == [field.name for field in fields(Profile)]


@pytest.mark.parametrize("name", profile_names())
def test_every_profile_of_the_package_is_whole(name):
    profile = load_profile(name)
    assert profile.id == name
    assert profile.checked > date(2026, 1, 1)
    assert profile.not_covered
    for source in profile.sources:
        assert re.match(r"(read|not rechecked:)", source.verified)
    assert any(source.verified.startswith("read") for source in profile.sources)
    used = {attribute for table in profile.tables for attribute in table.by}
    assert used == {attribute.name for attribute in profile.attributes}


def test_thresholds_are_quoted_with_whose_they_are():
    assert [t.number for t in load_profile("ugesp").thresholds] == [0.8]
    assert not load_profile("nyc-ll144").thresholds
    assert not load_profile("eu-ai-act").thresholds


@pytest.mark.slow
def test_no_law_is_in_the_code():
    words = re.compile(r"local law|uniform guidelines|ll144|ugesp|regulation b\b|ai act", re.I)
    root = FOLDER.parents[1]
    # references to where a formula was published
    allowed = {"statistics/proportions.py", "metrics/fairness/selection.py"}
    allowed |= {"auditing/tables/method_tables.py"}
    found = []
    for path in root.rglob("*.py"):
        text = re.sub(r">>> .*", "", path.read_text(encoding="utf-8"))
        if words.search(text) and path.relative_to(root).as_posix() not in allowed:
            found.append(path.name)
    assert not found


def test_a_year_after_the_check_there_is_a_warning():
    profile = load_profile("nyc-ll144")
    assert profile.checked == date(2026, 1, 31)
    assert profile.outdated(date(2027, 1, 30)) == ""
    assert "nyc-ll144 was last checked on 31 January 2026" in profile.outdated(date(2027, 1, 31))


def test_a_leap_day_has_an_anniversary(tmp_path):
    profile = changed(tmp_path, "checked = 2026-01-31", "checked = 2024-02-29")
    assert profile.outdated(date(2025, 2, 28)) == ""
    assert profile.outdated(date(2025, 3, 1))


def test_columns_are_found_by_name():
    profile = load_profile("nyc-ll144")
    assert profile.columns_of(["GENDER", "x"]) == {"sex": "GENDER"}
    assert profile.columns_of(["ethnicity", "Race_Ethnicity"]) == {
        "race/ethnicity": "Race_Ethnicity"
    }
    assert profile.columns_of(["sexuality"]) == {}


def changed(folder, old, new):
    assert GOOD.count(old) >= 1, old
    path = folder / "changed.toml"
    path.write_text(GOOD.replace(old, new, 1), encoding="utf-8")
    return read_profile(path)


def test_a_file_of_the_user_is_read(tmp_path):
    path = tmp_path / "ours.toml"
    text = GOOD.replace('id = "nyc-ll144"', 'id = "ours"')
    text = text.replace('reference = "highest"', 'reference = { sex = "Male" }')
    path.write_text(text, encoding="utf-8")
    profile = load_profile(str(path))
    assert profile.id == "ours"
    assert profile.reference == {"sex": "Male"}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("status =", "stauts =", "stauts is not a key of a profile; did you mean 'status'"),
        ('title = "', 'nothing_alike = 1\ntitle = "', "nothing_alike is not a key of a profile"),
        ("small_share = 0.02\n", "", "small_share is missing"),
        ("small_share = 0.02", "small_share = 2", "small_share must be a number from 0 to below 1"),
        ("small_share = 0.02", "small_share = false", "small_share must be a number from 0"),
        ("small_share = 0.02", "small_share = nan", "small_share must be a number from 0"),
        ("small_share = 0.02", 'small_share = "2%"', "small_share must be a number from 0"),
        ("checked = 2026-01-31", 'checked = "2026-01-31"', "checked must be a date such as"),
        ("checked = 2026-01-31", "checked = 2026-01-31T10:00:00", "checked must be a date such"),
        ("checked = 2026-01-31", "checked = 2026-02-30", "must be TOML"),
        ('id = "nyc-ll144"', 'id = "NYC LL"', "id must be lower-case letters and digits"),
        ('status = "in', 'status = " "\nother = "in', "other is not a key"),
        ('reference = "highest"', 'reference = "White"', 'reference must be "highest", or a table'),
        ('reference = "highest"', 'reference = {hue = "a"}', "reference must be one of sex, race"),
        ('reference = "highest"', "reference = {sex = 1}", "reference.sex must be a text"),
        ("thresholds = []", "thresholds = [0.8]", r"thresholds\[0\] must be a table, got 0.8"),
        ("thresholds = []", "thresholds = [{number = 1}]", r"thresholds\[0\].words is missing"),
        ("thresholds = []", "thresholds = 0.8", "thresholds must be a list, got 0.8"),
        ('by = ["sex"]', 'by = ["hue"]', r"tables\[0\].by must be one of sex, race/ethnicity, got"),
        ('by = ["sex"]', "by = []", r"tables\[0\].by must be a list of 1 to 2"),
        ('by = ["sex"]', 'by = ["sex", "sex"]', r"tables\[0\].by must be a list without repet"),
        ('["selection", "scoring"]', '["selected"]', r"tables\[0\].rates\[0\] must be one of sel"),
        ("statistics = []", 'statistics = ["t"]', r"tables\[0\].statistics\[0\] must be one of z"),
        ('name = "race/ethnicity"', 'name = "sex"', r"attributes\[1\].name must be another name"),
        ('columns = ["sex", ', 'columns = [1, "sex", ', r"attributes\[0\].columns\[0\] must be a"),
        ('verified = "', 'checked = "', r"sources\[0\].checked is not a key"),
        ("[[tables]]", "[[tables]", "must be TOML"),
    ],
)
def test_a_wrong_file_is_told_which_key(tmp_path, old, new, message):
    with pytest.raises(DataError, match=message) as caught:
        changed(tmp_path, old, new)
    assert str(tmp_path / "changed.toml") in str(caught.value)


def test_empty_texts_and_other_encodings(tmp_path):
    with pytest.raises(DataError, match="title must be a text that is not empty"):
        read_profile(written(tmp_path, re.sub('title = ".*"', 'title = " "', GOOD).encode()))
    with pytest.raises(DataError, match="must be UTF-8, got byte 233"):
        read_profile(written(tmp_path, GOOD.replace("audit", "audit\u00e9", 1).encode("latin-1")))
    with pytest.raises(DataError, match="id is missing"):
        read_profile(written(tmp_path, b""))
    with pytest.raises(FileNotFoundError):
        load_profile(str(tmp_path / "absent.toml"))


def written(folder, content):
    path = folder / "file.toml"
    path.write_bytes(content)
    return path


def test_an_unknown_id_names_the_known():
    with pytest.raises(DataError, match=r"got 'nyc'") as caught:
        load_profile("nyc")
    assert "credit, eu-ai-act" in str(caught.value)


def test_importing_the_library_reads_no_profile():
    assert "profiles" not in equirank.__all__
