"""``equirank profiles``."""

import json
from datetime import date

import pytest
from typer.testing import CliRunner

from equirank.auditing.profiles import profile as profile_module
from equirank.auditing.profiles.profile import FOLDER, load_profile, profile_names
from equirank.cli.app import app


def run(*words):
    return CliRunner().invoke(app, ["profiles", *map(str, words)])


@pytest.fixture
def old(tmp_path):
    """A file of the user whose check is long ago."""
    text = (FOLDER / "ugesp.toml").read_text(encoding="utf-8")
    path = tmp_path / "ours.toml"
    path.write_text(text.replace("checked = 2026-07-05", "checked = 2001-02-03"), encoding="utf-8")
    return path


def test_the_list():
    done = run()
    assert done.exit_code == 0
    head, *lines = done.stdout.splitlines()
    assert head.split() == ["id", "checked", "title", "status"]
    assert [line.split()[0] for line in lines] == profile_names()
    for line, name in zip(lines, profile_names(), strict=True):
        profile = load_profile(name)
        assert str(profile.checked) in line
        assert profile.title in line
        assert profile.status in line


@pytest.mark.parametrize("name", profile_names())
def test_one_whole(name):
    done = run(name)
    assert done.exit_code == 0
    profile = load_profile(name)
    for text in (profile.title, profile.citation, profile.status, str(profile.checked)):
        assert text in done.stdout
    assert profile.text in done.stdout
    for text in profile.not_covered:
        assert f"- {text}" in done.stdout
    for source in profile.sources:
        assert f"[{source.verified}]" in done.stdout
    assert ("thresholds:\n- none" in done.stdout) == (not profile.thresholds)


def test_an_old_check_warns(old):
    done = run(old)
    assert done.exit_code == 0
    assert done.stderr == (
        "warning: The profile ugesp was last checked on 3 February 2001, a year ago or more: its "
        "status and text may have changed.\n"
    )
    (row,) = json.loads(run(old, "--json").stdout)
    assert row["warning"] in done.stderr


def test_a_recent_check_does_not(monkeypatch):
    class Today(date):
        @classmethod
        def today(cls):
            return cls(2026, 8, 1)

    monkeypatch.setattr("datetime.date", Today)
    assert run("ugesp").stderr == ""


def test_json(tmp_path):
    rows = json.loads(run("--json").stdout)
    assert [row["id"] for row in rows] == profile_names()
    assert set(rows[0]) == {*profile_module.KEYS, "warning"}
    (row,) = json.loads(run("nyc-ll144", "--json").stdout)
    assert row["applies_from"] == "2023-07-05"
    assert row["tables"][2]["by"] == ["sex", "race/ethnicity"]
    assert run("nyc-ll144", "--json", tmp_path / "one.json").exit_code == 0
    assert json.loads((tmp_path / "one.json").read_text(encoding="utf-8")) == [row]


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("nyc-ll14", "PROFILE must be one of credit, eu-ai-act, nj-13-16, nyc-ll144, ugesp or a "),
        ("none.toml", "none.toml: file not found"),
        ("folder/none", "folder/none: file not found"),
    ],
)
def test_an_unknown_profile_is_one_line(word, said):
    done = run(word)
    assert done.exit_code == 2
    (line,) = done.stderr.splitlines()
    assert said in line


def test_a_wrong_file_is_one_line(old):
    old.write_text(old.read_text(encoding="utf-8").replace("status =", "state ="), encoding="utf-8")
    done = run(old)
    assert done.exit_code == 2
    assert done.stderr == (
        f"equirank: {old}: state is not a key of a profile; did you mean 'status'?\n"
    )
