"""Files for the studio: read from memory, guessed, and refused in words; the examples."""

import csv
import hashlib
import io
import re
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..core.errors import DataError, EquirankWarning, MissingExtraError
from ..io.files import FileInMemory
from .answers import ColumnFacts, Example, FileFacts, Limits, Offer, Progress, StudioError, Upload

if TYPE_CHECKING:
    from ..io.column_roles import Guess

__all__ = ["caught", "column_roles", "counted_words", "examples", "load_example", "read_upload"]

#: Longer names of files are cut.
LONGEST_NAME = 120
#: Rows up to which the data are read together with the guess.
PARSED_AT_ONCE = 2_000_000
#: The first bytes of an encrypted workbook, and the name of its content within.
OLE = b"\xd0\xcf\x11\xe0"
ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
#: The last bytes of a Parquet file whose metadata are encrypted.
SEALED = b"PARE"
#: What a message says about arguments, which the page has not.
HINT = re.compile(r"; encoding can name another$")
#: What a message says about a file that is not of the kind its name promises.
DAMAGED = re.compile(r": must be a (workbook|Parquet file)")
SAVE_AGAIN = "Save it again, as CSV for example, and open that file."
SUPPORTED = "The studio reads CSV, Excel and Parquet files with one row per person."


def read_upload(
    name: str,
    content: bytes,
    limits: Limits | None = None,
    progress: Progress | None = None,
    encoding: str = "",
) -> Upload:
    """Read a file: sniff its columns, guess what they are. Pure; for a short-lived process.

    Parameters
    ----------
    name : str
        Its name; folders are left out.
    content : bytes
        The file.
    limits : Limits, optional
        The largest file and the most rows.
    progress : callable, optional
        Called with the share done and words.
    encoding : str
        The encoding of a text file, of `ENCODINGS`; by default it is guessed.

    Raises
    ------
    StudioError
        ``"size"`` if it is too large, ``"data"`` if it is damaged, encrypted or of an unknown kind.
    """
    from ..io.column_roles import guess_columns

    limits, tell = limits or Limits(), progress or (lambda share, words: None)
    name = _plain_name(name)
    if len(content) > limits.max_bytes:
        raise StudioError("size", _too_large(len(content), limits))
    if not content:
        raise StudioError("data", f"{name} is empty. {SUPPORTED}")
    tell(0.1, "Reading the columns")
    found: list[str] = []
    try:
        file, table = _opened(name, content, encoding)
        guess = caught(lambda: guess_columns(file), found)
    except StudioError as error:
        if not DAMAGED.search(error.message):
            raise
        raise StudioError("data", f"{error.message}. {SAVE_AGAIN}") from None
    if guess.rows > limits.max_rows:
        raise StudioError(
            "size",
            f"{name} has {guess.rows:,} rows, and the studio reads up to {limits.max_rows:,}. "
            "Start it with a larger --max-rows, or use equirank audit, which reads any size.",
        )
    if guess.rows == 0:
        raise StudioError("data", f"{name} has a line of names and no rows. {SUPPORTED}")
    tables = _guessed_recipe(name, content, guess, table)
    facts = _facts(name, tables["data"]["sha256"], guess, found, table)
    upload = Upload(name, content, facts, recipe=tables)
    if guess.rows > PARSED_AT_ONCE or not (guess.score or guess.position):
        return upload
    tell(0.6, "Reading the rows")
    return _with_data(upload)


