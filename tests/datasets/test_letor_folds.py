"""Published folds: three layouts of folders."""

import gzip

import numpy as np
import pytest

from equirank import DataError
from equirank.datasets import load_letor_folds
from equirank.io import read_letor


def text(part, features=3):
    """Two rows of a query named by the part."""
    return (
        f"1 qid:{part} {features}:0.5 # docid = D{part}\n0 qid:{part} 1:{part} # docid = E{part}\n"
    )


@pytest.fixture
def parts(tmp_path):
    for part in range(1, 6):
        file = tmp_path / f"S{part}.txt"
        if part % 2:
            file.with_name(f"{file.name}.gz").write_bytes(gzip.compress(text(part).encode()))
        else:
            file.write_text(text(part))
    return tmp_path


#: Queries of train, validation and test as LETOR's own readme lists them.
RECIPE = {
    1: ([1, 2, 3], [4], [5]),
    2: ([2, 3, 4], [5], [1]),
    3: ([3, 4, 5], [1], [2]),
    4: ([4, 5, 1], [2], [3]),
    5: ([5, 1, 2], [3], [4]),
}


def queries(fold):
    return tuple(part.qids.tolist() for part in fold)


def test_parts(parts):
    folds = load_letor_folds(parts)
    assert [queries(fold) for fold in folds] == list(RECIPE.values())
    assert folds[3].train.X[:, 0].tolist() == [0, 4, 0, 5, 0, 1]
    assert folds[3].train.y.tolist() == [1, 0] * 3


@pytest.mark.parametrize("number", RECIPE)
def test_one_fold(parts, number):
    assert queries(load_letor_folds(parts, fold=number)) == RECIPE[number]


def write_folds(folder):
    for number, recipe in RECIPE.items():
        (folder / f"Fold{number}").mkdir()
        for name, part in zip(("train", "vali", "test"), recipe, strict=True):
            width = 4 if name == "test" else 3
            (folder / f"Fold{number}" / f"{name}.txt").write_text(
                "".join(text(each, width) for each in part)
            )


@pytest.mark.parametrize("sparse", [False, True])
def test_folders(tmp_path, sparse):
    write_folds(tmp_path)
    folds = load_letor_folds(tmp_path, sparse=sparse, dtype=np.float32)
    assert [queries(fold) for fold in folds] == list(RECIPE.values())
    for part in folds[0]:
        assert part.n_features == 4  # the test has one more than the others
        assert part.X.dtype == np.float32
        assert hasattr(part.X, "tocsr") is sparse


def test_only_the_fold_asked_for_is_read(tmp_path):
    write_folds(tmp_path)
    for number in (1, 2, 4, 5):
        (tmp_path / f"Fold{number}" / "train.txt").write_text("damaged\n")
    assert queries(load_letor_folds(tmp_path, fold=3)) == RECIPE[3]


def test_names_of_documents(parts):
    fold = load_letor_folds(parts, fold=1, ids_from_comments=True)
    assert fold.test.ids.tolist() == ["D5", "E5"]
    assert fold.train.ids.tolist() == ["D1", "E1", "D2", "E2", "D3", "E3"]
    assert load_letor_folds(parts, fold=1).test.ids is None


def test_files_with_sizes_beside(tmp_path):
    for name, sizes in {"train": "2\n1\n", "test": "1\n"}.items():
        rows = sum(map(int, sizes.split()))
        (tmp_path / f"rank.{name}").write_text("1 1:0.5 3:1\n" * rows)
        (tmp_path / f"rank.{name}.query").write_text(sizes)
    (fold,) = load_letor_folds(tmp_path)
    assert np.diff(fold.train.offsets).tolist() == [2, 1]
    assert np.diff(fold.test.offsets).tolist() == [1]
    assert fold.validation is None


def test_bad(tmp_path, parts):
    with pytest.raises(DataError, match="fold of load_letor_folds must be an integer from 1 to 5"):
        load_letor_folds(parts, fold=6)
    (parts / "S2.txt").unlink()
    with pytest.raises(DataError, match=r"must contain S2\.txt \(or \.txt\.gz\)"):
        load_letor_folds(parts)
    with pytest.raises(DataError, match="path must be a folder"):
        load_letor_folds(tmp_path / "S1.txt.gz")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="must contain Fold1 to Fold5, or S1"):
        load_letor_folds(tmp_path / "empty")


def test_real_example_of_lightgbm(real):
    import os
    from pathlib import Path

    real("mq2008")
    folder = Path(os.environ["EQUIRANK_DATA"], "ltr", "lightgbm-lambdarank")
    if not folder.is_dir():
        pytest.skip("the folder in EQUIRANK_DATA lacks ltr/lightgbm-lambdarank")
    (fold,) = load_letor_folds(folder, sparse=True)
    assert (fold.train.n_rows, fold.train.n_queries) == (3005, 201)
    assert (fold.test.n_rows, fold.test.n_queries) == (768, 50)
    assert fold.train.n_features == fold.test.n_features == 300
    assert read_letor(folder / "rank.test").n_queries == 50
