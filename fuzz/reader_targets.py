"""Readers of files and texts. A new reader is one entry of `TARGETS`."""

import gzip
import io
import json
import random
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import equirank
from equirank.comparison.cell import Cell
from equirank.comparison.store import Store
from equirank.core.environment import require
from equirank.core.errors import MissingExtraError
from equirank.core.registry import metric_names, parse_metrics
from equirank.io import delimited, read_csv, read_letor, read_pairs, read_parquet, read_trec
from equirank.io.file_options import FileOptions
from equirank.io.sheet import Sheet
from equirank.io.table_file import TableFile
from equirank.recipes.config import read_config

from .mutation import halves, mutated, number_text
from .slow_readers import csv_rows, letor_rows, number, numbers, same_numbers, trec_rows
from .target import CLEAR, Case, Fault, Target

__all__ = ["TARGETS", "file_reader"]

Draw = Callable[[random.Random], tuple[bytes, dict[str, Any]]]
Check = Callable[[Path, bytes, dict[str, Any]], None]


def file_reader(
    name: str,
    file: str,
    draw: Draw,
    check: Check,
    *,
    tokens: Sequence[bytes] = (),
    packed: bool = True,
    more: Callable[[random.Random], dict[str, bytes]] | None = None,
    strategy: Callable[[], Any] | None = None,
    weight: float = 1.0,
) -> Target:
    """Return the target of a reader of one file.

    Parameters
    ----------
    name, file : str
        The name of the target, and that of the file, which every error must mention.
    draw : callable
        Draws valid or nearly valid bytes and options; half of the bytes are then mutated.
    check : callable
        Reads the file, and raises `Fault` if the result is not what the bytes say:
        ``check(path, data, options)``.
    tokens : sequence of bytes
        Words of the format, for mutations.
    packed : bool
        Whether the reader takes gzip.
    more : callable, optional
        Draws files beside it, by name.
    strategy : callable, optional
        Returns a strategy of hypothesis for pairs of bytes and options.
    weight : float
        Share of the time.
    """

    def draw_case(rng: random.Random) -> Case:
        data, options = draw(rng)
        if rng.random() < 0.5:
            data = mutated(rng, data, tokens)
        if packed and rng.random() < 0.05:
            data = gzip.compress(data, 1)
            data = mutated(rng, data) if rng.random() < 0.5 else data
        return {"data": data, "options": options, "more": more(rng) if more else {}}

    def run(case: Case, folder: Path) -> None:
        path = folder / file
        path.write_bytes(case["data"])
        for other, content in case["more"].items():
            (folder / other).write_bytes(content)
        try:
            check(path, case["data"], case["options"])
        except MissingExtraError:
            raise
        except CLEAR as error:
            if file not in str(error) and not any(other in str(error) for other in case["more"]):
                raise Fault("unnamed", f"the error names no file: {error}") from error
            raise

    def smaller(case: Case) -> Iterator[Case]:
        yield from (case | {"data": data} for data in halves(case["data"]))

    def cases() -> Any:
        return strategy().map(lambda pair: {"data": pair[0], "options": pair[1], "more": {}})

    return Target(
        name, "readers", draw_case, run, smaller=smaller, weight=weight,
        strategy=None if strategy is None else cases,
    )  # fmt: skip


# tables of text

_NAMES = ("qid", "score", "relevance", "sex", "id", "cost", "position", "x1", "x2", "name", "")
_LABELS = ("f", "m", "a b", "é", "1", "2", "01", "2.5", "", "NA", "null", "x,y", 'say "x"', "a\nb")


