"""The tables of methods and of blind spots: formulas, references, and what metrics detect."""

import inspect
import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ...core.metric import Metric
from ...core.table import Table, make_table
from ..measured import Measured

__all__ = ["PATH", "blind_spots_table", "methods_table", "packaged"]


#: The property benchmark of all metrics, written by ``equirank properties --json``.
PATH = Path(__file__).parents[1] / "blind_spots.json"
#: The check that is equivalent to the position difference.
POSITION_CHECK = "statistical_independence.difference"
CROSSED = '(by=("group", "part"))'


@lru_cache(maxsize=1)
def packaged() -> tuple[dict[str, Any], ...]:
    """Return the packaged result of the property benchmark."""
    return tuple(json.loads(PATH.read_text(encoding="utf-8")))


def blind_spots_table(measured: Measured, checks: Table) -> Table:
    """Return metric, property, whether the benchmark detects it, and the effect size.

    Only metrics and checks of this audit are listed. A metric with options is looked up by its
    name: the benchmark used the default options.
    """
    wanted = {"position": POSITION_CHECK} if measured.plan.ordered else {}
    for gap in measured.gaps:
        name = type(gap.metric).__name__
        if gap.audited.crossed:
            wanted[f"{name}, crossed attributes"] = f"{name}{CROSSED}"
        else:
            wanted[gap.short] = name
    wanted |= {name: name for name in dict.fromkeys(checks["check"].tolist())}
    rows = [
        {
            "metric": label,
            "property": row["property"],
            "detects": bool(row["detected"]),
            "effect": np.nan if row["effect"] is None else row["effect"],
        }
        for label, known in wanted.items()
        for row in _by_name().get(known, ())
    ]
    return make_table("o:metric o:property b:detects f:effect", rows)


@lru_cache(maxsize=1)
def _by_name() -> dict[str, list[dict[str, Any]]]:
    """Return the rows of the benchmark by metric, and by its name without options."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in packaged():
        for name in {row["metric"], _stem(row["metric"])}:
            found.setdefault(name, []).append(row)
    return found


def _stem(metric: str) -> str:
    """Return a metric's name without cutoff and options, unless its attributes are crossed."""
    if metric.endswith(CROSSED) or metric[:1].islower():
        return metric
    return metric.partition("@")[0].partition("(")[0]


#: Formulas in plain text, for the metrics of every audit.
FORMULAS = {
    "ExposureGap": "| mean v of G - mean v of everyone else |, v(position) = 1 / log2(1 + "
    "position)",
    "RND": "1/Z sum over k = step, 2 step, ... of | share of G in the top k - share of G in the "
    "list | / log2 k",
    "DisparateTreatment": "(exposure of G / merit of G) / (exposure of everyone else / merit of "
    "everyone else)",
    "GroupPairwiseAccuracy": "| A(G > H) - A(H > G) |, A(G > H) = share of pairs with the item of "
    "G more relevant in which it ranks above",
    "NDCG": "DCG / best DCG of the list, DCG = sum of (2^relevance - 1) / log2(1 + position)",
    "Precision": "share of the top k with relevance >= 1",
    "AveragePrecision": "mean over the relevant items of the precision at their positions",
}

