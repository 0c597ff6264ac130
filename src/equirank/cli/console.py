"""Console output: errors, JSON, tables and wrapped text."""

import inspect
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand

if TYPE_CHECKING:
    from ..core.data import RankingData
    from ..core.evaluation import Evaluation
    from ..core.source import Source
    from ..core.table import Table

__all__ = [
    "FAULT",
    "INTERRUPTED",
    "READER_LEFT",
    "Command",
    "CommandError",
    "JsonOption",
    "Read",
    "Written",
    "command_line",
    "counted",
    "errors_in_one_line",
    "in_options",
    "marked",
    "name_of",
    "printable",
    "require_report_extra",
    "show_source",
    "show_summary",
    "show_table",
    "tell",
    "write_json",
    "writing",
]


#: The exit code of a fault of the library, of a command that was interrupted, and of one whose
#: output nobody reads any more (that of a program that SIGPIPE ends).
FAULT, INTERRUPTED, READER_LEFT = 70, 130, 141


class _Note(UserWarning):
    """A line about how a file was read."""


class CommandError(Exception):
    """An error in the command line; the message describes it."""


def printable(text: object) -> str:
    r"""Return a text in one line, with control characters escaped.

    Examples
    --------
    >>> printable("a\nb\x1b[31m [bold]")
    'a\\nb\\x1b[31m [bold]'
    """
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in str(text)
    )


@contextmanager
def errors_in_one_line() -> Iterator[None]:
    """Report bad input in one line with exit code 2, and an interrupt with exit code 130.

    Warnings of the library are printed in one line each. Other exceptions are faults of the
    library, which `main` reports.
    """
    from ..core.errors import (
        DataError,
        EquirankWarning,
        FormatError,
        InfeasibleError,
        MissingExtraError,
    )

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", EquirankWarning)
        warnings.simplefilter("always", _Note)
        try:
            yield
        except (
            DataError, InfeasibleError, FormatError, MissingExtraError, CommandError
        ) as error:  # fmt: skip
            _fail(in_options(str(error)))
        except BrokenPipeError:
            raise
        except OSError as error:
            _fail(_in_words(error))
        except MemoryError:
            _fail("not enough memory for this file")
        except EOFError as error:  # typer ends with the code of a gate that holds
            raise RuntimeError(f"EOFError: {error}") from error
        except (KeyboardInterrupt, SystemError) as error:
            if isinstance(error, SystemError) and not _INTERRUPTS:
                raise
            # Compiled code that an interrupt meets ends with a SystemError.
            tell("equirank: interrupted")
            raise typer.Exit(INTERRUPTED) from None
    said: set[str] = set()
    for warning in caught:
        if not issubclass(warning.category, (EquirankWarning, _Note)):
            warnings.warn_explicit(
                warning.message, warning.category, warning.filename, warning.lineno
            )
            continue
        if issubclass(warning.category, _Note):
            line = f"equirank: note: {printable(warning.message)}"
        else:
            line = f"equirank: warning: {printable(in_options(warning.message))}"
        if line not in said:  # a file may be read twice
            tell(line)
        said.add(line)


#: The command that runs.
_RUNNING: ContextVar[Any] = ContextVar("running", default=None)
#: Its words on the command line.
_WORDS: ContextVar[str] = ContextVar("words", default="")
#: Arguments of functions that are set by an option of another name.
_OTHER_NAMES = {"y": "relevance", "sensitive_features": "sensitive", "qid": "query"}
_OTHER_NAMES |= {
    "id": "ids",
    "item": "explain",
    "path": "out",
    "expression": "fail_on",
    "gate": "fail_on",
}
#: Arguments that are keys of a configuration.
_DATA_KEYS: tuple[str, ...] = ("query", "relevance", "sensitive", "cost", "id", "format")
_DATA_KEYS += ("delimiter", "decimal", "columns", "repeated", "sheet", "unknown", "labels")
_DATA_KEYS += ("keep_labels",)
#: Arguments of methods that ``--set`` sets, since the option of this name is another one.
_ONLY_SET = ("labels",)
_ARGUMENTS = re.compile(
    r"""
    (?<!\w)sensitive_features\[(?P<column>'[^']*'|"[^"]*")\]
    | \b[A-Z]\w*\([^(){}]*\)
    | ;\ \w+=False\ for\ none
    | (?P<hint>;\ )?\b(?P<set>[a-z_]+)=(?P<mark>['"])(?P<value>\w+)(?P=mark)(?P<effect>[^;]*)
    | (?<!\w)'(?:[^'\\]|\\.)*' | (?<!\w)"(?:[^"\\]|\\.)*"
    | (?<![\w.\-])(?P<param>[a-z_]+)\ of\ (?P<owner>\w+)(?=\ must)
    | (?<![\w.\-])(?P<name>
        (?:^|(?<=:\ )|(?<=;\ )|(?<=,\ )|(?<=\ or\ ))
          [a-z_]+(?=\ must|\ needs|\ can\ |\ \('|\ of\ '|\ or\ [a-z_]+\ must)
        | (?<=\()[a-z_]+(?=\))
        | (?:expression|gate|target)(?=\ ['"])
        | [a-z]+_[a-z_]+
        | (?<=lower\ )p | (?<=or\ )alpha | (?<=smaller\ )k
      )\b
    """,
    re.VERBOSE,
)

