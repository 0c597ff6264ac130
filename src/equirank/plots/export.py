"""Write charts to files."""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

from ..core.environment import require
from ..core.errors import DataError
from ..io.files import replacing
from .theme import altair

__all__ = ["save_chart", "script_safe", "specification", "vega_script"]


PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Chart</title></head>
<body><div id="chart"></div>
<script>%s</script>
<script>vegaEmbed("#chart", %s, {renderer: "svg", actions: false, ast: true});</script>
</body></html>
"""
ENDINGS = (".png", ".svg", ".pdf", ".html", ".json")


def save_chart(chart: Any, path: str | os.PathLike[str], *, scale: float = 2.0) -> None:
    """Write a chart as PNG, SVG, PDF, HTML or JSON, by the extension of the path.

    The file is written under another name and renamed when complete. HTML includes its script and
    opens offline; JSON is the Vega-Lite specification.

    Parameters
    ----------
    chart : altair.Chart
        Any Altair chart.
    path : path
        The output file; its extension is the format.
    scale : float
        Pixels of a PNG per pixel of the chart.

    Examples
    --------
    >>> import os, tempfile
    >>> from equirank.plots import save_chart, tradeoff
    >>> points = {"name": ["plain", "fair"], "x": [0.3, 0.1], "y": [0.8, 0.7]}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_chart(tradeoff(points, mixture=(0.3, 0.8, 0, 0.5)), f"{folder}/picture.svg")
    ...     os.listdir(folder)
    ['picture.svg']
    """
    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise DataError(f"path must end in one of {', '.join(ENDINGS)}, got {str(path)!r}")
    content: bytes | str
    spec = specification(chart)
    if ending == ".json":
        content = json.dumps(spec, indent=2, sort_keys=True)
    else:
        convert = require("vl_convert", "report")
        options: dict[str, Any] = {"vl_version": vega_lite_version()}
        if ending == ".png":
            options["scale"] = scale
        if ending == ".html":
            content = PAGE % (vega_script(), script_safe(spec))
        else:
            content = getattr(convert, f"vegalite_to_{ending[1:]}")(spec, **options)
    with replacing(path) as file:
        file.write(content.encode() if isinstance(content, str) else content)


def specification(chart: Any, validate: bool = True) -> dict[str, Any]:
    r"""Return the Vega-Lite specification of a chart.

    The line separators U+2028 and U+2029 become ``\u2028`` and ``\u2029``: Vega writes names into
    expressions, and reads these signs there as ends of lines, which is an error.
    """
    text = json.dumps(chart.to_dict(validate=validate), ensure_ascii=False)
    for sign in "\u2028\u2029":
        text = text.replace(sign, f"\\\\u{ord(sign):04x}")
    spec: dict[str, Any] = json.loads(text)
    return spec


def vega_script() -> str:
    """Return the script that draws charts (Vega, Vega-Lite and Vega-Embed) in a page."""
    return _vega_script(vega_lite_version())


@cache
def _vega_script(version: str) -> str:
    """Return the bundled script, which takes a second to build."""
    bundle = require("vl_convert", "report").javascript_bundle(vl_version=version)
    return str(bundle).replace("</script", "<\\/script")


def script_safe(value: Any) -> str:
    r"""Return JSON that is safe inside a script element.

    Examples
    --------
    >>> script_safe({"name": "</script>"})
    '{"name":"\\u003c/script\\u003e"}'
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text


def vega_lite_version() -> str:
    """Return the Vega-Lite version of the installed Altair, as vl-convert names it."""
    return ".".join(str(altair().SCHEMA_VERSION).lstrip("v").split(".")[:2])
