"""Cleaning of labels: spelling, unknown words, maps, and what is said of them."""

import itertools
import random
import warnings

import numpy as np
import pytest

from equirank import DataError, EquirankWarning, as_ranking_data, audit
from equirank.core.unknown_words import UNKNOWN, folded, plain_label
from equirank.io import read_csv, read_file
from equirank.io.label_words import _one_edit, band_names, label_rules, look_alikes

SPECIFIED = ["", "na", "n/a", "null", "nan", "unknown", "not given", "not specified"]
SPECIFIED += ["prefer not to say", "decline to answer", "declined", "?", "-"]


@pytest.fixture
def read(tmp_path):
    def read(cells, reader=read_csv, **options):
        path = tmp_path / "people.csv"
        rows = "".join(f'"{label}",{at}\n' for at, label in enumerate(cells))
        path.write_text("sex,score\n" + rows, encoding="utf-8")
        chosen = {"sensitive": "sex", "missing_sensitive": "category"} | options
        return reader(path, **chosen)

    return read


def groups(data):
    attribute = data.attribute("sex")
    return np.array(attribute.categories, dtype=object)[attribute.codes].tolist()


def test_spellings_are_joined_and_the_most_frequent_is_shown(read):
    labels = ["Female", "female", "FEMALE", " female ", "female", "Male", "male  "]
    data = read(labels)
    assert groups(data) == ["female"] * 5 + ["Male"] * 2
    assert data.source.labels["sex"] == (
        ("Female", 1, "female"),
        ("female", 2, "female"),
        ("FEMALE", 1, "female"),
        (" female ", 1, "female"),
        ("Male", 1, "Male"),
        ("male  ", 1, "Male"),
    )


def test_unicode_forms_and_inner_spaces_are_joined(read):
    data = read(["caf\u00e9 au lait", "cafe\u0301  au\u00a0lait", "STRASSE", "stra\u00dfe"])
    assert groups(data) == ["caf\u00e9 au lait"] * 2 + ["STRASSE"] * 2


@pytest.mark.parametrize("word", [*SPECIFIED, "N/A", "Unknown", " Prefer  not to SAY ", "<NA>"])
def test_unknown_words(read, word):
    data = read(["f", word, "m"])
    assert groups(data) == ["f", "(missing)", "m"]
    assert (word, 1, None) in data.source.labels["sex"]
    assert set(SPECIFIED) <= set(UNKNOWN)


def test_none_is_a_group_with_a_note(read):
    data = read(["None", "jewish", "none"])
    assert groups(data) == ["None", "jewish", "None"]
    assert any("'None' is a group" in each for each in data.source.remarks)
    assert groups(read(["None", "x"], unknown=["none"])) == ["(missing)", "x"]


def test_unknown_replaces_the_list(read):
    data = read(["f", "unknown", "k.A.", "", "K.A."], unknown=["k.a."])
    assert groups(data) == ["f", "unknown", *["(missing)"] * 3]


def test_labels_are_kept_if_asked(read):
    data = read(["Female", "female", "unknown", " female", ""], keep_labels=True)
    assert groups(data) == ["Female", "female", "unknown", "female", "(missing)"]
    with pytest.raises(DataError, match="unknown must be None with keep_labels"):
        read(["f"], keep_labels=True, unknown=["x"])


def test_a_map(read, tmp_path):
    path = tmp_path / "map.toml"
    path.write_text('[sex]\nweiblich = "female"\n"k.A." = ""\n', encoding="utf-8")
    data = read(["Weiblich", "Female", "K.A.", "m"], labels=path)
    assert groups(data) == ["female", "female", "(missing)", "m"]
    same = read(
        ["Weiblich", "Female", "K.A.", "m"], labels={"sex": {"weiblich": "female", "k.A.": ""}}
    )
    assert same.source.labels == data.source.labels
    named = read(["1", "2", "1"], labels={"sex": {"1": "women"}})
    assert groups(named) == ["women", "2", "women"]
    assert groups(read(["-", "x"], labels={"sex": {"-": "other"}})) == ["other", "x"]


def test_a_map_of_numbers_in_a_typed_column(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "people.parquet"
    parquet.write_table(arrow.table({"sex": [1, 2, None], "score": [1.0, 2.0, 3.0]}), path)
    chosen = {"sensitive": "sex", "missing_sensitive": "category"}
    data = read_file(path, labels={"sex": {"1": "women", "2": "men"}}, **chosen)
    assert groups(data) == ["women", "men", "(missing)"]
    assert data.source.labels["sex"] == (("1", 1, "women"), ("2", 1, "men"), ("", 1, None))
    assert data.source.how == {"format": "Parquet"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[sex]\nf = 'a'\nF = 'b'\n", "'f' and 'F' are one label and must have one name, got 'a'"),
        ("sex = 3\n", "must have a table for each attribute"),
        ("[sex]\nf = 3\n", r"\[sex\] 'f' must be a text, got 3"),
        ("[sex\n", "map.toml: must be TOML"),
    ],
)
def test_bad_maps(read, tmp_path, text, message):
    path = tmp_path / "map.toml"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read(["f", "m"], labels=path)


