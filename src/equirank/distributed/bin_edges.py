"""Bin edges of features, found from a sample of all partitions and used by all workers."""

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..core.environment import require
from ..core.frames import FrameFeatures, as_frame
from ..core.random import generator
from ..io.files import replacing
from .partitions import Lists

__all__ = [
    "BINNING",
    "Bins",
    "Ranges",
    "column_edges",
    "make_bins",
    "max_bin_of",
    "sample_rows",
    "write_edges",
]


#: Parameters of LightGBM that workers ignore: they receive the bins instead.
BINNING = (
    *("forcedbins_filename", "max_bin_by_feature"),
    *("bin_construct_sample_cnt", "subsample_for_bin"),
)
#: Values up to this size are 0 for LightGBM, which has a bin of its own.
ZERO = 1e-35


@dataclass(frozen=True, eq=False)
class Bins:
    """The bins of all features.

    Attributes
    ----------
    edges : list of ndarray or None
        The upper bounds of each feature's bins except the last; empty for a column of categories.
        None if a file with forced bins was given.
    params : dict
        Further parameters that keep LightGBM from adding bins.
    reference : bytes
        A data set of LightGBM with these bins and a few rows, for the workers.
    n_rows : int
        Number of rows from which the bins were found; LightGBM needs it again.
    """

    edges: list[np.ndarray] | None
    params: dict[str, Any]
    reference: bytes
    n_rows: int


def sample_rows(
    frame: Any, lists: Lists, n_rows: int, seed: int, at: int, columns: Sequence[int] | None = None
) -> np.ndarray:
    """Return a sample of the rows of a partition, in order, with all or some features."""
    if n_rows < len(frame):
        chosen = generator(seed, 7, at).choice(len(frame), n_rows, replace=False)
        frame = frame.iloc[np.sort(chosen)]
    names = list(lists.roles.features)
    if columns is None:
        return FrameFeatures(as_frame(frame), names, known=dict(lists.text)).matrix()
    return frame[[names[column] for column in columns]].to_numpy(np.float64, na_value=np.nan)


def column_edges(values: np.ndarray, n_bins: int) -> np.ndarray:
    """Return the edges of at most ``n_bins`` bins with about equal numbers of rows.

    An edge is the midpoint of two values. A value with more rows than the share of a bin has its
    own bin; if there are few values, each has one. Missing values are ignored.

    Examples
    --------
    >>> import numpy as np
    >>> column_edges(np.array([1.0, 2.0, 2.0, 4.0]), 10)
    array([1.5, 3. ])
    >>> column_edges(np.arange(12.0), 3)
    array([3.5, 7.5])
    """
    value, count = np.unique(values[~np.isnan(values)], return_counts=True)
    last = np.arange(len(value) - 1) if len(value) <= n_bins else _last_values(count, n_bins)
    return np.unique((value[last] + value[last + 1]) / 2)


def _last_values(count: np.ndarray, n_bins: int) -> np.ndarray:
    """Return the last value of each bin except the last; bins are filled one by one."""
    total = np.cumsum(count)
    heavy = np.flatnonzero(count >= total[-1] / n_bins)
    light = np.cumsum(np.where(count >= total[-1] / n_bins, 0, count))
    ends: list[int] = []
    begin = 0
    for left in range(n_bins, 1, -1):
        if begin >= len(count) - 1:
            break
        ahead = heavy[np.searchsorted(heavy, begin) :]
        end = begin
        if len(ahead) == 0 or ahead[0] > begin:
            before = light[begin - 1] if begin else 0
            share = (light[-1] - before) / max(1, left - len(ahead))
            end = max(begin, int(np.searchsorted(light, before + share + 0.5)) - 1)
            end = min(end, int(ahead[0]) - 1 if len(ahead) else len(count) - 2)
        ends.append(end)
        begin = end + 1
    return np.array([end for end in ends if end < len(count) - 1], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Ranges:
    """Minimum and maximum of each feature, and whether values are missing.

    ``categorical`` are the columns of categories, which have no edges.
    """

    low: np.ndarray
    high: np.ndarray
    missing: np.ndarray
    categorical: tuple[int, ...]

    def edges(
        self, samples: Sequence[np.ndarray], columns: Sequence[int], max_bin: int
    ) -> list[tuple[np.ndarray, int]]:
        """Return the edges of some columns from samples of them, and their numbers of bins.

        LightGBM adds a bin on either side of zero if there are such values, and one for missing
        values. If exactly this number of bins is allowed, it adds no others.
        """
        X = np.concatenate(list(samples))
        found = []
        for column, values in zip(columns, X.T, strict=True):
            if column in self.categorical:
                found.append((np.zeros(0), max_bin))
                continue
            around = int(self.low[column] < -ZERO) + int(self.high[column] > ZERO)
            around += int(self.missing[column])
            ends = [self.low[column], self.high[column]]
            values = np.append(values, [end for end in ends if np.isfinite(end)])
            own = column_edges(values, max(2, max_bin - around))
            own = own[np.abs(own) > ZERO][: max(1, max_bin - around - 1)]
            found.append((own, max(2, len(own) + 1 + around)))
        return found


def make_bins(
    samples: Sequence[np.ndarray],
    ranges: Ranges,
    given: Mapping[str, Any],
    forced: str | None,
    found: Sequence[tuple[np.ndarray, int]] | None,
    complete: bool,
) -> Bins:
    """Bin a sample of rows with LightGBM, by the given edges or by a file with forced bins.

    Unless the sample is ``complete``, rows of all minima, all maxima and all missing values are
    added, which also affect the bins of LightGBM. ``given`` are its parameters, ``forced`` is the
    text of the file.
    """
    lightgbm = require("lightgbm", "lightgbm")
    X = np.concatenate(list(samples)).astype(np.float64, copy=False)
    if forced is None and found is None:
        found = ranges.edges([X], range(X.shape[1]), max_bin_of(given))
    if not complete:
        ends = [np.where(np.isfinite(end), end, X[0]) for end in (ranges.low, ranges.high)]
        X = np.vstack([X, *ends, np.where(ranges.missing, np.nan, X[0])])
    edges = None if found is None else [own for own, _ in found]
    params: dict[str, Any] = {"enable_bundle": False, "feature_pre_filter": False}
    if found is not None:
        params["max_bin_by_feature"] = [size for _, size in found]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "bins.json")
        Path(path).write_text(edges_json(edges) if forced is None else forced, "utf-8")
        every = {"bin_construct_sample_cnt": len(X), "forcedbins_filename": path}
        whole = lightgbm.Dataset(
            X,
            categorical_feature=list(ranges.categorical) or "auto",
            params={**given, **params, **every, "verbosity": -1},
        ).construct()
        saved = os.path.join(folder, "reference.bin")
        whole.subset([0, 1]).construct().save_binary(saved)
        return Bins(edges, params, Path(saved).read_bytes(), len(X))


def max_bin_of(given: Mapping[str, Any]) -> int:
    """Return the maximum number of bins of a feature."""
    return int(next((given[name] for name in ("max_bin", "max_bins") if name in given), 255))


def edges_json(edges: Sequence[np.ndarray] | None) -> str:
    """Return edges as JSON in LightGBM's format."""
    return json.dumps(
        [
            {"feature": at, "bin_upper_bound": own.tolist()}
            for at, own in enumerate(edges or ())
            if len(own)
        ]
    )


def write_edges(path: str | os.PathLike[str], edges: Sequence[np.ndarray]) -> None:
    """Write edges to a file for ``forcedbins_filename``."""
    with replacing(path) as file:
        file.write(edges_json(edges).encode("utf-8"))
