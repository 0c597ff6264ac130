"""Every kind of page in a browser: accessible, one design, narrow windows and paper."""

import re
from contextlib import contextmanager

import pytest
from alternative_methods import METRICS as ALTERNATIVE_METRICS
from alternative_methods import RULE
from alternative_methods import data as alternative_data
from chromium import drawn, needs_chromium, new_page, opened, painted
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


#: Two attributes, one of them crossed; the audit has three.
TWO = {
    "sex": ["f", "m"],
    "sex x age": [f"{sex} & {age}" for sex in "fm" for age in ("under 35", "older")],
}
PAGES = {
    "audit": lambda: audit_page.render(sample_audit(against=False)),
    "re-ranking": lambda: audit_page.render(sample_audit(TWO)),
    "comparison": compared,
    "remedies": found_remedies,
    "alternatives": alternatives,
    "card": lambda: make().to_html(),
    "person": person,
    "reproduction": reproduction,
}


#: Each rule in light; in dark those about colours, since nothing else differs.
RULES = {
    "light": {"resultTypes": ["violations"]},  # to list what passes takes longer than to check it
    "dark": {
        "resultTypes": ["violations"],
        "runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]},
    },
}


#: One page is looked at in make test, all in the gate; the page of an audit has tests of its own.
FIRST = "person"
GATED = [pytest.param(name, marks=pytest.mark.gate) for name in PAGES if name != FIRST]


@pytest.fixture(scope="module", params=[FIRST, *GATED])
def file(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("pages") / "page.html"
    path.write_text(PAGES[request.param](), encoding="utf-8")
    return path


@contextmanager
def shown(browser, file, width, height):
    with opened(browser, viewport={"width": width, "height": height}) as context:
        page = new_page(context)
        page.goto(file.as_uri())
        yield drawn(page)


@pytest.fixture(scope="module")
def wide(browser, file):
    """A page in the window of a computer, for tests that leave it as they found it."""
    with shown(browser, file, 1400, 900) as page:
        yield page


@pytest.fixture(scope="module")
def narrow(browser, file):
    """A page in a narrow window, for tests that leave it as they found it."""
    with shown(browser, file, 390, 800) as page:
        yield page


@contextmanager
def unfolded(page):
    """Open all folded parts until the block ends."""
    page.evaluate(
        """() => {
            window.folded = [...document.querySelectorAll("details:not([open])")];
            window.folded.forEach((box) => (box.open = true));
        }"""
    )
    try:
        yield painted(page)
    finally:
        page.evaluate("window.folded.forEach((box) => (box.open = false))")


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.gate)])
def test_every_page_is_accessible(wide, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    wide.emulate_media(color_scheme=scheme)
    with unfolded(wide):
        found = axe.run(wide, options=RULES[scheme]).response["violations"]
    wide.emulate_media(color_scheme="light")
    told = [(one["id"], [node["html"][:160] for node in one["nodes"][:3]]) for one in found]
    assert told == []


def test_title_date_largest_statement_and_picture_come_first(wide):
    shown = ["h1", ".heading", "main section:first-of-type p, main section:first-of-type li"]
    shown += ["section.verdict .plot svg"] if wide.locator(".plot").count() else []
    for selector in shown:
        box = wide.locator(selector).first.bounding_box()
        assert box["y"] + min(box["height"], 60) < 900, selector
    assert wide.get_attribute("#rest", "open") is None
    assert wide.locator("#rest > summary").is_visible()
    assert not wide.locator("#provenance").is_visible()


def test_nothing_is_wider_than_a_narrow_window(narrow):
    with unfolded(narrow):
        assert narrow.evaluate("document.documentElement.scrollWidth") == 390
        assert "could not be drawn" not in narrow.inner_text("main")
        # a table that is cut shows it by a shadow at its side
        for box in narrow.locator(".scroll").all():
            assert "gradient" in box.evaluate("(box) => getComputedStyle(box).backgroundImage")


def test_texts_of_charts_do_not_overlap_in_a_narrow_window(narrow):
    overlaps = narrow.evaluate(
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
    assert overlaps == []


@pytest.mark.gate
def test_an_audit_of_two_attributes_fits_on_few_pages(browser, tmp_path):
    result = audit(load_hiring(), n_boot=100, n_permutations=199, **HEADING)
    assert [each["name"] for each in result.facts["attributes"]][:2] == ["sex", "age_group"]
    result.to_html(tmp_path / "audit.html")
    with shown(browser, tmp_path / "audit.html", 1400, 900) as page:
        paper = page.pdf(format="A4")
        assert len(re.findall(rb"/Type\s*/Page\b(?!s)", paper)) <= MOST_PAGES
        page.emulate_media(media="print")
        heading = painted(page).evaluate(
            "getComputedStyle(document.querySelector('#rest > summary'), '::before').content"
        )
        assert "Appendix" in heading
