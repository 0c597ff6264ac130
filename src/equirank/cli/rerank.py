"""``equirank rerank``: re-rank a file with a guarantee.

``--json`` writes one object: ``equirank`` (the version), ``file``, ``rows``, ``queries``,
``method``, ``options``, ``guarantee``, ``holds``, ``failing`` (queries in which it fails),
``moved`` (number of items), ``price``, ``summary`` (rows of measure, before, after),
``explanations`` and ``provenance``. Undefined numbers are null.
"""

import inspect
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from . import options
from .console import (
    CommandError,
    JsonOption,
    Read,
    Written,
    command_line,
    counted,
    errors_in_one_line,
    name_of,
    printable,
    require_report_extra,
    show_table,
    write_json,
    writing,
)

if TYPE_CHECKING:
    from ..core.data import RankingData
    from ..reports.provenance import Provenance
    from ..rerankers.reranking import Reranking

__all__ = ["make_reranker", "method_names", "parse_value", "rerank"]


def method_names() -> list[str]:
    """Return the names of all re-rankers with a guarantee, sorted."""
    from ..rerankers.chooser import methods

    return list(methods())


def make_reranker(method: str, given: dict[str, Any], more: list[str]) -> Any:
    """Return a re-ranker with the given options; unknown options are errors."""
    from ..core.errors import suggest
    from ..rerankers.chooser import methods

    known = methods()
    if method not in known:
        raise CommandError(
            f"--method must be one of {', '.join(sorted(known))}, got {method!r}"
            f"{suggest(method, list(known))}"
        )
    params = {name: value for name, value in given.items() if value is not None}
    for text in more:
        name, sign, value = text.partition("=")
        if not sign:
            raise CommandError(f"--set must be NAME=VALUE, got {text!r}")
        params[name] = parse_value(value)
    allowed = list(inspect.signature(known[method]).parameters)
    for name in params:
        if name not in allowed:
            raise CommandError(
                f"{method} has no option {name!r}{suggest(name, allowed)}; "
                f"its options are {', '.join(allowed)}"
            )
    return known[method](**params)


def parse_value(text: str) -> Any:
    """Return the value of a text: a number, a word, or pairs of group and value.

    Examples
    --------
    >>> parse_value("0.4"), parse_value("3"), parse_value("pool"), parse_value("true")
    (0.4, 3, 'pool', True)
    >>> parse_value("f=0.4,m=0.6")
    {'f': 0.4, 'm': 0.6}
    """
    if "=" in text:
        pairs = {}
        for part in text.split(","):
            name, sign, value = part.rpartition("=")
            if not sign or not name.strip():
                raise CommandError(f"{text!r} must be GROUP=VALUE,GROUP=VALUE")
            if name.strip() in pairs:
                raise CommandError(f"{text!r} must name each group once")
            pairs[name.strip()] = parse_value(value)
        return pairs
    text = text.strip()
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


PAIRS = "GROUP=NUMBER,..."
#: The columns that the output adds to those of the file.
POSITIONS = ("old_position", "new_position")


def _complete_method(incomplete: str) -> list[str]:
    return [name for name in method_names() if name.startswith(incomplete)]


def _pairs(text: str | None) -> Any:
    return None if text is None else parse_value(text)


