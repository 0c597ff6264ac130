"""Names of classes in guides lead to the reference, and pages of classes lead to guides."""

import sys
from importlib import import_module
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
sys.path.insert(0, str(DOCS / "_ext"))
links = import_module("guide_links")


@pytest.mark.parametrize(
    ("code", "target"),
    [
        ("FAStarIR", "equirank.rerankers.FAStarIR"),
        ("FAStarIR(p=0.4)", "equirank.rerankers.FAStarIR"),
        ("DirectRanker.fit_pairs", "equirank.rankers.DirectRanker"),
        ("equirank.costs.PairCost", "equirank.costs.PairCost"),
        ("NDCG@10", "equirank.metrics.NDCG"),
        ("RankingData", "equirank.RankingData"),
        ("LGBMRanker", None),
        ("fit", None),
        ("RND@10 > 0.3", None),
    ],
)
def test_names_of_classes_are_found(code, target):
    assert links.target_of(code) == target


def test_pages_without_explanations_exist():
    assert all((DOCS / f"{name}.md").exists() for name in links.LISTS)


def test_a_class_lists_the_guides_that_use_it_most():
    (line,) = links.guides("RankBoost")
    assert line.startswith("Guides: :doc:`/boosting`, ")
    assert line.count(":doc:") == links.MOST
    assert links.guides("NoSuchClass") == []


def test_pages_of_classes_and_metrics_have_the_line():
    reference, pages = import_module("reference_pages"), import_module("metric_pages")
    page = reference.class_page(import_module("equirank.rankers"), "RankBoost")
    assert links.guides("RankBoost")[0] in page
    notes = import_module("metric_notes").read_notes()
    assert "Guides: :doc:" in pages.metric_page("rnd", notes["rnd"], DOCS)