#: An argument with its option after it, of which commands show the option alone.
_BOTH = re.compile(r"(?<![\w-])(?:--)?([a-z-]+)=? \(--\1\)")


def in_options(message: object) -> str:
    """Return a message of the library with the options of the running command as arguments.

    Quoted text stays as it is, and hints to arguments without an option are left out.
    """
    command = _RUNNING.get()
    if command is None:
        return str(message)
    options = {param.name: _option(param) for param in command.params}
    from_file = "config" in options

    def option(name: str) -> str | None:
        name = name if name in options else _OTHER_NAMES.get(name, name)
        if name in options:
            return options[name]
        if from_file and name == "encoding":
            return "[data] file_encoding"
        return f"[data] {name}" if from_file and name in _DATA_KEYS else None

    def replaced(match: re.Match[str]) -> str:
        found = match.groupdict()
        if found["column"]:
            return f"{option('sensitive') or 'attribute'} ({found['column']})"
        if match[0].endswith("=False for none"):
            return ""
        if found["set"] in _ONLY_SET and "setting" in options:
            word = f"--set {found['set']}={found['value']}"
            return f"{found['hint'] or ''}{word}{found['effect']}"
        if found["set"]:
            flag = option(found["set"])
            if flag is None:
                return match[0] if from_file else "" if found["hint"] else match[0]
            return f"{found['hint'] or ''}{flag} {found['value']}{found['effect']}"
        if found["param"]:
            flag = option(found["param"]) or ("--set " * ("setting" in options) + found["param"])
            return flag if found["owner"] == command.name else f"{flag} of {found['owner']}"
        return (option(found["name"]) or match[0]) if found["name"] else match[0]

    return _BOTH.sub(r"--\1", _ARGUMENTS.sub(replaced, str(message)))


#: The interrupts of the running command. Code that catches every exception loses the first one.
_INTERRUPTS: list[int] = []


def _interrupt_main_thread() -> None:
    main = threading.main_thread().ident
    if hasattr(signal, "pthread_kill") and main is not None:  # ends its wait at once
        signal.pthread_kill(main, signal.SIGINT)
    else:
        signal.raise_signal(signal.SIGINT)


@contextmanager
def _noting_interrupts() -> Iterator[None]:
    """Note each interrupt before it raises, unless the caller handles interrupts."""
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def note(number: int, _: Any) -> None:
        _INTERRUPTS.append(number)
        raise KeyboardInterrupt

    before = sys.unraisablehook

    def repeat() -> None:
        if signal.getsignal(signal.SIGINT) is note:
            _interrupt_main_thread()

    def again(lost: Any) -> None:
        # A callback from C, such as those of a compiler, cannot raise: try again outside of it.
        if issubclass(lost.exc_type, KeyboardInterrupt):
            threading.Timer(0.05, repeat).start()
        elif not _INTERRUPTS:  # an object that an interrupt left half made fails when it is freed
            before(lost)

    signal.signal(signal.SIGINT, note)
    sys.unraisablehook = again
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.unraisablehook = before
        _INTERRUPTS.clear()


def _stop_if_interrupted() -> None:
    if _INTERRUPTS:
        raise KeyboardInterrupt


def _fail(message: str) -> None:
    with suppress(OSError):
        sys.stdout.flush()
    tell(f"equirank: {printable(message)}")
    raise typer.Exit(2) from None


