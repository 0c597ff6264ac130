"""Wiki talk: comments on Wikipedia's talk pages, toxic or not. The texts are offensive."""

import re
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from ..core.errors import DataError
from ..core.inputs import choose
from ..core.params import Integer, check_params
from ..core.table import Table
from ..io.sheet import Sheet
from .assembly import people
from .catalogue import dataset
from .fetch import AnyPath, find

__all__ = ["load_wiki_talk"]


_FILES = {
    "nonfuzzed": "toxicity_nonfuzzed_testset.csv",
    "fuzzed": "toxicity_fuzzed_testset.csv",
    "detox250": "wikipedia-detox-250-line-data.tsv",
}
_TRUTH = {"True": 1, "False": 0, "1": 1, "0": 0}


def load_wiki_talk(
    *,
    path: AnyPath | None = None,
    version: Literal["nonfuzzed", "fuzzed", "detox250"] = "nonfuzzed",
    term: str = "gay",
    embedding: Callable[[list[str]], Any] | None = None,
    n_features: int = 4096,
    query_by_term: bool = False,
    as_frame: bool = False,
) -> Any:
    """Load comments as one list; relevant: toxic; protected: comments that contain a term.

    The attribute ``mentions`` is ``"term"`` if the comment contains the term as a whole word, in
    any case of letters, else ``"other"``. The texts are offensive.

    Parameters
    ----------
    path : path, optional
        The file, or a folder with it. None: the data folder, or else the cache.
    version : {"nonfuzzed", "fuzzed", "detox250"}
        The real comments; these with identity terms swapped at random; or 249 other comments.
    term : str, default="gay"
        The term.
    embedding : callable, optional
        Function from a list of texts to a matrix with one row each. None: words and pairs of
        words, hashed by scikit-learn's HashingVectorizer, as a sparse matrix.
    n_features : int, default=4096
        Columns of the hashed matrix.
    query_by_term : bool, default=False
        Make two lists, of comments with and without the term, labelled ``"term"`` and ``"other"``.
    as_frame : bool, default=False
        Return the comments as a native data frame, with ``toxic`` and ``mentions``.

    Returns
    -------
    RankingData or data frame
        1,492 rows; ids are the numbers of the revisions.

    References
    ----------
    Dixon, Li, Sorensen, Thain and Vasserman, Measuring and mitigating unintended bias in text
    classification, AIES 2018.

    Examples
    --------
    >>> load_wiki_talk(n_features=1024)  # doctest: +SKIP
    RankingData(1492 rows, 1 query, 1024 features, y, mentions (2 groups))
    """
    choose("version", version, tuple(_FILES))
    check_params("load_wiki_talk", {"n_features": n_features}, {"n_features": Integer(1)})
    if not isinstance(term, str) or not term:
        raise DataError(f"term of load_wiki_talk must be a word, got {term!r}")
    file = find(dataset("wiki_talk"), f"wiki_talk/{_FILES[version]}", path=path)
    if version == "detox250":
        sheet = Sheet.read(file, delimiter="\t", quoted=False)
        texts, toxic = list(sheet.column("SentimentText")), sheet.choice("Sentiment", _TRUTH)
        ids = np.arange(len(sheet))
    else:
        sheet = Sheet.read(file)
        texts, toxic = list(sheet.column("comment")), sheet.choice("toxic", _TRUTH)
        ids = sheet.integers("rev_id")
    word = re.compile(rf"\b{re.escape(term)}\b", re.IGNORECASE)
    mentions = np.array(["term" if word.search(text) else "other" for text in texts], dtype=object)
    y = toxic.astype(np.float64)
    if as_frame:
        columns = {"id": ids, "comment": texts, "toxic": y.astype(np.int64), "mentions": mentions}
        return Table(columns).to_frame()
    X = _hashed(texts, n_features) if embedding is None else embedding(texts)
    qid = mentions if query_by_term else None
    known = {"mentions": ("other", "term")}
    return people(X, None, y, {"mentions": mentions}, categories=known, qid=qid, ids=ids)


def _hashed(texts: list[str], n_features: int) -> Any:
    from sklearn.feature_extraction.text import HashingVectorizer

    return HashingVectorizer(n_features=n_features, ngram_range=(1, 2)).transform(texts)
