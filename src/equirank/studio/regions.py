"""Regions of the studio's page: the templates that serve its first paint and every update."""

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from ..plots.export import vega_script
from ..plots.theme import FOCUS, PALETTE, configuration, shorten
from ..recipes.toml_text import shell_line
from ..reports.number_words import plain_column
from ..reports.page import PAGE_COLOURS, asset, template_environment
from .answers import ENCODINGS, ROLES, Limits

__all__ = ["MEDIA_TYPES", "Regions", "page_asset", "parts", "visible"]


#: The fixed list of assets, and their types.
SCRIPTS = ("main.js", "api.js", "paint.js", "load.js", "findings.js", "remedy.js", "charts.js")
MEDIA_TYPES = dict.fromkeys((*SCRIPTS, "vega.js"), "text/javascript; charset=utf-8") | {
    "studio.css": "text/css; charset=utf-8"
}
#: Most columns of a file that the page lists.
MOST_COLUMNS = 200
#: Values that the templates of a state share.
PAGE_VALUES = {"roles": ROLES, "encodings": ENCODINGS, "most_columns": MOST_COLUMNS}
#: Signs that change the direction of text.
DIRECTIONS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
#: A sentence that ends with its confidence interval, in brackets.
CERTAINTY = re.compile(r"(.*) \(([\d.]+% confidence interval [^()]*)\)\.", re.DOTALL)
#: Height of a line of the picture of moves, and its most lines.
LINE, MOST_LINES = 21, 60


def visible(text: Any, width: int = 2000) -> str:
    r"""Return a text with control and direction characters as visible marks, shortened.

    Examples
    --------
    >>> visible("a\x00b\u202ec")
    'a␀b⟨202E⟩c'
    """
    given = str(text)
    if given.isprintable():  # as most texts are, without control and direction characters
        return shorten(given, width)
    marks = []
    for sign in given:
        code = ord(sign)
        if code < 0x20 and sign not in "\t\n\r":
            marks.append(chr(0x2400 + code))
        elif sign in DIRECTIONS or code == 0x7F or unicodedata.category(sign) in ("Cc", "Cs"):
            marks.append(" " if sign in "\t\n\r" else f"⟨{code:04X}⟩")
        else:
            marks.append(sign)
    return shorten("".join(marks), width)


def parts(sentence: str) -> tuple[str, str]:
    """Return a sentence, and apart from it the confidence interval and test at its end.

    Examples
    --------
    >>> parts("Women rank 2 positions lower (95% confidence interval 1 to 3; p = 0.01).")
    ('Women rank 2 positions lower.', '95% confidence interval 1 to 3; p = 0.01')
    >>> parts("Nothing (here).")
    ('Nothing (here).', '')
    """
    found = CERTAINTY.fullmatch(sentence)
    return (f"{found[1]}.", found[2]) if found else (sentence, "")


@cache
def page_asset(name: str) -> bytes:
    """Return a file that the page loads; the styles and charts are those of reports."""
    if name == "vega.js":
        settings = json.dumps(configuration(**PAGE_COLOURS))
        return f"{vega_script()}\nwindow.equirankChartSettings = {settings};\n".encode()
    if name == "studio.css":
        return (asset("shell.css") + _read(name)).encode()
    return _read(name).encode()


@cache
def _read(name: str) -> str:
    """Read a file of ``studio/page``, or a template of reports."""
    folder = files(__package__ or "") / "page"
    path = folder / name
    return path.read_text(encoding="utf-8") if path.is_file() else asset(name)


