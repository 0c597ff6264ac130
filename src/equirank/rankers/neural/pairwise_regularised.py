"""PairwiseRegularised: a pairwise ranker that pays for correlation of its margins with groups."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np

from ...core.data import RankingData
from ...core.params import Choice, Constraint, Label, Number, Optional
from .batches import QueryBatches
from .network import Net
from .neural_ranker import COMMON, NeuralRanker
from .pair_constraints import (
    PAIR_LOSSES,
    DrawnPairs,
    PairSet,
    PairUnion,
    correlation,
    group_pairs,
    pair_loss,
)
from .training_loop import Problem

__all__ = ["PairwiseRegularised"]


KINDS = ("inter", "intra", "all")


class PairwiseRegularised(NeuralRanker):
    """A pairwise ranker whose margins must not tell of which group the better item is.

    The loss is ``mean loss(s_1 - s_2) + gamma |corr(s_1 - s_2, g_1)|`` over pairs of one list with
    ``y_1 > y_2``: the better item's margin shall not depend on its group. The correlation is taken
    over pairs of two groups (inter), of one group (intra), or over all; with more than two groups
    it is the mean over the groups of the absolute correlation with being of the group. Pairs are
    drawn anew for every step, evenly among all pairs, or by query weight where given. Groups are
    needed to fit, not to rank. Without pairs to compare the price is 0.

    Parameters
    ----------
    gamma : float
        The price of a correlation of 1.
    pairs : {"inter", "intra", "all"}
        Over which pairs.
    loss : {"logistic", "hinge"}
        Of a pair: ``log(1 + exp(-margin))`` or ``max(0, 1 - margin)``.
    by : str or tuple of str, optional
        Which sensitive attribute, or several crossed; may be left out where there is one.
    layers, activation
        Widths of the hidden layers, none for a linear scorer, and "tanh", "relu" or "sigmoid".
    n_epochs, max_steps, batch_size, learning_rate, schedule, clip, weight_decay
        Passes, each with as many pairs as there are rows; a limit to the steps; pairs per step; and
        how Adam descends.
    early_stopping, validation, metric
        Epochs without a better ``metric`` on the held-out share of the queries (or data) to stop
        after.
    device, precision, checkpoint, n_jobs, random_state
        As in `DirectRanker`.

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
    params: ClassVar[Mapping[str, Constraint]] = {
        **COMMON,
        "gamma": Number(0.0),
        "pairs": Choice(*KINDS),
        "loss": Choice(*PAIR_LOSSES),
        "by": Optional(Label(many=True)),
    }
    test_params: ClassVar[dict[str, Any]] = {"layers": (4,), "n_epochs": 2, "random_state": 0}

    def __init__(
        self,
        gamma: float = 1.0,
        pairs: str = "inter",
        *,
        loss: str = "logistic",
        by: Any = None,
        layers: Sequence[int] = (64, 32),
        activation: str = "tanh",
        n_epochs: int = 30,
        max_steps: int | None = None,
        batch_size: int = 256,
        learning_rate: float = 0.001,
        schedule: str = "constant",
        clip: float | None = None,
        weight_decay: float = 0.0,
        early_stopping: int | None = None,
        validation: Any = None,
        metric: Any = "NDCG@10",
        device: str = "cpu",
        precision: str = "float32",
        checkpoint: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            layers=layers,
            activation=activation,
            n_epochs=n_epochs,
            max_steps=max_steps,
            batch_size=batch_size,
            learning_rate=learning_rate,
            schedule=schedule,
            clip=clip,
            weight_decay=weight_decay,
            early_stopping=early_stopping,
            validation=validation,
            metric=metric,
            device=device,
            precision=precision,
            checkpoint=checkpoint,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.gamma = gamma
        self.pairs = pairs
        self.loss = loss
        self.by = by

    def problem(self, data: RankingData, seed: int, device: Any) -> Problem:
        """Return what is minimised on this data; the ranker itself is left as it is."""
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
        """Return whether pairs of these groups enter the correlation."""
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
    """Return the loss of a batch: its first pairs for the ranking, the others for the price."""
    score = net.score(batch["x"]).to(batch["x"].dtype)
    gap = score[0] - score[1]
    error = pair_loss(gap[:n_pairs], kind).mean()
    if len(gap) == n_pairs:
        return error
    return error + hyper["gamma"] * correlation(gap[n_pairs:], batch["code"][0, n_pairs:], n_groups)
