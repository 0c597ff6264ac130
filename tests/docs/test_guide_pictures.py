"""Every guide has a picture, every picture has words, and diagrams are as the script draws."""

import re
import sys
from importlib import import_module
from pathlib import Path
from xml.etree import ElementTree

import pytest

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS / "_ext"))
diagrams = import_module("guide_diagrams")
gallery_charts = import_module("gallery_charts")

IMAGE = re.compile(r"!\[([^\]]*)\]\(([^)]+)\)")
DIRECTIVE = re.compile(r"^`{3,}\{image\} (\S+)\n(?:^:(?!alt)[^\n]*\n)*^:alt: ([^\n]+)", re.M)
TAG = re.compile(r'<img src="([^"]+)" alt="([^"]+)"')
#: Pages whose tables of contents list guides, and guides that other pages list.
LISTS = ("how_to", "explanation")
FURTHER = ("adding", "conformance", "datasets", "overview", "plots")


def guides():
    """Return the pages that need a picture."""
    found = list(FURTHER)
    for page in LISTS:
        text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
        for block in re.findall(r"```\{toctree\}\n(.*?)```", text, re.S):
            found += [line for line in block.splitlines() if line and not line.startswith(":")]
    return sorted(found)


def without_picture(text):
    """Say whether a page has no picture."""
    return not IMAGE.search(text)


def test_guides_are_found():
    assert len(guides()) > 35
    assert {"audit", "serve", "reranking", "worked_examples"} <= set(guides())


def test_every_guide_has_a_picture():
    for page in guides():
        assert not without_picture((DOCS / f"{page}.md").read_text(encoding="utf-8")), page


def test_a_page_without_picture_is_found():
    assert without_picture("# A guide\n\n[a link](images/flow.svg)\n")
    assert not without_picture("# A guide\n\n![What flows](images/flow.svg)\n")


def test_pictures_exist_and_have_words():
    for path in DOCS.rglob("*.md"):
        for words, target in IMAGE.findall(path.read_text(encoding="utf-8")):
            assert (path.parent / target).resolve().is_file(), f"{path.name} shows {target}"
            assert len(words.split()) >= 5, f"{target} must have a text alternative, got {words!r}"


def test_every_picture_is_used():
    pages = [*DOCS.rglob("*.md"), DOCS.parent / "README.md"]
    texts = [page.read_text(encoding="utf-8") for page in pages]
    used = {Path(target).name for text in texts for _, target in IMAGE.findall(text)}
    # pictures for wide and narrow pages: directives in the documentation, tags in the README
    for text in texts:
        for target, words in DIRECTIVE.findall(text) + TAG.findall(text):
            assert len(words.split()) >= 5, f"{target} must have a text alternative"
            used.add(Path(target).name)
        used |= {Path(target).name for target in re.findall(r'srcset="([^"]+)"', text)}
    assert sorted(path.name for path in (DOCS / "images").iterdir() if path.name not in used) == []


def test_drawings_ask_for_nothing_outside():
    for path in (DOCS / "images").glob("*.svg"):
        for node in ElementTree.parse(path).iter():
            for name, value in node.attrib.items():
                assert not (name.endswith("href") and "//" in value), path.name


def test_diagrams_are_as_drawn():
    for name, draw in diagrams.DIAGRAMS.items():
        stored = (DOCS / "images" / f"{name}.svg").read_text(encoding="utf-8")
        assert stored == draw(), f"python docs/_ext/guide_pictures.py {name}"


def test_text_that_does_not_fit_is_an_error():
    with pytest.raises(SystemExit, match="pixels"):
        diagrams.box(0, 0, 50, "far too long for its box")


def test_class_that_does_not_exist_is_an_error():
    with pytest.raises(SystemExit, match="NoSuchRanker"):
        diagrams.public("rankers", "LambdaMART", "NoSuchRanker")


def test_gallery_script_without_thumbnail_is_named(tmp_path):
    (tmp_path / "images").mkdir()
    for name in ("plot_a", "plot_b"):
        (tmp_path / f"{name}.py").write_text("")
    (tmp_path / "images" / "sphx_glr_plot_a_001.png").write_bytes(b"")
    assert gallery_charts.without_thumbnail(tmp_path) == ["plot_b.py"]
