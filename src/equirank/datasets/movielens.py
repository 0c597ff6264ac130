"""MovieLens: ratings of movies, one list per user or one list of all movies."""

from pathlib import Path
from typing import Any, Literal

import numpy as np

from ..core.errors import DataError
from ..core.inputs import choose
from ..core.params import Integer, Optional, check_params
from ..core.table import Table
from ..io.sheet import Sheet
from .assembly import people
from .catalogue import dataset
from .fetch import AnyPath, find

__all__ = ["load_movielens"]


_FOLDER = "movielens/ml-latest-small"
_GENOME = ("genome-scores.csv", "genome_scores*.csv")


def load_movielens(
    *,
    path: AnyPath | None = None,
    task: Literal["users", "movies"] = "users",
    genome: AnyPath | None = None,
    n_features: int | None = None,
    as_frame: bool = False,
) -> Any:
    """Load MovieLens: one list per user, or one list of movies by mean rating.

    With ``task="users"`` every user is a query, the rating of a movie its relevance, and the genres
    are the features. With ``task="movies"`` there is one list of movies with the mean rating as
    relevance. Its features are the tag genome if available: the relevance of each tag for a movie.
    Otherwise they are the ratings of some users, NaN if a user did not rate, and the mean is that
    of all other users, so that no rating is both feature and relevance.

    Parameters
    ----------
    path : path, optional
        A folder with ``ratings.csv`` and ``movies.csv``, of any release. None:
        ``movielens/ml-latest-small`` in the data folder, or else in the cache.
    task : {"users", "movies"}
        One list per user, or one list of all movies.
    genome : path, optional
        The file ``genome-scores.csv``, or a folder with it, for ``task="movies"``. None: the folder
        of the ratings, if it is there (as in the releases ml-20m and ml-25m).
    n_features : int, optional
        For ``task="movies"``: the number of tags, or the number of most active users whose ratings
        are features. None: all tags, or half of the users.
    as_frame : bool, default=False
        Return the ratings with title and genres as a native data frame.

    Returns
    -------
    RankingData or data frame
        100,004 rows in 671 queries; ids are the movies' numbers.

    References
    ----------
    Harper and Konstan, The MovieLens datasets: history and context, ACM TiiS 2015. Vig, Sen and
    Riedl, The tag genome, ACM TiiS 2012.

    Examples
    --------
    >>> load_movielens()  # doctest: +SKIP
    RankingData(100004 rows, 671 queries, 20 features, y)
    >>> load_movielens(task="movies", n_features=100)  # doctest: +SKIP
    """
    choose("task", task, ("users", "movies"))
    declared = {"n_features": Optional(Integer(1))}
    check_params("load_movielens", {"n_features": n_features}, declared)
    folder = path if path is None or not Path(path).is_file() else Path(path).parent
    entry = dataset("movielens")
    ratings_file = find(entry, f"{_FOLDER}/ratings.csv", path=folder)
    movies = Sheet.read(find(entry, f"{_FOLDER}/movies.csv", path=folder))
    sheet = Sheet.read(ratings_file, quoted=False)
    user, movie, rating = (
        sheet.integers("userId"),
        sheet.integers("movieId"),
        sheet.numbers("rating"),
    )
    known = movies.integers("movieId")
    row = _rows_of(known, movie, movies.path)
    if as_frame:
        columns = {"user": user, "movie": movie, "rating": rating}
        columns |= {name: movies.words(name)[row] for name in ("title", "genres")}
        return Table(columns).to_frame()
    if task == "users":
        X, names = _genres(movies)
        return people(X[row], names, rating, None, qid=user, ids=movie)
    scores = _genome_file(genome, ratings_file.parent)
    if scores is not None:
        return _by_tags(scores, known, row, rating, n_features)
    return _by_raters(known, row, user, rating, n_features)


