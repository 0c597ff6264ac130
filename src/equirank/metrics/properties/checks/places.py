"""Places: what the checks take, checked once and in one sentence."""

from typing import Any

import numpy as np

from ....core.errors import DataError
from ....core.params import Integer, check_params

__all__ = ["as_displacement", "as_mask", "as_numbers", "as_places", "check_both"]


def as_places(owner: str, positions: Any, n: int) -> np.ndarray:
    """Give the places of a group in a list of n, ascending, or say what is wrong with them."""
    check_params(owner, {"n": n}, {"n": Integer(1)})
    places = as_numbers("positions", positions)
    whole = places.astype(np.int64)
    if (whole != places).any() or (whole < 1).any() or (whole > n).any():
        raise DataError(f"positions must be whole numbers from 1 to n = {n}, got {_shown(places)}")
    whole = np.sort(whole)
    if (np.diff(whole) == 0).any():
        raise DataError(f"positions must differ, got {_shown(whole)}")
    return whole


def as_numbers(name: str, values: Any) -> np.ndarray:
    """Give a non-empty row of finite numbers."""
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise DataError(f"{name} must be a sequence of numbers, got {values!r}") from None
    if array.ndim != 1 or len(array) == 0 or not np.isfinite(array).all():
        raise DataError(f"{name} must be a sequence of finite numbers, got {_shown(array)}")
    return array


def as_mask(protected: Any) -> np.ndarray:
    """Give a row of truth values: True (or 1) for the protected."""
    mask = np.asarray(protected)
    if mask.ndim != 1 or len(mask) == 0 or not np.isin(mask, (0, 1)).all():
        raise DataError(f"protected must be a sequence of True and False, got {_shown(mask)}")
    return mask.astype(bool)


def as_displacement(
    position: Any, true_position: Any, protected: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Give displacements (position - true position), true positions and the protected."""
    place, truth = as_numbers("position", position), as_numbers("true_position", true_position)
    mask = as_mask(protected)
    if not len(place) == len(truth) == len(mask):
        raise DataError(
            "position, true_position and protected must have one length, "
            f"got {len(place)}, {len(truth)} and {len(mask)}"
        )
    check_both(mask)
    return place - truth, truth, mask


def check_both(mask: np.ndarray) -> None:
    """Raise where one of the two groups is empty."""
    if mask.all() or not mask.any():
        raise DataError("protected must name some items and leave out some, got one group only")


def _shown(values: np.ndarray) -> str:
    text = repr(values.tolist())
    return text if len(text) <= 80 else text[:77] + "..."
