"""What the plain functions have in common: arguments, what comes back, and what is refused."""

import inspect
from importlib import import_module
from math import isnan, log2
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equirank.metrics
from equirank import DataError, EquirankWarning, Ranking, as_ranking_data
from equirank.core.metric import GroupMetric
from equirank.core.metric_function import function_name
from equirank.core.registry import metric_names, parse_metric
from equirank.metrics import (
    AUC,
    NDCG,
    RND,
    ExposureGap,
    auc,
    average_rank,
    exposure_by_group,
    exposure_gap,
    ndcg,
    precision,
    rkl,
    rnd,
)

from .cases import make_batch, same

DOCS = Path(__file__).parents[2] / "docs"


def pairs():
    """Return each metric's class with its function, if that takes scores and returns a value."""
    for name in metric_names():
        word = function_name(name)
        if word not in equirank.metrics.__all__:
            continue  # the test of the stubs says what to do
        function = getattr(equirank.metrics, word)
        signature = inspect.signature(function)
        if "y_score" in signature.parameters and signature.return_annotation is Any:
            yield pytest.param(getattr(equirank.metrics, name), function, id=word)


@pytest.mark.parametrize(("kind", "function"), list(pairs()))
def test_nothing_may_be_given_beside_a_ranking(kind, function):
    columns = {"y_true": [1, 2], "sensitive_features": ["a", "b"], "X": [[0.0], [1.0]]}
    names = inspect.signature(function).parameters
    required = {n: None for n, p in names.items() if p.default is p.empty and n != "y_score"}
    data = as_ranking_data(
        [[0.0], [1.0]], [1, 2], sensitive_features=["a", "b"], score=[2, 1], cost=[1, 1]
    )
    for name, column in {**columns, "qid": [0, 0]}.items():
        if name in names:
            with pytest.raises(DataError, match=f"{name} must be None beside a Ranking"):
                function(**{**required, "y_score": data.ranking(), name: column})


@pytest.mark.slow
def test_stubs_are_those_the_script_writes(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "_ext")
    for path, text in import_module("metric_stubs").stub_files().items():
        kept = path.read_text(encoding="utf-8") if path.exists() else ""
        assert kept == text, f"{path.name}: run make generate"


def columns(batch):
    """Return the arrays that functions ask for, by the names of their arguments."""
    rng = np.random.default_rng(len(batch.y))
    return {
        "y_true": batch.y,
        "y_score": batch.score,
        "sensitive_features": batch.groups,
        "X": rng.normal(size=(len(batch.y), 2)),
        "cost": rng.uniform(0.5, 2.0, size=len(batch.y)),
    }


def arguments(kind, function, batch):
    """Return the arrays a function takes, and options that make it defined on short lists."""
    given, wanted = columns(batch), inspect.signature(function).parameters
    if kind.refuses_ties:  # items of one query are alike
        given["X"] = (batch.case % 2)[:, None]
    if kind.__name__.startswith("IGF"):  # merit must be > 0
        given["y_true"] = given["y_true"] + 1
    rows = [given[name] for name, word in wanted.items() if word.kind is word.POSITIONAL_OR_KEYWORD]
    options = {"step": 2} if "step" in kind.options() else {}
    if kind.__name__.startswith("IGF"):
        options["k"] = 2
    if "n_bins" in kind.options():
        options["n_bins"] = 2
    if issubclass(kind, GroupMetric):
        options["protected"] = "a"
    beside = {"cost": given["cost"]} if "cost" in kind.needs else {}
    return rows, options, beside


