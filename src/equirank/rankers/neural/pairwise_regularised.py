"""PairwiseRegularised: a pairwise ranker with a penalty on margins that correlate with groups."""

from dataclasses import replace
from functools import partial
from typing import Annotated, Any, ClassVar, cast

import numpy as np

from ...core.data import RankingData
from ...core.params import Choice, Label, Number, Optional
from .batches import QueryBatches
from .network import Net
from .neural_ranker import HiddenRepresentation
from .pair_constraints import (
    PAIR_LOSSES,
    DrawnPairs,
    PairSet,
    PairUnion,
    batch_gaps,
    correlation,
    group_pairs,
)
from .training_loop import Problem

__all__ = ["PairwiseRegularised"]


KINDS = ("inter", "intra", "all")


class PairwiseRegularised(HiddenRepresentation):
    """A pairwise ranker with a penalty on the correlation of margins with groups.

    The loss is ``mean loss(s_1 - s_2) + gamma |corr(s_1 - s_2, g_1)|`` over pairs of one list with
    ``y_1 > y_2``: the margin of the better item should not depend on its group. The correlation is
    computed over pairs of two groups (inter), of one group (intra), or over all; with more than two
    groups it is the mean over groups of the absolute correlation with membership. Pairs are drawn
    for every step, uniformly from all pairs, or by query weight if given. Groups are needed to fit,
    not to rank. Without pairs to compare the penalty is 0.

    Parameters
    ----------
    gamma : float
        Weight of the correlation.
    pairs : {"inter", "intra", "all"}
        The pairs whose correlation counts.
    loss : {"logistic", "hinge"}
        Loss of a pair: ``log(1 + exp(-margin))`` or ``max(0, 1 - margin)``.
    by : str or tuple of str, optional
        The sensitive attribute, or several crossed; may be omitted if there is one.
    batch_size : int
        Number of pairs per step; an epoch draws as many pairs as there are rows.


    References
    ----------
    Beutel, Chen, Doshi, Qian, Wei, Wu, Heldt, Zhao, Hong, Chi and Goodrow, Fairness in
    recommendation ranking through pairwise comparisons, KDD 2019.

    Examples
    --------
    >>> from equirank import evaluate
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import PairwiseRegularised
    >>> data = make_ranking(n_queries=40, n_items=20, feature_bias=1.0, random_state=0)
    >>> given = {"layers": (), "learning_rate": 0.03, "random_state": 0}
    >>> plain, fair = (PairwiseRegularised(gamma, **given).fit(data) for gamma in (0.0, 2.0))
    >>> name = "GroupPairwiseAccuracy"
    >>> before, after = (evaluate(m.rank(data), name, n_boot=0)[name] for m in (plain, fair))
    >>> bool(after < 0.5 * before)
    True
    """

    fit_needs: ClassVar[frozenset[str]] = frozenset({"qid", "sensitive_features"})
    hyper: ClassVar[tuple[str, ...]] = ("gamma",)
    test_params: ClassVar[dict[str, Any]] = {"layers": (4,), "n_epochs": 2, "random_state": 0}

    positional: ClassVar[tuple[str, ...]] = ("gamma", "pairs")

    batch_size = 256
    gamma: Annotated[float, Number(0.0)] = 1.0
    pairs: Annotated[str, Choice(*KINDS)] = "inter"
    loss: Annotated[str, Choice(*PAIR_LOSSES)] = "logistic"
    by: Annotated[Any, Optional(Label(many=True))] = None

    def problem(self, data: RankingData, seed: int, device: Any) -> Problem:
        """Return the minimisation problem of this data; the ranker itself does not change."""
        plain = super().problem(data, seed, device)
        query, attribute = data.query_of_rows(), data.attribute(self.by)
        y = np.asarray(data.y, dtype=np.float64)
        weight = np.ones(data.n_queries) if data.query_weight is None else data.query_weight
        sets = group_pairs(query, y, weight, attribute.codes)
        whole = PairUnion(list(sets.values()))
        chosen = [part for groups, part in sets.items() if self._counts(*groups)]
        further: list[PairSet | PairUnion] = [PairUnion(chosen)] if chosen else []
        size, rows = int(self.batch_size), cast(QueryBatches, plain.batches).rows
        loss = partial(
            _loss, kind=self.loss, n_pairs=size, n_groups=len(attribute.categories),
        )  # fmt: skip
        return replace(plain, batches=DrawnPairs(rows, whole, further, size, size, seed), loss=loss)

    def _counts(self, better: int, worse: int) -> bool:
        """Return whether pairs of these groups enter the correlation; -1 is an unknown label."""
        if min(better, worse) < 0:
            return False
        return self.pairs == "all" or (better == worse) == (self.pairs == "intra")

    def _columns(self, data: RankingData) -> dict[str, np.ndarray]:
        return {"code": data.attribute(self.by).codes.astype(np.int64)}


def _loss(
    net: Net,
    batch: dict[str, Any],
    hyper: dict[str, Any],
    kind: str,
    n_pairs: int,
    n_groups: int,
) -> Any:
    """Return the loss of a batch: its first pairs for the ranking, the rest for the penalty."""
    gap, error = batch_gaps(net, batch, kind, n_pairs)
    if len(gap) == n_pairs:
        return error
    return error + hyper["gamma"] * correlation(gap[n_pairs:], batch["code"][0, n_pairs:], n_groups)