# Long, since every option is a parameter.
@options.with_reading
def rerank(
    file: Annotated[
        str | None,
        Read(),
        typer.Argument(
            metavar="FILE",
            help=options.FORMATS,
            show_default=False,
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="The re-ranker; --list shows their guarantees.",
            autocompletion=_complete_method,
        ),
    ] = "FAStarIR",
    show_list: Annotated[
        bool,
        typer.Option(
            "--list", help="List the methods: guarantee, required data, price and options."
        ),
    ] = False,
    query: options.QueryOption = None,
    score: options.ScoreOption = None,
    position: options.PositionOption = None,
    relevance: options.RelevanceOption = None,
    sensitive: options.SensitiveOption = None,
    ids: options.IdOption = None,
    out: Annotated[
        str | None,
        Written(),
        typer.Option(
            metavar="OUT.csv", help="New order: CSV, TSV (.gz may follow), Parquet or JSON."
        ),
    ] = None,
    k: Annotated[
        int | None, typer.Option("--k", min=1, help="Cutoff: only the top k are shown.")
    ] = None,
    p: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER", help=f"Probability of a protected item; for several groups {PAIRS}."
        ),
    ] = None,
    alpha: Annotated[float | None, typer.Option(help="Level of the FA*IR test.")] = None,
    protected: options.ProtectedOption = None,
    proportions: Annotated[
        str | None, typer.Option(metavar=PAIRS, help="Target shares of all groups.")
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            metavar=options.COLUMN,
            help="The attribute, if there are several; repeat it to cross attributes.",
        ),
    ] = None,
    on_infeasible: Annotated[
        Literal["error", "best"] | None,
        typer.Option(help="If the guarantee is infeasible: an error, or the closest list."),
    ] = None,
    setting: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Any other option of the method."),
    ] = None,
    explain: Annotated[
        list[str] | None,
        typer.Option(metavar="ITEM", help="Explain the position of this id or row."),
    ] = None,
    missing_sensitive: options.MissingSensitiveOption = "error",
    max_groups: options.MaxGroupsOption = None,
    report: Annotated[
        str | None,
        Written(),
        typer.Option(metavar="OUT.html", help="Write an audit of before and after."),
    ] = None,
    keep_formulas: options.FormulasOption = False,
    title: options.TitleOption = None,
    purpose: options.PurposeOption = None,
    period: options.PeriodOption = None,
    author: options.AuthorOption = None,
    date: options.DateOption = None,
    json: JsonOption = None,
    *,
    reading: options.Reading,
) -> None:
    """Re-rank the lists in a file so that a stated guarantee holds, and report the price.

    Columns called qid or query, score, rank or position, relevance or label, and id are recognised;
    columns of people's groups must be named.

    --out contains all columns of the file, then old_position and new_position (0 is not shown),
    list by list in the new order.
    """
    with errors_in_one_line():
        if show_list:
            _list_methods(json)
            return
        if file is None:
            raise CommandError("FILE must be given (or --list)")
        from ..io.write_table import check_ending, write_table
        from ..reports.provenance import Provenance

        names = protected[0] if protected and len(protected) == 1 else protected or None
        given = {"k": k, "p": _pairs(p), "alpha": alpha, "protected": names}
        given |= {"proportions": _pairs(proportions), "on_infeasible": on_infeasible}
        given["by"] = by[0] if by and len(by) == 1 else by or None
        reranker = make_reranker(method, given, setting or [])
        columns = {}
        if out is not None:
            check_ending(out)
            columns = _columns(file, reading, out)
        if report is not None:
            require_report_extra()
        data = reading.read(
            file,
            query=query,
            relevance=relevance,
            score=score,
            position=position,
            cost=None,
            sensitive=list(dict.fromkeys(sensitive or [])),
            missing_sensitive=missing_sensitive,
            missing_relevance="error",
            max_groups=max_groups,
            id=ids,
        )
        record = Provenance.given(
            title=title, purpose=purpose, period=period, author=author, date=date
        )
        _name_groups(reranker, data)
        result = reranker(data.ranking())
        if result.n_draws > 1:
            raise CommandError(f"{method} must return one draw, got {result.n_draws}")
        explanations = [result.explain(_item(result, word)) for word in explain or []]
        if out is not None:
            with writing(out):
                write_table(out, _new_order(result, columns), keep_formulas=keep_formulas)
        if report is not None:
            with writing(report):
                _write_report(report, file, result, record)
        if json is not None:
            write_json(json, _document(file, result, explanations, record))
        if json != "-":
            _show(file, result, out, report, explanations)


def _name_groups(reranker: Any, data: "RankingData") -> None:
    """Set the groups of a re-ranker that are named as in ``sex=female``, and their attribute."""
    from ..core.named_groups import named_groups

    params = reranker.get_params(deep=False)
    names = [name for name in ("protected", "p", "proportions") if params.get(name) is not None]
    attributes: dict[str, None] = {}
    by, found = params.get("by"), dict[str, Any]()
    known = data.sensitive
    if isinstance(by, list) and by:
        known = {" & ".join(by): data.attribute(by)}
    elif isinstance(by, str):
        known = {by: data.attribute(by)}
    for name in names:
        value = params[name]
        if name == "protected":
            given = value if isinstance(value, list) else [value]
        elif isinstance(value, dict):
            given = list(value)
        else:
            continue
        pairs = named_groups(given, known, f"--{name}")
        attributes |= dict.fromkeys(attribute for attribute, _ in pairs)
        groups = [group for _, group in pairs]
        if name == "protected":
            found[name] = groups if isinstance(value, list) else groups[0]
        else:
            found[name] = dict(zip(groups, value.values(), strict=True))
    if len(attributes) > 1:
        words = " and ".join(map(repr, attributes))
        raise CommandError(f"the groups must be of one attribute, got {words}; --by can cross them")
    for attribute in attributes:
        if attribute not in known:
            raise CommandError(
                f"--protected must name a group of {', '.join(map(repr, known))}, got {attribute!r}"
            )
        if by is None and len(data.sensitive) > 1:
            found["by"] = attribute
    reranker.set_params(**found)


def _item(result: "Reranking", word: str) -> Any:
    """Return the id or row number that a word denotes."""
    from ..core.inputs import natural

    ids = result.data.ids
    number = natural(word)
    return number if number >= 0 and (ids is None or ids.dtype.kind in "iu") else word


