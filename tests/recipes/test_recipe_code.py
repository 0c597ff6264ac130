"""The code of a recipe: any text in it stays text, in Python, on a command line and in TOML."""

import shlex
import shutil
import subprocess
import tomllib
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from equirank.core.errors import DataError, FormatError
from equirank.recipes.config_example import example as example_config
from equirank.recipes.config_example import hiring_guess
from equirank.recipes.recipe import Recipe, read_recipe
from equirank.recipes.recipe_code import recipe_code
from equirank.recipes.toml_text import shell_line
from equirank.studio.workspace import Workspace

#: What ends a line somewhere, ends a text, states an encoding, or is no character.
HOSTILE = [
    *"\n\r\t\v\f\x1c\x1d\x1e\x85\u2028\u2029\0\x1b\x7f\xa0\u202e\"'`$!#;&|()\\{}",
    *("'''", '"""', "\\N{DIGIT ONE}", "\r\n", "\nboom()\n", "%s", "--out", "$(boom)"),
    *("coding=utf-7 +AAo-boom()+AAo-", "\ud800", "\udcff", "é", "語"),
]
TEXTS = st.lists(st.sampled_from(HOSTILE) | st.characters(), min_size=1, max_size=6).map("".join)
ROLES = ("name", "other", "score", "query", "sex", "label", "word", "title", "purpose", "metric")


class Stub:
    """What the code imports: every call is recorded, and nothing else happens."""

    def __init__(self, name, calls):
        self.__dict__.update(stub_name=name, calls=calls)

    def __getattr__(self, name):
        return Stub(f"{self.stub_name}.{name}", self.calls)

    def __call__(self, *given, **named):
        self.calls.append((self.stub_name, given, tuple(named.items())))
        return Stub(f"{self.stub_name}()", self.calls)

    def __neg__(self):
        return Stub(f"-{self.stub_name}", self.calls)

    def __eq__(self, other):
        return isinstance(other, Stub) and other.stub_name == self.stub_name

    __hash__ = None


def calls_of(code):
    """Return the calls of a file of code, which can reach nothing but what it imports."""
    calls = []

    def imported(name, *rest):
        assert name in ("equirank", "equirank.io", "equirank.rerankers", "dataclasses", "numpy")
        return Stub(name.rpartition(".")[2], calls)

    exec(compile(code.encode(), "code.py", "exec"), {"__builtins__": {"__import__": imported}})
    return calls


def recipe_of(name, other, score, query, sex, label, word, title, purpose, metric):
    remedy = {"method": "PrefixConstraints", "by": sex, "k": 3, "lower": {label: 0.5}}
    fair = {"method": "FAStarIR", "by": sex, "protected": [label], "kept": True}
    return Recipe.from_dict({
        "data": {
            "name": name, "score": score, "query": query, "sensitive": [sex], "delimiter": ";",
            "higher_first": False, "labels": {sex: {label: word}}, "bands": {sex: [1, 2.5]},
        },
        "against": {"name": other, "score": score},
        "shown": {f"{sex}={label}": word},
        "audit": {"title": title, "purpose": purpose, "metrics": [metric],
                  "protected": [f"{sex}={label}"]},
        "remedy": [remedy, fair],
    })  # fmt: skip


