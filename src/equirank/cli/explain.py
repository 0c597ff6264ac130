"""``equirank explain``: explain a pair of items, or the position of one person.

``explain FOLDER FILE --a --b`` explains why a trained model ranks one item above another.
``--json`` writes one object: ``equirank`` (the version), ``model`` (name of the folder), ``class``,
``file``, ``a``, ``b``, ``score_a``, ``score_b``, ``method``, ``n_draws``, ``features`` (the rows of
the table: feature, value_a, value_b, contribution, standard_error, and what SHAP values add),
``sentences`` and ``reasons`` (of a re-ranker, about a and b).

``explain FILE --id`` explains to a person its position and a decision; ``--json`` writes
`PersonExplanation.to_json`.
"""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import console, options

if TYPE_CHECKING:
    import numpy as np

    from ..auditing.person_explanation import PersonExplanation
    from ..core.data import RankingData
    from ..core.pair_explanation import PairExplanation
    from ..recipes.data_columns import DataColumns
    from ..recipes.new_file import NewFile

__all__ = ["explain"]


# Long, since every option is a parameter.
@options.with_shared
def explain(
    *,
    folder_or_file: Annotated[
        str,
        console.Read(),
        typer.Argument(
            metavar="FOLDER|FILE",
            help="A file of ranked people; for --a and --b, the output of `equirank train` first.",
            show_default=False,
        ),
    ],
    second: Annotated[
        str | None,
        console.Read(),
        typer.Argument(metavar="[FILE]", help="The file, if FOLDER comes first."),
    ] = None,
    id: str | None = options.option("ID", "The person to explain to.", flag="--id"),
    model: str | None = options.option(
        "FOLDER",
        "The output of `equirank train`, which ranks and gives reasons.",
        mark=console.Read(),
    ),
    id_column: str | None = options.option(options.COLUMN, "Column of ids, if not recognised."),
    decision: options.Decision,
    k: int | None = options.option(None, "The top k of each list are selected.", min=1),
    fixed: list[str] | None = options.option(
        "COLUMN,COLUMN", "Features that cannot change; sensitive columns never do. May be repeated."
    ),
    a: str | None = options.option(
        "ID", "The item to explain: its id, else its row number from 0."
    ),
    b: str | None = options.option("ID", "The item to compare with."),
    of: str | None = options.option("LIST", "The list, if an id occurs in several."),
    out: str | None = options.option(
        "OUT",
        "Write the person's page (.html), or the chart of a pair: .png, .svg, .pdf, .html "
        "or .json.",
        mark=console.Written(),
    ),
    columns: options.Order,
    unseen: options.UnseenOption = None,
    seed: int = options.option(
        None, "Random seed, if contributions are sampled.", default=0, **options.SEEDS
    ),
    heading: options.Heading,
    json: console.JsonOption = None,
    reading: options.Reading,
) -> None:
    """Explain to a person its position, or why a model ranks one item above another.

    FILE --id ID: the position of the person, what was decided (--selected, --k or --cutoff), and
    with --model which features weigh most and the nearest changes that the model confirms.

    FOLDER FILE --a ID --b ID: the contribution of each feature to the difference of two scores,
    which they add up to. Columns are matched as in `equirank predict`. A re-ranker adds its reasons
    for both items.
    """
    with console.errors_in_one_line():
        from dataclasses import asdict

        words: dict[str, Any] = {"model": model, "id_column": id_column, **asdict(decision)}
        words |= {"k": k, "fixed": fixed, "score": columns.score, "position": columns.position}
        words |= asdict(heading)
        if unseen is not None and model is None and id is not None:
            raise console.CommandError("--unseen must be given with --model, which was trained")
        if id is None:
            _check_pair(folder_or_file, second, a, b, words)
            _explain_pair(
                folder_or_file,
                str(second),
                str(a),
                str(b),
                of,
                out,
                seed,
                json,
                reading,
                {"query": columns.query, "unseen": unseen},
            )
            return
        if a is not None or b is not None or second is not None:
            raise console.CommandError(
                "--id must be given with FILE alone, without FOLDER, --a and --b"
            )
        if out is not None:
            console.require_report_extra()
        words |= {"unseen": unseen, "id": id}
        found = _explain_person(folder_or_file, reading, id, of, columns.query, seed, words)
        if out is not None:
            with console.writing(out):
                found.to_html(out)
        if json is not None:
            console.write_json(json, found.to_json())
        if json != "-":
            for sentence in found.sentences:
                typer.echo(console.printable(sentence))
            if out is not None:
                typer.echo(f"written: {console.printable(out)}")