def ranked(batch, rows, function, **options):
    """Return the ranking that the rows of a call make."""
    names = list(inspect.signature(function).parameters)
    given = dict(zip(names, rows, strict=False)) | options
    data = as_ranking_data(
        X=given.get("X"),
        y=given.get("y_true", batch.y),
        qid=batch.qid,
        sensitive_features=batch.groups,
        cost=given.get("cost"),
    )
    return Ranking.from_scores(data, batch.score, ties=options.get("ties", "average"))


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "function"), list(pairs()))
def test_function_equals_object(kind, function):
    batch = make_batch(80, seed=1, most=8, shares=(0.4, 0.6))
    rows, options, beside = arguments(kind, function, batch)
    metric = kind(**options)
    for ties in ("average", "stable"):
        values = metric.per_query(ranked(batch, rows, function, ties=ties, **beside))
        call = {"qid": batch.qid, "ties": ties, **options, **beside}
        same(function(*rows, per_query=True, **call), values.value)
        result = function(*rows, **call)
        assert type(result) is float
        assert result == float(metric.summarize(values)[0])


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "function"), list(pairs()))
def test_function_takes_a_ranking(kind, function):
    batch = make_batch(40, seed=2, most=8, shares=(0.4, 0.6))
    rows, options, beside = arguments(kind, function, batch)
    ranking = ranked(batch, rows, function, **beside)
    names = list(inspect.signature(function).parameters)[: len(rows)]
    first = [ranking if name == "y_score" else None for name in names]
    got = function(*first, per_query=True, **options)
    same(got, function(*rows, qid=batch.qid, per_query=True, **options, **beside))


@pytest.mark.parametrize(("kind", "function"), list(pairs()))
def test_function_takes_every_option_with_the_same_default(kind, function):
    given = inspect.signature(function).parameters
    blank = kind()
    for option in kind.options():
        if option not in ("by", "cost") and given[option].default is not inspect.Parameter.empty:
            assert given[option].default == getattr(blank, option), option
    assert ("k" in given) == kind.takes_k
    for word in ("qid", "ties", "per_query"):
        assert given[word].kind is inspect.Parameter.KEYWORD_ONLY


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "function"), list(pairs()))
def test_mean_over_the_queries_where_it_is_defined(kind, function):
    batch = make_batch(60, seed=3, most=8, shares=(0.4, 0.6))
    rows, options, beside = arguments(kind, function, batch)
    values = function(*rows, qid=batch.qid, per_query=True, **options, **beside)
    assert values.shape == (len(batch.cases),)
    defined = [value for value in values.tolist() if not isnan(value)]
    assert defined
    wanted = sum(defined) / len(defined)
    got = function(*rows, qid=batch.qid, **options, **beside)
    assert got == pytest.approx(wanted)


def test_queries_come_in_the_order_of_first_appearance():
    # z: relevant first; a: relevant second; rows interleaved
    values = ndcg([1, 0, 0, 1], [2, 2, 1, 1], qid=["z", "a", "z", "a"], per_query=True)
    same(values, [1, 1 / log2(3)])
    values = ndcg([0, 1, 1, 0], [2, 2, 1, 1], qid=[9, 3, 9, 3], per_query=True)
    same(values, [1 / log2(3), 1])


# undefined = skip, zero, one, raise

SCORES, RELEVANCE, QUERIES = [2, 1, 2, 1], [0, 1, 0, 0], ["x", "x", "y", "y"]
DEFINED = 1 / log2(3)


@pytest.mark.parametrize(
    ("undefined", "second", "mean"),
    [
        ("skip", np.nan, DEFINED),
        ("zero", 0.0, (DEFINED + 0) / 2),
        ("one", 1.0, (DEFINED + 1) / 2),
    ],
)
def test_undefined_query(undefined, second, mean):
    call = {"qid": QUERIES, "undefined": undefined}
    same(ndcg(RELEVANCE, SCORES, per_query=True, **call), [DEFINED, second])
    assert ndcg(RELEVANCE, SCORES, **call) == pytest.approx(mean)


def test_undefined_query_raises_on_request():
    with pytest.raises(DataError, match=r"NDCG.*undefined.*'y'.*row 2.*no item is relevant"):
        ndcg(RELEVANCE, SCORES, qid=QUERIES, undefined="raise")
    assert ndcg([1, 0], [2, 1], undefined="raise") == 1.0


def test_undefined_gap_fills_and_raises():
    call = {"qid": [1, 1, 2, 2], "per_query": True}
    groups = list("abaa")
    same(exposure_gap(SCORES, groups, undefined="zero", **call), [1 - 1 / log2(3), 0])
    same(exposure_gap(SCORES, groups, undefined="one", **call), [1 - 1 / log2(3), 1])
    with pytest.raises(
        DataError, match=r"undefined for query .*2.* \(row 2\): it contains only one group"
    ):
        exposure_gap(SCORES, groups, undefined="raise", **call)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "function"), list(pairs()))
