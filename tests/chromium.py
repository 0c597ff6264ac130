"""A browser for tests: a Chromium on PATH, or the one that EQUIRANK_CHROMIUM names.

A test process starts one browser; a test or a module opens a context of its own with `opened`.
The report of a failed test tells what its pages showed and said. `conftest.py` loads this module
as a plugin of pytest.

EQUIRANK_SLOW_PAGES=20 slows the scripts of the pages down as on a machine with a twentieth of the
CPU: a test that fails then reads a page too early.
"""

import asyncio
import os
import re
import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest
from waiting import LIMIT

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FOUND = os.environ.get("EQUIRANK_CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
needs_chromium = pytest.mark.skipif(
    FOUND is None, reason="no Chromium on PATH, and EQUIRANK_CHROMIUM names none"
)
ARGUMENTS = (
    *("--no-sandbox", "--disable-gpu", "--disable-extensions", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run", "--mute-audio"),
)
SLOWER = float(os.environ.get("EQUIRANK_SLOW_PAGES", "1"))
FAILURES = Path(__file__).parents[1] / "build" / "failures"
#: What has been painted is on the screen after two frames.
FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
#: No chart is under way: a page is marked as drawn when its last chart has begun.
DRAWN = """() => document.documentElement.dataset.drawn === "all" &&
    [...document.querySelectorAll(".plot")].every((plot) => plot.querySelector("svg, p"))"""
#: The loop of the browser, each open context with what its pages said, and what failed tests saw.
LOOP, OPEN, SEEN = [], {}, []


@pytest.fixture(scope="session")
def browser():
    """The browser of this process."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    sync_api.expect.set_options(timeout=LIMIT * 1000)
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=FOUND, args=ARGUMENTS, timeout=LIMIT * 1000
        )
        LOOP.append(asyncio.get_running_loop())
        yield browser
        asyncio._set_running_loop(LOOP.pop())
        browser.close()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Hide the loop of the browser, which runs between calls too, from tests without a browser."""
    if LOOP:
        asyncio._set_running_loop(LOOP[0] if "browser" in item.fixturenames else None)
    try:
        return (yield)
    finally:
        if LOOP:
            asyncio._set_running_loop(None)


@contextmanager
def opened(browser, **options):
    """Yield a context of its own; its pages have time, and what they say and ask is noted."""
    context = browser.new_context(accept_downloads=True, **options)
    context.set_default_timeout(LIMIT * 1000)
    OPEN[context] = log = []
    context.on("console", lambda message: log.append(f"{message.type}: {message.text}"))
    context.on("weberror", lambda error: log.append(f"uncaught: {error.error}"))
    context.on(
        "requestfailed",
        lambda request: log.append(f"request failed: {request.url} {request.failure}"),
    )
    try:
        yield context
    except (Exception, pytest.fail.Exception):
        SEEN.extend(seen(context))
        raise
    finally:
        asyncio._set_running_loop(LOOP[0])  # the end of a module may be that of another test
        del OPEN[context]
        context.close()


def heard(context):
    """Return two lists that grow: what the pages of a context say, and what they ask for."""
    said, asked = [], []
    context.on("console", lambda message: said.append(message.text))
    context.on("weberror", lambda error: said.append(str(error.error)))
    context.on("request", lambda request: asked.append(request.url))
    return said, asked


def new_page(context):
    """Open a page in a context; return it."""
    page = context.new_page()
    if SLOWER > 1:
        session = context.new_cdp_session(page)
        session.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    return page


def painted(page):
    """Wait until what a page shows has been painted; return the page."""
    page.evaluate(FRAMES)
    return page


def drawn(page):
    """Wait until each chart of a report has been drawn and painted; return the page."""
    page.wait_for_function(DRAWN)
    return painted(page)


def seen(context):
    """Yield what the pages of a context show, with the path of a picture, and what they said."""
    playwright = pytest.importorskip("playwright.sync_api")
    test = re.sub(r"\W+", "_", os.environ.get("PYTEST_CURRENT_TEST", "test").rpartition(" ")[0])
    for page in context.pages:
        FAILURES.mkdir(parents=True, exist_ok=True)
        at = sum(path.name.startswith(test) for path in FAILURES.iterdir())
        picture = FAILURES / f"{test[-150:]}_{at}.png"
        try:
            page.screenshot(path=picture, timeout=LIMIT * 100)  # a tenth of it: it failed already
        except playwright.Error as error:  # a page that is closed or hangs
            picture = f"none: {error}"
        yield "\n".join([f"address: {page.url}", f"picture: {picture}", *OPEN[context][-50:]])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    """Add what its pages showed and said to the report of a failed test."""
    report = yield
    if report.failed and "browser" in item.fixturenames:
        told = [*SEEN, *(one for context in OPEN for one in seen(context))]
        report.sections.extend(("a page of this test", one) for one in told)
    SEEN.clear()
    return report
