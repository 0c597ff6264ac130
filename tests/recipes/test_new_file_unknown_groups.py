"""Unknown labels in files that a trained model reads."""

from types import SimpleNamespace

import pytest

from equirank import as_ranking_data
from equirank.core.encoding import Unseen
from equirank.core.errors import DataError
from equirank.recipes.model_card import _groups
from equirank.recipes.new_file import _known_groups


def sample(labels):
    return as_ranking_data(
        qid=[1] * len(labels), sensitive_features={"sex": labels}, missing_sensitive="unknown"
    )


def test_unknown_labels_stay_unknown_under_the_codes_of_training():
    columns = SimpleNamespace(groups={"sex": ["d", "f", "m"]})
    found = _known_groups(sample(["m", None, "f"]), columns, Unseen()).attribute("sex")
    assert found.codes.tolist() == [2, -1, 1]
    assert found.categories == ("d", "f", "m")
    with pytest.raises(DataError, match=r"'sex'.* must be one of the 3 values seen in training"):
        _known_groups(sample(["x", None]), columns, Unseen())
    policy = Unseen("missing")
    found = _known_groups(sample(["x", "f", None]), columns, policy).attribute("sex")
    assert found.codes.tolist() == [-1, 1, -1]
    assert "(1 of 3 rows, first 'x' in row 0)" in policy.words


def test_the_card_has_shares_of_the_known():
    table = _groups(sample(["m", None, "f", "m", None]))
    assert table["entries"].tolist() == [1, 2]
    assert table["share"].tolist() == [1 / 3, 2 / 3]
