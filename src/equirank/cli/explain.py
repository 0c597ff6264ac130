"""``equirank explain``: explain why a trained model ranks one item above another.

``--json`` writes one object: ``equirank`` (the version), ``model`` (name of the folder), ``class``,
``file``, ``a``, ``b``, ``score_a``, ``score_b``, ``method``, ``n_draws``, ``features`` (the rows of
the table: feature, value_a, value_b, contribution, standard_error, and what SHAP values add),
``sentences`` and ``reasons`` (of a re-ranker, about a and b).
"""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from .console import (
    CommandError,
    JsonOption,
    Written,
    errors_in_one_line,
    name_of,
    printable,
    show_source,
    write_json,
    writing,
)
from .options import FileArgument, ModelArgument, Reading, TrainedQueryOption, with_reading

if TYPE_CHECKING:
    import numpy as np

    from ..core.data import RankingData
    from ..core.pair_explanation import PairExplanation
    from ..recipes.data_columns import DataColumns
    from ..recipes.new_file import NewFile

__all__ = ["explain"]


@with_reading
def explain(
    model: ModelArgument,
    file: FileArgument,
    a: Annotated[
        str,
        typer.Option(metavar="ID", help="The item to explain: its id, else its row number from 0."),
    ],
    b: Annotated[str, typer.Option(metavar="ID", help="The item to compare with.")],
    of: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="The list, if an id occurs in several."),
    ] = None,
    out: Annotated[
        str | None,
        Written(),
        typer.Option(
            metavar="CHART", help="Write the chart there: .png, .svg, .pdf, .html or .json."
        ),
    ] = None,
    query: TrainedQueryOption = None,
    seed: Annotated[
        int, typer.Option(min=0, help="Random seed, if contributions are sampled.")
    ] = 0,
    json: JsonOption = None,
    *,
    reading: Reading,
) -> None:
    """Explain why a trained model ranks one item above another, feature by feature.

    The contributions add up to the difference of the two scores. Columns are matched as in
    `equirank predict`. A re-ranker adds its reasons for both items.
    """
    with errors_in_one_line():
        from dataclasses import replace

        from ..recipes.fit_recipe import check_features
        from ..recipes.new_file import in_words, load_trained, read_new_file, sees_groups

        ranker, columns = load_trained(model)
        read = read_new_file(
            file,
            reading.format,
            columns,
            sensitive=sees_groups(ranker),
            query=query,
            options=reading.options(),
        )
        show_source(read.data.source)
        check_features(read.data, ranker, file)
        ids, lists = _ids(read, columns), _lists(read.data)
        rows = [_row(name, item, ids, lists, of) for name, item in (("--a", a), ("--b", b))]
        data = read.data
        if ids is not None:
            data = replace(data, ids=ids[data.caller_rank])
        found = ranker.explain_pair(data, *rows, random_state=seed)
        _name_categories(found, columns)
        if out is not None:
            from ..plots import pair_explanation, save_chart

            with writing(out):
                save_chart(pair_explanation(found), out)
        if json is not None:
            write_json(json, _document(model, in_words(ranker), file, found))
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
            raise CommandError(
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
        raise CommandError(f"{option} must be the id of an item{where} of the file, got {item!r}")
    if len(found) > 1:
        raise CommandError(f"--of must name the list, since {item!r} occurs {len(found)} times")
    return found[0]


def _name_categories(found: "PairExplanation", columns: "DataColumns") -> None:
    """Replace the codes of categories by their names."""
    import numpy as np

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
        "model": name_of(model),
        "class": words,
    }
    document |= {"file": name_of(file), "a": found.a, "b": found.b, "score_a": found.score_a}
    document |= {"score_b": found.score_b, "method": found.method, "n_draws": found.n_draws}
    document["features"] = json.loads(found.to_json())
    document["sentences"] = list(found.sentences)
    document["reasons"] = [reason.facts for reason in found.reasons]
    return json.dumps(document, ensure_ascii=False, allow_nan=False)


def _show(found: "PairExplanation", out: str | None) -> None:
    """Print the sentences, then the table."""
    from .console import show_table

    for sentence in found.sentences:
        typer.echo(printable(sentence))
    show_table(found, "Contributions to the difference of the scores")
    if out is not None:
        typer.echo(f"written: {printable(out)}")