#: How the other numbers are computed: name, formula, reading, reference.
PROCEDURES = (
    (
        "Difference in position",
        "mean position of G - mean position of everyone else, per list; mean over lists",
        "Above 0 the group ranks lower. Where the longest list is more than twice as long as the "
        "shortest, the chance that a person of G is ranked above someone else of the list is "
        "stated instead; it is 50% in a random order.",
        "",
    ),
    (
        "Ratio of selection rates",
        "sum(a n2/N) / sum(b n1/N) over lists: a of the n1 people of G and b of the n2 others are "
        "selected",
        "The Mantel-Haenszel ratio compares people within the same list, so it does not depend on "
        "how groups are spread over lists.",
        "Mantel and Haenszel, Statistical aspects of the analysis of data from retrospective "
        "studies, JNCI 1959. Greenland and Robins, Biometrics 1985.",
    ),
    (
        "Position given relevance",
        "difference in position - its mean over shuffles among people of the list with the same "
        "relevance",
        "With more than 10 values, relevance is cut into 20 bands and its linear trend is removed "
        "from the positions of each list.",
        "",
    ),
    (
        "Exposure",
        "v(position) = 1 / log2(1 + position), scaled to a mean of 1 in every list",
        "The attention that a position receives, most at position 1. The mean over all people is "
        "1.",
        "Singh and Joachims, Fairness of exposure in rankings, KDD 2018.",
    ),
    (
        "Selection rate at k",
        "people of G in the top k / people of G, all lists together; Wilson interval",
        "Tied people count with the probability of being in the top k.",
        "Wilson, Probable inference, the law of succession, and statistical inference, JASA 1927.",
    ),
    (
        "Impact ratio",
        "selection rate of G / highest selection rate of the groups that are not small cells",
        "The confidence interval resamples lists; for one list it is the score interval.",
        "Koopman, Biometrics 1984.",
    ),
    (
        "Small cells",
        "a group with under 2% of all people, or with fewer than 5 people selected at the overall "
        "rate",
        "Shown, but never the reference of a comparison. With fewer than 5 people selected at the "
        "overall rate, the selection of a group is not compared at all.",
        "",
    ),
    (
        "Band by chance",
        "one list: the smallest m with F(m; k, p) > a', F binomial, a' lowered until a list drawn "
        "with share p leaves the band with probability at most 0.1; several lists: the same "
        "minimum over the positions of all lists, 0.1 divided by the number of prefixes",
        "Inside the band, a share of the top k is what chance produces.",
        "Zehlike, Bonchi, Castillo, Hajian, Megahed and Baeza-Yates, FA*IR: a fair top-k ranking "
        "algorithm, CIKM 2017.",
    ),
    (
        "Confidence intervals of statements",
        "from 20 lists on: bootstrap-t over lists, ratios on the log scale; with fewer lists: "
        "estimate +- 1.96 standard deviations over shuffles, ratios by the log interval",
        "From 20 lists on, the interval is about lists like these; with fewer, it is about the "
        "people of these lists only.",
        "Efron and Tibshirani, An introduction to the bootstrap, 1993.",
    ),
    (
        "Confidence intervals of tables",
        "bootstrap over lists, for one list over its items within each group; percentiles, "
        "widened for small samples; means of metrics over 2 to 9 lists: Student's t; more than "
        "2,048 lists: bootstrap over 1,024 buckets of lists",
        "If the audit were repeated on other such lists, about this share of the intervals would "
        "include the true value.",
        "Hesterberg, What teachers should know about the bootstrap, The American Statistician "
        "2015.",
    ),
    (
        "Tests of statements",
        "labels of whole people are shuffled within lists; Z = (T - mean) / deviation over all "
        "shuffles; corrected p = share of shuffles whose largest |Z| of claims of one kind is at "
        "least as large, step by step, times the number of kinds",
        "If groups were irrelevant to the order, and everybody appeared once, a report would "
        "contain a finding with a probability of at most 5%, whatever its number of attributes, "
        "groups and cutoffs.",
        "Westfall and Young, Resampling-based multiple testing, 1993.",
    ),
    (
        "Value by chance",
        "mean of a metric over permutations of groups within lists; corrected = ideal + value - "
        "value by chance",
        "Gaps between groups are above 0 in a random order too. The corrected value removes that.",
        "",
    ),
    (
        "Detectable difference",
        "(critical value of the corrected test + 0.84) x deviation over shuffles",
        "The smallest true difference that this audit finds with 80% power.",
        "Cohen, Statistical power analysis for the behavioral sciences, 1988.",
    ),
    (
        "Distributional checks",
        "see metrics.properties; groups permuted within lists show what chance produces",
        "The distribution of one group's positions: evenness, modes, clusters, tokens, noise.",
        "See the documentation of each check.",
    ),
)


def methods_table(measured: Measured) -> Table:
    """Return name, formula, reading and reference of everything measured."""
    metrics: list[Metric] = [*measured.overall]
    metrics += [gap.metric for gap in measured.gaps]
    kinds = dict.fromkeys(type(metric) for metric in metrics)
    rows = [_of_metric(kind) for kind in kinds]
    heads = ("name", "formula", "reading", "reference")
    rows += [dict(zip(heads, each, strict=True)) for each in PROCEDURES]
    return make_table("o:name o:formula o:reading o:reference", rows)


def _of_metric(kind: type[Metric]) -> dict[str, Any]:
    text = inspect.cleandoc(kind.__doc__ or "")
    formula = FORMULAS.get(kind.__name__)
    if formula is None:
        found = re.search(r"``([^`]+)``", text)
        formula = " ".join(found[1].split()) if found else ""
    part = re.search(r"References\n-+\n(.*?)(?:\n\n[A-Z]\w+\n-+|\Z)", text, re.DOTALL)
    return {
        "name": kind.__name__,
        "formula": formula,
        "reading": kind.summary(),
        "reference": " ".join(part[1].split()) if part else "",
    }