def _columns(file: str, reading: options.Reading, out: str) -> dict[str, Any]:
    """Return all columns of a file; raise if one has a name that the output adds."""
    from ..io.table_file import TableFile, format_of, letor_cells

    kind = reading.format or format_of(file)
    if kind == "letor":
        return letor_cells(file)
    text = not out.lower().endswith((".json", ".json.gz", ".parquet", ".pq"))
    columns = TableFile(file, kind, reading.options()).cells(text=text)
    for name in POSITIONS:
        if name in columns:
            raise CommandError(
                f"{file}: must have no column {name!r}, which --out adds; rename it first"
            )
    return columns


def _new_order(result: "Reranking", columns: dict[str, Any]) -> dict[str, Any]:
    """Return the columns with the positions before and after, list by list in the new order.

    Rows that are not shown come last in their list, in the previous order.
    """
    import numpy as np

    data = result.data
    last = np.where(result.places > 0, result.places, data.n_rows + 1)
    order = np.lexsort((result.places_before, last, data.query_of_rows()))
    rows = order if data.rows is None else data.rows[order]
    positions = (result.places_before[order], result.places[order])
    kept = {name: values.take(rows) for name, values in columns.items()}
    return kept | dict(zip(POSITIONS, positions, strict=True))


def _write_report(path: str, file: str, result: "Reranking", record: "Provenance") -> None:
    """Write the audit that compares the new order with the old one."""
    from dataclasses import replace

    from ..auditing.audit import audit
    from ..reports.provenance import NOT_GIVEN

    name = name_of(file)
    title = f"{name}, re-ranked with {type(result.reranker).__name__}"
    title = title if record.title == NOT_GIVEN else record.title
    audited = audit(
        result, against=result.before, title=title, against_title=name, date=record.date
    )
    made = replace(record, files=audited.provenance.files, settings=audited.provenance.settings)
    audited.provenance = _recorded(made, result)
    audited.to_html(path)


def _recorded(record: "Provenance", result: "Reranking") -> "Provenance":
    """Return the record with the file, the method, its options and the command."""
    from dataclasses import replace

    settings = {"method": type(result.reranker).__name__, "options": _options(result)}
    return replace(record.with_inputs(result.data, **settings), command=command_line())


def _options(result: "Reranking") -> dict[str, Any]:
    """Return the options of the re-ranker that have a value."""
    given = {} if result.reranker is None else result.reranker.get_params(deep=False)
    return {name: value for name, value in given.items() if value is not None}


def _list_methods(json: str | None) -> None:
    from ..core.table import Table
    from ..rerankers.chooser import chooser

    rows = chooser()
    if json is not None:
        from json import dumps

        write_json(json, dumps(rows, ensure_ascii=False))
    if json != "-":
        heads = ("name", "guarantee", "needs", "cost", "options")
        show_table(Table({head: [row[head] for row in rows] for head in heads}))


def _document(file: str, result: "Reranking", explanations: list[Any], record: "Provenance") -> str:
    import json

    from ..core.environment import library_version

    data, reranker = result.data, result.reranker
    document = {
        "equirank": library_version(),
        "file": name_of(file),
        "rows": data.n_rows,
        "queries": data.n_queries,
        "method": type(reranker).__name__,
        "options": _options(result),
        "guarantee": result.bounds.words,
        "holds": result.holds,
        "failing": data.qids[~result.holds_per_query].tolist(),
        "moved": len(result.moves),
        "price": _finite(result.price.to_dict()),
        "summary": json.loads(result.summary().to_json()),
        "explanations": [_finite(each.to_dict()) for each in explanations],
        "provenance": _recorded(record, result).to_dict(),
    }
    return json.dumps(document, ensure_ascii=False, allow_nan=False, default=str)


def _finite(values: dict[str, Any]) -> dict[str, Any]:
    """Replace undefined numbers by None."""
    return {
        name: None if isinstance(value, float) and value != value else value
        for name, value in values.items()
    }


def _show(
    file: str, result: "Reranking", out: str | None, report: str | None, explanations: list[Any]
) -> None:
    """Print the guarantee, the table and the explanations."""
    typer.echo(f"{printable(file)}: {counted(result.data)}; {type(result.reranker).__name__}")
    failing = int((~result.holds_per_query).sum())
    words = printable(result.bounds.words)
    state = (
        "holds in every list"
        if failing == 0
        else f"does not hold in {failing} list{'s' * (failing > 1)}"
    )
    typer.echo(f"guarantee: {words}: {state}")
    typer.echo(f"moved: {len(result.moves)} items")
    show_table(result.summary(), "Before and after")
    for each in explanations:
        typer.echo("\n" + "\n".join(printable(line) for line in each.sentences))
    for path in (out, report):
        if path is not None:
            typer.echo(f"written: {printable(path)}")
