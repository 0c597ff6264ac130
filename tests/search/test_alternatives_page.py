"""The page of a search: complete, escaped, and working in a browser."""

import json
import re

import pytest
from alternative_methods import METRICS, RULE, data
from chromium import drawn, heard, needs_chromium, new_page, opened, painted
from comparison_methods import Failing, Weights

from equirank.search import Family, search_alternatives
from equirank.search.alternatives_page import render

pytest.importorskip("jinja2")
pytest.importorskip("altair")

HOSTILE = "<script>window.hacked = 1</script>\"'&\u2028"


@pytest.fixture(scope="module")
def result():
    families = {
        HOSTILE: Family(Weights(), {"noise": {"low": 0.0, "high": 0.5}}),
        "broken": Family(Failing(), weight=0.3),
    }
    return search_alternatives(families, data(), METRICS, RULE, n_trials=12, title=HOSTILE)


@pytest.mark.slow
def test_everything_is_on_the_page_and_in_the_files(result, tmp_path):
    result.save(tmp_path)
    text = (tmp_path / "report.html").read_text()
    assert "<script>window.hacked" not in text
    words = re.sub(r"<script.*?</script>", "", text, flags=re.S)
    for part in ("verdict", "certified", "certificate", "tried", "failed", "how"):
        assert f'id="{part}"' in words
    assert words.count('class="plot"') == 1
    assert words.count("&lt;b&gt;broke&lt;/b&gt;") == result.n_failed > 0
    for row in result.candidates[1:]:
        assert re.search(rf" {row['trial']}</bdi>", words)
    lines = (tmp_path / "candidates.csv").read_text().split("\n")
    assert len(lines) == len(result.candidates) + 2
    stored = json.loads((tmp_path / "alternatives.json").read_text())
    assert len(stored["candidates"]) == len(result.candidates)
    assert stored["chosen"] == result.chosen["name"]


@pytest.mark.gate
@needs_chromium
def test_in_a_browser(browser, result, tmp_path):
    (tmp_path / "report.html").write_text(render(result))
    for width in (1280, 390):
        with opened(browser, viewport={"width": width, "height": 900}) as context:
            said, asked = heard(context)
            page = new_page(context)
            page.goto((tmp_path / "report.html").as_uri())
            drawn(page).click("#rest > summary")
            assert painted(page).locator(".plot svg").count() == 1
            assert page.evaluate("document.documentElement.scrollWidth") == width
            assert page.evaluate("window.hacked") is None
            assert said == []
            assert len(asked) == 1
            with page.expect_download() as caught:
                page.click("[data-csv=candidates]")
            assert caught.value.suggested_filename == "candidates.csv"
