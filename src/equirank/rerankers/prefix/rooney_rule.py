"""RooneyRule: at least one of the protected on the short list."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ...core.params import Constraint, Integer
from ..guaranteed import Pool
from .floor_reranker import FloorReranker

__all__ = ["RooneyRule"]


class RooneyRule(FloorReranker):
    """Put at least one of the protected (or ``count``) on the short list of the first k.

    Where the first k hold too few, the best of the protected behind them take the last places. The
    order stays otherwise, and ties stand in the caller's order. Only the order of scores counts.
    Rows behind the cutoff are not shown; rows not shown before stay so. A list with too few
    protected is reported as infeasible. Without a cutoff the short list is the whole list.

    Parameters
    ----------
    protected : label or sequence of labels, optional
        The protected group; several count as one. None takes all but the largest group.
    k : int, optional
        Length of the short list.
    count : int
        How many of the protected it holds at least.
    by : str or sequence of str, optional
        The attribute, where there are several; several are crossed.
    on_infeasible : {"error", "best"}
        What happens where a list has too few of the protected: an error that names the list, or
        the closest short list with a warning.

    References
    ----------
    Kleinberg and Raghavan, Selection problems in the presence of implicit bias, ITCS 2018.

    Examples
    --------
    >>> from equirank.rerankers import RooneyRule
    >>> rule = RooneyRule(protected="f", k=3)
    >>> rule.rerank([9, 8, 7, 6, 5], sensitive_features=list("mmmmf")).order()
    array([0, 1, 4])
    """

    params: ClassVar[Mapping[str, Constraint]] = {**FloorReranker.params, "count": Integer(1)}
    test_params: ClassVar[Mapping[str, Any]] = {"protected": "a", "k": 5}
    guarantee: ClassVar[str] = "the short list holds at least one (or so many) of the protected"
    needs_text: ClassVar[str] = "groups, and who is protected; the length of the short list"
    cost: ClassVar[str] = "at most the last places of the short list"

    def __init__(
        self,
        protected: Any = None,
        k: int | None = None,
        count: int = 1,
        by: Any = None,
        on_infeasible: str = "error",
    ) -> None:
        self.protected = protected
        self.k = k
        self.count = count
        self.by = by
        self.on_infeasible = on_infeasible

    def _floors(self, pool: Pool, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Give the floors of the longest list; a shorter list reads its end."""
        longest = int(pool.limit.max())
        floors = np.zeros(longest, dtype=np.int64)
        floors[-1:] = self.count
        return floors, longest - pool.limit
