"""Search the built documentation for common words, and check which page comes first.

Run: python .ci/search.py build/docs. It needs the extra ``test`` and a Chromium, see make browser.
"""

import os
import shutil
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from playwright.sync_api import sync_playwright

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


class Quiet(SimpleHTTPRequestHandler):
    """Serve files without a line per request."""

    def log_message(self, *args: object) -> None:
        """Print nothing."""


class Server(ThreadingHTTPServer):
    """A server that does not mind a browser which leaves before it has read all."""

    def handle_error(self, *args: object) -> None:
        """Print nothing."""


def first_pages(folder: str) -> dict[str, list[str]]:
    """Return the first three pages found for each word."""
    server = Server(("127.0.0.1", 0), partial(Quiet, directory=folder))
    Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_address[1]}"
    place = os.environ.get("EQUIRANK_CHROMIUM") or shutil.which("chromium")
    found = {}
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=place, args=["--no-sandbox"])
        page = browser.new_page()
        for word in WANTED:
            page.goto(f"{base}/search.html?q={word}")
            page.wait_for_selector("#search-results ul.search li a", timeout=60_000)
            page.wait_for_timeout(500)
            links = page.eval_on_selector_all(
                "#search-results ul.search > li > a", "all => all.map(a => a.getAttribute('href'))"
            )
            found[word] = [link.split(".html")[0] for link in links[:3]]
        browser.close()
    server.shutdown()
    return found


if __name__ == "__main__":
    wrong = 0
    for word, pages in first_pages(sys.argv[1]).items():
        right = pages[0] in WANTED[word]
        wrong += not right
        sys.stdout.write(f"{'right' if right else 'WRONG'}  {word}: {', '.join(pages)}\n")
    sys.exit(f"{wrong} searches do not find the right page first" if wrong else None)