def _check_pair(
    first: str, second: str | None, a: str | None, b: str | None, words: dict[str, Any]
) -> None:
    """Raise unless the command names a folder, a file and two items, or a file and a person."""
    if second is None and a is None and b is None:
        raise console.CommandError(f"--id must name a person of {first}, or --a and --b two items")
    if a is None or b is None:
        raise console.CommandError(f"{'--a' if a is None else '--b'} must be given")
    if second is None:
        raise console.CommandError(
            f"FOLDER must be given before FILE for --a and --b, got {first} alone"
        )
    for name, value in words.items():
        if value not in (None, []):
            raise console.CommandError(f"--{name.replace('_', '-')} must be given with --id alone")


def _explain_person(
    file: str,
    reading: options.Reading,
    person: str,
    of: str | None,
    query: str | None,
    seed: int,
    words: dict[str, Any],
) -> "PersonExplanation":
    """Read the file, with the columns of the model if there is one, and explain."""
    from dataclasses import fields, replace

    from ..auditing.explain_person import explain_person

    fixed = [name.strip() for part in words["fixed"] or () for name in part.split(",")]
    given: dict[str, Any] = {name: words[name] for name in ("selected", "k", "cutoff")}
    given |= {each.name: words[each.name] for each in fields(options.Heading)}
    if words["yes"] is not None:
        given["yes"] = words["yes"].split(",")
    if words["model"] is None:
        if fixed:
            raise console.CommandError(
                "--fixed must be given with --model, whose features can change"
            )
        data = _read_ranked(file, reading, query, words)
    else:
        data, more = _read_for_model(file, reading, query, fixed, words)
        given |= more
    found = explain_person(data, person, of=of, random_state=seed, **given)
    record = found.provenance
    if words["model"] is not None:
        record = record.with_inputs(model=f"{console.name_of(words['model'])} ({found.model})")
    return replace(found, provenance=replace(record, command=console.command_line()))


def _read_ranked(
    file: str, reading: options.Reading, query: str | None, words: dict[str, Any]
) -> "RankingData":
    """Return the ranked people of a file, with their ids."""
    columns: dict[str, Any] = {"query": query, "relevance": False, "cost": False}
    columns |= {"score": words["score"], "position": words["position"]}
    if reading.format == "letor":
        raise console.CommandError("FILE must have named columns for --id, got LETOR")
    data = reading.read(
        file,
        sensitive=[],
        missing_sensitive="category",
        missing_relevance="error",
        id=words["id_column"],
        outcomes=[] if words["selected"] is None else [words["selected"]],
        **columns,
    )
    if data.ids is None:
        words["id_column"] = _id_column(file, reading, words["id"])
        return _read_ranked(file, reading, query, words)
    return data


def _id_column(file: str, reading: options.Reading, person: str) -> str:
    """Return the one column that contains the id, and no value twice; else raise."""
    from ..core.source import Source
    from ..io.table_file import TableFile, format_of

    kind: Any = reading.format or format_of(file)
    found = []
    for name, cells in TableFile(file, kind, reading.options()).cells(text=True).items():
        values = [str(cell) for cell in cells.tolist() if cell is not None]
        if person in values and len(set(values)) == len(cells):
            found.append(name)
    if len(found) != 1:
        raise console.CommandError(
            f"{file}: must have a column of ids for --id; --id-column names it"
        )
    reason = f"id: column {found[0]!r} (guessed: it contains {person!r}, and no value twice)"
    console.show_source(Source(console.name_of(file), "", 0, remarks=(reason,)))
    return found[0]


def _read_for_model(
    file: str, reading: options.Reading, query: str | None, fixed: list[str], words: dict[str, Any]
) -> "tuple[RankingData, dict[str, Any]]":
    """Return the data of a file for a model, with ids and decisions, and further arguments."""
    from dataclasses import replace

    from ..recipes.config_objects import ConfigError

    for name in ("score", "position"):
        if words[name] is not None:
            raise console.CommandError(f"--{name} must be omitted with --model, which ranks")
    keep = tuple(n for n in (words["id_column"], words["selected"]) if n is not None)
    how = {"query": query, "unseen": words["unseen"], "keep": keep}
    try:
        ranker, columns, read = reading.read_new(file, words["model"], **how)
    except ConfigError as error:
        words_of = "--selected or --id-column names"
        raise console.CommandError(str(error).replace("--keep names", words_of)) from None
    lists = query or columns.query
    found = [name for name in read.carried if name != lists and name not in keep]
    column = words["id_column"] or (found[0] if found else None)
    if column is None:
        words["id_column"] = _id_column(file, reading, words["id"])
        return _read_for_model(file, reading, query, fixed, words)
    order = read.data.caller_rank
    outcomes = {n: read.carried[n][order] for n in keep if n == words["selected"]}
    data = replace(read.data, ids=read.carried[column][order], outcomes=outcomes)
    known = [*columns.sensitive, column]
    never = [each for each in known if each in columns.features and each not in fixed]
    return data, {"model": ranker, "fixed": [*fixed, *never], "categories": columns.categories}


