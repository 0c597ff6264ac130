"""``equirank rerank``: re-rank a file with a guarantee.

``--json`` writes one object: ``equirank`` (the version), ``file``, ``rows``, ``queries``,
``method``, ``options``, ``guarantee``, ``holds`` (null if no order could break it), ``failing``
(queries in which it fails),
``moved`` (number of items), ``price``, ``summary`` (rows of measure, before, after),
``explanations`` and ``provenance``. Undefined numbers are null.
"""

import inspect
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from . import console, label_options, options

if TYPE_CHECKING:
    from ..core.data import RankingData
    from ..reports.provenance import Provenance
    from ..rerankers.reranking import Reranking

__all__ = [
    "file_columns",
    "make_reranker",
    "method_names",
    "parse_value",
    "rerank",
]


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
        raise console.CommandError(
            f"--method must be one of {', '.join(sorted(known))}, got {method!r}"
            f"{suggest(method, list(known))}"
        )
    params = {name: value for name, value in given.items() if value is not None}
    for text in more:
        name, sign, value = text.partition("=")
        if not sign:
            raise console.CommandError(f"--set must be NAME=VALUE, got {text!r}")
        params[name] = parse_value(value)
    allowed = list(inspect.signature(known[method]).parameters)
    for name in params:
        if name not in allowed:
            others = [
                one for one, cls in known.items() if name in inspect.signature(cls).parameters
            ]
            hint = f" ({', '.join(others)} have it)" if others else suggest(name, allowed)
            raise console.CommandError(
                f"{method} has no option {name!r}{hint}; its options are {', '.join(allowed)}"
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
                raise console.CommandError(f"{text!r} must be GROUP=VALUE,GROUP=VALUE")
            if name.strip() in pairs:
                raise console.CommandError(f"{text!r} must name each group once")
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


def _complete_method(incomplete: str) -> list[str]:
    return [name for name in method_names() if name.startswith(incomplete)]


def _pairs(text: str | None) -> Any:
    return None if text is None else parse_value(text)


# Long, since every option is a parameter.
@options.with_shared
def rerank(
    *,
    file: Annotated[
        str | None,
        console.Read(),
        typer.Argument(
            metavar="FILE",
            help=options.FORMATS,
            show_default=False,
        ),
    ] = None,
    method: str = options.option(
        "NAME",
        "The re-ranker; --list shows their guarantees.",
        default="FAStarIR",
        autocompletion=_complete_method,
    ),
    show_list: bool = options.switch(
        "--list", "List the methods: guarantee, required data, price and options."
    ),
    columns: options.Columns,
    knowledge: label_options.LabelKnowledge,
    ids: options.IdOption = None,
    out: str | None = options.option(
        "OUT.csv", "New order: CSV, TSV (.gz may follow), Parquet or JSON.", mark=console.Written()
    ),
    k: int | None = options.option(None, "Cutoff: only the top k are shown.", flag="--k", min=1),
    p: str | None = options.option(
        "NUMBER", f"Probability of a protected item; for several groups {PAIRS}."
    ),
    alpha: float | None = options.option(None, "Level of the FA*IR test."),
    protected: options.ProtectedOption = None,
    proportions: str | None = options.option(PAIRS, "Target shares of all groups."),
    by: list[str] | None = options.option(
        options.COLUMN, "The attribute, if there are several; repeat it to cross attributes."
    ),
    on_infeasible: Literal["error", "best"] | None = options.option(
        None, "If the guarantee is infeasible: an error, or the closest list."
    ),
    setting: list[str] | None = options.option(
        "NAME=VALUE", "Any other option of the method.", flag="--set"
    ),
    explain: list[str] | None = options.option("ITEM", "Explain the position of this id or row."),
    missing_sensitive: options.MissingSensitiveOption = "error",
    max_groups: options.MaxGroupsOption = None,
    report: str | None = options.option(
        "OUT.html", "Write an audit of before and after.", mark=console.Written()
    ),
    keep_formulas: options.FormulasOption = False,
    heading: options.Heading,
    json: console.JsonOption = None,
    reading: options.Reading,
) -> None:
    """Re-rank the lists in a file so that a stated guarantee holds, and report the price.

    Columns called qid or query, score, rank or position, relevance or label, and id are recognised;
    columns of people's groups must be named.

    --out contains all columns of the file, then old_position and new_position (0 is not shown),
    list by list in the new order.
    """
    with console.errors_in_one_line():
        if show_list:
            _list_methods(json)
            return
        if file is None:
            raise console.CommandError("FILE must be given (or --list)")
        from dataclasses import asdict

        from ..io.write_table import check_ending, write_table
        from ..recipes.reranked_list import in_new_order
        from ..reports.provenance import Provenance

        names = protected[0] if protected and len(protected) == 1 else protected or None
        given = {"k": k, "p": _pairs(p), "alpha": alpha, "protected": names}
        given |= {"proportions": _pairs(proportions), "on_infeasible": on_infeasible}
        given["by"] = by[0] if by and len(by) == 1 else by or None
        reranker = make_reranker(method, given, setting or [])
        cells = {}
        if out is not None:
            check_ending(out)
            cells = file_columns(file, reading, out)
        if report is not None:
            console.require_report_extra()
        told = knowledge.parsed()
        if told.names and missing_sensitive == "error":
            missing_sensitive = "unknown"  # a row without a label may have probabilities
        named = told.columns(list(dict.fromkeys(columns.sensitive or [])), [])
        data = reading.read(
            file,
            **asdict(columns) | {"sensitive": named["sensitive"]},
            cost=None,
            outcomes=named["outcomes"] or None,
            missing_sensitive=missing_sensitive,
            missing_relevance="error",
            max_groups=max_groups,
            id=ids,
        )
        data = told.applied(data, [], file)
        record = Provenance.given(**asdict(heading))
        _name_groups(reranker, data)
        result = reranker(data.ranking())
        if result.n_draws > 1:
            raise console.CommandError(f"{method} must return one draw, got {result.n_draws}")
        explanations = [result.explain(_item(result, word)) for word in explain or []]
        if out is not None:
            with console.writing(out):
                write_table(out, in_new_order(result, cells), keep_formulas=keep_formulas)
        if report is not None:
            with console.writing(report):
                _write_report(report, file, result, record)
        if json is not None:
            console.write_json(json, _document(file, result, explanations, record))
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
        raise console.CommandError(
            f"the groups must be of one attribute, got {words}; --by can cross them"
        )
    for attribute in attributes:
        if attribute not in known:
            raise console.CommandError(
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


def file_columns(file: str, reading: options.Reading, out: str) -> dict[str, Any]:
    """Return all columns of a file; raise if one has a name that the output adds."""
    from ..io.table_file import TableFile, format_of, letor_cells
    from ..recipes.reranked_list import POSITIONS

    kind = reading.format or format_of(file)
    if kind == "letor":
        return letor_cells(file)
    text = not out.lower().endswith((".json", ".json.gz", ".parquet", ".pq"))
    columns = TableFile(file, kind, reading.options()).cells(text=text)
    for name in POSITIONS:
        if name in columns:
            raise console.CommandError(
                f"{file}: must have no column {name!r}, which --out adds; rename it first"
            )
    return columns


def _write_report(path: str, file: str, result: "Reranking", record: "Provenance") -> None:
    """Write the audit that compares the new order with the old one."""
    from dataclasses import replace

    from ..auditing.audit import audit
    from ..reports.provenance import NOT_GIVEN

    name = console.name_of(file)
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
    return replace(record.with_inputs(result.data, **settings), command=console.command_line())


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

        console.write_json(json, dumps(rows, ensure_ascii=False))
    if json != "-":
        heads = ("name", "guarantee", "needs", "cost", "options")
        console.show_table(Table({head: [row[head] for row in rows] for head in heads}))


def _document(file: str, result: "Reranking", explanations: list[Any], record: "Provenance") -> str:
    import json

    from ..core.environment import library_version

    data, reranker = result.data, result.reranker
    document = {
        "equirank": library_version(),
        "file": console.name_of(file),
        "rows": data.n_rows,
        "queries": data.n_queries,
        "method": type(reranker).__name__,
        "options": _options(result),
        "guarantee": result.bounds.words,
        "holds": result.holds if result.guaranteed else None,
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
    method = type(result.reranker).__name__
    typer.echo(f"{console.printable(file)}: {console.counted(result.data)}; {method}")
    failing = int((~result.holds_per_query).sum())
    words = console.printable(result.bounds.words)
    state = (
        f"does not hold in {failing} list{'s' * (failing > 1)}"
        if failing
        else "holds in every list"
        if result.guaranteed
        else "empty, no order of these lists could break it"
    )
    typer.echo(f"guarantee: {words}: {state}")
    typer.echo(f"moved: {len(result.moves)} items")
    console.show_table(result.summary(), "Before and after")
    for each in explanations:
        typer.echo("\n" + "\n".join(console.printable(line) for line in each.sentences))
    for path in (out, report):
        if path is not None:
            typer.echo(f"written: {console.printable(path)}")
