"""The charts of guides that run what the guide runs and have no chart in the library."""

from typing import Any

import numpy as np

from equirank import compare, evaluate, plots, query_train_test_split
from equirank.datasets import load_hiring, make_ranking
from equirank.plots.theme import FOCUS, INK, METHOD, MUTED, PALETTE, altair, data, dress
from equirank.rerankers import ExposureOptimal

#: Width of one chart in pixels, so that a narrow screen shrinks it only slightly.
WIDE = 400
#: Columns of an estimate with its confidence interval.
LIMITS = ("value", "low", "high")


def margins() -> Any:
    """Return the bounds of the guide to classic rankers."""
    from equirank.rankers import RankBoost, RankSVM
    from equirank.theory import margin_report

    many = make_ranking(n_queries=2000, n_items=20, random_state=0)
    boosted = margin_report(RankBoost(4).fit(many), many)
    svm = margin_report(RankSVM(C=1e-5).fit(many), many)
    return plots.margin_bounds({"RankBoost": boosted, "RankSVM": svm}, width=WIDE - 20)


def own_rankers() -> Any:
    """Return the comparison of three libraries with the score that the data bring."""
    from catboost import CatBoostRanker
    from lightgbm import LGBMRanker
    from xgboost import XGBRanker

    from equirank.rankers import as_ranker

    methods = {
        "the given score": as_ranker("score"),
        "LightGBM": LGBMRanker(n_estimators=30, n_jobs=1),
        "XGBoost": XGBRanker(n_estimators=30, n_jobs=1),
        "CatBoost": CatBoostRanker(iterations=30, thread_count=1),
    }
    metrics = ["NDCG@10", "ExposureGap(by='sex')"]
    result = compare(methods, load_hiring(), metrics, cv=3)
    return result.plot(
        x=str(result.metrics[1]), y=str(result.metrics[0]), width=WIDE - 20, height=300
    )


def searched_hiring() -> Any:
    """Return a search for alternatives on the bundled data."""
    from equirank.rankers import FairLambdaMART, LambdaMART
    from equirank.search import Family, search_alternatives

    trees = {"n_estimators": 40, "random_state": 0, "n_jobs": 1}
    space = {"learning_rate": {"low": 0.02, "high": 0.3, "log": True}, "num_leaves": [7, 15, 31]}
    families = {
        "boost": Family(LambdaMART(**trees), space),
        "fair": Family(
            FairLambdaMART(by="sex", **trees),
            {"num_leaves": [7, 15]},
            path={"alpha": [0.1, 0.3, 0.5, 0.7, 0.9]},
        ),
    }
    return search_alternatives(
        families,
        load_hiring(),
        ["NDCG@10", "ExposureGap(by='sex')"],
        "NDCG@10 >= baseline - 0.02",
        n_trials=20,
        leave_out={"place": ["distance_km"], "talk": ["interview_score"]},
    )


def alternatives() -> Any:
    """Return the gaps of all candidates of a search, and those of two on unseen lists."""
    found = searched_hiring()
    gap = str(found.metrics[1])
    rows = [
        {"part": "choosing part", "who": "candidates"} | {"value": row["values"][gap]["value"]}
        for row in found.candidates
    ]
    (numbers,) = (row for row in found.certified if row["metric"] == gap)
    parts = {"choose": "choosing part", "certify": "certify part"}
    two = [
        {"part": word, "who": who} | {key: numbers[who][part][key] for key in LIMITS}
        for part, word in parts.items()
        for who in ("baseline", "chosen")
    ]
    alt = altair()
    x = {"title": "difference in exposure between women and men (lower is better)"}
    facet = alt.Row("part:N", sort=[*parts.values()], title=None)
    names = ["baseline", "chosen", "candidates"]
    look = {
        "color": alt.Color(
            "who:N", legend=None, scale=alt.Scale(domain=names[:2], range=[INK, METHOD])
        ),
        "shape": alt.Shape(
            "who:N", legend=None, scale=alt.Scale(domain=names[:2], range=["square", "circle"])
        ),
    }
    base = alt.Chart().encode(
        y=alt.Y("who:N", sort=names, title=None),
        x=alt.X("value:Q", scale=alt.Scale(zero=True), **x),
    )
    ticks = base.transform_filter("datum.who == 'candidates'").mark_tick(color=MUTED, height=16)
    pair = base.transform_filter("datum.who != 'candidates'")
    bars = pair.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", scale=alt.Scale(zero=True), **x), x2="high:Q", color=look["color"]
    )
    points = pair.mark_point(filled=True, size=90, opacity=1).encode(**look)
    layers = alt.layer(bars, points, ticks, data=data(rows + two)).properties(
        width=WIDE - 90, height=90
    )
    chart = layers.facet(row=facet).resolve_scale(y="independent")
    return dress(
        chart,
        "The best of many is partly luck",
        "Difference in exposure of all candidates on the choosing part, and of the baseline and "
        "the chosen candidate on the choosing and on the certify part, with intervals.",
        [f"{len(rows)} candidates on the hiring lists, with 95% confidence intervals"],
    )


