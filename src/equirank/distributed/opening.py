"""Opening: a Dask DataFrame or a folder of Parquet files, and which column is what."""

import os
from collections.abc import Iterable, Sequence
from typing import Any

from ..core.errors import DataError
from ..core.extras import require
from ..datasets.columns import Roles, assign

__all__ = ["compute", "current_client", "open_frame", "parts_of", "roles_of"]


def open_frame(data: Any) -> Any:
    """Give the Dask DataFrame itself, or that of a folder of Parquet files."""
    frames = require("dask.dataframe", "dask")
    if isinstance(data, (str, os.PathLike)):
        path = os.fspath(data)
        if "://" not in path and not os.path.exists(path):
            raise DataError(f"data must be a folder of Parquet files that exists, got {path!r}")
        return frames.read_parquet(path)
    if isinstance(data, frames.DataFrame):
        return data
    raise DataError(
        "data must be a Dask DataFrame or a folder of Parquet files, got "
        f"{type(data).__name__}; dask.dataframe.from_pandas makes one of a frame at hand"
    )


def roles_of(
    frame: Any, *, sensitive: Any, features: Any = (), weight: Any = None, **single: Any
) -> Roles:
    """Find the column of each role: the one named, else the one recognised as in `read_csv`.

    Columns that are left, where ``features`` is None, are features as far as they hold numbers.
    """
    names = [str(name) for name in frame.columns]
    used = [name for name in names if weight is None or name != weight]
    roles = assign("data", used, sensitive=sensitive, features=features, ids=False, **single)
    if not roles.others:
        return roles
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    kinds = dict(zip(names, frame.dtypes, strict=True))
    numeric = [n for n in roles.features if is_numeric_dtype(kinds[n]) or is_bool_dtype(kinds[n])]
    return Roles(roles.single, roles.sensitive, tuple(numeric), others=True)


def parts_of(frame: Any, columns: Sequence[str]) -> list[Any]:
    """Give the partitions of some columns, each a pandas frame that is not there yet."""
    return list(frame[list(dict.fromkeys(columns))].to_delayed())


def compute(tasks: Iterable[Any], client: Any) -> list[Any]:
    """Compute tasks on the client, or on whatever Dask is set to use."""
    tasks = list(tasks)
    if client is not None:
        return list(client.gather(client.compute(tasks)))
    return list(require("dask", "dask").compute(*tasks))


def current_client(client: Any) -> Any:
    """Give the client, or the current one, or say how to start one."""
    distributed = require("distributed", "dask")
    if client is not None:
        return client
    try:
        return distributed.get_client()
    except ValueError:
        raise DataError(
            "client must be a Dask client where none is current; start one with: "
            "from distributed import Client; client = Client(n_workers=2, threads_per_worker=1)"
        ) from None