def _plain_name(name: str) -> str:
    """Return a name without folders and without bytes that are no text."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1].replace("\0", "").strip()
    last = last.encode("utf-8", "replace").decode()  # a name of the system may not be in UTF-8
    return last[-LONGEST_NAME:] if last.strip(".") else "file.csv"


def _too_large(size: int, limits: Limits) -> str:
    return (
        f"The file has {size / (1 << 20):,.0f} MB, and the studio reads up to "
        f"{limits.max_bytes / (1 << 20):,.0f} MB. Start it with a larger --max-mb, or use equirank "
        "audit, which reads files of any size."
    )


def _opened(name: str, content: bytes, encoding: str = "") -> tuple[Any, dict[str, Any]]:
    """Return the file, and the keys of the recipe that say how it is read."""
    from ..io.file_options import FileOptions
    from ..io.table_file import TableFile, format_of

    file = FileInMemory(name, content)
    if content[:4] == OLE and ENCRYPTED in content:
        raise StudioError(
            "data",
            f"{name} is protected by a password. Remove the password in the spreadsheet program, "
            "save the file and open it again.",
        )
    if content[-4:] == SEALED:
        raise StudioError(
            "data",
            f"{name} is an encrypted Parquet file. Write it without encryption and open it again.",
        )
    try:
        kind: str = format_of(file)
        table: dict[str, Any] = {}
    except DataError:
        packed = content[:4] in (b"PK\x03\x04", OLE)
        kind = "excel" if packed else "parquet" if content[:4] == b"PAR1" else "csv"
        table = {"format": kind}
    if kind == "letor":
        raise StudioError(
            "data", f"{name} is a LETOR file, whose columns have no names. {SUPPORTED}"
        )
    known: dict[str, Any] = {} if kind == "parquet" else {"repeated": "number"}
    if encoding and kind in ("csv", "tsv"):
        known["encoding"] = table["file_encoding"] = encoding

    def opened() -> Any:
        found = TableFile(file, kind, FileOptions(**known))
        return found, found.columns

    try:
        found, columns = caught(opened, [])
    except StudioError as error:
        if kind != "excel" or "sheet must name" not in error.message:
            raise
        known["sheet"] = table["sheet"] = _first_sheet(content)
        found, columns = caught(opened, [])
    named = {column for column in columns if column}
    if any(column.rpartition(".")[0] in named for column in named) and known.get("repeated"):
        plain = TableFile(file, kind, FileOptions(**known | {"repeated": "error"}))
        try:
            caught(lambda: plain.columns, [])
        except StudioError:
            table["repeated"] = "number"
    return found, table


def _first_sheet(content: bytes) -> str:
    """Return the first sheet with cells."""
    from ..core.environment import require

    calamine = require("python_calamine", "excel")
    book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(content))
    for each in book.sheets_metadata:
        sheet = each.typ == calamine.SheetTypeEnum.WorkSheet
        if sheet and book.get_sheet_by_name(each.name).start is not None:
            return str(each.name)
    raise StudioError("data", f"No sheet of the workbook has a cell. {SUPPORTED}")


def caught(work: Any, found: list[str]) -> Any:
    """Return what some work returns; warnings are added to ``found``, errors become refusals."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            return work()
        except MissingExtraError as error:
            raise StudioError("data", str(error)) from None
        except (MemoryError, RecursionError):
            raise StudioError(
                "data", "The file needs more memory than the studio may use to read it."
            ) from None
        except (DataError, ValueError, OverflowError) as error:
            raise StudioError("data", str(error)) from None
        finally:
            found += dict.fromkeys(
                HINT.sub(".", str(each.message))
                for each in told
                if issubclass(each.category, EquirankWarning)
            )


