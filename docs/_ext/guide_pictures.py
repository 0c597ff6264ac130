"""Draw the pictures of the guides into docs/images: python docs/_ext/guide_pictures.py [NAME ...].

Charts are those of the library or of ``guide_charts``, of bundled or made-up data; diagrams are in
``guide_diagrams``. ``audit`` and ``profile`` are taken from the page and need playwright and a
Chromium; ``unknown_labels`` needs public data, too. Without names, all others are drawn, in about
two minutes.
"""

import os
import runpy
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import gallery_charts
import guide_charts
import numpy as np
from guide_diagrams import DIAGRAMS

from equirank import audit, compare, plots, remedy
from equirank.auditing.audit_result import AuditResult
from equirank.datasets import load_hiring
from equirank.preprocess import CausalFairScores
from equirank.rankers import RankBoost
from equirank.rerankers import DetGreedy, FAStarIR, Reranked

IMAGES = Path(__file__).parents[1] / "images"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
DATE = "2026-07-31"
#: Width of a chart in pixels, without the names beside it: a phone shrinks it only a little.
WIDE = 360
#: Widest window, in pixels, whose pictures are read on a phone and need more pixels.
PHONE = 600


@cache
def audited() -> AuditResult:
    """Return the audit of the bundled data."""
    return audit(load_hiring(), protected="sex=female", title="hiring.csv", date=DATE)


def by_profile() -> AuditResult:
    """Return the audit of the bundled data with the tables of a law."""
    given = {"protected": "sex=female", "k": 10, "profile": "nyc-ll144", "n_boot": 200}
    return audit(load_hiring(), title="hiring.csv", date=DATE, **given)


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
    return result.plot(x=metrics[1], y=metrics[0], width=WIDE, height=300)


def reranked() -> Any:
    """Return the metrics before and after FA*IR."""
    given = load_hiring().ranking()
    after = FAStarIR(k=20, p=0.45, protected="female", by="sex")(given)
    return plots.comparison(audit(after, against=given, n_boot=200, date=DATE), "sex", width=WIDE)


def remedied() -> Any:
    """Return the remedies of a target."""
    target = "sex=female selected at 10 >= 0.9"
    return plots.remedies(remedy(load_hiring(), target, n_boot=200))


def explained() -> Any:
    """Return the contributions to the difference between two applicants."""
    data = load_hiring()
    model = RankBoost(n_estimators=50, random_state=0).fit(data)
    return plots.pair_explanation(model.explain_pair(data, 3, 7), width=WIDE)


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
    return plots.causal_dag(model.effects(people | {"score": score}, n_boot=50), width=WIDE + 80)


def photographed(
    name: str, html: str, size: tuple[int, int], part: tuple[str, str] | None = None
) -> None:
    """Take the top of a page in a window of a size, or a part of it up to another one."""
    from playwright.sync_api import sync_playwright

    found = os.environ.get("EQUIRANK_CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "page.html"
        path.write_text(html, encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        page = browser.new_page(
            viewport={"width": size[0], "height": size[1]},
            device_scale_factor=1 if size[0] > PHONE else 1.5,
        )
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-drawn=all]", state="attached")
        clip = {}
        if part:
            first, last = (page.locator(each).bounding_box() for each in part)
            clip["clip"] = first | {"height": last["y"] - first["y"]}
        page.screenshot(path=IMAGES / f"{name}.png", full_page=bool(part), **clip)
        browser.close()


def unknown_labels() -> Any:
    """Return the chart of the example about unknown labels, which needs data of its own."""
    if "EQUIRANK_DATA" not in os.environ:
        raise SystemExit("unknown_labels needs EQUIRANK_DATA, the folder of the public data sets")
    gallery_charts.setup(None)
    example = IMAGES.parents[1] / "examples" / "plot_unknown_labels.py"
    return runpy.run_path(str(example))["chart"]


#: The charts, by name of the file.
CHARTS = {
    "prefix_shares": lambda: plots.prefix_shares(audited(), "sex", width=WIDE),
    "exposure_merit": lambda: plots.exposure_merit(audited(), "sex", width=WIDE),
    "selection_rates": lambda: plots.selection_rates(audited(), "sex", width=WIDE),
    "impact_ratios": lambda: plots.impact_ratios(audited(), "sex", width=WIDE),
    "position_strip": lambda: plots.position_strip(audited(), "sex", width=WIDE),
    "score_distributions": lambda: plots.score_distributions(audited(), "sex", width=WIDE),
    "compare": compared,
    "rerank": reranked,
    "remedy": remedied,
    "explain": explained,
    "causal_dag": causes,
    **guide_charts.CHARTS,
}


def main() -> None:
    """Draw the pictures named on the command line, or all."""
    from equirank.auditing.audit_page import render

    wanted = sys.argv[1:] or [*CHARTS, *DIAGRAMS, "audit", "profile"]
    for name in wanted:
        if name in DIAGRAMS:
            (IMAGES / f"{name}.svg").write_text(DIAGRAMS[name](), encoding="utf-8")
        elif name == "audit":
            photographed("audit", render(audited()), (1280, 960))
            photographed("audit_narrow", render(audited()), (390, 745))
        elif name == "profile":
            part = ("section.profile", "section.profile h3 >> nth=1")
            photographed("profile", render(by_profile()), (PHONE, 900), part)
        else:
            chart = unknown_labels() if name == "unknown_labels" else CHARTS[name]()
            plots.save_chart(chart, IMAGES / f"{name}.svg")
        print(name, flush=True)


if __name__ == "__main__":
    main()
