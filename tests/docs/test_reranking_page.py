"""The chooser on the page of re-rankers is what the classes say."""

import importlib.util
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def extension():
    place = DOCS / "_ext" / "reranker_chooser.py"
    spec = importlib.util.spec_from_file_location("reranker_chooser", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_table_is_what_the_classes_say():
    writer = extension()
    page = writer.PAGE.read_text(encoding="utf-8")
    assert writer.with_table(page) == page, "run make generate"
    assert page.count("| `") >= 12