def _explain_pair(
    model: str,
    file: str,
    a: str,
    b: str,
    of: str | None,
    out: str | None,
    seed: int,
    json: str | None,
    reading: options.Reading,
    how: dict[str, Any],
) -> None:
    """Explain the difference of two scores of a trained model."""
    from dataclasses import replace

    from ..recipes.new_file import in_words

    ranker, columns, read = reading.read_new(file, model, **how)
    ids, lists = _ids(read, columns), _lists(read.data)
    rows = [_row(name, item, ids, lists, of) for name, item in (("--a", a), ("--b", b))]
    data = read.data
    if ids is not None:
        data = replace(data, ids=ids[data.caller_rank])
    found = ranker.explain_pair(data, *rows, random_state=seed)
    _name_categories(found, columns)
    if out is not None:
        from ..plots import pair_explanation, save_chart

        with console.writing(out):
            save_chart(pair_explanation(found), out)
    if json is not None:
        console.write_json(json, _document(model, in_words(ranker), file, found))
    if json != "-":
        _show(found, out)


def _ids(read: "NewFile", columns: "DataColumns") -> "np.ndarray | None":
    """Return the column of ids in the order of the file, or None."""
    names = [name for name in read.carried if name != columns.query]
    return read.carried[columns.id if columns.id in names else names[-1]] if names else None


def _lists(data: "RankingData") -> "np.ndarray":
    return data.to_original(data.qids[data.query_of_rows()])


def _row(
    option: str, item: str, ids: "np.ndarray | None", lists: "np.ndarray", of: str | None
) -> int:
    """Return the row of an id, or of a row number if the file has no ids."""
    from ..core.inputs import natural

    if ids is None:
        if not 0 <= natural(item) < len(lists):
            raise console.CommandError(
                f"{option} must be a row number from 0 to {len(lists) - 1} for a file without ids, "
                f"got {item!r}"
            )
        return int(item)
    found = [
        row
        for row, label in enumerate(ids.tolist())
        if str(label) == item and of in (None, str(lists[row]))
    ]
    if not found:
        where = "" if of is None else f" of list {of!r}"
        raise console.CommandError(
            f"{option} must be the id of an item{where} of the file, got {item!r}"
        )
    if len(found) > 1:
        raise console.CommandError(
            f"--of must name the list, since {item!r} occurs {len(found)} times"
        )
    return found[0]


def _name_categories(found: "PairExplanation", columns: "DataColumns") -> None:
    """Replace the codes of categories by their names."""
    import numpy as np

    if columns.encoding == "category":
        return  # the model has named them
    coded = [name for name in columns.categories if name in found["feature"].tolist()]
    for side in ("value_a", "value_b") if coded else ():
        shown = found[side].astype(object)
        for name in coded:
            at = found["feature"].tolist().index(name)
            number = float(shown[at])
            shown[at] = None if np.isnan(number) else columns.categories[name][int(number)]
        found.columns[side] = shown


def _document(model: str, words: str, file: str, found: "PairExplanation") -> str:
    import json

    from ..core.environment import library_version

    document: dict[str, Any] = {
        "equirank": library_version(),
        "model": console.name_of(model),
        "class": words,
    }
    document |= {
        "file": console.name_of(file),
        "a": found.a,
        "b": found.b,
        "score_a": found.score_a,
    }
    document |= {"score_b": found.score_b, "method": found.method, "n_draws": found.n_draws}
    document["features"] = json.loads(found.to_json())
    document["sentences"] = list(found.sentences)
    document["reasons"] = [reason.facts for reason in found.reasons]
    return json.dumps(document, ensure_ascii=False, allow_nan=False)


def _show(found: "PairExplanation", out: str | None) -> None:
    """Print the sentences, then the table."""
    from .console import show_table

    for sentence in found.sentences:
        typer.echo(console.printable(sentence))
    show_table(found, "Contributions to the difference of the scores")
    if out is not None:
        typer.echo(f"written: {console.printable(out)}")
