"""A browser for tests: a Chromium on PATH, or the one that EQUIRANK_CHROMIUM names."""

import os
import shutil
from contextlib import contextmanager

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
FOUND = os.environ.get("EQUIRANK_CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
needs_chromium = pytest.mark.skipif(
    FOUND is None, reason="no Chromium on PATH, and EQUIRANK_CHROMIUM names none"
)


@contextmanager
def launched():
    """Yield a running browser."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=FOUND, args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()
