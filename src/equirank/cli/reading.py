"""Reading the file of a command, whatever its format."""

import os
from typing import TYPE_CHECKING, Any

from .failing import CommandError

if TYPE_CHECKING:
    from ..core.data import RankingData

__all__ = ["FORMATS", "format_of", "read_file"]

#: The endings of each format; ``.gz`` may follow.
FORMATS = {
    "csv": (".csv",),
    "tsv": (".tsv", ".tab"),
    "parquet": (".parquet", ".pq"),
    "letor": (".txt", ".letor", ".svm", ".svmlight", ".libsvm"),
}


def read_file(
    path: str,
    file_format: str | None,
    *,
    sensitive: list[str],
    missing_sensitive: Any,
    missing_relevance: Any,
    ids: Any = False,
    **columns: str | None,
) -> "RankingData":
    """Read a file as the format says, else as its name ends."""
    chosen = file_format or format_of(path)
    if chosen == "letor":
        return _read_letor(path, sensitive=sensitive, **columns)
    names: dict[str, Any] = dict(columns)
    names |= {"sensitive": sensitive, "ids": ids, "features": ()}
    names |= {"missing_sensitive": missing_sensitive, "missing_relevance": missing_relevance}
    if chosen == "parquet":
        from ..datasets.parquet import read_parquet

        return read_parquet(path, **names)
    from ..datasets.delimited import read_csv

    return read_csv(path, delimiter="\t" if chosen == "tsv" else ",", **names)


def format_of(path: str) -> str:
    """Tell the format by the ending of the name."""
    name = os.path.basename(path).lower().removesuffix(".gz")
    for word, known in FORMATS.items():
        if name.endswith(known):
            return word
    if not os.path.exists(path):
        raise FileNotFoundError(2, "", path)
    endings = ", ".join(ending for each in FORMATS.values() for ending in each)
    raise CommandError(
        f"{path}: the ending tells no format (known: {endings}); "
        f"say it with --format {'|'.join(FORMATS)}"
    )


def _read_letor(path: str, *, sensitive: list[str], **columns: str | None) -> "RankingData":
    """Read SVMlight with query ids, where columns are the numbers of features."""
    from ..core.data import as_ranking_data
    from ..datasets.letor import read_letor

    for role in ("query", "relevance"):
        if columns[role] is not None:
            raise CommandError(f"--{role} must be left out for LETOR, whose lines begin with it")
    data = read_letor(path)

    def feature(option: str, number: str | None) -> Any:
        if number is None:
            return None
        if not number.isdecimal() or not 1 <= int(number) <= data.n_features:
            raise CommandError(
                f"--{option} must be the number of a feature from 1 to {data.n_features} "
                f"for LETOR, got {number!r}"
            )
        return data.to_original(data.X[:, int(number) - 1])

    return as_ranking_data(
        y=data.to_original(data.y) if data.y is not None else None,
        qid=data.to_original(data.qids[data.query_of_rows()]),
        sensitive_features={name: feature("sensitive", name) for name in sensitive} or None,
        cost=feature("cost", columns["cost"]),
        score=feature("score", columns["score"]),
        position=feature("position", columns["position"]),
    )