def csv_text(rng: random.Random, names: Sequence[str] = _NAMES) -> tuple[bytes, dict[str, Any]]:
    """Draw a small CSV file, with options that name some of its columns."""
    header = rng.sample(names, rng.randint(1, min(6, len(names))))
    if rng.random() < 0.8 and "qid" in names:
        header = list(dict.fromkeys(["qid", "score", *header]))
    delimiter = rng.choice([",", ",", ",", "\t", ";", "|"])
    end = rng.choice(["\n", "\n", "\r\n", "\r"])
    odd = rng.random() < 0.4
    n_rows = rng.choice([0, 1, 3, 8, 8])
    rows = [[_cell(rng, name, odd) for name in header] for _ in range(n_rows)]
    lines = [
        delimiter.join(_quoted(rng, cell, delimiter) for cell in row) for row in [header, *rows]
    ]
    text = end.join(lines) + ("" if rng.random() < 0.2 else end)
    if rng.random() < 0.05:
        text = "\ufeff" + text
    known = [name for name in header if name]
    options: dict[str, Any] = {"delimiter": delimiter}
    if known and rng.random() < 0.7:
        options["sensitive"] = rng.sample(known, 1)
    if known and rng.random() < 0.3:
        options["features"] = rng.sample(known, rng.randint(0, len(known)))
    for role in ("query", "relevance", "score", "position", "cost", "id"):
        if rng.random() < 0.05:
            options[role] = rng.choice([*known, False, "no such column"])
    if rng.random() < 0.3:
        options["missing_sensitive"] = rng.choice(["unknown", "category"])
    if rng.random() < 0.3:
        options["missing_relevance"] = "irrelevant"
    return text.encode(), options


def _cell(rng: random.Random, name: str, odd: bool) -> str:
    if odd and rng.random() < 0.1:
        return rng.choice(_LABELS)
    if name == "position":
        return str(rng.randrange(9))
    if name in ("score", "relevance", "cost", "x1", "x2", "preference", "weight"):
        return number_text(rng, odd)
    if name in ("qid", "id", "first", "second"):
        return rng.choice(["1", "2", "3", "q1", str(rng.randrange(50)), *_LABELS[:4]])
    return rng.choice(_LABELS[: 9 if odd else 4])


def _quoted(rng: random.Random, cell: str, delimiter: str) -> str:
    if rng.random() < 0.1 or any(sign in cell for sign in (delimiter, '"', "\n", "\r")):
        return '"' + cell.replace('"', '""') + '"'
    return cell


_RECOGNISED = {
    "query": {"qid", "query", "query_id", "list", "list_id"},
    "relevance": {"relevance", "rel", "label", "grade", "y", "y_true"},
    "score": {"score", "scores", "y_score", "prediction"},
    "position": {"position", "rank"},
    "cost": {"cost"},
    "id": {"id", "ids", "doc_id", "docid", "item_id"},
}


def _roles(header: list[str], options: dict[str, Any]) -> dict[str, int]:
    """Return the column of each role, as the documentation of `read_csv` says."""
    found = {}
    given = {role: options.get(role) for role in _RECOGNISED}
    taken = {name for name in given.values() if name}
    taken |= {*options.get("sensitive", ()), *options.get("features", ())}
    for role, name in given.items():
        if name:
            found[role] = header.index(name)
        elif name is None and not (
            role in ("score", "position") and (given["score"] or given["position"])
        ):
            fits = [
                at
                for at, column in enumerate(header)
                if column.strip().lower() in _RECOGNISED[role] and column not in taken
            ]
            found |= {role: fits[0]} if fits else {}
    return found