def _guessed_recipe(
    name: str, content: bytes, guess: "Guess", table: dict[str, Any]
) -> dict[str, Any]:
    """Return the tables of a recipe with the guessed columns, and today's date."""
    from ..reports.provenance import report_date

    found: dict[str, Any] = {"name": name, "sha256": hashlib.sha256(content).hexdigest()}
    found |= table
    for role in ("query", "id", "score", "position", "relevance"):
        column = getattr(guess, role)
        if column is not None:
            found[role] = column
    if guess.sensitive:
        found["sensitive"] = list(guess.sensitive)
    n_lists = guess.counts.get(guess.query, 1) if guess.query else 1
    usual = min(10, max(1, guess.rows // max(n_lists, 1) // 2))
    return {"data": found, "audit": {"k": [usual], "seed": 0, "date": report_date()}}


def _facts(
    name: str, digest: str, guess: "Guess", found: list[str], table: dict[str, Any]
) -> FileFacts:
    how = {} if guess.source is None else {str(key): str(v) for key, v in guess.source.how.items()}
    remarks = [] if guess.source is None else list(guess.source.remarks)
    if "sheet" in table:
        remarks.append(
            f"The workbook has several sheets with cells; {table['sheet']!r} is read. To audit "
            "another one, save it as a file of its own."
        )
    lists = guess.counts.get(guess.query, 1) if guess.query else 1
    columns = [_column(column, guess) for column in guess.counts]
    return FileFacts(
        name=name,
        sha256=digest,
        rows=guess.rows,
        lists=lists,
        words=counted_words(name, guess.rows, lists),
        how=how,
        warnings=[*found, *remarks],
        columns=columns,
        example=False,
    )


def counted_words(name: str, rows: int, lists: int, example: bool = False) -> str:
    """Return the file in a few words: "a.csv (example): 3,213 people in 60 lists"."""
    people = f"{rows:,} {'person' if rows == 1 else 'people'}"
    many = f"{lists:,} {'list' if lists == 1 else 'lists'}"
    return f"{name}{' (example)' if example else ''}: {people} in {many}"


def _column(name: str, guess: "Guess") -> ColumnFacts:
    from ..io.label_words import label_questions
    from ..reports.number_words import joined

    labels = guess.labels.get(name, {})
    offers: list[Offer] = [
        {
            "words": question,
            "button": "Merge them" if any(names.values()) else "Count as unknown",
            "patch": {"data": {"labels": {name: names}}},
        }
        for question, names in label_questions(list(labels))
    ]
    if name in guess.bands:
        edges = list(guess.bands[name])
        words = joined([f"{edge:g}" for edge in edges])
        offers.append({
            "words": f"Compare ages in bands that begin at {words}?",
            "button": "Use these bands",
            "patch": {"roles": {name: "sensitive"}, "data": {"bands": {name: edges}}},
        })  # fmt: skip
    return ColumnFacts(
        name=name,
        first=list(guess.first.get(name, ())),
        role="ask" if name in guess.unclear else "unused",
        reason=guess.reasons.get(name, ""),
        labels=[{"label": label, "rows": rows, "shown": ""} for label, rows in labels.items()],
        offers=offers,
    )


def column_roles(table: Any) -> dict[str, str]:
    """Return what each column is by the table ``[data]`` of a recipe."""
    found = dict.fromkeys(table.get("sensitive", ()), "sensitive")
    for role in ("query", "id", "position", "relevance"):
        if role in table:
            found[table[role]] = role
    if "score" in table:
        found[table["score"]] = "score" if table.get("higher_first", True) else "score_lower"
    return found


def _with_data(upload: Upload) -> Upload:
    """Return an upload with its rows; a guess that cannot be read is left to the user."""
    from ..recipes.recipe import Recipe
    from ..recipes.recipe_run import RecipeRun

    run = RecipeRun(Recipe.from_dict(upload.recipe), FileInMemory(upload.name, upload.content))
    try:
        return replace(upload, data=caught(lambda: run.data, []))
    except StudioError:
        return upload


#: The roles of the columns of the bundled data, and names of its groups in sentences.
HIRING = {
    "query": "vacancy",
    "id": "applicant",
    "score": "score",
    "relevance": "suitability",
    "sensitive": ["sex", "age_group"],
}
SHOWN = {
    "sex=female": "women",
    "sex=male": "men",
    "age_group=under 35": "people under 35",
    "age_group=35 to 49": "people from 35 to 49",
    "age_group=50 and over": "people of 50 and over",
}
SHORTLIST = 67


def examples() -> list[Example]:
    """Return the examples: ``hiring``, ``shortlist`` and ``two_systems``."""
    return [
        {"key": "hiring", "title": "Hiring", "words": "60 vacancies, 3,213 applicants"},
        {
            "key": "shortlist",
            "title": "One shortlist",
            "words": f"one of them, {SHORTLIST} applicants",
        },
        {"key": "two_systems", "title": "Two systems", "words": "before and after a change"},
    ]


def load_example(key: str, limits: Limits | None = None) -> Upload:
    """Return an example with its columns set."""
    from ..datasets.hiring import hiring_path

    names = {"hiring": "hiring.csv", "shortlist": "shortlist.csv", "two_systems": "systems.csv"}
    if key not in names:
        raise StudioError("missing", f"There is no example {key!r}.")
    rows = list(csv.reader(io.StringIO(hiring_path().read_text(encoding="utf-8"))))
    own, against = dict[str, Any](), dict[str, Any]()
    if key == "hiring":
        content = hiring_path().read_bytes()
    else:
        rows = _shortlist(rows) if key == "shortlist" else _two_systems(rows)
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        content = text.getvalue().encode()
        if key == "two_systems":  # the old system is what the new one is compared with
            own, against = {"score": "new_score"}, {"against": {"score": "score"}}
    upload = read_upload(names[key], content, limits)
    data = {name: upload.recipe["data"][name] for name in ("name", "sha256")} | HIRING | own
    tables = upload.recipe | {"data": data, "shown": SHOWN} | against
    facts = upload.facts
    lists = facts["lists"] if key != "shortlist" else 1
    facts = FileFacts(**facts | {
        "example": True, "lists": lists,
        "words": counted_words(names[key], facts["rows"], lists or 1, example=True),
    })  # fmt: skip
    return _with_data(replace(upload, facts=facts, recipe=tables, example=True, data=None))


def _shortlist(rows: list[list[str]]) -> list[list[str]]:
    """Return the header and the rows of the first vacancy with as many applicants as promised."""
    at = rows[0].index("vacancy")
    sizes: dict[str, int] = {}
    for row in rows[1:]:
        sizes[row[at]] = sizes.get(row[at], 0) + 1
    chosen = next(name for name, size in sizes.items() if size == SHORTLIST)
    return [rows[0], *(row for row in rows[1:] if row[at] == chosen)]


def _two_systems(rows: list[list[str]]) -> list[list[str]]:
    """Return the rows with the score of a second system, which weighs test and interview alike."""
    test, interview = (rows[0].index(name) for name in ("test_score", "interview_score"))
    scores = (f"{(float(row[test]) + 10 * float(row[interview])) / 2:.1f}" for row in rows[1:])
    added = [[*row, score] for row, score in zip(rows[1:], scores, strict=True)]
    return [[*rows[0], "new_score"], *added]
