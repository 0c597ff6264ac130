"""A hand-made audit result, of the shape that pictures and page read; its numbers mean nothing."""

import numpy as np

from equirank.auditing.audit_result import AuditResult
from equirank.core.table import Table
from equirank.reports.claims import Claim, claims_table, effect_size

HOSTILE = {
    "script": "</script><script>window.hacked = 1</script>",
    "quotes": """"><img src=x onerror='window.hacked = 2'>""",
    "emoji": "👩‍🚀 🏳️‍🌈",
    "rtl": "\u202e\u0646\u0633\u0627\u0621\u202c \u05e2\u05d1\u05e8\u05d9\u05ea",
    "long": "column " + "x" * 10_000,
    "formula": '=HYPERLINK("http://example.org")',
}
PROPERTIES = (
    *("smooth distribution", "tokenisation", "bimodality", "clustering", "noisy ranking"),
    *("arbitrary treatment", "class asymmetry", "biased ground truth", "gerrymandering"),
)


def sample_audit(names=None, n_queries=20, against=True, relevance=True, extra_groups=()):
    """Attributes are a dict of name to groups; the first group of each is the one looked at."""
    names = names or {
        "sex": ["female", "male"],
        "age_group": ["under 35", "35 to 49", "50 and over", "not given"],
        "sex x age_group": [
            f"{s} & {a}"
            for s in ("female", "male")
            for a in ("under 35", "35 to 49", "50 and over", "not given")
        ],
    }
    rng = np.random.default_rng(0)
    tables: dict[str, list[dict]] = {
        name: []
        for name in [
            *("groups", "decisions", "selection", "gaps", "metrics", "prefix_shares"),
            "exposure_merit",
            *("pairwise", "scores", "strip", "checks", "queries", "blind_spots", "methods"),
            "comparison",
        ]
    }
    for attribute, groups in names.items():
        fill(tables, rng, attribute, groups, n_queries, against, relevance)
    whole(tables, relevance, against)
    facts = {
        "title": "hiring.csv", "library_version": "0.1.0", "n_rows": 1000,
        "n_queries": n_queries, "list_length": {"min": 40, "median": 50, "max": 60},
        "has_relevance": relevance, "has_score": True, "positions_given": False,
        "ks": [10, 20], "ordered": True, "decisions": [], "profile": None, "level": 0.95,
        "n_boot": 1000,
        "n_permutations": 1000, "random_state": 0, "resampling": "queries", "step": 5,
        "tie_share": 0.012, "band_alpha": 0.1, "power": 0.8, "small_share": 0.02,
        "small_selected": 5, "drilldown_kept": min(n_queries, 500), "drilldown_total": n_queries,
        "strip_lists": 12, "checks_lists": n_queries,
        "against": {"title": "before.csv", "n_rows": 1000, "n_queries": n_queries,
                    "shared_queries": n_queries} if against else None,
        "attributes": [
            {"name": attribute, "by": [attribute], "crossed": " x " in attribute,
             "protected": groups[:1], "focus": groups[0], "reference": None,
             "unknown": 12 * (attribute == "age_group"),
             "groups": [{"name": group, "size": 100, "share": 1 / len(groups)}
                        for group in groups]}
            for attribute, groups in names.items()
        ],
    }  # fmt: skip
    claims = [
        sample_claim(f"c{at}", attribute, groups[0], n_queries)
        for at, (attribute, groups) in enumerate(names.items(), start=1)
    ]
    notes = [
        {"kind": "warning", "text": "Many ties: 41% of the rows are tied."},
        {"kind": "unknown", "text": "age_group unknown: 12 people (1%)."},
        {"kind": "skipped", "text": "RND is undefined in 2 of 20 queries; they were skipped."},
        {"kind": "sample", "text": "With 20 lists, a gap of 3 positions is detectable."},
        {"kind": "scope", "text": "This audit covers 1,000 people in 20 lists."},
    ]
    built = {"claims": claims_table(claims)}
    built |= {name: Table(_columns(name, rows)) for name, rows in tables.items()}
    return AuditResult(facts=facts, claims=claims, notes=notes, tables=built)


def sample_claim(name, attribute, group, n_queries=20, **fields):
    """Return a finding: the group ranks 7 positions lower in lists of 50."""
    scope = {"lists": n_queries, "people": 1000, "shortest": 50, "median": 50.0, "longest": 50}
    values = {
        "scope": scope, "estimate": 7.0, "unit": "positions", "shares": (0.36, 0.5), "low": 4.0,
        "high": 10.0, "interval_of": "lists", "bounds": (4.5, 9.5), "test": "shuffled labels",
        "p": 0.0005, "p_family": 0.001, "block": "i", "threshold": 0.05, "direction": "lower",
        "size": effect_size(0.36, 0.5), "detectable": 3.1, "status": "finding",
    }  # fmt: skip
    return Claim(name, "position", attribute, group, **(values | fields))


def _columns(name, rows):
    return {key: [row[key] for row in rows] for key in rows[0]} if rows else {"attribute": []}