def _check_table(data: Any, rows: list[list[str]], options: dict[str, Any], what: str) -> None:
    """Compare data with the rows of the file, cell by cell."""
    header, rows = rows[0], rows[1:]
    if data.n_rows != len(rows):
        kind = "loss" if data.n_rows < len(rows) else "duplicate"
        raise Fault(kind, f"{what}: {data.n_rows} rows of {len(rows)}")
    roles = _roles(header, options)
    columns = {"relevance": data.y, "score": data.score, "cost": data.cost}
    for role, values in columns.items():
        if (values is not None) != (role in roles):
            raise Fault("loss", f"{what}: {role} is {values} with the columns {header}")
        if values is not None:
            wanted = numbers([row[roles[role]] for row in rows])
            if role == "relevance" and options.get("missing_relevance") == "irrelevant":
                wanted = [0.0 if each != each else each for each in wanted]
            if not same_numbers(data.to_original(values).tolist(), wanted):
                raise Fault("value", f"{what}: {role} differs")
    query = data.qids[data.query_of_rows()]
    if "query" in roles:
        _check_labels(data.to_original(query), [row[roles["query"]] for row in rows], "query", what)
    elif data.n_queries != 1:
        raise Fault("value", f"{what}: {data.n_queries} queries without a column of them")
    if "id" in roles:
        _check_labels(data.to_original(data.ids), [row[roles["id"]] for row in rows], "id", what)
    for name in options.get("sensitive", ()):
        attribute = data.sensitive[name]
        labels = np.array(attribute.categories, dtype=object)[attribute.codes]
        cells = [_cleaned(row[header.index(name)]) for row in rows]
        labels = np.array([_cleaned(str(label)) for label in labels.tolist()], dtype=object)
        _check_labels(data.to_original(labels), cells, name, what)
    for at, name in enumerate(data.feature_names or ()):
        wanted = numbers([row[header.index(name)] for row in rows])
        if not same_numbers(data.to_original(data.X[:, at]).tolist(), wanted):
            raise Fault("value", f"{what}: feature {name!r} differs")


def _check_labels(found: np.ndarray, cells: list[str], name: str, what: str) -> None:
    """Check that equal cells have equal labels and different cells different ones."""
    pairs = {(str(label), cell) for label, cell in zip(found.tolist(), cells, strict=True)}
    by_cell = {cell for _, cell in pairs}
    present = [(label, cell) for label, cell in pairs if cell not in _MISSING]
    if len(pairs) > len(by_cell):
        raise Fault("value", f"{what}: equal cells of {name!r} have different labels")
    for label, cell in present:
        if label != cell and not _equal_numbers(label, cell):
            raise Fault("value", f"{what}: {name!r} is {label!r} where the cell is {cell!r}")


_MISSING = {"", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "<NA>"}
_UNKNOWN = {"", "na", "n/a", "<na>", "null", "nan", "unknown", "?", "-", "(missing)"}


def _cleaned(label: str) -> str:
    """Return what the spellings of a group share; empty if it is unknown."""
    plain = " ".join(unicodedata.normalize("NFC", label).split()).casefold()
    return "" if plain in _UNKNOWN else unicodedata.normalize("NFC", plain)


def _equal_numbers(label: str, cell: str) -> bool:
    try:
        return float(label) == float(cell)
    except ValueError:
        return False


def _check_csv(path: Path, data: bytes, options: dict[str, Any]) -> None:
    found = read_csv(path, **options)
    _check_table(found, csv_rows(data, options["delimiter"]), options, "read_csv")


def _check_csv_fast(path: Path, data: bytes, options: dict[str, Any]) -> None:
    """Read as a large file, by pyarrow in blocks of few bytes, and compare with a small one."""
    small, block = delimited._SMALL, delimited._BYTES
    slow = _outcome(lambda: read_csv(path, **options))
    try:
        delimited._SMALL, delimited._BYTES = 0, 64 + len(data) % 997
        fast = _outcome(lambda: read_csv(path, **options))
    finally:
        delimited._SMALL, delimited._BYTES = small, block
    if isinstance(slow, str) or isinstance(fast, str):
        if slow != fast:
            raise Fault("value", f"a small file: {slow}; a large one: {fast}")
        raise equirank.DataError(slow)
    if slow.fingerprint() != fast.fingerprint() or slow.feature_names != fast.feature_names:
        raise Fault("value", "a small and a large file differ")
    _check_table(fast, csv_rows(data, options["delimiter"]), options, "read_csv by pyarrow")


