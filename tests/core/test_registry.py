"""Names: metric strings that parse back, and helpful errors for those that do not."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import equirank.metrics as room
from equirank import DataError, Metric, Ranking
from equirank.core import errors
from equirank.core.errors import suggest
from equirank.core.metric_function import function_name
from equirank.core.registry import (
    ALIASES,
    find_metric,
    metric_names,
    parse_metric,
    parse_metrics,
    public_class,
    public_names,
)
from equirank.metrics import NDCG, RND, Precision


def test_metric_names_are_the_public_metric_objects():
    names = metric_names()
    assert names == sorted(names)
    assert {"NDCG", "RND", "ExposureGap", "AUC"} <= set(names)
    assert "ndcg" not in names
    assert all(issubclass(getattr(room, name), Metric) for name in names)


@pytest.mark.parametrize(
    ("text", "metric"),
    [
        ("NDCG", NDCG()),
        ("NDCG@10", NDCG @ 10),
        (" NDCG @ 10 ", NDCG @ 10),
        ("NDCG()", NDCG()),
        ("NDCG(k=10)", NDCG @ 10),
        ("RND(step=5)@50", RND(step=5) @ 50),
        ("RND(step=5, protected='f')", RND(step=5, protected="f")),
        ('RND(protected="a, b)@3")', RND(protected="a, b)@3")),
        ("RND(by=('sex', 'race'))", RND(by=("sex", "race"))),
        ("RND(by=['sex', 'race'])", RND(by=("sex", "race"))),
        ('NDCG(undefined="zero")@3', NDCG(undefined="zero") @ 3),
    ],
)
def test_parsing(text, metric):
    assert parse_metric(text) == metric
    assert parse_metric(repr(metric)) == metric


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("NDGC@10", ["'NDGC@10'", "did you mean 'NDCG'"]),
        ("ndgc_cut_10", ["did you mean 'NDCG'"]),
        ("P_5@5", ["each option once"]),
        ("P_0", ["not known"]),
        ("ndcg_cut_10(k=3)", ["each option once"]),
        ("Zzzzz", ["not known"]),
        ("RND(stepp=5)", ["no option 'stepp'", "did you mean 'step'", "RND takes"]),
        ("NDCG(5)", ["cannot be read"]),
        ("NDCG@10@5", ["cannot be read"]),
        ("NDCG@", ["cannot be read"]),
        ("NDCG@x", ["cannot be read"]),
        ("", ["cannot be read"]),
        ("NDCG.x", ["cannot be read"]),
        ("NDCG(k=open('x'))", ["cannot be read"]),
        ("__import__('os')", ["cannot be read"]),
        ("NDCG\0", ["cannot be read"]),
        ("(" * 500, ["cannot be read"]),
        ("RND(protected={[]: 1})", ["cannot be read"]),
        ("NDCG@0", ["k of NDCG", ">= 1", "got 0"]),
        ("NDCG@1.5", ["k of NDCG", "got 1.5"]),
        ("NDCG@'a'", ["k of NDCG"]),
        ("AUC@10", ["k of AUC"]),
        ("AUC(k=10)", ["no option 'k'"]),
        ("RND(step=0)", ["step of RND"]),
        ("NDCG(undefined='never')", ["undefined of NDCG", "'skip'"]),
        ("NDCG(k=5)@10", ["k"]),
        ("RND(step=5, step=6)", ["step"]),
        ("RND(**{'step': 5})", ["RND"]),
    ],
)
def test_strings_that_do_not_parse(text, words):
    with pytest.raises(DataError) as caught:
        parse_metric(text)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("sign", ["NDCG-", "not ", "-"])
def test_a_string_nested_too_deeply_is_refused_in_few_words(sign):
    for text in (sign * 9000 + "1", "NDCG@" + sign * 9000 + "1"):
        with pytest.raises(DataError, match=r"^metric '.{150,250}\.\.\.' cannot be read; it looks"):
            parse_metric(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("ndcg@10", "NDCG@10"),
        ("nDCG@10", "NDCG@10"),
        ("exposuregap", "ExposureGap"),
        ("exposure_gap(by='sex')", 'ExposureGap(by="sex")'),
        ("MAP", "AveragePrecision"),
        ("map", "AveragePrecision"),
        ("map(threshold=2)", "AveragePrecision(threshold=2)"),
        ("map_cut_10", "AveragePrecision@10"),
        ("AP@5", "AveragePrecision@5"),
        ("MRR@10", "ReciprocalRank@10"),
        ("recip_rank", "ReciprocalRank"),
        ("RR", "ReciprocalRank"),
        ("P@5", "Precision@5"),
        ("P_5", "Precision@5"),
        ("R@5", "Recall@5"),
        ("recall_5", "Recall@5"),
        ("ndcg_cut_10", 'NDCG(gain="linear")@10'),
        ("ndcg_cut(gain='exp2')@10", "NDCG@10"),
        ("ndcg_10", "NDCG@10"),
    ],
)
def test_other_spellings_have_the_name_of_the_metric(text, name):
    assert parse_metric(text).name == name
    assert parse_metric(name).name == name


def test_the_spellings_of_a_name_are_one_metric():
    keys = [name.lower().replace("_", "") for name in metric_names()]
    assert len(set(keys)) == len(keys)
    assert not set(keys) & set(ALIASES)
    for kind in metric_names():
        for spelling in (kind.lower(), kind.upper(), function_name(kind)):
            assert type(parse_metric(spelling)).__name__ == kind
    with pytest.raises(DataError, match="NDCG@10 is named twice"):
        parse_metrics("NDCG@10, ndcg@10")


def test_a_metric_is_found_among_others_by_any_spelling():
    class Own(Metric):
        def values(self, slots):
            raise NotImplementedError

    there = [NDCG @ 10, NDCG(gain="linear") @ 10, Precision @ 5, Own()]
    assert find_metric("ndcg@10", there) is there[0]
    assert find_metric("ndcg_cut_10", there) is there[1]
    assert find_metric(" P_5 ", there) is there[2]
    assert find_metric(Precision @ 5, there) is there[2]
    assert find_metric("Own", there) is there[3]
    for name in ("own", "ndcg", "RND", "NDGC@10", Precision @ 6):
        with pytest.raises(DataError, match=r"must be one of NDCG@10, .*, Own, got "):
            find_metric(name, there)


@pytest.mark.slow
def test_one_metric_module_is_loaded():
    code = """
