"""Bounds and corrections of the metrics of an audit: brute force over the labels of each list."""

from itertools import product

import numpy as np
import pytest

from equirank import AuditResult, DataError, as_ranking_data, audit
from equirank.core.registry import parse_metrics
from equirank.metrics import (
    AdverseImpactRatio,
    CrossGroupAUC,
    DisparateTreatment,
    ExposureGap,
    GroupPairwiseAccuracy,
    RankParityError,
    RecallGap,
)

#: Metrics with a formula, then those whose completions are tried.
FORMULAS = (ExposureGap(), GroupPairwiseAccuracy(), CrossGroupAUC(threshold=2))
TRIED = (AdverseImpactRatio(k=3), DisparateTreatment(), RankParityError(), RecallGap(k=3))


def people(groups="ab", seed=0, lists=3, length=7, unknown=2):
    """Return lists of people of whom some labels are unknown in each list."""
    rng = np.random.default_rng(seed)
    labels = rng.choice(np.array(list(groups), dtype=object), (lists, length))
    labels[:, : len(groups)] = list(groups)
    for row in labels:
        row[rng.permutation(np.arange(len(groups), length))[:unknown]] = ""
    return {
        "list": np.repeat(np.arange(lists), length).tolist(),
        "score": rng.integers(0, 9, lists * length).tolist(),
        "y": rng.integers(0, 4, lists * length).tolist(),
        "race": labels.ravel().tolist(),
    }


def audited(data, metrics, **options):
    options = {"n_boot": 2, "n_permutations": 0, "k": 3, "relevance": "y"} | options
    return audit(data, query="list", sensitive="race", metrics=[*metrics], **options)


def rows_of(result):
    """Return the rows of the table of labels by measure and method."""
    return {(row["measure"], row["method"]): row for row in result.tables["labels"]}


def values_of(metric, data, groups):
    """Return the value of each list under each of its completions."""
    lists, found = np.array(data["list"]), []
    for each in np.unique(lists):
        rows = np.flatnonzero(lists == each).tolist()
        y, score, labels = ([data[name][row] for row in rows] for name in ("y", "score", "race"))
        free = [at for at, label in enumerate(labels) if label == ""]
        mine = []
        for names in product(groups, repeat=len(free)):
            for at, name in zip(free, names, strict=True):
                labels[at] = name
            people = {"race": list(labels)}
            ranking = as_ranking_data(y=y, score=score, sensitive_features=people).ranking()
            mine.append(metric.per_query(ranking).value[0])
        found.append(np.array(mine))
    return found


def extremes(values):
    """Return the smallest and largest mean over the lists that are defined."""
    means = [np.nanmean(chosen) for chosen in product(*values) if not np.isnan(chosen).all()]
    return min(means), max(means)


@pytest.mark.slow
@pytest.mark.parametrize("metric", [*FORMULAS, *TRIED], ids=str)
@pytest.mark.parametrize("groups", ["ab", "abc"])
def test_metrics_have_the_range_of_all_completions(metric, groups):
    data = people(groups)
    row = rows_of(audited(data, [metric]))[str(metric), "completions"]
    low, high = extremes(values_of(metric, data, groups))
    signed = isinstance(metric, ExposureGap) and groups == "ab"
    if isinstance(metric, (GroupPairwiseAccuracy, CrossGroupAUC)) and groups == "abc":
        assert not row["sharp"]
        assert row["low"] <= low + 1e-12
        assert row["high"] >= high - 1e-12
        return
    assert row["high"] == pytest.approx(high, rel=1e-12)
    assert row["sharp"] or signed  # 0 may not be attained where the signs differ
    assert row["low"] <= low + 1e-12 if signed else row["low"] == pytest.approx(low, rel=1e-12)


@pytest.mark.slow
def test_metrics_without_bounds_say_why():
    data = people(lists=3, length=60, unknown=30)
    rows = rows_of(audited(data, [AdverseImpactRatio(k=3)]))
    assert ("AdverseImpactRatio@3", "completions") not in rows
    told = rows["AdverseImpactRatio@3", "no bounds"]
    assert "too many to try" in told["assumption"]
    assert rows["GroupPairwiseAccuracy", "completions"]["sharp"] is False
    few = audited(people(seed=4), [])
    assert not few.fails("GroupPairwiseAccuracy.bounds_low > 0.99")
    assert few.fails("GroupPairwiseAccuracy.bounds_high > 0.01")
    with pytest.raises(DataError, match=r"has no bounds_low: .* too many to try"):
        audited(data, [AdverseImpactRatio(k=3)]).fails("AdverseImpactRatio@3.bounds_low < 0.1")


@pytest.mark.slow
def test_one_list_has_percentiles_of_drawn_labels():
    data = people(lists=1, length=40, unknown=12, seed=1)
    result = audited(data, parse_metrics("RND(step=5)"), n_boot=50, relevance=None)
    row = rows_of(result)["RND(step=5)", "percentiles"]
    assert row["low"] < row["value"] < row["high"]
    one_sided = rows_of(result)["RND(step=5)", "percentiles, one-sided"]
    assert row["low"] <= one_sided["low"] < one_sided["high"] <= row["high"]
    assert AuditResult.from_json(result.to_json()) == result
