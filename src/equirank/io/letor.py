"""`read_letor` and `write_letor`: SVMlight files with query ids, as used by LETOR and MSLR."""

import os
from dataclasses import replace
from typing import Any

import numpy as np

from ..core.data import RankingData
from ..core.errors import DataError, logger
from ..core.given_data import as_ranking_data
from ..core.inputs import natural
from .files import FileInMemory, as_text, open_bytes, replacing, shorten, source_of
from .growing_arrays import DenseRows, SparseRows
from .svmlight import (
    SVMlightReader,
    blocks,
    comment_texts,
    entries,
    format_block,
    integers,
    lacks_last,
)

__all__ = ["read_letor", "write_letor"]


_ENTRIES = 1 << 18  # numbers formatted at a time
_SIDE_FILES = (".query", ".group")


def read_letor(
    path: str | os.PathLike[str],
    *,
    n_features: int | None = None,
    zero_based: bool = False,
    sparse: bool = False,
    dtype: Any = np.float64,
    query_file: str | os.PathLike[str] | None = None,
    sensitive_features: Any = None,
    ids_from_comments: bool = False,
) -> RankingData:
    r"""Read an SVMlight file with query ids (LETOR, MSLR-WEB, Yahoo, Istella; gzip or plain).

    A line is ``label qid:query id:value id:value ... # comment``. Blank lines and lines with only
    a comment are skipped. The numbers are bitwise those of `sklearn.datasets.load_svmlight_file`.
    The file is read in blocks: memory is that of the result.

    Parameters
    ----------
    path : path
        The file. Gzip is recognised by its content.
    n_features : int, optional
        The number of features, if the file may lack the last ones (a test set). A larger id in
        the file is an error. None: the largest id that occurs, which is an error if it makes a
        dense X more than 100 times as large as the file.
    zero_based : bool, default=False
        Whether the first feature has id 0. It is never guessed, since the guesses for a training
        and a test file could differ; an id of 0 is an error unless this is True.
    sparse : bool, default=False
        Return X as a SciPy CSR matrix instead of a dense array. A feature that a line lacks is 0;
        a missing value is written ``nan``.
    dtype : {numpy.float64, numpy.float32}
        The type of X.
    query_file : path, optional
        Sizes of the queries, one per line, for a file without ``qid`` (LightGBM's
        ``rank.train.query``, XGBoost's ``train.txt.group``). None: if lines have no qid, the path
        with ``.query`` or ``.group`` added is used; without such a file, all rows are one query.
        The queries are then numbered from 1.
    sensitive_features : array-like, data frame or dict, optional
        Sensitive attributes, one value per row of the file, as in `as_ranking_data`.
    ids_from_comments : bool, default=False
        Use the comment of each line as the row's id: the name in ``docid = name ...``, else the
        whole comment.

    Returns
    -------
    RankingData

    Raises
    ------
    DataError
        With file, line and text: a label that is not a number >= 0, a qid that is not an integer
        or that only some lines have, a feature that is not ``id:value`` or occurs twice in a line,
        an id that makes a dense X more than 100 times as large as the file, an empty file, a file
        that is not text.

    See Also
    --------
    write_letor : Write such a file.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "train.txt")
    >>> _ = path.write_text("2 qid:1 1:0.5 3:2 # first\n0 qid:1 2:1e-3\n1 qid:2 1:7\n")
    >>> data = read_letor(path)
    >>> data
    RankingData(3 rows, 2 queries, 3 features, y)
    >>> data.X
    array([[5.e-01, 0.e+00, 2.e+00],
           [0.e+00, 1.e-03, 0.e+00],
           [7.e+00, 0.e+00, 0.e+00]])
    >>> folder.cleanup()
    """
    kind = np.dtype(dtype)
    if kind not in (np.float32, np.float64):
        raise DataError(f"dtype must be float64 or float32, got {kind}")
    if n_features is not None and n_features < 1:
        raise DataError(f"n_features must be at least 1, got {n_features}")
    matrix = SparseRows(kind, n_features) if sparse else DenseRows(kind, n_features)
    reader = SVMlightReader(os.fspath(path), 0 if zero_based else 1, matrix, ids_from_comments)
    with open_bytes(path) as stream:
        for block in blocks(stream, reader.path):
            reader.read(*block)
    labels = reader.labels.finish()
    if len(labels) == 0:
        raise DataError(f"{reader.path}: must contain at least one row, got none")
    data = as_ranking_data(
        matrix.finish(),
        labels,
        qid=_queries(reader, query_file),
        sensitive_features=sensitive_features,
        ids=None if reader.ids is None else np.array(reader.ids, dtype=object),
    )
    source = source_of(path, {"format": "LETOR"})
    return replace(data, source=replace(source, rows=data.n_rows))


