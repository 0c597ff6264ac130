"""TREC runs and judgements: files, ranx and ir_measures."""

import os
import warnings
from collections.abc import Iterator, Mapping
from itertools import repeat
from math import isfinite
from typing import Any, Literal

import numpy as np

from ..core import inputs
from ..core.data import RankingData
from ..core.environment import require
from ..core.errors import DataError, EquirankWarning, FormatError, logger
from ..core.given_data import as_ranking_data
from ..core.metric import Metric
from ..core.ranking import Ranking
from ..core.registry import parse_metrics
from .files import as_text, open_bytes, replacing, shorten

__all__ = ["from_ranx", "read_trec", "to_ir_measures", "to_ranx", "write_trec"]


Ties = Literal["average", "trec"]
MissingRelevance = Literal["error", "irrelevant", "drop"]
#: Scores or grades of each query's documents.
Lists = dict[str, dict[str, float]]

RUN = ("query", "Q0", "document", "rank", "score", "tag")
QRELS = ("query", "iteration", "document", "grade")
_BOM = b"\xef\xbb\xbf"


def read_trec(
    run: str | os.PathLike[str],
    qrels: str | os.PathLike[str] | None = None,
    *,
    ties: Ties = "average",
    missing_relevance: MissingRelevance = "error",
    sensitive_features: Mapping[str, Mapping[str, Any]] | None = None,
    missing_sensitive: Literal["error", "category"] = "error",
) -> RankingData:
    r"""Read a TREC run, and judgements (qrels) if given; plain or gzip.

    A line of a run is ``query Q0 document rank score tag``, one of judgements is ``query iteration
    document grade``. As in trec_eval the scores decide the order; the rank is not used. A document
    that is judged and not retrieved has the position 0: not shown, and counted as relevant where
    it is. Queries that the run lacks have only such documents.

    Files are read as by trec_eval: fields are separated by spaces or tabs, lines end in LF or CRLF,
    and lines that begin with ``#`` are comments. Text after the tag of a run is left out if the
    rank is a whole number, since another one hints at an id with a space. Comments are counted in
    the log at level INFO, such text at WARNING. Blank lines and a byte order mark are skipped.

    Parameters
    ----------
    run : path
        The run.
    qrels : path, optional
        The judgements; None leaves out relevance. A negative grade counts as 0, with a warning.
    ties : {"average", "trec"}
        Documents of equal score stay tied, or their ids break the tie in descending order, as in
        trec_eval.
    missing_relevance : {"error", "irrelevant", "drop"}
        Treatment of a document that is retrieved and not judged: an error, relevance 0, or left
        out, which `Bpref` requires. Except for the error, queries without any judgement are left
        out, with a warning.
    sensitive_features : dict of str to dict, optional
        For each attribute the group of each document id.
    missing_sensitive : {"error", "category"}
        Treatment of a document without a group: an error, or the category ``"(missing)"``.

    Returns
    -------
    RankingData
        With positions; documents are its ids. It has the scores if every judged document was
        retrieved.

    Raises
    ------
    FormatError
        With file and line: not the fields of such a line, a score or grade that is not a number, a
        document that occurs twice in a query, text that is not UTF-8.

    See Also
    --------
    write_trec : Write a run, or judgements.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> folder = tempfile.TemporaryDirectory()
    >>> run, qrels = pathlib.Path(folder.name, "run"), pathlib.Path(folder.name, "qrels")
    >>> _ = run.write_text("7 Q0 a 1 9.5 bm25\n7 Q0 b 2 7.25 bm25\n7 Q0 c 3 7.25 bm25\n")
    >>> _ = qrels.write_text("7 0 a 0\n7 0 c 2\n7 0 d 1\n")
    >>> data = read_trec(run, qrels, missing_relevance="irrelevant")
    >>> data.ids.tolist(), data.position.tolist(), data.y.tolist()
    (['a', 'b', 'c', 'd'], [1, 2, 2, 0], [0.0, 0.0, 2.0, 1.0])
    >>> folder.cleanup()
    """
    grades = None if qrels is None else _file_lists(qrels, QRELS, "grade")
    names = os.fspath(run), None if qrels is None else os.fspath(qrels)
    return _ranking_data(
        _file_lists(run, RUN, "score"),
        grades,
        names,
        ties=ties,
        missing_relevance=missing_relevance,
        sensitive_features=sensitive_features,
        missing_sensitive=missing_sensitive,
    )