def tell(line: str) -> None:
    """Print a line to standard error; nobody may read it, or its disk may be full."""
    try:
        typer.echo(line, err=True)
    except OSError:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 2)  # the last flush must not fail, too


def _in_words(error: OSError) -> str:
    words = {
        FileNotFoundError: "file not found",
        IsADirectoryError: "must be a file, got a folder",
        PermissionError: "permission denied",
    }
    text = words.get(type(error), error.strerror or str(error))
    return text if error.filename is None else f"{error.filename}: {text}"


@dataclass(frozen=True)
class Read:
    """Mark of a parameter that names an input: a file or a folder.

    ``more`` returns further inputs, which the file names.
    """

    more: Callable[[str], Sequence[str]] = lambda _: ()


@dataclass(frozen=True)
class Written:
    """Mark of a parameter that names an output: by default a file, ``-`` for standard output.

    ``files`` returns the files that are written, from the value and all parameters. With
    ``folder``, the value is a folder that is created if missing; with ``whole``, a folder whose
    contents are replaced.
    """

    files: Callable[[str, Mapping[str, Any]], Sequence[str]] = lambda path, _: [path]
    folder: bool = False
    whole: bool = False


JsonOption = Annotated[
    str | None,
    Written(),
    typer.Option(
        "--json",
        metavar="[OUT.json]",
        help="Write JSON to this file, or to standard output instead of the tables.",
    ),
]


class Command(TyperCommand):
    """A command that checks its paths, and whose option ``--json`` has an optional value.

    The word after ``--json`` is its value only if it is ``-`` or ends in ``.json``, so that
    ``--json data.csv`` never overwrites data; ``--json=NAME`` takes any name.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Insert the value ``-`` after each ``--json`` without one."""
        if not any(param.name == "json" for param in self.params):
            ctx.meta[__name__] = list(args)
            return list(super().parse_args(ctx, args))
        completed: list[str] = []
        end = args.index("--") if "--" in args else len(args)
        for at, word in enumerate(args):
            completed.append(word)
            following = args[at + 1] if at + 1 < end else ""
            named = following == "-" or (
                following.endswith(".json") and not following.startswith("-")
            )
            if word == "--json" and at < end and not named:
                completed.append("-")
        ctx.meta[__name__] = list(completed)
        return list(super().parse_args(ctx, completed))

    def invoke(self, ctx: Any) -> Any:
        """Run the command unless a path that it would write is an input or cannot be written."""
        token = _RUNNING.set(self)
        words = _WORDS.set(_without_paths(self, ctx))
        try:
            with _noting_interrupts(), errors_in_one_line():
                _check_paths(self, ctx.params)
                result = super().invoke(ctx)
                _stop_if_interrupted()
                return result
        finally:
            _RUNNING.reset(token)
            _WORDS.reset(words)


def command_line() -> str:
    """Return the running command for a report: inputs without folders, and no outputs.

    Where a report is written does not change it.
    """
    return _WORDS.get()


def _without_paths(command: Any, ctx: Any) -> str:
    """Return the words of a command with file names without folders, less its outputs."""
    import shlex

    marks, given = marked(command), ctx.params
    inputs = {
        path for n, m in marks.items() if isinstance(m, Read) for path in _paths(given.get(n))
    }
    written = [name for name, mark in marks.items() if isinstance(mark, Written)]
    outputs = {word for param in command.params if param.name in written for word in param.opts}
    words: list[str] = []
    found = iter(ctx.meta.get(__name__, ()))
    for word in found:
        option, sign, value = word.partition("=")
        if word in outputs:
            next(found, None)
        elif not (sign and option in outputs):
            own = f"{option}={name_of(value)}" if sign and value in inputs else word
            words.append(name_of(word) if word in inputs else own)
    return shlex.join(["equirank", str(ctx.info_name), *words])


def marked(command: Any) -> dict[str, Read | Written]:
    """Return the mark of each parameter of a command that names a path."""
    hints = get_type_hints(inspect.unwrap(command.callback), include_extras=True)
    marks = {
        name: [
            each for each in getattr(hint, "__metadata__", ()) if isinstance(each, Read | Written)
        ]
        for name, hint in hints.items()
    }
    return {name: found[0] for name, found in marks.items() if found}


