"""Altair charts that end a block of a gallery script become pictures on its page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def as_svg(chart: Any) -> str:
    """Draw a chart as SVG, without a browser and without a network."""
    import vl_convert

    return vl_convert.vegalite_to_svg(chart.to_json())


def setup(app: Sphinx) -> dict[str, bool]:
    """Give charts the method that the gallery asks for."""
    import altair

    altair.TopLevelMixin._repr_html_ = as_svg
    return {"parallel_read_safe": True}
