"""The studio in a browser: two clicks to a finding, keyboard, sliders, tabs, and no stranger."""

import asyncio
import contextlib
import http.server
import json
import os
import signal
import sys
import threading

import pytest
from chromium import heard, needs_chromium, new_page, opened, painted
from running_studio import running_studio
from waiting import ended, until

from equirank import DataError
from equirank.studio.answers import Limits, StudioError

pytest.importorskip("starlette", reason="starlette is not installed")
pytest.importorskip("uvicorn", reason="uvicorn is not installed")
# It waits until the page shows something: what is painted follows an answer.
expect = pytest.importorskip("playwright.sync_api", reason="playwright is not installed").expect

pytestmark = [pytest.mark.slow, needs_chromium]
#: All rules in light; in dark those about colours, since nothing else differs.
RULES = {
    "light": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
    "dark": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]},
}
SCREENS = ("load", "columns", "findings", "compare", "remedy", "report")


@pytest.fixture(scope="module")
def studio():
    with running_studio() as running:
        yield running


class Tab:
    """A tab of the studio in a context of its own."""

    def __init__(self, context, studio):
        self.context, self.studio = context, studio
        self.said, self.asked = heard(context)
        self.page = new_page(context)
        self.page.goto(studio.studio.address())
        self.page.wait_for_selector("html[data-ready]")

    def example(self, key="shortlist"):
        self.page.click(f"[data-example={key}]")
        self.page.wait_for_selector("#audit:visible")
        painted(self.page)

    def audit(self):
        self.page.click("#audit")
        self.page.wait_for_selector('[data-screen="findings"] .claims li:not(.waiting)')
        painted(self.page)

    def go(self, screen):
        self.page.evaluate("screen => { location.hash = '#/' + screen }", screen)
        self.page.wait_for_selector(f'[data-screen="{screen}"]:visible')
        painted(self.page)

    def remedy(self):
        self.go("remedy")
        self.page.wait_for_selector("html[data-tried]")
        painted(self.page)

    def check(self):
        """Check that it was silent and asked nobody else."""
        origin = f"http://{self.studio.host}/"
        assert [url for url in self.asked if not url.startswith((origin, "blob:", "data:"))] == []
        refused = ("409", "413", "422")  # which a browser notes in its console
        assert [text for text in self.said if not any(code in text for code in refused)] == []


@contextlib.contextmanager
def tab_of(browser, studio, **options):
    with opened(browser, **options) as context:
        tab = Tab(context, studio)
        yield tab
    tab.check()


@pytest.fixture(scope="module")
def walked(browser, studio):
    """A tab with an audit and a remedy tried; its tests follow each other: four tabs have data."""
    with tab_of(browser, studio, viewport={"width": 1400, "height": 900}) as tab:
        tab.example()
        tab.audit()
        tab.remedy()
        slider(tab)
        yield tab