def searched() -> Any:
    """Return the grid of the guide to searches over neural rankers."""
    from equirank.rankers import DirectRanker
    from equirank.search import TradeoffSearch

    lists = make_ranking(n_queries=60, n_items=30, feature_bias=1.0, random_state=0)
    ranker = DirectRanker("adversarial", layers=(16, 4), random_state=0)
    grid = {
        "gamma": [0.0, 0.1, 0.3, 1.0],
        "learning_rate": [0.003, 0.01],
        "max_steps": [50, 100, 200],
    }
    search = TradeoffSearch(ranker, grid, random_state=0).fit(lists)
    return plots.tradeoff(search, width=WIDE - 20, height=300)


def deltr() -> Any:
    """Return NDCG and exposure gap of DELTR on held-out lists, by gamma."""
    from equirank.rankers import DELTR

    lists = make_ranking(n_queries=60, n_items=20, feature_bias=1.0, random_state=0)
    train, test = query_train_test_split(lists, test_size=0.5, random_state=0)
    rows = []
    for gamma in (0.0, 10.0, 100.0, 300.0, 1000.0):
        model = DELTR(gamma, n_epochs=50, learning_rate=0.03, random_state=0).fit(train)
        table = evaluate(model.rank(test), ["NDCG@10", "ExposureGap"], n_boot=1000).summary()
        rows += [
            {"gamma": f"{gamma:g}", "metric": row["metric"]} | {key: row[key] for key in LIMITS}
            for row in table
            if not row["group"]
        ]
    return _panels(
        rows,
        {
            "NDCG@10": "NDCG@10 (higher is better)",
            "ExposureGap": "difference in exposure (lower is better)",
        },
        x=("gamma", "gamma, the weight of exposure in the loss"),
        title="DELTR gives up relevance for equal exposure",
        note="30 held-out lists, with 95% confidence intervals",
    )


