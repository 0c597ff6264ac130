"""Altair charts that end a block of a gallery script become pictures on its page."""

from __future__ import annotations

from base64 import b64encode
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
    return f'<img alt="" style="max-width:100%" src="data:image/svg+xml;base64,{code}">'


def setup(app: Sphinx) -> dict[str, bool]:
    """Return charts the method that the gallery asks for."""
    import altair

    altair.TopLevelMixin._repr_html_ = as_picture
    return {"parallel_read_safe": True}