def _rows_of(known: np.ndarray, movie: np.ndarray, path: str) -> np.ndarray:
    order = np.argsort(known)
    at = np.minimum(np.searchsorted(known, movie, sorter=order), len(known) - 1)
    row = order[at]
    if (known[row] != movie).any():
        lacking = movie[known[row] != movie][0]
        raise DataError(f"{path}: must contain every rated movie, got none with id {lacking}")
    return row


def _genres(movies: Sheet) -> tuple[np.ndarray, tuple[str, ...]]:
    lists = [cell.split("|") for cell in movies.column("genres")]
    names = tuple(sorted({genre for genres in lists for genre in genres}))
    column = {name: at for at, name in enumerate(names)}
    X = np.zeros((len(lists), len(names)))
    rows = np.repeat(np.arange(len(lists)), [len(genres) for genres in lists])
    X[rows, [column[genre] for genres in lists for genre in genres]] = 1
    return X, names


def _genome_file(given: AnyPath | None, beside: Path) -> Path | None:
    folder = beside if given is None else Path(given)
    if folder.is_file():
        return folder
    found = [file for name in _GENOME for file in sorted(folder.glob(name))]
    if not found and given is not None:
        raise DataError(
            f"genome must be the file {_GENOME[0]} or a folder with it, got {str(given)!r}"
        )
    return found[0] if found else None


def _means(row: np.ndarray, rating: np.ndarray, n_movies: int) -> np.ndarray:
    """Return the mean rating of each movie, NaN if there is none."""
    count = np.bincount(row, minlength=n_movies)
    total = np.bincount(row, weights=rating, minlength=n_movies)
    return np.divide(total, count, out=np.full(n_movies, np.nan), where=count > 0)


def _by_tags(
    file: Path, known: np.ndarray, row: np.ndarray, rating: np.ndarray, n_features: int | None
) -> Any:
    """Return the rated movies of the genome, with their tags as features."""
    # The header is skipped, since its quotes are malformed in some copies.
    cells = np.loadtxt(file, delimiter=",", skiprows=1, ndmin=2)
    if cells.shape[1] != 3:
        raise DataError(
            f"{file}: must have 3 columns (movieId, tagId, relevance), got {cells.shape[1]}"
        )
    tags, tag = np.unique(cells[:, 1].astype(np.int64), return_inverse=True)
    described, at = np.unique(cells[:, 0].astype(np.int64), return_inverse=True)
    X = np.full((len(described), len(tags)), np.nan)
    X[at, tag] = cells[:, 2]
    mean = dict(zip(known.tolist(), _means(row, rating, len(known)).tolist(), strict=True))
    y = np.array([mean.get(movie, np.nan) for movie in described.tolist()])
    rated = ~np.isnan(y)
    if not rated.any():
        raise DataError(f"{file}: must contain a rated movie, got none")
    names = tuple(f"tag_{number}" for number in tags.tolist())[:n_features]
    return people(X[rated, : len(names)], names, y[rated], None, ids=described[rated])


def _by_raters(
    known: np.ndarray,
    row: np.ndarray,
    user: np.ndarray,
    rating: np.ndarray,
    n_features: int | None,
) -> Any:
    """Return the movies, with ratings of the most active users as features."""
    users, at, count = np.unique(user, return_inverse=True, return_counts=True)
    wanted = len(users) // 2 if n_features is None else n_features
    declared = {"n_features": Integer(1, len(users) - 1)}
    check_params("load_movielens", {"n_features": wanted}, declared)
    raters = np.argsort(-count, kind="stable")[:wanted]
    column = np.full(len(users), -1)
    column[raters] = np.arange(wanted)
    feature = column[at] >= 0
    X = np.full((len(known), wanted), np.nan)
    X[row[feature], column[at[feature]]] = rating[feature]
    y = _means(row[~feature], rating[~feature], len(known))
    judged = ~np.isnan(y)
    names = tuple(f"user_{number}" for number in users[raters].tolist())
    return people(X[judged], names, y[judged], None, ids=known[judged])
