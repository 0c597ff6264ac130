"""The trade-off chart: rankings as points of two metrics, with the line of random mixtures."""

from collections.abc import Iterable, Sequence
from math import isfinite
from typing import Any

from ..core.errors import DataError
from .label_layout import PADDING, Sheet, box, draw_labels
from .theme import INK, METHOD, MUTED, SHAPES, altair, colours, data, dress, shorten

__all__ = ["axis", "distance_lines", "draw_lines", "interval_rules", "line_name", "tradeoff"]


#: Length of a line beyond the points, as a share of their range.
REACH = 0.08
DASHES = {"best rival": [7, 4], "best of all": [2, 3]}


def distance_lines(
    rows: list[dict[str, Any]], line: list[dict[str, Any]], x_better: str, y_better: str
) -> list[dict[str, Any]]:
    """Return the lines of equal distance through the best rival and the best of all.

    The distance of a point is |1 - x| + |1 - y|, with 0 instead of 1 if lower is better. Rows
    without the column ``rival`` have no lines; without rivals there is only the best of all. Lines
    end slightly beyond the points, but not beyond the perfect value.
    """
    if all(row["rival"] is None for row in rows):
        return []
    signs = [1.0 if better == "higher" else -1.0 for better in (x_better, y_better)]
    perfect = [max(sign, 0.0) for sign in signs]

    def upward(row: dict[str, Any]) -> tuple[float, float]:
        return signs[0] * row["x"], signs[1] * row["y"]

    def distance(row: dict[str, Any]) -> float:
        u, v = upward(row)
        return abs(perfect[0] - u) + abs(perfect[1] - v)

    (u_low, u_high), (v_low, v_high) = (
        _reach([point[at] for point in map(upward, [*rows, *line])], perfect[at]) for at in (0, 1)
    )
    found: list[dict[str, Any]] = []
    for name, some in (("best rival", [r for r in rows if r["rival"]]), ("best of all", rows)):
        if not some:
            continue
        least = min(distance(row) for row in some)
        if found and least == found[0]["distance"]:
            found[0]["name"] = "best of all, a rival"
            continue
        total = sum(perfect) - least  # u + v along the line
        ends = (max(u_low, total - v_high), min(u_high, total - v_low))
        found.append(
            {
                "name": name,
                "distance": least,
                "dash": DASHES[name],
                "ends": [{"x": signs[0] * u, "y": signs[1] * (total - u)} for u in ends],
            }
        )
    return found


def _reach(values: list[float], perfect: float) -> tuple[float, float]:
    low, high = min(values), max(values)
    more = REACH * ((high - low) or 1.0)
    return low - more, max(high, min(high + more, perfect))


def draw_lines(alt: Any, lines: list[dict[str, Any]], axes: dict[str, Any]) -> Iterable[Any]:
    """Yield the layers of the lines, labelled with their distances."""
    for line in lines:
        yield (
            alt.Chart(data(line["ends"]))
            .mark_line(strokeDash=line["dash"], strokeWidth=1.5, color=INK, opacity=0.75)
            .encode(**axes)
        )
        end, offset, text = line_name(line)
        yield (
            alt.Chart(data([end]))
            .mark_text(**offset, color=INK, fontStyle="italic")
            .encode(**axes, text=alt.value(text))
        )


def line_name(line: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any], str]:
    """Return the end of a line that is labelled, the offset of the label, and its text."""
    low, high = sorted(line["ends"], key=lambda end: end["y"])
    text = f"{line['name']}: {line['distance']:.3f}"
    if line["name"] == "best rival":
        return low, {"align": "right", "dx": 0, "dy": 12}, text
    return high, {"align": "left", "dx": 5, "dy": -5}, text


#: Most labels next to points; tooltips always contain the names.
LABELS = 14


