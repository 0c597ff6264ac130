"""Tutorials become notebooks, and a cell that fails or warns is an error of the build."""

import json
import sys
import warnings
from importlib import import_module
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS / "_ext"))
notebooks = import_module("notebooks")
PAGES = [page for page in sorted((DOCS / "tutorials").glob("*.md")) if page.stem != "index"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorial_becomes_a_notebook(page):
    text = page.read_text(encoding="utf-8")
    made = json.loads(json.dumps(notebooks.notebook(text)))
    cells = [cell for cell in made["cells"] if cell["cell_type"] == "code"]
    assert len(cells) == text.count("```{code-cell}") > 3
    for cell in cells:
        if not cell["source"].startswith("!"):
            compile(cell["source"], page.name, "exec")
    prose = "\n".join(cell["source"] for cell in made["cells"] if cell["cell_type"] == "markdown")
    assert ":::" not in prose
    assert "```{" not in prose
    assert ".md)" not in prose
    assert len({cell["id"] for cell in made["cells"]}) == len(made["cells"])


def test_every_tutorial_is_listed_and_linked():
    index = (DOCS / "tutorials" / "index.md").read_text(encoding="utf-8")
    for page in PAGES:
        assert f"({page.name})" in index
        assert f"\n{page.stem}\n" in index


def test_cells_share_names_and_show_the_last_value():
    session = notebooks.Session()
    assert session.run("x = 2\nprint(x)") == ("2\n", None, "")
    assert session.run("x + 1") == ("", 3, "")


def test_cells_write_into_a_folder_of_their_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    session = notebooks.Session()
    session.run("open('a.txt', 'w').close()")
    printed, _, _ = session.run("import os; print(os.path.abspath('a.txt'))")
    assert printed == "a.txt\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("code", ["1 / 0", "import warnings; warnings.warn('x')", "!equirank --x"])
def test_errors_warnings_and_failed_commands_are_errors(code):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as outside of pytest
        _, _, error = notebooks.Session().run(code)
    assert error


def test_commands_print_their_output():
    printed, _, error = notebooks.Session().run("!equirank --version")
    assert (error, printed.startswith("equirank")) == ("", True)
