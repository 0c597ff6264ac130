"""The page of a comparison: complete, escaped, and working in a browser."""

import re

import numpy as np
import pytest
from chromium import drawn, heard, needs_chromium, new_page, opened, painted
from comparison_methods import METRICS, Failing, Weights, small_data
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from equirank import as_ranking_data, compare
from equirank.comparison.comparison_page import render, verdict

HOSTILE = "<script>window.hacked = 1</script>\"'&"


@pytest.fixture(scope="module")
def result():
    methods = {
        "plain": Weights(),
        HOSTILE: make_pipeline(StandardScaler(), Ridge(alpha=12.5)),
        "noisy": Weights(noise=3.0),
        "broken": Failing(),
    }
    return compare(methods, small_data(), [*METRICS, "ExposureGap"], cv=3)


@pytest.fixture(scope="module")
def text(result):
    return render(result)


@pytest.mark.slow
def test_everything_is_there(text):
    words = re.sub(r"<script.*?</script>", "", text, flags=re.S)
    for part in (
        "verdict",
        "tradeoffs",
        "values",
        "groups",
        "tests",
        "errors",
        "parameters",
        "how",
    ):
        assert f'id="{part}"' in words
    assert words.count('class="plot"') == 2
    assert "RuntimeError: it &lt;b&gt;broke&lt;/b&gt;" in words
    assert "3 of 3 failed" in words
    assert "ridge__alpha" in words
    assert "12.5" in words
    assert "random order" in words
    assert "random sign flips" in words
    assert 'data-json="comparison.json"' in words
    for table in ("results", "summary", "tests", "groups", "errors", "parameters", "chance"):
        assert f'data-csv="{table}"' in words


@pytest.mark.slow
def test_names_are_text(text):
    assert "<script>window" not in text
    assert "&lt;script&gt;window.hacked = 1&lt;/script&gt;" in text


@pytest.mark.slow
def test_another_baseline(result):
    assert 'Paired tests against <bdi class="name">noisy</bdi>' in render(result, "noisy")


@pytest.mark.slow
def test_what_is_not_there_is_left_out():
    alone = compare({"a": Weights()}, small_data(), "NDCG@5", cv=2)
    page = render(alone)
    for part in ("tradeoffs", "groups", "tests", "errors"):
        assert f'id="{part}"' not in page
    assert "One method was compared" in page


@pytest.mark.slow
def test_sentences(result):
    said = verdict(result)
    assert said[0] == "4 methods were compared on 12 lists (144 rows): 3 folds."
    assert said[1].startswith("By NDCG@5, ")
    assert said[-1] == "broken failed in 3 of 3 cells: RuntimeError: it <b>broke</b>"
    assert any("noisy" in line and "behind the line of random mixtures" in line for line in said)
    broken = compare({"a": Failing(), "b": Failing()}, small_data(), METRICS, cv=2)
    assert "No method finished every fold" in verdict(broken)[1]
    render(broken)
    X = np.random.default_rng(0).normal(size=(40, 2))
    people = as_ranking_data(X, np.maximum(X[:, 0], 0))
    one = compare({"a": Weights()}, people, "NDCG@5", cv=0.5, by="item", seeds=[0, 1])
    assert verdict(one)[0] == (
        "One method was compared on one list (40 rows): 1 held-out part, 2 seeds."
    )
    assert "corrected resampled t-test" in render(one)


@pytest.mark.slow
@needs_chromium
def test_in_a_browser(browser, result, tmp_path):
    result.to_html(tmp_path / "report.html")
    for width in (1280, 390):
        with opened(browser, viewport={"width": width, "height": 900}) as context:
            said, asked = heard(context)
            page = new_page(context)
            page.goto((tmp_path / "report.html").as_uri())
            drawn(page).click("#rest > summary")
            assert painted(page).locator(".plot svg").count() == 2
            assert page.evaluate("document.documentElement.scrollWidth") == width
            assert page.evaluate("window.hacked") is None
            assert said == []
            assert len(asked) == 1
            with page.expect_download() as caught:
                page.click("[data-csv=results]")
            assert caught.value.suggested_filename == "results.csv"
