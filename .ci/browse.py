"""Look at the built documentation in a browser: searches find the right page, no page is too wide.

``make docs`` runs it on ``build/docs``. It needs playwright (the extra ``test``) and a Chromium,
see ``make browser``; without them it states the reason and checks nothing.
"""

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
#: What people type, and the pages of which one must come first.
WANTED = {
    "install": {"install"},
    "glossary": {"glossary"},
    "exposure": {"policies", "glossary", "metrics/exposure_gap", "metrics/exposure"},
    "LightGBM": {"bring_your_own", "lambdamart", "tutorials/fair_lightgbm"},
    "NYC": {"profiles"},
    "Spark": {"scaling", "large_logs"},
    "FAQ": {"faq"},
    "cite": {"cite"},
    "RankBoost": {"api/equirank.rankers.RankBoost", "boosting"},
    "NDCG": {"metrics/ndcg"},
}
#: Milliseconds after which something hangs; nothing depends on how fast a machine is.
LIMIT = 300_000
#: A search has listed all it found.
FINISHED = """() => /finished|did not match/.test(
    document.querySelector("#search-results .search-summary")?.textContent)"""
#: What has been painted is on the screen after two frames.
FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
#: Width in pixels of a narrow phone; a page must not scroll sideways on it as a whole.
NARROW = 390
#: Return the width of a page, and its first element that is too wide and not inside a scroller.
#: The theme hides what the page has too much and lets its text scroll as a whole: both count.
WIDTH = """() => {
  const text = document.querySelector(".content") || document.documentElement;
  const width = Math.max(text.scrollWidth, document.documentElement.scrollWidth);
  if (width <= innerWidth) return [width, ""];
  const clips = e => e && e !== text
    && (getComputedStyle(e).overflowX !== "visible" || clips(e.parentElement));
  const wide = [...text.querySelectorAll("*")].find(
    e => e.getBoundingClientRect().right > innerWidth && !clips(e.parentElement));
  return [width, wide ? wide.outerHTML.slice(0, 160) : "an element outside the text"];
}"""


class Quiet(SimpleHTTPRequestHandler):
    """Serve files without a line per request."""

    def log_message(self, *args: object) -> None:
        """Print nothing."""


class Server(ThreadingHTTPServer):
    """A server that does not mind a browser which leaves before it has read all."""

    def handle_error(self, *args: object) -> None:
        """Print nothing."""


@contextmanager
def serving(folder: str) -> Iterator[str]:
    """Yield the address of a server of the folder."""
    with Server(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


@contextmanager
def browsing() -> Iterator[Any]:
    """Yield a page of a browser."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        raise LookupError("playwright is not installed") from None
    place = os.environ.get("EQUIRANK_CHROMIUM") or next(
        filter(None, map(shutil.which, BROWSERS)), ""
    )
    if not place:
        raise LookupError("no Chromium on PATH, and EQUIRANK_CHROMIUM names none")
    with sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=place, args=["--no-sandbox", "--disable-gpu"], timeout=LIMIT
        )
        page = browser.new_page()
        page.set_default_timeout(LIMIT)
        yield page
        browser.close()


def wrong_searches(page: Any, base: str) -> Iterator[str]:
    """Yield one line for each word whose first page is not the right one."""
    for word, right in WANTED.items():
        page.goto(f"{base}/search.html?q={word}")
        page.wait_for_function(FINISHED)
        links = page.eval_on_selector_all(
            "#search-results ul.search > li > a", "all => all.map(a => a.getAttribute('href'))"
        )
        found = [link.split(".html")[0] for link in links[:3]]
        if not right & set(found[:1]):
            first = ", ".join(found) or "nothing"
            yield f"a search for {word!r} finds {first} first, not {sorted(right)}"


def wide_pages(page: Any, base: str, folder: str) -> Iterator[str]:
    """Yield one line for each page that scrolls sideways on a phone."""
    page.set_viewport_size({"width": NARROW, "height": 844})
    for path in sorted(Path(folder).rglob("*.html")):
        name = path.relative_to(folder).as_posix()
        page.goto(f"{base}/{name}", wait_until="load")
        page.evaluate(FRAMES)
        width, element = page.evaluate(WIDTH)
        if width > NARROW:
            yield f"{name} is {width} pixels wide on a screen of {NARROW}: {element}"


if __name__ == "__main__":
    folder = sys.argv[1]
    try:
        with serving(folder) as base, browsing() as page:
            found = [*wrong_searches(page, base), *wide_pages(page, base, folder)]
    except LookupError as reason:
        sys.stdout.write(f">> searches and widths of pages are not checked: {reason}\n")
        sys.exit()
    sys.exit("\n".join(found) if found else None)