class Regions:
    """The page's templates, filled with answers of a workspace."""

    def __init__(self) -> None:
        self._environment = template_environment(_read)
        self._environment.filters |= {
            "visible": visible,
            "json": _json_attribute,
            "parts": parts,
            "plain": lambda value: f"{value:g}",
            "plain_column": plain_column,
            "shell_line": shell_line,
        }

    def page(self, examples: Sequence[Mapping[str, Any]], limits: Limits) -> str:
        """Return the page without any data."""
        return self._fill("index.html", examples=examples, limits=limits)

    def state(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Return a state with the regions that depend on it alone."""
        regions = {
            name: self._fill(f"{name}.html", state=state, **PAGE_VALUES)
            for name in ("steps", "chip", "loaded", "columns", "other", "kept", "take")
        }
        return {**state, "regions": regions}

    def findings(self, findings: Mapping[str, Any], shown: Mapping[str, str]) -> dict[str, Any]:
        """Return the regions of the findings; ``shown`` are names of groups by ``sex=female``."""
        bars = [
            {**bar, "shown": bar["shown"] or shown.get(f"{bar['attribute']}={bar['group']}", "")}
            for bar in findings["bars"]
            if bar["attribute"] == findings["attribute"]
        ]
        widest = max([bar["rate"] or 0.0 for bar in bars], default=0.0) or 1.0
        names = [bar["group"] for bar in bars]
        values = {"findings": findings, "bars": bars, "widest": widest, "colours": _colours(names)}
        regions = {
            name: self._fill(f"{name}.html", **values)
            for name in ("headline", "look", "statements")
        }
        return {**_without(findings, "tables"), "regions": regions}

    def compare(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        """Return the regions of a comparison."""
        regions = {"compared": self._fill("compared.html", answer=answer)}
        return {**answer, "regions": regions}

    def settings(self, facts: Mapping[str, Any]) -> dict[str, str]:
        """Return the controls of the remedy screen."""
        return {name: self._fill(f"{name}.html", facts=facts) for name in ("settings", "lists")}

    def tried(self, answer: Mapping[str, Any]) -> dict[str, str]:
        """Return the regions that follow a setting."""
        slope = _slope(answer["charts"].get("slope", []), answer["group"])
        return {
            name: self._fill(f"{name}.html", answer=answer, slope=slope)
            for name in ("head", "tiles", "guarantee", "slope")
        }

    def path(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        """Return a trade-off with its table."""
        return {**answer, "regions": {"path": self._fill("path.html", answer=answer)}}

    def remedies(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        """Return the remedies of the library with their table."""
        return {**answer, "regions": {"remedies": self._fill("remedies_found.html", answer=answer)}}

    def uncertainty(self, findings: Mapping[str, Any]) -> dict[str, Any]:
        """Return how sure the differences before and after are."""
        regions = {"uncertainty": self._fill("uncertainty.html", findings=findings)}
        return {**_without(findings, "tables"), "regions": regions}

    def explained(self, answer: Mapping[str, Any]) -> str:
        """Return why a person has its position."""
        return self._fill("explained.html", answer=answer)

    def people(self, answer: Mapping[str, Any]) -> str:
        """Return a page of people."""
        return self._fill("people.html", answer=answer)

    def _fill(self, name: str, **values: Any) -> str:
        return str(self._environment.get_template(name).render(**values))


def _json_attribute(value: Any) -> str:
    """Return JSON for an attribute; the template escapes it."""
    return json.dumps(value, allow_nan=False)


def _without(answer: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in answer.items() if key != name}


def _colours(names: Sequence[str]) -> dict[str, str]:
    """Return a colour per group, the first one in vermilion as in reports."""
    others = [colour for colour in PALETTE if colour != FOCUS]
    found = [FOCUS, *(others[i % len(others)] for i in range(len(names)))]
    return dict(zip(names, found, strict=False))


def _slope(rows: Sequence[Mapping[str, Any]], first: str) -> dict[str, Any]:
    """Return lines between positions before and after, in units of the picture.

    The group of interest has the first colour and shape, whatever the setting.
    """
    shown = sorted(rows, key=lambda row: row["before"])[:MOST_LINES]
    found = dict.fromkeys(row["group"] for row in shown)
    groups = sorted(found, key=lambda group: (group != first, group))
    before = {row["person"]: at for at, row in enumerate(shown)}
    after = {
        row["person"]: at
        for at, row in enumerate(sorted(shown, key=lambda row: row["after"] or 1e9))
    }
    lines = [
        {**row, "y1": 14 + LINE * before[row["person"]], "y2": 14 + LINE * after[row["person"]],
         "shape": groups.index(row["group"]) % 3, "moves": row["before"] != row["after"]}
        for row in shown
    ]  # fmt: skip
    names = {row["group"]: row.get("shown") or row["group"] for row in shown}
    return {"lines": lines, "height": 14 + LINE * len(shown), "colours": _colours(groups),
            "groups": groups, "names": names, "left_out": len(rows) - len(shown)}  # fmt: skip
