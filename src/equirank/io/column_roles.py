"""Roles of the columns of a table: named, recognised by their names, or guessed."""

import re
import warnings
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..core.errors import DataError, EquirankWarning, outer_stacklevel, suggest
from .number_cells import data_like

if TYPE_CHECKING:
    from ..core.source import Source
    from .table_file import TableFile

__all__ = [
    "RECOGNISED",
    "Guess",
    "Name",
    "Names",
    "Roles",
    "assign",
    "existing_column",
    "guess_columns",
    "listed",
    "recognised_columns",
]


#: A column: its name, None to recognise it, False for none.
Name = str | Literal[False] | None
Names = str | Sequence[str] | None

#: The column names recognised for each role, in lower case.
RECOGNISED: dict[str, tuple[str, ...]] = {
    "query": ("qid", "query", "query_id", "list", "list_id"),
    "relevance": ("relevance", "rel", "label", "grade", "y", "y_true"),
    "score": ("score", "scores", "y_score", "prediction"),
    "position": ("position", "rank"),
    "cost": ("cost",),
    "ids": ("id", "ids", "doc_id", "docid", "item_id"),
}


@dataclass(frozen=True)
class Roles:
    """The column of each role; with ``others``, only numeric columns become features."""

    single: Mapping[str, str]
    sensitive: tuple[str, ...]
    features: tuple[str, ...]
    others: bool
    outcomes: tuple[str, ...] = ()
    guessed: Mapping[str, str] = field(default_factory=dict)

    @property
    def needed(self) -> tuple[str, ...]:
        """The names of all columns to be read, each once."""
        single = self.single.values()
        return tuple(dict.fromkeys([*single, *self.sensitive, *self.outcomes, *self.features]))

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the columns with labels instead of numbers."""
        single = (self.single[role] for role in ("query", "ids") if role in self.single)
        return (*single, *self.sensitive, *self.outcomes)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The names of the columns of numbers, each once."""
        single = (name for role, name in self.single.items() if role not in ("query", "ids"))
        return tuple(dict.fromkeys([*single, *self.features]))

    def record(self) -> dict[str, tuple[str, str]]:
        """Return the column of each role, and ``"named"`` or why it was chosen, for `Source`."""
        found = {
            "id" if role == "ids" else role: (name, self.guessed.get(role, "named"))
            for role, name in self.single.items()
        }
        for role, names in (("sensitive", self.sensitive), ("outcomes", self.outcomes)):
            for at, name in enumerate(names, start=1):
                found[role if at == 1 else f"{role} {at}"] = (name, "named")
        return found


def assign(
    path: str,
    names: Sequence[str],
    *,
    sensitive: Names,
    features: Names,
    outcomes: Names = None,
    **single: Name,
) -> Roles:
    """Return the column of each role: the given one, or else the one recognised by its name.

    ``single`` contains query, relevance, score, position, cost and id.
    """
    if "id" in single:
        single["ids"] = single.pop("id")
    twice = _repeated(name for name in names if name)
    if twice is not None:
        raise DataError(f"{path}: each column name must occur once, got {twice!r} twice")
    known = dict.fromkeys(names)
    groups = _listed_names("sensitive", sensitive) or ()
    wanted = _listed_names("features", features)
    decided = _listed_names("outcomes", outcomes) or ()
    found: dict[str, str] = {}
    for role, name in single.items():
        if name is not None and name is not False:
            word = "id" if role == "ids" else role
            found[role] = existing_column(path, known, word, name)
    for name in groups:
        existing_column(path, known, "sensitive", name)
    for name in decided:
        existing_column(path, known, "outcomes", name)
    for name in wanted or ():
        existing_column(path, known, "features", name)
    taken = {*found.values(), *groups, *decided, *(wanted or ())}
    if "score" in found or "position" in found:
        # a recognised position would override a given score
        single = {
            r: n for r, n in single.items() if n is not None or r not in ("score", "position")
        }
    guessed: dict[str, str] = {}
    for role, name in single.items():
        if name is None:
            matches = recognised_columns(names, RECOGNISED[role], taken)
            if len(matches) > 1:
                word = "id" if role == "ids" else role
                raise DataError(
                    f"{path}: {word} must be named, since the columns {listed(matches)} could all "
                    f"be it; {word}=False for none"
                )
            if matches:
                found[role] = matches[0]
            if matches or role == "query":
                guessed[role] = "recognised by its name"
    once = [name for role, name in found.items() if role != "score" or name not in decided]
    doubled = _repeated([*once, *groups, *decided])
    if doubled is not None:
        raise DataError(f"{path}: column {doubled!r} must have one role, got several")
    used = {*found.values(), *groups, *decided}
    rest = tuple(name for name in names if name and name not in used)
    others = wanted is None
    return Roles(found, groups, rest if wanted is None else wanted, others, decided, guessed)


