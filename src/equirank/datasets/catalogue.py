"""Catalogue of the data sets: contents, terms and sources."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..core.errors import DataError, suggest

__all__ = ["DataFile", "DataSet", "catalogue", "dataset"]


_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
_CC_BY = "CC BY 4.0 (the repository's policy; not stated in the files)"
_RESEARCH = "research use; terms on the project's page"


@dataclass(frozen=True)
class DataFile:
    """A file of a data set: its path below the data folder, size, checksum and address."""

    name: str
    n_bytes: int
    sha256: str
    url: str | None = None


@dataclass(frozen=True)
class DataSet:
    """One data set, as printed by `equirank datasets`.

    Attributes
    ----------
    name, loader : str
        Its name and the function that loads it.
    ranked, relevance, protected : str
        The items, their relevance, and the protected groups.
    rows, queries : int
        Number of rows and queries that the loader returns without arguments.
    licence, source : str
        The known terms, and the origin of the data.
    how : str
        How to get the files by hand.
    faults : str
        Known defects.
    files : tuple of DataFile
        The files that the loader reads.
    instead : tuple of str
        Files of another layout or a larger version that the loader also reads.
    """

    name: str
    loader: str
    ranked: str
    relevance: str
    protected: str
    rows: int
    queries: int
    licence: str
    source: str
    how: str
    faults: str = ""
    files: tuple[DataFile, ...] = ()
    instead: tuple[str, ...] = ()

    @property
    def n_bytes(self) -> int:
        """The total size of all files."""
        return sum(file.n_bytes for file in self.files)

    @property
    def downloads(self) -> bool:
        """Whether every file has an address for downloading."""
        return bool(self.files) and all(file.url for file in self.files)


@cache
def _known_files() -> dict[str, tuple[int, str]]:
    """Read size and checksum of each file from the bundled list."""
    text = (Path(__file__).parent / "data" / "files.txt").read_text(encoding="utf-8")
    lines = (line.split(" ") for line in text.splitlines())
    return {name: (int(size), digest) for digest, size, name in lines}


def _files(prefix: str, url: str | None = None) -> tuple[DataFile, ...]:
    return tuple(
        DataFile(name, *known, None if url is None else f"{url}/{name.rpartition('/')[2]}")
        for name, known in _known_files().items()
        if name.startswith(prefix)
    )


@cache
def catalogue() -> dict[str, DataSet]:
    """Return all data sets by name.

    Examples
    --------
    >>> catalogue()["german"].rows
    1000
    >>> catalogue()["german"].downloads
    True
    """
    return {entry.name: entry for entry in (*_people(), *_documents(), *_made())}


def dataset(name: str) -> DataSet:
    """Return a data set by name; an unknown name is an error with a suggestion.

    Examples
    --------
    >>> dataset("law").loader
    'load_law'
    >>> dataset("low")
    Traceback (most recent call last):
    ...
    equirank.core.errors.DataError: there is no data set 'low'; did you mean 'law'?
    """
    if name not in catalogue():
        raise DataError(f"there is no data set {name!r}{suggest(name, list(catalogue()))}")
    return catalogue()[name]


# Long, since it is a table: one entry per data set.
def _people() -> tuple[DataSet, ...]:
    return (
        DataSet(
            "compas",
            "load_compas",
            "defendants of one county, one list",
            "risk score from 1 to 10, or two-year recidivism; reversed on request",
            "race, sex, age",
            6172,
            1,
            "none stated; public court records",
            "ProPublica, propublica/compas-analysis on GitHub",
            "compas-scores-two-years.csv of the repository propublica/compas-analysis",
            "names and birth dates of real people (never loaded); two columns occur twice",
            _files(
                "compas/",
                "https://raw.githubusercontent.com/propublica/compas-analysis/master",
            ),
        ),
        DataSet(
            "adult",
            "load_adult",
            "people of a census, one list",
            "income above 50,000 dollars",
            "sex, race",
            45222,
            1,
            _CC_BY,
            "UCI Machine Learning Repository, Adult",
            "adult.data and adult.test of the set Adult on the UCI Machine Learning Repository",
            "3,620 rows lack a value and are dropped; the test file has a comment as first line",
            _files("adult/", f"{_UCI}/adult"),
        ),
        DataSet(
            "law",
            "load_law",
            "law students, one list",
            "standardised first-year average, shifted to start at 0",
            "sex, race",
            21791,
            1,
            "freely circulated, no licence text",
            "LSAC bar-passage study, as prepared by Kusner et al.",
            "law_data.csv of the repository MilkaLichtblau/Multinomial_FA-IR; the samples of DELTR "
            "are in data/LawStudents of MilkaLichtblau/DELTR-Experiments",
            "copies in circulation differ in the order of rows and in column names",
            _files("law/"),
        ),
        DataSet(
            "german",
            "load_german",
            "applicants for credit, one list; make_german_lists draws lists of 50",
            "creditworthy",
            "sex, age under 25 or 35",
            1000,
            1,
            _CC_BY,
            "UCI Machine Learning Repository, Statlog (German Credit Data)",
            "german.data of the set Statlog (German Credit Data) on the UCI Machine Learning "
            "Repository",
            "a model can memorise 1,000 people: split people, not lists",
            _files("german/", f"{_UCI}/statlog/german"),
        ),
        DataSet(
            "w3c_experts",
            "load_w3c_experts",
            "candidate experts for 60 topics",
            "judgement by position",
            "sex",
            12190,
            60,
            "GPL-3 (DELTR-Experiments); none stated (BA_Laura)",
            "TREC Enterprise 2005 / W3C, by MilkaLichtblau/DELTR-Experiments and BA_Laura",
            "data/TREC of the repository MilkaLichtblau/DELTR-Experiments; the other variant is in "
            "MilkaLichtblau/BA_Laura",
            "nearly degenerate: 3,962 distinct feature vectors in 12,190 rows, and 50 in the 2,000 "
            "test rows of fold 1; query 43 has 390 rows, every other 200",
            _files("trec_w3c/"),
        ),
        DataSet(
            "engineering_students",
            "load_engineering_students",
            "first-year students of a Chilean university, by year of entrance",
            "standardised first-year grade, shifted to start at 0",
            "sex, type of high school",
            2403,
            5,
            "GPL-3 (DELTR-Experiments)",
            "MilkaLichtblau/DELTR-Experiments on GitHub",
            "data/EngineeringStudents/NoSemiPrivate of the repository "
            "MilkaLichtblau/DELTR-Experiments",
            "students of semi-private schools were removed at the source",
            _files("engineering_students/"),
        ),
    )


# Long, since it is a table: one entry per data set.
def _documents() -> tuple[DataSet, ...]:
    return (
        DataSet(
            "libras",
            "load_libras",
            "hand movements, one list",
            "class from 1 to 15",
            "none (class-pair costs)",
            360,
            1,
            _CC_BY,
            "UCI Machine Learning Repository, Libras Movement",
            "movement_libras.data of the set Libras Movement on the UCI Machine Learning "
            "Repository",
            "30 of the 360 rows are exact duplicates: keep them in one fold (their ids are equal)",
            _files("libras/"),
        ),
        DataSet(
            "movielens",
            "load_movielens",
            "movies, one list per user, or one list of all",
            "rating from 0.5 to 5, or the mean rating",
            "none; movies have genres",
            100004,
            671,
            "research use, not commercial, cite; the text is in its README",
            "GroupLens, MovieLens latest small (October 2016)",
            "ml-latest-small from the MovieLens page of GroupLens (grouplens.org); today's "
            "download is a later release with other counts, which can be read as well",
            "no demographics; the release changes under the same name",
            _files("movielens/ml-latest-small/"),
        ),
        DataSet(
            "mslr",
            "load_mslr",
            "web pages for queries",
            "grade from 0 to 4",
            "feature 133 (QualityScore2) below 10, or not",
            5000,
            43,
            _RESEARCH,
            "Microsoft Research, MSLR-WEB10K and MSLR-WEB30K",
            "MSLR-WEB10K or MSLR-WEB30K from the page 'Microsoft Learning to Rank Datasets' of "
            "Microsoft Research, whose terms you accept there; a sample of 5,000 rows is in the "
            "source archive of the package rankeval",
            "the last query of each file of the sample is probably cut off",
            _files("ltr/MSLR-WEB10K-sample/"),
            ("ltr/MSLR-WEB10K/Fold1/train.txt", "ltr/MSLR-WEB30K/Fold1/train.txt"),
        ),
        DataSet(
            "mq2008",
            "load_mq2008",
            "web pages for queries, five folds",
            "grade from 0 to 2",
            "none; split a feature to make groups",
            15211,
            784,
            _RESEARCH,
            "Microsoft Research, LETOR 4.0",
            "MQ2008 from the page 'LETOR: Learning to Rank for Information Retrieval' of Microsoft "
            "Research, whose terms you accept there",
            "",
            _files("ltr/MQ2008/"),
            ("ltr/MQ2008/Fold1/train.txt",),
        ),
        DataSet(
            "wiki_talk",
            "load_wiki_talk",
            "comments on Wikipedia's talk pages, one list",
            "toxic",
            "the comment contains a term",
            1492,
            1,
            "CC BY 4.0 (the 250-line file: CC0)",
            "Jigsaw, conversationai/unintended-ml-bias-analysis on GitHub",
            "eval_datasets of the repository conversationai/unintended-ml-bias-analysis; the "
            "250-line file is in dotnet/machinelearning-samples",
            "offensive text; in the fuzzed version identity terms were swapped at random",
            _files("wiki_talk/"),
        ),
    )


def _made() -> tuple[DataSet, ...]:
    return (
        DataSet(
            "yahoo_like",
            "make_yahoo_like",
            "synthetic documents in the shape of Yahoo LTRC set 1",
            "grade from 0 to 4",
            "none",
            473134,
            19944,
            "Apache-2.0 (part of this library)",
            "equirank",
            "no files: it is generated",
            "only its shape is that of the real set",
        ),
        DataSet(
            "hiring",
            "load_hiring",
            "synthetic applicants for vacancies",
            "suitability from 0 to 3",
            "sex, age",
            3213,
            60,
            "Apache-2.0 (part of this library)",
            "equirank",
            "no files: it is part of the library",
            "no person in it exists; the bias of its score is known",
        ),
    )
