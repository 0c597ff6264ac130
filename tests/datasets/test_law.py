"""Law students: coding of sex, shift of the grade, subsample, samples of DELTR."""

import numpy as np
import pytest

from equirank import DataError
from equirank.datasets import load_law

HEADER = "id,race,sex,LSAT,UGPA,region_first,ZFYA,sander_index,first_pf"


@pytest.fixture
def file(tmp_path):
    rows = [
        f"{at},{('White', 'Black', 'Asian')[at % 3]},{1 + at // 60},{20 + at / 4},3.1,GL,"
        f"{at / 100 - 1},0.5,1"
        for at in range(120)
    ]
    path = tmp_path / "law_data.csv"
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    return path


def test_full(file):
    data = load_law(path=file)
    assert data.feature_names == ("LSAT", "UGPA")
    assert data.X[3].tolist() == [20.75, 3.1]
    assert data.y[:3].tolist() == [2.35, 2.36, 2.37]
    assert data.sensitive["sex"].categories == ("female", "male")
    assert data.sensitive["sex"].codes.tolist() == [0] * 60 + [1] * 60
    assert data.sensitive["race"].categories == ("Asian", "Black", "White")
    assert list(load_law(path=file, sensitive="race").sensitive) == ["race"]


def test_two_races(file):
    data = load_law(path=file, races=("Black", "White"))
    assert len(data) == 80
    assert data.sensitive["race"].categories == ("Black", "White")
    with pytest.raises(DataError, match="'Asian', 'Black', 'White', got 'Red'"):
        load_law(path=file, races=["Red"])


def test_subsample_keeps_the_shares_of_sex_and_race(file):
    data = load_law(path=file, subsample=0.1)
    assert len(data) == 12
    cells = data.sensitive["sex"].codes * 3 + data.sensitive["race"].codes
    assert np.bincount(cells).tolist() == [2] * 6
    again, other = (load_law(path=file, subsample=0.1, random_state=seed) for seed in (0, 1))
    assert again.y.tolist() == data.y.tolist()
    assert other.y.tolist() != data.y.tolist()
    assert load_law(path=file, subsample=0.1, as_frame=True).shape == (12, 8)


@pytest.mark.parametrize("share", [0, 1.5, "10 %"])
def test_bad_subsample(file, share):
    with pytest.raises(DataError, match="subsample of load_law must be"):
        load_law(path=file, subsample=share)


@pytest.mark.parametrize(
    ("variant", "part", "name", "groups"),
    [
        ("deltr_sex", "train", "Gender_train", ("female", "male")),
        ("deltr_race", "test", "Race_test", ("Black", "White")),
    ],
)
def test_samples_of_deltr(data_folder, variant, part, name, groups):
    data_folder(f"law/deltr/LawStudents_{name}.txt", "1,0,1.5,-0.5,3.17\n1,1,0.5,-1.5,-3.35\n")
    data = load_law(variant=variant, part=part)
    assert data.X.tolist() == [[1.5, -0.5], [0.5, -1.5]]
    assert data.y.tolist() == [6.52, 0]
    attribute = data.attribute()
    assert attribute.categories == groups
    assert attribute.codes.tolist() == [1, 0]  # 1 in the file is protected
    assert list(data.sensitive) == [variant.removeprefix("deltr_")]


def test_unknown_words(file):
    for option in ("variant", "part"):
        with pytest.raises(DataError, match=f"{option} must be one of"):
            load_law(path=file, **{option: "half"})


def test_real(real):
    real("law")
    data = load_law()
    sex, race = data.sensitive["sex"], data.sensitive["race"]
    assert np.bincount(sex.codes).tolist() == [9537, 12254]
    count = dict(zip(race.categories, np.bincount(race.codes).tolist(), strict=True))
    assert (count["White"], count["Black"], len(count)) == (18285, 1282, 8)
    assert (data.y.min(), data.y.max()) == pytest.approx((0, 3.35 + 3.48))
    small = load_law(subsample=0.1)
    assert len(small) == 2179
    for name in ("sex", "race"):
        shares = [np.bincount(d.sensitive[name].codes, minlength=2) / len(d) for d in (data, small)]
        assert shares[1] == pytest.approx(shares[0], abs=0.002)
    sizes = {
        ("sex", "train"): 1743,
        ("sex", "test"): 4358,
        ("race", "train"): 1565,
        ("race", "test"): 3913,
    }
    for (name, part), size in sizes.items():
        assert len(load_law(variant=f"deltr_{name}", part=part)) == size
