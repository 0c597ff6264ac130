"""``equirank init``: a configuration that works at once, or guessed from a file."""

import tomllib

import pytest
from command_notes import without_notes
from typer.testing import CliRunner

from equirank.cli.app import app
from equirank.datasets import hiring_path
from equirank.recipes.config import read_config
from equirank.recipes.config_example import example, guess_file, hiring_guess


def run(*words):
    return CliRunner().invoke(app, ["init", *map(str, words)])


def test_without_words_it_works_with_the_bundled_data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run()
    assert (done.exit_code, without_notes(done.stderr)) == (0, "")
    assert done.stdout.splitlines() == [
        "written: config.toml",
        "written: hiring.csv",
        "next: equirank train config.toml --out model",
    ]
    assert (tmp_path / "hiring.csv").read_bytes() == hiring_path().read_bytes()
    config = read_config("config.toml")
    data, columns = config.read_data()
    assert (data.n_rows, data.n_queries, data.n_features) == (3213, 60, 4)
    assert list(data.sensitive) == ["sex", "age_group"]
    assert columns.notes == ()
    assert len(config.models) == 3
    assert config.models[-1].rerank
    for metric in config.metrics:
        metric.check(data)


def test_nothing_is_replaced_without_force(tmp_path):
    target = tmp_path / "config.toml"
    target.write_text("mine")
    done = run(tmp_path)
    assert done.exit_code == 2
    assert done.stderr == f"equirank: {target}: already exists; --force replaces it\n"
    assert target.read_text() == "mine"
    assert not (tmp_path / "hiring.csv").exists()
    assert run(tmp_path, "--force").exit_code == 0
    assert target.read_text() != "mine"
    target.unlink()
    assert run(target).exit_code == 0  # the same data beside it is no obstacle
    target.unlink()
    (tmp_path / "hiring.csv").write_text("mine")
    assert "hiring.csv: already exists" in run(target).stderr
    assert not target.exists()
    assert "must be in an existing folder" in run(tmp_path / "none" / "c.toml").stderr


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "data" / "people.csv"
    path.parent.mkdir()
    rows = [
        f"v{at % 4},c{at},{'fm'[at // 4 % 2]},{20 + at},{'abc'[at % 3]},{at % 3},word {at},{at / 7}"
        for at in range(24)
    ]
    header = "qid,candidate,gender,age,degree,label,letter,score"
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def test_columns_are_guessed(people, tmp_path):
    target = tmp_path / "c.toml"
    done = run(target, "--data", people)
    assert done.exit_code == 0, done.output
    assert "to do: check the file; the columns are guessed" in done.stdout
    values = tomllib.loads(target.read_text())
    assert values["data"] == {
        "path": "data/people.csv",
        "query": "qid",
        "relevance": "label",
        "sensitive": ["gender"],
        "id": "candidate",
        "features": ["age", "degree"],
    }
    assert values["split"]["by"] == "query"
    assert '# Not used: "letter"' in target.read_text()
    data, columns = read_config(str(target)).read_data()
    assert columns.feature_names == ("age", "degree=a", "degree=b", "degree=c")
    assert (data.n_rows, data.n_queries) == (24, 4)


def test_missing_groups_become_a_category(tmp_path):
    path, target = tmp_path / "market.csv", tmp_path / "c.toml"
    sellers = ("own", "third party", "NA")
    rows = [f"{at // 6},{sellers[at % 3]},{at % 2},{at}" for at in range(24)]
    path.write_text("search,seller_type,label,price\n" + "\n".join(rows) + "\n")
    assert run(target, "--data", path).exit_code == 0
    assert tomllib.loads(target.read_text())["data"]["missing_sensitive"] == "category"
    data, _ = read_config(str(target)).read_data()
    assert (data.n_rows, data.n_queries) == (24, 4)
    assert data.attribute("seller_type").categories == ("own", "third party", "(missing)")


def test_what_no_column_looks_like_is_left_to_say(tmp_path):
    path = tmp_path / "d.csv"
    path.write_text('a "b",x\n1,2\n3,4\n')
    done = run(tmp_path / "c.toml", "--data", path)
    assert "to do: no column was recognised as relevance" in done.stdout
    values = tomllib.loads((tmp_path / "c.toml").read_text())
    assert values["data"] == {"path": "d.csv", "features": ['a "b"', "x"]}
    assert values["split"]["by"] == "item"
    assert "sensitive" not in values["data"]
    assert "file not found" in run(tmp_path / "e.toml", "--data", tmp_path / "none.csv").stderr


def test_letor_needs_no_columns(tmp_path):
    (tmp_path / "d.txt").write_text("1 qid:1 1:2 2:3\n0 qid:2 1:1 2:4\n")
    assert run(tmp_path / "c.toml", "--data", tmp_path / "d.txt").exit_code == 0
    data, _ = read_config(str(tmp_path / "c.toml")).read_data()
    assert (data.n_rows, data.n_features) == (2, 2)


def test_the_example_is_toml_whatever_the_names(people):
    guess = guess_file(str(people))
    assert tomllib.loads(example('p"\\\n.csv', guess))["data"]["path"] == 'p"\\\n.csv'
    assert len(tomllib.loads(example("x", hiring_guess()))["metrics"]) == 6