# Long by its parameters and layers of the chart, which share the same data.
def tradeoff(
    points: Any,
    x: str = "x",
    y: str = "y",
    *,
    mixture: Sequence[float] | None = None,
    noise: Sequence[Sequence[float]] = (),
    x_better: str = "higher",
    y_better: str = "higher",
    title: str | None = None,
    width: int = 560,
    height: int = 380,
) -> Any:
    """Draw rankings as points of two metrics, with the line of random mixtures.

    The dashed line shows the values of a random ranking shown with some probability instead of the
    chosen one. A method below that line has no advantage over random mixing, so the line is always
    drawn and must be given. The front and the line are not computed but part of the points. Equal
    points overlap; a point with an undefined x or y is omitted.

    Parameters
    ----------
    points : Table, data frame, mapping of columns, or result
        A result with ``tradeoff_points``, as of `TradeoffSearch` or `FairLambdaMART.tradeoff_path`,
        provides all arguments but title and size. Otherwise one row per ranking, with ``name`` and
        the columns that ``x`` and ``y`` name. Optional: ``low`` and ``high``, the interval of y;
        ``x_low`` and ``x_high``, that of x; ``front``,
        True for members of the Pareto front (filled points); ``path``, a label that joins its rows
        by a line, in the order given; ``label``, the text next to a point instead of its name;
        ``mixture``, True for rows of the mixture line; ``rival``, True for baseline methods: lines
        of equal trade-off distance ``|1 - x| + |1 - y|`` (0 for 1 if lower is better) then pass
        through the best rival, dashed, and through the best of all, dotted.
    x, y : str
        The columns, also the titles of the axes.
    mixture : (x0, y0, x1, y1), optional
        The two ends of the mixture line, unless the rows contain it.
    noise : sequence of (x, y), optional
        The values of a ranking with more and more noise on its scores, drawn as a second line.
    x_better, y_better : {"higher", "lower"}
        The better direction, shown on the axes.
    title : str, optional
        The title; by default it names y and x.
    width, height : int
        Size in pixels.

    Returns
    -------
    altair.Chart
        `save_chart` writes it to a file.

    Examples
    --------
    >>> from equirank.plots import tradeoff
    >>> points = {"name": ["plain", "fair"], "NDCG@10": [0.8, 0.7], "ExposureGap": [0.3, 0.1]}
    >>> chart = tradeoff(
    ...     points, "ExposureGap", "NDCG@10", x_better="lower", mixture=(0.3, 0.8, 0.0, 0.5)
    ... )
    >>> chart.to_dict()["title"]["text"]
    'NDCG@10 against ExposureGap'
    """
    if hasattr(points, "tradeoff_points"):
        return tradeoff(**points.tradeoff_points(), title=title, width=width, height=height)
    for argument, better in (("x_better", x_better), ("y_better", y_better)):
        if better not in ("higher", "lower"):
            raise DataError(f"{argument} must be 'higher' or 'lower', got {better!r}")
    rows, line = _rows(points, x, y, mixture)
    noisy = _noise_rows(noise)
    alt = altair()
    axes = {
        "x": axis(alt.X, "x", x, x_better),
        "y": axis(alt.Y, "y", y, y_better),
    }
    paths = list(dict.fromkeys(row["path"] for row in rows if row["path"]))
    hue = _hue(alt, paths)
    tips = _tips(alt, rows, x, y)
    lines = distance_lines(rows, line, x_better, y_better)
    layers = [*_mixture(alt, line, axes, solid=bool(lines)), *_noise(alt, noisy, axes)]
    layers += draw_lines(alt, lines, axes)
    if paths:
        layers.append(
            alt.Chart(data(row for row in rows if row["path"]))
            .mark_line(strokeWidth=1.5, opacity=0.7)
            .encode(**axes, order=alt.Order("step:Q"), **hue)
        )
    layers += interval_rules(alt, rows, axes, hue)
    layers += [
        alt.Chart(data(row for row in rows if row["front"] is filled))
        .mark_point(filled=filled, size=90, strokeWidth=2, opacity=1, color=METHOD)
        .encode(**axes, tooltip=tips, **hue, **_shape(alt, paths))
        for filled in (False, True)
        if any(row["front"] is filled for row in rows)
    ]
    if sum(bool(row["label"]) for row in rows) <= LABELS:
        sheet = Sheet.around(
            [*rows, *line, *noisy, *(end for at in lines for end in at["ends"])], width, height
        )
        texts = [(*_mixture_name(line), "random mixture"), *map(line_name, lines)]
        texts += [(*_noise_name(noisy), "score noise")] if noisy else []
        taken = [box(sheet.at(at), **offset, text=text) for at, offset, text in texts]
        layers += draw_labels(alt, rows, sheet, taken, axes)
    chart = alt.layer(*layers).properties(width=width, height=height)
    reading = [f"{'Grey' if lines else 'Dashed'}: mixtures of the ranking with a random one."]
    reading += ["Dotted grey: the ranking with noise on its scores."] if noisy else []
    reading += [f"{_stroke(at)}: as far from perfect as the {at['name']}." for at in lines]
    if any(row["front"] for row in rows) and not all(row["front"] for row in rows):
        reading.append("Filled points are on the Pareto front; hollow ones are dominated.")
    return dress(
        chart,
        title or f"{shorten(y, 45)} against {shorten(x, 45)}",
        f"{len(rows)} rankings as points: {shorten(x)} ({x_better} is better) to the right, "
        f"{shorten(y)} ({y_better} is better) upwards, and the line of random mixtures.",
        reading,
    )


