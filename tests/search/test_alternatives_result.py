"""Alternatives: the choice by a rule, and the certificate that is false as rarely as it says."""

from itertools import pairwise
from math import sqrt

import numpy as np
import pytest
from alternative_methods import search

from equirank.core.registry import parse_metrics
from equirank.search.alternatives_result import choose, stopping_certificate

METRICS = parse_metrics(["NDCG@10", "ExposureGap"])


def rows(pairs):
    return [
        {"error": None, "values": {"NDCG@10": {"value": good}, "ExposureGap": {"value": bad}}}
        for good, bad in pairs
    ]


def test_the_least_target_among_those_that_satisfy_the_rule_is_chosen():
    some = rows([(0.8, 0.3), (0.7, 0.1), (0.79, 0.2), (0.9, 0.2)])
    rule = "NDCG@10 >= baseline - 0.02"
    assert choose(some, METRICS, rule, METRICS[1]) == 3  # equal gaps: the better quality
    assert choose(some, METRICS, None, METRICS[1]) == 1
    assert choose(some, METRICS, "NDCG@10 >= 0.85 and ExposureGap <= 0.1", METRICS[1]) == -1
    some[3]["error"] = "broken"
    assert choose(some, METRICS, rule, METRICS[1]) == 2
    some[2]["values"]["ExposureGap"]["value"] = None
    assert choose(some, METRICS, rule, METRICS[1]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("n", [5, 30])
def test_the_certificate_is_false_in_5_percent(n):
    rng, false, runs = np.random.default_rng(n), 0, 500
    for _ in range(runs):
        pool = rng.random((2000, 2))
        drawn = pool[rng.integers(0, 2000, n)]
        some = rows([(0.5, 2.0), *map(tuple, drawn)])
        at = choose(some, METRICS, "NDCG@10 >= baseline - 0.2", METRICS[1])
        gap = some[at]["values"]["ExposureGap"]["value"]
        better = (pool[:, 0] >= 0.3) & (pool[:, 1] < gap)
        false += better.mean() >= stopping_certificate(n, "x").share
    assert false / runs <= 0.05 + 3 * sqrt(0.05 * 0.95 / runs)
    assert false / runs >= 0.05 - 3 * sqrt(0.05 * 0.95 / runs)  # exact, so not rarer either


def test_the_certificate_in_words():
    found = stopping_certificate(298, "boost 3", margin=0.01)
    assert found.more == 1
    assert 0.01 < found.share < 0.0101
    assert "nothing was better than boost 3 by more than 0.01." in found.sentence
    assert "For 1%, 1 more independent draws are needed." in found.sentence
    assert stopping_certificate(299, "x").share <= 0.01
    assert "This is at most 1%." in stopping_certificate(299, "x").sentence
    shares = [stopping_certificate(n, "x").share for n in range(6)]
    assert shares[0] == 1.0
    assert all(a > b for a, b in pairwise(shares))


@pytest.mark.slow
def test_gains_and_losses_are_named_by_their_intervals():
    result = search()

    def said(low, high, at=1):
        result.certified[at]["difference"] = {"value": (low + high) / 2, "low": low, "high": high}
        for name in ("sentences", "certificate"):
            result.__dict__.pop(name, None)
        return result.sentences[0 if at == 1 else 1]

    assert result.chosen["trial"] != 0
    assert ": a gain;" in said(-0.2, -0.1)
    assert result.gain
    assert "does not show a difference" in said(-0.2, 0.1)
    assert not result.gain
    assert ": a loss;" in said(0.1, 0.2)
    assert not result.gain
    assert ": a gain;" in said(0.1, 0.2, at=0)
    assert ": a loss;" in said(-0.2, -0.1, at=0)
