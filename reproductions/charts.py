"""The charts of the reproductions, in the colours of the library; they need Altair."""

from verdicts import interval

from equirank.plots.theme import DASHES, INK, MUTED, SHAPES, altair, colours, data, dress


def lines(
    rows, x, y, colour, title, *, facet=None, band=None, columns=2, rule=None, shared=True, note=""
):
    """Draw lines of y over x, one per colour, optionally faceted and with a band.

    Facets share their scales, unless they are different quantities (``shared=False``).
    """
    alt = altair()
    hue, dash = _hue(alt, rows, colour)
    base = alt.Chart().encode(
        x=alt.X(f"{x}:Q", title=x, scale=alt.Scale(zero=False, nice=False)), color=hue
    )
    height = {"title": y, "scale": alt.Scale(zero=False)}
    layers = [base.mark_line().encode(y=alt.Y(f"{y}:Q", **height), strokeDash=dash)]
    if band is not None:
        low, high = band
        layers.insert(0, base.mark_area(opacity=0.2).encode(
            y=alt.Y(f"{low}:Q", **height), y2=f"{high}:Q"))  # fmt: skip
    if rule is not None:
        layers.append(alt.Chart().mark_rule(strokeDash=[4, 4], color=MUTED).encode(
            x=alt.X(f"{rule}:Q", title=x)))  # fmt: skip
    size = {"width": 210, "height": 180} if facet else {"width": 400, "height": 260}
    layers = [layer.properties(**size) for layer in layers]
    chart = alt.layer(*layers, data=data(rows))
    if facet is not None:
        chart = _faceted(alt, chart, facet, columns)
        if not shared:
            chart = chart.resolve_scale(y="independent")
    return dress(chart, title, f"{y} over {x}, by {colour}.", note)


def points(rows, x, y, colour, title, *, facet, note=""):
    """Draw points of y over x, connected by falling alpha, one line per colour, on shared scales.

    Columns ``x_low``, ``x_high``, ``y_low`` and ``y_high`` of `estimate` are drawn as intervals.
    """
    alt = altair()
    hue, dash = _hue(alt, rows, colour)
    shape = alt.Shape(f"{colour}:N", title=colour, scale=_scale(alt, _names(rows, colour), SHAPES))
    across = alt.X(f"{x}:Q", title=x, scale=alt.Scale(zero=False))
    up = alt.Y(f"{y}:Q", title=y, scale=alt.Scale(zero=False))
    base = alt.Chart().encode(color=hue)
    layers = [
        base.mark_line(strokeWidth=1.5).encode(
            x=across, y=up, strokeDash=dash, order=alt.Order("alpha:Q", sort="descending")
        ),
        base.mark_point(filled=True, size=55, opacity=1).encode(x=across, y=up, shape=shape),
    ]
    if any("x_low" in row for row in rows):
        layers += [
            base.mark_rule(opacity=0.4).encode(x=alt.X("x_low:Q", title=x), x2="x_high:Q", y=up),
            base.mark_rule(opacity=0.4).encode(
                x=across, y=alt.Y("y_low:Q", title=y), y2="y_high:Q"
            ),
        ]
    chart = alt.layer(*(layer.properties(width=210, height=220) for layer in layers))
    chart = _faceted(alt, chart.properties(data=data(rows)), facet, 2)
    return dress(chart, title, f"{y} against {x}, by {colour}.", note)


def estimate(axis, name, values):
    """Return a mean over seeds and the ends of its 95% interval as columns of `points`."""
    mean, half = interval(values)
    return {name: mean, f"{axis}_low": mean - half, f"{axis}_high": mean + half}


def _faceted(alt, chart, facet, columns):
    return chart.facet(facet=alt.Facet(f"{facet}:N", title=None), columns=columns, spacing=18)


def _names(rows, colour):
    """Return the names of the series; the one that is called none comes first."""
    return sorted({row[colour] for row in rows}, key=lambda name: (name != "none", name))


def _hue(alt, rows, colour):
    """Return colours and dashes of the series; the one that is called none is ink."""
    names = _names(rows, colour)
    given = iter(colours(name for name in names if name != "none")["range"])
    shades = [INK if name == "none" else next(given) for name in names]
    hue = alt.Color(f"{colour}:N", title=colour, scale=alt.Scale(domain=names, range=shades))
    return hue, alt.StrokeDash(f"{colour}:N", title=colour, scale=_scale(alt, names, DASHES))


def _scale(alt, names, looks):
    return alt.Scale(domain=names, range=[looks[at % len(looks)] for at in range(len(names))])
