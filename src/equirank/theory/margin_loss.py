"""The margin loss of scored pairs, for preferences of either sign or none."""

from typing import Any, Literal

import numpy as np

from ..core.columns import choose, numbers
from ..core.errors import DataError
from ..core.params import Number, check_params

__all__ = ["margin_loss"]


def margin_loss(
    gap: Any, preference: Any = None, *, rho: float = 1.0, form: Literal["step", "ramp"] = "step"
) -> float:
    """Give the share of pairs whose score gap does not reach the margin on the preferred side.

    ``1/m sum 1[y_i != 0] phi(y_i gap_i)`` over all m pairs, with ``phi(t) = 1[t < rho]`` (step) or
    ``min(1, max(0, 1 - t / rho))`` (ramp). A pair without preference (y = 0) counts in m and is
    never wrong. With rho = 0 both are the ranking error, ``1[t <= 0]``: a tied pair is wrong. No
    pair is an error.

    Parameters
    ----------
    gap : array-like
        Score of the first less score of the second item of each pair.
    preference : array-like, optional
        Per pair 1 (the first is preferred), -1 (the second) or 0 (neither); all 1 by default.
    rho : float
        The margin, >= 0.
    form : {"step", "ramp"}
        What a gap between 0 and rho costs: 1, or less the wider it is.

    Returns
    -------
    float
        In [0, 1], and no less than the error for any rho.

    References
    ----------
    Mohri, Rostamizadeh and Talwalkar, Foundations of machine learning, chapter on ranking.

    Examples
    --------
    >>> from equirank.theory import margin_loss
    >>> margin_loss([2.0, -0.5, 0.2, 9.0], [1, -1, 1, 0], rho=1.0)
    0.5
    >>> margin_loss([2.0, -0.5, 0.2, 9.0], [1, -1, 1, 0], rho=1.0, form="ramp")
    0.325
    """
    check_params("margin_loss", {"rho": rho}, {"rho": Number(0)})
    choose("form", form, ("step", "ramp"))
    gaps = numbers("gap", gap)
    if gaps is None or len(gaps) == 0:
        raise DataError("gap must hold at least one pair")
    side = np.ones(len(gaps)) if preference is None else numbers("preference", preference)
    if side is None or len(side) != len(gaps):
        raise DataError(f"preference must have one value per pair ({len(gaps)})")
    bad = ~np.isin(side, (-1.0, 0.0, 1.0))
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        raise DataError(f"preference must be -1, 0 or 1, got {float(side[at])} in pair {at}")
    margin = side * gaps
    if rho == 0:
        loss = (margin <= 0).astype(float)
    elif form == "step":
        loss = (margin < rho).astype(float)
    else:
        loss = np.clip(1.0 - margin / rho, 0.0, 1.0)
    return float(np.where(side == 0, 0.0, loss).mean())
