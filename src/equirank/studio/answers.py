"""Answers of the studio: plain values ready for JSON, and refusals in words."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NotRequired, TypedDict

if TYPE_CHECKING:
    from ..core.data import RankingData

__all__ = [
    "ENCODINGS",
    "MARKS",
    "ROLES",
    "STEPS",
    "STUDIO",
    "Download",
    "Job",
    "Limits",
    "StudioError",
    "Upload",
]

#: Version of the answers, as their key ``studio``.
STUDIO = 1
#: Entries that undo and redo walk through, kept settings, and people in a page.
MOST_UNDONE, MOST_KEPT, PAGE = 100, 4, 100
#: The steps of the path, in order.
STEPS = ("load", "columns", "findings", "remedy", "report")
#: What a column may be, and its words. ``ask`` is a guess the user must settle.
ROLES = {
    "query": "The list a person is in",
    "id": "Name or number",
    "score": "Score, higher first",
    "score_lower": "Score, lower first",
    "position": "Position, 1 is best",
    "relevance": "Recorded relevance: how good the person really is",
    "sensitive": "Group to look at",
    "unused": "Not used",
    "ask": "Please choose ...",
}
#: The encodings offered for a text file that is not UTF-8.
ENCODINGS = {
    "cp1252": "Western European (Windows-1252)",
    "cp1250": "Central European (Windows-1250)",
    "cp1251": "Cyrillic (Windows-1251)",
    "cp1253": "Greek (Windows-1253)",
    "cp1254": "Turkish (Windows-1254)",
    "cp1257": "Baltic (Windows-1257)",
    "mac_roman": "Western European (Macintosh)",
    "cp850": "Western European (DOS)",
    "shift_jis": "Japanese (Shift JIS)",
    "gb18030": "Chinese (GB 18030)",
    "big5": "Chinese (Big5)",
    "euc_kr": "Korean (EUC-KR)",
}
#: The words of a claim's status.
MARKS = {
    "finding": "Sure",
    "cannot_tell": "Cannot tell",
    "described": "Not measured",
    "refused": "Not measured",
}

Progress = Callable[[float, str], None]
Role = Literal["main", "other"]
JobKind = Literal["audit", "compare", "remedies", "path", "report", "uncertainty"]


class Where(TypedDict, total=False):
    """Where an error belongs; the keys that are known."""

    column: str
    row: int
    list: str
    group: str


class Action(TypedDict):
    """A button beside an error: its label, and the patch of the recipe it sends."""

    label: str
    patch: dict[str, Any]


class StudioError(Exception):
    """A refusal in words: ``kind``, ``message``, ``where``, ``actions``, and the HTTP ``status``.

    ``kind`` is ``"revision"`` (409: changed in another tab), ``"size"`` (413), ``"data"`` (422: the
    file), ``"recipe"`` (422: a setting), ``"locked"`` (422: a step before is missing), or
    ``"missing"`` (404: an unknown list, person or download).
    """

    STATUS: ClassVar[dict[str, int]] = {
        "revision": 409,
        "size": 413,
        "data": 422,
        "recipe": 422,
        "locked": 422,
        "missing": 404,
    }

    def __init__(
        self,
        kind: str,
        message: str,
        where: Where | None = None,
        actions: Sequence[Action] = (),
    ) -> None:
        super().__init__(message)
        self.kind, self.message = kind, message
        self.where: Where = where or {}
        self.actions = list(actions)
        self.status = self.STATUS[kind]

    def to_dict(self) -> dict[str, Any]:
        """Return ``{"error": {"kind", "message", "where", "actions"}}``."""
        names = ("kind", "message", "where", "actions")
        return {"error": {name: getattr(self, name) for name in names}}

    def __reduce__(self) -> tuple[Any, ...]:
        """Return how another process makes the same refusal."""
        return StudioError, (self.kind, self.message, self.where, self.actions)


class LabelFacts(TypedDict):
    """One label of a column of groups: its rows, and the name shown for it (or "")."""

    label: str
    rows: int
    shown: str


class Offer(TypedDict):
    """A change that is offered, never made silently: look-alike labels to merge, or bands."""

    words: str
    button: str
    patch: dict[str, Any]


class ColumnFacts(TypedDict):
    """One column: what it is (a key of ROLES), why, and its first values.

    ``labels`` (at most 20, else empty) and ``offers`` are those of possible groups.
    """

    name: str
    first: list[str]
    role: str
    reason: str
    labels: list[LabelFacts]
    offers: list[Offer]


class PersonRow(TypedDict):
    """One person in an order: list, id (or row number), position, score, groups, selected."""

    list: str
    person: str
    position: int
    score: float | None
    groups: dict[str, str]
    selected: bool
    new_position: NotRequired[int]


class FirstList(TypedDict):
    """The first list as read: its label, its size, and its first people, best first."""

    list: str
    size: int
    people: list[PersonRow]


class FileFacts(TypedDict):
    """A loaded file: its name (never a path), hash, counts, columns and what was guessed.

    ``words`` is the chip of the header, as in "hiring.csv (example): 3,213 people in 60 lists";
    ``how`` says how the file was read (format, encoding, delimiter), ``warnings`` what to check.
    """

    name: str
    sha256: str
    rows: int
    lists: int | None
    words: str
    how: dict[str, str]
    warnings: list[str]
    columns: list[ColumnFacts]
    example: bool


class Step(TypedDict):
    """One step of the path; ``missing`` says what a locked step lacks, else ""."""

    key: str
    title: str
    missing: str


class State(TypedDict):
    """What a tab shows: revision, step (the furthest open one), file facts and recipe.

    ``recipe`` is the recipe as tables, ``toml`` its text. ``first_list`` is None until a score or a
    position is named. ``waiting_for`` is the name of the file a recipe was made for, until that is
    loaded.
    """

    studio: int
    revision: int
    step: str
    steps: list[Step]
    file: FileFacts | None
    other: FileFacts | None
    first_list: FirstList | None
    recipe: dict[str, Any]
    toml: str
    undo: int
    redo: int
    warnings: list[str]
    waiting_for: str
    kept: list[dict[str, Any]]


class Statement(TypedDict):
    """A sentence: its mark (a value of MARKS), the claim's status and ids."""

    mark: str
    status: str
    sentence: str
    claims: list[str]