def _paths(value: Any) -> list[str]:
    """Return the path or paths of a parameter; none if it was not given."""
    several = value if isinstance(value, (list, tuple)) else [value]
    return [os.fspath(each) for each in several if each is not None]


def _check_paths(command: Any, values: Mapping[str, Any]) -> None:
    """Raise if an output is an input or another output, or cannot be written."""
    words = {param.name: _option(param) for param in command.params}
    inputs: list[tuple[str, str]] = []
    outputs: list[tuple[str, str, Written]] = []
    for name, mark in marked(command).items():
        for path in _paths(values.get(name)):
            if isinstance(mark, Read):
                inputs += [(words[name], each) for each in (path, *mark.more(path))]
            elif path != "-":
                outputs.append((words[name], path, mark))
    folders = [path for _, path, mark in outputs if mark.folder]
    written: list[tuple[str, str, bool]] = []
    for option, path, mark in outputs:
        if mark.folder or mark.whole:
            _check_folder(option, path)
        files = [path] if mark.whole else mark.files(path, values)
        for target in files:
            if not mark.whole:
                _check_file(option, target, folders)
            for other, given in inputs:
                _refuse_input(option, target, mark.whole, other, given)
            for other, earlier, whole in written:
                if _same(target, earlier) or (whole and _within(target, earlier)):
                    raise CommandError(
                        f"{option} must be another file, got {target}, which {other} writes"
                    )
            written.append((option, target, mark.whole))


def _option(param: Any) -> str:
    """Return the name of a parameter on the command line."""
    named = [word for word in param.opts if word.startswith("-")]
    return str(named[0] if named else param.metavar or param.name.upper())


def _refuse_input(option: str, target: str, whole: bool, other: str, given: str) -> None:
    if _same(target, given):
        raise CommandError(f"{option} must not be an input, got {target}, which {other} reads")
    if os.path.isdir(given) and _within(target, given):
        raise CommandError(
            f"{option} must not be in a folder of inputs, got {target}, and {other} reads {given}"
        )
    if whole and _within(given, target):
        raise CommandError(
            f"{option} must not be a folder with inputs, got {target}, and {other} reads {given}"
        )


def _same(path: str, other: str) -> bool:
    """Return whether two paths are one file, through links and any spelling."""
    if os.path.realpath(path) == os.path.realpath(other):
        return True
    try:
        return os.path.samefile(path, other)
    except OSError:  # at least one does not exist
        return False


def _within(path: str, folder: str) -> bool:
    """Return whether a path is below a folder."""
    parents = [os.path.realpath(path)]
    while os.path.dirname(parents[-1]) != parents[-1]:
        parents.append(os.path.dirname(parents[-1]))
    return any(_same(parent, folder) for parent in parents[1:])


def _check_file(option: str, path: str, folders: Sequence[str]) -> None:
    """Raise if a file cannot be written; it may be in a folder that will be created."""
    from ..io.files import sweep

    target = os.path.realpath(path)
    if os.path.isdir(target):
        raise CommandError(f"{option} must be a file, got the folder {path}")
    if os.path.exists(target):
        if not os.path.isfile(target):
            raise CommandError(f"{option} must be a file, got {path}, a device or pipe")
        _check_not_protected(option, path)
    folder = os.path.dirname(target)
    if os.path.isdir(folder):
        _check_not_protected(option, path, folder)
        sweep(target)
    elif not any(_same(folder, each) or _within(folder, each) for each in folders):
        raise CommandError(f"{option} must be in an existing folder, got {path}")


def _check_folder(option: str, path: str) -> None:
    """Raise if a folder cannot be written or created."""
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isdir(target):
        raise CommandError(f"{option} must be a folder, got the file {path}")
    while not os.path.exists(target):
        target = os.path.dirname(target)
    if not os.path.isdir(target):
        raise CommandError(f"{option} must be a folder, got {path}, and {target} is a file")
    _check_not_protected(option, path, target)


def _check_not_protected(option: str, path: str, place: str | None = None) -> None:
    """Raise if a file, or the folder of a file, is read-only."""
    place = path if place is None else place
    # A file without permission to write is protected, also from root, who has all permissions.
    if not os.access(place, os.W_OK) or not os.stat(place).st_mode & 0o222:
        what = path if place == path else f"{path}: the folder {place}"
        raise CommandError(f"{option} must be writable, got {what}, which is read-only")


