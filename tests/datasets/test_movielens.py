"""MovieLens: a list per user, or one list of movies described by tags or by raters."""

import numpy as np
import pytest

from equirank import DataError
from equirank.datasets import load_movielens

MOVIES = """\
movieId,title,genres
1,"One, The (1990)",Action|Comedy
20,Two (1991),Drama
3,Three (1992),(no genres listed)
4,Never rated (1993),Drama
"""
RATINGS = """\
userId,movieId,rating,timestamp
1,20,2.5,11
1,1,4.0,12
1,3,1.0,13
2,1,5.0,14
2,20,0.5,15
3,20,3.5,16
4,1,3.0,17
"""
SCORES = '"movieId,""tagId"",""relevance"""\n1,1,0.25\n1,2,0.5\n20,1,0.75\n99,1,0.1\n99,2,0.2\n'


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "movies.csv").write_text(MOVIES)
    (tmp_path / "ratings.csv").write_text(RATINGS)
    return tmp_path


def test_a_list_per_user(folder):
    data = load_movielens(path=folder)
    assert data.qids.tolist() == [1, 2, 3, 4]
    assert data.y.tolist() == [2.5, 4, 1, 5, 0.5, 3.5, 3]
    assert data.ids.tolist() == [20, 1, 3, 1, 20, 20, 1]
    assert data.feature_names == ("(no genres listed)", "Action", "Comedy", "Drama")
    assert data.X[:3].tolist() == [[0, 0, 0, 1], [0, 1, 1, 0], [1, 0, 0, 0]]
    assert len(load_movielens(path=folder / "ratings.csv")) == 7


def test_frame(folder):
    frame = load_movielens(path=folder, as_frame=True)
    assert list(frame.columns) == ["user", "movie", "rating", "title", "genres"]
    assert list(frame["title"][:2]) == ["Two (1991)", "One, The (1990)"]


def test_movies_described_by_raters_and_judged_by_the_others(folder):
    data = load_movielens(path=folder, task="movies", n_features=1)
    # user 1 rated most; the rest: movie 1 by users 2 and 4, movie 20 by users 2 and 3
    assert data.feature_names == ("user_1",)
    assert data.ids.tolist() == [1, 20]
    assert data.X.tolist() == [[4], [2.5]]
    assert data.y.tolist() == [(5 + 3) / 2, (0.5 + 3.5) / 2]
    assert data.n_queries == 1


def test_raters_abstain(folder):
    data = load_movielens(path=folder, task="movies")  # half of the users: 1 and 2
    assert data.feature_names == ("user_1", "user_2")
    assert data.y.tolist() == [3, 3.5]
    data = load_movielens(path=folder, task="movies", n_features=3)
    assert data.feature_names == ("user_1", "user_2", "user_3")
    assert data.ids.tolist() == [1]
    assert np.isnan(data.X).tolist() == [[False, False, True]]
    for wrong in (4, 0):
        with pytest.raises(DataError, match="n_features of load_movielens must be an integer"):
            load_movielens(path=folder, task="movies", n_features=wrong)


@pytest.mark.parametrize("beside", [True, False])
def test_movies_described_by_tags(folder, tmp_path, beside):
    place = folder if beside else tmp_path / "genome"
    place.mkdir(exist_ok=True)
    file = place / ("genome-scores.csv" if beside else "genome_scores_3movies.csv")
    file.write_text(SCORES)
    for genome in [None] if beside else [place, file]:
        data = load_movielens(path=folder, task="movies", genome=genome)
        assert data.feature_names == ("tag_1", "tag_2")
        assert data.ids.tolist() == [1, 20]  # movie 99 was never rated
        assert data.y.tolist() == [(4 + 5 + 3) / 3, pytest.approx((2.5 + 0.5 + 3.5) / 3)]
        assert data.X[0].tolist() == [0.25, 0.5]
        assert data.X[1, 0] == 0.75
        assert np.isnan(data.X[1, 1])
        one = load_movielens(path=folder, task="movies", genome=genome, n_features=1)
        assert one.X.tolist() == [[0.25], [0.75]]


def test_bad(folder):
    with pytest.raises(DataError, match="task must be one of"):
        load_movielens(path=folder, task="films")
    with pytest.raises(DataError, match=r"genome must be the file genome-scores\.csv"):
        load_movielens(path=folder, task="movies", genome=folder)
    (folder / "genome-scores.csv").write_text("movieId,tagId,relevance\n99,1,0.5\n")
    with pytest.raises(DataError, match="must contain a rated movie"):
        load_movielens(path=folder, task="movies")
    (folder / "movies.csv").write_text(MOVIES.replace("20,Two", "21,Two"))
    with pytest.raises(DataError, match="must contain every rated movie, got none with id 20"):
        load_movielens(path=folder)


def test_real(real):
    real("movielens")
    data = load_movielens()
    assert (data.n_rows, data.n_queries) == (100004, 671)
    assert (data.y.min(), data.y.max()) == (0.5, 5)
    assert (data.X.sum(axis=1) >= 1).all()
    movies = load_movielens(task="movies", n_features=100)
    assert movies.n_features == 100
    assert np.isnan(movies.X).any()
    assert (movies.y.min() >= 0.5) & (movies.y.max() <= 5)


def test_real_genome(real, monkeypatch):
    import os
    from pathlib import Path

    real("movielens")
    fragment = Path(os.environ["EQUIRANK_DATA"], "movielens", "tag-genome-fragment")
    if not fragment.is_dir():
        pytest.skip("the folder in EQUIRANK_DATA lacks movielens/tag-genome-fragment")
    data = load_movielens(task="movies", genome=fragment)
    assert data.X.shape == (16, 1128)
    assert np.isnan(data.X).sum() == 1128 - 364
