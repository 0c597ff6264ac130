"""``equirank predict``: a trained model applied to another file."""

import csv
import gzip
import json
import os

import numpy as np
import pytest

import equirank
from equirank.recipes.config import read_config

from .test_train import CONFIG, HEADER, done, fails, people, rows_of, run, work, write

pytestmark = pytest.mark.slow

__all__ = ["work"]  # the fixture, for this file


def predicted(work, rows, header=HEADER, model="boost", *words):
    path = write(work / "new.csv", rows, header)
    out = work / "scores.csv"
    said = done("predict", work / model, path, "--out", out, *words)
    return rows_of(out), said


def test_scores_in_the_order_of_the_file(work):
    found, said = predicted(work, people())
    data, _ = read_config(str(work / "c.toml")).read_data()
    model = equirank.load(work / "boost")
    assert list(found[0]) == ["query", "id", "score", "position"]
    assert [row["id"] for row in found] == [f"p{at}" for at in range(72)]
    assert [float(row["score"]) for row in found] == model.predict(data).tolist()
    places = data.to_original(model.rank(data).position).tolist()
    assert [int(row["position"]) for row in found] == places
    assert "ignored columns, unknown to the model: remark" in said
    assert said.splitlines()[-1] == ("to audit the result: add --keep sex, then equirank audit")


def test_columns_are_matched_by_name(work):
    rows = people(seed=5)
    expected, _ = predicted(work, rows)
    order = [5, 2, 4, 7, 0, 3, 1]  # relevance left out as well
    shuffled = [[row[at] for at in order] for row in rows]
    found, said = predicted(work, shuffled, [HEADER[at] for at in order], "boost", "--keep", "sex")
    assert [row.pop("sex") for row in found] == [row[2] for row in rows]
    assert found == expected
    assert said.splitlines()[-1].startswith("next: equirank audit ")
    assert "--query query --sensitive sex" in said


def test_one_category_alone_is_coded_as_in_training(work):
    rows = people(seed=6)
    every, _ = predicted(work, rows)
    rent = [row for row in rows if row[4] == "rent"]
    some, _ = predicted(work, rent)
    score = {row["id"]: row["score"] for row in every}
    assert {row["id"]: row["score"] for row in some} == {row[1]: score[row[1]] for row in rent}


@pytest.mark.slow
def test_one_group_alone_is_coded_as_in_training(work, tmp_path):
    path = tmp_path / "c.toml"
    protect = (
        '{ class = "FAStarIR", params = { p = 0.5, protected = "f", on_infeasible = "best" } }'
    )
    text = CONFIG.replace('"DetGreedy"', protect).replace("people.csv", f"{work}/people.csv")
    path.write_text(text)
    model = tmp_path / "m"
    done("train", path, "--out", model, "--model", "balanced", "--n-boot", 0)
    men = write(tmp_path / "men.csv", [row for row in people() if row[2] == "m"])
    result = run("predict", model, men, "--out", tmp_path / "s.csv")
    assert result.exit_code == 0, result.output
    assert "closest ranking" not in result.stderr  # a list has no bound of a group that it lacks


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("home", "house"), "must have a column 'home', which the model was trained with"),
        (("query", "vacancy"), "must have a column 'query' of lists; --query names another"),
    ],
)  # fmt: skip
def test_a_column_that_lacks(work, change, said):
    header = [change[1] if name == change[0] else name for name in HEADER]
    path = write(work / "new.csv", people(), header)
    line = fails("predict", work / "boost", path, "--out", work / "s.csv")
    assert line.startswith(f"{path}: {said}")
    if change[0] == "query":
        done("predict", work / "boost", path, "--out", work / "s.csv", "--query", "vacancy")
        assert list(rows_of(work / "s.csv")[0]) == ["vacancy", "id", "score", "position"]


def test_a_misspelt_column_is_guessed(work):
    path = write(work / "new.csv", people(), [n.replace("home", "homes") for n in HEADER])
    line = fails("predict", work / "boost", path, "--out", work / "s.csv")
    assert line.endswith("did you mean 'homes'?")


def test_groups_are_needed_by_a_reranker_only(work):
    rows = [[*row[:2], *row[3:]] for row in people()]
    header = [name for name in HEADER if name != "sex"]
    predicted(work, rows, header)
    path = work / "new.csv"
    assert fails("predict", work / "balanced", path, "--out", work / "s.csv") == (
        f"{path}: must have a column 'sex', which the model needs for people's groups"
    )
    other = [[*row[:2], "x" if at == 3 else row[2], *row[3:]] for at, row in enumerate(people())]
    write(path, other)
    line = fails("predict", work / "balanced", path, "--out", work / "s.csv")
    assert "column 'sex' must be one of the 2 values seen in training ('f', 'm'), got 'x'" in line
    line = done("predict", work / "balanced", path, "--out", work / "s.csv", "--unseen", "missing")
    assert "column 'sex' (1 of 72 rows, first 'x' in row 4)" in line


