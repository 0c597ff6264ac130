"""One comparison for the three metrics of groups and merit."""

import numpy as np

from ..cases import same
from .merit_twins import drawn_of, expected, lists_of, per_merit, worst


def agree(function, kind, twin, choose, labels, options, weigh=lambda seen, y: seen):
    """Compare function and object with the twin, with and without a protected group."""
    for ties, batch, pairs in lists_of(labels):
        seen = [weigh(expected(case, draws, **options), case.y) for case, draws in pairs]
        call = {"qid": batch.qid, "per_query": True, "ties": ties, **options}
        rows = (batch.y, batch.score, batch.groups)
        value, groups = function(*rows, return_groups=True, **call)
        cases = [case for case, _ in pairs]
        same(value, _all(twin, choose, seen, cases, labels))
        for label in labels:
            each = zip(seen, cases, strict=True)
            same(groups[label], [per_merit(s, c.y, c.groups, label) for s, c in each])
        each = zip(seen, cases, strict=True)
        wanted = [twin(s, c.y, c.groups, "b") for s, c in each]
        same(function(*rows, protected="b", **call), wanted)
    for ranking, pairs in drawn_of(labels):
        seen = [weigh(expected(case, draws, **options), case.y) for case, draws in pairs]
        cases = [case for case, _ in pairs]
        got = kind(**options).per_query(ranking)
        same(got.value, _all(twin, choose, seen, cases, labels))
        got = kind(protected="a", **options).per_query(ranking)
        each = zip(seen, cases, strict=True)
        same(got.value, [twin(s, c.y, c.groups, "a") for s, c in each])
        assert got.labels == tuple(labels)
        assert np.asarray(got.groups).shape == (len(cases), len(labels))


def _all(twin, choose, seen, cases, labels):
    return [
        worst([twin(s, c.y, c.groups, label) for label in labels], choose)
        for s, c in zip(seen, cases, strict=True)
    ]
