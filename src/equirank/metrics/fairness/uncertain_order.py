"""merit_gap: how far a ranking falls short of the positions that uncertain merit supports."""

from typing import Any

import numpy as np

from ...core.params import Integer, Number, Optional, check_params
from ..relevance.rank_overlap import paired_rankings

__all__ = ["merit_gap"]


def merit_gap(
    ranking: Any,
    merit: Any,
    *,
    phi: float = 1.0,
    k: int | None = None,
    qid: Any = None,
    per_query: bool = False,
) -> Any:
    """Compute the largest shortfall of an item's chance of the top j below its chance to merit it.

    ``max_i max_j max(0, phi M_ij - P_ij)``: ``P_ij`` is the probability that the ranking has item i
    among the first j, and ``M_ij`` the probability that i is among the j of largest merit, over the
    draws of merit. 0 means that every item has at least phi times the chance that the knowledge of
    its merit supports, at every position; a deterministic order of uncertain merits never has 0 at
    phi = 1. Ties and draws of both are counted by their exact chances. The mean over queries.

    Parameters
    ----------
    ranking : array-like or Ranking
        Scores, higher scores rank first, a column per draw if there are several; or a ranking, such
        as a result of `UncertainMerit` or draws of a policy.
    merit : array-like of shape (n_rows, n_draws), or Ranking
        Draws of the merit of each item from a posterior, or the ranking by such draws.
    phi : float
        Share of the merited chance that is demanded, in [0, 1].
    k : int, optional
        Compare the first k positions only; None compares all.
    qid : array-like, optional
        The query of each row; None makes all rows one list.
    per_query : bool
        Return one value per query, in order of first appearance.

    Returns
    -------
    float or ndarray

    References
    ----------
    Singh, Kempe and Joachims, Fairness in ranking under uncertainty, NeurIPS 2021.

    Examples
    --------
    The first item is the better one in 3 of 4 draws, and always comes first: the other item has
    chance 0 of position 1 instead of 1/4:

    >>> from equirank.metrics import merit_gap
    >>> draws = [[5, 4, 3, 1], [1, 2, 2, 4]]
    >>> merit_gap([2, 1], draws)
    0.25
    >>> merit_gap(draws, draws)
    0.0
    """
    check_params("merit_gap", {"phi": phi}, {"phi": Number(0, 1)})
    check_params("merit_gap", {"k": k}, {"k": Optional(Integer(1))})
    given, merited = paired_rankings(ranking, merit, qid, "average")
    offsets = given.data.offsets
    longest = int(np.diff(offsets).max())
    values = np.zeros(given.data.n_queries)
    for top in range(1, 1 + min(longest, k or longest)):
        chance, deserved = (each.expect(lambda place: place <= top) for each in (given, merited))  # noqa: B023
        short = np.maximum.reduceat(float(phi) * deserved - chance, offsets[:-1])
        values = np.maximum(values, short)
    values[values < 1e-12] = 0.0  # rounding of weights
    return values if per_query else float(values.mean())
