"""Take the pictures of docs/studio.md from the running studio: python docs/_ext/studio_pictures.py.

Needs playwright and a Chromium, which it finds on PATH or by EQUIRANK_CHROMIUM.
``--all FOLDER`` takes every screen at 1400 and 390 pixels, light and dark, into a folder.
"""

import argparse
import os
import shutil
import threading
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from equirank.studio.server import Studio

IMAGES = Path(__file__).parents[1] / "images"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FINDING = '[data-screen="findings"] .claims li:not(.waiting)'


def walk(page: Any, address: str, take: Any, example: str = "hiring") -> None:
    """Walk the whole path, and take a picture of each screen."""
    page.set_default_timeout(120_000)
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    take("load")
    page.click(f"[data-example={example}]")
    page.wait_for_selector("#audit:visible")
    take("columns")
    page.click("#audit")
    page.wait_for_selector(FINDING)
    take("findings")
    page.click("[data-go=remedy]:visible")
    page.wait_for_selector("html[data-tried]")
    page.click('label.choice:has(input[value="PrefixConstraints"])')
    page.wait_for_selector("#tradeoff svg")
    page.wait_for_timeout(800)
    take("remedy")
    page.click("[data-go=report]:visible")
    page.wait_for_selector("[data-download=report]:visible")
    take("report")


def main() -> None:
    """Take the pictures."""
    reading = argparse.ArgumentParser(description=__doc__)
    reading.add_argument("--all", metavar="FOLDER", type=Path)
    folder = reading.parse_args().all
    found = os.environ.get("EQUIRANK_CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)))
    studio = Studio()
    thread = threading.Thread(target=studio.run)
    thread.start()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
            widths = (1400, 390) if folder else (1200,)
            for width in widths:
                for scheme in ("light", "dark") if folder else ("light",):
                    size = {"width": width, "height": 800}
                    context = browser.new_context(viewport=size, color_scheme=scheme)
                    page = context.new_page()
                    tail = f"_{width}_{scheme}" if folder else ""

                    def take(name: str, page: Any = page, tail: str = tail) -> None:
                        page.mouse.move(0, 0)
                        path = (folder or IMAGES) / f"studio_{name}{tail}.png"
                        page.screenshot(path=path, full_page=True)

                    walk(page, studio.address(), take)
                    context.close()
            browser.close()
    finally:
        studio.stop()
        thread.join()


if __name__ == "__main__":
    main()