def test_a_key_that_the_file_does_not_contain_warns(read):
    with pytest.warns(EquirankWarning, match="labels of 'sex' names 'w', which the file does not"):
        read(["f", "m"], labels={"sex": {"w": "women"}})


def test_labels_one_edit_apart_warn(read):
    with pytest.warns(EquirankWarning, match="one letter apart: 'female' and 'femal'"):
        assert groups(read(["female", "femal", "male"])) == ["female", "femal", "male"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(["f", "m", "A91", "A92", "under 40", "under 50", "female", "male"])


def edits(word):
    """All words one edit away, by brute force."""
    letters = "abc"
    for at in range(len(word) + 1):
        yield from (word[:at] + sign + word[at:] for sign in letters)
        yield word[:at] + word[at + 1 :]
        yield from (word[:at] + sign + word[at + 1 :] for sign in letters if at < len(word))
        if at + 1 < len(word):
            yield word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def test_one_edit_by_brute_force():
    words = ["".join(random.Random(seed).choices("abc", k=4 + seed % 2)) for seed in range(60)]
    for word, other in itertools.combinations(dict.fromkeys(words), 2):
        assert _one_edit(word, other) == (other in set(edits(word))), (word, other)


def test_the_spelling_that_is_shown_by_brute_force():
    """The most frequent spelling of each folded label, the first of equals."""
    for seed in range(50):
        draw = random.Random(seed)
        cells = [draw.choice(["Ab", "AB", "ab", " ab", "c", "C", "?"]) for _ in range(12)]
        labels = list(dict.fromkeys(cells))
        cleaned = label_rules().clean("x", labels, [cells.count(label) for label in labels])
        for label, value in zip(labels, cleaned.values, strict=True):
            alike = [plain_label(cell) for cell in cells if folded(cell) == folded(label)]
            expected = max(dict.fromkeys(alike), key=alike.count)
            assert value == (None if label == "?" else expected)


# Data given in Python are not changed, but their labels warn


def test_labels_in_python_warn_and_stay():
    with pytest.warns(EquirankWarning, match="differ only in case or spaces: 'Female', 'female '"):
        data = as_ranking_data(qid=[1, 1], sensitive_features={"sex": ["Female", "female "]})
    assert data.attribute("sex").categories == ("Female", "female ")
    with pytest.warns(EquirankWarning, match="names mean unknown: '\\?'"):
        as_ranking_data(qid=[1, 1], sensitive_features={"sex": ["f", "?"]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        as_ranking_data(qid=[1, 1], sensitive_features={"sex": ["none", "some"]})
        as_ranking_data(qid=[1, 1], sensitive_features={"sex": [1, 2]})


def test_a_frame_that_is_audited_warns():
    frame = {"sex": ["f", "m", "unknown"] * 4, "score": list(range(12))}
    with pytest.warns(EquirankWarning, match=r"\['sex'\] has groups whose names mean unknown"):
        audit(frame, sensitive="sex", n_boot=0, n_permutations=0)


def test_bands_cover_every_number():
    values = [str(n) for n in range(0, 100)] + ["34.5", "", "young", "nan"]
    found = band_names(values, [18, 35, 50])
    assert set(found) == {*map(str, range(100)), "34.5"}
    for text, name in found.items():
        number = float(text)
        expected = (
            "under 18"
            if number < 18
            else "18 to 34"
            if number < 35
            else "35 to 49"
            if number < 50
            else "50 and over"
        )
        assert name == expected
    assert band_names(["0.5"], [0.25, 1.5]) == {"0.5": "0.25 to under 1.5"}


def test_look_alikes_need_one_fitting_word():
    assert look_alikes(["m", "male", "mixed"]) == []
    assert look_alikes(["Female", "Femle", "x"]) == [("Female", "Femle")]
    assert look_alikes(["1", "10", "1000"]) == []


@pytest.mark.parametrize(
    "bands",
    [3, {"age": []}, {"age": [50, 35]}, {"age": "35"}, {"age": [True]}, {"age": 35}, {"age": {35}}],
)
def test_bands_must_be_ascending_numbers(bands):
    with pytest.raises(DataError, match="bands"):
        label_rules(bands=bands)


def test_readers_make_bands_and_the_map_goes_before_them(tmp_path):
    file = tmp_path / "people.csv"
    file.write_text("score,age\n1,20\n2,35\n3,49.5\n4,?\n5,99\n")
    data = read_file(
        file, sensitive="age", missing_sensitive="unknown", bands={"age": [35, 50]},
        labels={"age": {"99": ""}},
    )  # fmt: skip
    assert data.attribute("age").labels().tolist() == [
        "under 35",
        "35 to 49",
        "35 to 49",
        None,
        None,
    ]


def test_words_for_unknown_in_other_languages_are_remarked():
    rules = label_rules()
    (said,) = rules.clean("sex", ["w", "k. A.", "m"], [1, 1, 1]).remarks
    assert said == "sex: 'k. A.' is a group; if it means unknown, unknown can name it"
    assert label_rules(unknown="k. A.").clean("sex", ["w", "k. A."], [1, 1]).remarks == ()
    assert label_rules(keep_labels=True).clean("sex", ["k. A."], [1]).remarks == ()
