"""ImplicitBiasFloor: a share of every prefix for those whose scores are held down."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ...core.params import Constraint, Number, Optional
from ..group_bounds import ROUNDING
from ..guaranteed import Pool
from .floor_reranker import FloorReranker

__all__ = ["ImplicitBiasFloor"]


class ImplicitBiasFloor(FloorReranker):
    """Give the protected at least ``ceil(phi j)`` of the first j places, for every j.

    Where the scores of the protected are held down by a factor, this floor, blind to the factor,
    brings back true utility that the biased order loses; `implicit_bias_gain` says how much. Of the
    lists that keep the floor, the one with the highest scores in every prefix is given.

    The order inside the protected and inside the others stays; ties stand in the caller's order,
    and only the order of scores counts. Rows behind the cutoff are not shown; rows not shown before
    stay so. A list with too few protected is reported as infeasible; one without any keeps its
    order where ``phi`` is None.

    Parameters
    ----------
    phi : float, optional
        Share of every prefix, in [0, 1]; None takes the share of each list.
    protected : label or sequence of labels, optional
        The protected group; several count as one. None takes all but the largest group.
    k : int, optional
        Cutoff; None ranks whole lists.
    by : str or sequence of str, optional
        The attribute, where there are several; several are crossed.
    on_infeasible : {"error", "best"}
        What happens where a list has too few of the protected: an error that names the list and
        the prefix, or the closest ranking with a warning.

    References
    ----------
    Celis, Mehrotra and Vishnoi, Interventions for ranking in the presence of implicit bias, FAT*
    2020.

    Examples
    --------
    >>> from equirank.rerankers import ImplicitBiasFloor
    >>> rule = ImplicitBiasFloor(0.3, protected="f", k=4)
    >>> result = rule.rerank([9, 8, 7, 6, 5, 4], sensitive_features=list("mmmmff"))
    >>> result.order()  # ceil(0.3), ceil(0.6), ceil(0.9), ceil(1.2)
    array([4, 0, 1, 5])
    """

    params: ClassVar[Mapping[str, Constraint]] = {
        "phi": Optional(Number(0.0, 1.0)),
        **FloorReranker.params,
    }
    test_params: ClassVar[Mapping[str, Any]] = {"phi": 0.2, "protected": "a"}
    guarantee: ClassVar[str] = "every prefix j holds at least ceil(phi j) of the protected"
    needs_text: ClassVar[str] = "groups, and who is protected; the share phi, or the pool's"
    cost: ClassVar[str] = "score, from the first place on; repays where scores are biased"

    def __init__(
        self,
        phi: float | None = None,
        protected: Any = None,
        k: int | None = None,
        by: Any = None,
        on_infeasible: str = "error",
    ) -> None:
        self.phi = phi
        self.protected = protected
        self.k = k
        self.by = by
        self.on_infeasible = on_infeasible

    def _floors(self, pool: Pool, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Give ``ceil(phi j)``: one table for all lists, or one for each length and share."""
        if self.phi is not None:
            return _ceilings(int(pool.limit.max()), float(self.phi)), np.zeros(
                len(pool.limit), dtype=np.int64
            )
        kinds, kind = np.unique(np.column_stack([pool.limit, shares]), axis=0, return_inverse=True)
        tables = [_ceilings(int(size), float(share)) for size, share in kinds.tolist()]
        starts = np.concatenate([[0], np.cumsum(kinds[:, 0].astype(np.int64))])
        return np.concatenate(tables), starts[:-1][kind.ravel()]


def _ceilings(size: int, share: float) -> np.ndarray:
    return np.ceil(np.arange(1, size + 1) * share - ROUNDING).astype(np.int64)