def test_two_clicks_lead_to_a_finding_and_none_is_shown_before(browser, studio):
    with tab_of(browser, studio) as tab:
        seen = """() => {
            window.early = [];
            window.counted = [];
            new MutationObserver(() => {
                const busy = document.querySelector('[data-place="findings"] .work');
                if (busy && document.querySelector('.claims .finding')) window.early.push(1);
                if (document.querySelector('.bars div'))
                    window.counted.push(document.querySelector('.headline').textContent);
            }).observe(document.body, { childList: true, subtree: true });
        }"""
        tab.page.evaluate(seen)
        tab.page.click("[data-example=hiring]")
        tab.page.click("#audit")
        tab.page.wait_for_selector(".claims .finding")
        expect(tab.page.locator('[data-screen="findings"]')).to_contain_text("Sure")
        expect(tab.page.locator(".headline")).to_contain_text("top 10")
        # Numbers are there at once.
        assert "Working out how sure this is" in tab.page.evaluate("window.counted[0]")
        assert tab.page.evaluate("window.early.length") <= 1  # only while the last line is painted


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.gate)])
def test_every_screen_is_accessible(walked, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    if walked.page.inner_text("#theme") == ("Dark" if scheme == "dark" else "Light"):
        walked.page.click("#theme")
    for screen in SCREENS:
        walked.go(screen)
        options = {"runOnly": RULES[scheme], "resultTypes": ["violations"]}
        found = axe.run(walked.page, options=options).response["violations"]
        told = [(one["id"], [node["html"][:120] for node in one["nodes"][:3]]) for one in found]
        assert told == [], screen


def test_every_screen_fits_narrow_windows(walked):
    for width in (390, 320):
        walked.page.set_viewport_size({"width": width, "height": 700})
        for screen in SCREENS:
            walked.go(screen)
            fits(walked.page, width)
    walked.page.set_viewport_size({"width": 1400, "height": 900})


def test_every_screen_prints(walked):
    """On paper there are no controls, nothing is cut off, and text is dark on white."""
    page = walked.page
    with media(walked, width=720, media="print", color_scheme="dark"):
        for screen in SCREENS:
            walked.go(screen)
            fits(page, 720)
            seen = page.evaluate(PRINTED)
            assert seen["controls"] == [], screen
            assert seen["cut"] == [], screen
            assert seen["background"] == "rgb(255, 255, 255)", screen
        assert len(page.pdf(format="A4")) > 10_000


def fits(page, width):
    """Wait until nothing is wider than that: a chart is drawn anew after its window changed."""
    page.wait_for_function("width => document.documentElement.scrollWidth <= width", arg=width)
    painted(page)


@contextlib.contextmanager
def media(tab, width=1400, **options):
    """Show a tab as on a medium, until the block ends."""
    tab.page.emulate_media(**options)
    tab.page.set_viewport_size({"width": width, "height": 900})
    try:
        yield
    finally:
        tab.page.emulate_media(
            media="screen", color_scheme="light", reduced_motion="null", forced_colors="none"
        )
        tab.page.set_viewport_size({"width": 1400, "height": 900})


#: What a printed page shows: controls, parts whose content is cut off, background.
PRINTED = """() => {
    const open = document.querySelector("[data-screen]:not([hidden])");
    const shown = (one) => one.checkVisibility() && one.getBoundingClientRect().height > 1;
    const all = [...document.querySelectorAll("header *, main *, footer *")].filter(shown);
    const cut = (one) => {
        const style = getComputedStyle(one);
        return (style.overflowX !== "visible" && one.scrollWidth > one.clientWidth + 1) ||
            (style.overflowY !== "visible" && one.scrollHeight > one.clientHeight + 1);
    };
    return {
        controls: all.filter((one) => one.matches("button:not(.link), input, progress, .drop"))
            .map((one) => one.outerHTML.slice(0, 80)),
        cut: all.filter((one) => !(one instanceof SVGElement) && cut(one))
            .map((one) => one.outerHTML.slice(0, 80)),
        background: getComputedStyle(document.body).backgroundColor,
    };
}"""


@pytest.mark.gate
def test_nothing_moves_for_people_who_ask_for_that(walked):
    page = walked.page
    moving = """() => [...document.querySelectorAll("*")].filter((one) => {
        const style = getComputedStyle(one);
        return style.animationName !== "none" || style.scrollBehavior === "smooth" ||
            style.transitionDuration.split(",").some((part) => parseFloat(part) > 0);
    }).map((one) => one.outerHTML.slice(0, 80))"""
    # Nothing of the page moves so far; what would, must obey.
    added = page.add_style_tag(content="h1, .card { transition: opacity 1s }")
    assert page.evaluate(moving)
    with media(walked, reduced_motion="reduce"):
        for screen in SCREENS:
            walked.go(screen)
            assert page.evaluate(moving) == [], screen
        assert page.evaluate("document.getAnimations().length") == 0
    added.evaluate("one => one.remove()")


#: What colour alone would show, and what of it has no border, outline or shape of its own.
UNSEEN = """() => {
    const marked = ["[aria-current=step]", ".pick input:checked + span", ".problem", "select",
        ".columns .ask > *", "button:not(.link)", ".bars .track i", ".marks i", ".note.loud"];
    const drawn = (one) => {
        const style = getComputedStyle(one);
        const sides = ["Top", "Left"].map((side) => parseFloat(style[`border${side}Width`]));
        return style.outlineStyle !== "none" || style.forcedColorAdjust === "none" ||
            Math.max(...sides) > 0;
    };
    return [...document.querySelectorAll(marked.join(","))]
        .filter((one) => one.checkVisibility() && !drawn(one))
        .map((one) => one.outerHTML.slice(0, 80));
}"""


def test_states_are_seen_in_forced_colours(walked):
    page = walked.page
    with media(walked, forced_colors="active"):
        for screen in SCREENS:
            walked.go(screen)
            assert page.evaluate(UNSEEN) == [], screen
        walked.go("remedy")
        drawn = page.evaluate(
            """() => [...document.querySelectorAll(".slope line, .slope circle, .slope rect")]
                .map((one) => getComputedStyle(one)[one.tagName === "line" ? "stroke" : "fill"])"""
        )
        paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert drawn
    assert paper not in drawn


def test_the_token_is_in_no_address_and_no_page(walked):
    page = walked.page
    token = page.evaluate("sessionStorage.getItem('equirank-token')")
    assert len(token) == 64
    assert "code" not in page.url
    assert token not in page.content()
    assert not any(token in url for url in walked.asked)
    assert page.context.cookies() == []
    assert page.evaluate("localStorage.length") == 0


@pytest.mark.gate
def test_the_report_is_drawn_in_its_sandbox(walked):
    page = walked.page
    walked.go("findings")
    page.click("#read-report")
    frame = page.frame_locator("#frame")
    frame.locator("#verdict, h1").first.wait_for()
    frame.locator(".plot svg").first.wait_for()
    page.click("#whole [data-close]")
    walked.asked[:] = [url for url in walked.asked if "/report/" not in url]


def test_the_path_by_keyboard(browser, studio):
    with tab_of(browser, studio) as tab:
        page = tab.page

        def tab_to(selector):
            for _ in range(60):
                page.keyboard.press("Tab")
                if page.evaluate("s => document.activeElement.matches(s)", selector):
                    return
            raise AssertionError(f"{selector} cannot be reached")

        tab_to("[data-example=shortlist]")
        page.keyboard.press("Enter")
        page.wait_for_selector("#audit:visible")
        page.wait_for_function("document.activeElement.tagName === 'H1'")
        tab_to("#audit")
        page.keyboard.press("Enter")
        page.wait_for_selector('[data-screen="findings"] .claims li:not(.waiting)')
        page.wait_for_function("document.activeElement.tagName === 'H1'")
        tab_to("[data-go=remedy]")
        page.keyboard.press("Enter")
        page.wait_for_selector("html[data-tried]")
        page.go_back()
        page.wait_for_selector('[data-screen="findings"]:visible')


@pytest.mark.gate
def test_locked_steps_say_what_is_missing(browser, studio):
    with tab_of(browser, studio) as tab:
        tab.page.click("[data-step=remedy]")
        locked = tab.page.locator('[data-screen="locked"]')
        expect(locked).to_be_visible()
        expect(locked).to_contain_text("file", ignore_case=True)
        tab.page.click("#locked-go")
        tab.page.wait_for_selector('[data-screen="load"]:visible')


def slider(tab):
    """Choose the first method with a slider; return its slider."""
    page = tab.page
    before = page.evaluate("document.documentElement.dataset.tried")
    page.click('label.choice:has(input[name="method"]:enabled) >> nth=2')
    page.wait_for_selector(".field[data-method]:visible input[type=range]")
    page.wait_for_function(
        "before => Number(document.documentElement.dataset.tried) > Number(before)", arg=before
    )
    return page.locator(".field[data-method]:visible input[type=range]").first


def drag(handle, values):
    handle.evaluate(
        """(slider, values) => {
            slider.focus();
            for (const value of values) {
                slider.value = value;
                slider.dispatchEvent(new Event("input", { bubbles: true }));
            }
        }""",
        values,
    )


@pytest.mark.gate
def test_a_slider_shows_only_the_last_answer_and_is_one_entry_of_undo(browser, studio):
    with tab_of(browser, studio) as tab:
        page = tab.page
        tab.example("hiring")
        tab.remedy()
        handle = slider(tab)
        low, high = (float(handle.get_attribute(name)) for name in ("min", "max"))
        painted = page.evaluate(
            """() => { window.painted = 0; new MutationObserver(() => window.painted++).observe(
                document.querySelector('[data-region="tiles"]'), { childList: true, subtree: true,
                characterData: true }); return 0; }"""
        )
        assert painted == 0
        sent = []
        page.on(
            "request", lambda one: sent.append(one.post_data) if "/api/try" in one.url else None
        )
        before = page.evaluate("document.documentElement.dataset.tried")
        values = [low + (high - low) * share for share in (0.2, 0.4, 0.6, 0.8, 0.5)]
        drag(handle, values)
        page.wait_for_function(
            "before => Number(document.documentElement.dataset.tried) >= Number(before) + 5",
            arg=before,
        )
        assert len(sent) <= 2  # one under way, one waiting
        last = json.loads(sent[-1])
        assert last["seq"] == int(page.evaluate("document.documentElement.dataset.tried"))
        assert handle.evaluate("slider => slider === document.activeElement")
        assert handle.get_attribute("aria-valuetext")
        before = undone(tab)
        handle.dispatch_event("change")  # stores the setting, and reads what is stored
        until_undone(tab, before + 1)
        value = handle.input_value()
        page.keyboard.press("Control+z")
        page.wait_for_function(
            "value => document.querySelector('.field[data-method]:not([hidden]) input[type=range]')"
            "?.value !== value", arg=value,
        )  # fmt: skip
        assert undone(tab) == before


#: How many entries undo could walk, as the server says.
UNDONE = """async (wanted) => {
    const headers = { Authorization: "Bearer " + sessionStorage.getItem("equirank-token") };
    const { undo } = await (await fetch("/api/state", { headers })).json();
    return wanted === null ? undo : undo === wanted;
}"""


def undone(tab):
    """Return how many entries undo could walk."""
    return tab.page.evaluate(UNDONE, None)


def until_undone(tab, wanted):
    """Wait until undo could walk so many entries."""
    tab.page.wait_for_function(UNDONE, arg=wanted)


#: Store a setting when the test calls ``rested``, and not after 250 ms without a key.
RESTED = """() => {
    const { setTimeout: start, clearTimeout: clear } = window;
    const held = new Map();
    let last = 0;
    window.setTimeout = (work, ...given) => {
        if (work.name !== "store") return start(work, ...given);
        held.set(--last, work);
        return last;
    };
    window.clearTimeout = (timer) => (timer < 0 ? held.delete(timer) : clear(timer));
    window.rested = () => [...held.values()].map((work) => work()).length;
}"""


@pytest.mark.gate
def test_a_key_held_down_is_one_entry_of_undo_and_no_conflict(browser, studio):
    with tab_of(browser, studio) as tab:
        page = tab.page
        tab.example("hiring")
        tab.remedy()
        handle = slider(tab)
        first, before = float(handle.input_value()), undone(tab)
        handle.focus()
        page.evaluate(RESTED)
        for _ in range(12):
            page.keyboard.press("ArrowRight")
        assert page.evaluate("rested()") == 1
        until_undone(tab, before + 1)
        expect(page.locator('[data-place="remedy"] .problem')).to_have_count(0)
        assert float(handle.input_value()) > first + 5
        # A change right after another waits for its answer.
        tab.go("columns")
        for role in ("unused", "id", "unused"):
            page.select_option("select[data-column] >> nth=1", role)
        page.wait_for_function(
            """async () => {
                const headers = { Authorization: "Bearer " + sessionStorage["equirank-token"] };
                const state = await (await fetch("/api/state", { headers })).json();
                return state.file.columns[1].role === "unused";
            }"""
        )
        assert page.locator('[data-place="columns"] .problem').count() == 0


@pytest.mark.gate
def test_two_tabs_and_reload(browser, studio):
    with tab_of(browser, studio) as tab:
        tab.example()
        token = tab.page.evaluate("sessionStorage.getItem('equirank-token')")
        twin = new_page(tab.context)
        twin.goto(f"http://{studio.host}/")
        twin.evaluate("token => sessionStorage.setItem('equirank-token', token)", token)
        twin.goto(f"http://{studio.host}/#/columns")
        twin.reload()
        twin.wait_for_selector("#audit:visible")
        chosen = "select[data-column] >> nth=0"
        with twin.expect_response(lambda answer: answer.request.method == "PATCH"):
            twin.select_option(chosen, "unused")
        tab.page.select_option(chosen, "id")
        expect(tab.page.locator('[data-place="columns"] .problem')).to_contain_text(
            "Changed in another tab"
        )
        expect(tab.page.locator(chosen)).to_have_value("unused")
        tab.page.reload()
        tab.page.wait_for_selector("#audit:visible")
        expect(tab.page.locator(chosen)).to_have_value("unused")


def patched(tab, patch):
    """Change the recipe as another tab would, and load the page anew."""
    tab.page.evaluate(
        """async (patch) => {
            const token = sessionStorage.getItem("equirank-token");
            const headers = { Authorization: "Bearer " + token };
            const { revision } = await (await fetch("/api/state", { headers })).json();
            const body = JSON.stringify({ revision, patch });
            await fetch("/api/recipe", { method: "PATCH", headers, body });
        }""",
        patch,
    )
    tab.page.reload()
    tab.page.wait_for_selector("#audit:visible")
    painted(tab.page)


@pytest.mark.gate
def test_cancel_while_a_file_is_read(browser, studio, tmp_path, monkeypatch):
    """Reading is held after its first step, so that Cancel always meets it."""
    file = tmp_path / "people.csv"
    file.write_text("list,score,sex\n" + "1,2,f\n1,3,m\n" * 20)
    with tab_of(browser, studio) as tab:
        reader = studio.studio._reading
        run, first = reader.run, reader._process.pid

        async def held(*given, **options):
            async for line in run(*given, **options):
                yield line
                await asyncio.Event().wait()

        monkeypatch.setattr(reader, "run", held)
        tab.page.set_input_files("#pick", file)
        tab.page.wait_for_selector('[data-place="load"] progress[value]')
        tab.page.click('[data-place="load"] .work button')
        tab.page.wait_for_selector('[data-place="load"] .work', state="detached")
        until(lambda: reader._process is not None and reader._process.pid != first)
        expect(tab.page.locator('[data-screen="load"]')).to_be_visible()
        monkeypatch.setattr(reader, "run", run)
        tab.page.set_input_files("#pick", file)
        tab.page.wait_for_selector("#audit:visible")


@pytest.mark.gate
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signal that ends a process so")
def test_a_killed_process_is_said_beside_the_work(browser, studio):
    with tab_of(browser, studio) as tab:
        tab.example()
        patched(tab, {"audit": {"n_boot": 100_000}})
        tab.page.click("#audit")
        tab.page.wait_for_selector('[data-place="findings"] progress[value]')
        os.kill(studio.studio._long._process.pid, signal.SIGKILL)
        expect(tab.page.locator('[data-place="findings"] .problem')).to_contain_text(
            "stopped before its end"
        )
        assert tab.page.locator(".claims .finding").count() == 0


@pytest.mark.gate
def test_cancel_ends_an_audit(browser, studio):
    with tab_of(browser, studio) as tab:
        tab.example()
        patched(tab, {"audit": {"n_boot": 100_000}})
        tab.page.click("#audit")
        tab.page.click('[data-place="findings"] .work button')
        tab.page.wait_for_selector("text=Cancelled")
        assert tab.page.locator(".claims .finding").count() == 0
        tab.go("columns")
        patched(tab, {"audit": {"n_boot": 20}})
        tab.audit()


@pytest.fixture(scope="module")
def files(browser, studio):
    """One tab for all files; its tests follow each other: four tabs have data."""
    with tab_of(browser, studio) as tab:
        yield tab


@pytest.fixture
def refusing(files, studio, monkeypatch):
    """That tab while the studio reads small files only."""
    monkeypatch.setattr(studio.studio, "limits", Limits(max_bytes=2 << 20, max_rows=1000))
    return files


@pytest.fixture
def reading(refusing, studio, monkeypatch):
    """The same tab, whose files are read in this process: one of its own costs a second."""

    async def here(task, *given, memory=None):
        try:
            yield "result", await asyncio.to_thread(task, *given)
        except DataError as error:
            raise StudioError("data", str(error)) from None

    monkeypatch.setattr(studio.studio._reading, "run", here)
    return refusing


def people(n_lists=3, size=20, sexes="fm", score=lambda at: 100 - at, header="list,id,sex,score"):
    """Return a file of people, whose list, id, sex, score and other are made from their number."""
    rows = [
        f"V{at // size:02},p{at},{sexes[at % len(sexes)]},{score(at)},{at * 7 % 13}"
        for at in range(n_lists * size)
    ]
    return "\n".join([f"{header},other", *rows]).encode()


def load(tab, name, content, refused=False):
    """Open a file; unless it is refused, its columns are then shown."""
    tab.go("load")
    file = {"name": name, "mimeType": "text/csv", "buffer": content}
    tab.page.set_input_files("#pick", files=[file])
    if refused:
        tab.page.wait_for_selector('[data-place="load"] .problem')
        return tab.page.inner_text('[data-place="load"] .problem')
    chip = tab.page.locator('[data-region="chip"]', has_text=name)
    chip.wait_for(state="attached")
    tab.page.wait_for_selector("#audit:visible")
    painted(tab.page)
    return ""


@pytest.mark.gate
def test_files_are_refused_beside_the_drop_zone_and_nothing_is_half_loaded(refusing):
    load(refusing, "good.csv", people())
    for name, content, words in (
        ("large.csv", people() + b"x" * (3 << 20), "reads up to 2 MB. Start it with a larger"),
        ("long.csv", people(n_lists=60), "1,200 rows, and the studio reads up to 1,000"),
        ("damaged.xlsx", b"PK\x03\x04" + b"x" * 1000, "Save it again, as CSV for example"),
        ("cut.parquet", b"PAR1" + b"x" * 100 + b"PAR1", "Save it again, as CSV for example"),
        ("sealed.parquet", b"PAR1" + b"x" * 100 + b"PARE", "Write it without encryption"),
        ("empty.csv", b"", "is empty. The studio reads CSV, Excel and Parquet"),
    ):
        assert words in load(refusing, name, content, refused=True), name
        expect(refusing.page.locator('[data-screen="load"]')).to_be_visible()
        expect(refusing.page.locator('[data-region="chip"]')).to_contain_text("good.csv")
        assert name not in refusing.page.inner_text('[data-region="chip"]')


def test_missing_columns_are_named_beside_the_disabled_audit(reading):
    page = reading.page
    load(reading, "bare.csv", people(header="list,id,kind,points"))
    for column in ("kind", "points", "other"):
        with page.expect_response(lambda answer: answer.request.method == "PATCH"):
            page.select_option(f'select[data-column="{column}"]', "unused")
    expect(page.locator("#audit")).to_be_disabled()
    both = "Name the column of the group to look at and of the score or the position."
    expect(page.locator("#lacks")).to_have_text(both)
    expect(page.locator("#audit")).to_have_attribute("aria-describedby", "lacks")
    page.select_option('select[data-column="kind"]', "sensitive")
    expect(page.locator("#lacks")).to_have_text("Name the column of the score or the position.")
    page.click("[data-step=findings]")
    page.wait_for_selector('[data-screen="locked"]:has-text("score or the position")')


def test_many_ties_are_said_above_the_headline(reading):
    load(reading, "ties.csv", people(score=lambda at: at % 20 // 2))
    patched(reading, {"audit": {"n_boot": 20}})
    reading.audit()
    above = reading.page.evaluate(
        """() => {
            const note = document.querySelector('[data-region="headline"] .note.loud');
            const title = document.querySelector('[data-region="headline"] h1');
            const after = Node.DOCUMENT_POSITION_FOLLOWING;
            return note && note.compareDocumentPosition(title) & after ? note.textContent : "";
        }"""
    )
    assert "tied" in above


def test_a_small_group_is_shown_and_never_a_headline(reading):
    load(reading, "small.csv", people(sexes="fm" * 15 + "x" + "fm" * 14 + "f"))
    patched(reading, {"audit": {"n_boot": 20}})
    reading.audit()
    few = reading.page.locator(".bars div", has_text="too few to say")
    expect(few).to_have_count(1)
    assert few.inner_text().startswith("x")
    assert 'group "x"' not in reading.page.inner_text(".headline")


def test_without_a_finding_the_headline_says_so_in_the_words_of_the_report(reading):
    load(reading, "equal.csv", people(n_lists=1))
    patched(reading, {"audit": {"n_boot": 20}})
    reading.audit()
    words = reading.page.inner_text(".headline")
    assert words.startswith("No difference between groups is a finding at the 5% level")
    expect(reading.page.locator(".sure")).to_contain_text("Cannot tell")


def test_one_list_against_one_list_has_numbers_and_no_interval(reading):
    load(reading, "one.csv", people(n_lists=1))
    patched(reading, {"compare": {"score": "other"}, "audit": {"n_boot": 20}})
    reading.go("compare")
    reading.page.click("#compare-now")
    region = '[data-region="compared"]'
    expect(reading.page.locator(f"{region} .note.loud").first).to_have_text(
        "With one list a confidence interval of the difference cannot be given."
    )
    expect(reading.page.locator(f"{region} tbody tr").nth(1)).to_be_visible()
    heads = reading.page.locator(f"{region} thead th").all_inner_texts()
    assert [" ".join(text.split()) for text in heads[1:]] == ["This ranking score", "Before other"]


def test_an_impossible_guarantee_names_the_lists_and_the_loss_says_what_it_counts(reading):
    rows = [f"V{at // 10},p{at},{'f' if at % 10 < (5 if at < 10 else 2) else 'm'},{at}"
            for at in range(20)]  # fmt: skip
    load(reading, "rare.csv", "\n".join(["list,id,sex,score", *rows]).encode())
    rule = {"method": "RooneyRule", "by": "sex", "k": 5, "protected": "f", "count": 4}
    patched(reading, {"audit": {"protected": ["sex=f"]}, "remedy": [rule]})
    reading.remedy()
    expect(reading.page.locator('[data-region="guarantee"] .note')).to_have_text([
        "Kept in 1 of 2 lists. The others have the closest order.",
        'V1 would need 4 people in group "f" (sex) in the top 5 and has 2.',
        "There is no recorded relevance, so the loss in quality counts scores only.",
    ])  # fmt: skip


def test_a_file_in_another_encoding_is_read_again(reading):
    raw = "lista;płeć;score\n1;kobieta;1,5\n1;mężczyzna;2,5\n".encode("cp1250")
    load(reading, "polish.csv", raw)
    assert "płeć" not in reading.page.inner_text(".columns")
    reading.page.select_option("#encoding", "cp1250")
    reading.page.locator(".columns th", has_text="płeć").wait_for()
    expect(reading.page.locator('[data-region="chip"]')).to_contain_text("polish.csv")
    expect(reading.page.locator("#encoding")).to_have_value("cp1250")


def test_a_hostile_file_stays_text(browser, studio, tmp_path):
    names = ["<img src=x onerror=window.hacked=1>", "</script><script>window.hacked=2</script>"]
    header = ["list", "score", "a\u202eb", "{{ 7*7 }}", *names]
    rows = [
        [str(i // 20), str(100 - i), names[i % 2], "=1+1", f"p{i}", names[0]] for i in range(40)
    ]
    file = tmp_path / "<b>x{{7*7}}.csv"
    file.write_text(
        "\n".join(",".join(f'"{cell}"' for cell in row) for row in [header, *rows]),
        encoding="utf-8",
    )
    with tab_of(browser, studio) as tab:
        page = tab.page
        page.set_input_files("#pick", file)
        page.wait_for_selector('[data-screen="columns"]:visible select')
        expect(page.locator(".columns")).to_contain_text("a⟨202E⟩b")
        assert "49" not in page.inner_text(".columns th >> nth=7")
        page.select_option('select[data-column^="a"]', "sensitive")
        page.wait_for_selector("#audit:enabled")
        tab.audit()
        tab.remedy()
        assert page.evaluate("window.hacked") is None
        assert page.locator("img").count() == 0


@pytest.mark.gate
def test_a_page_of_another_port_reaches_nothing(browser, studio):
    """Fetch, form, image, script and frame from a stranger's page change and show nothing."""
    target = f"http://{studio.host}"
    content = f"""<!DOCTYPE html><iframe src="{target}/"></iframe>
        <img src="{target}/assets/main.js">
        <form method="post" action="{target}/api/stop" target="x"></form><iframe name="x"></iframe>
        <script>
        document.forms[0].submit();
        window.results = Promise.allSettled([
          fetch("{target}/api/state"),
          fetch("{target}/api/stop", {{ method: "POST", mode: "no-cors" }}).then((a) => a.type),
          fetch("{target}/").then((a) => a.text()),
        ]).then((all) => all.map((one) => one.status + ":" + (one.value || "")));
        </script>""".encode()

    class Stranger(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *parts):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stranger)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with opened(browser) as context:
            page = new_page(context)
            page.goto(f"http://127.0.0.1:{server.server_port}/")
            results = page.evaluate("window.results")
            assert results[0].startswith("rejected")
            assert results[2].startswith("rejected")
            assert all("equirank studio" not in frame.title() for frame in page.frames[1:])
    finally:
        server.shutdown()
        server.server_close()
    assert studio.ask("GET", "/")[0] == 200  # it was not stopped


@pytest.mark.gate
def test_a_stopped_studio_is_said_in_words(browser):
    with running_studio() as running, opened(browser) as context:
        tab = Tab(context, running)
        tab.example()
        running.studio.stop()
        ended(running.thread)
        tab.page.select_option("select[data-column] >> nth=0", "unused")
        expect(tab.page.locator("#banner")).to_contain_text("no longer answers")
