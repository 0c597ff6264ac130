"""Names: metric strings that parse back, and helpful errors for those that do not."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import equirank.metrics as room
from equirank import DataError, Metric, Ranking
from equirank.core.errors import suggest
from equirank.core.registry import metric_names, parse_metric, parse_metrics, public_class
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
        ("ndcg@10", ["did you mean 'NDCG'"]),
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


@given(st.text(max_size=30))
def test_any_text_parses_or_is_a_data_error(text):
    try:
        parse_metrics(text)
    except DataError:
        return
    assert text.strip()


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