def test_a_new_category(work):
    rows = people()
    rows[7][4] = "ownn"
    path = write(work / "new.csv", rows)
    assert fails("predict", work / "boost", path, "--out", work / "s.csv") == (
        f"{path}: feature 'home' must be one of the 3 values seen in training "
        "('other', 'own', 'rent'), got 'ownn' in row 8 (unseen in 1 of 72 rows); --unseen missing "
        "takes them as missing; did you mean 'own'?"
    )


def test_text_where_numbers_were(work):
    rows = people()
    rows[7][3] = "old"
    path = write(work / "new.csv", rows)
    assert fails("predict", work / "boost", path, "--out", work / "s.csv") == (
        f"{path}: feature 'age' must contain numbers, as in training, got 'old'"
    )


@pytest.mark.slow
def test_formats_of_the_output(work, tmp_path):
    import pyarrow.parquet

    source = work / "people.csv"
    for name in ("s.csv", "s.tsv.gz", "s.json", "s.parquet"):
        done("predict", work / "boost", source, "--out", tmp_path / name)
    expected = rows_of(tmp_path / "s.csv")
    with gzip.open(tmp_path / "s.tsv.gz", "rt") as file:
        assert list(csv.DictReader(file, delimiter="\t")) == expected
    stored = pyarrow.parquet.read_table(tmp_path / "s.parquet").to_pylist()
    assert stored == json.loads((tmp_path / "s.json").read_text())
    assert [{k: str(v) for k, v in row.items()} for row in stored] == expected
    assert sorted(os.listdir(tmp_path)) == ["s.csv", "s.json", "s.parquet", "s.tsv.gz"]
    line = fails("predict", work / "boost", source, "--out", tmp_path / "s.xls")
    assert line.startswith("--out must end in .csv")
    line = fails("predict", work / "boost", source, "--out", source)
    assert line.startswith("--out must not be an input")
    line = fails("predict", work / "boost", source, "--out", tmp_path / "none" / "s.csv")
    assert "must be in an existing folder" in line


def test_the_top_of_each_list(work):
    found, said = predicted(work, people(), HEADER, "boost", "--top", "2")
    everybody, _ = predicted(work, people())
    assert found == [row for row in everybody if int(row["position"]) <= 2]
    assert f"{len(found)} rows" in said


def test_json_of_predict(work):
    out = work / "s.csv"
    said = json.loads(done("predict", work / "boost", work / "people.csv", "--out", out, "--json"))
    assert said["rows"] == said["written"] == 72
    assert said["class"] == "RankBoost"


def test_a_folder_that_is_not_of_train(work, tmp_path):
    equirank.load(work / "boost").save(tmp_path / "plain")
    words = ["predict", tmp_path / "plain", work / "people.csv", "--out", tmp_path / "s.csv"]
    assert "was not written by equirank train" in fails(*words)
    words[1] = tmp_path / "nothing"
    assert "is not a saved model" in fails(*words)


@pytest.mark.slow
def test_letor_by_the_numbers_of_the_features(work, tmp_path):
    rng = np.random.default_rng(0)
    lines = [
        f"{rng.integers(3)} qid:{at // 6} 1:{rng.normal():.3f} 2:{rng.integers(2)} 4:{at % 5}"
        for at in range(48)
    ]
    (tmp_path / "d.txt").write_text("\n".join(lines) + "\n")
    (tmp_path / "c.toml").write_text(
        '[data]\npath = "d.txt"\nsensitive = ["2"]\n'
        '[[models]]\nclass = "RankBoost"\nparams = { n_estimators = 3 }\nrerank = "DetGreedy"\n'
    )
    done("train", tmp_path / "c.toml", "--out", tmp_path / "m", "--n-boot", 0)
    assert equirank.load(tmp_path / "m").feature_names_in_.tolist() == ["1", "3", "4"]
    (tmp_path / "new.txt").write_text("0 qid:7 1:0.5 2:1\n0 qid:7 1:-0.5\n")
    done("predict", tmp_path / "m", tmp_path / "new.txt", "--out", tmp_path / "s.csv")
    assert [row["qid"] for row in rows_of(tmp_path / "s.csv")] == ["7", "7"]
    line = fails("predict", tmp_path / "m", work / "people.csv", "--out", tmp_path / "s.csv")
    assert "must be letor, as in training" in line


@pytest.mark.slow
def test_parquet_gives_the_same_model_as_csv(work, tmp_path):
    pandas = pytest.importorskip("pandas")
    pandas.read_csv(work / "people.csv").to_parquet(tmp_path / "people.parquet")
    (tmp_path / "c.toml").write_text(CONFIG.replace("people.csv", "people.parquet"))
    done("train", tmp_path / "c.toml", "--out", tmp_path / "m", "--n-boot", 0)
    done("predict", tmp_path / "m", tmp_path / "people.parquet", "--out", tmp_path / "a.csv")
    done("predict", work / "boost", work / "people.csv", "--out", tmp_path / "b.csv")
    assert rows_of(tmp_path / "a.csv") == rows_of(tmp_path / "b.csv")
