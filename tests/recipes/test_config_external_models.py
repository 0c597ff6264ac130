"""Rankers of other libraries in a configuration file."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import equirank
from equirank import EquirankWarning
from equirank.cli.app import app
from equirank.rankers import ExternalRanker
from equirank.recipes.config import read_config
from equirank.recipes.config_objects import ConfigError

CONFIG = """
metrics = ["NDCG@10"]
[data]
path = "items.csv"
query = "query"
relevance = "grade"
features = ["size", "brand"]
[split]
test = 0.25
[[models]]
name = "lgb"
class = "lightgbm.LGBMRanker"
params = { n_estimators = 4, min_child_samples = 2, lambdarank_truncation_level = 5 }
[[models]]
name = "xgb"
class = "xgboost.XGBRanker"
params = { n_estimators = 4, ndcg_exp_gain = false }
[[models]]
name = "cat"
class = "catboost.CatBoostRanker"
params = { iterations = 4 }
"""
LIBRARIES = {"lgb": "lightgbm", "xgb": "xgboost", "cat": "catboost"}


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for library in LIBRARIES.values():
        pytest.importorskip(library)
    rng = np.random.default_rng(0)
    lines = ["query,size,brand,grade"]
    for at in range(120):
        size, brand = rng.normal(), rng.integers(3)
        lines.append(
            f"q{at % 8},{size:.4f},{'abc'[brand]},{int(np.clip(round(size + brand), 0, 4))}"
        )
    (tmp_path / "items.csv").write_text("\n".join(lines) + "\n")
    path = tmp_path / "config.toml"
    path.write_text(CONFIG)
    return path


def run(*words, code=0):
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output
    return result.output


def test_models_are_made_from_a_fixed_list(config):
    made = read_config(str(config)).estimators
    assert all(isinstance(model, ExternalRanker) for model in made.values())
    assert made["lgb"].model.get_params()["lambdarank_truncation_level"] == 5
    assert made["xgb"].model.get_params()["n_estimators"] == 4
    assert made["cat"].model.get_params()["iterations"] == 4


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("lightgbm.LGBMRanker", "lightgbm.LGBMRegressor", "did you mean 'lightgbm.LGBMRanker'"),
        ("xgboost.XGBRanker", "os.system", 'class: must be the name of a ranker, got "os.system"'),
        ("n_estimators = 4, ndcg", "n_estimatrs = 4, ndcg", "did you mean 'n_estimators'"),
        ("min_child_samples", "min_child_sampls", "LGBMRanker has no parameter 'min_child_sampls'"),
        ("iterations", "iteration", "CatBoostRanker has no parameter 'iteration'"),
    ],
)
def test_mistakes_are_named(config, old, new, said):
    config.write_text(CONFIG.replace(old, new, 1))
    with pytest.raises(ConfigError) as caught:
        read_config(str(config))
    assert said in str(caught.value)


def test_seeds_of_every_spelling_have_no_effect(config):
    config.write_text(CONFIG.replace("iterations = 4", "iterations = 4, random_seed = 3"))
    with pytest.warns(EquirankWarning, match=r"params\.random_seed: 3 has no effect"):
        read_config(str(config))


@pytest.mark.slow
@pytest.mark.parametrize("name", LIBRARIES)
def test_train_and_predict(config, name):
    shown = run("train", "config.toml", "--out", "model", "--model", name)
    kind = type(read_config(str(config)).estimators[name].model).__name__
    assert f"training {name}: {LIBRARIES[name]}.{kind}" in shown
    shown = run("predict", "model", "items.csv", "--out", "scores.csv")
    assert f"ranked with {kind}" in shown
    model = equirank.load("model")
    assert {0} & {model.model.get_params().get(word) for word in ("random_state", "random_seed")}
    assert sorted(path.name for path in config.parent.iterdir()) == [
        "config.toml", "items.csv", "model", "scores.csv",
    ]  # fmt: skip
    card = config.parent / "model" / "card.html"
    if card.exists():  # with the extra report
        assert kind in card.read_text()
        assert "ExternalRanker" not in card.read_text()


@pytest.mark.slow
def test_compare(config):
    run("compare", "config.toml", "--n-jobs", "1", "--json", "out.json")
    found = json.loads((config.parent / "out.json").read_text())
    assert found["errors"] == []
    assert [row["method"] for row in found["summary"]] == list(LIBRARIES)


@pytest.mark.slow
@pytest.mark.parametrize("name", LIBRARIES)
def test_categories_reach_the_learner_and_new_ones_follow_the_policy(config, name):
    text = CONFIG.replace("[split]", 'encoding = "category"\nunseen = "missing"\n[split]')
    config.write_text(text)
    run("train", config, "--model", name, "--out", name, "--n-boot", 0)
    model = equirank.load(name)
    assert model.categories_ == {"brand": ["a", "b", "c"]}
    assert model.unseen_ == "missing"
    lines = config.with_name("items.csv").read_text().splitlines()
    for file, brand in (("new.csv", "z"), ("blank.csv", "")):
        row = lines[1].split(",")
        config.with_name(file).write_text("\n".join([lines[0], *lines[2:8], ",".join(
            [*row[:2], brand, row[3]])]) + "\n")  # fmt: skip
    said = run("predict", name, "new.csv", "--out", "s.csv")
    assert "feature 'brand' (1 of 7 rows, first 'z' in row 7)" in said
    run("predict", name, "blank.csv", "--out", "t.csv")
    assert config.with_name("s.csv").read_text() == config.with_name("t.csv").read_text()
    said = run("predict", name, "new.csv", "--out", "s.csv", "--unseen", "error", code=2)
    assert "new.csv: feature 'brand' must be one of the 3 values seen" in said
