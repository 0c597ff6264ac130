"""The table of methods: how every number of the report is made, and where it comes from."""

import inspect
import re
from typing import Any

from ...core.metric import Metric
from ...core.table import Table
from ..measures.position_difference import PositionDifference
from ..measuring import Measured
from .rows import make_table

__all__ = ["methods_table"]

#: Formulas in plain signs, for the metrics every audit has.
FORMULAS = {
    "PositionDifference": "mean place of G - mean place of the rest, per list; mean over lists",
    "ExposureGap": "| mean v of G - mean v of the rest |, v(place) = 1 / log2(1 + place)",
    "RND": "1/Z sum over k = step, 2 step, ... of | share of G in the first k - share of G in the "
    "list | / log2 k",
    "DisparateTreatment": "(exposure of G / merit of G) / (exposure of the rest / merit of the "
    "rest)",
    "GroupPairwiseAccuracy": "| A(G > H) - A(H > G) |, A(G > H) = share of pairs with the item of "
    "G more relevant in which it stands above",
    "NDCG": "DCG / best DCG of the list, DCG = sum of (2^relevance - 1) / log2(1 + place)",
    "Precision": "share of the first k places with relevance >= 1",
    "AveragePrecision": "mean over the relevant items of the precision at their places",
}

#: How the numbers beside the metrics are made: name, formula, reading, reference.
PROCEDURES = (
    (
        "Exposure",
        "v(place) = 1 / log2(1 + place), scaled to a mean of 1 in every list",
        "The attention a place draws: the first place draws most. 1 per person is what everybody "
        "has on average.",
        "Singh and Joachims, Fairness of exposure in rankings, KDD 2018.",
    ),
    (
        "Selection rate at k",
        "people of G in the first k places / people of G, all lists together; Wilson interval",
        "Tied people count by their chance to be among the first k.",
        "Wilson, Probable inference, the law of succession, and statistical inference, JASA 1927.",
    ),
    (
        "Impact ratio",
        "selection rate of G / highest selection rate of the groups that are not small cells",
        "Its interval resamples lists; for one list it is the log-ratio interval. Four fifths is a "
        "rule of thumb of one agency in the United States; several laws that ask for such ratios "
        "set no threshold.",
        "Uniform guidelines on employee selection procedures, 29 CFR 1607.4 D, 1978. Katz, "
        "Baptista, Azen and Pike, Biometrics 1978.",
    ),
    (
        "Small cells",
        "a group with under 2 % of all people, or of whom fewer than 5 would be selected at the "
        "rate of everybody",
        "Shown, but never the group others are compared with, and left out of the summary.",
        "29 CFR 1607.4 D, 1978, on small numbers.",
    ),
    (
        "Band by chance",
        "one list: the smallest m with F(m; k, p) > a', F binomial, a' lowered until a list drawn "
        "with share p leaves the band with chance at most 0.1; several lists: the same minimum "
        "over the places of all lists, 0.1 shared out over the prefixes",
        "Inside the band a share of the first places is what chance gives.",
        "Zehlike, Bonchi, Castillo, Hajian, Megahed and Baeza-Yates, FA*IR: a fair top-k ranking "
        "algorithm, CIKM 2017.",
    ),
    (
        "Intervals",
        "bootstrap over lists, for one list over its items within each group; percentiles, "
        "widened for small samples",
        "Were the audit repeated on other such lists, about so many of the intervals would hold "
        "the true value.",
        "Hesterberg, What teachers should know about the bootstrap, The American Statistician "
        "2015.",
    ),
    (
        "Permutation p-values",
        "share of relabellings of groups within lists that give a difference at least as large",
        "How often pure chance would give a difference like this one. Where several groups are "
        "compared, p-values are corrected by Holm.",
        "Good, Permutation, parametric and bootstrap tests of hypotheses, 2005. Holm, A simple "
        "sequentially rejective multiple test procedure, 1979.",
    ),
    (
        "Detectable difference",
        "(z of the level + z of 0.8) x standard error",
        "The smallest true difference that this audit would have seen in four of five cases.",
        "Cohen, Statistical power analysis for the behavioral sciences, 1988.",
    ),
    (
        "Distributional checks",
        "see metrics.properties; groups permuted within lists give what chance gives",
        "The shape of one group's places: evenness, heaps, clumps, tokens, noise.",
        "See the documentation of each check.",
    ),
)


def methods_table(measured: Measured) -> Table:
    """Give name, formula, reading and reference of all that was measured."""
    metrics: list[Metric] = [PositionDifference(), *measured.overall]
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
