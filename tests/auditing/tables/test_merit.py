"""Attention against merit, and pairs."""

import numpy as np
import pytest

from equirank import audit
from equirank.datasets import load_hiring
from equirank.metrics import pairwise_accuracy_matrix


def test_equal_merit_and_attention_is_one():
    result = audit(
        score=[1, 1, 1, 1],
        relevance=[1, 1, 1, 1],
        sensitive=list("abab"),
        n_boot=0,
        n_permutations=0,
    )
    table = result.tables["exposure_merit"]
    np.testing.assert_allclose(table["ratio"], 1.0)
    np.testing.assert_allclose(table["merit_share"], 0.5)


def test_by_hand():
    result = audit(
        score=[3, 2, 1], relevance=[1, 0, 2], sensitive=list("abb"), n_boot=0, n_permutations=0
    )
    table = result.tables["exposure_merit"]
    attention = 1 / np.log2([2, 3, 4])
    assert table["exposure_share"][0] == pytest.approx(attention[0] / attention.sum())
    assert table["merit_share"][0] == pytest.approx(1 / 3)
    assert table["ratio"][0] == pytest.approx(3 * attention[0] / attention.sum())


def test_pairs_are_those_of_the_matrix(hiring):
    expected = pairwise_accuracy_matrix(None, load_hiring().ranking(), None, by="sex")
    ours = [row for row in hiring.tables["pairwise"] if row["attribute"] == "sex"]
    assert [row["accuracy"] for row in ours] == expected["accuracy"].tolist()
    assert [row["n_pairs"] for row in ours] == expected["pairs"].tolist()
    assert {row["kind"] for row in ours} == {"intra", "pair", "inter"}


def test_nothing_without_relevance(one_list):
    assert len(one_list.tables["exposure_merit"]) == 0
    assert len(one_list.tables["pairwise"]) == 0
    assert "accuracy" in one_list.tables["pairwise"].columns


def test_many_groups_are_not_paired():
    rng = np.random.default_rng(0)
    groups = np.array([f"g{i}" for i in range(13)] * 4)
    result = audit(
        score=rng.random(52),
        relevance=rng.integers(0, 2, 52),
        sensitive={"g": groups},
        n_boot=0,
        n_permutations=0,
    )
    assert len(result.tables["pairwise"]) == 0
    assert "GroupPairwiseAccuracy" not in result.tables["gaps"]["metric"]
    assert any("not compared pair by pair" in note["text"] for note in result.notes)