class SelectedBar(TypedDict):
    """One bar of the picture of who is selected: the share of a group in the top k."""

    attribute: str
    group: str
    shown: str
    k: int
    selected: float
    people: int
    rate: float
    text: str
    too_few: bool


class Findings(TypedDict):
    """The answer of an audit.

    ``complete`` is False for the quick audit: then ``headline`` is None, ``statements`` is empty,
    and ``waiting`` says "Working out how sure this is". ``warnings`` go above the headline (many
    ties), ``refusals`` say what cannot be given and why, ``notes`` are further remarks.
    ``attributes`` are the choices of "Look at", ``attribute`` the present one, ``ks`` the cutoffs.
    ``tables`` maps a name of `AuditResult.tables` to ``{"columns": [...], "rows": [[...]]}``.
    """

    studio: int
    revision: int
    complete: bool
    headline: Statement | None
    statements: list[Statement]
    waiting: str
    warnings: list[str]
    refusals: list[str]
    notes: list[str]
    attributes: list[str]
    attribute: str
    ks: list[int]
    bars: list[SelectedBar]
    tables: dict[str, dict[str, Any]]


class Control(TypedDict):
    """A slider with its number field: the recipe's key, label, range, value and unit.

    ``path`` are the keys of the value in the remedy, joined by dots; the remedy holds ``scale``
    times the value. ``steps`` are the values at which the selected people change, ascending;
    ``same`` says where they stay the same: "From 40% to 49% the same people are selected." Both
    are empty until a path was computed.
    """

    key: str
    label: str
    low: float
    high: float
    step: float
    value: float
    unit: str
    steps: list[float]
    same: str
    path: str
    scale: float


class MethodFacts(TypedDict):
    """One choice of "What should hold": plain name, method, sidedness and controls.

    ``remedy`` is the complete table of the recipe for this choice with its present or default
    settings: send it to ``try_remedy``, or patch ``remedy`` with it. ``current`` is True for the
    method in force. ``disabled`` says why the
    choice cannot be made with these data, else "".
    """

    key: str
    plain_name: str
    hint: str
    method: str | None
    two_sided: bool
    blind: bool
    disabled: str
    controls: list[Control]
    remedy: dict[str, Any] | None
    current: bool


class RemedyFacts(TypedDict):
    """What the remedy screen starts from: methods, groups and lists to choose from.

    ``groups`` are ``{"attribute", "group", "shown", "chosen"}``; ``lists`` ``{"list", "moves"}``;
    ``crossed`` says how groups of two columns together are treated, else ""; ``law`` is the fixed
    note.
    """

    studio: int
    revision: int
    methods: list[MethodFacts]
    groups: list[dict[str, Any]]
    lists: list[dict[str, Any]]
    k: int
    crossed: str
    law: str


