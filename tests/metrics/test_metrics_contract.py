"""Every public metric keeps every promise: a table of metrics and properties."""

import pytest

import equirank.metrics
from equirank.core.metric import GroupMetric
from equirank.core.registry import metric_names, parse_metric
from equirank.testing.metric_checks import check_metric

KINDS = {name: getattr(equirank.metrics, name) for name in metric_names()}
#: Options of single metrics that are worth a row of their own.
MORE = [
    'NDCG(gain="linear")@2',
    "DCG(discount=(1.0, 0.5, 0.25))",
    "AveragePrecision(threshold=2)@3",
    "ERR(max_grade=4)@3",
    "RBP(max_grade=4, p=0.5)@3",
    "AlphaNDCG(alpha=1.0, aspects=(1,))",
    'AverageRank(weights="none")',
    'ExposureGap(discount="zipf")@3',
    'RND(discount="code", normalizer="exact", step=1)',
    'RND(normalizer="none", step=1)',
    'RND(normalizer="last", step=2)',
    'RKL(discount="code", step=1)@4',
    'RRD(discount="code", step=1)@4',
]


def variants():
    """Return each metric with its defaults, a cutoff, short steps, and a protected group."""
    for kind in KINDS.values():
        yield kind()
        if kind.takes_k:
            yield kind @ 3
        options = {"step": 2} if "step" in kind.options() else {}
        if options:
            yield kind(**options)
        if issubclass(kind, GroupMetric):
            yield kind(protected="f", by="gender", **options)
            yield kind(protected="f & x", by=("gender", "race"), **options)
    yield from map(parse_metric, MORE)


@pytest.mark.slow
@pytest.mark.parametrize("metric", list(variants()), ids=str)
def test_metric_keeps_its_promises(metric):
    check_metric(metric, random_state=1)  # its error names the promise


def test_every_metric_is_walked():
    walked = {type(metric).__name__ for metric in variants()}
    assert walked == set(metric_names())
    assert len(walked) >= 14


def test_object_and_function_bear_the_same_words():
    functions = set(equirank.metrics.__all__) - set(KINDS)
    for name in KINDS:
        matching = [f for f in functions if f.replace("_", "") == name.lower()]
        assert len(matching) == 1, name


def test_the_best_value_is_0_of_what_is_lower_better_and_1_of_a_share_or_ratio():
    found = {name: kind().ideal for name, kind in KINDS.items()}
    own = {"Skew": 0.0, "AverageRank": 1.0}  # a logarithm of a ratio, and a place
    own |= dict.fromkeys(("ExposureByGroup", "GroupBenefit", "FAStarIRTest"), float("nan"))
    wanted = {name: float(kind.direction == "higher") for name, kind in KINDS.items()} | own
    assert found == pytest.approx(wanted, nan_ok=True)
    assert equirank.metrics.Skew(extreme="max").ideal == 0.0
