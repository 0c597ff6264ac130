"""Probabilities, errors of recording and verified labels: read, kept, cut, or refused by name."""

import numpy as np
import pytest

from equirank import LabelError, as_ranking_data
from equirank.core.errors import DataError, EquirankWarning
from equirank.core.splits import QueryKFold

RACE = ["w", None, "b", None]
GUESSED = {
    "race": RACE,
    "race[b]": [None, 0.25, None, 1.0],
    "race[w]": [None, 0.75, None, 0.0],
}
FLIPS = [[0.9, 0.1], [0.2, 0.8]]


def read(columns, **options):
    rows = len(next(iter(columns.values())))
    return as_ranking_data(score=np.arange(rows, 0, -1), sensitive_features=columns, **options)


def race(columns, **options):
    return read(columns, **options).attribute("race")


@pytest.mark.parametrize("library", [None, "pandas", "polars"])
def test_probabilities_fill_in_labels(library):
    columns = GUESSED if library is None else pytest.importorskip(library).DataFrame(GUESSED)
    found = race(GUESSED) if library is None else as_ranking_data(sensitive_features=columns)
    found = found if library is None else found.attribute("race")
    assert found.codes.tolist() == [1, -1, 0, 0]
    assert found.categories == ("b", "w")
    assert found.probability.tolist() == [[0, 1], [0.25, 0.75], [1, 0], [1, 0]]
    assert found.doubtful


def test_probabilities_without_a_column_of_labels():
    found = race({"race[w]": [0.5, 1.0], "race[b]": [0.5, 0.0]})
    assert found.codes.tolist() == [-1, 1]
    assert found.categories == ("b", "w")


def test_groups_that_are_numbers_are_named_by_their_text():
    found = race({"race": [0, 1, None], "race[0]": [1, 0, 0.5], "race[1]": [0, 1, 0.5]})
    assert found.categories == (0, 1)
    assert found.probability[2].tolist() == [0.5, 0.5]


def test_a_group_of_labels_without_probabilities_has_probability_0():
    with pytest.warns(EquirankWarning, match="name the group") as said:
        found = race(
            {"race": ["able", None], "race[abel]": [np.nan, 0.5], "race[c]": [np.nan, 0.5]}
        )
    assert [str(each.message) for each in said] == [
        "probabilities of 'race' name the group 'abel', which counts as a further group, since no "
        "row has this label (labels: 'able'); did you mean 'able'?",
        "probabilities of 'race' name the group 'c', which counts as a further group, since no "
        "row has this label (labels: 'able')",
    ]
    assert found.categories == ("abel", "able", "c")
    assert found.probability.tolist() == [[0, 1, 0], [0.5, 0, 0.5]]


def test_rows_of_which_nothing_is_known():
    columns = {"race": [None, "w", "b"], "race[w]": [None, 1, 0], "race[b]": [None, 0, 1]}
    found = race(columns, missing_sensitive="unknown")
    assert np.isnan(found.probability[0]).all()
    with pytest.raises(DataError, match=r"must name a group or have probabilities, .* in row 0"):
        read(columns)


def test_a_frame_of_features_keeps_them_apart():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(GUESSED | {"age": [1.0, 2.0, 3.0, 4.0], "race[true]": [None] * 3 + ["b"]})
    for names in ("race", ["race"]):
        data = as_ranking_data(frame, qid=0, sensitive_features=names)
        assert data.feature_names == ("age",)
        assert data.attribute("race").probability is not None
        assert data.attribute("race").checked.codes.tolist() == [-1, -1, -1, 0]


