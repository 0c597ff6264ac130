"""The charts of the reproductions; they need Altair."""

import math


def lines(rows, x, y, colour, title, *, facet=None, band=None, dash=None, columns=3, rule=None):
    """Draw lines of y over x, one per colour, optionally faceted and with a band."""
    import altair as alt

    base = alt.Chart().encode(
        x=alt.X(f"{x}:Q", title=x, scale=alt.Scale(zero=False, nice=False)),
        color=alt.Color(f"{colour}:N"),
    )
    if dash is not None:
        base = base.encode(strokeDash=alt.StrokeDash(f"{dash}:N"))
    height = {"title": y, "scale": alt.Scale(zero=False)}
    layers = [base.mark_line().encode(y=alt.Y(f"{y}:Q", **height))]
    if band is not None:
        low, high = band
        layers.insert(0, base.mark_area(opacity=0.2).encode(
            y=alt.Y(f"{low}:Q", **height), y2=f"{high}:Q"))  # fmt: skip
    if rule is not None:
        layers.append(alt.Chart().mark_rule(strokeDash=[4, 4]).encode(
            x=alt.X(f"{rule}:Q", title=x)))  # fmt: skip
    size = {"width": 240, "height": 180} if facet else {"width": 420, "height": 260}
    layers = [layer.properties(**size) for layer in layers]
    chart = alt.layer(*layers, data=alt.InlineData(values=[_finite(row) for row in rows]))
    if facet is not None:
        chart = chart.facet(facet=alt.Facet(f"{facet}:N", title=None), columns=columns)
        chart = chart.resolve_scale(y="independent")
    return chart.properties(title=title)


def points(rows, x, y, colour, title, *, facet):
    """Draw points of y over x, connected in row order, one line per colour."""
    import altair as alt

    chart = alt.Chart(alt.InlineData(values=[_finite(row) for row in rows]), width=320, height=240)
    chart = chart.mark_line(point={"filled": True, "size": 50}).encode(
        x=alt.X(f"{x}:Q", title=x, scale=alt.Scale(zero=False)),
        y=alt.Y(f"{y}:Q", title=y, scale=alt.Scale(zero=False)),
        order=alt.Order("alpha:Q", sort="descending"),
        color=alt.Color(f"{colour}:N"),
    )
    chart = chart.facet(facet=alt.Facet(f"{facet}:N", title=None), columns=2)
    return chart.resolve_scale(x="independent", y="independent").properties(title=title)


def _finite(row):
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}
