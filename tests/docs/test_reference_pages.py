"""Every public name stands in the reference, and a class with all methods that a user calls."""

import inspect
import sys
from importlib import import_module
from pathlib import Path

import pytest

import equirank

sys.path.insert(0, str(Path(__file__).parents[2] / "docs" / "_ext"))  # where Sphinx finds them, too
reference = import_module("reference_pages")
MODULES = [equirank, *reference.public_modules(equirank)]


@pytest.fixture(scope="module")
def files():
    return reference.reference_files()


def members(page):
    return (
        next(line for line in page.splitlines() if ":members:" in line).split(": ")[1].split(", ")
    )


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_name_stands_in_the_table_of_its_module(files, module):
    page = files[f"{module.__name__}.rst"]
    for name in module.__all__:
        member = getattr(module, name)
        if callable(member) and name[0] != "_":
            assert f"`{name} <" in page
            described = f"autofunction:: {module.__name__}.{name}\n" in page
            listed = f"   {name} <{module.__name__}.{name}>" in page
            assert not (described and listed)
            assert listed <= inspect.isclass(member)


def test_the_page_of_a_ranker_has_what_it_inherits(files):
    shown = members(files["equirank.rankers.RankBoost.rst"])
    assert {"fit", "predict", "rank", "score", "save", "get_params", "explain_pair"} <= set(shown)
    assert not reference.FOR_AUTHORS & set(shown)
    assert "visible" in members(files["equirank.Ranker.rst"])


def test_methods_for_authors_exist():
    kinds = [
        getattr(module, name)
        for module in MODULES
        for name in module.__all__
        if inspect.isclass(getattr(module, name))
    ]
    lacking = {name for name in reference.FOR_AUTHORS if not any(hasattr(k, name) for k in kinds)}
    assert not lacking


def test_a_name_of_the_top_module_is_described_once(files):
    assert sum("autoclass:: " in page and ".Ranking\n" in page for page in files.values()) == 1
