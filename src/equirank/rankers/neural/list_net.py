"""ListNet: a network that learns who comes first, or the order of the labels."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ...core.params import Choice, Constraint, Integer, Optional
from .losses import cross_entropy, label_order_loss, log_chances, score_table
from .network import Net
from .neural_ranker import COMMON, NeuralRanker

__all__ = ["ListNet"]


class ListNet(NeuralRanker):
    """Learns to give each item the chance of being first that its label gives it.

    An item of score s is first with the probability ``phi(s) / sum of phi`` over its list. The loss
    of a list is the cross-entropy between these chances by the labels and by the scores, ``- sum_i
    P_label(i) log P_score(i)``. With ``top=k`` it is instead minus the logarithm of the
    Plackett-Luce probability that the first k places follow the labels: each place is filled among
    the items left, in proportion to phi. Items of equal label are each drawn among all items that
    are not better, so the order of rows does not matter; with k at least the length of the list and
    no ties that is ListMLE. The mean over lists is minimised, by query weight where given. A list
    of one item teaches nothing.

    Parameters
    ----------
    phi : {"exp", "linear", "sigmoid"}
        From scores and labels to what chances are proportional to. A probability needs positive
        numbers, so "linear" is 1 + how far above the lowest of the list.
    top : int, optional
        How many places of the label order count; None for the chance of being first.
    layers, activation
        Widths of the hidden layers, none for a linear scorer, and "tanh", "relu" or "sigmoid".
    n_epochs, max_steps, batch_size, learning_rate, schedule, clip, weight_decay
        Passes through the lists, a limit to the steps, lists per step, and how Adam descends.
    early_stopping, validation, metric
        Epochs without a better ``metric`` on the held-out share of the queries (or data) to stop
        after.
    device, precision, checkpoint, n_jobs, random_state
        As in `DirectRanker`.

    Attributes
    ----------
    curve_ : dict of str to list
        Per epoch: mean loss, and the metric on the validation data; ``learning_curve_`` is it as a
        table.

    References
    ----------
    Cao, Qin, Liu, Tsai and Li, Learning to rank: from pairwise approach to listwise approach, ICML
    2007. Xia, Liu, Wang, Zhang and Li, Listwise approach to learning to rank, ICML 2008 (ListMLE).

    Examples
    --------
    >>> from equirank.datasets import make_ranking
    >>> from equirank.rankers import ListNet
    >>> data = make_ranking(n_queries=50, random_state=0)
    >>> model = ListNet(layers=(16,), learning_rate=0.01, random_state=0).fit(data)
    >>> round(model.score(data), 2) > 0.8
    True
    """

    params: ClassVar[Mapping[str, Constraint]] = {
        **COMMON,
        "phi": Choice("exp", "linear", "sigmoid"),
        "top": Optional(Integer(1)),
    }
    test_params: ClassVar[dict[str, Any]] = {"layers": (4,), "n_epochs": 2, "random_state": 0}

    def __init__(
        self,
        phi: str = "exp",
        top: int | None = None,
        *,
        layers: Sequence[int] = (64, 32),
        activation: str = "tanh",
        n_epochs: int = 30,
        max_steps: int | None = None,
        batch_size: int = 32,
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
        self.phi = phi
        self.top = top

    def _loss(self, net: Net, batch: dict[str, Any], hyper: dict[str, Any]) -> Any:
        score, real, label = score_table(net, batch), batch["real"], batch["y"]
        if self.top is None:
            found = cross_entropy(log_chances(score, real, self.phi), real, label, self.phi)
        else:
            found = label_order_loss(score, real, label, self.phi, self.top)
        return (batch["weight"] * found).mean()
