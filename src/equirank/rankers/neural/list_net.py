"""ListNet: a network that learns top-one probabilities, or the order of the labels."""

from typing import Annotated, Any, ClassVar

from ...core.params import Choice, Integer, Optional
from .losses import cross_entropy, label_order_loss, log_probabilities, score_table
from .network import Net
from .neural_ranker import NeuralRanker

__all__ = ["ListNet"]


class ListNet(NeuralRanker):
    """Learns scores whose top-one probabilities match those of the labels.

    An item of score s ranks first with the probability ``phi(s) / sum of phi`` over its list. The
    loss of a list is the cross-entropy between the probabilities by labels and by scores, ``- sum_i
    P_label(i) log P_score(i)``. With ``top=k`` it is instead the negative logarithm of the
    Plackett-Luce probability that the top k follow the labels: each position is drawn from the
    remaining items in proportion to phi. Items of equal label are each drawn from all items that
    are not better, so the order of rows does not matter; with k at least the length of the list and
    no ties this is ListMLE. The mean over lists, weighted by query if given, is minimised. A list
    of one item has no gradient.

    Parameters
    ----------
    phi : {"exp", "linear", "sigmoid"}
        Function of scores and labels to which probabilities are proportional. It must be positive,
        so "linear" is 1 + the difference from the lowest value of the list.
    top : int, optional
        Number of positions of the label order that count; None for top-one probabilities.


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

    test_params: ClassVar[dict[str, Any]] = {"layers": (4,), "n_epochs": 2, "random_state": 0}

    positional: ClassVar[tuple[str, ...]] = ("phi", "top")

    phi: Annotated[str, Choice("exp", "linear", "sigmoid")] = "exp"
    top: Annotated[int | None, Optional(Integer(1))] = None

    def _loss(self, net: Net, batch: dict[str, Any], hyper: dict[str, Any]) -> Any:
        score, real, label = score_table(net, batch), batch["real"], batch["y"]
        if self.top is None:
            found = cross_entropy(log_probabilities(score, real, self.phi), real, label, self.phi)
        else:
            found = label_order_loss(score, real, label, self.phi, self.top)
        return (batch["weight"] * found).mean()