def from_ranx(
    run: Any,
    qrels: Any = None,
    *,
    ties: Ties = "average",
    missing_relevance: MissingRelevance = "error",
    sensitive_features: Mapping[str, Mapping[str, Any]] | None = None,
    missing_sensitive: Literal["error", "category"] = "error",
) -> RankingData:
    """Return the data of a ``ranx.Run``, with relevance from ``ranx.Qrels`` if given.

    Parameters
    ----------
    run : ranx.Run or dict of dict
        Scores by query and document.
    qrels : ranx.Qrels or dict of dict, optional
        Grades by query and document.
    ties, missing_relevance, sensitive_features, missing_sensitive
        As in `read_trec`.

    Returns
    -------
    RankingData
        As `read_trec`.

    Examples
    --------
    >>> data = from_ranx({"7": {"a": 9.5, "b": 7.25}}, {"7": {"b": 1, "a": 0}})
    >>> data.ids.tolist(), data.position.tolist(), data.y.tolist()
    (['a', 'b'], [1, 2], [0.0, 1.0])
    """
    grades = None if qrels is None else _object_lists("qrels", qrels)
    return _ranking_data(
        _object_lists("run", run),
        grades,
        ("run", None if qrels is None else "qrels"),
        ties=ties,
        missing_relevance=missing_relevance,
        sensitive_features=sensitive_features,
        missing_sensitive=missing_sensitive,
    )


def write_trec(
    ranking: Ranking | RankingData,
    run: str | os.PathLike[str],
    qrels: str | os.PathLike[str] | None = None,
    *,
    tag: str = "equirank",
) -> None:
    """Write a ranking as a TREC run, and its relevance as judgements (qrels) if asked for.

    Scores are those of the data if they state the order of the ranking, ties included. Otherwise,
    as after re-ranking, they count down to 1. Tied documents have equal scores and ranks in input
    order; documents that are not shown are not written.

    Parameters
    ----------
    ranking : Ranking or RankingData
        With one draw, and with ids of the documents.
    run : path
        The file of the run; compressed with gzip if the name ends in ``.gz``. Files are written to
        a temporary name and renamed when complete.
    qrels : path, optional
        The file of the judgements: the relevance of all rows, which must be whole numbers.
    tag : str
        Name of the run, the last field of each line.

    Raises
    ------
    DataError
        If ids are missing or repeated in a query, if a query, id or tag is empty or contains white
        space, if a query begins with ``#``, or if a relevance is not a whole number.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from equirank import as_ranking_data
    >>> data = as_ranking_data(None, [1, 0], qid=[7, 7], ids=["a", "b"], score=[0.25, 0.5])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "run.txt")
    ...     write_trec(data, path)
    ...     print(path.read_text())
    7 Q0 b 1 0.5 equirank
    7 Q0 a 2 0.25 equirank
    <BLANKLINE>
    """
    chosen = _one_draw(ranking)
    _word("tag", tag)
    for query in chosen.data.qids.tolist():
        if str(query).startswith("#"):
            raise DataError(f"query must not begin with #, as a comment does, got {query!r}")
    scored, graded = _run_lists(chosen), _grade_lists(chosen.data) if qrels is not None else {}
    if qrels is not None:
        if os.path.realpath(qrels) == os.path.realpath(run):
            raise DataError(f"qrels must be another file than run, got {os.fspath(qrels)!r} twice")
        with replacing(run) as first, replacing(qrels) as second:
            _write_run(first, scored, tag)
            for query, documents in graded.items():
                lines = (f"{query} 0 {name} {grade}\n" for name, grade in documents.items())
                second.write("".join(lines).encode())
        return
    with replacing(run) as file:
        _write_run(file, scored, tag)


def _write_run(file: Any, scored: Lists, tag: str) -> None:
    for query, documents in scored.items():
        lines = (
            f"{query} Q0 {name} {rank} {score!r} {tag}\n"
            for rank, (name, score) in enumerate(documents.items(), start=1)
        )
        file.write("".join(lines).encode())


def to_ranx(ranking: Ranking | RankingData) -> tuple[Any, Any]:
    """Return ``ranx.Qrels`` and ``ranx.Run`` of a ranking, in the order that ranx takes.

    ``ranx.evaluate(*to_ranx(ranking), "ndcg@10")`` evaluates it. Scores are those that
    `write_trec` writes; ranx breaks ties between equal ones. It needs the extra ``trec``.

    Parameters
    ----------
    ranking : Ranking or RankingData
        With one draw, ids of the documents and whole numbers as relevance.

    Returns
    -------
    qrels, run : ranx.Qrels, ranx.Run

    Examples
    --------
    >>> import ranx  # doctest: +SKIP
    >>> ranx.evaluate(*to_ranx(ranking), ["ndcg@10", "mrr"])  # doctest: +SKIP
    """
    ranx = require("ranx", "trec")
    chosen = _one_draw(ranking)
    scored, graded = _run_lists(chosen), _grade_lists(chosen.data)
    empty = [query for query, documents in scored.items() if not documents]
    if empty:
        raise DataError(f"ranx needs a shown document in every query, and {empty[0]!r} has none")
    return ranx.Qrels(graded), ranx.Run(scored)


