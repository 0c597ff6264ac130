"""How the pairwise group metrics are compared with their twins, on every kind of list."""

from thorough import sized

from ..cases import same
from ..pair_lists import SHARES, all_lists
from ..twins import worst

LABELS = list(SHARES)


def over_labels(labels, groups_twin):
    """Make a twin that takes the worst over labels from one that takes a label."""
    return lambda *case: worst([groups_twin(*case, label) for label in labels], max)


def agree(function, kind, labels, groups_twin, value_twin, protected_twin, *, truth, **options):
    """Compare value, value of a protected group, and values of all groups.

    The twins take (case, blocks, hidden) and, but for ``value_twin``, a label. Of a ranking in
    draws the values are averaged.
    """
    for lists in all_lists(labels, n=sized(200, 600)):
        batch = lists.batch

        def averaged(twin, *more, lists=lists):
            return lists.twin(lambda case, rows, blocks, hidden: twin(case, blocks, hidden, *more))

        metric = kind(**options)
        found = metric.per_query(lists.ranking)
        same(found.value, averaged(value_twin))
        for at, label in enumerate(found.labels):
            same(found.groups[:, at], averaged(groups_twin, label))
        assert found.labels == tuple(labels)
        one = kind(protected="b", **options)
        same(one.per_query(lists.ranking).value, averaged(protected_twin, "b"))
        if lists.ties is None:
            continue
        rows = (batch.y, batch.score, batch.groups) if truth else (batch.score, batch.groups)
        call = {"qid": batch.qid, "ties": lists.ties, "per_query": True, **options}
        value, groups = function(*rows, return_groups=True, **call)
        same(value, found.value)
        for at, label in enumerate(labels):
            same(groups[label], found.groups[:, at])
        same(function(*rows, protected="b", **call), averaged(protected_twin, "b"))