def test_undefined_fills_whatever_is_undefined(kind, function):
    batch = make_batch(60, seed=4, most=5, shares=(0.4, 0.6))
    rows, options, beside = arguments(kind, function, batch)
    call = {"qid": batch.qid, "per_query": True, **options, **beside}
    values = function(*rows, **call)
    missing = np.isnan(values)
    for undefined, fill in (("zero", 0.0), ("one", 1.0)):
        same(function(*rows, undefined=undefined, **call), np.where(missing, fill, values))
    if missing.any():
        with pytest.raises(DataError, match="undefined for query"):
            function(*rows, undefined="raise", **call)


def test_undefined_everywhere_is_nan_with_a_warning():
    with pytest.warns(EquirankWarning, match="undefined in every query"):
        assert isnan(exposure_gap([2, 1], list("aa")))
    assert np.isnan(exposure_gap([2, 1], list("aa"), per_query=True)).all()


# return_groups


def test_groups_come_back_as_a_dict():
    value, groups = exposure_by_group([2, 1], ["m", "f"], return_groups=True)
    assert value == groups["f"] == pytest.approx(1 / log2(3))
    assert groups["m"] == 1.0
    assert all(type(v) is float for v in groups.values())


def test_groups_per_query():
    value, groups = exposure_gap(
        [2, 1, 1], ["m", "f", "m"], qid=[1, 1, 2], return_groups=True, per_query=True
    )
    same(value, [1 - 1 / log2(3), np.nan])
    same(groups["m"], [1, 1])
    same(groups["f"], [1 / log2(3), np.nan])


def test_groups_are_means_over_the_queries_that_hold_them():
    _, groups = exposure_by_group([2, 1, 1], ["m", "f", "f"], qid=[1, 1, 2], return_groups=True)
    assert groups == pytest.approx({"f": (1 / log2(3) + 1) / 2, "m": 1})


def test_group_labels_need_not_be_text():
    _, groups = exposure_by_group([2, 1], [1, 0], return_groups=True)
    assert groups == pytest.approx({0: 1 / log2(3), 1: 1})
    assert exposure_by_group([2, 1], [1, 0], protected=0) == pytest.approx(1 / log2(3))
    assert exposure_by_group([2, 1], [True, False], protected=True) == 1.0


# What is refused


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ndcg([1, 0], [1, 2, 3]), r"y_true.*2"),
        (lambda: ndcg([1, 0], [1, 2], qid=[1]), r"qid.*1"),
        (lambda: rnd([1, 2], ["a"]), r"sensitive.*1"),
        (lambda: ndcg([1, 0], [1, np.nan]), r"y_score.*finite.*nan.*row 1"),
        (lambda: ndcg([1, 0], [np.inf, 1]), r"y_score.*finite.*inf.*row 0"),
        (lambda: ndcg([1, -2], [1, 2]), r"y_true.*>= 0.*-2.*row 1"),
        (lambda: ndcg([1, np.nan], [1, 2]), r"y_true.*nan.*row 1"),
        (lambda: ndcg([], []), r"at least one row"),
        (lambda: ndcg([1, "x"], [1, 2]), r"y_true.*number.*'x'.*row 1"),
        (lambda: ndcg([[1, 0]], [[1, 2]]), r"one-dimensional"),
        (lambda: rnd([1, 2], ["a", None]), r"sensitive.*row 1"),
        (
            lambda: rnd([1, 2], ["ab", "b"], protected="aa"),
            r"protected.*'ab', 'b'.*got 'aa'$",
        ),
        (lambda: exposure_gap([1, 2], list("ab"), protected="c"), r"protected.*'c'"),
        (lambda: exposure_gap([1, 2], None), r"needs groups"),
        (lambda: ndcg(None, [1, 2]), r"needs relevance"),
        (lambda: ndcg([1, 0], [1, 2], ties="first"), r"ties.*'average', 'stable'.*'first'"),
        (lambda: ndcg([1, 0], [1, 2], gain="exp"), r"gain of NDCG.*'exp2', 'linear'.*'exp'"),
        (lambda: ndcg([1, 0], [1, 2], k=0), r"k of NDCG.*integer >= 1.*0"),
        (lambda: ndcg([1, 0], [1, 2], k=2.5), r"k of NDCG.*2\.5"),
        (lambda: ndcg([1, 0], [1, 2], k=True), r"k of NDCG.*True"),
        (lambda: ndcg([1, 0], [1, 2], discount="log"), r"discount of NDCG.*'log'"),
        (lambda: ndcg([1, 0], [1, 2], discount=[1, -1]), r"discount of NDCG.*>= 0"),
        (lambda: ndcg([1, 0], [1, 2], discount=[]), r"discount of NDCG"),
        (lambda: ndcg([1, 0], [1, 2], undefined="no"), r"undefined of NDCG.*'raise'.*'no'"),
        (lambda: precision([1, 0], [1, 2], threshold=0), r"threshold of Precision.*> 0"),
        (lambda: rnd([1, 2], list("ab"), step=0), r"step of RND.*>= 1.*0"),
        (lambda: rkl([1, 2], list("ab"), normalizer="max"), r"normalizer of RKL.*'max'"),
        (lambda: rnd([1, 2], list("ab"), discount="log2"), r"discount of RND.*'paper', 'code'"),
        (lambda: average_rank([1], [1], weights="no"), r"weights of AverageRank.*'no'"),
        (lambda: AUC @ 5, r"k of AUC.*no cutoff.*5"),
        (lambda: parse_metric("AverageRank@5"), r"k of AverageRank.*no cutoff"),
        (lambda: parse_metric("AUC(k=5)"), r"AUC\(k=5\).*no option 'k'"),
        (lambda: parse_metric("NDGC@10"), r"'NDGC@10' is not known; did you mean 'NDCG'"),
        (lambda: parse_metric("ndgc"), r"'ndgc' is not known; did you mean 'NDCG'"),
        (lambda: parse_metric("NDCG(gian='linear')"), r"no option 'gian'; did you mean 'gain'"),
        (lambda: parse_metric("NDCG(gain=linear)"), r"cannot be read"),
        (lambda: parse_metric("NDCG@"), r"cannot be read"),
        (lambda: parse_metric("NDCG(k=10)@5"), r"NDCG\(k=10\)@5"),
        (lambda: parse_metric("NDCG@5@6"), r"NDCG@5@6"),
    ],
)
def test_bad_input_is_refused(call, words):
    with pytest.raises(DataError, match=words):
        call()