class Guarantee(TypedDict):
    """The guarantee in words, what it does not cover, and in how many lists it is kept."""

    words: str
    not_covered: str
    empty: bool
    before: int
    after: int
    of: int
    misses: list[str]


class Moves(TypedDict):
    """Who moves: people, lists, and by group how many join and leave the selected."""

    people: int
    lists: int
    joins: dict[str, int]
    leaves: dict[str, int]


class Measure(TypedDict):
    """A measure before and after, with its texts."""

    key: str
    label: str
    before: float | None
    after: float | None
    text: list[str]


class TryAnswer(TypedDict):
    """The answer to `try_remedy`, as in the specification; the server adds ``regions``.

    ``head`` is the sentence of the status line, ``group`` the group of interest.
    ``charts["slope"]`` has one row per person of the list that is near the selected or moves:
    person, group, shown, before, after (0: not shown), joins, leaves.
    """

    studio: int
    revision: int
    seq: int
    head: list[str]
    group: str
    guarantee: Guarantee
    moves: Moves
    measures: list[Measure]
    list: str
    charts: dict[str, list[dict[str, Any]]]
    notes: list[str]


class PathPoint(TypedDict):
    """One setting of the trade-off: its value, the share of the group, the measures.

    ``same`` is True where the selected people are those of the point before.
    """

    value: float
    text: str
    share: float | None
    mean_score: float | None
    ndcg: float | None
    people: int
    same: bool
    holds: bool


class PathAnswer(TypedDict):
    """The trade-off of the main control: points, and the ranges with the same people."""

    studio: int
    revision: int
    key: str
    given: PathPoint
    points: list[PathPoint]
    ranges: list[dict[str, Any]]
    axes: list[str]


class RemedyRow(TypedDict):
    """One remedy of `equirank.remedy`: blind or aware, whether it reaches the target, its cost."""

    name: str
    kind: str
    blind: bool
    reaches: bool
    sentence: str
    target: float | None
    quality: float | None
    text: list[str]
    remedy: dict[str, Any] | None


class RemediesAnswer(TypedDict):
    """The remedies of `equirank.remedy`: target, rows (blind first told apart) and picture points.

    ``points`` are ``{"name", "blind", "x", "y", "label"}``; ``axes`` the titles of both axes;
    ``given`` the texts of both quantities in the given order.
    """

    studio: int
    revision: int
    target: str
    rows: list[RemedyRow]
    points: list[dict[str, Any]]
    axes: list[str]
    given: list[str]
    notes: list[str]


class ExplainAnswer(TypedDict):
    """Why a person has its position: sentences and facts."""

    studio: int
    person: str
    list: str
    sentences: list[str]
    facts: dict[str, Any]


class PeoplePage(TypedDict):
    """A page of 100 people; ``next`` is the ``after`` of the next page, or None."""

    studio: int
    list: str
    total: int
    people: list[PersonRow]
    next: int | None


class CompareAnswer(TypedDict):
    """A second file or score column: unmatched counts first, then both side by side.

    ``titles`` name this ranking and the other. ``summaries`` are rows of measure, this, other;
    ``statements`` come with the full audit only.
    """

    studio: int
    revision: int
    complete: bool
    titles: list[str]
    unmatched: list[str]
    summaries: list[dict[str, Any]]
    statements: list[Statement]
    refusals: list[str]
    notes: list[str]


@dataclass(frozen=True)
class Download:
    """A file to save: its name, media type and bytes."""

    name: str
    media_type: str
    content: bytes


@dataclass(frozen=True)
class Limits:
    """The largest file in bytes and rows, and bytes that cached answers may take."""

    max_bytes: int = 256 << 20
    max_rows: int = 2_000_000
    cache_bytes: int = 512 << 20


@dataclass(frozen=True)
class Upload:
    """A file as read: what `Workspace.accept` takes. Picklable; contains the bytes."""

    name: str
    content: bytes
    facts: FileFacts
    example: bool = False
    recipe: dict[str, Any] = field(default_factory=dict)
    data: "RankingData | None" = None


@dataclass(frozen=True)
class Job:
    """Long work, picklable: `run_job` carries it out in any process."""

    kind: JobKind
    revision: int
    key: str
    payload: dict[str, Any] = field(default_factory=dict)


class Example(TypedDict):
    """One of the three examples of the first screen."""

    key: str
    title: str
    words: str
