"""Draw the pictures of the guides into docs/images: python docs/_ext/guide_pictures.py [NAME ...].

All but the page are charts of the library itself, of the bundled data; ``flow`` is drawn from the
layers in pyproject.toml. ``audit`` is taken from the page and needs playwright and a Chromium.
Without names, all are drawn.
"""

import os
import shutil
import sys
import tempfile
import tomllib
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from equirank import audit, compare, plots, remedy
from equirank.auditing.audit_result import AuditResult
from equirank.datasets import load_hiring
from equirank.preprocess import CausalFairScores
from equirank.rankers import RankBoost
from equirank.rerankers import DetGreedy, FAStarIR, Reranked

IMAGES = Path(__file__).parents[1] / "images"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
DATE = "2026-07-31"


@cache
def audited() -> AuditResult:
    """Return the audit of the bundled data."""
    return audit(load_hiring(), protected="sex=female", title="hiring.csv", date=DATE)


def compared() -> Any:
    """Return the trade-off of three methods."""
    quick = {"n_estimators": 30, "random_state": 0}
    methods = {
        "boosting": RankBoost(**quick),
        "boosting, short": RankBoost(n_estimators=3, random_state=0),
        "boosting, re-ranked": Reranked(RankBoost(**quick), DetGreedy(by="sex")),
    }
    metrics = ["NDCG@10", 'ExposureGap(by="sex")']
    result = compare(methods, load_hiring(), metrics, cv=3, date=DATE)
    return result.plot(x=metrics[1], y=metrics[0])


def reranked() -> Any:
    """Return the metrics before and after FA*IR."""
    given = load_hiring().ranking()
    after = FAStarIR(k=20, p=0.45, protected="female", by="sex")(given)
    return plots.comparison(audit(after, against=given, n_boot=200, date=DATE), "sex")


def remedied() -> Any:
    """Return the remedies of a target."""
    target = "sex=female selected at 10 >= 0.9"
    return plots.remedies(remedy(load_hiring(), target, n_boot=200))


def explained() -> Any:
    """Return the contributions to the difference between two applicants."""
    data = load_hiring()
    model = RankBoost(n_estimators=50, random_state=0).fit(data)
    return plots.pair_explanation(model.explain_pair(data, 3, 7))


def causes() -> Any:
    """Return the effects along the edges of a DAG, of made-up students."""
    rng = np.random.default_rng(0)
    n = 2000
    white = rng.random(n) < 0.8
    test = 33 + 6 * white + 5 * rng.normal(size=n)
    grade = 2.9 + 0.3 * white + 0.4 * rng.normal(size=n)
    score = 0.2 * white + 0.04 * test + 0.2 * grade + 0.8 * rng.normal(size=n)
    people = {"race": np.where(white, "White", "Black"), "test": test, "grade": grade}
    edges = {"race": ["test", "grade", "score"], "test": ["score"], "grade": ["score"]}
    model = CausalFairScores(edges, resolving="grade", reference="White")
    model.fit(people | {"score": score})
    return plots.causal_dag(model.effects(people | {"score": score}, n_boot=50))


#: What data become on the way from a file to a page, and the packages that take each step.
STEPS = {
    "a file": ("io", "datasets", "engines"),
    "RankingData": ("core", "preprocess"),
    "Ranking": ("rankers", "rerankers", "policies", "allocation", "distributed"),
    "Evaluation": ("metrics", "statistics", "costs", "constraints", "theory"),
    "claims": ("auditing", "comparison", "search"),
    "a page": ("plots", "reports"),
}
#: Packages that serve every step, or run them all.
AROUND = {"on top": ("cli", "studio", "recipes", "testing"), "below": ("kernels",)}
#: Measures of the picture of packages, in pixels.
WIDE, ROW, LEFT, LETTER = 420, 28, 112, 7.2


