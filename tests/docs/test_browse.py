"""The check of the built pages in a browser finds pages that scroll sideways."""

import sys
from importlib import import_module
from pathlib import Path

import pytest
from chromium import needs_chromium, new_page, opened

sys.path.insert(0, str(Path(__file__).parents[2] / ".ci"))
browse = import_module("browse")

PAGE = '<!doctype html><body style="margin:0">{}</body>'
#: The theme hides what is too wide and lets the text scroll as a whole.
HIDDEN = "<style>html {{overflow: hidden}}</style>"
THEME = HIDDEN + '<div class="content" style="overflow:auto">{}</div>'
WIDE = '<pre style="width:900px">x</pre>'
INSIDE = f'<div style="overflow-x:auto">{WIDE}</div>'


@needs_chromium
@pytest.mark.gate
def test_pages_that_scroll_sideways_are_named(browser, tmp_path):
    pages = {"wide": WIDE, "inside": INSIDE, "text": THEME.format(WIDE), "fits": "x"}
    pages["text_inside"] = THEME.format(INSIDE)
    for name, body in pages.items():
        (tmp_path / f"{name}.html").write_text(PAGE.format(body), encoding="utf-8")
    with browse.serving(str(tmp_path)) as base, opened(browser) as context:
        found = list(browse.wide_pages(new_page(context), base, str(tmp_path)))
    assert [line.split(" is ")[0] for line in found] == ["text.html", "wide.html"]
    assert "900px" in found[0]


def test_without_a_browser_the_reason_is_stated(tmp_path, monkeypatch):
    monkeypatch.delenv("EQUIRANK_CHROMIUM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LookupError, match=r"no Chromium on PATH|playwright is not installed"):
        browse.browsing().__enter__()