def test_selection_splitting_and_the_fingerprint_keep_everything():
    rng = np.random.default_rng(3)
    n, qid = 24, np.tile(np.arange(6), 4)  # rows of a list are not adjacent
    p = rng.random(n)
    truth = np.where(rng.random(n) < 0.5, None, rng.choice(["b", "w"], n))
    columns = {"race[b]": p, "race[w]": 1 - p, "race[true]": truth, "race[rate]": 0.4 + p / 2}
    data = read(columns, qid=qid)
    found = data.attribute("race")
    np.testing.assert_array_equal(found.probability[:, 0], p[data.rows])
    np.testing.assert_array_equal(found.checked.rate, (0.4 + p / 2)[data.rows])
    part = data.select([1, 4])
    rows = part.rows
    np.testing.assert_array_equal(part.attribute("race").probability[:, 0], p[rows])
    np.testing.assert_array_equal(
        part.attribute("race").checked.codes,
        [{"b": 0, "w": 1}.get(truth[row], -1) for row in rows],
    )
    for train, _ in QueryKFold(3).split(data):
        cut = data.select_items(train)
        np.testing.assert_array_equal(cut.attribute("race").probability[:, 0], p[cut.rows])
    marks = {data.fingerprint()}
    for name in ("race[true]", "race[rate]"):
        changed = columns | {name: columns[name][::-1].copy()}
        marks.add(read(changed, qid=qid).fingerprint())
    other = columns | {"race[b]": 1 - p, "race[w]": p}
    marks.add(read(other, qid=qid).fingerprint())
    assert len(marks) == 4


def test_label_errors_are_kept_with_the_stratum_of_each_row():
    columns = {"race": ["b", "w", "w", "b"], "race[stratum]": ["low", "high", "high", "low"]}
    error = LabelError([FLIPS, np.eye(2)], strata=["low", "high"])
    data = read(columns, qid=[1, 2, 1, 2], label_error={"race": error})
    found = data.attribute("race").error
    assert found.stratum.tolist() == [0, 1, 1, 0]
    assert data.select([1]).attribute("race").error.stratum.tolist() == [1, 0]
    plain = read({"race": ["b", "w"]}, label_error={"race": LabelError(FLIPS)})
    assert plain.attribute("race").error.stratum.tolist() == [0, 0]
    assert plain.fingerprint() != read({"race": ["b", "w"]}).fingerprint()


def test_the_matrix_follows_the_groups_by_name():
    error = LabelError([[0.8, 0.2], [0.1, 0.9]], counts=[[8, 2], [1, 9]], groups=["w", "b"])
    found = race({"race": ["b", "w"]}, label_error={"race": error}).error
    assert found.matrix[0].tolist() == [[0.9, 0.1], [0.2, 0.8]]
    assert found.counts[0].tolist() == [[9, 1], [2, 8]]
    never = LabelError(np.eye(3), groups=["a", "b", "w"])
    assert race({"race": ["b", "w"]}, label_error={"race": never}).categories == ("a", "b", "w")


def test_like_orders_probabilities_as_in_training():
    train = read({"race": ["a", "w", "b"]})
    data = read(GUESSED)
    found = as_ranking_data(data, like=train).attribute("race")
    assert found.categories == ("a", "b", "w")
    assert found.probability[1].tolist() == [0, 0.25, 0.75]


def test_informedness_is_the_least_over_groups_and_strata():
    assert LabelError(FLIPS).informedness == pytest.approx(0.9 + 0.8 - 1)
    three = LabelError([[0.8, 0.1, 0.1], [0.3, 0.7, 0.0], [0.0, 0.0, 1.0]])
    assert three.informedness == pytest.approx(0.8 - 0.3)


def test_the_rate_of_checking_is_the_share_of_checked_rows_unless_given():
    columns = {"race": ["b", "w", "w", "b"], "race[true]": [None, "w", None, "b"]}
    assert race(columns).checked.rate.tolist() == [0.5] * 4
    assert race(columns, checked_rate=0.25).checked.rate.tolist() == [0.25] * 4
    assert race(columns, checked_rate={"race": 0.25}).checked.rate.tolist() == [0.25] * 4


def test_a_label_beside_uncertain_probabilities_counts_and_warns():
    with pytest.warns(EquirankWarning, match=r"1 rows have a label of 'race' .* row 0"):
        found = race({"race": ["w", "b"], "race[w]": [0.6, 0], "race[b]": [0.4, 1]})
    assert found.probability.tolist() == [[0, 1], [1, 0]]


def change(**columns):
    return GUESSED | {name.replace("__", "[") + "]": column for name, column in columns.items()}


