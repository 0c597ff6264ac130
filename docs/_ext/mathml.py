"""Formulas become MathML, which browsers draw themselves: no script, and no request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from docutils.nodes import SkipNode
from latex2mathml.converter import convert

if TYPE_CHECKING:
    from sphinx.application import Sphinx

STYLE = "overflow-x:auto;margin:1rem 0"  # a wide formula scrolls on a narrow screen


def draw_inline(writer: Any, node: Any) -> None:
    """Write a formula within a sentence."""
    writer.body.append(convert(node.astext(), display="inline"))
    raise SkipNode


def draw_block(writer: Any, node: Any) -> None:
    """Write a formula of its own, which the keyboard can scroll."""
    formula = convert(node.astext(), display="block")
    opening = f'<div class="math" role="group" aria-label="formula" tabindex="0" style="{STYLE}">'
    writer.body.append(f"{opening}{formula}</div>\n")
    raise SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer that conf.py names."""
    app.add_html_math_renderer("mathml", (draw_inline, None), (draw_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
