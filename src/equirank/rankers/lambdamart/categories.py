"""Columns of text or categories in a data frame, as the whole numbers that LightGBM splits on."""

from typing import Any

import narwhals as nw
import numpy as np

__all__ = ["encode_frame", "find_categories"]


def find_categories(X: Any) -> dict[str, list[str]]:
    """Give the categories of each column of text or categories, sorted; nothing for arrays.

    Examples
    --------
    >>> import pandas as pd
    >>> find_categories(pd.DataFrame({"age": [31, 40], "city": ["Rome", "Bonn"]}))
    {'city': ['Bonn', 'Rome']}
    """
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return {}
    kinds = (nw.String, nw.Categorical, nw.Enum, nw.Object)
    return {
        name: sorted({str(value) for value in frame[name].to_list() if _there(value)})
        for name, kind in frame.schema.items()
        if isinstance(kind, kinds) or kind in kinds
    }


def encode_frame(X: Any, categories: dict[str, list[str]]) -> Any:
    """Replace those columns by the numbers of their categories; missing and unknown become NaN."""
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not categories or not isinstance(frame, nw.DataFrame):
        return X
    columns = []
    for name, labels in categories.items():
        if name not in frame.columns:
            continue  # scikit-learn's own check says which names are missing
        number = {label: float(at) for at, label in enumerate(labels)}
        values = frame[name].to_list()
        codes = [number.get(str(v), np.nan) if _there(v) else np.nan for v in values]
        columns.append(
            nw.new_series(name, np.array(codes), nw.Float64, backend=frame.implementation)
        )
    return frame.with_columns(*columns).to_native()


def _there(value: Any) -> bool:
    return value is not None and value == value