CHECKED = {"race": ["b", "w"], "race[true]": ["b", None]}


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        (change(race__w=[None, 1.5, None, 0]), {}, r"race\[w\]'\] must be a prob.* 1.5 in row 1"),
        (change(race__w=[None, -0.5, None, 0]), {}, r"race\[w\]'\] must be a prob.* -0.5 in row 1"),
        (change(race__w=[None, 0.7, None, 0]), {}, r"of 'race' must be 1 in sum, got 0.95 in row"),
        (change(race__w=[None, None, None, 0]), {}, r"all given or all missing .* in row 1"),
        (change(race__w=[0, 0.75, None, 0], race__b=[1, 0.25, None, 1]), {}, r"'w' and .* row 0"),
        (change(race__w=["x", 0.75, None, 0]), {}, r"race\[w\]'\] must be a number, .* in row 0"),
        (GUESSED, {"groups": {"race": ["w", "c"]}}, r"must be one of the groups that groups"),
        (
            {"race": [None, "b"], "race[w]": [0.5, None], "race[b]": [0.5, None]},
            {"groups": {"race": ["b", "c"]}},
            r"race\[w\]'\] must be the probability of one of the groups of 'race' \('b', 'c'\)",
        ),
        (GUESSED, {"label_error": {"race": LabelError(FLIPS)}}, r"must not be given beside prob"),
        (GUESSED, {"missing_sensitive": "category"}, r"must not be \"category\" beside prob"),
        (CHECKED, {"checked_rate": 0.0}, r"must be a probability in \(0, 1\] .* got 0.0 in row 0"),
        (CHECKED, {"checked_rate": 1.5}, r"must be a probability in \(0, 1\] of checking 'race'"),
        (CHECKED | {"race[true]": [None, ""]}, {}, r"must hold a verified label, and has none"),
        (CHECKED | {"race[true]": ["c", None]}, {"groups": {"race": ["b", "w"]}}, r"\[true\]'\] m"),
        ({"race": ["b", "w"], "race[rate]": [1, 1]}, {}, r"race\[rate\]'\] needs verified labels"),
        ({"race": ["b", "w"], "race[stratum]": [0, 0]}, {}, r"\[stratum\]'\] needs label_error"),
        ({"race": ["b", "w"]}, {"checked_rate": 0.5}, r"checked_rate needs verified labels"),
        ({"race": ["b", "w"]}, {"label_error": {"sex": LabelError(FLIPS)}}, r"must name attribut"),
        ({"race": ["b", "w"]}, {"label_error": {"race": FLIPS}}, r"must be a LabelError, got list"),
    ],
)
def test_input_that_contradicts_itself_is_refused_by_attribute_and_row(columns, options, message):
    with pytest.raises(DataError, match=message):
        read(columns, **options)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (LabelError([[0.9, 0.2], [0.2, 0.8]]), r"must have rows that sum to 1, got 1.1 .* row 0"),
        (LabelError([[1.1, -0.1], [0.2, 0.8]]), r"must hold probabilities in \[0, 1\], got 1.1"),
        (LabelError(np.eye(3)), r"a row and a column for each of the groups 'b', 'w', got 3 rows"),
        (LabelError([FLIPS, FLIPS]), r"has 2 strata, and the stratum of each row is not given"),
        (LabelError(FLIPS, stratum=[0, 1]), r"of 'race' must be one with a matrix .* 1 in row 1"),
        (LabelError(FLIPS, stratum=[0]), r"must have one value per row \(2\)"),
        (LabelError(FLIPS, counts=np.ones((2, 2, 2))), r"counts must have the shape of the matrix"),
        (LabelError(FLIPS, counts=-np.ones((2, 2))), r"counts must hold numbers >= 0"),
        (LabelError(counts=[[0, 0], [1, 3]]), r"must have rows that sum to 1, got 0"),
    ],
)
def test_matrices_that_describe_no_recording_are_refused(error, message):
    with pytest.raises(DataError, match=message):
        read({"race": ["b", "w"]}, label_error={"race": error})


def test_label_errors_without_numbers_are_refused():
    for given in ({}, {"matrix": [1, 2]}, {"matrix": "x"}, {"counts": np.ones((2, 3))}):
        with pytest.raises(DataError, match="LabelError must"):
            LabelError(**given)


def test_crossing_does_not_multiply_probabilities():
    data = read(GUESSED | {"sex": ["f", "f", "m", "m"]})
    assert data.cross("race", "sex").probability is None
