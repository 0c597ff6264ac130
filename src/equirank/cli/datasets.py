"""``equirank datasets``: list the data sets, their licences, and whether they are present."""

from typing import TYPE_CHECKING, Any

import typer

from .console import JsonOption, errors_in_one_line, printable, show_table, write_json

if TYPE_CHECKING:
    from ..datasets.catalogue import DataSet

__all__ = ["datasets"]


def datasets(json: JsonOption = None) -> None:
    """List the data sets: size, presence, licence and source.

    Files are searched in the folder EQUIRANK_DATA, then in the cache (EQUIRANK_CACHE, or the
    platform's cache folder). For 'downloads', the loader downloads the data set.

    --json lists objects with name, loader, ranked, relevance, protected, rows, queries, bytes,
    licence, source, how (to get it), faults, downloads, present (true, false, or null if some files
    are missing) and files (name, bytes, sha256, url, and found: its path or null).
    """
    with errors_in_one_line():
        from ..core.table import Table
        from ..datasets.catalogue import catalogue

        rows = [_row(entry) for entry in catalogue().values()]
        if json is not None:
            from json import dumps

            write_json(json, dumps(rows, ensure_ascii=False, allow_nan=False))
        if json != "-":
            show_table(
                Table(
                    {
                        "name": [row["name"] for row in rows],
                        "rows": [row["rows"] for row in rows],
                        "lists": [row["queries"] for row in rows],
                        "size": [_size(row["bytes"]) for row in rows],
                        "present": [_presence(row) for row in rows],
                        "licence": [row["licence"] for row in rows],
                        "source": [row["source"] for row in rows],
                    }
                )
            )
            _show_folders()


def _row(entry: "DataSet") -> dict[str, Any]:
    """Return a description of a data set for JSON."""
    from dataclasses import asdict

    from ..core.errors import DataError
    from ..datasets.fetch import look

    row = asdict(entry)
    for file in row["files"]:
        try:
            found = look(entry, file["name"])
        except DataError:  # a cached file with a wrong checksum does not count
            found = None
        file["bytes"] = file.pop("n_bytes")
        file["found"] = None if found is None else str(found)
    found_files = [file["found"] is not None for file in row["files"]]
    row["present"] = all(found_files) or (None if any(found_files) else False)
    instead = row.pop("instead")
    if not row["present"] and any(look(entry, name) is not None for name in instead):
        row["present"] = True
    return row | {"bytes": entry.n_bytes, "downloads": entry.downloads}


def _presence(row: dict[str, Any]) -> str:
    if not row["files"]:
        return "always"
    if row["present"] is None:
        return "partly"
    return "yes" if row["present"] else "no, downloads" if row["downloads"] else "no"


def _size(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes else ""


def _show_folders() -> None:
    """Print the folders in which files are searched."""
    import os

    from ..core.environment import cache_folder

    given = os.environ.get("EQUIRANK_DATA")
    typer.echo(f"\ndata folder (EQUIRANK_DATA): {printable(given) if given else 'not set'}")
    typer.echo(f"cache: {printable(cache_folder())}")