def comparisons() -> Any:
    """Return the number of comparisons of each way to order a list, counted."""
    from equirank.rankers import order_by_preference

    rng = np.random.default_rng(0)
    ways = {
        "degree: every pair": {"order": "degree"},
        "quicksort": {"order": "quicksort"},
        "quicksort, top 10 only": {"order": "quicksort", "k": 10},
    }
    rows = []
    for n in (10, 30, 100, 300, 1000, 3000):
        merit = rng.normal(size=n)

        def prefer(u: Any, v: Any, merit: Any = merit) -> Any:
            return 1 / (1 + np.exp(merit[v] - merit[u]))

        for name, options in ways.items():
            counts = [
                order_by_preference(prefer, n, **options, random_state=seed).n_compared
                for seed in range(1 if name.startswith("degree") else 20)
            ]
            low, high = np.quantile(counts, [0.025, 0.975])
            mean = {"n": n, "way": name, "value": float(np.mean(counts))}
            rows.append(mean | {"low": float(low), "high": float(high)})
    alt = altair()
    scale = alt.Scale(type="log", nice=False)
    tens = {"values": [10, 100, 1000, 10**4, 10**5, 10**6], "format": ",d"}
    x = alt.X("n:Q", title="items in the list (logarithmic)", scale=scale, axis=alt.Axis(**tens))
    y = {"title": "comparisons (logarithmic)", "scale": scale, "axis": alt.Axis(**tens)}
    look = {
        "color": alt.Color(
            "way:N", legend=None, scale=alt.Scale(domain=[*ways], range=[INK, METHOD, METHOD])
        ),
        "strokeDash": alt.StrokeDash(
            "way:N", legend=None, scale=alt.Scale(domain=[*ways], range=[[1, 0], [1, 0], [5, 3]])
        ),
    }
    base = alt.Chart(data(rows)).encode(x=x)
    band = base.mark_rule(strokeWidth=5, opacity=0.3).encode(
        y=alt.Y("low:Q", **y), y2="high:Q", color=look["color"]
    )
    line = base.mark_line().encode(y=alt.Y("value:Q", **y), **look)
    last = [row for row in rows if row["n"] == max(each["n"] for each in rows)]
    words = {"degree: every pair": "every pair", "quicksort": "quicksort"}
    text = (
        alt.Chart(data([row | {"word": words.get(row["way"], "its top 10")} for row in last]))
        .mark_text(align="left", dx=6)
        .encode(x=x, y=alt.Y("value:Q", **y), text="word:N", color=look["color"])
    )
    chart = (band + line + text).properties(width=WIDE - 60, height=240)
    return dress(
        chart,
        "Quicksort asks for far fewer comparisons",
        "Number of comparisons against the length of the list: every pair, quicksort, its top 10.",
        "mean of 20 seeds; bars: 95% of the seeds",
    )


def shared_exposure() -> Any:
    """Return the exposure of six items with close scores, sorted and by a policy."""
    scores = [0.80, 0.79, 0.78, 0.77, 0.76, 0.75]
    sex = ["men"] * 3 + ["women"] * 3
    policy = ExposureOptimal("treatment").rerank(scores, sensitive_features=sex).policy()
    at = 1 / np.log2(np.arange(len(scores)) + 2)
    rows = [
        {"item": f"{score:.2f}", "group": group, "way": way, "value": float(value)}
        for way, values in (("sorted", at), ("policy", policy.exposure()))
        for score, group, value in zip(scores, sex, values, strict=True)
    ]
    alt = altair()
    groups = ["women", "men"]
    axis = alt.X("item:N", sort=None, title="score of the item", axis=alt.Axis(labelAngle=0))
    value = alt.Y("value:Q", title="exposure (1 = first position)", scale=alt.Scale(domain=[0, 1]))
    colour = alt.Color("group:N", scale=alt.Scale(domain=groups, range=[FOCUS, PALETTE[0]]))
    shape = alt.Shape("group:N", scale=alt.Scale(domain=groups, range=["circle", "square"]))
    base = alt.Chart(data(rows)).encode(x=axis, y=value)
    means = base.mark_rule(strokeDash=[4, 3], strokeWidth=1.5).encode(
        x=alt.value(0), x2=alt.value("width"), y="mean(value):Q", color=colour
    )
    points = base.mark_point(filled=True, size=90, opacity=1).encode(color=colour, shape=shape)
    panel = (means + points).properties(width=170, height=220)
    chart = panel.facet(
        column=alt.Column("way:N", sort=["sorted", "policy"], title=None), spacing=16
    )
    return dress(
        chart,
        "Close scores, unequal exposure",
        "Exposure of six items with scores from 0.80 to 0.75: falling when sorted by score; by the "
        "policy the means of the two groups are in proportion to their scores.",
        "dashed: mean of the group; policy: exposure in proportion to merit",
    )