def to_ir_measures(
    ranking: Ranking | RankingData,
    metrics: Any = "NDCG(gain='linear')@10, AveragePrecision, ReciprocalRank",
) -> tuple[list[Any], dict[str, dict[str, int]], Lists]:
    """Return measures, judgements and run of a ranking as ir_measures takes them.

    ``ir_measures.calc_aggregate(*to_ir_measures(ranking, "MAP, P@5"))`` evaluates it. Options are
    written out: ``NDCG@10`` is ``nDCG(dcg='exp-log2')@10``, and ``NDCG(gain="linear")@10`` is
    ``nDCG@10``, as in trec_eval. Scores are those that `write_trec` writes; trec_eval breaks ties
    between equal ones. ir_measures counts queries without a relevant document as 0, where this
    library skips undefined values. It needs the extra ``trec``.

    Parameters
    ----------
    ranking : Ranking or RankingData
        With one draw, ids of the documents and whole numbers as relevance.
    metrics : metric, string, or a list of them
        Of NDCG, AveragePrecision, ReciprocalRank, Precision and Recall with a cutoff, ERR with
        ``max_grade=4`` and a cutoff, and Bpref.

    Returns
    -------
    measures, qrels, run : list, dict of dict, dict of dict
        In the order that ``ir_measures.calc_aggregate`` and ``iter_calc`` take.

    Raises
    ------
    DataError
        If a metric has no counterpart in ir_measures.

    Examples
    --------
    >>> import ir_measures  # doctest: +SKIP
    >>> measures, qrels, run = to_ir_measures(ranking, "ndcg_cut_10, MAP")  # doctest: +SKIP
    >>> ir_measures.calc_aggregate(measures, qrels, run)  # doctest: +SKIP
    {nDCG@10: 0.53, AP: 0.41}
    """
    names = [_measure(metric) for metric in parse_metrics(metrics)]
    theirs = require("ir_measures", "trec")
    chosen = _one_draw(ranking)
    measures = [theirs.parse_measure(name) for name in names]
    return measures, _grade_lists(chosen.data), _run_lists(chosen)


def _measure(metric: Metric) -> str:
    """Return the name of the measure in ir_measures that equals a metric."""
    kind = type(metric).__name__
    cut = "" if metric.k is None else f"@{metric.k}"
    if kind == "NDCG" and getattr(metric, "discount", "") == "log2":
        gain = {"linear": "", "exp2": "(dcg='exp-log2')"}.get(getattr(metric, "gain", ""))
        if gain is not None and (cut or not gain):
            return f"nDCG{gain}{cut}"
    if kind == "ERR" and cut and getattr(metric, "max_grade", None) == 4:
        return f"ERR{cut}"
    name = {
        "AveragePrecision": "AP",
        "Bpref": "Bpref",
        "Precision": "P",
        "Recall": "R",
        "ReciprocalRank": "RR",
    }.get(kind)
    threshold = float(getattr(metric, "threshold", 0.5))
    if name is None or threshold != int(threshold) or (name in ("P", "R") and not cut):
        raise DataError(f"{metric} has no counterpart in ir_measures")
    relevant = "" if threshold == 1 else f"(rel={int(threshold)})"
    return f"{name}{relevant}{cut}"


def _file_lists(path: str | os.PathLike[str], fields: tuple[str, ...], value: str) -> Lists:
    """Return the numbers of a file by query and document."""
    name, found = os.fspath(path), Lists()
    at, comments, longer = fields.index(value), 0, 0
    with open_bytes(path) as stream:
        for number, raw in enumerate(stream, start=1):
            words = (raw.removeprefix(_BOM) if number == 1 else raw).split()
            if not words:
                continue
            if words[0].startswith(b"#"):
                comments += 1
                continue
            where = f"{name}, line {number}"
            if len(words) > len(fields) == len(RUN) and words[3].isdigit():  # else an id is split
                longer += 1
            elif len(words) != len(fields):
                raise FormatError(
                    f"{where}: must be {' '.join(fields)}, got {len(words)} fields in "
                    f"{shorten(as_text(raw.strip()) or raw)}"
                )
            query, document = as_text(words[0]), as_text(words[2])
            if query is None or document is None:
                raise FormatError(f"{where}: must be UTF-8 text, got {shorten(raw)}")
            documents = found.setdefault(query, {})
            if document in documents:
                raise FormatError(f"{where}: query {query!r} has document {document!r} twice")
            documents[document] = _number(words[at], where, value)
    if not found:
        raise FormatError(f"{name}: must contain at least one line, got none")
    if comments:
        logger.info("%s: comment lines skipped: %d", name, comments)
    if longer:
        logger.warning("%s: lines with text after the tag, which was left out: %d", name, longer)
    return found


