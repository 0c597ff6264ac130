"""The page in a browser: it works, asks for nothing, and hostile names stay text."""

import csv
import io
import json
from contextlib import ExitStack

import pytest
from chromium import drawn, heard, needs_chromium, new_page, opened, painted
from sample_audit import HOSTILE, sample_audit

pytestmark = [pytest.mark.slow, needs_chromium]


#: Without idle time only the charts in sight are drawn.
IN_SIGHT = "window.requestIdleCallback = () => 0"


@pytest.fixture(scope="module")
def result():
    names = {"sex": ["f", "m"], "age_group": ["under 35", "35 to 49", "50 and over", "unknown"]}
    return sample_audit(names, n_queries=500)


@pytest.fixture(scope="module")
def file(result, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "report.html"
    result.to_html(path)
    return path


@pytest.fixture
def visit(browser):
    """Open a file; afterwards there was no error and no request but the file itself."""
    told = []
    with ExitStack() as contexts:

        def visit(path, before=IN_SIGHT, unfolded=True, **options):
            context = contexts.enter_context(opened(browser, **options))
            context.add_init_script(before)
            told.append(heard(context))
            page = new_page(context)
            page.goto(path.as_uri())
            page.wait_for_selector("html[data-ready]")
            if unfolded:
                page.click("#rest > summary")
            return painted(page) if before else drawn(page)

        yield visit
    for said, asked in told:
        assert said == []
        assert all(url.startswith(("file:", "blob:")) for url in asked)
        assert len([url for url in asked if url.startswith("file:")]) == 1


def listed(page):
    """The first cells of the drill-down of the open panel."""
    return painted(page).locator(".panel.open .drill tbody th").all_inner_texts()


def downloaded(page, button):
    with page.expect_download() as caught:
        page.click(button)
    with open(caught.value.path(), encoding="utf-8", newline="") as file:
        return caught.value.suggested_filename, file.read()


def test_every_chart_is_drawn_and_described(visit, file):
    page = visit(file, before="")
    plots = page.locator(".plot").count()
    assert plots == 21
    assert page.locator(".plot svg").count() == plots
    described = page.locator(".plot[role=graphics-document]")
    assert described.count() == plots
    assert all(
        len(text) > 40 for text in described.evaluate_all("all => all.map(s => s.ariaLabel)")
    )
    widths = page.locator(".panel.open .plot svg").evaluate_all(
        "all => all.map(s => s.clientWidth / s.parentElement.closest('.card').clientWidth)"
    )
    assert all(0.3 < width < 1 for width in widths)


@pytest.mark.gate
def test_names_with_line_separators_are_drawn(visit, tmp_path):
    names = ["first\u2028second", "first second", "para\u2029graph", r"a \u2028 b"]
    sample_audit({"sex": names}, n_queries=3).to_html(tmp_path / "lines.html")
    page = visit(tmp_path / "lines.html", before="")
    assert page.locator(".plot svg").count() == page.locator(".plot").count() > 5
    texts = page.locator(".plot svg text").evaluate_all("all => all.map(s => s.textContent)")
    assert {r"first\u2028second", "first second", r"para\u2029graph"} <= set(texts)


@pytest.mark.gate
def test_failing_chart_leaves_others_alone(browser, file, tmp_path):
    text = file.read_text(encoding="utf-8")
    head, mark, rest = text.partition('id="drawings">')
    drawings, end, rest = rest.partition("</script>")
    changed = json.loads(drawings)
    unreadable, missing, *others = changed["charts"]
    changed["charts"][unreadable] = {
        "data": {"values": [{}]}, "transform": [{"calculate": "((", "as": "a"}], "mark": "bar",
    }  # fmt: skip
    del changed["charts"][missing]
    broken = tmp_path / "broken.html"
    broken.write_text(head + mark + json.dumps(changed) + end + rest, encoding="utf-8")
    errors = []
    with opened(browser) as context:
        context.on("weberror", lambda error: errors.append(str(error.error)))
        page = new_page(context)
        page.goto(broken.as_uri())
        drawn(page)
        for key in (unreadable, missing):
            assert "could not be drawn" in page.text_content(f'.plot[data-chart="{key}"]')
        assert page.locator(".plot svg").count() == len(others)
    assert errors == []


@pytest.mark.gate
def test_everything_but_the_findings_is_folded(visit, file):
    page = visit(file, unfolded=False)
    assert page.locator(".verdict li").first.is_visible()
    assert not page.locator("#panel-0").is_visible()
    page.click("nav a[href='#methods']")
    page.wait_for_selector("#rest[open]")
    assert page.locator("#methods").is_visible()


@pytest.mark.gate
def test_search_and_sort(visit, file):
    page = visit(file)
    assert listed(page)[:3] == ["V000", "V001", "V002"]
    assert len(listed(page)) == 500
    page.fill(".panel.open input[type=search]", "v01")
    assert listed(page) == [f"V01{i}" for i in range(10)]
    assert page.inner_text(".panel.open .find output") == "10 of 500 lists"
    page.click(".panel.open .drill th:nth-child(3) button")
    assert listed(page)[0] == "V010"
    page.click(".panel.open .drill th:nth-child(3) button")
    assert listed(page)[0] == "V019"
    assert page.get_attribute(".panel.open .drill th:nth-child(3)", "aria-sort") == "ascending"
    page.fill(".panel.open input[type=search]", "")
    page.click(".panel.open .drill th:nth-child(5) button")
    assert listed(page)[-1] == "V003"
    assert page.inner_text(".panel.open .drill tbody tr:last-child td:last-child") == "\u2013"
    page.fill(".panel.open input[type=search]", "nowhere")
    assert listed(page) == []


@pytest.mark.gate
def test_downloads_are_valid(visit, file, result):
    page = visit(file)
    name, text = downloaded(page, "[data-json]")
    assert name == "audit.json"
    assert json.loads(text) == json.loads(result.to_json())
    for table in ("groups", "queries", "comparison"):
        name, text = downloaded(page, f"[data-csv={table}]")
        assert name == f"{table}.csv"
        head, *rows = csv.reader(io.StringIO(text), strict=True)
        columns = result.tables[table].to_dict()
        assert head == list(columns)
        assert len(rows) == len(result.tables[table])
        for key, values in columns.items():
            cells = [row[head.index(key)] for row in rows]
            if isinstance(values[0], float):
                assert [float(cell or "nan") for cell in cells] == pytest.approx(
                    values, nan_ok=True
                )
            else:
                assert [cell.lower() for cell in cells] == [str(value).lower() for value in values]


def test_the_keyboard_is_enough(visit, file):
    page = visit(file)
    page.focus("[role=tab][aria-selected=true]")
    page.keyboard.press("ArrowRight")
    assert page.inner_text("[role=tab]:focus") == "age_group"
    assert page.locator("#panel-1").is_visible()
    assert not page.locator("#panel-0").is_visible()
    assert page.get_attribute("nav a[data-section=prefix]", "href") == "#prefix-1"
    page.keyboard.press("ArrowRight")
    assert page.locator("#panel-0").is_visible()
    page.keyboard.press("End")
    assert page.locator("#panel-1").is_visible()
    page.keyboard.press("Home")
    assert page.inner_text("[role=tab]:focus") == "sex"
    page.focus(".panel.open .drill th:nth-child(1) button")
    page.keyboard.press("Enter")
    page.keyboard.press("Space")
    assert listed(page)[0] == "V499"
    page.focus("#theme")
    page.keyboard.press("Enter")
    assert page.get_attribute("html", "data-theme") == "dark"
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(14, 19, 25)"


@pytest.mark.gate
def test_paper_shows_all_attributes_with_their_charts(visit, file):
    page = visit(file, unfolded=False, color_scheme="dark")
    assert page.locator(".plot svg").count() < 20  # printing must draw the others
    page.pdf(format="A4")
    page.wait_for_function("document.querySelectorAll('.plot svg').length === 21")
    assert page.locator(".drill tbody tr").count() == 2 * 500
    page.emulate_media(media="print")
    painted(page)
    assert all(page.locator(f"#panel-{i}").is_visible() for i in range(2))
    assert not page.locator("nav").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_hostile_names_are_text_and_keep_the_layout(visit, tmp_path):
    names = list(HOSTILE.values())
    audited = sample_audit({HOSTILE["script"]: names, HOSTILE["long"]: names[3:]}, n_queries=2)
    audited.facts["title"] = HOSTILE["quotes"]
    path = tmp_path / "hostile.html"
    audited.to_html(path)
    page = visit(path, before="", viewport={"width": 390, "height": 800})
    assert page.evaluate("window.hacked") is None
    assert page.inner_text("h1") == HOSTILE["quotes"]
    shown = page.locator("#panel-0 .groups tbody th .name").all_inner_texts()
    assert shown[:2] == names[:2]
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.click("#tab-1")
    painted(page)
    assert HOSTILE["long"] in page.text_content("#panel-1 h2")
    assert page.locator("#panel-1 h2").bounding_box()["height"] < 80
    _, text = downloaded(page, "[data-csv=groups]")
    groups = [row["group"] for row in csv.DictReader(io.StringIO(text), strict=True)]
    assert groups[: len(names)] == [*names[:-1], "'" + HOSTILE["formula"]]
