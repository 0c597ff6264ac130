"""Altair charts that end a block of a gallery script become pictures and thumbnails."""

from __future__ import annotations

from base64 import b64encode
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def as_picture(chart: Any) -> str:
    """Draw a chart as SVG, without a browser and without a network.

    Each is a picture of its own, since names inside the drawings of one page would clash.
    """
    import vl_convert

    svg = vl_convert.vegalite_to_svg(chart.to_json())
    code = b64encode(svg.encode()).decode()
    words = escape(_words(chart), quote=True)
    return f'<img alt="{words}" style="max-width:100%" src="data:image/svg+xml;base64,{code}">'


def _words(chart: Any) -> str:
    """Return the description of a chart, else its title."""
    spec = chart.to_dict()
    title = spec.get("title", "A chart")
    return str(spec.get("description") or (title.get("text") if isinstance(title, dict) else title))


#: The last chart that has a thumbnail: a value stays until another block ends with one.
_seen: list[Any] = [None]


def thumbnail(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Write the chart that ends a block as PNG, for the gallery; the page has it as a picture."""
    import altair
    import vl_convert

    chart = block_vars["example_globals"].get("___")
    if chart is not _seen[0] and isinstance(chart, altair.TopLevelMixin):
        _seen[0] = chart
        path = Path(next(block_vars["image_path_iterator"]))
        path.write_bytes(vl_convert.vegalite_to_png(chart.to_json(), scale=1.5))
    return ""


def without_thumbnail(gallery: Path) -> list[str]:
    """Return the scripts of a built gallery that no chart ends, so that they have no thumbnail."""
    images = gallery / "images"
    return [
        script.name
        for script in sorted(gallery.glob("plot_*.py"))
        if not (images / f"sphx_glr_{script.stem}_001.png").exists()
    ]


def warn_of_missing_thumbnails(app: Sphinx, env: Any) -> None:
    """Warn of scripts whose last value is no chart; a warning ends the build."""
    from sphinx.util import logging

    for name in without_thumbnail(Path(app.srcdir, "gallery")):
        words = "examples/%s: no block ends with a chart, so it has no thumbnail"
        logging.getLogger(__name__).warning(words, name)


def setup(app: Sphinx | None) -> dict[str, bool]:
    """Add the method that the gallery calls to charts, and draw them all in the same colours."""
    import altair

    from equirank.plots.theme import configuration

    altair.theme.register("equirank", enable=True)(lambda: {"config": configuration()})
    altair.TopLevelMixin._repr_html_ = as_picture
    if app is not None:
        app.connect("env-updated", warn_of_missing_thumbnails)
    return {"parallel_read_safe": True}