def _number(word: bytes, where: str, field: str) -> float:
    try:
        number = float(word) if b"_" not in word else float("nan")
    except ValueError:
        number = float("nan")
    if not isfinite(number):
        raise FormatError(
            f"{where}: {field} must be a number, got {shorten(as_text(word) or word)}"
        )
    return number


def _object_lists(argument: str, given: Any) -> Lists:
    """Return the numbers of a Run, Qrels or dict by query and document."""
    lists = given.to_dict() if hasattr(given, "to_dict") else given
    if not isinstance(lists, Mapping) or not all(isinstance(d, Mapping) for d in lists.values()):
        raise DataError(
            f"{argument} must be an object of ranx or a dict of dicts, got {type(given).__name__}"
        )
    found = Lists()
    for query, documents in lists.items():
        for document, value in documents.items():
            if isinstance(value, (str, bytes)) or not isfinite(value):
                raise DataError(
                    f"{argument} must contain numbers, got {value!r} for document {document!r} of "
                    f"query {query!r}"
                )
        found[str(query)] = {str(document): float(value) for document, value in documents.items()}
    return found


def _ranking_data(
    run: Lists,
    qrels: Lists | None,
    names: tuple[str, str | None],
    *,
    ties: Ties,
    missing_relevance: MissingRelevance,
    sensitive_features: Mapping[str, Mapping[str, Any]] | None,
    missing_sensitive: Literal["error", "category"],
) -> RankingData:
    inputs.choose("ties", ties, ("average", "trec"))
    inputs.choose("missing_relevance", missing_relevance, ("error", "irrelevant", "drop"))
    grades = None
    if qrels is not None:
        grades = _not_negative(qrels, str(names[1]))
        run = _judged(run, grades, names, missing_relevance)
    rows = list(_rows(run, grades))
    if not rows:
        raise DataError(f"{names[0]}: no document is left: none of its documents is judged")
    queries, documents, scores, relevance = (list(column) for column in zip(*rows, strict=True))
    score = np.array(scores)
    retrieved = ~np.isnan(score)
    position = _positions(np.array(queries, dtype=object), documents, score, ties)
    groups = None
    if sensitive_features is not None:
        groups = {
            name: np.array([group.get(document) for document in documents], dtype=object)
            for name, group in sensitive_features.items()
        }
    return as_ranking_data(
        y=None if grades is None else relevance,
        qid=np.array(queries, dtype=object),
        ids=np.array(documents, dtype=object),
        score=score if retrieved.all() else None,
        position=position,
        sensitive_features=groups,
        missing_sensitive=missing_sensitive,
    )


def _not_negative(qrels: Lists, name: str) -> Lists:
    """Return the judgements with 0 for negative grades."""
    count = sum(grade < 0 for documents in qrels.values() for grade in documents.values())
    if not count:
        return qrels
    warnings.warn(
        f"{name}: negative grades count as 0 ({count} judgements)", EquirankWarning, stacklevel=5
    )
    return {
        query: {document: max(grade, 0.0) for document, grade in documents.items()}
        for query, documents in qrels.items()
    }


def _judged(
    run: Lists, qrels: Lists, names: tuple[str, str | None], missing: MissingRelevance
) -> Lists:
    """Return the run without what ``missing_relevance`` leaves out."""
    if missing == "error":
        for query, documents in run.items():
            judged = qrels.get(query, {})
            for document in documents:
                if document not in judged:
                    raise DataError(
                        f"{names[0]}: document {document!r} of query {query!r} is not judged in "
                        f"{names[1]}; missing_relevance='irrelevant' counts such documents as 0, "
                        "'drop' leaves them out"
                    )
        return run
    lacking = [query for query in run if query not in qrels]
    if lacking:
        warnings.warn(
            f"{names[0]}: {len(lacking)} of {len(run)} queries have no judgement in {names[1]} and "
            f"are left out, such as {lacking[0]!r}",
            EquirankWarning,
            stacklevel=5,
        )
    run = {query: documents for query, documents in run.items() if query in qrels}
    if missing == "irrelevant":
        return run
    return {
        query: {name: score for name, score in documents.items() if name in qrels[query]}
        for query, documents in run.items()
    }