import sys
from equirank.core.registry import parse_metric
parse_metric("ndcg_cut_10")
found = {n for n in sys.modules if n.startswith("equirank.metrics.") and n.count(".") > 2}
assert found == {"equirank.metrics.relevance.gain"}, found
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_several_metrics_from_anything():
    wanted = [NDCG @ 10, RND(step=5, protected="a,b"), Precision()]
    assert parse_metrics("NDCG@10, RND(step=5, protected='a,b') ,Precision") == wanted
    assert parse_metrics(["NDCG@10,RND(step=5,protected='a,b')", Precision]) == wanted
    assert parse_metrics(tuple(wanted)) == wanted
    assert parse_metrics(NDCG @ 10) == [NDCG @ 10]
    assert parse_metrics(NDCG) == [NDCG()]
    assert parse_metrics(metric for metric in wanted) == wanted


@pytest.mark.parametrize(
    ("metrics", "words"),
    [
        ([], "at least one"),
        ("", "at least one"),
        (" , ", "at least one"),
        (["NDCG", 3], "3"),
        (None, "None"),
        (["NDCG@10", NDCG @ 10], "twice"),
        (Ranking, "metrics must be"),
    ],
)
def test_metrics_that_cannot_be_meant(metrics, words):
    with pytest.raises(DataError, match=words):
        parse_metrics(metrics)


@pytest.mark.slow
@given(st.text(max_size=30))
def test_any_text_parses_or_is_a_data_error(text):
    try:
        parse_metrics(text)
    except DataError:
        return
    assert text.strip()


def test_the_public_names_of_a_module_without_a_stub():
    assert public_names("equirank.core.errors") == dict.fromkeys(
        errors.__all__, "equirank.core.errors"
    )


def test_suggest():
    assert suggest("ndgc", ["NDCG", "RND"]) == "; did you mean 'NDCG'?"
    assert suggest("qqqq", ["NDCG", "RND"]) == ""
    assert suggest("x", []) == ""


def test_a_class_is_found_by_its_public_name_only():
    assert public_class("Ranking") is Ranking
    assert public_class("NDCG") is NDCG
    for name in ("ndcg", "os.path", "Pool", "evaluate", "metrics", "", "__version__"):
        with pytest.raises(DataError, match="public class"):
            public_class(name)
    assert "os.path" in sys.modules
