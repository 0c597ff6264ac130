"""PairExplanation: its table, its words, and what a re-ranker adds."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest

from equirank.core.pair_explanation import PairExplanation, PairFacts


def explained(contribution, *, values=None, **facts):
    parts = np.array(contribution, dtype=float)
    given = {"a": 4, "b": 9, "score_a": float(parts.sum()), "score_b": 0.0}
    given |= {"model": "Some", "method": "exact"} | facts
    if values is None:
        values = (np.arange(len(parts)) + 0.5).tolist(), [float("nan")] * len(parts)
    names = [f"x{at}" for at in range(len(parts))]
    error = np.full(len(parts), 0.25 if given["method"] == "sampled" else 0.0)
    return PairExplanation.of(names, values, parts, error, PairFacts(**given))


def test_the_largest_come_first():
    explanation = explained([0.5, -2.0, 0.0, 1.0])
    assert explanation["feature"].tolist() == ["x1", "x3", "x0", "x2"]
    assert explanation["contribution"].tolist() == [-2.0, 1.0, 0.5, 0.0]
    assert explanation["value_a"].tolist() == [1.5, 3.5, 0.5, 2.5]
    assert explanation.difference == -0.5


def test_words():
    said = explained([0.5, -2.0, 0.0, 1.0]).sentences
    assert said == (
        "Row 4 ranks below row 9: its score is -0.5 against 0 (-0.5).",
        "For row 4: x3 (3.5 against missing) +1, x0 (0.5 against missing) +0.5.",
        "For row 9: x1 (1.5 against missing) -2.",
        "The contributions are exact.",
    )


def test_words_name_a_few_and_add_up_the_rest():
    said = explained([6, 5, 4, 3, 2, 1, -7], method="sampled", n_draws=50).sentences
    assert said[1].count("against") == 4
    assert said[3] == "2 others together: +3."
    assert "50 random orders" in said[4]
    assert "largest standard error is 0.25" in said[4]
    assert "One other: +1." in explained([5, 4, 3, 2, 1]).sentences
    assert "SHAP" in explained([1.0], method="shap").sentences[-1]


def test_text_among_the_values_makes_columns_of_text():
    explanation = explained([2.0, 1.0], values=(["Rome", 0.25], [None, 3.0]))
    assert explanation["value_a"].tolist() == ["Rome", "0.25"]
    assert explanation["value_b"].tolist() == [None, 3.0]
    assert "x0 (Rome against missing)" in str(explanation)


def test_a_re_ranker_adds_its_row_and_its_reasons():
    reason = SimpleNamespace(sentences=("Row 4 moved up.",))
    explanation = explained([0.5, -2.0]).reranked(1.0, -1.0, "Reranked", [reason, reason])
    at = explanation["feature"].tolist().index("(re-ranker)")
    assert explanation["contribution"][at] == (1.0 - -1.5) - (-1.0 - 0.0)
    assert explanation["contribution"].sum() == pytest.approx(2.0)
    assert explanation.difference == 2.0
    assert explanation.model == "Reranked"
    assert explanation.sentences[-2:] == ("Row 4 moved up.", "Row 4 moved up.")
    assert "(re-ranker) +3.5" in str(explanation)


def test_shap_columns_stay_with_their_features():
    parts = np.array([1.0, -3.0])
    more = {"shap_a": np.array([2.0, 0.0]), "shap_b": np.array([1.0, 3.0]), "difference": parts}
    facts = PairFacts(0, 1, -2.0, 0.0, "Trees", "shap")
    explanation = PairExplanation.of(
        ["u", "v"], ([1, 2], [3, 4]), parts, parts * 0, facts, more=more
    )
    assert explanation["shap_b"].tolist() == [3.0, 1.0]
    after = explanation.reranked(-2.0, 0.5, "Reranked", [])
    assert after["shap_b"][:2].tolist() == [3.0, 1.0]
    assert np.isnan(after["shap_a"][2])


def test_it_shows_itself_and_is_kept():
    explanation = explained([0.5, -2.0], a="<b>", ids=True)
    assert "&lt;b&gt; ranks below 9" in explanation._repr_html_()
    assert "<table>" in explanation._repr_html_()
    back = pickle.loads(pickle.dumps(explanation))
    assert repr(back) == repr(explanation)
    assert str(back) == str(explanation)
    assert explanation.to_json().startswith('[{"feature": "x1"')
