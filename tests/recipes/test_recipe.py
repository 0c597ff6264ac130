"""Recipes: read, written, checked, patched, and never changed."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from equirank.core.errors import FormatError
from equirank.core.params import Number
from equirank.recipes.recipe import Recipe, merge_patch, read_recipe
from equirank.recipes.toml_text import line_of, toml_value

DOCS = Path(__file__).parents[2] / "docs" / "recipes.md"
HEAD = 'format = "equirank recipe"\nversion = 1\n'
FULL = {
    "data": {
        "name": "a b.csv",
        "sha256": "0" * 64,
        "query": "list",
        "score": "points",
        "higher_first": False,
        "sensitive": ["sex", 'odd "name"'],
        "bands": {"age": [35, 50.5]},
        "labels": {"sex": {"F": "female", "k.A.": ""}},
        "delimiter": ";",
    },
    "against": {"score": "other"},
    "shown": {"sex=female": "women"},
    "audit": {"protected": ["sex=female"], "k": [10, 5], "level": 0.9, "date": "2026-11-16"},
    "remedy": [
        {"method": "PrefixConstraints", "by": "sex", "k": 10, "lower": {"female": 0.4}},
        {"method": "RooneyRule", "protected": "female", "count": 2, "k": 10, "kept": True},
    ],
    "looked_at": {"settings": 17},
}


def test_a_recipe_is_written_and_read_back():
    recipe = Recipe.from_dict(FULL)
    text = recipe.to_toml()
    assert read_recipe(text) == recipe
    assert read_recipe(text.encode("utf-8-sig")) == recipe
    assert read_recipe(text).to_toml() == text
    assert recipe.remedy["lower"]["female"] == 0.4
    assert [each["method"] for each in recipe.kept] == ["RooneyRule"]


TEXTS = st.text(min_size=1, max_size=8).filter(lambda text: not set("/\\") & {*text})


@pytest.mark.slow
@settings(max_examples=40)
@given(
    names=st.lists(TEXTS, min_size=1, max_size=3, unique=True),
    label=TEXTS,
    share=st.floats(0, 1),
    k=st.integers(1, 10**9),
)
def test_any_text_and_number_comes_back(names, label, share, k):
    remedy = {"method": "PrefixConstraints", "k": k, "lower": {label: share}}
    tables = {"data": {"sensitive": names, "labels": {names[0]: {label: label}}}}
    recipe = Recipe.from_dict(tables | {"remedy": [remedy]})
    assert read_recipe(recipe.to_toml()) == recipe
    assert json.loads(json.dumps(recipe.to_dict())) == recipe.to_dict()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEAD + "[data]\nscores = 's'\n", "line 4: [data] scores: is not a known key"),
        (HEAD + "[data]\n\nscore = 3\n", "line 5: [data] score: must be a text, got 3"),
        (HEAD + "[dta]\n", "line 3: dta: is not a known key"),
        ('format = "x"\n', 'line 1: format: must be "equirank recipe"'),
        ('format = "equirank recipe"\nversion = 2\n', "line 2: version: must be 1, got 2; version"),
        ("[data]\n", "line 1: format is missing"),
        (HEAD + "[audit]\nk = [0]\n", "line 4: [audit] k: must be whole numbers of at least 1"),
        (HEAD + "[audit]\nlevel = 1.5\n", "line 4: [audit] level"),
        (HEAD + "[audit]\ndate = 'July'\n", "line 4: [audit] date"),
        (HEAD + "[audit]\nprofile = '../x.toml'\n", "line 4: [audit] profile"),
        (HEAD + "[data]\nname = '../a.csv'\n", "line 4: [data] name: must be the name of a file"),
        (HEAD + "[data]\nbands = { age = [50, 35] }\n", "line 4: [data] bands"),
        (HEAD + "[shown]\nwomen = 'x'\n", "line 4: [shown] women"),
        (
            HEAD + "[[remedy]]\nmethod = 'RooneyRule'\n\n[[remedy]]\nmethod = 'os.system'\n",
            "line 7: [[remedy]] method: must be one of",
        ),
        (HEAD + "[[remedy]]\nmethod = 'LambdaMART'\n", "line 4: [[remedy]] method"),
        (
            HEAD + "[[remedy]]\nmethod = 'RooneyRule'\nlower = { f = 1 }\n",
            "line 5: [[remedy]] lower: is not a known key",
        ),
        (
            HEAD + "[[remedy]]\nmethod = 'PrefixConstraints'\nlower = { f = 2.0 }\n",
            "line 5: [[remedy]] lower",
        ),
        (
            HEAD + "[[remedy]]\nmethod = 'RooneyRule'\n[[remedy]]\nmethod = 'RooneyRule'\n",
            "line 5: [[remedy]]: must be kept = true",
        ),
        (HEAD + "[looked_at]\nsettings = -1\n", "line 4: [looked_at] settings"),
        (
            HEAD + "[[remedy]]\nmethod = 'EpsilonGreedy'\nn_draws = 10_000_000\n",
            "line 5: [[remedy]] n_draws: must be at most 1, got 10,000,000",
        ),
        (
            HEAD + "[[remedy]]\nmethod = 'FAStarIR'\ntime_limit = 1e300\n",
            "line 5: [[remedy]] time_limit: must be at most 60, got 1e+300",
        ),
        (
            HEAD + "[[remedy]]\nmethod = 'EpsilonGreedy'\nrandom_state = 'x'\n",
            "line 5: [[remedy]] random_state: random_state of EpsilonGreedy must be an integer",
        ),
        (
            HEAD + "[audit]\nn_boot = 1_000_001\n",
            "line 4: [audit] n_boot: must be at most 1,000,000, got 1,000,001",
        ),
        (
            HEAD + f"[audit]\nk = {[*range(1, 102)]}\n",
            "line 4: [audit] k: must be at most 100 numbers, got 101",
        ),
        (
            HEAD + f"[audit]\nmetrics = {[f'RND@{k}' for k in range(1, 102)]}\n",
            "line 4: [audit] metrics: must be at most 100 texts, got 101",
        ),
        (
            HEAD + "[data]\nmax_groups = 301\n",
            "line 4: [data] max_groups: must be at most 300, got 301",
        ),
        (HEAD + "[data]\nmax_groups = 0\n", "[data] max_groups: must be at least 1, got 0"),
        (
            HEAD + "[data]\nbands = { age = [1, inf] }\n",
            "line 4: [data] bands.age[2]: must be a finite number, got inf",
        ),
        (HEAD + "[audit]\nlevel = nan\n", "[audit] level: must be a finite number, got nan"),
        (
            HEAD + f"[audit]\nseed = {2**63}\n",
            "line 4: [audit] seed: must be a whole number from -2^63 to 2^63 - 1",
        ),
        (
            HEAD + "[audit]\ndate = 2020-01-01\n",
            "line 4: [audit] date: must be a text, a number, true, false, an array or a table",
        ),
        (HEAD + "[data]\nname = 'a\\b'\n", "[data] name: must be the name of a file"),
        (HEAD + '[data]\nname = "a\\u0000"\n', "[data] name: must be the name of a file"),
        (HEAD + f"[shown]\na = {'[' * 9 + ']' * 9}\n", "must have at most 8 levels"),
        ("a = \n", "must be TOML"),
        ("a = " + "[" * 3000, "must be TOML"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(text, words):
    with pytest.raises(FormatError) as error:
        read_recipe(text, "my.toml")
    assert str(error.value).startswith("my.toml")
    assert words in str(error.value)


@pytest.mark.parametrize(
    "tables",
    [
        {"shown": {"sex=\ud800": "women"}},
        {"data": {"name": "\udcff.csv"}},
        {"data": {"labels": {"sex": {"f": None}}}},
        {"remedy": [{"method": "FAStarIR", "p": None}]},
        {"remedy": [{"method": "PrefixConstraints", "lower": {1: 0.5}}]},
        {"remedy": [{"method": "EpsilonGreedy", "eps": 10**400}]},
        {"audit": {"level": 10**400}},
    ],
)
def test_what_no_file_can_hold_is_refused(tables):
    with pytest.raises(FormatError, match="must be"):
        Recipe.from_dict(tables)


def test_an_integer_beyond_all_floats_is_no_number():
    assert not Number().accepts(10**400)


def test_too_large_a_text_and_other_bytes_are_refused():
    with pytest.raises(FormatError, match="at most"):
        read_recipe("#" * (1 << 20) + "\n")
    with pytest.raises(FormatError, match="UTF-8"):
        read_recipe(b"\xff\xff")


def test_a_recipe_is_immutable():
    recipe = Recipe.from_dict(FULL)
    before = recipe.to_toml()
    with pytest.raises(TypeError):
        recipe.data["score"] = "x"
    with pytest.raises(TypeError):
        recipe.remedies[0]["lower"]["female"] = 0.9
    with pytest.raises(AttributeError):
        recipe.looked_at = 3
    plain = recipe.to_dict()
    plain["data"]["sensitive"].append("x")
    changed = recipe.patched({"audit": {"k": None, "seed": 4}, "shown": None})
    assert recipe.to_toml() == before
    assert dict(changed.shown) == {}
    assert "k" not in changed.audit
    assert changed.audit["seed"] == 4


def test_a_merge_patch_follows_the_examples_of_its_standard():
    # RFC 7396, appendix A
    cases = [
        ({"a": "b"}, {"a": "c"}, {"a": "c"}),
        ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
        ({"a": "b"}, {"a": None}, {}),
        ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
        ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
        ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
        ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
        ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
        ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ]
    for target, patch, expected in cases:
        assert merge_patch(target, patch) == expected


@pytest.mark.skipif(not DOCS.is_file(), reason="the docs are not here")
def test_the_recipe_of_the_docs_is_one():
    text = re.search("```toml\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)[1]
    recipe = read_recipe(text)
    assert recipe.remedy["lower"] == {"female": 0.4}
    assert len(recipe.kept) == 1


def test_lines_of_subtables_and_of_later_entries_are_found():
    text = (
        HEAD + "[data]\nname = 'a'\n[data.labels]\nsex = {}\n[[remedy]]\nk = 1\n[[remedy]]\nk = 2"
    )
    assert line_of(text, ["data"], "labels") == 5
    assert line_of(text, ["remedy"], "k", 1) == 10
    assert line_of(text, ["remedy"], "x", 1) == 9
    assert toml_value([True, 1, 0.5, 'a"b\n\x7f']) == '[true, 1, 0.5, "a\\"b\\n\\u007f"]'
