"""Pictures as files."""

import json

import pytest

from equirank import DataError, MissingExtraError
from equirank.core import environment as extras
from equirank.plots import save_chart, tradeoff

pytestmark = pytest.mark.slow

FIRST_BYTES = {
    "png": b"\x89PNG", "svg": b"<svg", "pdf": b"%PDF", "html": b"<!DOCTYPE", "json": b"{",
}  # fmt: skip


@pytest.fixture(scope="module")
def chart():
    points = {"name": ["a", "b"], "x": [0.3, 0.1], "y": [0.8, 0.7]}
    return tradeoff(points, mixture=(0.3, 0.8, 0, 0.5))


@pytest.mark.slow
@pytest.mark.parametrize("ending", FIRST_BYTES)
def test_each_ending_gives_its_format_and_nothing_else(chart, tmp_path, ending):
    save_chart(chart, tmp_path / f"picture.{ending}")
    (file,) = tmp_path.iterdir()
    assert file.read_bytes().lstrip().startswith(FIRST_BYTES[ending])


@pytest.mark.slow
def test_json_is_the_specification_and_html_needs_no_network(chart, tmp_path):
    save_chart(chart, tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text())["title"]["text"] == "y against x"
    save_chart(chart, tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text()
    assert "<script src=" not in page
    assert "cdn.jsdelivr.net" not in page


def test_names_cannot_end_the_script(tmp_path):
    points = {"name": ["</script><script>alert(1)</script>\u2028"], "x": [0.3], "y": [0.8]}
    save_chart(tradeoff(points, mixture=(0, 0, 1, 1)), tmp_path / "a.html")
    assert "<script>alert" not in (tmp_path / "a.html").read_text()


@pytest.mark.slow
def test_line_separators_are_escaped(tmp_path):
    # Vega reads them as ends of lines within the names that it writes into expressions
    points = {"name": ["a\u2028b", r"a\u2028b "], "x": [0.3, 0.1], "y": [0.8, 0.7]}
    chart = tradeoff(points, mixture=(0, 0, 1, 1))
    save_chart(chart, tmp_path / "a.json")
    text = json.dumps(json.loads((tmp_path / "a.json").read_text()), ensure_ascii=False)
    assert "\u2028" not in text
    assert r"a\\u2028b" in text
    save_chart(chart, tmp_path / "a.svg")
    assert r"a\u2028b" in (tmp_path / "a.svg").read_text()


def test_another_ending_is_refused(chart, tmp_path):
    with pytest.raises(DataError, match=r"must end in one of \.png, .* got 'a\.gif'"):
        save_chart(chart, "a.gif")


def test_without_the_packages_the_extra_is_named(chart, monkeypatch, tmp_path):
    found = extras.importlib.import_module

    def missing(name):
        if name in ("altair", "vl_convert"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return found(name)

    monkeypatch.setattr(extras.importlib, "import_module", missing)
    with pytest.raises(MissingExtraError, match=r"vl_convert .*equirank\[report\]"):
        save_chart(chart, tmp_path / "a.svg")
    with pytest.raises(MissingExtraError, match=r"altair .*equirank\[report\]"):
        tradeoff({"name": ["a"], "x": [0.3], "y": [0.8]}, mixture=(0, 0, 1, 1))