def parities() -> Any:
    """Return the ratios of exposure and clicks of the worked example, by constraint."""
    merit = np.array([0.9, 0.3, 0.5, 0.5, 0.4, 0.4])
    sides = ["x", "x", "rest", "rest", "rest", "rest"]
    rows = []
    for constraint in ("parity", "treatment", "impact"):
        policy = ExposureOptimal(constraint).rerank(merit, sensitive_features=sides)
        seen = policy.policy().exposure()
        for what, weight in (("mean exposure", 1.0), ("mean clicks", merit)):
            ratio = float((seen * weight)[:2].mean() / (seen * weight)[2:].mean())
            rows.append({"constraint": constraint, "what": what, "value": ratio})
    alt = altair()
    earned = float(merit[:2].mean() / merit[2:].mean())
    x = alt.X(
        "value:Q",
        title="group x divided by everyone else (ratio)",
        scale=alt.Scale(domain=[0.8, 2.3], nice=False),
    )
    names = ["mean exposure", "mean clicks"]
    look = alt.Scale(domain=names, range=[PALETTE[0], PALETTE[2]])
    base = alt.Chart(data(rows)).encode(
        y=alt.Y("constraint:N", sort=None, title="constraint", axis=alt.Axis(offset=4))
    )
    link = base.mark_line(color=MUTED, strokeWidth=1).encode(x=x, detail="constraint:N")
    points = base.mark_point(filled=True, size=100, opacity=1).encode(
        x=x,
        color=alt.Color("what:N", scale=look),
        shape=alt.Shape("what:N", scale=alt.Scale(domain=names, range=["circle", "diamond"])),
    )
    texts = [
        base.transform_filter(f"datum.what == '{what}'")
        .mark_text(align=side, dx=dx, dy=-11)
        .encode(x=x, text=alt.Text("value:Q", format=".2f"))
        for what, side, dx in zip(names, ("right", "left"), (-4, 4), strict=True)
    ]
    rules = [
        alt.Chart(data([{"value": at}])).mark_rule(color=INK, strokeDash=dash).encode(x=x)
        for at, dash in ((1.0, [2, 3]), (earned, [6, 3]))
    ]
    words = (
        alt.Chart(data([{"value": 1.0, "word": "equal"}, {"value": earned, "word": "as merit"}]))
        .mark_text(align="left", dx=4, color=MUTED, fontStyle="italic")
        .encode(x=x, y=alt.value(176), text="word:N")
    )
    chart = alt.layer(*rules, link, points, *texts, words).properties(width=WIDE - 90, height=184)
    return dress(
        chart,
        "Three constraints give three ratios",
        "Ratio of mean exposure and of mean clicks of group x to everyone else under parity, "
        "treatment and impact, with lines at 1 and at the ratio of merits.",
        f"the ratio of mean merits is {earned:.2f}",
    )


def _panels(
    rows: list[dict[str, Any]],
    panels: dict[str, str],
    *,
    x: tuple[str, str],
    title: str,
    note: str,
) -> Any:
    """Return one chart per metric above the other, with intervals, over the same x."""
    alt = altair()
    drawn = []
    for metric, words in panels.items():
        own = [row for row in rows if row["metric"] == metric]
        base = alt.Chart(data(own)).encode(
            x=alt.X(f"{x[0]}:O", sort=None, title=x[1], axis=alt.Axis(labelAngle=0))
        )
        y = {"title": words.split(" (")[0], "scale": alt.Scale(zero=False)}
        drawn.append(
            (
                base.mark_rule(color=METHOD, strokeWidth=2).encode(y=alt.Y("low:Q", **y), y2="high")
                + base.mark_line(color=METHOD, point={"size": 60, "color": METHOD}).encode(
                    y=alt.Y("value:Q", **y)
                )
            ).properties(
                width=WIDE - 70,
                height=130,
                title={"text": words, "fontSize": 12, "fontWeight": 500, "anchor": "start"},
            )
        )
    return dress(alt.vconcat(*drawn, spacing=14), title, f"{title}: {', '.join(panels)}.", note)


#: The charts, by name of the file.
CHARTS = {
    "margin_bounds": margins,
    "own_rankers": own_rankers,
    "alternatives": alternatives,
    "neural_search": searched,
    "deltr": deltr,
    "comparisons": comparisons,
    "shared_exposure": shared_exposure,
    "parities": parities,
}
