"""German credit: 1,000 people, and lists of them."""

import numpy as np
import pytest

from equirank import DataError
from equirank.datasets import load_german, make_german_lists


def line(status="A93", age=40, good=True, amount=1000):
    return (
        f"A11 6 A34 A43 {amount} A65 A75 4 {status} A101 4 A121 {age} A143 A152 2 A173 1 A192 A201 "
        f"{1 if good else 2}\n"
    )


@pytest.fixture
def some(tmp_path):
    path = tmp_path / "german.data"
    people = [("A91", 24, True), ("A92", 25, False), ("A93", 34, True), ("A94", 35, False)]
    path.write_text("".join(line(*person) for person in people))
    return path


@pytest.fixture
def many(tmp_path):
    """200 people, 120 of them creditworthy, known by their amount."""
    path = tmp_path / "german.data"
    path.write_text(
        "".join(line("A92" if at % 2 else "A93", 20 + at % 50, at < 120, at) for at in range(200))
    )
    return path


def test_people(some):
    data = load_german(path=some)
    assert data.y.tolist() == [1, 0, 1, 0]
    assert data.ids.tolist() == [0, 1, 2, 3]
    groups = {name: [a.categories[c] for c in a.codes] for name, a in data.sensitive.items()}
    assert groups == {
        "sex": ["male", "female", "male", "male"],
        "age_25": ["under 25", "25 and over", "25 and over", "25 and over"],
        "age_35": ["under 35", "under 35", "under 35", "35 and over"],
    }


def test_features(some):
    names = load_german(path=some).feature_names
    assert "amount" in names
    assert "job=A173" in names
    assert not {name.split("=")[0] for name in names} & {"personal_status", "age", "class", "sex"}
    assert "age" in load_german(path=some, sensitive="sex").feature_names
    assert "personal_status=A92" in load_german(path=some, sensitive="age_25").feature_names
    kept = load_german(path=some, keep_sensitive=True, encoding="ordinal")
    assert len(kept.feature_names) == 20
    assert kept.X[1, kept.feature_names.index("personal_status")] == 1
    with pytest.raises(DataError, match="'sex', 'age_25', 'age_35', got 'age'"):
        load_german(path=some, sensitive="age")


def test_frame(some):
    frame = load_german(path=some, as_frame=True)
    assert frame.shape == (4, 22)
    assert list(frame["sex"]) == ["male", "female", "male", "male"]
    assert list(frame["class"]) == [1, 2, 1, 2]


@pytest.mark.parametrize(("old", "new"), [("A92", "A99"), ("A201 2", "A201 3"), ("A201 2", "2")])
def test_damaged(some, old, new):
    some.write_text(some.read_text().replace(old, new))
    with pytest.raises(DataError, match=r"german\.data"):
        load_german(path=some)


# lists


def test_lists_hold_four_to_one(many):
    train, test = make_german_lists(20, random_state=0, path=many, list_size=10)
    assert (train.n_queries, test.n_queries) == (15, 5)
    assert train.qids.tolist() == list(range(15))
    assert test.qids.tolist() == list(range(15, 20))
    for data in (train, test):
        assert (np.diff(data.offsets) == 10).all()
        assert (np.add.reduceat(data.y, data.offsets[:-1]) == 2).all()
        for q in range(data.n_queries):
            ids = data.ids[data.offsets[q] : data.offsets[q + 1]]
            assert len(set(ids.tolist())) == 10


def test_people_are_split_by_default(many):
    train, test = make_german_lists(400, random_state=0, path=many, list_size=10)
    left, right = set(train.ids.tolist()), set(test.ids.tolist())
    assert not left & right
    assert (len(left), len(right)) == (150, 50)
    good = {number for number in range(200) if number < 120}
    assert len(right & good) == 30
    assert abs(sum(number % 2 for number in right) - 25) <= 2  # half of them women


def test_as_published_lists_are_split_and_people_are_not(many):
    train, test = make_german_lists(
        400, random_state=0, path=many, list_size=10, split_people=False
    )
    assert (train.n_queries, test.n_queries) == (300, 100)
    assert len(set(train.ids.tolist()) & set(test.ids.tolist())) > 150


@pytest.mark.parametrize("split", [True, False])
def test_rows_are_those_of_the_people(many, split):
    people = load_german(path=many)
    for data in make_german_lists(8, random_state=1, path=many, list_size=20, split_people=split):
        assert (people.X[data.ids] == data.X).all()
        assert (data.y == people.y[data.ids]).all()
        assert data.feature_names == people.feature_names
        for name, attribute in people.sensitive.items():
            assert data.sensitive[name].categories == attribute.categories
            assert (data.sensitive[name].codes == attribute.codes[data.ids]).all()


def test_everyone_is_equally_likely_and_at_any_place(many):
    train, _ = make_german_lists(
        4000, random_state=0, path=many, list_size=10, split_people=False, test_size=0.001
    )
    count = np.bincount(train.ids, minlength=200)
    expected = np.where(np.arange(200) < 120, 2 / 120, 8 / 80) * train.n_queries
    assert (np.abs(count - expected) < 6 * np.sqrt(expected)).all()
    by_place = train.y.reshape(-1, 10).mean(axis=0)
    assert by_place == pytest.approx(0.2, abs=0.05)


def test_seed(many):
    lists = [make_german_lists(5, random_state=s, path=many, list_size=10)[0] for s in (0, 0, 1)]
    assert (lists[0].ids == lists[1].ids).all()
    assert (lists[0].ids != lists[2].ids).any()


def test_options_reach_the_loader(many):
    train, _ = make_german_lists(4, path=many, list_size=10, sensitive="sex", encoding="ordinal")
    assert list(train.sensitive) == ["sex"]
    assert train.n_features == 19


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"n_lists": 1}, "n_lists of make_german_lists must be an integer >= 2"),
        ({"test_size": 0}, "test_size of make_german_lists"),
        ({"split_people": "no"}, "split_people of make_german_lists must be True or False"),
        ({"share_creditworthy": 2}, "share_creditworthy of make_german_lists"),
        ({"list_size": 100}, "at most the 60 people who are not creditworthy, got 80"),
        ({"list_size": 200, "share_creditworthy": 1}, "people who are creditworthy, got 200"),
    ],
)
def test_bad_lists(many, given, said):
    with pytest.raises(DataError, match=said):
        make_german_lists(**({"n_lists": 4, "path": many} | given))


@pytest.mark.parametrize("share", [0, 1])
def test_lists_of_one_class(many, share):
    train, _ = make_german_lists(4, path=many, list_size=9, share_creditworthy=share)
    assert (train.y == share).all()


def test_real(real):
    real("german")
    data = load_german()
    assert (len(data), data.y.sum()) == (1000, 700)
    sizes = {
        name: dict(zip(a.categories, np.bincount(a.codes).tolist(), strict=True))
        for name, a in data.sensitive.items()
    }
    assert sizes["sex"] == {"female": 310, "male": 690}
    assert (sizes["age_25"]["under 25"], sizes["age_35"]["under 35"]) == (149, 548)
    train, test = make_german_lists(random_state=0)
    assert (train.n_queries, test.n_queries) == (3750, 1250)
    assert (len(train), len(test)) == (3750 * 50, 1250 * 50)
    assert not set(train.ids.tolist()) & set(test.ids.tolist())
    assert train.y.mean() == test.y.mean() == 0.2