def _outcome(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except CLEAR as error:
        return str(error)


def _check_table_file(path: Path, data: bytes, options: dict[str, Any]) -> None:
    """Read as the configurations do: all columns that are not named are features."""
    kind = "tsv" if options["delimiter"] == "\t" else "csv"
    file = TableFile(path, kind, FileOptions(delimiter="tab" if kind == "tsv" else "comma"))
    names = [name for name in file.columns if name]
    labels = file.labels(names[:2])
    query = names[0] if names else None
    found, _ = file.read(names[1:], query=query)
    rows = csv_rows(data, "\t" if kind == "tsv" else ",")
    for name in names[:2]:
        if len(labels[name]) != len(rows) - 1:
            raise Fault("loss", f"{len(labels[name])} labels of {len(rows) - 1} rows")
    if found.n_rows != len(rows) - 1:
        raise Fault("loss", f"{found.n_rows} rows of {len(rows) - 1}")


def _check_sheet(path: Path, data: bytes, options: dict[str, Any]) -> None:
    sheet = Sheet.read(path, delimiter=options["delimiter"])
    for name in list(sheet.columns)[:3]:
        sheet.words(name)
        sheet.numbers(name)
        sheet.integers(name)


def _csv_strategy() -> Any:
    from hypothesis import strategies as st

    letters = st.characters(codec="utf-8")
    cell = st.text(letters, max_size=5) | st.floats().map(repr) | st.integers().map(str)
    row = st.lists(cell, min_size=1, max_size=4)
    text = st.lists(row, max_size=5).map(lambda rows: "\n".join(map(",".join, rows)).encode())
    header = st.sampled_from([b"qid,score\n", b"sex,relevance,score\n", b"a,b,c\n", b""])
    options = st.sampled_from([{}, {"sensitive": ["sex"]}, {"features": []}])
    data = st.tuples(header, text | st.binary(max_size=60)).map(b"".join)
    return st.tuples(data, options.map(lambda given: {"delimiter": ",", **given}))


# SVMlight


def letor_text(rng: random.Random, qid: bool = True) -> tuple[bytes, dict[str, Any]]:
    """Draw a small file of LETOR, with options."""
    lines, odd = [], rng.random() < 0.4
    for _ in range(rng.choice([0, 1, 2, 5, 9])):
        words = [number_text(rng, odd)]
        if qid:
            words.append(f"qid:{rng.choice([1, 1, 2, 3, -4, 2**63 - 1])}")
        ids = sorted(rng.sample(range(1, 9), rng.randint(0, 5)))
        if rng.random() < 0.05:
            rng.shuffle(ids)
        if rng.random() < 0.005:
            ids.append(rng.choice([10**4, 10**6, 10**8, 2**31 - 1, 2**31]))
        words += [f"{each}:{number_text(rng, odd).strip()}" for each in ids]
        if rng.random() < 0.2:
            words.append(rng.choice(["# docid = GX1", "#", "# é", "#a b"]))
        lines.append(rng.choice([" ", " ", "\t", "  "]).join(words))
        if rng.random() < 0.1:
            lines.append(rng.choice(["", "# a comment", "   "]))
    options: dict[str, Any] = {}
    if rng.random() < 0.3:
        options["sparse"] = True
    if rng.random() < 0.1:
        options["zero_based"] = True
    if rng.random() < 0.1:
        options["n_features"] = rng.choice([1, 8, 9, 9])
    if rng.random() < 0.03:
        options["ids_from_comments"] = True
    if rng.random() < 0.1:
        options["dtype"] = "float32"
    return rng.choice(["\n", "\n", "\r\n"]).join(lines).encode(), options


def trec_text(rng: random.Random) -> tuple[bytes, dict[str, Any]]:
    """Draw a small TREC run, with options."""
    lines, odd = [], rng.random() < 0.2
    names = rng.sample("abcdefghijklmnopqrstuvwxyz", 9)
    for name in names[: rng.choice([0, 1, 2, 5, 9])]:
        query, score = rng.choice(["1", "1", "q2", "é"]), number_text(rng, odd)
        words = [query, "Q0", name, "1", score, "tag"]
        words += rng.choice([[], [], [], ["and", "more"]])
        lines.append(rng.choice([" ", "\t", "  "]).join(words))
        if rng.random() < 0.1:
            lines.append(rng.choice(["", "   ", "# a comment", "#1 Q0 z 1 2 tag"]))
    options = {"ties": "trec"} if rng.random() < 0.3 else {}
    return rng.choice(["\n", "\n", "\r\n"]).join(lines).encode(), options


def _check_trec(path: Path, data: bytes, options: dict[str, Any]) -> None:
    found = read_trec(path, **options)
    rows = trec_rows(data)
    query = found.qids[found.query_of_rows()].tolist()
    seen = sorted(zip(query, found.ids.tolist(), found.score.tolist(), strict=True))
    if seen != sorted(rows):
        raise Fault("value", "rows differ")
    first: dict[str, list[float]] = {}
    for name, _, score in rows:
        first.setdefault(name, []).append(score)
    for name, score, position in zip(query, found.score, found.position, strict=True):
        above = sum(other > score for other in first[name])
        last = above + (first[name].count(score) if options else 1)
        if not above < position <= last:
            raise Fault("value", f"position {position} of a document with {above} above it")


def _check_letor(path: Path, data: bytes, options: dict[str, Any]) -> None:
    found = read_letor(path, **options)
    rows = letor_rows(data)
    if found.n_rows != len(rows):
        kind = "loss" if found.n_rows < len(rows) else "duplicate"
        raise Fault(kind, f"{found.n_rows} rows of {len(rows)}")
    if not same_numbers(found.to_original(found.y).tolist(), [row[0] for row in rows]):
        raise Fault("value", "labels differ")
    query = found.to_original(found.qids[found.query_of_rows()]).tolist()
    if rows[0][1] is not None and query != [row[1] for row in rows]:
        raise Fault("value", "queries differ")
    if found.X is None:
        return
    X = found.X[found.to_original(np.arange(found.n_rows))]
    base = 0 if options.get("zero_based") else 1
    for at, (_, _, features) in enumerate(rows):
        cast = {name - base: X.dtype.type(value) for name, value in features.items()}
        wanted = {column: value for column, value in cast.items() if value}
        row = X[[at]]
        columns = row.nonzero()[1].tolist()
        if sorted(wanted) != sorted(columns) or not same_numbers(
            [row[0, column] for column in columns], [wanted[column] for column in columns]
        ):
            raise Fault("value", f"features of row {at} differ")


def _sizes(rng: random.Random) -> dict[str, bytes]:
    if rng.random() < 0.3:
        return {}
    text = "\n".join(str(rng.choice([1, 1, 2, 3, 5])) for _ in range(rng.randint(0, 4))).encode()
    return {"input.txt.query": mutated(rng, text) if rng.random() < 0.3 else text}


# Parquet


@cache
def _arrow() -> Any:
    try:
        return require("pyarrow", "data"), require("pyarrow.parquet", "data")
    except MissingExtraError:
        return None


def parquet_bytes(rng: random.Random) -> tuple[bytes, dict[str, Any]]:
    """Draw a small Parquet file with columns of many types, and options."""
    arrow, parquet = _arrow()
    n = rng.choice([0, 1, 4, 9])
    names = rng.sample([name for name in _NAMES if name], rng.randint(1, 5))
    if rng.random() < 0.8:
        names = list(dict.fromkeys(["qid", "score", *names]))
    columns = {name: _arrow_column(rng, arrow, name, n) for name in names}
    file = io.BytesIO()
    options = {"compression": rng.choice(["snappy", "none", "gzip"])}
    parquet.write_table(arrow.table(columns), file, row_group_size=max(1, n // 2), **options)
    chosen: dict[str, Any] = {}
    if rng.random() < 0.7:
        chosen["sensitive"] = rng.sample(names, 1)
    if rng.random() < 0.3:
        chosen["features"] = rng.sample(names, rng.randint(0, len(names)))
    if rng.random() < 0.3:
        chosen["missing_sensitive"] = rng.choice(["unknown", "category"])
    return file.getvalue(), chosen


def _arrow_column(rng: random.Random, arrow: Any, name: str, n: int) -> Any:
    """Draw a column: usually one that fits its name, sometimes of any type."""
    usual = {"qid": "int", "score": "float", "relevance": "float", "sex": "text", "cost": "float"}
    kind = usual.get(name, "float")
    if rng.random() < 0.25:
        kind = rng.choice(
            ["single", "dictionary", "bool", "struct", "list", "date", "decimal", "null", "big"]
        )
    draws: dict[str, Callable[[], Any]] = {
        "int": lambda: rng.randrange(3),
        "big": lambda: 2**53 + rng.randrange(3),
        "float": lambda: rng.choice([0.5, 1.0, 2.0, 1e300, float("nan"), rng.random()]),
        "single": lambda: rng.choice([0.5, 1.0, 2.0]),
        "text": lambda: rng.choice(_LABELS),
        "dictionary": lambda: rng.choice(_LABELS),
        "bool": lambda: rng.random() < 0.5,
        "struct": lambda: {"a": rng.randrange(3)},
        "list": lambda: [rng.randrange(3)] * rng.randrange(3),
        "date": lambda: rng.randrange(20000),
        "decimal": lambda: rng.randrange(100),
        "null": lambda: None,
        "binary": lambda: rng.randbytes(2),
    }
    types = {
        "int": arrow.int64(),
        "big": arrow.int64(),
        "float": arrow.float64(),
        "single": arrow.float32(),
        "text": arrow.string(),
        "dictionary": arrow.string(),
        "bool": arrow.bool_(),
        "struct": arrow.struct([("a", arrow.int64())]),
        "list": arrow.list_(arrow.int64()),
        "date": arrow.int32(),
        "decimal": arrow.int64(),
        "null": arrow.null(),
        "binary": arrow.binary(),
    }
    holes = 0.1 if rng.random() < 0.2 else 0.0
    values = [None if rng.random() < holes else draws[kind]() for _ in range(n)]
    column = arrow.array(values, types[kind])
    if kind == "dictionary":
        return column.dictionary_encode()
    if kind == "date":
        return column.cast(arrow.date32())
    return column.cast(arrow.decimal128(30, 2)) if kind == "decimal" else column


def _check_parquet(path: Path, data: bytes, options: dict[str, Any]) -> None:
    found = read_parquet(path, **options)
    file = _arrow()[1].ParquetFile(path)
    header = file.schema_arrow.names
    roles = _roles(header, options)
    used = {header[at] for at in roles.values()} | {*found.sensitive, *(found.feature_names or ())}
    table = file.read([name for name in header if name in used])  # others may be damaged
    for n_rows in (table.num_rows, file.metadata.num_rows):
        if found.n_rows != n_rows:
            kind = "loss" if found.n_rows < n_rows else "duplicate"
            raise Fault(kind, f"{found.n_rows} rows of {n_rows}")
    for role, values in {"relevance": found.y, "score": found.score, "cost": found.cost}.items():
        if role in roles and values is not None:
            wanted = [
                float(v) for v in table.column(header[roles[role]]).to_pylist() if v is not None
            ]
            if not same_numbers(found.to_original(values).tolist(), wanted):
                raise Fault("value", f"{role} differs")


# pairs


def pair_text(rng: random.Random) -> tuple[bytes, dict[str, Any]]:
    """Draw a file of comparisons; items are row numbers or names."""
    data, options = csv_text(rng, ("first", "second", "preference", "weight"))
    if rng.random() < 0.7:
        pairs = [rng.sample("0123", 2) for _ in range(4)]
        rows = [[*pair, number_text(rng, rng.random() < 0.1)] for pair in pairs]
        lines = ["first,second,preference", *(",".join(row) for row in rows)]
        data, options = "\n".join(lines).encode(), {"delimiter": ","}
    chosen: dict[str, Any] = {"delimiter": options["delimiter"]}
    if rng.random() < 0.4:
        chosen["ids"] = rng.choice([["0", "1", "2", "3"], ["a", "b"], [1, 2, 3, 0]])
    return data, chosen


def _check_pairs(path: Path, data: bytes, options: dict[str, Any]) -> None:
    found = read_pairs(path, **options)
    rows = csv_rows(data, options["delimiter"])
    if len(found.pairs) != len(rows) - 1:
        kind = "loss" if len(found.pairs) < len(rows) - 1 else "duplicate"
        raise Fault(kind, f"{len(found.pairs)} pairs of {len(rows) - 1}")
    names = [name.strip().lower() for name in rows[0]]
    if "preference" in names and found.preference is not None:
        wanted = [number(row[names.index("preference")]) for row in rows[1:]]
        if not same_numbers(found.preference.tolist(), wanted):
            raise Fault("value", "preference differs")


# configurations

_CONFIG = """metrics = {metrics}

[data]
path = "people.csv"
{data}

[split]
{split}

[[models]]
name = {name}
class = {kind}
params = {params}
{rerank}
"""


def config_text(rng: random.Random) -> tuple[bytes, dict[str, Any]]:
    """Draw a configuration of train and compare."""

    def pick(*words: str) -> str:
        return words[0] if rng.random() < 0.7 else rng.choice(words)

    text = _CONFIG.format(
        metrics=pick(
            '["NDCG@10"]', '["RND(step=5)@50", "NDCG"]', "[]", '"NDCG"', "[1]", '["NDGC"]'
        ),
        data=pick(
            'query = "qid"\nrelevance = "relevance"\nsensitive = ["sex"]',
            'format = "csv"\nfeatures = ["x1"]\nencoding = "ordinal"',
            'query = 1\nsensitive = "sex"',
            'features = []\nmissing_sensitive = "category"',
        ),
        split=pick(
            'by = "query"\ntest = 0.25', "folds = 3\nseed = [0, 1]", "seed = -1", "test = nan"
        ),
        name=pick('"a"', '""', "1", '"boost"', '"\\u0000"'),
        kind=pick('"RankBoost"', '"RankSVM"', '"Ridge"', '"os.system"', '"DataError"', '"NDCG"'),
        params=pick(
            "{}", "{ n_estimators = 3 }", "{ C = nan }", "{ a = 1 }", "[1]", "{ C = [[1]] }"
        ),
        rerank=pick(
            "",
            'rerank = "DetGreedy"',
            'rerank = { class = "FAStarIR", params = { p = 0.4 } }',
            'rerank = ["DetGreedy", { class = "RooneyRule" }]',
            "rerank = 3",
        ),
    )
    return text.encode(), {}


def _check_config(path: Path, data: bytes, options: dict[str, Any]) -> None:
    found = read_config(str(path))
    if len(found.estimators) != len(found.models) or not found.models:
        raise Fault("loss", "models of one name, or none")
    found.model(None)


# results and stores


@cache
def _audits() -> tuple[str, ...]:
    sex = {"sex": list("mmffmf")}
    small = equirank.audit(score=[6, 5, 4, 3, 2, 1], sensitive=sex, n_boot=0)
    more = equirank.audit(
        score=[4, 3, 2, 1, 5, 6],
        sensitive=sex,
        query=[1, 1, 1, 2, 2, 2],
        relevance=[1, 0, 2, 0, 1, 1],
        n_boot=10,
        n_permutations=10,
    )
    return small.to_json(), more.to_json()


def _audit_text(rng: random.Random) -> tuple[bytes, dict[str, Any]]:
    text = rng.choice(_audits())
    if rng.random() < 0.5:
        text = json.dumps(_edited(rng, json.loads(text)))
    return text.encode(), {}


def _edited(rng: random.Random, value: Any) -> Any:
    """Replace one value somewhere in a JSON document, or remove it."""
    values = [
        None,
        True,
        -1,
        1e308,
        "",
        "x",
        [],
        {},
        [[]],
        "\ud800".encode("utf-16", "surrogatepass").hex(),
    ]
    if isinstance(value, dict) and value and rng.random() < 0.85:
        key = rng.choice(list(value))
        if rng.random() < 0.1:
            return {k: v for k, v in value.items() if k != key}
        return value | {key: _edited(rng, value[key])}
    if isinstance(value, list) and value and rng.random() < 0.7:
        at = rng.randrange(len(value))
        if rng.random() < 0.1:
            return value[:at] + value[at + 1 :]
        return [*value[:at], _edited(rng, value[at]), *value[at + 1 :]]
    return rng.choice(values)


def _check_audit(path: Path, data: bytes, options: dict[str, Any]) -> None:
    result = equirank.AuditResult.from_json(path)
    again = equirank.AuditResult.from_json(result.to_json())
    if again.to_json() != result.to_json():
        raise Fault("value", "the audit changes when it is written and read")


def _cell_of_store() -> tuple[Cell, bytes]:
    cell = Cell({"NDCG": np.array([0.5, np.nan, 0.25])}, {"NDCG": 0.375}, {}, 0.5, 0.25)
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        Store(folder).write("key", cell, {"seed": 0})
        return cell, (Path(folder) / "key.json").read_bytes()


_STORED = cache(_cell_of_store)


def _check_store(path: Path, data: bytes, options: dict[str, Any]) -> None:
    """Read a cell, which is the one written or none."""
    found, (cell, _) = Store(path.parent).read(path.stem), _STORED()
    if found is not None and not (
        same_numbers(found.values["NDCG"].tolist(), cell.values["NDCG"].tolist())
        and found.summary == cell.summary
        and (found.fit_seconds, found.other_seconds) == (cell.fit_seconds, cell.other_seconds)
    ):
        raise Fault("value", "a damaged cell is read")
    if found is None:
        raise equirank.FormatError(f"{path.name} is ignored")


# metrics as text


def _metric_case(rng: random.Random) -> Case:
    name = rng.choice(metric_names())
    ends = ["", "@10", "(step=5)", '(protected="f")@5', "(k=3)", "@0", "@1.5", '(by=("a", "b"))']
    text = (name + rng.choice(ends) + rng.choice(["", ", NDCG", ",", " "])).encode()
    if rng.random() < 0.7:
        text = mutated(rng, text, (b"(", b")", b"@", b"-", b"not ", b"[" * 50, b"{" * 50, b"**"))
    return {"data": text}


def _run_metric(case: Case, folder: Path) -> None:
    found = parse_metrics(case["data"].decode("utf-8", "replace"))
    for metric in found:
        if parse_metrics(str(metric)) != [metric]:
            raise Fault("value", f"{metric} does not parse back")


def _smaller_bytes(case: Case) -> Iterator[Case]:
    yield from (case | {"data": data} for data in halves(case["data"]))


def _people(rng: random.Random) -> dict[str, bytes]:
    return {"people.csv": b"qid,score,relevance,sex,x1\n1,1,1,f,2\n1,2,0,m,3\n"}


TARGETS = [
    file_reader("csv", "input.csv", csv_text, _check_csv, strategy=_csv_strategy, weight=2),
    file_reader("table file", "input.csv", csv_text, _check_table_file),
    file_reader("sheet", "input.csv", csv_text, _check_sheet),
    file_reader("letor", "input.txt", letor_text, _check_letor, tokens=(b"qid:", b" 1:0")),
    file_reader(
        "svmlight", "input.txt", lambda rng: letor_text(rng, qid=False), _check_letor, more=_sizes
    ),
    file_reader("trec", "input.txt", trec_text, _check_trec, tokens=(b" Q0 ", b" nan ")),
    file_reader("pairs", "input.csv", pair_text, _check_pairs),
    file_reader(
        "configuration", "input.toml", config_text, _check_config, packed=False, more=_people
    ),
    file_reader("audit", "input.json", _audit_text, _check_audit, packed=False),
    file_reader("store", "input.json", lambda rng: (_STORED()[1], {}), _check_store, packed=False),
    Target("metric text", "readers", _metric_case, _run_metric, smaller=_smaller_bytes),
]
if _arrow() is not None:
    TARGETS += [
        file_reader("csv by pyarrow", "input.csv", csv_text, _check_csv_fast),
        file_reader("parquet", "input.parquet", parquet_bytes, _check_parquet, packed=False),
    ]