def with_texts(value, texts):
    """Return recorded calls with other texts in place of plain ones."""
    if isinstance(value, dict):
        return {with_texts(key, texts): with_texts(each, texts) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(with_texts(each, texts) for each in value)
    if isinstance(value, str) and value not in texts:
        head, sign, tail = value.partition("=")
        ending = ", re-ranked: at least a share"
        if sign and head in texts and tail in texts:
            return f"{texts[head]}={texts[tail]}"
        return texts[value[: -len(ending)]] + ending if value.endswith(ending) else value
    return texts[value] if isinstance(value, str) else value


def lone(text):
    """Return whether a text has a lone surrogate, which no file can hold."""
    return any("\ud800" <= sign <= "\udfff" for sign in text)


def refused(texts):
    """Return whether a recipe must not have these texts: lone surrogates, and paths as names."""
    names = [texts["name"], texts["other"]]
    return any(map(lone, texts.values())) or any(
        {*text} & {*"/\\\0"} or text in (".", "..") for text in names
    )


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.fixed_dictionaries(dict.fromkeys(ROLES, TEXTS)))
@example(dict.fromkeys(ROLES, "x") | {"name": "a\nboom()\n#.csv"})
@example(dict.fromkeys(ROLES, "x") | {"name": "coding=utf-7 +AAo-boom()+AAo-.csv"})
def test_any_text_stays_text_in_the_code_and_in_toml(texts):
    if refused(texts):
        with pytest.raises(FormatError):
            recipe_of(**texts)
        return
    recipe = recipe_of(**texts)
    code = recipe_code(recipe)
    plain = {role: f"<{role}>" for role in ROLES}
    expected = calls_of(recipe_code(recipe_of(**plain)))
    assert len(expected) == 15
    assert calls_of(code) == with_texts(expected, {plain[role]: texts[role] for role in ROLES})
    assert tomllib.loads(recipe.to_toml().encode().decode())["shown"] == dict(recipe.shown)
    assert read_recipe(recipe.to_toml().encode()) == recipe
    first, command = code.split("\n")[:2]
    assert first == "# coding: utf-8"
    assert command.isprintable()
    if texts["name"].isprintable() and texts["other"].isprintable():
        words = ["run", "recipe.toml", "--data", texts["name"], "--against", texts["other"]]
        assert shlex.split(command[2:]) == ["equirank", *words, "--out", "result"]


@settings(max_examples=50, deadline=None)
@given(st.lists(TEXTS.filter(lambda text: not lone(text)), min_size=5, max_size=5, unique=True))
def test_any_text_stays_text_in_an_example_configuration(names):
    query, target, sex, feature, other = names
    guess = replace(
        hiring_guess(), query=query, relevance=target, sensitive=(sex,), features=(feature,),
        left=(other,), missing=True,
    )  # fmt: skip
    config = tomllib.loads(example_config(other, guess, {"delimiter": target}))
    data = config["data"]
    assert data["path"] == other
    assert [data[key] for key in ("query", "relevance", "delimiter")] == [query, target, target]
    assert (data["sensitive"], data["features"]) == ([sex], [feature])
    assert config["models"][-1]["rerank"]["params"] == {"by": sex}


def test_a_name_that_is_no_text_is_refused_in_words():
    with pytest.raises(DataError, match=r"UTF-8 can encode, got 'a\\udcff.csv'"):
        example_config("a\udcff.csv", hiring_guess())


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_a_line_for_a_shell_has_the_same_words_in_bash():
    names = [f"a{sign}b" for sign in HOSTILE if sign not in ("\0", "\ud800")] + ["", "\n", "a\n1"]
    line = shell_line(*names)
    assert line.isprintable()
    done = subprocess.run(["bash", "-c", f"printf '%s\\0' {line}"], capture_output=True, check=True)
    assert done.stdout.split(b"\0")[:-1] == [
        name.encode("utf-8", "surrogateescape") for name in names
    ]


def test_a_file_whose_name_has_a_line_break_runs_nothing_in_the_download():
    workspace = Workspace()
    name = 'people\nopen("owned", "w")\n#.csv'
    state = workspace.load_file(name, b"list,sex,score\n" + b"1,f,2\n1,m,3\n" * 9)
    assert state["file"]["name"] == name
    code = workspace.download("code").content.decode()
    calls = calls_of(code)
    assert [call[0] for call in calls] == [
        "io.read_file",
        "equirank.audit",
        "equirank.audit().to_html",
    ]
    assert calls[0][1] == (name,)


@pytest.mark.parametrize(
    ("remedy", "words"),
    [
        ({"method": "RooneyRule", "count=1)(open('x'))#": 1}, "is not a known key"),
        ({"method": "RooneyRule\nimport os"}, "method: must be one of"),
        ({"method": "FAStarIR", "p": float("inf")}, "p: must be a finite number, got inf"),
    ],
)
def test_no_name_of_a_method_or_parameter_reaches_the_code_unchecked(remedy, words):
    with pytest.raises(FormatError, match=words):
        Recipe.from_dict({"remedy": [remedy]})