def test_cutoff_is_no_argument_where_there_is_none():
    for function in (auc, average_rank):
        with pytest.raises(TypeError, match="'k'"):
            function([1, 0], [2, 1], k=1)


def test_unknown_argument_of_a_function():
    with pytest.raises(TypeError, match="gian"):
        ndcg([1, 0], [2, 1], gian="linear")


def test_several_attributes_need_a_choice():
    people = {"sex": list("fm"), "race": list("xy")}
    data = as_ranking_data(score=[2, 1], sensitive_features=people)
    with pytest.raises(DataError, match=r"by must name one of the attributes 'sex', 'race'"):
        ExposureGap().per_query(data.ranking())
    with pytest.raises(DataError, match=r"by must be one of .*'sx'.*did you mean 'sex'"):
        ExposureGap(by="sx").per_query(data.ranking())


def test_protected_group_without_rows_is_refused():
    data = as_ranking_data(score=[2, 1, 1], qid=[1, 1, 2], sensitive_features=list("aab")).select(
        [0]
    )
    with pytest.raises(DataError, match=r"protected.*at least one row.*'b'"):
        RND(step=2, protected="b").per_query(data.ranking())


# Names


@pytest.mark.parametrize(
    ("text", "metric"),
    [
        ("NDCG", NDCG()),
        ("NDCG@10", NDCG(k=10)),
        ('NDCG(gain="linear")@10', NDCG(k=10, gain="linear")),
        ("NDCG(discount=(1.0, 0.5))", NDCG(discount=[1.0, 0.5])),
        ("NDCG(discount=(1.0,))", NDCG(discount=np.array([1.0]))),
        ("RND(step=5)@50", RND(step=5) @ 50),
        ('RND(by=("a", "b"), protected="x & y")', RND(by=["a", "b"], protected="x & y")),
        ('NDCG(undefined="raise")', NDCG(undefined="raise")),
        ("RND(protected=1)", RND(protected=1)),
        ('RND(protected="say \\"hi\\" ü")', RND(protected='say "hi" ü')),
    ],
)
def test_string_and_object(text, metric):
    assert repr(metric) == text
    assert parse_metric(text) == metric
    assert hash(parse_metric(text)) == hash(metric)
    assert {text: 1}[metric.name] == 1