def flow() -> str:
    """Return the way of data through the packages as SVG; every layer of the code is in it."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    (contract,) = (
        each
        for each in project["tool"]["importlinter"]["contracts"]
        if each["type"] == "layers" and each["containers"] == ["equirank"]
    )
    layers = [name.strip() for row in contract["layers"] for name in row.split("|")]
    rows = {"on top": AROUND["on top"], **STEPS, "below": AROUND["below"]}
    drawn = [name for names in rows.values() for name in names]
    if sorted(drawn) != sorted(set(layers) - {"__main__"}):
        raise SystemExit(f"flow must have each package once, got {set(layers) ^ set(drawn)}")
    parts, y = [], 12.0
    for word, names in rows.items():
        x, top = float(LEFT), y
        # In a row the package of the highest layer comes first.
        for name in sorted(names, key=layers.index):
            wide = LETTER * len(name) + 14
            if x + wide > WIDE - 6:
                x, y = float(LEFT), y + ROW - 3
            parts.append(
                f'<rect x="{x:.0f}" y="{y:.0f}" width="{wide:.0f}" height="21" rx="5" '
                f'fill="#e8f0f7" stroke="#0b5fa5"/><text x="{x + wide / 2:.0f}" y="{y + 15:.0f}" '
                f'text-anchor="middle">{escape(name)}</text>'
            )
            x += wide + 6
        middle = (top + y) / 2 + 15
        style = 'font-weight="600"' if word in STEPS else 'fill="#5f6c7b" font-style="italic"'
        parts.append(f'<text x="8" y="{middle:.0f}" {style}>{escape(word)}</text>')
        y += ROW + 16
        if word in STEPS and word != "a page":
            parts.append(
                f'<path d="M36 {middle + 9:.0f}V{y + 1:.0f}m-5 -7l5 7 5 -7" fill="none" '
                'stroke="#5f6c7b" stroke-width="1.5"/>'
            )
        elif word != "below":
            parts.append(f'<path d="M8 {y - 12:.0f}H{WIDE - 8}" stroke="#c9d0d8"/>')
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {y - 8:.0f}" width="{WIDE}" '
        f'height="{y - 8:.0f}" font-family="Segoe UI, Roboto, Helvetica, Arial, sans-serif" '
        'font-size="13" fill="#1f2933"><rect width="100%" height="100%" fill="#ffffff"/>'
    )
    return head + "".join(parts) + "</svg>\n"


def photographed(name: str, html: str, height: int) -> None:
    """Take the top of a page at 1280 pixels."""
    from playwright.sync_api import sync_playwright

    found = os.environ.get("EQUIRANK_CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "page.html"
        path.write_text(html, encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": height})
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-drawn=all]", state="attached")
        page.screenshot(path=IMAGES / f"{name}.png")
        browser.close()


#: The charts, by name of the file.
CHARTS = {
    "prefix_shares": lambda: plots.prefix_shares(audited(), "sex"),
    "exposure_merit": lambda: plots.exposure_merit(audited(), "sex"),
    "selection_rates": lambda: plots.selection_rates(audited(), "sex"),
    "impact_ratios": lambda: plots.impact_ratios(audited(), "sex"),
    "position_strip": lambda: plots.position_strip(audited(), "sex"),
    "score_distributions": lambda: plots.score_distributions(audited(), "sex"),
    "compare": compared,
    "rerank": reranked,
    "remedy": remedied,
    "explain": explained,
    "causal_dag": causes,
}


def main() -> None:
    """Draw the pictures named on the command line, or all."""
    from equirank.auditing.audit_page import render

    wanted = sys.argv[1:] or [*CHARTS, "flow", "audit"]
    for name in wanted:
        if name == "flow":
            (IMAGES / "flow.svg").write_text(flow(), encoding="utf-8")
        elif name == "audit":
            photographed("audit", render(audited()), 960)
        else:
            plots.save_chart(CHARTS[name](), IMAGES / f"{name}.svg")
        print(name, flush=True)


if __name__ == "__main__":
    main()
