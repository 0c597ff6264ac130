"""Tutorials become notebooks, and a cell that fails or warns is an error of the build."""

import json
import sys
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


@pytest.fixture(scope="module")
def session():
    pytest.importorskip("altair")
    session = notebooks.Session()
    yield session
    notebooks.end(session.process, session.folder)
    assert not Path(session.folder).exists()


@pytest.mark.gate
def test_cells_share_names_and_show_the_last_value(session):
    nothing = {"printed": "", "value": "", "html": "", "error": ""}
    assert session.run("x = 2\nprint(x)") == nothing | {"printed": "2\n"}
    assert session.run("import os; os.system('echo compiled')\nNone") == nothing
    assert session.run("x + 1") == nothing | {"value": "3"}
    assert session.run("class A:\n    def _repr_html_(self):\n        return '<b>'\nA()")["html"]


@pytest.mark.gate
def test_cells_write_into_a_folder_of_their_own(session):
    session.run("open('a.txt', 'w').close()")
    assert session.run("import os; print(os.path.abspath('a.txt'))")["printed"] == "a.txt\n"
    assert Path(session.folder, "a.txt").exists()


@pytest.mark.gate
@pytest.mark.parametrize("code", ["1 / 0", "import warnings; warnings.warn('x')", "!equirank --x"])
def test_errors_warnings_and_failed_commands_are_errors(session, code):
    assert session.run(code)["error"]


@pytest.mark.gate
def test_commands_print_their_output(session):
    done = session.run("!equirank --version")
    assert (done["error"], done["printed"].startswith("equirank")) == ("", True)


@pytest.mark.gate
def test_a_process_that_ends_is_an_error():
    pytest.importorskip("altair")
    session = notebooks.Session()
    with pytest.raises(RuntimeError, match="ended in the cell"):
        session.run("import os; os._exit(3)")
    notebooks.end(session.process, session.folder)


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (["a" * 45, "b"], ["letters-50"]),
        (["a" * 60, "b"], ["letters-60"]),
        (["a" * 61, "b"], ["letters-70"]),
        (["a" * 61], []),  # one line wraps
        (["a" * 40, "b"], []),  # fits as it is
        (["a" * 81, "b"], []),  # prose wraps
    ],
)
def test_outputs_of_several_lines_may_shrink_to_keep_their_columns(lines, found):
    style = (DOCS / "_static" / "pages.css").read_text(encoding="utf-8")
    assert notebooks.letters_class("\n".join(lines)) == found
    assert all(f".{name} {{" in style for name in found)