def _columns(points: Any) -> dict[str, list[Any]]:
    """Return the columns of a Table, a frame or a mapping."""
    found = points.to_dict() if hasattr(points, "to_dict") else points
    if not hasattr(found, "items"):
        kind = type(points).__name__
        raise DataError(f"points must be a table, a data frame or named columns, got a {kind}")
    return {
        str(name): list(column.values() if hasattr(column, "values") and callable(column.values)
                        else column)
        for name, column in found.items()
    }  # fmt: skip


def _rows(
    points: Any, x: str, y: str, mixture: Sequence[float] | None
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the points and the mixture line as rows with fixed names."""
    columns = _columns(points)
    for name in ("name", x, y):
        if name not in columns:
            listed = ", ".join(shorten(column) for column in columns)
            raise DataError(f"points must have a column {shorten(name)!r}, got {listed}")
    count = len(columns["name"])
    names = {"name": "name", "x": x, "y": y} | {
        key: key
        for key in ("low", "high", "x_low", "x_high", "front", "path", "mixture", "rival", "label")
    }
    none = [None] * count
    rows = [
        dict(zip(names, values, strict=True))
        for values in zip(*(columns.get(column, none) for column in names.values()), strict=True)
    ]
    rows = [row for row in rows if _number(row["x"]) is not None and _number(row["y"]) is not None]
    for step, row in enumerate(rows):
        row["step"] = step
        for key in ("x", "y", "low", "high", "x_low", "x_high"):
            row[key] = _number(row[key])
        row["name"] = str(row["name"])
        row["label"] = row["name"] if row["label"] is None else str(row["label"])
        row["path"] = "" if row["path"] is None or row["path"] != row["path"] else str(row["path"])
        row["front"] = row["front"] is None or bool(row["front"])
    line = [{"x": row["x"], "y": row["y"]} for row in rows if row["mixture"] is True]
    if mixture is not None:
        ends = [_number(value) for value in mixture]
        if len(ends) != 4 or None in ends:
            raise DataError(f"mixture must be four finite numbers x0, y0, x1, y1, got {mixture!r}")
        line = [{"x": ends[0], "y": ends[1]}, {"x": ends[2], "y": ends[3]}]
    if len(line) < 2:
        raise DataError(
            "mixture must be (x0, y0, x1, y1), or points must have at least two rows with "
            "mixture=True: the random-mixture line is always drawn"
        )
    shown = [row for row in rows if row["mixture"] is not True]
    if not shown:
        raise DataError(f"points must have at least one row with a finite {x!r} and {y!r}")
    for row in shown:
        del row["mixture"]
    return shown, sorted(line, key=lambda end: (end["x"], end["y"]))


def _number(value: Any) -> float | None:
    if value is None or isinstance(value, str) or not isfinite(value):
        return None
    return float(value)


#: Titles of axes with more characters take two lines, so that narrow pages show them whole.
LONG_TITLE = 40


def axis(channel: Any, field: str, title: str, better: str) -> Any:
    """Return an axis that states the better direction."""
    words: Any = f"{shorten(title, 50)} ({better} is better)"
    if len(words) > LONG_TITLE:
        words = [shorten(title, 50), f"({better} is better)"]
    named = channel(f"{field}:Q", title=words).scale(zero=False, nice=False, padding=PADDING)
    return named.axis(tickCount=8)


def _hue(alt: Any, paths: list[str]) -> dict[str, Any]:
    if not paths:
        return {}
    scale = colours(paths)
    return {
        "color": alt.Color("path:N", title=None)
        .scale(domain=["", *scale["domain"]], range=[INK, *scale["range"]])
        .legend(values=paths, columns=4, symbolType="stroke", symbolStrokeWidth=3)
    }


def _shape(alt: Any, paths: list[str]) -> dict[str, Any]:
    if not paths:
        return {}
    shapes = [SHAPES[i % len(SHAPES)] for i in range(len(paths) + 1)]
    return {
        "shape": alt.Shape("path:N", title=None)
        .scale(domain=["", *paths], range=shapes)
        .legend(None)
    }


def _tips(alt: Any, rows: list[dict[str, Any]], x: str, y: str) -> list[Any]:
    tips = [alt.Tooltip("name:N", title="name")]
    if any(row["path"] for row in rows):
        tips.append(alt.Tooltip("path:N", title="path"))
    titles = {"x": x, "y": y, "low": f"{y} low", "high": f"{y} high"}
    tips += [
        alt.Tooltip(f"{key}:Q", title=shorten(title), format=".4~f")
        for key, title in titles.items()
        if any(row[key] is not None for row in rows)
    ]
    return tips


def _mixture_name(line: list[dict[str, Any]]) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the point and offset of the mixture line's label, in the middle of the line."""
    middle = {key: (line[0][key] + line[-1][key]) / 2 for key in ("x", "y")}
    falls = line[-1]["y"] < line[0]["y"]
    return middle, {"align": "left", "dx": 8, "dy": -10 if falls else 10}


def _stroke(line: dict[str, Any]) -> str:
    return "Dotted" if line["name"] == "best of all" else "Dashed"


def _mixture(
    alt: Any, line: list[dict[str, Any]], axes: dict[str, Any], solid: bool
) -> Iterable[Any]:
    dash = [1, 0] if solid else [6, 4]
    yield (
        alt.Chart(data(line))
        .mark_line(strokeDash=dash, strokeWidth=1.5, color=MUTED)
        .encode(**axes)
    )
    middle, offset = _mixture_name(line)
    yield (
        alt.Chart(data([middle]))
        .mark_text(**offset, color=MUTED, fontStyle="italic")
        .encode(**axes, text=alt.value("random mixture"))
    )


def _noise_rows(noise: Sequence[Sequence[float]]) -> list[dict[str, Any]]:
    """Return the points of the noise line, in their order."""
    rows = []
    for step, point in enumerate(noise):
        ends = [_number(value) for value in point]
        if len(ends) != 2 or None in ends:
            raise DataError(f"noise must be pairs of finite numbers x, y, got {point!r}")
        rows.append({"x": ends[0], "y": ends[1], "step": step})
    return rows


def _noise_name(noisy: list[dict[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the point and offset of the noise line's label, at its middle point."""
    return noisy[len(noisy) // 2], {"align": "left", "dx": 8, "dy": 14}


def _noise(alt: Any, noisy: list[dict[str, Any]], axes: dict[str, Any]) -> Iterable[Any]:
    if not noisy:
        return
    yield (
        alt.Chart(data(noisy))
        .mark_line(strokeDash=[2, 3], strokeWidth=1.5, color=MUTED)
        .encode(**axes, order=alt.Order("step:Q"))
    )
    middle, offset = _noise_name(noisy)
    yield (
        alt.Chart(data([middle]))
        .mark_text(**offset, color=MUTED, fontStyle="italic")
        .encode(**axes, text=alt.value("score noise"))
    )


def interval_rules(
    alt: Any, rows: list[dict[str, Any]], axes: dict[str, Any], hue: dict[str, Any]
) -> Iterable[Any]:
    """Yield the layers of the intervals of both axes."""
    for low, high, along in (("low", "high", "y"), ("x_low", "x_high", "x")):
        known = [row for row in rows if row[low] is not None and row[high] is not None]
        if known:
            other = "x" if along == "y" else "y"
            ends = {along: axes[along].copy(), f"{along}2": f"{high}:Q", other: axes[other]}
            ends[along].shorthand = f"{low}:Q"
            yield (
                alt.Chart(data(known))
                .mark_rule(strokeWidth=1.5, opacity=0.6, color=METHOD)
                .encode(**ends, **hue)
            )