def fill(tables, rng, attribute, groups, n_queries, against, relevance):
    """The rows of one attribute."""
    n = len(groups)
    mark = {"attribute": attribute}
    for i, group in enumerate(groups):
        difference, share = float(7 - 12 * i / n), 1 / n
        here = mark | {"group": group}
        tables["groups"].append(here | {
            "protected": i == 0, "focus": i == 0, "size": 1000 // n, "share": share,
            "n_queries": n_queries, "mean_position": 25 + difference / 2,
            "mean_position_low": 23 + difference / 2, "mean_position_high": 27 + difference / 2,
            "position_difference": difference, "position_difference_low": difference - 3,
            "position_difference_high": difference + 3, "p_value": 0.0005, "p_family": 0.001,
            "status": "finding" if i == 0 else "cannot_tell", "exposure": share * 0.9,
            "exposure_low": share * 0.8, "exposure_high": share, "exposure_per_item": 0.9,
            "merit": 0.8 if relevance else np.nan, "merit_share": share if relevance else np.nan,
        })  # fmt: skip
        for k in (10, 20):
            rate = 0.1 + 0.02 * i
            tables["selection"].append(mark | {
                "k": k, "group": group, "selected": int(100 * rate), "size": 1000 // n,
                "rate": rate, "low": rate - 0.03, "high": rate + 0.03, "reference": i == n - 1,
                "impact_ratio": rate / (0.1 + 0.02 * (n - 1)), "ratio_low": 0.6,
                "ratio_high": 1.1, "small_cell": i == 1 and n > 2,
            })  # fmt: skip
        for k in range(1, 51):
            drift = share * (0.6 + 0.4 * k / 50) + float(rng.normal(0, 0.02 / k**0.5))
            tables["prefix_shares"].append(here | {
                "k": k, "share": max(drift, 0.0), "pool_share": share,
                "band_low": max(share - 0.6 * k**-0.5, 0.0),
                "band_high": min(share + 0.6 * k**-0.5, 1.0), "n_queries": n_queries,
                "band": "binomial",
            })  # fmt: skip
        if relevance:
            tables["exposure_merit"].append(here | {
                "exposure_share": share * 0.9, "merit_share": share, "ratio": 0.9, "low": 0.8,
                "high": 1.0,
            })  # fmt: skip
            tables["pairwise"] += [
                here | {"other": other, "accuracy": float(rng.uniform(0.3, 0.95)), "n_pairs": 1234,
                        "n_queries": n_queries, "kind": "intra" if other == group else "pair"}
                for other in groups
            ]  # fmt: skip
        edges = np.linspace(20, 90, 41)
        heights = np.exp(-((edges[:-1] - 50 - i % 9 * 4) ** 2) / 200)
        tables["scores"] += [
            here | {"left": left, "right": right, "share": height}
            for left, right, height in zip(
                edges[:-1].tolist(), edges[1:].tolist(), (heights / heights.sum()).tolist(),
                strict=True,
            )
        ]  # fmt: skip
    here = mark | {"group": groups[0]}
    for query in range(min(n_queries, 12)):
        for position in sorted(rng.choice(50, 18, replace=False).tolist()):
            tables["strip"].append(
                here | {"query": f"V{query:02}", "position": position + 1, "length": 50}
            )
    for metric in ("RND", "ExposureGap", "DisparateTreatment"):
        tables["gaps"].append(mark | {
            "metric": metric, "name": f"{metric}(by={attribute[:20]!r})", "group": groups[0],
            "value": 0.231, "chance": 0.1, "corrected": 0.131, "low": 0.15, "high": 0.31,
            "bound_low": 0.16, "bound_high": 0.3, "p_value": 0.000999, "detectable": 0.11,
            "n_queries": n_queries, "n_skipped": 0, "direction": "lower",
            "summary": "How far the share in each prefix is from the share of all.",
        })  # fmt: skip
        if against:
            tables["comparison"].append(mark | {
                "metric": metric, "group": groups[0], "value": 0.12, "other": 0.231,
                "difference": -0.111, "low": -0.15, "high": -0.08, "p_value": 0.001,
                "n_queries": n_queries,
            })  # fmt: skip
    tables["checks"].append(here | {
        "check": "clustering.z", "value": -1.3, "low": -2.0, "high": -0.5, "expected": 0.0,
        "p_value": 0.02, "n_queries": n_queries,
    })  # fmt: skip
    for query in range(min(n_queries, 500)):
        tables["queries"].append({
            "query": f"V{query:03}", "size": 50 + query % 7, "attribute": attribute,
            "group": groups[0], "position_difference": 12 - query * 0.5, "RND": 0.5 / (1 + query),
            "ExposureGap": float("nan") if query == 3 else 0.1,
        })  # fmt: skip


def whole(tables, relevance, against):
    """The rows that are not about one attribute."""
    if relevance:
        tables["metrics"].append({
            "metric": "NDCG@10", "value": 0.713, "low": 0.68, "high": 0.74, "bound_low": 0.69,
            "bound_high": 0.73, "n_queries": 20,
            "n_skipped": 0, "direction": "higher", "summary": "Gain against the best order.",
        })  # fmt: skip
    for metric in ("RND", "ExposureGap", "clustering.z"):
        for i, effect in enumerate(PROPERTIES):
            tables["blind_spots"].append({
                "metric": metric, "property": effect, "detects": (len(metric) + i) % 2 == 0,
                "effect": 1.5,
            })  # fmt: skip
    tables["methods"].append({
        "name": "RND", "formula": "(1/Z) sum_k 1/log2(k) |S_k/k - S/N|",
        "reading": "0 where every prefix holds the share of all.",
        "reference": "Yang and Stoyanovich, Measuring fairness in ranked outputs, 2017.",
    })  # fmt: skip
