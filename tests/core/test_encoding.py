"""Encodings: columns, categories and groups of other data, and values that training lacked."""

import numpy as np
import pandas as pd
import pytest

from equirank import DataError, EquirankWarning, as_ranking_data
from equirank.core.encoding import Encoding, Unseen, align, check_width, encoding_of, known_groups

QID = [1, 1, 2, 2]


def people(home=("own", "rent", "own", "rent"), sex=("f", "m", "f", "m"), order=("age", "home")):
    frame = pd.DataFrame({"age": [20.0, 30.0, 40.0, 50.0], "home": pd.Categorical(home)})
    return as_ranking_data(frame[list(order)], qid=QID, sensitive_features={"sex": list(sex)})


def test_the_encoding_is_that_of_data_of_a_ranker_or_itself():
    own = people().encoding
    assert encoding_of(people()) == own == encoding_of(own)
    assert own.categories == {"home": ("own", "rent")}
    assert own.groups == {"sex": ("f", "m")}
    assert encoding_of(None) is None
    with pytest.raises(DataError, match="must be a RankingData or a fitted ranker, got int"):
        encoding_of(3)


def test_columns_are_put_in_order_and_categories_recoded():
    known = people()
    same = people(home=("rent", "rent", "rent", "rent"), order=("home", "age"))
    back = align(same, known.encoding, Unseen())
    np.testing.assert_array_equal(back.X, [[20, 1], [30, 1], [40, 1], [50, 1]])
    assert back.feature_names == ("age", "home")
    assert back.categories == {"home": ("own", "rent")}
    assert align(known, known.encoding, Unseen()) is known


def test_an_unseen_category_is_an_error_with_its_row_or_missing_with_a_warning():
    known, new = people().encoding, people(home=("own", "boat", "van", "own"))
    with pytest.raises(DataError) as caught:
        align(new, known, Unseen(first_row=1, file="new.csv"))
    assert str(caught.value) == (
        "new.csv: X['home'] must be one of the 2 values seen in training ('own', 'rent'), got "
        "'boat' in row 2 (unseen in 2 of 4 rows); unseen=\"missing\" takes them as missing"
    )
    unseen = Unseen("missing")
    np.testing.assert_array_equal(align(new, known, unseen).X[:, 1], [0, np.nan, np.nan, 0])
    with pytest.warns(EquirankWarning, match=r"X\['home'\] \(2 of 4 rows, first 'boat' in row 1\)"):
        unseen.warn()
    assert Unseen("missing").words == ""


def test_a_group_is_known_by_its_value_or_its_text_and_else_unknown():
    encoding = Encoding(groups={"sex": ("x", "m", "f")})
    found = known_groups(people(), "sex", encoding, Unseen())
    assert found.categories == ("x", "m", "f")
    assert found.codes.tolist() == [2, 1, 2, 1]
    other = people(sex=("f", "d", "f", "m"))
    with pytest.raises(DataError, match=r"sensitive_features\['sex'\] must be .* got 'd' in row 1"):
        known_groups(other, "sex", encoding, Unseen())
    assert known_groups(other, "sex", encoding, Unseen("missing")).codes.tolist() == [2, -1, 2, 1]
    numbers = as_ranking_data(qid=QID, sensitive_features=[1, 2, 1, 2])
    (name,) = numbers.sensitive
    text = Encoding(groups={name: ("2", "1")})
    assert known_groups(numbers, name, text, Unseen()).codes.tolist() == [1, 0, 1, 0]


def test_an_array_must_fit_an_encoding_without_its_names():
    data = as_ranking_data(np.zeros((4, 3)), qid=QID)
    with pytest.raises(DataError, match="X must be a data frame, since like has categories in 'ho"):
        check_width(data, people().encoding, None)
    with pytest.raises(DataError, match="X must have 2 features, got 3"):
        check_width(data, Encoding(names=("a", "b")), None)
    check_width(data, Encoding(names=("a", "b", "c")), None)
    check_width(data, Encoding(names=("a", "b")), object())  # a frame has names of its own


def test_columns_and_categories_that_are_not_those_of_training_are_named():
    known = people().encoding
    frame = pd.DataFrame({"age": [1.0, 2.0, 3.0, 4.0], "hom": [1.0, 2.0, 3.0, 4.0]})
    with pytest.raises(
        DataError, match=r"the feature names of fit \(age, home\), and lacks 'home'"
    ):
        align(as_ranking_data(frame, qid=QID), known, Unseen())
    numbers = Encoding(names=("age", "home"))
    with pytest.raises(DataError, match=r"X\['home'\] must hold numbers, as in training"):
        align(people(), numbers, Unseen())
