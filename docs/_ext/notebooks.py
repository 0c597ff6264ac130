"""Run the cells of the tutorials while their pages are built, and write each as a notebook.

A tutorial is a Markdown file with blocks ``{code-cell}``, the format of jupytext and MyST-NB. The
cells of a page run in order, in one process, which is not a fork of the build: OpenMP does not
survive one. They start in an empty folder. A cell that raises or warns ends the build; the tag
``raises-exception`` allows it.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import traceback
import warnings
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any
from weakref import finalize

import gallery_charts

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx
    from sphinx.util.docutils import SphinxDirective

FOLDER = "tutorials/"
CELL = re.compile(r"^```\{code-cell\}[^\n]*\n(?::[^\n]*\n)*(?P<code>.*?)^```$", re.M | re.S)
FRONT = re.compile(r"\A---\n.*?\n---\n", re.S)


def code_cell_directive() -> type[SphinxDirective]:
    """Return the directive of a cell: its code, what it prints, and the value of its last line."""
    from docutils import nodes
    from docutils.parsers.rst import directives
    from sphinx.util.docutils import SphinxDirective

    def output(text: str) -> nodes.Node:
        classes = ["cell-output", *letters_class(text)]
        return nodes.literal_block(text, text, language="text", classes=classes)

    class CodeCell(SphinxDirective):
        has_content = True
        optional_arguments = 1
        option_spec = {"tags": directives.unchanged}  # noqa: RUF012

        def run(self) -> list[nodes.Node]:
            """Return the code and the output of a cell as nodes."""
            code = "\n".join(self.content)
            document = self.env.current_document
            if "session" not in document:
                document["session"] = Session()
            done = document["session"].run(code)
            error = done["error"]
            if error and "raises-exception" not in self.options.get("tags", ""):
                raise self.error(f"a cell failed:\n{code}\n\n{error}")
            language = "sh" if code.startswith("!") else "python"
            parts = [nodes.literal_block(code, code, language=language)]
            printed = (done["printed"] + error.rpartition("\n")[2]).rstrip("\n")
            parts += [output(text) for text in (printed, done["value"]) if text]
            if done["html"]:
                html = f'<div class="cell-output">{done["html"]}</div>'
                parts.append(nodes.raw("", html, format="html"))
            return parts

    return CodeCell


def letters_class(text: str) -> list[str]:
    """Return the class of an output of several lines that may shrink to keep its columns."""
    lines = text.splitlines()
    longest = max(map(len, lines), default=0)
    up = -(-longest // 10) * 10
    return [f"letters-{up}"] if len(lines) > 1 and 50 <= up <= 80 else []


class Session:
    """A Python process that runs the cells of one page, and its folder."""

    def __init__(self) -> None:
        self.folder = mkdtemp(prefix="tutorial_")
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        command = [sys.executable, str(Path(__file__).resolve())]
        self.process = subprocess.Popen(command, cwd=self.folder, text=True, **pipes)
        finalize(self, end, self.process, self.folder)

    def run(self, code: str) -> dict[str, str]:
        """Return what a cell prints, its value as text or HTML, and its error."""
        self.process.stdin.write(json.dumps(code) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the process of the page ended in the cell\n{code}")
        return json.loads(answer.replace(f"{self.folder}/", ""))


def end(process: subprocess.Popen[str], folder: str) -> None:
    """End the process of a page and remove its folder."""
    if process.returncode is None:
        process.communicate()
    rmtree(folder, ignore_errors=True)


def answer_cells() -> None:
    """Run cells from standard input, one JSON string a line, and answer each with one object."""
    gallery_charts.setup(None)
    names: dict[str, Any] = {"__name__": "__main__"}
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what compiled code prints is no answer
    for line in sys.stdin:
        answers.write(json.dumps(answer_to(json.loads(line), names)) + "\n")
        answers.flush()


def answer_to(code: str, names: dict[str, Any]) -> dict[str, str]:
    """Return what a cell prints, its value as text or HTML, and its error."""
    out, value, html, error = StringIO(), None, None, ""
    with redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            value = run_command(code) if code.startswith("!") else run_cell(code, names)
            html = getattr(value, "_repr_html_", lambda: None)()
        except Exception:  # noqa: BLE001 (the page shows it, or the build ends)
            error = traceback.format_exc().rstrip()
    text = "" if value is None or html else repr(value)
    return {"printed": out.getvalue(), "value": text, "html": html or "", "error": error}


def run_cell(code: str, names: dict[str, Any]) -> Any:
    """Run statements and return the value of the last one, if it is an expression."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), names)
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), names) if last else None


def run_command(code: str) -> None:
    """Run ``!equirank ...`` in a shell that knows this Python's command, and print its output."""
    start = f'equirank() {{ "{sys.executable}" -m equirank "$@"; }}\n'
    done = subprocess.run(
        ["sh", "-c", start + code.removeprefix("!")],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    print(done.stdout, end="")
    if done.returncode:
        raise RuntimeError(f"exit code {done.returncode}: {done.stdout}")


def notebook(text: str) -> dict[str, Any]:
    """Return a page as a Jupyter notebook, without outputs."""
    text = FRONT.sub("", text)
    cells, end = [], 0
    for match in CELL.finditer(text):
        cells += [prose_cell(text[end : match.start()]), code_cell(match["code"])]
        end = match.end()
    cells.append(prose_cell(text[end:]))
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": [cell | {"id": f"cell-{at}"} for at, cell in enumerate(cells) if cell["source"]],
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def prose_cell(text: str) -> dict[str, Any]:
    """Return a cell of Markdown: folded parts become headings, links within the site plain text."""
    text = re.sub(r"^:{3,}\{dropdown\} (.*)$", r"**\1**", text, flags=re.M)
    text = re.sub(r"^:{3,}.*$", "", text, flags=re.M)
    text = re.sub(r"\[([^\]]+)\]\((?![a-z]+://)[^)]*\)", r"\1", text)
    return {"cell_type": "markdown", "metadata": {}, "source": text.strip()}


def code_cell(text: str) -> dict[str, Any]:
    """Return a cell of code."""
    empty = {"execution_count": None, "outputs": []}
    return {"cell_type": "code", "metadata": {}, "source": text.strip()} | empty


def link_to_notebook(app: Sphinx, page: str, source: list[str]) -> None:
    """Put a link to the notebook below the title of a tutorial."""
    if page.startswith(FOLDER) and CELL.search(source[0]):
        name = f"{page.removeprefix(FOLDER)}.ipynb"
        link = f'<p><a href="{name}" download>Download this page as a Jupyter notebook</a></p>'
        block = f"\\g<0>\n```{{raw}} html\n{link}\n```\n"
        source[0] = re.sub(r"^# .*\n", block, source[0], count=1, flags=re.M)


def write_notebooks(app: Sphinx, error: Exception | None) -> None:
    """Write the notebooks beside the pages."""
    if error is None and app.builder.format == "html":
        for path in sorted(Path(app.srcdir, FOLDER).glob("*.md")):
            text = path.read_text(encoding="utf-8")
            if CELL.search(text):
                target = Path(app.outdir, FOLDER, f"{path.stem}.ipynb")
                target.write_text(json.dumps(notebook(text), indent=1), encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Hook into the build."""
    app.add_directive("code-cell", code_cell_directive())
    app.connect("source-read", link_to_notebook)
    app.connect("build-finished", write_notebooks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    answer_cells()