def _repeated(names: Iterable[str]) -> str | None:
    """Return the first name that occurs again, or None."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def _listed_names(argument: str, names: Names) -> tuple[str, ...] | None:
    if names is None:
        return None
    columns = (names,) if isinstance(names, str) else tuple(names)
    for name in columns:
        if not isinstance(name, str):
            raise DataError(f"{argument} must name columns, got {name!r}")
    twice = _repeated(columns)
    if twice is not None:
        raise DataError(f"{argument} must name each column once, got {twice!r} twice")
    return columns


def existing_column(path: str, names: Collection[str], role: str, name: Any) -> str:
    """Return the name if the table has such a column; else raise with the nearest name."""
    if not isinstance(name, str) or name not in names:
        hint = suggest(str(name), list(names))
        if data_like(names):
            hint = "; columns must name the columns of a file without a line of names"
        raise DataError(
            f"{path}: {role} must be one of the columns {listed(list(names))}, got {name!r}{hint}"
        )
    return name


def recognised_columns(
    names: Sequence[str], known: Sequence[str], taken: Container[str]
) -> list[str]:
    """Return the columns with a known name, in any case of letters, that are not taken."""
    return [name for name in names if name.strip().lower() in known and name not in taken]


def listed(names: Sequence[str]) -> str:
    """Return up to ten names for an error message."""
    return ", ".join(repr(name) for name in names[:10]) + (", ..." if len(names) > 10 else "")


#: Words in names of sensitive columns.
PEOPLE: tuple[str, ...] = (
    "sex",
    "gender",
    "race",
    "ethnicity",
    "age_group",
    "religion",
    "nationality",
)
PEOPLE += ("disability", "origin", "citizenship", "marital", "protected", "group")
#: The same in German, Spanish and Italian, beside those that contain the words above.
PEOPLE += ("geschlecht", "herkunft", "altersgruppe", "genero", "género", "origen", "sesso")
#: Words in names of columns of ages.
AGES = {"age", "ages", "alter", "âge", "edad", "età"}
#: Words in names of sensitive columns of text.
SELLERS = {"seller", "vendor", "provider", "supplier"}
#: Words in names of columns of lists, the likeliest first, and of ids.
QUERIES = (
    *("qid", "query", "search", "list", "request", "impression", "serp", "session", "topic"),
    *("vacancy", "job", "keyword", "term", "user", "customer", "visitor"),
)
IDS = {"id", "ids", "sku", "asin", "ean", "gtin", "uuid", "key", "code", "url", "number"}
NAMED = {*QUERIES, *IDS}
#: Most groups of a sensitive column, and most values of a categorical feature.
MOST_GROUPS, MOST_CATEGORIES = 20, 30
#: Words in names of columns of scores and of positions.
SCORES = {"score", "scores", "points", "rating", "prediction", "probability", "total"}
SCORES |= {"punkte", "punktzahl", "punktestand", "bewertung", "puntos", "puntuación", "punteggio"}
POSITIONS = {"position", "rank", "place", "ranking"}
POSITIONS |= {"rang", "platz", "rangplatz", "puesto", "posición", "posizione"}
#: Most grades of a column that may be a recorded relevance.
MOST_GRADES = 11


@dataclass(frozen=True)
class Guess:
    """The guessed roles of columns; None or empty if no column matches.

    Attributes
    ----------
    features, left : tuple of str
        Columns of numbers or categories, and those that are neither.
    by : {"query", "item"}
        Whether there are several lists.
    missing : bool
        Whether a group is missing somewhere.
    score, position : str or None
        The columns that order people.
    reasons : mapping of str to str
        Why each column has its role, or none.
    unclear : tuple of str
        Columns whose contents fit several roles, which only the user can settle.
    counts : mapping of str to int
        The number of different values of each column.
    first : mapping of str to tuple of str
        The first values of each column.
    labels : mapping of str to mapping of str to int
        The values of columns with at most 20, and their numbers of rows.
    bands : mapping of str to tuple of float
        Where bands of columns of ages could begin.
    rows : int
        The number of rows.
    """

    query: str | None
    relevance: str | None
    cost: str | None
    id: str | None
    sensitive: tuple[str, ...]
    features: tuple[str, ...]
    left: tuple[str, ...]
    by: str
    format: str | None = None
    missing: bool = False
    source: "Source | None" = None
    score: str | None = None
    position: str | None = None
    reasons: Mapping[str, str] = field(default_factory=dict)
    unclear: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    first: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    labels: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    bands: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    rows: int = 0


# Long, since each role is guessed in turn, and later ones from what is left.
def guess_columns(file: "TableFile") -> Guess:
    """Return roles guessed from names and contents; unclear ones are left to the user.

    A query column has any type and 2 to n/2 values: one whose name says so, or else one whose rows
    are grouped. A group has 2 to 20 values and varies inside lists. Columns whose values are unique
    per row or per list are ids. A column called a score or a position orders people. A column with
    several values per row has no role, with a warning.

    Examples
    --------
    >>> from equirank.datasets import hiring_path
    >>> from equirank.io.table_file import TableFile
    >>> guess = guess_columns(TableFile(hiring_path(), "csv"))
    >>> guess.query, guess.score, guess.unclear
    ('vacancy', 'score', ('suitability',))
    >>> guess.reasons["applicant"]
    'every value occurs once'
    """
    names = [name for name in file.columns if name and name not in file.nested]
    for name, kind in file.nested.items():
        warnings.warn(
            f"{file.path}: column {name!r} is left out: it must hold one value per row, got the "
            f"type {kind}; unnest it to use it",
            EquirankWarning,
            stacklevel=outer_stacklevel(),
        )
    twice = _repeated(names)
    if twice is not None:
        raise DataError(f"{file.path}: column names must be unique, got {twice!r} twice")
    found: dict[str, str] = {}
    reasons: dict[str, str] = {}
    for role, words in RECOGNISED.items():
        near = [name for name in names if name.strip().lower() in words]
        if near:
            found[role] = near[0]
            reasons[near[0]] = "recognised by its name"
    columns = _Columns(file, names)
    free = [name for name in names if name not in found.values()]
    if "query" not in found:
        query = _query(columns, [name for name in free if not _sensitive_name(name)])
        if query is not None:
            found["query"], reasons[query] = query, _why_lists(columns, query)
    lists = columns.codes(found["query"]) if "query" in found else np.zeros(columns.n_rows, int)
    free = [name for name in free if name not in found.values()]
    people = [
        name
        for name in free
        if (_sensitive_name(name) or (_tokens(name) & SELLERS and name not in columns.numeric))
        and 2 <= columns.count(name) <= MOST_GROUPS
        and _varies(columns.codes(name), lists)
    ]
    free = [name for name in free if name not in people]
    ids = {name: kind for name in free if (kind := _unique_per(columns, name, lists))}
    rows = [name for name, kind in ids.items() if kind == "row"]
    if "ids" not in found and rows:
        found["ids"] = next((name for name in rows if _tokens(name) & IDS), rows[0])
    for role, name in _order(columns, [n for n in free if n not in ids], found, lists).items():
        found[role], reasons[name] = name, "its name suggests it"
    most = min(MOST_CATEGORIES, columns.n_rows // 2)  # a text that rarely repeats is no category
    features = {
        name: None
        for name in free
        if name not in ids
        and (name in columns.numeric or 2 <= columns.count(name) <= most)
        and not (_sensitive_name(name) and name not in columns.numeric)
    }
    for name in people:
        reasons[name] = f"{columns.count(name)} values; a usual name for a group"
    unclear = _unclear(columns, [n for n in free if n not in found.values()], found)
    for name in names:
        reasons.setdefault(name, unclear.get(name) or _described(columns, name, ids.get(name, "")))
    return Guess(
        query=found.get("query"),
        relevance=found.get("relevance"),
        cost=found.get("cost"),
        id=found.get("ids"),
        sensitive=tuple(people),
        features=tuple(features),
        left=tuple(name for name in free if name not in features and name != found.get("ids")),
        by="query" if lists.any() else "item",
        missing=any((columns.codes(name) < 0).any() for name in people),
        source=columns.source,
        score=found.get("score"),
        position=found.get("position"),
        reasons=reasons,
        unclear=tuple(unclear),
        counts={name: columns.count(name) for name in names},
        first={name: columns.texts(name, 3) for name in names},
        labels={name: columns.labels(name) for name in names if columns.count(name) <= MOST_GROUPS},
        bands={name: edges for name in names if (edges := _bands(columns, name))},
        rows=columns.n_rows,
    )


def _order(
    columns: "_Columns", names: Sequence[str], found: Mapping[str, str], lists: np.ndarray
) -> dict[str, str]:
    """Return a score and a position by the words in their names, if one column alone fits."""
    if "score" in found or "position" in found:
        return {}
    numbers = [name for name in names if name in columns.numeric]
    scores = [name for name in numbers if _tokens(name) & SCORES]
    positions = [
        name
        for name in numbers
        if _tokens(name) & POSITIONS and columns.whole(name) and columns.values(name).min() >= 0
    ]
    one = {"score": scores, "position": positions}
    return {role: near[0] for role, near in one.items() if len(near) == 1}


def _unclear(columns: "_Columns", names: Sequence[str], found: Mapping[str, str]) -> dict[str, str]:
    """Return the columns that only the user can settle, and why."""
    reasons = {}
    for name in names:
        if name not in columns.numeric or columns.count(name) < 2:
            continue
        values = columns.values(name)
        low, high = (f"{bound:g}" for bound in (np.nanmin(values), np.nanmax(values)))
        few = columns.count(name) <= MOST_GRADES and not AGES & _tokens(name)
        if few and columns.whole(name) and np.nanmin(values) >= 0 and "relevance" not in found:
            reasons[name] = (
                f"whole numbers {low} to {high}: could be the recorded relevance, or something else"
            )
        elif AGES & _tokens(name) and columns.count(name) > MOST_GROUPS:
            reasons[name] = f"numbers {low} to {high}: ages can be compared in bands"
        elif _tokens(name) & SCORES and not {"score", "position"} & {*found}:
            reasons[name] = "several columns could be the score"
    return reasons


def _bands(columns: "_Columns", name: str) -> tuple[float, ...]:
    """Return where bands of ages begin: at 35 and 50, or at thirds rounded to 5 years."""
    if name not in columns.numeric or not AGES & _tokens(name):
        return ()
    if columns.count(name) <= MOST_GROUPS:
        return ()
    values = columns.values(name)
    low, high = np.nanmin(values), np.nanmax(values)
    if low < 35 and high >= 50:
        return (35, 50)
    thirds = sorted({float(5 * np.round(q / 5)) for q in np.nanquantile(values, [1 / 3, 2 / 3])})
    return tuple(edge for edge in thirds if low < edge <= high)


def _why_lists(columns: "_Columns", name: str) -> str:
    words = f"{columns.count(name):,} different values"
    grouped = (np.diff(columns.codes(name)) != 0).sum() + 1 == columns.count(name)
    return f"{words}, rows of one value follow each other" if grouped else words


def _described(columns: "_Columns", name: str, unique: str) -> str:
    """Return what a column contains."""
    count = columns.count(name)
    if unique == "row":
        once = count == columns.n_rows
        return "every value occurs once" if once else "no value occurs twice in a list"
    if unique == "list":
        return "one value per list"
    if count < 2:
        return "the same value everywhere" if count else "no value"
    return f"{count:,} different {'numbers' if name in columns.numeric else 'texts'}"


class _Columns:
    """The values of each column as codes, read when they are needed."""

    def __init__(self, file: "TableFile", names: list[str]) -> None:
        rows = file.gather(Roles({}, (), tuple(names), True))
        numbers = len(rows.left_out) < len(names) or not rows.n_rows
        data = rows.finish(text=file.kind != "parquet", quiet=True) if numbers else None
        known = () if data is None else data.feature_names or ()
        self.n_rows, self.source = rows.n_rows, rows.file if data is None else data.source
        self.numeric = {name: at for at, name in enumerate(known)}
        self._X: Any = None if data is None else data.X
        self._codes, self._counts = dict[str, np.ndarray](), dict[str, int]()
        # exact labels, since doubles merge large whole numbers
        exact = [name for name in names if name not in self.numeric or _tokens(name) & NAMED]
        self._labels = file.labels(exact)

    def codes(self, name: str) -> np.ndarray:
        """Return a code per row; -1 if the cell is missing."""
        if name not in self._codes:
            if name in self._labels:
                known: dict[Any, int] = {}
                labels = self._labels[name].tolist()
                codes = np.array(
                    [-1 if cell is None else known.setdefault(cell, len(known)) for cell in labels],
                    dtype=np.int64,
                )
            else:
                values = self.values(name)
                codes = np.unique(values, return_inverse=True)[1]
                codes = np.where(np.isnan(values), -1, codes)
            self._codes[name] = codes
        return self._codes[name]

    def count(self, name: str) -> int:
        """Return the number of different values, without missing ones."""
        if name not in self._counts:
            codes = self.codes(name)
            self._counts[name] = len(np.unique(codes[codes >= 0]))
        return self._counts[name]

    def values(self, name: str) -> np.ndarray:
        """Return a column of numbers."""
        return np.asarray(self._X[:, self.numeric[name]], dtype=np.float64)

    def texts(self, name: str, n: int) -> tuple[str, ...]:
        """Return the first values as text."""
        if name in self._labels:
            return tuple("" if v is None else str(v) for v in self._labels[name][:n].tolist())
        return tuple("" if v != v else f"{v:.12g}" for v in self.values(name)[:n].tolist())

    def labels(self, name: str) -> dict[str, int]:
        """Return the different values as text, in order of first appearance, with their rows."""
        codes = self.codes(name)
        known, rows = np.unique(codes, return_index=True)
        counts = np.bincount(codes[codes >= 0], minlength=int(codes.max(initial=-1)) + 1)
        found = {}
        for code, row in sorted(
            zip(known.tolist(), rows.tolist(), strict=True), key=lambda p: p[1]
        ):
            if code >= 0:
                if name in self._labels:
                    text = str(self._labels[name][row])
                else:
                    text = f"{self.values(name)[row]:.12g}"
                found[text] = int(counts[code])
        return found

    def whole(self, name: str) -> bool:
        """Return whether a column contains text or whole numbers."""
        if name not in self.numeric:
            return True
        values = self.values(name)
        return bool(np.all(values == np.floor(values)))


def _query(columns: _Columns, names: list[str]) -> str | None:
    """Return the column of the lists: by its name, or else a grouped one of text or ids."""

    def fits(name: str) -> bool:
        whole = bool((columns.codes(name) >= 0).all())
        return whole and 2 <= columns.count(name) <= columns.n_rows // 2

    for word in QUERIES:
        near = [name for name in names if word in _tokens(name) and fits(name)]
        if near:
            return max(near, key=columns.count)
    grouped = []
    for name in names:
        if name in columns.numeric and not (_tokens(name) & IDS and columns.whole(name)):
            continue
        codes = columns.codes(name)
        if fits(name) and (np.diff(codes) != 0).sum() + 1 == columns.count(name):
            grouped.append(name)
    return max(grouped, key=columns.count, default=None)


def _unique_per(columns: _Columns, name: str, lists: np.ndarray) -> str:
    """Return "row" or "list" if the column names rows or lists, else an empty text.

    A row's name does not occur twice in a list; a list's name is that of all its rows, and of no
    other list.
    """
    named = bool(_tokens(name) & IDS)
    if not columns.whole(name) or (name in columns.numeric and not named):
        return ""
    codes, count = columns.codes(name), columns.count(name)
    if count < 2 or (codes < 0).any():
        return ""
    pairs = len(np.unique(np.stack([lists, codes]), axis=1).T)
    n_lists = len(np.unique(lists))
    if n_lists > 1 and pairs == count == n_lists:
        return "list"
    many = count == columns.n_rows or named or count > MOST_GROUPS
    return "row" if pairs == columns.n_rows and many else ""


def _varies(codes: np.ndarray, lists: np.ndarray) -> bool:
    """Return whether some list contains different values."""
    known = codes >= 0
    pairs = np.unique(np.stack([lists[known], codes[known]]), axis=1)
    return bool((np.diff(pairs[0]) == 0).any())


@lru_cache(maxsize=1 << 16)
def _tokens(name: str) -> frozenset[str]:
    """Return the words of a name, in lower case.

    Examples
    --------
    >>> sorted(_tokens("SearchSession_ID2"))
    ['id', 'search', 'session']
    """
    return frozenset(
        w.lower() for w in re.findall("[A-ZÀ-Þ]+(?![a-zß-ÿ])|[A-ZÀ-Þ]?[a-zß-ÿ]+", name)
    )


def _sensitive_name(name: str) -> bool:
    return any(word in name.strip().lower() for word in PEOPLE)
