"""Every kind of page in a browser: accessible, one design, narrow windows and paper."""

import re

import pytest
from alternative_methods import METRICS as ALTERNATIVE_METRICS
from alternative_methods import RULE
from alternative_methods import data as alternative_data
from chromium import launched, needs_chromium
from comparison_methods import METRICS, Failing, Weights, small_data
from sample_audit import sample_audit
from sample_card import make

from equirank import as_ranking_data, audit, compare, explain_person, remedy
from equirank.auditing import audit_page
from equirank.comparison import comparison_page
from equirank.datasets import load_hiring
from equirank.reports import reproduction_page
from equirank.search import Family, alternatives_page, remedies_page, search_alternatives

pytest.importorskip("jinja2")
pytest.importorskip("altair")
pytestmark = [pytest.mark.slow, needs_chromium]

#: Most pages of paper for an audit of two attributes.
MOST_PAGES = 12
HEADING = {"purpose": "a test", "date": "2026-07-31"}


def compared():
    methods = {"plain": Weights(), "noisy": Weights(noise=3.0), "broken": Failing()}
    metrics = [*METRICS, 'ExposureGap(by="group")']
    return comparison_page.render(compare(methods, small_data(), metrics, cv=2, **HEADING))


def found_remedies():
    scores, sex = [8, 7, 6, 5, 4, 3, 2, 1], list("mmmmffff")
    target = "sex=f selected at 4 >= 0.8"
    found = remedy(score=scores, sensitive={"sex": sex}, target=target, **HEADING)
    return remedies_page.render(found)


def alternatives():
    families = {"weights": Family(Weights(), {"noise": {"low": 0.0, "high": 0.5}})}
    data, metrics = alternative_data(), ALTERNATIVE_METRICS
    found = search_alternatives(families, data, metrics, RULE, n_trials=4, **HEADING)
    return alternatives_page.render(found)


def person():
    data = as_ranking_data(score=[3.0, 2.0, 1.0], ids=["a", "b", "c"])
    return explain_person(data, "b", k=1, **HEADING).to_html()


def reproduction():
    row = {"claim": "a < b", "published": "1", "ours": "2", "verdict": "contradicted", "note": ""}
    results = {
        "name": "study",
        "version": "1",
        "quick": True,
        "verdicts": [row],
        "remarks": ["No."],
    }
    parts = {"first": {"seeds": 2, "seconds": 1.5, "version": "1", "began": "2026-01-01 10:00"}}
    return reproduction_page.render(
        results | {"parts": parts}, {}, title="A study", date="2026-07-31"
    )


PAGES = {
    "audit": lambda: audit_page.render(sample_audit(against=False)),
    "re-ranking": lambda: audit_page.render(sample_audit()),
    "comparison": compared,
    "remedies": found_remedies,
    "alternatives": alternatives,
    "card": lambda: make().to_html(),
    "person": person,
    "reproduction": reproduction,
}


@pytest.fixture(scope="module")
def browser():
    with launched() as browser:
        yield browser


@pytest.fixture(scope="module", params=PAGES)
def file(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("pages") / "page.html"
    path.write_text(PAGES[request.param](), encoding="utf-8")
    return path


def opened(browser, file, **options):
    page = browser.new_context(**options).new_page()
    page.goto(file.as_uri())
    page.wait_for_selector("html[data-drawn=all]", state="attached")
    return page


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_is_accessible(browser, file, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    page = opened(browser, file, color_scheme=scheme, viewport={"width": 1400, "height": 900})
    page.evaluate("document.querySelectorAll('details').forEach((box) => (box.open = true))")
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    found = axe.run(page).response["violations"]
    told = [(one["id"], [node["html"][:160] for node in one["nodes"][:3]]) for one in found]
    page.context.close()
    assert told == []


def test_title_date_largest_statement_and_picture_come_first(browser, file):
    page = opened(browser, file, viewport={"width": 1400, "height": 900})
    shown = ["h1", ".heading", "main section:first-of-type p, main section:first-of-type li"]
    shown += ["section.verdict .plot svg"] if page.locator(".plot").count() else []
    for selector in shown:
        box = page.locator(selector).first.bounding_box()
        assert box["y"] + min(box["height"], 60) < 900, selector
    assert page.get_attribute("#rest", "open") is None
    assert page.locator("#rest > summary").is_visible()
    assert not page.locator("#provenance").is_visible()
    page.context.close()


def test_nothing_is_wider_than_a_narrow_window(browser, file):
    page = opened(browser, file, viewport={"width": 390, "height": 800})
    page.evaluate("document.querySelectorAll('details').forEach((box) => (box.open = true))")
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert "could not be drawn" not in page.inner_text("main")
    # a table that is cut shows it by a shadow at its side
    for box in page.locator(".scroll").all():
        assert "gradient" in box.evaluate("(box) => getComputedStyle(box).backgroundImage")
    page.context.close()


def test_texts_of_charts_do_not_overlap_in_a_narrow_window(browser, file):
    page = opened(browser, file, viewport={"width": 390, "height": 800})
    overlaps = page.evaluate(
        """() => [...document.querySelectorAll('section.verdict .plot svg')].flatMap((svg) => {
            const texts = [...svg.querySelectorAll('.mark-text.role-mark text')]
                .filter((text) => text.textContent)
                .map((text) => [text.textContent, text.getBoundingClientRect()]);
            return texts.flatMap(([a, p], i) => texts.slice(i + 1).filter(([b, q]) =>
                Math.min(p.right, q.right) - Math.max(p.left, q.left) > 3 &&
                Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top) > 4)
                .map(([b]) => [a, b]));
        })"""
    )
    page.context.close()
    assert overlaps == []


def test_an_audit_of_two_attributes_fits_on_few_pages(browser, tmp_path):
    result = audit(load_hiring(), n_boot=100, n_permutations=199, **HEADING)
    assert [each["name"] for each in result.facts["attributes"]][:2] == ["sex", "age_group"]
    result.to_html(tmp_path / "audit.html")
    page = opened(browser, tmp_path / "audit.html", viewport={"width": 1400, "height": 900})
    paper = page.pdf(format="A4")
    assert len(re.findall(rb"/Type\s*/Page\b(?!s)", paper)) <= MOST_PAGES
    page.emulate_media(media="print")
    heading = page.evaluate(
        "getComputedStyle(document.querySelector('#rest > summary'), '::before').content"
    )
    assert "Appendix" in heading
    page.context.close()