def write_json(target: str, text: str) -> None:
    """Write to standard output for ``-``, else to a file."""
    if target == "-":
        typer.echo(text)
        return
    from ..io.files import replacing

    with writing(target), replacing(target) as file:
        file.write(text.encode() + b"\n")


@contextmanager
def writing(path: str) -> Iterator[None]:
    """Report a failure to write as an error of the path; write nothing after an interrupt."""
    _stop_if_interrupted()
    try:
        yield
    except OSError as error:
        raise CommandError(f"{path}: cannot be written: {error.strerror}") from None


def require_report_extra() -> None:
    """Raise unless the packages that reports need are installed."""
    from ..core.environment import require

    for package in ("altair", "jinja2", "vl_convert"):
        require(package, "report")


def name_of(path: str) -> str:
    """Return the last part of a path, for documents that others read."""
    return os.path.basename(os.path.abspath(path))


def counted(data: "RankingData") -> str:
    """Return the numbers of items and lists, in words."""
    return f"{data.n_rows} items in {data.n_queries} list{'s' * (data.n_queries != 1)}"


def show_source(source: "Source | None") -> None:
    """Print every guess about a file with its reason, and what was changed, one line each.

    The lines go to standard error once the command has succeeded, as warnings do.
    """
    if source is None:
        return
    lines = [f"{what}: {words}" for what, words in source.how.items() if "(guessed: " in words]
    lines += [
        f"{role}: column {name!r} ({reason})"
        for role, (name, reason) in source.columns.items()
        if reason != "named"
    ]
    for attribute, labels in source.labels.items():
        changed: dict[str | None, list[str]] = {}
        for label, count, became in labels:
            if became != label:
                changed.setdefault(became, []).append(
                    f"{label!r} ({count} row{'s' * (count != 1)})"
                )
        for became, words in changed.items():
            result = "unknown" if became is None else repr(became)
            lines.append(f"{attribute}: {', '.join(words)} became {result}")
    for line in [*lines, *map(in_options, source.remarks)]:
        warnings.warn(_Note(f"{source.name}: {line}"), stacklevel=2)


def show_summary(evaluation: "Evaluation", title: str) -> None:
    """Print the metrics of an evaluation, with the better direction of each."""
    from ..core.table import Table

    summary = evaluation.summary()
    better = {each.metric.name: each.metric.direction for each in evaluation.results}
    rows = zip(summary["metric"].tolist(), summary["group"].tolist(), strict=True)
    directions = [better[metric] if group is None else None for metric, group in rows]
    columns = dict(summary.columns)
    show_table(Table({"metric": columns.pop("metric"), "better": directions, **columns}), title)


def show_table(
    table: "Table", title: str | None = None, to_the_right: Collection[str] = ()
) -> None:
    """Print all rows of a table as plain text, never interpreted as markup.

    Empty columns are omitted. Numbers are aligned to the right, as are the columns named in
    ``to_the_right``.
    """
    columns = {
        printable(name): (
            [_cell(value) for value in values.tolist()],
            values.dtype.kind in "fiu" or name in to_the_right,
        )
        for name, values in table.columns.items()
    }
    columns = {name: column for name, column in columns.items() if any(column[0])}
    if sys.stdout.isatty():
        _draw(columns, title)
        return
    if title:
        typer.echo(f"\n{title}")
    lines = [""] * (len(table) + 1)
    for name, (cells, right) in columns.items():
        texts = [name, *cells]
        width = max(map(len, texts))
        for at, text in enumerate(texts):
            lines[at] += (text.rjust(width) if right else text.ljust(width)) + "  "
    typer.echo("\n".join(line.rstrip() for line in lines))


def _cell(value: Any) -> str:
    if value is None or value != value:
        return ""
    return f"{value:.4f}" if isinstance(value, float) else printable(value)


def _draw(columns: dict[str, tuple[list[str], bool]], title: str | None) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table as Drawing
    from rich.text import Text

    drawing = Drawing(
        box=box.SIMPLE_HEAD,
        title=Text(title) if title else None,
        title_justify="left",
        title_style="bold",
    )
    for name, (_, right) in columns.items():
        drawing.add_column(Text(name), justify="right" if right else "left", overflow="fold")
    for row in zip(*(cells for cells, _ in columns.values()), strict=True):
        drawing.add_row(*(Text(cell) for cell in row))
    Console(file=sys.stdout, highlight=False).print(drawing)
