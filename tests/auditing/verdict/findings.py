"""Hand-made findings, so that each rule can be tried on numbers one can see."""

from equirank.auditing.tables.gap_tables import COMPARISON_COLUMNS, GAP_COLUMNS
from equirank.auditing.tables.group_tables import GROUP_COLUMNS, SELECTION_COLUMNS
from equirank.auditing.verdict.findings import Findings
from equirank.core.table import make_table

NAN = float("nan")


def group_row(group, difference=0.0, low=NAN, high=NAN, p=NAN, **other):
    row = dict.fromkeys((part.split(":")[1] for part in GROUP_COLUMNS.split()), NAN)
    row |= {"attribute": "sex", "group": group, "protected": False, "focus": False}
    row |= {"size": 50, "share": 0.5, "n_queries": 10, "exposure": 0.5}
    row |= {"position_difference": difference, "p_value": p, "p_holm": p}
    row |= {"position_difference_low": low, "position_difference_high": high}
    return row | other


def selection_row(group, rate, ratio=1.0, low=NAN, high=NAN, **other):
    row = {"attribute": "sex", "k": 10, "group": group, "selected": 5.0, "size": 50, "rate": rate}
    row |= {"low": NAN, "high": NAN, "reference": False, "impact_ratio": ratio}
    return row | {"ratio_low": low, "ratio_high": high, "small_cell": False} | other


def gap_row(metric, p, **other):
    row = dict.fromkeys((part.split(":")[1] for part in GAP_COLUMNS.split()), NAN)
    row |= {"attribute": "sex", "metric": metric, "name": metric, "group": "", "n_queries": 10}
    row |= {"n_skipped": 0, "direction": "lower", "summary": "", "p_value": p}
    return row | other


def attribute(names=("f", "m"), name="sex", focus="f", protected=(), by=None):
    return {
        "name": name,
        "by": list(by or [name]),
        "crossed": by is not None,
        "groups": [{"name": each, "size": 50, "share": 0.5} for each in names],
        "protected": list(protected),
        "focus": focus,
    }


def findings(attributes=None, notes=(), tables=None, **facts):
    told = {
        "title": "file.csv",
        "n_rows": 500,
        "n_queries": 10,
        "list_length": {"min": 50, "median": 50.0, "max": 50},
        "has_relevance": False,
        "attributes": attributes or [attribute()],
        "ks": [10],
        "level": 0.95,
        "against": None,
    }
    pairs = "o:attribute o:group o:other f:accuracy i:n_pairs i:n_queries o:kind"
    merit = "o:attribute o:group f:exposure_share f:merit_share f:ratio f:low f:high"
    columns = {
        "groups": GROUP_COLUMNS,
        "selection": SELECTION_COLUMNS,
        "gaps": GAP_COLUMNS,
        "comparison": COMPARISON_COLUMNS,
        "pairwise": pairs,
        "exposure_merit": merit,
        "checks": "o:attribute o:group o:check f:p_holm i:n_queries",
        "blind_spots": "o:metric o:property b:detects f:effect",
    }
    rows = tables or {}
    made = {name: make_table(kinds, rows.get(name, [])) for name, kinds in columns.items()}
    return Findings(told | facts, made, list(notes))
