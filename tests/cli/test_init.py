"""``equirank init``: a configuration that works at once, or guessed from a file."""

import csv
import random
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


@pytest.fixture
def market(tmp_path):
    """Rows of a marketplace: string ids, text columns and missing values; and a writer."""
    rng = random.Random(0)
    rows = []
    for search in range(30):
        for place, item in enumerate(rng.sample(range(200), 8)):
            rows.append(
                {
                    "search_uuid": f"s-{search * 7919:05x}",
                    "search_text": f"find {search}",
                    "device": ["phone", "desktop"][search % 2],
                    "product_code": f"p{item:04d}",
                    "title": f"{rng.choice(['red', 'blue', ''])} thing {item} {search}",
                    "brand": rng.choice(["acme", "bolt", "", "core"]),
                    "seller_type": rng.choice(["own", "third party", "NA"]),
                    "seller_rating": rng.choice(["1", "2", "3", ""]),
                    "price": f"{rng.uniform(1, 99):.2f}",
                    "stock": str(rng.randrange(50)),
                    "warehouse_id": str(rng.randrange(12)),
                    "origin_group": f"o{search % 3}",
                    "label": str(int(place == 0)),
                }
            )
    path = tmp_path / "market.csv"

    def write(rows):
        with open(path, "w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
        return path

    return rows, write


def test_a_marketplace(market, tmp_path):
    rows, write = market
    random.Random(1).shuffle(rows)
    path = write(rows)
    guess = guess_file(str(path))
    assert (guess.query, guess.relevance, guess.by) == ("search_uuid", "label", "query")
    assert guess.id == "product_code"  # once in a list, again in others
    assert guess.sensitive == ("seller_type",)
    assert guess.features == (
        "device", "brand", "seller_rating", "price", "stock", "warehouse_id"
    )  # fmt: skip
    # one text per list, a text per row, and groups that do not vary inside lists
    assert guess.left == ("search_text", "title", "origin_group")
    assert guess.missing
    target = tmp_path / "c.toml"
    assert run(target, "--data", path).exit_code == 0
    assert tomllib.loads(target.read_text())["data"]["missing_sensitive"] == "category"
    data, _ = read_config(str(target)).read_data()
    assert (data.n_rows, data.n_queries) == (240, 30)
    assert data.attribute("seller_type").categories == ("own", "third party", "(missing)")


def test_lists_are_found_by_their_rows_where_no_name_tells(market):
    rows, write = market
    renamed = [
        {
            "a" if name == "search_uuid" else name: cell
            for name, cell in row.items()
            if name[:8] != "search_t"
        }
        for row in rows
    ]
    assert guess_file(str(write(renamed))).query == "a"
    random.Random(1).shuffle(renamed)
    guess = guess_file(str(write(renamed)))
    assert (guess.query, guess.by) == (None, "item")
    assert "a" in guess.features  # 30 texts: nothing tells them from categories


@pytest.mark.parametrize(
    ("name", "values", "query"),
    [
        ("query_no", [str(i // 3) for i in range(24)], True),
        ("QueryId", [f"{i // 3}.0" for i in range(24)], True),
        ("session", [f"2024-01-{1 + i // 12:02d}" for i in range(24)], True),
        ("jobKey", [str(9007199254740992 + i // 2) for i in range(24)], True),
        ("search", ["one"] * 24, False),
        ("search", [f"w{i}" for i in range(24)], False),
        ("search", [f"w{i // 3}" if i else "" for i in range(24)], False),
        ("searchlight", [f"{i * 7 % 5}" for i in range(24)], False),
        ("batch_id", [str(i // 4) for i in range(24)], True),
        ("year", [str(2000 + i // 4) for i in range(24)], False),
    ],
)
def test_a_query_column_has_any_type_and_2_to_half_as_many_values(tmp_path, name, values, query):
    path = tmp_path / "d.csv"
    rows = [f"{value},{at * 5 % 7},{at % 2}" for at, value in enumerate(values)]
    path.write_text(f"{name},x,label\n" + "\n".join(rows) + "\n")
    assert guess_file(str(path)).query == (name if query else None)


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


@pytest.mark.gate
def test_guessing_of_many_columns(tmp_path):
    count = 12_000
    path = tmp_path / "wide.csv"
    cells = [str(j) if j % 3 else "x" for j in range(count)]
    path.write_text(",".join(f"c{j}" for j in range(count)) + "\n" + (",".join(cells) + "\n") * 2)
    guess = guess_file(str(path))
    assert (len(guess.features), len(guess.left)) == (count * 2 // 3, count // 3)