def _queries(
    reader: SVMlightReader, query_file: str | os.PathLike[str] | None
) -> np.ndarray | None:
    """Return the qid of each row: from the lines, or else from a file of sizes, or else None."""
    if reader.with_qid:
        if query_file is not None:
            raise DataError(f"query_file must be None for {reader.path}, whose lines have a qid")
        return reader.qids.finish()
    if query_file is None:
        query_file = _side_file(reader.path)
        if query_file is None:
            return None
        logger.info("query sizes of %s are taken from %s", reader.path, query_file)
    sizes, name = [], os.fspath(query_file)
    with open_bytes(query_file) as stream:
        for number, raw in enumerate(stream, start=1):
            word = raw.strip()
            if word and natural(word) < 1:
                got = shorten(as_text(word) or word)
                raise DataError(
                    f"{name}, line {number}: must be the size of a query, >= 1, got {got}"
                )
            sizes += [natural(word)] if word else []
    total, n_rows = sum(sizes), reader.labels.size
    if total != n_rows:
        raise DataError(
            f"{name}: sizes must sum to the {n_rows} rows of {reader.path}, got {total}"
        )
    return np.repeat(np.arange(1, len(sizes) + 1), sizes)


def _side_file(path: str) -> str | None:
    """Return the file of query sizes in the folder of a file, or None."""
    if isinstance(path, FileInMemory):  # which has no folder
        return None
    stems = [path] + ([path[:-3]] if path.endswith(".gz") else [])
    names = [stem + end + packed for stem in stems for end in _SIDE_FILES for packed in ("", ".gz")]
    return next((name for name in names if os.path.isfile(name)), None)


def write_letor(
    data: RankingData,
    path: str | os.PathLike[str],
    *,
    comments: Any = None,
) -> None:
    """Write features, relevance and queries as an SVMlight file with query ids.

    Numbers are written with the fewest digits that identify them, so that `read_letor` returns
    the same arrays (float32 features with ``dtype=numpy.float32``). Rows are written query by
    query, as stored in `RankingData`. Features equal to 0 are left out, except that the first row
    names the last feature if no other row does, to keep the number of features; a missing value is
    ``nan``.

    Parameters
    ----------
    data : RankingData
        With relevance, and with query labels that are integers (or texts such as ``"12"``).
    path : path
        The file; compressed with gzip if the name ends in ``.gz``. It is written to a temporary
        name and renamed when complete, so an error or an interrupt keeps an older file.
    comments : array-like or "ids", optional
        A text per row in input order, written after ``#``; ``"ids"``: the data's ids.

    Raises
    ------
    DataError
        If relevance is missing, a query label is not an integer or a comment has several lines.

    See Also
    --------
    read_letor : Read it.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from equirank import as_ranking_data
    >>> data = as_ranking_data([[0.5, 0.0], [0.1, 2.0]], [1, 0], qid=[7, 7], ids=["a", "b"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "data.txt")
    ...     write_letor(data, path, comments="ids")
    ...     print(path.read_text())
    1 qid:7 1:0.5 # a
    0 qid:7 1:0.1 2:2 # b
    """
    if not isinstance(data, RankingData):
        raise DataError(f"data must be a RankingData, got {type(data).__name__}")
    if data.y is None:
        raise DataError("data must have relevance (y) to be written as LETOR, got none")
    qids = np.repeat(integers(data.qids), np.diff(data.offsets))
    texts = comment_texts(data, comments)
    width = data.X.nnz // len(data) if hasattr(data.X, "nnz") else data.n_features
    step = max(1, _ENTRIES // max(1, width))
    extra = lacks_last(data.X)
    with replacing(path) as file:
        for begin in range(0, len(data), step):
            rows = slice(begin, begin + step)
            block = entries(data.X, rows, extra and begin == 0)
            text = None if texts is None else texts[rows]
            file.write(format_block(data.y[rows], qids[rows], *block, text))
