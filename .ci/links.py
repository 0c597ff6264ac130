"""Check the built documentation: every link leads somewhere, and no page asks another server.

``make docs`` runs it on ``build/docs``. Links to other sites are allowed; scripts, styles, pictures
and frames from other sites are not.
"""

import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The anchors of a page, the links it contains and the files it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag names, links to or loads."""
        found = {name: value for name, value in attrs if value}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag == "link" and found.get("rel") in ("stylesheet", "icon", "preload"):
            self.loads.append(found["href"])
        elif tag != "a" and "src" in found:
            self.loads.append(found["src"])


def faults(folder: Path) -> Iterator[str]:
    """Yield one line for each link without a target and each file from another server."""
    pages = {
        path: Page(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))
    }
    for path, page in pages.items():
        name = path.relative_to(folder)
        for target in page.loads:
            if urlsplit(target).scheme not in ("", "data") or target.startswith("//"):
                yield f"{name} loads {target}"
        for target in [*page.links, *page.loads]:
            parts = urlsplit(target)
            if parts.scheme or target.startswith("//"):
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not there.exists():
                yield f"{name} links to {target}, which does not exist"
                continue
            anchors = pages[there].anchors if there in pages else {unquote(parts.fragment)}
            if parts.fragment and unquote(parts.fragment) not in anchors:
                yield f"{name} links to {target}, which has no such anchor"


if __name__ == "__main__":
    found = list(faults(Path(sys.argv[1]).resolve()))
    lines = [*found[:50], f"{len(found)} broken links or requests to other servers"]
    sys.exit("\n".join(lines) if found else None)