def _rows(run: Lists, qrels: Lists | None) -> Iterator[tuple[str, str, float, float]]:
    """Yield query, document, score (NaN if not retrieved) and grade."""
    for query in dict.fromkeys([*run, *(qrels or {})]):
        documents = run.get(query, {})
        grades = {} if qrels is None else qrels.get(query, {})
        for document, score in documents.items():
            yield query, document, score, grades.get(document, 0.0)
        hidden = {name: grade for name, grade in grades.items() if name not in documents}
        yield from zip(repeat(query), hidden, repeat(float("nan")), hidden.values())


def _positions(
    queries: np.ndarray, documents: list[str], score: np.ndarray, ties: Ties
) -> np.ndarray:
    """Return the positions of the rows; 0 where there is no score."""
    position = np.zeros(len(score), dtype=np.int64)
    rows = np.flatnonzero(~np.isnan(score))
    if not len(rows):
        return position
    if ties == "trec":  # the last name goes first, and a stable sort by score keeps that
        names = np.array(documents, dtype=object)[rows]
        rows = rows[np.argsort(names, kind="stable")[::-1]]
    data = as_ranking_data(qid=queries[rows], score=score[rows])
    ranking = Ranking.from_scores(data, ties="stable" if ties == "trec" else "average")
    position[rows] = data.to_original(ranking.position)
    return position


def _one_draw(ranking: Ranking | RankingData) -> Ranking:
    chosen = ranking.ranking() if isinstance(ranking, RankingData) else ranking
    if not isinstance(chosen, Ranking):
        raise DataError(f"ranking must be a Ranking or a RankingData, got {type(ranking).__name__}")
    if chosen.n_draws > 1:
        raise DataError(f"ranking must have one draw, got {chosen.n_draws}")
    return chosen


def _run_lists(ranking: Ranking) -> Lists:
    """Return the scores that state the order of the shown rows, best first."""
    data = ranking.data
    queries, documents = _query_words(data), _document_words(data)
    score = data.score
    if score is not None:
        own = Ranking.from_scores(data)
        ends = [r.position if r.last is None else r.last for r in (own, ranking)]
        score = score if np.array_equal(ends[0], ends[1]) else None
    if score is None:
        shown = np.bincount(data.query_of_rows()[ranking.position > 0], minlength=data.n_queries)
        score = np.repeat(shown, np.diff(data.offsets)) - ranking.position + 1.0
    lists: Lists = {query: {} for query in queries}
    of_query = data.query_of_rows()
    for row in ranking.slots().order.tolist():
        if ranking.position[row] > 0:
            lists[queries[of_query[row]]][documents[row]] = float(score[row])
    return lists


def _grade_lists(data: RankingData) -> dict[str, dict[str, int]]:
    """Return the relevance of all rows as whole numbers."""
    if data.y is None:
        raise DataError("ranking must have relevance (y) for judgements, and has none")
    broken = np.flatnonzero(data.y != np.round(data.y))
    if len(broken):
        query, row = data.place(int(broken[0]))
        raise DataError(
            f"relevance must be whole numbers in judgements, got {data.y[broken[0]]:g} in row "
            f"{row} of query {query!r}"
        )
    queries, documents = _query_words(data), _document_words(data)
    lists: dict[str, dict[str, int]] = {query: {} for query in queries}
    for at, name, grade in zip(data.query_of_rows(), documents, data.y.tolist(), strict=True):
        lists[queries[at]][name] = int(grade)
    return lists


def _query_words(data: RankingData) -> list[str]:
    words = [_word("query", query) for query in data.qids.tolist()]
    if len(set(words)) < len(words):
        raise DataError("queries must differ as text to be written as a TREC run")
    return words


def _document_words(data: RankingData) -> list[str]:
    """Return the ids of the stored rows, which differ within a query."""
    if data.ids is None:
        raise DataError("ranking must have ids of the documents to be written as a TREC run")
    words = [_word("id", name) for name in data.ids.tolist()]
    seen: set[tuple[int, str]] = set()
    for at, pair in enumerate(zip(data.query_of_rows().tolist(), words, strict=True)):
        if pair in seen:
            query, row = data.place(at)
            raise DataError(
                f"ids must differ in a query, got {pair[1]!r} again in row {row}, query {query!r}"
            )
        seen.add(pair)
    return words


def _word(name: str, value: Any) -> str:
    """Return a field of a line, which has no white space."""
    text = str(value)
    if len(text.split()) != 1 or text != text.strip() or "\0" in text:
        raise DataError(
            f"{name} must be a word without white space to be written as a TREC run, got {text!r}"
        )
    return text
